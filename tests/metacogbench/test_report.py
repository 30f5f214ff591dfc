"""What the format changes: a world at a time, nothing drawn without a value."""

import re
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.metacogbench import report
from metacog_pipeline.home import Home


def shown(monkeypatch: pytest.MonkeyPatch, *rows: tuple[object, ...]) -> str:
    monkeypatch.setattr(report, "rows", lambda home, sql: list(rows))
    return report.ways_of_asking(Home(Path("nowhere")))


def test_models_and_simulated_observers_share_no_table_and_no_figure(monkeypatch):
    ends = ("free", "json", 0.25, 0.125, 0.375, 0.01, "significant", "ok", 20)
    text = shown(monkeypatch, ("measured", "t2a", "alpha", *ends), ("simulated", "t2a", "toy", *ends))
    pieces = re.findall(r"<svg.*?</svg>|<table.*?</table>", text, re.DOTALL)
    assert len(pieces) == 4 and "0.125 to 0.375" in text
    assert not any("alpha" in piece and "toy" in piece for piece in pieces)


def test_a_difference_without_a_value_says_why_and_is_not_drawn(monkeypatch):
    row = ("measured", "t2a", "alpha", "free", "json", None, None, None, None, None, "no shared tasks", 0)
    text = shown(monkeypatch, row)
    assert "no shared tasks" in text and "<svg" not in text
    assert "Asked in one way only." in shown(monkeypatch)
