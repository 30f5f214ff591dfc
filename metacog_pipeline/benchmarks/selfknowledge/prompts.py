"""The words a model is sent: one user message per step, each in a context of its own.

``direct`` asks for the answer, in keywords; ``meta`` whether it is known: yes if surely, no otherwise; ``idk`` for the
answer, or "I don't know"; ``preceded`` "Do you know the answer?", then the question (Appendix C, in English only).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmarks.selfknowledge.items import DUAL, IDK, LANGUAGE_OF, LANGUAGES, PRECEDED, Item
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.llm.types import Message
from metacog_pipeline.study.wording import read_words, require_known, require_text

DIRECT, META = "direct", "meta"
STEPS = (DIRECT, META, IDK, PRECEDED)
PLACE = "{question}"
#: What the prompts ask for by language: the word that says yes and the word that says no.
YES_NO = {"en": ("Yes", "No"), "zh": ("是", "否"), "ko": ("예", "아니요"), "es": ("Sí", "No")}
#: How the prompts ask to abstain, by language: the words a text of the step must name.
ABSTENTIONS = {"en": "I don't know", "zh": "我不知道", "ko": "모르겠습니다", "es": "No lo sé"}


@dataclass(frozen=True, slots=True)
class Wording:
    """Every text of a study's prompts; ``templates`` maps (language, step) to a text with `PLACE` in it, once."""

    id: str
    templates: Mapping[tuple[str, str], str]

    def condition_digest(self, condition: str) -> str:
        """Return the SHA-256 over the texts asked under ``condition``."""
        code = LANGUAGE_OF[condition]
        steps = sorted(condition_steps(condition))
        return sha256_hex(canonical_json([[code, step, self.template(code, step)] for step in steps]))

    def template(self, language: str, step: str) -> str:
        """Return the text of a step; raise `StudyError` where there is none."""
        found = self.templates.get((language, step))
        if found is None:
            raise StudyError(
                f"selfknowledge: wording {self.id!r} has no text {step!r} in {language!r}; add it, or leave it out of idk"
            )
        return found


def condition_steps(condition: str) -> tuple[str, ...]:
    """Return the steps asked under ``condition``."""
    if condition == PRECEDED:
        return (PRECEDED,)
    return (IDK,) if asked_once(condition) else (DIRECT, META)


def asked_once(condition: str) -> bool:
    """Whether a condition asks one question, so that withholding its answer is the only way to say no."""
    return not condition.startswith(DUAL)


def messages(item: Item, condition: str, step: str, wording: Wording) -> tuple[Message, ...]:
    """Return the one message of a step."""
    code = LANGUAGE_OF[condition]
    return (Message("user", wording.template(code, step).replace(PLACE, dict(item.questions)[code])),)


def load_wording(path: Path | None = None) -> Wording:
    """Return the shipped wording, or one in which a TOML file's texts, a table for each language, replace those."""
    found = Wording("", {})
    for file in [shipped("data", "selfknowledge", "prompts.toml"), *([path] if path else [])]:
        data = read_words(file)
        require_known(str(file), data, ("id", *LANGUAGES))
        name, templates = require_text(f"{file}: id", data.pop("id", f"own:{file.stem}")), {**found.templates}
        for language, texts in data.items():
            if not isinstance(texts, dict):
                raise StudyError(f"{file}: {language} = {texts!r} must be a table")
            require_known(f"{file}: {language}", texts, STEPS)
            for step, text in texts.items():
                templates[language, step] = _checked(f"{file}: {language}.{step}", language, step, text)
        found = Wording(name, templates)
    return found


def _checked(where: str, language: str, step: str, value: object) -> str:
    text = require_text(where, value)
    if (n := text.count(PLACE)) != 1:
        raise StudyError(f"{where}: {PLACE} is in it {n} times; put it once, where the question goes")
    for word in {META: YES_NO[language], IDK: (ABSTENTIONS[language],)}.get(step, ()):
        if word.lower() not in text.replace("’", "'").lower() or (step == META and word not in text):
            raise StudyError(
                f'{where}: "{word}" is not in it; answers are read by this word, so the text must ask for it'
            )
    return text
