"""The judges of a model, asked one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.states import OnProgress, SessionResult, Tally, source_of
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

        def report(done: int, own: int, dollars: float, before: SessionResult = before) -> None:
            if on_progress is not None:
                on_progress(before.tasks + done, total, before.tally.cost_usd + dollars)

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
    whole = SessionResult(0, 0, 0, None, Tally())
    for panelist, one in found:
        whole.tally.add(one.tally)
        whole.tally.simulated |= source_of(panelist.spec) == "simulated"
        for name in ("tasks", "answered", "failed", "unusable", "waiting"):
            setattr(whole, name, getattr(whole, name) + getattr(one, name))
        for name in ("stopped", "too_few_usable"):
            if line := getattr(one, name):
                before = getattr(whole, name)
                setattr(whole, name, f"{f'{before}; ' if before else ''}{panelist.spec.name}: {line}")
        whole.exit_code = whole.exit_code or (one.exit_code if one.stopped else 0)
    return whole
