"""Items, calls and responses of a synthetic home."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pyarrow as pa

from metacog_pipeline.files import canonical_json
from metacog_pipeline.home import Home
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA
from tests.report.conftest import write

HOSTILE = (
    "<script>window.hacked = 1</script>",
    '<img src=x onerror="window.hacked = 2">',
    "</script><script>window.hacked = 3</script>",
    '");window.hacked = 4;//',
    "\\u003cscript>window.hacked = 5</script>\u2028\u2029",
    "\x1b[31mred\x1b[0m \x00 \u202eright to left\u202c",
    "<!-- <svg onload=window.hacked=6>",
    "plain",
)


def call(place: int, text: str, **columns: object) -> dict[str, object]:
    """Return a call about item number ``place``."""
    talk = [["system", "<b>be brief</b>"], ["user", f"question {place} {text[:40]}"]]
    request = canonical_json({"messages": talk})
    return {
        "answer_id": f"a{place}", "benchmark": "signaldetection", "model": "alpha", "run": 1, "item_id": f"item-{place:03}",
        "condition": "confidence", "step": "answer", "source": "measured", "provider": "openai", "mode": "text",
        "request_json": request, "status": "ok", "text": text, "started_at": datetime(2026, 1, 2, tzinfo=UTC),
        "attempts": 1, "latency_s": 0.5, "cost_usd": -0.0, "superseded": False,
        **columns,
    }  # fmt: skip


def filled(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the rows with something in every column that may not be empty."""
    needed = [each for each in ARROW_SCHEMA if not each.nullable and each.name != "started_at"]
    kinds = {each.name: each.type for each in needed}
    empty = {
        name: pa.scalar("" if pa.types.is_string(kind) else "0").cast(kind).as_py()
        for name, kind in kinds.items()
    }
    return [{**empty, **{name: value for name, value in row.items() if value is not None}} for row in rows]


def response(place: int, model: str) -> dict[str, object]:
    """Item 0 all wrong and sure, 1 disagreement, 2 unreadable for beta, the rest right."""
    wrong = place == 0 or (place == 1 and model == "beta")
    return {
        "benchmark": "signaldetection", "dataset": "published", "condition": "A confidence", "model": model, "run": 1,
        "item_id": f"item-{place:03}", "cluster": f"item-{place:03}", "correct": 0.0 if wrong else 1.0,
        "confidence": 0.95 if place == 0 else 0.6, "response": HOSTILE[place % len(HOSTILE)], "reading": "ok",
    }  # fmt: skip


def answered(home: Home, models: Sequence[str], texts: Sequence[str], reply: Callable[[int], str]) -> None:
    """Give ``home`` an item of each text, and of every model a call and a response to each."""
    items = [
        {"item_id": f"item-{i:03}", "dataset": "published", "position": i, "text": text}
        for i, text in enumerate(texts)
    ]
    write(home, "items/signaldetection.parquet", items)
    for number, model in enumerate(models):
        rows = [response(i, model) for i in range(len(texts)) if (i, model) != (2, "beta")]
        write(home, f"harmonised/signaldetection/{number}/run=1.parquet", rows)
        calls = [
            call(i, reply(i), model=model, answer_id=f"{model}-{i}", reasoning_text="<i>hm</i>")
            for i in range(len(texts))
        ]
        place = f"transcripts/benchmark=signaldetection/{number}/run=1/transcripts.parquet"
        write(home, place, filled(calls))
