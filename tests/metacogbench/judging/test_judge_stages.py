"""Judging from the study file to the table: asked once, resumed, planned, served, and errors of a known rate recovered."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from metacog_pipeline.benchmarks.common import asking, judging, scoring
from metacog_pipeline.benchmarks.common.benchmark import Judging
from metacog_pipeline.benchmarks.common.files import read_frame
from metacog_pipeline.benchmarks.metacogbench.judging.cases import cases
from metacog_pipeline.benchmarks.metacogbench.judging.prompts import load_judge_wording, messages
from metacog_pipeline.benchmarks.metacogbench.stages import METACOGBENCH, build, items, wording
from metacog_pipeline.benchmarks.planning import plan_study
from metacog_pipeline.benchmarks.serving import respondents
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.types import ChatRequest, Sampling
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.study import Study, load_study

STUDY = """
[study]
name = "s"
runs = {runs}

[[models]]
name = "careful"
provider = "simulated"
family = "a"
observer = {{ accuracy = 0.9, caution = 0.6, caving = 0.4, transfer = 0.5 }}

[[judges]]
name = "strict"
provider = "simulated"
family = "b"
observer = {{ accuracy = {accuracy}, seed = 7 }}

[benchmarks.metamedqa]
enabled = false

[benchmarks.metacogbench]
enabled = true
judges = {judges}
{more}
"""
FOUND = METACOGBENCH.judging
assert FOUND is not None
JUDGING: Judging = FOUND


def study(
    folder: Path,
    judges: str = '["self", "strict"]',
    more: str = "limit = 4",
    accuracy: float = 1.0,
    runs: int = 1,
) -> Study:
    path = folder / "study.toml"
    path.write_text(STUDY.format(judges=judges, more=more, accuracy=accuracy, runs=runs), "utf-8")
    return load_study(path)


def answered(asked: Study) -> Partition:
    build(asked)
    for partition in METACOGBENCH.partitions(asked):
        asking.query(METACOGBENCH, partition, METACOGBENCH.tasks(asked, partition.spec))
        scoring.observe(METACOGBENCH, partition)
    return METACOGBENCH.partitions(asked)[0]


def judge(partition: Partition) -> tuple[int, int, pl.DataFrame]:
    outcome = JUDGING.ask(partition, None)
    assert outcome.stopped is None
    return outcome.tally.calls, outcome.tally.reused, judging.read_judgements(JUDGING, partition)


def test_judges_are_asked_once_and_later_ones_alone(tmp_path: Path) -> None:
    more = 'limit = 2\nconditions = ["free", "json", "two_turn"]'
    first = answered(study(tmp_path, '["self"]', more))
    assert not judging.judgements_current(METACOGBENCH, first)
    calls, _, frame = judge(first)
    every = METACOGBENCH.expected_rows(first.study)
    assert calls == frame.height == JUDGING.expected(first) == every >= 14
    assert set(frame["status"]) == {"ok"} and set(frame["relation"]) == {"self"}
    assert set(frame["judge_model"]) == {"careful"} and set(frame["source"]) == {"simulated"}
    assert judging.judgements_current(METACOGBENCH, first)
    calls, reused, _ = judge(first)
    assert (calls, reused) == (0, every)
    both = METACOGBENCH.partitions(study(tmp_path, more=more))[0]
    assert not judging.judgements_current(METACOGBENCH, both)
    calls, reused, frame = judge(both)
    assert (calls, reused, frame.height) == (every, every, 2 * every)
    assert (first.study.home.transcripts / f"benchmark={JUDGING.name}" / "model=careful" / "run=1").is_dir()


def test_a_judge_without_error_says_what_the_rules_say_and_no_score_moves(tmp_path: Path) -> None:
    partition = answered(study(tmp_path))
    before = scoring.estimate(METACOGBENCH, partition)
    _, _, frame = judge(partition)
    strict = frame.filter(pl.col("judge") == "strict")
    assert (strict["verdict"] == strict["by_rules"]).all() and set(strict["relation"]) == {"other family"}
    assert scoring.estimate(METACOGBENCH, partition).equals(before)
    scoring.summarise(METACOGBENCH, partition.study)
    folder = partition.study.home.estimates / "metacogbench"
    found = pl.read_parquet(folder / "judges" / "judges.parquet")
    assert set(found["judge"]) == {"self", "strict"} and set(found.filter(judge="strict")["accuracy"]) >= {
        1.0
    }
    shifted = pl.read_parquet(folder / "comparisons" / "comparisons.parquet").filter(family="judge")
    assert shifted.height == 2 * 5 and set(shifted.filter(a="strict")["value"]) == {0.0}


def test_a_known_rate_of_errors_is_recovered(tmp_path: Path) -> None:
    partition = answered(study(tmp_path, '["strict"]', "", accuracy=0.8, runs=2))
    for each in METACOGBENCH.partitions(partition.study):
        judge(each)
    scoring.summarise(METACOGBENCH, partition.study)
    folder = partition.study.home.estimates / "metacogbench"
    table = pl.read_parquet(folder / "judges" / "judges.parquet").filter(rule="headline", condition="free")
    whole = table.filter(pl.col("model").is_null())
    assert whole["n"].sum() == 2 * 147
    agreed = float((whole["accuracy"] * whole["n"]).sum()) / (2 * 147)
    assert abs(agreed - 0.8) < 0.05
    inside = whole.filter(pl.col("accuracy_low") <= 0.8, pl.col("accuracy_high") >= 0.8)
    assert inside.height >= 4
    assert whole.filter(pl.col("kappa") > 0.8).is_empty()


def test_the_plan_counts_judgements_before_and_after_answers(tmp_path: Path) -> None:
    asked = study(tmp_path, more="limit = 2")
    rows = {(row.model, row.benchmark): row for row in plan_study(asked).rows}
    assert rows["careful", JUDGING.name].to_ask == rows["strict", JUDGING.name].to_ask == 10
    before = rows["strict", JUDGING.name].tokens_in
    partition = answered(asked)
    rows = {(row.model, row.benchmark): row for row in plan_study(asked).rows}
    assert 0 < rows["strict", JUDGING.name].tokens_in < before
    judge(partition)
    rows = {(row.model, row.benchmark): row for row in plan_study(asked).rows}
    assert rows["careful", JUDGING.name].to_ask == rows["strict", JUDGING.name].to_ask == 0


def test_judges_are_served_and_a_served_model_judges_itself(tmp_path: Path) -> None:
    partition = answered(study(tmp_path, more="limit = 2"))
    served = respondents(partition.study)
    assert set(served) == {"careful", "strict"}
    observed = read_frame(scoring.observations_path(partition))
    for case in cases(items(partition.study), observed, wording(partition.study)):
        request = ChatRequest(messages(case, load_judge_wording()), Sampling(0.0, 100))
        assert served["strict"](request) == f'{{"verdict": "{"pass" if case.passed else "fail"}"}}'
        assert "verdict" in served["careful"](request)


def test_another_reply_is_judged_anew_and_the_old_judgement_kept(tmp_path: Path) -> None:
    partition = answered(study(tmp_path, '["strict"]', "limit = 1"))
    judge(partition)
    text = (tmp_path / "study.toml").read_text("utf-8").replace("caving = 0.4", "caving = 1.0")
    (tmp_path / "study.toml").write_text(text, "utf-8")
    again = answered(load_study(tmp_path / "study.toml"))
    assert not judging.judgements_current(METACOGBENCH, again)
    _, _, frame = judge(again)
    assert set(frame["status"]) == {"ok"}


@pytest.mark.parametrize(
    ("judges", "said"),
    [
        ('["strit"]', 'no judge "strit".*strict'),
        ('["slef"]', "self"),
        ('["self", "self"]', "twice"),
    ],
)
def test_judges_that_cannot_be_are_refused(judges: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=said):
        study(tmp_path, judges)


def test_a_row_called_self_is_refused(tmp_path: Path) -> None:
    study(tmp_path)
    text = (tmp_path / "study.toml").read_text("utf-8").replace('name = "strict"', 'name = "self"')
    (tmp_path / "study.toml").write_text(text.replace(', "strict"', ""), "utf-8")
    with pytest.raises(StudyError, match="another name"):
        load_study(tmp_path / "study.toml")


def test_judgements_stand_in_the_graph_between_observations_and_estimates() -> None:
    from metacog_assets.metacogbench import METACOGBENCH as ASSETS

    made = ASSETS.measured.judgements
    assert made is not None and made.key.path == [JUDGING.name]
    assert METACOGBENCH.stages[2] == JUDGING.name
    assert ASSETS.datasets()[f"observations/{JUDGING.name}"] == made.key
