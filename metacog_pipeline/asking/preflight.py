"""Preflight checks of models: a key, a folder, a price, room to think. Offline; nobody is asked and no key is kept."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm import capabilities
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.costs import priced
from metacog_pipeline.llm.local.weights import weights_digest
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec
from metacog_pipeline.llm.wire import base_url, key_of
from metacog_pipeline.study import Study

LOCAL_ENDINGS = (".local", ".internal", ".lan", ".localhost")


def known_of(study: Study, spec: ModelSpec) -> Capabilities | None:
    """Return the capabilities found when ``spec`` was asked before; None before it was asked."""
    return capabilities.load(study.home, spec.name, request_digest(spec))


def over_http(spec: ModelSpec) -> bool:
    """Whether ``spec`` is asked over HTTP."""
    return spec.provider not in IN_PROCESS


def is_local(spec: ModelSpec) -> bool:
    """Whether ``spec`` is asked on this machine or in its own network, where nobody sends a bill by the token."""
    if spec.at_official_address:
        return False
    try:
        host = urlsplit(base_url(spec)).hostname or ""
        return ipaddress.ip_address(host).is_private
    except ValueError:  # a name
        return "." not in host or host.endswith(LOCAL_ENDINGS)


def key_problem(spec: ModelSpec, environment: Mapping[str, str]) -> str | None:
    """Return what is wrong with the key of ``spec`` (its variable is unset, empty or odd); None where nothing is."""
    if not over_http(spec):
        return None
    try:
        key_of(spec, environment)
    except StudyError as error:
        return str(error).removeprefix(f"model {spec.name}: ")
    return None


def folder_problem(spec: ModelSpec) -> str | None:
    """Return what is wrong with the folder of a model that runs in this process; None where a model is in it."""
    if spec.provider != "transformers" or weights_digest(spec.model) is not None:
        return None
    return f"{spec.model}: no model here (config.json is missing)"


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
    if spec.price_unknown or is_local(spec):
        return None
    return f"{lacks}: {wanted}, or price_unknown = true to ask without"


def unpriced(study: Study) -> Iterator[str]:
    """Yield a line for each billed model that will be asked although its price is missing; under a budget none is."""
    for spec in study.askable if study.study.budget_usd is None else ():
        problem = price_problem(spec, capped=False)
        if problem is not None:
            yield f"{spec.name} {problem}; what it costs is not counted"


def room_problem(spec: ModelSpec, known: Capabilities | None) -> str | None:
    """Return a line where an answer as long as one seen before would be cut by the limits of ``spec``; else None."""
    if known is None or not known.reasons or not known.reasoning_tokens:
        return None
    thought, share = known.reasoning_tokens, known.reasoning_share
    seen = max(thought, round(thought / share)) if share else thought
    room = known.thinking_room(spec)
    if spec.thinking_tokens is not None and thought > spec.thinking_tokens:
        return (
            f"thinking_tokens = {spec.thinking_tokens:,} is less than the {thought:,} tokens that were thought before "
            "one answer: raise it, or take it out"
        )
    if spec.max_tokens + room < seen:
        return (
            f"max_tokens = {spec.max_tokens:,} leaves room for {spec.max_tokens + room:,} tokens, and an answer with its "
            f"thinking took {seen:,}: raise max_tokens"
        )
    return None
