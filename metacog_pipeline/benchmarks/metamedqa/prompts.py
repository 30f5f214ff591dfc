"""How one item is asked: the words of the messages, and the calls of the four answer modes.

One user message per item, one optional system message per condition. The modes are one constrained object, two constrained
choices, two biased tokens, or plain text in two lines. All choose the letter first and the confidence after it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmark.contract import Chat
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Item
from metacog_pipeline.benchmarks.metamedqa.read import RATINGS, read_reply
from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.files import shipped
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Constraint, JsonObject, Message, OneOf, Status, TokenBias
from metacog_pipeline.study.wording import read_words, require_known, require_text

MODES = ("json_schema", "choice", "logit_bias", "text")
# the largest logit_bias providers accept
ADMIT = 100
_PROPERTIES = {
    "answer": {"type": "string", "enum": list(LETTERS)},
    "confidence": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
}
_SCHEMA = {
    "type": "object", "properties": _PROPERTIES, "required": list(_PROPERTIES), "additionalProperties": False,
}  # fmt: skip
ANSWER_OBJECT = JsonObject(name="answer_with_confidence", schema_json=json.dumps(_SCHEMA))
# Other names of the same conditions in public material.
ALIASES: Mapping[str, str] = {
    "role-explit-unknown": "role-explicit-unknown",
    "role-explicit-unknown-missing": "role-explicit-unknown-incomplete",
}
_CONDITION_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_TEXT_KEYS = ("id", "instructions", "confidence_request")


@dataclass(frozen=True, slots=True)
class Wording:
    """Every text of a study's prompts."""

    id: str
    instructions: str  # after the options
    # the second user turn, where letter and confidence are asked separately
    confidence_request: str
    # system messages; "" for none
    conditions: Mapping[str, str]

    def condition(self, name: str) -> str:
        """Return the canonical name of condition ``name``; raise `StudyError` when it is not worded."""
        canonical = ALIASES.get(name, name)
        if canonical not in self.conditions:
            near, known = suggestion(name, self.conditions), ", ".join(self.conditions)
            said = f'unknown condition "{name}"{near}; worded are: {known}'
            raise StudyError(f"[benchmarks.metamedqa] conditions: {said}")
        return canonical

    def system_message(self, condition: str) -> str | None:
        """Return the system message of ``condition``, or None where there is none (``baseline``)."""
        return self.conditions[self.condition(condition)] or None


def options_block(item: Item) -> str:
    """Return the six options, a line each."""
    return "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, item.options, strict=True))


def load_wording(path: Path | None = None) -> Wording:
    """Return the shipped wording, with texts and conditions of the TOML file ``path`` in its place or added."""
    words = _read(shipped("data", "metamedqa", "prompts.toml"))
    if path is not None:
        own = _read(path)
        conditions = {**words["conditions"], **own["conditions"]}
        words = {**words, "id": f"own:{path.stem}", **own, "conditions": conditions}
    return Wording(**words)


def _read(path: Path) -> dict[str, Any]:
    """Read and check one wording file; condition aliases become canonical names."""
    words = read_words(path)
    require_known(str(path), words, (*_TEXT_KEYS, "conditions"))
    texts = {key: require_text(f"{path}: {key}", words[key]) for key in _TEXT_KEYS if key in words}
    table, named = words.get("conditions", {}), dict[str, str]()
    if not isinstance(table, dict):
        raise StudyError(f"{path}: conditions = {table!r} must be a table of system messages")
    for name, text in table.items():
        canonical = ALIASES.get(name, name)
        if not _CONDITION_NAME.fullmatch(canonical):
            raise StudyError(
                f"{path}: condition name {name!r} must match {_CONDITION_NAME.pattern}; rename it"
            )
        if not isinstance(text, str):
            said = 'must be a text ("" for no system message)'
            raise StudyError(f"{path}: conditions.{name} = {text!r} {said}")
        named[canonical] = text
    return {**texts, "conditions": named}


# --- calls ----------------------------------------------------------------------------------------------------------------
def steps(mode: str) -> tuple[str, ...]:
    """Return the names of the calls one item takes in ``mode``; raise `StudyError` for an unknown mode."""
    if mode not in MODES:
        raise StudyError(f"metamedqa: unknown answer mode {mode!r}; allowed are: {', '.join(MODES)}")
    return ("choice", "confidence") if mode in ("choice", "logit_bias") else ("answer",)


def first_messages(item: Item, condition: str, wording: Wording) -> tuple[Message, ...]:
    """Return the messages of an item's first call; raise `StudyError` for a condition without words."""
    system = wording.system_message(condition)
    user = Message("user", f"{item.question}\n{options_block(item)}\n{wording.instructions}")
    return (user,) if system is None else (Message("system", system), user)


def confidence_messages(first: Sequence[Message], letter: str, wording: Wording) -> tuple[Message, ...]:
    """Return the messages of the second call: the first ones, the model's own answer, the request for a digit."""
    return (*first, Message("assistant", f"Answer: {letter}"), Message("user", wording.confidence_request))


def constraint(mode: str, options: Sequence[str], spec: ModelSpec) -> Constraint | None:
    """Return what an answer is held to in ``mode``; raise `StudyError` where a bias lacks token ids of an option."""
    if mode != "logit_bias":
        held: dict[str, Constraint] = {"json_schema": ANSWER_OBJECT, "choice": OneOf(tuple(options))}
        return held.get(mode)
    if missing := [option for option in options if not spec.token_ids.get(option)]:
        raise StudyError(
            f"models.{spec.name}: answer_mode logit_bias needs token_ids for {', '.join(missing)}; "
            "give the ids of the bare and the leading-space form"
        )
    ids = sorted({token for option in options for token in spec.token_ids[option]})
    return TokenBias(tuple((token, ADMIT) for token in ids))


async def ask_item(item: Item, condition: str, chat: Chat, wording: Wording) -> None:
    """Ask every step of ``item``; the confidence is not asked after a first answer without a readable letter."""
    first_step, *later = steps(chat.mode)
    messages = first_messages(item, condition, wording)
    # One token is all that is asked for with a bias, so being stopped by the length limit is how it ends.
    biased = chat.mode == "logit_bias"
    one_token, whole = 1 if biased else None, (Status.OK, *[Status.TRUNCATED] * biased)
    held_to = constraint(chat.mode, LETTERS, chat.spec)
    answer = await chat(first_step, messages, constraint=held_to, max_tokens=one_token)
    letter = read_reply(answer.text, item.options)["answer"]
    if later and answer.status in whole and letter.status == "ok":
        again = confidence_messages(messages, letter.value, wording)
        held_to = constraint(chat.mode, RATINGS, chat.spec)
        await chat(later[0], again, constraint=held_to, max_tokens=one_token)
