"""Work on the partitions of a run, one after another: what one of them fails at does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import dagster as dg
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    PARTITION_NAME_TAG,
)

from metacog_assets import apart
from metacog_assets.figures import Done, Place, Waits
from metacog_assets.reporting import EXIT_CODE, PARTITIONS, SOME_FAILED, progress_lines
from metacog_assets.study_file import Bound, bound
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.errors import MetacogError, StoreError, StudyError, reason_of
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.study import Study

STATE_TAG = "metacog/state"  # "waiting" of a run that left batches under way
DATA_VERSION = "dagster/data_version"
MOST_NAMED = 20


def each_partition(
    context: dg.AssetExecutionContext,
    name: str,
    work: Callable[..., Done],
    *options: object,
    free: Callable[[Partition], bool] = bool,
    note: Callable[[Place, MetacogError], None] | None = None,
) -> dg.MaterializeResult:
    """Do ``work`` on every partition of the run, with ``options``: side by side where all are ``free``, costing nothing.

    One that fails is named when the others are done; those are then materialized all the same. ``note`` writes down in its
    place that the process at work on it ended.
    """
    asset, say = context.asset_key, progress_lines(context)
    step = f"{context.run.run_id} {asset.to_user_string()}"
    partitions = partitions_of(context, bound(name))
    args: list[tuple[Any, ...]] = [
        (Place(step, name, each.spec.name, each.run), *options) for _, each in partitions
    ]
    ended: dict[str, Done | Exception] = {}
    try:
        at_once = apart.MOST if all(free(each) for _, each in partitions) else 1
        for number, found in apart.each(apart.MODELS, say, work, args, at_once):
            ended[partitions[number][0]] = found
            if note is not None and isinstance(found, apart.WorkerEndedError):
                note(args[number][0], found)
    except BaseException:
        _keep(context, {key: each for key, each in ended.items() if isinstance(each, Done)})
        raise
    in_order = [(key, ended[key]) for key, _ in partitions]
    done = {key: each for key, each in in_order if isinstance(each, Done)}
    failed = {key: each for key, each in in_order if isinstance(each, Exception)}
    if failed:
        if any(isinstance(error, Waits) for error in failed.values()):
            context.instance.add_run_tags(context.run.run_id, {STATE_TAG: "waiting"})
        _keep(context, done)
        _say_why(context, failed)
        faults = [error for error in failed.values() if not isinstance(error, MetacogError)]
        if faults and len(partitions) == 1:
            raise faults[0]
        raise _failure(context, failed, len(partitions)) from (faults[0] if faults else None)
    for key, each in done.items():
        context.add_asset_metadata(dict(each.facts), asset, key)
    return dg.MaterializeResult(
        asset_key=asset,
        data_version=dg.DataVersion(_version(done)),
        check_results=_checks(done),
    )


def partitions_of(context: dg.AssetExecutionContext, benchmark: Bound) -> list[tuple[str, Partition]]:
    """Return the partitions a run is about, by key, as the study file is now; StudyError where it has them no more."""
    study = benchmark.context.study
    try:
        keys = context.partition_keys
    except dg.DagsterInvalidInvocationError:  # "not a valid range": Dagster's words for it
        raise StudyError(_gone(study, context.run.tags)) from None
    found = []
    for key in keys:
        assert isinstance(key, dg.MultiPartitionKey)
        model, run = key.keys_by_dimension["model"], key.keys_by_dimension["run"]
        found.append((str(key), Partition(study, benchmark.name, study.model(model), int(run))))
    return found


def _gone(study: Study, tags: Mapping[str, str]) -> str:
    """Return what to do about a run of partitions that the study does not have."""
    ends = (PARTITION_NAME_TAG, ASSET_PARTITION_RANGE_START_TAG, ASSET_PARTITION_RANGE_END_TAG)
    named = " to ".join(tags[end].replace("|", ", run ") for end in ends if end in tags)
    return (
        f"{study.path.name}: {named} is not part of the study (runs = {study.study.runs}): raise runs, or list the model "
        'again, and press "Reload definitions"'
    )


def _keep(context: dg.AssetExecutionContext, done: Mapping[str, Done]) -> None:
    """Note in the graph what was made before something else failed: it need not be made again."""
    for key, each in done.items():
        context.log_event(
            dg.AssetMaterialization(
                context.asset_key, partition=key, metadata=dict(each.facts), tags={DATA_VERSION: each.version}
            )
        )


def _say_why(context: dg.AssetExecutionContext, failed: Mapping[str, Exception]) -> None:
    """Note at each partition why it failed: its own page shows it, not only the log of the run."""
    for key, error in failed.items():
        reason = reason_of(error)
        context.log_event(
            dg.AssetObservation(
                context.asset_key, description=reason, partition=key, metadata={"reason": reason}
            )
        )


def _failure(
    context: dg.AssetExecutionContext, failed: Mapping[str, Exception], partitions: int
) -> dg.Failure:
    """Return the failure of a step that names its partitions; alone in its run, one needs no name."""
    named = {key: _reason(context, error) for key, error in failed.items()}
    codes = {code for _, code in named.values()}
    said = [reason if partitions == 1 else f"{key}: {reason}" for key, (reason, _) in named.items()]
    code = codes.pop() if len(codes) == 1 else SOME_FAILED
    return dg.Failure(
        "; ".join(said),
        metadata={EXIT_CODE: code, PARTITIONS: dg.MetadataValue.json(named)},
        allow_retries=False,
    )


def _reason(context: dg.AssetExecutionContext, error: Exception) -> list[Any]:
    """Return what is told of an error, and the exit code of a command that did only that."""
    if isinstance(error, MetacogError):
        return [str(error), error.exit_code]
    if isinstance(error, OSError) and error.filename is not None:
        return [reason_of(error), StoreError.exit_code]
    return [f"{reason_of(error)} (a fault of the program; run {context.run.run_id} in the UI has more)", 1]


def _version(done: Mapping[str, Done]) -> str:
    versions = [each.version for each in done.values()]
    return versions[0] if len(versions) == 1 else sha256_hex(canonical_json(versions))


def _checks(done: Mapping[str, Done]) -> list[dg.AssetCheckResult]:
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
        dg.AssetCheckResult(
            check_name=named[0].check,
            passed=not broken,
            severity=dg.AssetCheckSeverity.ERROR if blocks else dg.AssetCheckSeverity.WARN,
            metadata={"partitions": len(done), "not passed": len(broken), **facts},
        )
    ]
