"""Choices between arms: which items a later condition asks, picked once from the answers of all models."""

from __future__ import annotations

from typing import Any

import polars as pl

from metacog_pipeline.asking import tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.contract import Benchmark, Choice, Condition
from metacog_pipeline.errors import SourceError
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.responses import read_responses

Bound = Benchmark[Any, Any, Any]


def waiting(benchmark: Bound) -> list[Condition]:
    """Return the conditions whose items are not chosen yet."""
    later = [each for each in benchmark.conditions() if each.after is not None]
    return [each for each in later if tasks.chosen_items(benchmark, each) is None]


def unanswered(benchmark: Bound) -> list[str]:
    """Return what a choice waits for, ``model run 1`` each.

    A replayed model of which not everything was imported is not waited for.
    """
    asked = [each for each in tasks.partitions(benchmark) if each.spec.provider != "replay"]
    return [
        f"{each.spec.name} run {each.run}" for each in asked if each.manifest().get("state") != "complete"
    ]


def choose(benchmark: Bound, name: str) -> frozenset[str]:
    """Choose the items of condition ``name`` and keep the choice; one that was made stays as it is.

    Raises
    ------
    SourceError
        If a model has not answered everything yet: a choice is made for all of them, and once.
    """
    condition = next(each for each in benchmark.conditions() if each.name == name)
    kept = tasks.chosen_items(benchmark, condition)
    if kept is not None:
        return kept
    choice = condition.after
    assert choice is not None
    if missing := unanswered(benchmark):
        raise SourceError(
            f"{benchmark.name}: the choice for {name} waits for {', '.join(missing[:3])}; run `metacog run` to ask them"
        )
    partitions = [
        each
        for each in tasks.partitions(benchmark)
        if each.spec.provider != "replay" or files.has_answers(each)
    ]
    frames = [_scored(benchmark, each, choice) for each in partitions]
    return tasks.choose(benchmark, condition, choice, pl.concat(frames, how="diagonal_relaxed"))


def _scored(benchmark: Bound, partition: Partition, choice: Choice) -> pl.DataFrame:
    """Return the scored responses of one model and run as its transcripts have them now."""
    responses = read_responses(
        benchmark,
        files.current_transcripts(benchmark, partition),
        [each for each in tasks.asked(benchmark) if each[0] == choice.condition],
        model=partition.spec.name,
        run=partition.run,
        source=files.source_word(partition),
    )
    return files.derived(benchmark, responses, files.kept_judgements(benchmark, partition))
