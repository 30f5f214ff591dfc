"""Figures as files, the methods page, MetaMedQA's parts, cost per point."""

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from metacog_pipeline import benchmarks, registry
from metacog_pipeline.home import Home
from metacog_pipeline.report import cost, overview
from metacog_pipeline.report.cost import money, per_unit
from metacog_pipeline.report.figures import MOST_LINES, Point, ladder, lines
from metacog_pipeline.report.methods import write_methods
from metacog_pipeline.report.page import build_report
from metacog_pipeline.report.pieces import Part, figure
from metacog_pipeline.report.standalone import INK, PAPER, standalone, with_files

BENCHMARKS = Path(benchmarks.__file__).parent
NASTY = '</figcaption></figure><script>alert(1)</script> & "$x^2$"'


@pytest.mark.proof
def test_every_figure_is_a_file_for_either_width_of_a_column_and_its_numbers_are_one(make_home):
    page = build_report(make_home())
    source = page.read_text("utf-8")
    linked = re.findall(r'<a href="(figures/[^"]+)"', source)
    assert len(linked) == 3 * source.count("<figure>") == len(set(linked)) > 0
    for address in linked:
        text = (page.parent / address).read_text("utf-8")
        if address.endswith(".csv"):
            assert len(text.splitlines()) > 1
            continue
        root = ElementTree.fromstring(text.encode())
        width = re.search(r"-(88|180)mm\.svg$", address)
        assert (
            root.tag.endswith("}svg")
            and width
            and root.get("width") == f"{width[1]}mm"
            and root.get("height")
        )
        assert "currentColor" not in text and INK in text and PAPER in text
        assert root[0].tag.endswith("}desc") and "n = " in str(root[0].text)
        *_, wide, high = map(float, root.attrib["viewBox"].split())
        below = [
            each for each in root if each.tag.endswith("}text")
        ]  # the caption, all of it, within the paper
        assert " ".join(str(each.text) for each in below) == " ".join(str(root[0].text).split())
        assert all(float(each.attrib["y"]) < high and 4 * len(str(each.text)) < wide for each in below)


def test_every_caption_says_how_many_and_by_which_method(make_home):
    source = build_report(make_home({"alpha": "measured", "toy": "simulated"})).read_text("utf-8")
    captions = re.findall(r'<span class="caption">(.*?)</span>', source)
    assert len(captions) == source.count("<figure>") > 0
    for caption in captions:
        assert re.search(r"; n (= \d+( to \d+)? \w+|not stated)\.$", caption), caption
        assert re.search("interval|[Pp]osterior", caption), caption


def test_figures_that_are_no_longer_there_lose_their_files(make_home):
    page = build_report(make_home())
    old = page.parent / "figures" / "gone-1.svg"
    old.write_text("<svg/>")
    build_report(Home(page.parent.parent))
    assert not old.exists()


def test_a_hostile_caption_and_name_stay_text_in_page_and_files(tmp_path):
    drawn = ladder([(NASTY, {"a": Point(1.0, 0.5, 1.5)}), ("=1+1", {"a": Point(-2.0)})], steps=["a"], x=NASTY)
    (part,) = with_files([Part("x", "x", figure(drawn, NASTY, n="n = 1", method="none"))], tmp_path)
    assert "<script" not in part.body and part.body.count("<figure>") == part.body.count("</figure>") == 1
    assert "<template" not in part.body
    ElementTree.fromstring((tmp_path / "figures" / "x-1-88mm.svg").read_bytes())
    ElementTree.fromstring(standalone(drawn, 88).encode())
    header, first, second = csv.reader(io.StringIO((tmp_path / "figures" / "x-1.csv").read_text("utf-8")))
    assert header == ["row", "step", NASTY, f"{NASTY}: low", f"{NASTY}: high"]
    assert first == [NASTY, "a", "1.0", "0.5", "1.5"] and second == ["'=1+1", "a", "-2.0", "", ""]


def test_the_methods_page_explains_every_headline_and_points_at_what_is_there(tmp_path):
    write_methods(tmp_path, NASTY, [BENCHMARKS / name for name in registry.names()])
    source = (tmp_path / "methods.html").read_text("utf-8")
    assert "<script" not in source and "url(" not in source and "src=" not in source
    ids = set(re.findall(r' id="([^"]+)"', source))
    assert set(re.findall(r'href="#([^"]+)"', source)) == ids
    text = re.sub(r"<[^>]+>", "", source)
    for name in (
        *(
            "d′",
            "meta-d′",
            "M-ratio",
            "AUROC2",
            "ECE",
            "Brier",
            "YFR",
            "NFR",
            "MMS",
            "MAS",
            "MS",
            "SAF",
            "CDTC",
        ),
        *("Holm", "Wilson", "DeLong"),
    ):
        assert name in text, name
    assert set(registry.names()) <= ids


@pytest.mark.parametrize("names", [[], [1], list(range(1, 13))])
def test_any_number_of_models_and_steps_can_be_drawn(names):
    series = {f"m{n}": [(1 + n % 5, Point(0.5, 0.4, 0.6))] for n in names}
    drawn = lines(series, x="x", y="y", diagonal="l", span=(1, 5), apart=0.28)
    assert sum(f">m{n}<" in drawn for n in names) == min(len(names), MOST_LINES)
    steps = [f"s{n}" for n in range(12)]
    ElementTree.fromstring(ladder([("a", {step: Point(1.0) for step in steps})], steps=steps, x="x"))


def test_the_same_values_are_drawn_once_and_others_anew():
    rows = [("a", {"s": Point(1.0, 0.5, 1.5)})]
    first = ladder(rows, steps=["s"], x="x")
    assert ladder([("a", {"s": Point(1.0, 0.5, 1.5)})], steps=["s"], x="x") is first
    other = ladder([("a", {"s": Point(1.0, 0.5, 1.25)})], steps=["s"], x="x")
    assert other != first and other.rows == [("a", "s", 1.0, 0.5, 1.25)]


def test_dollars_are_told_alike_at_the_headlines_and_at_the_costs():
    assert overview.paid_cell is cost.paid_cell
    assert [cost.paid_cell(each) for each in (0.0018, 3.0, None)] == ["$0.0018", "$3.00", None]


def test_a_point_costs_what_was_paid_over_the_points_there_are():
    assert per_unit(8.0, 0.8, 100) == pytest.approx(0.1)
    assert (
        per_unit(8.0, 0.0, 100) is None
        and per_unit(8.0, -0.5, 10) is None
        and per_unit(8.0, None, 10) is None
    )
    assert [money(x) for x in (0.0, 12.345, 0.01234, 0.00000001)] == [
        "$0.00",
        "$12.35",
        "$0.012",
        "< $0.0001",
    ]
