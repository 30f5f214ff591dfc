"""From the sources of a home, a folder, or the shipped facts, to the items of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from metacog_pipeline.benchmarks.selfknowledge import sources
from metacog_pipeline.benchmarks.selfknowledge.construction import rows as question_rows
from metacog_pipeline.benchmarks.selfknowledge.construction.build import Part, build
from metacog_pipeline.benchmarks.selfknowledge.construction.datasets import SAMPLE, dataset_info
from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGES, Item
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import sha256_hex, shipped
from metacog_pipeline.home import Home


def items_of(
    parts: Sequence[Part],
    dataset: str,
    split: str,
    *,
    languages: Sequence[str] = ("en",),
    limit: int | None = None,
    seed: int = 0,
) -> list[Item]:
    """Return the items of ``split`` made of ``parts``; StudyError for a language none of the questions are in."""
    items = build(parts, _called(dataset, parts), split, limit=limit, seed=seed)
    _require_languages(items, dataset, languages)
    return items


def load_parts(home: Home, dataset: str, split: str, folder: Path | None = None) -> list[Part]:
    """Return the files the split is read from, verified; those of ``folder`` need not be the published ones."""
    if dataset == SAMPLE:
        return [Part(SAMPLE, question_rows.read(_sample_file()))]
    parts = []
    several = dataset == "trivia_qa"
    for name in dataset_info(dataset).parts[split]:
        label = ("train" if name.endswith("_train") else "validation") if several else ""
        if folder is None:
            parts.append(Part(name, sources.load_source(home, name), label))
        else:
            found = sources.read_folder(name, folder)
            parts.append(Part(name, found.rows, label, found.published))
    return parts


def needed_sources(dataset: str, split: str | None = None, folder: Path | None = None) -> tuple[str, ...]:
    """Return the names of the sources to fetch: none for the sample, and none with a folder."""
    info = dataset_info(dataset)
    return () if folder is not None else info.parts[info.split(split)]


def input_digests(
    home: Home, dataset: str, split: str | None = None, folder: Path | None = None
) -> dict[str, str]:
    """Return the SHA-256 of every file the items are built from; a source that is not home yet is left out."""
    if dataset == SAMPLE:
        return {SAMPLE: sha256_hex(_sample_file().read_bytes())}
    info = dataset_info(dataset)
    names = info.parts[info.split(split)]
    if folder is not None:
        return {name: sources.folder_digest(name, folder) for name in names}
    found = {name: sources.kept_digest(home, name) for name in names}
    return {name: digest for name, digest in found.items() if digest is not None}


def counted(items: Sequence[Item]) -> dict[str, int]:
    """Return how many items there are, are asked in each language, cannot be answered, and repeat a question."""
    counts = {"items": len(items)}
    for language in LANGUAGES:
        there = [item for item in items if item.question(language) is not None]
        if there:
            counts[f"questions_{language}"] = len(there)
            counts[f"unanswerable_{language}"] = sum(not item.answerable(language) for item in there)
    asked = Counter(item.questions for item in items)
    counts["repeated"] = sum(n - 1 for n in asked.values())
    return counts


def _called(dataset: str, parts: Sequence[Part]) -> str:
    """Return what results are filed under: never the name of a published set for questions that may be others."""
    return dataset if all(part.published for part in parts) else f"{dataset}-local"


def _require_languages(items: Sequence[Item], dataset: str, languages: Sequence[str]) -> None:
    for language in languages:
        if not any(item.question(language) is not None for item in items):
            raise StudyError(
                f'selfknowledge: {dataset} has no question in "{language}"; leave it out of languages'
            )


def _sample_file() -> Path:
    return shipped("data", "selfknowledge", "sample", "facts.jsonl")
