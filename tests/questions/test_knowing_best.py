"""The section that says which way to elicit confidence knows best: a figure and a table of tested pairs."""

from pathlib import Path

import pytest

from metacog_pipeline.report import conditions

MEASURED = [
    ("mine", "measured", "careful", "bet", "accuracy", 0.7, 0.6, 0.8, 60, "wilson"),
    ("mine", "measured", "careful", "bet", "auroc2", 0.61, 0.5, 0.7, 60, "score"),
    ("mine", "measured", "careful", "p_true", "auroc2", 0.93, 0.84, 0.98, 60, "score"),
    ("mine", "measured", "careful", "answer_only", "accuracy", 0.7, 0.6, 0.8, 60, "wilson"),
    ("other", "measured", "careful", "bet", "auroc2", None, None, None, 0, "score"),
]
TESTED = [("mine", "measured", "careful", "bet", "p_true", -0.32)]


def drawn(monkeypatch: pytest.MonkeyPatch, measured: list[tuple[object, ...]]) -> str:
    monkeypatch.setattr(conditions, "rows", lambda home, sql: TESTED if "verdict" in sql else measured)
    return str(conditions.knowing_best("questions", "elicitations_paired")(Path()))


def test_elicitations_stand_best_first_with_what_they_are_better_than(monkeypatch):
    page = drawn(monkeypatch, MEASURED)
    assert page.index("p_true") < page.index("0.610") and "<svg" in page
    assert "knows better than" in page and "careful, other" not in page  # asked in one way there: no table


def test_a_way_that_knows_nothing_stands_before_one_without_a_value(monkeypatch):
    worst = ("mine", "measured", "careful", "verbal_scale", "auroc2", 0.0, 0.0, 0.4, 60, "score")
    page = drawn(monkeypatch, [*MEASURED[:4], worst])
    assert page.rindex("verbal_scale") < page.rindex("answer_only")


def test_without_answers_it_says_so(monkeypatch):
    assert "No model was asked in several ways yet." in drawn(monkeypatch, [])
