"""What each step of the construction writes, and how the next one reads it: flat tables, nested parts as JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from metacog_pipeline.benchmarks.medley.construction.assembly import Facts, Opinions
from metacog_pipeline.benchmarks.medley.construction.designs import Seed
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft
from metacog_pipeline.benchmarks.medley.construction.filters import Ambiguity, difficulty
from metacog_pipeline.benchmarks.medley.construction.gates import Gate
from metacog_pipeline.benchmarks.medley.construction.selection import Scores, Selection
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, Consensus, KnownAnswer


def _columns(names: str, **kinds: Any) -> pl.Schema:
    """Return columns in order: text, where no other kind is named."""
    return pl.Schema({name: kinds.get(name, pl.String) for name in names.split()})


SEEDS = _columns("seed_id domain scenario ambiguity difficulty claims known_answer why_wrong error")
DESIGNS = _columns("seed_id designer usable words text", usable=pl.Boolean, words=pl.Int64)
DRAFTS = _columns(
    "draft_id domain tier combined words vignette claims difficulty known_answer is_error_detection",
    combined=pl.Float64,
    words=pl.Int64,
    is_error_detection=pl.Boolean,
)
OPINIONS = _columns(f"draft_id analyst family replies {' '.join(CLAIM_IDS)} response", replies=pl.Int64)
DISAGREEMENT = _columns(
    "draft_id claim_id n_rated majority_share jsd kept reason",
    n_rated=pl.Int64,
    majority_share=pl.Float64,
    jsd=pl.Float64,
    kept=pl.Boolean,
)
CONSENSUS = _columns(
    "draft_id rule claim_id confidence position stable details", confidence=pl.Float64, stable=pl.Boolean
)
PARTS = ("total", "diversity", "coverage", "family", "quality")  # of the worth of a panel
PANELS = _columns(
    f"draft_id analysts {' '.join(PARTS)} strong_wrong families positions",
    **dict.fromkeys(PARTS, pl.Float64),
    strong_wrong=pl.Boolean,
)
VERIFICATION = _columns("draft_id claim_id judge verdict")
GATES = _columns("name rule severity status found wanted")


def frame_of(rows: Iterable[Mapping[str, Any]], schema: pl.Schema) -> pl.DataFrame:
    """Return rows as a frame of exactly these columns."""
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def seed_row(seed: Seed) -> dict[str, Any]:
    """Return a seed as a row of SEEDS."""
    row = {name: getattr(seed, name) for name in SEEDS}
    return {**row, "claims": json.dumps(seed.claims), "known_answer": _known_text(seed.known_answer)}


def seeds_of(frame: pl.DataFrame) -> list[Seed]:
    """Return the seeds of a frame."""
    return [
        Seed(
            **{**row, "claims": tuple(json.loads(row["claims"])), "known_answer": _known(row["known_answer"])}
        )
        for row in frame.iter_rows(named=True)
    ]


def draft_row(draft: Draft) -> dict[str, Any]:
    """Return a draft, with how hard its designers find it, as a row of DRAFTS."""
    combined, tier = difficulty(draft.difficulty)
    return {
        "draft_id": draft.draft_id,
        "domain": draft.domain,
        "tier": tier,
        "combined": combined,
        "words": len(draft.vignette.split()),
        "vignette": draft.vignette,
        "claims": json.dumps(draft.claim_texts),
        "difficulty": json.dumps(draft.difficulty),
        "known_answer": _known_text(draft.known_answer),
        "is_error_detection": draft.is_error_detection,
    }


def drafts_of(frame: pl.DataFrame) -> list[Draft]:
    """Return the drafts of a frame."""
    return [
        Draft(
            row["draft_id"],
            row["domain"],
            row["vignette"],
            tuple(json.loads(row["claims"])),
            tuple(json.loads(row["difficulty"])),
            _known(row["known_answer"]),
            row["is_error_detection"],
        )
        for row in frame.iter_rows(named=True)
    ]


def opinion_rows(opinions: Opinions, replies: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return what the pool said of a draft as rows of OPINIONS; labels are null where no reply could be read."""
    labels = [each.labels or {} for each in opinions.candidates]
    said = zip(opinions.models, opinions.families, opinions.responses, labels, strict=True)
    return [
        {
            "draft_id": opinions.draft.draft_id,
            "analyst": model,
            "family": family,
            "replies": len(replies.get(model, ())),
            **{claim: rated.get(claim) for claim in CLAIM_IDS},
            "response": None if response is None else json.dumps(response),
        }
        for model, family, response, rated in said
    ]


