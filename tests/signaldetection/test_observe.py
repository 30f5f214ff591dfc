"""Observations: one row per item and condition, whatever the store holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.benchmarks.signaldetection.items import Item
from metacog_pipeline.benchmarks.signaldetection.observe import (
    OBSERVATION_SCHEMA,
    UNANSWERED,
    UNPARSED,
    observe,
)
from metacog_pipeline.benchmarks.signaldetection.prompts import CONDITIONS
from metacog_pipeline.llm.spec import ObserverSpec

Transcript = Callable[..., dict[str, Any]]
Table = Callable[..., pl.DataFrame]


def one(items: list[Item], rows: pl.DataFrame, condition: str = "confidence", **more: Any) -> dict[str, Any]:
    found = observe(items, rows, conditions=(condition,), model="m", run=1, **more)
    assert found.schema == OBSERVATION_SCHEMA and found.height == len(items)
    return found.row(0, named=True)


def test_every_item_and_condition_has_a_row_in_order(items: list[Item], table: Table) -> None:
    found = observe(items, table([]), conditions=CONDITIONS, model="m", run=2)
    assert found.schema == OBSERVATION_SCHEMA
    assert found["item_id"].to_list() == [item.item_id for item in items] * 4
    assert found["condition"].unique(maintain_order=True).to_list() == list(CONDITIONS)
    assert set(found["status"]) == {"not_run"} and found["response"].null_count() == found.height
    assert set(found["source"]) == {"measured"} and set(found["run"]) == {2}
    assert set(found["task"]) == {"A", "B", "C"}


def test_answer_is_read_and_compared_with_the_label(
    items: list[Item], transcript: Transcript, table: Table
) -> None:
    for item in items[:10]:
        for said in (0, 1):
            row = one([item], table([transcript(item, f'{{"decision":"{said}","confidence":3}}')]))
            assert (row["response"], row["confidence"], row["status"]) == (said, 3, "ok")
            assert row["correct"] == int(said == item.stimulus) and row["stimulus"] == item.stimulus
            assert (row["latency_s"], row["cost_usd"]) == (0.5, 0.001)
            assert (row["input_tokens"], row["output_tokens"], row["mode"]) == (100, 8, "text")


@pytest.mark.parametrize(
    ("text", "changed", "status", "response", "said"),
    [
        ("It is positive.", {}, "answer_unparsed", None, "no JSON object"),
        ("", {}, "answer_unparsed", None, "empty"),
        ('{"decision":"1"}', {}, "confidence_unparsed", 1, "no confidence"),
        ('{"decision":"1","confidence":7}', {}, "confidence_unparsed", 1, "confidence 7"),
        ("", {"status": "refused"}, "refused", None, "refusal"),
        ('{"decision":"1","confidence":4}', {"status": "truncated"}, "too_long", None, "max_tokens"),
        ("", {"status": "failed", "error_message": "HTTP 500"}, "transport_error", None, "HTTP 500"),
        ("", {"status": "failed", "error_code": "cut"}, "transport_error", None, "cut"),
        ("", {"status": "failed"}, "transport_error", None, "failed"),
    ],
)
def test_every_ending_has_its_status_and_reason(
    text: str, changed: dict[str, Any], status: str, response: int | None, said: str,
    items: list[Item], transcript: Transcript, table: Table,
) -> None:  # fmt: skip
    row = one(items[:1], table([transcript(items[0], text, **changed)]))
    assert (row["status"], row["response"], row["confidence"]) == (status, response, None)
    assert said in row["reason"]
    assert (row["correct"] is None) == (response is None)


def test_statuses_fall_into_ok_unparsed_refused_and_unanswered() -> None:
    assert not set(UNANSWERED) & set(UNPARSED)
    assert {*UNANSWERED, *UNPARSED, "ok", "refused"} == {
        "ok", "answer_unparsed", "confidence_unparsed", "refused", "transport_error", "too_long", "not_run",
    }  # fmt: skip


def test_risk_conditions_miss_no_confidence(items: list[Item], transcript: Transcript, table: Table) -> None:
    for text in ('{"decision":"0"}', '{"decision":"0","confidence":3}'):
        row = one(items[:1], table([transcript(items[0], text, condition="risk_s1")]), "risk_s1")
        assert (row["status"], row["response"], row["confidence"], row["reason"]) == ("ok", 0, None, None)


def test_scale_is_the_studys(items: list[Item], transcript: Transcript, table: Table) -> None:
    rows = table([transcript(items[0], '{"decision":"0","confidence":4}')])
    assert one(items[:1], rows, ratings=3)["status"] == "confidence_unparsed"
    assert one(items[:1], rows, ratings=4)["confidence"] == 4


def test_rows_of_others_and_superseded_ones_are_ignored(
    items: list[Item], transcript: Transcript, table: Table
) -> None:
    text = '{"decision":"0","confidence":4}'
    others: list[dict[str, Any]] = [
        {"benchmark": "metamedqa"}, {"model": "n"}, {"run": 2}, {"superseded": True}, {"step": "other"},
        {"condition": "risk_none"}, {"item_id": "sdt-A-999999"}, {"item_hash": "0" * 64},
    ]  # fmt: skip
    rows = table([transcript(items[0], text, **changed) for changed in others])
    assert one(items[:1], rows)["status"] == "not_run"


def test_answers_to_another_text_of_the_same_item_are_not_its_answers(
    items: list[Item], transcript: Transcript, table: Table
) -> None:
    text = '{"decision":"0","confidence":4}'
    other = replace(items[0], text=items[0].text + " again")
    assert one(items[:1], table([transcript(other, text)]))["status"] == "not_run"
    mended = replace(items[0], stimulus=1 - items[0].stimulus)  # type: ignore[arg-type]
    row = one(items[:1], table([transcript(mended, text)]))
    assert row["status"] == "ok" and row["correct"] == int(items[0].stimulus == 0)


def test_latest_answer_that_did_not_fail_counts(
    items: list[Item], transcript: Transcript, table: Table
) -> None:
    def at(minute: int, text: str, **changed: Any) -> dict[str, Any]:
        return transcript(items[0], text, started_at=datetime(2026, 1, 1, 0, minute, tzinfo=UTC), **changed)

    first = at(1, '{"decision":"0","confidence":1}')
    second = at(2, '{"decision":"1","confidence":2}')
    failed = at(3, "", status="failed")
    for rows in ([first, second, failed], [failed, second, first]):
        row = one(items[:1], table(rows))
        assert (row["response"], row["confidence"], row["answer_id"]) == (1, 2, second["answer_id"])
    assert one(items[:1], table([failed]))["status"] == "transport_error"


def test_source_is_taken_from_the_transcripts_or_given(
    items: list[Item], transcript: Transcript, table: Table
) -> None:
    rows = table([transcript(items[0], "", source="simulated")])
    assert one(items[:1], rows)["source"] == "simulated"
    assert one(items[:1], rows, source="measured")["source"] == "measured"


def test_arrow_tables_are_read_like_frames(items: list[Item], transcript: Transcript, table: Table) -> None:
    rows = table([transcript(item, '{"decision":"1","confidence":2}') for item in items])
    given = {"conditions": ("confidence",), "model": "m", "run": 1}
    assert observe(items, rows.to_arrow(), **given).equals(observe(items, rows, **given))  # type: ignore[arg-type]


def test_simulated_answers_to_every_condition_are_read(
    items: list[Item], answered: Callable[..., pl.DataFrame]
) -> None:
    found = answered(items, ObserverSpec(), conditions=CONDITIONS)
    assert set(found["status"]) == {"ok"} and set(found["source"]) == {"simulated"}
    rated = found.filter(pl.col("condition") == "confidence")
    assert rated["confidence"].null_count() == 0
    assert found.filter(pl.col("condition") != "confidence")["confidence"].null_count() == 3 * len(items)
