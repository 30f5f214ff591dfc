"""Seeds, drafts, and what designers, analysts and verifiers are asked about them and reply.

In the published set every analyst names five claims of its own, so slot C3 holds eight different statements. A draft has
five claims with fixed texts, the same for every analyst. A reply that cannot be read is asked for once more. The answers
are transcripts like any other, of the benchmarks ``medley_designers``, ``medley_pool`` and ``medley_verification``.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.benchmark.contract import Inputs, Role
from metacog_pipeline.benchmarks.medley.construction.consensus import VERDICTS
from metacog_pipeline.benchmarks.medley.items import (
    CLAIM_IDS,
    DIFFICULTIES,
    DOMAINS,
    LABELS,
    Consensus,
    KnownAnswer,
)
from metacog_pipeline.benchmarks.medley.prompts import PLACE
from metacog_pipeline.benchmarks.medley.read import is_error, parse_reply
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, read_toml, sha256_hex, shipped
from metacog_pipeline.llm.types import Message, Status

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Domain = Annotated[str, StringConstraints(pattern=f"^({'|'.join(DOMAINS)})$")]
FiveClaims = Annotated[tuple[Text, ...], Field(min_length=5, max_length=5)]
ClaimId = Literal["C1", "C2", "C3", "C4", "C5"]


class Seed(BaseModel):
    """What a case is to be about: a situation, what makes it open, and five claims.

    A known answer names the claim the crowd will get wrong, and why; ``error_description`` an injected mistake.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed_id: Text
    domain: Domain
    scenario: Text
    ambiguity: Text
    intended_difficulty: Literal["easy", "medium", "hard"] = "medium"
    claims: FiveClaims
    known_answer: Text | None = None
    target_wrong_claim: ClaimId | None = None
    why_ensemble_gets_wrong: str = ""
    error_description: str = ""

    @model_validator(mode="after")
    def _whole(self) -> Seed:
        if len(set(self.claims)) < len(self.claims):
            raise ValueError("five different claims are needed; two are equal")
        if (self.known_answer is None) != (self.target_wrong_claim is None):
            raise ValueError("known_answer and target_wrong_claim go together; give both or neither")
        if self.error_description and self.known_answer is None:
            raise ValueError("an injected error needs known_answer and target_wrong_claim as well")
        if self.known_answer and not self.error_description and not self.why_ensemble_gets_wrong:
            raise ValueError("a known answer needs why_ensemble_gets_wrong")
        return self

    @property
    def item_hash(self) -> str:
        """SHA-256 over what a designer is shown."""
        known = self.known_answer and [self.known_answer, self.target_wrong_claim]
        why = "" if self.error_description else self.why_ensemble_gets_wrong
        shown = [self.scenario, self.ambiguity, self.intended_difficulty, self.claims, why]
        return sha256_hex(canonical_json([*shown, self.error_description, known]))


class Draft(BaseModel):
    """A case that can be put to the pool: five statements, C1 to C5, and how hard each of its designers finds it."""

    model_config = ConfigDict(frozen=True)

    draft_id: str
    domain: str
    vignette: str
    claims: tuple[str, ...]
    difficulty: tuple[str, ...] = ()
    known_answer: str | None = None
    target_wrong_claim: str | None = None
    is_error_detection: bool = False

    @property
    def item_hash(self) -> str:
        """SHA-256 over what an analyst is shown."""
        return sha256_hex(canonical_json([self.vignette, self.claims]))

    @property
    def by_id(self) -> dict[str, str]:
        """The texts of the claims by their ids."""
        return dict(zip(CLAIM_IDS, self.claims, strict=True))

    @property
    def known(self) -> KnownAnswer | None:
        """The known answer, None of an ordinary case."""
        return (
            None
            if self.known_answer is None
            else KnownAnswer(self.known_answer, self.target_wrong_claim or "")
        )


def read_seeds(path: Path) -> tuple[Seed, ...]:
    """Read seeds from a TOML or JSON file with an array ``seeds``; SourceError names what is wrong."""
    seeds: tuple[Seed, ...] = read_valid(path, dict[Literal["seeds"], tuple[Seed, ...]]).get("seeds", ())
    names = [seed.seed_id for seed in seeds]
    if not seeds or len(set(names)) < len(names):
        twice = next((name for name in names if names.count(name) > 1), None)
        raise SourceError(
            f"{path}: {f'{twice!r} is given twice' if twice else 'there are no seeds'}; repair the file"
        )
    return seeds


