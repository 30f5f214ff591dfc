"""What no event tells: a step that fails, is terminated or stops at the budget makes nothing that Dagster could follow.

Its answers are kept all the same, and the boards have its reason. So the files are looked at as well: kept answers newer
than their numbers are scored, boards that were built from something else are built again. Nobody is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
from dagster._core.execution.backfill import BulkActionStatus
from dagster._core.storage.tags import BACKFILL_ID_TAG, PARTITION_NAME_TAG

from metacog_assets.partitions import MODELS, RUNS
from metacog_assets.request import ACTIVE
from metacog_assets.study_file import Bound, bound
from metacog_pipeline.asking import judging, tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.leaderboard.status import board_inputs, noted_board
from metacog_pipeline.scoring import files
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import mark_of

# What a run was to catch up with: what fails at it is not tried again before something newer is there.
BEHIND = "metacog/behind"


@dataclass(frozen=True, slots=True)
class UnderWay:
    """What a run or backfill makes: all of its job without ``assets``, several partitions or none without ``partition``."""

    assets: Collection[dg.AssetKey] | None
    partition: str | None


@dataclass(frozen=True, slots=True)
class Catching:
    """A look at a study; ``free`` are the assets that cost nothing."""

    study: Study
    instance: dg.DagsterInstance
    free: Collection[dg.AssetKey]

    def requests(self) -> list[dg.RunRequest]:
        """Return the runs that make what is behind, but for what is under way or was tried: numbers first, then boards."""
        under_way = _under_way(self.instance)
        models = set(self.instance.get_dynamic_partitions(str(MODELS.name)))
        numbers = [
            request
            for name in self.study.enabled
            if (benchmark := self._loaded(name)) is not None
            for each in tasks.partitions(benchmark)
            if each.spec.name in models and str(each.run) in RUNS.get_partition_keys()
            for request in self._numbers(each, late(benchmark, each), under_way)
        ]
        return numbers or list(self._boards(under_way))

    def _loaded(self, name: str) -> Bound | None:
        """Return a benchmark; None where it was added since the definitions were loaded."""
        return bound(name) if dg.AssetKey(f"{name}_run_estimates") in self.free else None

    def _numbers(
        self, each: Partition, stages: tuple[str, ...], under_way: Collection[UnderWay]
    ) -> Iterator[dg.RunRequest]:
        if not stages:
            return
        key = dg.MultiPartitionKey({"model": each.spec.name, "run": str(each.run)})
        own = f"{each.benchmark}_"
        for other in under_way:
            touched = other.assets is None or any(asset.path[-1].startswith(own) for asset in other.assets)
            if touched and other.partition in (None, str(key)):
                return
        sources = (each.folder.manifest,) if "responses" in stages else _sources(each)
        mark = f"{each.benchmark} {key} {max(map(_changed, sources))}"
        if self._fresh(mark):
            assets = [dg.AssetKey(f"{each.benchmark}_{stage}") for stage in stages]
            yield dg.RunRequest(asset_selection=assets, partition_key=key, tags={BEHIND: mark})

    def _boards(self, under_way: Collection[UnderWay]) -> Iterator[dg.RunRequest]:
        """Yield a run of the boards; those of a study that has none yet are made by Dagster's own look."""
        from metacog_assets.sensors import boards

        if not self.study.home.leaderboard.exists():
            return
        built, now = noted_board(self.study), board_inputs(self.study)
        if built == now:
            return
        if any(other.assets is None or set(other.assets) & set(self.free) for other in under_way):
            return  # which the boards follow
        mark = f"boards {sha256_hex(canonical_json([built, now]))}"
        if self._fresh(mark):
            yield dg.RunRequest(asset_selection=boards(), tags={BEHIND: mark})

    def _fresh(self, mark: str) -> bool:
        return not self.instance.get_runs(dg.RunsFilter(tags={BEHIND: mark}), limit=1)


def late(benchmark: Bound, partition: Partition) -> tuple[str, ...]:
    """Return which free stages of a partition were made before its answers or judgements changed.

    Times are compared first, which is cheap; marks say whether a file is behind, or was only copied in another order.
    """
    if not files.has_answers(partition):
        return ()
    read, scored = judging.responses_path(partition), _changed(files.run_estimates_path(partition))
    found: tuple[str, ...] = ()
    if _changed(read) < _changed(partition.folder.manifest):
        found = ("responses", "run_estimates")
    elif scored < max(map(_changed, _sources(partition))) and mark_of(read):  # without: a check refused it
        found = ("run_estimates",)
    stale = files.stale(benchmark, partition) if found else ()
    return tuple(stage for stage in found if stage in stale)


def _sources(partition: Partition) -> tuple[Path, Path]:
    """Return what the numbers of a partition are made from."""
    return judging.responses_path(partition), judging.judgements_path(partition.study.home, partition)


def _changed(path: Path) -> int:
    """Return when a file changed, in nanoseconds; 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _under_way(instance: dg.DagsterInstance) -> list[UnderWay]:
    """Return what is being made, or will be by a backfill that has no run yet."""
    runs = [
        UnderWay(run.asset_selection, run.tags.get(PARTITION_NAME_TAG))
        for run in instance.get_runs(dg.RunsFilter(statuses=list(ACTIVE)))
    ]
    backfills = [
        UnderWay(each.asset_selection, None)
        for each in instance.get_backfills(status=BulkActionStatus.REQUESTED)
        if not instance.get_runs(dg.RunsFilter(tags={BACKFILL_ID_TAG: each.backfill_id}), limit=1)
    ]
    return [*runs, *backfills]
