import re
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import pytest
from click.testing import CliRunner

from metacog_pipeline import registry
from metacog_pipeline.benchmark.display import Section
from metacog_pipeline.cli import cli
from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.report import drawing, page
from metacog_pipeline.report.figures import MOST_LINES, Point, ladder, lines
from metacog_pipeline.report.page import build_report
from tests.report.conftest import Page, made_home
from tests.studies import write_study


@pytest.fixture(scope="module")
def of_a_model(tmp_path_factory):
    """The page of a study of one model; nobody may change it."""
    return build_report(made_home(Home(tmp_path_factory.mktemp("one") / "home")), "my study")


@pytest.fixture(scope="module")
def with_an_observer(tmp_path_factory):
    """The page of a study of a model and a simulated observer; nobody may change it."""
    models = {"alpha": "measured", "toy": "simulated"}
    return build_report(made_home(Home(tmp_path_factory.mktemp("both") / "home"), models))


def words(page: Path) -> str:
    return " ".join(" ".join(Page(page).text).split())


def test_the_page_holds_the_board_the_figures_and_the_published_numbers(of_a_model):
    page = of_a_model
    assert page.name == "index.html" and page.parent.name == "report"
    text = words(page)
    shown = (
        "my study",
        "alpha",
        "0.750",
        "M-ratio",
        "Criteria under risk",
        "inconclusive",
        "GPT-5-2025-08-07",
    )
    assert [each for each in shown if each not in text] == []
    svgs = [tag for tag, _ in Page(page).tags if tag == "svg"]
    # The first screen; the question; figures of signal detection, of the study's models and of the published ones.
    assert len(svgs) >= 6


def test_the_page_runs_its_own_script_and_loads_nothing_else(of_a_model):
    page = of_a_model
    scripts = []
    for tag, attributes in Page(page).tags:
        assert tag not in ("link", "iframe", "object", "img"), tag
        if tag == "script" and attributes.get("type") != "application/json":
            scripts.append(attributes)
        for name, value in attributes.items():
            if name in ("href", "xlink:href", "data"):
                own = r"#|papers/[a-z0-9._-]+/index\.html|methods\.html$"
                assert re.match(own, value or ""), (tag, name, value)
    assert scripts == [{"src": "report.js"}] and (page.parent / "report.js").exists()
    source = page.read_text(encoding="utf-8")
    assert "@import" not in source and not re.search(r"url\((?!#)", source)
    assert "default-src 'none'; style-src 'unsafe-inline'; script-src 'self' file:; img-src blob:" in source


def test_what_is_pointed_at_is_there_once(with_an_observer):
    page = with_an_observer
    tags = Page(page).tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    source = page.read_text(encoding="utf-8")
    pointed = set(re.findall(r'href="#([^"]+)"', source)) | set(re.findall(r"url\(#([^)]+)\)", source))
    assert pointed and pointed <= set(ids)


def test_figures_take_the_ink_of_the_page(of_a_model):
    page = of_a_model
    figures = re.findall(r"<svg.*?</svg>", page.read_text(encoding="utf-8"), re.DOTALL)
    assert figures
    for svg in figures:
        assert "currentColor" in svg and "#010203" not in svg and "#000000" not in svg
        assert 'role="img"' in svg and "aria-label=" in svg and "viewBox" in svg
        assert not re.search(r"<svg[^>]* (width|height)=", svg)


def test_simulated_observers_and_models_never_share_a_table_or_a_figure(with_an_observer):
    source = with_an_observer.read_text(encoding="utf-8")
    pieces = re.findall(r"<svg.*?</svg>|<table.*?</table>", source, re.DOTALL)
    assert sum("toy" in piece for piece in pieces) >= 4
    assert not any("toy" in piece and ("alpha" in piece or "GPT-5" in piece) for piece in pieces)


def test_a_study_that_asks_something_else_has_no_part_about_signal_detection(make_home):
    text = words(build_report(make_home(benchmark="metamedqa", silent=True)))
    assert "metamedqa Board" in text
    assert "signaldetection" not in text and "meta-d′" not in text and "<svg" not in text


def test_before_anything_is_answered_the_page_says_so(make_home):
    index = build_report(make_home(silent=True))
    text = words(index)
    assert "PROVISIONAL" in text and "No criterion shifts measured yet" in text
    assert "Not checked yet" in words(index.parent / "papers" / "signaldetection" / "index.html")


def test_a_study_without_confidence_or_without_risk_has_the_figures_it_can_have(make_home):
    for conditions in (("confidence",), ("risk_s1", "risk_s2")):
        assert "alpha" in words(build_report(make_home(conditions=conditions)))


