"""An unreadable reply is asked once more, for its form alone: kept, paid, planned and shown; readable ones are not."""

import json

import polars as pl
import pytest

from tests.studies import metamedqa, write_study


def untidy_study(folder, untidiness=0.8, **more):
    model = {"name": "untidy", "provider": "simulated", "observer": {"untidiness": untidiness}}
    return write_study(folder, model, benchmarks=metamedqa(conditions=["baseline"], limit=30, **more), seed=1)


@pytest.fixture
def run(tmp_path, metacog):
    def study(**keys):
        path = untidy_study(tmp_path, **keys)
        done = metacog("run", path, "--quiet")
        assert done.code == 0, done.err
        kept = pl.read_parquet(tmp_path / "home" / "transcripts" / "**" / "*.parquet")
        return path, kept

    return study


def test_a_reply_that_cannot_be_read_is_asked_for_its_form_and_no_other_is(run):
    _, kept = run()
    again = kept.filter(step="answer_again")
    first = kept.filter(step="answer", item_id=pl.col("item_id"))
    assert 0 < again.height < first.height
    for row in again.iter_rows(named=True):
        messages = json.loads(row["request_json"])["messages"]
        said = first.filter(item_id=row["item_id"]).row(0, named=True)
        if said["text"]:
            assert messages[-2] == ["assistant", said["text"]]
        assert "Please give your answer in this form:" in messages[-1][1]
        assert not {"correct", "wrong", "right"} & set(
            messages[-1][1].casefold().split("this form:")[1].split()
        )


def test_scores_with_and_without_the_second_ask_stand_side_by_side(run, metacog):
    path, _ = run()
    query = "select measure, estimate from estimates where measure in ('coverage', 'coverage_first_reply')"
    done = metacog("sql", "--study", path, query, "--format", "json")
    shares = {row["measure"]: row["estimate"] for row in json.loads(done.out)}
    assert shares["coverage_first_reply"] < shares["coverage"] == 1
    assert "first replies" in metacog("board", "--all", "--study", path).out


def test_a_complete_run_asks_nothing_more_and_a_switch_asks_nothing_again(run):
    _, kept = run(reask_unreadable=False)
    assert set(kept["step"]) == {"answer"}
    _, later = run()
    assert later.height == kept.height


def test_readable_replies_are_never_asked_again(run):
    _, kept = run(untidiness=0.0)
    assert set(kept["step"]) == {"answer"}


def test_the_plan_says_how_many_calls_the_second_ask_can_add(tmp_path, metacog):
    assert "asked once more: at most 30 calls" in metacog("plan", untidy_study(tmp_path)).out
