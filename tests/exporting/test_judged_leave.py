"""Verdicts of judges leave in the bundle: the boards that rest on them are rebuilt."""

from __future__ import annotations

import json

import pytest

from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.leaderboard import replayed
from metacog_pipeline.scoring import files
from metacog_pipeline.study import load_study
from tests import homes
from tests.asking_in_process import ask

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
def test_a_bundle_rebuilds_the_boards_that_rest_on_judges(metacog, judged, tmp_path):
    metacog("export", judged, "--to", tmp_path / "out.zip", "--format", "bundle")
    done = metacog("doctor", "--bundle", tmp_path / "out.zip", "--to", tmp_path / "again", "--json")
    assert [each for each in json.loads(done.output)["tables"] if not each["equal"]] == []
