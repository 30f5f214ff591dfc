"""Tests between models and between ways of asking: paired on items, exact where these are few, one basis on both sides."""

from math import comb

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmarks.metacogbench.contrasts import RUNS_DIFFER
from metacog_pipeline.benchmarks.metacogbench.groups import composites
from metacog_pipeline.stats import exact
from tests.metacogbench.helpers import compare, ece, pool

TIERS = ("1a", "1b", "2a", "2b", "3")


def only(frame, **wanted):
    (found,) = frame.filter(**wanted).to_dicts()
    return found


def binomial(one: int, other: int) -> float:
    """Return the exact two-sided p of so many items that changed in one direction, and in the other."""
    n = one + other
    return min(1.0, 2 * sum(comb(n, k) for k in range(max(one, other), n + 1)) / 2**n)


@pytest.fixture
def asked_in_two_ways(make_observed):
    """Return ``made(n, lost, gained, …)``: tests of tier 3 in free text and in JSON; ``lost`` items pass in free text only,
    ``gained`` in the other only, and free text has ``more`` runs."""

    def made(n, lost, gained, runs=(1,), more=()):
        frames = []
        for form, turned in (("free", range(lost, lost + gained)), ("json", range(lost))):
            for run in (*runs, *(more if form == "free" else ())):
                changes = {f"3-{i:02}": {"passed": 0} for i in turned}
                told = {"rates": {"3": 1.0}, "tiers": ("3",), "sizes": {"3": n}, "changes": changes}
                frames.append(make_observed(run=run, condition=form, **told))
        return compare(pl.concat(frames), seed=1, n_boot=2000)

    return made


@pytest.mark.parametrize(("n", "lost", "gained"), [(6, 6, 0), (6, 3, 0), (10, 5, 2), (12, 4, 0), (12, 0, 9)])
def test_up_to_twelve_items_a_form_has_the_p_of_all_exchanges(asked_in_two_ways, n, lost, gained):
    row = only(asked_in_two_ways(n, lost, gained), family="format", measure="t3")
    assert (row["n"], row["value"]) == (n, pytest.approx((lost - gained) / n))
    assert row["p"] == pytest.approx(binomial(lost, gained)) and row["note"] == exact.NOTE
    assert row["verdict"] == ("significant" if row["p"] < 0.05 else "not_significant")


@pytest.mark.parametrize(("n", "lost", "gained"), [(13, 3, 0), (20, 0, 5), (30, 20, 0)])
def test_above_twelve_items_p_is_not_below_the_least_of_all_exchanges(asked_in_two_ways, n, lost, gained):
    row = only(asked_in_two_ways(n, lost, gained), family="format", measure="t3")
    assert row["p"] >= 2 / 2 ** (lost + gained)
    assert row["verdict"] == ("significant" if lost + gained > 5 else "not_significant")


def test_runs_of_an_item_are_exchanged_together_or_not_at_all(asked_in_two_ways):
    row = only(asked_in_two_ways(8, 6, 0, runs=(1, 2, 3)), family="format", measure="t3")
    assert row["p"] == pytest.approx(2 / 2**6)
    row = only(asked_in_two_ways(8, 6, 0, more=(2,)), family="format", measure="t3")
    assert row["p"] is row["verdict"] is None and row["note"] == RUNS_DIFFER


def test_errors_of_predictions_are_exchanged_item_by_item(make_observed):
    stated = (10.0, 90.0, 50.0, 70.0, 30.0, 90.0, 10.0)
    outcome = {"free": (0, 1, 1, 1, 0, 1, 0), "one_turn": (1, 0, 1, 0, 1, 1, 0)}
    frames = [
        make_observed(
            condition=condition, tiers=("1b",), sizes={"1b": 7},
            changes={f"1b-{i:02}": {"pre": stated[i], "correct": right[i]} for i in range(7)},
        )
        for condition, right in outcome.items()
    ]  # fmt: skip
    row = only(compare(pl.concat(frames), seed=1, n_boot=500), family="protocol", measure="ece_pre")
    said, sides = np.array(stated), [np.array(right, dtype=float) for right in outcome.values()]
    moved = [
        ece(said, np.where(swap, sides[1], sides[0])) - ece(said, np.where(swap, sides[0], sides[1]))
        for swap in exact.exchanges(7)
    ]
    assert row["value"] == pytest.approx(moved[0])
    assert row["p"] == pytest.approx(np.mean(np.abs(moved) >= abs(moved[0]) - 1e-9))


