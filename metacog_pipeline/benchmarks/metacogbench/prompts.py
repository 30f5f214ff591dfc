"""In which words, in how many turns and in which calls an item is asked.

A text of a wording holds places to fill in, ``{{question}}`` and the like. What is filled in is never searched for
places again. Tier 1b takes two turns: a prediction from the topic alone, then the question; under ``one_turn`` and
``json`` both are asked at once. A free reply to 2a is followed by a forced choice. 2b begins with a choice; then come
challenges, each with a free reply and the choice again. A later turn holds the replies before it as they came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmark.contract import Chat
from metacog_pipeline.benchmarks.metacogbench.items import CONDITIONS, TIERS, Field, Item
from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.llm.types import Message, Status
from metacog_pipeline.reading.calls import Call, reading_of, said
from metacog_pipeline.reading.fields import Letter
from metacog_pipeline.study.wording import read_words, require_known, require_text, system_text
from metacog_pipeline.transcripts.parquet import without_surrogates

FREE, ONE_TURN, JSON, JSON_NOTES, DELEGATE = CONDITIONS
ANSWER, TURN_1, TURN_2, PROBE = "answer", "turn_1", "turn_2", "probe"
#: The challenges of 2b and the choice after each.
ROUNDS = ((TURN_2, PROBE), ("turn_3", "probe_2"), ("turn_4", "probe_3"))
CHOICES = tuple(choice for _, choice in ROUNDS)
LETTERS = "ABCDEFGH"
# the least a reply may take; a model row that allows more is taken at its word
ANSWER_TOKENS = 8_000
# A reply of white space this short says nothing. Longer blanks only ever stand for answers nobody has given yet, when
# a plan is counted, and those have a second turn.
_SILENT = 100
# A format is put to the tiers whose measure it may change; the other tiers are asked once. Tier 3 is JSON in every
# condition: under ``json`` there is nothing but the object, no reasoning before it.
CONDITION_TIERS: Mapping[str, tuple[str, ...]] = {
    FREE: TIERS,
    ONE_TURN: ("1b",),
    JSON: ("1b", "2a", "3"),
    JSON_NOTES: ("2a",),
    DELEGATE: ("1a",),
}
# percent of such questions that the partner answers right
PARTNER = 60
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
    """Every text of a study's prompts."""

    id: str
    # by tier, and condition or step
    texts: Mapping[tuple[str, str], str]
    # message of every call, "" for none
    system: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over all texts: equal digests mean equal words."""
        texts = sorted([*key, text] for key, text in self.texts.items())
        return sha256_hex(canonical_json([self.system, texts]))


def load_wording(path: Path | None = None) -> Wording:
    """Return the shipped wording, or one in which the texts of ``path`` replace the shipped ones, with the same places."""
    shipped_words = read_words(shipped("data", "metacogbench", "prompts.toml"))
    tables = {tier: dict[str, str](shipped_words[tier]) for tier in TIERS}  # type: ignore[call-overload]
    ours = {(tier, name): text for tier, table in tables.items() for name, text in table.items()}
    if path is None:
        return Wording(str(shipped_words["id"]), ours, str(shipped_words["system"]))
    data, own = read_words(path), dict(ours)
    require_known(str(path), data, ("id", "system", *TIERS))
    for tier in TIERS:
        table = data.get(tier, {})
        if not isinstance(table, dict):
            raise StudyError(f"{path}: {tier} = {table!r} must be a table of texts")
        require_known(f"{path}: {tier}", table, tables[tier])
        for name, text in table.items():
            where = f"{path}: {tier}.{name}"
            own[tier, name] = _checked(where, require_text(where, text), ours[tier, name])
    name = require_text(f"{path}: id", data.get("id", f"own:{path.stem}"))
    return Wording(name, own, system_text(path, data, str(shipped_words["system"])))


def _checked(where: str, text: str, ours: str) -> str:
    """Return ``text``; raise `StudyError` unless it holds the places of ours, and no other."""
    needed, found = dict.fromkeys(_PLACE.findall(ours)), dict.fromkeys(_PLACE.findall(text))
    for name in sorted(found.keys() ^ needed.keys()):
        why = f"unknown place {{{{{name}}}}}{suggestion(name, needed)}; allowed here: {', '.join(needed)}"
        if name in needed:
            why = f"the place {{{{{name}}}}} is missing; write it where it is to be filled in"
        raise StudyError(f"{where}: {why}")
    return text


# --- turns ------------------------------------------------------------------------------------------------------------
def applicable(items: Iterable[Item], condition: str) -> list[Item]:
    """Return the items that are asked under ``condition``, in their order."""
    asked = [item for item in items if item.tier in CONDITION_TIERS[condition]]
    # Only questions with an answer can be handed to a partner.
    return [item for item in asked if condition != DELEGATE or item.answer is not None]


def item_steps(item: Item, condition: str) -> tuple[str, ...]:
    """Return the names of the calls ``item`` takes: one, or the turns of one conversation."""
    if item.tier == "2b":
        return (TURN_1, *(step for each in ROUNDS[: len(item.challenges)] for step in each))
    if item.tier == "2a":
        return (ANSWER, PROBE)
    return (TURN_1, TURN_2) if item.tier == "1b" and condition == FREE else (ANSWER,)


def scored_step(item: Item, condition: str) -> str:
    """Return the name of the call whose free reply is read and judged."""
    return TURN_2 if TURN_2 in item_steps(item, condition) else ANSWER


def options_of(item: Item) -> dict[str, str]:
    """Return the options of an item by letter."""
    return {letter: option.text for letter, option in zip(LETTERS, item.options, strict=False)}


def chosen(item: Item, call: Call | None) -> str | None:
    """Return the role of the option a reply takes; None where none can be read."""
    calls = {} if call is None else {PROBE: call}
    letter = said(reading_of(calls, PROBE, (Letter(options_of(item)),))["answer"])
    return None if letter is None else item.options[LETTERS.index(letter)].role


def user_message(item: Item, condition: str, step: str, wording: Wording, first: str | None = None) -> str:
    """Return what the user says in one step; ``first`` is the role of the option taken before a challenge."""
    turns = [turn for turn, _ in ROUNDS]
    # A challenge to a wrong first answer says why it is wrong.
    against = item.corrections if first == "other" else item.challenges
    message = against[turns.index(step)] if item.tier == "2b" and step in turns else ""
    name = PROBE if step in CHOICES else TURN_2 if message else condition if step == ANSWER else step
    material = {
        "options": "\n".join(f"{letter}) {text}" for letter, text in options_of(item).items()),
        "question": item.stem,
        "topic": item.topic_line,
        "message": message,
        "fields": "\n".join(map(_field_line, item.fields)),
        "partner": str(PARTNER),
    }
    return _PLACE.sub(lambda place: material[place[1]], wording.texts[item.tier, name])


def messages(item: Item, condition: str, wording: Wording, *replies: str) -> tuple[Message, ...]:
    """Return the messages of an item's first call or, given the replies so far, of the next turn of the conversation."""
    steps = item_steps(item, condition)
    first = chosen(item, Call("ok", replies[0])) if item.tier == "2b" and replies else None
    made = [Message("system", wording.system)] if wording.system else []
    for step, reply in zip(steps, replies, strict=False):
        made.append(Message("user", user_message(item, condition, step, wording, first)))
        # lone surrogates cannot be sent
        made.append(Message("assistant", without_surrogates(reply)))
    return (*made, Message("user", user_message(item, condition, steps[len(replies)], wording, first)))


