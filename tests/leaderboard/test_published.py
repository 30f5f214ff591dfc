"""The published numbers that ship: against the reference tables where they are present, and against arithmetic."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from scipy import stats

from metacog_pipeline.files import shipped
from metacog_pipeline.leaderboard import build, run_query

TABLES = (
    Path(os.environ.get("METACOG_GOLDEN") or Path(__file__).parents[3] / "shared" / "golden")
    / "metamedqa"
    / "paper_tables"
)
ALIASES = {
    "GPT-4o": "GPT-4o-2024-05-13",
    "GPT-3.5": "GPT-3.5-turbo-0125",
    "accuracy": "accuracy",
    "missing_recall": "missing_answer_recall",
    "unknown_recall": "unknown_recall",
}


def reference(name: str) -> list[dict[str, str]]:
    path = TABLES / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("published")
    build(path)
    yield path


def figure(home: Path, place: str, model: str, condition: str, measure: str) -> tuple[object, ...]:
    sql = (
        "select stated, value, low, high, sem, stars, p_stated from published_metamedqa where "
        f"place = '{place}' and model = '{model}' and condition = '{condition}' and measure = '{measure}'"
    )
    found = run_query(home, sql).rows
    assert len(found) == 1, (place, model, condition, measure)
    return found[0]


def test_table_3_is_the_reference(home: Path) -> None:
    for row in reference("table3_confidence.csv"):
        stated, value, low, *_ = figure(home, "table 3", row["model"], "baseline", row["metric"])
        if not row["value"]:
            assert stated is None
            continue
        scale = 100 if row["unit"] == "percent" else 1
        assert stated == float(row["value"])
        assert value == pytest.approx(float(row["value"]) / scale)
        assert low == pytest.approx((float(row["value"]) - float(row["ci95_half_width"])) / scale)


def test_table_4_is_the_reference(home: Path) -> None:
    for row in reference("table4_prompts.csv"):
        for measure, value in row.items():
            if measure != "identifier":
                found = figure(home, "table 4", "GPT-4o-2024-05-13", row["identifier"], measure)
                assert found[0] == float(value)


def test_marked_differences_are_the_reference(home: Path) -> None:
    rows = reference("table4_significance.csv")
    for row in rows:
        found = figure(home, "table 4", "GPT-4o-2024-05-13", row["identifier"], row["metric"])
        assert found[5] == (row["marker"] or None)
        assert found[6] == (float(row["stated_p"]) if row["stated_p"] else None)
    marked = "select count(*) from published_metamedqa where stars is not null or p_stated is not null"
    assert run_query(home, marked).rows == ((len(rows),),)


def test_figures_of_the_text_are_the_reference(home: Path) -> None:
    checked = 0
    for row in reference("text_figures.csv"):
        measure, _, model = row["quantity"].partition(" ")
        if measure in ALIASES and row["unit"] == "percent":
            found = figure(home, "text", ALIASES.get(model, model), "baseline", ALIASES[measure])
            assert found[0] == float(row["value"])
            if row["note"].startswith("SEM"):
                sem = found[4]
                assert isinstance(sem, float) and sem * 100 == pytest.approx(float(row["note"].split()[1]))
            checked += 1
    assert checked == 9


def test_every_reference_check_is_there_with_its_verdict(home: Path) -> None:
    rows = reference("stats_checks.csv")
    found = run_query(home, "select recomputed, verdict from published_checks_metamedqa").rows
    assert len(found) >= len(rows)
    ours = sum(verdict == "does not hold" for _, verdict in found)
    assert (
        ours == sum(row["verdict"].startswith("does not hold") for row in rows) + 1
    )  # and the p of the text


def test_stated_intervals_outside_the_unit_are_kept_in_the_table_and_cut_on_the_board(home: Path) -> None:
    low = "model = 'GPT-4o-2024-05-13' and condition = 'baseline' and measure = 'low_confidence_accuracy'"
    [(paper,)] = run_query(
        home, f"select low from published_metamedqa where place = 'table 3' and {low}"
    ).rows
    [(shown,)] = run_query(home, f"select low from board where {low}").rows
    assert paper == pytest.approx(-0.16) and shown == 0.0


def test_the_board_shows_each_published_figure_once_with_its_interval(home: Path) -> None:
    [(stated, low)] = run_query(
        home,
        "select estimate, low from board where model = 'GPT-4o-2024-05-13' and condition = 'baseline' "
        "and measure = 'accuracy'",
    ).rows
    assert stated == pytest.approx(0.733) and low == pytest.approx(0.733 - 1.96 * 0.012)


def claims() -> dict[str, dict[str, str]]:
    path = shipped("data", "published", "metamedqa", "claims.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return {row["claim"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize(
    ("claim", "right", "n"),
    [
        ("sem-accuracy-gpt4o", 1007, 1373),
        ("sem-accuracy-qwen72", 883, 1373),
        ("sem-accuracy-qwen7", 603, 1373),
        ("sem-accuracy-yi9", 406, 1373),
        ("sem-missing-gpt4o", 53, 115),
        ("sem-missing-gpt35", 13, 115),
    ],
)
def test_recomputed_standard_errors_follow_from_their_counts(claim: str, right: int, n: int) -> None:
    p = right / n
    assert 100 * math.sqrt(p * (1 - p) / (n - 1)) == pytest.approx(
        float(claims()[claim]["recomputed"]), abs=6e-4
    )


def lsd(counts: list[int], n: int, pair: tuple[int, int]) -> float:
    means = [count / n for count in counts]
    mse = sum(n * p * (1 - p) for p in means) / (len(counts) * (n - 1))
    t = (means[pair[0]] - means[pair[1]]) / math.sqrt(mse * 2 / n)
    return float(2 * stats.t.sf(abs(t), len(counts) * (n - 1)))


ACCURACY = [1007, 996, 1005, 1005, 1063, 1061, 1082, 1002]
MISSING = [53, 43, 46, 49, 50, 46, 62, 42]
UNKNOWN = [6, 10, 9, 14, 72, 77, 84, 25]


@pytest.mark.parametrize(
    ("claim", "counts", "n", "place"),
    [
        ("p-accuracy-explicit", ACCURACY, 1373, 4),
        ("p-accuracy-incomplete", ACCURACY, 1373, 5),
        ("p-accuracy-full", ACCURACY, 1373, 6),
        ("p-unknown-omniscient", UNKNOWN, 162, 7),
        ("p-missing-full", MISSING, 115, 6),
    ],
)
def test_recomputed_p_values_follow_from_the_counts_of_table_4(
    claim: str, counts: list[int], n: int, place: int
) -> None:
    stated = claims()[claim]["recomputed"]
    digits = len(stated.partition(".")[2])
    assert lsd(counts, n, (place, 0)) == pytest.approx(float(stated), abs=0.51 * 10**-digits)


def test_recomputed_effect_sizes_follow_from_their_counts() -> None:
    for claim, (first, second), n, corrected in (
        ("d-accuracy-qwen", (883, 603), 1373, False),
        ("d-missing-gpt", (53, 13), 115, True),
    ):
        p, q = first / n, second / n
        pooled = math.sqrt((n * p * (1 - p) + n * q * (1 - q)) / (2 * n - 2))
        d = (p - q) / pooled * (1 - 3 / (4 * (2 * n - 2) - 1) if corrected else 1)
        assert d == pytest.approx(float(claims()[claim]["recomputed"]), abs=6e-6)


def test_recomputed_slope_intervals_follow_from_r_and_n() -> None:
    for claim, slope, r, n in (("slope-missing", 1.319, 0.947, 10), ("slope-unknown", 0.05232, 0.574, 12)):
        error = slope * math.sqrt((1 - r * r) / (n - 2)) / r
        half = float(stats.t.ppf(0.975, n - 2)) * error
        low, high = claims()[claim]["recomputed"].split(";")[0].split(" to ")
        assert slope - half == pytest.approx(float(low), abs=2e-3 * slope)
        assert slope + half == pytest.approx(float(high), abs=2e-3 * slope)
