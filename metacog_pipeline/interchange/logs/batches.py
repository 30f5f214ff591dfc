"""Results of batches of OpenAI, Anthropic and Gemini, read as our own batches are; a question is named by its id."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.record import Sample, at, listed, mapping
from metacog_pipeline.llm.batch.backends import BACKENDS
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Status
from metacog_pipeline.llm.wire import values, wire_for

_CALLED = (b'"tool_calls":[{', b'"type":"function_call"', b'"tool_use"', b'"functionCall"')
_ASKED = {"custom_id", "params"}, {"custom_id", "url", "body"}, {"key", "request"}
_OF_GEMINI = {"candidates", "promptFeedback", "usageMetadata", "modelVersion"}


def _provider_of(path: Path, row: Mapping[str, Any]) -> str | None:
    # by the kinds of parts: a plain table may have columns key, error or response
    if not {"response", "result", "error"} & {*row} and any(each <= {*row} for each in _ASKED):
        asked = "holds what was asked in a batch, no replies"
        raise StudyError(f"{path}: {asked}; import the file of its results")
    if "custom_id" in row:
        openai = "openai" if {"response", "error"} & {*row} else None
        return "anthropic" if isinstance(row.get("result"), dict) else openai
    of_gemini = isinstance(row.get("error"), dict) or _OF_GEMINI & {*mapping(row.get("response"))}
    if "question" in row or not of_gemini:
        return None
    if not isinstance(row.get("key", at(row, "metadata", "key")), str):  # as Vertex AI has them
        raise StudyError(
            f"{path}: holds responses of Gemini that do not say which request they answer; nothing was kept; give each "
            "request a metadata.key, the id of its question, and keep it with its response"
        )
    return "gemini"


def inlined(found: Any) -> list[dict[str, Any]] | None:
    """Return the responses of a batch of Gemini whose requests were sent without a file; None of anything else."""
    names = ("dest", "response", "output", "inlinedResponses", "inlined_responses")
    while isinstance(found, dict) and (inner := next((name for name in names if name in found), None)):
        found = found[inner]
    rows = record.objects(found)
    return rows if rows and all("response" in each or "error" in each for each in rows) else None


def read(path: Path, rows: Iterator[dict[str, Any]], first: Mapping[str, Any]) -> Iterator[Sample] | None:
    """Return the results of a file that begins with ``first``; None where that is no result of a batch."""
    provider = _provider_of(path, first)
    return None if provider is None else _results(path, rows, provider)


def _results(path: Path, rows: Iterator[dict[str, Any]], provider: str) -> Iterator[Sample]:
    spec = ModelSpec.model_validate({"name": "imported", "provider": provider, "model": "imported"})
    backend, wire = BACKENDS[provider], wire_for(spec.provider)
    for row in rows:
        inline = at(row, "metadata", "key")  # where requests were sent without a file
        made = Sample(str(row.get("custom_id") or row.get("key") or inline), path.stem, "")
        line = backend.read({**row, "key": made.name} if inline is not None else dict(row))
        if line is None or line.why is not None:
            made.why = "is no result of a batch" if line is None else f"was not answered: {line.why}"
            yield made
            continue
        body = _as_chat(line.body) if provider == "openai" else line.body
        made.name, made.said = line.custom_id, wire.read(spec, line.status, {}, body, None)
        made.model = made.said.model_reported or ""
        if made.said.status is Status.FAILED:
            made.why = f"failed: {made.said.error_code or made.said.error_message or line.status}"
        made.unscored = "calls a tool" if any(each in line.body for each in _CALLED) else None
        yield made


def _as_chat(body: bytes) -> bytes:
    # our reader of replies knows chat completions: a body of the Responses API becomes one that says the same
    said = values.load(body) if b'"response"' in body else None  # few bodies are read twice for it
    if at(said, "object") != "response":
        return body
    output = listed(at(said, "output"))
    parts = [part for each in output for part in listed(at(each, "content"))]
    thoughts = [str(at(part, "text") or "") for each in output for part in listed(at(each, "summary"))]
    texts = [str(at(part, "text") or "") for part in parts if at(part, "type") == "output_text"]
    refusal = "".join(str(at(part, "refusal") or "") for part in parts) or None
    message = {
        "content": "".join(texts),
        "refusal": refusal,
        "reasoning_content": "\n\n".join(thoughts) or None,
    }
    ends = {"max_output_tokens": "length", "content_filter": "content_filter"}
    why = str(at(said, "incomplete_details", "reason"))
    end = "stop" if at(said, "status") == "completed" else ends.get(why)
    chat = {name: at(said, name) for name in ("id", "model", "error", "service_tier")}
    counts = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    usage = {chats: at(said, "usage", own) for chats, own in counts}
    usage |= {f"{chats}_details": at(said, "usage", f"{own}_details") for chats, own in counts}
    choices = [{"index": 0, "finish_reason": end, "message": message}]
    return json.dumps({**chat, "choices": choices, "usage": usage}).encode()
