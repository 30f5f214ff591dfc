"""What the study asks now, before any table is made: its models, benchmarks, data sets and items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import duckdb

from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.leaderboard.inputs import Input, of_dataset
from metacog_pipeline.leaderboard.staging import SHARED
from metacog_pipeline.transcripts.folder import JUDGEMENTS

_LISTED = """
create temp table listed as
select
    model, provider, model_id, family, params_b, params_active_b, released, runs,
    if(source = 'simulated' or provider = 'simulated', 'simulated', 'measured') as source
from stg_models
where listed
order by model
"""


@dataclass(frozen=True, slots=True)
class Listing:
    """What the study asks: the digest of all but its models, and of each listed model the digest of its row."""

    asked: str
    models: Mapping[str, str]

    def changed_models(self, old: Listing) -> frozenset[str]:
        """Return the models that were added or removed, or of which something else is said."""
        both = self.models.keys() | old.models.keys()
        return frozenset(name for name in both if self.models.get(name) != old.models.get(name))


def make_listing(
    connection: duckdb.DuckDBPyConnection, files: Mapping[str, Input]
) -> tuple[list[str], Listing]:
    """Make ``listed``, ``asked_benchmarks`` and ``asked``; return the benchmarks asked and what the three hold.

    ``asked`` has a row per data set and task the study asks, and one with task '' per data set. Before the items of a
    benchmark are built, every data set that has estimates counts.
    """
    connection.execute(_LISTED)
    found = connection.execute(
        f"select distinct benchmark from stg_partitions where not suffix(benchmark, '{JUDGEMENTS}') order by 1"
    ).fetchall()
    # Before any study is written down, every benchmark that has files counts.
    names = [str(row[0]) for row in found] or sorted({made for path in files if (made := _benchmark(path))})
    connection.execute("create temp table asked_benchmarks (benchmark varchar)")
    if names:
        connection.execute("insert into asked_benchmarks select unnest(?::varchar[])", [names])
    parts = [part for name in names if (part := _asked(name, files))]
    body = " union ".join(parts) or "select null::varchar, null::varchar, null::varchar where false"
    connection.execute(
        "create temp table asked as "
        f"with found (benchmark, dataset, task) as ({body}) "
        "select benchmark, dataset, task from found union select benchmark, dataset, '' from found order by all"
    )
    listed, benchmarks, data_sets = (
        connection.execute(f"from {name} order by all").fetchall()
        for name in ("listed", "asked_benchmarks", "asked")
    )
    models = {str(row[0]): _digest([row]) for row in listed}
    return [str(row[0]) for row in benchmarks], Listing(_digest([*benchmarks, *data_sets]), models)


def make_items(connection: duckdb.DuckDBPyConnection, files: Mapping[str, Input]) -> None:
    """Make ``kept_items``: one row per item of the benchmarks asked, with everything its file says of it as JSON."""
    dataset = SHARED["stg_items"]
    names = {str(row[0]) for row in connection.execute("from asked_benchmarks").fetchall()}
    columns = ", ".join(dataset.columns)
    parts = [
        f"select null::varchar as benchmark, {columns}, null::varchar as facts from ({dataset.reading([])})"
    ]
    for path in of_dataset(dataset, files):
        if (name := _stem(path)) in names:
            # The whole row is told as JSON before columns of other benchmarks stand beside it.
            row = f"select *, to_json(own)::varchar as facts from read_parquet({text(path)}) as own"
            read = dataset.reading([path], row)
            parts.append(f"select {text(name)} as benchmark, {columns}, facts from ({read})")
    connection.execute(f"create temp table kept_items as {' union all '.join(parts)}")


def _digest(rows: Iterable[Iterable[object]]) -> str:
    return sha256_hex(canonical_json([[str(cell) for cell in row] for row in rows]))


def _asked(name: str, files: Mapping[str, Input]) -> str | None:
    path = f"items/{name}.parquet"
    if path in files:
        read = SHARED["stg_items"].reading([path])
        return f"select distinct {text(name)}, dataset, coalesce(task, '') from ({read})"
    own = [each for each in of_dataset(SHARED["stg_estimates"], files) if each.split("/")[1] == name]
    if not own:
        return None
    read = SHARED["stg_estimates"].reading(own)
    return (
        f"select distinct {text(name)}, dataset, coalesce(task, '') from ({read}) where dataset is not null"
    )


def _benchmark(path: str) -> str | None:
    parts = path.split("/")
    if parts[0] == "items" and len(parts) == 2:
        return _stem(path)
    if parts[0] in ("scored", "estimates") and len(parts) > 2:
        return None if parts[1].endswith(JUDGEMENTS) else parts[1]
    return None


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".parquet")
