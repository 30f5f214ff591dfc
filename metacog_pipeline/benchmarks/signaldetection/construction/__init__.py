"""From two sources of sentences to the items of the three tasks.

==============  ======================================================================================
``sources``     the published files: where they are, what they must be, how they are fetched
``texts``       reading a file of labelled sentences
``deletion``    the word "the": where it stands, and taking one out
``tasks``       drawing and building the items of A, B and C: pure functions
``invariants``  what must hold for built items, checked against the sources
==============  ======================================================================================

Two things give task C away to a reader who knows them, and are part of the published construction: after a deletion
white space is tidied, so a space before a comma or two spaces in a row survive in unchanged texts only; and a deleted
"The" at the start leaves a sentence that begins with a small letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Check, Checked, Inputs, Made, Step
from metacog_pipeline.benchmarks.signaldetection.construction import sources
from metacog_pipeline.benchmarks.signaldetection.construction.invariants import violations
from metacog_pipeline.benchmarks.signaldetection.construction.tasks import build
from metacog_pipeline.benchmarks.signaldetection.construction.texts import Texts, read_table
from metacog_pipeline.benchmarks.signaldetection.items import TASKS, Item
from metacog_pipeline.files import sha256_hex, shipped

Bound = Benchmark[Any, Any, Any]
_SAMPLE_FILES = {sources.REVIEWS: "reviews.tsv", sources.SENTENCES: "sentences.tsv"}


def wanted(tasks: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the sources that ``tasks`` are built from."""
    chosen = (sources.REVIEWS, "A" in tasks), (sources.SENTENCES, "B" in tasks or "C" in tasks)
    return tuple(name for name, needed in chosen if needed)


def input_digests(benchmark: Bound) -> dict[str, str]:
    """Return the SHA-256 of every file the items are built from; a source that is not home yet is left out."""
    home, names = benchmark.context.home, wanted(benchmark.settings.tasks)
    if benchmark.settings.dataset == "published":
        found = {name: sources.kept_digest(home, name) for name in names}
        return {name: digest for name, digest in found.items() if digest is not None}
    return {name: sha256_hex(_sample(name).read_bytes()) for name in names}


def texts(benchmark: Bound) -> dict[str, Texts]:
    """Return the sources by name, verified; SourceError where one is missing or not the one it should be."""
    names = wanted(benchmark.settings.tasks)
    if benchmark.settings.dataset == "sample":
        return {name: read_table(_sample(name), _sample(name).stem) for name in names}
    home = benchmark.context.home
    return {name: sources.SOURCES[name].read(sources.load_source(home, name)) for name in names}


def bring_sources(benchmark: Bound, inputs: Inputs) -> Made:
    """Bring the texts the study's tasks need home, verified; those already there are left alone."""
    origins = [benchmark.settings.dataset]
    if needed := benchmark.needed_sources():
        origins = [found.origin for found in sources.fetch(benchmark.context.home, needed)]
    read = texts(benchmark).values()
    rows = [
        {"source": each.name, "label": label, "sentence": sentence}
        for each in read
        for label, sentence in zip(each.labels[:5], each.sentences[:5], strict=True)
    ]
    facts = {"origin": "; ".join(origins), "sentences": sum(len(each) for each in read)}
    return Made(frame=pl.DataFrame(rows), facts=facts)


def make_items(benchmark: Bound, inputs: Inputs) -> Made:
    """Build the items from the sources at home and hold them against these."""
    read, chosen = texts(benchmark), benchmark.settings
    items = build(
        read.get(sources.REVIEWS),
        read.get(sources.SENTENCES),
        dataset=chosen.dataset,
        tasks=chosen.tasks,
        trials=chosen.trials,
        seed=benchmark.context.seed,
    )
    counts = {
        f"{task}{label}": _count(items, task, label)
        for task in TASKS
        if task in chosen.tasks
        for label in (0, 1)
    }
    broken = violations(items, list(read.values()))
    return Made(
        rows=items,
        facts={"dataset": chosen.dataset, **counts},
        checks={
            "invariants_hold": Checked(
                not broken, {"violations": len(broken), "first": "; ".join(broken[:5])}
            ),
            "both_labels": Checked(all(counts.values()), counts),
        },
    )


STEPS = (
    Step(
        "sources",
        "Labelled sentences: film reviews (task A), oral and written sentences (tasks B and C), or the sample's.",
        bring_sources,
        inputs=input_digests,
    ),
    Step(
        "items",
        "The trials of the tasks: a text and one of two labels, the same for every model, run and condition.",
        make_items,
        needs=("sources",),
        writes=Item,
        checks={
            "invariants_hold": Check(
                "Every text is its source's, and lacks one 'the' exactly where its label says so.",
                blocking=True,
            ),
            "both_labels": Check(
                "Each task has trials of both labels; without, nothing can be discriminated."
            ),
        },
        inputs=input_digests,
    ),
)


def sample_items(seed: int = 0) -> list[Item]:
    """Return every item of the sample that ships with the package; ``seed`` decides what task C deletes."""
    read = {name: read_table(_sample(name), _sample(name).stem) for name in _SAMPLE_FILES}
    every = max(map(len, read.values()))
    return build(read[sources.REVIEWS], read[sources.SENTENCES], dataset="sample", trials=every, seed=seed)


def _count(items: Sequence[Item], task: str, label: int) -> int:
    return sum(item.task == task and item.stimulus == label for item in items)


def _sample(name: str) -> Path:
    return shipped("data", "signaldetection", "sample", _SAMPLE_FILES[name])
