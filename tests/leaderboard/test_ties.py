"""Whoever is named as the largest does not hang on the last bit: numbers that differ by rounding alone are ties."""

import pytest

from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.printing import sections
from metacog_pipeline.leaderboard.read import board, run_query
from tests.leaderboard.test_ranking import number, put, ranked

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
