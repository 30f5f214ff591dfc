"""What can be known to go wrong before anything is asked: keys, prices, room to think. Asks nobody; holds no key."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.llm import capabilities
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.costs import priced
from metacog_pipeline.llm.local.weights import weights_digest
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec
from metacog_pipeline.llm.wire import base_url, key_of
from metacog_pipeline.study import Study

LOCAL_ENDINGS = (".local", ".internal", ".lan", ".localhost")
#: Options that are no parameters.
ROOMS = {"ample_room": "ample room to think", "thinking_room": "room to think"}
SHOWN_CHARACTERS = 80  # of a word that a provider sent


def known_of(study: Study, name: str) -> Capabilities | None:
    """Return what was found out about the model, judge or author called ``name``; None before it was asked."""
    spec = next((each for each in study.askable if each.name == name), None)
    return None if spec is None else capabilities.load(study.home, name, request_digest(spec))


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
    """Return what is wrong with the folder of a model asked in this process; None for others and where a model is there."""
    if spec.provider != "transformers" or weights_digest(spec.model) is not None:
        return None
    return f"{spec.model}: no model here (config.json is missing)"


def price_problem(spec: ModelSpec, *, capped: bool) -> str | None:
    """Return why ``spec`` cannot be asked for want of a price; None where it can.

    Under a budget every model needs both prices. Without one, a model that is billed needs them too, unless
    ``price_unknown`` says that they are left out on purpose.
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
    """Yield a line for each model that is billed without a price nobody left out on purpose, and asked all the same.

    Under a budget such a model is not asked: its own error says so.
    """
    for spec in study.askable if study.study.budget_usd is None else ():
        problem = price_problem(spec, capped=False)
        if problem is not None:
            yield f"{spec.name} {problem}; what it costs is not counted"


def room_problem(spec: ModelSpec, known: Capabilities | None) -> str | None:
    """Return a line where an answer like one that was seen would be cut by the limits of ``spec``; else None."""
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


def capability_facts(spec: ModelSpec, known: Capabilities) -> dict[str, str]:
    """Return what is ``known`` of ``spec`` in words, by what they are about; what is not known is left out."""
    found = {
        "asked through": known.api,
        "limit": known.limit_field,
        "does not take": ", ".join(sorted(_word(ROOMS.get(each, each)) for each in known.refused)),
        "answer modes refused": ", ".join(sorted(map(_word, known.refused_modes))),
        "reasons": _reasoning(known),
        "beside a prompt": known.hidden_tokens and f"up to {known.hidden_tokens:,} tokens are billed",
        "room to think": f"{known.thinking_room(spec):,} tokens",
        "first reply": None if known.first_reply_s is None else f"{known.first_reply_s:.1f} s",
        "price class": None if known.service_tier is None else _word(known.service_tier),
        "requests per minute": _count(known.requests_per_minute),
        "tokens per minute": _count(known.tokens_per_minute),
        "served by": known.server,
        "context": None if known.context is None else f"{known.context:,} tokens",
    }
    return {about: said for about, said in found.items() if said}


def _reasoning(known: Capabilities) -> str | None:
    if known.reasons is None:
        return None
    if not known.reasons:
        return "no"
    thought = known.reasoning_tokens
    most = "" if thought is None else f", up to {thought:,} tokens before an answer"
    share = "" if not known.reasoning_share else f" ({known.reasoning_share:.0%} of what it writes)"
    return f"yes{most}{share}"


def _word(text: str) -> str:
    return one_line(str(text), SHOWN_CHARACTERS)


def _count(number: int | None) -> str | None:
    return None if number is None else f"{number:,}"
