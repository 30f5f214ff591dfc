"""How long a report takes: a million observations and as many transcripts over a hundred models.

Processor seconds and peak memory of a process of its own, from a finished leaderboard to the last page, best of two.
"""

import importlib.util
import shutil
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA
from tests.homes import write
from tests.performance.spending import spent

pytestmark = pytest.mark.bench

LIMIT_S, LIMIT_MB = 120.0, 1500
_CODE = """
import sys
from pathlib import Path
from metacog_pipeline.home import Home
from metacog_pipeline.report.page import build_report
build_report(Home(Path(sys.argv[1])), "big")
"""
# A question of some 700 characters and an answer of a line, as MetaMedQA has them.
_TRANSCRIPTS = """
select
    sha256($model || i) as answer_id, 'metamedqa' as benchmark, $model as model, 1 as run,
    'item-' || lpad(i::varchar, 5, '0') as item_id, 'baseline' as condition, 'answer' as step, 'measured' as source,
    'openai' as provider, 'text' as mode, 'ok' as status, 1 as attempts, 0.8 as latency_s, 0.0004 as cost_usd,
    300 as input_tokens, 12 as output_tokens, false as superseded, now()::timestamp as started_at,
    '{"messages":[["system","Answer with a letter and a confidence."],["user","' || i || ' '
        || repeat('A person of some age comes with a complaint & a \\"history\\". ', 12) || '"]]}' as request_json,
    'Answer: ' || substr('ABCDEF', (1 + hash(i, $model) % 6)::bigint, 1) || chr(10) || 'Confidence: ' || (i % 5 + 1)
        as text
from range({items}) as r(i)
"""


def board_rebuild() -> object:
    """Return the benchmark of boards, whose home this one takes."""
    spec = importlib.util.spec_from_file_location(
        "board_rebuild", Path(__file__).with_name("test_board_rebuild.py")
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_BOARDS = board_rebuild()
big_home = _BOARDS.big_home  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def told_home(big_home):
    """Return that home with whole transcripts: what was asked beside what was answered."""
    for folder in sorted((big_home / "transcripts" / "benchmark=metamedqa").glob("model=*")):
        with duckdb.connect(":memory:") as connection:
            made = connection.sql(
                _TRANSCRIPTS.replace("{items}", str(_BOARDS.ITEMS)),  # type: ignore[attr-defined]
                params={"model": folder.name.removeprefix("model=")},
            ).to_arrow_table()
        write_transcripts(folder / "run=1" / "transcripts.parquet", made)
    asked = {"dataset": "published", "kind": "Original", "target": "A"}
    items = [
        {"item_id": f"item-{i:05d}", "position": i, "question": f"Question {i}?", **asked}
        for i in range(_BOARDS.ITEMS)  # type: ignore[attr-defined]
    ]
    write(big_home, "items/metamedqa.parquet", items)
    build(big_home)
    yield big_home


def write_transcripts(path: Path, made: pa.Table) -> None:
    """Write ``made`` with every column of the schema, those it lacks empty."""
    columns = []
    for field in ARROW_SCHEMA:
        if field.name in made.column_names:
            columns.append(made[field.name].cast(field.type))
        elif field.nullable:
            columns.append(pa.nulls(made.num_rows, field.type))
        else:
            zero = pa.scalar("" if pa.types.is_string(field.type) else "0").cast(field.type)
            columns.append(pa.repeat(zero, made.num_rows))
    pq.write_table(pa.Table.from_arrays(columns, schema=ARROW_SCHEMA), path, compression="zstd")


def measured(home: Home) -> tuple[float, float]:
    """Return processor seconds, imports included, and peak megabytes of one report, none of whose pages is there."""
    shutil.rmtree(home / "report", ignore_errors=True)
    seconds, megabytes, done = spent([sys.executable, "-c", _CODE, home])
    assert done.returncode == 0, done.stderr
    return seconds, megabytes


def test_a_report_of_a_million_observations(told_home, figure):
    runs = [measured(told_home) for _ in range(2)]
    seconds, megabytes = min(run[0] for run in runs), max(run[1] for run in runs)
    assert len(list((told_home / "report" / "explore").glob("items-*.js"))) > 1000
    figure(
        "report of 1 million observations over 100 models, processor time",
        f"≤ {LIMIT_S:.0f} s",
        f"{seconds:.1f} s",
        seconds <= LIMIT_S,
    )
    figure("the same: peak memory", f"≤ {LIMIT_MB} MB", f"{megabytes:.0f} MB", megabytes <= LIMIT_MB)
