"""Six respondents of known character over the 130 published instances, through the stages a study runs.

All three conditions, three judges of other families; the instances to strip are chosen from the scores, once, after
everybody has answered.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from metacog_pipeline.benchmarks.common import asking, scoring
from metacog_pipeline.benchmarks.common.judging import judged_partition, read_judgements
from metacog_pipeline.benchmarks.medley.stages import MEDLEY
from metacog_pipeline.benchmarks.medley.stages.construction import stripped_ids
from metacog_pipeline.benchmarks.medley.stages.judging import JUDGING

from metacog_pipeline.benchmarks.medley import stages
from metacog_pipeline.benchmarks.medley.profiles import CHARACTERS
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.study.frames import read_frame

pytestmark = pytest.mark.proof

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("METACOG_DATA") or ROOT.parent / "shared" / "data") / "medley" / "v1.0"
HEAD = '[study]\nname = "characters"\nhome = "home"\nseed = 1\n'
MODEL = (
    '[[models]]\nname = "{0}"\nprovider = "simulated"\nfamily = "f{1}"\n'
    'observer = {{ character = "{0}", seed = {1} }}\n'
)
JUDGE = (
    '[[judges]]\nname = "judge-{0}"\nprovider = "simulated"\nfamily = "j{0}"\n'
    "observer = {{ accuracy = 0.9, seed = {0} }}\n"
)
TAIL = """
[benchmarks.metamedqa]
enabled = false
[benchmarks.medley]
enabled = true
dataset = "published"
conditions = ["normal", "adversarial", "stripped"]
judges = ["judge-21", "judge-22", "judge-23"]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    if not DATA.is_dir():
        pytest.skip(f"{DATA} is absent: the published instances are needed")
    path = tmp_path_factory.mktemp("characters") / "study.toml"
    models = [MODEL.format(name, place) for place, name in enumerate(CHARACTERS)]
    path.write_text(
        "".join([HEAD, *models, *(JUDGE.format(n) for n in (21, 22, 23)), TAIL]), encoding="utf-8"
    )
    study = load_study(path)
    study.home.prepare()
    MEDLEY.fetch(study.home.path, MEDLEY.needed_sources(study), folder=DATA)
    stages.build(study)
    for partition in MEDLEY.partitions(study):
        measure(
            study, partition, judged=False
        )  # the choice of what is stripped comes before any judgement is needed
    assert MEDLEY.settle(study)
    assert not MEDLEY.settle(study)
    for partition in MEDLEY.partitions(study):
        measure(study, partition, judged=True)
    scoring.summarise(MEDLEY, study)
    yield study


def measure(study: Study, partition: Partition, *, judged: bool) -> None:
    todo = MEDLEY.tasks(study, partition.spec)
    outcome = asking.query(MEDLEY, partition, todo)
    assert (outcome.answered, outcome.failed) == (len(todo), 0)
    scoring.observe(MEDLEY, partition)
    if judged:
        assert JUDGING.ask(partition, None).complete
        read_judgements(JUDGING, partition)
        scoring.estimate(MEDLEY, partition)


def frames(study: Study, folder: str) -> pl.DataFrame:
    return pl.concat(
        [read_frame(path) for path in sorted((study.home.estimates / "medley" / folder).rglob("*.parquet"))]
    )


def test_every_character_is_told_from_what_it_changes(study: Study) -> None:
    found = frames(study, "comparisons").filter(family="character")
    assert dict(found.select("model", "verdict").iter_rows()) == {name: name for name in CHARACTERS}


def test_silence_has_no_score_at_all(study: Study) -> None:
    found = frames(study, "models").filter(model="silent")
    told = found.filter(pl.col("measure") != "coverage")
    assert told["estimate"].null_count() == told.height > 0
    assert set(found.filter(measure="coverage")["estimate"]) == {0.0}
    assert set(told["status"]) <= {"no instance could be scored", "no instance with a known answer"}


def test_the_fifty_instances_on_which_models_differ_most_are_stripped(study: Study) -> None:
    chosen = stripped_ids(study)
    assert len(chosen) == 50
    scores = frames(study, "instances")
    assert set(scores.filter(condition="stripped")["instance_id"]) == chosen
    assert scores.filter(condition="normal")["instance_id"].n_unique() == 130


def test_judges_graded_every_answer_that_could_be_read_and_no_other(study: Study) -> None:
    for partition in MEDLEY.partitions(study):
        manifest = judged_partition(JUDGING, partition).manifest()
        answers = 0 if partition.spec.name == "silent" else 130 + 30 + 50
        assert (manifest["state"], manifest["n_answered"]) == ("complete", 3 * answers), partition.spec.name
    assert frames(study, "models").filter(measure="mas", condition="normal")["estimate"].null_count() == 1
    agreement = read_frame(study.home.estimates / "medley" / "agreement" / "agreement.parquet")
    alpha = agreement.filter(measure="krippendorff_alpha", dimension="all")["estimate"].item()
    assert 0.5 < alpha < 1


def test_nobody_is_asked_again(study: Study) -> None:
    for partition in MEDLEY.partitions(study):
        assert scoring.stale(MEDLEY, partition) == ()
        outcome = asking.query(MEDLEY, partition, MEDLEY.tasks(study, partition.spec))
        assert outcome.tally.calls == 0
        assert JUDGING.ask(partition, None).tally.calls == 0


def test_the_map_in_the_leaderboard_names_every_character(study: Study) -> None:
    write_status(study)
    build(study.home.path)
    rows = run_query(
        study.home.path, "select model, character from medley_profiles where source = 'simulated'"
    ).rows
    assert dict(rows) == {name: name for name in CHARACTERS}
