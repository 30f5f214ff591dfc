"""What a key of the study file allows, by the JSON schema of its model; pydantic finds the mistakes."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from metacog_pipeline import registry
from metacog_pipeline.errors import suggestion
from metacog_pipeline.files import TooLargeError

Schema = Mapping[str, Any]
#: Keys whose values are never shown.
_SECRET = ("api_key_env", "base_url", "extra_body", "dagster_storage", "broker", "store")
#: Parameters of providers that no key has a name for.
_SAMPLING = ("frequency_penalty", "min_p", "presence_penalty", "repetition_penalty", "stop", "top_k", "top_p")
_OWN = ("value_error", "assertion_error")  # raised by a check of ours: its words are kept
_LONGEST = 80  # characters of a value
_BARE = re.compile(r"[^\s.\"'\[\]]+")  # a key that is readable without quotes
_LIMITS = {
    "minimum": "of {} or more",
    "exclusiveMinimum": "above {}",
    "maximum": "up to {}",
    "exclusiveMaximum": "below {}",
}
_PLAIN = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a table of KEY = VALUE",
}
_UNENDED = "a text does not end; put {} at both ends of it"
_BACKSLASH = "a backslash in a text; write / in a path, or put the text in 'single quotes'"
#: What to do about an error of tomllib, by words of it; the first that fits.
_TOML = {
    "overwrite|immutable|twice": "this stands in the file already; keep one, and [[NAME]] for each of several rows",
    "Invalid value": 'not a value; put text in "quotes", numbers and true or false without',
    r"Illegal character '\\n'|Unterminated string": _UNENDED.format('"'),
    'Expected "\'"': _UNENDED.format("'"),
    "hex value|Unescaped": _BACKSLASH,
    "Duplicate inline": "a key stands twice in one { }; keep one",
    "Invalid initial": "a key is wanted here; a table in { } stands on one line, without a comma at its end",
    "Invalid statement": "neither KEY = VALUE nor [TABLE]; a comment begins with #",
    "Expected newline": "more stands on the line than belongs there; one KEY = VALUE a line, no , or ; behind it, "
    "no 0 before a number",
    "Unclosed": "a bracket is not closed; add ] or }",
    "declaration": "the name of a table is not closed; write [NAME], or [[NAME]] for one of several rows",
    "after a key": 'a key without its value; write KEY = VALUE, with the key in "quotes" where it has other than '
    "plain letters",
    "": 'give KEY = VALUE, one a line, with text in "quotes", below [TABLE] lines',
}


class _Lenient(GenerateJsonSchema):
    """Types of other packages that have no JSON schema allow anything here: pydantic still checks them."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  # so in its base

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        return {}


def schema_of(kind: Any) -> Schema:
    """Return the JSON schema of a model or any other type."""
    return TypeAdapter(kind).json_schema(schema_generator=_Lenient)


def explain(
    error: ValidationError,
    model: type[BaseModel],
    prefix: tuple[str, ...] = (),
    file: type[BaseModel] | None = None,
) -> str:
    """Return what is wrong with a table that ``model`` refused: key, value, what is allowed, what was meant.

    ``prefix`` is where the table stands in the file, ``file`` the model of the whole file where that is not ``model``. Of
    several mistakes a key nobody knows is said first: it is often why another one is missing.
    """
    problems = error.errors(include_url=False)
    deeper = {each["loc"][:depth] for each in problems for depth in range(len(each["loc"]))}
    # A list is too short without a wrong element.
    problems = [each for each in problems if each["loc"] not in deeper]
    first: Any = min(problems, key=lambda each: each["type"] != "extra_forbidden")
    more = f" (and {count} more mistake{'s' * (count > 1)})" if (count := len(problems) - 1) else ""
    location = _without_marks(first["loc"])
    first = {**first, "loc": location}
    key, schema = key_of((*prefix, *location)), schema_of(model)
    if first["type"] != "extra_forbidden":
        return f"{key}{_wrong_value(key, first, schema)}{more}"
    top = not prefix and len(location) == 1
    return f"{key}: unknown key{_unknown(first, schema, schema_of(file or model), top)}{more}"


def wanted(problem: Mapping[str, Any], schema: Schema) -> str:
    """Return what one of pydantic's problems wants: ``a whole number from 1 to 99``."""
    kind = str(problem["type"])
    if kind in _OWN:
        return str(problem["msg"]).split(", ", 1)[-1]
    if kind == "finite_number":
        return "a finite number"
    if kind == "invalid-json-value":
        return 'text in "quotes", a number, true or false, a list or a table'
    return describe(_at(problem["loc"], schema), schema)


