"""Several models asked in turn: judges of one model, whose answers are one partition, and what all of them give together.

Each judge is asked under its own spec, so an answer's identity, price and rate limit are the judge's; the folder is that
of the judged model and run. A judge that cannot be asked does not keep the others from answering, and the manifest notes
of each judge how far it came and in which mode it is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from metacog_pipeline.asking import session
from metacog_pipeline.asking.cost_estimate import identities
from metacog_pipeline.asking.endings import INTERRUPTED, patiently
from metacog_pipeline.asking.states import (
    SIMULATED_PREFIX,
    OnProgress,
    Profile,
    Progress,
    SessionResult,
    Tally,
    source_of,
)
from metacog_pipeline.asking.types import Task
from metacog_pipeline.errors import BudgetError, MetacogError, ProviderError, StudyError
from metacog_pipeline.llm.simulated import Respond
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.transcripts.store import PartitionStore

NOT_REACHED = "interrupted before it was asked"


@dataclass(frozen=True, slots=True)
class Panelist:
    """One judge and what it is asked. ``modes`` are tried best first; ``respond`` gives a simulated judge's answers."""

    spec: ModelSpec
    tasks: Sequence[Task]
    modes: Sequence[str]
    respond: Respond | None = None


def query_panel(
    partition: session.Partition,
    panel: Sequence[Panelist],
    *,
    fingerprint: str,
    on_progress: OnProgress = None,
) -> SessionResult:
    """Ask every panelist what the partition lacks of its answers; return how it went, all panelists together.

    A panelist that cannot be asked at all (no key in the environment, no price under a budget) counts as stopped, with
    the reason. ``partition``: of the model that is judged. ``panel``: in the order in which they are asked; each judge
    once. ``fingerprint``: digest of everything the judgements depend on; written down when they are complete. Raises
    ``StoreError`` if kept answers cannot be read or written; what was acknowledged stays kept.
    """
    started, total = datetime.now(UTC), sum(len(panelist.tasks) for panelist in panel)
    with PartitionStore.open(partition.folder) as store, patiently():
        asked: list[tuple[Panelist, SessionResult]] = []
        for panelist in panel:
            shown = overall(on_progress, [one for _, one in asked], total)
            asked.append((panelist, _asked(partition, store, panelist, shown)))
        outcome = together([(panelist.spec, one) for panelist, one in asked])
        session.compact(store, outcome.tally.current)
        lines = []
        for panelist, one in asked:
            others = session.other_models(panelist.spec, store.models_reported(one.tally.current))
            lines += [f"{panelist.spec.name}: {others}"] if others else []
        notes = {panelist.spec.name: _note(partition, panelist.spec, one) for panelist, one in asked}
        reported = store.models_reported(outcome.tally.current)
        outcome.tally.simulated |= any(name.startswith(SIMULATED_PREFIX) for name in reported)
        others = "; ".join(lines) or None
        session.note_session(partition, outcome, fingerprint, started, reported, others, notes)
    return outcome


def panel_profile(partition: session.Partition, judge: ModelSpec) -> Profile | None:
    """Return the answer mode an earlier session settled on with a judge, unless its spec has changed since."""
    noted = partition.manifest().get("judges")
    found = noted.get(judge.name) if isinstance(noted, dict) else None
    return session.noted_profile(found, judge) if isinstance(found, dict) else None


def panel_identities(partition: session.Partition, panel: Sequence[Panelist]) -> dict[str, frozenset[str]]:
    """Return by judge the identities of every call its tasks take now; none for a judge that was never asked.

    Answers to questions that are worded otherwise now, or of a judge asked otherwise then, are not among them.
    """
    found: dict[str, frozenset[str]] = {}
    for panelist in panel:
        profile = panel_profile(partition, panelist.spec)
        asked: Collection[str] = ()
        if profile is not None:
            asked = identities(partition, profile, panelist.modes, panelist.tasks, panelist.spec)
        found[panelist.spec.name] = frozenset(asked)
    return found


def _asked(
    partition: session.Partition,
    store: PartitionStore,
    panelist: Panelist,
    on_progress: OnProgress,
) -> SessionResult:
    """Ask one panelist; one that cannot be asked has stopped with the reason."""
    tasks = panelist.tasks
    if INTERRUPTED.is_set():
        return not_asked(tasks, ProviderError(NOT_REACHED))
    whose = replace(partition, spec=panelist.spec)
    known = panel_profile(partition, panelist.spec)
    try:
        return asyncio.run(
            session.ask(whose, store, tasks, panelist.modes, panelist.respond, on_progress, known)
        )
    except (BudgetError, ProviderError, StudyError) as error:
        return not_asked(tasks, error)


def not_asked(tasks: Sequence[Task], error: MetacogError) -> SessionResult:
    """Return the result of a model that could not be asked, with the reason."""
    return SessionResult(len(tasks), 0, 0, None, Tally(), str(error), error.exit_code)


def overall(on_progress: OnProgress, before: Sequence[SessionResult], total: int) -> OnProgress:
    """Return a callback for the model after ``before`` that reports where all of them stand, of ``total`` tasks."""
    if on_progress is None:
        return None
    done, spent = sum(outcome.tasks for outcome in before), Tally()
    for outcome in before:
        spent.add(outcome.tally)

    def report(progress: Progress) -> None:
        tally = replace(spent, current=set())
        tally.add(progress.tally)
        on_progress(Progress(done + progress.done, total, tally))

    return report


def together(asked: Sequence[tuple[ModelSpec, SessionResult]]) -> SessionResult:
    """Return how several models went, as one result; each line names its model."""
    tally, outcomes = Tally(), [outcome for _, outcome in asked]
    for spec, outcome in asked:
        tally.add(outcome.tally)
        tally.current |= outcome.tally.current
        tally.simulated |= source_of(spec) == "simulated"
    stopped = [f"{spec.name}: {one.stopped}" for spec, one in asked if one.stopped]
    unusable = [f"{spec.name}: {one.too_few_usable}" for spec, one in asked if one.too_few_usable]
    return SessionResult(
        tasks=sum(each.tasks for each in outcomes),
        answered=sum(each.answered for each in outcomes),
        failed=sum(each.failed for each in outcomes),
        profile=None,
        tally=tally,
        stopped="; ".join(stopped) or None,
        exit_code=next((each.exit_code for each in outcomes if each.stopped), 0),
        unusable=sum(each.unusable for each in outcomes),
        too_few_usable="; ".join(unusable) or None,
    )


def _note(partition: session.Partition, judge: ModelSpec, outcome: SessionResult) -> dict[str, object]:
    """Return what is written down of a judge; a profile that is known is not lost with a session that failed."""
    return {
        **session.profile_fields(judge, outcome.profile or panel_profile(partition, judge)),
        "family": judge.family,
        "source": source_of(judge),
        **session.counts(outcome),
        "message": outcome.stopped or outcome.too_few_usable,
    }
