import functools

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard.dependencies import reads_of, serialized
from tests.tables import every

PARSER = functools.cache(duckdb.connect)  # it is asked only what SQL means, so that one is enough


def reads(sql: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = reads_of(serialized(PARSER(), [sql])[0], "marts/x.sql")
    return found.tables, found.datasets


@every(
    ("sql", "tables"),
    [
        ("select * from a", ("a",)),
        ("from a", ("a",)),
        ("select * from a join b using (x) left join c on true", ("a", "b", "c")),
        ("select * from a, lateral (select * from b where b.x = a.x)", ("a", "b")),
        ("select (select max(x) from deep) from a where exists (select 1 from side)", ("a", "deep", "side")),
        ("with a as (select * from b) select * from a", ("b",)),
        ("with a as (select * from a) select * from a", ("a",)),
        ("with a as (select * from b), b as (select 1 as x) select * from a", ("b",)),
        ("with a as (select 1 as x), b as (select * from a) select * from b", ()),
        ("with recursive r as (select 1 as x union all select x + 1 from r where x < 3) select * from r", ()),
        (
            "with k as (with recursive r as (select 1 as x union all select x from r) select * from r, k) from k",
            ("k",),
        ),
        ("select * from (with a as (select * from q) select * from a) z, a", ("a", "q")),
        ("with a as (select 1 as x) select * from main.a", ("a",)),
        ('select * from "My Table" as t', ("my table",)),
        ("WITH Up AS (SELECT 1 AS x) SELECT * FROM UP", ()),
        ("select * from a union all select * from b except select * from c", ("a", "b", "c")),
        ("from a pivot (sum(x) for y in (1, 2))", ("a",)),
        ("select * from range(3) r(i), (values (1)) v(j)", ()),
        ("select 'from hidden' as text -- from comment\n from a", ("a",)),
        ("select * from information_schema.tables", ()),
    ],
)
def test_tables_are_what_the_parser_says_in_the_scope_where_names_hold(sql, tables):
    assert reads(sql) == (tables, ())


@every(
    ("sql", "datasets"),
    [
        ("from 'items/x.parquet'", ("items/x.parquet",)),
        ("from read_parquet('a/**/*.parquet', hive_partitioning = false)", ("a/**/*.parquet",)),
        ("from read_parquet(['a.parquet', 'b.parquet'])", ("a.parquet", "b.parquet")),
        ("from read_csv('p.csv', columns = {'a': 'varchar'}, header = true)", ("p.csv",)),
        ("with c as (from parquet_scan('z.parquet')) select * from c", ("z.parquet",)),
    ],
)
def test_files_are_found_by_their_path_alone(sql, datasets):
    assert reads(sql) == ((), datasets)


@every(
    ("sql", "says"),
    [
        ("select from where", "syntax error"),
        ("drop table x", "SELECT"),
        ("select 1; select 2", "2 statements"),
        ("", "statement"),
        ("-- nothing here", "statement"),
        ("from read_parquet('a' || '.parquet')", "plain string"),
    ],
)
def test_anything_but_one_select_is_refused_with_the_file_name(sql, says):
    with pytest.raises(StoreError, match=r"marts/x\.sql") as caught:
        reads(sql)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(sql):
    try:
        reads(sql)
    except StoreError as error:
        assert "\n" not in str(error)


names = st.from_regex(r"t[a-z]{0,6}", fullmatch=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(names, min_size=1, max_size=4, unique=True), st.lists(names, max_size=3, unique=True))
def test_named_expressions_hide_exactly_their_own_names(tables, hidden):
    expressions = ", ".join(f'"{name}" as (select 1 as x)' for name in hidden)
    head = f"with {expressions} " if hidden else ""
    sql = head + " union all ".join(f'select * from "{name}"' for name in tables)
    assert reads(sql)[0] == tuple(sorted(set(tables) - set(hidden)))
