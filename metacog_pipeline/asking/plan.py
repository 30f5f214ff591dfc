"""The plan of a study: calls, tokens and dollars that are left to ask, and whether the budget is enough. Asks no model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.asking.dry_run import DryRun
from metacog_pipeline.asking.session import Panelist, Partition, batches_of, request_digest
from metacog_pipeline.asking.spent import spent_figures
from metacog_pipeline.asking.states import Profile
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.llm import capabilities
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.costs import TOKENS_PER_PRICE, price_list
from metacog_pipeline.llm.spec import IN_PROCESS, Lane, ModelSpec
from metacog_pipeline.study import Study


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One model on one benchmark, all runs; judges and models that help to make items under the name of their answers."""

    model: str
    benchmark: str
    runs: int
    # An upper bound, as are the tokens, thinking included.
    calls: int
    answered: int
    to_ask: int
    # Neither answered nor to ask: batches under way have them.
    in_batches: int
    tokens_in: int
    tokens_out: int
    lane: Lane
    # Of what is left to ask, with thinking as it was seen; None without a price.
    expected_usd: float | None
    # With as much thinking as there is room for.
    at_most_usd: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows, and the notes on them."""

    rows: tuple[PlanRow, ...]
    notes: tuple[str, ...]


def plan_study(study: Study) -> Plan:
    """Return what running ``study`` would take. Items are built first."""
    study.prepare()
    found: dict[tuple[str, str], list[tuple[Partition, ModelSpec, Counter[str]]]] = {}
    advice: list[str] = []
    for benchmark in enabled(study):
        advice += benchmark.advice()
        for each in left_to_ask(benchmark):
            found.setdefault((each[0].benchmark, each[1].name), []).append(each)
    rows = tuple(_row(study, name, every) for (name, _), every in found.items())
    return Plan(rows, (*_notes(study, rows), *advice))


def left_to_ask(benchmark: Bound) -> Iterator[tuple[Partition, ModelSpec, Counter[str]]]:
    """Yield the open calls of each partition, as a `DryRun` counts it: models, then judges."""
    construction.build(benchmark)
    measured = [each for each in tasks.partitions(benchmark) if each.spec.provider != "replay"]
    for each in measured:
        asked, modes = tasks.tasks(benchmark, each.spec), benchmark.modes(each.spec)
        yield counted(each, Panelist(each.spec, asked, modes), each.known_profile())
    if (wanted := judging.wanted(benchmark)) is not None:
        for each in tasks.partitions(benchmark):
            judged = judging.judged_as(each)
            for judge in judging.panel(benchmark, wanted, each, judging.kept_responses(each)):
                yield counted(judged, judge, judged.known_profile(judge.spec))


def counted(
    partition: Partition, asked: Panelist, known: Profile | None
) -> tuple[Partition, ModelSpec, Counter[str]]:
    """Return what is left to ask a model in a partition, where it was asked under a ``known`` profile before."""
    batches = batches_of(partition.study.home, asked.spec, partition.folder)
    sent = [each for each in batches if each.record.state in ("submitting", "submitted")]
    under_way = frozenset(answer for each in sent for answer, *_ in each.answers())
    dry = DryRun.of(partition, asked.spec, under_way.__contains__)
    dry.through(asked.tasks, known or Profile(asked.modes[0]), asked.modes)
    return partition, asked.spec, dry.counts


def _row(study: Study, benchmark: str, every: Sequence[tuple[Partition, ModelSpec, Counter[str]]]) -> PlanRow:
    spec, total = every[0][1], sum((counts for _, _, counts in every), Counter[str]())
    known = known_of(study, spec) or NOTHING_KNOWN
    to_ask = total["calls"] - total["answered"] - total["in_batches"]
    expected, at_most = dollars(spec, total, to_ask, known) or (None, None)
    return PlanRow(
        model=spec.name,
        benchmark=benchmark,
        runs=len({partition.run for partition, _, _ in every}),
        to_ask=to_ask,
        **{name: total[name] for name in ("calls", "answered", "in_batches", "tokens_in")},
        tokens_out=total["tokens_out"] + to_ask * thinking(spec, known)[1],
        lane=spec.lane,
        expected_usd=expected,
        at_most_usd=at_most,
    )


def known_of(study: Study, spec: ModelSpec) -> Capabilities | None:
    """Return the capabilities found when ``spec`` was asked before; None before it was asked."""
    return capabilities.load(study.home, spec.name, request_digest(spec))


# --- dollars ------------------------------------------------------------------------------------------------------------
def thinking(spec: ModelSpec, known: Capabilities) -> tuple[int, int]:
    """Return how many tokens will be thought before one answer, as far as was seen, and how many may be."""
    if spec.provider in IN_PROCESS:
        return 0, 0
    most = known.thinking_room(spec)
    if known.reasons is False:
        return 0, most
    if known.reasoning_tokens is not None:
        return min(most, known.reasoning_tokens), most
    return (most if known.reasons or spec.thinking_tokens is not None else 0), most


def dollars(
    spec: ModelSpec, counts: Counter[str], to_ask: int, known: Capabilities
) -> tuple[float, float] | None:
    """Return what ``to_ask`` calls will cost, as far as was seen, and what they may cost at most; None without a price."""
    if to_ask == 0:
        return 0.0, 0.0
    if (prices := price_list(spec, batch=spec.lane == "batch")) is None:
        return None
    tokens_in = counts["tokens_in"] + to_ask * (known.hidden_tokens or 0)
    text = tokens_in * prices["in"] + counts["tokens_out"] * prices["out"]
    seen, most = (to_ask * each for each in thinking(spec, known))
    # Prompts may be written to a cache each time, or never; thinking may be billed as such, or as text.
    written = tokens_in * max(prices["cache_write"] - prices["in"], 0.0)
    worst = text + written + most * max(prices["reasoning"], prices["out"])
    factor = prices["factor"] / TOKENS_PER_PRICE
    return (text + seen * prices["reasoning"]) * factor, worst * factor


# --- notes --------------------------------------------------------------------------------------------------------------
def _notes(study: Study, rows: Sequence[PlanRow]) -> Iterator[str]:
    most, expected = (
        sum(getattr(row, name) or 0.0 for row in rows) for name in ("at_most_usd", "expected_usd")
    )
    unpriced = any(row.at_most_usd is None for row in rows)
    without = ", those without a price left out" if unpriced else ""
    yield (
        f"To ask: {sum(row.to_ask for row in rows):,} calls, at most ${most:.4f}, ${expected:.4f} expected{without} "
        "(tokens in are estimated from text length; calls, tokens out and dollars are upper bounds; what is expected takes "
        "thinking as it was seen)."
    )
    again = {each.name for each in enabled(study) if each.settings.reask_unreadable}
    if to_ask := sum(row.to_ask for row in rows if row.benchmark in again):
        yield (
            f"A reply that cannot be read is asked once more: at most {to_ask:,} calls that are not in this plan "
            "(reask_unreadable = false in a benchmark's table asks none)."
        )
    if waiting := sum(row.in_batches for row in rows):
        yield f"{waiting:,} calls are in batches under way: the next run collects their answers and asks none again."
    if (cap := study.study.budget_usd) is None:
        if not all(spec.free for spec in study.askable):
            yield "No budget_usd is set: nothing would stop the spending."
        return
    figures = spent_figures(study.home, cap)
    left = figures.remaining or 0.0
    # calls under way, in batches also, are no part of what is left to ask
    yield (
        f"Budget ${cap:.4f}: ${figures.spent:.4f} spent so far, of which ${figures.leaked:.4f} may have been billed when a "
        f"run was killed, ${figures.reserved:.4f} set aside for what is under way, ${left:.4f} left."
    )
    if most > left:
        yield "The budget could stop it before everything is asked (if every answer is as long as allowed)."
    elif unpriced:
        yield "Whether the budget is enough is unknown: a price is missing."
    else:
        yield "The budget is enough for all of it."
