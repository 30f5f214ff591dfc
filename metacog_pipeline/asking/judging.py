"""Judges: what other models say of a model's responses, asked, kept and read like answers themselves.

Their partition is that of the judged model and run, under the name ``<benchmark>_judgements``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Judging, Stage
from metacog_pipeline.benchmark.schema import schema_of
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.asking import Profile
from metacog_pipeline.querying.panel import (
    Panelist,
    panel_asked_as,
    panel_identities,
    panel_profile,
    query_panel,
)
from metacog_pipeline.querying.partition import Progress, SessionResult
from metacog_pipeline.querying.planning import CostEstimate, estimate_whole, stored_answers
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.study.frames import read_frame
from metacog_pipeline.transcripts.folder import judgements_of
from metacog_pipeline.transcripts.store import answers_table

Bound = Benchmark[Any, Any, Any]


def wanted(benchmark: Bound) -> Judging | None:
    """Return how responses are judged, where the study names judges; None elsewhere."""
    judging = benchmark.judging
    return judging if judging is not None and judging.wanted(benchmark) else None


def judged_as(partition: Partition) -> Partition:
    """Return the partition of the judgements about ``partition``'s model and run."""
    return replace(partition, benchmark=judgements_of(partition.benchmark))


def panel(
    benchmark: Bound, judging: Judging, spec: ModelSpec, responses: pl.DataFrame | None
) -> list[Panelist]:
    """Return who is asked what about a model; as much as there can be at most where ``responses`` is None."""
    found = []
    for judge in judging.judges(benchmark, spec):
        todo = (
            judging.longest(benchmark, spec, judge)
            if responses is None
            else judging.tasks(benchmark, judge, responses)
        )
        respond = judging.respondent(benchmark, judge) if judge.provider == "simulated" else None
        found.append(Panelist(judge, todo, judging.modes(judge), respond))
    return found


def fingerprint(benchmark: Bound, judging: Judging, partition: Partition, responses: pl.DataFrame) -> str:
    """Return a digest of everything a partition's judgements depend on."""
    judges = judging.judges(benchmark, partition.spec)
    cases = [
        sorted({task.item_hash for task in judging.tasks(benchmark, judge, responses)}) for judge in judges
    ]
    settings = benchmark.settings.affecting(Stage.JUDGING)
    version = [benchmark.versions[Stage.JUDGING], judging.version]
    return sha256_hex(canonical_json([version, panel_asked_as(judges), cases, settings]))


def expected(benchmark: Bound, judging: Judging, partition: Partition, responses: pl.DataFrame) -> int:
    """Return how many judgements a partition needs."""
    return sum(len(each.tasks) for each in panel(benchmark, judging, partition.spec, responses))


def ask(
    benchmark: Bound,
    judging: Judging,
    partition: Partition,
    responses: pl.DataFrame,
    on_progress: Callable[[Progress], None] | None = None,
) -> SessionResult:
    """Ask the judges of a model and run what is not judged yet."""
    return query_panel(
        judged_as(partition),
        panel(benchmark, judging, partition.spec, responses),
        fingerprint=fingerprint(benchmark, judging, partition, responses),
        on_progress=on_progress,
    )


def read(benchmark: Bound, judging: Judging, partition: Partition, responses: pl.DataFrame) -> pl.DataFrame:
    """Return the kept judgements of a model and run, one row per item, condition and judge.

    Of a partition that stopped early only those count that answer what would be asked now. A judge that is called
    otherwise now keeps its judgements.
    """
    folder = judged_as(partition)
    transcripts = pl.DataFrame(pl.from_arrow(answers_table(folder.folder)))
    judges = [each.name for each in judging.judges(benchmark, partition.spec)]
    stopped = folder.manifest().get("state") != "complete"
    if stopped or not transcripts["model"].is_in(judges).all():
        now = panel_identities(folder, panel(benchmark, judging, partition.spec, responses))
        whose = {answer: judge for judge, answers in now.items() for answer in answers}
        renamed = pl.col("answer_id").replace_strict(whose, default=pl.col("model"))
        named = pl.col("model").is_in(judges)
        transcripts = transcripts.with_columns(pl.when(named).then("model").otherwise(renamed).alias("model"))
        if stopped:
            transcripts = transcripts.filter(pl.col("answer_id").is_in(list(whose)))
    made = judging.read(benchmark, transcripts, responses)
    schema = schema_of(judging.row)
    return made.select(pl.col(name).cast(kind) for name, kind in schema.items())


def left_to_ask(
    benchmark: Bound, judging: Judging, partition: Partition, responses: pl.DataFrame | None
) -> dict[str, CostEstimate]:
    """Return what is left to ask about a model and run, by judge; a judgement counts as one call, however many it takes."""
    kept = judged_as(partition)
    stored = stored_answers(kept.folder)
    found = {}
    for each in panel(benchmark, judging, partition.spec, responses):
        profile = panel_profile(kept, each.spec) or Profile(each.modes[0])
        found[each.spec.name] = estimate_whole(
            each.spec, partition.run, partition.seed, profile, each.tasks, stored
        )
    return found


def responses_path(partition: Partition) -> Path:
    """Return where a partition's responses, which judges are asked about, are kept."""
    folder = partition.study.home.path / "responses" / partition.benchmark / f"model={partition.spec.name}"
    return folder / f"run={partition.run}.parquet"


def kept_responses(partition: Partition) -> pl.DataFrame | None:
    """Return a partition's responses; None before there are any."""
    path = responses_path(partition)
    return read_frame(path) if path.exists() else None


def judgements_path(home: Path, partition: Partition) -> Path:
    """Return where the judgements of one model and run are kept, read."""
    folder = home / "judgements" / partition.benchmark / f"model={partition.spec.name}"
    return folder / f"run={partition.run}.parquet"