def read_valid(path: Path, kind: Any) -> Any:
    """Return what a TOML or, by its ending, JSON file holds, as ``kind``; SourceError names the first wrong key."""
    try:
        given = json.loads(path.read_text("utf-8")) if path.suffix == ".json" else read_toml(path)
        return TypeAdapter(kind).validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = " ".join(map(str, first["loc"]))
        raise SourceError(f"{path}: {place}: {first['msg']}; repair the file") from None
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: cannot be read ({error}); repair the file") from None


# --- words ------------------------------------------------------------------------------------------------------------
@functools.cache  # the shipped files do not change under a running process
def words() -> Mapping[str, str]:
    """Return the project's texts for the construction, by name."""
    texts = read_toml(shipped("data", "medley", "construction.toml"))
    return {name: text.strip() for name, text in texts.items()}


def words_digest() -> str:
    """Return the SHA-256 over all texts."""
    return sha256_hex(canonical_json(dict(words())))


def filled(name: str, **parts: str) -> str:
    """Return a text with its places filled in, all at once: what is filled in is not searched for places."""
    return PLACE.sub(lambda place: parts.get(place[1], place[0]), words()[name])


# --- asking -----------------------------------------------------------------------------------------------------------
#: {role: the names of its call and of the second one, and of the text that asks once more}.
CALLS = {
    "designers": ("design", "design_again"),
    "pool": ("analyse", "analyse_again"),
    "verification": ("verify", "verify_again"),
}
_AGAIN = {"designers": "design_again", "pool": "analyst_again", "verification": "verify_again"}
Asked = tuple[str, str, str, Callable[[str], object]]
"""Name and digest of what is asked, the message, and how a reply is read: None where it cannot be."""


def _tasks(asked: Iterable[Asked], role: str, condition: str) -> list[Task]:
    """Return tasks of one call, and a second with the reason where the reply to the first cannot be read."""
    first, second = CALLS[role]

    async def run(message: str, read: Callable[[str], object], ask: Ask, mode: str) -> None:
        answer = await ask(first, [Message("user", message)])
        if read(answer.text) is None:
            await ask(second, [Message("user", f"{message}\n\n{words()[_AGAIN[role]]}")])

    return [
        Task(name, digest, condition, functools.partial(run, text, read))
        for name, digest, text, read in asked
    ]


def replies_of(
    benchmark: Any, inputs: Inputs, role: Role, calls: Sequence[str]
) -> dict[str, dict[str, list[str]]]:
    """Return {model: {item: texts}} of a role, of every item it is asked about now: calls in order, newest first.

    Failed calls and answers to another text than the one now asked are left out.
    """
    kept = inputs.answers(role.name)
    found = {}
    for spec in role.models(benchmark):
        hashes = {task.item_id: task.item_hash for task in role.tasks(benchmark, spec, inputs)}
        texts: dict[str, list[str]] = {item: [] for item in hashes}
        if not kept.is_empty():
            told = pl.col("model") == spec.name, pl.col("status") != Status.FAILED.value
            frame = kept.filter(*told).sort("started_at", descending=True, maintain_order=True)
            for call in calls:
                for item, digest, text in (
                    frame.filter(step=call).select("item_id", "item_hash", "text").iter_rows()
                ):
                    if hashes.get(item) == digest:
                        texts[item].append(text)
        found[spec.name] = texts
    return found


def _numbered(claims: Mapping[str, str]) -> str:
    return "\n".join(f"{claim}: {text}" for claim, text in claims.items())


# --- designers --------------------------------------------------------------------------------------------------------
def read_design(text: str) -> Draft | None:
    """Return a designer's proposal as a draft without a name; None where it has no vignette.

    Its claims are empty where it has no five different ones with texts.
    """
    parsed = parse_reply(text)
    vignette, given = parsed.get("vignette"), parsed.get("claims")
    if not isinstance(vignette, str) or not vignette.strip():
        return None
    items = given if isinstance(given, list) else []
    texts = [each.get("claim_text") if isinstance(each, dict) else None for each in items]
    claims = tuple(each.strip() for each in texts if isinstance(each, str) and each.strip())
    usable = len(claims) == len(texts) == len(set(claims)) == len(CLAIM_IDS)
    level = str(parsed.get("difficulty_assessment")).strip().lower()
    return Draft(
        draft_id="",
        domain="",
        vignette=vignette.strip(),
        claims=claims if usable else (),
        difficulty=(level if level in DIFFICULTIES else "moderate",),
    )


