"""What the study file says about MetaCog-Bench."""

from __future__ import annotations

import functools
from pathlib import Path

from metacog_pipeline.benchmarks.common.files import beside
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.benchmarks.metacogbench.lexicon import Lexicon, load_lexicon, shipped_lexicon
from metacog_pipeline.benchmarks.metacogbench.prompts import Wording, load_wording
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import MetaCogBenchSection, Study

__all__ = ["BENCHMARK", "conditions", "lexicon", "settings", "wording"]


def settings(study: Study) -> MetaCogBenchSection:
    """Return the study's ``[benchmarks.metacogbench]``."""
    return study.benchmarks.metacogbench


def conditions(study: Study) -> tuple[str, ...]:
    """Return the study's conditions."""
    return settings(study).conditions


def wording(study: Study) -> Wording:
    """Return the words of the prompts; raises StudyError for a file that cannot be used."""
    section = settings(study)
    path = None if section.wording is None else beside(study, section.wording)
    return _wording(path, () if path is None else _state_of(path))


def lexicon(study: Study) -> Lexicon:
    """Return the cues replies are read with; raises StudyError for a file that cannot be used."""
    section = settings(study)
    if section.lexicon is None:
        return shipped_lexicon()
    path = beside(study, section.lexicon)
    if path.is_dir() and not any(path.glob("*.toml")) and not any(path.glob("*.json")):
        raise StudyError(
            f"lexicon {path}: a folder without a list of cues; give a TOML or JSON file, or a folder of them"
        )
    return _lexicon(path, _state_of(path))


def _state_of(path: Path) -> tuple[object, ...]:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    found = [(file.name, file.stat()) for file in files if file.is_file()]
    return tuple((name, state.st_mtime_ns, state.st_size) for name, state in found)


@functools.lru_cache(maxsize=4)  # a study of a hundred models looks here hundreds of times
def _wording(path: Path | None, changed: tuple[object, ...]) -> Wording:
    return load_wording(path)


@functools.lru_cache(maxsize=4)
def _lexicon(path: Path, changed: tuple[object, ...]) -> Lexicon:
    return load_lexicon(path)
