"""Results of batches of OpenAI, Anthropic and Gemini, read as our own batches are; a question is named by its id."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.record import Sample, mapping
from metacog_pipeline.llm.batch.backends import BACKENDS
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Status
from metacog_pipeline.llm.wire import values, wire_for

_CALLED = (b'"tool_calls":[{', b'"type":"function_call"', b'"tool_use"', b'"functionCall"')
#: The counts of an OpenAI Response, as a chat completion names them.
_COUNTS = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "input_tokens_details": "prompt_tokens_details",
    "output_tokens_details": "completion_tokens_details",
}


def provider_of(path: Path, row: Mapping[str, Any]) -> str | None:
    """Return whose batch a line is of, by the kinds of its parts; None where it is of none.

    Raises ``StudyError`` for what was asked in a batch, and for responses of Gemini that name no request, as Vertex AI has.
    """
    response, error = row.get("response"), row.get("error")
    answered = {"response", "result", "error"} & set(row)
    asks = {"custom_id", "params"}, {"custom_id", "url", "body"}, {"key", "request"}
    if not answered and any(each <= set(row) for each in asks):
        raise StudyError(
            f"{path}: holds what was asked in a batch, no replies; import the file of its results"
        )
    if "custom_id" in row:
        return (
            "anthropic"
            if isinstance(row.get("result"), dict)
            else "openai"
            if {"response", "error"} & set(row)
            else None
        )
    parts = ("candidates", "promptFeedback", "usageMetadata", "modelVersion")
    of_gemini = isinstance(error, dict) or any(each in mapping(response) for each in parts)
    if not of_gemini or "question" in row:
        return None
    if not isinstance(row.get("key", mapping(row.get("metadata")).get("key")), str):
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
    provider = provider_of(path, first)
    return None if provider is None else _results(path, rows, provider)


def _results(path: Path, rows: Iterator[dict[str, Any]], provider: str) -> Iterator[Sample]:
    backend = BACKENDS[provider]
    spec = ModelSpec.model_validate({"name": "imported", "provider": provider, "model": "imported"})
    wire = wire_for(spec.provider)
    for row in rows:
        inline = mapping(row.get("metadata")).get("key")  # where requests were sent without a file
        name = row.get("custom_id") or row.get("key") or inline
        line = backend.read({**row, "key": name} if inline is not None else dict(row))
        if line is None:
            yield record.nothing(name, path.stem, "", "is no result of a batch")
            continue
        if line.why is not None:
            yield record.nothing(line.custom_id, path.stem, "", f"was not answered: {line.why}")
            continue
        body = _as_chat(line.body) if provider == "openai" else line.body
        said = wire.read(spec, line.status, {}, body, None)
        if said.status is Status.FAILED:
            why = f"failed: {said.error_code or said.error_message or line.status}"
            yield record.nothing(line.custom_id, path.stem, said.model_reported or "", why)
            continue
        tools = "calls a tool" if any(each in line.body for each in _CALLED) else None
        yield Sample(line.custom_id, path.stem, said.model_reported or "", said, unscored=tools)


def _as_chat(body: bytes) -> bytes:
    """Return the body of an OpenAI Response as the chat completion that says the same; any other as it is."""
    said = values.load(body) if b'"response"' in body else None  # few bodies are read twice for it
    if values.str_at(said, "object") != "response":
        return body
    output = values.list_at(said, "output") or []
    parts = [part for each in output for part in values.list_at(each, "content") or []]
    thoughts = [
        values.str_at(part, "text") or "" for each in output for part in values.list_at(each, "summary") or []
    ]
    texts = [
        values.str_at(part, "text") or "" for part in parts if values.str_at(part, "type") == "output_text"
    ]
    message = {
        "content": "".join(texts),
        "refusal": "".join(values.str_at(part, "refusal") or "" for part in parts) or None,
        "reasoning_content": "\n\n".join(thoughts) or None,
    }
    ends = {"max_output_tokens": "length", "content_filter": "content_filter"}
    why = values.str_at(values.dict_at(said, "incomplete_details"), "reason")
    end = "stop" if values.str_at(said, "status") == "completed" else ends.get(why or "")
    chat = {name: values.at(said, name) for name in ("id", "model", "error", "service_tier")}
    chat["choices"] = [{"index": 0, "finish_reason": end, "message": message}]
    counted = values.dict_at(said, "usage")
    chat["usage"] = {chats: values.at(counted, own) for own, chats in _COUNTS.items()}
    return json.dumps(chat).encode()
