"""Which calls are the same call, and which of several answers to one counts: none that was paid for is asked for twice."""

from __future__ import annotations

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Status, request_json, usable
from metacog_pipeline.transcripts.schema import Record

FINISHED = frozenset((Status.OK, Status.REFUSED, Status.TRUNCATED))


def answer_id(spec: ModelSpec, request: ChatRequest) -> str:
    """Return the identity of the answer ``spec`` gives to ``request``: 64 lower-case hex digits.

    SHA-256 of the canonical JSON of what decides an answer in the model's row of the study and of the request. Item and
    condition are not part of it: the same words sent to the same model with the same parameters are one call.
    """
    # Both parts are canonical JSON already, so joining them gives the canonical JSON of the list of both.
    return sha256_hex(f"[{spec.identity_json},{request_json(request)}]")


def replaces(new: Record, old: Record) -> bool:
    """Whether an answer replaces one kept before: usable before not, then newer; of one asking the first."""
    standing = [(usable(each.status, each.text), each.reask) for each in (new, old)]
    return new.reask != old.reask and standing[0] > standing[1]
