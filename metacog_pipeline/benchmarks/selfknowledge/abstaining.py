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
_MARKS = re.compile(r"[^\w]+")


@dataclass(frozen=True, slots=True)
class Phrases:
    """How one language withholds an answer: see the data file."""

    says: re.Pattern[str]
    alone: re.Pattern[str]
    commits: re.Pattern[str]
    filler: tuple[str, ...]


@functools.cache
def phrases() -> Mapping[str, Phrases]:
    """Return the phrases by language."""
    listed = tomllib.loads(shipped("data", "selfknowledge", "abstaining.toml").read_text("utf-8"))
    return {
        language: Phrases(
            _any(found["says"]),
            _any(found["alone"]),
            _any(found["commits"]),
            tuple(sorted(found["filler"].split(), key=len, reverse=True)),
        )
        for language, found in listed.items()
    }


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
        for found in known.says.finditer(said):
            if not _answers(said[: found.start()], language, known, question) and not known.commits.search(
                said, found.end(), found.end() + 160
            ):
                return True
    return False


def _answers(head: str, language: str, known: Phrases, question: str) -> bool:
    """Return whether what stands before a phrase says anything that could answer."""
    if not head.strip():
        return False
    if "\ue000" in head:
        return True
    if language == "zh":
        for piece in known.filler:
            head = head.replace(piece, " ")
        rest = "".join(_HAN.findall(head))
        return len(rest) > 1 and rest not in question
    words = [word for word in _WORD.findall(head) if word not in known.filler]
    if language == "ko":
        words = [word for word in words if not word.startswith(("죄송", "미안", "질문", "답"))]
    asked = set(_WORD.findall(question))
    return any(word not in asked for word in words)
