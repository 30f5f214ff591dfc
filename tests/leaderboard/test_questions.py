"""The twenty questions of ``docs/queries.md``: one statement each, over two tables at most, with the right answer."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from metacog_pipeline.cli import boards
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import one_connection, run_query
from tests.leaderboard import asked_study
from tests.tables import every

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "queries.md"
QUERIES = {
    sql.splitlines()[0].removeprefix("-- "): sql
    for sql in re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
}
Rows = list[tuple[object, ...]]
GPT = "GPT-4o-2024-05-13"


def _first(rows: Rows, *places: int) -> Rows:
    return [tuple(row[place] for place in places) for row in rows]


def _published(rows: Rows) -> bool:
    measured = {row[0]: row[2] for row in rows if row[1] == "measured"}
    return measured == {"ada": 0.5, "bob": 0.3, "cyd": 0.2, "dan": 0.1} and any(
        row[:2] == (GPT, "published") and isinstance(row[2], float) for row in rows
    )


def _distances(rows: Rows) -> bool:
    of_gpt = {row[1]: float(str(row[3])) for row in rows if row[2] == GPT}
    return set(of_gpt) == {"ada", "bob", "cyd", "dan"} and abs(of_gpt["ada"] - of_gpt["bob"] - 2 / 6) < 1e-9


#: What each question answers of the study of `asked_study`: all rows, or what holds for them.
ANSWERS: dict[str, Rows | Callable[[Rows], bool]] = {
    "Where does every model stand, in one line each?": lambda rows: (
        {(row[0], round(float(str(row[2])), 3)) for row in rows if row[1] == "measured"}
        == {("ada", 0.833), ("bob", 0.5), ("cyd", 0.333), ("dan", 0.167)}
    ),
    "How accurate is each model, with its interval?": lambda rows: (
        [row for row in rows if row[2] == "ada"] == [("metamedqa", "baseline", "ada", 5 / 6, 5 / 12, 1.0, 6)]
    ),
    "What is still missing, and why?": [("metamedqa", "dan", 1, "failed", 4, "stopped: no connection")],
    "What did each benchmark cost, per answer that can be used?": [
        ("metamedqa", "ada", 0.3, 0.05, 0),
        ("metamedqa", "bob", 0.06, 0.005, 0),
        ("metamedqa", "cyd", 0.18, 0.03, 0),
        ("metamedqa", "dan", 0.0, 0.0, 0),
        ("all", "all", 0.54, 0.021, 0),
    ],
    "Whose confidence tells right from wrong, by one rule for all benchmarks?": lambda rows: (
        _first(rows, 2, 3) == [("ada", 1.0), ("bob", 0.5)]
    ),
    "Who is overconfident, and how much of the miscalibration is only a scale?": lambda rows: (
        sorted(rows, key=str)
        == [
            ("metamedqa", "baseline", "ada", 0.1, 0.05, 0.02),
            ("metamedqa", "baseline", "bob", 0.5, 0.5, 0.25),
        ]
    ),
    "Which models notice that a question cannot be answered, measured and published side by side?": _published,
    "Do the benchmarks agree, and are there enough models to say so?": lambda rows: (
        _first(rows, 1, 2, 3, 4) == [("x", "y", 4, 0.8)]
    ),
    "Has a model changed under its name?": lambda rows: (
        {row[:5] for row in rows}
        == {
            ("bob", "metamedqa", "reported id", "bob-1", "bob-2"),
            ("bob", "metamedqa", "answers at temperature 0", "2026-01-02", "2026-01-03"),
        }
    ),
    "Which differences between models survive correction for multiple tests?": [
        ("metamedqa", "baseline", "paired_models", True, "accuracy", "ada", "cyd", 0.3, 0.1, 0.5, 0.01),
        ("metamedqa", "baseline", "tukey_models", False, "accuracy", "ada", "dan", 0.3, 0.1, 0.5, 0.03),
    ],
    "Which items does every model miss?": [("metamedqa", "sample-0010", "Original", 3, 0.5, "Question 5?")],
    "What does a right answer cost?": [
        ("metamedqa", "dan", 1.0, 0.0),
        ("metamedqa", "bob", 3.0, 0.02),
        ("metamedqa", "ada", 5.0, 0.06),
        ("metamedqa", "cyd", 2.0, 0.09),
    ],
    "How sure are models when they are wrong?": [
        ("metamedqa", "baseline", "bob", 1.0, 1.0, 1.0),
        ("metamedqa", "baseline", "dan", 0.75, 0.75, 1.0),
        ("metamedqa", "baseline", "cyd", 0.5, 0.5, 0.0),
        ("metamedqa", "baseline", "ada", 0.0, 1.0, 0.0),
    ],
    "How far do the judges agree, all of them and two by two?": [
        ("metamedqa", "cohen_kappa", "one", "two", 0.6, None, None, 40),
        ("metamedqa", "krippendorff_alpha", None, None, 0.75, None, None, 40),
    ],
    "What did every model say to one item, word for word, and was it right?": [
        ("ada", "baseline", "A", 0, 1, "Answer: A, confidence 1"),
        ("bob", "baseline", "A", 0, 5, "Answer: A, confidence 5"),
        ("cyd", "baseline", "A", 0, 3, "Answer: A, confidence 3"),
    ],
    "How has the study grown with each model?": lambda rows: (
        _first(rows, 0, 2, 4) == [("ada", 6, 6), ("bob", 12, 18), ("cyd", 6, 24), ("dan", 2, 26)]
    ),
    "Which answers could not be read, and why?": [
        ("metamedqa", "cyd", "answer_unparsed", "no answer letter is declared", 1),
        ("metamedqa", "cyd", "answer_unparsed", "the reply is empty", 1),
    ],
    "How many answers at temperature 0 were others on a later day?": [
        ("bob", "metamedqa", "2026-01-02", "2026-01-03", 2, 6, 0.333, True)
    ],
    "How far is each model from each published one?": _distances,
    "How many tokens does an answer take, and how many of them are thinking?": [
        ("metamedqa", "ada", 100.0, 0.5),
        ("metamedqa", "cyd", 50.0, 0.5),
        ("metamedqa", "dan", 20.0, 0.5),
        ("metamedqa", "bob", 10.0, 0.5),
    ],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory, printed):
    made = asked_study.make(Home(tmp_path_factory.mktemp("asked") / "home"), printed)
    build(made)
    with one_connection(made):
        yield made


def test_there_are_twenty_questions_and_each_has_its_answer_here():
    assert len(QUERIES) == 20 and all(question.endswith("?") for question in QUERIES)
    assert QUERIES.keys() == ANSWERS.keys()


@every("question", ANSWERS)
def test_the_answer_is_right(home, question):
    rows = list(run_query(home, QUERIES[question]).rows)
    if isinstance(ANSWERS[question], list):
        rows = [tuple(round(cell, 3) if isinstance(cell, float) else cell for cell in row) for row in rows]
    expected = ANSWERS[question]
    assert expected(rows) if callable(expected) else rows == expected, rows


def test_each_is_one_statement_that_joins_two_tables_at_most():
    for question, sql in QUERIES.items():
        (statement,) = duckdb.extract_statements(sql)
        branches = re.split(r"\bunion\b", statement.query.lower())
        assert all(len(re.findall(r"\bjoin\b", branch)) <= 1 for branch in branches), question
        listed = re.compile(r"\bfrom\s+\w+(\.\w+)?(\s+as\s+\w+)?\s*,")
        assert not any(listed.search(branch) for branch in branches), question


@pytest.mark.parametrize("place", [["{sql}", "--study", "s.toml"], ["--study", "s.toml", "--", "{sql}"]])
def test_each_is_asked_as_it_stands_with_its_comment_as_an_argument(place, monkeypatch):
    said: list[str | None] = []
    monkeypatch.setattr(boards.sql, "callback", lambda query, **_: said.append(query))
    for query in ("--no blank\nselect 1", "-- a=b\nselect 1", "/* x */ select 1", *QUERIES.values()):
        boards.sql.main([query if each == "{sql}" else each for each in place], standalone_mode=False)
        assert said.pop() == query


def test_copied_files_answer_the_same_in_any_client(home, tmp_path):
    board, kept = shutil.copy(home.leaderboard, tmp_path), home.transcripts
    with duckdb.connect(str(board), read_only=True) as connection:
        connection.execute(f"create temp view transcripts as from '{kept}/**/*.parquet'")
        for question, sql in QUERIES.items():
            there = connection.execute(sql).fetchall()
            assert sorted(there, key=str) == sorted(run_query(home, sql).rows, key=str), question


def test_a_bare_name_finds_a_table_of_either_schema_and_a_test(home):
    of_file = "from duckdb_tables() where database_name = 'leaderboard'"
    for schema, table in run_query(home, f"select schema_name, table_name {of_file}").rows:
        names = (str(table), f"{schema}.{table}")
        bare, whole = (run_query(home, f"select count(*) from {name}").rows for name in names)
        assert bare == whole, table
    assert run_query(home, "from measures_disagree").rows == ()
