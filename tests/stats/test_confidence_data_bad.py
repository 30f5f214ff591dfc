"""``metacog fit`` of tables that are damaged, hostile or say little: one clear line, or a reason beside every number."""

import pytest

from tests.cli.conftest import file, metacog
from tests.cli.conftest import fitted as found

__all__ = ["file", "metacog"]  # fixtures
CONF = ("--correct", "ok", "--confidence", "conf")
GOOD = [
    *zip(
        (1, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1), (0.9, 0.8, 0.3, 0.7, 0.6, 0.9, 0.2, 0.5, 0.4, 0.1, 1), strict=True
    )
]


def table(rows=GOOD, header="ok,conf"):
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("about half", "is no number"),
        ("0.8 or 0.9", "is no number"),
        ("7/10", "is no number"),
        ("inf", "is not a number up to 1e+140"),
        ("-Infinity", "is not a number up to"),
        ("1e308", "is not a number up to"),
        ('"0,85"', "has a comma"),
        ('"1,000"', "has a comma"),
        ('"1,000.5"', "has a comma"),
        ("1_000_", "is no number"),
        ("0x1F", "is no number"),
    ],
)
def test_a_confidence_that_is_none_is_one_rejected_row(metacog, file, value, said):
    path = file("t.csv", table([*GOOD, (1, value)]))
    result = metacog("fit", path, *CONF, "--format", "json")
    assert found(result)["accuracy"]["n"] == len(GOOD)
    first = result.err.splitlines()[0]
    assert "line 13: not used: conf" in first and said in first
    assert said in path.with_name("t.csv.rejected.csv").read_text()


def test_a_column_that_is_not_there_is_answered_with_the_nearest(metacog, file):
    path = file("t.csv", table(header="Is_Correct,Confidence"))
    metacog("fit", path, "--correct", "is_correct", "--confidence", "Confidence").refused_in_one_line(
        "no column 'is_correct' (did you mean \"Is_Correct\"?)"
    )
    metacog("fit", path, "--correct", "Is_Correct", "--confidence", "Confidnce").refused_in_one_line(
        '"Confidence"?'
    )


@pytest.mark.parametrize(
    ("rows", "area", "ratio"),
    [
        ([(1, 0.5)], "all correct", "all correct"),
        ([(0, 0.5)], "all wrong", "all wrong"),
        ([(1, c / 20) for c in range(20)], "all correct", "all correct"),
        ([(0, c / 20) for c in range(20)], "all wrong", "all wrong"),
        ([(i % 2, 0.7) for i in range(20)], "one confidence level", "one confidence level"),
    ],
)
def test_a_group_that_tells_nothing_has_reasons_and_costs_the_others_nothing(
    metacog, file, rows, area, ratio
):
    groups = [(*row, "odd") for row in rows] + [(*row, "fine") for row in GOOD]
    path = file("t.csv", table(groups, "ok,conf,who"))
    options = ("--group", "who", "--alternatives", "4", "--scale", "0..1", "--format", "json")
    result = metacog("fit", path, *CONF, *options)
    odd = found(result, who="odd")
    assert odd["auroc2"]["value"] is None and area in odd["auroc2"]["status"]
    assert odd["m_ratio_mafc"]["value"] is None and ratio in odd["m_ratio_mafc"]["status"]
    for row in odd.values():
        assert row["status"] != "ok" or row["low"] is not None, row
    assert found(result, who="fine")["auroc2"]["status"] == "ok"
    again = metacog("fit", path, *CONF, *options, "--bootstrap", "50", "--item", "who")
    assert found(again, who="odd")["m_ratio_mafc"]["value"] is None


def test_a_group_all_of_whose_rows_are_left_out_still_has_its_rows(metacog, file):
    rows = [*((*row, "fine") for row in GOOD), (1, "", "gone"), ("", 0.5, "gone")]
    options = (*CONF, "--group", "who", "--alternatives", "4", "--format", "json")
    gone = found(metacog("fit", file("t.csv", table(rows, "ok,conf,who")), *options), who="gone")
    assert {row["n"] for row in gone.values()} == {0} and {row["dropped"] for row in gone.values()} == {2}
    assert all(row["value"] is None and row["status"] != "ok" for row in gone.values())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((*CONF, "--map-values", "high"), "--map-values high"),
        ((*CONF, "--scale", "high"), "--scale high"),
        ((*CONF, "--out", "."), "exists already"),
    ],
)
def test_options_that_lack_another_are_refused(metacog, file, options, said):
    metacog("fit", file("t.csv", table()), *options).refused_in_one_line(said)
