"""Agreed numbers below ``$METACOG_GOLDEN`` and published data below ``$METACOG_DATA`` (by default in ``../shared``).

A file that is absent is a skip. Other files of the same columns do as well: nothing here knows how many rows there are, or
what they hold.
"""

import csv
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
GOLDEN = Path(os.environ.get("METACOG_GOLDEN") or SHARED / "golden")
DATA = Path(os.environ.get("METACOG_DATA") or SHARED / "data")
PUBLISHED = DATA / "medley" / "v1.0"


def need(name):
    """Return the path of a golden file such as ``sdt/counts.csv``, or of any other by its whole path."""
    path = GOLDEN / name
    if not path.exists():
        pytest.skip(f"{path} is absent; set METACOG_GOLDEN and METACOG_DATA")
    return path


def rows(name):
    """Return the rows of a table."""
    with need(name).open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert found, f"{name} has no rows"
    return found


def cases(name):
    """Return the objects of a file that has one in each line."""
    found = [json.loads(line) for line in need(name).read_text("utf-8").splitlines() if line.strip()]
    assert found, f"{name} is empty"
    return found


def number(text):
    return float(text) if text else math.nan


def vector(text):
    return np.array([float(part) for part in text.split(";")] if text else [])
