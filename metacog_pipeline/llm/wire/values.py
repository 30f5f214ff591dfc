"""Reading JSON of unknown shape: every function takes anything and returns the wanted type or ``None``."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from collections.abc import Mapping

from pydantic import JsonValue
from pydantic_core import from_json

from metacog_pipeline.llm.types import TokenLogprob

JsonDict = dict[str, object]
# a larger count is nonsense and would not fit the transcript's column
MAX_TOKENS_BELIEVED = 10**9
# of a whole number; Python itself reads no more than 4,300
MOST_DIGITS = 1000
# what servers write into a field that says nothing
NO_WORDS = frozenset({"", "null", "none", "undefined"})


def load(body: bytes) -> object:
    """Return the JSON value of ``body``, or ``None`` where it cannot be read."""
    try:
        # three times as quick
        return from_json(body, cache_strings="keys")
    except ValueError:  # or a lone surrogate, a byte order mark, more depth than it takes
        # An answer was paid for: bytes that are no UTF-8 are replaced, and a number too long to be one is infinite.
        for text in (body, body.decode("utf-8-sig", "replace")):
            with contextlib.suppress(ValueError, RecursionError):
                return json.loads(
                    text, parse_int=lambda digits: int(digits) if len(digits) <= MOST_DIGITS else math.inf
                )
        return None


def given(value: object) -> bool:
    """Whether a field says anything: it is not empty, and no word for an absent value."""
    if not isinstance(value, str):
        return bool(value)
    word = value.strip().lower()
    # Gemini's enums begin with such a one
    return word not in NO_WORDS and not word.endswith("_unspecified")


def at(value: object, key: str) -> object:
    """Return the value of ``key`` when ``value`` is an object."""
    return value.get(key) if isinstance(value, dict) else None


def dict_at(value: object, key: str) -> JsonDict | None:
    """Return the object under ``key`` of the object ``value``."""
    found = at(value, key)
    return found if isinstance(found, dict) else None


def list_at(value: object, key: str) -> list[object] | None:
    """Return the list under ``key`` of the object ``value``."""
    found = at(value, key)
    return found if isinstance(found, list) else None


def str_at(value: object, key: str) -> str | None:
    """Return the string under ``key`` of the object ``value``."""
    found = at(value, key)
    return found if isinstance(found, str) else None


def word_at(value: object, key: str) -> str | None:
    """Return the string under ``key`` where it says anything."""
    found = str_at(value, key)
    return found if given(found) else None


def count_at(value: object, key: str) -> int | None:
    """Return the token count under ``key``: a whole number from 0 to ``MAX_TOKENS_BELIEVED``."""
    found = at(value, key)
    if isinstance(found, int) and not isinstance(found, bool) and 0 <= found <= MAX_TOKENS_BELIEVED:
        return found
    return None


def left_of(total: int | None, *parts: int | None) -> int:
    """Return how many tokens a ``total`` has on top of its ``parts``; 0 where one of them was not counted."""
    known = [part for part in parts if part is not None]
    return 0 if total is None or len(known) < len(parts) else max(0, total - sum(known))


def first(values: list[object] | None) -> object:
    """Return the first element, or ``None`` where there is none."""
    return values[0] if values else None


def present(**fields: object) -> JsonDict:
    """Return the ``fields`` that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def merged(body: JsonDict, extra: Mapping[str, JsonValue], protected: frozenset[str]) -> JsonDict:
    """Return ``body`` with ``extra`` laid over it, objects merged into objects, ``protected`` top-level keys kept."""
    result = dict(body)
    for key, value in extra.items():
        if key in protected:
            continue
        mine = result.get(key)
        both = isinstance(mine, dict) and isinstance(value, dict)
        result[key] = merged(mine, value, frozenset()) if both else value  # type: ignore[arg-type]
    return result


def encode(body: JsonDict) -> bytes:
    """Return ``body`` as compact ASCII JSON; a lone surrogate in a message stays an escape instead of an error."""
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode("ascii")


def listed_logprobs(
    entries: list[object], tops: list[object], number: str = "logprob"
) -> tuple[TokenLogprob, ...]:
    """Return log-probabilities with their alternatives, all or none: a hole would give numbers to wrong tokens."""
    tokens: list[TokenLogprob] = []
    for entry, listed in itertools.zip_longest(entries, tops[: len(entries)]):
        (own,) = _pairs([entry], number) or (None,)
        if own is None:
            return ()
        tokens.append(TokenLogprob(*own, _pairs(listed if isinstance(listed, list) else [], number)))
    return tuple(tokens)


def _pairs(entries: list[object], number: str) -> tuple[tuple[str, float], ...]:
    found = []
    for entry in entries:
        token, value = str_at(entry, "token"), at(entry, number)
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            logprob = math.nan if isinstance(value, bool | str) else float(value)  # type: ignore[arg-type]
            if token is not None and math.isfinite(logprob):
                found.append((token, logprob))
    return tuple(found)


def token_logprobs(entries: list[object]) -> tuple[TokenLogprob, ...]:
    """Return log-probabilities in OpenAI's form."""
    return listed_logprobs(entries, [list_at(entry, "top_logprobs") for entry in entries])
