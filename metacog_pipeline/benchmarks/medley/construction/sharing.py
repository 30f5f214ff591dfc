"""The set of instances a study made: which gates it passes, and the set in the layout of the published data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metacog_pipeline.asking import construction
from metacog_pipeline.benchmarks.medley.construction import steps, tables
from metacog_pipeline.benchmarks.medley.construction.gates import Gate, gates_of
from metacog_pipeline.benchmarks.medley.construction.layout import write_set
from metacog_pipeline.benchmarks.medley.construction.probes import draw_probes
from metacog_pipeline.benchmarks.medley.construction.roles import VERIFIERS
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.scoring.files import table_path
from metacog_pipeline.study.frames import read_frame

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.medley import Medley


def kept_gates(bench: Medley) -> tuple[Gate, ...]:
    """Return the gates as last decided: by judges of answers where there are any, else when the set was made.

    Raises ``SourceError`` where they were not evaluated yet.
    """
    decided, made = table_path(bench, "gates"), construction.result_path(bench, "gates")
    path = decided if decided.exists() else made
    if not path.exists():
        raise SourceError(f"{path}: the gates are not evaluated yet; run `metacog run` first")
    return gates_of(read_frame(path))


def write_made(bench: Medley, folder: Path) -> int:
    """Write the whole set to ``folder`` and return how many instances it has.

    Raises ``StudyError`` where the study makes none, ``SourceError`` where a step has not been taken yet.
    """
    if not bench.makes_items:
        raise StudyError(
            f"{bench.context.study.path.name}: the study takes instances that are there; add [benchmarks.medley.generator]"
        )
    if stale := [s for s in construction.stale_steps(bench) if s in construction.for_items(bench)]:
        raise SourceError(f"medley_{stale[0]} is not made yet; run `metacog run` first")
    kept = construction.KeptInputs(bench)
    instances = steps.assembled(kept.frame, bench.roles.dataset)
    write_set(
        folder,
        instances,
        tables.verdicts_by_draft(kept.frame("verification")),
        [spec.name for spec in bench.roles.people[VERIFIERS]],
        probes=draw_probes(instances, bench.context.seed),
        difficulty=dict(kept.frame("drafts").select("draft_id", "tier").iter_rows()),
    )
    return len(instances)
