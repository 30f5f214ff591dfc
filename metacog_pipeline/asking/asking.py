"""One step of one item: answered from the store when it was already paid for, asked otherwise, kept before it is used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import combinations
from typing import TYPE_CHECKING, Unpack

from metacog_pipeline.asking.learning import Learnt
from metacog_pipeline.asking.types import Answer, CallOptions
from metacog_pipeline.asking.unusable import Watch
from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm import types
from metacog_pipeline.llm.costs import price_list
from metacog_pipeline.llm.halt import NotSent
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.transcripts import raw
from metacog_pipeline.transcripts.identity import answer_id
from metacog_pipeline.transcripts.logprobs import encode_logprobs
from metacog_pipeline.transcripts.schema import Record, Source
from metacog_pipeline.transcripts.store import PartitionStore

if TYPE_CHECKING:
    from metacog_pipeline.llm.batch.lane import BatchModel

SIMULATED_PREFIX = "simulated/"  # model id reported by the local simulated provider
#: What to do, by HTTP status.
HINTS = {
    401: "check the key and the name in api_key_env",
    402: "check the account's credit",
    403: "check what the key may do",
    404: "check model and base_url",
    429: "wait, or set requests_per_minute to what the account allows",
}
KEY_CODES = ("api_key_invalid", "invalid_api_key")  # some providers say so with another status


class StepFailed(Exception):
    """A step got no answer; later steps of the item cannot be worded. Engine-internal."""

    def __init__(self, completion: types.Completion) -> None:
        super().__init__(_explained(completion))
        self.completion = completion


def _explained(completion: types.Completion) -> str:
    """Return what the provider said, its HTTP status, and what to do about it where that is known."""
    said, status = completion.error_message or "", completion.http_status
    if status is None or status < HTTPStatus.BAD_REQUEST:
        return said
    hint = HINTS.get(401 if (completion.error_code or "").lower() in KEY_CODES else status)
    return f"{said} (HTTP {status}{'; ' + hint if hint else ''})"


@dataclass(frozen=True, slots=True)
class Profile:
    """How a model is asked in one partition: the answer mode, and parameters it was found to refuse."""

    mode: str
    dropped: frozenset[str] = frozenset()


@dataclass(slots=True)
class Tally:
    """Running totals of one partition's session."""

    calls: int = 0
    reused: int = 0
    failed_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    current: set[str] = field(default_factory=set)
    simulated: bool = False

    def count(self, completion: types.Completion) -> None:
        """Add one finished call."""
        self.simulated |= (completion.model_reported or "").startswith(SIMULATED_PREFIX)
        self.calls += 1
        self.failed_calls += completion.status is types.Status.FAILED
        self.input_tokens += completion.usage.input_tokens or 0
        self.output_tokens += completion.usage.output_tokens or 0
        self.cost_usd += completion.cost_usd or 0.0

    def add(self, other: Tally) -> None:
        """Add another session's counters; which answers are current is another matter, and slow to copy at every call."""
        self.calls += other.calls
        self.reused += other.reused
        self.failed_calls += other.failed_calls
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cost_usd += other.cost_usd
        self.simulated |= other.simulated


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
    watch: Watch = field(default_factory=Watch)

    @property
    def lane(self) -> BatchModel | None:
        """The batches it is asked through; None online."""
        from metacog_pipeline.llm.batch.lane import BatchModel  # whoever imports answers needs no HTTP

        return self.model if isinstance(self.model, BatchModel) else None


SEED_STEP = 10_000_019  # between the seeds of samples: far from those of other runs and studies


def sampling_for(
    spec: ModelSpec,
    profile: Profile,
    seed: int,
    max_tokens: int | None,
    top_logprobs: int | None,
    send_temperature: bool = True,
) -> types.Sampling:
    """Return the sampling parameters of one call; what ``profile`` drops is not sent and not part of the identity.

    ``top_logprobs`` None takes the model's own number; 0, from either, sends none.
    """
    dropped = profile.dropped
    wanted = (spec.top_logprobs if top_logprobs is None else top_logprobs) or None
    return types.Sampling(
        temperature=spec.temperature if send_temperature and "temperature" not in dropped else None,
        max_tokens=max_tokens or spec.max_tokens,
        seed=None if "seed" in dropped else seed,
        top_logprobs=None if "top_logprobs" in dropped else wanted,
    )


