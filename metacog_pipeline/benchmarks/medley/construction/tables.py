"""What each step of the construction writes, and how the next one reads it: flat tables, nested parts as JSON text."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl
from pydantic import TypeAdapter

from metacog_pipeline.benchmark.schema import json_text
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft, Seed
from metacog_pipeline.benchmarks.medley.construction.filters import difficulty
from metacog_pipeline.benchmarks.medley.construction.ratings import Ranks, ranks
from metacog_pipeline.benchmarks.medley.construction.selection import Candidate
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, Consensus


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


def frame_of(rows: Iterable[Any], schema: pl.Schema) -> pl.DataFrame:
    """Return rows, by position or by name, as a frame of exactly these columns."""
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def seed_frame(seeds: Iterable[Seed]) -> pl.DataFrame:
    """Return seeds as a frame of SEEDS."""
    return frame_of(([_cell(getattr(seed, name)) for name in SEEDS] for seed in seeds), SEEDS)


def seeds_of(frame: pl.DataFrame) -> list[Seed]:
    """Return the seeds of a frame."""
    return _seeds().validate_python(frame.to_dicts())


def draft_frame(drafts: Iterable[Draft]) -> pl.DataFrame:
    """Return drafts, with how hard their designers find them, as a frame of DRAFTS."""
    rows = []
    for draft in drafts:
        combined, tier = difficulty(draft.difficulty)
        judged = [tier, combined, len(draft.vignette.split())]
        lists = [_cell(draft.claim_texts), _cell(draft.difficulty), _cell(draft.known_answer)]
        row = [draft.draft_id, draft.domain, *judged, draft.vignette, *lists, draft.is_error_detection]
        rows.append(row)
    return frame_of(rows, DRAFTS)


def drafts_of(frame: pl.DataFrame) -> list[Draft]:
    """Return the drafts of a frame."""
    return _drafts().validate_python(frame.rename({"claims": "claim_texts"}).to_dicts())


@dataclass(frozen=True, slots=True)
class Opinions:
    """What the whole pool said of one draft, in the order of the pool."""

    draft: Draft
    candidates: tuple[Candidate, ...]

    @property
    def ranks(self) -> Ranks:
        """(analysts, 5) ranks of their labels; -1 where there is none."""
        return ranks([each.labels for each in self.candidates], CLAIM_IDS)


def opinions_of(drafts: Iterable[Draft], frame: pl.DataFrame) -> list[Opinions]:
    """Return what the pool said of each draft, in the order of the drafts."""
    said: dict[str, list[Candidate]] = {}
    for row in frame.iter_rows(named=True):
        read = row["response"] is not None
        labels = {claim: row[claim] for claim in CLAIM_IDS} if read else None
        response = json.loads(row["response"]) if read else None
        candidate = Candidate(row["analyst"], row["family"], labels, response)
        said.setdefault(row["draft_id"], []).append(candidate)
    return [Opinions(draft, tuple(said.get(draft.draft_id, ()))) for draft in drafts]


def consensus_rows(draft: Draft, consensus: Consensus) -> list[tuple[Any, ...]]:
    """Return a consensus as rows of CONSENSUS, one per claim."""
    rows = []
    for claim, value in consensus.claim_confidences.items():
        told = consensus.claim_details[claim]
        position, stable = told["majority_position"], told.get("stable")
        head = (draft.draft_id, consensus.method, claim, float(value))
        rows.append((*head, position, stable, json.dumps(told)))
    return rows


def consensus_by_draft(frame: pl.DataFrame, rule: str) -> dict[str, Consensus]:
    """Return {draft: its consensus by a rule}."""
    found: dict[str, Consensus] = {}
    for row in frame.filter(pl.col("rule") == rule).iter_rows(named=True):
        given = found.setdefault(row["draft_id"], Consensus({}, {}, rule))
        given.claim_confidences[row["claim_id"]] = row["confidence"]
        given.claim_details[row["claim_id"]] = json.loads(row["details"])
    return found


def verdicts_by_draft(frame: pl.DataFrame) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return {draft: {claim: verdicts}}, judges in their order; where a judge gave none it is left out."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for draft, claim, _, verdict in frame.select(VERIFICATION.names()).iter_rows():
        claims = found.setdefault(draft, {})
        claims[claim] = (*claims.get(claim, ()), *([] if verdict is None else [verdict]))
    return found


def _cell(value: Any) -> Any:
    return json_text(value) if value is not None and not isinstance(value, str) else value


@functools.cache
def _seeds() -> TypeAdapter[list[Seed]]:
    return TypeAdapter(list[Seed])


@functools.cache
def _drafts() -> TypeAdapter[list[Draft]]:
    return TypeAdapter(list[Draft])
