"""Answers under a name that a study no longer lists, of a model it lists under another name and has not asked yet.

A model's name says where its answers are kept. Under a new one everything would be asked, and paid for, again.
"""

from __future__ import annotations

from collections.abc import Collection

from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.asking.variables import RENAMED
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.batch import records
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import base_url
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.folder import PartitionFolder, kept_folders, read_manifest
from metacog_pipeline.transcripts.segments import segments


def rename_problem(study: Study, spec: ModelSpec) -> str | None:
    """Return a line where ``spec`` costs money and would be asked what another name has answers to; else None."""
    if spec.free or _kept(study, spec.name):
        return None
    listed = {each.name for each in study.askable}
    settings, found = request_digest(spec), dict[str, int]()
    for folder in kept_folders(study.home):
        noted = read_manifest(folder)
        if (
            folder.model not in listed
            and _enabled(study, folder.benchmark)
            and noted.get("asked_as") == settings
        ):
            answered = noted.get("n_answered")
            found[folder.model] = found.get(folder.model, 0) + (answered if isinstance(answered, int) else 0)
    for batch in records.batches(study.home):
        benchmark, model, _ = batch.record.partition
        here = batch.record.address == base_url(spec) and _enabled(study, benchmark)
        if here and model not in listed and batch.record.state in records.UNFINISHED:
            found[model] = found.get(model, 0) + batch.record.n
    told = {name: f'{n:,} answers of "{name}"' for name, n in found.items() if n}
    if not told:
        return None
    return (
        f"{', '.join(told.values())} are kept, or in batches, with the settings of {spec.name}, which has none: name it "
        f'"{next(iter(told))}" again, or have everything asked and paid for anew with metacog run --reask {RENAMED}'
    )


def refuse(study: Study, chosen: Collection[str]) -> None:
    """Raise StudyError where one of the ``chosen`` models (all, where none is) seems to be an old one renamed."""
    for spec in study.askable:
        if chosen and spec.name not in chosen:
            continue
        if (problem := rename_problem(study, spec)) is not None:
            raise StudyError(f"model {spec.name}: {problem}")


def _kept(study: Study, name: str) -> list[PartitionFolder]:
    return [
        folder
        for folder in kept_folders(study.home, model=name)
        if _enabled(study, folder.benchmark) and (segments(folder) or folder.copy.exists())
    ]


def _enabled(study: Study, benchmark: str) -> bool:
    """Whether the study asks what is kept under ``benchmark``: answers, judgements, or what items are made from."""
    return any(benchmark == name or benchmark.startswith(f"{name}_") for name in study.enabled)
