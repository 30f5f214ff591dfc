"""What a judge is shown, quoted line by line, and the verdict its reply gives."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from metacog_pipeline.asking.states import source_of
from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import JsonObject, Message
from metacog_pipeline.reading.calls import ended
from metacog_pipeline.reading.envelope import Envelope
from metacog_pipeline.reading.fields import NOTHING, Binary, Found, simple
from metacog_pipeline.reading.reader import read
from metacog_pipeline.scoring.responses import CALL_COLUMNS, Kept, call_of, in_order

STEP = "judge"
MODES = ("json_schema", "text")
# the least a verdict may take: a judge may think first
JUDGE_TOKENS = 2_000
# what a judge is shown of a text: its beginning and its end
REPLY_CHARACTERS = 20_000
NOTHING_SAID = "(nothing)"


def quoted(text: str) -> str:
    """Return a text with ``| `` before every line, so that none passes for an instruction; of a long one both ends."""
    if len(text) > REPLY_CHARACTERS:
        half = REPLY_CHARACTERS // 2
        text = f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
    return "\n".join(f"| {line}" for line in text.splitlines()) or f"| {NOTHING_SAID}"


def unquoted(quotation: str) -> str:
    """Return what `quoted` quotes, its lines parted by line feeds."""
    text = "\n".join(line[2:] for line in quotation.split("\n"))
    return "" if text == NOTHING_SAID else text


class _Verdict(Binary):
    """One of the two words, under its name or all but alone."""

    # "It would pass if" is no verdict.
    def find(self, text: str) -> Found:
        return Binary.find(self, text) if len(simple(text).split()) <= _MOST_WORDS else NOTHING


_MOST_WORDS = 4
_VERDICT = _Verdict({"1": ("pass", "passes", "passed"), "0": ("fail", "fails", "failed")}, "decision")
_QUOTED = re.compile(r"^[ \t]*[>|][^\n]*", re.MULTILINE)


def parse_verdict(text: str) -> bool | None:
    """Return whether a judgement passes the reply; None for one that does not say, or says both."""
    found = read(Envelope.of(_QUOTED.sub("", text)), [_VERDICT])["decision"]
    return bool(found.value) if found.status == "ok" else None


def judge_calls(transcripts: pl.DataFrame, *by: str) -> dict[tuple[Any, ...], Kept]:
    """Return the newest call of a judge, by columns that name what was judged."""
    kept = transcripts.filter(pl.col("step") == STEP, ~pl.col("superseded"))
    more = [name for name in (*by, "source") if name not in CALL_COLUMNS]
    return {tuple(call[name] for name in by): call for call in in_order(kept, more)}


def columns_of(call: Kept | None, judge: ModelSpec, source: str) -> dict[str, Any]:
    """Return what a judge's call gives to the row of a reply from ``source``: the verdict, or why there is none."""
    over = ended(None if call is None else call_of(call), "the judge's max_tokens")
    verdict = None if call is None or over is not None else parse_verdict(call["text"])
    unreadable = ("unreadable", "neither pass nor fail")
    status, reason = over or (("ok", None) if verdict is not None else unreadable)
    simulated = "simulated" in (source, source_of(judge), call and call["source"])
    return {
        "verdict": None if verdict is None else int(verdict),
        **{"status": status, "reason": reason},
        **{name: call and call[name] for name in ("mode", "answer_id", "cost_usd")},
        "source": "simulated" if simulated else source,
    }


@functools.cache
def verdict_object() -> JsonObject:
    """Return the object that a judge in mode ``json_schema`` is held to."""
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["pass", "fail"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    return JsonObject("judgement", json.dumps(schema))


def modes(spec: ModelSpec) -> tuple[str, ...]:
    """Return the answer modes to try with a judge, best first."""
    if spec.answer_mode in MODES:
        return (spec.answer_mode,)
    return ("text",) if spec.provider == "simulated" else MODES


def digest(messages: Sequence[Message]) -> str:
    """Return the SHA-256 of all that a judge is sent."""
    return sha256_hex(canonical_json([each.content for each in messages]))


def task(item_id: str, condition: str, messages: Sequence[Message], judge: ModelSpec) -> Task:
    """Return the task of one verdict: one call, with any outcome."""
    tokens = max(judge.max_tokens, JUDGE_TOKENS)

    async def run(ask: Ask, mode: str) -> None:
        held = None if mode == "text" else verdict_object()
        await ask(STEP, messages, constraint=held, max_tokens=tokens, top_logprobs=0)

    return Task(item_id, digest(messages), condition, run)
