"""What of a request a model takes: options it was found to refuse are left out when a call is worded."""

from __future__ import annotations

from dataclasses import replace

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Sampling

SHOWN_REASONING = "reasoning_summary"  # the option to be shown what was thought, whatever a provider calls it


def accepted(request: ChatRequest, known: Capabilities) -> Sampling:
    """Return the sampling of ``request`` without what the model refuses; the limit on tokens is `token_limit`'s."""
    sampling = request.sampling
    if not known.refused:
        return sampling
    refused = known.refused
    return replace(
        sampling,
        temperature=None if "temperature" in refused else sampling.temperature,
        seed=None if "seed" in refused else sampling.seed,
        top_logprobs=None if "top_logprobs" in refused else sampling.top_logprobs,
        stop=() if "stop" in refused else sampling.stop,
    )


def shows_reasoning(spec: ModelSpec, known: Capabilities) -> bool:
    """Return whether to ask for a view of the thinking: only where there is some, for others may refuse the option."""
    thinks = known.reasons or spec.effort not in (None, "none") or bool(spec.thinking_tokens)
    return thinks and SHOWN_REASONING not in known.refused
