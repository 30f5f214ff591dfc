"""What a key of the study file allows, in the words of this house: pydantic finds a mistake, these say what to give."""

from __future__ import annotations

import datetime
import json
import math
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from metacog_pipeline import registry
from metacog_pipeline.errors import suggestion
from metacog_pipeline.files import TooLargeError

#: Keys whose values are never shown.
_SECRET = ("api_key_env", "base_url", "extra_body", "dagster_storage", "broker", "store")
#: Parameters of providers that this house does not name.
_SAMPLING = ["frequency_penalty", "min_p", "presence_penalty", "repetition_penalty", "stop", "top_k", "top_p"]
_BOUNDS = ("ge", "gt", "le", "lt", "min_length")
_OWN = ("value_error", "assertion_error")  # raised by a check of ours: its words are kept
_LONGEST = 80  # characters of a value
_BARE = re.compile(r"[^\s.\"'\[\]]+")  # a key that is readable without quotes
_VARIABLE = re.compile(r"\$\{?([A-Z][A-Z0-9_]*)\}?")  # as a shell has it
_LIMITS = {
    "greater_than_equal": "of {ge} or more",
    "greater_than": "above {gt}",
    "less_than_equal": "up to {le}",
    "less_than": "below {lt}",
}
#: What a problem of pydantic wants, by how its name begins.
_KINDS = (
    ("int", "a whole number"),
    ("float", "a number"),
    ("finite", "a finite number"),
    ("decimal", "a number"),
    ("bool", "true or false"),
    ("string_too_short", "text that is not empty"),
    ("string", "text"),
    ("list", "a list"),
    ("tuple", "a list"),
    ("too_short", "a longer list"),
    ("too_long", "a shorter list"),
    ("dict", "a table"),
    ("model", "a table"),
    ("dataclass", "a table"),
    ("missing", "a value: it is required"),
    ("extra", "a key that is known"),
    ("unexpected", "a key that is known"),
)


def explain(
    shown: str,
    error: ValidationError,
    model: type[BaseModel],
    prefix: tuple[str | int, ...] = (),
    root: type[BaseModel] | None = None,
) -> str:
    """Return what is wrong with a table that ``model`` refused: file, key, value, what is allowed, what was meant.

    ``prefix`` is where the table stands in the file, ``root`` the whole file where that is not ``model``. Of several
    mistakes a key nobody knows is said first: it is often why another one is missing.
    """
    problems = error.errors(include_url=False)
    deeper = {each["loc"][:depth] for each in problems for depth in range(len(each["loc"]))}
    # A list is too short without a wrong element.
    problems = [each for each in problems if each["loc"] not in deeper]
    first = min(problems, key=lambda each: each["type"] != "extra_forbidden")
    location, kind = _without_marks(first["loc"]), first["type"]
    key = key_of((*prefix, *location))
    more = f" (and {count} more mistake{'s' * (count > 1)})" if (count := len(problems) - 1) else ""
    if kind == "extra_forbidden":
        known = _keys(_table_of(location[:-1], model))
        said = str(location[-1])
        if said in _keys(model) and len(location) > 1:
            return f"{shown}: {key}: unknown key; {said} is a table at the top of the file, [{said}]{more}"
        if said in _SAMPLING and "extra_body" in known:
            given = as_written(first.get("input"))
            return f"{shown}: {key}: unknown key; a provider's own goes into extra_body = {{ {said} = {given} }}{more}"
        if len(location) == 1 and not prefix and said in registry.names():
            return f"{shown}: {key}: unknown key here; a benchmark's table is [benchmarks.{said}]{more}"
        near = suggestion(said, known)
        if not near and (home := _home_of(said, root or model)) is not None:
            return f"{shown}: {key}: unknown key here; {said} is a key of {home}{more}"
        return f"{shown}: {key}: unknown key{near}; allowed: {', '.join(known)}{more}"
    field = _field_of(location, model)
    wanted = "" if field is None else describe(field.annotation, field.metadata, field.description)
    if kind == "finite_number":
        wanted = "a finite number"
    if kind == "invalid-json-value":
        wanted = 'text in "quotes", a number, true or false, a list or a table'
    if kind == "missing":
        return f"{shown}: {key}: missing; give {wanted or 'it'}{more}"
    given = first.get("input")
    value = "" if any(part in _SECRET for part in location) else f" = {as_written(given)}"
    if kind in _OWN:
        return f"{shown}: {key}{value}: {str(first['msg']).split(', ', 1)[-1]}{more}"
    if form := _another_form(key, given, kind, field):
        return f"{shown}: {key}: {form}{more}"
    choices = _choices(field.annotation) if field is not None else ()
    meant = suggestion(str(given), choices) if choices else ""
    return f"{shown}: {key}{value}: give {wanted or expected(first)}{meant}{more}"


