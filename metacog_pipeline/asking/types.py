"""What a benchmark's protocol sees while it asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypedDict, Unpack

from metacog_pipeline.llm.types import Constraint, Message, Status, TokenLogprob


@dataclass(frozen=True, slots=True)
class Answer:
    """What a protocol may use of an answer when it words the next prompt. Never a failed one."""

    status: Status
    text: str
    logprobs: tuple[TokenLogprob, ...] = ()


class CallOptions(TypedDict, total=False):
    """How a call departs from the row of its model; what is not given, or None, is as there."""

    constraint: Constraint | None
    max_tokens: int | None
    top_logprobs: int | None  # 0: none
    # False leaves the decoding to what ships with the model
    send_temperature: bool
    # counts several answers to the same words from 0, each with a sampling seed of its own
    sample: int


class Ask(Protocol):
    """Ask one step of one item; answered from the store when the same call was already paid for."""

    # Where the call failed or the budget is spent it raises what a protocol lets pass.
    async def __call__(
        self, step: str, messages: Sequence[Message], **options: Unpack[CallOptions]
    ) -> Answer:
        """Return the answer to ``messages``."""
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """One item under one condition. ``run`` asks its steps in the given answer mode."""

    item_id: str
    item_hash: str
    condition: str
    run: Callable[[Ask, str], Awaitable[None]]
