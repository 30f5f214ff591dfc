"""From observations to judgements: what other models say of a model's answers, kept and read like answers themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa

from metacog_pipeline.benchmarks.common.benchmark import Benchmark, Judging
from metacog_pipeline.benchmarks.common.observing import Call, calls_in_order, partition_rows
from metacog_pipeline.benchmarks.common.scoring import observations_path
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.querying.asking import Profile
from metacog_pipeline.querying.panel import Panelist, panel_profile, query_panel
from metacog_pipeline.querying.partition import Progress, SessionResult
from metacog_pipeline.querying.planning import CostEstimate, estimate_whole, stored_answers
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import mark_of, read_frame, write_frame


def judged_partition(judging: Judging, partition: Partition) -> Partition:
    """Return the partition of the judgements about ``partition``'s model and run."""
    return replace(partition, benchmark=judging.name)


def judgements_path(judging: Judging, partition: Partition) -> Path:
    """Return where the judgements of one model and run are kept, read."""
    return observations_path(judged_partition(judging, partition))


def judgements_current(benchmark: Benchmark, partition: Partition) -> bool:
    """Whether nothing is left to ask the judges, or nobody is to judge."""
    judging = benchmark.judged_by(partition.study)
    if judging is None:
        return True
    seat = judged_partition(judging, partition)
    asked = seat.manifest().get("fingerprint") == judging.fingerprint(partition)
    return asked and mark_of(judgements_path(judging, partition)) == _read_from(judging, partition)


def read_judgements(judging: Judging, partition: Partition) -> pl.DataFrame:
    """Read what the judges said and write it down."""
    frame = judging.read(partition)
    write_frame(frame, judgements_path(judging, partition), _read_from(judging, partition))
    return frame


def kept_judgements(judging: Judging, partition: Partition) -> pl.DataFrame | None:
    """Return the judgements of a model and run; None before there are any."""
    path = judgements_path(judging, partition)
    return read_frame(path) if path.exists() else None


def ask_panel(
    judging: Judging,
    partition: Partition,
    panel: Sequence[Panelist],
    on_progress: Callable[[Progress], None] | None,
) -> SessionResult:
    """Ask the judges of a model and run what is not judged yet."""
    seat = judged_partition(judging, partition)
    return query_panel(seat, panel, fingerprint=judging.fingerprint(partition), on_progress=on_progress)


def estimate_panel(
    judging: Judging, partition: Partition, panel: Sequence[Panelist]
) -> dict[str, CostEstimate]:
    """Return what is left to ask about a model and run, by judge; a judgement counts as one call, however many it takes."""
    seat = judged_partition(judging, partition)
    stored = stored_answers(seat.folder)
    found = {}
    for panelist in panel:
        profile = panel_profile(seat, panelist.spec) or Profile(panelist.modes[0])
        found[panelist.spec.name] = estimate_whole(
            panelist.spec, partition.run, partition.seed, profile, panelist.tasks, stored
        )
    return found


def every_judgement(
    judging: Judging, study: Study, benchmark: str, observations: pl.DataFrame
) -> pl.DataFrame | None:
    """Return the judgements of all models and runs of ``observations``, one below the other; None without any."""
    pairs = observations.select("model", "run").unique().sort("model", "run").iter_rows()
    kept = [
        kept_judgements(judging, Partition(study, benchmark, study.model(model), run)) for model, run in pairs
    ]
    present = [frame for frame in kept if frame is not None and frame.height]
    return pl.concat(present) if present and judging.wanted(study) else None


def calls_about(
    transcripts: pa.Table | pl.DataFrame,
    name: str,
    run: int,
    steps: Sequence[str],
    *,
    current_only: bool = False,
) -> dict[tuple[str, str, str], list[Call]]:
    """Return {(item, condition, hash of what was asked): its calls, failed ones first, then by time}.

    ``name`` is that of the partitions of judgements; ``current_only`` leaves superseded rows out.
    """
    kept = partition_rows(transcripts, name, run, steps=steps, superseded=not current_only)
    found: dict[tuple[str, str, str], list[Call]] = {}
    for call in calls_in_order(kept, ("item_hash", "model", "source")):
        found.setdefault((call["item_id"], call["condition"], call["item_hash"]), []).append(call)
    return found


def _read_from(judging: Judging, partition: Partition) -> str:
    manifest = judged_partition(judging, partition).manifest()
    observed = mark_of(observations_path(partition))
    inputs = [judging.version, manifest.get("fingerprint"), manifest.get("finished_at"), observed]
    return sha256_hex(canonical_json(inputs))