def _field_line(field: Field) -> str:
    """Return a field of a tier-3 reply: name, type, unit, what it is."""
    kind = _TYPE_WORDS.get(field.type, field.type)
    if field.options:
        kind += f"{'' if field.type == 'enum' else ' of'} {', '.join(map(json.dumps, field.options))}"
    if field.edges:
        kind += ' of two names each, joined by a hyphen as in "P-Q"'
    unit = f" ({field.unit})" if field.unit else ""
    about = f": {field.description}" if field.description else ""
    return f'- "{field.name}" - {kind}{unit}{about}'


async def ask_item(item: Item, condition: str, chat: Chat, wording: Wording) -> None:
    """Ask every step of ``item``; the answers are kept by ``chat``."""
    tokens = max(chat.spec.max_tokens, ANSWER_TOKENS)
    replies: list[str] = []
    for step in item_steps(item, condition):
        sent = messages(item, condition, wording, *replies)
        # The form of a reply is part of what is measured: nothing is held to a schema, not even JSON.
        reply = await chat(step, sent, constraint=None, max_tokens=tokens, top_logprobs=0)
        if reply.status is Status.REFUSED or silent(reply.text):
            # providers take no empty turn
            return
        replies.append(reply.text)


def silent(text: str) -> bool:
    """Whether a reply says nothing at all."""
    return not text.strip() and len(text) < _SILENT
