"""From observations to judgements: what is asked of the judges, and what they said."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from metacog_pipeline.benchmarks.common import judging as common
from metacog_pipeline.benchmarks.common.benchmark import Judging, Respondent
from metacog_pipeline.benchmarks.common.files import mark_of, read_frame
from metacog_pipeline.benchmarks.common.judging import (
    ask_panel,
    estimate_panel,
    judged_partition,
    kept_judgements,
)
from metacog_pipeline.benchmarks.common.scoring import observations_path
from metacog_pipeline.benchmarks.medley.instance_scores import Grades
from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.benchmarks.medley.judging import protocol
from metacog_pipeline.benchmarks.medley.judging.cases import ANSWER_CHARACTERS, Case, cases
from metacog_pipeline.benchmarks.medley.judging.combine import combine, grades
from metacog_pipeline.benchmarks.medley.judging.observe import read_judgements
from metacog_pipeline.benchmarks.medley.judging.simulate import Responder
from metacog_pipeline.benchmarks.medley.observe import OBSERVATION_SCHEMA, UNANSWERED
from metacog_pipeline.benchmarks.medley.presentation import presented
from metacog_pipeline.benchmarks.medley.prompts import B_SOCIAL, STEP_A
from metacog_pipeline.benchmarks.medley.stages.construction import asked, instances
from metacog_pipeline.benchmarks.medley.stages.settings import BENCHMARK, judge_wording, judges, masking
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.panel import Panelist, panel_identities
from metacog_pipeline.querying.partition import Progress, SessionResult
from metacog_pipeline.querying.planning import CostEstimate
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.store import read_partition

VERSION = "1"


def eligible(study: Study, spec: ModelSpec) -> tuple[ModelSpec, ...]:
    """Return the judges of the study that may judge a model."""
    return protocol.eligible(judges(study), spec)


def expected(partition: Partition) -> int:
    """Return how many judgements the observations of a partition ask for; 0 before there are any."""
    if not observations_path(partition).exists():
        return 0
    to_judge = sum(case.unjudged is None for case in _cases(partition))
    return to_judge * len(eligible(partition.study, partition.spec))


def fingerprint(partition: Partition) -> str:
    """Return a digest of everything a partition's judgements depend on."""
    study = partition.study
    observed = mark_of(observations_path(partition))
    return protocol.fingerprint(
        partition, judges(study), judge_wording(study), observed, masking=masking(study)
    )


def ask(partition: Partition, on_progress: Callable[[Progress], None] | None) -> SessionResult:
    """Ask the judges what is not judged yet."""
    return ask_panel(JUDGING, partition, _panel(partition, _cases(partition)), on_progress)


def read(partition: Partition) -> pl.DataFrame:
    """Return one row per instance, condition and judge."""
    seat, to_judge = judged_partition(JUDGING, partition), _cases(partition)
    return read_judgements(
        pl.DataFrame(pl.from_arrow(read_partition(seat.folder))),
        to_judge,
        judges(partition.study),
        model=partition.spec,
        run=partition.run,
        asked=panel_identities(seat, _panel(partition, to_judge)),
        wording=judge_wording(partition.study),
    )


def estimate(partition: Partition) -> dict[str, CostEstimate]:
    """Return what is left to ask about a partition, by judge; a judgement may take three calls, which tokens allow for."""
    return estimate_panel(JUDGING, partition, _panel(partition, _cases_to_come(partition)))


def respondent(study: Study, spec: ModelSpec) -> Respondent:
    """Return the simulated voice of a judge."""
    return Responder(spec.observer, judge_wording(study))


def judged(study: Study, observations: pl.DataFrame) -> Grades | None:
    """Return the combined grades of the models and runs of ``observations``; None where the study names no judges."""
    if not judges(study):
        return None
    found: dict[tuple[str, int, str, str], dict[str, float | None]] = {}
    for model, run in observations.select("model", "run").unique().sort("model", "run").iter_rows():
        kept = kept_judgements(JUDGING, Partition(study, "medley", study.model(model), run))
        if kept is None or kept.is_empty():
            continue
        for (item_id, condition), dimensions in grades(combine(kept)).items():
            found[model, run, condition, item_id] = dimensions
    return found


def every_judgement(study: Study, observations: pl.DataFrame) -> pl.DataFrame | None:
    """Return the judgements of all models and runs of ``observations``, one below the other; None without any."""
    return common.every_judgement(JUDGING, study, BENCHMARK, observations)


def _panel(partition: Partition, to_judge: list[Case]) -> list[Panelist]:
    study = partition.study
    return protocol.panel(judges(study), partition.spec, to_judge, judge_wording(study))


def _cases(partition: Partition) -> list[Case]:
    observed = read_frame(observations_path(partition))
    return cases(instances(partition.study), observed, masking=masking(partition.study))


def _cases_to_come(partition: Partition) -> list[Case]:
    """Return the cases there are, and the longest there can be where a model has yet to answer."""
    study = partition.study
    there = observations_path(partition).exists()
    if not there and partition.spec.provider == "replay":
        return []  # nobody knows how much of it will be imported
    observed = read_frame(observations_path(partition)) if there else OBSERVATION_SCHEMA.to_frame()
    answered = observed.filter(~pl.col("status").is_in(UNANSWERED))
    known = set(answered.select("condition", "item_id").iter_rows())
    longest = [
        _longest(presented(item, condition, masking(study)), condition)
        for condition, items in asked(study).items()
        for item in items
        if (condition, item.item_id) not in known
    ]
    return [*cases(instances(study), answered, masking=masking(study)), *longest]


def _longest(shown: Instance, condition: str) -> Case:
    first, final = (f"{step} {condition} ".ljust(ANSWER_CHARACTERS, "x") for step in (STEP_A, B_SOCIAL))
    return Case(shown, condition, first, final, wrong_consensus=True)


JUDGING = Judging(
    name=protocol.BENCHMARK,
    version=VERSION,
    wanted=lambda study: bool(judges(study)),
    judges=eligible,
    expected=expected,
    fingerprint=fingerprint,
    ask=ask,
    read=read,
    estimate=estimate,
    respondent=respondent,
    plan_note="A judgement is counted as one call; where a reply tells little it takes up to three, which tokens and "
    "dollars allow for.",
)
