"""Every measure of every group, with its interval or the reason it has none: one schema for all benchmarks.

Unanswered items make a group incomplete: its numbers are withheld or, where the study allows incomplete runs, computed
without those items and labelled; they are never scored as wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import polars as pl

from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Measure, MeasureSet
from metacog_pipeline.benchmark.display import FIRST_REPLY
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.benchmark.measures import holds
from metacog_pipeline.errors import one_line
from metacog_pipeline.scoring.harmonised import PREFIX, harmonised
from metacog_pipeline.scoring.schemas import ESTIMATE
from metacog_pipeline.stats.coverage import low_n
from metacog_pipeline.stats.estimate import COUNT, OK, Estimate, unavailable

WITHHELD = "withheld"
FAILED = "failed: "
OUTSIDE = "outside its range: "
_HAIR = 1e-9  # rounding may pass the end of a range
COVERAGE = Measure("coverage", "coverage", words="Share of the asked items whose answer could be read.")


class Basis(NamedTuple):
    """The answers of a number, their items, and right or wrong ones, whichever are fewer (None: neither)."""

    n: int
    n_items: int
    rarer: int | None


def answers_behind(benchmark: Bound, answered: pl.DataFrame, measure: Measure) -> pl.DataFrame:
    """Return those of the answered responses that a measure rests on: all, where it declares none."""
    if not measure.basis:
        return answered
    seen = harmonised(benchmark, answered) if measure.shared else answered
    return seen.filter(holds(measure.basis, seen.schema))


def basis_of(answers: pl.DataFrame, measure: Measure, unit: str = "item_id") -> Basis:
    """Count the answers of a number; ``unit`` is the column of the items."""
    rarer = None
    if measure.right in answers.columns:
        verdicts = answers[measure.right].drop_nulls()
        hits = int(verdicts.sum() or 0)
        # All right, or all wrong, by the declaration itself: an interval rests on their number.
        one_kind = any(name == measure.right and values for name, values in measure.basis)
        rarer = len(verdicts) if one_kind else min(hits, len(verdicts) - hits)
    return Basis(answers.height, answers[unit].n_unique(), rarer)


def groups_of(benchmark: Bound, scored: pl.DataFrame, *, by_run: bool) -> list[Group]:
    """Return the groups of responses with derived columns, ordered by data set, task, condition, model and run."""
    keys = ["dataset", *benchmark.grouped_by, "condition", "model", *(["run"] if by_run else [])]
    order = list(dict.fromkeys([*keys, "run", "item_id"]))
    found = []
    whole = scored.sort(order, maintain_order=True)
    answered = ~pl.col("status").is_in(benchmark.unanswered)
    for own in whole.partition_by(keys, maintain_order=True):
        rows = own.filter(answered)
        named = own.row(0, named=True)
        unreadable = rows.filter(pl.col("status").is_in((*benchmark.unreadable, "unparsable"))).height
        own_source = "simulated" if (own["source"] == "simulated").any() else "measured"
        for scoring in benchmark.scorings:
            group = Group(
                benchmark, dataset=str(named["dataset"]), task=named["task"] if "task" in keys else None,
                condition=str(named["condition"]), scoring=scoring, model=str(named["model"]),
                run=named["run"] if by_run else None, source=own_source, asked=own.height,
                n_failed=own.height - rows.height, n_unreadable=unreadable, rows=rows, frame=own,
            )  # fmt: skip
            found.append(group)
    return found


def estimates(benchmark: Bound, groups: Sequence[Group]) -> pl.DataFrame:
    """Return one row per group and measure in the schema `ESTIMATE`."""
    found: list[dict[str, Estimate]] = [{} for _ in groups]
    for each in benchmark.measures:
        for own, made in zip(found, _computed(benchmark, each, groups), strict=True):
            own |= made
    declared = {each.name: each for each in measures_of(benchmark)}
    rows = [
        row for group, values in zip(groups, found, strict=True) for row in _rows(group, values, declared)
    ]
    return pl.DataFrame(rows, schema=ESTIMATE, orient="row")


def narrowed(benchmark: Bound, names: Collection[str]) -> Bound:
    """Return the benchmark with the measures ``names`` alone, and with those of the sets they are computed in."""
    found = copy(benchmark)
    holding = (each for each in benchmark.measures if any(one.name in names for one in members(each)))
    found.measures = tuple(holding)  # type: ignore[misc]
    return found


def members(each: Measure | MeasureSet) -> tuple[Measure, ...]:
    """Return the measures of a set, or the one measure."""
    return tuple(each.measures) if isinstance(each, MeasureSet) else (each,)


def measures_of(benchmark: Bound | type[Bound]) -> list[Measure]:
    """Return every measure a benchmark declares, those of sets among them, coverage first."""
    declared: list[Measure] = []
    for each in benchmark.measures:
        declared += members(each)
    named = any(each.name == COVERAGE.name for each in declared)
    every = declared if named else [COVERAGE, *declared]
    again = (each for each in every if each.headline or each.name == COVERAGE.name)
    return [*every, *map(_first_reply_measure, again)]


def _first_reply_measure(measure: Measure) -> Measure:
    """Return a measure as it is of the first replies alone; `files.score` computes it where a reply was asked once more."""
    named = measure.name + FIRST_REPLY, f"{measure.label}, first replies"
    words = f"{measure.words} Of the first replies alone: those to a second ask are left out.".strip()
    kept = ("unit", "range", "higher_is_better", "conditions")
    return Measure(*named, words=words, **{name: getattr(measure, name) for name in kept})


def _computed(
    benchmark: Bound, each: Measure | MeasureSet, groups: Sequence[Group]
) -> list[dict[str, Estimate]]:
    """Return the values of a measure or a set for each group; one that fails leaves its own rows empty."""
    if isinstance(each, MeasureSet):
        try:
            found = each.compute(benchmark, groups) if groups else []
            return [dict(own) for _, own in zip(groups, found, strict=True)]
        except Exception as error:
            names = [[m.name for m in each.measures if m.conditions(g.condition)] for g in groups]
            return [dict.fromkeys(own, _failed(error)) for own in names]
    if each.compute is None:
        raise TypeError(f"measure {each.name} has no compute and is in no MeasureSet")
    made: list[dict[str, Estimate]] = []
    for group in groups:
        try:
            value = each.compute(group) if each.conditions(group.condition) else None
        except Exception as error:
            value = _failed(error)
        made.append({} if value is None else {each.name: value})
    return made


def _within(measure: Measure, estimate: Estimate) -> Estimate:
    """Return an estimate without its numbers where they lie outside the declared range."""
    (least, most), value = measure.range, estimate.value
    if value is None:
        return estimate
    if (least is None or value >= least - _HAIR) and (most is None or value <= most + _HAIR):
        return estimate
    said = f"{OUTSIDE}{value} [{estimate.low}, {estimate.high}], of a measure from {least} to {most}"
    return unavailable(estimate.n, estimate.method, f"{said}; correct its compute or its range")


def _failed(error: Exception) -> Estimate:
    return unavailable(0, "none", one_line(f"{FAILED}{type(error).__name__}: {error}"))


def _rows(
    group: Group, values: Mapping[str, Estimate], declared: Mapping[str, Measure]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a group; of a benchmark that computes no coverage of its own, that of all answers."""
    if COVERAGE.name not in values:
        covered = Estimate(group.coverage, None, None, group.asked, "readable / asked", COUNT)
        values = {COVERAGE.name: covered, **values}
    coverage = values[COVERAGE.name].value
    among: dict[object, Group] = {None: group}
    counted: dict[object, Basis | Estimate] = {
        **_bases(group, [declared[n] for n in values if n in declared])
    }
    for name, estimate in values.items():
        measure = declared.get(name) or Measure(name, name)
        only = measure.only
        own = among.get(only) or among.setdefault(only, group.among(*only or ("", ())))
        kind = _kind(measure)
        if kind not in counted:  # many measures rest on the same answers
            try:
                counted[kind] = basis_of(answers_behind(group.benchmark, own.rows, measure), measure)
            except pl.exceptions.PolarsError as error:  # it names a column that is not there
                counted[kind] = _failed(error)
        share = coverage if own is group else own.coverage
        yield _row(own, measure, estimate, share, counted[kind])


