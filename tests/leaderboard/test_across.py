"""Profile, drift, convergent validity: what a person finds in them, and that an empty study has them too."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.files import canonical_json
from metacog_pipeline.leaderboard import build
from metacog_pipeline.leaderboard.read import read_table, run_query
from metacog_pipeline.leaderboard.schemas import DATASETS

MakeHome = Callable[..., Path]
TRANSCRIPTS = DATASETS["transcripts/**/*.parquet"]
VALIDITY = DATASETS["estimates/across/validity/*.parquet"]
DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def empty_home(tmp_path: Path) -> Path:
    """Return a study home in which nothing has been asked."""
    home = tmp_path / "empty"
    home.mkdir()
    return home


def table(home: Path, name: str) -> list[dict[str, object]]:
    found = read_table(home, f"from {name}")
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def call(
    item: int, run: int, when: datetime, text: str, *, reported: str = "m-1", temperature: float | None = 0.0
):
    request = {
        "messages": [["user", f"question {item}"]],
        "sampling": {"temperature": temperature},
        "run": run,
    }
    return {
        "answer_id": f"{item}-{run}-{when.isoformat()}", "benchmark": "metamedqa", "model": "real-one", "run": run,
        "item_id": f"i{item}", "condition": "baseline", "step": "answer", "source": "measured", "provider": "openai",
        "model_id": "m", "model_reported": reported, "mode": "text", "request_json": canonical_json(request),
        "status": "ok", "text": text, "started_at": when, "attempts": 1, "latency_s": 1.0, "superseded": False,
    }  # fmt: skip


def drift(home: Path, calls: list[dict[str, object]]) -> list[dict[str, object]]:
    rows = [{name: each.get(name) for name in TRANSCRIPTS.names} for each in calls]
    for row in rows:
        for field in TRANSCRIPTS:
            if row[field.name] is None and not field.nullable:
                row[field.name] = (
                    False if pa.types.is_boolean(field.type) else 0 if pa.types.is_integer(field.type) else ""
                )
    target = home / "transcripts" / "more" / "transcripts.parquet"
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=TRANSCRIPTS), target)
    build(home)
    return [row for row in table(home, "drift") if row["model"] == "real-one"]


def test_a_changed_id_is_flagged_with_the_day_it_was_first_seen(empty_home: Path) -> None:
    later = DAY + timedelta(days=9)
    calls = [call(n, 1, DAY, "A") for n in range(5)] + [
        call(n, 1, later, "A", reported="m-2", temperature=1.0) for n in range(7, 10)
    ]
    (found,) = drift(empty_home, calls)
    assert (found["sign"], found["earlier"], found["later"], found["n"]) == ("reported id", "m-1", "m-2", 3)
    assert found["flagged"] and found["since"] == later


@pytest.mark.parametrize(("changed", "flagged"), [(0, False), (2, False), (20, True)])
def test_other_answers_on_another_day_at_temperature_zero_are_flagged_when_many(
    empty_home: Path, changed: int, flagged: bool
) -> None:
    later = DAY + timedelta(days=3)
    calls = [call(n, 1, DAY, "A") for n in range(60)]
    calls += [call(n, 2, later, "B" if n < changed else "A") for n in range(60)]
    (found,) = drift(empty_home, calls)
    assert (found["n"], found["changed"], found["flagged"]) == (60, changed, flagged)
    assert (found["earlier"], found["later"]) == ("2026-03-01", "2026-03-04")


def test_a_model_that_is_unsteady_within_a_day_is_not_said_to_drift(empty_home: Path) -> None:
    calls = [call(n, 1, DAY, "A") for n in range(60)]
    calls += [call(n, 2, DAY + timedelta(hours=1), "AB"[n % 2]) for n in range(60)]
    calls += [call(n, 3, DAY + timedelta(days=3), "AB"[n // 2 % 2]) for n in range(60)]
    found = drift(empty_home, calls)
    assert found and not any(row["flagged"] for row in found)


def test_answers_drawn_at_a_temperature_say_nothing_about_drift(empty_home: Path) -> None:
    calls = [call(n, 1, DAY, "A", temperature=0.7) for n in range(30)]
    calls += [call(n, 2, DAY + timedelta(days=3), "B", temperature=0.7) for n in range(30)]
    assert drift(empty_home, calls) == []


def test_few_models_are_warned_about_in_every_row(empty_home: Path) -> None:
    row = {
        "source": "measured", "a": "x ece", "b": "y saf", "trait_a": "monitoring", "trait_b": "control",
        "benchmark_a": "x", "benchmark_b": "y", "kind": "discriminant", "n_models": 3, "status": "too few",
        "disattenuated_status": "too few",
    }  # fmt: skip
    rows = [
        {name: {**row, "b": f"y{n}", "n_models": n}.get(name) for name in VALIDITY.names} for n in (3, 7, 30)
    ]
    target = empty_home / "estimates" / "across" / "validity" / "validity.parquet"
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=VALIDITY), target)
    build(empty_home)
    warnings = {row["n_models"]: row["warning"] for row in table(empty_home, "convergent_validity")}
    assert "too few models" in warnings[3] and "few models" in warnings[7] and warnings[30] == ""


def test_a_profile_has_one_row_per_listed_model_and_places_it_among_its_own(make_home: MakeHome) -> None:
    home = make_home({"one": "measured", "two": "measured", "seen": "simulated"})
    build(home)
    rows = table(home, "profile")
    listed = {row[0] for row in run_query(home, "select model from int_listed_models").rows}
    assert {row["model"] for row in rows} == listed and len(rows) == len(listed)
    for row in rows:
        if row["metamedqa"] is not None:
            assert row["metamedqa_low"] <= row["metamedqa"] <= row["metamedqa_high"]
            assert row["metamedqa_percentile"] is None or 0 <= row["metamedqa_percentile"] <= 100
