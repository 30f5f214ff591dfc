"""Preflight checks of one model: its key, folder, price, name and limits offline, then one short question."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from metacog_pipeline.asking.learning import Learnt
from metacog_pipeline.asking.negotiation import Negotiation, negotiate
from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.asking.spent import kept_cost
from metacog_pipeline.asking.states import Profile, StepFailed
from metacog_pipeline.asking.step import sampling_for
from metacog_pipeline.errors import BudgetError, MetacogError, ProviderError, StudyError, one_line
from metacog_pipeline.llm import capabilities, types
from metacog_pipeline.llm.breaker import bill_problem
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.costs import priced
from metacog_pipeline.llm.local.weights import weights_digest
from metacog_pipeline.llm.provider_keys import without_effect
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec
from metacog_pipeline.llm.wire import key_of, key_variable
from metacog_pipeline.study import Study

SHOWN_CHARACTERS = 80  # of words that a provider sent
IMPATIENT = RetryPolicy(transient_attempts=1, billed_attempts=1, rate_limit_total_s=0.0)
QUESTION = (types.Message("user", "Is water wet? Reply with yes or no."),)
SEED = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check of ``subject``. ``exit_code`` is that of the error a run would end with, else 0."""

    state: Literal["ok", "warn", "fail"]
    subject: str
    text: str
    exit_code: int = 0

    @property
    def line(self) -> str:
        """The finding as one line."""
        return f"{f'[{self.state}]':<7}{self.subject}: {self.text}"


ok, warn = partial(Finding, "ok"), partial(Finding, "warn")


def fail(subject: str, text: str, error: type[MetacogError] | MetacogError) -> Finding:
    """Return what a run would end with ``error`` for."""
    return Finding("fail", subject, text.removeprefix(f"model {subject}: "), error.exit_code)


def over_http(spec: ModelSpec) -> bool:
    """Whether ``spec`` is asked over HTTP."""
    return spec.provider not in IN_PROCESS


def known_of(study: Study, spec: ModelSpec) -> Capabilities | None:
    """Return the capabilities found when ``spec`` was asked before; None before it was asked."""
    return capabilities.load(study.home, spec.name, request_digest(spec)) if over_http(spec) else None


def model_findings(study: Study, spec: ModelSpec) -> Iterator[Finding]:
    """Yield what can be found about one model without asking it."""
    name = spec.name
    if keys := ", ".join(without_effect(spec.model_fields_set, spec.provider)):
        yield warn(name, f"{keys}: without effect with provider {spec.provider}; remove what is not meant")
    if over_http(spec):
        yield from (_key(spec), price_finding(study, spec))
        if (known := known_of(study, spec)) is not None:
            yield from known_findings(spec, known)
    elif spec.provider == "transformers" and weights_digest(spec.model) is None:
        yield fail(name, f"{spec.model}: no model here (config.json is missing)", ProviderError)
    else:
        replayed = spec.provider == "replay"
        yield ok(name, "its answers are imported; it is not asked" if replayed else "costs nothing")


def known_findings(spec: ModelSpec, known: Capabilities) -> Iterator[Finding]:
    """Yield what is known of how ``spec`` answers, and what of that speaks against asking it as the study says."""
    thought, room = known.reasoning_tokens or 0, known.thinking_room(spec)
    thinks = {None: "", False: "; reasons no", True: f"; reasons yes, up to {thought:,} tokens so far"}
    words = one_line(", ".join(sorted(map(str, known.refused | known.refused_modes))), SHOWN_CHARACTERS)
    refused = f"; does not take {words}" if words else ""
    yield ok(spec.name, f"as it answers: room to think {room:,} tokens{thinks[known.reasons]}{refused}")
    if (stopped := bill_problem(spec, known)) is not None:
        yield fail(spec.name, stopped, BudgetError)
    if known.reasons and thought > room:  # the next answer would be cut, and paid for
        given = spec.thinking_tokens is not None
        key = f"thinking_tokens = {room:,}" if given else f"max_tokens = {spec.max_tokens:,}"
        less = f"{key} leaves less room than the {thought:,} tokens that were thought before one answer"
        yield warn(spec.name, f"{less}: raise it")


def price_finding(study: Study, spec: ModelSpec) -> Finding:
    """Return whether a model has its prices: without them a budget cannot be kept, and what it costs is not counted."""
    if priced(spec):
        return ok(
            spec.name, f"${spec.price_in or 0:g} in and ${spec.price_out or 0:g} out per million tokens"
        )
    wanted = "has no price: set price_in and price_out (dollars per million tokens; 0 for a free model)"
    if study.study.budget_usd is not None:
        return fail(spec.name, f"{wanted}, or remove budget_usd, which cannot be kept so", BudgetError)
    if spec.price_unknown:
        return ok(spec.name, "has no price, on purpose (price_unknown): what it costs is not counted")
    return warn(spec.name, f"{wanted}, or price_unknown = true; what it costs is not counted")


def _key(spec: ModelSpec) -> Finding:
    try:
        key_of(spec, os.environ)
    except StudyError as error:
        return fail(spec.name, str(error), StudyError)
    variable = key_variable(spec)
    return ok(spec.name, "asked without a key" if variable is None else f"its key is in {variable}")


async def probe(study: Study, spec: ModelSpec) -> Capabilities:
    """Return what is known of a model over HTTP; one that never answered is asked one short question, as a run would.

    One answer at most is billed, through the budget, and what it teaches is kept for all benchmarks. Raises the
    ``MetacogError`` that says why it cannot be asked.
    """
    from metacog_pipeline.llm.open import Clients, open_model  # loads HTTP

    home, cap = study.home, study.study.budget_usd
    with contextlib.closing(Budget.open(home, cap, known_spent_usd=kept_cost(home))) as budget:
        async with Clients(budget=budget, retries=IMPATIENT) as clients:
            model = open_model(spec, shared=clients)
            learnt = Learnt.of(model, home, spec.name, request_digest(spec))
            if learnt.known.first_reply_s is None:
                await _ask(model, spec, learnt)
    return learnt.known


async def _ask(model: types.ChatModel, spec: ModelSpec, learnt: Learnt) -> None:
    async def attempt(profile: Profile) -> None:
        request = types.ChatRequest(QUESTION, sampling_for(spec, profile, SEED), None, "probe")
        said = await model.complete(request)
        learnt.observe(request, said)
        if said.status is types.Status.FAILED:
            raise StepFailed(said)
        # One that was cut for want of room answers all the same.
        if not said.text.strip() and said.status is not types.Status.TRUNCATED:
            why = f"answered with nothing (finish_reason {said.finish_reason})"
            raise ProviderError(f"{why}: raise thinking_tokens or max_tokens of its row")

    try:
        await negotiate(Negotiation(spec, ("text",), learnt.known), learnt, attempt)
    except StepFailed as error:
        raise ProviderError(str(error)) from None
