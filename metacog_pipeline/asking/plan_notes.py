"""Notes of a plan, on money: totals, models that could not be asked or have no price, batches, thinking, the budget."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from metacog_pipeline.asking import preflight
from metacog_pipeline.asking.pricing import thinking_at_most
from metacog_pipeline.asking.renamed import rename_problem
from metacog_pipeline.asking.spent import spent_figures
from metacog_pipeline.llm.breaker import bill_problem
from metacog_pipeline.llm.costs import priced
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study import Study

if TYPE_CHECKING:
    from metacog_pipeline.asking.planning import PlanRow


def plan_notes(study: Study, rows: Sequence[PlanRow]) -> list[str]:
    """Return the notes on planned ``rows``, the totals first. Asks nobody."""
    asked = {row.model for row in rows if row.to_ask}
    specs = [spec for spec in study.askable if spec.name in asked]
    over_http = [spec for spec in specs if preflight.over_http(spec)]
    return [
        _total(rows),
        *(note for spec in specs for note in _obstacles(study, spec)),
        *_unpriced(study, over_http),
        *_unknown(study, over_http),
        *_under_way(rows),
        *_budget(study, rows),
    ]


def _total(rows: Sequence[PlanRow]) -> str:
    prices = [row.price for row in rows if row.price is not None]
    without = "" if len(prices) == len(rows) else ", those without a price left out"
    return (
        f"To ask: {sum(row.to_ask for row in rows):,} calls, at most ${sum(each.at_most for each in prices):.4f}, "
        f"${sum(each.expected for each in prices):.4f} expected{without} (tokens in are estimated from text length; tokens "
        "out and dollars are upper bounds; what is expected takes thinking as it was seen)."
    )


def _obstacles(study: Study, spec: ModelSpec) -> Iterator[str]:
    """Yield a line for each reason why a model could not be asked, or would be paid for an answer that is cut."""
    if (problem := preflight.folder_problem(spec) or preflight.key_problem(spec, os.environ)) is not None:
        yield f"{spec.name} cannot be asked: {problem}."
    if (problem := rename_problem(study, spec)) is not None:
        yield f"{spec.name}: {problem}."
    known = preflight.known_of(study, spec)
    if known is not None and (problem := bill_problem(spec, known)) is not None:
        yield f"{spec.name} {problem}."
    if (problem := preflight.room_problem(spec, known)) is not None:
        yield f"{spec.name}: {problem}."


def _unpriced(study: Study, specs: Sequence[ModelSpec]) -> Iterator[str]:
    capped = study.study.budget_usd is not None
    unpriced = [spec for spec in specs if not priced(spec)]
    for on_purpose, line in (
        (False, "No price is known for: {}; set price_in and price_out, a budget cannot be kept without."),
        (True, "Asked without a price on purpose (price_unknown), not in the sums: {}."),
    ):
        names = [spec.name for spec in unpriced if (spec.price_unknown and not capped) is on_purpose]
        if names:
            yield line.format(", ".join(names))


def _unknown(study: Study, specs: Sequence[ModelSpec]) -> Iterator[str]:
    """Yield why the most it can cost is far above what is expected: nobody knows yet whether these models think."""
    unknown = [spec for spec in specs if not spec.free and preflight.known_of(study, spec) is None]
    if unknown:
        most = max(thinking_at_most(spec, None) for spec in unknown)
        yield (
            f"Nothing is known yet of how these answer: {', '.join(spec.name for spec in unknown)}; up to {most:,} tokens "
            "of thinking are allowed for before each answer. `metacog doctor` finds out with two short calls at most."
        )


def _under_way(rows: Sequence[PlanRow]) -> Iterator[str]:
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
