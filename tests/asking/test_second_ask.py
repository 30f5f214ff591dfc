"""An unreadable reply is asked once more, for its form alone: kept, paid, planned and shown; readable ones are not."""

import json

import polars as pl
import pytest

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.folder import kept_folders
from metacog_pipeline.transcripts.store import read_partition
from tests.asking_in_process import ask
from tests.cli.scoring import scored
from tests.studies import metamedqa, write_study


def untidy_study(folder, untidiness=0.8, **more):
    model = {"name": "untidy", "provider": "simulated", "observer": {"untidiness": untidiness}}
    return write_study(folder, model, benchmarks=metamedqa(conditions=["baseline"], limit=30, **more), seed=1)


def asked(path):
    """Ask in this process; return the study and its calls."""
    study = load_study(path)
    study.prepare()
    benchmark = bound(study, "metamedqa")
    construction.build(benchmark)
    (partition,) = tasks.partitions(benchmark)
    ask(benchmark, partition)
    return study, pl.DataFrame(pl.from_arrow(read_partition(partition.folder)))


@pytest.fixture(scope="module")
def untidy(few_resamples, tmp_path_factory):
    study, kept = asked(untidy_study(tmp_path_factory.mktemp("untidy")))
    scored(study)
    return study, kept


def test_a_reply_that_cannot_be_read_is_asked_for_its_form_and_no_other_is(untidy):
    _, kept = untidy
    again = kept.filter(step="answer_again")
    first = kept.filter(step="answer", item_id=pl.col("item_id"))
    assert 0 < again.height < first.height
    for row in again.iter_rows(named=True):
        messages = json.loads(row["request_json"])["messages"]
        said = first.filter(item_id=row["item_id"]).row(0, named=True)
        assert not said["text"] or messages[-2] == ["assistant", said["text"]]
        _, _, form = messages[-1][1].partition("Please give your answer in this form:")
        assert form and not {"correct", "wrong", "right"} & set(form.casefold().split())


def test_scores_with_and_without_the_second_ask_stand_side_by_side(untidy, metacog):
    study, _ = untidy
    query = "select measure, estimate from estimates where measure in ('coverage', 'coverage_first_reply')"
    shares = dict(run_query(study.home, query).rows)
    assert shares["coverage_first_reply"] < shares["coverage"] == 1
    assert "first replies" in metacog("board", "--all", "--study", study.path).out


def test_a_complete_run_asks_nothing_more_and_a_switch_asks_nothing_again(tmp_path, metacog, few_resamples):
    study, kept = asked(untidy_study(tmp_path, reask_unreadable=False))
    assert set(kept["step"]) == {"answer"}
    assert metacog("run", untidy_study(tmp_path), "--quiet").code == 0
    (folder,) = kept_folders(study.home)
    assert read_partition(folder, ["step"]).num_rows == kept.height


def test_readable_replies_are_never_asked_again(tmp_path):
    _, kept = asked(untidy_study(tmp_path, untidiness=0.0))
    assert set(kept["step"]) == {"answer"}


def test_the_plan_says_how_many_calls_the_second_ask_can_add(tmp_path, metacog):
    assert "asked once more: at most 30 calls" in metacog("plan", untidy_study(tmp_path)).out
