"""Strangers' benchmarks in one study: a sound one stands on every board and page, a broken one is told of once."""

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from tests.conformance.packages import install
from tests.forked import Loaded
from tests.studies import write_study

PRINTS = """    parse = lambda self, *of: print('reading') or toy.SomeTrivia.parse(self, *of)
    ask = lambda self, *of: print('asking') or toy.SomeTrivia.ask(self, *of)
    derive = lambda self, *of: print('scoring') or toy.SomeTrivia.derive(self, *of)
    print('hello')"""
MEASURED = (
    "measures = (toy.SomeTrivia.measures[0], c.Measure('confidence', 'x', lambda group: {}, words='x'))"
)
#: The toy broken in one way → what is told of it. Alike in every other way.
BROKEN = {
    "nameless": ('name = "somebody"', "make them the same"),
    "armless": (
        "def conditions(self): raise RuntimeError('no arms')",
        "armless cannot be asked what it does: RuntimeError: no arms",
    ),
    "empty": (
        "construction = lambda self: (c.Step('items', 'x', lambda *of: c.Made(), writes=Item),)",
        "empty: no items; let the last construction step return at least one",
    ),
    "unread": (
        "parse = lambda self, item, condition, calls: toy.Response(1, 1, 0.9, 'fine', None)",
        "12 of 12 replies are not read: the reader failed: status 'fine'",
    ),
    "lossy": ("derive = lambda self, responses, judged: responses.head(1)", "lossy.derive returns 1 of 12 responses"),
    "failing": (
        MEASURED.format("1 / 0"),
        "a measure failed: confidence: ZeroDivisionError: division by zero; correct its compute",
    ),
    "percent": (
        MEASURED.format("c.Estimate(75.0, None, None, 12, 'x')"),
        "measure confidence under asked is outside its range: 75.0 [None, None], of a measure from 0.0 to 1.0",
    ),
    "unsure": (
        "harmonise = lambda self, responses: responses.with_columns(confidence=pl.lit(85.0), "
        "n_alternatives=pl.lit(None, pl.Int32))",
        "confidence 85.0 (12 of 12 responses): none of them is compared with other benchmarks",
    ),
}  # fmt: skip
LEFT_OUT = ("nameless", "armless")
MODELS = [
    {"name": name, "provider": "simulated", "observer": {"accuracy": accuracy, "seed": seed}}
    for seed, (name, accuracy) in enumerate((("careful", 0.9), ("hasty", 0.5)), 1)
]
SAID = """
import contextlib, io, json, sys
from metacog_pipeline.cli import main
said = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            main(arguments)
        except SystemExit as ended:
            assert not ended.code, (arguments, ended.code)
    said.append(out.getvalue())
from metacog_assets.definitions import defs
graph = defs.resolve_asset_graph()
print(json.dumps([said, sorted(key.to_user_string() for key in graph.get_all_asset_keys())]))
"""
MEASURES = {"accuracy": "Share right.", "harmonised_brier": "mean of (conf - y)²"}
pytestmark = pytest.mark.slow


@dataclass
class Ended:
    """A process that has ended."""

    returncode: int
    stdout: str
    stderr: str


def python(loaded: Loaded, folder: Path, *arguments: str) -> Ended:
    """Run Python in a process of its own with the packages installed and the study named."""
    path = os.pathsep.join([str(folder / "installed"), os.environ.get("PYTHONPATH", "")])
    named = {**os.environ, "PYTHONPATH": path, "METACOG_STUDY": str(folder / "study.toml")}
    with contextlib.chdir(folder):
        started = loaded.python(*arguments, **named)
    out, err = started.communicate()
    return Ended(started.returncode, out, err)


def study_of(folder: Path, *broken: str) -> None:
    """Write a study of the toy, of another benchmark that prints, and of broken ones."""
    benchmarks = {name: {"sums": 12} for name in ("sometrivia", "chatty", *broken)}
    write_study(folder, *MODELS, benchmarks=benchmarks, seed=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, toy_folder):
    """The folder of the study, with the packages."""
    made = tmp_path_factory.mktemp("mixed")
    (made / "installed").mkdir()
    for each in toy_folder.iterdir():
        (made / "installed" / each.name).symlink_to(each)
    install(made / "installed", "chatty", PRINTS)
    for name, (lines, _) in BROKEN.items():
        install(made / "installed", name, f"    {lines}")
    study_of(made, *BROKEN)
    return made


@pytest.fixture(scope="module")
def metacog(loaded, folder):
    """Return a function that runs ``metacog`` in the folder."""
    return lambda *arguments: python(loaded, folder, "-m", "metacog_pipeline", *arguments)


