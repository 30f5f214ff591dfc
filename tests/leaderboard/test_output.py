import csv
import io
import json
from datetime import UTC, datetime
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.leaderboard.output import FORMATS, Format, Rows, render
from metacog_pipeline.leaderboard.printing import render_board
from tests.tables import every

BOARD = (
    *("benchmark", "condition", "model", "measure", "estimate", "low", "high"),
    *("n", "n_failed", "n_unreadable", "coverage", "source", "status", "higher_is_better", "low_n"),
)
HOSTILE = '=HYPERLINK("http://x")|<script>alert(1)</script>\n[red]\x1b[31m`code` \\| [a](b)'


def one(value: object) -> Rows:
    return Rows(("a",), ((value,),))


def test_missing_values_times_and_lists_in_every_form():
    when = datetime(2026, 1, 2, tzinfo=UTC)
    rows = Rows(("a", "b", "c", "d"), ((Decimal("-0.5"), None, [1.0, float("nan")], when),))
    assert json.loads(render(rows, "json")) == [
        {"a": -0.5, "b": None, "c": [1.0, None], "d": when.isoformat()}
    ]
    assert render(rows, "csv").splitlines()[1] == f'-0.5,,"[1.0, null]",{when.isoformat()}'
    assert render(rows, "table").split()[-5:-1] == ["-0.5", "N/A", "[1.0,", "null]"]
    assert json.loads(render(Rows(("a",), ()), "json")) == []


def test_json_keeps_columns_that_share_a_name():
    shown = render(Rows(("x", "x", "x_2"), ((1, 2, 3),)), "json")
    assert json.loads(shown) == [{"x": 1, "x_2": 2, "x_2_2": 3}]


@every("cell", ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "＝1", "\n=1"])
def test_csv_text_a_spreadsheet_could_run_is_quoted_out(cell):
    assert next(csv.reader(io.StringIO(render(one(cell), "csv").split("\n", 1)[1]))) == [f"'{cell}"]


def test_csv_line_breaks_inside_a_cell_do_not_end_the_row():
    rows = list(csv.reader(io.StringIO(render(one("a\rb\r\nc"), "csv"), newline="")))
    assert rows == [["a"], ["a\nb\nc"]]


def test_a_terminal_table_shows_markup_as_text():
    shown = render(one(HOSTILE), "table")
    assert "\x1b" not in shown
    assert "[red]" in shown


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(*[st.one_of(st.none(), st.text(), st.floats(), st.integers())] * 2)))
def test_every_format_takes_every_cell(cells):
    rows = Rows(("a", "b"), tuple(cells))
    for form in FORMATS:
        assert render(rows, form).endswith("\n")
    assert len(json.loads(render(rows, "json"))) == len(cells)
    assert len(list(csv.reader(io.StringIO(render(rows, "csv"), newline="")))) == len(cells) + 1


def line(model: str, measure: str, estimate: float | None, **columns: object) -> tuple[object, ...]:
    low, high = (None, None) if estimate is None else (estimate - 0.1, estimate + 0.1)
    row = {"benchmark": "metamedqa", "condition": "baseline", "n": 10, "n_failed": 0, "n_unreadable": 0, "coverage": 1.0,
           "source": "measured", "status": "ok", "higher_is_better": True, "low_n": None}  # fmt: skip
    row |= {"model": model, "measure": measure, "estimate": estimate, "low": low, "high": high, **columns}
    return tuple(row[name] for name in BOARD)


def board(form: Format, *lines: tuple[object, ...]) -> str:
    return render_board(Rows(BOARD, lines), form)


def test_a_board_for_people_ranks_by_accuracy_and_names_those_without():
    lines = (line("low", "accuracy", 0.2), line("high", "accuracy", 0.9), line("none", "coverage", 0.0))
    shown = board("table", *lines)
    assert shown.index("\n  high ") < shown.index("\n  low ") < shown.index("\n  none ")
    assert "0.900" in shown and ".80–1.00" in shown
    assert "N/A" in next(row for row in shown.splitlines() if row.startswith("  none"))


def test_a_ratio_that_is_unbounded_stands_last_and_says_why():
    why, incomplete = "undefined or unbounded: d' may be 0", "incomplete: 1 of 9 not answered"
    of = {"benchmark": "signaldetection"}
    shown = board(
        "table",
        line("a", "m_ratio_bayes", None, status=why, **of),
        line("a", "m_ratio", 24.4, **of),  # does not stand in for the other
        line("b", "m_ratio_bayes", 0.9, **of),
        line("c", "m_ratio_bayes", 0.4, status=incomplete, **of),
    )
    assert shown.index("\n  b ") < shown.index("\n  c ") < shown.index("\n  a ")
    assert f"posterior of a: {why}\n" in shown and "of c:" not in shown


def test_reasons_below_a_section_are_few_and_cannot_break_the_line():
    lines = [line(f"m{i}", "accuracy", None, status=f"reason {i}\n\x1b[31m") for i in range(9)]
    shown = board("table", *lines)
    assert "accuracy of m0: reason 0" in shown and "… and 3 more" in shown
    assert "reason 8" not in shown and "\x1b" not in shown


def test_a_number_with_too_few_right_or_wrong_answers_is_marked_and_the_mark_explained():
    lines = [line(f"m{n}", "accuracy", 0.5, low_n=each) for n, each in enumerate((True, False, None))]
    shown = board("table", *lines)
    assert shown.count("0.500 °") == 1 and "low_n" in shown
    assert "°" not in board("table", *lines[1:])


def test_simulated_observers_never_share_a_section_with_models():
    lines = (line("real", "accuracy", 0.5), line("toy", "accuracy", 0.6, source="simulated"))
    real, toy = board("table", *lines).split("simulated observers")
    assert "real" in real and "toy" not in real and "toy" in toy and "real" not in toy


def test_an_empty_board_says_so():
    assert "nothing" in board("table") and board("json") == "[]\n"
