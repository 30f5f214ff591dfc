"""Work on the partitions of a run, one after another: what one of them fails at does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetExecutionContext,
    AssetMaterialization,
    AssetObservation,
    DataVersion,
    Failure,
    MaterializeResult,
    MetadataValue,
    MultiPartitionKey,
)

from metacog_assets.reporting import EXIT_CODE, PARTITIONS, SOME_FAILED, Fact
from metacog_assets.study_file import Bound, bound
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.querying.session import INTERRUPTED, WAITING, Partition

STATE_TAG = "metacog/state"  # "waiting" of a run that left batches under way
DATA_VERSION = "dagster/data_version"
MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a check of one partition ended, with its figures; one that ``blocks`` keeps later assets from running."""

    check: str
    passed: bool
    facts: Mapping[str, Fact]
    blocks: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """What was made of one partition: figures, the digest of the result, and how its check ended."""

    facts: Mapping[str, Fact]
    version: str
    verdict: Verdict | None = None


class Stopped(MetacogError):
    """A partition whose asking ended early; its figures are shown with the failure."""

    def __init__(self, reason: str, exit_code: int) -> None:
        super().__init__(f"stopped: {reason}")
        self.exit_code = exit_code


class Waits(MetacogError):
    """A partition whose batches are under way: it is not there yet, and holds no worker until they have ended."""

    exit_code = WAITING

    def __init__(self, batches: int) -> None:
        what = "1 batch is" if batches == 1 else f"{batches} batches are"
        super().__init__(
            f"waiting: {what} under way at the provider (see: metacog batches STUDY); run again later"
        )


def each_partition(
    context: AssetExecutionContext,
    name: str,
    work: Callable[[Bound, Partition], Done],
) -> MaterializeResult:
    """Do ``work`` on every partition of the run.

    One that fails is named when the others are done; those are then materialized all the same.
    """
    asset, benchmark = context.asset_key, bound(name)
    done: dict[str, Done] = {}
    failed: dict[str, MetacogError] = {}
    try:
        for key, partition in partitions_of(context, benchmark):
            if INTERRUPTED.is_set():
                raise KeyboardInterrupt
            try:
                done[key] = work(benchmark, partition)
            except MetacogError as error:
                failed[key] = error
    except BaseException:
        _keep(context, done)
        raise
    if failed:
        if any(isinstance(error, Waits) for error in failed.values()):
            context.instance.add_run_tags(context.run.run_id, {STATE_TAG: "waiting"})
        _keep(context, done)
        _say_why(context, failed)
        raise _failure(failed, len(failed) + len(done))
    for key, each in done.items():
        context.add_asset_metadata(dict(each.facts), asset, key)
    return MaterializeResult(
        asset_key=asset,
        data_version=DataVersion(_version(done)),
        check_results=_checks(done),
    )


def partitions_of(context: AssetExecutionContext, benchmark: Bound) -> list[tuple[str, Partition]]:
    """Return the partitions a run is about, by key, as the study file is now."""
    study = benchmark.context.study
    found = []
    for key in context.partition_keys:
        assert isinstance(key, MultiPartitionKey)
        model, run = key.keys_by_dimension["model"], key.keys_by_dimension["run"]
        found.append((str(key), Partition(study, benchmark.name, study.model(model), int(run))))
    return found


def _keep(context: AssetExecutionContext, done: Mapping[str, Done]) -> None:
    """Note in the graph what was made before something else failed: it need not be made again."""
    for key, each in done.items():
        context.log_event(
            AssetMaterialization(
                context.asset_key, partition=key, metadata=dict(each.facts), tags={DATA_VERSION: each.version}
            )
        )


def _say_why(context: AssetExecutionContext, failed: Mapping[str, MetacogError]) -> None:
    """Note at each partition why it failed: its own page shows it, not only the log of the run."""
    for key, error in failed.items():
        context.log_event(
            AssetObservation(
                context.asset_key, description=str(error), partition=key, metadata={"reason": str(error)}
            )
        )


def _failure(failed: Mapping[str, MetacogError], partitions: int) -> Failure:
    """Return the failure of a step that names its partitions; alone in its run, one needs no name."""
    codes = {error.exit_code for error in failed.values()}
    named = {key: [str(error), error.exit_code] for key, error in failed.items()}
    said = [str(error) if partitions == 1 else f"{key}: {error}" for key, error in failed.items()]
    code = codes.pop() if len(codes) == 1 else SOME_FAILED
    return Failure(
        "; ".join(said),
        metadata={EXIT_CODE: code, PARTITIONS: MetadataValue.json(named)},
        allow_retries=False,
    )


def _version(done: Mapping[str, Done]) -> str:
    versions = [each.version for each in done.values()]
    return versions[0] if len(versions) == 1 else sha256_hex(canonical_json(versions))


def _checks(done: Mapping[str, Done]) -> list[AssetCheckResult]:
    """Return one result over all partitions; those in which something does not hold are named."""
    named = [each.verdict for each in done.values() if each.verdict is not None]
    if not named:
        return []
    broken = {
        key: each.verdict
        for key, each in done.items()
        if each.verdict is not None and not each.verdict.passed
    }
    shown = broken or {key: each.verdict for key, each in done.items() if each.verdict is not None}
    facts = {
        f"{key} {what}" if len(shown) > 1 else what: value
        for key, verdict in list(shown.items())[:MOST_NAMED]
        for what, value in verdict.facts.items()
    }
    blocks = any(verdict.blocks for verdict in broken.values())
    return [
        AssetCheckResult(
            check_name=named[0].check,
            passed=not broken,
            severity=AssetCheckSeverity.ERROR if blocks else AssetCheckSeverity.WARN,
            metadata={"partitions": len(done), "not passed": len(broken), **facts},
        )
    ]
