"""Preflight checks of one model: its key, folder, price, name and limits. Offline; nobody is asked."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal
from urllib.parse import urlsplit

from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.errors import BudgetError, MetacogError, ProviderError, StudyError, one_line
from metacog_pipeline.llm import capabilities
from metacog_pipeline.llm.breaker import bill_problem
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.costs import priced
from metacog_pipeline.llm.local.weights import weights_digest
from metacog_pipeline.llm.provider_keys import without_effect
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec
from metacog_pipeline.llm.wire import base_url, key_of, key_variable
from metacog_pipeline.study import Study

LOCAL_ENDINGS = (".local", ".internal", ".lan", ".localhost")
SHOWN_CHARACTERS = 80  # of words that a provider sent

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check of ``subject``. ``exit_code`` is that of the error a run would end with, else 0."""

    state: State
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
    return Finding("fail", subject, text, error.exit_code)


def over_http(spec: ModelSpec) -> bool:
    """Whether ``spec`` is asked over HTTP."""
    return spec.provider not in IN_PROCESS


def known_of(study: Study, spec: ModelSpec) -> Capabilities | None:
    """Return the capabilities found when ``spec`` was asked before; None before it was asked."""
    return capabilities.load(study.home, spec.name, request_digest(spec)) if over_http(spec) else None


def model_findings(study: Study, spec: ModelSpec, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what can be found about one model without asking it."""
    name = spec.name
    if keys := ", ".join(without_effect(spec.model_fields_set, spec.provider)):
        yield warn(name, f"{keys}: without effect with provider {spec.provider}; remove what is not meant")
    if over_http(spec):
        yield from (_key(spec, environment), _price(study, spec))
        if spec.lane == "batch" and spec.api_version is not None:
            why = 'an Azure address (api_version) has no batches here: set lane = "online"'
            yield fail(name, why, StudyError)
        yield from known_findings(spec, known_of(study, spec))
    elif spec.provider == "transformers" and weights_digest(spec.model) is None:
        yield fail(name, f"{spec.model}: no model here (config.json is missing)", ProviderError)
    else:
        replayed = spec.provider == "replay"
        yield ok(name, "its answers are imported; it is not asked" if replayed else "costs nothing")


def known_findings(spec: ModelSpec, known: Capabilities | None) -> Iterator[Finding]:
    """Yield what is known of how ``spec`` answers, and what of that speaks against asking it as the study says."""
    if known is None:
        return
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


def price_problem(spec: ModelSpec, *, capped: bool) -> str | None:
    """Return why ``spec`` cannot be asked for want of a price; None where it can.

    Under a budget every model needs both prices. Without one, a model that is billed needs them too, unless
    ``price_unknown`` leaves them out on purpose.
    """
    if priced(spec):
        return None
    given = "price_out" if spec.price_in is None and spec.price_out is not None else "price_in"
    lacks = "has no price" if spec.price_in is spec.price_out is None else f"has {given} only"
    wanted = "set price_in and price_out (dollars per million tokens; 0 for a free model)"
    if capped:
        return f"{lacks}, so budget_usd cannot be kept: {wanted}, or remove budget_usd"
    if spec.price_unknown or _is_local(spec):
        return None
    return f"{lacks}: {wanted}, or price_unknown = true to ask without"


def unpriced(study: Study) -> Iterator[str]:
    """Yield a line for each billed model that will be asked although its price is missing; under a budget none is."""
    for spec in study.askable if study.study.budget_usd is None else ():
        if (problem := price_problem(spec, capped=False)) is not None:
            yield f"{spec.name} {problem}; what it costs is not counted"


def _is_local(spec: ModelSpec) -> bool:
    """Whether ``spec`` is asked on this machine or in its own network, where nobody sends a bill by the token."""
    if spec.at_official_address:
        return False
    try:
        host = urlsplit(base_url(spec)).hostname or ""
        return ipaddress.ip_address(host).is_private
    except ValueError:  # a name
        return "." not in host or host.endswith(LOCAL_ENDINGS)


def _key(spec: ModelSpec, environment: Mapping[str, str]) -> Finding:
    try:
        key_of(spec, environment)
    except StudyError as error:
        return fail(spec.name, str(error).removeprefix(f"model {spec.name}: "), StudyError)
    if (variable := key_variable(spec)) is not None:
        return ok(spec.name, f"its key is in {variable}")
    return (ok if _is_local(spec) else warn)(spec.name, "asked without a key: api_key_env names none")


def _price(study: Study, spec: ModelSpec) -> Finding:
    if (problem := price_problem(spec, capped=study.study.budget_usd is not None)) is not None:
        return fail(spec.name, problem, BudgetError)
    if spec.price_in is None or spec.price_out is None:
        why = "on purpose (price_unknown)" if spec.price_unknown else "and its address is a local one"
        return warn(spec.name, f"has no price, {why}: what it costs is not counted")
    return ok(spec.name, f"${spec.price_in:g} in and ${spec.price_out:g} out per million tokens")
