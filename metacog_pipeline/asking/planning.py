"""The plan of a study: calls, tokens and dollars per model and benchmark, and where the budget would stop it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from metacog_pipeline.asking import construction, judging, roles, tasks
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.benchmark.contract import Benchmark, Judging
from metacog_pipeline.llm.budget import read_figures
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.asking import Profile
from metacog_pipeline.querying.planning import CostEstimate, estimate_partition, stored_answers
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.study import Study

Bound = Benchmark[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One model on one benchmark, all runs. ``tokens_out`` and ``dollars`` are upper bounds of what is left to ask.

    Or one judge, about all models and runs, under the name of the judgements: calls are judgements. Or a model that helps
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
    """Return what running ``study`` would take. Asks nobody; builds the items where nobody must answer first."""
    study.home.prepare()
    rows: list[PlanRow] = []
    remarks: list[str] = []
    for benchmark in enabled(study):
        current = {step.name: construction.step_current(benchmark, step) for step in benchmark.construction()}
        rows += [
            _plan_row(name, spec, 1, left)
            for name, spec, left in roles.left_to_ask(benchmark, current, construction.KeptInputs(benchmark))
        ]
        with _with_items(benchmark) as planned:
            if planned is not benchmark:
                remarks += [role.plan_note for _, role in roles.roles(benchmark) if role.plan_note]
            rows += [_row(planned, spec) for spec in tasks.models(planned)]
            if (wanted := judging.wanted(planned)) is not None:
                rows += _judges(planned, wanted)
                remarks += [wanted.plan_note] if wanted.plan_note else []
    first, *rest = _notes(study, rows)
    return Plan(tuple(rows), (first, *dict.fromkeys(remarks), *rest))


@contextmanager
def _with_items(benchmark: Bound) -> Iterator[Bound]:
    """Give the benchmark with its items built, or with items as they may be at most."""
    if construction.items_current(benchmark):
        yield benchmark
        return
    with roles.items_at_most(benchmark) as planned:
        if planned is None:
            construction.build(benchmark)
        yield planned or benchmark


def _row(benchmark: Bound, spec: ModelSpec) -> PlanRow:
    study, total = benchmark.context.study, CostEstimate()
    todo = tasks.tasks(benchmark, spec)
    for run in study.runs if spec.provider != "replay" else ():
        partition = Partition(study, benchmark.name, spec, run)
        profile = partition.known_profile() or Profile(benchmark.modes(spec)[0])
        stored = stored_answers(partition.folder)
        # Planned protocols run to their end, whatever is not answered: no step is left to be counted.
        total.add(estimate_partition(spec, run, partition.seed, profile, todo, stored, lambda mode: ()))
    return _plan_row(benchmark.name, spec, study.study.runs, total)


def _judges(benchmark: Bound, wanted: Judging) -> list[PlanRow]:
    """Return one row per judge that may judge a model of the study, in the order of asking."""
    study = benchmark.context.study
    totals: dict[str, CostEstimate] = {}
    for partition in tasks.partitions(benchmark):
        left = judging.left_to_ask(benchmark, wanted, partition, judging.kept_responses(partition))
        for name, estimate in left.items():
            totals.setdefault(name, CostEstimate()).add(estimate)
    return [
        _plan_row(f"{benchmark.name}_judgements", spec, study.study.runs, totals[spec.name])
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
