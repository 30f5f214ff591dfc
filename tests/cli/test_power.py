"""``metacog power``: what it prints, in every format, and what it refuses in one line."""

import csv
import io
import json

from tests.tables import every

QUICK = ("--simulations", "200", "--quiet")
DESIGN = ("power", "--d", "1.5", "--mratio", "0.8", "--delta", "0.3")


def only(text: str) -> dict[str, object]:
    (row,) = json.loads(text)
    return row


def test_it_prints_the_trials_a_power_takes(metacog):
    result = metacog(*DESIGN, "--power", "0.9", "--format", "json", *QUICK)
    assert result.code == 0 and result.err == ""
    row = only(result.out)
    assert row["status"] == "ok" and row["power"] >= 0.9
    assert row["trials_in_all"] == 2 * row["trials_per_observer"]
    assert row["power_low"] < row["power"] < row["power_high"]


def test_it_prints_the_power_of_a_number_of_trials(metacog):
    row = only(metacog(*DESIGN, "--trials", "1500", "--format", "json", *QUICK).out)
    assert row["trials_per_observer"] == 1500 and 0.3 < row["power"] < 0.9
    assert row["simulations"] == 200 and row["delta"] == 0.3


def test_all_formats_say_the_same(metacog):
    arguments = (*DESIGN, "--trials", "500", *QUICK)
    row = only(metacog(*arguments, "--format", "json").out)
    (line,) = csv.DictReader(io.StringIO(metacog(*arguments, "--format", "csv").out))
    assert {name: str(value) for name, value in row.items()} == line
    table = metacog(*arguments).out
    assert all(name in table for name in row)
    assert max(map(len, table.splitlines())) < 80


def test_the_same_seed_gives_the_same_answer(metacog):
    arguments = (*DESIGN, "--format", "csv", *QUICK)
    assert metacog(*arguments, "--seed", "7").out == metacog(*arguments, "--seed", "7").out


@every(
    ("arguments", "parts"),
    [
        (("--d", "0", "--delta", "0.1"), ("--d is 0", "chance")),
        (("--d", "0"), ("--d is 0", "give another d")),
        (("--d", "1", "--mratio", "9", "--delta", "0.1"), ("--mratio is 9", "-5 to 5")),
        (("--d", "1", "--delta", "0"), ("--delta 0", "nothing to detect")),
        (("--d", "nan", "--delta", "0.1"), ("d is nan",)),
        (("--d", "1e9", "--delta", "0.1"), ("-5 to 5",)),
        (("--d", "1"), ("--delta is needed", "as in --delta 0.1")),
        (("--d", "1", "--quantity", "optimality", "--delta", "1"), ("--delta follows", "optimality")),
        (("--d", "1", "--mratio", "1", "--quantity", "optimality"), ("nothing to detect",)),
        (("--d", "1", "--delta", "0.1", "--trials", "-3"), ("trials is -3",)),
        (("--d", "1", "--delta", "0.1", "--trials", "9" * 30), ("10,000,000",)),
        (("--d", "1", "--delta", "0.1", "--simulations", "9" * 12), ("20,000",)),
        (("--d", "1", "--delta", "0.1", "--power", "1.5"), ("power is 1.5",)),
        (("--d", "1", "--delta", "0.1", "--power", "0.8", "--trials", "100"), ("--trials", "--power")),
        (("--d", "1", "--delta", "0.1", "--ratings", "1000"), ("ratings is 1000",)),
        (("--d", "1", "--delta", "0.1", "--seed", "-1"), ("seed is -1",)),
        (("--d", "1", "--delta", "0.000001", "--simulations", "100"), ("10,000,000", "larger difference")),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(metacog, arguments, parts):
    result = metacog("power", *arguments, "--quiet")
    result.refused_in_one_line(*parts)
    assert result.code == 2 and result.out == ""
