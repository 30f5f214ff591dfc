"""The assets of one benchmark, made from its contract: the only place that knows in which order its stages stand.

steps of construction → transcripts [→ choice → transcripts of a later condition] → responses [→ judgements]
→ run_estimates → comparisons
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dagster as dg

from metacog_assets import stages
from metacog_assets.conditions import ASKED_LATER, FILL_MISSING, FOLLOW, FOLLOW_ANSWERS, FOLLOW_WHAT_THERE_IS
from metacog_assets.partitions import MODEL_RUNS
from metacog_assets.stages import ROWS, preview, progress
from metacog_assets.steps import WARN, computed, each_partition, one_line
from metacog_assets.study_file import Bound, StudyResource, owners
from metacog_pipeline.asking import construction, judging
from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.contract import Checked, Condition, Stage, Step
from metacog_pipeline.errors import SourceError, reason_of
from metacog_pipeline.scoring import files, printed

PAID = {"cost": "paid"}
CHEAP = dg.BackfillPolicy.single_run()  # a run costs more than the partition
#: The check of each stage, by the function that does it, and what holds where it passes.
CHECKS = {
    "answer": ("answered", "Everything has its answers; few calls failed."),
    "judge": ("answered", "Everything has its verdicts; few calls failed."),
    "read": ("readable", "No question is lost or counted twice (blocks); few are unreadable (warns)."),
    "estimate": (
        "sound",
        "No NaN, no half or reversed interval, nothing outside the range of its measure (blocks); nearly every question "
        "has a valid answer (warns).",
    ),
}
BLOCKING = ("readable", "sound")  # what does not hold there keeps later stages back


def benchmark_assets(benchmark: Bound) -> list[dg.AssetsDefinition]:
    """Return the assets of a benchmark, in order."""
    steps, later, version = benchmark.construction(), later_conditions(benchmark), benchmark.versions
    items, asking, scoring = steps[-1].name, version[Stage.ASKING], version[Stage.SCORING]
    asked = ["transcripts", *(f"{each.name}_transcripts" for each in later)]

    made = [_step(benchmark, step) for step in steps]
    made.append(_asking(benchmark, "transcripts", [items], stages.answer, asking))
    for each, name in zip(later, asked[1:], strict=True):
        made.append(_choice(benchmark, each))
        made.append(
            _asking(benchmark, name, [f"{each.name}_choice"], stages.answer, asking, tags=ASKED_LATER)
        )
    follow = FOLLOW_ANSWERS if later else FOLLOW
    made.append(
        _free(benchmark, "responses", [items, *asked], stages.read, version[Stage.PARSING], follow=follow)
    )
    scored, follow = ["responses"], FOLLOW
    if (declared := judging.wanted(benchmark)) is not None:
        scored, follow = ["responses", "judgements"], FOLLOW_ANSWERS
        needs, rules = ["responses", *declared.needs], f"{version[Stage.JUDGING]}.{declared.version}"
        made.append(_asking(benchmark, "judgements", needs, stages.judge, rules, tags=ASKED_LATER))
    made.append(_free(benchmark, "run_estimates", scored, stages.estimate, scoring, follow=follow))
    return [*made, _comparisons(benchmark)]


def later_conditions(benchmark: Bound) -> list[Condition]:
    """Return the conditions whose items are chosen from the first answers."""
    return [each for each in benchmark.conditions() if each.after is not None]


def _asset(
    benchmark: Bound, name: str, needs: Sequence[str], check: tuple[str, str] | None, **more: Any
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Return the decorator of an asset; ``check`` is the name of its check and what holds where it passes."""
    own, paid, checks = f"{benchmark.name}_{name}", "cost" in more.get("tags", {}), []
    if check is not None:
        blocks = check[0] in BLOCKING
        checks.append(dg.AssetCheckSpec(check[0], asset=own, blocking=blocks, description=check[1]))
    made: Callable[[Callable[..., Any]], dg.AssetsDefinition] = dg.asset(
        name=own,
        group_name=benchmark.name,
        deps=[f"{benchmark.name}_{each}" for each in needs],
        check_specs=checks,
        owners=owners(),
        pool="models" if paid else None,
        **more,
    )
    return made


# --- items ------------------------------------------------------------------------------------------------------------
def _step(benchmark: Bound, step: Step) -> dg.AssetsDefinition:
    owner, paid = benchmark.name, step.asks is not None
    says = "; ".join(f"{name}: {check.says.rstrip('.')}" for name, check in step.checks.items())

    @_asset(
        benchmark,
        step.name,
        step.needs,
        ("holds", f"{says}.") if says else None,
        description=step.says,
        tags=PAID if paid else {},
        code_version=f"{benchmark.versions[Stage.ITEMS]}.{step.version}",
        automation_condition=FILL_MISSING if paid else FOLLOW,
    )
    def made(context: dg.AssetExecutionContext, study: StudyResource) -> dg.MaterializeResult:
        with one_line(context, study):
            found = _run_step(study.benchmark(owner), step.name)
        metadata = {**found.facts, ROWS: found.facts["rows"], "preview": preview(found.frame)}
        checks = [_held(found.checks)] if says else []
        return dg.MaterializeResult(
            metadata=metadata, data_version=dg.DataVersion(found.digest), check_results=checks
        )

    return made


