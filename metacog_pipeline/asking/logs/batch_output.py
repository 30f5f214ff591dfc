"""Results of batches of OpenAI, Anthropic and Gemini, read as our own batches are; a question is named by its id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.asking.logs import sample as samples
from metacog_pipeline.asking.logs.sample import Sample
from metacog_pipeline.llm.batch.anthropic import AnthropicBatches
from metacog_pipeline.llm.batch.gemini import GeminiBatches
from metacog_pipeline.llm.batch.openai import OpenAiBatches
from metacog_pipeline.llm.batch.ways import Way
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Status
from metacog_pipeline.llm.wire import wire_for


def provider_of(row: Mapping[str, Any]) -> str | None:
    """Return whose batch a line is of; None where it is of none."""
    if "custom_id" in row and "result" in row:
        return "anthropic"
    if "custom_id" in row and ("response" in row or "error" in row):
        return "openai"
    return "gemini" if "key" in row and ("response" in row or "error" in row) else None


def read(path: Path, rows: Iterator[dict[str, Any]], provider: str) -> Iterator[Sample]:
    """Yield the results of a file."""
    ways: dict[str, Way] = {
        "openai": OpenAiBatches(),
        "anthropic": AnthropicBatches(),
        "gemini": GeminiBatches(),
    }
    way = ways[provider]
    spec = ModelSpec.model_validate({"name": "imported", "provider": provider, "model": "imported"})
    wire = wire_for(spec.provider)
    for row in rows:
        line = way.read(row)
        if line is None:
            yield samples.nothing(
                row.get("custom_id") or row.get("key"), path.stem, "", "is no result of a batch"
            )
            continue
        if line.why is not None:
            yield samples.nothing(line.custom_id, path.stem, "", f"was not answered: {line.why}")
            continue
        said = wire.read(spec, line.status, {}, line.body, None)
        if said.status is Status.FAILED:
            why = f"failed: {said.error_code or said.error_message or line.status}"
            yield samples.nothing(line.custom_id, path.stem, said.model_reported or "", why)
            continue
        tools = (
            b'"tool_calls":[{' in line.body or b'"tool_use"' in line.body or b'"functionCall"' in line.body
        )
        yield Sample(
            line.custom_id,
            path.stem,
            said.model_reported or "",
            said,
            unscored="calls a tool" if tools else None,
        )
