"""Putting a streamed reply together: what the assemblers of all wire formats share.

An assembler makes the body that a reply in one piece would have had, so that a reply is read in one way however it
came. An error inside a stream becomes an error body. A stream that ended early, or held something that cannot be read,
becomes one that `read` reports as a failure worth another try.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from metacog_pipeline.llm.wire import values

DONE = b"[DONE]"  # the last event of the OpenAI formats; no JSON
MOST_PER_TOKEN = 16  # characters, of a text that is no run of blanks; ordinary text has four
UNFINISHED = "no_stop_reason"  # of a reply whose stream was ended without the word for why


class Counts:
    """The token counts a stream reports, put together whichever way its server counts.

    Most servers repeat the sum so far, so of each count the largest holds (a proxy may append zeros). Where the output
    fell from one report to the next, or never grew although far more text came than it can be, each report is about its
    own chunk: the output is their sum.
    """

    def __init__(self, *outputs: str) -> None:
        self._outputs = outputs
        self._sums: dict[str, int] = {}
        self._first = self._last = self._text = 0
        self._fell = False
        self.usage: values.JsonDict = {}

    def note(self, report: values.JsonDict, text: int) -> None:
        """Take a report that came after ``text`` characters."""
        counted = {name: values.count_at(report, name) for name in self._outputs}
        if output := sum(count or 0 for count in counted.values()):
            self._first, self._fell = self._first or output, self._fell or output < self._last
            self._last, self._text = output, text
        for name, count in counted.items():
            if count is not None:
                self._sums[name] = self._sums.get(name, 0) + count
        self.usage = _largest(self.usage, report)

    @property
    def known(self) -> bool:
        """Whether an output was reported."""
        return self._last > 0

    def total(self) -> values.JsonDict | None:
        """Return the usage of the whole reply, ``None`` where none was reported."""
        grew = self._last > self._first
        if self._fell or (not grew and self._text > MOST_PER_TOKEN * self._last):
            # A total of one chunk says nothing.
            return {name: value for name, value in self.usage.items() if "total" not in name} | self._sums
        return self.usage or None


def _largest(known: values.JsonDict, report: values.JsonDict) -> values.JsonDict:
    """Return ``known`` with the larger counts and the later words of ``report``."""
    merged = dict(known)
    for name, value in report.items():
        before, count = values.count_at(known, name), values.count_at(report, name)
        if isinstance(value, dict):
            merged[name] = _largest(values.dict_at(known, name) or {}, value)
        elif count is not None and before is not None:
            merged[name] = max(count, before)
        elif value is not None and before is None:
            merged[name] = value
    return merged


class EventAssembler(ABC):
    """An assembler of JSON events; subclasses say what one event adds and what the whole is."""

    outputs: ClassVar[tuple[str, ...]] = ()  # the fields that count what was generated

    def __init__(self) -> None:
        self.finished = self._done = False
        self._counts = Counts(*self.outputs)
        self._length = 0  # of text and thinking so far
        self._index: int | None = None
        self._ended = False
        self._told_apart = False
        self._problem: values.JsonDict | None = None

    def feed(self, data: bytes) -> None:
        """Take the data of one server-sent event."""
        if self._problem is not None:
            return
        whole = self.finished  # what is wrong behind the end of a reply takes nothing from it
        if data.strip() == DONE:
            self.finished = self._done = True
            return
        event = values.unwrapped(values.load(data))
        if isinstance(event, dict):
            problem = self._take(event)
            self._problem = None if whole else problem
        elif data and not whole:
            self._problem = failed("invalid_event", "the stream held an event that is no JSON object")

    def body(self) -> bytes:
        """Return the body that the reply in one piece would have had, or that of an error."""
        if self._problem is not None:
            return _encoded(self._problem)
        if not (self.finished or self._ended) or self._says_nothing():
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

    def _says_nothing(self) -> bool:
        """Whether a stream was closed in form, but brought neither a text nor the word for why it ends."""
        return False

    def _leads(self, choice: object) -> bool:
        """Whether ``choice`` is the one that is read: the lowest index seen, as `values.leading` takes it."""
        index = values.count_at(choice, "index") or 0
        if self._index is not None and index < self._index:
            self._forget()
            self._ended = self._told_apart = self.finished = False
        if self._index is None or index < self._index:
            self._index = index
        return index == self._index

    def _forget(self) -> None:  # noqa: B027 - only formats with several choices have something to forget
        """Drop what has come of a choice, for one with a lower index."""

    @property
    def text(self) -> str:
        """What has come of the answer's text so far."""
        return self._said(thought=False)

    @property
    def reasoning(self) -> str:
        """What has come of the thinking so far."""
        return self._said(thought=True)

    @property
    def counted(self) -> bool:
        """Whether the tokens of the reply have been counted, or will not be."""
        return self._done or self._counts.known or not self.outputs

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
