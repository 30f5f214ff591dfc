"""Provider profiles: what one provider refuses and how, and what its answers look like, as data in ``profiles/``.

A profile is a dated TOML file. One that is ``like`` another takes from it all but the rules that it does not say itself.
Its rules are looked at in order for every call; the first that strikes answers it with its own status and body, whose
texts may hold ``<model>``, ``<value>``, ``<limit>``, ``<prompt>`` and ``<name>``.
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tests.provider import dialects, reading
from tests.provider.dialects import JsonDict, Refusal
from tests.provider.thinking import Reasoning

Interface = Literal["chat", "messages", "gemini"]
FOLDER = "profiles"


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Reply(_Data):
    """A status and a JSON body."""

    status: int = Field(ge=200, le=599)
    body: str

    def filled(self, **words: object) -> Refusal:
        body = {name: _filled(value, words) for name, value in json.loads(self.body).items()}
        return Refusal(self.status, body)


class Rule(Reply):
    """What strikes a call, and the answer to it, with status 400 where none is given.

    Strikes on ``interface`` (all, where empty) when ``field``, a dotted path into the body, or ``header`` or ``query``
    is there (with ``absent``: is not there) and none of ``unless``. Narrower: a number above ``above``, below
    ``below``, not below that of the field ``reaches``, or above what ``context`` tokens leave beside the prompt; a
    JSON schema that is not ``closed`` or holds one of ``keywords``. ``when`` names further fields (or
    ``header:NAME``) and the values that one of each must have; none: any value. A rule without a field strikes always.
    """

    status: int = Field(default=400, ge=200, le=599)
    interface: tuple[Interface, ...] = ()
    field: str | None = None
    header: str | None = None
    query: str | None = None
    absent: bool = False
    unless: tuple[str | int | float | bool, ...] = ()
    above: int | None = None
    below: int | None = None
    reaches: str | None = None
    context: int | None = None
    closed: bool = False
    keywords: tuple[str, ...] = ()
    when: Mapping[str, tuple[str | int | float | bool, ...]] = Field(default_factory=dict)
    since: date
    source: str

    def refusal(self, call: Call) -> Refusal | None:
        if self.interface and call.interface not in self.interface:
            return None
        if not all(self._has(call, name, values) for name, values in self.when.items()):
            return None
        value = self._value(call)
        if self.absent or value is None:
            missing = value is None and self.absent
            named = self.field or self.header or self.query
            return self._answer(call, None) if missing or not named else None
        found = self._offence(call, value)
        return None if found is None else self._answer(call, found)

    def _has(self, call: Call, name: str, values: tuple[object, ...]) -> bool:
        header = name.removeprefix("header:")
        value = call.headers.get(header) if header != name else at(call.body, name)
        return value is not None and (not values or value in values)

    def _value(self, call: Call) -> object:
        if self.header is not None:
            return call.headers.get(self.header)
        if self.query is not None:
            return call.query.get(self.query)
        return None if self.field is None else at(call.body, self.field)

    def _offence(self, call: Call, value: object) -> object | None:
        if any(
            value == taken and isinstance(value, bool) == isinstance(taken, bool) for taken in self.unless
        ):
            return None
        if self.closed or self.keywords:
            return next(iter(self._schema_offences(value)), None)
        bounds = (self.above, self.below, self.reaches, self.context)
        if all(bound is None for bound in bounds):
            return value
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        reached = at(call.body, self.reaches) if self.reaches else None
        strikes = (
            (self.above is not None and value > self.above)
            or (self.below is not None and value < self.below)
            or (isinstance(reached, int) and value >= reached)
            or (self.context is not None and value > self.context - call.prompt)
        )
        return value if strikes else None

    def _schema_offences(self, schema: object) -> Iterator[str]:
        for part in _objects(schema):
            yield from (name for name in self.keywords if name in part)
            names = part.get("properties")
            if self.closed and part.get("type") == "object" and isinstance(names, dict):
                if part.get("additionalProperties") is not False:
                    yield "additionalProperties"
                required = part.get("required")
                if not isinstance(required, list) or not set(names) <= set(map(str, required)):
                    yield "required"

    def _answer(self, call: Call, value: object) -> Refusal:
        limit = next((each for each in (self.above, self.below, self.context) if each is not None), "")
        return self.filled(model=call.model, value=value, limit=limit, prompt=call.prompt)


class Key(_Data):
    """Which key a provider takes: ``headers`` it may come in, ``query`` the parameter; how it words its refusals."""

    headers: tuple[str, ...]
    query: str | None = None
    missing: Reply
    wrong: Reply


class Thinking(Reasoning):
    """How a model thinks, and in which ``fields`` of a chat that is ``shown``; see `dialects.Style`."""

    fields: tuple[str, ...] = ()
    shown: bool = False


class Profile(_Data):
    """One provider and family of models.

    ``interfaces`` are what the address offers, with ``batches`` or without; ``elsewhere`` is what every other path
    answers. ``ignored`` are fields that the provider does not read.
    ``known`` lists the fields of each interface's body, where the provider refuses others with ``unknown_field``.
    ``extra`` is JSON that stands in every answer, ``headers`` in every reply. ``faults`` are shares of calls that fail
    where nothing else is asked for.
    """

    dated: date
    about: str
    interfaces: tuple[Interface, ...] = Field(min_length=1)
    batches: bool = False
    elsewhere: Reply
    unknown_model: Reply
    key: Key | None = None
    thinking: Thinking = Field(default_factory=Thinking)
    details: bool = True
    extra: str = "{}"
    headers: Mapping[str, str] = Field(default_factory=dict)
    faults: Mapping[str, float] = Field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    known: Mapping[Interface, tuple[str, ...]] = Field(default_factory=dict)
    unknown_field: Reply | None = None
    rule: tuple[Rule, ...] = ()

    @functools.cached_property
    def style(self) -> dialects.Style:
        return dialects.Style(self.thinking.fields, self.thinking.shown, self.details, json.loads(self.extra))

    def refusal(
        self, call: Call, models: tuple[str, ...], key: str | None, *, keyed: bool = False
    ) -> Refusal | None:
        """Return the answer to a call that is not accepted; ``key`` is the only one taken, None: any.

        A call that is ``keyed`` showed its key before, and its headers.
        """
        unkeyed = None if keyed else self.unkeyed(call, key)
        if unkeyed is not None:
            return unkeyed
        if call.interface not in self.interfaces:
            return self.elsewhere.filled(model=call.model)
        if models and call.model not in models:
            return self.unknown_model.filled(model=call.model)
        if self.unknown_field is not None and call.interface in self.known:
            for name in call.body:
                if name not in self.known[call.interface]:
                    return self.unknown_field.filled(name=name)
        rules = (rule for rule in self.rule if not (keyed and (rule.header or rule.query)))
        return next((found for rule in rules if (found := rule.refusal(call)) is not None), None)

    def unkeyed(self, call: Call, key: str | None) -> Refusal | None:
        if self.key is None:
            return None
        given = [call.headers[name] for name in self.key.headers if name in call.headers]
        if self.key.query is not None and self.key.query in call.query:
            given.append(call.query[self.key.query])
        found = given[0].removeprefix("Bearer ").strip() if given else ""
        if not found:
            return self.key.missing.filled()
        return None if key is None or found == key else self.key.wrong.filled()


class Call:
    """One call as a profile judges it; ``headers`` are looked up in lower case."""

    def __init__(
        self,
        interface: str,
        path_model: str,
        headers: Mapping[str, str],
        query: Mapping[str, str],
        body: object,
    ) -> None:
        self.interface = interface
        self.given = body
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.query = query
        named = reading.camel(body) if interface == "gemini" else body
        self.body: JsonDict = named if isinstance(named, dict) else {}
        self.model = path_model or str(self.body.get("model"))

    @functools.cached_property
    def prompt(self) -> int:
        parts = (self.body.get(name) for name in ("messages", "input", "instructions", "contents", "system"))
        return sum(dialects.token_count(text) for part in parts for text in _texts(part))


def names() -> list[str]:
    folder = resources.files(__package__) / FOLDER
    return sorted(each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml"))


@functools.cache
def load(name: str) -> Profile:
    if name not in names():
        raise ValueError(f"no profile {name!r}; there are: {', '.join(names())}")
    return Profile.model_validate(_written(name))


def _written(name: str) -> dict[str, object]:
    said = tomllib.loads((resources.files(__package__) / FOLDER / f"{name}.toml").read_text("utf-8"))
    like = said.pop("like", None)
    return said if like is None else {**_written(like), "rule": (), **said}


def at(body: object, path: str) -> object:
    for name in path.split("."):
        body = body.get(name) if isinstance(body, dict) else None
    return body


def _objects(value: object) -> Iterator[JsonDict]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(each)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for name in ("content", "text", "parts"):
            yield from _texts(value.get(name))


def _filled(value: object, words: Mapping[str, object]) -> object:
    if isinstance(value, dict):
        return {name: _filled(each, words) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, words) for each in value]
    if not isinstance(value, str):
        return value
    for name, word in words.items():
        value = value.replace(f"<{name}>", word if isinstance(word, str) else json.dumps(word))
    return value
