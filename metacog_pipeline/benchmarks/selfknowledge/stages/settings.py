"""What the study file says about self-knowledge."""

from __future__ import annotations

import functools
from pathlib import Path

from metacog_pipeline.benchmarks.common.files import beside
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK, CONDITIONS, LANGUAGE_OF
from metacog_pipeline.benchmarks.selfknowledge.prompts import IDK, Wording, load_wording
from metacog_pipeline.study import SelfKnowledgeSection, Study

__all__ = ["BENCHMARK", "conditions", "settings", "wording"]


def settings(study: Study) -> SelfKnowledgeSection:
    """Return the study's ``[benchmarks.selfknowledge]``."""
    return study.benchmarks.selfknowledge


def conditions(study: Study) -> tuple[str, ...]:
    """Return the study's conditions: one per language, and the question with leave to abstain."""
    section = settings(study)
    duals = {LANGUAGE_OF[name]: name for name in CONDITIONS if name != IDK}
    return (*(duals[language] for language in section.languages), *((IDK,) if section.asks_idk else ()))


def wording(study: Study) -> Wording:
    """Return the words of the prompts; raises StudyError for a file that cannot be used."""
    section = settings(study)
    path = None if section.wording is None else beside(study, section.wording)
    return _wording(path, () if path is None else _state_of(path))


def _state_of(path: Path) -> tuple[object, ...]:
    if not path.is_file():
        return ()
    state = path.stat()
    return (state.st_mtime_ns, state.st_size)


@functools.lru_cache(maxsize=4)  # a study of a hundred models looks here hundreds of times
def _wording(path: Path | None, changed: tuple[object, ...]) -> Wording:
    return load_wording(path)