def test_a_balanced_accuracy_is_exchanged_with_its_signal(make_observed):
    def seen(model, passed):
        changes = {f"2b-{i:02}": {"passed": passed[i], "signal": i % 2} for i in range(8)}
        return make_observed(model, tiers=("2b",), sizes={"2b": 8}, changes=changes)

    sides = np.array([(1, 1, 1, 1, 1, 0, 1, 1), (0, 1, 0, 0, 1, 0, 1, 0)], dtype=float)
    table = compare(
        pl.concat([seen("a", sides[0].astype(int)), seen("b", sides[1].astype(int))]), seed=1, n_boot=500
    )
    row = only(table, family="models_paired", measure="t2b")

    def rate(passed):
        return (passed[::2].mean() + passed[1::2].mean()) / 2

    moved = [
        rate(np.where(swap, sides[1], sides[0])) - rate(np.where(swap, sides[0], sides[1]))
        for swap in exact.exchanges(8)
    ]
    assert row["value"] == pytest.approx(moved[0]) and row["p"] == pytest.approx(
        exact.exchange_p(np.array(moved))
    )


def test_composites_of_two_models_differ_by_the_difference_of_their_composites(make_observed):
    frames = pl.concat([make_observed("a", rates={"2a": 0.9}), make_observed("b", seed=3)])
    table, found = compare(frames, seed=1, n_boot=200), pool(frames, seed=1, n_boot=200)
    own = {
        model: dict(found.filter(model=model).select("measure", "estimate").iter_rows())
        for model in ("a", "b")
    }
    for name in composites({}):
        row = only(table, family="models_paired", measure=name)
        assert row["value"] == pytest.approx(own["a"][name] - own["b"][name])
        assert row["low"] <= row["value"] <= row["high"] and 0 < row["p"] <= 1


def test_a_pair_rests_on_the_items_both_answered_and_says_what_is_lost(make_observed):
    lost = {"3-00": {"status": "not_run", "passed": None}}
    frames = pl.concat([make_observed("a", changes=lost), make_observed("b")])
    row = only(compare(frames, seed=1, n_boot=100), family="models_paired", measure="t3")
    assert row["n"] == 7 and "left out" in row["note"]


def test_simulated_models_never_meet_measured_ones(make_observed):
    frames = pl.concat([make_observed("a"), make_observed("b", source="simulated")])
    found = compare(frames, seed=1, n_boot=50)
    assert found.filter(family="models_paired", a="a", b="b").drop_nulls("value").is_empty()


def test_ranks_follow_the_scores_and_hold_them(make_observed):
    rates = {"a": 0.9, "b": 0.5, "c": 0.2}
    frames = pl.concat(
        [make_observed(m, rates={"3": r}, sizes=dict.fromkeys(TIERS, 30)) for m, r in rates.items()]
    )
    ranks = compare(frames, seed=1, n_boot=300).filter(family="rank", measure="t3").sort("model")
    assert ranks["value"].to_list() == [1, 2, 3]
    assert (ranks["low"] <= ranks["value"]).all() and (ranks["value"] <= ranks["high"]).all()


def test_formats_are_compared_by_one_rule_on_both_sides(make_observed):
    frames = [
        make_observed(condition=name, tiers=tiers)
        for name, tiers in (("free", TIERS), ("json", ("1b", "2a", "3")), ("one_turn", ("1b",)))
    ]
    found = compare(pl.concat(frames), seed=1, n_boot=50).filter(family="format")
    assert set(found.select("measure", "a", "b").iter_rows()) == {
        ("ece_pre", "one_turn", "json"), ("accuracy_1b", "one_turn", "json"), ("t2a", "free", "json"),
        ("t2a_keywords", "free", "json"), ("t2a_keywords_v1", "free", "json"), ("t3", "free", "json"),
    }  # fmt: skip


def test_what_a_partner_gains_is_held_against_always_and_never(make_observed):
    sizes = {"1a": 8}
    own = {f"1a-{i:02}": {"bet_rule": "know", "correct": int(i < 4)} for i in range(8)}
    wise = {name: {**row, "delegated": 1 - row["correct"]} for name, row in own.items()}
    frames = [
        make_observed(condition=condition, tiers=("1a",), sizes=sizes, changes=changes)
        for condition, changes in (("free", own), ("delegate", wise))
    ]
    found = compare(pl.concat(frames), seed=1, n_boot=100).filter(family="delegation")
    gains = dict(found.select("b", "value").iter_rows())
    assert gains == {"always": pytest.approx(0.8 - 0.6), "never": pytest.approx(0.8 - 0.5)}
