"""The ten questions of ``docs/boards.md``: one statement each, over two tables at most, with the right answer."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from metacog_pipeline.cli import boards
from metacog_pipeline.leaderboard.read import run_query
from tests.tables import every

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "boards.md"
QUERIES = {
    sql.splitlines()[0].removeprefix("-- "): sql
    for sql in re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
}
Rows = list[tuple[object, ...]]


#: What each question answers of the study of `asked_study`: all rows, or what holds for them.
ANSWERS: dict[str, Rows | Callable[[Rows], bool]] = {
    "Which model knows what it knows best, and how sure is that?": lambda rows: (
        [row[:3] for row in rows] == [("metamedqa", "ada", 1.0), ("metamedqa", "bob", 0.5)]
    ),
    "How do any two models differ in type-2 AUROC?": [
        ("metamedqa", "baseline", "ada", "bob", 0.5, 0.1, 0.9, 0.01, True)
    ],
    "Which model improves most when it is told that the right answer may be missing?": lambda rows: (
        {row[0] for row in rows} == {"ada", "bob", "cyd", "dan"} and all(row[1] is None for row in rows)
    ),
    "How calibrated is each model on each kind of item?": [
        ("metamedqa", "baseline", "bob", "Original", 0.5, 6),
        ("metamedqa", "baseline", "dan", "Original", 0.25, 2),
        ("metamedqa", "baseline", "ada", "Original", 0.0, 6),
        ("metamedqa", "baseline", "cyd", "Original", 0.0, 4),
    ],
    # Ada has AUROC2 .833 for $0.30; bob, cyd and dan are not above chance.
    "What does a point of type-2 AUROC above chance cost?": [("metamedqa", "baseline", "ada", 0.009)],
    "Which items do all models miss, and how sure are they?": [
        ("metamedqa", "baseline", "sample-0010", 0.5, 3)
    ],
    "Which answers could not be read, and why?": [
        ("metamedqa", "cyd", "answer_unparsed", "no answer letter is declared", 1),
        ("metamedqa", "cyd", "answer_unparsed", "the reply is empty", 1),
    ],
    "What is still missing, and why?": [("metamedqa", "dan", 1, "failed", 4, "stopped: no connection")],
    "What did every model say to one item, word for word, and was it right?": [
        ("ada", "baseline", "A", 0.0, 0.0, "Answer: A, confidence 1"),
        ("bob", "baseline", "A", 0.0, 1.0, "Answer: A, confidence 5"),
        ("cyd", "baseline", "A", 0.0, 0.5, "Answer: A, confidence 3"),
    ],
    "Has a model changed under its name?": lambda rows: (
        {row[:5] for row in rows}
        == {
            ("bob", "metamedqa", "reported id", "bob-1", "bob-2"),
            ("bob", "metamedqa", "answers at temperature 0", "2026-01-02", "2026-01-03"),
        }
    ),
}


def test_there_are_ten_questions_and_each_has_its_answer_here():
    assert len(QUERIES) == 10 and all(question.endswith("?") for question in QUERIES)
    assert QUERIES.keys() == ANSWERS.keys()


@every("question", ANSWERS)
def test_the_answer_is_right(asked_home, question):
    rows = list(run_query(asked_home, QUERIES[question]).rows)
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


def test_copied_files_answer_the_same_in_any_client(asked_home, tmp_path):
    board, kept = shutil.copy(asked_home.leaderboard, tmp_path), asked_home.transcripts
    with duckdb.connect(str(board), read_only=True) as connection:
        connection.execute(f"create temp view transcripts as from '{kept}/**/*.parquet'")
        for question, sql in QUERIES.items():
            there = connection.execute(sql).fetchall()
            assert sorted(there, key=str) == sorted(run_query(asked_home, sql).rows, key=str), question


def test_a_bare_name_finds_a_table_of_either_schema_and_a_test(asked_home):
    of_file = "from duckdb_tables() where database_name = 'leaderboard'"
    for schema, table in run_query(asked_home, f"select schema_name, table_name {of_file}").rows:
        names = (str(table), f"{schema}.{table}")
        bare, whole = (run_query(asked_home, f"select count(*) from {name}").rows for name in names)
        assert bare == whole, table
    assert run_query(asked_home, "from measures_disagree").rows == ()
