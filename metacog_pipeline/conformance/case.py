"""A small study of one benchmark, run with simulated respondents: what the rules look at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmark.contract import Benchmark, Scored
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.querying.session import Partition, query_partition
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.comparisons import comparisons
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.scoring.responses import read_responses
from metacog_pipeline.study import Study, StudySection

RESPONDENTS = {"careful": 0.85, "hasty": 0.55}  # name → accuracy: far enough apart to be compared
SEED = 1
SOME_ITEMS = 3  # of those looked at one by one
_ELSEWHERE = """
import importlib, json, sys
path, module, place, name, items = json.loads(sys.argv[1])
sys.path[:0] = path
importlib.import_module(module)
loaded = [each for each in sys.modules if each == "dagster" or ".benchmarks." in each]
item = getattr(importlib.import_module(place), name).model_validate_json
print(json.dumps([loaded, [json.dumps(item(each).asked_and_scored_by(), sort_keys=True) for each in items]]))
"""


@dataclass(frozen=True)
class Tried:
    """A benchmark bound to a small study whose two simulated respondents have answered.

    ``calls`` are those of the first session and of a second one, in which nothing is left to ask.
    """

    benchmark: Benchmark[Any, Any, Any]
    calls: tuple[int, int]

    @property
    def name(self) -> str:
        """The class's name."""
        return type(self.benchmark).__name__

    @property
    def study(self) -> Study:
        """The study."""
        return self.benchmark.context.study

    @cached_property
    def partitions(self) -> list[Partition]:
        """Model × run of the study."""
        return tasks.partitions(self.benchmark)

    @cached_property
    def responses(self) -> pl.DataFrame:
        """The responses of both respondents."""
        asked = tasks.asked(self.benchmark)
        made = [
            read_responses(
                self.benchmark,
                files.current_transcripts(self.benchmark, each),
                asked,
                model=each.spec.name,
                run=each.run,
                source="simulated",
            )
            for each in self.partitions
        ]
        return pl.concat(made)

    @cached_property
    def scored(self) -> pl.DataFrame:
        """The responses with derived columns."""
        return self.derived(self.responses)

    def derived(self, responses: pl.DataFrame) -> pl.DataFrame:
        """Return ``responses`` with derived columns, model by model and run by run."""
        parts = responses.partition_by("model", "run", maintain_order=True)
        made = [files.derived(self.benchmark, each, None) for each in parts]
        return pl.concat(made, how="diagonal_relaxed") if made else responses

    @cached_property
    def groups(self) -> list[Group]:
        """Groups pooled over runs."""
        return groups_of(self.benchmark, self.scored, by_run=False)

    @cached_property
    def estimates(self) -> pl.DataFrame:
        """Every measure of every group."""
        return estimates(self.benchmark, self.groups)

    @cached_property
    def comparisons(self) -> pl.DataFrame:
        """Every test."""
        return comparisons(self.benchmark, self.groups)

    @cached_property
    def everything(self) -> Scored:
        """What a benchmark's own tables are made from."""
        return Scored(self.scored, self.groups, None, self.estimates)

    @cached_property
    def elsewhere(self) -> subprocess.CompletedProcess[str]:
        """A process of its own: modules loaded with the benchmark's, and by what its first items are asked and scored.

        One process for two rules: to load a benchmark is most of its time.
        """
        item = self.benchmark.Item
        kept = [each.model_dump_json() for each in self.benchmark.items[:SOME_ITEMS]]
        given = [sys.path, type(self.benchmark).__module__, item.__module__, item.__qualname__, kept]
        return subprocess.run(
            [sys.executable, "-c", _ELSEWHERE, json.dumps(given)],
            capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PYTHONHASHSEED": "7"},
        )  # fmt: skip


def try_benchmark(benchmark: type[Any], folder: Path, settings: Mapping[str, Any] | None = None) -> Tried:
    """Make a small study of ``benchmark`` in ``folder``, build its items and have two simulated respondents answer."""
    study = small_study(benchmark, folder, benchmark.trial_settings if settings is None else settings)
    study.prepare()
    bound = benchmark.of(study)
    construction.build(bound)
    first = sum(_ask(bound, each) for each in tasks.partitions(bound))
    again = sum(_ask(bound, each) for each in tasks.partitions(bound))
    return Tried(bound, (first, again))


def small_study(benchmark: type[Any], folder: Path, settings: Mapping[str, Any]) -> Study:
    """Return a study of one benchmark and two simulated respondents, one run each; its home is below ``folder``."""
    specs = [
        {
            "name": name, "provider": "simulated", "family": name, "observer": {"accuracy": accuracy, "seed": place},
        }
        for place, (name, accuracy) in enumerate(RESPONDENTS.items(), 1)
    ]  # fmt: skip
    # Not through the registry: a class is checked before its package is installed.
    return Study.model_validate(
        {
            "study": StudySection(name="conformance", home="home", seed=SEED),
            "models": specs,
            "benchmarks": {benchmark.name: benchmark.Settings.model_validate(dict(settings))},
            "path": folder / "study.toml",
        }
    )


def _ask(benchmark: Benchmark[Any, Any, Any], partition: Partition) -> int:
    """Ask what a partition lacks; return the calls that took."""
    done = query_partition(
        partition,
        tasks.tasks(benchmark, partition.spec),
        benchmark.modes(partition.spec),
        fingerprint=tasks.fingerprint(benchmark, partition),
        respond=benchmark.observer(partition.spec.observer),
    )
    return done.tally.calls
