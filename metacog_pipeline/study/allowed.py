"""Why a table of the study file is refused, in one line: the key, its value, what it must be, what was perhaps meant.

pydantic finds the mistakes, and tomllib what is no TOML; this puts their words behind the key as the file writes it.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from metacog_pipeline.errors import suggestion
from metacog_pipeline.files import TooLargeError

#: Keys whose values are never shown.
_SECRET = ("api_key_env", "base_url", "extra_body", "dagster_storage", "broker", "store")
_OWN = ("value_error", "assertion_error")  # raised by a check of ours: its words are kept
_LONGEST = 80  # characters of a value
_BARE = re.compile(r"[^\s.\"'\[\]]+")  # a key that is readable without quotes


def explain(error: ValidationError, model: type[BaseModel], prefix: tuple[str, ...] = ()) -> str:
    """Return what is wrong with a table that ``model`` refused; ``prefix`` is the place of the table in the file."""
    problems = error.errors(include_url=False)
    deeper = {each["loc"][:depth] for each in problems for depth in range(len(each["loc"]))}
    # A list is too short without a wrong element.
    problems = [each for each in problems if each["loc"] not in deeper]
    # An unknown key is reported first: it is often why another one is missing.
    first: Any = min(problems, key=lambda each: each["type"] != "extra_forbidden")
    place = first["loc"]
    if "extra_body" in place:  # a table of anything: below it pydantic names types next to keys
        place = place[: place.index("extra_body") + 1]
    key = key_of((*prefix, *place))
    why = _unknown(model, place) if first["type"] == "extra_forbidden" else _refused(model, place, first)
    more = f" (and {count} more mistake{'s' * (count > 1)})" if (count := len(problems) - 1) else ""
    return f"{key}{why}{more}"


def _unknown(model: type[BaseModel], place: tuple[str | int, ...]) -> str:
    table = _table(model, place[:-1])
    known = list(table.model_fields) if table is not None else []
    return f": unknown key{suggestion(str(place[-1]), known)}; allowed: {', '.join(known)}"


def _refused(model: type[BaseModel], place: tuple[str | int, ...], problem: Mapping[str, Any]) -> str:
    """The value that is refused, unless it is a secret, and what it must be; a key's own description wins."""
    kind, described = problem["type"], _described(model, place)
    words = f"give {described}" if described and kind not in _OWN else wanted(problem)
    if kind == "missing":
        return f": missing; {words}"
    shown = "" if any(part in _SECRET for part in place) else f" = {as_written(problem['input'])}"
    choices = re.findall(r"'([^']*)'", str(problem.get("ctx", {}).get("expected", "")))
    return f"{shown}: {words}{suggestion(str(problem['input']), choices)}"


def wanted(problem: Mapping[str, Any]) -> str:
    """Return what one of pydantic's problems wants, as in ``must be a valid integer``; the words of our own checks."""
    words = str(problem["msg"])
    if problem["type"] in _OWN:
        return words.split(", ", 1)[-1]
    if problem["type"] == "missing":
        return "must be given"
    return words.removeprefix("Input ").replace("should", "must", 1).replace("'", '"')


def _described(model: type[BaseModel], place: tuple[str | int, ...]) -> str | None:
    """Return the description of the key at a place, or of the one that holds it."""
    for end in range(len(place), 0, -1):
        table = _table(model, place[: end - 1])
        field = None if table is None else table.model_fields.get(str(place[end - 1]))
        if field is not None:
            return field.description
    return None


def _table(model: Any, place: Iterable[str | int]) -> type[BaseModel] | None:
    """Return the model of the table at a place below a table of ``model``; None where there is none."""
    for part in place:
        if isinstance(part, str) and model is not None:
            field = model.model_fields.get(part)
            model = None if field is None else _model_in(field.annotation)
    return model if isinstance(model, type) else None


def _model_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for each in get_args(annotation) if (found := _model_in(each))), None)


def as_written(value: object) -> str:
    """Return a value as written in a TOML file, cut where it is long."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def key_of(location: Iterable[str | int]) -> str:
    """Return a place of the study file, as in ``models[0].provider``."""
    key = ""
    for part in location:
        name = str(part) if isinstance(part, int) or _BARE.fullmatch(part) else as_written(part)
        key += f"[{name}]" if isinstance(part, int) else f".{name}" if key else name
    return key


def not_toml(error: ValueError) -> str:
    """Return what keeps a file from being TOML and where; a line is never shown, for it may hold a key."""
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 text at byte {error.start}; save it as UTF-8"
    if "integer string conversion" in str(error):
        return "a number of thousands of digits; give a shorter one"
    if isinstance(error, TooLargeError):
        return str(error)
    return f"{error}; text is in quotes, a row of several below [[NAME]], one KEY = VALUE on a line"
