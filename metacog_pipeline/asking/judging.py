"""Judges: verdicts of other models on a model's responses, asked, kept and read like answers themselves.

Their partition is that of the judged model and run, under the name ``<benchmark>_judgements``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.asking import cost_estimate
from metacog_pipeline.asking.cost_estimate import identities, stored_answers
from metacog_pipeline.asking.dry_run import CostEstimate
from metacog_pipeline.asking.panel import Panelist
from metacog_pipeline.asking.session import Partition, query_panel, request_digest
from metacog_pipeline.asking.states import OnProgress, Profile, SessionResult, Tally
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Judging, Stage
from metacog_pipeline.benchmark.item_files import items_digest
from metacog_pipeline.benchmark.schema import schema_of
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study.frames import read_frame
from metacog_pipeline.transcripts.folder import judgements_of, write_manifest
from metacog_pipeline.transcripts.store import answers_table


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
    """Return the judges of a model with their tasks; the longest there may be where ``responses`` is None."""
    return [
        Panelist(
            judge,
            judging.longest(benchmark, spec, judge)
            if responses is None
            else judging.tasks(benchmark, judge, responses),
            judging.modes(judge),
        )
        for judge in judging.judges(benchmark, spec)
    ]


def needed(
    benchmark: Bound, judging: Judging, partition: Partition, responses: pl.DataFrame
) -> tuple[int, str]:
    """Return how many judgements a partition needs, and a digest of everything they depend on."""
    asked = panel(benchmark, judging, partition.spec, responses)
    return sum(len(each.tasks) for each in asked), _fingerprint(benchmark, judging, asked)


def _fingerprint(benchmark: Bound, judging: Judging, asked: Sequence[Panelist]) -> str:
    cases = [sorted({task.item_hash for task in each.tasks}) for each in asked]
    rules = _rules(benchmark, judging, [each.spec for each in asked])
    return sha256_hex(canonical_json([*rules, cases, benchmark.settings.affecting(Stage.JUDGING)]))


def _rules(benchmark: Bound, judging: Judging, judges: Sequence[ModelSpec]) -> list[Any]:
    return [[benchmark.versions[Stage.JUDGING], judging.version], [request_digest(spec) for spec in judges]]


def needed_by(benchmark: Bound, judging: Judging, spec: ModelSpec) -> list[Any] | None:
    """Return what decides, besides its responses, what judges are asked about a model; None where only tasks decide."""
    if judging.worded_by is None:
        return None
    items = items_digest(benchmark.context.home, benchmark.name, benchmark.Item)
    rules = _rules(benchmark, judging, judging.judges(benchmark, spec))
    return [*rules, items, judging.worded_by(benchmark), benchmark.settings.affecting(Stage.JUDGING)]


def ask(
    benchmark: Bound,
    judging: Judging,
    partition: Partition,
    responses: pl.DataFrame,
    on_progress: OnProgress = None,
) -> SessionResult:
    """Ask the judges of a model and run what is not judged yet; nobody where their verdicts were imported."""
    if replays(benchmark, judging, partition):
        return _imported(benchmark, judging, partition, responses)
    asked = panel(benchmark, judging, partition.spec, responses)
    now = _fingerprint(benchmark, judging, asked)
    asked = [
        replace(each, respond=judging.respondent(benchmark, each.spec))
        if each.spec.provider == "simulated"
        else each
        for each in asked
    ]
    return query_panel(judged_as(partition), asked, fingerprint=now, on_progress=on_progress)


def replays(benchmark: Bound, judging: Judging, partition: Partition) -> bool:
    """Whether the judges of a model are replayed: their imported verdicts are all there is."""
    judges = judging.judges(benchmark, partition.spec)
    return bool(judges) and all(each.provider == "replay" for each in judges)


def note_replayed(benchmark: Bound, judging: Judging, partition: Partition, responses: pl.DataFrame) -> int:
    """Note that imported verdicts are those of the responses as they are now; return how many are needed."""
    own, (n, now) = judged_as(partition), needed(benchmark, judging, partition, responses)
    manifest = own.manifest()
    if manifest and manifest.get("fingerprint") != now:
        write_manifest(own.folder, {**manifest, "fingerprint": now})
    return n


def _imported(
    benchmark: Bound, judging: Judging, partition: Partition, responses: pl.DataFrame
) -> SessionResult:
    """Return how many of the verdicts that are needed were imported."""
    n = note_replayed(benchmark, judging, partition, responses)
    kept = min(n, len(stored_answers(judged_as(partition).folder)))
    if not kept:
        why = f"no verdicts about {partition.spec.name} were imported; import an export with judges"
        return SessionResult(n, 0, 0, None, Tally(), why, StudyError.exit_code)
    return SessionResult(n, kept, 0, Profile("import"), Tally(reused=kept))


def read(benchmark: Bound, judging: Judging, partition: Partition, responses: pl.DataFrame) -> pl.DataFrame:
    """Return the kept judgements of a model and run, one row per item, condition and judge.

    Of a partition that stopped early only those count that answer what would be asked now. A judge that is called
    otherwise now keeps its judgements.
    """
    kept = judged_as(partition)
    transcripts = pl.DataFrame(pl.from_arrow(answers_table(kept.folder)))
    judges = [each.name for each in judging.judges(benchmark, partition.spec)]
    stopped = kept.manifest().get("state") != "complete"
    if stopped or not transcripts["model"].is_in(judges).all():
        now = panel_identities(kept, panel(benchmark, judging, partition.spec, responses))
        whose = {answer: judge for judge, answers in now.items() for answer in answers}
        renamed = pl.col("answer_id").replace_strict(whose, default=pl.col("model"))
        named = pl.col("model").is_in(judges)
        transcripts = transcripts.with_columns(pl.when(named).then("model").otherwise(renamed).alias("model"))
        if stopped:
            transcripts = transcripts.filter(pl.col("answer_id").is_in(list(whose)))
    made = judging.read(benchmark, transcripts, responses)
    schema = schema_of(judging.row)
    return made.select(pl.col(name).cast(kind) for name, kind in schema.items())


def panel_identities(kept: Partition, panel: Sequence[Panelist]) -> dict[str, set[str]]:
    """Return by judge the identities of every call its tasks take now; none for a judge that was never asked.

    Answers to questions that are worded otherwise now, or of a judge asked otherwise then, are not among them.
    """
    known = [(each, kept.known_profile(each.spec)) for each in panel]
    return {
        each.spec.name: identities(kept, profile, each.modes, each.tasks, each.spec) if profile else set()
        for each, profile in known
    }


def left_to_ask(
    benchmark: Bound, judging: Judging, partition: Partition, responses: pl.DataFrame | None
) -> dict[str, CostEstimate]:
    """Return what is left to ask about a model and run, by judge; a judgement counts as one call, however many it takes."""
    kept = judged_as(partition)
    return {
        each.spec.name: cost_estimate.left_to_ask(
            kept, each.spec, each.tasks, each.modes, kept.known_profile(each.spec)
        )
        for each in panel(benchmark, judging, partition.spec, responses)
    }


def responses_path(partition: Partition) -> Path:
    """Return where a partition's responses, which judges are asked about, are kept."""
    return partition.study.home.responses / f"{partition.benchmark}/{partition.table}"


def kept_responses(partition: Partition) -> pl.DataFrame | None:
    """Return a partition's responses; None before there are any."""
    path = responses_path(partition)
    return read_frame(path) if path.exists() else None


def judgements_path(home: Home, partition: Partition) -> Path:
    """Return where the judgements of one model and run are kept, read."""
    return home.judgements / f"{partition.benchmark}/{partition.table}"
