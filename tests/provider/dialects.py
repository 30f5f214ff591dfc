"""What the request formats have in common on the server's side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from metacog_pipeline.llm.types import ChatRequest, Completion, Message

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
    ``shown`` whether its text is wanted (None: not said), ``sealed`` whether its encrypted form is.
    """

    model: str
    request: ChatRequest
    stream: bool = False
    usage: bool = True
    on: bool = False
    effort: str | None = None
    budget: int | None = None
    shown: bool | None = None
    sealed: bool = False


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


def model_of(fields: JsonDict, path_model: str = "") -> str:
    model = path_model or fields.get("model")
    if not isinstance(model, str) or not model:
        raise BadRequest("model must be a non-empty string", "model")
    return model


def turns_of(fields: JsonDict, name: str, read: Callable[[object], Message]) -> tuple[Message, ...]:
    messages = tuple(map(read, as_list(fields.get(name), name)))
    if not messages:
        raise BadRequest(f"{name} must not be empty", name)
    return messages


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


def as_flag(value: object, param: str) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    raise BadRequest(f"{param} must be true or false", param)


def as_word(value: object, param: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise BadRequest(f"{param} must be a string", param)


def as_dict(value: object, param: str) -> JsonDict:
    if isinstance(value, dict):
        return value
    raise BadRequest(f"{param} must be an object", param)


def as_list(value: object, param: str) -> list[object]:
    if isinstance(value, list):
        return value
    raise BadRequest(f"{param} must be a list", param)


def as_int(value: object, param: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise BadRequest(f"{param} must be an integer", param)


def as_number(value: object, param: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e6:
        return float(value)
    raise BadRequest(f"{param} must be a number", param)


def as_strings(value: object, param: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    items = as_list(value, param)
    strings = tuple(item for item in items if isinstance(item, str))
    if len(strings) != len(items):
        raise BadRequest(f"{param} must hold strings only", param)
    return strings


def joined_text(value: object, param: str) -> str:
    if isinstance(value, str):
        return value
    texts = [as_dict(part, param).get("text") for part in as_list(value, param)]
    if not all(isinstance(text, str) for text in texts):
        raise BadRequest(f"{param}: only text parts are understood", param)
    return "".join(text for text in texts if isinstance(text, str))


def turn(fields: JsonDict, param: str, roles: str) -> Message:
    content = joined_text(fields.get("content"), param)
    match fields.get("role"):
        case "system" | "developer":
            return Message("system", content)
        case "user":
            return Message("user", content)
        case "assistant":
            return Message("assistant", content)
        case _:
            raise BadRequest(f"{param}: role must be {roles}", param)
