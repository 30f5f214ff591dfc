"""Answers collected elsewhere: tables of raw replies.

A result file of the authors' package is a JSON array with an object per instance: ``instance_id``, ``model``, ``computed``,
``judged`` (ten dimensions, 0..1), ``tier_scores``, ``total_score`` and ``raw_responses``, each reply cut after 5,000
characters. Such files are announced, and not found in the package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from metacog_pipeline.benchmarks.medley import items
from metacog_pipeline.benchmarks.medley.prompts import presented
from metacog_pipeline.benchmarks.medley.read import parse_reply
from metacog_pipeline.benchmarks.medley.rules import Triple
from metacog_pipeline.benchmarks.medley.scores import score_triples
from metacog_pipeline.errors import SourceError
from metacog_pipeline.interchange.import_rules import RowRules
from metacog_pipeline.sources import read_objects


class Rows(RowRules):
    """A row names an instance and holds raw replies; nothing in it can be right or wrong."""

    condition = items.NORMAL
    usual: ClassVar = {
        "step_a": ("step_a", "stepa", "response_a", "a", "solo"),
        "b_private": ("b_private", "step_b_private", "private", "response_b_private"),
        "b_social": ("b_social", "step_b_social", "social", "response_b_social"),
    }


# What the package calls the steps, and its stages.
_RESULT_STEPS = ("step_a", "step_b_private", "step_b_social")
_STAGES = {"baseline": items.NORMAL}


def read_results(path: Path) -> list[dict[str, Any]]:
    """Return the instances of a result file as rows for ``metacog import medley``, with grades and scores as stored."""
    found = []
    for line in read_objects(path):
        row, replies = line.row, line.row.get("raw_responses")
        if "error" in row:  # the package keeps failed instances by their error
            continue
        if not isinstance(row.get("instance_id"), str) or not isinstance(replies, dict):
            raise SourceError(f"{line.where}: no instance_id with raw_responses; not a result file")
        stage = str(row.get("stage") or items.NORMAL)
        texts = {step: replies.get(name) for step, name in zip(items.STEPS, _RESULT_STEPS, strict=True)}
        told = {name: row.get(name) or {} for name in ("judged", "computed", "tier_scores")}
        head = {"instance_id": row["instance_id"], "condition": _STAGES.get(stage, stage)}
        found.append({**head, **texts, **told, "total_score": row.get("total_score")})
    return found


def write_rows(results: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write rows of `read_results` as a JSON Lines file that ``metacog import medley`` reads."""
    keys = ("instance_id", "condition", *items.STEPS)
    path.write_text("".join(json.dumps({key: row[key] for key in keys}) + "\n" for row in results), "utf-8")


def scored_again(results: Sequence[Mapping[str, Any]], instances: Sequence[items.Instance]) -> pl.DataFrame:
    """Return every stored number of a result file, and what its replies and grades give as the package scores."""
    known = {instance.item_id: instance for instance in instances}
    if strange := {row["instance_id"] for row in results} - known.keys():
        raise SourceError(f"medley: {min(strange)!r} of the result file is not among the instances")
    shown = [presented(known[row["instance_id"]], row["condition"], named=True) for row in results]
    triples = [Triple(*(parse_reply(str(row[step] or "")) for step in items.STEPS)) for row in results]
    inverted = [row["condition"] == items.ADVERSARIAL for row in results]
    scores = score_triples(shown, triples, [row["judged"] for row in results], adversarial=inverted)
    rows = []
    for place, row in enumerate(results):
        total = row["total_score"]
        # A total of more than 1 is of 0..100.
        mms = {} if total is None else {"mms": total / 100 if total > 1 else total}
        for name, stored in {**row["computed"], **row["tier_scores"], **mms}.items():
            if name in scores:
                again = float(scores[name][place])
                rows.append((row["instance_id"], row["condition"], name, float(stored), again))
    kinds = [pl.String] * 3 + [pl.Float64] * 2
    schema = dict(zip(("instance_id", "condition", "measure", "stored", "again"), kinds, strict=True))
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.col("again").fill_nan(None))
