"""Answers asked on several machines come together: transcripts copied into one home are asked again by nobody."""

import shutil
from pathlib import Path

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.asking.plan import plan_study
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.study import load_study
from tests.asking_in_process import ask
from tests.studies import metamedqa, write_study


def study_of(folder: Path, *names: str, **study: int) -> Path:
    models = ({"name": name, "provider": "simulated", "observer": {"seed": len(name)}} for name in names)
    return write_study(folder, *models, benchmarks=metamedqa(limit=5), **study)


def test_nothing_is_asked_again_where_transcripts_are_copied_into_one_home(tmp_path):
    together = study_of(tmp_path / "together", "one", "three")
    for name in ("one", "three"):
        study = load_study(study_of(tmp_path / name, name))
        study.prepare()
        benchmark = bound(study, "metamedqa")
        construction.build(benchmark)
        for partition in tasks.partitions(benchmark):
            ask(benchmark, partition)
        shutil.copytree(study.home.transcripts, load_study(together).home.transcripts, dirs_exist_ok=True)
    rows = plan_study(load_study(together)).rows
    assert [(row.model, row.answered, row.to_ask) for row in rows] == [("one", 5, 0), ("three", 5, 0)]


def test_a_run_that_is_answered_and_one_that_is_not_are_planned_each_as_it_stands(tmp_path):
    study = load_study(study_of(tmp_path / "runs", "one", runs=3))
    study.prepare()
    benchmark = bound(study, "metamedqa")
    construction.build(benchmark)
    ask(benchmark, tasks.partitions(benchmark)[1])
    (row,) = plan_study(study).rows
    assert (row.runs, row.calls, row.answered, row.to_ask) == (3, 15, 5, 10)
