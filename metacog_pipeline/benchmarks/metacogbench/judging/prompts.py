"""The words a judge is sent, and the way back from a message to what it quotes.

Whatever was said is quoted with ``| `` before each of its lines, so no line of it can pass for one of the judge's
instructions, nor for the end of the quotation.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from metacog_pipeline.benchmarks.metacogbench.judging.cases import Case
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.judges.verdicts import digest, quoted, unquoted
from metacog_pipeline.llm.types import Message

_PLACE = re.compile(r"\{\{(task|first|next|reply)\}\}")
_QUOTATION = r"(\| [^\n]*(?:\n\| [^\n]*)*)"


@dataclass(frozen=True)
class JudgeWording:
    """The texts a judge is sent: ``kinds`` by `Case.kind`, ``form`` below each of them."""

    id: str
    system: str
    form: str
    kinds: Mapping[str, str]

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 over all texts: equal digests mean equal words."""
        return sha256_hex(canonical_json([self.system, self.form, dict(self.kinds)]))

    def fill(self, case: Case) -> str:
        """Return the user message about ``case``."""
        text = _PLACE.sub(lambda place: quoted(case.said[place[1]]), self.kinds[case.kind])
        return f"{text}\n\n{self.form}"

    def read(self, message: str) -> tuple[str, dict[str, str]] | None:
        """Return the kind of case a message is about and what it quotes, by place; None for other messages."""
        for kind, (places, pattern) in self._patterns.items():
            if found := pattern.fullmatch(message):
                texts = map(unquoted, found.groups())
                return kind, dict(zip(places, texts, strict=True))
        return None

    @functools.cached_property
    def _patterns(self) -> dict[str, tuple[tuple[str, ...], re.Pattern[str]]]:
        made = {}
        for kind, text in self.kinds.items():
            pieces = _PLACE.split(f"{text}\n\n{self.form}")
            words = map(re.escape, pieces[::2])
            made[kind] = (tuple(pieces[1::2]), re.compile(_QUOTATION.join(words)))
        return made


@functools.cache
def load_judge_wording() -> JudgeWording:
    """Return the shipped texts."""
    given = tomllib.loads(shipped("data", "metacogbench", "judge.toml").read_text("utf-8"))
    kinds = {kind: text.strip() for kind, text in given["tiers"].items()}
    return JudgeWording(given["id"], given["system"].strip(), given["form"].strip(), kinds)


def messages(case: Case, wording: JudgeWording) -> tuple[Message, ...]:
    """Return what a judge is sent about one reply."""
    return (Message("system", wording.system), Message("user", wording.fill(case)))


def case_hash(case: Case, wording: JudgeWording) -> str:
    """Return the SHA-256 of everything a judge is sent about a reply."""
    return digest(messages(case, wording))
