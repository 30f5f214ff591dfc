"""The words a model is sent and the one call an item takes: decision and confidence in one JSON object.

One user message per item, task and condition: the words, an empty line, the item in double quotes. A strict schema is asked
for where the provider keeps to one, plain text otherwise; the words ask for the same object either way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmark.contract import Chat
from metacog_pipeline.benchmarks.signaldetection.items import TASKS, Item
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import shipped
from metacog_pipeline.llm.types import Constraint, JsonObject, Message
from metacog_pipeline.study.wording import read_words, require_known, require_text, system_text

CONFIDENCE = "confidence"
CONDITIONS = (CONFIDENCE, "risk_none", "risk_s1", "risk_s2")
MODES = ("json_schema", "text")
STEP = "answer"
RATINGS = 5
MAX_RATINGS = 9  # one digit
# File names of a folder of prompts in the grid in which the authors published theirs; "0" is no risk.
_FILE_NAMES: Mapping[tuple[str, str], str] = {
    (task, condition): f"prompt_task{task}_risk_configuration_{risk}.txt"
    if risk
    else f"prompt_metad_{task}.txt"
    for task in TASKS
    for condition, risk in zip(CONDITIONS, ("", "0", "S1", "S2"), strict=True)
}


@dataclass(frozen=True, slots=True)
class Wording:
    """Every text of a study's prompts."""

    id: str
    # by task and condition: the text before the item
    prompts: Mapping[tuple[str, str], str]
    system: str = ""  # of every call, "" for none
    # K of the scale 1..K that the texts state
    ratings: int = RATINGS

    def text(self, task: str, condition: str) -> str:
        """Return the words before the item; raise StudyError where there are none."""
        found = self.prompts.get((task, condition))
        if found is None:
            raise StudyError(
                f"signaldetection: wording {self.id!r} has no text for task {task} under {condition}; add it "
                f"(prompts.{task}.{condition}, or {_FILE_NAMES.get((task, condition), 'a file')} in a folder)"
            )
        return found


def messages(item: Item, condition: str, wording: Wording) -> tuple[Message, ...]:
    """Return the messages of an item's only call; raise StudyError for a condition without words."""
    user = Message("user", f'{wording.text(item.task, condition)}\n\n"{item.text}"')
    return (Message("system", wording.system), user) if wording.system else (user,)


def constraint(mode: str, condition: str, ratings: int) -> Constraint | None:
    """Return the schema of the answer: an object with ``decision`` and, where it is asked for, ``confidence``."""
    if mode == "text":
        return None
    properties: dict[str, object] = {"decision": {"type": "string", "enum": ["0", "1"]}}
    if condition == CONFIDENCE:
        properties["confidence"] = {"type": "integer", "enum": list(range(1, ratings + 1))}
    schema = {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip
    return JsonObject(name="_with_".join(properties), schema_json=json.dumps(schema))


async def ask(item: Item, condition: str, chat: Chat, wording: Wording) -> None:
    """Ask the one step of ``item``; raise StudyError for a condition without words."""
    held = constraint(chat.mode, condition, wording.ratings)
    await chat(STEP, messages(item, condition, wording), constraint=held)


def load_wording(path: Path | None = None) -> Wording:
    """Return the shipped wording, with the texts of a TOML file in its place, or that of a folder of text files alone."""
    # A folder has files named as the authors of the benchmark named theirs: each is used as it is, byte for byte.
    ours = Wording("", {})
    for file in [shipped("data", "signaldetection", "prompts.toml"), *([path] if path else [])]:
        ours = _from_folder(file) if file.is_dir() else _read(file, ours)
    return ours


def _from_folder(folder: Path) -> Wording:
    prompts = {}
    for key, name in _FILE_NAMES.items():
        if (file := folder / name).exists():
            try:
                prompts[key] = require_text(str(file), file.read_bytes().decode("utf-8-sig"))
            except (OSError, UnicodeDecodeError) as error:
                raise StudyError(
                    f"prompt file {file} cannot be read: {error}; give a UTF-8 text file"
                ) from None
    if not prompts:
        expected = ", ".join(_FILE_NAMES.values())
        raise StudyError(f"{folder}: no prompt file in this folder; expected names are {expected}")
    return Wording(f"folder:{folder.name}", prompts)


def _read(path: Path, base: Wording) -> Wording:
    """Read one TOML file; what it leaves out is taken from ``base``."""
    data = read_words(path)
    require_known(str(path), data, ("id", "ratings", "system", "prompts"))
    ratings = data.get("ratings", base.ratings)
    if not isinstance(ratings, int) or isinstance(ratings, bool) or not 2 <= ratings <= MAX_RATINGS:
        raise StudyError(
            f"{path}: ratings = {ratings!r} must be a whole number from 2 to {MAX_RATINGS}; correct it"
        )
    prompts = {
        (task, condition): require_text(f"{path}: prompts.{task}.{condition}", text)
        for task, texts in _table(f"{path}: prompts", data.get("prompts", {}), TASKS).items()
        for condition, text in _table(f"{path}: prompts.{task}", texts, CONDITIONS).items()
    }
    name = require_text(f"{path}: id", data.get("id", f"own:{path.stem}"))
    return Wording(name, {**base.prompts, **prompts}, system_text(path, data, base.system), ratings)


def _table(where: str, value: object, allowed: tuple[str, ...]) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise StudyError(f"{where} = {value!r} must be a table")
    require_known(where, value, allowed)
    return value
