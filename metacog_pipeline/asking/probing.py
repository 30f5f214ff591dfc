"""Probe: one short question that says whether a model can be asked and what it takes, before a study spends anything."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import httpx

from metacog_pipeline.asking.learning import Learnt
from metacog_pipeline.asking.negotiation import Negotiation, negotiate
from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.asking.spent import kept_cost
from metacog_pipeline.asking.states import Profile, StepFailed
from metacog_pipeline.asking.step import sampling_for
from metacog_pipeline.errors import BudgetError, ProviderError, StudyError
from metacog_pipeline.llm import types
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


async def probe(
    study: Study,
    spec: ModelSpec,
    *,
    transport: Callable[[], httpx.AsyncBaseTransport] | None = None,
    retries: RetryPolicy | None = None,
) -> tuple[Capabilities, str | None]:
    """Return what is known of ``spec`` and, where it cannot be asked, one line that says why and what to do.

    A model that has answered before is not asked. Another is asked as a run would ask it: one answer at most is billed,
    through the budget, and what it teaches is kept for the study's benchmarks. ``transport``, ``retries``: take the place
    of the network and of the usual patience.
    """
    if spec.provider in IN_PROCESS:
        return NOTHING_KNOWN, None
    home, cap = study.home, study.study.budget_usd
    learnt = Learnt()
    try:
        with contextlib.closing(Budget.open(home, cap, known_spent_usd=kept_cost(home))) as budget:
            async with Clients(budget=budget, transport=transport, retries=retries) as clients:
                model = open_model(spec, shared=clients)
                learnt = Learnt.of(model, home, spec.name, request_digest(spec))
                if learnt.known.first_reply_s is not None:
                    return learnt.known, None
                learnt.take(await clients.listed(spec, learnt.known))
                said = await _asked(model, spec, learnt)
    except (BudgetError, ProviderError, StudyError, StepFailed) as error:
        return learnt.known, str(error)
    if (
        said.text.strip() or said.status is types.Status.TRUNCATED
    ):  # cut for want of room: it answers all the same
        return learnt.known, None
    return learnt.known, (
        f"model {spec.name} answered with nothing (finish_reason {said.finish_reason}): raise thinking_tokens or "
        "max_tokens of its row"
    )


async def _asked(model: types.ChatModel, spec: ModelSpec, learnt: Learnt) -> types.Completion:
    said: list[types.Completion] = []

    async def attempt(profile: Profile) -> None:
        held = SCHEMA if profile.mode == HELD else None
        request = types.ChatRequest(QUESTION, sampling_for(spec, profile, SEED), held, "probe")
        completion = await model.complete(request)
        learnt.observe(request, completion)
        if completion.status is types.Status.FAILED:
            raise StepFailed(completion)
        said.append(completion)

    modes = (HELD, FREE) if spec.answer_mode in ("auto", HELD) else (FREE,)
    await negotiate(Negotiation(spec, modes, learnt.known), learnt, attempt)
    return said[-1]