def _another_form(key: str, given: object, kind: str, field: FieldInfo | None) -> str:
    """What to write for one table given as several, several as one, or a variable as a shell has it; empty otherwise."""
    rows = isinstance(given, list) and isinstance(next(iter(given), None), dict)
    if rows and kind in ("model_type", "dict_type"):
        return f"stands in [[ ]], for one of several rows; it is one table, write [{key}]"
    several = kind == "tuple_type" and field is not None and any(_tables(field.annotation))
    if several and isinstance(given, dict):
        return f"stands in [ ], for one table; it has several rows, write [[{key}]]"
    if key.endswith("api_key_env") and (variable := _VARIABLE.fullmatch(str(given))):
        return f'give the NAME alone, "{variable[1]}", without $; what it holds is read later'
    return ""


def describe(annotation: Any, metadata: Sequence[Any] = (), said: str | None = None) -> str:
    """Return what a value of this type may be, as in ``a whole number from 1 to 99``; ``said`` wins where there is one."""
    if said is not None:
        return said
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return describe(inner, [*more, *metadata], _described(more))
    options = _options(annotation)
    if len(options) > 1:
        return " or ".join(dict.fromkeys(describe(each, metadata) for each in options))
    kind = options[0]
    if get_origin(kind) is Annotated:
        return describe(kind, metadata)
    if get_origin(kind) is Literal:
        values = get_args(kind)
        return ("one of " if len(values) > 1 else "") + ", ".join(map(as_written, values))
    if get_origin(kind) in (tuple, list):
        least = _bounds(metadata).get("min_length")
        return f"a list in [ ], {f'{least} or more, ' if least else ''}each {describe(get_args(kind)[0])}"
    if get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, (dict, BaseModel, Mapping))):
        return "a table of KEY = VALUE"
    return _plain(kind, _bounds(metadata))


def expected(problem: Mapping[str, Any]) -> str:
    """Return what one of pydantic's problems wants, where the place it is in is not known: ``a whole number``."""
    kind, context = str(problem["type"]), problem.get("ctx", {})
    if kind in _OWN:
        return str(problem["msg"]).split(", ", 1)[-1]
    if kind == "literal_error":
        return f"one of {context['expected']}"
    if kind in _LIMITS:
        return f"a number {_LIMITS[kind].format(**context)}"
    return next((words for start, words in _KINDS if kind.startswith(start)), "another value")


def as_written(value: object) -> str:
    """Return a value as it stands in a TOML file, cut where it is long."""
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


def not_finite(value: object, location: tuple[str | int, ...] = ()) -> tuple[str | int, ...] | None:
    """Return where the first number of ``value`` that is not finite stands, below ``location``; None if there is none."""
    if isinstance(value, float):
        return None if math.isfinite(value) else location
    inner = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    )
    below = (not_finite(each, (*location, key)) for key, each in inner)
    return next((found for found in below if found is not None), None)


def not_toml(error: ValueError) -> str:
    """Return what keeps a file from being TOML and where; a line is never shown, for it may hold a key."""
    said = str(error)
    if isinstance(error, TooLargeError):
        return said
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 text at byte {error.start}; save it as UTF-8"
    place = said.partition("(at ")[2].rstrip(")")
    for typed in getattr(error, "__notes__", ()):
        wanted = typed.lower() if typed.isalpha() else 'straight quotes, "'
        return f"{place}: {typed} is no TOML; write {wanted}"
    if "integer string conversion" in said:
        return "a number of thousands of digits; give a shorter one"
    for words, advice in _TOML:
        if words in said:
            return f"{place}: {advice}"
    return f'{place}: give KEY = VALUE, one a line, with text in "quotes", below [TABLE] lines'


_AGAIN = "this key or table stands in the file already; keep one, and [[NAME]] for each of several rows"
_TOML = (
    ("overwrite", _AGAIN),
    ("immutable", _AGAIN),
    ("twice", "this table stands in the file already; keep one, and [[NAME]] for each of several rows"),
    ("Invalid value", 'not a value; put text in "quotes", numbers and true or false without'),
    ("Illegal character '\\n'", 'a text does not end; put " at both ends of it'),
    ("Unterminated string", 'a text does not end; put " at both ends of it'),
    ("hex value", "a backslash in a text; write / in a path, or put the text in 'single quotes'"),
    ("Expected \"'", "a text does not end; put ' at both ends of it"),
    ("Unescaped", "a backslash in a text; write / in a path, or put the text in 'single quotes'"),
    ("Duplicate inline", "a key stands twice in one { }; keep one"),
    (
        "Invalid initial",
        "a key is wanted here; a table in { } stands on one line, without a comma at its end",
    ),
    ("Invalid statement", "neither KEY = VALUE nor [TABLE]; a comment begins with #"),
    (
        "Expected newline",
        "more stands on the line than belongs there; one KEY = VALUE a line, no , or ; behind it, no 0 before a number",
    ),
    ("Unclosed", "a bracket is not closed; add ] or }"),
    ("declaration", "the name of a table is not closed; write [NAME], or [[NAME]] for one of several rows"),
    (
        "after a key",
        'a key without its value; write KEY = VALUE, with the key in "quotes" where it has other than plain letters',
    ),
)


