"""Asking designers: from a seed to a draft.

The answers are transcripts like any other, in partitions of the benchmark ``medley_designers``. The longest vignette
becomes the base of the draft; the claims are those of its designer where there are five with texts, else the seed's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmarks.medley.construction.drafts import DIFFICULTIES, Draft, known_answer
from metacog_pipeline.benchmarks.medley.construction.reading import (
    domain_of,
    five,
    objects,
    read_document,
    refuse_twice,
    text_of,
)
from metacog_pipeline.benchmarks.medley.construction.wording import Words, numbered_claims, tasks
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, KnownAnswer
from metacog_pipeline.benchmarks.medley.parsing import parse_reply
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.types import Message
from metacog_pipeline.querying.types import Task

CONDITION = "design"
DESIGN, AGAIN = "design", "design_again"


@dataclass(frozen=True, slots=True)
class Seed:
    """What a case is to be about.

    ``why_wrong`` says why most readers get a known answer wrong; ``error`` describes an injected mistake.
    """

    seed_id: str
    domain: str
    scenario: str
    ambiguity: str
    difficulty: str
    claims: tuple[str, ...]
    known_answer: KnownAnswer | None = None
    why_wrong: str = ""
    error: str = ""

    @property
    def item_hash(self) -> str:
        """SHA-256 over what a designer is shown."""
        known = self.known_answer
        shown = [
            self.scenario,
            self.ambiguity,
            self.difficulty,
            list(self.claims),
            self.why_wrong,
            self.error,
        ]
        return sha256_hex(
            canonical_json([*shown, known and [known.correct_answer, known.target_wrong_claim]])
        )


@dataclass(frozen=True, slots=True)
class Design:
    """A designer's proposal. ``claims`` are empty where it has no five claims with texts."""

    vignette: str
    claims: tuple[str, ...]
    difficulty: str


def read_seeds(path: Path) -> list[Seed]:
    """Read seeds from a TOML or JSON file with an array ``seeds``; SourceError names what is wrong."""
    found = [
        _seed(given, f"{path}: seed {n}")
        for n, given in enumerate(objects(read_document(path), "seeds", str(path)), 1)
    ]
    refuse_twice([seed.seed_id for seed in found], path, "seed")
    return found


def read_design(text: str) -> Design | None:
    """Return the proposal in a designer's reply; None where it has no vignette."""
    parsed = parse_reply(text)
    vignette = parsed.get("vignette")
    if not isinstance(vignette, str) or not vignette.strip():
        return None
    given = parsed.get("claims")
    texts = (
        [each.get("claim_text") if isinstance(each, dict) else None for each in given]
        if isinstance(given, list)
        else []
    )
    claims = tuple(each.strip() for each in texts if isinstance(each, str) and each.strip())
    level = str(parsed.get("difficulty_assessment")).strip().lower()
    usable = len(claims) == len(texts) == len(set(claims)) == len(CLAIM_IDS)
    return Design(vignette.strip(), claims if usable else (), level if level in DIFFICULTIES else "moderate")


def draft_of(seed: Seed, replies: Sequence[str]) -> Draft | None:
    """Return the draft made from what the designers replied; None where none has a vignette.

    A known answer names a claim by its place, so there the claims stay the seed's.
    """
    designs = [design for text in replies if (design := read_design(text)) is not None]
    if not designs:
        return None
    base = max(designs, key=lambda design: len(design.vignette.split()))
    return Draft(
        seed.seed_id,
        seed.domain,
        base.vignette,
        base.claims if base.claims and seed.known_answer is None else seed.claims,
        tuple(design.difficulty for design in designs),
        seed.known_answer,
        bool(seed.error),
    )


def design_message(seed: Seed, words: Words) -> Message:
    """Return what a designer is asked."""
    known = ""
    if seed.known_answer is not None:
        known = words.filled(
            "design_known_answer",
            answer=seed.known_answer.correct_answer,
            why=seed.why_wrong,
            target=seed.known_answer.target_wrong_claim,
        )
    return Message(
        "user",
        words.filled(
            "design",
            scenario=f"{seed.scenario} {seed.error}".strip(),
            ambiguity=seed.ambiguity,
            difficulty=seed.difficulty,
            claims=numbered_claims(dict(zip(CLAIM_IDS, seed.claims, strict=True))),
            known_answer=known,
        ),
    )


def designer_tasks(seeds: Sequence[Seed], words: Words) -> list[Task]:
    """Return one task per seed for a designer."""
    asked = ((seed.seed_id, seed.item_hash, design_message(seed, words), read_design) for seed in seeds)
    return tasks(asked, words, "design", (DESIGN, AGAIN), CONDITION)


def _seed(given: object, where: str) -> Seed:
    if not isinstance(given, dict):
        raise SourceError(f"{where}: not a table; mend the file")
    name = text_of(given, "seed_id", where)
    where = f"{where} ({name})"
    domain, level = domain_of(given, where), given.get("intended_difficulty", "medium")
    claims = given.get("claims")
    if level not in ("easy", "medium", "hard"):
        raise SourceError(
            f"{where}: intended_difficulty {str(level)[:40]!r} is not one of easy, medium, hard"
        )
    if not isinstance(claims, list) or not all(isinstance(c, str) and c.strip() for c in claims):
        raise SourceError(f"{where}: claims is not a list of texts; {len(CLAIM_IDS)} are needed")
    claims = five(claims, where)
    known = known_answer(given, where)
    error = text_of(given, "error_description", where) if "error_description" in given else ""
    if error and known is None:
        raise SourceError(f"{where}: an injected error needs known_answer and target_wrong_claim as well")
    return Seed(
        name,
        domain,
        text_of(given, "scenario", where),
        text_of(given, "ambiguity", where),
        level,
        claims,
        known,
        text_of(given, "why_ensemble_gets_wrong", where) if known and not error else "",
        error,
    )
