"""The words a model is sent: one user message per item, one optional system message per condition."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmark.wording import read_words, require_known, require_text
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Item
from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.files import shipped

BASELINE = "baseline"
CONDITIONS = (
    BASELINE,
    "role",
    "role-warn",
    "role-warn-consequence",
    "role-explicit-unknown",
    "role-explicit-unknown-incomplete",
    "role-full",
    "role-omniscient",
)
# Other names of the same conditions in public material.
ALIASES: Mapping[str, str] = {
    "role-explit-unknown": "role-explicit-unknown",
    "role-explicit-unknown-missing": "role-explicit-unknown-incomplete",
}
_CONDITION_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_TEXT_KEYS = ("id", "instructions", "confidence_request")


@dataclass(frozen=True, slots=True)
class Wording:
    """Every text of a study's prompts.

    ``instructions`` follows the options; ``confidence_request`` is the second user turn where letter and confidence
    are asked apart; ``conditions`` maps a condition to its system message, ``""`` for none.
    """

    id: str
    instructions: str
    confidence_request: str
    conditions: Mapping[str, str]

    def condition(self, name: str) -> str:
        """Return the canonical name of condition ``name``; raise `StudyError` when it is not worded."""
        canonical = ALIASES.get(name, name)
        if canonical in self.conditions:
            return canonical
        known = ", ".join(self.conditions)
        raise StudyError(
            f'[benchmarks.metamedqa] conditions: unknown condition "{name}"{suggestion(name, self.conditions)}; '
            f"worded are: {known}"
        )

    def system_message(self, condition: str) -> str | None:
        """Return the system message of ``condition``, or None where there is none (``baseline``)."""
        return self.conditions[self.condition(condition)] or None


def user_message(item: Item, wording: Wording) -> str:
    """Return the question, the six options as ``A. text`` lines, and the instructions."""
    options = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, item.options, strict=True))
    return f"{item.question}\n{options}\n{wording.instructions}"


def load_wording(path: Path | None = None) -> Wording:
    """Return the shipped wording, with the texts and conditions of the TOML file ``path`` in its place or added.

    Keys: ``id``, ``instructions``, ``confidence_request``, and a table ``[conditions]`` of system messages. Raises
    `StudyError` naming file, key and value.
    """
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
    return {**texts, "conditions": _conditions(path, words.get("conditions", {}))}


def _conditions(path: Path, table: object) -> dict[str, str]:
    if not isinstance(table, dict):
        raise StudyError(f"{path}: conditions = {table!r} must be a table of system messages")
    named: dict[str, str] = {}
    for name, text in table.items():
        canonical = ALIASES.get(name, name)
        if not _CONDITION_NAME.fullmatch(canonical):
            raise StudyError(
                f"{path}: condition name {name!r} must match {_CONDITION_NAME.pattern}; rename it"
            )
        if not isinstance(text, str):
            raise StudyError(
                f'{path}: conditions.{name} = {text!r} must be a text ("" for no system message)'
            )
        if canonical in named:
            raise StudyError(f"{path}: condition {canonical!r} is given twice, once as an alias; keep one")
        named[canonical] = text
    return named
