"""The words a judge is sent, and the way back from a message to what it quotes."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmarks.medley.grades import CRITERIA, DIMENSION_OF
from metacog_pipeline.benchmarks.medley.judging.cases import Case
from metacog_pipeline.benchmarks.medley.prompts import fenced
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.llm.types import Message
from metacog_pipeline.study.wording import read_words, require_known, require_text

QUOTED = ("vignette", "first", "final")
PLACES = (*QUOTED, "rubric", "form")
_PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
_TEXTS = ("id", "system", "text", "again")


@dataclass(frozen=True)
class JudgeWording:
    """Every text a judge is sent. ``system`` is the system message, ``""`` for none.

    ``text`` is the user message with places to fill in; ``criteria`` maps each of the thirty keys to what it asks.
    """

    id: str
    system: str
    text: str
    again: str
    criteria: dict[str, str]

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 over all texts: equal digests mean equal words."""
        return sha256_hex(canonical_json([self.system, self.text, self.again, self.criteria]))

    @functools.cached_property
    def _parts(self) -> tuple[tuple[str, str | None], ...]:
        fixed = {"rubric": self._rubric(), "form": _form()}
        filled = _PLACE.sub(lambda place: fixed.get(place[1], place[0]), self.text)
        pieces = _PLACE.split(filled)
        return tuple(zip(pieces[::2], [*pieces[1::2], None], strict=True))

    def fill(self, case: Case, *, again: bool = False) -> str:
        """Return the user message about ``case``; ``again`` after a reply that said little."""
        message = []
        for words, name in self._parts:
            message.append(words)
            if name is not None:
                message.append(fenced(name, getattr(case, name)))
        if again:
            message.append(f"\n\n{self.again}")
        return "".join(message)

    def read(self, message: str) -> dict[str, str] | None:
        """Return what a message quotes, by name; None where it is not a message of this wording.

        A quotation ends at the first line with its own mark, which it cannot contain; so no text passes for the next.
        """
        found = self._pattern.fullmatch(message)
        if found is None:
            return None
        return {name: found[name] for name in QUOTED}

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        told = []
        for words, name in self._parts:
            told.append(re.escape(words))
            if name is not None:
                begin = rf"=== BEGIN {name} (?P<mark_of_{name}>[0-9a-f]{{16}}) ===\n"
                told.append(rf"{begin}(?P<{name}>.*?)\n=== END {name} (?P=mark_of_{name}) ===")
        return re.compile("".join([*told, "(?:", re.escape(f"\n\n{self.again}"), ")?"]), re.DOTALL)

    def _rubric(self) -> str:
        parts = []
        for letter, dimension in DIMENSION_OF.items():
            lines = [f"{letter}{n}  {self.criteria[f'{letter}{n}']}" for n in (1, 2, 3)]
            parts.append("\n".join([dimension.replace("_", " "), *lines]))
        return "\n\n".join(parts)


def messages(case: Case, wording: JudgeWording, *, again: bool = False) -> tuple[Message, ...]:
    """Return the messages that ask for a judgement of ``case``."""
    user = Message("user", wording.fill(case, again=again))
    return (Message("system", wording.system), user) if wording.system else (user,)


def case_hash(case: Case, wording: JudgeWording) -> str:
    """Return the SHA-256 of everything a judge is told about ``case``."""
    return sha256_hex(canonical_json([wording.digest, wording.fill(case)]))


def load_judge_wording(path: Path | None = None) -> JudgeWording:
    """Return the shipped words, or those of the TOML file ``path``. Raises `StudyError` naming file and key."""
    return _shipped() if path is None else _read(path)


@functools.cache
def _shipped() -> JudgeWording:
    return _read(shipped("data", "medley", "judge.toml"))


def _read(path: Path) -> JudgeWording:
    data = read_words(path, "judge file")
    texts = {key: _text(path, data, key) for key in _TEXTS}
    require_known(str(path), data, (*_TEXTS, "dimensions"))
    named = _PLACE.findall(texts["text"])
    if sorted(named) != sorted(PLACES):
        needed = ", ".join("{{" + name + "}}" for name in PLACES)
        raise StudyError(f"{path}: text must hold each of {needed} once, and no other place")
    return JudgeWording(criteria=_criteria(path, data.get("dimensions")), **texts)


def _text(path: Path, data: dict[str, object], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not (value.strip() or key == "system"):
        raise StudyError(f"{path}: {key} = {value!r} must be a text that is not empty")
    return value


def _criteria(path: Path, given: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in given if isinstance(given, list) else ():
        fields = entry if isinstance(entry, dict) else {}
        key, name, asked = (fields.get(field) for field in ("key", "name", "criteria"))
        if DIMENSION_OF.get(str(key)) != name or not isinstance(asked, list) or len(asked) != 3:
            raise StudyError(
                f"{path}: dimension {key!r} must be one of the ten, by its name, with 3 criteria"
            )
        found |= {
            f"{key}{n}": require_text(f"{path}: criterion {n} of {key}", text)
            for n, text in enumerate(asked, start=1)
        }
    if tuple(found) != CRITERIA:
        raise StudyError(f"{path}: dimensions must be {', '.join(DIMENSION_OF)}, in this order")
    return found


def _form() -> str:
    rows = [", ".join(f'"{letter}{n}": <0-3>' for n in (1, 2, 3)) for letter in DIMENSION_OF]
    return "{" + ",\n ".join(rows) + "}"
