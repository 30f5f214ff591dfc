"""Replies that were billed and give nothing to read: what to change, and which of them are asked again on request.

`llm.types.usable` alone decides what gives nothing to read: a blank reply (empty, or refused by a filter), one that was cut
before its answer began, one cut in the middle of its JSON. A refusal in words is an answer. So is text that was cut: the
benchmark's reader says whether it holds what was asked for.
"""

from __future__ import annotations

from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Status, usable
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.store import standing_answers


def advice(spec: ModelSpec) -> str:
    """Return what to change where replies of ``spec`` give nothing to read: most were cut while the model thought."""
    effort = f', set effort lower (now "{spec.effort}")' if spec.effort is not None else ""
    return (
        f"of model {spec.name}, raise thinking_tokens or max_tokens (now {spec.max_tokens}){effort}, "
        f'set answer_mode = "text", or turn off the filter in extra_body; then `metacog run --reask unusable`'
    )


def to_ask_again(folder: PartitionFolder) -> set[str]:
    """Return the answers kept in ``folder`` that `metacog run --reask unusable` asks again.

    Those that give nothing to read, and those that were cut after the model had thought: it had too little room. A text
    that cannot be parsed is what the model said, and is never asked again.
    """
    again = {}
    for record in standing_answers(folder):  # of one identity the last stands
        thought = bool(record.reasoning_tokens or record.reasoning_text)
        cut = record.status == Status.TRUNCATED and thought
        again[record.answer_id] = cut or not usable(record.status, record.text)
    return {answer_id for answer_id, asked in again.items() if asked}
