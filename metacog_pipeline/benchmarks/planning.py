"""The plan of a study: calls, tokens and dollars per model and benchmark, and where the budget would stop it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from metacog_pipeline.benchmarks.catalogue import enabled
from metacog_pipeline.benchmarks.common.benchmark import Benchmark, Judging
from metacog_pipeline.llm.budget import read_figures
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.asking import Profile
from metacog_pipeline.querying.planning import CostEstimate, estimate_partition, stored_answers
from metacog_pipeline.study import Study


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One model on one benchmark, all runs. ``tokens_out`` and ``dollars`` are upper bounds of what is left to ask.

    Or one judge, about all models and runs, under the name of the judgements: calls are judgements. Or somebody who helps
    to make the items, under the name of the answers they are made from; such a call is one item.
    """

    model: str
    benchmark: str
    runs: int
    calls: int
    answered: int
    to_ask: int
    tokens_in: int
    tokens_out: int
    dollars: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows, and remarks for people."""

    rows: tuple[PlanRow, ...]
    notes: tuple[str, ...]


def plan_study(study: Study) -> Plan:
    """Return what running ``study`` would take. Asks nobody; builds the questions where nobody must answer first."""
    study.home.prepare()
    rows: list[PlanRow] = []
    remarks: list[str] = []
    for benchmark in enabled(study):
        with _with_items(study, benchmark) as planned:
            if benchmark.helpers is not None:
                rows += [
                    _plan_row(name, spec, 1, left) for name, spec, left in benchmark.helpers.estimates(study)
                ]
                remarks += [benchmark.helpers.plan_note] if planned is not study else []
            rows += [_row(planned, benchmark, spec) for spec in benchmark.models(planned)]
            if judging := benchmark.judged_by(planned):
                rows += _judges(planned, benchmark, judging)
    first, *rest = _notes(study, rows)
    return Plan(tuple(rows), (first, *remarks, *rest))


@contextmanager
def _with_items(study: Study, benchmark: Benchmark) -> Iterator[Study]:
    """Give the study with the benchmark's items built, or with items as they may be at most."""
    with benchmark.helpers.foreseen(study) if benchmark.helpers else nullcontext() as foreseen:
        if foreseen is None and not benchmark.items_current(study):
            benchmark.construct(study)
        yield foreseen or study


def _row(study: Study, benchmark: Benchmark, spec: ModelSpec) -> PlanRow:
    total = CostEstimate()
    todo = benchmark.tasks(study, spec)
    for run in study.runs:
        partition = benchmark.partition(study, spec, run)
        if spec.provider == "replay":
            continue
        profile = partition.known_profile() or Profile(benchmark.modes(spec)[0])
        stored = stored_answers(partition.folder)
        total.add(estimate_partition(spec, run, partition.seed, profile, todo, stored, benchmark.steps))
    return _plan_row(benchmark.name, spec, study.study.runs, total)


def _judges(study: Study, benchmark: Benchmark, judging: Judging) -> list[PlanRow]:
    """Return one row per judge that may judge a model of the study, in the order of asking."""
    totals: dict[str, CostEstimate] = {}
    for partition in benchmark.partitions(study):
        for name, estimate in judging.estimate(partition).items():
            totals.setdefault(name, CostEstimate()).add(estimate)
    return [
        _plan_row(judging.name, spec, study.study.runs, totals[spec.name])
        for spec in (*study.judges, *study.models)  # a model may judge itself
        if spec.name in totals
    ]


def _plan_row(benchmark: str, spec: ModelSpec, runs: int, total: CostEstimate) -> PlanRow:
    return PlanRow(
        model=spec.name,
        benchmark=benchmark,
        runs=runs,
        calls=total.calls,
        answered=total.answered,
        to_ask=total.to_ask,
        tokens_in=total.tokens_in,
        tokens_out=total.tokens_out,
        dollars=total.dollars(spec),
    )


def _notes(study: Study, rows: Sequence[PlanRow]) -> list[str]:
    most = sum(row.dollars or 0.0 for row in rows)
    notes = [
        f"To ask: {sum(row.to_ask for row in rows):,} calls, at most ${most:.4f} "
        "(tokens in are estimated from text length; tokens out and dollars are upper bounds)."
    ]
    judged = [judging for benchmark in enabled(study) if (judging := benchmark.judged_by(study))]
    notes += [judging.plan_note for judging in judged if judging.plan_note]
    unpriced = [row.model for row in rows if row.dollars is None]
    if unpriced:
        names = ", ".join(unpriced)
        notes.append(
            f"No price is known for: {names}; set price_in and price_out, a budget cannot be kept without."
        )
    cap = study.study.budget_usd
    if cap is None:
        notes.append("No budget_usd is set: nothing would stop the spending.")
        return notes
    figures = read_figures(study.home.path, cap)
    leaked = (
        f", of which ${figures.leaked:.4f} may have been billed when a run was killed"
        if figures.leaked
        else ""
    )
    spent = figures.spent  # what leaked is a part of it
    notes.append(f"Budget ${cap:.4f}: ${spent:.4f} spent so far{leaked}, ${max(cap - spent, 0.0):.4f} left.")
    left = cap - spent
    for row in rows:
        cost = row.dollars or 0.0
        if cost > left:
            reach = int(row.to_ask * max(left, 0.0) / cost)
            notes.append(
                f"The budget could stop it at {row.model} on {row.benchmark}, after about {reach:,} of "
                f"{row.to_ask:,} calls (if every answer is as long as allowed)."
            )
            break
        left -= cost
    else:
        notes.append("The budget is enough for all of it.")
    return notes
