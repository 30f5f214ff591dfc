"""Who makes new instances, and from which seeds: what the study names, or the simulated people of the sample."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmarks.common.files import beside
from metacog_pipeline.benchmarks.medley.construction import input_digests
from metacog_pipeline.benchmarks.medley.construction.designs import Seed, read_seeds
from metacog_pipeline.benchmarks.medley.construction.respondents import (
    SimulatedAnalyst,
    SimulatedDesigner,
    SimulatedJudge,
    seed_of,
)
from metacog_pipeline.benchmarks.medley.construction.simulated import Simulated, read_sample
from metacog_pipeline.benchmarks.medley.stages.settings import settings
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest
from metacog_pipeline.study import Study

DESIGNERS, POOL, JUDGES = "designers", "pool", "judges"
Voice = Callable[[ChatRequest], str]
# The least a reply may take: a case of 400 words with evidence for five claims, five reasoned ratings, one verdict.
_ROOM = {DESIGNERS: 4_000, POOL: 3_000, JUDGES: 600}


@dataclass(frozen=True, slots=True)
class Cast:
    """Everybody who takes part.

    Attributes
    ----------
    dataset
        What the instances are called: ``sample`` or ``custom``.
    seeds, seeds_digest
        The seeds in file order, and the digest of what they were read from.
    people
        {designers | pool | judges: their models, in the order of the study file}.
    voices
        {(role, name): simulated respondent}; empty outside the sample.
    """

    dataset: str
    seeds: tuple[Seed, ...]
    seeds_digest: str
    people: Mapping[str, tuple[ModelSpec, ...]]
    voices: Mapping[tuple[str, str], Voice]

    @property
    def families(self) -> dict[str, str]:
        """{analyst of the pool: family}."""
        return {spec.name: spec.family or spec.name for spec in self.people[POOL]}


def wanted(study: Study) -> bool:
    """Whether the study makes its instances: the sample's, or new ones."""
    section = settings(study)
    return section.enabled and (section.dataset == "sample" or section.generator is not None)


def cast(study: Study) -> Cast:
    """Return who takes part; raises SourceError for seeds that cannot be used, StudyError where nothing is made."""
    section = settings(study)
    if section.dataset == "sample":
        return _sample_cast(study.study.seed)
    if section.generator is None:
        raise StudyError(
            f"{study.path.name}: nothing to make instances from; add [benchmarks.medley.generator] or take "
            'dataset = "sample"'
        )
    named, seeds = section.generator, beside(study, section.generator.seeds)
    read = tuple(read_seeds(seeds))
    return Cast(
        "custom",
        read,
        sha256_hex(canonical_json([[seed.seed_id, seed.domain, seed.item_hash] for seed in read])),
        {
            DESIGNERS: _roomy(DESIGNERS, study.analysts, named.designers),
            POOL: _roomy(POOL, study.analysts, named.pool),
            JUDGES: _roomy(JUDGES, study.judges, named.judges),
        },
        {},
    )


def _roomy(role: str, listed: tuple[ModelSpec, ...], names: tuple[str, ...]) -> tuple[ModelSpec, ...]:
    """Return the named models with room for the replies of their role; a study's default is one letter's worth."""
    by_name = {spec.name: spec for spec in listed}
    found = [by_name[name] for name in names]
    return tuple(spec.model_copy(update={"max_tokens": max(spec.max_tokens, _ROOM[role])}) for spec in found)


@functools.lru_cache(maxsize=2)  # every stage asks; the shipped files do not change under a running process
def _sample_cast(seed: int) -> Cast:
    sample = read_sample()
    digest = sha256_hex(canonical_json([input_digests(Path(), "sample"), seed]))

    def spec(person: Simulated) -> ModelSpec:
        # The digest stands in the model id, so that other sample files or another seed ask anew.
        model = f"sample-{digest[:16]}-{person.name}"
        return ModelSpec(name=person.name, provider="simulated", model=model, family=person.family)

    designers = tuple(
        Simulated(f"designer-{place}", "sample", 1.0)
        for place in range(1, max(len(draft.difficulty) for draft in sample.drafts) + 1)
    )
    people = {DESIGNERS: designers, POOL: sample.analysts, JUDGES: sample.judges}
    voices: dict[tuple[str, str], Voice] = {}
    for place, person in enumerate(designers):
        voices[DESIGNERS, person.name] = SimulatedDesigner(sample, place)
    for person in sample.analysts:
        voices[POOL, person.name] = SimulatedAnalyst(sample, person, seed)
    for person in sample.judges:
        voices[JUDGES, person.name] = SimulatedJudge(sample, person, seed)
    return Cast(
        "sample",
        tuple(seed_of(draft) for draft in sample.drafts),
        digest,
        {role: tuple(map(spec, group)) for role, group in people.items()},
        voices,
    )
