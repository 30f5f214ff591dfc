"""Results for other programs: one JSON line per item, and the older ``samples.json`` and ``summary.json`` layouts.

The older layouts come from the public runner: a list of objects with ``doc_id``, ``doc``, ``acc``, ``confidence``,
``target``, ``answer``; and one object of metrics under its own names, which writes 0 where a measure has no value.
Here such a value is null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmarks.metamedqa.construction.build import published_layout
from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.files import sha256_hex, write_text

# Measure -> its name in summary.json.
SUMMARY_NAMES: Mapping[str, str] = {
    "accuracy": "accuracy",
    "mean_confidence": "confidence",
    "high_confidence_accuracy": "high_confidence_accuracy",
    "medium_confidence_accuracy": "mid_confidence_accuracy",
    "low_confidence_accuracy": "low_confidence_accuracy",
    "missing_answer_recall": "missing_accuracy",
    "unknown_recall": "undecided_accuracy",
    "fictional_accuracy": "fictional_accuracy",
    "positive_confidence": "positive_confidence",
    "negative_confidence": "negative_confidence",
    "weighted_accuracy": "weighted_accuracy",
}
_COPIED = (
    *("item_id", "position", "kind", "target", "answer", "confidence", "correct", "status"),
    *("choice_probs", "confidence_probs", "off_menu_mass", "latency_s", "condition"),
)


def item_records(responses: pl.DataFrame, transcripts: pl.DataFrame) -> list[dict[str, Any]]:
    """Return one object per response, with the raw text and the digest of the request where there is an answer.

    ``adapter`` is the answer mode; ``raw`` and ``request_digest`` are those of the call that gave the letter, null for
    an item never asked.
    """
    calls = {row[0]: row[1:] for row in transcripts.select("answer_id", "text", "request_json").iter_rows()}
    rows = []
    for row in responses.iter_rows(named=True):
        raw, request = calls.get(row["answer_ids"][0] if row["answer_ids"] else None, (None, None))
        rows.append(
            {
                **{name: row[name] for name in _COPIED},
                "raw": raw,
                "adapter": row["mode"],
                "request_digest": None if request is None else sha256_hex(request),
            }
        )
    return rows


def write_records(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object per line; the file is whole or absent."""
    write_text(path, "".join(json.dumps(record) + "\n" for record in records))


def samples(responses: pl.DataFrame, items: Sequence[Item]) -> list[dict[str, Any]]:
    """Return the ``samples.json`` objects of one run and condition; `metacog import` reads them back."""
    by_id = {item.item_id: item for item in items}
    return [
        {
            "doc_id": row["position"],
            "doc": published_layout(by_id[row["item_id"]]),
            "acc": row["correct"],
            "confidence": row["confidence"],
            "target": row["target"],
            "answer": row["answer"],
        }
        for row in responses.iter_rows(named=True)
    ]


def summary(estimates: pl.DataFrame) -> dict[str, float | None]:
    """Return the ``summary.json`` object of the estimates of one model, run and condition."""
    values = dict(estimates.select("measure", "estimate").iter_rows())
    return {name: values.get(measure) for measure, name in SUMMARY_NAMES.items()}
