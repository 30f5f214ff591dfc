"""What a benchmark's protocol sees while it asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from metacog_pipeline.llm.types import Constraint, Message, Status, TokenLogprob


@dataclass(frozen=True, slots=True)
class Answer:
    """What a protocol may use of an answer when it words the next prompt. Never a failed one."""

    status: Status
    text: str
    logprobs: tuple[TokenLogprob, ...] = ()


class Ask(Protocol):
    """Ask one step of one item; answered from the store when the same call was already paid for.

    Raises an engine-internal exception when the call failed or the budget is spent; a protocol lets it pass.
    """

    async def __call__(
        self,
        step: str,
        messages: Sequence[Message],
        *,
        constraint: Constraint | None = None,
        max_tokens: int | None = None,
        top_logprobs: int | None = None,
        send_temperature: bool = True,
        sample: int = 0,
    ) -> Answer:
        """Return the answer to ``messages``; ``max_tokens=None`` takes the model's own limit.

        ``send_temperature=False`` leaves the decoding to what ships with the model; ``sample`` counts several answers to
        the same words from 0, each of which has a sampling seed of its own.
        """
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """One item under one condition. ``run`` asks its steps in the given answer mode."""

    item_id: str
    item_hash: str
    condition: str
    run: Callable[[Ask, str], Awaitable[None]]
