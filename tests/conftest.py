"""Where published data and golden files are found; a test that needs an absent one is skipped with the reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def data_file(*parts: str) -> Path:
    """Return a published data file, or skip the test."""
    path = Path(os.environ.get("METACOG_DATA", ROOT.parent / "shared" / "data")).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is not here; set METACOG_DATA")
    return path


@pytest.fixture
def medqa() -> Path:
    """The published parent questions."""
    return data_file("metamedqa", "medqa_usmle_4opt_test.jsonl.gz")