@pytest.fixture(scope="module")
def ran(metacog):
    return metacog("run", "study.toml", "--quiet")


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
    lines = [line for line in ran.stderr.splitlines() if BROKEN[name][1] in line and name in line]
    assert 1 <= len(lines) <= 2, [x for x in ran.stderr.splitlines() if name in x]


@pytest.mark.parametrize("name", ["sometrivia", "chatty"])
def test_the_sound_ones_are_published_whole(rows, name):
    found = rows(
        f"select model, measure from leaderboard where benchmark = '{name}' and estimate is not null"
    )
    measures = [(model, each) for model in ("careful", "hasty") for each in ("accuracy", "coverage")]
    assert sorted(found) == measures
    assert rows(f"select count(*) from answers where benchmark = '{name}'") == [(24,)]


def test_of_a_broken_one_what_is_sound_is_published_and_nothing_where_it_is_left_out(rows):
    for table in ("leaderboard", "items", "answers", "estimates", "progress"):
        assert rows(f"select count(*) from {table} where benchmark in {LEFT_OUT}") == [(0,)]
    for name in ("failing", "percent", "unsure"):
        own = f"from leaderboard where benchmark = '{name}' and measure = 'accuracy'"
        assert rows(f"select count(estimate) {own}") == [(2,)], name


def test_a_value_outside_its_range_has_no_number_and_a_status_with_both(rows):
    own = "from {table} where benchmark = 'percent' and measure = 'confidence'"
    for table in ("leaderboard", "estimates", "detail.run_estimates"):
        [(*numbers, status)] = rows(f"select distinct estimate, low, high, status {own.format(table=table)}")
        assert numbers == [None] * 3 and status.startswith("outside its range: 75.0 [")
        assert "from 0.0 to 1.0" in status


def test_a_second_run_says_it_again_and_asks_nobody(metacog, rows):
    # Nor is an answer paid that nobody would read.
    assert rows("select count(*) from costs where benchmark = 'empty'") == [(0,)]
    before = rows("select sum(calls) from costs")
    again = metacog("run", "study.toml", "--quiet")
    assert again.returncode == 7 and rows("select sum(calls) from costs") == before
    for name in BROKEN.keys() - {"armless", "empty"}:
        assert any(BROKEN[name][1] in line and name in line for line in again.stderr.splitlines()), name


def test_other_commands_tell_what_is_left_out_beside_clean_output(metacog, folder, ran):
    study_of(folder / "some", *LEFT_OUT)
    done = metacog("plan", "some/study.toml")
    assert done.returncode == 0 and "sometrivia" in done.stdout
    assert "hello" not in done.stdout and "nameless" not in done.stdout
    for name in LEFT_OUT:
        assert len([line for line in done.stderr.splitlines() if f"benchmark {name} of package" in line]) == 1


# --- the sound one, in the same study -----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def said(loaded, folder, ran):
    """What its board, its report and two explanations print, and its assets: of one process that finds it installed."""
    explained = [["show", "study.toml", "sometrivia", "asked", "careful", each] for each in MEASURES]
    commands = [["board", "--study", "study.toml"], ["report", "study.toml"], *explained]
    done = python(loaded, folder, "-c", SAID, json.dumps(commands))
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_it_stands_on_the_shared_tables_and_beside_them(rows, folder):
    own = "where benchmark = 'sometrivia'"
    for sql, expected in {
        f"select distinct a, b from comparisons {own}": [("careful", "hasty")],
        f"select count(*) > 0 from calibration {own}": [(True,)],
        f"select count(*) from items {own}": [(12,)],
        f"select headline from measures {own} and measure = 'accuracy'": [(True,)],
        "select count(*) from detail.sometrivia_responses": [(24,)],
    }.items():
        assert rows(sql) == expected, sql
    wrong = rows("select count(*) from detail.sometrivia_responses where correct = 0")
    files = folder / "home" / "estimates" / "sometrivia" / "mistakes" / "*.parquet"
    assert rows(f"select count(*) from '{files}'") == wrong


def test_it_has_a_board_a_part_of_the_report_explained_numbers_and_assets(folder, said):
    (board, _, *explained), assets = said
    assert "sometrivia" in board and "careful" in board and "hello" not in board
    assert "Sums that were &lt;asked&gt;." in (folder / "home" / "report" / "index.html").read_text("utf-8")
    for words, printed in zip(MEASURES.values(), explained, strict=True):
        assert words in printed and "SQL of it" in printed
    stages = ("items", "transcripts", "responses", "comparisons")
    assert {f"sometrivia/{each}" for each in stages} <= {*assets}
