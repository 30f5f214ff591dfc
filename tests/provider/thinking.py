"""Reasoning, simulated: tokens thought and billed before the answer, and the answer cut where no room is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.llm.types import Completion, Status, request_json
from tests.provider import dialects

CHARACTERS_PER_TOKEN = 4  # as `dialects.token_count` counts
HUGE_CHARACTERS = 10 * 2**20
_FILLER = "The first option fits – naïvely. Compare it with the next one: what speaks against it? "


class Reasoning(BaseModel):
    """How much is thought before an answer.

    About ``tokens`` where the call says nothing, from half to one and a half of it, always the same for the same
    request. ``efforts`` are the shares of it at each effort, 0: none at all. ``by_default`` says whether a call that
    asks for no thinking is thought about.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens: int = Field(default=0, ge=0)
    efforts: Mapping[str, float] = Field(default_factory=dict)
    by_default: bool = True

    def wanted(self, asked: dialects.Asked) -> int:
        if not self.tokens or asked.budget == 0:
            return 0
        if not (self.by_default or asked.on or asked.budget):
            return 0
        drawn = int(sha256_hex(request_json(asked.request).encode("utf-8", "surrogatepass"))[:8], 16) / 2**32
        thought = round(self.tokens * (0.5 + drawn) * self.efforts.get(asked.effort or "", 1.0))
        return thought if asked.budget is None else min(thought, asked.budget)


def text_of(tokens: int) -> str:
    length = tokens * CHARACTERS_PER_TOKEN
    return (_FILLER * (length // len(_FILLER) + 1))[:length]


def worked(completion: Completion, wanted: int, limit: int | None, *, bounded: bool) -> Completion:
    """Return ``completion`` after ``wanted`` tokens of thinking.

    The thinking is billed and takes room from ``limit``; with ``bounded`` or any thinking the answer is cut where it
    leaves too little. What ``completion`` says itself of thinking and of usage stands.
    """
    spent = wanted if limit is None else min(wanted, limit)
    if spent and completion.reasoning_text is None:
        completion = replace(completion, reasoning_text=text_of(spent))
    if spent and completion.usage.reasoning_tokens is None:
        completion = replace(completion, usage=replace(completion.usage, reasoning_tokens=spent))
    if limit is None or not (bounded or wanted) or completion.status is Status.REFUSED:
        return completion
    room = limit - spent
    if wanted > spent or dialects.token_count(completion.text) > room:
        cut = completion.text[: room * CHARACTERS_PER_TOKEN]
        return replace(completion, status=Status.TRUNCATED, text=cut, logprobs=())
    return completion