def describe(node: Schema, schema: Schema) -> str:
    """Return what the ``node`` of a schema allows, as in ``a whole number from 1 to 99``; its own description wins."""
    if "description" in node and "properties" not in node:
        return str(node["description"])
    options = _options(node, schema)
    if options != [node]:
        return " or ".join(dict.fromkeys(describe(each, schema) for each in options))
    if values := node.get("enum", [node["const"]] if "const" in node else []):
        return ("one of " if len(values) > 1 else "") + ", ".join(map(as_written, values))
    kind = node.get("type")
    if kind == "array":
        least = f"{node['minItems']} or more, " if node.get("minItems") else ""
        return f"a list in [ ], {least}each {describe(node.get('items', {}), schema)}"
    if kind == "string" and node.get("format") == "path":
        return 'the path of a file or folder, in "quotes"'
    if kind == "string":
        return 'text in "quotes"' + (", not empty" if node.get("minLength") else "")
    return " ".join([_PLAIN.get(str(kind), "another value"), *_range(node)])


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


def not_toml(error: ValueError) -> str:
    """Return what keeps a file from being TOML and where; a line is never shown, for it may hold a key."""
    said = str(error)
    if isinstance(error, TooLargeError):
        return said
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 text at byte {error.start}; save it as UTF-8"
    if "integer string conversion" in said:
        return "a number of thousands of digits; give a shorter one"
    place = said.partition("(at ")[2].rstrip(")")
    return f"{place}: {next(advice for words, advice in _TOML.items() if re.search(words, said))}"


def _unknown(problem: Mapping[str, Any], schema: Schema, file: Schema, top: bool) -> str:
    """What to do about a key nobody knows; ``top`` where it stands above all tables."""
    *place, key = problem["loc"]
    known = list(_keys(_at(place, schema), schema))
    if not top and key in file["properties"]:
        return f"; {key} is a table at the top of the file, [{key}]"
    if key in _SAMPLING and "extra_body" in known:
        return f"; a provider's own goes into extra_body = {{ {key} = {as_written(problem['input'])} }}"
    if top and key in registry.names():
        return f" here; a benchmark's table is [benchmarks.{key}]"
    near = suggestion(str(key), known)
    for name, node in file["properties"].items() if not near and key != "enabled" else ():
        if name != "benchmarks" and key in _keys(node.get("items", node), file):
            return f" here; {key} is a key of {f'[[{name}]]' if 'items' in node else f'[{name}]'}"
    return f"{near}; allowed: {', '.join(known)}"


def _wrong_value(key: str, problem: Mapping[str, Any], schema: Schema) -> str:
    """The value that is refused, unless it is a secret, and what to give."""
    kind, given, node = str(problem["type"]), problem["input"], _at(problem["loc"], schema)
    needed = wanted(problem, schema)
    if kind == "missing":
        return f": missing; give {needed}"
    shown = "" if any(part in _SECRET for part in problem["loc"]) else f" = {as_written(given)}"
    if kind in _OWN:
        return f"{shown}: {needed}"
    rows = isinstance(given, list) and isinstance(next(iter(given), None), dict)
    if rows and kind in ("model_type", "dict_type"):
        return f": stands in [[ ]], for one of several rows; it is one table, write [{key}]"
    if isinstance(given, dict) and kind == "tuple_type" and _keys(node.get("items", {}), schema):
        return f": stands in [ ], for one table; it has several rows, write [[{key}]]"
    choices = [str(value) for each in _options(node, schema) for value in each.get("enum", ())]
    return f"{shown}: give {needed}{suggestion(str(given), choices)}"


def _range(node: Schema) -> Iterator[str]:
    limits = {name: node[name] for name in _LIMITS if name in node}
    limits = {name: int(each) if each == int(each) else each for name, each in limits.items()}
    if limits.keys() == {"minimum", "maximum"}:
        yield f"from {limits['minimum']} to {limits['maximum']}"
    elif limits:
        yield " and ".join(_LIMITS[name].format(each) for name, each in limits.items())


def _options(node: Schema, schema: Schema) -> list[Schema]:
    """The alternatives of a node but null, references followed; of every other node itself."""
    found = [each for each in node.get("anyOf", [node]) if each.get("type") != "null"]
    return [schema["$defs"][each["$ref"].rpartition("/")[2]] if "$ref" in each else each for each in found]


def _keys(node: Schema, schema: Schema) -> Iterator[str]:
    """The keys of a table."""
    for each in _options(node, schema):
        yield from each.get("properties", ())


def _at(location: Iterable[str | int], schema: Schema) -> Schema:
    """The node at a place; the last known one where pydantic's own marks, or an unknown key, stand in between."""
    node = schema
    for part in location:
        for each in _options(node, schema):
            inner = each.get("items") if isinstance(part, int) else each.get("properties", {}).get(part)
            if inner is not None:
                node = inner
                break
    return node


def _without_marks(location: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """A place of the file: inside a table of anything pydantic puts the name of a type behind every key."""
    free = location.index("extra_body") + 1 if "extra_body" in location else len(location)
    return (*location[:free], *location[free::2])
