"""Several models answer about one: judges. Their answers are kept with the model they judge, as one partition.

Each judge is asked under its own spec, so an answer's identity, price and rate limit are the judge's; the folder is that
of the judged model and run. A judge that cannot be asked does not keep the others from answering, and the manifest notes
of each judge how far it came and in which mode it is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from metacog_pipeline.asking import session
from metacog_pipeline.asking.asking import SIMULATED_PREFIX, Profile, Tally, source_of
from metacog_pipeline.asking.cost_estimate import identities, stored_answers
from metacog_pipeline.asking.endings import patiently
from metacog_pipeline.asking.partition import Progress, SessionResult
from metacog_pipeline.asking.reported import other_models
from metacog_pipeline.asking.types import Task
from metacog_pipeline.errors import BudgetError, ProviderError, StudyError
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
    on_progress: Callable[[Progress], None] | None = None,
) -> SessionResult:
    """Ask every panelist what the partition lacks of its answers; return how it went, all panelists together.

    A panelist that cannot be asked at all (no key in the environment, no price under a budget) counts as stopped, with
    the reason. ``partition``: of the model that is judged. ``panel``: in the order in which they are asked; each judge
    once. ``fingerprint``: digest of everything the judgements depend on; written down when they are complete. Raises
    ``StoreError`` if kept answers cannot be read or written; what was acknowledged stays kept.
    """
    started = datetime.now(UTC)
    with PartitionStore.open(partition.folder) as store, patiently():
        outcomes = _asked_in_turn(partition, store, panel, on_progress)
        outcome = _together(panel, outcomes, store)
        session.compact_soon(store, outcome.tally.current)
        reported = store.models_reported(outcome.tally.current)
        elsewhere = [
            f"{panelist.spec.name}: {found}"
            for panelist, one in zip(panel, outcomes, strict=True)
            if (found := other_models(panelist.spec, store.models_reported(one.tally.current)))
        ]
        notes = _notes(partition, panel, outcomes)
        session.write_down(
            partition, outcome, fingerprint, started, reported, "; ".join(elsewhere) or None, notes
        )
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
    stored = stored_answers(partition.folder)
    found: dict[str, frozenset[str]] = {}
    for panelist in panel:
        profile = panel_profile(partition, panelist.spec)
        whose = replace(partition, spec=panelist.spec)
        asked = () if profile is None else identities(whose, profile, panelist.modes, panelist.tasks, stored)
        found[panelist.spec.name] = frozenset(asked)
    return found


def _asked_in_turn(
    partition: session.Partition,
    store: PartitionStore,
    panel: Sequence[Panelist],
    on_progress: Callable[[Progress], None] | None,
) -> list[SessionResult]:
    outcomes: list[SessionResult] = []
    for panelist in panel:
        tasks = panelist.tasks
        if session.INTERRUPTED.is_set():
            outcomes.append(
                SessionResult(len(tasks), 0, 0, None, Tally(), NOT_REACHED, ProviderError.exit_code)
            )
            continue
        shown = None if on_progress is None else _overall(on_progress, panel, outcomes)
        asked = replace(partition, spec=panelist.spec)
        known = panel_profile(partition, panelist.spec)
        try:
            asking = session.ask(asked, store, tasks, panelist.modes, panelist.respond, shown, known)
            outcomes.append(asyncio.run(asking))
        except (BudgetError, ProviderError, StudyError) as error:
            outcomes.append(SessionResult(len(tasks), 0, 0, None, Tally(), str(error), error.exit_code))
    return outcomes


def _overall(
    on_progress: Callable[[Progress], None], panel: Sequence[Panelist], before: Sequence[SessionResult]
) -> Callable[[Progress], None]:
    """Return a callback for the panelist after ``before`` that reports where the whole panel stands."""
    total = sum(len(panelist.tasks) for panelist in panel)
    done = sum(outcome.tasks for outcome in before)
    spent = Tally()
    for outcome in before:
        spent.add(outcome.tally)

    def report(progress: Progress) -> None:
        tally = replace(spent, current=set())
        tally.add(progress.tally)
        on_progress(Progress(done + progress.done, total, tally))

    return report


def _together(
    panel: Sequence[Panelist], outcomes: Sequence[SessionResult], store: PartitionStore
) -> SessionResult:
    tally = Tally()
    for panelist, outcome in zip(panel, outcomes, strict=True):
        tally.add(outcome.tally)
        tally.current |= outcome.tally.current
        tally.simulated |= source_of(panelist.spec) == "simulated"
    reported = store.models_reported(tally.current)
    tally.simulated |= any(name.startswith(SIMULATED_PREFIX) for name in reported)
    names = [panelist.spec.name for panelist in panel]
    stopped = [f"{name}: {one.stopped}" for name, one in zip(names, outcomes, strict=True) if one.stopped]
    too_few_usable = [
        f"{name}: {one.too_few_usable}"
        for name, one in zip(names, outcomes, strict=True)
        if one.too_few_usable
    ]
    return SessionResult(
        tasks=sum(outcome.tasks for outcome in outcomes),
        answered=sum(outcome.answered for outcome in outcomes),
        failed=sum(outcome.failed for outcome in outcomes),
        profile=None,
        tally=tally,
        stopped="; ".join(stopped) or None,
        exit_code=next((one.exit_code for one in outcomes if one.stopped), 0),
        unusable=sum(outcome.unusable for outcome in outcomes),
        too_few_usable="; ".join(too_few_usable) or None,
    )


def _notes(
    partition: session.Partition, panel: Sequence[Panelist], outcomes: Sequence[SessionResult]
) -> dict[str, dict[str, object]]:
    """Return what is written down of each judge; a profile that is known is not lost with a session that failed."""
    notes: dict[str, dict[str, object]] = {}
    for panelist, outcome in zip(panel, outcomes, strict=True):
        profile = outcome.profile or panel_profile(partition, panelist.spec)
        notes[panelist.spec.name] = {
            "asked_as": session.asked_as(panelist.spec),
            "profile": session.profile_fields(profile),
            "family": panelist.spec.family,
            "source": source_of(panelist.spec),
            "n_expected": outcome.tasks,
            "n_answered": outcome.answered,
            "n_failed": outcome.failed,
            "n_unusable": outcome.unusable,
            "message": outcome.stopped or outcome.too_few_usable,
        }
    return notes
