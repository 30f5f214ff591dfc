"""Asking three judges whether the consensus on each claim is right.

The answers are transcripts like any other, in partitions of the benchmark ``medley_verification``: one item per instance
and claim, as the published verification has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metacog_pipeline.benchmarks.medley.construction.drafts import Draft
from metacog_pipeline.benchmarks.medley.construction.verification import VERDICTS
from metacog_pipeline.benchmarks.medley.construction.wording import Words, tasks
from metacog_pipeline.benchmarks.medley.items import Consensus
from metacog_pipeline.benchmarks.medley.parsing import parse_reply
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.types import Message
from metacog_pipeline.querying.types import Task

CONDITION = "verification"
VERIFY, AGAIN = "verify", "verify_again"


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
    side = (
        "holds" if value > 0.5 else "does not hold" if value < 0.5 else "can neither be accepted nor rejected"
    )
    counts: Mapping[str, int] = details.get("position_distribution") or {}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"the statement {side} ({value:.2f} on a scale from 0 to 1{'; ' + said if said else ''})"


def verification_tasks(drafts: Sequence[tuple[Draft, Consensus]], words: Words) -> list[Task]:
    """Return one task per claim of every draft for a judge, who is asked again where the reply holds no verdict."""
    asked = []
    for draft, consensus in drafts:
        for claim, text in draft.claims.items():
            told = view(consensus, claim)
            shown = words.filled("verify", vignette=draft.vignette, claim=text, consensus=told)
            digest = sha256_hex(canonical_json([draft.item_hash, claim, told]))
            asked.append((verdict_id(draft.draft_id, claim), digest, Message("user", shown), read_verdict))
    return tasks(asked, words, "verify", (VERIFY, AGAIN), CONDITION)
