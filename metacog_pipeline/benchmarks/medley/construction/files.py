"""Instances on disk: Parquet with an explicit schema, nested parts as JSON text. The file is whole or absent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from metacog_pipeline.benchmarks.common.item_files import read_rows, write_rows
from metacog_pipeline.benchmarks.medley.items import Analyst, Claim, Consensus, Instance, KnownAnswer

ITEMS_FILE = "medley.parquet"
_TEXT = ("item_id", "domain", "vignette")
_FLAGS = ("is_known_answer", "is_error_detection")
_NESTED = ("claims", "analysts", "consensus", "verified_wrong", "known_answer", "selected_models")

ITEMS_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in _TEXT),
        *(pa.field(name, pa.bool_(), nullable=False) for name in _FLAGS),
        *(pa.field(name, pa.string(), nullable=False) for name in _NESTED),
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("position", pa.int32(), nullable=False),
        pa.field("item_hash", pa.string(), nullable=False),
    ],
    metadata={"metacog_schema_version": "1"},
)


def items_path(home: Path) -> Path:
    """Return where the instances of a study are kept."""
    return home / "items" / ITEMS_FILE


def write_items(path: Path, instances: Sequence[Instance]) -> None:
    """Write the instances to Parquet; readers see the old file or the new one."""
    write_rows(path, [_row(instance) for instance in instances], ITEMS_SCHEMA)


def read_items(path: Path) -> list[Instance]:
    """Read instances from Parquet, in file order.

    Raises
    ------
    SourceError
        If the file is missing, torn, of another schema, or a row's ``item_hash`` is not that of its content.
    """
    return read_rows(path, ITEMS_SCHEMA, _instance)


def _row(instance: Instance) -> dict[str, Any]:
    nested = {
        "claims": [asdict(claim) for claim in instance.claims],
        "analysts": [asdict(analyst) for analyst in instance.analysts],
        "consensus": asdict(instance.consensus),
        "verified_wrong": sorted(instance.verified_wrong),
        "known_answer": None if instance.known_answer is None else asdict(instance.known_answer),
        "selected_models": list(instance.selected_models),
    }
    return {
        "item_id": instance.instance_id,
        **{name: getattr(instance, name) for name in ("domain", "vignette", *_FLAGS, "dataset", "position")},
        **{name: json.dumps(value) for name, value in nested.items()},  # ASCII, so any text survives
        "item_hash": instance.item_hash,
    }


def _instance(row: dict[str, Any]) -> Instance:
    nested = {name: json.loads(row[name]) for name in _NESTED}
    known = nested["known_answer"]
    return Instance(
        instance_id=row["item_id"],
        **{name: row[name] for name in ("domain", "vignette", *_FLAGS, "dataset", "position")},
        claims=tuple(Claim(**claim) for claim in nested["claims"]),
        analysts=tuple(Analyst(**analyst) for analyst in nested["analysts"]),
        consensus=Consensus(**nested["consensus"]),
        verified_wrong=frozenset(nested["verified_wrong"]),
        known_answer=None if known is None else KnownAnswer(**known),
        selected_models=tuple(nested["selected_models"]),
    )
