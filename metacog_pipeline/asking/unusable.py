"""Replies that were billed and give nothing to read: counted, and stopped before many of them are paid for.

`llm.types.usable` alone decides what gives nothing to read: a blank reply (empty, or refused by a filter), one that was cut
before its answer began, one cut in the middle of its JSON. A refusal in words is an answer. So is text that was cut: the
benchmark's reader says whether it holds what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec
from metacog_pipeline.llm.types import Completion, Status, usable
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.store import standing_answers

#: What five questions in a row do not get, the next thousand will not get either.
STOP_AFTER_UNUSABLE_IN_A_ROW = 5
LEAST_USABLE_SHARE = 0.5  # a partition with less is never complete
HOW_TO_REASK = "`metacog run --reask unusable` asks for what was kept of these again"


@dataclass(slots=True)
class Watch:
    """Looks at every reply of a session; ``stop`` is called once no more should be asked, with the reason."""

    spec: ModelSpec
    stop: Callable[[str], None] = lambda reason: None
    in_a_row: int = 0
    ended: bool = False
    advice: str = ""

    def count(self, known: Capabilities, reply: Completion) -> None:
        """Take note of a reply; a call that failed was no reply, and in this process nothing is billed."""
        if reply.status is Status.FAILED or self.spec.provider in IN_PROCESS:
            return
        if usable(reply.status, reply.text):
            self.in_a_row = 0
            return
        self.in_a_row += 1
        self.advice = _advice(self.spec, known, reply)
        if self.in_a_row >= STOP_AFTER_UNUSABLE_IN_A_ROW and not self.ended:
            self.ended = True
            what = f"{self.in_a_row} replies in a row were billed and cannot be used"
            self.stop(f"{what}; the last {self.advice}; {HOW_TO_REASK}")

    def too_few(self, answered: int, unusable: int) -> str | None:
        """Return the line that says that too few answers can be used; simulated observers say nothing on purpose."""
        enough = answered - unusable >= LEAST_USABLE_SHARE * answered
        if enough or self.spec.provider == "simulated":
            return None
        why = f"; the last {self.advice}" if self.advice else ""
        return f"{unusable} of {answered} items have no usable answer{why}; {HOW_TO_REASK}"


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


def _advice(spec: ModelSpec, known: Capabilities, reply: Completion) -> str:
    """Return how the reply came to nothing, and which keys of the model's row to change."""
    how = {Status.REFUSED: "refused by the provider's filter", Status.TRUNCATED: "cut before its answer"}
    said = reply.finish_detail or reply.finish_reason
    came = f"was {how.get(reply.status, 'empty')} (finish_reason {said}): of model {spec.name}, "
    if reply.status is Status.REFUSED:
        return f"{came}set the provider's filter in extra_body, or take the model out of this benchmark"
    if known.reasons or reply.reasoning_text or reply.usage.reasoning_tokens:
        took = f"{came}thinking took {reply.usage.reasoning_tokens or 'all its'} tokens"
        effort = f' (now "{spec.effort}")' if spec.effort is not None else ""
        return f"{took}: raise thinking_tokens (now {known.thinking_room(spec)}), or set effort lower{effort}"
    return f'{came}raise max_tokens (now {spec.max_tokens}), or set answer_mode = "text"'
