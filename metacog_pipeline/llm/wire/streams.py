"""Putting a streamed reply together: what the assemblers of all wire formats share.

An assembler makes the body that a reply in one piece would have had, so that a reply is read in one way however it
came. An error inside a stream becomes an error body. A stream that ended early, or held something that cannot be read,
becomes one that `read` reports as a failure worth another try.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable

from metacog_pipeline.llm.wire import values

DONE = b"[DONE]"  # the last event of the OpenAI formats; no JSON


class EventAssembler(ABC):
    """An assembler of JSON events; subclasses say what one event adds and what the whole is."""

    __slots__ = ("_ended", "_problem", "_told_apart", "finished")

    def __init__(self) -> None:
        self.finished = False
        self._ended = False
        self._told_apart = False
        self._problem: values.JsonDict | None = None

    def feed(self, data: bytes) -> None:
        """Take the data of one server-sent event."""
        if self._problem is not None:
            return
        if data.strip() == DONE:
            self.finished = True
            return
        event = values.unwrapped(values.load(data))
        if isinstance(event, dict):
            self._problem = self._take(event)
        elif data:
            self._problem = failed("invalid_event", "the stream held an event that is no JSON object")

    def body(self) -> bytes:
        """Return the body that the reply in one piece would have had, or that of an error."""
        if self._problem is not None:
            return _encoded(self._problem)
        if not (self.finished or self._ended):
            return _encoded(failed("stream_cut", "the stream ended before the answer was whole"))
        return _encoded(self._whole())

    def _heard(self, *, text: bool, end: bool) -> None:
        """Note that an event brought some of the answer's ``text``, and that it named an ``end``.

        Text behind an end takes it back: the reply goes on. Some servers name an end with every piece of text. So the
        reply is finished at once only where text came before without an end; else when its stream is closed.
        """
        if text:
            self._told_apart = not self._ended and (self._told_apart or not end)
            self._ended = False
        self._ended |= end
        self.finished = self._ended and self._told_apart

    @property
    def text(self) -> str:
        """What has come of the answer's text so far."""
        return self._said(thought=False)

    @property
    def reasoning(self) -> str:
        """What has come of the thinking so far."""
        return self._said(thought=True)

    @abstractmethod
    def _said(self, *, thought: bool) -> str:
        """Return what has come of the thinking, or of the answer's text."""

    @abstractmethod
    def _take(self, event: values.JsonDict) -> values.JsonDict | None:
        """Add ``event``; return an error body where it ends the reply with one."""

    @abstractmethod
    def _whole(self) -> values.JsonDict:
        """Return the body of everything taken."""


def failed(code: str, message: str) -> values.JsonDict:
    """Return an error body that every wire format reads: ``type`` for Anthropic, ``status`` for Gemini."""
    return {"type": "error", "error": {"type": code, "status": code, "message": message}}


def kept(fields: values.JsonDict, left_out: Iterable[str]) -> values.JsonDict:
    """Return what ``fields`` says, without ``left_out`` and without what is null."""
    return {name: value for name, value in fields.items() if value is not None and name not in left_out}


def _encoded(body: values.JsonDict) -> bytes:
    try:
        return json.dumps(body, separators=(",", ":")).encode("ascii")
    except (ValueError, RecursionError):  # nested to the very limit of what can be read
        return _encoded(failed("invalid_event", "the stream held an event that is nested too deeply"))
