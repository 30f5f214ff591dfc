"""What designers, analysts and verifiers are asked, and how their replies are read.

All are asked once more where a reply cannot be read. The answers are transcripts like any other, in partitions of the
benchmarks ``medley_designers``, ``medley_pool`` and ``medley_verification``, one per model and run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.benchmark.contract import Inputs, Role
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft, Seed
from metacog_pipeline.benchmarks.medley.construction.verification import VERDICTS
from metacog_pipeline.benchmarks.medley.construction.wording import Words
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, Consensus
from metacog_pipeline.benchmarks.medley.labels import LABELS
from metacog_pipeline.benchmarks.medley.read import is_error, parse_reply
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.types import Message, Status

DIFFICULTIES = ("easy", "moderate", "hard")
#: {role: the names of its call and of the second one}.
CALLS = {
    "designers": ("design", "design_again"),
    "pool": ("analyse", "analyse_again"),
    "verification": ("verify", "verify_again"),
}
Asked = tuple[str, str, str, Callable[[str], object]]
"""Name and digest of what is asked, the message, and how a reply is read: None where it cannot be."""


def _tasks(asked: Iterable[Asked], words: Words, kind: str, role: str, condition: str) -> list[Task]:
    """Return tasks of one call, and a second with the reason where the reply to the first cannot be read."""
    first, second = CALLS[role]

    async def run(message: str, read: Callable[[str], object], ask: Ask, mode: str) -> None:
        answer = await ask(first, [Message("user", message)])
        if read(answer.text) is None:
            await ask(second, [Message("user", f"{message}\n\n{words.text(f'{kind}_again')}")])

    return [
        Task(name, digest, condition, functools.partial(run, message, read))
        for name, digest, message, read in asked
    ]


def texts_of(
    kept: pl.DataFrame, model: str, hashes: Mapping[str, str], calls: Sequence[str]
) -> dict[str, list[str]]:
    """Return {item: texts} of a model in kept transcripts, calls in order, of two answers to one call the later first.

    Failed calls and answers to another text than that of ``hashes`` (item → hash) are left out.
    """
    if kept.is_empty():
        return {}
    told = pl.col("model") == model, pl.col("status") != Status.FAILED.value
    frame = kept.filter(*told).sort("started_at", descending=True, maintain_order=True)
    found: dict[str, list[str]] = {}
    for call in calls:
        rows = frame.filter(pl.col("step") == call).select("item_id", "item_hash", "text")
        for item, digest, text in rows.iter_rows():
            if hashes.get(item) == digest:
                found.setdefault(item, []).append(text)
    return found


def replies_of(
    benchmark: Any, inputs: Inputs, role: Role, calls: Sequence[str]
) -> dict[str, dict[str, list[str]]]:
    """Return {model: {item: texts}} of a role, of every item it is asked about now."""
    kept = inputs.answers(role.name)
    found = {}
    for spec in role.models(benchmark):
        hashes = {task.item_id: task.item_hash for task in role.tasks(benchmark, spec, inputs)}
        texts = texts_of(kept, spec.name, hashes, calls)
        found[spec.name] = {item: texts.get(item, []) for item in hashes}
    return found


def _numbered(claims: Mapping[str, str]) -> str:
    return "\n".join(f"{claim}: {text}" for claim, text in claims.items())


# --- designers --------------------------------------------------------------------------------------------------------
class Design(NamedTuple):
    """A designer's proposal. ``claims`` are empty where it has no five claims with texts."""

    vignette: str
    claims: tuple[str, ...]
    difficulty: str


def read_design(text: str) -> Design | None:
    """Return the proposal in a designer's reply; None where it has no vignette."""
    parsed = parse_reply(text)
    vignette, given = parsed.get("vignette"), parsed.get("claims")
    if not isinstance(vignette, str) or not vignette.strip():
        return None
    items = given if isinstance(given, list) else []
    texts = [each.get("claim_text") if isinstance(each, dict) else None for each in items]
    claims = tuple(each.strip() for each in texts if isinstance(each, str) and each.strip())
    usable = len(claims) == len(texts) == len(set(claims)) == len(CLAIM_IDS)
    level = str(parsed.get("difficulty_assessment")).strip().lower()
    return Design(vignette.strip(), claims if usable else (), level if level in DIFFICULTIES else "moderate")


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
        seed.seed_id,
        seed.domain,
        base.vignette,
        base.claims if base.claims and seed.known_answer is None else seed.claims,
        tuple(design.difficulty for design in designs),
        seed.known_answer,
        bool(seed.error),
    )


