"""A model asked once has the same numbers pooled over runs: they are read, not computed again."""

import dataclasses
from typing import Any

import polars as pl
import pytest

from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import Measure, MeasureSet
from metacog_pipeline.conformance import try_benchmark
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study.frames import read_frame, write_frame


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    found: Any = try_benchmark(registry.load("metamedqa"), tmp_path_factory.mktemp("one")).benchmark
    for each in files.tasks.partitions(found):
        files.read(found, each)
        files.score(found, each)
    return found


def test_numbers_of_one_run_are_those_of_the_model_and_what_only_models_have_is_computed(bench, monkeypatch):
    partitions = files.tasks.partitions(bench)
    scored = pl.concat([read_frame(each.below("scored")) for each in partitions])
    groups = groups_of(bench, scored, by_run=False)
    whole = estimates(bench, groups)
    by_run = pl.concat([read_frame(files.run_estimates_path(each)) for each in partitions])
    asked: list[int] = []

    def computed(self: Any, groups: Any) -> Any:
        asked.append(len(groups))
        return [
            {"spread": Estimate(1.0, None, None, 1, "none")} if each.run is None else {} for each in groups
        ]

    def never(*_: Any) -> Any:
        raise AssertionError("computed again")

    measures = tuple(
        dataclasses.replace(each, compute=never) for each in bench.measures if each.compute is not None
    )
    more = MeasureSet((Measure("spread", "spread", words="Of models alone."),), computed)
    monkeypatch.setattr(type(bench), "measures", (*measures, more))
    order = ["condition", "scoring", "model", "measure"]
    found = estimates(bench, groups, by_run)
    assert asked == [len(groups)] and (found["measure"] == "spread").sum() == len(groups)
    plain = found.filter(pl.col("measure") != "spread")
    assert plain.sort(order).equals(whole.sort(order))
    of_one = by_run.filter(
        pl.col("model") == partitions[0].spec.name
    )  # of the other there are several runs, say
    failed = estimates(bench, groups, of_one).filter(pl.col("status").str.contains("computed again"))
    assert set(failed["model"]) == {partitions[1].spec.name}
    broken = of_one.with_columns(status=pl.lit("failed: MemoryError"))
    failed = estimates(bench, groups, broken).filter(pl.col("status").str.contains("computed again"))
    assert failed["model"].n_unique() == 2


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
