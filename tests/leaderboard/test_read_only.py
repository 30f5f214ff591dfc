"""Statements that try to write or to look outside the study, through each guard alone and through both."""

import hashlib
import itertools
import shutil

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.leaderboard.read import connect, one_connection, query_table, run_query
from metacog_pipeline.storage.read_only import require_reading

SECRET = "KEEP-OUT-OF-HERE"
TRANSCRIPT = "{home}/transcripts/benchmark=metamedqa/model=M/run=1/transcripts.parquet"

#: What writes, or would if DuckDB let it: the walk over the parse tree refuses each without the help of the connection.
WRITING = [
    f"with x as (copy (select 1 as a) to '{TRANSCRIPT}' (format parquet)) select * from x",
    f"with x as (from y), y as (copy (select 1) to '{TRANSCRIPT}') select 1",
    f"select [(with x as (copy (select 1) to '{TRANSCRIPT}') from x)]",
    f"pivot (with x as (copy (select 1 as a) to '{TRANSCRIPT}') from x) on a using count(*)",
    "with x as (copy (select 1) to 'transcripts/../../q.csv') select * from x",
    "with x as (copy (select 1) to '/dev/stdout') select * from x",
    "with x as (copy leaderboard from '{outside}/secret.txt') select * from x",
    "with x as (insert into leaderboard select * from leaderboard returning *) select count(*) from x",
    "with x as (insert into temp.t values (1) returning *) select * from x",
    "with x as (update leaderboard set estimate = 0 returning *) select count(*) from x",
    "with x as (merge into leaderboard using leaderboard as o on true when matched then delete returning *) from x",
    "explain (analyze) with x as (delete from leaderboard returning *) select * from x",
    "explain /*a*/ analyze copy (select 1) to './y.csv'",
    "copy (select 1) to './x.csv'",
    "copy (select 1) to '{home}/leaderboard.duckdb'",
    "copy leaderboard from '/etc/passwd'",
    "attach './x.db'",
    "detach leaderboard",
    "use temp",
    "install httpfs",
    "load '/tmp/x.duckdb_extension'",
    "set enable_external_access = true",
    "reset lock_configuration",
    "create macro f() as 1",
    "create secret (type s3)",
    "export database './exp'",
    "call pragma_version()",
    "call enable_logging('QueryLog', storage_path := '{home}/logs')",
    "checkpoint",
    "prepare p as select 1",
    "set variable x = 1",
    "select 1; copy (select 1) to 'x.csv'",
    "select * from query('copy (select 1) to ''{home}/z.csv''')",
    "select * from query_table('{outside}/secret.txt')",
    "pivot (from query('select 1 as a')) on a using count(*)",
    "select * from json_execute_serialized_sql(json_serialize_sql('select 1'))",
    "select * from force_checkpoint()",
    "select * from enable_profiling(save_location := 'p.json')",
    "select write_log('x')",
    "select setseed(0.5)",
]
#: What looks at files, settings or memory beside the board.
LOOKING = [
    "select content from read_text('/etc/passwd')",
    "select content from read_text('{outside}/secret.txt')",
    "select content from read_text('transcripts/../../outside/secret.txt')",
    "select content from read_text('{home}/link.txt')",
    "select content from read_text('{home}/dagster/outlink/secret.txt')",
    "select count(*) from read_text('ledger/*')",
    "pivot (from read_text('{outside}/secret.txt')) on filename using first(content)",
    "select * from read_csv('ledger/.lock')",
    "select * from read_csv('http://127.0.0.1:45611/x')",
    "select * from read_text('/dev/stdin')",
    "select * from sniff_csv('{outside}/secret.txt')",
    "from read_json('study/*.json')",
    "select * from glob('/etc/*')",
    "select * from '{outside}/secret.txt'",
    "select * from '{outside}/secret.parquet'",
    "select * from 'items/../../outside/secret.parquet'",
    "select * from 'items/linked.parquet'",
    "select * from 'dagster/outlink/*.parquet'",
    "select * from read_parquet('{outside}/*.parquet')",
    "select * from parquet_scan('/etc/*.parquet')",
    "select * from parquet_kv_metadata('{outside}/secret.parquet')",
    "select * from read_duckdb('{home}/leaderboard.duckdb')",
    "select * from sqlite_scan('dagster/history/runs.db', 'runs')",
    "select getenv('HOME')",
    "select * from duckdb_secrets()",
    "select * from duckdb_variables()",
    "select name, value from duckdb_settings() where name like '%secret%' or name like '%key%'",
    "select * from pragma_storage_info('leaderboard')",
    "select * from arrow_scan(1, 2, 3)",
    "select * from secret_frame",
]
READING = [
    "select 1",
    "with x as (select 1 as a) select * from x",
    "with recursive t as (select 1 as a union all select a + 1 from t where a < 3) select * from t",
    "select * from leaderboard union all by name select * from leaderboard",
    "pivot leaderboard on model using count(*)",
    "pivot leaderboard on model in ('M') using count(*)",
    "select * from (pivot leaderboard on model using count(*))",
    "unpivot (select 1 as a, 2 as b) on a, b",
    "describe leaderboard",
    "show all tables",
    "summarize leaderboard",
    "values (1)",
    "table leaderboard",
    "from range(3)",
    "select unnest([1, 2]), 'copy (select 1) to ''x''' as said",
    "select model, count(*) from leaderboard group by all having count(*) > (select 0) order by all",
    "select table_name, comment from duckdb_tables()",
    "from transcripts",
    "pivot transcripts on status using count(*)",
    "select count(*) from 'items/*.parquet'",
    "select count(*) from 'transcripts/**/*.parquet'",
    "select * from read_parquet('transcripts/**/*.parquet') limit 1",
    "select * from read_parquet(['{home}/transcripts/**/*.parquet'], union_by_name = true) limit 1",
    "pivot 'transcripts/**/*.parquet' on status using count(*)",
    "-- what\nselect 1 /* copy */",
]


