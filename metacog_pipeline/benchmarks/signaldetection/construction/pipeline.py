"""From the sources of a home, or the shipped sample, to the items of a study on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmarks.signaldetection.construction import sources
from metacog_pipeline.benchmarks.signaldetection.construction.files import items_path, write_items
from metacog_pipeline.benchmarks.signaldetection.construction.invariants import check
from metacog_pipeline.benchmarks.signaldetection.construction.tasks import build
from metacog_pipeline.benchmarks.signaldetection.construction.texts import Texts, read_sst2, read_table
from metacog_pipeline.benchmarks.signaldetection.items import TASKS, Item
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import sha256_hex, shipped

CONSTRUCTION_VERSION = "1"
DATASETS = ("published", "sample")
_SAMPLE_FILES = {sources.REVIEWS: "reviews.tsv", sources.SENTENCES: "sentences.tsv"}


@dataclass(frozen=True, slots=True)
class Built:
    """The items of a study. ``counts`` are items per task and label; ``violations`` lines of `invariants.check`."""

    items: tuple[Item, ...]
    counts: Mapping[str, int]
    violations: tuple[str, ...]


def construct(
    home: Path, dataset: str = "published", *, tasks: Sequence[str] = TASKS, trials: int = 100, seed: int = 0
) -> Built:
    """Build the items and write them to `items_path`; the sources must be home already.

    Raises
    ------
    StudyError
        For an unknown data set.
    SourceError
        If a source is missing, not the one it should be, or cannot be read.
    """
    reviews, sentences = load_texts(home, dataset, tasks)
    items = build(reviews, sentences, dataset=dataset, tasks=tasks, trials=trials, seed=seed)
    write_items(items_path(home), items)
    counts = {
        f"{task}{label}": sum(item.task == task and item.stimulus == label for item in items)
        for task in TASKS
        if task in tasks
        for label in (0, 1)
    }
    present = [texts for texts in (reviews, sentences) if texts is not None]
    return Built(tuple(items), counts, tuple(check(items, present)))


def load_texts(home: Path, dataset: str, tasks: Sequence[str]) -> tuple[Texts | None, Texts | None]:
    """Return the sources of task A and of tasks B and C, None for one that no task needs."""
    files = _files(home, dataset, tasks)
    reviews, sentences = files.get(sources.REVIEWS), files.get(sources.SENTENCES)
    return (
        None if reviews is None else _read(reviews, sources.REVIEWS, dataset),
        None if sentences is None else _read(sentences, sources.SENTENCES, dataset),
    )


def _read(path: Path, name: str, dataset: str) -> Texts:
    if dataset == "sample":
        return read_table(path, path.stem)
    if path.suffix == ".parquet":
        return read_sst2(path, name)
    return read_table(path, name, sources.MAX_BYTES)


def needed_sources(dataset: str, tasks: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the sources to fetch for ``tasks``: none for the sample."""
    return _wanted(tasks) if dataset == "published" else ()


def input_digests(home: Path, dataset: str, tasks: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of every file the items are built from; a source that is not home yet is left out."""
    if dataset == "published":
        found = {name: sources.kept_digest(home, name) for name in _wanted(tasks)}
        return {name: digest for name, digest in found.items() if digest is not None}
    return {name: sha256_hex(path.read_bytes()) for name, path in _files(home, dataset, tasks).items()}


def _files(home: Path, dataset: str, tasks: Sequence[str]) -> dict[str, Path]:
    """Return {source: file}, published files verified."""
    if dataset not in DATASETS:
        raise StudyError(f"signaldetection: unknown dataset {dataset!r}; there are: {', '.join(DATASETS)}")
    if dataset == "published":
        return {name: sources.load_source(home, name) for name in _wanted(tasks)}
    folder = shipped("data", "signaldetection", "sample")
    return {name: folder / _SAMPLE_FILES[name] for name in _wanted(tasks)}


def _wanted(tasks: Sequence[str]) -> tuple[str, ...]:
    chosen = (sources.REVIEWS, "A" in tasks), (sources.SENTENCES, "B" in tasks or "C" in tasks)
    return tuple(name for name, needed in chosen if needed)
