"""The plan of a study: calls, tokens and dollars per model and benchmark, and where the budget would stop it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields

from metacog_pipeline.asking import construction, judging, preflight, roles, tasks
from metacog_pipeline.asking.cost_estimate import Price, left_to_ask, price, thinking_at_most
from metacog_pipeline.asking.dry_run import CostEstimate
from metacog_pipeline.asking.spent import spent_figures
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.benchmark.contract import Judging
from metacog_pipeline.llm.spec import Lane, ModelSpec
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.folder import judgements_of


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One model on one benchmark, all runs.

    Or one judge, about all models and runs, under the name of the judgements: calls are judgements. Or a model that helps
    to make the items, under the name of the answers they are made from: a call is one item.

    ``tokens_out`` is an upper bound of what is left to ask, thinking included; ``in_batches`` are calls that batches under
    way have: neither answered nor to ask. ``online`` and ``batch`` price what is left to ask: None without a price,
    ``batch`` also where the provider has no batches.
    """

    model: str
    benchmark: str
    runs: int
    calls: int
    answered: int
    to_ask: int
    in_batches: int
    tokens_in: int
    tokens_out: int
    lane: Lane
    online: Price | None
    batch: Price | None

    def as_data(self) -> dict[str, object]:
        """Return the row as plain values; dollars are None without a price."""
        lanes = {"online": self.online, "batch": self.batch}
        kept = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in lanes}
        for lane, dollars in lanes.items():
            kept[f"{lane}_expected_usd"] = None if dollars is None else dollars.expected
            kept[f"{lane}_at_most_usd"] = None if dollars is None else dollars.at_most
        return kept

    @property
    def price(self) -> Price | None:
        """What is left to ask costs in the lane of the model."""
        return self.batch if self.lane == "batch" and self.batch is not None else self.online

    @property
    def dollars(self) -> float | None:
        """The most it costs."""
        return None if self.price is None else self.price.at_most


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows, and notes to read beside them."""

    rows: tuple[PlanRow, ...]
    notes: tuple[str, ...]


def plan_study(study: Study) -> Plan:
    """Return what running ``study`` would take. Asks nobody; builds the items where nobody must answer first."""
    study.prepare()
    rows: list[PlanRow] = []
    remarks: list[str] = []
    for benchmark in enabled(study):
        current = {step.name: construction.step_current(benchmark, step) for step in benchmark.construction()}
        helpers = roles.left_to_ask(benchmark, current, construction.KeptInputs(benchmark))
        rows += [_row(study, *helper, runs=1) for helper in helpers]
        with construction.with_items(benchmark, _built) as planned:
            if planned is not benchmark:  # items of the greatest length stand for those that are not made yet
                remarks += [role.plan_note for _, role in roles.roles(benchmark) if role.plan_note]
            rows += [_measured(planned, spec) for spec in tasks.models(planned)]
            if (wanted := judging.wanted(planned)) is not None:
                rows += _judges(planned, wanted)
                remarks += [wanted.plan_note] if wanted.plan_note else []
    return Plan(
        tuple(rows), (_total(rows), *dict.fromkeys(remarks), *_obstacles(study, rows), *_budget(study, rows))
    )


@contextmanager
def _built(benchmark: Bound) -> Iterator[Bound]:
    construction.build(benchmark)
    yield benchmark


def _measured(benchmark: Bound, spec: ModelSpec) -> PlanRow:
    total = CostEstimate()
    if spec.provider != "replay":
        todo, modes = tasks.tasks(benchmark, spec), benchmark.modes(spec)
        for each in (each for each in tasks.partitions(benchmark) if each.spec == spec):
            total.add(left_to_ask(each, spec, todo, modes, each.known_profile(), whole=False))
    return _row(benchmark.context.study, benchmark.name, spec, total)


def _judges(benchmark: Bound, wanted: Judging) -> list[PlanRow]:
    """Return one row per judge that may judge a model of the study, in the order of asking."""
    study = benchmark.context.study
    totals: dict[str, CostEstimate] = {}
    for partition in tasks.partitions(benchmark):
        responses = judging.kept_responses(partition)
        for judge, estimate in judging.left_to_ask(benchmark, wanted, partition, responses).items():
            totals.setdefault(judge, CostEstimate()).add(estimate)
    return [
        _row(study, judgements_of(benchmark.name), spec, totals[spec.name])
        for spec in (*study.judges, *study.models)  # a model may judge itself
        if spec.name in totals
    ]


def _row(
    study: Study, benchmark: str, spec: ModelSpec, total: CostEstimate, runs: int | None = None
) -> PlanRow:
    known = preflight.known_of(study, spec)
    batch = price(spec, total, known, batch=True)
    return PlanRow(
        model=spec.name,
        benchmark=benchmark,
        runs=runs or study.study.runs,
        calls=total.calls,
        answered=total.answered,
        to_ask=total.to_ask,
        in_batches=total.in_batches,
        tokens_in=total.tokens_in,
        tokens_out=total.tokens_out + total.sends * thinking_at_most(spec, known),
        lane=spec.lane if batch is not None else "online",
        online=price(spec, total, known),
        batch=batch,
    )


# --- notes --------------------------------------------------------------------------------------------------------------
def _total(rows: Sequence[PlanRow]) -> str:
    prices = [row.price for row in rows if row.price is not None]
    without = "" if len(prices) == len(rows) else ", those without a price left out"
    return (
        f"To ask: {sum(row.to_ask for row in rows):,} calls, at most ${sum(each.at_most for each in prices):.4f}, "
        f"${sum(each.expected for each in prices):.4f} expected{without} (tokens in are estimated from text length; tokens "
        "out and dollars are upper bounds; what is expected takes thinking as it was seen)."
    )


def _obstacles(study: Study, rows: Sequence[PlanRow]) -> Iterator[str]:
    """Yield what keeps a model from being asked or priced, what is not known of one, and what is in batches."""
    asked = {row.model for row in rows if row.to_ask}
    unknown = []
    for spec in (each for each in study.askable if each.name in asked):
        found = preflight.model_findings(study, spec, os.environ)
        yield from (f"{each.subject}: {each.text}." for each in found if each.state != "ok")
        if preflight.over_http(spec) and not spec.free and preflight.known_of(study, spec) is None:
            unknown.append(spec)
    if unknown:
        most = max(thinking_at_most(spec, None) for spec in unknown)
        yield (
            f"Nothing is known yet of how these answer: {', '.join(spec.name for spec in unknown)}; up to {most:,} tokens "
            "of thinking are allowed for before each answer. `metacog doctor` finds out with one short call."
        )
    for row in rows:
        if row.in_batches:
            yield (
                f"{row.in_batches:,} calls of {row.model} on {row.benchmark} are in batches under way: the next run "
                "collects their answers and asks none of them again, in either lane."
            )


def _budget(study: Study, rows: Sequence[PlanRow]) -> Iterator[str]:
    cap = study.study.budget_usd
    if cap is None:
        if not all(spec.free for spec in study.askable):
            yield "No budget_usd is set: nothing would stop the spending."
        return
    figures = spent_figures(study.home, cap)
    leaked = figures.leaked and f", of which ${figures.leaked:.4f} may have been billed when a run was killed"
    # What leaked is a part of what is spent. Calls under way, in batches also, are no part of what is left to ask.
    aside = figures.reserved and f", ${figures.reserved:.4f} set aside for what is under way"
    left = figures.remaining or 0.0
    yield f"Budget ${cap:.4f}: ${figures.spent:.4f} spent so far{leaked or ''}{aside or ''}, ${left:.4f} left."
    for row in rows:
        cost = row.dollars or 0.0
        if cost > left:
            reach = int(row.to_ask * max(left, 0.0) / cost)
            yield (
                f"The budget could stop it at {row.model} on {row.benchmark}, after about {reach:,} of "
                f"{row.to_ask:,} calls (if every answer is as long as allowed)."
            )
            return
        left -= cost
    if all(row.dollars is not None for row in rows):
        yield "The budget is enough for all of it."
    else:
        yield "Whether the budget is enough is unknown: a price is missing."
