"""OpenAI chat completions, which many servers speak (vLLM, Ollama, llama.cpp, OpenRouter, …)."""

from __future__ import annotations

import json
import re
from itertools import accumulate

from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec, base_url
from metacog_pipeline.llm.wire import events, values
from metacog_pipeline.llm.wire.events import HttpCall, UnsupportedConstraint

PROTECTED = frozenset({"model", "messages", "stream"})
# OpenAI's newer models refuse the older name; every other address gets it until a model was found to take one.
LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")
# about a choice's end
WORDS = ("finish_reason", "native_finish_reason", "content_filter_results", "error")
#: Thinking: DeepSeek and older vLLM; OpenRouter, Ollama, vLLM; others.
THOUGHTS = ("reasoning_content", "reasoning", "thinking")
#: The server gave up half-way: OpenRouter, vLLM, SGLang, DeepSeek, …
BROKEN = re.compile("error|abort|cancel|fail|time_?out|insufficient_system_resource")

# Where a local server leaves thinking between tags, the content stays exactly what came: readers know such tags.
_OPENED = re.compile(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSED = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


def _constraint(spec: ModelSpec, request: types.ChatRequest) -> values.JsonDict:
    match request.constraint:
        case None:
            return {}
        case types.JsonObject(name, schema_json):
            described = {"name": name, "strict": True, "schema": json.loads(schema_json)}
            return {"response_format": {"type": "json_schema", "json_schema": described}}
        case types.OneOf(options):
            if spec.at_official_address:
                raise UnsupportedConstraint("OpenAI has no guided choice")
            choice: object = list(options)
            return {spec.choice_field: choice if spec.choice_field == "guided_choice" else {"choice": choice}}
        case types.TokenBias(bias):
            return {"logit_bias": {str(token): value for token, value in bias}}


class ChatReply(events.Reply):
    """A chat completion, or its chunks."""

    outputs = ("completion_tokens",)
    ends = ("finish_reason",)

    @staticmethod
    def build(
        spec: ModelSpec, request: types.ChatRequest, key: str | None, known: Capabilities = NOTHING_KNOWN
    ) -> HttpCall:
        """Encode ``request``. Raises ``UnsupportedConstraint`` for a guided choice at OpenAI's own address."""
        sampling, streamed = known.accepted(request.sampling), known.streams(spec)
        limit_field = known.limit_field or (
            "max_completion_tokens" if spec.at_official_address else "max_tokens"
        )
        counted = streamed and "stream_options" not in known.refused
        body = values.present(
            model=spec.model,
            messages=[{"role": message.role, "content": message.content} for message in request.messages],
            temperature=sampling.temperature,
            seed=sampling.seed,
            logprobs=None if sampling.top_logprobs is None else True,
            top_logprobs=sampling.top_logprobs,
            reasoning_effort=spec.effort,
            verbosity=spec.verbosity,
            stream=True if streamed else None,
            stream_options={"include_usage": True} if counted else None,
            **{limit_field: known.token_limit(spec, request)},
            **_constraint(spec, request),
        )
        if any(name in spec.extra_body for name in LIMIT_FIELDS):
            body.pop(limit_field, None)
        headers = {"accept": "application/json", "content-type": "application/json"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        encoded = values.encode(values.merged(body, spec.extra_body, PROTECTED))
        return HttpCall(f"{base_url(spec)}/chat/completions", headers, encoded, streamed=streamed)

    def _take(self, event: values.JsonDict) -> values.JsonDict | None:
        # OpenRouter reports a failure behind it with status 200 and an error inside
        if event.get("error"):
            return event
        # vLLM before 0.9: the error is not wrapped
        if event.get("object") == "error":
            return {"error": event}
        choices = event.get("choices")
        for each in choices if isinstance(choices, list) else ():
            if isinstance(each, dict) and not _added(each, self.at(each.get("index"))):
                return events.error_body("invalid_body", "the answer's content is not text")
        self.count(event.get("usage"))
        return None

    def _usage(self, counted: values.JsonDict) -> types.Usage:
        """Return the tokens."""
        details = values.dict_at(counted, "prompt_tokens_details")
        cached, written = (values.count_at(details, name) for name in ("cached_tokens", "cache_write_tokens"))
        if cached is None:
            # DeepSeek
            cached = values.count_at(counted, "prompt_cache_hit_tokens")
        sent, got = (values.count_at(counted, name) for name in ("prompt_tokens", "completion_tokens"))
        thought = values.count_at(counted.get("completion_tokens_details"), "reasoning_tokens")
        if got is not None:
            # What a total has on top of input and output is thought, unless it is what a cache held.
            extra = values.left_of(values.count_at(counted, "total_tokens"), sent, got)
            if extra == (cached or 0) + (written or 0):
                sent, extra = None if sent is None else sent + extra, 0
            # Some count reasoning on top of the completion (xAI, Gemini in this format); all of it is billed as output.
            if extra := max(extra, thought if thought is not None and thought > got else 0):
                got, thought = got + extra, max(thought or 0, extra)
        return types.Usage(sent, got, thought, cached, written)

    def _trouble(self, finish: str | None) -> str | None:
        if BROKEN.search((finish or "").lower()) or values.dict_at(self.lead.words, "error") is not None:
            return f"the provider stopped with finish_reason {finish!r}"
        return super()._trouble(finish)

    def _thought(self, text: str) -> str | None:
        return super()._thought(text) or leading_thought(text)

    def _logprobs(self, text: str, thought: str | None) -> tuple[types.TokenLogprob, ...]:
        tokens = values.token_logprobs(self.lead.tokens)
        separate = thought is not None and leading_thought(text) is None
        return tokens_of_answer(tokens, text) if separate else tokens


def _added(said: values.JsonDict, choice: events.Choice) -> bool:
    """Add to a choice what an event says of it; return whether its content can be read."""
    delta = said.get("delta") or said.get("message")
    if not isinstance(delta, dict):
        delta = {}
    content, refusal = delta.get("content"), delta.get("refusal")
    if isinstance(content, str):
        choice.add(content, choice.text)
    elif isinstance(content, list):  # parts: Mistral
        choice.add("".join(values.str_at(part, "text") or "" for part in content), choice.text)
    elif content is not None:
        return False
    if isinstance(refusal, str):
        choice.add(refusal, choice.refusal)
    # as in most chunks
    alone = isinstance(content, str) and len(delta) == 1
    # OpenRouter sends the same in two
    for field, thought in () if alone else _thoughts(delta).items():
        if thought and choice.thought_in in (None, field):
            choice.thought_in = field
            choice.add(thought, choice.thought)
    choice.tokens += values.list_at(said.get("logprobs"), "content") or ()
    choice.words.update({name: said[name] for name in WORDS if said.get(name) and values.given(said[name])})
    choice.heard(
        text=bool(content or refusal),
        end="finish_reason" in choice.words and values.given(said.get("finish_reason")),
    )
    return True


def _thoughts(delta: values.JsonDict) -> dict[str, str]:
    """Return what each field that may show thinking shows."""
    found = {name: said for name in THOUGHTS if isinstance(said := delta.get(name), str)}
    # OpenRouter
    details = values.list_at(delta, "reasoning_details") or ()
    shown = (values.str_at(each, "text") or values.str_at(each, "summary") or "" for each in details)
    # Mistral
    content = values.list_at(delta, "content") or ()
    parts = (part for each in content for part in values.list_at(each, "thinking") or ())
    found["reasoning_details"] = "".join(shown)
    found["content"] = "".join(values.str_at(part, "text") or "" for part in parts)
    return found


def leading_thought(text: str) -> str | None:
    """Return the thought that ``text`` begins with: between tags, or before the end of one that the prompt began."""
    if "<" not in text:
        return None
    opened, closed = _OPENED.match(text), _CLOSED.search(text)
    if opened is None and closed is None:
        return None
    if (
        opened is None
        and closed is not None
        and f"<{closed[0][2:]}".lower() in text[: closed.start()].lower()
    ):
        # opened somewhere in the text, which began with an answer
        return None
    start = opened.end() if opened is not None else 0
    thought = text[start : closed.start() if closed is not None else len(text)].strip()
    return thought or None


def tokens_of_answer(tokens: tuple[types.TokenLogprob, ...], text: str) -> tuple[types.TokenLogprob, ...]:
    """Return the tokens of the answer ``text`` where ``tokens`` begin with those of the thinking before it (vLLM)."""
    said, words = text.strip(), [token.token for token in tokens]
    # A probability must not be read off a thought: nothing where it is unknown where the answer begins.
    if not said:
        return ()
    reply, ends = "".join(words), list(accumulate(map(len, words)))
    for place in reversed(range(len(words))):
        begins = words[place].lstrip()
        if begins and reply.startswith(said, ends[place] - len(begins)):
            return tokens[place:]
    # listed for a part of the answer
    if reply.strip() in said:
        return tokens
    # Tokens that end inside a character do not spell the answer; the tag before it counts all the same.
    closed = [place for place, word in enumerate(words) if _CLOSED.fullmatch(word.strip())]
    return tokens[closed[-1] + 1 :] if closed else ()