def _kind(measure: Measure) -> object:
    return measure.only, measure.basis, measure.shared, measure.right


def _bases(group: Group, measures: Iterable[Measure]) -> dict[object, Basis]:
    """Return the bases of measures that rest on columns of the whole group; none where such a column is not there."""
    # One query for all: one for each measure of 300 groups took 10 s of the 36 s of a board of 100 models.
    rows, schema = group.rows, group.rows.schema
    own = {_kind(each): each for each in measures if each.basis and each.only is None and not each.shared}
    try:
        held = rows.select(holds(each.basis, schema).alias(str(i)) for i, each in enumerate(own.values()))
    except pl.exceptions.PolarsError:
        return {}
    narrow = rows.select({"item_id", *(each.right for each in own.values())} & schema.keys())
    found, behind = dict[object, Basis](), dict[bytes, pl.DataFrame]()
    for (kind, measure), mask in zip(own.items(), held, strict=True):
        key = mask.to_numpy().tobytes()
        if key not in behind:
            behind[key] = narrow.filter(mask)
        found[kind] = basis_of(behind[key], measure)
    return found


def _missing(group: Group, measure: Measure) -> str | None:
    """Return what a measure lacks; None where everything it rests on was answered."""
    if measure.needs is not None:
        column, where = measure.needs
        unanswered = group.frame["status"].is_in(group.benchmark.unanswered)
        lacking = int((unanswered | (group.frame[column] > 0)).sum())
        if lacking > group.n_failed:
            place = f"here or {where}" if group.n_failed else where
            return f"incomplete: {lacking} of {group.asked} not answered {place}"
    return group.incomplete


