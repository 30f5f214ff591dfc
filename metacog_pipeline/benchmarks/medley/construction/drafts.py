"""A case before anybody has judged it: a vignette and five claims with fixed texts, the same for every analyst.

In the published set every analyst names five claims of his own, so slot C3 holds eight different statements. New
instances give all of them the same five.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.medley.construction.reading import (
    domain_of,
    five,
    objects,
    read_document,
    refuse_twice,
    text_of,
)
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, KnownAnswer
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex

DIFFICULTIES = ("easy", "moderate", "hard")
_ALIASES = {"medium": "moderate"}


@dataclass(frozen=True, slots=True)
class Draft:
    """A case that can be put to the pool.

    Attributes
    ----------
    claim_texts
        Five statements, C1 to C5.
    difficulty
        What its designers thought: easy, moderate or hard, one each.
    """

    draft_id: str
    domain: str
    vignette: str
    claim_texts: tuple[str, ...]
    difficulty: tuple[str, ...] = ()
    known_answer: KnownAnswer | None = None
    is_error_detection: bool = False

    @property
    def item_hash(self) -> str:
        """SHA-256 over what an analyst is shown."""
        return sha256_hex(canonical_json([self.vignette, list(self.claim_texts)]))

    @property
    def claims(self) -> dict[str, str]:
        """The texts of the claims by their ids."""
        return dict(zip(CLAIM_IDS, self.claim_texts, strict=True))


def read_drafts(path: Path) -> list[Draft]:
    """Read drafts from a TOML or JSON file with an array ``cases``.

    Raises
    ------
    SourceError
        For a file that is missing or damaged, a key that is missing or of the wrong type, or an id given twice.
    """
    cases = objects(read_document(path), "cases", str(path))
    drafts = [draft_from(case, f"{path}: case {place}") for place, case in enumerate(cases, start=1)]
    refuse_twice([draft.draft_id for draft in drafts], path, "case")
    return drafts


def draft_from(case: Mapping[str, Any], where: str) -> Draft:
    """Return the draft in one object of a file; SourceError names what is wrong with it."""
    name = text_of(case, "id", where)
    where = f"{where} ({name})"
    domain = domain_of(case, where)
    texts = [text_of(claim, "text", f"{where}, a claim") for claim in objects(case, "claims", where)]
    claims = five(texts, where)
    error = case.get("error_detection", False)
    if not isinstance(error, bool):
        raise SourceError(f"{where}: error_detection is {str(error)[:40]!r}; true or false is needed")
    return Draft(
        name,
        domain,
        text_of(case, "vignette", where),
        claims,
        difficulties(case.get("difficulty", []), where),
        known_answer(case, where),
        error,
    )


def known_answer(given: Mapping[str, Any], where: str) -> KnownAnswer | None:
    """Return the known answer of a case or seed, None for an ordinary one; its two keys go together."""
    if "known_answer" not in given and "target_wrong_claim" not in given:
        return None
    target = text_of(given, "target_wrong_claim", where)
    if target not in CLAIM_IDS:
        raise SourceError(f"{where}: target_wrong_claim {target!r} is not one of {', '.join(CLAIM_IDS)}")
    return KnownAnswer(text_of(given, "known_answer", where), target)


def difficulties(given: object, where: str) -> tuple[str, ...]:
    """Return difficulty levels in the project's words; SourceError for anything else."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise SourceError(f"{where}: difficulty is not a list of {', '.join(DIFFICULTIES)}")
    levels = tuple(_ALIASES.get(str(level), str(level)) for level in given)
    wrong = next((level for level in levels if level not in DIFFICULTIES), None)
    if wrong is not None:
        raise SourceError(f"{where}: difficulty {wrong[:40]!r} is not one of {', '.join(DIFFICULTIES)}")
    return levels
