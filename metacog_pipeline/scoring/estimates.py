"""Every measure of every group, with its interval or the reason it has none: one schema for all benchmarks.

Unanswered items make a group incomplete: its numbers are withheld or, where the study allows incomplete runs, computed
without those items and labelled; they are never scored as wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Measure, MeasureSet
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.errors import one_line
from metacog_pipeline.scoring.basis import Behind, answers_behind, behind
from metacog_pipeline.scoring.schemas import ESTIMATE
from metacog_pipeline.stats import measured_coverage
from metacog_pipeline.stats.estimate import OK, Estimate, unavailable

WITHHELD = "withheld"
Row = tuple[Any, ...]  # of the schema `ESTIMATE`
_MEASURE, _VALUE = map(ESTIMATE.names().index, ("measure", "estimate"))
FAILED = "failed: "
COVERAGE = Measure(
    "coverage",
    "coverage",
    words="Share of the asked items whose answer could be read.",
)


def groups_of(benchmark: Benchmark[Any, Any, Any], scored: pl.DataFrame, *, by_run: bool) -> list[Group]:
    """Return the groups of scored responses, ordered by data set, task, condition, model and run; per scoring.

    ``scored`` are responses with derived columns; ``by_run`` keeps runs apart, else they are pooled.
    """
    keys = ["dataset", *benchmark.grouped_by, "condition", "model", *(["run"] if by_run else [])]
    order = list(dict.fromkeys([*keys, "run", "item_id"]))
    found, first = [], 0
    whole = scored.sort(order, maintain_order=True)
    answered = ~pl.col("status").is_in(benchmark.unanswered)
    unreadable = answered & pl.col("status").is_in((*benchmark.unreadable, "unparsable"))
    facts = whole.group_by(keys, maintain_order=True).agg(
        _asked=pl.len(),
        _answered=answered.sum(),
        _unreadable=unreadable.sum(),
        _simulated=(pl.col("source") == "simulated").any(),
    )
    for named in facts.iter_rows(named=True):
        own = whole.slice(first, named["_asked"])
        first += own.height
        rows = own if named["_answered"] == own.height else own.filter(answered)
        for scoring in benchmark.scorings:
            found.append(
                Group(
                    benchmark,
                    dataset=str(named["dataset"]),
                    task=named.get("task"),
                    condition=str(named["condition"]),
                    scoring=scoring,
                    model=str(named["model"]),
                    run=named.get("run"),
                    source="simulated" if named["_simulated"] else "measured",
                    asked=own.height,
                    n_failed=own.height - rows.height,
                    n_unreadable=named["_unreadable"],
                    rows=rows,
                    frame=own,
                )
            )
    return found


def estimates(
    benchmark: Benchmark[Any, Any, Any], groups: Sequence[Group], by_run: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return one row per group and measure in the schema `ESTIMATE`.

    ``by_run`` are rows of models with a single run: pooled over runs their numbers are the same and not computed twice. A
    set that has other measures of a model than of a run is computed whole.
    """
    kept = _by_group(by_run) if by_run is not None else {}
    found: list[dict[str, Estimate | Row]] = [{} for _ in groups]
    for each in benchmark.measures:
        left = [
            (group, values)
            for group, values in zip(groups, found, strict=True)
            if not _taken(each, group, values, kept.get(_key(group), {}))
        ]
        if not left:
            continue
        if isinstance(each, MeasureSet):
            _compute_set(benchmark, each, *zip(*left, strict=True))
        else:
            _compute(each, left)
    known = {each.name: each for each in measures_of(benchmark)}
    rows = [
        row
        for group, values in zip(groups, found, strict=True)
        for row in _rows(benchmark, group, values, known)
    ]
    return pl.DataFrame(rows, schema=ESTIMATE, orient="row")


def _key(group: Group) -> tuple[object, ...]:
    return group.dataset, group.task, group.label, group.scoring, group.model


def _by_group(by_run: pl.DataFrame) -> dict[tuple[object, ...], dict[str, Row]]:
    found: dict[tuple[object, ...], dict[str, Row]] = {}
    pooled = by_run.with_columns(run=pl.lit(None, pl.Int32)).select(ESTIMATE.names())
    for row in pooled.filter(~pl.col("status").str.starts_with(FAILED)).iter_rows():
        found.setdefault((*row[1:6],), {})[row[_MEASURE]] = row
    return found


def _taken(
    each: Measure | MeasureSet, group: Group, values: dict[str, Estimate | Row], kept: Mapping[str, Row]
) -> bool:
    """Take what is kept of a measure or a set; whether all that apply were there."""
    measures = each.measures if isinstance(each, MeasureSet) else (each,)
    names = {measure.name for measure in measures if measure.conditions(group.condition)}
    if not names <= kept.keys() or not names or (isinstance(each, MeasureSet) and each.together):
        return False
    values.update((name, row) for name, row in kept.items() if name in names)
    return True


def measures_of(benchmark: Benchmark[Any, Any, Any] | type[Benchmark[Any, Any, Any]]) -> list[Measure]:
    """Return every measure a benchmark declares, those of sets among them, coverage first."""
    declared: list[Measure] = []
    for each in benchmark.measures:
        declared += each.measures if isinstance(each, MeasureSet) else (each,)
    named = any(each.name == COVERAGE.name for each in declared)
    return declared if named else [COVERAGE, *declared]


