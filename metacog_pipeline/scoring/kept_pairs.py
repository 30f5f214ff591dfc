"""Results of tests, each kept under the digest of what it was computed from: of pairs of models, and of one model.

A row of such a contrast rests on the responses of one or two models, the seed and the versions of what computes it; with
none of these changed it is read, not computed. So a model that is added costs its own rows only. What holds over all rows
(corrections, verdicts) is not kept.

One file per contrast, and its parts, below the study's ``cache`` (`study.kept`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Contrast
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.errors import one_line
from metacog_pipeline.files import canonical_json
from metacog_pipeline.scoring.estimates import FAILED
from metacog_pipeline.scoring.row_order import ordered
from metacog_pipeline.scoring.schemas import COMPARISON
from metacog_pipeline.study.kept import KEY, add_kept, read_wanted

#: The models a row rests on: two, or one.
Of = tuple[str, ...]
VERSION = "5"
_PLACE = "place"
#: Rows in the order in which they were given; what gave none has one row without a family.
_SCHEMA = pl.Schema({**COMPARISON, KEY: pl.String(), _PLACE: pl.Int64()})
_VALUES = attrgetter(*COMPARISON.names()[1:])
_WHERE = ("dataset", "source", "task", "condition", "scoring")


@dataclass(slots=True)
class Kept:
    """Where results are kept, what each model's responses were made from, and how many pairs were computed and read."""

    folder: Path
    models: Mapping[str, str]
    computed: int = 0
    read: int = 0


def rows_of(
    benchmark: Benchmark[Any, Any, Any], contrast: Contrast, groups: Sequence[Group], kept: Kept | None
) -> pl.DataFrame:
    """Return the rows of every pair of models of ``groups``, or of every model, as `COMPARISON`, without corrections."""
    names = sorted({group.model for group in groups})
    every: list[Of] = list(combinations(names, 2)) if contrast.pairs else [(name,) for name in names]
    if kept is None:
        return _ordered(_computed(benchmark, contrast, groups, dict.fromkeys(every, "")))
    begun = hashlib.sha256(canonical_json([VERSION, contrast.family, contrast.version]).encode())
    made_from = {name: f"\n{name}\n{kept.models[name]}".encode() for name in names}
    wanted = {of: _digest(begun, made_from, of) for of in every}
    path = kept.folder / benchmark.name / f"{contrast.family}.parquet"
    old, there = read_wanted(path, set(wanted.values()), _SCHEMA)
    lacking = {of: key for of, key in wanted.items() if key not in there}
    if contrast.pairs:
        kept.computed += len(lacking)
        kept.read += len(wanted) - len(lacking)
    if not lacking:
        return _ordered(old)
    new = _computed(benchmark, contrast, groups, lacking)
    ended = new.filter(~pl.col("status").str.starts_with(FAILED).fill_null(False))
    if ended.height:
        add_kept(ended, old, path)
    return _ordered(pl.concat([old, new]))


def _computed(
    benchmark: Benchmark[Any, Any, Any],
    contrast: Contrast,
    groups: Sequence[Group],
    wanted: Mapping[Of, str],
) -> pl.DataFrame:
    """Return the wanted rows; where they fail together each is tried alone, and what fails says why."""
    if not wanted:
        return _SCHEMA.to_frame()
    try:
        return _table(benchmark, _rows(benchmark, contrast, groups, wanted), wanted)
    except Exception:
        parts = [_alone(benchmark, contrast, groups, of, key) for of, key in wanted.items()]
        return pl.concat(parts)


def _rows(
    benchmark: Benchmark[Any, Any, Any], contrast: Contrast, groups: Sequence[Group], wanted: Iterable[Of]
) -> Iterable[Comparison]:
    if contrast.pairs:
        found: Iterable[Comparison] = contrast.compute(benchmark, groups, list(wanted))
        return found
    models = {name for of in wanted for name in of}
    return contrast.compute(benchmark, [group for group in groups if group.model in models])


def _alone(
    benchmark: Benchmark[Any, Any, Any], contrast: Contrast, groups: Sequence[Group], of: Of, key: str
) -> pl.DataFrame:
    own = [group for group in groups if group.model in of]
    try:
        return _table(benchmark, _rows(benchmark, contrast, own, [of]), {of: key})
    except Exception as error:
        status = one_line(f"{FAILED}{type(error).__name__}: {error}")
        kinds = dict.fromkeys((group.dataset, group.source) for group in own)
        named: dict[str, Any] = dict(zip(("a", "b"), of, strict=True)) if contrast.pairs else {"model": of[0]}
        rows = [
            Comparison(contrast.family, "", dataset=dataset, source=source, status=status, **named)
            for dataset, source in kinds
        ]
        return _table(benchmark, rows, {of: key})


def _table(
    benchmark: Benchmark[Any, Any, Any], rows: Iterable[Comparison], wanted: Mapping[Of, str]
) -> pl.DataFrame:
    number = dict.fromkeys(wanted, 0)
    values: list[tuple[object, ...]] = []
    for row in rows:
        pair = (str(row.a), str(row.b))
        of = pair if pair in number else (str(row.model),)
        values.append((benchmark.name, *_VALUES(row), wanted[of], number[of]))
        number[of] += 1
    nothing = (None,) * (len(COMPARISON) - 1)
    values += [(None, *nothing, wanted[of], 0) for of, rows_of in number.items() if not rows_of]
    return pl.DataFrame(values, schema=_SCHEMA, orient="row")


def _ordered(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows in an order that does not tell which of them were kept."""
    # Rows of two chunks take three times as long.
    known = rows.filter(pl.col("family").is_not_null()).rechunk()
    first = known.with_columns(_first=pl.col(_PLACE).min().over("family", "measure"))
    order = (*_WHERE, "_first", "family", "measure", "model", "a", "b", _PLACE)
    return ordered(first, order).select(COMPARISON.names())


def _digest(begun: hashlib._Hash, made_from: Mapping[str, bytes], of: Of) -> str:
    depends = begun.copy()
    depends.update(b"".join([made_from[name] for name in of]))
    return depends.hexdigest()
