"""What stands on the shared tables: who is listed, what is published, headlines, percentiles, old names in old files."""

import shutil

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from tests.homes import rows, write
from tests.leaderboard.conftest import write_model


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
    counts = {
        "run": 1,
        "state": "complete",
        "n_expected": 2,
        "n_answered": 1,
        "n_failed": 0,
        "model": "alpha",
    }
    kept = rows("benchmark", ("metamedqa",), ("metamedqa_judgements",), **counts)
    write(home, "study/partitions.parquet", kept)
    build(home)
    assert one(home, "select benchmark, role, answered_share from progress order by all") == (
        ("metamedqa", "respondent", 0.5), ("metamedqa_judgements", "judge", 0.5),
    )  # fmt: skip
    assert one(home, "select distinct benchmark from leaderboard") == (("metamedqa",),)
