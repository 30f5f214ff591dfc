"""Renamed models: a model's name says where its answers are kept; under a new name everything would be paid for again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.asking.variables import RENAMED
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.batch import records
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import base_url
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.folder import PartitionFolder, kept_folders, read_manifest
from metacog_pipeline.transcripts.journal import segments


def rename_problem(study: Study, spec: ModelSpec) -> str | None:
    """Return a line where ``spec`` is billed and would be asked what a name no longer listed has answers to; else None."""
    own = kept_folders(study.home, model=spec.name)
    if spec.free or any(_enabled(study, each.benchmark) and _answered(each) for each in own):
        return None
    listed = {each.name for each in study.askable}
    found: Counter[str] = Counter()
    for folder in kept_folders(study.home):
        if folder.model in listed or not _enabled(study, folder.benchmark):
            continue
        noted = read_manifest(folder)
        if noted.get("asked_as") == request_digest(spec):
            answered = noted.get("n_answered")
            found[folder.model] += answered if isinstance(answered, int) else 0
    for record in (each.record for each in records.batches(study.home)):
        benchmark, model, _ = record.partition
        theirs = record.address == base_url(spec) and _enabled(study, benchmark)
        if theirs and model not in listed and record.state in records.UNFINISHED:
            found[model] += record.n
    kept = {name: f'{n:,} answers of "{name}"' for name, n in found.items() if n}
    if not kept:
        return None
    return (
        f"{', '.join(kept.values())} are kept, or in batches, with the settings of {spec.name}, which has none: name it "
        f'"{next(iter(kept))}" again, or have everything asked and paid for anew with metacog run --reask {RENAMED}'
    )


def refuse(study: Study, chosen: Collection[str]) -> None:
    """Raise StudyError where one of the ``chosen`` models (all, where none is) seems to be an old one renamed."""
    for spec in study.askable:
        problem = rename_problem(study, spec) if not chosen or spec.name in chosen else None
        if problem is not None:
            raise StudyError(f"model {spec.name}: {problem}")


def _answered(folder: PartitionFolder) -> bool:
    return bool(segments(folder)) or folder.copy.exists()


def _enabled(study: Study, benchmark: str) -> bool:
    """Whether the study asks what is kept under ``benchmark``: answers, judgements, or what items are made from."""
    return any(benchmark == name or benchmark.startswith(f"{name}_") for name in study.enabled)
