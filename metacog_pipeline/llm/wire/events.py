"""A reply as the events that it comes in: a stream of server-sent events, or one event where it came in one piece."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.costs import believed
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Status, TokenLogprob, Usage
from metacog_pipeline.llm.wire import errors, values

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# what a stream can begin with
FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
# the last event of the OpenAI formats; no JSON
DONE = b"[DONE]"
# characters, of a text that is no run of blanks; ordinary text has four
MOST_PER_TOKEN = 16
# of a reply that ended without the word for why
UNFINISHED = "no_stop_reason"
#: Words for the end of a reply, in lower case; every other is an ordinary one.
TRUNCATED = frozenset({UNFINISHED, "length", "max_tokens", "model_length", "model_context_window_exceeded"})
REFUSED = frozenset({"content_filter", "safety", "refusal", "sensitive", "recitation", "language", "blocklist",
                     "prohibited_content", "spii", "image_safety", "model_armor"})  # fmt: skip
#: What every event, or the first, says of the reply → the field of the completion.
NAMES = {
    "id": "response_id",
    "responseId": "response_id",
    "model": "model_reported",
    "modelVersion": "model_reported",
    "system_fingerprint": "system_fingerprint",
    "service_tier": "service_tier",
    "trafficType": "service_tier",
}


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One call, encoded once so that a retry sends the same bytes; its ``repr`` can be logged."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    streamed: bool = False
    method: str = "POST"


class UnsupportedConstraint(ValueError):
    """The provider has no field for this constraint; the caller may ask again with a weaker one."""


def events_of(body: bytes, content_type: str) -> list[bytes] | None:
    """Return the data of each event of a stream; ``None`` for a body in one piece of any content type."""
    text = body.removeprefix(BYTE_ORDER_MARK)
    begins = text[:64].lstrip()
    # Servers answer a request for a stream with JSON or HTML under either type.
    if begins[:1] in (b"{", b"[", b"<"):
        return None
    if not ("event-stream" in content_type.lower() or begins.startswith(FIELDS)):
        return None
    found: list[bytes] = []
    data: list[bytes] = []
    # An event that was not closed counts.
    for line in [*text.splitlines(), b""]:
        if line.startswith(b"data:"):
            data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
        elif not line and data:
            found.append(data[0] if len(data) == 1 else b"\n".join(data))
            data = []
    return [each for each in found if each]


def total_usage(reports: Sequence[tuple[values.JsonDict, int]], outputs: Sequence[str]) -> values.JsonDict:
    """Return the usage of a whole reply from its reports, each with the characters that had come; empty without any."""
    usage: values.JsonDict = {}
    counted = []
    for report, text in reports:
        # Most servers repeat the sum so far, so of each count the largest holds (a proxy may append zeros).
        usage = _largest(usage, report)
        if output := sum(values.count_at(report, name) or 0 for name in outputs):
            counted.append((output, text))
    # Where the output fell, or never grew although far more text came than it can be, each report is about
    # its own chunk.
    fell = any(later[0] < before[0] for before, later in itertools.pairwise(counted))
    grew = bool(counted) and counted[-1][0] > counted[0][0]
    short = bool(counted) and counted[-1][1] > MOST_PER_TOKEN * counted[-1][0]
    if not fell and (grew or not short):
        return usage
    sums = {
        name: sum(values.count_at(report, name) or 0 for report, _ in reports)
        for name in outputs
        if name in usage
    }
    # A total of one chunk says nothing.
    return {name: value for name, value in usage.items() if "total" not in name} | sums


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


class Choice:
    """One of the answers that a reply offers, in the pieces that have come. ``words`` are about its end."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.refusal: list[str] = []
        self.thought: list[str] = []
        # the field, or the block, that the thinking came in last
        self.thought_in: object = None
        self.tokens: list[object] = []
        self.tops: list[object] = []
        self.words: values.JsonDict = {}
        self.length = 0  # of text and thinking
        self.blocked = self.ended = self._told_apart = False

    def heard(self, *, text: bool, end: bool) -> None:
        """Note whether an event brought some of the answer's ``text``, and named an ``end``."""
        # Text behind an end takes it back, and some servers name an end with every piece of text. So an end
        # is believed at once only where text came before without one.
        if text:
            self._told_apart = not self.ended and (self._told_apart or not end)
            self.ended = False
        self.ended |= end

    @property
    def finished(self) -> bool:
        """Whether the end can be believed, although the stream is not closed."""
        return self.blocked or (self.ended and self._told_apart)

    def add(self, piece: str, into: list[str]) -> None:
        """Add a piece to one of the lists above."""
        into.append(piece)
        self.length += len(piece)


