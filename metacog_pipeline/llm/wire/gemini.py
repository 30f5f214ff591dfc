"""Gemini ``generateContent``, of version ``v1`` as the official client's; a ``base_url`` that ends in another keeps it."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec, base_url
from metacog_pipeline.llm.wire import events, values
from metacog_pipeline.llm.wire.events import HttpCall, UnsupportedConstraint

PROTECTED = frozenset({"contents", "systemInstruction", "model"})
EMPTY_IS_AN_ANSWER = events.REFUSED | {"stop", "max_tokens"}


def _url(spec: ModelSpec, streamed: bool) -> str:
    root = base_url(spec)
    versioned = root if re.search(r"/v\d[a-z0-9]*$", root) else f"{root}/v1"
    path = spec.model if "/" in spec.model else f"models/{spec.model}"
    method = "streamGenerateContent?alt=sse" if streamed else "generateContent"
    return f"{versioned}/{quote(path, safe='/')}:{method}"


# A choice is an enum answered in plain text; there is no logit bias.
def _constraint(request: types.ChatRequest) -> values.JsonDict:
    match request.constraint:
        case None:
            return {}
        case types.JsonObject(_, schema_json):
            return {"responseMimeType": "application/json", "responseJsonSchema": json.loads(schema_json)}
        case types.OneOf(options):
            schema = {"type": "STRING", "enum": list(options)}
            return {"responseMimeType": "text/x.enum", "responseSchema": schema}
        case types.TokenBias():
            raise UnsupportedConstraint("Gemini has no logit bias")


class ContentReply(events.Reply):
    """A response with candidates, or its chunks; of all but parts the last value counts."""

    outputs = ("candidatesTokenCount", "thoughtsTokenCount")
    ends = ("blockReason", "finishReason")

    @staticmethod
    def build(
        spec: ModelSpec, request: types.ChatRequest, key: str | None, known: Capabilities = NOTHING_KNOWN
    ) -> HttpCall:
        """Encode ``request``. Raises ``UnsupportedConstraint`` for ``TokenBias``."""
        body: values.JsonDict = {
            "contents": [
                {"role": "model" if m.role == "assistant" else "user", "parts": [{"text": m.content}]}
                for m in request.turns
            ]
        }
        if system := request.system:
            body["systemInstruction"] = {"role": "user", "parts": [{"text": system}]}
        sampling = known.accepted(request.sampling)
        thinking = values.present(
            thinkingBudget=spec.thinking_tokens,
            thinkingLevel=None if spec.effort is None else spec.effort.upper(),
            includeThoughts=True if known.shows_reasoning(spec) else None,
        )
        config = values.present(
            temperature=sampling.temperature,
            maxOutputTokens=known.token_limit(spec, request),
            responseLogprobs=None if sampling.top_logprobs is None else True,
            logprobs=sampling.top_logprobs,
            seed=sampling.seed,
            thinkingConfig=thinking or None,
            **_constraint(request),
        )
        if config:
            body["generationConfig"] = config
        headers = {"content-type": "application/json"}
        if key:
            headers["x-goog-api-key"] = key
        streamed = known.streams(spec)
        encoded = values.encode(values.merged(body, spec.extra_body, PROTECTED))
        return HttpCall(_url(spec, streamed), headers, encoded, streamed=streamed)

    def _take(self, event: values.JsonDict) -> values.JsonDict | None:
        if event.get("error"):
            return event
        for candidate in values.list_at(event, "candidates") or ():
            if isinstance(candidate, dict):
                _add(candidate, self.at(candidate.get("index")))
        feedback = values.dict_at(event, "promptFeedback") or {}
        if values.word_at(feedback, "blockReason"):
            choice = self.at(0)
            choice.words.update(feedback)
            choice.blocked = True
        self.count(event.get("usageMetadata"))
        return None

    def _usage(self, counted: values.JsonDict) -> types.Usage:
        """Return the tokens; thinking is output, also where only the total includes it."""
        got = values.count_at(counted, "candidatesTokenCount")
        thought = values.count_at(counted, "thoughtsTokenCount")
        sent = values.count_at(counted, "promptTokenCount")
        output = None if got is None and thought is None else (got or 0) + (thought or 0)
        # input, and part of the total
        tools = values.count_at(counted, "toolUsePromptTokenCount") or 0
        extra = values.left_of(values.count_at(counted, "totalTokenCount"), sent, output, tools)
        if output is not None and extra:
            output, thought = output + extra, (thought or 0) + extra
        return types.Usage(sent, output, thought, values.count_at(counted, "cachedContentTokenCount"))

    def _trouble(self, finish: str | None) -> str | None:
        if self.said() or self.lead.blocked or (finish or "").lower() in EMPTY_IS_AN_ANSWER:
            return None
        return f"the answer has no text and finishReason {finish!r}"

    def _logprobs(self, text: str, thought: str | None) -> tuple[types.TokenLogprob, ...]:
        return values.listed_logprobs(self.lead.tokens, self.lead.tops, "logProbability")


# Parts marked as thoughts are no answer.
def _add(candidate: values.JsonDict, choice: events.Choice) -> None:
    """Add to a choice what an event says of it."""
    answered = False
    for part in values.list_at(candidate.get("content"), "parts") or ():
        text, thought = values.str_at(part, "text") or "", values.at(part, "thought") is True
        choice.add(text, choice.thought if thought else choice.text)
        answered |= bool(text) and not thought
    listed = values.dict_at(candidate, "logprobsResult")
    choice.tokens += values.list_at(listed, "chosenCandidates") or ()
    choice.tops += [
        values.list_at(top, "candidates") for top in values.list_at(listed, "topCandidates") or ()
    ]
    words = ("finishReason", "finishMessage")
    choice.words.update({name: candidate[name] for name in words if values.given(candidate.get(name))})
    choice.heard(text=answered, end=values.given(candidate.get("finishReason")))