@pytest.fixture(scope="module")
def place(built_once, tmp_path_factory):
    """A home with a link of each kind that leads out, in a folder beside what must not be seen."""
    folder = tmp_path_factory.mktemp("place")
    home = type(built_once)(shutil.copytree(built_once.path, folder / "home"))
    outside = folder / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    pq.write_table(pa.table({"content": [SECRET]}), outside / "secret.parquet")
    (home / "link.txt").symlink_to(outside / "secret.txt")
    (home / "items/linked.parquet").symlink_to(outside / "secret.parquet")
    (home / "dagster").mkdir(exist_ok=True)
    (home / "dagster/outlink").symlink_to(outside)
    transcript = home.path.parent / TRANSCRIPT.format(home=home)
    transcript.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"text": ["paid"], "status": ["ok"]}), transcript)
    return home


@pytest.fixture(autouse=True)
def nothing_changes(place, monkeypatch):
    """The current folder is the one above the home; no file below it is new or other after a test."""
    folder = place.path.parent
    monkeypatch.chdir(folder)

    def state():
        files = (path for path in folder.rglob("*") if path.is_file())
        return {each: hashlib.sha256(each.read_bytes()).digest() for each in files}

    before = state()
    yield
    assert state() == before


def written(sql, home):
    return sql.format(home=home, outside=home.path.parent / "outside") if "{" in sql else sql


def test_what_writes_or_looks_elsewhere_is_refused_in_one_line(place):
    opened = []
    for door in (run_query, query_table):
        with one_connection(place):
            for sql in (written(each, place) for each in (*WRITING, *LOOKING)):
                try:
                    opened.append((sql, door(place, sql)))
                except StudyError as error:
                    assert "\n" not in str(error) and SECRET not in str(error), sql
    assert not opened


def test_the_tree_alone_refuses_what_writes(place):
    with duckdb.connect(":memory:") as connection:
        for sql in (written(each, place) for each in WRITING):
            refused = (StudyError, duckdb.ParserException)
            with pytest.raises(refused, match=r"not allowed|exactly one|Parser Error"):
                require_reading(connection, sql)


CONTEXTS = (
    "select * from ({})",
    "select ({})",
    "select 1 where exists ({})",
    "select 1 union all ({})",
    "select 1 except ({})",
    "with a as ({}) from a",
    "with recursive a as (select 1 union all ({})) from a",
    "select 1 from range(2) order by ({})",
    "select list_transform([1], lambda x: ({}))",
    "select case when true then ({}) end",
    "select * from range(1) r, lateral ({})",
    "select * from range(1) join ({}) on true",
    "describe ({})",
    "from range(2) limit ({})",
    "select count(*) filter (where ({}) is null) over (partition by ({}))",
)
CORES = (
    f"with x as (copy (select 1) to '{TRANSCRIPT}') from x",
    "with x as (insert into leaderboard select * from leaderboard returning 1) from x",
    "with x as (delete from leaderboard returning 1) from x",
    "with x as (update leaderboard set model = '' returning 1) from x",
    "from read_text('/etc/passwd')",
    "select write_log('x')",
)


def test_the_tree_refuses_what_writes_however_it_is_nested(place):
    with duckdb.connect(":memory:") as connection:
        for core, inner, outer in itertools.product(CORES, CONTEXTS, CONTEXTS):
            sql = outer.format(*[inner.format(*[core] * 2)] * 2)
            with pytest.raises((StudyError, duckdb.ParserException), match=r"not allowed|Parser Error"):
                require_reading(connection, sql)


def test_the_connection_alone_writes_and_reads_no_file(place):
    connection = connect(place)
    # DuckDB looks for tables among the variables of its caller.
    secret_frame = pa.table({"content": [SECRET]})
    assert secret_frame.num_rows
    for sql in (written(each, place) for each in (*WRITING, *LOOKING)):
        try:
            answer = str(connection.execute(sql).fetchall())
        except (duckdb.Error, RuntimeError):
            continue
        assert SECRET not in answer and "root:" not in answer, sql
        connection.close()  # what was done may have changed the connection
        connection = connect(place)
    connection.close()


def test_what_reads_is_answered(place):
    for sql in READING:
        found = run_query(place, written(sql, place))
        assert found.columns, sql
    assert run_query(place, "select text from 'transcripts/*/model=M/*/*.parquet'").rows == (("paid",),)


def test_files_with_other_columns_are_read_together(place):
    sql = "select text, status from 'transcripts/**/*.parquet' where text = 'paid'"
    assert run_query(place, sql).rows == (("paid", "ok"),)


def test_a_statement_that_is_nested_without_end_is_refused_in_one_line(place):
    for sql in ("select " + "(" * 5000 + "1" + ")" * 5000, "select (select " * 400 + "1" + ")" * 400):
        try:
            run_query(place, sql)
        except StudyError as error:
            assert "\n" not in str(error)


def test_a_damaged_file_that_is_named_is_one_line(place, tmp_path):
    home = type(place)(shutil.copytree(place.path, tmp_path / "home", symlinks=True))
    (home / "items/torn.parquet").write_bytes(b"PAR1 no")
    with pytest.raises((StudyError, StoreError)) as caught:
        run_query(home, "from 'items/torn.parquet'")
    assert "\n" not in str(caught.value)
