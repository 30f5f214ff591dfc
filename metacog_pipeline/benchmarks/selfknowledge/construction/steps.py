"""The steps that make the items: sources brought home, then the items a study asks."""

from __future__ import annotations

from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made, Step
from metacog_pipeline.benchmarks.selfknowledge import sources
from metacog_pipeline.benchmarks.selfknowledge.construction import pipeline
from metacog_pipeline.benchmarks.selfknowledge.construction.datasets import dataset_info
from metacog_pipeline.benchmarks.selfknowledge.construction.invariants import check
from metacog_pipeline.benchmarks.selfknowledge.items import Item

MOST_VIOLATIONS = 50  # shown beside a failed check; more say nothing new


def fetch(benchmark: Any, inputs: Inputs) -> Made:
    """Bring the questions the study asks home, verified; those already there are left alone."""
    home, names = benchmark.context.home, benchmark.needed_sources()
    origins = [found.origin for found in sources.fetch(home, names)] if names else []
    parts = benchmark.parts()
    facts = {
        "rows": sum(len(part.rows) for part in parts),
        "unanswerable": sum(not any(row.answers.values()) for part in parts for row in part.rows),
        "origin": "; ".join(origins) or str(benchmark.folder or benchmark.settings.dataset),
        "published": all(part.published for part in parts),
    }
    first = [
        {
            "source": part.source,
            "question": next(iter(row.questions.values())),
            "answers": " | ".join(next(iter(row.answers.values()))[:3]),
        }
        for part in parts
        for row in part.rows[:5]
    ]
    return Made(frame=pl.DataFrame(first), facts=facts)


def build(benchmark: Any, inputs: Inputs) -> Made:
    """Build the items the study asks from the sources at home."""
    settings, parts = benchmark.settings, benchmark.parts()
    items = pipeline.items_of(
        parts, settings.dataset, benchmark.split, languages=settings.languages, limit=settings.limit,
        seed=benchmark.context.seed,
    )  # fmt: skip
    broken = check(items, parts)
    without = sum(not any(accepted for _, accepted in item.answers) for item in items)
    return Made(
        rows=items,
        facts={"dataset": items[0].dataset, "split": benchmark.split, **pipeline.counted(items)},
        checks={
            "invariants_hold": Checked(not broken, {"violations": list(broken[:MOST_VIOLATIONS])}),
            "mostly_answerable": Checked(
                10 * without <= len(items), {"questions without an answer": without, "questions": len(items)}
            ),
        },
    )


def read_from(benchmark: Any) -> object:
    """Return the digests of the files the items are built from, and the split that is asked."""
    settings = benchmark.settings
    files = pipeline.input_digests(benchmark.context.home, settings.dataset, settings.split, benchmark.folder)
    return [dataset_info(settings.dataset).split(settings.split), sorted(files.items())]


STEPS = (
    Step(
        "sources",
        "Short-answer questions with all accepted answers: a published set, verified, or the facts of the sample.",
        fetch,
        inputs=read_from,
    ),
    Step(
        "items",
        "The questions, in every language they have, the same for every model, run and condition.",
        build,
        needs=("sources",),
        writes=Item,
        checks={
            "invariants_hold": Check(
                "Every question and its answers are those of its source; no blank answer would match everything.",
                blocking=True,
            ),
            "mostly_answerable": Check(
                "Nine in ten questions have an answer; the others count as wrong, and accuracy says so apart."
            ),
        },
        inputs=read_from,
    ),
)
