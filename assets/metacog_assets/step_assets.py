"""The steps in which a benchmark's items are made, an asset each, with its checks."""

from collections.abc import Mapping
from typing import Any

from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetsDefinition,
    DataVersion,
    MaterializeResult,
    asset,
)

from metacog_assets.automation import FILL_MISSING, FOLLOW
from metacog_assets.marking import ROWS, URI, asking_kinds, owners, schema_of_rows, tags
from metacog_assets.models import how_it_answers
from metacog_assets.reporting import Fact, one_line_failure, progress_of, tally_facts
from metacog_assets.showing import preview
from metacog_assets.study_file import Bound, bound
from metacog_pipeline.asking import construction
from metacog_pipeline.asking.roles import RoleResult
from metacog_pipeline.benchmark.contract import Checked, Stage, Step
from metacog_pipeline.benchmark.schema import arrow_schema_of

HOLDS = "holds"


def step_assets(benchmark: Bound) -> list[AssetsDefinition]:
    """Return one asset per step; the last one makes the items."""
    return [_step(benchmark, step) for step in benchmark.construction()]


def items_name(benchmark: Bound) -> str:
    """Return the name of the asset that makes the items."""
    return f"{benchmark.name}_{benchmark.construction()[-1].name}"


def _step(benchmark: Bound, step: Step) -> AssetsDefinition:
    name, owner = f"{benchmark.name}_{step.name}", benchmark.name
    helpers = step.asks.models(benchmark) if step.asks is not None else ()

    @asset(
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
    def made(context: AssetExecutionContext) -> MaterializeResult:
        with one_line_failure():
            now = bound(owner)
            wanted = construction.step_of(now, step.name)
            with progress_of(context, name) as show:
                found = construction.run_step(now, wanted, show)
        return MaterializeResult(
            metadata={
                **found.facts,
                **_asked(found.asked),
                **_helpers(now, wanted),
                ROWS: found.facts["rows"],
                URI: construction.result_path(now, step.name).as_uri(),
                "preview": preview(found.frame),
            },
            data_version=DataVersion(found.digest),
            check_results=_checked(wanted, found.checks),
        )

    return made


def _asked(asked: RoleResult | None) -> dict[str, Fact]:
    """Return what asking those who help did and cost."""
    if asked is None:
        return {}
    return {"models × items": asked.items, "answered": asked.answered, **tally_facts(asked.tally)}


def _helpers(benchmark: Bound, step: Step) -> dict[str, Fact]:
    """Return how those who help with a step answer."""
    facts: dict[str, Fact] = {}
    for spec in step.asks.models(benchmark) if step.asks is not None else ():
        facts |= how_it_answers(benchmark.context.study, spec, named=True)
    return facts


def _columns(step: Step) -> dict[str, Any]:
    if step.writes is None:
        return {}
    schema = arrow_schema_of(step.writes)
    return schema_of_rows({each.name: each.type for each in schema}, step.writes)


def _specs(asset: str, step: Step) -> list[AssetCheckSpec]:
    """Return one check that sums up those of the step; a blocking one that fails has ended the step already."""
    said = "; ".join(f"{name}: {check.says.rstrip('.')}" for name, check in step.checks.items())
    return [AssetCheckSpec(HOLDS, asset=asset, description=f"{said}.")] if step.checks else []


def _checked(step: Step, results: Mapping[str, Checked]) -> list[AssetCheckResult]:
    if not step.checks:
        return []
    facts = {f"{name}: {what}": value for name in step.checks for what, value in results[name].facts.items()}
    failed = [name for name in step.checks if not results[name].passed]
    return [
        AssetCheckResult(
            check_name=HOLDS,
            passed=not failed,
            severity=AssetCheckSeverity.WARN,
            metadata={"passed": len(step.checks) - len(failed), "failed": ", ".join(failed), **facts},
        )
    ]
