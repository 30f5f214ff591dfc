"""Several models asked one after another for one purpose: judges of a model, models that help to make items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.states import OnProgress, Progress, SessionResult, Tally, source_of
from metacog_pipeline.asking.types import Task
from metacog_pipeline.errors import BudgetError, ProviderError, StudyError
from metacog_pipeline.llm.simulated import Respond
from metacog_pipeline.llm.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class Panelist:
    """One model and what it is asked. ``modes`` are tried best first; ``respond`` gives a simulated one's answers."""

    spec: ModelSpec
    tasks: Sequence[Task]
    modes: Sequence[str]
    respond: Respond | None = None


Outcomes = list[tuple[Panelist, SessionResult]]


def ask_each(
    panel: Sequence[Panelist],
    ask: Callable[[Panelist, OnProgress], SessionResult],
    on_progress: OnProgress = None,
) -> Outcomes:
    """Return how each panelist went, in order; one that cannot be asked has stopped with the reason, the others go on."""
    found: Outcomes = []
    for panelist in panel:
        n = len(panelist.tasks)
        if INTERRUPTED.is_set():
            reason, code = "interrupted before it was asked", ProviderError.exit_code
            found.append((panelist, SessionResult(n, 0, 0, None, Tally(), reason, code)))
            continue
        try:
            outcome = ask(panelist, None if on_progress is None else _overall(on_progress, panel, found))
        except (BudgetError, ProviderError, StudyError) as error:
            outcome = SessionResult(n, 0, 0, None, Tally(), str(error), error.exit_code)
        found.append((panelist, outcome))
    return found


def together(found: Outcomes) -> SessionResult:
    """Return how all panelists went, as one result; each line names its model."""
    tally, outcomes = Tally(), [outcome for _, outcome in found]
    for panelist, each in found:
        tally.add(each.tally)
        tally.current |= each.tally.current
        tally.simulated |= source_of(panelist.spec) == "simulated"

    def lines(of: Callable[[SessionResult], str | None]) -> str | None:
        said = [(panelist.spec.name, of(outcome)) for panelist, outcome in found]
        return "; ".join(f"{name}: {line}" for name, line in said if line) or None

    return SessionResult(
        tasks=sum(each.tasks for each in outcomes),
        answered=sum(each.answered for each in outcomes),
        failed=sum(each.failed for each in outcomes),
        profile=None,
        tally=tally,
        stopped=lines(lambda each: each.stopped),
        exit_code=next((each.exit_code for each in outcomes if each.stopped), 0),
        unusable=sum(each.unusable for each in outcomes),
        too_few_usable=lines(lambda each: each.too_few_usable),
        waiting=sum(each.waiting for each in outcomes),
    )


def _overall(
    on_progress: Callable[[Progress], None], panel: Sequence[Panelist], before: Outcomes
) -> Callable[[Progress], None]:
    """Return a callback for the panelist after ``before`` that reports where the whole panel stands."""
    total = sum(len(panelist.tasks) for panelist in panel)
    done = sum(outcome.tasks for _, outcome in before)
    spent = together(before).tally

    def report(progress: Progress) -> None:
        tally = replace(spent, current=set())
        tally.add(progress.tally)
        on_progress(Progress(done + progress.done, total, tally))

    return report
