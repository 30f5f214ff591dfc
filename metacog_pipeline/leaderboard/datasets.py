"""Datasets: Parquet files of one shape, and the view ``stg_<name>`` that SQL files read them through.

The columns come from where the files are written (`scoring.schemas`, `transcripts.schema`); those of the study's own
tables stand here, for `status` writes them. A dataset without a file is an empty view of its columns, so that a study
without answers still has a board. Columns that files have beside the declared ones are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from metacog_pipeline.scoring import schemas
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA

_MODELS: dict[str, Any] = {
    **dict.fromkeys(("model", "provider", "model_id", "source", "family", "released"), pl.String),
    "listed": pl.Boolean,
    "runs": pl.Int32,
    **dict.fromkeys(("params_b", "params_active_b"), pl.Float64),
}
#: The columns of `study/models.parquet`, and of the other tables about the study itself.
MODELS = pl.Schema(_MODELS)
STUDY = pl.Schema({"name": pl.String, "seed": pl.Int64, "digest": pl.String})
BOARDS = pl.Schema({"benchmark": pl.String, "condition": pl.String})
_PARTITIONS: dict[str, Any] = {
    **dict.fromkeys(("benchmark", "model"), pl.String),
    "run": pl.Int32,
    "state": pl.String,
    **dict.fromkeys(("n_expected", "n_answered", "n_failed", "n_unusable"), pl.Int64),
    "message": pl.String,
    "updated_at": pl.Datetime("us", "UTC"),
}
PARTITIONS = pl.Schema(_PARTITIONS)
#: What benchmarks declare of their measures: no file, see `declared`.
MEASURES = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "measure", "label", "unit"), pl.String),
        **dict.fromkeys(("min", "max"), pl.Float64),
        **dict.fromkeys(("higher_is_better", "headline"), pl.Boolean),
        **dict.fromkeys(("trait", "paper", "definition"), pl.String),
    }
)
_ITEMS = pl.Schema(
    {
        **dict.fromkeys(("item_id", "dataset", "task"), pl.String),
        "position": pl.Int32,
        **dict.fromkeys(("question", "key", "kind", "item_hash"), pl.String),
    }
)
# What benchmarks call the question, the right answer and the sort of an item.
_ITEMS_OWN = {
    **dict.fromkeys(("item_set", "target", "answer", "stimulus", "known_answer"), "varchar"),
    **dict.fromkeys(("text", "stem", "vignette", "tier", "domain"), "varchar"),
    "questions": "map(varchar, varchar)",
    "answers": "map(varchar, varchar[])",
}
_ITEMS_SELECT = """* replace (
    coalesce(dataset, item_set) as dataset,
    coalesce(question, text, stem, vignette, questions['en'], map_values(questions)[1]) as question,
    coalesce(
        key, target, answer, stimulus, nullif(known_answer, 'null'), answers['en'][1], map_values(answers)[1][1]
    ) as key,
    coalesce(kind, tier, domain) as kind)"""
# DuckDB's name of a type of Polars.
_TYPES = {
    "String": "varchar",
    "Int32": "integer",
    "Int64": "bigint",
    "Float64": "double",
    "Boolean": "boolean",
}
_TYPES[str(pl.Datetime("us", "UTC"))] = "timestamptz"


@dataclass(frozen=True, slots=True)
class Dataset:
    """Parquet files of one shape, which SQL reads as ``stg_<name>``.

    Attributes
    ----------
    patterns
        Which files, relative to the study's home; ``*`` stands within a name, ``**/`` for folders.
    columns
        Name to DuckDB type.
    own
        Columns only some files have, name to type.
    select
        What the view selects of them, where that is not all.
    """

    name: str
    patterns: tuple[str, ...]
    columns: Mapping[str, str]
    own: Mapping[str, str] = field(default_factory=dict)
    select: str = "*"

    @property
    def view(self) -> str:
        """The name SQL files use."""
        return f"stg_{self.name}"

    def of(self, paths: Iterable[str]) -> list[str]:
        """Return those of ``paths``, relative to the home, that belong to this dataset."""
        # Not fnmatch: its * goes on behind a slash.
        glob = re.escape("|".join(self.patterns)).replace(r"\|", "|")
        pattern = re.compile(glob.replace(r"\*\*/", "(?:[^/]+/)*").replace(r"\*", "[^/]*"))
        return [path for path in paths if pattern.fullmatch(path)]

    def reading(self, files: Sequence[str], relation: str | None = None) -> str:
        """Return the SELECT of ``files``, or of ``relation`` instead: typed columns first, after them all others."""
        if files and relation is None:
            listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
            rows = f"from read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"
            relation = f"from (select columns('^[^_]') {rows})"  # derived columns that are only counted
        typed = {**self.columns, **self.own}
        if relation is not None and not typed:
            return relation
        nulls = ", ".join(f'null::{kind} as "{name}"' for name, kind in typed.items())
        whole = f"select {nulls} where false"
        if relation is not None:
            # A file of another type must fail here, not turn the column of everybody into its own.
            cast = ", ".join(f'"{name}"::{kind} as "{name}"' for name, kind in typed.items())
            whole = f"select * replace ({cast}) from ({whole} union all by name {relation})"
        return f"select {self.select} from ({whole})"


def _dataset(name: str, schema: Mapping[str, Any], *patterns: str) -> Dataset:
    """Return a dataset with the columns of a schema: name to a type of Polars."""
    return Dataset(name, patterns, {column: _TYPES[str(kind)] for column, kind in schema.items()})


def _printed(name: str, schema: Mapping[str, Any]) -> Dataset:
    return _dataset(name, schema, f"estimates/*/published/{name}.parquet")


def _shared() -> tuple[Dataset, ...]:
    judged = "estimates/*/judge_agreement/*.parquet"
    curves = ("estimates/*/curves/*.parquet", "cross_benchmark/curves.parquet")
    tests = ("estimates/*/comparisons/*.parquet", "estimates/*/published/contrasts.parquet")
    items = _dataset("items", _ITEMS)
    calls = pl.DataFrame(ARROW_SCHEMA.empty_table()).schema
    return (
        _dataset("models", MODELS, "study/models.parquet"),
        _dataset("study", STUDY, "study/study.parquet"),
        _dataset("partitions", PARTITIONS, "study/partitions.parquet"),
        _dataset("helpers", PARTITIONS, "study/helpers.parquet"),
        _dataset("boards", BOARDS, "study/boards.parquet"),
        _dataset("measures", MEASURES),
        Dataset("items", ("items/*.parquet",), items.columns, _ITEMS_OWN, _ITEMS_SELECT),
        _dataset("calls", calls, "transcripts/**/*.parquet"),
        _dataset("estimates", schemas.ESTIMATE, "estimates/*/models/*.parquet"),
        _dataset("run_estimates", schemas.ESTIMATE, "estimates/*/runs/**/*.parquet"),
        _dataset("comparisons", schemas.COMPARISON, *tests),
        _dataset("harmonised", schemas.HARMONISED, "harmonised/**/*.parquet"),
        _dataset("calibration", schemas.CALIBRATION, "cross_benchmark/calibration.parquet"),
        _dataset("correlations", schemas.CORRELATION, "cross_benchmark/correlations.parquet"),
        _dataset("curves", schemas.CURVES, *curves),
        _dataset("judgements", schemas.JUDGEMENT),  # only parts of benchmarks
        _dataset("judge_agreement", schemas.AGREEMENT, judged),
        _printed("published_values", schemas.PUBLISHED_VALUE),
        _printed("published_claims", schemas.PUBLISHED_CLAIM),
    )


#: The datasets that every benchmark shares, by the name of their view; a SQL file names further ones in its header.
SHARED: Mapping[str, Dataset] = {each.view: each for each in _shared()}
