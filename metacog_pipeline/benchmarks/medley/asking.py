"""How one instance is asked: alone, then looking over the own answer, then after reading others; three separate contexts.

Each call begins afresh and shares no history with the others: what B-private and B-social know of step A is its reply,
quoted whole in their prompts. Conditions differ in what B-social shows. Step A and B-private are worded the same in all of
them, so that they are asked once and their answers are found again under every other condition.
"""

from __future__ import annotations

import functools
import json

from metacog_pipeline.asking.types import Ask
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, STEPS, Instance
from metacog_pipeline.benchmarks.medley.labels import LABELS
from metacog_pipeline.benchmarks.medley.presentation import MASKING, MINIMAL, NUDGED, Masking, presented
from metacog_pipeline.benchmarks.medley.prompts import (
    B_PRIVATE,
    B_SOCIAL,
    STEP_A,
    Wording,
    b_private_messages,
    b_social_messages,
    bare_messages,
    step_a_messages,
)
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Constraint, JsonObject, Status

MODES = ("json_schema", "text")
ANSWER_TOKENS = 10_000  # the least a reply may take; a model row that allows more is taken at its word
DIFFICULTIES = ("easy", "moderate", "hard")


def steps(mode: str) -> tuple[str, ...]:
    """Return the names of the calls one instance takes in ``mode``; raise `StudyError` for an unknown mode."""
    if mode not in MODES:
        raise StudyError(f"medley: unknown answer mode {mode!r}; allowed are: {', '.join(MODES)}")
    return STEPS


def constraint(mode: str, step: str, claim_ids: tuple[str, ...] = CLAIM_IDS) -> Constraint | None:
    """Return what the answer to ``step`` is held to in ``mode``."""
    if step not in steps(mode):
        raise StudyError(f"medley: answer mode {mode!r} has no step {step!r}")
    return None if mode == "text" else _reply_object(step == STEP_A, claim_ids)


def answer_tokens(spec: ModelSpec) -> int:
    """Return how many tokens a reply may take."""
    return max(spec.max_tokens, ANSWER_TOKENS)


async def ask_item(
    item: Instance,
    condition: str,
    mode: str,
    ask: Ask,
    wording: Wording,
    spec: ModelSpec,
    *,
    masking: Masking = MASKING,
) -> None:
    """Ask every step of ``item``; the answers are kept by ``ask``. Raises `StudyError` for a wrong mode or condition.

    ``item`` is as the data has it; what its condition shows is made here. After a step A that was refused or cut off by
    the length limit nothing more is asked: it cannot be quoted whole. One that cannot be read is quoted as it is. No
    alternatives to the tokens are asked for: replies are long, and nobody reads them.
    """
    shown = presented(item, condition, masking)
    claims = tuple(claim.claim_id for claim in item.claims) or CLAIM_IDS
    tokens = answer_tokens(spec)
    first = await ask(
        STEP_A,
        step_a_messages(item, wording),
        constraint=constraint(mode, STEP_A, claims),
        max_tokens=tokens,
        top_logprobs=0,
    )
    if first.status is not Status.OK:
        return
    later = {
        B_PRIVATE: b_private_messages(item, first.text, wording, generic=condition == NUDGED),
        B_SOCIAL: bare_messages(shown, first.text, wording)
        if condition == MINIMAL
        else b_social_messages(shown, first.text, wording, masking),
    }
    for step, messages in later.items():
        await ask(
            step, messages, constraint=constraint(mode, step, claims), max_tokens=tokens, top_logprobs=0
        )


@functools.cache
def _reply_object(alone: bool, claim_ids: tuple[str, ...]) -> JsonObject:
    text = {"type": "string"}
    claim: dict[str, object] = {"claim_id": {"type": "string", "enum": list(claim_ids)}}
    if alone:
        claim["claim_text"] = text
    claim |= {"confidence": {"type": "string", "enum": list(LABELS)}, "reasoning": text}
    fields: dict[str, object] = {"assessment": text}
    if alone:
        fields["difficulty_prediction"] = {"type": "string", "enum": list(DIFFICULTIES)}
    fields["claim_level_assessments"] = {"type": "array", "items": _object(claim)}
    if alone:
        fields["key_uncertainties"] = {"type": "array", "items": text}
    return JsonObject("assessment" if alone else "revision", json.dumps(_object(fields)))


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
