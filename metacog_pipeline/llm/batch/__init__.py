"""Asking through the providers' batches: half the price, an answer within a day, nothing submitted twice."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

from metacog_pipeline.llm.limiter import NotSent

# For code that runs tasks and need not load how batches are submitted.
_online = contextvars.ContextVar("metacog_asked_online", default=False)
is_online = _online.get


class Pending(NotSent):
    """The call's answer is not there yet: its request waits to be submitted, or is in a batch under way."""


@contextlib.contextmanager
def online() -> Iterator[None]:
    """Have the calls made inside asked online: a batch is written only when it is known which options a model takes."""
    before = _online.set(True)
    try:
        yield
    finally:
        _online.reset(before)