def _compute(measure: Measure, groups: Sequence[tuple[Group, dict[str, Estimate | Row]]]) -> None:
    if measure.compute is None:
        raise TypeError(f"measure {measure.name} has no compute and stands in no MeasureSet")
    for group, values in groups:
        if not measure.conditions(group.condition):
            continue
        try:
            made = measure.compute(group)
        except Exception as error:  # one measure that fails leaves its own row empty
            made = _failed(error)
        if made is not None:
            values[measure.name] = made


def _compute_set(
    benchmark: Benchmark[Any, Any, Any],
    each: MeasureSet,
    groups: Sequence[Group],
    found: Sequence[dict[str, Estimate | Row]],
) -> None:
    try:
        made = each.compute(benchmark, groups)
        for values, own in zip(found, made, strict=True):
            values.update(own)
    except Exception as error:
        for group, values in zip(groups, found, strict=True):
            names = [m.name for m in each.measures if m.conditions(group.condition)]
            values.update(dict.fromkeys(names, _failed(error)))


def _failed(error: Exception) -> Estimate:
    return unavailable(0, "none", one_line(f"{FAILED}{type(error).__name__}: {error}"))


def _rows(
    benchmark: Benchmark[Any, Any, Any],
    group: Group,
    values: Mapping[str, Estimate | Row],
    known: Mapping[str, Measure],
) -> Iterator[Row]:
    whole = values.get(COVERAGE.name)
    if whole is None:
        whole = Estimate(group.coverage, None, None, group.asked, "readable / asked")
        values = {COVERAGE.name: whole, **values}
    coverage = whole.value if isinstance(whole, Estimate) else whole[_VALUE]
    among: dict[tuple[str, tuple[str, ...]], Group] = {}
    counted: dict[object, Behind] = {}
    for name, estimate in values.items():
        if not isinstance(estimate, Estimate):
            yield estimate
            continue
        measure = known.get(name)
        own = group
        if measure is not None and measure.only is not None:
            own = among.get(measure.only) or among.setdefault(measure.only, group.among(*measure.only))
        missing = None if name == COVERAGE.name else _missing(own, measure)
        shown = benchmark.settings.allow_incomplete or (measure is not None and not measure.withheld)
        if missing is not None and not shown:
            estimate = unavailable(estimate.n, WITHHELD, missing)
        kind = None if measure is None else (measure.basis, measure.shared, measure.right)
        if kind not in counted:
            try:
                counted[kind] = behind(answers_behind(benchmark, own.rows, measure), measure)
            except pl.exceptions.PolarsError as error:  # it names a column that is not there
                estimate = _failed(error)
        # A value of an incomplete run says so, after what else is said of it; one that cannot be formed says why.
        status = estimate.status
        if missing is not None and estimate.value is not None and not status.startswith("incomplete"):
            status = missing if status == OK else f"{status}; {missing}"
        covered = coverage if own is group else own.coverage
        if measure is not None and measure.part is not None:
            covered = _coverage_of(own, measure.part)
        held = counted.get(kind) or behind(own.rows, None)
        yield _row(benchmark, own, name, estimate, status, covered, held, measure)


def _missing(group: Group, measure: Measure | None) -> str | None:
    """Return what a measure lacks; None where everything it rests on was answered."""
    if measure is not None and measure.part is not None:
        statuses = group.frame[f"status_{measure.part}"]
        lacking = int(statuses.is_in(group.benchmark.unanswered).sum())
        return f"incomplete: {lacking} of {group.asked} not answered" if lacking else None
    if measure is not None and measure.needs is not None:
        column, where = measure.needs
        own = group.frame["status"].is_in(group.benchmark.unanswered)
        lacking = int((own | (group.frame[column] > 0)).sum())
        if lacking > group.n_failed:
            place = f"here or {where}" if group.n_failed else where
            return f"incomplete: {lacking} of {group.asked} not answered {place}"
    return group.incomplete


def _coverage_of(group: Group, part: str) -> float | None:
    readable = int((group.frame[f"status_{part}"] == "ok").sum())
    return readable / group.asked if group.asked else 0.0


def _row(
    benchmark: Benchmark[Any, Any, Any],
    group: Group,
    name: str,
    estimate: Estimate,
    status: str,
    coverage: float | None,
    own: Behind,
    measure: Measure | None,
) -> Row:
    few = measured_coverage.low_n(
        name if measure is None or not measure.shared else measured_coverage.SHARED_PREFIX + name,
        estimate.method,
        estimate.value,
        estimate.low,
        estimate.n,
        own.rarer,
        several=own.several,
    )
    return (
        *(benchmark.name, group.dataset, group.task, group.label, group.scoring, group.model, group.run),
        *(group.source, name, estimate.value, estimate.low, estimate.high, estimate.sem, estimate.n),
        *(own.n_items, group.n_failed, group.n_unreadable, coverage),
        *(estimate.method, status, few),
    )