# Takes events one after another, so that a reply is read in one way however it came. A stream that ended
# early, or held what cannot be read, is a failure worth another try, with the text that had come.
class Reply(ABC):
    """A wire format: how a call is encoded (``build``), and what its reply says so far."""

    # the fields that count what was generated
    outputs: ClassVar[tuple[str, ...]]
    # the fields that name the end, the first that says anything counts
    ends: ClassVar[tuple[str, ...]]
    # with a word, in one piece too
    always_ends: ClassVar[bool] = False

    def __init__(self, *, streamed: bool) -> None:
        self.streamed = streamed
        # by the mark that ends a stream: of what follows only a count is of the reply
        self.closed = False
        self.reports: list[tuple[values.JsonDict, int]] = []
        self.names: dict[str, str] = {}
        self.choices: dict[int, Choice] = {}
        # the one that is read: with the lowest index, in any order
        self.lead = Choice()
        self._decoded: object = None  # the last event
        self._problem: values.JsonDict | None = None

    @classmethod
    def read(
        cls,
        spec: ModelSpec,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        key: str | None = None,
        *,
        closed: bool = True,
    ) -> Completion:
        """Return what the final answer to a call says; ``closed`` is false where the connection broke. Never raises."""
        # shorter ones are placeholders
        if key is not None and len(key) >= errors.SECRET_LENGTH:
            # Before parsing, so that no field, no text and no shortened message can hold a part of the key.
            body = body.replace(key.encode(), errors.STRUCK_OUT.encode())
        completion = cls._read(status, headers, body, closed)
        said = bool(completion.text or completion.reasoning_text)
        if (usage := believed(completion.usage, said=said)) is not completion.usage:
            completion = replace(completion, usage=usage)
        return errors.struck_out(completion, key)

    @classmethod
    def _read(cls, status: int, headers: Mapping[str, str], body: bytes, closed: bool) -> Completion:
        ok = 200 <= status < 300
        found = events_of(body, headers.get("content-type", "")) if ok else None
        reply = cls(streamed=found is not None)
        for data in [body] if found is None else found:
            reply.feed(data)
        if not ok:
            return errors.error_answer(status, headers, body, reply._decoded)
        if reply._problem is not None:
            completion = errors.error_answer(status, headers, body, reply._problem)
        elif not reply._whole(closed):
            completion = errors.failure(
                status, ["stream_cut"], "the stream ended before the answer was whole"
            )
        else:
            return reply._answer(status)
        if completion.status is not Status.FAILED or not reply.streamed:
            return completion
        # what had come is kept, never scored
        thought = "".join(reply.lead.thought) or None
        return replace(completion, text="".join(reply.lead.text), reasoning_text=thought)

    def feed(self, data: bytes) -> None:
        """Take the data of one event. Errors after the end of a reply do not affect it."""
        if self._problem is not None:
            return
        if data.strip() == DONE:
            self.closed = True
            return
        whole = self.closed or self.lead.finished
        event = values.load(data)
        # as Google's servers send an error
        if isinstance(event, list) and len(event) == 1:
            event = event[0]
        self._decoded = event
        if self.closed:
            event = {"usage": values.at(event, "usage")}
        if isinstance(event, dict):
            self.name(event)
            problem = self._take(event)
        else:
            problem = error_body("invalid_body", "the answer, or an event of it, is no JSON object")
        self._problem = None if whole else problem

    def at(self, index: object) -> Choice:
        """Return the choice with an index; the first where it has none."""
        place = index if isinstance(index, int) else 0
        if place not in self.choices:
            self.choices[place] = Choice()
            self.lead = self.choices[min(self.choices)]
        return self.choices[place]

    def name(self, fields: values.JsonDict) -> None:
        """Note what an event says of the whole reply."""
        for theirs, ours in NAMES.items():
            if theirs in fields and isinstance(said := fields[theirs], str):
                self.names[ours] = said

    def count(self, usage: object) -> None:
        """Note a report of tokens."""
        if isinstance(usage, dict):
            self.name(usage)
            self.reports.append((usage, self.lead.length if self.streamed else 0))

    def _whole(self, closed: bool) -> bool:
        if not self.streamed:
            return closed
        ended = self.closed or self.lead.finished or (closed and self.lead.ended)
        return ended and (self.said() or self._end() is not None)

    def said(self) -> bool:
        """Whether anything of an answer has come."""
        return any(self.lead.text) or any(self.lead.refusal)

    def _end(self) -> str | None:
        return next(filter(None, (values.word_at(self.lead.words, name) for name in self.ends)), None)

    def _answer(self, status: int) -> Completion:
        choice = self.lead
        finish = self._end() or (UNFINISHED if self.streamed or self.always_ends else None)
        if (trouble := self._trouble(finish)) is not None:
            return errors.failure(status, ["invalid_body"], trouble)
        text, refusal = "".join(choice.text), "".join(choice.refusal)
        thought = self._thought(text)
        return Completion(
            Status.REFUSED if refusal or choice.blocked else _status_of(finish),
            text=text or refusal,
            finish_reason=finish,
            finish_detail=_detail(choice.words),
            usage=self._usage(total_usage(self.reports, self.outputs)),
            logprobs=self._logprobs(text, thought),
            reasoning_text=thought,
            http_status=status,
            **self.names,  # type: ignore[arg-type]
        )

    @staticmethod
    @abstractmethod
    def build(spec: ModelSpec, request: ChatRequest, key: str | None, known: Capabilities) -> HttpCall:
        """Encode ``request``, as far as it is ``known`` to be accepted. Raises `UnsupportedConstraint`."""

    @abstractmethod
    def _take(self, event: values.JsonDict) -> values.JsonDict | None:
        """Add ``event``; return an error body where it ends the reply with one."""

    @abstractmethod
    def _usage(self, counted: values.JsonDict) -> Usage: ...

    def _trouble(self, finish: str | None) -> str | None:
        """Return why a reply in a whole body is no answer; None where it is one."""
        said = self.said() or finish not in (None, UNFINISHED)
        return None if said else "the answer has neither a text nor a word for why it ended"

    def _thought(self, text: str) -> str | None:
        return "".join(self.lead.thought) or None

    def _logprobs(self, text: str, thought: str | None) -> tuple[TokenLogprob, ...]:
        return ()


def _detail(words: values.JsonDict) -> str | None:
    """Return the provider's detail on an end, in addition to the word for it."""
    about, native = words.get("stop_details"), values.str_at(words, "native_finish_reason")
    filters = values.dict_at(words, "content_filter_results") or {}
    filtered = sorted(name for name, result in filters.items() if values.at(result, "filtered") is True)
    said = (
        # the model's own behind OpenRouter
        native if native != words.get("finish_reason") else None,
        # Azure
        f"filtered: {', '.join(filtered)}" if filtered else None,
        ": ".join(filter(None, (values.str_at(about, "category"), values.str_at(about, "explanation")))),
        *(values.str_at(words, name) for name in ("stop_sequence", "blockReasonMessage", "finishMessage")),
    )
    return next(filter(None, said), None)


def _status_of(finish: str | None) -> Status:
    # "content_filter: SAFETY"; proxies hand on "MAX_TOKENS"
    word = (finish or "").lower().partition(":")[0]
    if word in REFUSED:
        return Status.REFUSED
    return Status.TRUNCATED if word in TRUNCATED else Status.OK


def error_body(code: str, message: str) -> values.JsonDict:
    """Return an error body as every format has it."""
    return {"error": {"type": code, "message": message}}
