"""Which of several calls counts, and what one says that brought no whole answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.common.observing import (
    calls_in_order,
    current_calls,
    ended,
    partition_rows,
    source_in,
    total,
    why_failed,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


def transcripts(*rows: dict[str, Any]) -> pl.DataFrame:
    usual = {
        **dict.fromkeys(("mode", "text", "error_code", "error_message", "item_hash"), ""),
        **dict.fromkeys(("input_tokens", "output_tokens"), 1),
        **dict.fromkeys(("cost_usd", "latency_s"), 0.5),
        **{"benchmark": "some", "model": "m", "run": 1, "superseded": False, "source": "simulated"},
        **{"item_id": "i", "condition": "c", "step": "answer", "status": "ok", "started_at": START},
    }
    return pl.DataFrame([{**usual, "answer_id": str(place), **row} for place, row in enumerate(rows)])


def test_only_rows_of_the_partition_that_nothing_took_the_place_of_are_kept() -> None:
    other: list[dict[str, Any]] = [
        {"benchmark": "another"}, {"model": "n"}, {"run": 2}, {"step": "later"}, {"superseded": True}, {},
    ]  # fmt: skip
    rows = transcripts(*other)

    def kept(**how: Any) -> list[str]:
        return partition_rows(rows, "some", 1, **how)["answer_id"].to_list()

    assert kept(model="m", steps=("answer",)) == ["5"]
    assert kept(model="m") == ["3", "5"]
    assert kept(steps=("answer",)) == ["1", "5"]
    assert kept(model="m", superseded=True) == ["3", "4", "5"]
    assert partition_rows(rows.to_arrow(), "some", 1, model="m")["answer_id"].to_list() == ["3", "5"]
    assert partition_rows(rows.drop("superseded"), "some", 1, model="m").height == 3


def test_the_source_is_that_of_the_answers_and_measured_before_there_are_any() -> None:
    rows = transcripts({})
    assert source_in(rows) == "simulated" and source_in(rows.clear()) == "measured"


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(["ok", "failed", "refused", "truncated"]), st.integers(0, 5))))
def test_the_newest_call_counts_and_a_failed_one_only_alone(calls: list[tuple[str, int]]) -> None:
    if not calls:
        return
    made = [{"status": status, "started_at": START + timedelta(hours=hour)} for status, hour in calls]
    found = current_calls(transcripts(*made))["i", "c"]["answer"]
    whole = [(hour, place) for place, (status, hour) in enumerate(calls) if status != "failed"]
    all_of_them = [(hour, place) for place, (_, hour) in enumerate(calls)]
    assert found["answer_id"] == str(max(whole or all_of_them)[1])


def test_calls_stand_under_their_item_condition_and_step_with_the_columns_asked_for() -> None:
    rows = transcripts({}, {"step": "later"}, {"item_id": "j"}, {"condition": "d"})
    found = current_calls(rows, ("item_hash",))
    assert {key: set(steps) for key, steps in found.items()} == {
        ("i", "c"): {"answer", "later"},
        ("j", "c"): {"answer"},
        ("i", "d"): {"answer"},
    }
    assert "item_hash" in found["i", "c"]["answer"]
    assert all("item_hash" not in call for call in calls_in_order(rows))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"status": "ok"}, None),
        ({"status": "refused"}, ("refused", "the provider reports a refusal or a content filter")),
        ({"status": "truncated"}, ("too_long", "cut by the length limit; raise the limit")),
        ({"status": "failed", "error_message": None, "error_code": "503"}, ("transport_error", "503")),
    ],
)
def test_a_call_without_a_whole_answer_says_how_it_ended(
    call: dict[str, Any], expected: tuple[str, str] | None
) -> None:
    assert ended(call, "the limit") == expected


def test_a_failed_call_always_has_a_reason() -> None:
    assert why_failed({"error_message": "no route", "error_code": "503"}) == "no route"
    assert why_failed({"error_message": "", "error_code": None}) == "the call failed"


def test_a_total_is_of_the_calls_that_know_it() -> None:
    assert total([{"cost_usd": 0.5}, {"cost_usd": None}, {"cost_usd": 0.25}], "cost_usd") == 0.75
    assert total([{"cost_usd": None}], "cost_usd") is None and total([], "cost_usd") is None
