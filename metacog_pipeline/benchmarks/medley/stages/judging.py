"""From observations to judgements: what is asked of the judges, and what they said."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from metacog_pipeline.benchmarks.common.benchmark import Judging
from metacog_pipeline.benchmarks.common.files import mark_of, read_frame
from metacog_pipeline.benchmarks.common.judging import judged_partition, kept_judgements
from metacog_pipeline.benchmarks.common.scoring import observations_path
from metacog_pipeline.benchmarks.medley.instance_scores import Grades
from metacog_pipeline.benchmarks.medley.judging import protocol
from metacog_pipeline.benchmarks.medley.judging.cases import Case, cases
from metacog_pipeline.benchmarks.medley.judging.combine import combine, grades
from metacog_pipeline.benchmarks.medley.judging.observe import read_judgements
from metacog_pipeline.benchmarks.medley.stages.construction import instances
from metacog_pipeline.benchmarks.medley.stages.settings import judge_wording, judges, masking
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.panel import Panelist, panel_identities, query_panel
from metacog_pipeline.querying.partition import Outcome, Progress
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
    return protocol.fingerprint(partition, judges(study), judge_wording(), observed, masking=masking(study))


def ask(partition: Partition, on_progress: Callable[[Progress], None] | None) -> Outcome:
    """Ask the judges what is not judged yet."""
    seat = judged_partition(JUDGING, partition)
    panel = _panel(partition, _cases(partition))
    return query_panel(seat, panel, fingerprint=fingerprint(partition), on_progress=on_progress)


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
        wording=judge_wording(),
    )


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
    pairs = observations.select("model", "run").unique().sort("model", "run").iter_rows()
    kept = [
        kept_judgements(JUDGING, Partition(study, "medley", study.model(model), run)) for model, run in pairs
    ]
    present = [frame for frame in kept if frame is not None and frame.height]
    return pl.concat(present) if present and judges(study) else None


def _panel(partition: Partition, to_judge: list[Case]) -> list[Panelist]:
    return protocol.panel(judges(partition.study), partition.spec, to_judge, judge_wording())


def _cases(partition: Partition) -> list[Case]:
    observed = read_frame(observations_path(partition))
    return cases(instances(partition.study), observed, masking=masking(partition.study))


JUDGING = Judging(
    name=protocol.BENCHMARK,
    version=VERSION,
    wanted=lambda study: bool(judges(study)),
    judges=eligible,
    expected=expected,
    fingerprint=fingerprint,
    ask=ask,
    read=read,
)
