"""Tables of single benchmarks that show a board's number again: a test of the warehouse finds the one that differs."""

from pathlib import Path

import duckdb
import pytest

TESTS = Path(__file__).parents[2] / "dbt_like_sql" / "tests" / "benchmarks"
SHIFTS = TESTS / "signaldetection" / "signaldetection_criterion_shifts_disagree.sql"
TABLES = """
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
PLANTED = {
    "update signaldetection_criterion_shifts set difference = -0.7 where b = 'risk_s1'": (SHIFTS, "c"),
    "update estimates set estimate = 0.6 where measure = 'c' and task = 'A'": (SHIFTS, "c"),
}


def found(connection: duckdb.DuckDBPyConnection, file: Path) -> list[str]:
    return [
        row[0] for row in connection.execute(f"select measure from ({file.read_text('utf-8')})").fetchall()
    ]


@pytest.mark.parametrize("planted", PLANTED)
def test_a_table_that_shows_another_number_than_the_board_is_found(planted):
    file, measure = PLANTED[planted]
    with duckdb.connect() as connection:
        connection.execute(TABLES)
        assert found(connection, SHIFTS) == []
        connection.execute(planted)
        assert found(connection, file) == [measure]
