"""Who has a place on a ranked list, and that one measure of one model has one number in every table."""

import shutil
from collections.abc import Mapping

import duckdb
import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import shipped
from metacog_pipeline.home import LEADERBOARD, Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.printing import sections
from metacog_pipeline.leaderboard.read import board, run_query
from tests.homes import few_tables, write
from tests.leaderboard.conftest import estimates

Row = Mapping[str, object]
RATIO, SHARE, LESS = "m_ratio_mafc", "unknown_recall", "ece"
NEAR_0, LACKS = "d' may be 0", "incomplete: 1 of 12 not answered"


@pytest.fixture(autouse=True)
def few(monkeypatch):
    few_tables(monkeypatch, "calibration", "run_estimates", "models", "scores", "comparisons", tested=True)


def put(home: Home, model: str, *rows: Row, run: int | None = None, source: str = "measured") -> None:
    """Write estimates of ``model``: its coverage, then ``rows``."""
    coverage = estimates(model, source, "sample", run, 0.5)[-1]
    at = f"runs/model={model}/run={run}" if run else f"models/{model}"
    write(home, f"estimates/metamedqa/{at}.parquet", [coverage, *({**coverage, **row} for row in rows)])


def number(
    measure: str, value: float | None, low: float | None, high: float | None, status: str = "ok"
) -> Row:
    return {"measure": measure, "estimate": value, "low": low, "high": high, "status": status}


def ranked(home: Home, measure: str) -> list[tuple[object, ...]]:
    sql = f"select model, estimate, low, status, rank from leaderboard where measure = '{measure}' order by model"
    return list(run_query(home, sql).rows)


def test_the_obvious_query_for_a_leader_never_finds_a_ratio_to_almost_nothing(make_home):
    home = make_home({"chance": "measured", "good": "measured", "poor": "measured", "none": "measured"})
    put(home, "chance", number(RATIO, 24.4, -84.0, 133.0, NEAR_0))
    put(home, "good", number(RATIO, 0.9, 0.7, 1.1))
    put(home, "poor", number(RATIO, 0.4, 0.2, 0.6))
    put(home, "none", number(RATIO, None, None, None, "all correct"))
    build(home)
    why = f"undefined or unbounded: {NEAR_0}"
    assert ranked(home, RATIO) == [
        ("chance", None, None, why, None), ("good", 0.9, 0.7, "ok", 1), ("none", None, None, "all correct", None),
        ("poor", 0.4, 0.2, "ok", 2),
    ]  # fmt: skip
    for order, leader in (("estimate desc", "good"), ("estimate", "poor"), ("rank", "good")):
        found = run_query(home, f"select * from leaderboard where measure = '{RATIO}' order by {order}")
        assert found.rows[0][found.columns.index("model")] == leader
    kept = f"from estimates where measure = '{RATIO}' and model = 'chance'"
    kept_row = run_query(home, f"select estimate, low, high, status {kept}").rows
    assert kept_row == ((24.4, -84.0, 133.0, NEAR_0),)
    assert run_query(home, "from measures_disagree").rows == ()


def test_a_number_with_a_reservation_is_shown_where_it_is_bounded_and_ranked_where_it_has_an_interval(
    make_home,
):
    cases = {
        "open range": (number("d_mafc", 3.0, None, None, "single item"), None, None),
        "bounded": (number("meta_d_mafc", 3.0, 1.0, 9.5, "a rate is 0 or 1"), 3.0, 1),
        "share": (number(SHARE, 1.0, None, None, "single item"), 1.0, None),
        "incomplete": (number("missing_answer_recall", 1.0, 0.9, 1.0, LACKS), 1.0, 1),
        "both": (number(RATIO, 1.0, 0.9, 1.1, f"{NEAR_0}; {LACKS}"), None, None),
        "without": (number("eta_mafc", 1.0, None, None), 1.0, 1),
        "undeclared": (number("of_another_package", 9.0, 0.0, 9.5, "who knows"), None, None),
        "failed": (number("auroc2", None, None, None, "failed: ValueError: x"), None, None),
    }
    home = make_home(dict.fromkeys(cases, "measured"))
    for model, (row, *_) in cases.items():
        put(home, model, row)
    build(home)
    for model, (row, shown, place) in cases.items():
        ((_, estimate, _, status, rank),) = ranked(home, str(row["measure"]))
        assert (estimate, rank) == (shown, place), model
        masked = shown is None and row["estimate"] is not None
        assert status == ("undefined or unbounded: " if masked else "") + str(row["status"])


