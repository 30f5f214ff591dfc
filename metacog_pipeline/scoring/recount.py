"""One number of a board computed anew from the responses behind it: what counts, what was left out and why.

A measure is computed by its own declaration, over the responses as they were read; nothing stored of it is looked at.
Which responses count is what the measure declares (`Measure.rests_on`). Of one that declares nothing it is found by the
measure itself: its ``n`` of a part of them is none of the part, or all of it, or the part is divided.
"""

from __future__ import annotations

import copy
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline import registry
from metacog_pipeline.asking import tasks
from metacog_pipeline.asking.judging import responses_path
from metacog_pipeline.benchmark.contract import Benchmark, Context, Group, Measure, MeasureSet
from metacog_pipeline.benchmark.measures import holds, told
from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.scoring import files, incomplete
from metacog_pipeline.scoring.basis import answers_behind
from metacog_pipeline.scoring.calibration import PREFIX, calibration
from metacog_pipeline.scoring.estimates import COVERAGE, estimates, groups_of
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.scoring.harmonised_measures import DECLARED
from metacog_pipeline.scoring.responses import FAILED_READING
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import read_frame

Bound = Benchmark[Any, Any, Any]
MOST_PARTS = 400  # a measure is asked about; beyond, which responses count is left open
MOST_CLASSES = 80  # of responses that are alike in what a measure may look at
_ROW = "_row"
_KEY = ("run", "item_id", "condition")
NOT_ANSWERED, NOT_READ = "not answered", "not readable"
NO_VERDICT = "without right or wrong"
NO_RIGHT_OPTION = "without a right option among those chosen from"
NO_CONFIDENCE = "without a confidence"
NOT_ITS_OWN = "not what the measure is about"
_SAID = (NOT_ANSWERED, NOT_READ)  # these say why in words of their own


