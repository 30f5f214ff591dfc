"""Self-knowledge in the warehouse: estimates, tests, curves, answers, printed numbers; nothing where it is not asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from metacog_pipeline.benchmarks.selfknowledge.comparisons import compare
from metacog_pipeline.benchmarks.selfknowledge.construction.files import write_items
from metacog_pipeline.benchmarks.selfknowledge.observe import OBSERVATION_SCHEMA
from metacog_pipeline.benchmarks.selfknowledge.scoring import pool, score

from metacog_pipeline.benchmarks.selfknowledge.curves import write_curves
from metacog_pipeline.benchmarks.selfknowledge.figures import selfknowledge_figures
from metacog_pipeline.benchmarks.selfknowledge.items import Item
from metacog_pipeline.benchmarks.selfknowledge.published import audit_published, model_name
from metacog_pipeline.leaderboard import build
from metacog_pipeline.leaderboard.printing import notes, render_board
from metacog_pipeline.leaderboard.read import board, read_table
from metacog_pipeline.leaderboard.schemas import STUDY_MODELS, STUDY_PARTITIONS
from metacog_pipeline.report.page import build_report

MakeHome = Callable[..., Path]
TABLES = ("estimates", "comparisons", "curves", "answers")
N = 60


def observed(model: str, run: int, source: str, condition: str, dataset: str) -> pl.DataFrame:
    rng = np.random.default_rng([run, *model.encode(), *condition.encode()])
    right = (rng.random(N) < 0.5).astype(int)
    evidence = rng.normal(size=N) + 1.2 * (right - 0.5)
    yes = (evidence > 0).astype(int)
    if model == "one-yes":
        yes = np.where(np.arange(N) == int(np.flatnonzero(right)[0]), 1, 0)
    dual = condition != "idk"
    columns: dict[str, object] = {
        "benchmark": "selfknowledge",
        "dataset": dataset,
        "condition": condition,
        "language": "en",
        "model": model,
        "run": run,
        "item_id": [f"{dataset}-{i:03d}" for i in range(N)],
        "position": list(range(N)),
        "answerable": 1,
        "output": "Something",
        "meta_output": ["Yes" if each else "No" for each in yes] if dual else None,
        "correct": right.tolist(),
        "correct_strict": right.tolist(),
        **dict.fromkeys(("yes", "yes_strict", "yes_reference"), yes.tolist() if dual else None),
        "abstained": None if dual else (1 - yes).tolist(),
        "confidence": (1 / (1 + np.exp(-evidence))).tolist() if dual and model != "one-yes" else None,
        "truncated": 0,
        "status": "ok",
        "matching": "inclusion",
        "source": source,
    }
    spread = {
        name: value if isinstance(value, list) else [value] * N
        for name, value in ((name, columns.get(name)) for name in OBSERVATION_SCHEMA)
    }
    return pl.DataFrame(spread, schema=OBSERVATION_SCHEMA)


@pytest.fixture
def make_home(tmp_path: Path) -> MakeHome:
    """Return ``make_home(models={name: source}, …)``, which writes a home, builds its board, returns its path."""

    def make(
        models: dict[str, str] | None = None,
        *,
        asked: Sequence[str] = ("selfknowledge",),
        dataset: str = "sample",
        scored: bool = True,
    ) -> Path:
        home = tmp_path / "home"
        folder = home / "estimates" / "selfknowledge"
        sources = models if models is not None else {"alpha": "measured", "beta": "measured"}
        (folder / "models").mkdir(parents=True)
        (folder / "comparisons").mkdir()
        write_items(
            home / "items" / "selfknowledge.parquet",
            [
                Item(
                    f"{dataset}-{i:03d}",
                    dataset,
                    "all",
                    i,
                    (("en", f"Question {i}?"),),
                    (("en", ("Something",)),),
                )
                for i in range(N)
            ],
        )
        whole = []
        for model, source in sources.items() if scored else ():
            own = []
            for run in (1, 2):
                frame = pl.concat([observed(model, run, source, each, dataset) for each in ("dual", "idk")])
                path = folder / "runs" / f"model={model}" / f"run={run}.parquet"
                path.parent.mkdir(parents=True, exist_ok=True)
                score(frame, seed=1, n_boot=20).write_parquet(path)
                own.append(frame)
            pool(pl.concat(own), seed=1, n_boot=20).write_parquet(folder / "models" / f"{model}.parquet")
            whole += own
        if whole:
            seen = pl.concat(whole)
            compare(seen, seed=1, n_boot=20).write_parquet(folder / "comparisons" / "comparisons.parquet")
            write_curves(seen, folder)
            (home / "observations" / "selfknowledge").mkdir(parents=True)
            seen.write_parquet(home / "observations" / "selfknowledge" / "all.parquet")
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
        assert rows(home, f"select count(*) from selfknowledge_{name}")[0][0], name
    assert rows(home, "select count(*) from selfknowledge_answers") == [(2 * 2 * 2 * N,)]
    # Table 1 prints 13 × 6 numbers; tables 3 to 7 add 3, 2, 1, 18 and 6 rows, table 2 6 × 3, figure 2 6.
    assert rows(home, "select count(*) from published_selfknowledge") == [
        (78 + 9 + 6 + 6 + 54 + 18 + 18 + 6,)
    ]


def test_the_board_shows_both_ways_of_asking(make_home: MakeHome) -> None:
    home = make_home()
    text = render_board(board(home), "table", width=220)
    for word in ("d′", "alignment", "YFR", "IDK acc.", "all align.", "alpha", "log-probabilities"):
        assert word in text
    conditions = rows(home, "select distinct condition from board order by all")
    assert conditions == [("dual",), ("idk",)]


def test_an_answer_holds_what_failed(make_home: MakeHome) -> None:
    home = make_home()
    for yes, failed, other in ((1, "yes_failure", "no_failure"), (0, "no_failure", "yes_failure")):
        found = rows(
            home,
            f"select avg(abs({failed} - (1 - meta_alignment))), count({other}), any_value(question), "
            f"any_value(ground_truths) from selfknowledge_answers where yes = {yes} and condition = 'dual'",
        )
        assert found[0][:2] == (0.0, 0)
        assert str(found[0][2]).startswith("Question")
    ratio = rows(
        home, "select max(abs(yes_over_no - confidence / (1 - confidence))) from selfknowledge_answers"
    )
    assert ratio[0][0] == 0.0


def test_printed_numbers_stand_beside_answers_to_the_same_questions_only(make_home: MakeHome) -> None:
    home = make_home(dataset="nq_open")
    found = rows(
        home,
        "select model, measure, estimate, n from board where source = 'published' and measure = 'd_type2_reference' "
        "order by model",
    )
    assert [row[0] for row in found] == sorted(
        model_name(f"Qwen2.5 {size}", variant)
        for size in ("1.5B", "3B", "7B")
        for variant in ("original", "esma")
    )
    assert ("Qwen2.5 1.5B ESMA", "d_type2_reference", 0.79, 3610) in found
    assert "by the rules of the published numbers" in render_board(board(home), "table", width=220)


def test_no_printed_number_stands_beside_other_questions_or_simulated_observers_alone(
    make_home: MakeHome,
) -> None:
    home = make_home()
    assert rows(home, "select distinct source from board") == [("measured",)]


def test_simulated_observers_alone_have_no_published_company(make_home: MakeHome) -> None:
    home = make_home({"sim": "simulated"}, dataset="trivia_qa")
    assert rows(home, "select distinct source from board") == [("simulated",)]


def test_every_language_of_table_7_is_a_condition(make_home: MakeHome) -> None:
    home = make_home()
    found = rows(
        home,
        "select distinct condition from published_selfknowledge where dataset = 'mkqa' order by all",
    )
    assert found == [("dual_es",), ("dual_ko",), ("dual_zh",)]


def test_the_number_made_by_the_clip_is_flagged(make_home: MakeHome) -> None:
    home = make_home()
    verdicts = rows(
        home, "select subject, note from published_checks_selfknowledge where verdict = 'made by the clip'"
    )
    assert len(verdicts) == 1
    assert "918 of 1,797" in str(verdicts[0][1]) and "0.31" in str(verdicts[0][1])
    noted = rows(
        home,
        "select note from published_selfknowledge where model = 'size not stated taught the facts, then ESMA' "
        "and measure = 'd_type2_reference'",
    )
    assert "made by the clip" in str(noted[0][0])


def test_a_measured_number_made_by_the_clip_is_noted(make_home: MakeHome) -> None:
    home = make_home({"one-yes": "measured", "alpha": "measured"})
    said = notes(home, "selfknowledge")
    assert "one-yes, dual: a rate of yes is 0 or 1" in said
    assert "alpha, dual: a rate" not in said


def test_a_study_that_does_not_ask_it_shows_none_of_it(make_home: MakeHome) -> None:
    home = make_home(asked=("metamedqa",))
    for name in TABLES:
        assert rows(home, f"select count(*) from selfknowledge_{name}") == [(0,)]
    assert rows(home, "select count(*) from board where benchmark = 'selfknowledge'") == [(0,)]


def test_before_anything_is_answered_every_model_is_named(make_home: MakeHome) -> None:
    home = make_home(scored=False)
    found = rows(home, "select model, condition, measure, estimate from board order by all")
    assert found == [("alpha", "dual", "coverage", 0.0), ("beta", "dual", "coverage", 0.0)]
    assert "Not asked." in build_report(home).read_text("utf-8")


def test_the_report_tells_it_all(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured", "beta": "measured", "sim": "simulated"})
    page = build_report(home).read_text("utf-8")
    for words in (
        "Does a yes go with being right?",
        "type-2 ROC, dual",
        "confidence of alpha, dual",
        "asked once",
        "Simulated observers: d′ of type 2",
        "made by the clip",
        "The yeses behind the tables",
    ):
        assert words in page
    assert page.count("<svg") == 2 + 2 + 3  # d′ and ROC of both worlds, a density for each of three


def test_figures_come_from_the_files_too(make_home: MakeHome) -> None:
    home = make_home()
    drawn = selfknowledge_figures(home / "estimates" / "selfknowledge")
    assert set(drawn) == {
        "d′ of type 2, models",
        "type-2 ROC, dual, models",
        "confidence, alpha, dual, models",
        "confidence, beta, dual, models",
    }
    assert all("currentColor" in each for each in drawn.values())
    assert selfknowledge_figures(home / "elsewhere") == {}
