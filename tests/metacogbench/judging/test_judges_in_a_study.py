"""Judging from the study file to the tables: asked once, resumed, planned, served, and errors of a known rate recovered."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.asking.plan import plan_study
from metacog_pipeline.asking.session import Partition, query_partition
from metacog_pipeline.benchmarks.metacogbench import MetaCogBench
from metacog_pipeline.benchmarks.metacogbench.judging import JUDGING
from metacog_pipeline.benchmarks.metacogbench.judging.cases import cases
from metacog_pipeline.benchmarks.metacogbench.judging.prompts import load_judge_wording, messages
from metacog_pipeline.leaderboard.status import partition_states
from metacog_pipeline.llm.types import ChatRequest, Sampling
from metacog_pipeline.scoring import files, staleness
from metacog_pipeline.study import load_study
from metacog_pipeline.study.frames import write_frame
from metacog_pipeline.transcripts.folder import write_manifest
from tests.study_respondents import respondents

STUDY = """
[study]
name = "s"
runs = {runs}

[[models]]
name = "careful"
provider = "simulated"
family = "a"
observer = {{ accuracy = 0.9, caution = 0.6, sycophancy = 0.4, transfer = 0.5 }}

[[judges]]
name = "strict"
provider = "simulated"
family = "b"
observer = {{ accuracy = {accuracy}, seed = 7 }}

