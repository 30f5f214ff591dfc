"""What ways of asking change: a world at a time, nothing shown without a value or a reason."""

import re
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.metacogbench import report
from metacog_pipeline.home import Home


def shown(monkeypatch: pytest.MonkeyPatch, *rows: tuple[object, ...]) -> str:
    monkeypatch.setattr(report, "rows", lambda home, sql: list(rows))
    return report.ways_of_asking(Home(Path("nowhere")))


def test_models_and_simulated_observers_share_no_table(monkeypatch):
    ends = ("format", "t2a", "free - json", 0.25, 0.125, 0.375, 0.01, "significant", "ok")
    text = shown(monkeypatch, ("measured", "alpha", *ends), ("simulated", "toy", *ends))
    tables = re.findall(r"<table.*?</table>", text, re.DOTALL)
    assert len(tables) == 2 and "0.125 to 0.375" in text
    assert not any("alpha" in each and "toy" in each for each in tables)