def test_ranks_follow_the_better_end_and_keep_observers_apart(make_home):
    home = make_home({"a": "measured", "b": "measured", "c": "measured", "toy": "simulated"})
    for name, value in (("a", 0.3), ("b", 0.1), ("c", 0.1)):
        put(home, name, number(LESS, value, 0.0, 0.5), number("choice_share_E", value, 0.0, 0.5))
    put(home, "toy", number(LESS, 0.9, 0.8, 1.0), source="simulated")
    build(home)
    assert [row[4] for row in ranked(home, LESS)] == [3, 1, 1, 1]
    assert [row[4] for row in ranked(home, "choice_share_E")] == [None, None, None]  # neither end is better
    ends = "select distinct higher_is_better from leaderboard where measure in ('ece', 'coverage') order by 1"
    assert run_query(home, ends).rows == ((False,), (True,))


def test_every_row_of_the_board_says_how_it_was_made(make_home, printed):
    home = make_home(dataset="published", silent=("beta",))
    shutil.copytree(printed, home / "estimates", dirs_exist_ok=True)
    build(home)
    rows = run_query(home, "select source, status, method, estimate from leaderboard").rows
    assert {row[0] for row in rows} == {"measured", "published"}
    assert all(row[1] and row[2] for row in rows)
    assert all(str(row[2]).startswith("printed in ") for row in rows if row[0] == "published")
    assert all(row[1] != "ok" for row in rows if row[3] is None)


EVERYWHERE = "estimates, leaderboard, run_estimates"
OF_ALPHA = "where measure = 'accuracy' and model = 'alpha'"
AGAIN = "insert into calibration by name select benchmark, dataset, condition, model"
HARMONISED = f"{AGAIN}, 'harmonised_' || measure as measure, estimate"
OF_RATIO = f"high, n, status, source from estimates where measure = '{RATIO}'"
PLANTED = {
    f"update leaderboard set estimate = 0.9 {OF_ALPHA}": EVERYWHERE,
    f"update leaderboard set estimate = null {OF_ALPHA}": EVERYWHERE,
    f"update estimates set estimate = 0.9 {OF_ALPHA}": EVERYWHERE,
    f"update detail.run_estimates set estimate = 0.9 {OF_ALPHA}": EVERYWHERE,
    f"{AGAIN}, measure, 0.9 as estimate, n, status, source from estimates {OF_ALPHA}": f"calibration, {EVERYWHERE}",
    f"insert into leaderboard by name select * replace ('published' as source) from leaderboard {OF_ALPHA}":
    "leaderboard, not published_values",
    f"{HARMONISED}, low + 0.05 as low, {OF_RATIO}": "calibration, estimates: the interval",
    f"{HARMONISED}, null as low, {OF_RATIO}": "calibration, estimates: the interval",
    f"{HARMONISED}, low, {OF_RATIO}": None,
}  # fmt: skip


def test_a_number_that_differs_between_tables_is_found(make_home):
    home = make_home({"alpha": "measured"})
    put(home, "alpha", number("accuracy", 0.5, 0.4, 0.6), number(RATIO, 0.5, 0.2, 0.9))
    build(home)
    assert run_query(home, "from measures_disagree").rows == ()
    sound = (home / LEADERBOARD).read_bytes()
    for planted, places in PLANTED.items():
        (home / LEADERBOARD).write_bytes(sound)
        with duckdb.connect(home / LEADERBOARD) as connection:
            connection.execute(planted)
        found = run_query(home, "select distinct model, places from measures_disagree").rows
        assert found == ((("alpha", places),) if places else ()), planted


def test_a_run_that_disagrees_with_its_model_stops_the_build(make_home):
    home = make_home({"alpha": "measured"})
    put(home, "alpha", number(RATIO, 24.4, 20.0, 30.0))
    put(home, "alpha", number(RATIO, 28.6, 20.0, 30.0), run=1)
    with pytest.raises(StoreError, match=r"measures_disagree.*m_ratio_mafc.*24\.4.*28\.6"):
        build(home)


