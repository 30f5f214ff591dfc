"""Rows of a benchmark's own tables that rest on one model each, kept under the digest of its responses.

One file per table below the study's ``cache`` (`study.kept`): a model that is added costs its own rows only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Table
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.benchmark.schema import schema_of
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.scoring.kept_pairs import Kept
from metacog_pipeline.study.kept import KEY, add_kept, read_wanted

VERSION = "1"
_GROUP, _PLACE = "group", "place"  # a group among those of its model, and among all


def rows_of(
    benchmark: Benchmark[Any, Any, Any], each: Table, groups: Sequence[Group], kept: Kept | None
) -> pl.DataFrame:
    """Return the rows of a table with `Table.of_group`, in the order of ``groups``; of models that are kept, read."""
    assert each.of_group is not None
    if kept is None:
        rows = [row for group in groups for row in each.of_group(benchmark, group)]
        return pl.DataFrame(rows, schema=schema_of(each.row), orient="row")
    schema = pl.Schema({**schema_of(each.row), KEY: pl.String(), _GROUP: pl.Int64()})
    own: dict[str, list[tuple[int, Group]]] = {}
    for place, group in enumerate(groups):
        own.setdefault(group.model, []).append((place, group))
    keys = {model: _digest(each, model, kept.models[model]) for model in own}
    path = kept.folder / benchmark.name / "tables" / f"{each.name}.parquet"
    old, there = read_wanted(path, set(keys.values()), schema)
    made = [
        (*row, keys[model], number)
        for model, theirs in own.items()
        if keys[model] not in there
        for number, (_, group) in enumerate(theirs)
        for row in each.of_group(benchmark, group)
    ]
    new = pl.DataFrame(made, schema=schema, orient="row")
    if made:
        add_kept(new, old, path)
    found = pl.concat([old, new])
    order = [
        (keys[model], number, place)
        for model, theirs in own.items()
        for number, (place, _) in enumerate(theirs)
    ]
    placed = pl.DataFrame(order, schema={KEY: pl.String, _GROUP: pl.Int64, _PLACE: pl.Int64}, orient="row")
    joined = found.join(placed, on=[KEY, _GROUP], how="inner", maintain_order="left")
    return joined.sort(_PLACE, maintain_order=True).drop(KEY, _GROUP, _PLACE)


def _digest(each: Table, model: str, made_from: str) -> str:
    return sha256_hex(canonical_json([VERSION, each.name, each.version, model, made_from]))
