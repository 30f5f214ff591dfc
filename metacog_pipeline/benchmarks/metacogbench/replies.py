"""Replies read without a study: one row of ``metacog read metacogbench``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from metacog_pipeline.benchmark.replies import BadRow, found_item, no_prose, texts_of, too_long, unparsable
from metacog_pipeline.benchmark.thinking import without_thinking
from metacog_pipeline.benchmarks.metacogbench.construction import shuffled
from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of
from metacog_pipeline.benchmarks.metacogbench.items import SETS, Item
from metacog_pipeline.benchmarks.metacogbench.prompts import ANSWER, MORE_TURNS, PROBE, TURN_1, TURN_2
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import score_reply

STEPS = (ANSWER, TURN_1, TURN_2, *MORE_TURNS, PROBE)
_READ = ("answer", "bet", "pre", "post", "probe", "fields_ok", "cues", "factors")


def read_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the reply of a row says and is worth; raises `BadRow` for a row that names no item or no reply."""
    item: Item = found_item(row, _items())
    texts = texts_of(row, STEPS)
    item = shuffled(item, _seed(row))
    free = ("response", ANSWER, TURN_2, *MORE_TURNS)
    scored = next((texts[step] for step in reversed(free) if step in texts), None)
    if scored is None:
        raise BadRow(f"no reply to score; give response, or responses with {ANSWER} or {TURN_2}")
    if (why := next(filter(None, map(too_long, texts.values())), None)) is not None:
        return {"tier": item.tier, **unparsable(why)}
    prose = [texts[step] for step in texts if step != PROBE] if item.tier in ("2a", "2b") else []
    if (why := next(filter(None, map(no_prose, prose)), None)) is not None:
        return {"tier": item.tier, **unparsable(why)}
    first = texts.get(TURN_1) if item.tier == "2b" or TURN_2 in texts else None
    made = score_reply(item, scored, first, probe=texts.get(PROBE))
    values = made.values
    ambiguous = bool(values.get("ambiguous"))
    read = {name: values[name] for name in _READ if values.get(name) not in (None, [], ())}
    silent = not without_thinking(scored).strip()
    return {
        "tier": item.tier,
        "status": made.status,
        "read": read,
        "correct": None if ambiguous or values.get("correct") is None else bool(values["correct"]),
        "passed": bool(values["passed"]),
        "ambiguous": ambiguous,
        "basis": values.get("basis") or "words",
        "why": made.reason or values.get("answer_why") or ("the reply is empty" if silent else None),
    }


def _seed(row: Mapping[str, Any]) -> int:
    """Return the seed that draws the order of a probe's options, 0 where the row names none."""
    seed = row.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise BadRow("seed must be a whole number, that of the study")
    return seed


@cache
def _items() -> Mapping[str, Item]:
    return {item.item_id: item for name in reversed(SETS) for item in items_of(name)}