def opinions_of(drafts: Sequence[Draft], frame: pl.DataFrame) -> list[Opinions]:
    """Return what the pool said of each draft, in the order of the drafts."""
    rows: dict[str, list[dict[str, Any]]] = {draft.draft_id: [] for draft in drafts}
    for row in frame.iter_rows(named=True):
        if row["draft_id"] in rows:
            rows[row["draft_id"]].append(row)
    return [
        Opinions(
            draft,
            tuple(row["analyst"] for row in rows[draft.draft_id]),
            tuple(row["family"] for row in rows[draft.draft_id]),
            tuple(
                None if row["response"] is None else json.loads(row["response"])
                for row in rows[draft.draft_id]
            ),
        )
        for draft in drafts
    ]


def disagreement_rows(draft: Draft, facts: Facts, verdict: Ambiguity) -> list[dict[str, Any]]:
    """Return what the labels say of each claim as rows of DISAGREEMENT."""
    measured = zip(CLAIM_IDS, facts.n_rated, facts.majority_share, facts.jsd, strict=True)
    return [
        {
            "draft_id": draft.draft_id,
            "claim_id": claim,
            "n_rated": n,
            "majority_share": share,
            "jsd": float(jsd),
            "kept": verdict.kept,
            "reason": verdict.reason,
        }
        for claim, n, share, jsd in measured
    ]


def consensus_rows(draft: Draft, consensus: Consensus) -> list[dict[str, Any]]:
    """Return a consensus as rows of CONSENSUS, one per claim."""
    return [
        {
            "draft_id": draft.draft_id,
            "rule": consensus.method,
            "claim_id": claim,
            "confidence": float(value),
            "position": consensus.claim_details[claim]["majority_position"],
            "stable": consensus.claim_details[claim].get("stable"),
            "details": json.dumps(consensus.claim_details[claim]),
        }
        for claim, value in consensus.claim_confidences.items()
    ]


def consensus_by_draft(frame: pl.DataFrame, rule: str) -> dict[str, Consensus]:
    """Return {draft: its consensus by a rule}."""
    found: dict[str, Consensus] = {}
    for row in frame.filter(pl.col("rule") == rule).iter_rows(named=True):
        given = found.setdefault(row["draft_id"], Consensus({}, {}, rule))
        given.claim_confidences[row["claim_id"]] = row["confidence"]
        given.claim_details[row["claim_id"]] = json.loads(row["details"])
    return found


def panel_row(draft: Draft, chosen: Selection) -> dict[str, Any]:
    """Return a panel as a row of PANELS, analysts in the order of their choice."""
    return {
        "draft_id": draft.draft_id,
        "analysts": json.dumps(chosen.selected_models),
        **asdict(chosen.scores),
        "strong_wrong": chosen.strong_wrong_included,
        "families": json.dumps(chosen.family_counts),
        "positions": json.dumps(chosen.position_summary),
    }


def panels_of(frame: pl.DataFrame) -> dict[str, Selection]:
    """Return {draft: its panel}."""
    return {
        row["draft_id"]: Selection(
            tuple(json.loads(row["analysts"])),
            Scores(**{part: row[part] for part in PARTS}),
            row["strong_wrong"],
            json.loads(row["families"]),
            json.loads(row["positions"]),
        )
        for row in frame.iter_rows(named=True)
    }


def verdicts_by_draft(frame: pl.DataFrame) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return {draft: {claim: verdicts}}, judges in their order; where a judge gave none it is left out."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for row in frame.iter_rows(named=True):
        claims = found.setdefault(row["draft_id"], {})
        given = () if row["verdict"] is None else (row["verdict"],)
        claims[row["claim_id"]] = (*claims.get(row["claim_id"], ()), *given)
    return found


def gate_frame(gates: Iterable[Gate]) -> pl.DataFrame:
    """Return gates as a frame of GATES."""
    return frame_of(({name: getattr(gate, name) for name in GATES} for gate in gates), GATES)


def gates_of(frame: pl.DataFrame) -> tuple[Gate, ...]:
    """Return the gates of a frame."""
    return tuple(Gate(**row) for row in frame.select(GATES.names()).iter_rows(named=True))


def _known_text(known: KnownAnswer | None) -> str | None:
    return None if known is None else json.dumps(asdict(known))


def _known(text: str | None) -> KnownAnswer | None:
    return None if text is None else KnownAnswer(**json.loads(text))
