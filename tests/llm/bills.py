"""What a usage is charged, as if it had come with an answer of one letter."""

from metacog_pipeline.llm import costs
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Status, Usage


def charged(
    spec: ModelSpec,
    request: ChatRequest,
    usage: Usage,
    known: Capabilities = NOTHING_KNOWN,
    *,
    text: str = "",
    thought: str | None = None,
    batch: bool = False,
) -> float | None:
    completion = Completion(Status.OK, text, usage=usage, reasoning_text=thought)
    return costs.reconciled(spec, completion, request, known, batch=batch).cost
