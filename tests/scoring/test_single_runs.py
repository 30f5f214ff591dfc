"""A model asked once has the same numbers pooled over runs: they are read, not computed again."""

import dataclasses
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Measure, MeasureSet
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study.frames import read_frame, write_frame


def test_numbers_of_one_run_are_those_of_the_model_and_what_only_models_have_is_computed(bench, monkeypatch):
    partitions = files.tasks.partitions(bench)
    scored = pl.concat([read_frame(each.below("scored")) for each in partitions])
    whole = estimates(bench, groups_of(bench, scored, by_run=False))

    def computed(self: Any, groups: Any) -> Any:
        spread = Estimate(1.0, None, None, 1, "none")
        return [{"spread": spread} if each.run is None else {} for each in groups]

    def never(*_: Any) -> Any:
        raise AssertionError("computed again")

    measures = tuple(
        dataclasses.replace(each, compute=never) for each in bench.measures if each.compute is not None
    )
    more = MeasureSet((Measure("spread", "spread", words="Of models alone."),), computed)
    monkeypatch.setattr(type(bench), "measures", (*measures, more))
    files.pool(bench)
    found = pl.concat([read_frame(files.model_estimates_path(bench, each.spec.name)) for each in partitions])
    order = ["condition", "scoring", "model", "measure"]
    assert found.filter(pl.col("measure") != "spread").sort(order).equals(whole.sort(order))
    assert set(found.filter(measure="spread")["model"]) == {each.spec.name for each in partitions}


def test_numbers_made_by_other_rules_are_not_taken(bench):
    one, _ = files.tasks.partitions(bench)
    path = files.run_estimates_path(one)
    found = read_frame(path)
    wrong = found.with_columns(estimate=pl.lit(0.123))
    write_frame(wrong, path, "of other rules")
    files.pool(bench)
    target = files.model_estimates_path(bench, one.spec.name)
    assert 0.123 not in set(read_frame(target)["estimate"])
    target.unlink()
    write_frame(wrong, path, files.mark_of(one.below("scored")) or "")
    files.pool(bench)
    pooled = read_frame(target)
    assert set(pooled["estimate"]) == {0.123} and pooled["run"].null_count() == pooled.height
