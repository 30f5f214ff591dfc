"""Hostile marks, each alone in its value, in every place where data reach a page."""

import json
import re
from xml.etree import ElementTree

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.report import pieces
from metacog_pipeline.report.escapes import escaped, script_data
from metacog_pipeline.report.figures import MOST_LINES, Point, heat_map, intervals, ladder, lines, plane
from metacog_pipeline.report.page import build_report
from tests.report.answers import answered
from tests.report.conftest import Page, compared, estimates, made_home, write

#: An ampersand alone says nothing: it has to begin what a browser reads as another character.
MARKS = ("<", ">", "&lt;", '"', "'", "</script>", "<!--", "\u2028", "`", "\0")
SPACES = str.maketrans("\u2028\0", "  ")
VALUES = tuple(
    f"a{mark}z{place}" for place, mark in enumerate(MARKS)
)  # each is one model, item, reply and note
#: Tags of the first page that the page of methods has not, and of the frame of every page.
DRAWN = """
svg g text polyline polygon circle rect figure figcaption template table caption thead tbody tr th td small
details summary form label select option noscript script section div span h2 a br
"""
TAGS = """
a body button caption details div form h1 head header html input label li main meta nav noscript option p script
section select span style summary table tbody thead title ul
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    home = made_home(Home(tmp_path_factory.mktemp("marks") / "home"), dict.fromkeys(VALUES, "measured"))
    answered(home, VALUES, VALUES, lambda place: VALUES[place])
    told = [row | {"task": None} for value in VALUES for row in estimates(value, "measured", ["confidence"])]
    write(home, "estimates/signaldetection/models/*.parquet", told)
    tests = [compared(VALUES[0], other, note=other, task=None) for other in VALUES[1:]]
    write(home, "estimates/signaldetection/comparisons/*.parquet", tests)
    build(home)
    return build_report(home, VALUES[0]).parent


def test_every_name_is_the_same_text_in_tables_figures_and_choices(report):
    page = Page(report / "index.html")
    for value in VALUES:
        said = value.translate(SPACES)
        assert page.text.count(said) >= 4, (
            value,
            page.text.count(said),
        )  # tables, figures, choices of a model
    assert page.names <= Page(report / "methods.html").names | {*DRAWN.split()}


def test_no_mark_stands_raw_in_any_file(report):
    files = [*report.rglob("*.html"), *report.rglob("*.js")]
    assert len(files) > 8
    for path in files:
        source = path.read_text("utf-8")
        markup = re.sub(r'<script type="application/json".*?</script>', "", source, flags=re.DOTALL)
        for value, mark in zip(VALUES, MARKS, strict=True):
            if mark != "`":
                where = markup if mark == "'" else source
                assert value not in where or (mark == "'" and path.suffix == ".js"), (path.name, value)
        assert "\0" not in source and "\u2028" not in source and "<!--" not in source, path.name


def test_figures_are_whole_xml_with_every_name(report):
    svgs = re.findall(r"<svg.*?</svg>", (report / "index.html").read_text("utf-8"), re.DOTALL)
    assert svgs
    said = " ".join(" ".join(ElementTree.fromstring(svg).itertext()) for svg in svgs)
    for value in sorted(VALUES)[:MOST_LINES]:
        assert value.translate(SPACES) in said, value


def test_data_of_scripts_are_what_was_kept(report):
    told = []
    for path in (report / "index.html", report / "explore" / "index.html"):
        for text in re.findall(
            r'<script type="application/json"[^>]*>(.*?)</script>', path.read_text(), re.DOTALL
        ):
            told.append(json.loads(text))
    assert len(told) == 1 and all(set(VALUES) <= set(strings(each)) for each in told)
    for kind in ("questions", "items"):
        files = [path.read_text() for path in (report / "explore").glob(f"{kind}-*.js")]
        called = [re.fullmatch(r"[\w.]+\((.*)\);\n", text, re.DOTALL) for text in files]
        found = set(strings([json.loads(f"[{each[1]}]") for each in called]))
        assert all(any(value in text for text in found) for value in VALUES), kind


def strings(value):
    """Yield every text in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for each in value.items() for text in strings(list(each)))
    elif isinstance(value, list):
        yield from (text for each in value for text in strings(each))


@pytest.mark.parametrize("mark", MARKS)
def test_the_name_of_a_study_and_an_address_stay_text(mark, tmp_path):
    value = f"a{mark}z"
    for template, more in (
        ("index.html.jinja", {"methods": "m", "models": {}, "explorer": "e", "parts": [], "papers": {}}),
        ("methods.html.jinja", {"texts": "", "anchors": []}),
        ("explorer.html.jinja", {"contents": script_data(value)}),
    ):
        path = tmp_path / "page.html"
        path.write_text(pieces.page(template, name=value, script="x.js", **more), "utf-8")
        page = Page(path)
        assert any(value.translate(SPACES) in text for text in page.text) and page.names <= {*TAGS.split()}, (
            template
        )
    one, ends = Point(1.0, 0.5, 1.5), [(0.0, Point(0.0)), (1.0, Point(1.0))]
    for drawn in (
        lines({value: ends}, x=value, y=value, diagonal=value),
        plane([(value, value, one, one)], x=value, y=value, axes_at_zero=True),
        heat_map([(value, [0.0])], columns=[value], name=value),
        intervals([(value, one)], x=value),
        ladder([(value, {value: one})], steps=[value], x=value, label=value),
    ):
        whole = ElementTree.fromstring(drawn)
        assert [*whole.itertext()].count(value.translate(SPACES)) >= 2, drawn
    assert whole.get("aria-label") == value.translate(SPACES)
    body = pieces.figure(drawn, value, n="n = 1", method="none")
    assert body.count("<figure>") == body.count("</figure>") == 1 and (value not in body or mark == "`")
    link = pieces.linked(f"explore/index.html#{value}", value)
    assert re.fullmatch(r'<a href="[^<>"\']*">[^<>"\']*</a>', link)
    assert json.loads(script_data(value)) == value and not re.search(r"[<>&\u2028\0]", script_data(value))
    assert not re.search(r"[<>\"'\u2028\0]", escaped(value))
