"""Respondents of known character, asked the published instances under all conditions, are told apart by their scores."""

import polars as pl
import pytest

from metacog_pipeline.benchmarks.medley.construction.sets import read_set
from metacog_pipeline.benchmarks.medley.items import CONDITIONS
from metacog_pipeline.benchmarks.medley.pull import CHARACTERS
from metacog_pipeline.benchmarks.medley.scores import score_instances
from tests.golden.agreed import PUBLISHED, need
from tests.medley.bound import compared, estimated, observed

# The gate holds the order of known respondents, and tests/medley each measure, on fewer instances.
pytestmark = pytest.mark.proof


@pytest.fixture(scope="module")
def instances():
    return read_set(need(PUBLISHED)).instances


@pytest.fixture(scope="module")
def scored(instances):
    found = [observed(instances, character, CONDITIONS) for character in CHARACTERS]
    return score_instances(pl.concat(found), instances)


def test_every_character_is_recovered(scored):
    found = compared(scored, n_boot=100).filter(family="cognitive_map")
    assert dict(found.select("model", "verdict").iter_rows()) == {name: name for name in CHARACTERS}


def test_silence_is_not_worth_half(scored):
    found = estimated(scored, n_boot=50).filter(model="silent", condition="normal")
    measures = dict(found.select("measure", "estimate").iter_rows())
    assert measures.pop("coverage") == 0.0
    assert set(measures.values()) == {None}


def test_arguments_move_the_follower_of_arguments_and_the_crowd_the_follower_of_crowds(scored):
    found = estimated(scored, n_boot=50).filter(measure="changed_from_normal")
    pull = {(row["model"], row["condition"]): row["estimate"] for row in found.to_dicts()}
    assert pull["argument-follower", "adversarial"] == 0
    assert pull["crowd-follower", "adversarial"] > 0.3
    assert pull["argument-follower", "stripped"] > 0.1
