"""What SQL files may read: a temporary view ``stg_<dataset>`` per Parquet dataset, made from its schema.

A dataset without a file is an empty view of its columns, so that a study without answers still has a board. Columns a
file has beside those named here are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

_TEXT = "varchar"
_ESTIMATE = {
    **dict.fromkeys(("benchmark", "dataset", "task", "condition", "scoring", "model"), _TEXT),
    "run": "integer",
    **dict.fromkeys(("source", "measure"), _TEXT),
    **dict.fromkeys(("estimate", "low", "high", "sem"), "double"),
    **dict.fromkeys(("n", "n_items", "n_failed", "n_unreadable"), "bigint"),
    "coverage": "double",
    **dict.fromkeys(("method", "status"), _TEXT),
    "low_n": "boolean",
}
_COMPARISON = {
    **dict.fromkeys(("benchmark", "dataset", "task", "condition", "scoring", "model", "source"), _TEXT),
    **dict.fromkeys(("family", "measure", "a", "b"), _TEXT),
    **dict.fromkeys(("value", "se", "low", "high", "low_adjusted", "high_adjusted"), "double"),
    **dict.fromkeys(("statistic", "df1", "df2", "p", "p_adjusted", "effect_size"), "double"),
    "verdict": _TEXT,
    "n": "bigint",
    **dict.fromkeys(("note", "status"), _TEXT),
    "n_tests": "bigint",
    **dict.fromkeys(("primary", "low_n"), "boolean"),
}
_PARTITION = {
    **dict.fromkeys(("benchmark", "model"), _TEXT),
    "run": "integer",
    "state": _TEXT,
    **dict.fromkeys(("n_expected", "n_answered", "n_failed", "n_unusable"), "bigint"),
    "message": _TEXT,
    "updated_at": "timestamptz",
}
_CALL = {
    **dict.fromkeys(("answer_id", "benchmark", "model"), _TEXT),
    "run": "integer",
    **dict.fromkeys(
        ("item_id", "condition", "step", "source", "provider", "model_id", "model_reported"), _TEXT
    ),
    **dict.fromkeys(("mode", "request_json", "status", "text", "finish_reason", "logprobs_json"), _TEXT),
    **dict.fromkeys(("input_tokens", "output_tokens"), "bigint"),
    "cost_usd": "double",
    "attempts": "integer",
    "started_at": "timestamptz",
    "latency_s": "double",
    **dict.fromkeys(("error_kind", "error_code"), _TEXT),
    "superseded": "boolean",
    # Files of the first version lack what follows: it is null there.
    "reasoning_text": _TEXT,
    **dict.fromkeys(("reasoning_tokens", "cached_tokens", "cache_write_tokens"), "bigint"),
    **dict.fromkeys(("service_tier", "lane", "prices_json", "response_id", "system_fingerprint"), _TEXT),
    "finish_detail": _TEXT,
    **dict.fromkeys(("latency_first_ms", "latency_ms"), "double"),
    **dict.fromkeys(("attempts_billed", "reask"), "integer"),
}
_RESPONSE = {
    **dict.fromkeys(("benchmark", "dataset", "condition", "model"), _TEXT),
    "run": "integer",
    **dict.fromkeys(("item_id", "cluster"), _TEXT),
    **dict.fromkeys(("correct", "confidence"), "double"),
    "n_alternatives": "integer",
    "response": _TEXT,
}
_PUBLISHED_VALUE = {
    **dict.fromkeys(("benchmark", "place", "dataset", "task", "condition", "model", "measure"), _TEXT),
    **dict.fromkeys(("value", "low", "high", "sd"), "double"),
    "n": "bigint",
    **dict.fromkeys(("unit", "note"), _TEXT),
}
_PUBLISHED_CLAIM = {
    **dict.fromkeys(("benchmark", "place", "subject", "quantity", "method"), _TEXT),
    **dict.fromkeys(("published", "recomputed", "low", "high", "difference", "tolerance"), "double"),
    **dict.fromkeys(("expected", "verdict", "note"), _TEXT),
}
_CALIBRATION = {
    **dict.fromkeys(("benchmark", "dataset", "condition", "model", "source", "measure"), _TEXT),
    **dict.fromkeys(("estimate", "low", "high"), "double"),
    **dict.fromkeys(("n", "n_items", "n_without_confidence"), "bigint"),
    **dict.fromkeys(("method", "status"), _TEXT),
    "low_n": "boolean",
}
_CORRELATION = {
    **dict.fromkeys(("source", "a", "b", "trait_a", "trait_b", "benchmark_a", "benchmark_b", "kind"), _TEXT),
    **dict.fromkeys(("n_models", "n_tests"), "bigint"),
    **dict.fromkeys(("spearman", "low", "high", "p", "p_adjusted"), "double"),
    **dict.fromkeys(("verdict", "status"), _TEXT),
    **dict.fromkeys(("reliability_a", "reliability_b"), "double"),
    **dict.fromkeys(("disattenuated", "disattenuated_low", "disattenuated_high"), "double"),
    "disattenuated_status": _TEXT,
}
_CURVE = {
    **dict.fromkeys(("benchmark", "dataset", "condition", "model", "source", "curve"), _TEXT),
    "position": "integer",
    **dict.fromkeys(("x", "y", "low", "high", "threshold"), "double"),
    **dict.fromkeys(("n", "n_items"), "bigint"),
}
_JUDGEMENT = {
    **dict.fromkeys(("benchmark", "dataset", "condition", "model"), _TEXT),
    "run": "integer",
    **dict.fromkeys(("item_id", "judge", "judge_model", "relation", "dimension"), _TEXT),
    "value": "double",
    **dict.fromkeys(("status", "reason", "answer_id"), _TEXT),
    "cost_usd": "double",
    **dict.fromkeys(("source", "facts"), _TEXT),
}
_AGREEMENT = {
    **dict.fromkeys(("benchmark", "dataset", "source", "condition", "judge", "relation", "model"), _TEXT),
    **dict.fromkeys(("reading", "measure", "dimension", "a", "b"), _TEXT),
    **dict.fromkeys(("estimate", "low", "high"), "double"),
    "n": "bigint",
    **dict.fromkeys(("method", "status", "facts"), _TEXT),
}
_MEASURE = {
    **dict.fromkeys(("benchmark", "measure", "label", "unit"), _TEXT),
    **dict.fromkeys(("min", "max"), "double"),
    **dict.fromkeys(("higher_is_better", "headline"), "boolean"),
    **dict.fromkeys(("trait", "paper", "definition"), _TEXT),
}
_ITEM = {
    **dict.fromkeys(("item_id", "dataset", "task"), _TEXT),
    "position": "integer",
    **dict.fromkeys(("question", "key", "kind", "item_hash"), _TEXT),
}


@dataclass(frozen=True, slots=True)
class Dataset:
    """Parquet files of one shape.

    Attributes
    ----------
    name
        The view is called ``stg_<name>``.
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

    def matches(self, path: str) -> bool:
        """Whether the file at ``path``, relative to the home, belongs to this dataset."""
        return _pattern(self.patterns).fullmatch(path) is not None

    def reading(self, files: Sequence[str], relation: str | None = None) -> str:
        """Return the SELECT of these files: typed columns first, whatever else the files hold after them.

        ``relation`` is read instead of the files' own rows.
        """
        listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
        rows = f"from read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"
        found = relation or f"from (select columns('^[^_]') {rows})"  # derived columns that are only counted
        typed = {**self.columns, **self.own}
        if not typed:
            return found
        nulls = ", ".join(f'null::{kind} as "{name}"' for name, kind in typed.items())
        shape = f"select {nulls} where false"
        if not files and relation is None:
            return f"select {self.select} from ({shape})"
        # A file of another type must fail here, not turn the column of everybody into its own.
        cast = ", ".join(f'"{name}"::{kind} as "{name}"' for name, kind in typed.items())
        whole = f"select * replace ({cast}) from ({shape} union all by name {found})"
        return f"select {self.select} from ({whole})"


