"""Two calls at most that say whether a model can be asked at all, and what it takes: before a study spends anything."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

import httpx

from metacog_pipeline.asking.learning import Learnt
from metacog_pipeline.asking.negotiation import (
    OPTIONS,
    Negotiation,
    Refused,
    Way,
    may_be_an_option,
    named_option,
)
from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.asking.spent import kept_cost
from metacog_pipeline.asking.states import StepFailed
from metacog_pipeline.asking.step import sampling_for
from metacog_pipeline.errors import BudgetError, ProviderError, StudyError
from metacog_pipeline.llm import capabilities, types
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.open import Clients, open_model
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec
from metacog_pipeline.study import Study

QUESTION = (
    types.Message("user", 'Is water wet? Reply with the JSON object {"answer": "yes"} or {"answer": "no"}.'),
)
SCHEMA = types.JsonObject(
    "answer",
    '{"type": "object", "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}}, '
    '"required": ["answer"], "additionalProperties": false}',
)
HELD, FREE = "json_schema", "text"
SEED = 1
ROOM = "thinking_room"


async def probe(
    study: Study,
    spec: ModelSpec,
    *,
    transport: Callable[[], httpx.AsyncBaseTransport] | None = None,
    retries: RetryPolicy | None = None,
) -> tuple[Capabilities, str | None]:
    """Return what is known of ``spec`` and, where it cannot be asked, one line that says why and what to do.

    A model that has answered before is not asked. Another is asked with every option, and where that is refused once more
    without any: both calls are billed through the budget, and what they teach is kept for the study's benchmarks.
    ``transport``, ``retries``: take the place of the network and of the usual patience.
    """
    if spec.provider in IN_PROCESS:
        return NOTHING_KNOWN, None
    home, cap, now = study.home, study.study.budget_usd, request_digest(spec)
    kept = capabilities.load(home, spec.name, now)
    if kept is not None and kept.first_reply_s is not None:
        return kept, None
    try:
        with contextlib.closing(Budget.open(home, cap, known_spent_usd=kept_cost(home))) as budget:
            async with Clients(budget=budget, transport=transport, retries=retries) as clients:
                model = open_model(spec, shared=clients)
                learnt = Learnt.of(model, home, spec.name, now)
                learnt.take(await clients.listed(spec, learnt.known))
                problem = await _probed(model, spec, learnt)
    except (BudgetError, ProviderError, StudyError) as error:
        return NOTHING_KNOWN, str(error)
    return learnt.known, problem


async def _probed(model: types.ChatModel, spec: ModelSpec, learnt: Learnt) -> str | None:
    """Ask with all options, then bare; keep what was learnt. Return why the model cannot be asked."""
    modes = (HELD, FREE) if spec.answer_mode in ("auto", HELD) else (FREE,)
    negotiation = Negotiation(spec, modes, learnt.known)
    first = await _asked(model, spec, learnt, negotiation.way)
    if first.status is not types.Status.FAILED:
        learnt.save()
        return _nothing_read(spec, first)
    if not may_be_an_option(first):
        return str(StepFailed(first))
    try:
        negotiation.refused(first)
    except Refused as error:
        return str(error)
    # What was not named is not known to be refused: the first question of a benchmark finds it out.
    by_name = named_option(first) in OPTIONS
    way = negotiation.way
    refused = way.known.refused | way.profile.dropped if by_name else frozenset[str]()
    negotiation.bare = True
    bare = negotiation.way
    if by_name and ROOM not in refused:  # where options are named, the room would be named too
        bare = replace(bare, known=replace(bare.known, refused=bare.known.refused - {ROOM}))
    second = await _asked(model, spec, learnt, bare)
    if second.status is types.Status.FAILED:
        if ROOM in bare.known.refused or named_option(second) != "limit":
            return str(Refused(second, negotiation.advice(second), decided=True))
        refused |= {ROOM}  # key, model and address are right: only the room to think was too large
    cut = second.status is types.Status.TRUNCATED  # bare, for want of room: the model answers all the same
    if cut:
        learnt.known = replace(learnt.known, reasoning_tokens=None, reasoning_share=None)
    found = replace(learnt.known, api=way.known.api, limit_field=way.known.limit_field, refused=refused)
    learnt.take(replace(found, refused_modes=negotiation.refused_modes))
    learnt.save()
    return None if cut or second.status is types.Status.FAILED else _nothing_read(spec, second)


async def _asked(model: types.ChatModel, spec: ModelSpec, learnt: Learnt, way: Way) -> types.Completion:
    held = SCHEMA if way.profile.mode == HELD else None
    request = types.ChatRequest(QUESTION, sampling_for(spec, way.profile, SEED), held, "probe")
    learnt.attempt(way.known)
    completion = await model.complete(request)
    learnt.observe(request, completion)
    return completion


def _nothing_read(spec: ModelSpec, completion: types.Completion) -> str | None:
    if completion.text.strip():
        return None
    return (
        f"model {spec.name} answered with nothing (finish_reason {completion.finish_reason}): raise thinking_tokens or "
        "max_tokens of its row"
    )
