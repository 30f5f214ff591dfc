"""Asking the pool: every analyst judges the same five claims of a draft, on his own, once more if he cannot be read.

The answers are transcripts like any other, in partitions of the benchmark ``medley_pool``, one per model and run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from metacog_pipeline.benchmarks.medley.construction.drafts import Draft
from metacog_pipeline.benchmarks.medley.construction.wording import SCALE_TEXT, Words, numbered_claims, tasks
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS
from metacog_pipeline.benchmarks.medley.labels import LABELS
from metacog_pipeline.benchmarks.medley.parsing import is_error, parse_reply
from metacog_pipeline.llm.types import Message
from metacog_pipeline.querying.types import Task

CONDITION = "pool"
ANALYSE, AGAIN = "analyse", "analyse_again"


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


def analyst_message(draft: Draft, words: Words) -> Message:
    """Return what an analyst is asked."""
    return Message(
        "user",
        words.filled(
            "analyst",
            vignette=draft.vignette,
            claims=numbered_claims(draft.claims),
            scale=words.text(SCALE_TEXT),
        ),
    )


def pool_tasks(drafts: Sequence[Draft], words: Words) -> list[Task]:
    """Return one task per draft for a model of the pool."""
    asked = (
        (each.draft_id, each.item_hash, analyst_message(each, words), partial(read_analyst, draft=each))
        for each in drafts
    )
    return tasks(asked, words, "analyst", (ANALYSE, AGAIN), CONDITION)


def _label(value: object) -> str | None:
    cleaned = value.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(value, str) else ""
    return cleaned if cleaned in LABELS else None
