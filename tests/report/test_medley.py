"""MEDLEY-BENCH on the page: its figures and tables, from a leaderboard of a few synthetic files."""

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.report.figures import Point, heat_map, intervals, plane
from metacog_pipeline.report.page import build_report
from tests import homes
from tests.report.conftest import write

MAP = "medley-who-follows-arguments-and-who-the-crowd"


def make_home(folder: Path, source: str = "measured", name: str = "alpha") -> Home:
    home = Home(folder / "home")
    key = {
        "benchmark": "medley",
        "dataset": "published",
        "scoring": "reference",
        "model": name,
        "source": source,
    }
    counts = {"n": 130, "n_failed": 0, "n_unreadable": 0, "coverage": 1.0, "status": "ok", "method": "mean"}
    values = {"mms": 0.6, "t1": 0.55, "t2": 0.5, "t3": 0.7, "coverage": 1.0}
    values |= {f"ipsative_{each}": 0.05 for each in ("monitoring", "control", "evaluation")}
    pulls = {"pull_crowd": 0.25, "pull_arguments": 0.125}
    measured = {"normal": values, "adversarial": pulls, "stripped": {"stripped_delta": -0.0625}}
    found = [
        {**key, **counts, "condition": condition, "measure": measure, "estimate": value, "low": value - 0.01,
         "high": value + 0.01}
        for condition, own in measured.items() for measure, value in own.items()
    ]  # fmt: skip
    findings = [
        {"family": "rank", "measure": "mms", "condition": "normal", "value": 1.0, "low": 1.0, "high": 2.0},
        {"family": "cognitive_map", "measure": "pull_crowd", "value": 0.25, "statistic": 0.125,
         "verdict": "crowd-follower"},
        {"family": "size_slope", "measure": "evaluation", "value": 0.09, "low": 0.02, "high": 0.2},
    ]  # fmt: skip
    write(home, "estimates/medley/models/*.parquet", found)
    tests = [{**key, "n": 30, "status": "ok", **each} for each in findings]
    write(home, "estimates/medley/comparisons/*.parquet", tests)
    listed = {"model": name, "provider": "openai", "source": source, "listed": True, "runs": 1}
    counts = {"state": "complete", "n_expected": 1, "n_answered": 1, "n_failed": 0}
    write(home, "study/models.parquet", [listed])
    write(home, "study/partitions.parquet", [{"benchmark": "medley", "model": name, "run": 1, **counts}])
    homes.print_numbers(home, "medley")
    build(home)
    return home


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """The report of a measured and judged model."""
    return build_report(make_home(tmp_path_factory.mktemp("medley"))).read_text("utf-8")


def section(text: str, anchor: str) -> str:
    return text.split(f'<section id="{anchor}">')[1].split("</section>")[0]


def test_the_map_shows_both_pulls_and_what_moves_the_model(text):
    part = section(text, MAP)
    assert "0.250" in part and "0.125" in part and "crowd-follower" in part and "<svg" in part
    for each in re.findall(r"<svg.*?</svg>", part, re.DOTALL):
        ElementTree.fromstring(each)


def test_headline_claims_stand_beside_the_slopes_of_the_studys_models(text):
    part = section(text, "medley-headline-claims")
    assert "evaluation grows more with size than control" in part and "not decided" in part
    assert "4 of 8 if the two were unrelated" in part and "0.090" in part


def test_figures_of_nothing_or_one_point_are_drawn():
    one = Point(1.0)
    drawn = [
        plane([], x="x", y="y", axes_at_zero=True),
        plane([("a", "k", one, one)], x="x", y="y", axes_at_zero=True),
        heat_map([], columns=["c"], name="nothing"),
        heat_map([("a", [None, 0.0])], columns=["c", "d"], name="empty cells"),
        intervals([], x="rank"),
        intervals([("a", Point(1.0, 1.0, 3.0))], x="rank"),
    ]
    for each in drawn:
        ElementTree.fromstring(each)


def test_names_of_near_points_do_not_stand_on_each_other():
    points = [(f"model {i}", "k", Point(0.0), Point(0.001 * i)) for i in range(4)]
    far = ("far", "k", Point(5.0), Point(9.0))
    drawn = ElementTree.fromstring(plane([*points, far], x="x", y="y", axes_at_zero=True))
    texts = drawn.iter("{http://www.w3.org/2000/svg}text")
    heights = sorted(float(each.get("y", "nan")) for each in texts if (each.text or "").startswith("model"))
    assert len(heights) == 4 and min(b - a for a, b in pairwise(heights)) >= 8
