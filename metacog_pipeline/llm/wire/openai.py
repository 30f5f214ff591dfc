"""Chat completions: OpenAI and the many servers that speak its format (vLLM, Ollama, llama.cpp, OpenRouter, …).

The limit on tokens is sent as ``max_completion_tokens`` to the official address, whose newer models refuse the older
name, and as ``max_tokens`` to every other one, which may not know the newer name. A study that needs it otherwise sets
either field in ``extra_body``: it then stands alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import bounded, errors, streams, values
from metacog_pipeline.llm.wire.address import base_url, is_official
from metacog_pipeline.llm.wire.openai_stream import ChatAssembler
from metacog_pipeline.llm.wire.types import HttpCall, UnsupportedConstraint, Wire

PROTECTED = frozenset({"model", "messages", "stream"})
USAGE_IN_STREAM = {"stream": True, "stream_options": {"include_usage": True}}
LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")
TRUNCATED = frozenset({"length", "max_tokens", "model_length"})
REFUSED = frozenset({"content_filter", "safety", "refusal"})
BROKEN = frozenset(
    {"error", "insufficient_system_resource"}
)  # OpenRouter, DeepSeek: the server gave up half-way
NO_SUCH_MODEL = frozenset({"NotFoundError", "not_found_error"})  # vLLM, Ollama: the only thing they look up


def build(
    spec: ModelSpec, request: types.ChatRequest, key: str | None, known: Capabilities = NOTHING_KNOWN
) -> HttpCall:
    """Encode ``request``. Raises ``UnsupportedConstraint`` for a guided choice at the official address."""
    body: values.JsonDict = {
        "model": spec.model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        **_sampling(spec, request),
        **_constraint(spec, request, known),
    }
    streamed = streams.streamed(spec, known)
    if streamed:
        body |= USAGE_IN_STREAM
    if any(name in spec.extra_body for name in LIMIT_FIELDS):
        body = {name: value for name, value in body.items() if name not in LIMIT_FIELDS}
    headers = {"accept": "application/json", "content-type": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    url = f"{base_url(spec)}/chat/completions"
    encoded = values.encode(values.merged(body, spec.extra_body, PROTECTED))
    return HttpCall(url, headers, encoded, streamed=streamed)


def _sampling(spec: ModelSpec, request: types.ChatRequest) -> values.JsonDict:
    sampling = request.sampling
    fields: values.JsonDict = {}
    if sampling.temperature is not None:
        fields["temperature"] = sampling.temperature
    if sampling.max_tokens is not None:
        fields["max_completion_tokens" if is_official(spec) else "max_tokens"] = sampling.max_tokens
    if sampling.seed is not None:
        fields["seed"] = sampling.seed
    if sampling.stop:
        fields["stop"] = list(sampling.stop)
    if sampling.top_logprobs is not None:
        fields["logprobs"] = True
        fields["top_logprobs"] = sampling.top_logprobs
    return fields


def _constraint(spec: ModelSpec, request: types.ChatRequest, known: Capabilities) -> values.JsonDict:
    match request.constraint:
        case None:
            return {}
        case types.JsonObject(name, schema_json):
            schema = json.loads(schema_json)
            if bounded.bounds_white_space(known):
                return {"response_format": bounded.json_format(schema, request.sampling)}
            described = {"name": name, "strict": True, "schema": schema}
            return {"response_format": {"type": "json_schema", "json_schema": described}}
        case types.OneOf(options):
            if is_official(spec):
                raise UnsupportedConstraint("api.openai.com has no guided choice")
            choice: object = list(options)
            return {spec.choice_field: choice if spec.choice_field == "guided_choice" else {"choice": choice}}
        case types.TokenBias(bias):
            return {"logit_bias": {str(token): value for token, value in bias}}


def read(
    spec: ModelSpec, status_code: int, headers: Mapping[str, str], body: bytes, key: str | None = None
) -> types.Completion:
    """Decode the final answer to a call. Never raises; the completion's status says how it ended."""
    return errors.struck_out(_read(status_code, headers, body), key)


