"""Renamed models: a model's name says where its answers are kept; under a new name everything would be paid for again."""

from __future__ import annotations

from collections.abc import Collection

from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.asking.variables import RENAMED
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.folder import kept_folders, read_manifest


def rename_problem(study: Study, spec: ModelSpec) -> str | None:
    """Return a line where ``spec`` is billed, has no answers, and is asked as a model was that is no longer listed."""
    own = kept_folders(study.home, model=spec.name)
    if spec.free or any(read_manifest(folder).get("n_answered") for folder in own):
        return None
    listed = {each.name for each in study.askable}
    for folder in kept_folders(study.home):
        noted = {} if folder.model in listed else read_manifest(folder)
        if noted.get("asked_as") == request_digest(spec) and noted.get("n_answered"):
            return (
                f'answers of "{folder.model}" are kept with the settings of {spec.name}, which has none: name it '
                f'"{folder.model}" again, or have everything asked and paid for anew with metacog run --reask {RENAMED}'
            )
    return None


def refuse(study: Study, chosen: Collection[str]) -> None:
    """Raise StudyError where one of the ``chosen`` models (all, where none is) seems to be an old one renamed."""
    for spec in study.askable:
        problem = rename_problem(study, spec) if not chosen or spec.name in chosen else None
        if problem is not None:
            raise StudyError(f"model {spec.name}: {problem}")
