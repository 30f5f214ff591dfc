"""Who makes new instances, and from which seeds: what the study names, or the simulated people of the sample."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metacog_pipeline.benchmarks.medley.construction.drafts import Seed, read_seeds
from metacog_pipeline.benchmarks.medley.construction.simulated_authors import (
    Person,
    SimulatedAuthor,
    read_sample,
    sample_folder,
)
from metacog_pipeline.benchmarks.medley.construction.wording import load_words
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest

if TYPE_CHECKING:
    from metacog_pipeline.benchmark.contract import Context
    from metacog_pipeline.benchmarks.medley.settings import Settings

#: The sample as it was before 0.3.0: directions by the number of the consensus, panels without verification.
FIRST_SAMPLE = "sample-v1"
DESIGNERS, ANALYSTS, VERIFIERS = "designers", "analysts", "verifiers"
Respondent = Callable[[ChatRequest], str]
# The least a reply may take: a case of 400 words with evidence for five claims, five reasoned ratings, one verdict.
LEAST_TOKENS = {DESIGNERS: 4_000, ANALYSTS: 3_000, VERIFIERS: 600}


@dataclass(frozen=True, slots=True)
class Roles:
    """Everybody who takes part.

    ``dataset`` is what the instances are called: ``sample``, ``sample-v1`` or ``custom``; ``seeds_digest`` that of what the
    seeds were read from; ``people`` are {designers | analysts | verifiers: their models, in the order of the study file},
    ``respondents`` {(role, name): simulated respondent}, empty outside the sample.
    """

    dataset: str
    seeds: tuple[Seed, ...]
    seeds_digest: str
    people: Mapping[str, tuple[ModelSpec, ...]]
    respondents: Mapping[tuple[str, str], Respondent]

    @property
    def families(self) -> dict[str, str]:
        """{analyst: family}."""
        return {spec.name: spec.family or spec.name for spec in self.people[ANALYSTS]}


def roles_of(settings: Settings, context: Context) -> Roles:
    """Return who takes part under a study's settings; raises SourceError for seeds that cannot be used."""
    named, study = settings.generator, context.study
    if named is None:
        return sample_roles(context.seed, settings.dataset)
    read = tuple(read_seeds(context.beside(named.seed_file)))
    people = {}
    for role, room in LEAST_TOKENS.items():
        listed = {spec.name: spec for spec in (study.judges if role == VERIFIERS else study.authors)}
        # With room for the replies of the role: a study's default is one letter's worth.
        people[role] = tuple(
            listed[name].model_copy(update={"max_tokens": max(listed[name].max_tokens, room)})
            for name in getattr(named, role)
        )
    digest = sha256_hex(canonical_json([[seed.seed_id, seed.domain, seed.item_hash] for seed in read]))
    return Roles("custom", read, digest, people, {})


def digest_of(folder: Path, pattern: str) -> str:
    """Return the digest of all files of a folder whose names fit."""
    files = sorted(path for path in folder.rglob(pattern) if path.is_file())
    digests = {path.relative_to(folder).as_posix(): sha256_hex(path.read_bytes()) for path in files}
    return sha256_hex(canonical_json(digests))


@functools.lru_cache(maxsize=2)  # every step asks; the shipped files do not change under a running process
def sample_roles(seed: int, dataset: str = "sample") -> Roles:
    """Return the simulated people of the sample."""
    sample, words = read_sample(), load_words()
    digest = sha256_hex(canonical_json([{"sample": digest_of(sample_folder(), "*.toml")}, seed]))

    def spec(person: Person) -> ModelSpec:
        # The digest stands in the model id, so that other sample files or another seed ask anew.
        model = f"sample-{digest[:16]}-{person.name}"
        return ModelSpec(name=person.name, provider="simulated", model=model, family=person.family)

    people = {DESIGNERS: sample.designers, ANALYSTS: sample.analysts, VERIFIERS: sample.verifiers}
    return Roles(
        dataset,
        sample.seeds,
        digest,
        {role: tuple(map(spec, group)) for role, group in people.items()},
        {
            (role, person.name): SimulatedAuthor(person, words, sample, seed)
            for role, group in people.items()
            for person in group
        },
    )
