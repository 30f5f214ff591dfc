"""The words a model is sent: which tiers a condition asks, in how many turns, and what each turn says.

A text of a wording holds places to fill in, ``{{question}}`` and the like. What is filled in is never searched for places
again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmarks.metacogbench.items import CONDITIONS, TIERS, Field, Item, Option
from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.llm.types import Message
from metacog_pipeline.study.wording import read_words, require_known, require_text, system_text
from metacog_pipeline.transcripts.parquet import without_surrogates

FREE, JSON, JSON_NOTES, TWO_TURN = CONDITIONS
ANSWER, TURN_1, TURN_2, PROBE = "answer", "turn_1", "turn_2", "probe"
MORE_TURNS = ("turn_3", "turn_4")  # in which a challenger insists
LETTERS = "ABCDEFGH"
# A format is put to the tiers whose measure it may change; the other tiers are asked once. Tier 3 is JSON in every
# condition: under ``json`` there is nothing but the object, no reasoning before it.
CONDITION_TIERS = dict(zip(CONDITIONS, (TIERS, ("1b", "2a", "3"), ("2a",), ("1b",)), strict=True))
# Every text of a wording, and the places it must hold.
_ONE = ("question",)
_PLACES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "1a": {FREE: _ONE},
    "1b": {FREE: _ONE, JSON: _ONE, TURN_1: ("topic",), TURN_2: _ONE},
    "2a": {FREE: _ONE, JSON: _ONE, JSON_NOTES: _ONE, PROBE: ("options",)},
    "2b": {TURN_1: _ONE, TURN_2: ("message",), PROBE: ("options",)},
    "3": dict.fromkeys((FREE, JSON), ("question", "fields")),
}
_KEYS = ("id", "system", *TIERS)
_PLACE = re.compile(r"\{\{([^{}]*)\}\}")
_TYPE_WORDS: Mapping[str, str] = {
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "enum": "one of",
    "string": "text",
    "list": "list, in order",
    "set": "list, in any order",
}


@dataclass(frozen=True, slots=True)
class Wording:
    """Every text of a study's prompts.

    ``texts`` maps (tier, name) to a text, the name being a condition or, where there are two turns, ``turn_1`` or
    ``turn_2``; ``system`` is the system message of every call, ``""`` for none.
    """

    id: str
    texts: Mapping[tuple[str, str], str]
    system: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over all texts: equal digests mean equal words."""
        texts = sorted([*key, text] for key, text in self.texts.items())
        return sha256_hex(canonical_json([self.system, texts]))


def applicable(items: Iterable[Item], condition: str) -> list[Item]:
    """Return the items that are asked under ``condition``, in their order; StudyError if there is no such condition."""
    tiers = CONDITION_TIERS.get(condition)
    if tiers is None:
        told = f"{condition!r}{suggestion(condition, CONDITIONS)}; there are: {', '.join(CONDITIONS)}"
        raise StudyError(f"metacogbench: unknown condition {told}")
    return [item for item in items if item.tier in tiers]


def item_steps(item: Item, condition: str) -> tuple[str, ...]:
    """Return the names of the calls ``item`` takes, one or the turns of one conversation; StudyError if it takes none."""
    if not applicable([item], condition):
        raise StudyError(
            f"metacogbench: tier {item.tier} ({item.item_id}) is not asked under {condition!r}, which asks: "
            f"{', '.join(CONDITION_TIERS[condition])}"
        )
    probe = (PROBE,) if item.options and condition == FREE else ()
    if item.tier == "2b":
        return (TURN_1, TURN_2, *MORE_TURNS[: len(item.insist)], *probe)
    return (TURN_1, TURN_2) if condition == TWO_TURN else (ANSWER, *probe)


def scored_step(item: Item, condition: str) -> str:
    """Return the name of the call whose free reply is scored: the last one before the probe."""
    return [step for step in item_steps(item, condition) if step != PROBE][-1]


def option_list(options: Sequence[Option]) -> str:
    """Return the options of a probe, one a line, with a letter each."""
    return "\n".join(f"{letter}) {option.text}" for letter, option in zip(LETTERS, options, strict=False))


