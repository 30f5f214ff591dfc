"""From the source of a home, the shipped sample, or a user's folder, to the instances of a study on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmarks.common.draw import draw
from metacog_pipeline.benchmarks.medley import sources
from metacog_pipeline.benchmarks.medley.construction import steps, tables
from metacog_pipeline.benchmarks.medley.construction.designs import designer_tasks
from metacog_pipeline.benchmarks.medley.construction.files import items_path, write_items
from metacog_pipeline.benchmarks.medley.construction.gates import Evidence, Gate, evaluate
from metacog_pipeline.benchmarks.medley.construction.invariants import check
from metacog_pipeline.benchmarks.medley.construction.pool import pool_tasks
from metacog_pipeline.benchmarks.medley.construction.published import read_set
from metacog_pipeline.benchmarks.medley.construction.roles import (
    ANALYSTS,
    DESIGNERS,
    VERIFIERS,
    Respondent,
    Roles,
    sample_digest,
    sample_roles,
)
from metacog_pipeline.benchmarks.medley.construction.verdicts import verification_tasks
from metacog_pipeline.benchmarks.medley.construction.wording import load_words
from metacog_pipeline.benchmarks.medley.items import DOMAINS, Instance
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling, Status
from metacog_pipeline.querying.types import Answer, Task

CONSTRUCTION_VERSION = "1"
DATASETS = ("published", "sample", "custom")
_PURPOSE = "medley"


@dataclass(frozen=True, slots=True)
class Built:
    """The instances of a study.

    Attributes
    ----------
    counts
        Instances per domain, with a known answer, with a consensus found wrong; claims; and drafts left out.
    violations
        Lines of `invariants.check`.
    gates
        Of the whole set, before a limit took some of it.
    left_out
        {draft: why it did not become an instance}; only where drafts are made into instances.
    """

    instances: tuple[Instance, ...]
    counts: Mapping[str, int]
    violations: tuple[str, ...]
    gates: tuple[Gate, ...]
    left_out: Mapping[str, str]


def construct(
    home: Path,
    dataset: str = "published",
    *,
    seed: int = 0,
    limit: int | None = None,
    folder: Path | None = None,
) -> Built:
    """Build the instances and write them to `items_path`; a published source must be home already.

    Parameters
    ----------
    seed
        Decides which instances a ``limit`` leaves, and in the sample what the simulated pool says.
    limit
        At most so many instances; a larger one only adds. None: all.
    folder
        With ``custom``: a folder in the layout of the published data.

    Raises
    ------
    StudyError
        For an unknown data set, or a folder without ``custom`` or the other way round.
    SourceError
        If a source is missing, not the one it should be, or cannot be read.
    """
    _known(dataset, folder)
    left_out: Mapping[str, str] = {}
    whole: Sequence[Instance]
    evidence: Evidence
    if dataset == "sample":
        whole, evidence, left_out = make_sample(seed)
    else:
        place = sources.load_source(home) if folder is None else folder
        given = read_set(place, dataset)
        whole, evidence = given.instances, given.evidence
    return keep(home, whole, evaluate(whole, evidence), left_out, seed=seed, limit=limit)


def keep(
    home: Path,
    whole: Sequence[Instance],
    gates: Sequence[Gate],
    left_out: Mapping[str, str],
    *,
    seed: int,
    limit: int | None,
) -> Built:
    """Write at most ``limit`` instances of a whole set to `items_path` and return them with what is known of the set."""
    chosen = limited(whole, limit, seed)
    write_items(items_path(home), chosen)
    counts = _counts(chosen, len(left_out))
    return Built(chosen, counts, tuple(check(chosen)), tuple(gates), left_out)


def make_sample(seed: int) -> tuple[list[Instance], Evidence, dict[str, str]]:
    """Return the instances of the sample, what is known of them, and why drafts were left out: every step, in memory."""
    who, words = sample_roles(seed), load_words()
    frames: dict[str, pl.DataFrame] = {"seeds": steps.seeds(who.seeds).frame}
    frames["designs"] = steps.designs(frames, _said(who, DESIGNERS, designer_tasks(who.seeds, words))).frame
    frames["drafts"] = steps.drafts(frames).frame
    about = tables.drafts_of(frames["drafts"])
    said = _said(who, ANALYSTS, pool_tasks(about, words))
    frames["opinions"] = steps.opinions(frames, said, who.families).frame
    frames["disagreement"] = steps.disagreement(frames).frame
    frames["consensus"] = steps.consensus(frames).frame
    frames["panels"] = steps.panels(frames).frame
    given = verification_tasks(steps.to_verify(frames), words)
    frames["verification"] = steps.verification(frames, _said(who, VERIFIERS, given)).frame
    made = steps.assembled(frames, who.dataset)
    known = steps.evidence(frames, made, seed, words.versions, anonymised=True)
    return made, known, steps.left_out(frames)


def _said(who: Roles, role: str, tasks: Sequence[Task]) -> dict[str, dict[str, list[str]]]:
    """Return what the simulated people of a role reply to tasks, without keeping it."""

    async def answer(task: Task, respond: Respondent) -> list[str]:
        texts: list[str] = []

        async def ask(step: str, messages: Sequence[Message], **_: Any) -> Answer:
            texts.append(respond(ChatRequest(tuple(messages), Sampling(), step=step)))
            return Answer(Status.OK, texts[-1])

        await task.run(ask, "text")
        return texts

    return {
        spec.name: {
            task.item_id: asyncio.run(answer(task, who.respondents[role, spec.name])) for task in tasks
        }
        for spec in who.people[role]
    }


def limited(instances: Sequence[Instance], limit: int | None, seed: int) -> tuple[Instance, ...]:
    """Return at most ``limit`` instances, drawn by their ids, in their order and newly numbered."""
    if limit is None:
        return tuple(instances)
    kept = set(draw([instance.instance_id for instance in instances], limit, seed, _PURPOSE))
    chosen = [instance for instance in instances if instance.instance_id in kept]
    return tuple(replace(instance, position=place) for place, instance in enumerate(chosen))


def needed_sources(dataset: str) -> tuple[str, ...]:
    """Return the names of the sources to fetch: none but for the published set."""
    return (sources.PUBLISHED,) if dataset == "published" else ()


def input_digests(home: Path, dataset: str, folder: Path | None = None) -> dict[str, str]:
    """Return the SHA-256 of what the instances are built from; a source that is not home yet is left out."""
    _known(dataset, folder)
    if dataset == "published":
        kept = sources.kept_digest(home)
        return {} if kept is None else {sources.PUBLISHED: kept}
    if folder is None:
        return {dataset: sample_digest()}
    files = sorted(path for path in folder.rglob("*.json") if path.is_file())
    digests = {path.relative_to(folder).as_posix(): sha256_hex(path.read_bytes()) for path in files}
    return {dataset: sha256_hex(canonical_json(digests))}


def _known(dataset: str, folder: Path | None) -> None:
    if dataset not in DATASETS:
        raise StudyError(f"medley: unknown dataset {dataset!r}; there are: {', '.join(DATASETS)}")
    if (dataset == "custom") != (folder is not None):
        raise StudyError('medley: dataset = "custom" and folder = "…" go together: give both or neither')


def _counts(instances: Sequence[Instance], left_out: int) -> dict[str, int]:
    return {
        **{domain: sum(instance.domain == domain for instance in instances) for domain in DOMAINS},
        "known_answer": sum(instance.known_answer is not None for instance in instances),
        "verified_wrong_claims": sum(len(instance.verified_wrong) for instance in instances),
        "claims": sum(len(instance.claims) for instance in instances),
        "left_out": left_out,
    }
