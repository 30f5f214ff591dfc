"""Several models asked one after another for one purpose: judges of a model, models that help to make items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.states import OnProgress, Progress, SessionResult, Tally, source_of
from metacog_pipeline.asking.types import Task
from metacog_pipeline.errors import MetacogError, ProviderError
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
    total = sum(len(panelist.tasks) for panelist in panel)
    for panelist in panel:
        before = together(found)

        def report(own: Progress, before: SessionResult = before) -> None:
            tally = replace(before.tally, current=set())
            tally.add(own.tally)
            if on_progress is not None:
                on_progress(Progress(before.tasks + own.done, total, tally))

        try:
            if INTERRUPTED.is_set():
                raise ProviderError("interrupted before it was asked")
            outcome = ask(panelist, report)
        except MetacogError as error:
            n = len(panelist.tasks)
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

    def lines(name: str) -> str | None:
        said = [(panelist.spec.name, getattr(outcome, name)) for panelist, outcome in found]
        return "; ".join(f"{model}: {line}" for model, line in said if line) or None

    def count(name: str) -> int:
        return sum(getattr(each, name) for each in outcomes)

    return SessionResult(
        *(count("tasks"), count("answered"), count("failed")),
        profile=None,
        tally=tally,
        stopped=lines("stopped"),
        exit_code=next((each.exit_code for each in outcomes if each.stopped), 0),
        unusable=count("unusable"),
        too_few_usable=lines("too_few_usable"),
        waiting=count("waiting"),
    )
