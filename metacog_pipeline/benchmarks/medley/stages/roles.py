"""Who makes the study's instances, and from which seeds."""

from __future__ import annotations

from metacog_pipeline.benchmarks.common.files import beside
from metacog_pipeline.benchmarks.medley.construction.designs import read_seeds
from metacog_pipeline.benchmarks.medley.construction.roles import (
    ANALYSTS,
    DESIGNERS,
    LEAST_TOKENS,
    VERIFIERS,
    Roles,
    sample_roles,
    seeds_digest,
)
from metacog_pipeline.benchmarks.medley.stages.settings import settings
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study import Study


def wanted(study: Study) -> bool:
    """Whether the study makes its instances: the sample's, or new ones."""
    section = settings(study)
    return section.enabled and (section.dataset == "sample" or section.generator is not None)


def roles(study: Study) -> Roles:
    """Return who takes part; raises SourceError for seeds that cannot be used, StudyError where nothing is made."""
    section = settings(study)
    if section.dataset == "sample":
        return sample_roles(study.study.seed)
    if section.generator is None:
        raise StudyError(
            f"{study.path.name}: nothing to make instances from; add [benchmarks.medley.generator] or take "
            'dataset = "sample"'
        )
    named = section.generator
    read = tuple(read_seeds(beside(study, named.seeds)))
    people = {
        DESIGNERS: _with_room(DESIGNERS, study.analysts, named.designers),
        ANALYSTS: _with_room(ANALYSTS, study.analysts, named.pool),
        VERIFIERS: _with_room(VERIFIERS, study.judges, named.judges),
    }
    return Roles("custom", read, seeds_digest(read), people, {})


def _with_room(role: str, listed: tuple[ModelSpec, ...], names: tuple[str, ...]) -> tuple[ModelSpec, ...]:
    """Return the named models with room for the replies of their role; a study's default is one letter's worth."""
    by_name = {spec.name: spec for spec in listed}
    found = [by_name[name] for name in names]
    room = LEAST_TOKENS[role]
    return tuple(spec.model_copy(update={"max_tokens": max(spec.max_tokens, room)}) for spec in found)