@lru_cache(maxsize=256)
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    """Return what finds the paths of a dataset: a home has thousands, each of which is held against every dataset."""
    return re.compile("|".join(map(_expression, globs)))


def _expression(glob: str) -> str:
    parts = re.split(r"(\*\*/|\*)", glob)
    made = ("(?:[^/]+/)*" if part == "**/" else "[^/]*" if part == "*" else re.escape(part) for part in parts)
    return "".join(made)


# What benchmarks call the question, the right answer and the sort of an item.
_ITEMS_OWN = {
    **dict.fromkeys(("item_set", "target", "answer", "text", "stem", "vignette", "tier", "domain"), _TEXT),
    **dict.fromkeys(("stimulus", "known_answer"), _TEXT),
    "questions": "map(varchar, varchar)",
    "answers": "map(varchar, varchar[])",
}
_ITEMS = (
    "* replace (coalesce(dataset, item_set) as dataset, "
    "coalesce(question, text, stem, vignette, questions['en'], map_values(questions)[1]) as question, "
    "coalesce(key, target, answer, stimulus, nullif(known_answer, 'null'), answers['en'][1], "
    "map_values(answers)[1][1]) as key, "
    "coalesce(kind, tier, domain) as kind)"
)


def _dataset(name: str, columns: Mapping[str, str], *patterns: str) -> Dataset:
    return Dataset(name, patterns, columns)