def request_for(
    spec: ModelSpec,
    profile: Profile,
    seed: int,
    run: int,
    step: str,
    messages: Sequence[types.Message],
    options: CallOptions,
) -> types.ChatRequest:
    """Return one call as it is sent; ``seed`` is that of the partition. TypeError for an option there is not."""
    if unknown := options.keys() - CallOptions.__optional_keys__:
        raise TypeError(f"a call takes no {', '.join(sorted(unknown))}")
    sampling = sampling_for(
        spec,
        profile,
        seed + options.get("sample", 0) * SEED_STEP,
        options.get("max_tokens"),
        options.get("top_logprobs"),
        options.get("send_temperature", True),
    )
    return types.ChatRequest(tuple(messages), sampling, options.get("constraint"), step, run)


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
    """Return the identity of one call and how it is sent. ``answered`` says whether there is an answer under an identity.

    What ``profile`` leaves out of the sampling may have been taken once. A call that was answered with it stays that call:
    nothing answered is asked twice because a provider refuses more today.
    """
    request = request_for(spec, profile, seed, run, step, messages, options)
    identity = answer_id(spec, request)
    if profile.dropped and not answered(identity):
        for kept in range(len(profile.dropped) - 1, -1, -1):
            for dropped in combinations(sorted(profile.dropped), kept):
                fuller = replace(profile, dropped=frozenset(dropped))
                before = request_for(spec, fuller, seed, run, step, messages, options)
                if answered(known := answer_id(spec, before)):
                    return known, before
    return identity, request


@dataclass(slots=True)
class StepAsker:
    """The :class:`~metacog_pipeline.asking.types.Ask` of one item under one condition."""

    session: Session
    profile: Profile
    item_id: str
    item_hash: str
    condition: str
    replies: int = 0
    unusable: int = 0

    @property
    def gave_nothing(self) -> bool:
        """Whether half of the replies or more give nothing to read."""
        return self.unusable > 0 and 2 * self.unusable >= self.replies

    async def __call__(
        self, step: str, messages: Sequence[types.Message], **options: Unpack[CallOptions]
    ) -> Answer:
        """Answer one step."""
        session = self.session
        run, seed = session.run, session.seed
        answer = await self._answered(
            *identified(session.spec, self.profile, seed, run, step, messages, options, self._is_answered)
        )
        self.replies += 1
        self.unusable += not types.usable(answer.status, answer.text)
        return answer

    def _is_answered(self, identity: str) -> bool:
        return self.session.store.find(identity) is not None

    async def _answered(self, identity: str, request: types.ChatRequest) -> Answer:
        session = self.session
        first_time = identity not in session.tally.current
        session.tally.current.add(identity)
        while (running := session.in_flight.get(identity)) is not None:
            await asyncio.wait([running])  # the same call is being made for another item or condition
        if (stored := session.store.find(identity)) is not None:
            session.tally.reused += first_time
            if not session.store.has_row(identity, self.item_id, self.condition):
                await session.store.keep_reused(identity, self.item_id, self.item_hash, self.condition)
            return Answer(types.Status(stored.status), stored.text, stored.logprobs)
        if session.watch.stop is not None:
            raise NotSent
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
        session.watch.count(session.spec, session.learnt.known, request, completion)
        await session.store.keep(self._record(identity, request, completion))
        if completion.status is types.Status.FAILED:
            raise StepFailed(completion)
        return Answer(completion.status, completion.text, completion.logprobs)

    def _record(self, identity: str, request: types.ChatRequest, completion: types.Completion) -> Record:
        session = self.session
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
            model_reported=completion.model_reported,
            mode=self.profile.mode,
            request_json=types.request_json(request),
            status=completion.status.value,
            text=completion.text,
            finish_reason=completion.finish_reason,
            logprobs_json=encode_logprobs(completion.logprobs),
            input_tokens=completion.usage.input_tokens,
            output_tokens=completion.usage.output_tokens,
            cost_usd=completion.cost_usd,
            attempts=completion.attempts,
            started_at=completion.started_at or datetime.now(UTC),
            latency_s=completion.latency_s,
            http_status=completion.http_status,
            error_kind=completion.error_kind.value if completion.error_kind else None,
            error_code=completion.error_code,
            error_message=completion.error_message,
            reasoning_text=completion.reasoning_text,
            reasoning_tokens=completion.usage.reasoning_tokens,
            cached_tokens=completion.usage.cached_tokens,
            cache_write_tokens=completion.usage.cache_write_tokens,
            service_tier=completion.service_tier,
            lane=completion.lane,
            prices_json=_prices(session.spec, completion.lane),
            response_id=completion.response_id,
            system_fingerprint=completion.system_fingerprint,
            finish_detail=completion.finish_detail,
            latency_first_ms=_milliseconds(completion.latency_first_s),
            latency_ms=_milliseconds(completion.latency_s),
            attempts_billed=completion.attempts_billed,
            raw_zstd=raw.compressed(completion.raw),
        )


def _prices(spec: ModelSpec, lane: str) -> str | None:
    """Return the prices a call of this ``lane`` is paid at, as they are kept."""
    known = price_list(spec, batch=lane == "batch")
    return None if known is None else canonical_json(known)


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000.0


def source_of(spec: ModelSpec, model_reported: str | None = None) -> Source:
    """Return how answers of ``spec`` are labelled; simulated ones never pass as measured."""
    if spec.provider == "simulated" or (model_reported or "").startswith(SIMULATED_PREFIX):
        return "simulated"
    return "imported" if spec.provider == "replay" else "measured"


def is_fatal(error: StepFailed) -> bool:
    """Whether every further call to this model would fail the same way."""
    return error.completion.error_kind is types.ErrorKind.FATAL
