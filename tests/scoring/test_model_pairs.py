"""Two models on shared items: the sign, what is shared, Holm, and what cannot be said."""

from dataclasses import asdict

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmark.contract import Comparison
from metacog_pipeline.benchmark.schema import schema_of
from metacog_pipeline.scoring import model_pairs
from metacog_pipeline.scoring.harmonised import LACKING, PREFIX
from metacog_pipeline.scoring.schemas import HARMONISED
from metacog_pipeline.stats import coverage, exact
from metacog_pipeline.stats.confidence_grid import CELLS, STATISTICS, SUMS, of_sums
from metacog_pipeline.stats.paired import mcnemar

ROW = Comparison("pairs", "")
COLUMNS = [name for name in HARMONISED if name not in ("n_alternatives", "response")]


def of(model, correct, confidence, start=0, condition="baseline"):
    count = len(correct)
    items = [f"i{start + place}" for place in range(count)]
    return pl.DataFrame(
        {
            "benchmark": ["metamedqa"] * count, "dataset": ["sample"] * count, "condition": [condition] * count,
            "model": [model] * count, "source": ["measured"] * count, "run": [1] * count, "item_id": items,
            "cluster": items, "correct": list(map(float, correct)), "confidence": confidence,
        },
        schema={name: HARMONISED[name] for name in COLUMNS},
    ).select(pl.all(), n_alternatives=pl.lit(None, pl.Int32), response=pl.lit(None, pl.String))  # fmt: skip


def paired(both, n_boot=500, lacks=None):
    """The tests of all pairs, by the names of the measures without their prefix."""
    tests = model_pairs.between_models(both, seed=1, lacks=lacks, n_boot=n_boot)
    rows = [asdict(test) | {"measure": test.measure.removeprefix(PREFIX)} for test in tests]
    return pl.DataFrame(rows, schema=schema_of(Comparison), orient="row")


def row(frame, measure):
    return frame.row(by_predicate=pl.col("measure") == measure, named=True)


def test_models_are_compared_with_models_of_their_own_source_only():
    both = pl.concat([of("a", [1] * 20, [0.9] * 20), of("b", [0, 1] * 10, [0.5] * 20)])
    assert set(paired(both, 50)["source"]) == {"measured"}
    assert paired(both.with_columns(source=pl.col("model")), 50).is_empty()


def test_a_model_without_all_its_answers_is_left_out_with_a_row_that_says_so():
    both = pl.concat([of(model, [1, 0] * 10, [0.9, 0.2] * 10) for model in "abc"])
    lacks = pl.DataFrame(
        [("metamedqa", "sample", "baseline", "b", 2, 20, False)], schema=LACKING, orient="row"
    )
    found = paired(both, 50, lacks)
    assert found.filter(pl.col("measure") != "")["a", "b"].unique().rows() == [("a", "c")]
    assert found.filter(measure="")["a", "status"].rows() == [
        ("b", "not compared: incomplete: 2 of 20 not answered")
    ]
    shown = paired(both, 50, lacks.with_columns(shown=pl.lit(True)))
    assert shown["a", "b"].n_unique() == 3


def test_only_items_both_answered_count():
    both = pl.concat([of("a", [1] * 30, [0.9] * 30), of("b", [0] * 30, [0.9] * 30, start=20)])
    assert row(paired(both, n_boot=100), "accuracy")["n"] == 10
    nothing = pl.concat([of("a", [1] * 5, [0.9] * 5), of("b", [0] * 5, [0.9] * 5, start=50)])
    found = paired(nothing, n_boot=100)
    assert found["status"].unique().to_list() == ["no item was answered by both"]
    assert found["value"].null_count() == found.height


def test_answers_without_a_confidence_have_a_test_of_accuracy_and_say_why_no_other():
    both = pl.concat([of("a", [1] * 20, [0.9] * 20), of("b", [0, 1] * 10, [None] * 20)])
    found = paired(both, n_boot=100)
    assert row(found, "accuracy")["value"] == 0.5
    assert set(found.filter(pl.col("measure") != "accuracy")["status"]) == {model_pairs.UNSTATED}


@pytest.mark.parametrize("n", [2, 5, 6, 12])
def test_few_items_have_the_p_of_all_exchanges(n):
    both = pl.concat([of("a", [1] * n, [None] * n), of("b", [0] * n, [None] * n)])
    found = row(paired(both, n_boot=50), "accuracy")
    assert found["p"] == pytest.approx(2 / 2**n)
    assert ("no verdict" in found["status"]) == (n < 6)


@pytest.mark.parametrize(
    ("a_only", "b_only", "neither"), [(13, 0, 0), (12, 1, 0), (40, 0, 0), (9, 2, 60), (30, 20, 50)]
)
def test_the_p_of_accuracy_is_that_of_all_exchanges_for_any_number_of_items(a_only, b_only, neither):
    right = [1] * a_only + [0] * b_only, [0] * a_only + [1] * b_only
    both = pl.concat(
        [
            of(model, each + [0] * neither, [None] * (a_only + b_only + neither))
            for model, each in zip("ab", right, strict=True)
        ]
    )
    found = row(paired(both, n_boot=50), "accuracy")
    assert found["p"] == pytest.approx(mcnemar(a_only, b_only).p_exact)
    assert (found["p"] < 0.05) == (found["low"] > 0 or found["high"] < 0)


