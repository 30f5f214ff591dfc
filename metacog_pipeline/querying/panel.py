"""Several models answer about one: judges. Their answers are kept with the model they judge, as one partition.

Each judge is asked under its own spec, so an answer's identity, price and rate limit are the judge's; the folder is that
of the judged model and run. A judge that cannot be asked does not keep the others from answering.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest
from metacog_pipeline.querying.asking import Tally
from metacog_pipeline.querying.partition import Outcome, Progress
from metacog_pipeline.querying.session import INTERRUPTED, Partition, ask, asked_as, write_down
from metacog_pipeline.querying.types import Task
from metacog_pipeline.transcripts.store import PartitionStore


@dataclass(frozen=True, slots=True)
class Panelist:
    """One judge and what it is asked. ``modes`` are tried best first; ``respond`` is a simulated judge's voice."""

    spec: ModelSpec
    tasks: Sequence[Task]
    modes: Sequence[str]
    respond: Callable[[ChatRequest], str] | None = None


def query_panel(
    partition: Partition,
    panel: Sequence[Panelist],
    *,
    fingerprint: str,
    on_progress: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Ask every panelist what the partition lacks of its answers; return how it went, all panelists together.

    Raises
    ------
    StoreError
        If kept answers cannot be read or written; what was acknowledged stays kept.
    BudgetError, ProviderError
        If asking cannot start: no price under a budget, no key in the environment.
    """
    started = datetime.now(UTC)
    with PartitionStore.open(partition.folder) as store:
        outcomes: list[Outcome] = []
        for panelist in panel:
            if INTERRUPTED.is_set():
                break
            seat = replace(partition, spec=panelist.spec)
            outcomes.append(
                asyncio.run(ask(seat, store, panelist.tasks, panelist.modes, panelist.respond, on_progress))
            )
        outcome = _together(panel, outcomes)
        store.compact(outcome.tally.current)
        reported = store.models_reported(outcome.tally.current)
    write_down(partition, outcome, fingerprint, started, reported, None)
    return outcome


def panel_asked_as(panel: Sequence[ModelSpec]) -> list[str]:
    """Return a digest per judge of what decides how it is asked."""
    return [asked_as(spec) for spec in panel]


def _together(panel: Sequence[Panelist], outcomes: Sequence[Outcome]) -> Outcome:
    tally = Tally()
    for outcome in outcomes:
        one = outcome.tally
        tally.calls += one.calls
        tally.reused += one.reused
        tally.failed_calls += one.failed_calls
        tally.input_tokens += one.input_tokens
        tally.output_tokens += one.output_tokens
        tally.cost_usd += one.cost_usd
        tally.current |= one.current
        tally.simulated |= one.simulated
    stopped = [
        (f"{panelist.spec.name}: {outcome.stopped}", outcome.exit_code)
        for panelist, outcome in zip(panel, outcomes, strict=False)
        if outcome.stopped
    ]
    return Outcome(
        tasks=sum(len(panelist.tasks) for panelist in panel),
        answered=sum(outcome.answered for outcome in outcomes),
        failed=sum(outcome.failed for outcome in outcomes),
        profile=outcomes[0].profile if outcomes else None,
        tally=tally,
        stopped="; ".join(reason for reason, _ in stopped) or None,
        exit_code=stopped[0][1] if stopped else 0,
    )
