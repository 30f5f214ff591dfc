"""One call of one item: answered from the store when it was already paid for, asked otherwise, kept before it is used."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import combinations
from typing import TYPE_CHECKING, Any, Unpack

from metacog_pipeline.asking.states import Profile, StepFailed, Tally, source_of
from metacog_pipeline.asking.types import Answer, CallOptions
from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import Learnt
from metacog_pipeline.llm.costs import price_list, usage_cost
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.transcripts.lines import decode_logprobs, encode_logprobs
from metacog_pipeline.transcripts.schema import Record, answer_id
from metacog_pipeline.transcripts.store import PartitionStore

if TYPE_CHECKING:
    from metacog_pipeline.llm.batch.queue import BatchModel

# between the seeds of samples: far from those of other runs and studies
SEED_STEP = 10_000_019
#: Fields that a record takes from the completion, and from its usage, under the same name.
_OF_COMPLETION = (
    *("model_reported", "text", "finish_reason", "finish_detail", "cost_usd", "attempts", "attempts_billed"),
    *("latency_s", "http_status", "error_code", "error_message", "reasoning_text", "service_tier"),
    *("lane", "response_id", "system_fingerprint"),
)
_OF_USAGE = ("input_tokens", "output_tokens", "reasoning_tokens", "cached_tokens", "cache_write_tokens")


@dataclass(slots=True)
class Session:
    """Everything the steps of one partition share."""

    benchmark: str
    spec: ModelSpec
    run: int
    seed: int
    model: types.ChatModel
    store: PartitionStore
    tally: Tally = field(default_factory=Tally)
    in_flight: dict[str, asyncio.Future[Answer]] = field(default_factory=dict)
    learnt: Learnt = field(default_factory=Learnt)
    # the model, where it is asked through batches
    queue: BatchModel | None = None

    def find(self, identity: str) -> Answer | None:
        """Return the answer kept under an identity."""
        if (found := self.store.find(identity)) is None:
            return None
        return Answer(types.Status(found.status), found.text, decode_logprobs(found.logprobs_json))


def sampling_for(
    spec: ModelSpec, profile: Profile, seed: int, options: CallOptions | None = None
) -> types.Sampling:
    """Return the sampling parameters of one call; what ``profile`` drops is not sent and not part of the identity."""
    given: CallOptions = options or {}
    top_logprobs = given.get("top_logprobs")
    send_temperature = given.get("send_temperature", True) and "temperature" not in profile.dropped
    wanted = spec.top_logprobs if top_logprobs is None else top_logprobs
    return types.Sampling(
        temperature=spec.temperature if send_temperature else None,
        max_tokens=given.get("max_tokens") or spec.max_tokens,
        seed=None if "seed" in profile.dropped else seed + given.get("sample", 0) * SEED_STEP,
        top_logprobs=None if "top_logprobs" in profile.dropped else wanted or None,
    )


def identified(
    spec: ModelSpec,
    profile: Profile,
    seed: int,
    run: int,
    step: str,
    messages: Sequence[types.Message],
    options: CallOptions,
    answered: Callable[[str], bool],
) -> tuple[str, types.ChatRequest]:
    """Return the identity of one call and how it is sent; ``answered`` says whether an identity has an answer."""
    # What is left out of the sampling may have been taken once. A call answered with it stays that call:
    # nothing is asked twice because a provider refuses more today.
    found = []
    # As it is asked now, then with ever more of what was left out.
    for kept in range(len(profile.dropped), -1, -1):
        for dropped in combinations(sorted(profile.dropped), kept):
            sampling = sampling_for(spec, replace(profile, dropped=frozenset(dropped)), seed, options)
            request = types.ChatRequest(tuple(messages), sampling, options.get("constraint"), step, run)
            found.append((answer_id(spec, request), request))
            if not profile.dropped or answered(found[-1][0]):
                return found[-1]
    return found[0]


@dataclass(slots=True)
class StepAsker:
    """The :class:`~metacog_pipeline.asking.types.Ask` of one item under one condition."""

    session: Session
    profile: Profile
    item_id: str
    item_hash: str
    condition: str
    # whether its last reply gave something to read
    readable: bool = True

    async def __call__(
        self, step: str, messages: Sequence[types.Message], **options: Unpack[CallOptions]
    ) -> Answer:
        """Answer one step."""
        session = self.session
        identity, request = identified(
            session.spec, self.profile, session.seed, session.run, step, messages, options,
            lambda identity: session.find(identity) is not None,
        )  # fmt: skip
        answer = await self._answered(identity, request)
        self.readable = types.usable(answer.status, answer.text)
        return answer

    async def _answered(self, identity: str, request: types.ChatRequest) -> Answer:
        session = self.session
        first_time = identity not in session.tally.current
        session.tally.current.add(identity)
        while (running := session.in_flight.get(identity)) is not None:
            # the same call is being made for another item or condition
            await asyncio.wait([running])
        if (kept := session.find(identity)) is not None:
            session.tally.reused += first_time
            if not session.store.has_row(identity, self.item_id, self.condition):
                await session.store.keep_reused(identity, self.item_id, self.item_hash, self.condition)
            return kept
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        session.in_flight[identity] = future
        try:
            return await self._ask(identity, request)
        finally:
            del session.in_flight[identity]
            future.cancel()

    async def _ask(self, identity: str, request: types.ChatRequest) -> Answer:
        session = self.session
        completion = await session.model.complete(request)
        session.tally.count(completion)
        session.learnt.observe(request, completion)
        await session.store.keep(self._record(identity, request, completion))
        if completion.status is types.Status.FAILED:
            raise StepFailed(completion)
        return Answer(completion.status, completion.text, completion.logprobs)

    def _record(self, identity: str, request: types.ChatRequest, completion: types.Completion) -> Record:
        session, first_s = self.session, completion.latency_first_s
        prices = _prices(session.spec, completion)
        same: dict[str, Any] = {name: getattr(completion, name) for name in _OF_COMPLETION}
        same |= {name: getattr(completion.usage, name) for name in _OF_USAGE}
        return Record(
            answer_id=identity,
            benchmark=session.benchmark,
            model=session.spec.name,
            run=session.run,
            item_id=self.item_id,
            item_hash=self.item_hash,
            condition=self.condition,
            step=request.step,
            source=source_of(session.spec, completion.model_reported),
            provider=session.spec.provider,
            model_id=session.spec.model or session.spec.name,
            mode=self.profile.mode,
            request_json=types.request_json(request),
            status=completion.status.value,
            logprobs_json=encode_logprobs(completion.logprobs),
            started_at=completion.started_at or datetime.now(UTC),
            prices_json=None if prices is None else canonical_json(prices),
            error_kind=completion.error_kind.value if completion.error_kind else None,
            latency_first_ms=None if first_s is None else first_s * 1000.0,
            latency_ms=completion.latency_s * 1000.0,
            **same,
        )


def _prices(spec: ModelSpec, completion: types.Completion) -> dict[str, float] | None:
    """Return the prices a cost was made with; ``None`` where tokens times prices are another cost."""
    batch, usage, charged = completion.lane == "batch", completion.usage, completion.cost_usd
    prices = price_list(spec, batch=batch)
    if None in (usage.input_tokens, usage.output_tokens) or completion.attempts_billed != 1:
        return prices  # no board computes it from these
    reported = usage_cost(spec, usage, batch=batch)
    if reported is None or charged is None or math.isclose(reported, charged, rel_tol=1e-9, abs_tol=1e-9):
        return prices
    # A bill that could not be believed was reconciled: boards compute the parts of a cost from tokens and prices.
    return None
