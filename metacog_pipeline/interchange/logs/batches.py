"""Results of batches of OpenAI, Anthropic and Gemini, read as our own batches are; a question is named by its id."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metacog_pipeline.interchange.record import Row, Sample, at, mapping
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Status

_CALLED = (b'"tool_calls":[{', b'"tool_use"', b'"functionCall"')
_OF_GEMINI = {"candidates", "promptFeedback", "usageMetadata", "modelVersion"}


def provider_of(row: Row) -> str | None:
    """Return whose results begin with this line, by the kinds of its parts; None for a row of anything else."""
    if "custom_id" in row and isinstance(row.get("result"), dict):
        return "anthropic"
    if "custom_id" in row:
        return "openai" if {"response", "error"} & {*row} else None
    of_gemini = isinstance(row.get("error"), dict) or _OF_GEMINI & {*mapping(row.get("response"))}
    # a plain table may have columns key, error or response
    return "gemini" if of_gemini and "question" not in row else None


def read(path: Path, rows: Iterator[Row], provider: str) -> Iterator[Sample]:
    """Yield the results of a provider's batch."""
    from metacog_pipeline.llm.batch.backends import BACKENDS  # batches as they are submitted, HTTP and all
    from metacog_pipeline.llm.wire import wire_for

    spec = ModelSpec.model_validate({"name": "imported", "provider": provider, "model": "imported"})
    backend, wire = BACKENDS[provider], wire_for(spec.provider)
    for row in rows:
        name = row.get("custom_id") or row.get("key") or at(row, "metadata", "key")
        made, line = Sample(str(name), path.stem, ""), backend.read({**row, "key": name})
        if line is None:  # as Vertex AI has them
            made.why = "does not say which request it answers; give each request a metadata.key, the id of its question"
        elif line.why is not None:
            made.why = f"was not answered: {line.why}"
        elif at(row, "response", "body", "object") == "response":
            made.why = "is a body of the Responses API; batches of chat completions are read"
        else:
            made.said = wire.read(spec, line.status, {}, line.body, None)
            made.model = made.said.model_reported or ""
            made.unscored = "calls a tool" if any(each in line.body for each in _CALLED) else None
            if made.said.status is Status.FAILED:
                made.why = f"failed: {made.said.error_code or made.said.error_message or line.status}"
        yield made