def test_a_leaderboard_of_another_version_is_to_be_rebuilt(make_home):
    home = make_home()
    with duckdb.connect(str(home / "leaderboard.duckdb")) as connection:
        connection.execute("alter table comparisons drop column verdict")
    with pytest.raises(StoreError, match="another version") as caught:
        build_report(home)
    assert "metacog run" in str(caught.value) and "\n" not in str(caught.value)


def test_a_page_that_cannot_be_written_is_one_line(make_home):
    home = make_home()
    (home / "report").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be written") as caught:
        build_report(home)
    assert "\n" not in str(caught.value)


def test_the_command_prints_where_the_page_is_or_why_there_is_no_explorer_yet(make_home, tmp_path):
    make_home()
    study = write_study(tmp_path, {"name": "a", "provider": "simulated"}, name="named")
    result = CliRunner().invoke(cli, ["report", str(study)])
    assert result.exit_code == 0, result.output
    page = Path(result.stdout.strip())
    assert page.is_file() and "<h1>named</h1>" in page.read_text(encoding="utf-8")


def test_a_figure_that_fails_leaves_its_reason_and_the_rest_of_the_page(make_home, monkeypatch):
    home = make_home()
    whole = Page(build_report(home)).text
    shown = registry.load("signaldetection").sections()

    def broken(_: Path) -> str:
        raise ValueError("<b>no</b> such\ncolumn")

    def gone(_: Path) -> list[object]:
        raise KeyError("prices")

    failing = (Section("Planted", broken), *shown)
    monkeypatch.setattr(registry.load("signaldetection"), "sections", classmethod(lambda cls: failing))
    monkeypatch.setattr(page.confidence, "parts", gone)
    found = Page(build_report(home)).text
    said = [text for text in found if "could not be made" in text]
    assert len(said) == 2 and "ValueError: <b>no</b> such column" in said[0] and "KeyError" in said[1]
    there = {text.strip() for text in found} & {text.strip() for text in whole}
    assert {section.title for section in shown} <= there


def test_a_name_at_the_edge_of_a_figure_is_not_cut_off():
    plot, name = drawing.Plot(2.0), "a-model-of-a-long-name"
    plot.words(0.0, 0.0, "b", 8)
    plot.words(1.0, 1.0, name, 8)
    left = float(re.search(rf'<text x="([0-9.]+)"[^>]*>{name}', plot.svg("x"))[1])
    assert left + 0.6 * 8 * len(name) <= drawing.WIDTH


# --- captions, the methods page, figures ---------------------------------------------------------------------------------
NAMES = "d′ meta-d′ M-ratio AUROC2 ECE Brier YFR NFR MMS MAS MS SAF CDTC Holm Wilson DeLong"
NASTY = '</figcaption></figure><script>alert(1)</script> & "$x^2$"'


def test_every_caption_says_how_many_and_by_which_method(with_an_observer):
    source = with_an_observer.read_text("utf-8")
    captions = re.findall(r'<span class="caption">(.*?)</span>', source)
    assert len(captions) == source.count("<figure>") > 0
    for caption in captions:
        assert re.search(r"; n (= \d+( to \d+)? \w+|not stated)\.$", caption), caption
        assert re.search("interval|[Pp]osterior", caption), caption


def test_the_methods_page_explains_every_headline_and_points_at_what_is_there(tmp_path):
    page._write_methods(tmp_path, NASTY, registry.names())
    source = (tmp_path / "methods.html").read_text("utf-8")
    assert "<script" not in source and "url(" not in source and "src=" not in source
    ids = set(re.findall(r' id="([^"]+)"', source))
    assert set(re.findall(r'href="#([^"]+)"', source)) == ids
    text = re.sub(r"<[^>]+>", "", source)
    assert [name for name in NAMES.split() if name not in text] == []
    assert set(registry.names()) <= ids


@pytest.mark.parametrize("names", [[], [1], list(range(1, 13))])
def test_any_number_of_models_and_steps_can_be_drawn(names):
    series = {f"m{n}": [(1 + n % 5, Point(0.5, 0.4, 0.6))] for n in names}
    drawn = lines(series, x="x", y="y", diagonal="l", span=(1, 5), apart=0.28)
    assert sum(f">m{n}<" in drawn for n in names) == min(len(names), MOST_LINES)
    steps = [f"s{n}" for n in range(12)]
    ElementTree.fromstring(ladder([("a", {step: Point(1.0) for step in steps})], steps=steps, x="x"))
