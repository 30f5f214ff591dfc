"""Judges: verdicts of other models on a model's responses, asked, kept and read like answers themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from metacog_pipeline.asking.construction import step_current, step_of
from metacog_pipeline.asking.dry_run import DryRun
from metacog_pipeline.asking.session import Panelist, Partition, query_panel, request_digest
from metacog_pipeline.asking.states import OnProgress, SessionResult
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Judging, Stage
from metacog_pipeline.benchmark.item_files import items_digest
from metacog_pipeline.benchmark.schema import schema_of
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.study.frames import read_frame
from metacog_pipeline.transcripts.folder import judgements_of
from metacog_pipeline.transcripts.store import answers_table


def wanted(benchmark: Bound) -> Judging | None:
    """Return how responses are judged, where the study names judges; None elsewhere."""
    judging = benchmark.judging
    return judging if judging is not None and judging.wanted(benchmark) else None


# That of the judged model and run, under a name of its own.
def judged_as(partition: Partition) -> Partition:
    """Return the partition of the judgements about ``partition``'s model and run."""
    return replace(partition, benchmark=judgements_of(partition.benchmark))


def kept_responses(partition: Partition) -> pl.DataFrame | None:
    """Return a partition's responses; None before there are any."""
    path = partition.below("responses")
    return read_frame(path) if path.exists() else None


# --- who is asked what --------------------------------------------------------------------------------------------------
def panel(
    benchmark: Bound, judging: Judging, partition: Partition, responses: pl.DataFrame | None
) -> list[Panelist]:
    """Return the judges of a model with their tasks; the longest there may be where ``responses`` is None."""
    found = []
    for judge in judging.judges(benchmark, partition.spec):
        if responses is None:
            tasks = judging.longest(benchmark, partition.spec, judge)
        else:
            tasks = judging.tasks(benchmark, judge, responses)
        respond = judging.respondent(benchmark, judge) if judge.provider == "simulated" else None
        found.append(Panelist(judge, tasks, judging.modes(judge), respond))
    return found


def needed(
    benchmark: Bound, judging: Judging, partition: Partition, responses: pl.DataFrame
) -> tuple[int, str]:
    """Return how many judgements a partition needs, and a digest of everything they depend on."""
    asked = panel(benchmark, judging, partition, responses)
    cases = [sorted({task.item_hash for task in each.tasks}) for each in asked]
    depends = [*_rules(benchmark, judging, partition), cases, benchmark.settings.affecting(Stage.JUDGING)]
    return sum(len(each.tasks) for each in asked), sha256_hex(canonical_json(depends))


def needed_by(benchmark: Bound, judging: Judging, partition: Partition) -> list[Any] | None:
    """Return what decides, besides responses, what judges are asked about a model; None where only tasks decide."""
    if judging.prompt_digest is None:
        return None
    items = items_digest(benchmark.study.home, benchmark.name, benchmark.Item)
    words, settings = judging.prompt_digest(benchmark), benchmark.settings.affecting(Stage.JUDGING)
    return [*_rules(benchmark, judging, partition), items, words, settings]


def _rules(benchmark: Bound, judging: Judging, partition: Partition) -> list[Any]:
    digests = [request_digest(judge) for judge in judging.judges(benchmark, partition.spec)]
    return [[benchmark.versions[Stage.JUDGING], judging.version], digests]


def ask(
    benchmark: Bound,
    judging: Judging,
    partition: Partition,
    responses: pl.DataFrame,
    on_progress: OnProgress = None,
) -> SessionResult:
    """Ask the judges of a model and run what is not judged yet."""
    kept = judged_as(partition)
    # Judges are tried before they grade.
    for name in judging.needs:
        if not step_current(benchmark, step_of(benchmark, name)):
            raise SourceError(
                f"{kept.benchmark}: {benchmark.name}_{name} is not made yet, and judges are tried before they grade; run "
                f"`metacog run` again, or in the UI materialize both, {benchmark.name}_{name} first"
            )
    asked = panel(benchmark, judging, partition, responses)
    _, now = needed(benchmark, judging, partition, responses)
    return query_panel(kept, asked, fingerprint=now, on_progress=on_progress)


# --- reading ------------------------------------------------------------------------------------------------------------
def read(benchmark: Bound, judging: Judging, partition: Partition, responses: pl.DataFrame) -> pl.DataFrame:
    """Return the kept judgements of a model and run, one row per item, condition and judge."""
    kept = judged_as(partition)
    transcripts = pl.DataFrame(pl.from_arrow(answers_table(kept.folder)))
    judges = [each.name for each in judging.judges(benchmark, partition.spec)]
    # Of a partition that stopped early only what would be asked now counts. A judge called otherwise now keeps its own.
    if kept.manifest().get("state") != "complete" or not transcripts["model"].is_in(judges).all():
        now = panel_identities(kept, panel(benchmark, judging, partition, responses))
        judge_of = {answer: judge for judge, answers in now.items() for answer in answers}
        transcripts = transcripts.filter(pl.col("answer_id").is_in(list(judge_of)))
        transcripts = transcripts.with_columns(
            model=pl.col("answer_id").replace_strict(judge_of, default=None)
        )
    made = judging.read(benchmark, transcripts, responses)
    return made.select(pl.col(name).cast(kind) for name, kind in schema_of(judging.row).items())


def panel_identities(kept: Partition, panel: Sequence[Panelist]) -> dict[str, set[str]]:
    """Return by judge the identities of every call its tasks take now; none for a judge that was never asked."""
    found = {}
    for each in panel:
        profile, dry = kept.known_profile(each.spec), DryRun.of(kept, each.spec)
        found[each.spec.name] = dry.through(each.tasks, profile, each.modes).identities if profile else set()
    return found
