"""One number of a board computed again from the responses as they were read, with what was left out and why."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from metacog_pipeline.asking import tasks
from metacog_pipeline.asking.judging import responses_path
from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.benchmark.contract import Measure, MeasureSet
from metacog_pipeline.benchmark.measures import holds, told
from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.scoring import cross_benchmark, files
from metacog_pipeline.scoring.calibration import PREFIX, with_curves
from metacog_pipeline.scoring.estimates import COVERAGE, answers_behind, estimates, groups_of
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.scoring.harmonised_measures import DECLARED
from metacog_pipeline.scoring.responses import FAILED_READING
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import read_frame

NOT_ANSWERED, NOT_READ = "not answered", "not readable"
NO_VERDICT = "without right or wrong"
NOT_ITS_OWN = "not what the measure is about"
_KEY = ["run", "item_id", "condition"]


class LeftOut(NamedTuple):
    """Asked responses that a number does not rest on: how many, why, and what was said of them."""

    n: int
    why: str
    reasons: Mapping[str, int]


class Recount(NamedTuple):
    """A number computed again; ``declared`` is its measure, ``asked`` are the responses it could be about."""

    made: Estimate
    benchmark: Bound
    declared: Measure
    asked: pl.DataFrame
    counted: pl.DataFrame | None  # those it rests on; None where its n is not their number
    left_out: tuple[LeftOut, ...]  # the others, by reason; without ``counted`` those that had no reading


def recount(study: Study, benchmark: str, condition: str, model: str, measure: str) -> Recount:
    """Compute one number of a board again from the responses of the study; ``condition`` is as boards show it.

    Raises StoreError if there are no responses of the model, or the measure is not computed from them.
    """
    own = bound(study, benchmark)
    scored = _responses(own, model)
    declared, whole = _declaration(own, measure)
    if declared is None:
        raise StoreError(f"explain: {benchmark} declares no {measure}")
    if whole is None:
        frame = _harmonised_under(own, scored, condition)
        answers = harmonised(own, frame).filter(condition=condition)
        table = with_curves(answers, seed=own.context.seed)[0]
        rows = cross_benchmark.labelled(table, cross_benchmark.lacking(own, frame))
    else:
        narrow = copy.copy(own)
        # Only what holds the measure is computed; the coverage of a benchmark that declares none is always there.
        narrow.measures = () if whole is COVERAGE else (whole,)  # type: ignore[misc]
        groups = groups_of(narrow, scored, by_run=False)
        rows = estimates(narrow, groups).filter(condition=condition)
        frame = next((each.frame for each in groups if each.label == condition), scored.clear())
    rows = rows.filter(measure=measure)
    if not rows.height:
        raise StoreError(
            f"explain: {benchmark} gives no {measure} under {condition} from the responses of {model}; "
            f"run `metacog run {study.path.name}` to bring the board up to date"
        )
    fields = rows.select("estimate", "low", "high", "n", "method", "status", "sem").row(0)
    if declared.only is not None:
        column, values = declared.only
        frame = frame.filter(pl.col(column).is_in(list(values)))
    made = Estimate(*fields)
    counted = _counted(own, declared, frame, made.n)
    return Recount(made, own, declared, frame, counted, _left_out(own, declared, frame, counted))


def _responses(benchmark: Bound, model: str) -> pl.DataFrame:
    """Return the responses of a model over all runs as they were read, with derived columns."""
    made = [
        files.derived(benchmark, read_frame(responses_path(each)), files.kept_judgements(benchmark, each))
        for each in tasks.partitions(benchmark)
        if each.spec.name == model and responses_path(each).exists()
    ]
    if not made:
        raise StoreError(f"explain: no responses of {model} to {benchmark.name} yet; run `metacog run` first")
    return pl.concat(made, how="diagonal_relaxed")


def _declaration(benchmark: Bound, measure: str) -> tuple[Measure | None, Measure | MeasureSet | None]:
    """Return the declaration of a measure and what computes it: itself, a set, or nothing where all benchmarks share it."""
    for each in (*benchmark.measures, COVERAGE):
        for one in each.measures if isinstance(each, MeasureSet) else (each,):
            if one.name == measure:
                return one, each
    return next((each for each in DECLARED if PREFIX + each.name == measure), None), None


def _harmonised_under(benchmark: Bound, scored: pl.DataFrame, condition: str) -> pl.DataFrame:
    """Return the responses of the conditions that are called ``condition`` in what all benchmarks share."""
    parts = scored.partition_by("dataset", *benchmark.grouped_by, "condition", maintain_order=True)
    own = [part for part in parts if (harmonised(benchmark, part)["condition"] == condition).any()]
    return pl.concat([scored.clear(), *own])


def _counted(benchmark: Bound, declared: Measure, asked: pl.DataFrame, n: int) -> pl.DataFrame | None:
    """Return the responses a number rests on by its declaration; None where its ``n`` is another."""
    answered = asked.filter(~pl.col("status").is_in(list(benchmark.unanswered)))
    own = answers_behind(benchmark, answered, declared)
    if n not in (own.height, own["item_id"].n_unique()):
        return None
    return asked.join(own, on=["run", "item_id"], how="semi", maintain_order="left")


def _left_out(
    benchmark: Bound, declared: Measure, asked: pl.DataFrame, counted: pl.DataFrame | None
) -> tuple[LeftOut, ...]:
    """Return what a number does not rest on, by the first reason that holds of it."""
    if declared.shared:
        own = harmonised(benchmark, asked).unique(["run", "item_id"])
        columns = own.select("run", "item_id", *("correct", "confidence", "n_alternatives"))
        kept = asked.select(*_KEY, "position", "status", "reason")
        asked = kept.join(columns, on=["run", "item_id"], how="left", maintain_order="left")
    reasons = {
        NOT_ANSWERED: pl.col("status").is_in(list(benchmark.unanswered)),
        NOT_READ: pl.col("status").is_in([*benchmark.unreadable, FAILED_READING]),
    }
    rest = asked
    if counted is not None:
        if declared.shared:
            reasons[NO_VERDICT] = pl.col("correct").is_null()
        reasons |= {told(*each): ~holds((each,), asked.schema) for each in declared.basis}
        own = asked.join(counted, on=_KEY, how="semi")
        rest = asked.join(counted, on=_KEY, how="anti")
        # What holds of a response that counts is no reason to leave one out.
        reasons = {why: here for why, here in reasons.items() if not own.filter(here).height}
        reasons[NOT_ITS_OWN] = pl.lit(True)
    found = []
    for why, here in reasons.items():
        these, rest = rest.filter(here), rest.filter(~here)
        if these.height:
            worded = these if why in (NOT_ANSWERED, NOT_READ) else these.clear()
            said = Counter(map(_reason, worded["status"], worded["reason"]))
            found.append(LeftOut(these.height, why, dict(said.most_common())))
    return tuple(found)


def _reason(status: str, reason: str | None) -> str:
    return f"{status}: {one_line(reason, 120)}" if reason else status