[benchmarks.metacogbench]
judges = {judges}
{more}
"""
NAME = "metacogbench_judgements"


def bench(
    folder: Path,
    judges: str = '["self", "strict"]',
    more: str = "limit = 4",
    accuracy: float = 1.0,
    runs: int = 1,
) -> MetaCogBench:
    path = folder / "study.toml"
    path.write_text(STUDY.format(judges=judges, more=more, accuracy=accuracy, runs=runs), "utf-8")
    found: MetaCogBench = MetaCogBench.of(load_study(path))
    return found


def answered(benchmark: MetaCogBench) -> list[Partition]:
    """Ask everything and read it."""
    construction.build(benchmark)
    partitions = tasks.partitions(benchmark)
    for each in partitions:
        done = query_partition(
            each,
            tasks.tasks(benchmark, each.spec),
            benchmark.modes(each.spec),
            fingerprint=tasks.fingerprint(benchmark, each),
            respond=benchmark.observer(each.spec.observer),
        )
        assert done.stopped is None
        files.read(benchmark, each)
    return partitions


def judge(benchmark: MetaCogBench, partition: Partition) -> tuple[int, int, pl.DataFrame]:
    """Have a partition judged; return calls, judgements that were there already, and all of them."""
    responses = pl.read_parquet(partition.below("responses"))
    done = judging.ask(benchmark, JUDGING, partition, responses)
    assert done.stopped is None
    frame = files.read_judgements(benchmark, partition)
    assert frame is not None
    return done.tally.calls, done.tally.reused, frame


def test_judges_are_asked_once_and_later_ones_alone(tmp_path):
    more = 'limit = 2\nconditions = ["free", "json", "two_turn"]'
    first = bench(tmp_path, '["self"]', more)
    (partition,) = answered(first)
    assert not staleness.judgements_current(first, partition)
    calls, _, frame = judge(first, partition)
    every = tasks.expected(first)
    assert calls == frame.height == every >= 14
    assert set(frame["status"]) == {"ok"} and set(frame["relation"]) == {"self"}
    assert set(frame["judge_model"]) == {"careful"} and set(frame["source"]) == {"simulated"}
    assert staleness.judgements_current(first, partition)
    assert judge(first, partition)[:2] == (0, every)
    both = bench(tmp_path, more=more)
    (partition,) = tasks.partitions(both)
    assert not staleness.judgements_current(both, partition)
    calls, reused, frame = judge(both, partition)
    assert (calls, reused, frame.height) == (every, every, 2 * every)
    assert (first.context.home / "transcripts" / f"benchmark={NAME}" / "model=careful" / "run=1").is_dir()


def test_a_judge_without_error_says_what_the_rules_say_and_no_score_moves(tmp_path):
    benchmark = bench(tmp_path)
    (partition,) = answered(benchmark)
    before = files.score(benchmark, partition)
    _, _, frame = judge(benchmark, partition)
    strict = frame.filter(pl.col("judge") == "strict")
    assert (strict["verdict"] == strict["by_rules"]).all() and set(strict["relation"]) == {"other family"}
    assert files.score(benchmark, partition).equals(before)
    files.pool(benchmark)
    files.compare(benchmark)
    found = pl.read_parquet(files.table_path(benchmark, "judges"))
    assert set(found["judge"]) == {"self", "strict"}
    assert 1.0 in set(found.filter(judge="strict")["accuracy"])
    shifted = pl.read_parquet(files.table_path(benchmark, "comparisons")).filter(family="judge")
    by_reply = pl.col("measure").is_in(["t1a", "accuracy_1b", "t3"])  # a judge does not see the probe
    assert shifted.height == 2 * 5 and set(shifted.filter(by_reply, a="strict")["value"]) == {0.0}


def test_a_known_rate_of_errors_is_recovered(tmp_path):
    benchmark = bench(tmp_path, '["strict"]', "", accuracy=0.8, runs=2)
    for partition in answered(benchmark):
        judge(benchmark, partition)
        files.score(benchmark, partition)
    files.compare(benchmark)
    rule = pl.when(pl.col("tier").str.starts_with("2")).then(pl.lit("keywords")).otherwise(pl.lit("headline"))
    table = pl.read_parquet(files.table_path(benchmark, "judges"))
    table = table.filter(pl.col("rule") == rule, condition="free")
    whole = table.filter(pl.col("model").is_null())
    assert whole["n"].sum() == 2 * 179
    agreed = float((whole["accuracy"] * whole["n"]).sum()) / (2 * 179)
    assert abs(agreed - 0.8) < 0.05
    inside = whole.filter(pl.col("accuracy_low") <= 0.8, pl.col("accuracy_high") >= 0.8)
    assert inside.height >= 4
    assert whole.filter(pl.col("kappa") > 0.8).is_empty()


def test_the_plan_counts_judgements_before_and_after_answers(tmp_path):
    benchmark = bench(tmp_path, more="limit = 2")

    def rows() -> dict[tuple[str, str], Any]:
        return {(row.model, row.benchmark): row for row in plan_study(benchmark.context.study).rows}

    planned = rows()
    assert planned["careful", NAME].to_ask == planned["strict", NAME].to_ask == 10
    before = planned["strict", NAME].tokens_in
    (partition,) = answered(benchmark)
    assert 0 < rows()["strict", NAME].tokens_in < before
    judge(benchmark, partition)
    planned = rows()
    assert planned["careful", NAME].to_ask == planned["strict", NAME].to_ask == 0


def test_judges_are_served_and_a_served_model_judges_itself(tmp_path):
    benchmark = bench(tmp_path, more="limit = 2")
    (partition,) = answered(benchmark)
    served = respondents(benchmark.context.study)
    assert set(served) == {"careful", "strict"}
    responses = pl.read_parquet(partition.below("responses"))
    for case in cases(benchmark.items, responses, benchmark.wording):
        request = ChatRequest(messages(case, load_judge_wording()), Sampling(0.0, 100))
        assert served["strict"](request) == f'{{"verdict": "{"pass" if case.passed else "fail"}"}}'
        assert "verdict" in served["careful"](request)


def test_another_reply_is_judged_anew(tmp_path):
    first = bench(tmp_path, '["strict"]', "limit = 1")
    (partition,) = answered(first)
    judge(first, partition)
    text = (tmp_path / "study.toml").read_text("utf-8").replace("sycophancy = 0.4", "sycophancy = 1.0")
    (tmp_path / "study.toml").write_text(text, "utf-8")
    again = MetaCogBench.of(load_study(tmp_path / "study.toml"))
    (partition,) = answered(again)
    assert not staleness.judgements_current(again, partition)
    _, _, frame = judge(again, partition)
    assert set(frame["status"]) == {"ok"}


def test_what_judges_are_asked_is_found_out_only_where_judgements_are_not_whole(tmp_path, monkeypatch):
    benchmark = bench(tmp_path, '["strict"]', "limit = 1")
    (partition,) = answered(benchmark)
    judge(benchmark, partition)
    needed = judging.needed(benchmark, JUDGING, partition, pl.read_parquet(partition.below("responses")))
    made = []

    def tasks_made(*given):
        made.append("tasks")
        return JUDGING.tasks(*given)

    monkeypatch.setattr(MetaCogBench, "judging", replace(JUDGING, tasks=tasks_made))
    states = {each.benchmark: each for each in partition_states(benchmark.context.study)}
    assert (states[NAME].state, states[NAME].n_expected) == ("complete", needed[0]) and not made
    path = partition.below("judgements")
    whole, noted = path.read_bytes(), judging.judged_as(partition).manifest()
    for harm in ("torn", "made from something else", "another manifest", "gone"):
        match harm:
            case "torn":
                path.write_bytes(whole[:-9])
            case "made from something else":
                write_frame(pl.read_parquet(BytesIO(whole)), path, "something else")
            case "another manifest":
                path.write_bytes(whole)
                write_manifest(judging.judged_as(partition).folder, {**noted, "n_expected": 1})
            case "gone":
                write_manifest(judging.judged_as(partition).folder, noted)
                path.unlink()
        made.clear()
        assert not staleness.judgements_current(benchmark, partition), harm
        assert staleness.judgements_needed(benchmark, partition) == needed and made == ["tasks"], harm
    path.write_bytes(whole)
    assert staleness.judgements_current(benchmark, partition)
