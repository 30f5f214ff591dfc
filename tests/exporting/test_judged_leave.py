"""Verdicts of judges leave with the answers they are about, and come back: the board that rests on them is the same."""

from __future__ import annotations

import re
from dataclasses import replace

import polars as pl
import pytest

from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.logs import exported
from metacog_pipeline.interchange.logs.importing import LogOptions
from metacog_pipeline.leaderboard import replayed
from metacog_pipeline.scoring import files, staleness
from metacog_pipeline.study import load_study
from tests import homes
from tests.asking_in_process import ask
from tests.exporting.test_tables_leave import board, same_to_twelve_digits

STUDY = """
[study]
name = "judged"

[[models]]
name = "one"
provider = "simulated"
family = "a"

[[models]]
name = "two"
provider = "simulated"
family = "b"
observer = { accuracy = 0.4, seed = 2 }

[[judges]]
name = "strict"
provider = "simulated"
family = "c"

[[judges]]
name = "kin"
provider = "simulated"
family = "a"
observer = { seed = 3 }

[benchmarks.medley]
dataset = "sample"
limit = 2
judges = ["strict", "kin"]
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    path = tmp_path_factory.mktemp("judged") / "study.toml"
    path.write_text(STUDY)
    study = load_study(path)
    study.prepare()
    homes.lend_cases(study)
    into = bound(study, "medley")
    construction.build(into)
    declared = judging.wanted(into)
    assert declared is not None
    for partition in tasks.partitions(into):
        ask(into, partition)
        judging.ask(into, declared, partition, files.read(into, partition))
    replayed.publish(study, asking=False)
    return path


@pytest.mark.proof
def test_exported_and_imported_again_what_judges_said_counts_the_same(metacog, judged, tmp_path):
    metacog("export", judged, "--to", tmp_path / "out", "--format", "csv")
    metacog("import", tmp_path / "out", "--study", tmp_path / "again.toml", "--quiet")
    same_to_twelve_digits(board(judged), board(tmp_path / "again.toml"))
    again = load_study(tmp_path / "again.toml")
    judges = [(each.name, each.provider, each.family) for each in again.judges]
    assert judges == [("strict", "replay", "c"), ("kin", "replay", "a")]
    for study in (again, load_study(judged)):
        into = bound(study, "medley")
        said = [files.kept_judgements(into, each) for each in tasks.partitions(into)]
        assert [None if each is None else each["status"].eq("ok").sum() for each in said] == [2, 4]
        assert all(staleness.stale_stages(into, each) == () for each in tasks.partitions(into))
    done = metacog("import", tmp_path / "out", "--study", tmp_path / "again.toml", "--json")
    assert '"kept": 0' in done.output


def test_a_judge_whose_verdicts_are_missing_is_one_line_and_asks_nobody(judged, tmp_path):
    with pytest.raises(StudyError, match='provider = "replay" never answers'):
        mixed = STUDY.replace('"strict"\nprovider = "simulated"', '"strict"\nprovider = "replay"')
        (tmp_path / "mixed.toml").write_text(mixed)
        load_study(tmp_path / "mixed.toml")
    rows = re.sub(
        r'name = "(.*)"\nprovider = "simulated"', r'name = "\1"\nmodel = "\1"\nprovider = "replay"', STUDY
    )
    (tmp_path / "s.toml").write_text(rows.replace("observer", "#"))
    into = bound(load_study(tmp_path / "s.toml"), "medley")
    homes.lend_cases(into.context.study)
    (partition, *_), declared = tasks.partitions(bound(load_study(judged), "medley")), judging.wanted(into)
    kept = judging.kept_responses(partition)
    assert kept is not None and declared is not None
    construction.build(into)
    study = into.context.study
    own = replace(partition, study=study, spec=study.models[0])
    outcome = judging.ask(into, declared, own, kept)
    assert outcome.stopped == "no verdicts about one were imported; import an export with judges"


def test_verdicts_on_a_model_that_the_study_lacks_are_left_out_by_name(metacog, judged, tmp_path):
    metacog("export", judged, "--to", tmp_path / "out", "--format", "csv")
    path = tmp_path / "out" / exported.JUDGED / "medley.parquet"
    frame = pl.read_parquet(path)
    frame.with_columns(pl.col("judged").replace("two", "x")).write_parquet(path)
    done = exported.import_export(tmp_path / "out", tmp_path / "again.toml", LogOptions())
    whys = {f"is a verdict of {judge} on x, not both in the study" for judge in ("strict", "kin")}
    assert {each[2] for each in done.left_out} == whys
