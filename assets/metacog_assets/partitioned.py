"""Work on the partitions of a run, one after another: what one of them fails at does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetExecutionContext,
    AssetMaterialization,
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
from metacog_pipeline.querying.session import INTERRUPTED, Partition

DATA_VERSION = "dagster/data_version"
MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Done:
    """What was made of one partition: figures, the digest of the result, and by check whether it holds and figures."""

    facts: Mapping[str, Fact]
    version: str
    checks: Mapping[str, tuple[bool, Mapping[str, Fact]]] = field(default_factory=dict)


class Stopped(MetacogError):
    """A partition whose asking ended early; its figures are shown with the failure."""

    def __init__(self, reason: str, exit_code: int) -> None:
        super().__init__(f"stopped: {reason}")
        self.exit_code = exit_code


def each_partition(
    context: AssetExecutionContext,
    name: str,
    work: Callable[[Bound, Partition], Done],
    blocking: Sequence[str] = (),
) -> MaterializeResult:
    """Do ``work`` on every partition of the run.

    One that fails is named when the others are done; those are then materialized all the same. ``blocking`` are the
    checks whose failure keeps later assets from running.
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
        _keep(context, done)
        raise _failure(failed, len(failed) + len(done))
    for key, each in done.items():
        context.add_asset_metadata(dict(each.facts), asset, key)
    return MaterializeResult(
        asset_key=asset,
        data_version=DataVersion(_version(done)),
        check_results=_checks(done, blocking),
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


def _checks(done: Mapping[str, Done], blocking: Sequence[str]) -> list[AssetCheckResult]:
    """Return one result per check over all partitions; those where it does not hold are named."""
    names = dict.fromkeys(name for each in done.values() for name in each.checks)
    found = []
    for name in names:
        broken = {key: each.checks[name][1] for key, each in done.items() if not each.checks[name][0]}
        shown = broken or {key: each.checks[name][1] for key, each in done.items()}
        facts = {
            f"{key} {what}" if len(shown) > 1 else what: value
            for key, values in list(shown.items())[:MOST_NAMED]
            for what, value in values.items()
        }
        found.append(
            AssetCheckResult(
                check_name=name,
                passed=not broken,
                severity=AssetCheckSeverity.ERROR if name in blocking else AssetCheckSeverity.WARN,
                metadata={"partitions": len(done), "not passed": len(broken), **facts},
            )
        )
    return found