def design_message(seed: Seed, words: Words) -> str:
    """Return what a designer is asked."""
    known = ""
    if (answer := seed.known_answer) is not None:
        parts = {"answer": answer.correct_answer, "why": seed.why_wrong, "target": answer.target_wrong_claim}
        known = words.filled("design_known_answer", **parts)
    return words.filled(
        "design",
        scenario=f"{seed.scenario} {seed.error}".strip(),
        ambiguity=seed.ambiguity,
        difficulty=seed.difficulty,
        claims=_numbered(dict(zip(CLAIM_IDS, seed.claims, strict=True))),
        known_answer=known,
    )


def designer_tasks(seeds: Iterable[Seed], words: Words) -> list[Task]:
    """Return one task per seed for a designer."""
    asked = ((seed.seed_id, seed.item_hash, design_message(seed, words), read_design) for seed in seeds)
    return _tasks(asked, words, "design", "designers", "design")


# --- analysts ---------------------------------------------------------------------------------------------------------
def read_analyst(text: str, draft: Draft) -> dict[str, Any] | None:
    """Return an analyst's reply with exactly the five claims, in order, under their fixed texts; None if it has not.

    Labels may differ in case and in the character between words; anything else outside the scale makes the reply
    unreadable. Of claims rated twice, or others added, there is no telling what was meant, so they do too.
    """
    parsed = parse_reply(text)
    items = parsed.get("claim_level_assessments")
    if is_error(parsed) or not isinstance(items, list) or len(items) != len(CLAIM_IDS):
        return None
    rated: dict[str, dict[str, Any]] = {}
    for item in items:
        claim = item.get("claim_id") if isinstance(item, dict) else None
        label = _label(item.get("confidence")) if isinstance(item, dict) else None
        if claim not in CLAIM_IDS or claim in rated or label is None:
            return None
        reasoning = item.get("reasoning")
        rated[claim] = {
            "claim_id": claim,
            "claim_text": draft.claims[claim],
            "confidence": label,
            "reasoning": reasoning if isinstance(reasoning, str) else "",
        }
    return {**parsed, "claim_level_assessments": [rated[claim] for claim in CLAIM_IDS]}


def _label(value: object) -> str | None:
    cleaned = value.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(value, str) else ""
    return cleaned if cleaned in LABELS else None


def analyst_message(draft: Draft, words: Words) -> str:
    """Return what an analyst is asked."""
    parts = {"claims": _numbered(draft.claims), "scale": words.text("scale")}
    return words.filled("analyst", vignette=draft.vignette, **parts)


def pool_tasks(drafts: Iterable[Draft], words: Words) -> list[Task]:
    """Return one task per draft for a model of the pool, which judges the five claims on its own."""
    asked = (
        (
            each.draft_id,
            each.item_hash,
            analyst_message(each, words),
            functools.partial(read_analyst, draft=each),
        )
        for each in drafts
    )
    return _tasks(asked, words, "analyst", "pool", "pool")


# --- verifiers --------------------------------------------------------------------------------------------------------
def read_verdict(text: str) -> str | None:
    """Return AGREE, DISAGREE or AMBIGUOUS from a judge's reply; None for anything else, which is no verdict."""
    given = parse_reply(text).get("verdict")
    cleaned = given.strip().upper() if isinstance(given, str) else ""
    return cleaned if cleaned in VERDICTS else None


def verdict_id(draft_id: str, claim: str) -> str:
    """Return the name of one claim of one instance among all that are verified."""
    return f"{draft_id}_{claim}"


def view(consensus: Consensus, claim: str) -> str:
    """Return the consensus on a claim in words, as a judge is shown it."""
    details = consensus.claim_details.get(claim) or {}
    value = float(consensus.claim_confidences[claim])
    side = "can neither be accepted nor rejected"
    if value != 0.5:
        side = "holds" if value > 0.5 else "does not hold"
    counts: Mapping[str, int] = details.get("position_distribution") or {}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"the statement {side} ({value:.2f} on a scale from 0 to 1{'; ' + said if said else ''})"


def verification_tasks(drafts: Iterable[tuple[Draft, Consensus]], words: Words) -> list[Task]:
    """Return one task per claim of every draft for a judge: one item per instance and claim, as was published."""
    asked = []
    for draft, consensus in drafts:
        for claim, text in draft.claims.items():
            told = view(consensus, claim)
            shown = words.filled("verify", vignette=draft.vignette, claim=text, consensus=told)
            digest = sha256_hex(canonical_json([draft.item_hash, claim, told]))
            asked.append((verdict_id(draft.draft_id, claim), digest, shown, read_verdict))
    return _tasks(asked, words, "verify", "verification", "verification")
