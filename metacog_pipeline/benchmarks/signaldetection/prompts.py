"""The words a model is sent: one user message per item, task and condition; at most one system message for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmark.wording import (
    read_words,
    require_known,
    require_text,
    system_text,
)
from metacog_pipeline.benchmarks.signaldetection.items import TASKS, Item
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import shipped
from metacog_pipeline.llm.types import Message

CONFIDENCE = "confidence"
RISK_CONDITIONS = ("risk_none", "risk_s1", "risk_s2")
CONDITIONS = (CONFIDENCE, *RISK_CONDITIONS)
RATINGS = 5
MAX_RATINGS = 9  # one digit
_KEYS = ("id", "ratings", "system", "prompts")
# File names of a folder of prompts in the grid in which the authors published theirs; "0" is no risk.
_FILE_NAMES: Mapping[tuple[str, str], str] = {
    (task, condition): f"prompt_metad_{task}.txt"
    if condition == CONFIDENCE
    else f"prompt_task{task}_risk_configuration_{configuration}.txt"
    for task in TASKS
    for condition, configuration in zip(CONDITIONS, ("", "0", "S1", "S2"), strict=True)
}


@dataclass(frozen=True, slots=True)
class Wording:
    """Every text of a study's prompts.

    ``prompts`` maps (task, condition) to the text before the item; ``system`` is the system message of every call,
    ``""`` for none; ``ratings`` the number K of the scale 1..K that the texts state.
    """

    id: str
    prompts: Mapping[tuple[str, str], str]
    system: str = ""
    ratings: int = RATINGS

    def text(self, task: str, condition: str) -> str:
        """Return what is said before the item; raise `StudyError` where nothing is worded."""
        found = self.prompts.get((task, condition))
        if found is None:
            raise StudyError(
                f"signaldetection: wording {self.id!r} has no text for task {task} under {condition}; add it "
                f"(prompts.{task}.{condition}, or {_FILE_NAMES.get((task, condition), 'a file')} in a folder)"
            )
        return found


def user_message(item: Item, condition: str, wording: Wording) -> str:
    """Return the words, an empty line, and the item in double quotes."""
    return f'{wording.text(item.task, condition)}\n\n"{item.text}"'


def messages(item: Item, condition: str, wording: Wording) -> tuple[Message, ...]:
    """Return the messages of an item's only call; raise `StudyError` for a condition without words."""
    user = Message("user", user_message(item, condition, wording))
    return (Message("system", wording.system), user) if wording.system else (user,)


def load_wording(path: Path | None = None) -> Wording:
    """Return the shipped wording, or another in its place; StudyError names file, key and value.

    ``path`` is a TOML file: its texts replace those shipped, the rest is kept. Keys: ``id``, ``ratings`` (2 to 9),
    ``system``, and tables ``[prompts.A]``, ``[prompts.B]``, ``[prompts.C]`` of texts by condition. Or a folder of text
    files named as the authors of the benchmark named theirs (``prompt_metad_A.txt``,
    ``prompt_taskA_risk_configuration_S1.txt``, ``…_0.txt`` for no risk, and so on): each is used as it is, byte for byte,
    and nothing shipped is mixed in.
    """
    if path is not None and path.is_dir():
        return _from_folder(path)
    ours = _read(shipped("data", "signaldetection", "prompts.toml"))
    if path is None:
        return ours
    own = _read(path, ours)
    return Wording(own.id, {**ours.prompts, **own.prompts}, own.system, own.ratings)


def _from_folder(folder: Path) -> Wording:
    prompts = {}
    for key, name in _FILE_NAMES.items():
        file = folder / name
        if file.exists():
            try:
                prompts[key] = file.read_bytes().decode("utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                said = getattr(error, "strerror", None) or f"byte {getattr(error, 'start', 0)} is not UTF-8"
                raise StudyError(
                    f"prompt file {file} cannot be read: {said}; give a UTF-8 text file"
                ) from None
            require_text(str(file), prompts[key])
    if not prompts:
        raise StudyError(
            f"{folder}: no prompt file in this folder; expected names are {', '.join(_FILE_NAMES.values())}"
        )
    return Wording(f"folder:{folder.name}", prompts)


def _read(path: Path, base: Wording | None = None) -> Wording:
    """Read one TOML file; what it leaves out is taken from ``base``, its prompts excepted."""
    data = read_words(path)
    require_known(str(path), data, _KEYS)
    name = data.get("id", f"own:{path.stem}")
    system = system_text(path, data, base.system if base else "")
    ratings = data.get("ratings", base.ratings if base else RATINGS)
    if not isinstance(ratings, int) or isinstance(ratings, bool) or not 2 <= ratings <= MAX_RATINGS:
        raise StudyError(
            f"{path}: ratings = {ratings!r} must be a whole number from 2 to {MAX_RATINGS}; mend it"
        )
    return Wording(require_text(f"{path}: id", name), _prompts(path, data), system, ratings)


def _prompts(path: Path, data: Mapping[str, object]) -> dict[tuple[str, str], str]:
    found = {}
    for task, texts in _table(f"{path}: prompts", data.get("prompts", {}), TASKS).items():
        for condition, text in _table(f"{path}: prompts.{task}", texts, CONDITIONS).items():
            found[task, condition] = require_text(f"{path}: prompts.{task}.{condition}", text)
    return found


def _table(where: str, value: object, allowed: tuple[str, ...]) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise StudyError(f"{where} = {value!r} must be a table")
    require_known(where, value, allowed)
    return value
