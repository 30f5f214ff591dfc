"""What the study file says about MEDLEY-BENCH."""

from __future__ import annotations

from pathlib import Path

from metacog_pipeline.benchmarks.common.files import beside
from metacog_pipeline.benchmarks.common.wording import words_of
from metacog_pipeline.benchmarks.medley.items import BENCHMARK
from metacog_pipeline.benchmarks.medley.judging.prompts import JudgeWording, load_judge_wording
from metacog_pipeline.benchmarks.medley.presentation import REFERENCE_MASKING, Masking
from metacog_pipeline.benchmarks.medley.prompts import Wording, load_wording
from metacog_pipeline.benchmarks.medley.settings import Settings
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study import Study

__all__ = [
    "BENCHMARK",
    "conditions",
    "folder",
    "generator_folder",
    "judge_wording",
    "judges",
    "made_folder",
    "masking",
    "settings",
    "wording",
]


def settings(study: Study) -> Settings:
    """Return the study's ``[benchmarks.medley]``."""
    found = study.benchmarks.get(BENCHMARK) or Settings()
    assert isinstance(found, Settings)
    return found


def conditions(study: Study) -> tuple[str, ...]:
    """Return the study's conditions, the normal one first: the others reuse its first two steps."""
    named = settings(study).conditions
    return tuple(sorted(named, key=lambda name: name != "normal"))


def folder(study: Study) -> Path | None:
    """Return the folder of a custom data set; with a generator that of the set it makes."""
    if settings(study).generator is not None:
        return made_folder(study)
    given = settings(study).folder
    return None if given is None else beside(study, given)


def generator_folder(study: Study) -> Path:
    """Return where the stages of the generator keep what they make."""
    return study.home.items / "medley_generator"


def made_folder(study: Study) -> Path:
    """Return where the generator writes its instances, in the layout of the published data."""
    return generator_folder(study) / "set"


def masking(study: Study) -> Masking:
    """Return what is hidden of the analysts."""
    section = settings(study)
    if not section.anonymise and section.order == "file":
        return REFERENCE_MASKING
    return Masking(anonymise=section.anonymise, order=section.order)


def wording(study: Study) -> Wording:
    """Return the words of the prompts; raises StudyError for an unreadable file."""
    return words_of(study, settings(study).wording, load_wording)


def judge_wording(study: Study) -> JudgeWording:
    """Return the words the judges are asked in; raises StudyError for an unreadable file."""
    return words_of(study, settings(study).judge_wording, load_judge_wording)


def judges(study: Study) -> tuple[ModelSpec, ...]:
    """Return the judges the study names for this benchmark, in that order."""
    by_name = {spec.name: spec for spec in study.judges}
    return tuple(by_name[name] for name in settings(study).judges)
