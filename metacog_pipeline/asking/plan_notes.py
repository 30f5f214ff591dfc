"""What a plan says beside its table: totals, what would keep a model from being asked, batches, caches, the budget."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from metacog_pipeline.asking import before_spending
from metacog_pipeline.asking.pricing import Price, thinking_at_most
from metacog_pipeline.asking.renamed import rename_problem
from metacog_pipeline.asking.spent import spent_figures
from metacog_pipeline.llm.breaker import bill_problem
from metacog_pipeline.llm.costs import LEAST_CACHED_TOKENS, priced
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study import Study

if TYPE_CHECKING:
    from metacog_pipeline.asking.planning import PlanRow


def plan_notes(study: Study, rows: Sequence[PlanRow]) -> list[str]:
    """Return the remarks on planned ``rows``, the totals first. Asks nobody."""
    asked = {row.model for row in rows if row.to_ask}
    planned = [spec for spec in study.askable if spec.name in asked]
    specs = [spec for spec in planned if before_spending.over_http(spec)]
    return [
        _total(rows),
        *_folders(planned),
        *_obstacles(study, specs),
        *_capabilities(study, specs),
        *_under_way(rows),
        *_batches(rows),
        *_caching(study, rows),
        *_budget(study, rows),
    ]


def _total(rows: Sequence[PlanRow]) -> str:
    prices = [row.price for row in rows if row.price is not None]
    whom = "" if len(prices) == len(rows) else ", those without a price left out"
    return (
        f"To ask: {sum(row.to_ask for row in rows):,} calls, at most ${sum(each.at_most for each in prices):.4f}, "
        f"${sum(each.expected for each in prices):.4f} expected{whom} (tokens in are estimated from text length; tokens "
        "out and dollars are upper bounds; what is expected takes thinking as it was seen)."
    )


def _folders(specs: Sequence[ModelSpec]) -> Iterator[str]:
    """Yield a line for each model of this machine whose folder holds none."""
    for spec in specs:
        if (problem := before_spending.folder_problem(spec)) is not None:
            yield f"{spec.name} cannot be asked: {problem}."


def _obstacles(study: Study, specs: Sequence[ModelSpec]) -> Iterator[str]:
    """Yield a line for each model that could not be asked, or not be asked well."""
    capped = study.study.budget_usd is not None
    for spec in specs:
        if (renamed := rename_problem(study, spec)) is not None:
            yield f"{spec.name}: {renamed}."
        problem = before_spending.key_problem(spec, os.environ)
        if problem is not None:
            yield f"{spec.name} cannot be asked: {problem}."
        known = before_spending.known_of(study, spec.name)
        if known is not None and (stopped := bill_problem(spec, known)) is not None:
            yield f"{spec.name} {stopped}."
    unpriced = [spec for spec in specs if not priced(spec)]
    for wanted, line in (
        (False, "No price is known for: {}; set price_in and price_out, a budget cannot be kept without."),
        (True, "Asked without a price on purpose (price_unknown), not in the sums: {}."),
    ):
        names = [spec.name for spec in unpriced if (spec.price_unknown and not capped) is wanted]
        if names:
            yield line.format(", ".join(names))
    for spec in specs:
        problem = before_spending.room_problem(spec, before_spending.known_of(study, spec.name))
        if problem is not None:
            yield f"{spec.name}: {problem}."


def _capabilities(study: Study, specs: Sequence[ModelSpec]) -> Iterator[str]:
    """Yield a line for each model that is known, and one for those that are not."""
    unknown = []
    for spec in specs:
        known = before_spending.known_of(study, spec.name)
        if known is not None:
            facts = before_spending.capability_facts(spec, known)
            yield f"{spec.name} as it answers: {'; '.join(f'{about} {said}' for about, said in facts.items())}."
        elif not spec.free:
            unknown.append(spec)
    if unknown:
        most = max(thinking_at_most(spec, None) for spec in unknown)
        yield (
            f"Nothing is known yet of how these answer: {', '.join(spec.name for spec in unknown)}; up to {most:,} tokens "
            "of thinking are allowed for before each answer. `metacog doctor` finds out with two short calls at most."
        )


def _under_way(rows: Sequence[PlanRow]) -> Iterator[str]:
    """Yield a line for each row with calls that batches have."""
    for row in rows:
        if row.in_batches:
            yield (
                f"{row.in_batches:,} calls of {row.model} on {row.benchmark} are in batches under way: the next run "
                "collects their answers and asks none of them again, in either lane (see metacog batches STUDY)."
            )


def _batches(rows: Sequence[PlanRow]) -> Iterator[str]:
    """Yield what the rows whose provider has batches would cost in either lane."""
    both = [row for row in rows if row.to_ask and row.online is not None and row.batch is not None]
    online = [row.online for row in both if row.online is not None]
    batch = [row.batch for row in both if row.batch is not None]
    if not any(each.at_most for each in online):
        return
    names = ", ".join(dict.fromkeys(row.model for row in both))
    chosen = ", ".join(dict.fromkeys(row.model for row in both if row.lane == "batch"))
    asked = f"asked so: {chosen}" if chosen else 'none is asked so; set lane = "batch"'
    yield f"Providers with batches ({names}): online {_sum(online)}; through batches {_sum(batch)} ({asked})."


def _sum(prices: Sequence[Price]) -> str:
    expected, most = sum(each.expected for each in prices), sum(each.at_most for each in prices)
    return f"${expected:.4f} expected, at most ${most:.4f}"


def _caching(study: Study, rows: Sequence[PlanRow]) -> Iterator[str]:
    """Yield what the prompt caches of providers save, with what that rests on."""
    saving = [row for row in rows if row.cache_saves is not None and row.lane == "online"]
    for row in saving:
        saved = row.cache_saves or 0.0
        effect = (
            f"lowers what is expected by ${saved:.4f}"
            if saved >= 0
            else f"adds ${-saved:.4f} to what is expected"
        )
        yield (
            f"Prompt caching {effect} for {row.model} on {row.benchmark}, if {row.tokens_repeated:,} of "
            f"{row.tokens_in:,} tokens in, which start a prompt like an earlier one ({LEAST_CACHED_TOKENS:,} tokens or "
            "more), are read from the provider's cache."
        )
    silent = {spec.name for spec in study.askable if spec.price_cached_in is None and not spec.free}
    names = dict.fromkeys(
        row.model for row in rows if row.tokens_repeated and row.model in silent and row.online is not None
    )
    if names:
        yield (
            f"Prompts of {', '.join(names)} start alike: set price_cached_in to see what the provider's prompt cache saves."
        )


def _budget(study: Study, rows: Sequence[PlanRow]) -> Iterator[str]:
    cap = study.study.budget_usd
    if cap is None:
        if not all(spec.free for spec in study.askable):
            yield "No budget_usd is set: nothing would stop the spending."
        return
    figures = spent_figures(study.home, cap)
    leaked = (
        f", of which ${figures.leaked:.4f} may have been billed when a run was killed"
        if figures.leaked
        else ""
    )
    # What leaked is a part of what is spent. Calls under way, in batches also, are no part of what is left to ask.
    aside = f", ${figures.reserved:.4f} set aside for what is under way" if figures.reserved else ""
    left = figures.remaining or 0.0
    yield f"Budget ${cap:.4f}: ${figures.spent:.4f} spent so far{leaked}{aside}, ${left:.4f} left."
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
        yield "Whether the budget is enough cannot be told: a price is missing."
