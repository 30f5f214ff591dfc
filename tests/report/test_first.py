"""The first screen: the order and the ranks of models come from their intervals, never from the point alone."""

from pathlib import Path

from markupsafe import Markup

from metacog_pipeline import registry
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.printing import board_of
from metacog_pipeline.report import first, queries
from metacog_pipeline.report.figures import MOST_LINES, MOST_ROWS
from metacog_pipeline.report.first import Ranked, first_screen, rank_intervals
from metacog_pipeline.report.pieces import method_words
from tests.tables import every


def ranked(*values: tuple[float, float | None, float | None], upwards: bool = True) -> list[Ranked]:
    return [
        Ranked("measured", "b", "c", "m", f"model-{i}", value, low, high, 10, upwards)
        for i, (value, low, high) in enumerate(values)
    ]


@every(
    ("values", "ranks"),
    [
        ([(0.9, 0.8, 1.0), (0.5, 0.4, 0.6), (0.45, 0.35, 0.55)], [(1, 1), (2, 3), (2, 3)]),
        ([(0.9, 0.2, 1.0), (0.5, 0.4, 0.6), (0.1, 0.0, 0.3)], [(1, 3), (1, 2), (2, 3)]),
        ([(0.9, None, None), (0.1, 0.0, 0.2)], [(1, 2), (1, 2)]),
        ([(0.5, 0.4, 0.6)], [(1, 1)]),
        ([(0.6, 0.5, 0.7), (0.4, 0.3, 0.5)], [(1, 2), (1, 2)]),  # ends that touch tell nothing
    ],
)
def test_a_rank_is_lost_only_to_an_interval_that_lies_wholly_above(values, ranks):
    assert rank_intervals(ranked(*values)) == ranks


def test_where_less_is_better_the_lower_interval_stands_above():
    assert rank_intervals(ranked((0.1, 0.0, 0.2), (0.5, 0.4, 0.6), upwards=False)) == [(1, 1), (2, 2)]


def test_the_screen_shows_a_figure_per_headline_with_n_and_ranks(make_home):
    (screen,) = first_screen(make_home({"alpha": "measured", "beta": "measured"}))
    assert screen.count("<figure>") == 1
    assert "Ranks: alpha 1 to 2; beta 1 to 2. 95 % intervals: raw; n = 100 answers." in screen


def test_captions_are_in_words_and_a_page_tells_nobody_to_type_an_option(make_home):
    assert method_words("double_step, item bootstrap") == "double step, bootstrap over items"
    assert method_words("test inversion over resampled items; c as (c-1)/4").endswith(
        "confidence c read as (c-1)/4"
    )
    for name in registry.names():
        assert "--" not in board_of(name).legend, name


def test_without_a_headline_there_is_no_screen(make_home):
    assert list(first_screen(make_home(silent=True))) == []


def screen_of(monkeypatch, ranked_rows, stated, asked) -> str:
    found = {first._RANKED: ranked_rows, queries.STATED: stated, first._ASKED: asked}
    monkeypatch.setattr(queries, "rows", lambda home, sql: found[sql])
    return str(Markup().join(first_screen(Home(Path()))))


def test_a_figure_says_which_models_it_has_and_its_n_is_theirs(monkeypatch):
    models = [f"model-{i:02}" for i in range(MOST_ROWS + 5)]
    best_last = models[::-1]  # the alphabet is no rank
    rows = [
        ("measured", "b", "c", "m", model, 0.9 - at / 100, 0.0, 1.0, 10 + (at >= MOST_ROWS), True, "wilson")
        for at, model in enumerate(best_last)
    ]
    stated = [("measured", "b", "c", model, 80, 7, 5) for model in models]
    asked = [("measured", "b", each) for each in ("all-right", *models)] + [("measured", "other", "failing")]
    screen = screen_of(monkeypatch, rows, stated, asked)
    assert (
        f"The {MOST_ROWS} best of {len(models)} models are drawn. Without a headline: all-right; the board"
        in screen
    )
    assert "95 % intervals: Wilson; n = 10 answers." in screen
    assert f"The {MOST_LINES} best ranked of {len(models)} models." in screen
    assert f"n = {7 * MOST_LINES} answers in all of the models drawn" in screen
    legend = screen.rpartition("<figure>")[2]
    assert all(model in legend for model in best_last[:MOST_LINES]) and models[0] not in legend
    assert "other: Without a headline: failing" in screen
