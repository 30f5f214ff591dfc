"""Replies that were billed and give nothing to read: counted, and stopped before many of them are paid for.

`llm.types.usable` alone decides what gives nothing to read: a blank reply (empty, or refused by a filter), one that was cut
before its answer began, one cut in the middle of its JSON. A refusal in words is an answer. So is text that was cut: the
benchmark's reader says whether it holds what was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec
from metacog_pipeline.llm.types import Completion, Status, usable
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import standing_answers

#: What five questions in a row do not get, the next thousand will not get either.
STOP_AFTER_UNUSABLE_IN_A_ROW = 5
HOW_TO_REASK = "`metacog run --reask unusable` asks for what was kept of these again"


@dataclass(slots=True)
class Watch:
    """Looks at every reply of a session. ``stop`` says why no more should be asked, once that is so."""

    in_a_row: int = 0
    stop: str | None = None
    advice: str | None = None

    def count(self, spec: ModelSpec, known: Capabilities, reply: Completion) -> None:
        """Take note of a reply; a call that failed was no reply, and in this process nothing is billed."""
        if reply.status is Status.FAILED or spec.provider in IN_PROCESS:
            return
        if usable(reply.status, reply.text):
            self.in_a_row = 0
            return
        self.in_a_row += 1
        self.advice = _advice(spec, known, reply)
        if self.in_a_row >= STOP_AFTER_UNUSABLE_IN_A_ROW and self.stop is None:
            what = f"{self.in_a_row} replies in a row were billed and cannot be used"
            self.stop = f"{what}; the last {self.advice}; {HOW_TO_REASK}"


def to_ask_again(folder: PartitionFolder) -> set[str]:
    """Return the answers kept in ``folder`` that `metacog run --reask unusable` asks again.

    Those that give nothing to read, and those that were cut after the model had thought: it had too little room. A text
    that cannot be parsed is what the model said, and is never asked again.
    """
    again = {record.answer_id: _cut_short(record) for record in standing_answers(folder)}
    return {answer_id for answer_id, cut in again.items() if cut}


def _cut_short(record: Record) -> bool:
    thought = bool(record.reasoning_tokens or record.reasoning_text)
    return not usable(record.status, record.text) or (record.status == Status.TRUNCATED and thought)


def _advice(spec: ModelSpec, known: Capabilities, reply: Completion) -> str:
    """Return how the reply came to nothing, and which keys of the model's row to change."""
    said = reply.finish_detail or reply.finish_reason
    how = {Status.REFUSED: "refused by the provider's filter", Status.TRUNCATED: "cut before its answer"}
    came = f"was {how.get(reply.status, 'empty')}" + (f" (finish_reason {said})" if said else "")
    if reply.status is Status.REFUSED:
        change = "set the provider's filter in extra_body, or take the model out of this benchmark"
    elif known.reasons or reply.reasoning_text or reply.usage.reasoning_tokens:
        took = f"thinking took {reply.usage.reasoning_tokens or 'all its'} tokens"
        effort = f' (now "{spec.effort}")' if spec.effort is not None else ""
        room = f"raise thinking_tokens (now {known.thinking_room(spec)})"
        change = f"{took}: {room}, or set effort lower{effort}"
    else:
        change = f'raise max_tokens (now {spec.max_tokens}), or set answer_mode = "text"'
    return f"{came}: of model {spec.name}, {change}"