def test_no_p_is_below_the_least_that_the_items_can_give():
    right = [1] * 8 + [0] * 8
    both = pl.concat([of("a", right, [0.9] * 8 + [0.1] * 8), of("b", right, [0.1] * 8 + [0.9] * 8)])
    found = row(paired(both, n_boot=50), "auroc2")
    assert found["p"] >= exact.least_p(16)


def test_a_p_of_two_score_intervals_is_small_as_rarely_as_it_says_and_agrees_with_its_interval():
    rng, small = np.random.default_rng(11), {"accuracy": 0, "auroc2": 0}
    for _ in range(60):
        both = pl.concat([of(model, rng.random(100) < 0.9, list(rng.random(100))) for model in "ab"])
        found = paired(both, n_boot=2)
        for measure in small:
            told = row(found, measure)
            small[measure] += told["p"] < 0.05
            assert (told["p"] < 0.05) == (told["low"] > 0 or told["high"] < 0)
    assert max(small.values()) <= 8  # 3 are expected; 9 have a chance of 0.3 %


def test_areas_of_few_errors_have_an_interval_where_resamples_have_none():
    rng = np.random.default_rng(3)
    right = np.ones((2, 100), dtype=bool)
    right[0, :2] = right[1, 1:4] = False
    both = pl.concat(
        [of(model, each, list(rng.random(100))) for model, each in zip("ab", right, strict=True)]
    )
    told = row(paired(both, n_boot=200), "auroc2")
    assert told["status"] == "ok" and -1 <= told["low"] < told["value"] < told["high"] <= 1


def test_a_difference_of_fewer_errors_than_its_coverage_was_good_with_is_marked(monkeypatch):
    monkeypatch.setattr(
        coverage,
        "least",
        lambda: {("difference_accuracy", False): 9.0, ("difference_auroc2", False): 3.0},
    )
    rng = np.random.default_rng(3)
    right = np.arange(200).reshape(2, 100) % 100 >= 5  # five errors each
    both = pl.concat(
        [of(model, each, list(rng.random(100))) for model, each in zip("ab", right, strict=True)]
    )
    marks = dict(paired(both, n_boot=20).select("measure", "low_n").iter_rows())
    assert marks["accuracy"] is True and marks["auroc2"] is False
    assert marks["brier"] is True  # not in the table


@pytest.mark.parametrize("name", ["mean_confidence", "ece", "brier"])
def test_resamples_of_the_cells_that_are_used_say_what_those_of_all_cells_say(name):
    rng = np.random.default_rng(7)
    cells = np.sort(rng.choice(CELLS, 9, replace=False))
    totals = rng.integers(0, 4, (2_300, 9)).astype(float)
    every = np.zeros((2_300, CELLS))
    every[:, cells] = totals
    found = of_sums(totals @ SUMS[cells])[name]
    assert np.allclose(found, STATISTICS[name](every), rtol=1e-12, equal_nan=True)


def test_no_pair_depends_on_which_other_pairs_were_compared():
    rng = np.random.default_rng(8)
    rows = {
        name: of(name, rng.random(n) < 0.7, list(rng.integers(0, 11, n) / 10))
        for name, n in (("a", 40), ("b", 40), ("c", 40), ("d", 37))
    }
    models = {name: model_pairs.Model.of(own, 1, 500) for name, own in rows.items()}
    together = {
        pair: model_pairs.differences(*(models[name] for name in pair), ROW)
        for pair in ("ab", "bc", "ca", "ad", "ab")
    }
    for pair in ("ab", "ad"):
        alone = [model_pairs.Model.of(rows[name], 1, 500) for name in pair]
        assert model_pairs.differences(*alone, ROW) == together[pair]


def test_draws_of_items_have_the_spread_of_the_sample():
    rng = np.random.default_rng(9)
    gap = rng.integers(0, 101, (2, 200)) / 100
    both = pl.concat([of(name, [1] * 200, list(own)) for name, own in zip("ab", gap, strict=True)])
    told = row(paired(both, n_boot=4000), "mean_confidence")
    own = gap[0] - gap[1]
    assert told["value"] == pytest.approx(own.mean())
    assert told["high"] - told["low"] == pytest.approx(2 * 1.96 * own.std() / np.sqrt(200), rel=0.06)


def test_items_that_both_answered_are_drawn_alike_whatever_else_either_answered():
    right = list(np.random.default_rng(4).random(40) < 0.6)
    both = pl.concat([of("a", right, [0.8] * 40), of("b", [True] * 9 + right, [0.8] * 49, start=-9)])
    found = row(paired(both), "ece")
    assert (found["value"], found["low"], found["high"]) == (0.0, 0.0, 0.0)
