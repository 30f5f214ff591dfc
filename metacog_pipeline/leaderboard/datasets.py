"""Datasets: Parquet files of one shape, and the view ``stg_<name>`` that SQL files read them through."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.scoring import schemas
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA


def _columns(**kinds: str) -> pl.Schema:
    return pl.Schema({name: getattr(pl, kind) for kind, names in kinds.items() for name in names.split()})


_COUNTS = "n_expected n_answered n_failed n_unusable"
_PARTITIONS = _columns(String="benchmark model state message", Int32="run", Int64=_COUNTS)
_PARTITIONS["updated_at"] = pl.Datetime("us", "UTC")
_MODEL = "model provider model_id source family released"
#: The tables about the study itself, which `status` writes below ``study/``.
STUDY_TABLES = {
    "models": _columns(String=_MODEL, Boolean="listed", Int32="runs", Float64="params_b params_active_b"),
    "study": _columns(String="name digest", Int64="seed"),
    "partitions": _PARTITIONS,
    "boards": _columns(String="benchmark condition"),
}
# What benchmarks declare of their measures, and to be asked of their answers: no files, see `glossary`.
MEASURES = _columns(
    String="benchmark measure label unit paper definition",
    Float64="min max",
    Boolean="higher_is_better headline detail",
)
QUESTIONS = _columns(String="benchmark question asks family measure")
_ITEMS = _columns(String="item_id dataset task question key kind item_hash", Int32="position")
# What benchmarks call the question, the right answer and the sort of an item; ``own`` are other columns of a question file.
_ITEMS_OWN = {
    **dict.fromkeys(("item_set", "target", "answer", "stimulus", "known_answer"), "varchar"),
    **dict.fromkeys(("text", "stem", "vignette", "tier", "domain"), "varchar"),
    **dict.fromkeys(("questions", "own"), "map(varchar, varchar)"),
    "answers": "map(varchar, varchar[])",
}
_ITEMS_SELECT = """* replace (
    coalesce(dataset, item_set) as dataset,
    coalesce(question, text, stem, vignette, questions['en'], map_values(questions)[1]) as question,
    coalesce(
        key, target, answer, stimulus, nullif(known_answer, 'null'), answers['en'][1], map_values(answers)[1][1]
    ) as key,
    coalesce(kind, tier, domain) as kind)"""
_PRINTED, _COMPARED = "estimates/*/published", ("estimates/*/comparisons/*.parquet",)
# DuckDB's name of a type of Polars.
_TYPES = {
    "String": "varchar", "Int32": "integer", "Int64": "bigint", "Float64": "double", "Boolean": "boolean",
    str(pl.Datetime("us", "UTC")): "timestamptz",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dataset:
    """Parquet files of one shape, which SQL reads as ``view``; columns that are not declared are kept."""

    view: str
    patterns: tuple[str, ...]  # of paths below the home: * is for a part of a name, **/ for folders
    columns: Mapping[str, str]  # name → DuckDB type
    own: Mapping[str, str] = field(default_factory=dict)  # those that only some files have
    select: str = "*"

    def of(self, paths: Iterable[str]) -> list[str]:
        """Return those of ``paths``, relative to the home, that belong to this dataset."""
        # Not fnmatch: its * also matches a slash.
        glob = re.escape("|".join(self.patterns)).replace(r"\|", "|")
        pattern = re.compile(glob.replace(r"\*\*/", "(?:[^/]+/)*").replace(r"\*", "[^/]*"))
        return [path for path in paths if pattern.fullmatch(path)]

    def reading(self, files: Sequence[str], relation: str | None = None) -> str:
        """Return the SELECT of ``files``, or of ``relation`` instead: typed columns first, after them all others."""
        if files and relation is None:
            listed = ", ".join(map(text, files))
            rows = f"from read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"
            relation = f"from (select columns('^[^_]') {rows})"  # derived columns that are only counted
        typed = {**self.columns, **self.own}
        if relation is not None and not typed:
            return relation
        # Without a file it is an empty view: a study without answers has a board.
        nulls = ", ".join(f'null::{kind} as "{name}"' for name, kind in typed.items())
        whole = f"select {nulls} where false"
        if relation is not None:
            # A file of another type must fail here, not turn the column of everybody into its own.
            cast = ", ".join(f'"{name}"::{kind} as "{name}"' for name, kind in typed.items())
            whole = f"select * replace ({cast}) from ({whole} union all by name {relation})"
        return f"select {self.select} from ({whole})"


_SHAPES: tuple[tuple[str, Mapping[str, Any], tuple[str, ...]], ...] = (
    *((name, columns, (f"study/{name}.parquet",)) for name, columns in STUDY_TABLES.items()),
    ("measures", MEASURES, ()),
    ("questions", QUESTIONS, ()),
    ("items", _ITEMS, ("items/*.parquet",)),
    ("calls", pl.DataFrame(ARROW_SCHEMA.empty_table()).schema, ("transcripts/**/*.parquet",)),
    ("estimates", schemas.ESTIMATE, ("estimates/*/models/*.parquet",)),
    ("run_estimates", schemas.ESTIMATE, ("estimates/*/runs/**/*.parquet",)),
    ("comparisons", schemas.COMPARISON, (*_COMPARED, f"{_PRINTED}/contrasts.parquet")),
    ("instruments", schemas.INSTRUMENT, ("estimates/*/instruments/*.parquet",)),
    ("answers", schemas.ANSWER, ("harmonised/**/*.parquet",)),
    ("calibration", schemas.CALIBRATION, ("cross_benchmark/calibration.parquet",)),
    ("curves", schemas.CURVES, ("estimates/*/curves/*.parquet",)),
    ("judgements", schemas.JUDGEMENT, ()),  # only parts of benchmarks
    ("judge_agreement", schemas.AGREEMENT, ("estimates/*/judge_agreement/*.parquet",)),
    ("published_values", schemas.PUBLISHED_VALUE, (f"{_PRINTED}/published_values.parquet",)),
    ("published_claims", schemas.PUBLISHED_CLAIM, (f"{_PRINTED}/published_claims.parquet",)),
)
#: The datasets that every benchmark shares, by the name of their view; a SQL file declares further ones in its comment.
SHARED: dict[str, Dataset] = {
    f"stg_{name}": Dataset(
        f"stg_{name}", patterns, {column: _TYPES[str(kind)] for column, kind in schema.items()}
    )
    for name, schema, patterns in _SHAPES
}
SHARED["stg_items"] = replace(SHARED["stg_items"], own=_ITEMS_OWN, select=_ITEMS_SELECT)