def test_runs_of_a_model_with_several_are_not_compared_with_all_of_them(make_home):
    home = make_home({"alpha": "measured"}, runs=2)
    put(home, "alpha", number(RATIO, 0.5, 0.2, 0.9))
    put(home, "alpha", number(RATIO, 0.7, 0.2, 0.9), run=1)
    build(home)
    assert run_query(home, "from measures_disagree").rows == ()


def test_two_primary_tests_of_the_same_are_found(built_home):
    home = built_home
    assert run_query(home, "from one_primary_test_of_each_comparison").rows == ()
    planted = (
        "insert into comparisons by name select 'metamedqa' as benchmark, 'correlation_models' as family, 'r' as measure, "
        "'accuracy' as a, 'r' as b, note, true as \"primary\" from (values ('all'), ('without alpha')) as rows(note)"
    )
    with duckdb.connect(home / LEADERBOARD) as connection:
        connection.execute(planted)
    found = run_query(home, "select benchmark, a, tests from one_primary_test_of_each_comparison").rows
    assert found == (("metamedqa", "accuracy", "correlation_models r, correlation_models r"),)


ONE, OTHER = 0.3, 0.1 + 0.2  # one number in two ways of adding


@pytest.mark.parametrize(
    ("a", "b", "ranks", "percentiles"),
    [
        (ONE, ONE, (2, 2), (25.0, 25.0)),
        (ONE, OTHER, (2, 2), (25.0, 25.0)),
        (OTHER, ONE, (2, 2), (25.0, 25.0)),
        (ONE, ONE + 1e-6, (3, 2), (0.0, 50.0)),
        (ONE + 1e-6, ONE, (2, 3), (50.0, 0.0)),
    ],
)
def test_models_that_tie_share_rank_and_percentile_and_stand_by_name(make_home, a, b, ranks, percentiles):
    home = make_home(dict.fromkeys("abc", "measured"), silent="abc")
    for model, value in (("a", a), ("b", b), ("c", 0.9)):
        put(home, model, number("d_unanswerable", value, 0.0, 1.0))
    build(home)
    assert [row[4] for row in ranked(home, "d_unanswerable")] == [*ranks, 1]
    headlines = "select percentile from leaderboard where headline order by model"
    assert [row[0] for row in run_query(home, headlines).rows] == [*percentiles, 100.0]
    [section] = sections(board(home))
    printed = [row[0] for row in section.table.rows]
    assert printed == (["c", "b", "a"] if ranks == (3, 2) else ["c", "a", "b"])


SHIFTS = shipped(
    "dbt_like_sql", "tests", "benchmarks", "signaldetection", "signaldetection_criterion_shifts_disagree.sql"
)
SHIFTED = """
create table estimates as from (values
    ('signaldetection', 'q', 'A', 'A risk_s2', 'm', 'measured', 'c', 0.5, 90, 'ok'),
    ('signaldetection', 'q', 'A', 'A risk_s1', 'm', 'measured', 'c', -0.2, 90, 'ok'),
    ('signaldetection', 'q', 'B', 'B risk_s1', 'm', 'measured', 'c', 9.0, 90, 'ok')
) as rows(benchmark, dataset, task, condition, model, source, measure, estimate, n, status);
create table signaldetection_criterion_shifts as from (values
    ('q', 'measured', 'A', 'm', 'c', 'risk_s2', 'risk_s1', 0.7),
    ('q', 'measured', 'A', 'm', 'c', 'risk_s2', 'risk_none', null),
    ('q', 'published', 'A', 'm', 'c', 'risk_s2', 'risk_s1', 0.1)
) as rows(dataset, source, task, model, measure, a, b, difference);
"""


@pytest.mark.parametrize(
    "planted",
    [
        "update signaldetection_criterion_shifts set difference = -0.7 where b = 'risk_s1'",
        "update estimates set estimate = 0.6 where measure = 'c' and task = 'A'",
    ],
)
def test_a_table_of_one_benchmark_that_shows_another_number_than_the_board_is_found(planted):
    with duckdb.connect() as connection:
        found = f"select measure from ({SHIFTS.read_text('utf-8')})"
        connection.execute(SHIFTED)
        assert connection.execute(found).fetchall() == []
        connection.execute(planted)
        assert connection.execute(found).fetchall() == [("c",)]