def draft_of(seed: Seed, replies: Sequence[str]) -> Draft | None:
    """Return the draft made from what the designers replied; None where none has a vignette.

    The longest vignette becomes the base; the claims are those of its designer where there are five with texts, else the
    seed's. A known answer names a claim by its place, so there the claims stay the seed's.
    """
    designs = [design for text in replies if (design := read_design(text)) is not None]
    if not designs:
        return None
    base = max(designs, key=lambda design: len(design.vignette.split()))
    return Draft(
        draft_id=seed.seed_id,
        domain=seed.domain,
        vignette=base.vignette,
        claims=base.claims if base.claims and seed.known_answer is None else seed.claims,
        difficulty=tuple(design.difficulty[0] for design in designs),
        known_answer=seed.known_answer,
        target_wrong_claim=seed.target_wrong_claim,
        is_error_detection=bool(seed.error_description),
    )


def _design_message(seed: Seed) -> str:
    known = ""
    if seed.known_answer is not None:
        why = "" if seed.error_description else seed.why_ensemble_gets_wrong
        parts = {"answer": seed.known_answer, "why": why, "target": str(seed.target_wrong_claim)}
        known = filled("design_known_answer", **parts)
    return filled(
        "design",
        scenario=f"{seed.scenario} {seed.error_description}".strip(),
        ambiguity=seed.ambiguity,
        difficulty=seed.intended_difficulty,
        claims=_numbered(dict(zip(CLAIM_IDS, seed.claims, strict=True))),
        known_answer=known,
    )


def designer_tasks(seeds: Iterable[Seed]) -> list[Task]:
    """Return one task per seed for a designer."""
    asked = ((seed.seed_id, seed.item_hash, _design_message(seed), read_design) for seed in seeds)
    return _tasks(asked, "designers", "design")


# --- analysts ---------------------------------------------------------------------------------------------------------
def read_analyst(text: str, draft: Draft) -> dict[str, Any] | None:
    """Return an analyst's reply with exactly the five claims, in order, under their fixed texts; None if it has not.

    Labels may differ in case and in the character between words; a label outside the scale, a claim rated twice or one that
    was not asked makes the reply unreadable.
    """
    parsed = parse_reply(text)
    items = parsed.get("claim_level_assessments")
    if is_error(parsed) or not isinstance(items, list) or len(items) != len(CLAIM_IDS):
        return None
    rated: dict[str, dict[str, Any]] = {}
    for item in (each if isinstance(each, dict) else {} for each in items):
        claim, value, reasoning = (item.get(key) for key in ("claim_id", "confidence", "reasoning"))
        label = value.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(value, str) else ""
        if claim not in CLAIM_IDS or claim in rated or label not in LABELS:
            return None
        told = {"claim_id": claim, "claim_text": draft.by_id[claim], "confidence": label}
        rated[claim] = {**told, "reasoning": reasoning if isinstance(reasoning, str) else ""}
    return {**parsed, "claim_level_assessments": [rated[claim] for claim in CLAIM_IDS]}


def pool_tasks(drafts: Iterable[Draft]) -> list[Task]:
    """Return one task per draft for a model of the pool, which judges the five claims on its own."""

    def asked(each: Draft) -> Asked:
        parts = {"claims": _numbered(each.by_id), "scale": words()["scale"]}
        message = filled("analyst", vignette=each.vignette, **parts)
        return (each.draft_id, each.item_hash, message, functools.partial(read_analyst, draft=each))

    return _tasks(map(asked, drafts), "pool", "pool")


# --- verifiers --------------------------------------------------------------------------------------------------------
def read_verdict(text: str) -> str | None:
    """Return AGREE, DISAGREE or AMBIGUOUS from a judge's reply; None for anything else, which is no verdict."""
    given = parse_reply(text).get("verdict")
    cleaned = given.strip().upper() if isinstance(given, str) else ""
    return cleaned if cleaned in VERDICTS else None


def _view(consensus: Consensus, claim: str) -> str:
    """Return the consensus on a claim in words, as a judge is shown it."""
    details = consensus.claim_details.get(claim) or {}
    value = float(consensus.claim_confidences[claim])
    side = "can neither be accepted nor rejected"
    if value != 0.5:
        side = "holds" if value > 0.5 else "does not hold"
    counts: Mapping[str, int] = details.get("position_distribution") or {}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"the statement {side} ({value:.2f} on a scale from 0 to 1{'; ' + said if said else ''})"


def verification_tasks(drafts: Iterable[tuple[Draft, Consensus]]) -> list[Task]:
    """Return one task per claim of every draft for a judge: one item per instance and claim, as was published."""
    asked: list[Asked] = []
    for draft, consensus in drafts:
        for claim, text in draft.by_id.items():
            told = _view(consensus, claim)
            shown = filled("verify", vignette=draft.vignette, claim=text, consensus=told)
            digest = sha256_hex(canonical_json([draft.item_hash, claim, told]))
            asked.append((f"{draft.draft_id}_{claim}", digest, shown, read_verdict))
    return _tasks(asked, "verification", "verification")
