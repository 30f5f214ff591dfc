"""Agreed numbers in files below ``$METACOG_GOLDEN`` (by default ``../shared/golden``); a file that is absent is a skip.

Other files of the same columns do as well: nothing here knows how many rows there are, or what they hold.
"""

import csv
import math
import os
from pathlib import Path

import numpy as np
import pytest

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
GOLDEN = Path(os.environ.get("METACOG_GOLDEN") or SHARED / "golden")


def need(name):
    """Return the path of a file, such as ``sdt/counts.csv``."""
    path = GOLDEN / name
    if not path.is_file():
        pytest.skip(f"{path} is absent; set METACOG_GOLDEN")
    return path


def rows(name):
    with need(name).open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert found, f"{name} has no rows"
    return found


def number(text):
    return float(text) if text else math.nan


def vector(text):
    return np.array([float(part) for part in text.split(";")] if text else [])