def _held(checks: Mapping[str, Checked]) -> dg.AssetCheckResult:
    failed = [name for name, each in checks.items() if not each.passed]
    facts = {f"{name}: {key}": fact for name, each in checks.items() for key, fact in each.facts.items()}
    metadata = {"failed": ", ".join(failed), **facts}
    return dg.AssetCheckResult(check_name="holds", passed=not failed, severity=WARN, metadata=metadata)


def _run_step(benchmark: Bound, name: str) -> construction.StepResult:
    step = construction.step_of(benchmark, name)
    with progress(f"{benchmark.name}_{name}") as show:
        found = construction.run_step(benchmark, step, show)
    last = name == benchmark.construction()[-1].name
    if last and (why := item_files.unusable(benchmark.items)) is not None:
        construction.result_path(benchmark, name).unlink()
        raise SourceError(f"{benchmark.name}: {why}")
    return found


def _choice(benchmark: Bound, condition: Condition) -> dg.AssetsDefinition:
    owner, later, after = benchmark.name, condition.name, condition.after
    assert after is not None
    says = f"Which items {later} asks, by the answers under {after.condition}: chosen once, kept for good."
    filled = FILL_MISSING  # made once, when all models have answered
    more: dict[str, Any] = {
        "description": says,
        "code_version": after.version,
        "automation_condition": filled,
    }

    @_asset(benchmark, f"{later}_choice", ["transcripts"], None, **more)
    def choice(context: dg.AssetExecutionContext, study: StudyResource) -> dg.MaterializeResult:
        with one_line(context, study):
            chosen = files.choose(study.benchmark(owner), later)
        return dg.MaterializeResult(metadata={ROWS: len(chosen), "items": sorted(chosen)})

    return choice


# --- one model and run ------------------------------------------------------------------------------------------------
def _partitioned(
    benchmark: Bound, name: str, needs: Sequence[str], work: stages.Work, version: str, **more: Any
) -> dg.AssetsDefinition:
    owner, check = benchmark.name, CHECKS[work.__name__]
    more |= {"description": work.__doc__, "code_version": version, "partitions_def": MODEL_RUNS}

    @_asset(benchmark, name, needs, check, kinds={"parquet"}, **more)
    def made(context: dg.AssetExecutionContext, study: StudyResource) -> dg.MaterializeResult:
        with one_line(context, study):
            return each_partition(context, study.benchmark(owner), check[0], work)

    return made


def _free(*what: Any, follow: Any) -> dg.AssetsDefinition:
    return _partitioned(*what, automation_condition=follow, backfill_policy=CHEAP)


def _asking(*what: Any, tags: Mapping[str, str] | None = None) -> dg.AssetsDefinition:
    """Return an asset that asks models: a run per partition in backfills, as many at once as its pool allows."""
    return _partitioned(*what, automation_condition=FILL_MISSING, tags={**PAID, **(tags or {})})


# --- all models -------------------------------------------------------------------------------------------------------
def _comparisons(benchmark: Bound) -> dg.AssetsDefinition:
    owner, tables = benchmark.name, ", ".join(each.name for each in benchmark.tables)
    own = f"; the benchmark's own tables: {tables}" if tables else ""

    @_asset(
        benchmark,
        "comparisons",
        ["run_estimates"],
        ("computed", "Nothing is empty because it failed."),
        description=f"Numbers over all models: pooled runs, tests between models, printed numbers of the paper{own}.",
        kinds={"parquet", "polars"},
        code_version=benchmark.versions[Stage.SCORING],
        automation_condition=FOLLOW_WHAT_THERE_IS,
    )
    def comparisons(context: dg.AssetExecutionContext, study: StudyResource) -> dg.MaterializeResult:
        with one_line(context, study):
            facts, faults = _compared(study.benchmark(owner))
        return dg.MaterializeResult(metadata=facts, check_results=[computed(faults)])

    return comparisons


def _compared(benchmark: Bound) -> tuple[dict[str, Any], dict[str, str]]:
    """Pool and compare; what fails is reported under its name, and keeps nothing else from being published."""
    facts: dict[str, Any] = {}
    faults: dict[str, str] = {}

    def compare() -> dict[str, int]:
        found = files.compare(benchmark)
        for each in found.failures:
            what, _, reason = each.partition(": ")
            faults[what] = "; ".join(filter(None, (faults.get(what), reason)))
        return {f"rows of {name}": rows for name, rows in found.rows.items()}

    def publish() -> dict[str, int]:
        _, claims = printed.write(benchmark)
        verdicts = claims["verdict"].value_counts(sort=True).drop_nulls()
        return {f"printed numbers: {verdict}": count for verdict, count in verdicts.iter_rows()}

    work: dict[str, Callable[[], Any]] = {"estimates": lambda: files.pool(benchmark), "comparisons": compare}
    if benchmark.published is not None:
        work["published"] = publish
    for name, computes in work.items():
        try:
            facts.update(computes())
        except Exception as error:  # a stranger's benchmark may fail in any way
            faults[f"{benchmark.name}_{name}"] = reason_of(error)
    return facts, faults
