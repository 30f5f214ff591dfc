"""An example of re-runs by the calendar: once a month each model answers one run more, so that drift can be seen.

Asking costs money, so a person switches it on. ``study.runs`` says how many months it may go on.
"""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg

from metacog_assets.partitions import MODELS
from metacog_assets.study_file import bound, current_study
from metacog_pipeline.asking import tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.errors import MetacogError

MONTHLY = "0 6 1 * *"  # at six on the first of the month


@dg.schedule(
    cron_schedule=MONTHLY,
    job_name="ask",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="An example, off until someone turns it on: each month asks every model the next run of the study that "
    "it has not answered. leaderboard/model_drift then says whose answers changed. Costs money where models do.",
)
def monthly_rerun(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
    """Ask each model its next run."""
    try:
        waiting = list(_next_runs())
    except MetacogError as error:
        return dg.SkipReason(str(error))
    known = set(context.instance.get_dynamic_partitions(str(MODELS.name)))
    by_partition: dict[tuple[str, int], list[dg.AssetKey]] = {}
    for each in waiting:
        if each.spec.name in known:
            asset = dg.AssetKey(f"{each.benchmark}_transcripts")
            by_partition.setdefault((each.spec.name, each.run), []).append(asset)
    if not by_partition:
        return dg.SkipReason("every run of the study has been asked: raise runs in the study file")
    return [
        dg.RunRequest(
            run_key=f"{context.scheduled_execution_time:%Y-%m-%d} {model} {run}",
            partition_key=dg.MultiPartitionKey({"model": model, "run": str(run)}),
            asset_selection=sorted(assets),
            tags={"metacog/rerun": str(run)},
        )
        for (model, run), assets in by_partition.items()
    ]


def _next_runs() -> Iterator[Partition]:
    """Yield for each benchmark and model the first run that nobody has begun to ask; imported answers have none."""
    for name in current_study().enabled:
        fresh: dict[str, Partition] = {}
        for each in tasks.partitions(bound(name)):
            if each.spec.provider != "replay" and not each.manifest():
                fresh.setdefault(each.spec.name, each)
        yield from fresh.values()
