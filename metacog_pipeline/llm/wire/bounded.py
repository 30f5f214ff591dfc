"""JSON from a vLLM server, with runs of white space bounded.

Its grammars allow white space without end between any two parts of an object, and a small model may never leave it: it
then runs into the limit of tokens although the object has three answers to choose from. The request alone can bound it,
in a form that other servers refuse; so it is sent where the server is known to be vLLM (see `llm.listing`).
"""

from __future__ import annotations

import json

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.types import ChatRequest, JsonObject, OneOf, Sampling
from metacog_pipeline.llm.wire.values import JsonDict

OPTION = "bounded_json"  # in `Capabilities.refused` where a version does not know the form
LEAST, MOST = 2, 16  # a break and a space; a break and the indentation of nested objects
TOKENS_PER_BREAK = 32  # so that a short answer fits its limit even where every break is as long as it may be


def bounds_white_space(known: Capabilities) -> bool:
    """Whether the server takes the bounded form."""
    return known.server == "vllm" and OPTION not in known.refused


def json_format(schema: object, sampling: Sampling) -> JsonDict:
    """Return the ``response_format`` that holds an answer to ``schema``."""
    room = MOST if sampling.max_tokens is None else sampling.max_tokens // TOKENS_PER_BREAK
    held = {
        "type": "json_schema",
        "json_schema": schema,
        "max_whitespace_cnt": min(max(room, LEAST), MOST),
    }
    return {"type": "structural_tag", "format": held}


def in_responses(request: ChatRequest) -> JsonDict:
    """Return the field that holds an answer to its constraint where vLLM is asked through Responses; empty for a bias."""
    match request.constraint:
        case JsonObject(_, schema_json):
            tag = json_format(json.loads(schema_json), request.sampling)
            return {"structured_outputs": {"structural_tag": json.dumps(tag)}}
        case OneOf(options):
            return {"structured_outputs": {"choice": list(options)}}
        case _:
            return {}
