"""A study that asks sound benchmarks and broken ones: the sound ones are published, each broken one is told of once."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.conformance.packages import TWO_MODELS, install

PRINTS = """parse = lambda self, *of: print('reading') or toy.SomeTrivia.parse(self, *of)
    ask = lambda self, *of: print('asking') or toy.SomeTrivia.ask(self, *of)
    derive = lambda self, *of: print('scoring') or toy.SomeTrivia.derive(self, *of)"""
#: The toy broken in one way → what is told of it. Alike in every other way.
BROKEN = {
    "nameless": ('name = "somebody"', "make them the same"),
    "taken": (
        'tables = (dataclasses.replace(toy.SomeTrivia.tables[0], name="responses"),)',
        "every benchmark has its responses",
    ),
    "twice": ("measures = toy.SomeTrivia.measures * 2", "accuracy is declared 2 times"),
    "armless": (
        "def conditions(self): raise RuntimeError('no arms')",
        "armless cannot be asked what it does: RuntimeError: no arms",
    ),
    "empty": (
        "construction = lambda self: (c.Step('items', 'x', lambda *of: c.Made(), writes=Item),)",
        "empty: no items; let the last construction step return at least one",
    ),
    "unstable": (
        "class Item(toy.Item):\n        asked_and_scored_by = lambda self: __import__('time').time_ns()\n"
        "    rows = lambda self, inputs: c.Made(rows=[unstable.Item("
        "item_id='a', dataset='s', question='Sum 0?', answer=1)])\n"
        "    construction = lambda self: (c.Step('items', 'x', unstable.rows, writes=unstable.Item),)",
        "asked_and_scored_by() gives something else each time",
    ),
    "unread": (
        "parse = lambda self, item, condition, calls: toy.Response(1, 1, 0.9, 'fine', None)",
        "12 of 12 replies are not read: the reader failed: status 'fine'",
    ),
    "lossy": ("derive = lambda self, responses, judged: responses.head(1)", "lossy.derive returns 1 of 12 responses"),
    "failing": (
        "measures = (toy.SomeTrivia.measures[0], c.Measure('confidence', 'x', lambda group: 1 / 0, words='x'))",
        "a measure failed: confidence: ZeroDivisionError: division by zero; correct its compute",
    ),
    "percent": (
        "measures = (toy.SomeTrivia.measures[0], c.Measure('confidence', 'x', "
        "lambda group: c.Estimate(75.0, None, None, 12, 'x'), words='x'))",
        "measure confidence under asked is outside its range: 75.0 [None, None], of a measure from 0.0 to 1.0",
    ),
    "unsure": (
        "harmonise = lambda self, responses: responses.with_columns(confidence=pl.lit(85.0), "
        "n_alternatives=pl.lit(None, pl.Int32))",
        "confidence 85.0 (12 of 12 responses): none of them is compared with other benchmarks",
    ),
}  # fmt: skip
LEFT_OUT = ("nameless", "taken", "twice", "armless")
pytestmark = pytest.mark.slow


def metacog(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder / "installed"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "metacog_pipeline", *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory, toy_folder):
    """A study of the toy, of another benchmark that prints, and of every broken one."""
    made = tmp_path_factory.mktemp("mixed")
    (made / "installed").mkdir()
    for each in toy_folder.iterdir():
        (made / "installed" / each.name).symlink_to(each)
    install(made / "installed", "chatty", f"    {PRINTS}\n    print('hello')")
    for name, (lines, _) in BROKEN.items():
        install(made / "installed", name, f"    {lines}")
    tables = [f"[benchmarks.{name}]\nsums = 12\n" for name in ("sometrivia", "chatty", *BROKEN)]
    (made / "study.toml").write_text(TWO_MODELS + "".join(tables))
    return made


@pytest.fixture(scope="module")
def ran(folder):
    return metacog(folder, "run", "study.toml", "--quiet")


@pytest.fixture(scope="module")
def rows(folder, ran):
    def read(sql: str) -> list[tuple[object, ...]]:
        with duckdb.connect(str(folder / "home" / "leaderboard.duckdb"), read_only=True) as connection:
            return connection.execute(sql).fetchall()

    return read


def test_the_exit_code_says_that_some_failed(ran):
    assert ran.returncode == 7, ran.stderr[-3000:]
    assert "Traceback" not in ran.stderr and ran.stdout == ""


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_one_is_told_with_what_to_mend(ran, name):
    _, said = BROKEN[name]
    lines = [line for line in ran.stderr.splitlines() if said in line and name in line]
    assert 1 <= len(lines) <= 2, [x for x in ran.stderr.splitlines() if name in x]


@pytest.mark.parametrize("name", ["sometrivia", "chatty"])
def test_the_sound_ones_are_published_whole(rows, name):
    found = rows(
        f"select model, measure from leaderboard where benchmark = '{name}' and estimate is not null"
    )
    measures = [(model, each) for model in ("careful", "hasty") for each in ("accuracy", "coverage")]
    assert sorted(found) == measures
    assert rows(f"select count(*) from answers where benchmark = '{name}'") == [(24,)]
    assert rows(f"select count(*) > 0 from comparisons where benchmark = '{name}'") == [(True,)]


def test_one_that_is_left_out_is_on_no_table(rows):
    names = ", ".join(f"'{name}'" for name in LEFT_OUT)
    for table in ("leaderboard", "items", "answers", "estimates", "progress"):
        assert rows(f"select count(*) from {table} where benchmark in ({names})") == [(0,)]


def test_what_is_sound_of_a_broken_one_is_published(rows):
    for name in ("failing", "percent", "unsure"):
        assert rows(
            f"select count(estimate) from leaderboard where benchmark = '{name}' and measure = 'accuracy'"
        ) == [(2,)], name


def test_a_value_outside_its_range_has_no_number_and_a_status_with_both(rows):
    own = "from {table} where benchmark = 'percent' and measure = 'confidence'"
    for table in ("leaderboard", "estimates", "detail.run_estimates"):
        [(*numbers, status)] = rows(f"select distinct estimate, low, high, status {own.format(table=table)}")
        assert numbers == [None] * 3 and status.startswith("outside its range: 75.0 [")
        assert "from 0.0 to 1.0" in status


def test_no_answer_is_paid_that_nobody_would_read(rows):
    assert rows("select count(*) from costs where benchmark in ('empty', 'unstable')") == [(0,)]


def test_a_second_run_says_it_again_and_asks_nobody(folder, rows):
    before = rows("select sum(calls) from costs")
    again = metacog(folder, "run", "study.toml", "--quiet")
    assert again.returncode == 7 and rows("select sum(calls) from costs") == before
    for name in ("failing", "percent", "unsure", "unread", "lossy", "nameless"):
        assert any(BROKEN[name][1] in line and name in line for line in again.stderr.splitlines()), name


@pytest.mark.parametrize("command", [["plan", "some.toml"], ["board", "--study", "study.toml"]])
def test_other_commands_tell_what_is_left_out_beside_clean_output(folder, ran, command):
    tables = [f"[benchmarks.{name}]\nsums = 12\n" for name in ("sometrivia", "chatty", *LEFT_OUT)]
    (folder / "some.toml").write_text(TWO_MODELS + "".join(tables))
    done = metacog(folder, *command)
    assert done.returncode == 0 and "sometrivia" in done.stdout
    assert "hello" not in done.stdout and "nameless" not in done.stdout
    for name in LEFT_OUT:
        assert len([line for line in done.stderr.splitlines() if f"benchmark {name} of package" in line]) == 1
