"""Ways of asking, and judges beside rules, on few items: p is that of all exchanges, and never below the least of them."""

from math import comb

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmark.contract import Comparison
from metacog_pipeline.benchmarks.metacogbench.contrasts import _of_sums
from metacog_pipeline.benchmarks.metacogbench.model_pairs import RUNS_DIFFER
from metacog_pipeline.benchmarks.metacogbench.run_estimates import ece
from metacog_pipeline.stats import exact, resampling
from tests.metacogbench.helpers import compare
from tests.metacogbench.judging.test_judge_agreement import judged

TIERS = ("1a", "1b", "2a", "2b", "3")


def binomial(one: int, other: int) -> float:
    """Return the exact two-sided p of so many items that changed in one direction, and in the other."""
    n = one + other
    return min(1.0, 2 * sum(comb(n, k) for k in range(max(one, other), n + 1)) / 2**n)


@pytest.fixture
def asked_in_two_ways(make_observed):
    """Return ``made(n, lost, gained, …)``: tests of 2a in free text and in another form; ``lost`` items pass in free text
    only, ``gained`` in the other only, and free text has ``more`` runs."""

    def made(n, lost, gained, runs=(1,), condition="json", more=()):
        frames = []
        for form, turned in (("free", range(lost, lost + gained)), (condition, range(lost))):
            for run in (*runs, *(more if form == "free" else ())):
                columns = ("passed", "passed_keywords", "passed_keywords_v1")
                changes = {f"2a-{i:02}": dict.fromkeys(columns, 0) for i in turned}
                sizes = dict.fromkeys(TIERS, n)
                frames.append(
                    make_observed(
                        rates={"2a": 1.0},
                        run=run,
                        condition=form,
                        tiers=("2a",),
                        sizes=sizes,
                        changes=changes,
                    )
                )
        return compare(pl.concat(frames), seed=1, n_boot=2000)

    return made


def only(frame, **wanted):
    (found,) = frame.filter(**wanted).to_dicts()
    return found


@pytest.mark.parametrize(
    ("n", "lost", "gained"), [(6, 6, 0), (6, 3, 0), (7, 7, 0), (8, 4, 0), (10, 5, 2), (12, 4, 0), (12, 0, 9)]
)
def test_up_to_twelve_items_a_form_has_the_p_of_all_exchanges(asked_in_two_ways, n, lost, gained):
    row = only(asked_in_two_ways(n, lost, gained), family="format", measure="t2a")
    assert (row["n"], row["value"]) == (n, pytest.approx((lost - gained) / n))
    assert row["p"] == pytest.approx(binomial(lost, gained)) and row["note"] == exact.NOTE
    assert row["verdict"] == ("significant" if row["p"] < 0.05 else "not_significant")


@pytest.mark.parametrize(
    ("n", "lost", "gained"), [(13, 3, 0), (20, 4, 0), (20, 0, 5), (30, 20, 0), (14, 14, 0)]
)
def test_above_twelve_items_p_is_not_below_the_least_of_all_exchanges(asked_in_two_ways, n, lost, gained):
    row = only(asked_in_two_ways(n, lost, gained), family="format", measure="t2a")
    assert row["p"] >= 2 / 2 ** (lost + gained)
    assert row["verdict"] == ("significant" if lost + gained > 5 else "not_significant")


def test_runs_of_an_item_are_exchanged_together(asked_in_two_ways):
    row = only(asked_in_two_ways(8, 6, 0, runs=(1, 2, 3)), family="format", measure="t2a")
    assert row["p"] == pytest.approx(2 / 2**6)


def test_items_asked_in_different_numbers_of_runs_are_not_exchanged(asked_in_two_ways):
    row = only(asked_in_two_ways(8, 6, 0, more=(2,)), family="format", measure="t2a")
    assert row["p"] is row["verdict"] is None and row["note"] == RUNS_DIFFER


def test_errors_of_predictions_are_exchanged_item_by_item(make_observed):
    sizes, stated = dict.fromkeys(TIERS, 7), (10.0, 90.0, 50.0, 70.0, 30.0, 90.0, 10.0)
    outcome = {True: (0, 1, 1, 1, 0, 1, 0), False: (1, 0, 1, 0, 1, 1, 0)}
    frames = [
        make_observed(
            condition=condition, tiers=("1b",), sizes=sizes,
            changes={f"1b-{i:02}": {"pre": stated[i], "correct": outcome[plain][i]} for i in range(7)},
        )
        for condition, plain in (("free", True), ("two_turn", False))
    ]  # fmt: skip
    row = only(compare(pl.concat(frames), seed=1, n_boot=500), family="protocol", measure="ece_pre")
    said, sides = np.array(stated), [np.array(outcome[plain], dtype=float) for plain in (False, True)]
    moved = [
        ece(said, np.where(swap, sides[1], sides[0])) - ece(said, np.where(swap, sides[0], sides[1]))
        for swap in exact.exchanges(7)
    ]
    assert row["value"] == pytest.approx(moved[0])
    assert row["p"] == pytest.approx(np.mean(np.abs(moved) >= abs(moved[0]) - 1e-9))


@pytest.mark.parametrize(("n", "passed"), [(6, 0), (8, 4), (12, 8), (20, 16), (20, 13)])
def test_a_judge_that_passes_more_has_the_p_of_all_exchanges_or_one_not_below_the_least(
    make_observed, n, passed
):
    names = {f"2a-{i:02}": {"passed": int(i < passed)} for i in range(n)}
    seen = make_observed(tiers=("2a",), sizes=dict.fromkeys(TIERS, n), changes=names)
    table = compare(seen, seed=1, n_boot=2000, judgements=judged(seen, pl.lit(1)))
    row = only(table, family="judge", measure="t2a")
    least = 2 / 2 ** (n - passed)
    assert row["value"] == pytest.approx((n - passed) / n)
    assert row["p"] == pytest.approx(least) if n <= 12 else row["p"] >= least
    assert "all exchanges" in row["note"] or n > 12


def test_two_models_that_differ_in_few_of_many_items_have_no_smaller_p_than_these_can_give(make_observed):
    sizes = dict.fromkeys(TIERS, 20)
    changes = {f"2a-{i:02}": {"passed": 0} for i in range(4)}
    frames = [
        make_observed("a", rates={"2a": 1.0}, tiers=("2a",), sizes=sizes),
        make_observed("b", rates={"2a": 1.0}, tiers=("2a",), sizes=sizes, changes=changes),
    ]
    row = only(compare(pl.concat(frames), seed=1, n_boot=2000), family="models_paired", measure="t2a")
    assert (row["value"], row["p"]) == (pytest.approx(0.2), 0.125)


@pytest.mark.parametrize("n", [6, 8, 10, 12, 16, 20])
@pytest.mark.parametrize("rate", [0.9, 0.5])
def test_equal_rates_are_told_apart_in_no_more_than_one_of_twenty_studies(n, rate):
    rng, weights = np.random.default_rng(n), resampling.weights(n, 1000, 1) / n
    told = 0
    for _ in range(300):
        apart = (rng.random(n) < rate).astype(float) - (rng.random(n) < rate)
        row = _of_sums(Comparison("format", "t2a"), apart.mean(), weights @ apart, apart / n)
        told += row.p is not None and row.p < 0.05
    assert told <= 0.05 * 300 + 2 * np.sqrt(300 * 0.05 * 0.95)
