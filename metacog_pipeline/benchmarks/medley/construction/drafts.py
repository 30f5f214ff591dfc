"""What a case is to be about (a seed), and the case before anybody has judged it (a draft).

In the published set every analyst names five claims of his own, so slot C3 holds eight different statements. A draft has
five claims with fixed texts, the same for every analyst.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from metacog_pipeline.benchmark.schema import AsJson
from metacog_pipeline.benchmarks.medley.construction.reading import read_document, text_of
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS, KnownAnswer
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex

_INTENDED = ("easy", "medium", "hard")


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
    claims: Annotated[tuple[str, ...], AsJson()]
    known_answer: Annotated[KnownAnswer | None, AsJson()] = None
    why_wrong: str = ""
    error: str = ""

    @property
    def item_hash(self) -> str:
        """SHA-256 over what a designer is shown."""
        known = self.known_answer
        shown = [self.scenario, self.ambiguity, self.difficulty, self.claims, self.why_wrong, self.error]
        return sha256_hex(
            canonical_json([*shown, known and [known.correct_answer, known.target_wrong_claim]])
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """A case that can be put to the pool: five statements, C1 to C5, and how hard each of its designers finds it."""

    draft_id: str
    domain: str
    vignette: str
    claim_texts: Annotated[tuple[str, ...], AsJson()]
    difficulty: Annotated[tuple[str, ...], AsJson()] = ()
    known_answer: Annotated[KnownAnswer | None, AsJson()] = None
    is_error_detection: bool = False

    @property
    def item_hash(self) -> str:
        """SHA-256 over what an analyst is shown."""
        return sha256_hex(canonical_json([self.vignette, self.claim_texts]))

    @property
    def claims(self) -> dict[str, str]:
        """The texts of the claims by their ids."""
        return dict(zip(CLAIM_IDS, self.claim_texts, strict=True))


def read_seeds(path: Path) -> list[Seed]:
    """Read seeds from a TOML or JSON file with an array ``seeds``; SourceError names what is wrong."""
    given = read_document(path).get("seeds")
    if not isinstance(given, list) or not given or not all(isinstance(each, dict) for each in given):
        raise SourceError(f"{path}: seeds is not a list of tables; at least one is needed")
    found = [_seed(each, f"{path}: seed {n}") for n, each in enumerate(given, start=1)]
    names = [seed.seed_id for seed in found]
    for name in (name for name in names if names.count(name) > 1):
        raise SourceError(f"{path}: {name!r} is given twice; each seed needs an id of its own")
    return found


def _seed(given: Mapping[str, Any], where: str) -> Seed:
    name = text_of(given, "seed_id", where)
    where = f"{where} ({name})"
    domain, level, claims = (
        text_of(given, "domain", where),
        given.get("intended_difficulty", "medium"),
        given.get("claims"),
    )
    if domain not in DOMAINS:
        raise SourceError(f"{where}: domain {domain!r} is not one of {', '.join(DOMAINS)}")
    if level not in _INTENDED:
        raise SourceError(
            f"{where}: intended_difficulty {str(level)[:40]!r} is not one of {', '.join(_INTENDED)}"
        )
    if not isinstance(claims, list) or not all(isinstance(c, str) and c.strip() for c in claims):
        raise SourceError(f"{where}: claims is not a list of texts; {len(CLAIM_IDS)} are needed")
    if len(claims) != len(CLAIM_IDS) or len(set(claims)) < len(claims):
        raise SourceError(
            f"{where}: {len(claims)} claims, some perhaps equal; {len(CLAIM_IDS)} different ones are needed"
        )
    known = _known_answer(given, where)
    error = text_of(given, "error_description", where) if "error_description" in given else ""
    if error and known is None:
        raise SourceError(f"{where}: an injected error needs known_answer and target_wrong_claim as well")
    scenario, open_by = text_of(given, "scenario", where), text_of(given, "ambiguity", where)
    why = text_of(given, "why_ensemble_gets_wrong", where) if known and not error else ""
    return Seed(name, domain, scenario, open_by, level, tuple(claims), known, why, error)


def _known_answer(given: Mapping[str, Any], where: str) -> KnownAnswer | None:
    """Return the known answer of a seed, None for an ordinary one; its two keys go together."""
    if "known_answer" not in given and "target_wrong_claim" not in given:
        return None
    target = text_of(given, "target_wrong_claim", where)
    if target not in CLAIM_IDS:
        raise SourceError(f"{where}: target_wrong_claim {target!r} is not one of {', '.join(CLAIM_IDS)}")
    return KnownAnswer(text_of(given, "known_answer", where), target)
