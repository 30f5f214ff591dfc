"""How long a board takes: a million observations over a hundred models."""

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from tests.homes import write
from tests.performance.spending import least

pytestmark = pytest.mark.bench

MODELS = 100
ITEMS = 10_000
# Seconds of processor time: wall time hangs on who else runs.
#: Three million rows of responses, harmonised ones and calls are written: that alone takes DuckDB 8 s on a slow machine.
WHOLE_S = 12.0
MEASURES = 40

_OBSERVATIONS = """
select
    'metamedqa' as benchmark, 'published' as dataset, 'baseline' as condition, $model as model, 1::int as run,
    'item-' || lpad(i::varchar, 5, '0') as item_id, i::int as position,
    ['Original', 'Original', 'Original', 'Original', 'Answer removed', 'Fictional'][1 + i % 6] as kind,
    target, answer, (1 + hash(i, 1 + $salt, $model) % 5)::tinyint as confidence, (answer = target)::int::tinyint as correct,
    'ok' as status, null::varchar as reason,
    [0.1, 0.2, 0.3, 0.1, 0.1, (hash(i, 2, $model) % 1000) / 1000] as choice_probs,
    [0.1, 0.2, 0.3, 0.1, (hash(i, 3, $model) % 1000) / 1000] as confidence_probs,
    0.01 as off_menu_mass, (hash(i, 4, $model) % 1000) / 500 as latency_s, 0.0004 as cost_usd,
    300::bigint as input_tokens, 12::bigint as output_tokens, 'json_schema' as mode,
    [sha256($model || i)] as answer_ids, 'measured' as source, []::varchar[] as tags, 'step1' as meta_info,
    null::varchar as source_target
from (
    select
        i, substr('ABCDEF', (1 + i % 6)::bigint, 1) as target,
        substr('ABCDEF', (1 + hash(i, $model) % 6)::bigint, 1) as answer
    from range({items}) as r(i)
)
""".replace("{items}", str(ITEMS))


_HARMONISED = """
select
    benchmark, dataset, condition, model, run, item_id, item_id as cluster, correct::double as correct,
    (confidence - 1) / 4 as confidence, 6 as n_alternatives, answer as response, 'ok' as reading, source
from observed
"""


def _estimates(model: str, run: int | None) -> list[dict[str, object]]:
    shared = {
        "benchmark": "metamedqa", "dataset": "published", "condition": "baseline", "model": model, "run": run,
        "n": ITEMS - 1, "n_failed": 0, "n_unreadable": 0, "coverage": 1.0, "method": "wilson", "status": "ok",
        "source": "measured", "low": 0.4, "estimate": 0.5, "high": 0.6,
    }  # fmt: skip
    names = ["accuracy", "coverage", *(f"measure_{i}" for i in range(MEASURES - 2))]
    return [{**shared, "measure": name} for name in names]


def _write_model(home: Home, model: str, salt: int = 0) -> None:
    seen, alike = (home / name / "metamedqa" / f"model={model}" for name in ("scored", "harmonised"))
    for folder in (seen, alike):
        folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(":memory:") as connection:
        table = connection.sql(_OBSERVATIONS, params={"model": model, "salt": salt}).to_arrow_table()
        connection.register("observed", table)
        harmonised = connection.sql(_HARMONISED).to_arrow_table()
    pq.write_table(table, seen / "run=1.parquet", compression="zstd")
    pq.write_table(harmonised, alike / "run=1.parquet", compression="zstd")
    write(home, f"estimates/metamedqa/runs/model={model}/run=1.parquet", _estimates(model, 1))
    write(home, f"estimates/metamedqa/models/{model}.parquet", _estimates(model, None))
    calls = pa.table(
        {
            **{name: table[name] for name in table.column_names if name in _SHARED},
            "answer_id": pa.array([ids[0] for ids in table["answer_ids"].to_pylist()]),
            "status": pa.array(["ok"] * ITEMS),
            "text": pa.array([f"Answer: A\nConfidence: {i % 5 + 1}" for i in range(ITEMS)]),
            "superseded": pa.array([False] * ITEMS),
        }
    )
    kept = home / "transcripts" / "benchmark=metamedqa" / f"model={model}" / "run=1"
    kept.mkdir(parents=True, exist_ok=True)
    pq.write_table(calls, kept / "transcripts.parquet", compression="zstd")


_SHARED = (
    *("answer_id", "benchmark", "model", "run", "item_id", "condition", "source", "mode"),
    *("input_tokens", "output_tokens", "cost_usd", "latency_s"),
)


@pytest.fixture(scope="module")
def big_home(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("board") / "home")
    names = [f"model-{i:03d}" for i in range(MODELS)]
    for name in names:
        _write_model(home, name)
    listed = {"provider": "openai", "source": "measured", "listed": True, "runs": 1}
    write(home, "study/models.parquet", [{**listed, "model": name, "model_id": name} for name in names])
    state = {"benchmark": "metamedqa", "run": 1, "state": "complete", "n_failed": 0}
    state |= {"n_expected": ITEMS, "n_answered": ITEMS}
    write(home, "study/partitions.parquet", [{**state, "model": name} for name in names])
    return home


def test_a_board_from_a_million_observations(big_home, figure):
    seconds = least(lambda: build(big_home), 3)
    assert run_query(big_home, "select count(*) from metamedqa_responses").rows == ((MODELS * ITEMS,),)
    what = f"board of {MODELS * ITEMS:,} observations, {MODELS} models"
    figure(what, f"≤ {WHOLE_S:g} s CPU", f"{seconds:.1f} s", seconds <= WHOLE_S)
