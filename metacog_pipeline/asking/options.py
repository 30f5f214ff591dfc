"""The options a call carries, how providers name them when they refuse one, and which the study asks for by name."""

from __future__ import annotations

import re

from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import Limit
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import bounded
from metacog_pipeline.llm.wire.errors import FATAL_CODES

REFUSALS = frozenset({400, 401, 403, 404, 422})  # statuses by which an option, a key or a model is refused
DROPPED_BLIND = frozenset({"temperature", "seed", "top_logprobs"})
CACHING = frozenset({"cache_control", "prompt_cache_key"})
SHOWN_THINKING = frozenset({"adaptive_thinking", "reasoning_summary"})
THINKING_BUDGET = frozenset(
    {"thinking_budget"}
)  # tokens to think with as a number of their own; else in the limit
AMPLE_ROOM, ALL_ROOM = frozenset({"ample_room"}), frozenset({"thinking_room"})
STREAMING = frozenset({"stream", "stream_options"})
#: How a call is delivered, but for the room to think: no answer depends on it.
HANDLING = STREAMING | CACHING | SHOWN_THINKING | THINKING_BUDGET | AMPLE_ROOM | {bounded.OPTION}
DELIVERY = HANDLING | ALL_ROOM
NO_CONSTRAINT = "unsupported_constraint"  # the wire has no field for it: nothing was sent
OTHER_LIMIT: dict[str, Limit] = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
#: Name of a parameter, lower case and without punctuation → the option it carries.
OPTIONS = {
    "temperature": "temperature",
    "seed": "seed",
    "logprobs": "top_logprobs",
    "toplogprobs": "top_logprobs",
    "responselogprobs": "top_logprobs",
    "include": "top_logprobs",  # Responses: where log-probabilities are asked for
    "stop": "stop",
    "stopsequences": "stop",
    "stream": "stream",
    "streamoptions": "stream_options",
    "maxtokens": "limit",
    "maxcompletiontokens": "limit",
    "maxoutputtokens": "limit",
    "thinking": "thinking_tokens",
    "thinkingconfig": "thinking_tokens",
    "thinkingbudget": "thinking_tokens",
    "budgettokens": "thinking_tokens",
    "thinkinglevel": "effort",
    "reasoning": "effort",
    "reasoningeffort": "effort",
    "effort": "effort",
    "summary": "reasoning_summary",
    "display": "reasoning_summary",
    "includethoughts": "reasoning_summary",
    "cachecontrol": "cache_control",
    "promptcachekey": "prompt_cache_key",
    "verbosity": "verbosity",
    "responseformat": "constraint",
    "guidedchoice": "constraint",
    "structuredoutputs": "constraint",
    "logitbias": "constraint",
    "outputconfig": "constraint",
    "outputformat": "constraint",
    "text": "constraint",
    "responseschema": "constraint",
    "responsejsonschema": "constraint",
    "responsemimetype": "constraint",
}


def may_be_an_option(completion: types.Completion) -> bool:
    """Whether a failed call may have been refused for an option it carried."""
    kinds = (types.ErrorKind.UNSUPPORTED, types.ErrorKind.FATAL)
    if completion.error_kind not in kinds:
        return False
    status = completion.http_status
    return status in REFUSALS or (status is None and completion.error_kind is types.ErrorKind.UNSUPPORTED)


def named_option(refusal: types.Completion) -> str | None:
    """Return the option a refusal names; None where it names none that is known, as where it names the question."""
    for part in reversed(re.split(r"[.\[\]]", refusal.error_param or "")):
        plain = re.sub(r"[^a-z]", "", part.lower())
        if plain in OPTIONS:
            return OPTIONS[plain]
    return None


def blamed(refusal: types.Completion, spec: ModelSpec) -> str | None:
    """Return the option a refusal names, or the key of the row's ``extra_body``; None where the call carries neither."""
    given = re.split(r"[.\[]", refusal.error_param or "")[0]
    return named_option(refusal) or (f"extra_body.{given}" if given in spec.extra_body else None)


def asked_by_name(spec: ModelSpec) -> dict[str, str]:
    """Return {option: key of the study} of what a model's row asks for by name."""
    keys = {
        "effort": None if spec.effort is None else f'effort = "{spec.effort}"',
        "verbosity": None if spec.verbosity is None else f'verbosity = "{spec.verbosity}"',
        "thinking_tokens": None
        if spec.thinking_tokens is None
        else f"thinking_tokens = {spec.thinking_tokens}",
        "api": None if spec.api == "auto" else f'api = "{spec.api}"',
    }
    named = {option: key for option, key in keys.items() if key is not None}
    return named | {f"extra_body.{name}": f"extra_body.{name}" for name in spec.extra_body}


def decisive(refusal: types.Completion) -> bool:
    """Whether the provider says that the key, the account or the model is wrong: one bare call confirms it."""
    code = (refusal.error_code or "").lower()
    if refusal.error_kind is not types.ErrorKind.FATAL:
        return False
    return refusal.http_status != 403 or code in FATAL_CODES
