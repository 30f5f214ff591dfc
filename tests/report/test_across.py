"""The page's answer at a glance, curves of confidence."""

import itertools
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.report import queries
from metacog_pipeline.report.confidence import reliability_line, roc_line
from metacog_pipeline.report.page import build_report
from tests.homes import rows
from tests.report.conftest import KEY, made_home, write

COUNTED = st.tuples(st.integers(0, 100), st.integers(1, 50), st.integers(0, 50))
USE = st.lists(
    COUNTED.map(lambda x: (x[0], x[1], min(x[1], x[2]))), max_size=20, unique_by=lambda each: each[0]
)


@given(USE)
def test_a_type_2_roc_starts_at_nothing_ends_at_all_and_never_falls(use):
    line = roc_line(use)
    if not line:
        right, n = sum(each[2] for each in use), sum(each[1] for each in use)
        assert right in (0, n)
        return
    points = [(x, point.value) for x, point in line]
    assert points[0] == (0.0, 0.0) and points[-1] == pytest.approx((1.0, 1.0))
    assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in itertools.pairwise(points))


def test_no_curve_is_drawn_of_a_model_whose_numbers_are_withheld():
    place = "'measured' as source, 'b' as benchmark, 'd' as dataset, 'c' as condition"
    board = duckdb.connect()
    board.execute(f"""
        create table answers as select {place}, model, 0.8 as confidence, 1 as correct
            from (values ('whole'), ('lacks'), ('labelled')) as given (model);
        create table calibration as select {place}, model, method
            from (values ('whole', 'wilson'), ('lacks', 'withheld'), ('labelled', 'wilson')) as given (model, method)
    """)
    assert [row[3:] for row in board.execute(queries.STATED).fetchall()] == [
        ("labelled", 80, 1, 1),
        ("whole", 80, 1, 1),
    ]


@given(USE)
def test_a_reliability_line_rises_in_confidence_and_holds_every_answer(use):
    line = reliability_line(use)
    assert [point[0] for point in line] == sorted(point[0] for point in line)
    assert all(0 <= x <= 1 and 0 <= point.value <= 1 for x, point in line)
    assert bool(line) == bool(use)


def across(folder: Path, models: int) -> str:
    """Return the page of a study of so many models."""
    names = [f"m{n}" for n in range(models)]
    home = made_home(Home(folder / "home"), dict.fromkeys(names, "measured"))
    shared = {**KEY, "condition": "A confidence", "source": "measured"}
    measures = [f"harmonised_{each}" for each in ("accuracy", "ece", "auroc2")]
    calibration = rows(
        "model measure", *itertools.product(names, measures), **shared, estimate=0.5, low=0.4, high=0.6, n=9, n_items=9,
        n_without_confidence=0, method="m", status="ok",
    )  # fmt: skip
    write(home, "cross_benchmark/calibration.parquet", calibration)
    answers = [
        (name, f"{p}-{n}", p / 100, float(n < p // 10)) for name in names for p in (60, 90) for n in range(10)
    ]
    answers = rows("model item_id confidence correct", *answers, **shared, run=1, reading="ok")
    write(
        home, "harmonised/signaldetection/*.parquet", [{**row, "cluster": row["item_id"]} for row in answers]
    )
    build(home)
    return build_report(home).read_text("utf-8")


@pytest.fixture(scope="module")
def of_three(tmp_path_factory):
    return across(tmp_path_factory.mktemp("three"), 3)


def test_the_page_shows_reliability_and_the_type_2_roc(of_three):
    page = of_three
    assert 'id="confidence"' in page and "reliability;" in page and "type-2 ROC;" in page


def test_more_models_than_colours_are_drawn_in_part_and_tabled_whole(tmp_path):
    page = across(tmp_path, 12)
    assert "(the first 8 models, the table has all)" in page
    assert all(f">m{n}<" in page for n in range(12))


def test_the_page_opens_with_the_verdict_and_claims_no_order_without_a_test(of_three):
    opening = of_three.split("<section id=")[1]
    assert opening.startswith('"verdict"') and "No paired test separates the 3 of them yet" in opening
    assert opening.count('data-model="m1"') >= 1 and "<figure>" in opening
