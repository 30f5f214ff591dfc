"""The assets of one benchmark, built from its contract: the only place that knows the order of its stages.

steps of construction → transcripts → responses [→ judgements] → run_estimates → comparisons
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import dagster as dg

from metacog_assets import stages
from metacog_assets.partitions import MODEL_RUNS
from metacog_assets.stages import ROWS
from metacog_assets.steps import checked, each_partition, one_line
from metacog_assets.study_file import StudyResource
from metacog_pipeline.asking import construction, judging
from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Made, Stage, Step
from metacog_pipeline.errors import SourceError, reason_of
from metacog_pipeline.scoring import files, printed

PAID = {"cost": "paid"}
#: The check of each stage, by the function that does it; whether it keeps later stages back; what holds where it passes.
CHECKS = {
    "answer": ("answered", False, "Everything has its answers; few calls failed."),
    "judge": ("answered", False, "Everything has its verdicts; few calls failed."),
    "read": ("readable", True, "No question is lost or counted twice (blocks); few are unreadable (warns)."),
    "estimate": ("sound", True, "No NaN, no half interval, all within range (blocks); few gaps (warns)."),
}


def benchmark_assets(benchmark: Bound) -> list[dg.AssetsDefinition]:
    """Return the assets of a benchmark, in order."""
    steps, version = benchmark.construction(), benchmark.versions
    items, scored = steps[-1].name, ["responses"]
    made = [_step(benchmark, step) for step in steps]
    made.append(_stage(benchmark, "transcripts", [items], stages.answer, version[Stage.ASKING]))
    made.append(_stage(benchmark, "responses", [items, "transcripts"], stages.read, version[Stage.PARSING]))
    if (declared := judging.wanted(benchmark)) is not None:
        rules = f"{version[Stage.JUDGING]}.{declared.version}"
        made.append(_stage(benchmark, "judgements", ["responses", *declared.needs], stages.judge, rules))
        scored.append("judgements")
    made.append(_stage(benchmark, "run_estimates", scored, stages.estimate, version[Stage.SCORING]))
    return [*made, _comparisons(benchmark)]


def assets_of(benchmark: Bound, names: Sequence[str]) -> set[str]:
    """Return the keys of the assets of stages of a benchmark, as ``benchmark/stage``."""
    return {f"{benchmark.name}/{name}" for name in names}


def keys(assets: Iterable[str]) -> list[dg.AssetKey]:
    """Return the keys of assets that are named as `assets_of` does, in order."""
    return [dg.AssetKey.from_user_string(name) for name in sorted(assets)]


def _asset(
    benchmark: Bound, name: str, needs: Sequence[str], check: tuple[str, bool, str] | None, **more: Any
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Return the decorator of an asset; ``check`` as in `CHECKS`."""
    own, checks = dg.AssetKey([benchmark.name, name]), []
    if check is not None:
        blocks, says = check[1:]
        checks.append(dg.AssetCheckSpec(check[0], asset=own, blocking=blocks, description=says))
    made: Callable[[Callable[..., Any]], dg.AssetsDefinition] = dg.asset(
        # the UI draws the last part of a key, and cuts it after 18 letters
        key=own,
        group_name=benchmark.name,
        deps=[dg.AssetKey([benchmark.name, each]) for each in needs],
        check_specs=checks,
        owners=list(benchmark.study.study.owners),
        pool="models" if more.get("tags") == PAID else None,
        **more,
    )
    return made


# --- items ------------------------------------------------------------------------------------------------------------
def _step(benchmark: Bound, step: Step) -> dg.AssetsDefinition:
    owner = benchmark.name
    says = "; ".join(f"{name}: {held.rstrip('.')}" for name, held in step.checks.items())

    @_asset(
        benchmark,
        step.name,
        step.needs,
        ("holds", False, f"{says}.") if says else None,
        description=step.says,
        code_version=f"{benchmark.versions[Stage.ITEMS]}.{step.version}",
    )
    def made(context: dg.AssetExecutionContext, study: StudyResource) -> dg.MaterializeResult:
        with one_line(context, study):
            bench = study.benchmark(owner)
            found = _run_step(bench, step.name)
        metadata, checks = {**found.facts, ROWS: found.facts["rows"]}, [_held(found.checks)] if says else []
        version = dg.DataVersion(construction.input_digest(bench, step))
        return dg.MaterializeResult(metadata=metadata, data_version=version, check_results=checks)

    return made


