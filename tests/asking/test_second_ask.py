"""An unreadable reply is asked once more, for its form alone: kept, paid, planned and shown; readable ones are not."""

import json

import polars as pl
import pytest

STUDY = """
[study]
name = "s"
home = "home"
seed = 1

[[models]]
name = "untidy"
provider = "simulated"
observer = {{ untidiness = {untidiness} }}

[benchmarks.metamedqa]
dataset = "sample"
conditions = ["baseline"]
limit = 30
{more}
"""


@pytest.fixture
def run(tmp_path, metacog):
    def study(untidiness=0.8, more=""):
        path = tmp_path / "study.toml"
        path.write_text(STUDY.format(untidiness=untidiness, more=more))
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
    _, kept = run(more="reask_unreadable = false")
    assert set(kept["step"]) == {"answer"}
    _, later = run(more="")
    assert later.height == kept.height


def test_readable_replies_are_never_asked_again(run):
    _, kept = run(untidiness=0.0)
    assert set(kept["step"]) == {"answer"}


def test_the_plan_says_how_many_calls_the_second_ask_can_add(tmp_path, metacog):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(untidiness=0.5, more=""))
    assert "asked once more: at most 30 calls" in metacog("plan", path).out
