"""The assets of one benchmark, made from its contract: the only place that knows in which order its stages stand.

steps of construction → transcripts [→ choice → transcripts of a later condition] → responses [→ judgements]
→ run_estimates → comparisons
"""

from collections.abc import Callable, Sequence
from typing import Any

import dagster as dg

from metacog_assets import conditions, stages
from metacog_assets.partitioned import FAULTS, each_partition, one_line
from metacog_assets.partitions import MODEL_RUNS
from metacog_assets.stages import ROWS, StageResult, preview, progress, refuse_renamed
from metacog_assets.study_file import Bound, StudyResource, current_study
from metacog_pipeline.asking import construction, judging
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.contract import Condition, Stage, Step
from metacog_pipeline.errors import SourceError, reason_of
from metacog_pipeline.scoring import choices, files, printed

ANSWERED, READABLE, SOUND, COMPUTED, HOLDS = "answered", "readable", "sound", "computed", "holds"
PAID = {"cost": "paid"}
CHEAP = dg.BackfillPolicy.single_run()  # a run costs more than the partition


def benchmark_assets(benchmark: Bound) -> list[dg.AssetsDefinition]:
    """Return the assets of a benchmark, in order."""
    name = benchmark.name
    later = later_conditions(benchmark)
    judged = judging.wanted(benchmark) is not None
    asking = [_transcripts(benchmark, f"{name}_transcripts", items_name(benchmark))]
    for each in later:
        asking += [
            _choice(benchmark, each),
            _transcripts(
                benchmark, f"{name}_{each.name}_transcripts", f"{name}_{each.name}_choice", later=True
            ),
        ]
    return [
        *(_step(benchmark, step) for step in benchmark.construction()),
        *asking,
        _responses(benchmark, later),
        *([_judgements(benchmark)] if judged else []),
        _run_estimates(benchmark, judged),
        _comparisons(benchmark),
    ]


def later_conditions(benchmark: Bound) -> list[Condition]:
    """Return the conditions whose items are chosen from the first answers."""
    return [each for each in benchmark.conditions() if each.after is not None]


def items_name(benchmark: Bound) -> str:
    """Return the name of the asset that makes the items."""
    return f"{benchmark.name}_{benchmark.construction()[-1].name}"


def _step(benchmark: Bound, step: Step) -> dg.AssetsDefinition:
    owner, name, paid = benchmark.name, f"{benchmark.name}_{step.name}", step.asks is not None
    says = "; ".join(f"{name}: {check.says.rstrip('.')}" for name, check in step.checks.items())

    @dg.asset(
        name=name,
        group_name=owner,
        deps=[f"{owner}_{needed}" for needed in step.needs],
        code_version=f"{benchmark.versions[Stage.ITEMS]}.{step.version}",
        pool="models" if paid else None,
        automation_condition=conditions.FILL_MISSING if paid else conditions.FOLLOW,
        description=step.says,
        check_specs=[dg.AssetCheckSpec(HOLDS, asset=name, description=f"{says}.")] if says else [],
        owners=owners(),
        tags=PAID if paid else None,
    )
    def made(context: dg.AssetExecutionContext, study: StudyResource) -> dg.MaterializeResult:
        with one_line(study):
            found = _run_step(study.benchmark(owner), step.name)
        failed = [each for each, result in found.checks.items() if not result.passed]
        facts = {
            f"{each}: {key}": fact
            for each, result in found.checks.items()
            for key, fact in result.facts.items()
        }
        checked = dg.AssetCheckResult(
            check_name=HOLDS,
            passed=not failed,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"failed": ", ".join(failed), **facts},
        )
        return dg.MaterializeResult(
            metadata={**found.facts, ROWS: found.facts["rows"], "preview": preview(found.frame)},
            data_version=dg.DataVersion(found.digest),
            check_results=[checked] if says else [],
        )

    return made


def _run_step(benchmark: Bound, name: str) -> construction.StepResult:
    step = construction.step_of(benchmark, name)
    if step.asks is not None:
        refuse_renamed(benchmark, step.asks.models(benchmark))
    with progress(f"{benchmark.name}_{name}") as show:
        found = construction.run_step(benchmark, step, show)
    last = name == benchmark.construction()[-1].name
    if last and (why := item_files.unusable(benchmark.items)) is not None:
        construction.result_path(benchmark, name).unlink()
        raise SourceError(f"{benchmark.name}: {why}")
    return found


