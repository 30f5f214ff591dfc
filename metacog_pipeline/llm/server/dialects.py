"""What the three request formats have in common on the server's side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from metacog_pipeline.llm.types import ChatRequest, Completion

JsonDict = dict[str, object]


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
class Dialect:
    """One wire format: read a request body, word an answer, word an error.

    ``read`` takes the model id from the path (``""`` where the body has it) and the decoded body, and raises
    ``BadRequest``. ``answer`` takes the model id to report, the request, the completion and a number unique to the
    call. ``error`` words a problem.
    """

    read: Callable[[str, object], tuple[str, ChatRequest]]
    answer: Callable[[str, ChatRequest, Completion, int], JsonDict]
    error: Callable[[Problem], JsonDict]


def token_count(text: str) -> int:
    """Return a rough token count, four characters each, at least 1 for any text: enough to exercise budgets."""
    return -(-len(text) // 4)


def prompt_tokens(request: ChatRequest) -> int:
    """Return the rough token count of all messages."""
    return sum(token_count(message.content) for message in request.messages)


def as_dict(value: object, param: str) -> JsonDict:
    """Return ``value`` if it is an object, else raise ``BadRequest`` naming ``param``."""
    if not isinstance(value, dict):
        raise BadRequest(f"{param} must be an object", param)
    return value


def as_list(value: object, param: str) -> list[object]:
    """Return ``value`` if it is a list, else raise ``BadRequest`` naming ``param``."""
    if not isinstance(value, list):
        raise BadRequest(f"{param} must be a list", param)
    return value


def as_int(value: object, param: str) -> int | None:
    """Return ``value`` if it is an integer or absent, else raise ``BadRequest`` naming ``param``."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise BadRequest(f"{param} must be an integer", param)


def as_number(value: object, param: str) -> float | None:
    """Return ``value`` as a float if it is a number or absent, else raise ``BadRequest`` naming ``param``."""
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e6:
        return float(value)
    raise BadRequest(f"{param} must be a number", param)


def as_strings(value: object, param: str) -> tuple[str, ...]:
    """Return a string or list of strings as a tuple, else raise ``BadRequest`` naming ``param``."""
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
    """Return message content given as a string or as a list of text parts."""
    if isinstance(value, str):
        return value
    texts = [as_dict(part, param).get("text") for part in as_list(value, param)]
    if not all(isinstance(text, str) for text in texts):
        raise BadRequest(f"{param}: only text parts are understood", param)
    return "".join(text for text in texts if isinstance(text, str))
