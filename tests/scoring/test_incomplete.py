"""Measures of confidence of incomplete runs are withheld or labelled, by the rule of a benchmark's own numbers."""

from types import SimpleNamespace

import polars as pl
import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.scoring import cross_benchmark as incomplete
from metacog_pipeline.scoring.schemas import CALIBRATION

ROW = {"benchmark": "b", "dataset": "d", "condition": "free", "model": "one", "measure": "harmonised_ece",
       "estimate": 0.2, "low": 0.1, "high": 0.3, "sem": 0.05, "n": 7, "method": "bootstrap", "status": "ok",
       "low_n": True}  # fmt: skip


def _benchmark(shown: bool) -> SimpleNamespace:
    def harmonise(responses: pl.DataFrame) -> pl.DataFrame:
        return responses.filter(tier="1b", status="ok")

    return SimpleNamespace(
        name="b",
        unanswered=("not_run",),
        settings=SimpleNamespace(allow_incomplete=shown),
        harmonise=harmonise,
    )


def _scored(*of_1b: str, of_3: str = "ok") -> pl.DataFrame:
    return pl.DataFrame({"tier": ["1b"] * len(of_1b) + ["3"], "status": [*of_1b, of_3]}).with_columns(
        dataset=pl.lit("d"),
        task=pl.lit(None, pl.String),
        condition=pl.lit("free"),
        model=pl.lit("one"),
        source=pl.lit("imported"),
    )


def _told(scored: pl.DataFrame, *, shown: bool, **row: object) -> dict[str, object]:
    measured = pl.DataFrame([{**ROW, **row}], schema=CALIBRATION)
    return incomplete.labelled(measured, incomplete.lacking(_benchmark(shown), scored)).row(0, named=True)


def test_numbers_of_an_incomplete_run_are_withheld():
    row = _told(_scored("ok", "not_run", "refused", "not_run"), shown=False)
    assert [row[name] for name in ("estimate", "low", "high", "sem", "low_n")] == [None] * 5
    assert (row["status"], row["method"], row["n"]) == ("incomplete: 2 of 4 not answered", "withheld", 7)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, "incomplete: 1 of 2 not answered"),
        ({"status": "few items: 7"}, "few items: 7; incomplete: 1 of 2 not answered"),
        ({"estimate": None, "status": "undefined"}, "undefined"),
    ],
)
def test_where_incomplete_runs_are_allowed_their_numbers_say_so(row, said):
    found = _told(_scored("ok", "not_run"), shown=True, **row)
    assert (found["status"], found["estimate"]) == (said, row.get("estimate", 0.2))


def test_what_would_not_stand_in_the_table_is_not_missed():
    row = _told(_scored("ok", "ok", of_3="not_run"), shown=False)
    assert (row["estimate"], row["status"], row["low_n"]) == (0.2, "ok", True)


def test_a_study_without_answers_has_empty_tables(tmp_path):
    study = SimpleNamespace(
        home=Home(tmp_path),
        models=[SimpleNamespace(name="one")],
        study=SimpleNamespace(seed=1),
        enabled=(),
    )
    assert incomplete.publish(study) == 0
