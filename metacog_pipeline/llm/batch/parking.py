"""What whoever runs tasks knows of batches without loading how they are submitted: calls that wait, asking at once."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

from metacog_pipeline.llm.halt import NotSent

TASKS_AT_ONCE = 256  # run at once: none of them waits for a provider

_online: contextvars.ContextVar[bool] = contextvars.ContextVar("metacog_asked_online", default=False)


class Parked(NotSent):
    """The call's answer is not there yet: its request is in the wave, or in a batch under way. Engine-internal."""

    def __init__(self, answer: str) -> None:
        super().__init__(answer)
        self.answer = answer


@contextlib.contextmanager
def online() -> Iterator[None]:
    """Have the calls made inside asked online: how a model takes its options must be known before a batch is written."""
    before = _online.set(True)
    try:
        yield
    finally:
        _online.reset(before)


def is_online() -> bool:
    """Whether calls made here are asked online."""
    return _online.get()