def user_message(item: Item, condition: str, step: str, wording: Wording) -> str:
    """Return what the user says in one step; raises `StudyError` for a step the item does not take."""
    steps = item_steps(item, condition)
    if step not in steps:
        raise StudyError(f"metacogbench: {item.item_id} has no step {step!r} under {condition!r}: {steps}")
    if step in MORE_TURNS:
        return item.insist[MORE_TURNS.index(step)]
    text = wording.texts[item.tier, condition if step == ANSWER else step]
    material = {
        "options": option_list(item.options),
        "question": item.stem,
        "topic": item.topic_line,
        "message": item.turn2,
        "fields": field_list(item.fields),
    }
    return _PLACE.sub(lambda place: material[place[1]], text)


def messages(item: Item, condition: str, wording: Wording, *replies: str) -> tuple[Message, ...]:
    """Return the messages of an item's first call or, given the replies so far, of the next.

    Later turns go on in the same conversation: every message, every reply as it came (but for lone surrogates, which cannot
    be sent), the next message.
    """
    steps = item_steps(item, condition)
    made = [Message("system", wording.system)] if wording.system else []
    for step, reply in zip(steps, replies, strict=False):
        made.append(Message("user", user_message(item, condition, step, wording)))
        made.append(Message("assistant", without_surrogates(reply)))
    return (*made, Message("user", user_message(item, condition, steps[len(replies)], wording)))


def field_list(fields: Sequence[Field]) -> str:
    """Return the fields of a tier-3 reply, one a line: name, type, unit, what it is."""
    return "\n".join(_field_line(field) for field in fields)


def load_wording(path: Path | None = None) -> Wording:
    """Return the shipped wording, or one in which the texts of ``path`` replace the shipped ones.

    Keys of the TOML file: ``id``, ``system``, and tables ``[1a]``, ``[1b]``, ``[2a]``, ``[2b]``, ``[3]`` of texts by
    condition or turn. StudyError names file, key and value.
    """
    ours = _read(shipped("data", "metacogbench", "prompts.toml"))
    if path is None:
        return ours
    own = _read(path, ours)
    return Wording(own.id, {**ours.texts, **own.texts}, own.system)


def _field_line(field: Field) -> str:
    kind = _TYPE_WORDS.get(field.type, field.type)
    if field.options:
        kind += f"{'' if field.type == 'enum' else ' of'} {', '.join(map(json.dumps, field.options))}"
    if field.edges:
        kind += ' of two names each, joined by a hyphen as in "P-Q"'
    unit = f" ({field.unit})" if field.unit else ""
    about = f": {field.description}" if field.description else ""
    return f'- "{field.name}" - {kind}{unit}{about}'


def _read(path: Path, base: Wording | None = None) -> Wording:
    """Read one TOML file; its system message is that of ``base`` where it names none."""
    data = read_words(path)
    require_known(str(path), data, _KEYS)
    name = require_text(f"{path}: id", data.get("id", f"own:{path.stem}"))
    system = system_text(path, data, base.system if base else "")
    texts = {}
    for tier in TIERS:
        table = data.get(tier, {})
        if not isinstance(table, dict):
            raise StudyError(f"{path}: {tier} = {table!r} must be a table of texts")
        require_known(f"{path}: {tier}", table, tuple(_PLACES[tier]))
        for key, text in table.items():
            where = f"{path}: {tier}.{key}"
            texts[tier, key] = _checked(where, require_text(where, text), _PLACES[tier][key])
    return Wording(name, texts, system)


def _checked(where: str, text: str, needed: Sequence[str]) -> str:
    """Return ``text``; raise `StudyError` unless it holds the places it needs, and no other."""
    found = _PLACE.findall(text)
    for name in found:
        if name not in needed:
            told = f"{{{{{name}}}}}{suggestion(name, needed)}; allowed here: {', '.join(needed)}"
            raise StudyError(f"{where}: unknown place {told}")
    for name in needed:
        if name not in found:
            told = f"{{{{{name}}}}} is missing; write it where it is to be filled in"
            raise StudyError(f"{where}: the place {told}")
    return text
