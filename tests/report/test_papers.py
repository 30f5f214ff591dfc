"""As in the papers: every exhibit is drawn again or says why not, the study's own stand beside it in its units."""

import re
from pathlib import Path

import pytest

from metacog_pipeline import registry
from metacog_pipeline.benchmark.display import Exhibit
from metacog_pipeline.files import shipped
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.read import one_connection
from metacog_pipeline.report import exhibits, papers
from metacog_pipeline.report.exhibits import Column, Own
from tests.report.conftest import made_home

HOSTILE = '<script>alert(1)</script> & "x"'
#: Printed tables that hold words (1, 2, 5), or whose rows are turned: a measure is a column.
OTHERWISE = {*(("metamedqa", f"Table {n}") for n in range(1, 6)), ("metacogbench", "Table 4")}
BENCHMARKS = [name for name in registry.names() if registry.load(name).exhibits()]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The pages of all papers, in a study of signal detection."""
    root = tmp_path_factory.mktemp("papers")
    home = made_home(Home(root / "home"), {"alpha": "measured", HOSTILE: "measured", "toy": "simulated"})
    with one_connection(home):  # as the report does
        papers.write_papers(home, root / "report", HOSTILE, registry.names())
    return root / "report"


def page(report: Path, benchmark: str) -> str:
    return (report / papers.FOLDER / benchmark / "index.html").read_text("utf-8")


def section(text: str, label: str) -> str:
    anchor = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")
    found = re.search(rf'<section id="{anchor}">(.*?)</section>', text, re.DOTALL)
    assert found, label
    return found[1]


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_page_lists_every_entry_of_the_manifest_with_its_status(report, benchmark):
    listed = section(page(report, benchmark), "manifest")
    for each in registry.load(benchmark).exhibits():
        assert re.search(rf'">{re.escape(each.number)}</a></t[dh]>.*?{each.status}', listed), each.number


REFUSED = (
    {},
    {"status": "seen"},
    {"status": "cannot"},
    {"status": "differs", "render": str},
    {"status": "drawn"},
    {"status": "cannot", "why": "no data", "render": str},
)


@pytest.mark.parametrize("given", REFUSED, ids=str)
def test_an_entry_without_a_picture_or_a_reason_is_refused(given):
    with pytest.raises(ValueError, match="does not fit; it is one of drawn"):
        Exhibit("Table 1", "Sums", **given)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_every_exhibit_of_the_paper_has_its_section_or_says_what_is_missing(report, benchmark):
    declared = {each.number: each for each in registry.load(benchmark).exhibits()}
    text = page(report, benchmark)
    assert "could not be drawn" not in text
    for label, exhibit in declared.items():
        body = section(text, label)
        if exhibit.render is None:
            assert exhibit.why or exhibit.status == "recomputed"
        else:
            nothing = exhibits.NOBODY in body or "No values yet." in body
            assert "<figure>" in body or "<table>" in body or (exhibit.why and nothing), label
        assert ("Missing: " in body or "Differs: " in body) == bool(exhibit.why), label
        for address in re.findall(r'href="(figures/[^"]+)"', body):
            assert (report / papers.FOLDER / benchmark / address).exists()


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_every_printed_table_is_there_to_the_last_digit(report, benchmark):
    text = page(report, benchmark)
    declared = [each.number for each in registry.load(benchmark).exhibits() if each.render is not None]
    for label in declared:
        stem = label.lower().replace(" ", "_")
        file = shipped("data", "published", benchmark, f"{stem}.csv")
        if label.startswith("Table") and file.exists() and (benchmark, label) not in OTHERWISE:
            body = section(text, label)
            for row in exhibits.printed(benchmark, stem):
                for name, value in row.items():
                    if re.fullmatch(r"-?\d+\.\d+", value):
                        assert re.search(rf"[> ]{re.escape(value)}[< ]", body), (label, name, value)


def test_the_studys_own_stand_beside_in_tables_and_figures_of_their_own(report):
    body = section(page(report, "signaldetection"), "Table S2")
    tables = re.findall(r"<table>.*?</table>", body, re.DOTALL)
    captions = [re.search(r"<caption><span>(.*?)</span>", table)[1] for table in tables]  # type: ignore[index]
    assert captions == ["As printed", "Models of this study", "Simulated observers"]
    assert "alpha" in tables[1] and "toy" not in tables[1] and "toy" in tables[2] and "alpha" not in tables[2]
    assert "0.2500" in tables[1] and "0.125 to 0.375" in tables[1]


def test_a_value_of_the_study_has_the_unit_and_the_digits_of_the_paper():
    worlds: exhibits.Worlds = {
        "Models": {("alpha", "", ""): {"accuracy": Own(0.51234, 0.5, 0.6, 9, "wilson")}}
    }
    rows = [{"model": "beta", "accuracy_pct": "51.10"}]
    columns = [Column("accuracy, %", "accuracy_pct", "accuracy", 100.0, 2)]
    made = exhibits.tables("x", worlds, rows, columns, keys={"model": "model"})
    assert "51.10" in made and "51.23" in made and "50.00 to 60.00" in made


def test_a_value_whose_interval_rests_on_too_few_answers_is_marked_and_the_mark_told():
    columns = [Column("accuracy", "accuracy", "accuracy")]
    for few in (True, False):
        worlds = {"Models": {("alpha", "", ""): {"accuracy": Own(1.0, 1.0, 1.0, 3, "bootstrap", few)}}}
        made = exhibits.tables("x", worlds, [], columns, keys={"model": "model"})
        assert ("1.000 °" in made) is ("(low_n)" in made) is few


def test_every_printed_number_computed_again_stands_below(make_home, tmp_path):
    home = make_home(benchmark="metamedqa")
    assert papers.write_papers(home, tmp_path, "x", ["metamedqa"]) == {
        "metamedqa": "papers/metamedqa/index.html"
    }
    assert "29 of 36 printed numbers hold" in page(tmp_path, "metamedqa")
    assert papers.write_papers(home, tmp_path, "x", []) == {}
    assert list((tmp_path / papers.FOLDER).iterdir()) == []


def test_strengths_that_are_not_printed_follow_from_table_1_as_the_printed_ones_do():
    from metacog_pipeline.benchmarks.medley.scores import ABILITIES, strengths

    abilities = {row["model"]: row for row in exhibits.printed("medley", "table_1")}
    for row in exhibits.printed("medley", "table_s10"):
        found = strengths({name: float(abilities[row["model"]][name]) for name in ABILITIES})
        for name, value in found.items():
            assert value == pytest.approx(float(row[f"ipsative_{name}"]), abs=0.16), (row["model"], name)
