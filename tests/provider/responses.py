"""OpenAI Responses as the local server speaks them."""

from __future__ import annotations

from collections.abc import Iterator

from metacog_pipeline.llm import types
from tests.provider import dialects, openai, reading


def answer(given: dialects.Answer) -> dialects.JsonDict:
    completion, limit = given.completion, given.asked.request.sampling.max_tokens
    filtered = completion.status is types.Status.REFUSED and completion.finish_reason == "content_filter"
    cut = completion.status is types.Status.TRUNCATED
    reason = "content_filter" if filtered else "max_output_tokens"
    return {
        "id": f"resp_sim_{given.number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "incomplete" if cut or filtered else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if cut or filtered else None,
        "instructions": None,
        "max_output_tokens": limit,
        "model": given.model,
        "output": _output(given),
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": given.asked.effort, "summary": "auto" if given.asked.shown else None},
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": given.sent,
            "input_tokens_details": {"cached_tokens": given.cached, "cache_write_tokens": 0},
            "output_tokens": given.got,
            "output_tokens_details": {"reasoning_tokens": given.thought},
            "total_tokens": given.sent + given.got,
        },
        **given.style.extra,
    }


def _output(given: dialects.Answer) -> list[dialects.JsonDict]:
    completion, items = given.completion, []
    if completion.reasoning_text is not None:
        shown = given.asked.shown and completion.reasoning_text
        summary = [{"type": "summary_text", "text": completion.reasoning_text}] if shown else []
        thought: dialects.JsonDict = {"id": f"rs_sim_{given.number}", "type": "reasoning", "summary": summary}
        items.append({**thought, "encrypted_content": "c2VhbGVk"} if given.asked.sealed else thought)
    content: dialects.JsonDict = {"type": "output_text", "text": completion.text, "annotations": []}
    content["logprobs"] = []
    if given.asked.request.sampling.top_logprobs is not None:
        content["logprobs"] = openai.logprobs(completion)
    if completion.status is types.Status.REFUSED:
        content = {"type": "refusal", "refusal": completion.text or "No."}
    if completion.text or completion.status in (types.Status.OK, types.Status.REFUSED):
        status = "incomplete" if completion.status is types.Status.TRUNCATED else "completed"
        items.append(
            {
                "id": f"msg_sim_{given.number}",
                "type": "message",
                "role": "assistant",
                "status": status,
                "content": [] if completion.finish_reason == "content_filter" else [content],
            }
        )
    return items


def frames(body: dialects.JsonDict, asked: dialects.Asked, pieces: int) -> Iterator[dialects.Frame]:
    for number, (kind, fields) in enumerate(_events(body, pieces)):
        yield kind, {"type": kind, "sequence_number": number, **fields}


def _events(body: dialects.JsonDict, pieces: int) -> Iterator[tuple[str, dialects.JsonDict]]:
    begun = {**body, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(dialects.as_list_at(body, "output")):
        at: dialects.JsonDict = {"item_id": item["id"], "output_index": index}
        empty: dialects.JsonDict = {**item, "status": "in_progress"}
        empty |= {name: [] for name in ("summary", "content") if name in item}
        yield "response.output_item.added", {"output_index": index, "item": empty}
        for place, part in enumerate(dialects.as_list_at(item, "summary")):
            yield from _part(part, {**at, "summary_index": place}, pieces)
        for place, part in enumerate(dialects.as_list_at(item, "content")):
            yield from _part(part, {**at, "content_index": place}, pieces)
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield f"response.{body['status']}", {"response": body}


def _part(
    part: dialects.JsonDict, at: dialects.JsonDict, pieces: int
) -> Iterator[tuple[str, dialects.JsonDict]]:
    kind = str(part["type"])
    name = "refusal" if kind == "refusal" else "text"
    event = {"summary_text": "reasoning_summary_text", "output_text": "output_text"}.get(kind, kind)
    around = "reasoning_summary_part" if kind == "summary_text" else "content_part"
    begun = {**part, name: "", **({"logprobs": []} if "logprobs" in part else {})}
    yield f"response.{around}.added", {**at, "part": begun}
    texts = dialects.pieces(str(part[name]), pieces)
    listed = dialects.as_list_at(part, "logprobs")
    for place, text in enumerate(texts):
        share = listed[len(listed) * place // len(texts) : len(listed) * (place + 1) // len(texts)]
        with_share = {"logprobs": share} if kind == "output_text" else {}
        yield f"response.{event}.delta", {**at, "delta": text, **with_share}
    with_all = {"logprobs": listed} if kind == "output_text" else {}
    yield f"response.{event}.done", {**at, name: part[name], **with_all}
    yield f"response.{around}.done", {**at, "part": part}


class _Responses(dialects.Dialect):
    def broken(self, problem: dialects.Problem) -> dialects.Frame:
        worded = dialects.as_dict_at(self.error(problem), "error")
        fields = {name: worded[name] for name in ("message", "param", "code")}
        return "error", {"type": "error", "sequence_number": 0, **fields}


DIALECT = _Responses(reading.reader(reading.response), answer, frames, openai.error)
