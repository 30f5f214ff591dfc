"""Figures that benchmarks draw, of nothing, of one point, of points that lie close."""

from itertools import pairwise
from xml.etree import ElementTree

from metacog_pipeline.report.figures import Point, heat_map, intervals, plane


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