#: What is alike for every benchmark; a SQL file names further datasets in its header.
SHARED: Mapping[str, Dataset] = {
    made.view: made
    for made in (
        _dataset(
            "models",
            {**dict.fromkeys(("model", "provider", "model_id", "source"), _TEXT), "listed": "boolean",
             "runs": "integer", "family": _TEXT, "params_b": "double", "params_active_b": "double",
             "released": _TEXT},
            "study/models.parquet",
        ),
        _dataset("study", {"name": _TEXT, "seed": "bigint", "digest": _TEXT}, "study/study.parquet"),
        _dataset("partitions", _PARTITION, "study/partitions.parquet"),
        _dataset("helpers", _PARTITION, "study/helpers.parquet"),
        _dataset("boards", {"benchmark": _TEXT, "condition": _TEXT}, "study/boards.parquet"),
        _dataset("measures", _MEASURE),  # declared by the benchmarks, no file
        Dataset("items", ("items/*.parquet",), _ITEM, _ITEMS_OWN, _ITEMS),
        _dataset("calls", _CALL, "transcripts/**/*.parquet"),
        _dataset("estimates", _ESTIMATE, "estimates/*/models/*.parquet"),
        _dataset("run_estimates", _ESTIMATE, "estimates/*/runs/**/*.parquet"),
        _dataset(
            "comparisons", _COMPARISON,
            "estimates/*/comparisons/*.parquet", "estimates/*/published/contrasts.parquet",
        ),
        _dataset("harmonised", _RESPONSE, "harmonised/**/*.parquet"),
        _dataset("calibration", _CALIBRATION, "cross_benchmark/calibration.parquet"),
        _dataset("correlations", _CORRELATION, "cross_benchmark/correlations.parquet"),
        _dataset("curves", _CURVE, "estimates/*/curves/*.parquet", "cross_benchmark/curves.parquet"),
        _dataset("judgements", _JUDGEMENT),  # parts of the benchmarks
        _dataset("judge_agreement", _AGREEMENT, "estimates/*/judge_agreement/*.parquet"),
        _dataset("published_values", _PUBLISHED_VALUE, "estimates/*/published/published_values.parquet"),
        _dataset("published_claims", _PUBLISHED_CLAIM, "estimates/*/published/published_claims.parquet"),
    )
}  # fmt: skip
