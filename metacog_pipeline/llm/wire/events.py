"""A reply as the events that it comes in: a stream of server-sent events, or one event where it came in one piece.

A `Fold` takes the events one after another and makes one completion of them, so that a reply is read in one way however
it came. An error inside a stream is that error; a stream that ended early, or held something that cannot be read, is a
failure worth another try, with the text that had come.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar

from metacog_pipeline.llm.types import Completion, Status
from metacog_pipeline.llm.wire import errors, values

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")  # what a stream can begin with
DONE = b"[DONE]"  # the last event of the OpenAI formats; no JSON
MOST_PER_TOKEN = 16  # characters, of a text that is no run of blanks; ordinary text has four


def events_of(body: bytes, content_type: str) -> list[bytes] | None:
    """Return the data of each event of a stream; ``None`` for a body in one piece, whatever it calls itself.

    JSON and HTML never are streams: servers answer a request for a stream with a plain body under either type. Lines end
    with LF, CRLF or CR. An event that the stream ended with but did not close counts.
    """
    text = body.removeprefix(BYTE_ORDER_MARK)
    begins = text[:64].lstrip()
    if begins[:1] in (b"{", b"[", b"<"):
        return None
    if not ("event-stream" in content_type.lower() or begins.startswith(FIELDS)):
        return None
    found: list[bytes] = []
    data: list[bytes] = []
    for line in [*text.splitlines(), b""]:
        if line.startswith(b"data:"):
            data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
        elif not line and data:
            found.append(data[0] if len(data) == 1 else b"\n".join(data))
            data = []
    return [each for each in found if each]


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
        self._usage: values.JsonDict = {}

    def note(self, report: values.JsonDict, text: int) -> None:
        """Take a report that came after ``text`` characters."""
        counted = {name: values.count_at(report, name) for name in self._outputs}
        if output := sum(count or 0 for count in counted.values()):
            self._first, self._fell = self._first or output, self._fell or output < self._last
            self._last, self._text = output, text
        for name, count in counted.items():
            if count is not None:
                self._sums[name] = self._sums.get(name, 0) + count
        self._usage = _largest(self._usage, report)

    def total(self) -> values.JsonDict | None:
        """Return the usage of the whole reply, ``None`` where none was reported."""
        grew = self._last > self._first
        if self._fell or (not grew and self._text > MOST_PER_TOKEN * self._last):
            # A total of one chunk says nothing.
            return {name: value for name, value in self._usage.items() if "total" not in name} | self._sums
        return self._usage or None


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


class Fold(ABC):
    """What a reply says so far. ``finished``: its end can be believed, although its stream is not closed."""

    outputs: ClassVar[tuple[str, ...]] = ()  # the fields that count what was generated
    late: ClassVar[tuple[str, ...]] = ()  # what is still of the reply behind its end

    def __init__(self, *, streamed: bool) -> None:
        self.streamed = streamed
        self.finished = False
        self.closed = False  # by the mark that ends a stream: what follows is no part of the reply
        self.counts = Counts(*self.outputs)
        self.length = 0  # of text and thinking so far
        self._decoded: object = None  # the last event
        self._problem: values.JsonDict | None = None
        self._index: int | None = None
        self._ended = self._told_apart = False

    @classmethod
    def read(cls, status: int, headers: Mapping[str, str], body: bytes, *, closed: bool) -> Completion:
        """Return what a reply says; ``closed`` is false where its connection broke."""
        ok = 200 <= status < 300
        found = events_of(body, headers.get("content-type", "")) if ok else None
        fold = cls(streamed=found is not None)
        for data in [body] if found is None else found:
            fold.feed(data)
        if not ok:
            return fold.failure(status, headers, body, fold._decoded)
        if fold._problem is not None:
            completion = fold.failure(status, headers, body, fold._problem)
        elif not fold._whole(closed):
            cut = errors.ProviderProblem(("stream_cut",), "the stream ended before the answer was whole")
            completion = errors.failure(status, cut)
        else:
            return fold.answer(status)
        if completion.status is Status.FAILED and fold.streamed:  # kept, never scored
            text, thought = fold.said(thought=False), fold.said(thought=True)
            return replace(completion, text=text, reasoning_text=thought or None)
        return completion

    def feed(self, data: bytes) -> None:
        """Take the data of one event. What is wrong behind the end of a reply takes nothing from it."""
        if self._problem is not None:
            return
        whole = self.finished
        if data.strip() == DONE:
            self.finished = self.closed = True
            return
        event = self._decoded = values.unwrapped(values.load(data))
        if self.closed:
            event = {name: event[name] for name in self.late if isinstance(event, dict) and name in event}
        problem = self.take(event) if isinstance(event, dict) else None
        if not isinstance(event, dict):
            problem = error_body("invalid_body", "the answer, or an event of it, is no JSON object")
        self._problem = None if whole else problem

    def heard(self, *, text: bool, end: bool) -> None:
        """Note that an event brought some of the answer's ``text``, and that it named an ``end``.

        Text behind an end takes it back: the reply goes on. Some servers name an end with every piece of text. So an end
        is believed at once only where text came before without an end; else when the stream is closed.
        """
        if text:
            self._told_apart = not self._ended and (self._told_apart or not end)
            self._ended = False
        self._ended |= end
        self.finished = self._ended and self._told_apart

    def leads(self, choice: object) -> bool:
        """Whether ``choice`` is the one that is read: the one with the lowest index, wherever it stands."""
        index = values.count_at(choice, "index") or 0
        if self._index is not None and index < self._index:
            self.forget()
            self._ended = self._told_apart = self.finished = False
        if self._index is None or index < self._index:
            self._index = index
        return index == self._index

    def _whole(self, closed: bool) -> bool:
        if not self.streamed:
            return closed
        return (self.finished or (closed and self._ended)) and not self.says_nothing()

    def says_nothing(self) -> bool:
        """Whether a stream was closed in form, but brought neither a text nor the word for why it ends."""
        return False

    def forget(self) -> None:  # noqa: B027 - only formats with several choices have something to forget
        """Drop what has come of a choice, for one with a lower index."""

    @abstractmethod
    def take(self, event: values.JsonDict) -> values.JsonDict | None:
        """Add ``event``; return an error body where it ends the reply with one."""

    @abstractmethod
    def said(self, *, thought: bool) -> str:
        """Return what has come of the thinking, or of the answer's text."""

    @abstractmethod
    def answer(self, status: int) -> Completion:
        """Return the completion of everything taken."""

    @abstractmethod
    def failure(self, status: int, headers: Mapping[str, str], body: bytes, decoded: object) -> Completion:
        """Return the completion of an error: ``decoded`` is its body or event."""


def error_body(code: str, message: str) -> values.JsonDict:
    """Return an error body that every wire format reads: ``type`` for Anthropic, ``status`` for Gemini."""
    return {"type": "error", "error": {"type": code, "status": code, "message": message}}


def kept(fields: values.JsonDict, left_out: Iterable[str]) -> values.JsonDict:
    """Return what ``fields`` says, without ``left_out`` and without what is null."""
    return {name: value for name, value in fields.items() if value is not None and name not in left_out}
