"""Tests between models and between ways of asking: paired on items, one basis on both sides."""

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metacogbench.groups import composites
from tests.metacogbench.conftest import observed
from tests.metacogbench.helpers import compare, ece, pool


def only(frame, **wanted):
    (found,) = frame.filter(**wanted).to_dicts()
    return found


@pytest.mark.parametrize(("n", "lost", "gained"), [(6, 3, 0), (12, 4, 0), (20, 0, 5), (30, 20, 0)])
def test_a_form_has_no_p_below_the_least_of_all_exchanges(n, lost, gained):
    frames = []
    for form, turned in (("free", range(lost, lost + gained)), ("json", range(lost))):
        changes = {f"3-{i:02}": {"passed": 0} for i in turned}
        told = {"rates": {"3": 1.0}, "tiers": ("3",), "sizes": {"3": n}, "changes": changes}
        frames.append(observed(condition=form, **told))
    row = only(compare(pl.concat(frames), seed=1, n_boot=2000), family="format", measure="t3")
    assert (row["n"], row["value"]) == (n, pytest.approx((lost - gained) / n))
    assert row["p"] >= 2 / 2 ** (lost + gained)
    assert row["verdict"] == ("significant" if lost + gained > 5 else "not_significant")


def test_the_difference_of_two_ways_is_that_of_their_own_values():
    frames = pl.concat(
        [observed(condition=name, tiers=("1b",), seed=i) for i, name in enumerate(("free", "one_turn"))]
    )
    row = only(compare(frames, seed=1, n_boot=500), family="protocol", measure="ece_pre")
    errors = [
        ece(*(part[name].cast(pl.Float64).to_numpy() for name in ("pre", "correct")))
        for part in frames.partition_by("condition", maintain_order=True)
    ]
    assert row["value"] == pytest.approx(errors[0] - errors[1])


def test_composites_of_two_models_differ_by_the_difference_of_their_composites():
    frames = pl.concat([observed("a", rates={"2a": 0.9}), observed("b", seed=3)])
    table, found = compare(frames, seed=1, n_boot=200), pool(frames, seed=1, n_boot=200)
    own = {
        model: dict(found.filter(model=model).select("measure", "estimate").iter_rows())
        for model in ("a", "b")
    }
    for name in composites({}):
        row = only(table, family="models_paired", measure=name)
        assert row["value"] == pytest.approx(own["a"][name] - own["b"][name])
        assert row["low"] <= row["value"] <= row["high"] and 0 < row["p"] <= 1


def test_a_pair_rests_on_the_items_both_answered_and_says_what_is_lost():
    lost = {"3-00": {"status": "not_run", "passed": None}}
    frames = pl.concat([observed("a", changes=lost), observed("b")])
    row = only(compare(frames, seed=1, n_boot=100), family="models_paired", measure="t3")
    assert row["n"] == 7 and "left out" in row["note"]


def test_what_a_partner_gains_is_held_against_always_and_never():
    sizes = {"1a": 8}
    own = {f"1a-{i:02}": {"bet_rule": "know", "correct": int(i < 4)} for i in range(8)}
    wise = {name: {**row, "delegated": 1 - row["correct"]} for name, row in own.items()}
    frames = [
        observed(condition=condition, tiers=("1a",), sizes=sizes, changes=changes)
        for condition, changes in (("free", own), ("delegate", wise))
    ]
    found = compare(pl.concat(frames), seed=1, n_boot=100).filter(family="delegation")
    gains = dict(found.select("b", "value").iter_rows())
    assert gains == {"always": pytest.approx(0.8 - 0.6), "never": pytest.approx(0.8 - 0.5)}
