"""Sending an answer as server-sent events: in parts, with gaps and keep-alive comments, and the faults of streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence

from aiohttp import web

from tests.provider import dialects, replies
from tests.provider.faults import Fault, FaultPlan

COMMENT = b": keep-alive\n\n"
TORN_BYTES = 7  # fewer than a line, and no multiple of a character's bytes
ENDLESS_GAP_S = 0.01  # a stream without an end must not fill the machine's memory while nobody reads it


def encoded(frame: dialects.Frame) -> bytes:
    name, data = frame
    text = data if isinstance(data, str) else dumped(data)
    return (f"event: {name}\n" if name else "").encode() + b"data: " + text.encode() + b"\n\n"


def dumped(data: object) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(data, separators=(",", ":"))
    return text


async def opened(http: web.Request, number: int, extra: Mapping[str, str]) -> web.StreamResponse:
    headers = {"Cache-Control": "no-cache", **replies.request_ids(number), **extra}
    response = web.StreamResponse(headers=headers)
    response.content_type = "text/event-stream"
    response.charset = "utf-8"
    await response.prepare(http)
    return response


async def waited(response: web.StreamResponse, seconds: float, plan: FaultPlan) -> None:
    every = plan.keep_alive_s or 1.0
    while seconds > 0:
        await response.write(COMMENT)
        await asyncio.sleep(min(every, seconds))
        seconds -= every


async def send(
    http: web.Request, response: web.StreamResponse, events: Sequence[bytes], outcome: str, plan: FaultPlan
) -> None:
    half = len(events) // 2
    if outcome == Fault.CUT:
        await _write(response, events[:half], plan)
        return _broken_off(http)
    if outcome == Fault.CUT_CHARACTER:
        await response.write(replies.character_cut(b"".join(events)))
        return _broken_off(http)
    if outcome == Fault.TORN:
        whole = b"".join(events)
        await _write(response, [whole[at : at + TORN_BYTES] for at in range(0, len(whole), TORN_BYTES)], plan)
    elif outcome == Fault.ENDS_EARLY:
        await _write(response, events[:half], plan)
    elif outcome in (Fault.STALL, Fault.ENDLESS):
        await _write(response, events[:half], plan)
        while outcome == Fault.ENDLESS:
            await response.write(events[half])
            await asyncio.sleep(plan.gap_s or ENDLESS_GAP_S)
        await asyncio.sleep(plan.slow_s)
        await _write(response, events[half:], plan)
    else:
        await _write(response, events, plan)
    await response.write_eof()


async def _write(response: web.StreamResponse, parts: Sequence[bytes], plan: FaultPlan) -> None:
    for place, part in enumerate(parts):
        if place and plan.gap_s:
            await asyncio.sleep(plan.gap_s)
        await response.write(part)


def _broken_off(http: web.Request) -> None:
    if http.transport is not None:
        http.transport.close()
