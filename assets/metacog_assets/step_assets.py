"""The steps in which a benchmark's items are made, an asset each, with its checks."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from metacog_assets import apart, work
from metacog_assets.automation import FILL_MISSING, FOLLOW
from metacog_assets.marking import asking_kinds, owners, schema_of_rows, tags
from metacog_assets.reporting import one_line_failure, progress_lines
from metacog_assets.request import commanded
from metacog_assets.study_file import Bound
from metacog_pipeline.benchmark.contract import Checked, Stage, Step
from metacog_pipeline.benchmark.schema import arrow_schema_of

HOLDS = "holds"


def step_assets(benchmark: Bound) -> list[dg.AssetsDefinition]:
    """Return one asset per step; the last one makes the items."""
    return [_step(benchmark, step) for step in benchmark.construction()]


def items_name(benchmark: Bound) -> str:
    """Return the name of the asset that makes the items."""
    return f"{benchmark.name}_{benchmark.construction()[-1].name}"


def _step(benchmark: Bound, step: Step) -> dg.AssetsDefinition:
    name, owner = f"{benchmark.name}_{step.name}", benchmark.name
    helpers = step.asks.models(benchmark) if step.asks is not None else ()

    @dg.asset(
        name=name,
        group_name=f"{owner}_items",
        deps=[f"{owner}_{needed}" for needed in step.needs],
        kinds=asking_kinds(spec.provider for spec in helpers),
        code_version=f"{benchmark.versions[Stage.ITEMS]}.{step.version}",
        pool="models" if step.asks is not None else None,
        # New seeds alone must not spend money: whoever is asked again is asked because a person says so.
        automation_condition=FILL_MISSING if step.asks is not None else FOLLOW,
        description=step.says,
        metadata=_columns(step),
        check_specs=_specs(name, step),
        owners=owners(),
        tags=tags("items", paid=step.asks is not None, benchmark=owner),
    )
    def made(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        with one_line_failure():
            found = apart.call(
                apart.ITEMS, progress_lines(context), work.make, owner, step.name, commanded(context)
            )
        return dg.MaterializeResult(
            metadata=dict(found.facts),
            data_version=dg.DataVersion(found.version),
            check_results=_checked(step, found.checks),
        )

    return made


def _columns(step: Step) -> dict[str, Any]:
    if step.writes is None:
        return {}
    schema = arrow_schema_of(step.writes)
    return schema_of_rows({each.name: each.type for each in schema}, step.writes)


def _specs(name: str, step: Step) -> list[dg.AssetCheckSpec]:
    """Return one check that sums up those of the step; a blocking one that fails has ended the step already."""
    said = "; ".join(f"{name}: {check.says.rstrip('.')}" for name, check in step.checks.items())
    return [dg.AssetCheckSpec(HOLDS, asset=name, description=f"{said}.")] if step.checks else []


def _checked(step: Step, results: Mapping[str, Checked]) -> list[dg.AssetCheckResult]:
    if not step.checks:
        return []
    facts = {f"{name}: {what}": value for name in step.checks for what, value in results[name].facts.items()}
    failed = [name for name in step.checks if not results[name].passed]
    return [
        dg.AssetCheckResult(
            check_name=HOLDS,
            passed=not failed,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"passed": len(step.checks) - len(failed), "failed": ", ".join(failed), **facts},
        )
    ]
