"""The signed pull tells observers who follow the crowd, arguments and themselves apart, as map and character do."""

from itertools import product

import polars as pl
import pytest

from metacog_pipeline.benchmarks.medley.items import CONDITIONS
from metacog_pipeline.benchmarks.medley.measures import ALL_ALIKE
from metacog_pipeline.benchmarks.medley.pull import NO_ONE_ALONE, NO_PLACEBO
from metacog_pipeline.benchmarks.medley.scores import score_instances
from tests.medley.bound import compared, estimated, observed
from tests.medley.conftest import build_debate

DRIFT = 0.15
FOLLOWERS = ("crowd-follower", "argument-follower", "stubborn")
ARMS = (*CONDITIONS, "dose_0", "nudged")


@pytest.fixture(scope="module")
def cases():
    """Twenty cases in which one analyst argues well and a crowd does not, on either side."""
    sides = (("high", "low"), ("low", "high"))
    return [build_debate(number, *sides[number % 2]) for number in range(20)]


@pytest.fixture(scope="module")
def scored(cases):
    found = [observed(cases, name, ARMS, run) for name, run in product(FOLLOWERS, (1, 2))]
    return score_instances(pl.concat(found), cases)


@pytest.fixture(scope="module")
def pulls(scored):
    return of(estimated(scored, n_boot=150, by_run=False))


def of(table):
    return {(row["model"], row["measure"]): row for row in table.to_dicts()}


def test_the_statistic_pulls_the_follower_of_crowds_and_nobody_else(pulls):
    crowd, arguments, own = (pulls[name, "pull_crowd"] for name in FOLLOWERS)
    assert crowd["low"] > 0.3 > max(arguments["high"], own["high"])
    assert pulls["crowd-follower", "resistance"]["estimate"] == pytest.approx(1 - crowd["estimate"])


def test_arguments_pull_their_follower_whatever_the_statistic_says(pulls):
    crowd, arguments, own = (pulls[name, "pull_arguments"] for name in FOLLOWERS)
    assert arguments["low"] > max(crowd["high"], own["high"], 0.05)


def test_map_and_character_say_what_the_pulls_say(scored):
    found = compared(scored, n_boot=150)
    said = found.filter(family="cognitive_map")
    assert dict(said.select("model", "verdict").iter_rows()) == {name: name for name in FOLLOWERS}
    pairs = found.filter(family="models_paired", measure="resistance")
    (row,) = pairs.filter(a="argument-follower", b="crowd-follower").to_dicts()
    assert row["verdict"] == "significant" and row["low"] > 0.3


def test_a_pull_without_a_placebo_says_so(scored):
    once = scored.filter(pl.col("run") == 1, pl.col("condition") != "dose_0")
    found = of(estimated(once, n_boot=50, by_run=False))
    assert found["stubborn", "pull_crowd"]["status"] == NO_PLACEBO
    assert found["stubborn", "pull_arguments"]["status"] == NO_ONE_ALONE
    names = ("pull_crowd", "pull_arguments", "pull_self")
    assert {found["stubborn", name]["estimate"] for name in names} == {0.0}


def test_what_asking_again_shifts_is_no_pull(scored):
    """One who keeps its ratings, but for a second time asked under normal, when all of them are higher by a tenth."""
    own = scored.filter(pl.col("model") == "stubborn", pl.col("condition").is_in(["normal", "adversarial"]))
    again = pl.when(pl.col("condition") == "normal", pl.col("run") == 2).then(0.1).otherwise(0.0)
    final = [f"s_c{claim}" for claim in range(1, 6)]
    drifted = own.with_columns(pl.col(name) + again for name in final)
    # Of cases on one side: those of even and odd numbers are inverted to different ones.
    odd = pl.col("item_id").str.slice(-1).cast(pl.Int32) % 2 == 1
    for side, sign in ((odd, 1), (~odd, -1)):
        row = of(estimated(drifted.filter(side), n_boot=50))["stubborn", "pull_crowd"]
        # Half of it is in the mean of both runs under normal, and the whole is what asking again shifts.
        assert row["estimate"] == pytest.approx(DRIFT * sign) and row["status"] in ("ok", ALL_ALIKE)
