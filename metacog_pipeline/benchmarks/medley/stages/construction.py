"""From the published set, the sample or a folder to the instances that are asked, and under which conditions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.common.files import BuiltItems, Shown, read_frame
from metacog_pipeline.benchmarks.common.items import inputs_current, kept_digest, kept_items, note_inputs
from metacog_pipeline.benchmarks.medley import construction, sources
from metacog_pipeline.benchmarks.medley.construction import items_path, read_items
from metacog_pipeline.benchmarks.medley.construction.gates import Gate
from metacog_pipeline.benchmarks.medley.instance_scores import most_divided
from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.benchmarks.medley.presentation import STRIPPED, applicable
from metacog_pipeline.benchmarks.medley.stages.gates import keep_gates
from metacog_pipeline.benchmarks.medley.stages.generator import read_whole
from metacog_pipeline.benchmarks.medley.stages.settings import BENCHMARK, conditions, folder, settings
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex, write_text
from metacog_pipeline.study import Study

CONSTRUCTION_VERSION = construction.CONSTRUCTION_VERSION
STRIPPED_INSTANCES = 50  # Section 5: those on which the models differ most


@dataclass(frozen=True, slots=True)
class Built(BuiltItems):
    """The finished instances, what is wrong with them, and whether the whole set is fit to be released."""

    gates: tuple[Gate, ...] = ()


def fetch_source(study: Study) -> Shown:
    """Bring the published set home, verified; the sample and a folder need nothing."""
    section = settings(study)
    names = needed_sources(study)
    found = sources.fetch(study.home.path, names) if names else []
    facts = {
        "origin": "; ".join(one.origin for one in found) or section.dataset,
        "rows": sum(one.rows for one in found),
    }
    digests = construction.input_digests(study.home.path, section.dataset, folder(study))
    return Shown(facts, pl.DataFrame({"source": list(digests), "sha256": list(digests.values())}))


def needed_sources(study: Study) -> tuple[str, ...]:
    """Return the names of the sources the study reads."""
    return construction.needed_sources(settings(study).dataset)


def build(study: Study) -> Built:
    """Build the instances from the source at home, or take those the generator made, and write them."""
    section = settings(study)
    done = _built(study)
    note_inputs(items_path(study.home.path), _inputs(study))
    keep_gates(study, done.gates)
    shown = ("item_id", "domain", "is_known_answer", "vignette")
    return Built(
        facts={"rows": len(done.instances), "dataset": section.dataset, **done.counts},
        frame=read_frame(items_path(study.home.path)).select(shown),
        counts=dict(done.counts),
        violations=done.violations,
        gates=done.gates,
    )


def construct(study: Study) -> Built:
    """Bring the source home and build the instances in one go, for callers without Dagster."""
    fetch_source(study)
    return build(study)


def items_current(study: Study) -> bool:
    """Whether the instances on disk were built from what the study names now."""
    return inputs_current(items_path(study.home.path), lambda: _inputs(study))


def instances(study: Study) -> list[Instance]:
    """Return the instances the study asks."""
    return kept_items(items_path(study.home.path), read_items)


def asked(study: Study) -> dict[str, list[Instance]]:
    """Return the instances of each condition of the study; of a condition not decided yet, none."""
    every = instances(study)
    return {
        name: applicable(every, name, stripped_ids(study) if name == STRIPPED else None)
        for name in conditions(study)
    }


def instances_digest(study: Study) -> str:
    """Return the digest of everything that decides how the instances are asked and scored."""
    return kept_digest(items_path(study.home.path), read_items)


def expected_rows(study: Study) -> int:
    """Return the rows of one partition, instances × conditions they apply to; 0 before there are instances."""
    if not items_path(study.home.path).exists():
        return 0
    return sum(len(found) for found in asked(study).values())


def stripped_ids(study: Study) -> frozenset[str]:
    """Return which instances are stripped: all of a small set; of a larger one none before `choose_stripped`."""
    every = instances(study)
    if len(every) <= STRIPPED_INSTANCES:
        return frozenset(instance.instance_id for instance in every)
    path = _stripped_file(study)
    if not path.exists():
        return frozenset()
    chosen = path.read_text("utf-8").split()
    return frozenset(chosen[1:]) if chosen and chosen[0] == instances_digest(study) else frozenset()


def choose_stripped(study: Study, scored: pl.DataFrame) -> bool:
    """Choose the fifty instances on which the models differ most, once; return whether that was done now.

    Parameters
    ----------
    scored
        Scores of instances under ``normal``: columns ``model``, ``instance_id``, ``mms``.

    Notes
    -----
    The choice stays when models are added later: another one would make answers stale that were paid for.
    """
    if STRIPPED not in conditions(study) or stripped_ids(study):
        return False
    chosen = sorted(most_divided(scored, STRIPPED_INSTANCES))
    if not chosen:
        return False
    write_text(_stripped_file(study), "\n".join([instances_digest(study), *chosen]) + "\n")
    return True


def _built(study: Study) -> construction.Built:
    """Return what is built; the sample's generator need not have run, its simulated pool can be heard here as well."""
    home, section, seed = study.home.path, settings(study), study.study.seed
    made = read_whole(study)
    if made is not None:
        return construction.keep(
            home, made.instances, made.gates, made.left_out, seed=seed, limit=section.limit
        )
    if section.generator is not None:
        raise SourceError(
            f"{folder(study)}: the instances are not made yet, or not from what the study names now; run `metacog run` "
            "or `metacog medley generate`"
        )
    return construction.construct(home, section.dataset, seed=seed, limit=section.limit, folder=folder(study))


def _inputs(study: Study) -> str:
    section = settings(study)
    digests = construction.input_digests(study.home.path, section.dataset, folder(study))
    return sha256_hex(
        canonical_json([CONSTRUCTION_VERSION, section.dataset, section.limit, study.study.seed, digests])
    )


def _stripped_file(study: Study) -> Path:
    return items_path(study.home.path).with_name(f"{BENCHMARK}.stripped.txt")
