"""What stands on the shared tables: who is listed, what is published, headlines, percentiles, prompts and replies."""

import shutil

import duckdb
import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import query_table, run_query
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA
from tests.homes import few_tables, rows, write
from tests.leaderboard.conftest import call, write_model


@pytest.fixture(autouse=True)
def few(monkeypatch, request):
    if "leaderboard" not in request.function.__name__:  # that one looks into every table
        few_tables(monkeypatch, "models", "run_estimates", "answers", "progress", "metamedqa_responses")


def one(home: Home, sql: str) -> tuple[tuple[object, ...], ...]:
    return run_query(home, sql).rows


def test_a_listed_model_without_an_answer_is_named_with_its_failures(make_home):
    home = make_home(silent=("beta",))
    failed = rows("model", ("alpha",), ("beta",), benchmark="metamedqa", run=1, state="failed", n_failed=7)
    write(home, "study/partitions.parquet", failed)
    build(home)
    found = one(home, "select measure, estimate, coverage, n_failed from leaderboard where model = 'beta'")
    assert found == (("coverage", 0.0, 0.0, 7),)


def test_a_retired_model_and_another_data_set_leave_the_tables(make_home):
    home = make_home({"alpha": "measured", "gone": "retired"})
    write_model(home, "alpha", "measured", "other", 0.9)
    build(home)
    for table in ("leaderboard", "estimates", "run_estimates", "metamedqa_responses", "answers"):
        found = one(home, f"select distinct model from {table} where source <> 'published'")
        assert found in ((), (("alpha",),)), table
    assert one(home, "select count(*) from estimates") == ((0,),)
    assert one(home, "select model, listed from costs order by all") == (("alpha", True), ("gone", False))


@pytest.mark.parametrize(
    ("dataset", "source", "beside"),
    [("published", "measured", True), ("sample", "measured", False), ("published", "simulated", False)],
)
def test_published_numbers_stand_beside_real_answers_to_the_published_questions(
    make_home, printed, dataset, source, beside
):
    home = make_home({"alpha": source}, dataset=dataset)
    shutil.copytree(printed, home / "estimates", dirs_exist_ok=True)
    build(home)
    found = one(home, "select count(*), count(distinct model) from leaderboard where source = 'published'")[0]
    assert bool(found[0]) is beside
    if beside:
        ends = "select min(low) >= 0, max(high) <= 1 from leaderboard where source = 'published' and measure = 'accuracy'"
        assert one(home, ends) == ((True, True),)


def test_headlines_have_a_percentile_among_their_like(make_home):
    home = make_home({"low": "measured", "high": "measured", "observer": "simulated"})
    build(home)
    found = one(home, "select model, measure, percentile from leaderboard where headline order by model")
    assert found == tuple(
        zip(("high", "low", "observer"), ("d_unanswerable",) * 3, (100.0, 0.0, None), strict=True)
    )
    first = one(home, "select model, n_benchmarks, mean_percentile from models order by model")[0]
    assert first == ("high", 1, 100.0)


def test_items_know_how_hard_they_are(built_home):
    columns = "item_id, key, kind, n, n_correct between 0 and n, facts ->> 'target'"
    found = one(built_home, f"select {columns} from items order by position")
    assert len(found) == 12 and found[0] == ("item-0000", "A", "Original", 2, True, "A")


def test_progress_tells_respondents_and_judges_apart(make_home):
    home = make_home({"alpha": "measured"})
    counts = {"n_expected": 2, "n_answered": 1, "n_failed": 0}
    own = {"run": 1, "state": "complete", "model": "alpha", **counts}
    kept = rows("benchmark", ("metamedqa",), ("metamedqa_judgements",), **own)
    write(home, "study/partitions.parquet", kept)
    build(home)
    assert one(home, "select benchmark, role, answered_share from progress order by all") == (
        ("metamedqa", "respondent", 0.5), ("metamedqa_judgements", "judge", 0.5),
    )  # fmt: skip
    assert one(home, "select distinct benchmark from leaderboard") == (("metamedqa",),)


# --- the table transcripts, read from the Parquet copies ---------------------------------------------------------------
PATH = "transcripts/benchmark=metamedqa/model=alpha/run=2/transcripts.parquet"


def test_every_call_of_the_board_has_its_texts(built_home):
    found = one(built_home, "select model, count(*), count(text) from transcripts group by 1 order by 1")
    assert found == (("alpha", 12, 12), ("beta", 12, 12))
    assert one(built_home, "select count(distinct request_json) from transcripts") == ((12,),)


def test_a_study_without_answers_has_the_columns_and_no_rows(make_home):
    home = make_home({})
    build(home)
    assert query_table(home, "from transcripts").schema.names == ARROW_SCHEMA.names
    assert one(home, "from transcripts") == ()


def test_what_was_kept_of_a_failed_call_stands_beside_the_answer(make_home):
    home = make_home({})
    failed = call("half an ans", status="failed", reasoning_text="Let me")
    write(home, PATH, [failed, call("B")])
    build(home)
    found = one(home, "select text, reasoning_text, status, prices_json from transcripts order by text")
    assert found == (("B", None, "ok", None), ("half an ans", "Let me", "failed", None))


def test_thoughts_are_in_the_texts_and_not_in_the_leaderboard(make_home):
    home = make_home({"alpha": "measured"})
    write(home, PATH, [call("B", reasoning_text="CANARY of thought", raw_zstd="CANARY of bytes")])
    build(home)
    with duckdb.connect(str(home / "leaderboard.duckdb"), read_only=True) as connection:
        tables = connection.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()
        assert len(tables) > 20
        for (table,) in tables:
            rows = connection.execute(f"select * from {table}").fetchall()
            assert "CANARY" not in str(rows), table
    said = "select text, reasoning_text from transcripts where run = 1 and item_id = 'i'"
    assert one(home, said) == (("B", "CANARY of thought"),)
