"""The published signal-detection numbers that ship: whole, in the units of the board, and beside what their counts give."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import NormalDist

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.files import shipped
from metacog_pipeline.leaderboard import build, run_query
from metacog_pipeline.leaderboard.schemas import DATASETS

GOLDEN = Path(os.environ.get("METACOG_GOLDEN") or Path(__file__).parents[3] / "shared" / "golden") / "sdt"
METAD = "estimates/signaldetection/published/metad*.parquet"
CRITERIA = "estimates/signaldetection/published/criteria*.parquet"
CONTRASTS = "estimates/signaldetection/published/contrasts*.parquet"


def table(folder: Path, name: str) -> list[dict[str, str]]:
    path = folder / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def ours(name: str) -> list[dict[str, str]]:
    return table(shipped("data", "published", "signaldetection"), name)


def write(home: Path, pattern: str, rows: list[dict[str, object]]) -> None:
    schema = DATASETS[pattern]
    path = home / pattern.replace("*", "")
    path.parent.mkdir(parents=True, exist_ok=True)
    filled = [{name: row.get(name) for name in schema.names} for row in rows]
    pq.write_table(pa.Table.from_pylist(filled, schema=schema), path)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("published")
    build(path)
    yield path


@pytest.mark.parametrize(
    ("mine", "reference"),
    [
        ("counts.csv", "counts.csv"),
        ("criterion_counts.csv", "ccal_counts.csv"),
        ("table_s1.csv", "paper_table_s1.csv"),
        ("table_s2.csv", "paper_table_s2.csv"),
    ],
)
def test_what_ships_is_the_reference(mine: str, reference: str) -> None:
    assert ours(mine) == table(GOLDEN, reference)


def test_counts_add_up_to_their_totals() -> None:
    for row in ours("counts.csv"):
        for side in ("S1", "S2"):
            bins = [int(part) for part in row[f"nR_{side}"].split(";")]
            assert len(bins) == 2 * int(row["n_ratings"]) and sum(bins) == int(row[f"n_{side}"])
    for row in ours("criterion_counts.csv"):
        parts = ("hits", "misses", "false_alarms", "correct_rejections")
        assert sum(int(row[name]) for name in parts) == int(row["total"])


def test_printed_criteria_follow_from_their_counts_to_the_last_digit() -> None:
    printed = {(r["task"], r["model"], r["risk_configuration"]): float(r["c"]) for r in ours("table_s2.csv")}
    z = NormalDist().inv_cdf
    assert len(printed) == 27
    for row in ours("criterion_counts.csv"):
        hit = int(row["hits"]) / (int(row["hits"]) + int(row["misses"]))
        alarm = int(row["false_alarms"]) / (int(row["false_alarms"]) + int(row["correct_rejections"]))
        stated = printed[row["task"], row["model"], row["risk_configuration"]]
        assert -(z(hit) + z(alarm)) / 2 == pytest.approx(stated, abs=1e-4)


def test_every_printed_number_is_there_in_the_names_of_the_board(home: Path) -> None:
    found = run_query(
        home,
        "select place, condition, measure, count(*), count(n) from published_signaldetection group by all order by all",
    ).rows
    assert found == (
        ("table S1", "confidence", "d_bayes", 9, 9),
        ("table S1", "confidence", "m_ratio_bayes", 9, 9),
        ("table S1", "confidence", "meta_d_bayes", 9, 9),
        ("table S2", "risk_none", "c", 9, 9),
        ("table S2", "risk_s1", "c", 9, 9),
        ("table S2", "risk_s2", "c", 9, 9),
    )


def test_printed_half_widths_are_the_interval_on_the_board(home: Path) -> None:
    sql = "select estimate, low, high, n from board where condition = 'A risk_s1' and model = 'GPT-5-2025-08-07'"
    assert run_query(home, sql).rows == ((-0.6304, -0.6634, -0.5974, 20_000),)


def test_every_note_is_about_a_number_that_is_there(home: Path) -> None:
    [(noted,)] = run_query(home, "select count(note) from published_signaldetection").rows
    assert noted == len(ours("notes.csv"))


def test_before_the_counts_are_fitted_again_nothing_is_said_to_be_reproduced(home: Path) -> None:
    found = run_query(
        home, "select verdict, count(*) from published_checks_signaldetection group by all"
    ).rows
    assert found == (("not computed", 81),)


def refit(printed: float, recomputed: float | None, **row: object) -> dict[str, object]:
    return {
        "published": printed,
        "recomputed": recomputed,
        "tolerance": 0.005,
        "n": 20_000,
        "status": "ok",
        **row,
    }


def test_a_recomputed_number_stands_beside_the_printed_one_with_its_verdict(tmp_path: Path) -> None:
    names = {"task": "A", "model": "GPT-5-2025-08-07"}
    late = {"task": "C", "model": "DeepSeek-V3.2-Exp"}
    write(
        tmp_path,
        METAD,
        [
            refit(3.2396, 3.2391, **names, quantity="d", method="bayes", low=3.18, high=3.30),
            refit(3.2396, 3.2225, **names, quantity="d", method="ml_raw"),
            refit(3.2396, 3.2215, **names, quantity="d", method="ml_padded"),
            refit(1.2565, 1.38, **late, quantity="d", method="bayes", note="not converged"),
            refit(0.8866, None, **late, quantity="meta_d", method="bayes"),
        ],
    )
    risk = {**names, "condition": "risk_s1"}
    write(
        tmp_path,
        CRITERIA,
        [
            {**refit(-0.6304, -0.63040), **risk, "quantity": "c", "tolerance": 1e-4},
            {**refit(0.0330, 0.0350), **risk, "quantity": "ci_half", "tolerance": 5e-5},
        ],
    )
    build(tmp_path)
    found = run_query(
        tmp_path,
        "select task, quantity, published, recomputed, ml_raw, ml_padded, verdict, note "
        "from published_checks_signaldetection where verdict <> 'not computed' order by task, quantity",
    ).rows
    assert found == (
        ("A", "c", -0.6304, -0.6304, None, None, "reproduced", None),
        ("A", "ci_half", 0.033, 0.035, None, None, "differs", None),
        ("A", "d", 3.2396, 3.2391, 3.2225, 3.2215, "reproduced", None),
        ("C", "d", 1.2565, 1.38, None, None, "differs", "not converged"),
    )
    [(note,)] = run_query(
        tmp_path,
        "select note from published_checks_signaldetection where task = 'C' and quantity = 'meta_d' and model like 'Deep%'",
    ).rows
    assert "converged" in str(note)  # what ships is said until a fit says more


def test_published_criterion_shifts_are_marked_as_published(tmp_path: Path) -> None:
    write(
        tmp_path,
        CONTRASTS,
        [
            {
                "benchmark": "signaldetection", "dataset": "published", "source": "published", "task": "A",
                "model": "GPT-5-2025-08-07", "family": "criterion_z", "measure": "c", "a": "risk_none", "b": "risk_s1",
                "difference": 0.88, "verdict": "significant", "n": 40_000, "status": "ok",
            }
        ],
    )  # fmt: skip
    build(tmp_path)
    sql = "select source, as_predicted, paired_verdict from signaldetection_criterion_shifts"
    assert run_query(tmp_path, sql).rows == (("published", True, None),)
    assert run_query(tmp_path, "select count(*) from published_comparisons_signaldetection").rows == ((1,),)
    assert run_query(tmp_path, "select count(*) from signaldetection_comparisons").rows == ((0,),)
