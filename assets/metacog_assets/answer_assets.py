"""From items to the numbers of one run: transcripts, later arms, responses, judgements, estimates. A partition is one model
in one run."""

from collections.abc import Iterator

import dagster as dg

from metacog_assets.automation import FILL_MISSING, FOLLOW, FOLLOW_THE_ANSWERS, FOLLOW_WHAT_IS_WHOLE
from metacog_assets.figures import ROWS
from metacog_assets.marking import asking_kinds, owners, schema_of_rows, tags
from metacog_assets.models import models_table
from metacog_assets.partitioned import each_partition
from metacog_assets.partitions import MODEL_RUNS
from metacog_assets.reporting import one_line_failure
from metacog_assets.request import commanded
from metacog_assets.run_settings import Asking, planned
from metacog_assets.step_assets import items_name
from metacog_assets.study_file import Bound, bound
from metacog_assets.work import ANSWERED, READABLE, SOUND, answer, estimate, judge, note_ended, read
from metacog_pipeline.asking import judging, tasks
from metacog_pipeline.benchmark.contract import Condition, Stage
from metacog_pipeline.scoring import choices
from metacog_pipeline.scoring.schemas import ESTIMATE, response_schema

SIMULATED = "simulated"


def answer_assets(benchmark: Bound) -> list[dg.AssetsDefinition]:
    """Return the assets of one model and run, and the choices between its arms."""
    later = [each for each in benchmark.conditions() if each.after is not None]
    asking = [_transcripts(benchmark), *(made for each in later for made in _arm(benchmark, each))]
    judged = [_judgements(benchmark)] if judging.wanted(benchmark) is not None else []
    return [*asking, _responses(benchmark, later), *judged, _estimates(benchmark, bool(judged))]


def later_arms(benchmark: Bound) -> list[str]:
    """Return the conditions that are decided after the first answers."""
    return [each.name for each in benchmark.conditions() if each.after is not None]


def _transcripts(benchmark: Bound) -> dg.AssetsDefinition:
    return _asked(benchmark, f"{benchmark.name}_transcripts", items_name(benchmark), None)


def _asked(benchmark: Bound, name: str, needs: str, arm: str | None) -> dg.AssetsDefinition:
    owner, providers = benchmark.name, {spec.provider for spec in tasks.models(benchmark)}
    what = "Every question" if arm is None else f"Every question chosen for {arm}"

    @dg.asset(
        name=name,
        group_name=owner,
        partitions_def=MODEL_RUNS,
        deps=[needs],
        kinds=asking_kinds(providers),
        code_version=benchmark.versions[Stage.ASKING],
        pool="models",
        automation_condition=FILL_MISSING,
        description="What was asked and answered. Asks only for what is missing or changed; never deletes an answer.",
        metadata=models_table(benchmark.context.study, tasks.models(benchmark)),
        check_specs=[
            dg.AssetCheckSpec(ANSWERED, asset=name, description=f"{what} has its answers; few calls failed.")
        ],
        owners=owners(),
        tags=tags("answers", paid=True, benchmark=owner, arm=None if arm is None else "later"),
        output_required=False,  # a dry run makes nothing
    )
    def transcripts(
        context: dg.AssetExecutionContext, config: Asking
    ) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        with one_line_failure():
            config.check()
            if config.dry_run:
                yield planned(context, owner, ANSWERED, config.limit)
                return
            with config.chosen_lane():
                yield each_partition(
                    context,
                    owner,
                    answer,
                    config.limit,
                    commanded(context),
                    free=lambda each: each.spec.provider == SIMULATED,
                    note=note_ended,
                )

    return transcripts


def _arm(benchmark: Bound, condition: Condition) -> list[dg.AssetsDefinition]:
    """Return the choice of an arm's items, made once for all models, and the asset that asks them."""
    owner, arm, after = benchmark.name, condition.name, condition.after
    assert after is not None

    @dg.asset(
        name=f"{owner}_{arm}_choice",
        group_name=owner,
        deps=[f"{owner}_transcripts"],
        kinds={"json"},
        code_version=after.version,
        automation_condition=FILL_MISSING,  # waits for all models, and never runs twice
        description=f"Which items {arm} asks, by the answers under {after.condition}: chosen once, kept for good.",
        owners=owners(),
        tags=tags("items", benchmark=owner),
    )
    def choice() -> dg.MaterializeResult:
        with one_line_failure():
            chosen = choices.choose(bound(owner), arm)
        return dg.MaterializeResult(metadata={ROWS: len(chosen), "items": sorted(chosen)})

    return [choice, _asked(benchmark, f"{owner}_{arm}_transcripts", f"{owner}_{arm}_choice", arm)]