def _partitioned(
    benchmark: Bound,
    stage: Stage,
    check: dg.AssetCheckSpec,
    work: Callable[[Bound, Partition], StageResult],
    deps: Sequence[str],
    condition: conditions.Condition,
    description: str,
) -> dg.AssetsDefinition:
    """Return a partitioned asset that costs nothing: the one of ``check``."""
    owner = benchmark.name

    @dg.asset(
        name=check.asset_key.to_user_string(),
        group_name=owner,
        partitions_def=MODEL_RUNS,
        deps=list(deps),
        code_version=benchmark.versions[stage],
        automation_condition=condition,
        backfill_policy=CHEAP,
        description=description,
        check_specs=[check],
        owners=owners(),
        kinds={"parquet", "polars"},
    )
    def made(context: dg.AssetExecutionContext, study: StudyResource) -> dg.MaterializeResult:
        with one_line(study):
            return each_partition(context, study.benchmark(owner), check.name, work)

    return made


class Asking(dg.Config):
    """Settings of one run that asks models; left alone, everything that is missing is asked."""

    limit: int | None = None


def _asking(
    benchmark: Bound,
    name: str,
    deps: Sequence[str],
    work: Callable[[Bound, Partition, int | None], StageResult],
    version: str,
    description: str,
    later: bool,
) -> dg.AssetsDefinition:
    """Return a partitioned asset that asks models: a run per partition in backfills, as many at once as its pool allows."""
    owner = benchmark.name
    check = dg.AssetCheckSpec(
        ANSWERED, asset=name, description="Everything has its answers; few calls failed."
    )

    @dg.asset(
        name=name,
        group_name=owner,
        partitions_def=MODEL_RUNS,
        deps=list(deps),
        pool="models",
        code_version=version,
        automation_condition=conditions.FILL_MISSING,
        description=description,
        check_specs=[check],
        owners=owners(),
        tags={**PAID, **({"asked": "later"} if later else {})},
        kinds={"parquet"},
    )
    def asked(
        context: dg.AssetExecutionContext, study: StudyResource, config: Asking
    ) -> dg.MaterializeResult:
        with one_line(study):
            return each_partition(
                context, study.benchmark(owner), ANSWERED, lambda bench, each: work(bench, each, config.limit)
            )

    return asked


def _transcripts(benchmark: Bound, name: str, needs: str, *, later: bool = False) -> dg.AssetsDefinition:
    says = "What was asked and answered. Asks only for what is missing or changed; never deletes an answer."
    return _asking(benchmark, name, [needs], stages.answer, benchmark.versions[Stage.ASKING], says, later)


def _judgements(benchmark: Bound) -> dg.AssetsDefinition:
    owner, declared = benchmark.name, benchmark.judging
    assert declared is not None
    return _asking(
        benchmark,
        f"{owner}_judgements",
        [f"{owner}_responses", *(f"{owner}_{step}" for step in declared.needs)],
        lambda bench, each, _: stages.judge(bench, each),
        f"{benchmark.versions[Stage.JUDGING]}.{declared.version}",
        "What judges say of the answers: models the study names; asked only for what is missing.",
        later=True,
    )


def _choice(benchmark: Bound, condition: Condition) -> dg.AssetsDefinition:
    owner, later, after = benchmark.name, condition.name, condition.after
    assert after is not None

    @dg.asset(
        name=f"{owner}_{later}_choice",
        group_name=owner,
        deps=[f"{owner}_transcripts"],
        code_version=after.version,
        automation_condition=conditions.FILL_MISSING,  # made once, when all models have answered
        description=f"Which items {later} asks, by the answers under {after.condition}: chosen once, kept for good.",
        owners=owners(),
    )
    def choice(study: StudyResource) -> dg.MaterializeResult:
        with one_line(study):
            chosen = choices.choose(study.benchmark(owner), later)
        return dg.MaterializeResult(metadata={ROWS: len(chosen), "items": sorted(chosen)})

    return choice