def _held(checks: Mapping[str, tuple[bool, Mapping[str, Any]]]) -> dg.AssetCheckResult:
    failed = [name for name, (holds, _) in checks.items() if not holds]
    facts = {f"{name}: {key}": fact for name, (_, own) in checks.items() for key, fact in own.items()}
    facts["failed"] = ", ".join(failed)
    warn = dg.AssetCheckSeverity.WARN
    return dg.AssetCheckResult(check_name="holds", passed=not failed, severity=warn, metadata=facts)


def _run_step(benchmark: Bound, name: str) -> Made:
    step = construction.step_of(benchmark, name)
    found = construction.run_step(benchmark, step)
    last = name == benchmark.construction()[-1].name
    if last and (why := item_files.unusable(benchmark.items)) is not None:
        construction.result_path(benchmark, name).unlink()
        raise SourceError(f"{benchmark.name}: {why}")
    return found


# --- one model and run ------------------------------------------------------------------------------------------------
def _stage(
    benchmark: Bound, name: str, needs: Sequence[str], work: stages.Work, version: str
) -> dg.AssetsDefinition:
    """Return an asset of each model and run. In backfills a partition that asks has a run of its own, others share one."""
    owner, check, paid = benchmark.name, CHECKS[work.__name__], work.__name__ in ("answer", "judge")

    @_asset(
        benchmark,
        name,
        needs,
        check,
        description=work.__doc__,
        tags=PAID if paid else {},
        code_version=version,
        partitions_def=MODEL_RUNS,
        backfill_policy=None if paid else dg.BackfillPolicy.single_run(),
    )
    def made(context: dg.AssetExecutionContext, study: StudyResource) -> dg.MaterializeResult:
        with one_line(context, study):
            return each_partition(context, study.benchmark(owner), check[0], work)

    return made


# --- all models -------------------------------------------------------------------------------------------------------
def _comparisons(benchmark: Bound) -> dg.AssetsDefinition:
    owner, tables = benchmark.name, ", ".join(each.name for each in benchmark.tables)
    says = f"Numbers over all models: pooled runs, tests, printed numbers; own tables: {tables}."
    check, version = (
        ("computed", False, "Nothing is empty because it failed."),
        benchmark.versions[Stage.SCORING],
    )

    @_asset(benchmark, "comparisons", ["run_estimates"], check, description=says, code_version=version)
    def comparisons(context: dg.AssetExecutionContext, study: StudyResource) -> dg.MaterializeResult:
        with one_line(context, study):
            facts, faults = _compared(study.benchmark(owner))
        return dg.MaterializeResult(metadata=facts, check_results=[checked("computed", faults)])

    return comparisons


def _compared(benchmark: Bound) -> tuple[dict[str, Any], dict[str, str]]:
    """Pool and compare; what fails is reported under its name, and keeps nothing else from being published."""
    facts: dict[str, Any] = {}
    faults: dict[str, str] = {}

    def compare(benchmark: Bound) -> None:
        found = files.compare(benchmark)
        for each in found.failures:
            what, _, reason = each.partition(": ")
            faults[what] = "; ".join(filter(None, (faults.get(what), reason)))
        facts.update({f"rows of {name}": rows for name, rows in found.rows.items()})

    steps = {"estimates": files.pool, "comparisons": compare, "published": printed.write}
    for name, computes in steps.items():
        try:
            computes(benchmark)
        except Exception as error:  # a stranger's benchmark may fail in any way
            faults[f"{benchmark.name}_{name}"] = reason_of(error)
    return facts, faults
