"""Differences between models, languages and ways of asking, over the items of both."""

import polars as pl
import pytest

from metacog_pipeline.benchmark.contract import schema_of
from metacog_pipeline.benchmarks.selfknowledge.measures import Curve
from metacog_pipeline.scoring.schemas import COMPARISON
from metacog_pipeline.stats import resampling


@pytest.fixture
def compared(scoring, monkeypatch):
    """Return ``compared(*responses)``: every test, from fewer draws."""
    monkeypatch.setattr(resampling, "N_TESTED", 1000)
    return lambda *frames: scoring.compare(pl.concat(frames))


def row(frame: pl.DataFrame, family: str, measure: str) -> dict[str, object]:
    return frame.filter(family=family, measure=measure).row(0, named=True)


def test_a_model_that_knows_more_is_told_apart(observer, compared):
    found = compared(observer(800, 0.5, 0.3, 1), observer(800, 0.5, 1.5, 2, model="beta"))
    made = row(found, "models_paired", "d_type2")
    assert (made["a"], made["b"], made["verdict"]) == ("alpha", "beta", "significant")
    assert made["value"] == pytest.approx(-1.2, abs=0.35)
    assert made["low"] < made["value"] < made["high"] < 0  # type: ignore[operator]
    assert found.schema == COMPARISON
    assert set(found["n"]) == {800}


def test_only_shared_items_are_compared(rows, compared):
    one = rows([1, 1, 0, 0], [1, 1, 0, 0])
    two = rows([1, 0, 1], [1, 0, 1], model="beta", item_id=["q00000", "q00001", "other"])
    made = row(compared(one, two), "models_paired", "accuracy")
    assert (made["n"], made["value"]) == (2, 0.5)
    apart = compared(one, two.with_columns(item_id=pl.lit("x-") + pl.col("item_id")))
    assert row(apart, "models_paired", "accuracy")["status"] == "no shared items"


def test_languages_of_a_model_are_compared_on_what_both_answered(observer, rows, compared):
    dual = observer(300, 0.6, 1.5, 1, status=["not_run"] + ["ok"] * 299)
    chinese = observer(300, 0.3, 0.2, 2, condition="dual_zh", language="zh")
    found = compared(dual, chinese, rows(dual["correct"].to_list(), [1] * 300, condition="idk"))
    paired = row(found, "languages_paired", "accuracy")
    assert (paired["a"], paired["b"], paired["verdict"], paired["n"]) == (
        "dual",
        "dual_zh",
        "significant",
        299,
    )
    assert "left out: 0 items of a, 1 of b" in str(paired["note"])
    assert "idk" not in set(found.filter(family="languages_paired")["b"])


def test_under_idk_models_are_compared_in_its_own_measures(rows, compared):
    dual, idk = rows([1, 0] * 20, [1, 0] * 20), rows([1, 0] * 20, [1, 1] * 20, condition="idk")
    other = [each.with_columns(model=pl.lit("beta")) for each in (dual, idk)]
    found = compared(dual, idk, *other).filter(condition="idk", family="models_paired")
    tested = ("idk_accuracy", "idk_alignment", "all_alignment", "abstain_d", "abstain_c")
    assert set(found["measure"]) == set(tested)


def test_curves_hold_the_spoken_yes_and_the_graded_one(observer, rows, scoring):
    frame = pl.concat([observer(400, 0.5, 1.0), rows([1, 0, 1, 0], [1, 0, 1, 1], model="mute")])
    found = scoring.curves(frame)
    assert found.schema == schema_of(Curve)
    assert set(found.filter(model="mute")["curve"]) == {"said"}
    assert found.filter(model="mute").select("x", "y").row(0) == (0.5, 1.0)
    own = found.filter(model="alpha")
    roc = own.filter(curve="roc")
    assert roc.select("x", "y").row(0) == (0.0, 0.0)
    assert roc.select("x", "y").row(-1) == (1.0, 1.0)
    assert own.filter(pl.col("curve").is_in(["correct", "wrong"]))["n"].sum() == 400
    assert own.filter(curve="correct")["y"].sum() / 30 == pytest.approx(1)