def _row(
    group: Group, measure: Measure, estimate: Estimate, coverage: float | None, basis: Basis | Estimate
) -> tuple[Any, ...]:
    benchmark, name = group.benchmark, measure.name
    estimate = _within(measure, estimate)
    missing = None if name == COVERAGE.name else _missing(group, measure)
    if missing is not None and measure.withheld and not benchmark.settings.allow_incomplete:
        estimate = unavailable(estimate.n, WITHHELD, missing)
    if isinstance(basis, Estimate):
        estimate, basis = basis, basis_of(group.rows, Measure(name, name))
    # A value of an incomplete run says so, after what else is said of it; one that cannot be formed says why.
    status = estimate.status
    if missing is not None and estimate.value is not None and not status.startswith("incomplete"):
        status = missing if status in (OK, COUNT) else f"{status}; {missing}"
    few = low_n(
        PREFIX + name if measure.shared else name,
        *(estimate.method, estimate.value, estimate.low, estimate.n, basis.rarer),
        several=basis.n > basis.n_items,
    )
    return (
        *(benchmark.name, group.dataset, group.task, group.label, group.scoring, group.model, group.run),
        *(group.source, name, estimate.value, estimate.low, estimate.high, estimate.sem, estimate.n),
        *(basis.n_items, group.n_failed, group.n_unreadable, coverage, estimate.method, status, few),
    )


def outside_range(estimates: pl.DataFrame) -> Iterator[str]:
    """Yield a line per measure whose numbers lie outside the declared range and are withheld."""
    odd = estimates.filter(pl.col("status").str.starts_with(OUTSIDE)).unique("measure", maintain_order=True)
    for measure, condition, status in odd.select("measure", "condition", "status").iter_rows():
        yield f"measure {measure} under {condition} is {status}"