def _responses(benchmark: Bound, later: Sequence[Condition]) -> dg.AssetsDefinition:
    owner, name = benchmark.name, f"{benchmark.name}_responses"
    says = "No question is lost or counted twice (blocks); few answers are unreadable (warns)."
    asked = [f"{owner}_transcripts", *(f"{owner}_{each.name}_transcripts" for each in later)]
    return _partitioned(
        benchmark,
        Stage.PARSING,
        dg.AssetCheckSpec(READABLE, asset=name, blocking=True, description=says),
        stages.read,
        [items_name(benchmark), *asked],
        conditions.FOLLOW_ANSWERS if later else conditions.FOLLOW,
        "What each answer says: what was chosen, how sure, right or wrong, or why there is nothing.",
    )


def _run_estimates(benchmark: Bound, judged: bool) -> dg.AssetsDefinition:
    owner, name = benchmark.name, f"{benchmark.name}_run_estimates"
    says = (
        "No NaN, no half or reversed interval, nothing outside the range of its measure (blocks); nearly every question "
        "has a valid answer (warns)."
    )
    return _partitioned(
        benchmark,
        Stage.SCORING,
        dg.AssetCheckSpec(SOUND, asset=name, blocking=True, description=says),
        stages.estimate,
        [f"{owner}_responses", *([f"{owner}_judgements"] if judged else [])],
        conditions.FOLLOW_ANSWERS if judged else conditions.FOLLOW,
        "Every measure of one model and run, with its interval or the reason it has none.",
    )


def _comparisons(benchmark: Bound) -> dg.AssetsDefinition:
    owner, name = benchmark.name, f"{benchmark.name}_comparisons"
    tables = ", ".join(each.name for each in benchmark.tables)

    @dg.asset(
        name=name,
        group_name=owner,
        deps=[f"{owner}_run_estimates"],
        kinds={"parquet", "polars"},
        code_version=benchmark.versions[Stage.SCORING],
        automation_condition=conditions.FOLLOW_WHAT_THERE_IS,
        description="Numbers over all models: pooled runs, tests between models, printed numbers of the paper"
        + (f"; the benchmark's own tables: {tables}." if tables else "."),
        check_specs=[
            dg.AssetCheckSpec(COMPUTED, asset=name, description="Nothing is empty because it failed.")
        ],
        owners=owners(),
    )
    def comparisons(study: StudyResource) -> dg.MaterializeResult:
        with one_line(study):
            facts, faults = _compared(study.benchmark(owner))
        return dg.MaterializeResult(metadata=facts, check_results=[computed(faults)])

    return comparisons


def _compared(benchmark: Bound) -> tuple[dict[str, Any], dict[str, str]]:
    """Pool and compare; what fails is reported under its name, and keeps nothing else from being published."""
    facts: dict[str, Any] = {}
    faults: dict[str, str] = {}

    def tried(name: str, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # a stranger's benchmark may fail in any way
            faults[f"{benchmark.name}_{name}"] = reason_of(error)

    def compare() -> None:
        found = files.compare(benchmark)
        facts.update({f"rows of {name}": rows for name, rows in found.rows.items()})
        for each in found.failures:
            what, _, reason = each.partition(": ")
            faults[what] = "; ".join(filter(None, (faults.get(what), reason)))

    def publish() -> None:
        _, claims = printed.write(benchmark)
        verdicts = claims["verdict"].value_counts(sort=True).drop_nulls()
        facts.update({f"printed numbers: {verdict}": count for verdict, count in verdicts.iter_rows()})

    tried("estimates", lambda: facts.update(files.pool(benchmark)))
    tried("comparisons", compare)
    if benchmark.published is not None:
        tried("published", publish)
    return facts, faults


def computed(faults: dict[str, str]) -> dg.AssetCheckResult:
    """Return the check that nothing is empty because it failed; ``faults`` are the reasons by table."""
    return dg.AssetCheckResult(
        check_name=COMPUTED,
        passed=not faults,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={FAULTS: dg.MetadataValue.json(faults)} if faults else {},
    )


def owners() -> list[str]:
    """Return whom to ask about an asset, as the study names them."""
    return list(current_study().study.owners)
