"""Which responses count: an incomplete run withholds its numbers, and what has no verdict is not calibrated."""

import dataclasses
from types import SimpleNamespace

import polars as pl
import pytest

from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.calibration import every_measure
from metacog_pipeline.scoring.estimates import OUTSIDE, WITHHELD, estimates, groups_of
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study.frames import read_frame


def test_a_measure_that_is_never_withheld_keeps_its_number_in_an_incomplete_run(bench, monkeypatch):
    scored = pl.concat([read_frame(each.below("scored")) for each in files.tasks.partitions(bench)])
    first = pl.int_range(pl.len()).over("model", "condition") == 0
    status = pl.when(first).then(pl.lit(bench.unanswered[0])).otherwise("status")
    groups = groups_of(bench, scored.with_columns(status=status), by_run=False)
    shown, hidden = (
        dataclasses.replace(next(each for each in bench.measures if each.compute is not None), **change)
        for change in ({"name": "shown", "withheld": False}, {"name": "hidden", "withheld": True})
    )
    monkeypatch.setattr(type(bench), "measures", (shown, hidden))
    found = estimates(bench, groups)
    of = {name: found.filter(measure=name) for name in ("shown", "hidden")}
    assert of["shown"].height == of["hidden"].height == len(groups)
    assert of["shown"]["estimate"].null_count() == 0
    assert all(each.startswith("incomplete: 1 of") for each in of["shown"]["status"])
    assert of["hidden"]["estimate"].null_count() == len(groups)
    assert set(of["hidden"]["method"]) == {WITHHELD}


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (1 + 1e-12, 0.9, 1.0, True),  # rounding may pass the end of a range
        (-1e-12, 0.0, 0.1, True),
        (1.1, 0.9, 1.0, False),
        (-0.1, 0.0, 0.1, False),
    ],
)
def test_a_number_outside_its_range_is_withheld_and_named(bench, monkeypatch, value, low, high, shown):
    scored = pl.concat([read_frame(each.below("scored")) for each in files.tasks.partitions(bench)])
    first = next(each for each in bench.measures if each.compute is not None)
    own = dataclasses.replace(first, compute=lambda group: Estimate(value, low, high, 9, "made up"))
    monkeypatch.setattr(type(bench), "measures", (own,))
    found = estimates(bench, groups_of(bench, scored, by_run=False)).filter(measure=own.name)
    assert found.height and (found["estimate"].null_count() == 0) is shown
    assert set(found["status"].str.starts_with(OUTSIDE)) == {not shown}
    assert shown or set(found["low"]) == set(found["high"]) == {None}


def test_a_response_without_a_verdict_is_not_calibrated():
    rows = [(float(n % 2), 0.8) for n in range(40)] + [(None, 0.1)] * 10
    scored = pl.DataFrame(rows, schema={"correct": pl.Float64, "confidence": pl.Float64}, orient="row")
    named = {"benchmark": "b", "dataset": "d", "condition": "c", "model": "m", "source": "imported"}
    scored = scored.with_columns(
        *(pl.lit(word).alias(name) for name, word in named.items()),
        run=pl.lit(1),
        task=pl.lit(None, pl.String),
        item_id=pl.int_range(pl.len()).cast(pl.String),
        cluster=pl.int_range(pl.len()).cast(pl.String),
        n_alternatives=pl.lit(4),
    )
    answers = harmonised(SimpleNamespace(harmonise=lambda each: each), scored)
    assert answers.height == 40 and answers["correct"].null_count() == 0
    found = every_measure(answers, seed=1, n_boot=20).filter(measure="harmonised_mean_confidence")
    assert found["n"].to_list() == [40] and found["estimate"].to_list() == pytest.approx([0.8])