def _responses(benchmark: Bound, later: list[Condition]) -> dg.AssetsDefinition:
    owner, name = benchmark.name, f"{benchmark.name}_responses"

    @dg.asset(
        name=name,
        group_name=owner,
        partitions_def=MODEL_RUNS,
        deps=[
            items_name(benchmark),
            f"{owner}_transcripts",
            *(f"{owner}_{each.name}_transcripts" for each in later),
        ],
        kinds={"parquet", "polars"},
        code_version=benchmark.versions[Stage.PARSING],
        automation_condition=FOLLOW_THE_ANSWERS if later else FOLLOW,
        description="What each answer says: what was chosen, how sure, right or wrong, or why there is nothing.",
        metadata=schema_of_rows(response_schema(benchmark), benchmark.Response),
        check_specs=[
            dg.AssetCheckSpec(
                READABLE,
                asset=name,
                blocking=True,
                description="No question is lost or counted twice (blocks); few answers are unreadable (warns).",
            )
        ],
        owners=owners(),
        tags=tags("scores", benchmark=owner),
    )
    def responses(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        with one_line_failure():
            return each_partition(context, owner, read)

    return responses


def _judgements(benchmark: Bound) -> dg.AssetsDefinition:
    owner, name, declared = benchmark.name, f"{benchmark.name}_judgements", benchmark.judging
    assert declared is not None
    judges = {
        judge.name: judge for spec in tasks.models(benchmark) for judge in declared.judges(benchmark, spec)
    }
    simulated = all(judge.provider == SIMULATED for judge in judges.values())

    @dg.asset(
        name=name,
        group_name=owner,
        partitions_def=MODEL_RUNS,
        deps=[f"{owner}_responses", *(f"{owner}_{step}" for step in declared.needs)],
        kinds=asking_kinds(judge.provider for judge in judges.values()),
        code_version=f"{benchmark.versions[Stage.JUDGING]}.{declared.version}",
        pool="models",
        automation_condition=FOLLOW_WHAT_IS_WHOLE,
        description="What judges say of the answers: models the study names; asked only for what is missing.",
        metadata=models_table(benchmark.context.study, judges.values()),
        check_specs=[dg.AssetCheckSpec(ANSWERED, asset=name, description="Every answer has its judgements.")],
        owners=owners(),
        tags=tags("judgements", paid=True, benchmark=owner),
    )
    def judgements(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        with one_line_failure():
            return each_partition(context, owner, judge, commanded(context), free=lambda _: simulated)

    return judgements


def _estimates(benchmark: Bound, judged: bool) -> dg.AssetsDefinition:
    owner, name = benchmark.name, f"{benchmark.name}_run_estimates"

    @dg.asset(
        name=name,
        group_name=owner,
        partitions_def=MODEL_RUNS,
        deps=[f"{owner}_responses", *([f"{owner}_judgements"] if judged else [])],
        kinds={"parquet", "polars"},
        code_version=benchmark.versions[Stage.SCORING],
        automation_condition=FOLLOW_THE_ANSWERS if judged else FOLLOW,
        description="Every measure of one model and run, with its interval or the reason it has none.",
        metadata=schema_of_rows(ESTIMATE),
        check_specs=[
            dg.AssetCheckSpec(
                SOUND,
                asset=name,
                blocking=True,
                description="No NaN, no half or reversed interval, nothing outside the range of its measure (blocks); "
                "nearly every question has a valid answer (warns).",
            )
        ],
        owners=owners(),
        tags=tags("scores", benchmark=owner),
    )
    def estimates(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        with one_line_failure():
            return each_partition(context, owner, estimate)

    return estimates
