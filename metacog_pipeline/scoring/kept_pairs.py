"""Results of pairs of models, each kept under the digest of what it was computed from.

A row of such a contrast rests on the responses of two models, the seed and the versions of what computes it; with none of
these changed it is read, not computed. So a model that is added costs its own pairs only. What holds over all pairs
(corrections, verdicts) is not kept.

One file per contrast below the study's ``cache``, which may be deleted at any time. A file that was damaged, changed or
written by something else is left unread.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Contrast
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.errors import one_line
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.scoring.estimates import FAILED
from metacog_pipeline.scoring.schemas import COMPARISON
from metacog_pipeline.study.frames import mark_of, write_frame

Pair = tuple[str, str]
VERSION = "3"
_KEY, _PLACE = "made_from", "place"
#: Rows in the order in which a pair gave them; a pair without any has one row without a family.
_SCHEMA = pl.Schema({**COMPARISON, _KEY: pl.String(), _PLACE: pl.Int64()})
_WHERE = ("dataset", "source", "task", "condition", "scoring")


@dataclass(slots=True)
class Kept:
    """Where results of pairs are kept, what each model's responses were made from, and how many pairs were computed."""

    folder: Path
    models: Mapping[str, str]
    computed: int = 0
    read: int = 0


def of_pairs(
    benchmark: Benchmark[Any, Any, Any], contrast: Contrast, groups: Sequence[Group], kept: Kept | None
) -> pl.DataFrame:
    """Return the rows of every pair of models of ``groups`` in the schema `COMPARISON`, without corrections."""
    pairs = list(combinations(sorted({group.model for group in groups}), 2))
    if kept is None:
        return _ordered(_computed(benchmark, contrast, groups, dict.fromkeys(pairs, "")))
    wanted = {pair: _digest(contrast, kept.models, pair) for pair in pairs}
    path = kept.folder / benchmark.name / f"{contrast.family}.parquet"
    old = _read(path).filter(pl.col(_KEY).is_in(wanted.values()))
    there = set(old[_KEY].unique())
    lacking = {pair: key for pair, key in wanted.items() if key not in there}
    kept.computed += len(lacking)
    kept.read += len(wanted) - len(lacking)
    if not lacking:
        return _ordered(old)
    new = _computed(benchmark, contrast, groups, lacking)
    ended = new.filter(~pl.col("status").str.starts_with(FAILED).fill_null(False))
    whole = pl.concat([old, ended])
    write_frame(whole, path, _content(whole))
    return _ordered(pl.concat([old, new]))


def _computed(
    benchmark: Benchmark[Any, Any, Any],
    contrast: Contrast,
    groups: Sequence[Group],
    wanted: Mapping[Pair, str],
) -> pl.DataFrame:
    """Return the rows of the wanted pairs; where they fail together each is tried alone, and what fails says why."""
    if not wanted:
        return _SCHEMA.to_frame()
    try:
        return _table(benchmark, contrast.compute(benchmark, groups, list(wanted)), wanted)
    except Exception:
        parts = [_alone(benchmark, contrast, groups, pair, key) for pair, key in wanted.items()]
        return pl.concat(parts)


def _alone(
    benchmark: Benchmark[Any, Any, Any], contrast: Contrast, groups: Sequence[Group], pair: Pair, key: str
) -> pl.DataFrame:
    own = [group for group in groups if group.model in pair]
    try:
        return _table(benchmark, contrast.compute(benchmark, own, [pair]), {pair: key})
    except Exception as error:
        status = one_line(f"{FAILED}{type(error).__name__}: {error}")
        kinds = dict.fromkeys((group.dataset, group.source) for group in own)
        rows = [
            Comparison(contrast.family, "", *pair, dataset=dataset, source=source, status=status)
            for dataset, source in kinds
        ]
        return _table(benchmark, rows, {pair: key})


def _table(
    benchmark: Benchmark[Any, Any, Any], rows: Iterable[Comparison], wanted: Mapping[Pair, str]
) -> pl.DataFrame:
    columns = [name for name in COMPARISON if name != "benchmark"]
    number = dict.fromkeys(wanted, 0)
    values: list[tuple[object, ...]] = []
    for row in rows:
        pair = (str(row.a), str(row.b))
        values.append((benchmark.name, *(getattr(row, name) for name in columns), wanted[pair], number[pair]))
        number[pair] += 1
    nothing = (None,) * len(columns)
    values += [(None, *nothing, wanted[pair], 0) for pair, rows_of in number.items() if not rows_of]
    return pl.DataFrame(values, schema=_SCHEMA, orient="row")


def _ordered(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows in an order that does not tell which of them were kept."""
    known = rows.filter(pl.col("family").is_not_null())
    first = known.with_columns(_first=pl.col(_PLACE).min().over("family", "measure"))
    return first.sort(*_WHERE, "_first", "family", "measure", "a", "b", _PLACE).select(COMPARISON.names())


def _digest(contrast: Contrast, models: Mapping[str, str], pair: Pair) -> str:
    depends = [VERSION, contrast.family, contrast.version, *pair, *(models[name] for name in pair)]
    return sha256_hex(canonical_json(depends))


def _read(path: Path) -> pl.DataFrame:
    """Return what is kept at ``path``; nothing where it is not there, or not what was written."""
    mark = mark_of(path)
    if not mark:
        return _SCHEMA.to_frame()
    try:
        found = pl.read_parquet(path, glob=False, hive_partitioning=False)
    except (OSError, pl.exceptions.PolarsError):
        return _SCHEMA.to_frame()
    whole = found.schema == _SCHEMA and _content(found) == mark
    return found if whole else _SCHEMA.to_frame()


def _content(rows: pl.DataFrame) -> str:
    """Return the digest of the values of ``rows``."""
    text = rows.write_csv(null_value="null", quote_style="non_numeric")
    return hashlib.sha256(text.encode()).hexdigest()