@dataclass(frozen=True, slots=True)
class _Apart(Context):
    """A context whose slow results are kept in ``folder``: what the study keeps is neither read nor changed."""

    folder: Path

    def cache(self, name: str) -> Path:
        """Return a folder of our own for results that are slow to make."""
        return self.folder / name


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Asked responses that a number does not rest on: how many, why, and what was said of them."""

    n: int
    why: str
    reasons: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Recount:
    """A number computed anew.

    Attributes
    ----------
    made
        The estimate, with status and method, as the measure gives it.
    declared
        The measure's declaration.
    asked
        Responses asked for that the measure could be about.
    counted
        Those it rests on, with their place; None where the measure does not tell.
    left_out
        The others, by reason; without ``counted`` those that had no reading, whatever the measure does with them.
    """

    made: Estimate
    declared: Measure | None
    asked: pl.DataFrame
    counted: pl.DataFrame | None
    left_out: tuple[LeftOut, ...]
    cell: Cell


@dataclass(frozen=True)
class Cell:
    """One measure of one model under one condition, and how it is computed from any responses of its kind.

    ``frame`` are the responses asked for; ``others`` those of the model's other conditions, which some measures need;
    ``shared`` says whether the measure is one of those computed in one way for all benchmarks.
    """

    benchmark: Bound
    condition: str
    measure: str
    frame: pl.DataFrame
    others: pl.DataFrame
    declared: Measure | None = None
    shared: bool = False

    def estimate(self, frame: pl.DataFrame, *, alone: bool = True) -> Estimate | None:
        """Return the measure of these responses; ``alone``: without those of other conditions. None where it has none."""
        if self.shared:
            return self.of_answers(harmonised(self.benchmark, frame), frame)
        whole = frame if alone else pl.concat([frame, self.others], how="diagonal_relaxed")
        groups = groups_of(self.benchmark, whole, by_run=False)
        if alone:
            groups = [group for group in groups if group.label == self.condition]
        return _found(estimates(self.benchmark, groups).filter(condition=self.condition), self.measure)

    def of_answers(self, answers: pl.DataFrame, frame: pl.DataFrame) -> Estimate | None:
        """Return a shared measure of harmonised answers; ``frame`` are the responses they were made of."""
        made = calibration(answers.filter(condition=self.condition), seed=self.benchmark.context.seed)
        return _found(incomplete.told(made, incomplete.lacking(self.benchmark, frame)), self.measure)

    @cached_property
    def about(self) -> pl.DataFrame:
        """The responses the measure is declared to be about."""
        if self.declared is None or self.declared.only is None:
            return self.frame
        column, values = self.declared.only
        return self.frame.filter(pl.col(column).is_in(list(values)))


def recount(study: Study, benchmark: str, condition: str, model: str, measure: str) -> Recount:
    """Compute one number of a board anew from the responses of the study.

    Parameters
    ----------
    condition
        As boards show it: task, condition and scoring.

    Raises
    ------
    StoreError
        If there are no responses of the model, or the measure is not computed from them.
    """
    with tempfile.TemporaryDirectory(prefix="metacog-recount-") as folder:
        cell = cell_of(study, benchmark, condition, model, measure, Path(folder))
        made = cell.estimate(cell.frame, alone=False)
        if made is None:
            raise StoreError(
                f"explain: {benchmark} gives no {measure} under {condition} from the responses of {model}; "
                f"run `metacog run {study.path.name}` to bring the board up to date"
            )
        counted = _counted(cell, made)
        left = _left_out(cell, counted)
        return Recount(made, cell.declared, cell.about, counted, left, cell)


def cell_of(study: Study, benchmark: str, condition: str, model: str, measure: str, folder: Path) -> Cell:
    """Return one cell of a board; what is slow to compute is kept in ``folder``."""
    declared = registry.load(benchmark)
    bound: Bound = declared(study.benchmarks[benchmark], _Apart(study, folder))
    scored = _responses(bound, model)
    own = _holding(declared, measure)
    narrow = copy.copy(bound)
    # Only what holds the measure is computed; the coverage of a benchmark that declares none is always there.
    narrow.measures = () if own in (None, COVERAGE) else (own,)  # type: ignore[misc]
    if measure.startswith(PREFIX) and own is None:
        under = _harmonised_under(bound, scored, condition)
        declared_shared = next((each for each in DECLARED if PREFIX + each.name == measure), None)
        return Cell(bound, condition, measure, under, scored.clear(), declared_shared, shared=True)
    group = next((g for g in groups_of(narrow, scored, by_run=False) if g.label == condition), None)
    if group is None:
        raise StoreError(f"explain: {model} has no responses of {benchmark} under {condition}")
    is_here = _is_of(group)
    others = scored.filter(~is_here)
    return Cell(narrow, condition, measure, scored.filter(is_here), others, _declaration(own, measure))


def _harmonised_under(benchmark: Bound, scored: pl.DataFrame, condition: str) -> pl.DataFrame:
    """Return the responses of the conditions that are called ``condition`` in what all benchmarks share."""
    place = ["dataset", *benchmark.grouped_by, "condition"]
    parts = scored.partition_by(place, maintain_order=True)
    own = [part for part in parts if (harmonised(benchmark, part)["condition"] == condition).any()]
    return pl.concat([scored.clear(), *own])


def _is_of(group: Group) -> pl.Expr:
    same = [pl.col("dataset") == group.dataset, pl.col("condition") == group.condition]
    if group.task is not None:
        same.append(pl.col("task") == group.task)
    return pl.all_horizontal(same)


def _responses(benchmark: Bound, model: str) -> pl.DataFrame:
    """Return the responses of a model over all runs as they were read, with what the benchmark derives of them."""
    made = [
        files.derived(benchmark, read_frame(responses_path(each)), files.kept_judgements(benchmark, each))
        for each in tasks.partitions(benchmark)
        if each.spec.name == model and responses_path(each).exists()
    ]
    if not made:
        raise StoreError(f"explain: no responses of {model} to {benchmark.name} yet; run `metacog run` first")
    return pl.concat(made, how="diagonal_relaxed")


def _holding(benchmark: type[Bound], measure: str) -> Measure | MeasureSet | None:
    """Return what a benchmark declares that computes ``measure``."""
    for each in benchmark.measures:
        names = [one.name for one in each.measures] if isinstance(each, MeasureSet) else [each.name]
        if measure in names:
            return each
    return COVERAGE if measure == COVERAGE.name else None


def _declaration(own: Measure | MeasureSet | None, measure: str) -> Measure:
    if isinstance(own, MeasureSet):
        return next(each for each in own.measures if each.name == measure)
    assert own is not None
    return own


def _found(rows: pl.DataFrame, measure: str) -> Estimate | None:
    own = rows.filter(measure=measure)
    if not own.height:
        return None
    row = own.row(0, named=True)
    return Estimate(
        row["estimate"], row["low"], row["high"], row["n"], row["method"], row["status"], row["sem"]
    )


# --- what counts ------------------------------------------------------------------------------------------------------
def _counted(cell: Cell, made: Estimate) -> pl.DataFrame | None:
    """Return the responses a number rests on; None where its n is no sum over them."""
    declared = _declared(cell, made)
    if declared is not None:
        return declared
    numbered = cell.about.with_row_index(_ROW)
    parts = _classes(cell, numbered)
    kept = []
    for asked in range(MOST_PARTS):
        if not parts:
            break
        part = parts.pop()
        alone = cell.estimate(part.drop(_ROW))
        n = 0 if alone is None else alone.n
        if n == part.height:
            kept.append(part)
        elif 0 < n < part.height and asked + len(parts) < MOST_PARTS:
            parts += [part[: part.height // 2], part[part.height // 2 :]]
        elif n:
            return None
    if parts or sum(part.height for part in kept) != made.n:
        return None
    return pl.concat([numbered.clear(), *kept]).sort(_ROW).drop(_ROW)


def _declared(cell: Cell, made: Estimate) -> pl.DataFrame | None:
    """Return the responses a number rests on by its declaration; None where that says nothing, or something else."""
    if cell.declared is None or not cell.declared.basis:
        return None
    answered = cell.about.filter(~pl.col("status").is_in(list(cell.benchmark.unanswered)))
    own = answers_behind(cell.benchmark, answered, cell.declared)
    if made.n not in (own.height, own["item_id"].n_unique()):
        return None
    return cell.about.join(own.select("run", "item_id"), on=["run", "item_id"], how="semi")


def _classes(cell: Cell, numbered: pl.DataFrame) -> list[pl.DataFrame]:
    """Return the responses in parts that are alike in what a measure may look at: status, codes, what is missing."""
    coded = [name for name in cell.benchmark.coded if name in numbered.columns]
    missing = [f"_no_{name}" for name in ("correct", "confidence", "answer") if name in numbered.columns]
    flagged = numbered.with_columns(
        pl.col(name.removeprefix("_no_")).is_null().alias(name) for name in missing
    )
    for names in (["status", *coded, *missing], ["status", *missing], ["status"]):
        found = flagged.partition_by(names, maintain_order=True)
        if len(found) <= MOST_CLASSES:
            return [part.select(numbered.columns) for part in found]
    return [numbered]


# --- what was left out ------------------------------------------------------------------------------------------------
def _left_out(cell: Cell, counted: pl.DataFrame | None) -> tuple[LeftOut, ...]:
    """Return what the number does not rest on, by the first reason that holds of it."""
    asked = _marked(cell)
    measure = cell.declared
    unread = pl.col("status").is_in([*cell.benchmark.unreadable, FAILED_READING])
    reasons = {
        NOT_ANSWERED: pl.col("status").is_in(list(cell.benchmark.unanswered)),
        NOT_READ: unread,
        NO_VERDICT: ~pl.col("_verdict"),
        NO_RIGHT_OPTION: pl.col("_alternatives").is_null(),
        NO_CONFIDENCE: ~pl.col("_sure"),
    }
    if measure is not None and measure.basis and not measure.shared:
        declared = {told(*each): ~holds((each,), asked.schema) for each in measure.basis}
        reasons = {why: reasons[why] for why in _SAID} | declared
    rest = asked
    if counted is not None:
        own = asked.join(counted.select(_KEY), on=_KEY, how="semi")
        rest = asked.join(counted.select(_KEY), on=_KEY, how="anti")
        # What holds of a response that counts is no reason to leave one out.
        reasons = {why: here for why, here in reasons.items() if not own.filter(here).height}
    else:
        reasons = {why: reasons[why] for why in _SAID}
    if counted is not None and rest.filter(~pl.any_horizontal(pl.lit(False), *reasons.values())).height:
        # The measure chooses among its responses by something else, so what they lack is not why.
        reasons = {why: here for why, here in reasons.items() if why in _SAID}
    found = []
    for why, here in reasons.items():
        these, rest = rest.filter(here), rest.filter(~here)
        if these.height:
            said = Counter(map(_reason, these["status"], these["reason"])) if why in _SAID else {}
            found.append(LeftOut(these.height, why, dict(sorted(said.items(), key=lambda each: -each[1]))))
    if counted is not None and rest.height:
        found.append(LeftOut(rest.height, NOT_ITS_OWN))
    return tuple(found)


def _marked(cell: Cell) -> pl.DataFrame:
    """Return the responses the measure is about with whether they have right or wrong, a confidence, alternatives."""
    seen = harmonised(cell.benchmark, cell.about).unique(["run", "item_id"])
    marks = seen.select(
        "run",
        "item_id",
        _verdict=True,
        _sure=pl.col("confidence").is_not_null(),
        _alternatives="n_alternatives",
    )
    named = () if cell.declared is None or cell.declared.shared else cell.declared.basis
    own = cell.about.select(*dict.fromkeys((*_KEY, "status", "reason", *(name for name, _ in named))))
    found = own.join(marks, on=["run", "item_id"], how="left", maintain_order="left")
    return found.with_columns(pl.col("_verdict", "_sure").fill_null(False))


def _reason(status: str, reason: str | None) -> str:
    return f"{status}: {one_line(reason, 120)}" if reason else status


def items_of(frame: pl.DataFrame) -> list[str]:
    """Return the items of these responses, each once, in the order of asking."""
    return frame.sort("position", "item_id")["item_id"].unique(maintain_order=True).to_list()