def _read(status_code: int, headers: Mapping[str, str], body: bytes) -> types.Completion:
    decoded = values.load(body)
    error = values.at(
        decoded, "error"
    )  # OpenRouter reports a failure behind it with status 200 and an error inside
    if error or not 200 <= status_code < 300:
        return errors.failure(
            errors.status_within(status_code, error), _problem(status_code, headers, body, decoded)
        )
    choice = values.first(values.list_at(decoded, "choices"))
    message = values.dict_at(choice, "message")
    finish = values.str_at(choice, "finish_reason")
    if message is None or ("content" not in message and finish is None):
        return errors.unreadable(status_code, "the answer has no choices[0].message")
    if finish in BROKEN or values.dict_at(choice, "error") is not None:
        return errors.unreadable(status_code, f"the provider stopped with finish_reason {finish!r}")
    text = _text(message.get("content"))
    if text is None:
        return errors.unreadable(status_code, "the answer's content is not text")
    refusal = values.str_at(message, "refusal") or ""
    usage = values.dict_at(decoded, "usage")
    return types.Completion(
        _status(finish, refusal),
        text=text or refusal,
        finish_reason=finish,
        model_reported=values.str_at(decoded, "model"),
        usage=types.Usage(
            values.count_at(usage, "prompt_tokens"), values.count_at(usage, "completion_tokens")
        ),
        logprobs=_logprobs(choice),
        http_status=status_code,
    )


def _status(finish: str | None, refusal: str) -> types.Status:
    if refusal or finish in REFUSED:
        return types.Status.REFUSED
    return types.Status.TRUNCATED if finish in TRUNCATED else types.Status.OK


def _text(content: object) -> str | None:
    """Return content given as a string, as ``null`` (no text) or as a list of parts, of which text parts count."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(values.str_at(part, "text") or "" for part in content)
    return None


def _logprobs(choice: object) -> tuple[types.TokenLogprob, ...]:
    """Return the log-probabilities, all or none: a list with holes would assign numbers to the wrong tokens."""
    tokens: list[types.TokenLogprob] = []
    for entry in values.list_at(values.at(choice, "logprobs"), "content") or []:
        token, value = values.str_at(entry, "token"), values.number_at(entry, "logprob")
        if token is None or value is None:
            return ()
        listed = (
            (values.str_at(top, "token"), values.number_at(top, "logprob"))
            for top in values.list_at(entry, "top_logprobs") or []
        )
        alternatives = tuple(
            (name, number) for name, number in listed if name is not None and number is not None
        )
        tokens.append(types.TokenLogprob(token, value, alternatives))
    return tuple(tokens)


def _problem(
    status_code: int, headers: Mapping[str, str], body: bytes, decoded: object
) -> errors.ProviderProblem:
    """Read the error forms of OpenAI, vLLM (also unwrapped), xAI (``error`` as text) and FastAPI (``detail``)."""
    if not isinstance(decoded, dict):
        return errors.raw_problem(status_code, headers, body)
    error = values.dict_at(decoded, "error") or decoded
    inner = values.dict_at(error, "innererror")
    named = (values.str_at(error, "code"), values.str_at(inner, "code"), values.str_at(error, "type"))
    codes = tuple(code for code in named if code)
    param = values.str_at(error, "param") or _fastapi_param(decoded)
    if status_code == 404 and (param == "model" or any(code in NO_SUCH_MODEL for code in codes)):
        codes = (*codes, "model_not_found")
    if values.list_at(
        values.dict_at(error, "metadata"), "reasons"
    ):  # OpenRouter: this input was flagged, others will pass
        codes = (*codes, "content_policy_violation")
    message = (
        values.str_at(error, "message")
        or values.str_at(decoded, "error")
        or values.str_at(decoded, "detail")
        or ""
    )
    return errors.ProviderProblem(codes, message, _top_level(param))


def _fastapi_param(decoded: object) -> str | None:
    location = values.list_at(values.first(values.list_at(decoded, "detail")), "loc") or []
    names = [name for name in location if isinstance(name, str) and name != "body"]
    return names[0] if names else None


def _top_level(param: str | None) -> str | None:
    """Return the body field a parameter path begins with: ``response_format`` of ``response_format.json_schema``."""
    return param.split(".")[0].split("[")[0] if param else None


WIRE = Wire(build, read, ChatAssembler)
