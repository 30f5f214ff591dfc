"""MetaCog-Bench in the warehouse: estimates, findings, thresholds, printed numbers; nothing where it is not asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.benchmarks.metacogbench.comparisons import compare
from metacog_pipeline.benchmarks.metacogbench.items import TIERS
from metacog_pipeline.benchmarks.metacogbench.judging.agreement import agreement
from metacog_pipeline.benchmarks.metacogbench.judging.observe import JUDGEMENT_SCHEMA
from metacog_pipeline.benchmarks.metacogbench.lengths import lengths
from metacog_pipeline.benchmarks.metacogbench.observe import OBSERVATION_SCHEMA
from metacog_pipeline.benchmarks.metacogbench.published import audit_published
from metacog_pipeline.benchmarks.metacogbench.reliability import reliability
from metacog_pipeline.benchmarks.metacogbench.scoring import pool, score
from metacog_pipeline.benchmarks.metacogbench.sensitivity import write_sensitivity
from metacog_pipeline.leaderboard import build
from metacog_pipeline.leaderboard.printing import notes, render_board
from metacog_pipeline.leaderboard.read import board, read_table
from metacog_pipeline.leaderboard.schemas import STUDY_MODELS, STUDY_PARTITIONS
from metacog_pipeline.report.page import build_report

MakeHome = Callable[..., Path]
TABLES = (
    *("estimates", "comparisons", "sensitivity", "reliability", "lengths", "passes", "judges", "judgements"),
)


def judged(observations: pl.DataFrame) -> pl.DataFrame:
    """Return verdicts of each model on its own replies: all pass."""
    made = observations.with_columns(
        benchmark=pl.lit("metacogbench_judgements"), judge=pl.lit("self"), judge_model=pl.col("model"),
        relation=pl.lit("self"), verdict=pl.lit(1), by_rules=pl.col("passed"), status=pl.lit("ok"),
    )  # fmt: skip
    return made.select(
        pl.col(name).cast(kind) if name in made.columns else pl.lit(None, kind).alias(name)
        for name, kind in JUDGEMENT_SCHEMA.items()
    )


def observed(
    model: str, run: int, source: str, tiers: Sequence[str] = TIERS, condition: str = "free"
) -> pl.DataFrame:
    rng = np.random.default_rng([run, *model.encode()])
    rows = []
    for tier in tiers:
        for i in range(6):
            passed = int(rng.random() < 0.6)
            row: dict[str, object] = {
                "tier": tier,
                "item_id": f"{tier}-{i}",
                "passed": passed,
                "correct": passed,
            }
            row |= {
                "bet_rule": "know",
                "family": "arithmetic_ramp",
                "level": "easy",
                "hi": 70.0,
                "bet": 10.0 + i,
            }
            row |= {"pre": 10.0 * i, "post": 10.0 * i + 5, "order_ok": 1, "difficulty": "easy"}
            row |= dict.fromkeys(("passed_lit1", "passed_lit2", "passed_ge1", "passed_grounded"), passed)
            row |= {"passed_v1": passed, "passed_strong": passed, "cave": 0, "evasive": 0, "core_ok": passed}
            row |= {"n_cues": 2, "n_strong": 1, "n_factors": i, "n_ok": 3 * passed, "n_fields": 5, "found": 1}
            row |= {"words": 9, "status": "ok", "empty": 0, "truncated": 0, "benchmark": "metacogbench"}
            row |= {
                "dataset": "metacog147",
                "condition": condition,
                "model": model,
                "run": run,
                "source": source,
            }
            rows.append(row)
    return pl.DataFrame(rows, schema=OBSERVATION_SCHEMA, orient="row")


@pytest.fixture
def make_home(tmp_path: Path) -> MakeHome:
    """Return ``make_home(models={name: source}, asked=…)``, which writes a home, builds its board, returns its path."""

    def make(models: dict[str, str] | None = None, *, asked: Sequence[str] = ("metacogbench",)) -> Path:
        home = tmp_path / "home"
        folder = home / "estimates" / "metacogbench"
        sources = models if models is not None else {"alpha": "measured", "beta": "measured"}
        (folder / "models").mkdir(parents=True)
        (folder / "comparisons").mkdir()
        whole = []
        for model, source in sources.items():
            own = []
            for run in (1, 2):
                frame = pl.concat(
                    [observed(model, run, source), observed(model, run, source, ("2a",), "json")]
                )
                path = folder / "runs" / f"model={model}" / f"run={run}.parquet"
                path.parent.mkdir(parents=True, exist_ok=True)
                score(frame, seed=1, n_boot=20).write_parquet(path)
                own.append(frame)
            pool(pl.concat(own), seed=1, n_boot=20).write_parquet(folder / "models" / f"{model}.parquet")
            whole += own
        if whole:
            found = compare(pl.concat(whole), seed=1, n_boot=20)
            found.write_parquet(folder / "comparisons" / "comparisons.parquet")
            seen = pl.concat(whole)
            write_sensitivity(seen, folder)
            judgements = judged(seen)
            for name, frame in (
                ("reliability", reliability(seen)),
                ("lengths", lengths(seen, seed=1, n_boot=20)),
                ("judges", agreement(judgements, seen, seed=1, n_boot=20)),
            ):
                (folder / name).mkdir()
                frame.write_parquet(folder / name / f"{name}.parquet")
            for name, frame in (("metacogbench", seen), ("metacogbench_judgements", judgements)):
                (home / "observations" / name).mkdir(parents=True)
                frame.write_parquet(home / "observations" / name / "all.parquet")
        audit_published(home)
        (home / "study").mkdir()
        listed = [
            {"model": name, "provider": "openai", "source": source, "listed": True, "runs": 2}
            for name, source in sources.items()
        ]
        states = [
            {"benchmark": benchmark, "model": name, "run": 1, "state": "complete"}
            | {"n_expected": 1, "n_answered": 1, "n_failed": 0}
            for benchmark in asked
            for name in sources
        ]
        for name, rows, schema in (
            ("models", listed, STUDY_MODELS),
            ("partitions", states, STUDY_PARTITIONS),
        ):
            full = [{key: row.get(key) for key in schema.names} for row in rows]
            pq.write_table(pa.Table.from_pylist(full, schema=schema), home / "study" / f"{name}.parquet")
        build(home)
        return home

    return make


def rows(home: Path, sql: str) -> list[tuple[object, ...]]:
    return list(read_table(home, sql).rows)


def test_every_table_has_rows(make_home: MakeHome) -> None:
    home = make_home()
    for name in TABLES:
        assert rows(home, f"select count(*) from metacogbench_{name}")[0][0], name
    assert rows(home, "select count(*) from published_metacogbench")[0][0] == 4 * 10 + 7 * 10 + 4 * 4 * 3


def test_the_board_shows_both_formats_and_the_spread_stays_in_the_table(make_home: MakeHome) -> None:
    home = make_home()
    text = render_board(board(home), "table", width=200)
    assert "overall" in text and "ECE chance" in text and "alpha" in text
    conditions = rows(
        home, "select distinct condition from board where benchmark = 'metacogbench' order by all"
    )
    assert conditions == [("free",), ("json",)]
    spread = rows(home, "select count(estimate) from metacogbench_estimates where measure = 'overall_sd'")
    assert spread == [(2,)]


def test_printed_numbers_never_stand_beside_answers_to_other_tasks(make_home: MakeHome) -> None:
    home = make_home()
    assert rows(home, "select distinct source from board") == [("measured",)]


def test_runs_stand_on_the_board_of_runs(make_home: MakeHome) -> None:
    home = make_home()
    found = rows(
        home,
        "select model, run from board_runs where measure = 'overall' and condition = 'free' order by all",
    )
    assert found == [("alpha", 1), ("alpha", 2), ("beta", 1), ("beta", 2)]


def test_a_study_that_does_not_ask_it_shows_none_of_it(make_home: MakeHome) -> None:
    home = make_home(asked=("metamedqa",))
    for name in TABLES:
        assert rows(home, f"select count(*) from metacogbench_{name}") == [(0,)]
    assert rows(home, "select count(*) from board where benchmark = 'metacogbench'") == [(0,)]


def test_what_does_not_follow_is_listed(make_home: MakeHome) -> None:
    home = make_home()
    found = rows(
        home,
        "select subject, quantity from published_checks_metacogbench where verdict = 'differs' order by all",
    )
    assert ("gpt-4o", "saf") in found and ("deepseek-v3", "ece_pre") in found
    assert len(found) == 7


def test_the_page_says_how_sure_ranks_are_and_what_thresholds_change(make_home: MakeHome) -> None:
    page = build_report(make_home()).read_text("utf-8")
    for words in (
        "How sure the ranks are",
        "Calibration and chance",
        "Other thresholds",
        "gpt-4o",
        "by chance",
        "at matched length",
        "Judges beside the rules",
        "reliability of stated",
    ):
        assert words in page


def test_the_matrix_of_models_runs_and_tasks_is_whole(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured", "beta": "measured", "robot": "simulated"})
    cells = "select count(*), count(distinct item_id) from metacogbench_passes where condition = 'free'"
    assert rows(home, cells) == [(3 * 2 * 30, 30)]
    shares = rows(
        home,
        "select max(abs(pass_rate - mean)) from metacogbench_passes join (select item_id, condition, source, "
        "avg(passed) as mean from metacogbench_passes group by all) using (item_id, condition, source)",
    )
    assert isinstance(shares[0][0], float) and shares[0][0] < 1e-12
    wide = "pivot (select item_id, model || ' ' || run as who, passed from metacogbench_passes where condition = 'free')"
    assert len(rows(home, f"{wide} on who using max(passed) order by item_id")[0]) == 1 + 6


def test_a_judge_that_passes_everything_is_seen_beside_the_rules(make_home: MakeHome) -> None:
    home = make_home()
    found = rows(
        home,
        "select tier, judge_rate, abs(difference - 1 + rules_rate) < 1e-9, kappa from metacogbench_judges "
        "where model is null and rule = 'headline' and condition = 'free' order by tier",
    )
    assert [row[0] for row in found] == list(TIERS)
    assert all(row[1] == 1.0 and row[2] and row[3] == 0.0 for row in found)
    assert "Judges of MetaCog-Bench" in notes(home, "metacogbench")
    assert "self: 1a +0." in notes(home)
    assert "Judges" not in notes(home, "medley")


def test_thresholds_are_one_query_away(make_home: MakeHome) -> None:
    home = make_home()
    found = rows(
        home,
        "select threshold, count(distinct setting), count(tau) > 0 from metacogbench_sensitivity where condition = 'free' "
        "group by all order by all",
    )
    counts = {str(row[0]): row[1] for row in found}
    assert (
        counts["low bet"] == 5 and counts["sure bet"] == 3 and counts["bins"] == 9 and counts["fields"] == 5
    )
