"""Whether a reply withholds its answer, in four languages.

A reply abstains where it says that the answer is not known before it has said anything that answers: "Paris. I don't know
more" answers, "That is a tricky one, I don't know" does not. A guess behind the phrase answers where the reply turns to it
("..., but I think it is Paris"). The phrases are data: ``data/selfknowledge/abstaining.toml``.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from metacog_pipeline.files import shipped

_WORD = re.compile(r"[\w']+")
_HAN = re.compile(r"[^\W_]")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_HANGUL = re.compile(r"[가-힣]")
_SPEAKER = re.compile(r"\b(?:i|i'm|i'd|i've|i'll|me|my|mine|we|us|our|me|mi|mis|yo)\b")
_TOLD = re.compile(r"[:：] ?([^:：。.]{1,40}[.。]?)$")
_HOW_MANY = re.compile(r"\bhow (?:many|much)\b|\bcuánt|几|多少|몇")
_KNOWING = re.compile(
    r"know|inform|answer|sure|certain|idea|clue|recall|remember|tell|data|stump|知|清楚|信息|资料|答|确定|记|모르|모릅|알|정보|답|기억"
    r"|\bsé\b|dato|respon|recuerd|segur|descono|constancia"
)
_MARKS = re.compile(r"[^\w]+")


@dataclass(frozen=True, slots=True)
class Phrases:
    """How one language withholds an answer: see the data file."""

    says: re.Pattern[str]
    alone: re.Pattern[str]
    commits: re.Pattern[str]
    marks: re.Pattern[str]
    about: tuple[str, ...]
    plain: frozenset[str]
    stems: tuple[str, ...]


@functools.cache
def phrases() -> Mapping[str, Phrases]:
    """Return the phrases by language."""
    listed = tomllib.loads(shipped("data", "selfknowledge", "abstaining.toml").read_text("utf-8"))
    return {language: _phrases(language, found) for language, found in listed.items()}


def _phrases(language: str, found: Mapping[str, list[str]]) -> Phrases:
    words = sorted({word for line in found["about"] for word in line.split()}, key=len, reverse=True)
    stems = tuple(word.rstrip("*") for word in words if word.endswith("*") or language == "ko")
    says, alone, commits, marks = (_any(found[kind]) for kind in ("says", "alone", "commits", "marks"))
    return Phrases(says, alone, commits, marks, tuple(words), frozenset(words), stems)


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in patterns))


def withholds(said: str, accepted: Iterable[str] = (), question: str = "") -> bool:
    """Return whether a reply, in the one spelling of `parsing.plain`, withholds its answer.

    Parameters
    ----------
    accepted
        Accepted answers in the same spelling: where the phrase is a part of one, as of a song, it withholds nothing.
    question
        What was asked, in the same spelling: its words answer nothing.
    """
    for wanted in accepted:
        if wanted and any(
            each.says.search(wanted) or each.alone.fullmatch(wanted) for each in phrases().values()
        ):
            said = said.replace(wanted, " \ue000 ")
    bare = _MARKS.sub(" ", said).strip()
    for language, known in phrases().items():
        if bare and known.alone.fullmatch(bare):
            return True
        if 0 < len(bare) < 240 and known.marks.search(said) and _only_about(said, language, known, question):
            return True
        for found in known.says.finditer(said):
            tail = said[found.end() : found.end() + 160]
            told = _TOLD.search(tail)
            if not (
                _answers(said[: found.start()], language, known, question)
                or known.commits.search(tail)
                or (told and not _only_about(told[1], language, known, question))
            ):
                return True
    return False


def _only_about(said: str, language: str, known: Phrases, question: str) -> bool:
    """Return whether a whole reply has no word that could answer: all speak of knowing, or are the question's."""
    if (
        "\ue000" in said
        or re.search(r"\d", said)
        or (_HOW_MANY.search(question) and not _KNOWING.search(said))
    ):
        return False
    if re.search(r"\bhelp\b", said) and not _KNOWING.search(said):
        return False  # who refuses to help says nothing of knowing
    if language in ("en", "es") and not (_SPEAKER.search(said) or _KNOWING.search(said)):
        return False
    spoken = (
        _CHINESE.search(said + question) if language == "zh" else language != "ko" or _HANGUL.search(said)
    )
    return bool(spoken) and not _answers(said, language, known, question)


def _answers(text: str, language: str, known: Phrases, question: str) -> bool:
    """Return whether a text says anything that could answer."""
    if not text.strip():
        return False
    if "\ue000" in text:
        return True
    if language == "zh":
        for piece in known.about:
            text = text.replace(piece, " ")
        rest = "".join(_HAN.findall(text))
        return len(rest) > 1 and rest not in question
    words = [word for word in _WORD.findall(text) if word not in known.plain]
    asked = set() if language == "ko" else set(_WORD.findall(question))
    return not all(
        word in asked or word.startswith(known.stems) or (language == "ko" and word in question)
        for word in words
    )
