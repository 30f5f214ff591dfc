"""What the request formats have in common on the server's side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from metacog_pipeline.llm.types import ChatRequest, Completion

JsonDict = dict[str, object]
Frame = tuple[str | None, JsonDict | str]  # one server-sent event: its name, where it has one, and its data
LONGEST_PIECE = 65_536  # characters of one part of a stream: a longer text comes in more parts


class BadRequest(ValueError):
    """A request body this dialect cannot read. ``param`` names the field."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


@dataclass(frozen=True, slots=True)
class Problem:
    """An error answer before a dialect words it: ``kind`` is the provider-independent reason."""

    status: int
    kind: str
    message: str
    param: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error answer in a provider's own words: status and body."""

    status: int
    body: JsonDict


@dataclass(frozen=True, slots=True)
class Asked:
    """One call as a dialect reads it: the request, and what only concerns thinking and delivery.

    ``stream`` whether it is answered in parts, ``usage`` whether the last of them says what is billed. ``on`` says that
    thinking is asked for; ``effort`` and ``budget`` (at most so many tokens, 0: none) are what the call says of it,
    ``shown`` whether its text is wanted (None: not said).
    """

    model: str
    request: ChatRequest
    stream: bool = False
    usage: bool = True
    on: bool = False
    effort: str | None = None
    budget: int | None = None
    shown: bool | None = None


@dataclass(frozen=True, slots=True)
class Style:
    """What one provider's answers look like where those of a format differ.

    ``reasoning`` are the fields of a chat message that hold the thinking; none: it is not shown. ``shown`` is whether the
    other formats show it where the call does not say. ``details`` says whether usage is split up. ``extra`` are further
    fields of every answer, such as ``service_tier``.
    """

    reasoning: tuple[str, ...] = ("reasoning_content",)
    shown: bool = True
    details: bool = True
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a dialect words: ``model`` is the id to report, ``number`` unique to the call."""

    model: str
    asked: Asked
    completion: Completion
    number: int
    style: Style = field(default_factory=Style)

    @property
    def sent(self) -> int:
        given = self.completion.usage.input_tokens
        return prompt_tokens(self.asked.request) if given is None else given

    @property
    def got(self) -> int:
        given = self.completion.usage.output_tokens
        return self.thought + token_count(self.completion.text) if given is None else given

    @property
    def thought(self) -> int:
        return self.completion.usage.reasoning_tokens or 0

    @property
    def shown(self) -> bool:
        return self.style.shown if self.asked.shown is None else self.asked.shown

    @property
    def written(self) -> int:
        return self.completion.usage.cache_write_tokens or 0

    @property
    def cached(self) -> int:
        return self.completion.usage.cached_tokens or 0


@dataclass(frozen=True, slots=True)
class Dialect:
    """One wire format: read a request body, word an answer whole or in parts, word an error.

    ``read`` takes the model id from the path (``""`` where the body has it) and the decoded body, and raises
    ``BadRequest``. ``answer`` words a whole answer. ``frames`` takes such an answer apart into the events of a stream,
    each text in at least ``pieces`` parts where it is long enough. ``error`` words a problem; in the middle of a stream it
    comes as an event called ``breaks_as``.
    """

    read: Callable[[str, object], Asked]
    answer: Callable[[Answer], JsonDict]
    frames: Callable[[JsonDict, Asked, int], Iterator[Frame]]
    error: Callable[[Problem], JsonDict]
    breaks_as: str | None = None

    def broken(self, problem: Problem) -> Frame:
        return self.breaks_as, self.error(problem)


def pieces(text: str, count: int) -> list[str]:
    size = max(1, min(LONGEST_PIECE, -(-len(text) // max(1, count))))
    return [text[start : start + size] for start in range(0, len(text), size)]


def as_dict_at(value: object, key: str) -> JsonDict:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def as_list_at(value: object, key: str) -> list[JsonDict]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def token_count(text: str) -> int:
    return -(-len(text) // 4)


def prompt_tokens(request: ChatRequest) -> int:
    return sum(token_count(message.content) for message in request.messages)
