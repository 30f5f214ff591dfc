"""Provider profiles: what one provider refuses and how, and what its answers look like, as data in ``profiles/``.

A profile is a dated TOML file. One that is ``like`` another takes from it all but the rules that it does not say itself.
Its rules are looked at in order for every call; the first that strikes answers with its own status (400 where none is
given) and body, whose texts may hold ``<model>``, ``<value>``, ``<limit>``, ``<prompt>`` and ``<name>``.

A rule strikes on ``interface`` (any, where none is named) when ``field``, a dotted path into the body, or ``header``, is
there (with ``absent``: is not there) and none of ``unless``. Narrower: a number ``above`` or ``below`` a bound, not below
that of the field ``reaches``, or above what ``context`` tokens leave beside the prompt; a JSON schema that is not
``closed`` or holds one of ``keywords``. ``when`` names further fields and the values one of which each must have; none:
any. A rule without a field strikes always.
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.provider.dialects import Body, Style, at, token_count

Refusal = tuple[int, Body]  # status and body, in the provider's own words
FOLDER = Path(__file__).with_name("profiles")
INTERFACES = {"openai": "chat", "anthropic": "messages", "gemini": "gemini"}


@dataclass(frozen=True, slots=True)
class Thinking:
    """How a model thinks: about ``tokens`` where the call says nothing, ``efforts`` are the shares of it.

    ``by_default``: also where a call asks for none. ``fields`` of a chat hold it, ``shown``: other formats show it.
    """

    tokens: int = 0
    efforts: Mapping[str, float] = field(default_factory=dict)
    by_default: bool = True
    fields: tuple[str, ...] = ()
    shown: bool = False


@dataclass(frozen=True)
class Profile:
    """One provider and family of models, as its file says."""

    said: Mapping[str, Any]

    @property
    def faults(self) -> Mapping[str, float]:
        return self.said.get("faults", {})

    @property
    def ignored(self) -> tuple[str, ...]:
        return tuple(self.said.get("ignored", ()))

    @functools.cached_property
    def thinking(self) -> Thinking:
        return Thinking(**self.said.get("thinking", {}))

    @functools.cached_property
    def style(self) -> Style:
        thinking, extra = self.thinking, json.loads(self.said.get("extra", "{}"))
        return Style(tuple(thinking.fields), thinking.shown, self.said.get("details", True), extra)

    def refusal(
        self,
        dialect: str,
        path_model: str,
        body: Any,
        http: web.Request | None,
        models: tuple[str, ...],
        key: str | None,
    ) -> Refusal | None:
        """Return how a call is refused; ``key`` is the only one taken, None: any. A line of a batch has no ``http``."""
        if http is not None and (unkeyed := self._unkeyed(http, key)) is not None:
            return unkeyed
        model, interface = path_model or str(at(body, "model")), INTERFACES[dialect]
        if models and model not in models:
            return filled(self.said["unknown_model"], model=model)
        for name in body if interface in self.said.get("known", {}) else ():
            if name not in self.said["known"][interface]:
                return filled(self.said["unknown_field"], name=name)
        for rule in self.said.get("rule", ()):
            if interface in rule.get("interface", (interface,)) and (http or "header" not in rule):
                found = _struck(rule, body, {} if http is None else http.headers)
                if found is not None:
                    limit = next((rule[name] for name in ("above", "below", "context") if name in rule), "")
                    return filled(rule, model=model, value=found[0], limit=limit, prompt=_prompt(body))
        return None

    def _unkeyed(self, http: web.Request, key: str | None) -> Refusal | None:
        if (rules := self.said.get("key")) is None:
            return None
        given = [http.headers[name] for name in rules["headers"] if name in http.headers]
        found = given[0].removeprefix("Bearer ").strip() if given else ""
        if not found:
            return filled(rules["missing"])
        return None if key is None or found == key else filled(rules["wrong"])


@functools.cache
def load(name: str) -> Profile:
    return Profile(_written(name))


def _written(name: str) -> dict[str, Any]:
    said = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
    like = said.pop("like", None)
    return said if like is None else {**_written(like), "rule": (), **said}


def _struck(rule: Mapping[str, Any], body: Body, headers: Mapping[str, str]) -> tuple[Any] | None:
    """Return what a rule objects to; None where it does not strike."""
    for path, wanted in rule.get("when", {}).items():
        header = path.removeprefix("header:")
        value = headers.get(header) if header != path else at(body, path)
        if value is None or (wanted and value not in wanted):
            return None
    if "field" not in rule and "header" not in rule:
        return (None,)
    value = headers.get(rule["header"]) if "header" in rule else at(body, rule["field"])
    if value is None or rule.get("absent"):
        return (None,) if value is None and rule.get("absent") else None
    if any(
        value == each and isinstance(value, bool) == isinstance(each, bool) for each in rule.get("unless", ())
    ):
        return None
    if "closed" in rule or "keywords" in rule:
        found = next(_schema_offences(rule, value), None)
        return None if found is None else (found,)
    if not {"above", "below", "reaches", "context"} & rule.keys():
        return (value,)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    reached = at(body, rule.get("reaches", "-"))
    beyond = value > rule.get("above", value) or value < rule.get("below", value)
    beyond |= isinstance(reached, int) and value >= reached
    beyond |= "context" in rule and value > rule["context"] - _prompt(body)
    return (value,) if beyond else None


def _schema_offences(rule: Mapping[str, Any], schema: object) -> Iterator[str]:
    for part in _objects(schema):
        yield from (name for name in rule.get("keywords", ()) if name in part)
        names = part.get("properties")
        if rule.get("closed") and part.get("type") == "object" and isinstance(names, dict):
            if part.get("additionalProperties") is not False:
                yield "additionalProperties"
            required = part.get("required")
            if not isinstance(required, list) or not set(names) <= set(map(str, required)):
                yield "required"


def _objects(value: object) -> Iterator[Body]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(each)


def _prompt(body: Body) -> int:
    """Return about how many tokens the prompt of a call is: those of all its texts."""
    parts = [body.get(name) for name in ("messages", "contents", "system")]
    texts = [
        each[name]
        for each in _objects(parts)
        for name in ("content", "text")
        if isinstance(each.get(name), str)
    ]
    return sum(token_count(text) for text in texts)


def filled(reply: Mapping[str, Any], **words: object) -> Refusal:
    """Return a status and a body with the words in it."""

    def put(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: put(each) for name, each in value.items()}
        if isinstance(value, list):
            return [put(each) for each in value]
        for name, word in words.items() if isinstance(value, str) else ():
            value = value.replace(f"<{name}>", word if isinstance(word, str) else json.dumps(word))
        return value

    return reply.get("status", 400), put(json.loads(reply["body"]))