def _plain(kind: Any, bounds: Mapping[str, Any]) -> str:
    if kind is bool:
        return "true or false"
    if kind in (int, float):
        noun = "a whole number" if kind is int else "a number"
        limits = (bounds.get(name) for name in _BOUNDS[:4])
        low, over, high, below = (
            int(each) if each is not None and each == int(each) else each for each in limits
        )
        if low is not None and high is not None:
            return f"{noun} from {low} to {high}"
        said = zip(_LIMITS.values(), _BOUNDS, (low, over, high, below), strict=False)
        words = [text.format(**{name: limit}) for text, name, limit in said if limit is not None]
        return " ".join([noun, " and ".join(words)]).strip()
    if isinstance(kind, type) and issubclass(kind, Path):
        return 'the path of a file or folder, in "quotes"'
    if kind is str:
        return 'text in "quotes"' + (", not empty" if bounds.get("min_length") else "")
    return "another value"


def _bounds(metadata: Sequence[Any]) -> dict[str, Any]:
    """The limits among pydantic's metadata, those of a Field inside Annotated as well."""
    found: dict[str, Any] = {}
    for each in metadata:
        inner = each.metadata if isinstance(each, FieldInfo) else [each]
        found |= {
            name: value
            for part in inner
            for name in _BOUNDS
            if (value := getattr(part, name, None)) is not None
        }
    return found


def _described(metadata: Iterable[Any]) -> str | None:
    return next((each.description for each in metadata if isinstance(each, FieldInfo)), None)


def _options(annotation: Any) -> list[Any]:
    """The types of a union but None; the type itself of everything else."""
    if get_origin(annotation) in (Union, types.UnionType):
        return [each for each in get_args(annotation) if each is not type(None)]
    return [annotation]


def _choices(annotation: Any) -> tuple[str, ...]:
    """The texts a key or each element of its list may be, where they are listed."""
    found: list[str] = []
    for each in _options(annotation):
        if get_origin(each) is Literal:
            found += [str(value) for value in get_args(each)]
        elif get_origin(each) in (tuple, list):
            found += _choices(get_args(each)[0])
    return tuple(found)


def _tables(annotation: Any) -> Iterator[type[BaseModel]]:
    """Every table that stands somewhere in a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _tables(each)


def _table_of(location: tuple[str | int, ...], model: type[BaseModel]) -> type[BaseModel]:
    """The table at a place of the file; the last known one where pydantic's own marks stand in between."""
    for part in location:
        field = model.model_fields.get(str(part)) if isinstance(part, str) else None
        model = model if field is None else next(_tables(field.annotation), model)
    return model


def _field_of(location: tuple[str | int, ...], model: type[BaseModel]) -> FieldInfo | None:
    """The key at a place of the file; of an element of a list, a field of the element's type."""
    names = [place for place, part in enumerate(location) if isinstance(part, str)]
    for last in reversed(names):
        field = _table_of(location[:last], model).model_fields.get(str(location[last]))
        if field is None:
            continue
        inside = [part for part in location[last + 1 :] if isinstance(part, int)]
        found = field
        for _ in inside:
            element = next((get_args(each)[0] for each in _options(found.annotation) if get_args(each)), Any)
            found = FieldInfo.from_annotation(element)
        return found
    return None


def _without_marks(location: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """A place of the file: inside a table of anything pydantic puts the name of a type behind every key."""
    free = location.index("extra_body") + 1 if "extra_body" in location else len(location)
    return (*location[:free], *location[free::2])


def _home_of(key: str, root: type[BaseModel]) -> str | None:
    """The table at the top of the file that has this key, as it is written there."""
    for name, field in root.model_fields.items():
        for table in _tables(field.annotation):
            if key != "enabled" and name != "benchmarks" and key in table.model_fields:
                return f"[{name}]" if table is field.annotation or field.default is None else f"[[{name}]]"
    return None


def _keys(model: type[BaseModel]) -> list[str]:
    """The keys of a table; where a study was read from is none of them."""
    return [name for name in model.model_fields if name != "path"]
