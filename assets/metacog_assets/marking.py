"""What every asset carries beside its edges: owners, tags, kinds, and the columns of its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import dagster as dg
import polars as pl

from metacog_assets.study_file import current_study
from metacog_pipeline.benchmark.schema import columns_with_words

SCHEMA, LINEAGE = "dagster/column_schema", "dagster/column_lineage"
# The kind of a provider as Dagster draws it; others have no picture of their own.
_PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "gemini": "gemini", "transformers": "huggingface"}
_MOST_KINDS = 3  # Dagster takes no more


def owners() -> list[str]:
    """Return whom to ask about an asset, as the study names them."""
    return list(current_study().study.owners)


def tags(
    layer: str, *, paid: bool = False, benchmark: str | None = None, arm: str | None = None
) -> dict[str, str]:
    """Return the tags of an asset.

    Parameters
    ----------
    layer
        items, answers, judgements, scores or tables: what the jobs select by.
    paid
        Whether making it can cost money; then no sensor that is on makes it.
    benchmark, arm
        Whose it is; ``later`` for an arm that is decided after the first answers.
    """
    found = {"cost": "paid" if paid else "free", "layer": layer}
    return found | {name: word for name, word in (("benchmark", benchmark), ("arm", arm)) if word is not None}


def asking_kinds(providers: Iterable[str]) -> set[str]:
    """Return the kinds of an asset that asks models of these providers."""
    named = sorted({_PROVIDERS[each] for each in providers if each in _PROVIDERS})
    return {"parquet", *named[: _MOST_KINDS - 1]}


def table_schema(columns: Mapping[str, Any], words: Mapping[str, str] | None = None) -> dg.TableSchema:
    """Return columns as Dagster shows them: name, type, what it means."""
    said = words or {}
    return dg.TableSchema(
        [
            dg.TableColumn(name, str(kind), description=said.get(name) or None)
            for name, kind in columns.items()
        ]
    )


def schema_of_rows(schema: pl.Schema | Mapping[str, Any], *rows: type[Any]) -> dict[str, Any]:
    """Return the metadata that shows a schema, with what the row classes say of their fields."""
    words: dict[str, str] = {}
    for row in rows:
        words |= columns_with_words(row)
    return {SCHEMA: table_schema(schema, words)}


def lineage(columns: Iterable[str], read: Mapping[Any, Iterable[str]]) -> dg.TableColumnLineage:
    """Return from which columns of the tables that are ``read`` (key → columns) each column comes: those of its name."""
    known = {key: set(names) for key, names in read.items()}
    return dg.TableColumnLineage(
        {
            column: found
            for column in columns
            if (found := [dg.TableColumnDep(key, column) for key, names in known.items() if column in names])
        }
    )
