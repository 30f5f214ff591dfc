"""From observations to judgements: what is asked of the judges, and what they said."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from metacog_pipeline.benchmarks.common import judging as common
from metacog_pipeline.benchmarks.common.benchmark import Judging
from metacog_pipeline.benchmarks.common.files import mark_of, read_frame
from metacog_pipeline.benchmarks.common.scoring import observations_path
from metacog_pipeline.benchmarks.metacogbench.judging import protocol
from metacog_pipeline.benchmarks.metacogbench.judging.cases import Case, cases, longest
from metacog_pipeline.benchmarks.metacogbench.judging.observe import read_judgements
from metacog_pipeline.benchmarks.metacogbench.judging.prompts import REPLY_CHARACTERS, load_judge_wording
from metacog_pipeline.benchmarks.metacogbench.judging.protocol import Judge
from metacog_pipeline.benchmarks.metacogbench.judging.simulated import SimulatedJudge
from metacog_pipeline.benchmarks.metacogbench.observe import UNANSWERED
from metacog_pipeline.benchmarks.metacogbench.stages.construction import items
from metacog_pipeline.benchmarks.metacogbench.stages.settings import (
    BENCHMARK,
    conditions,
    lexicon,
    settings,
    wording,
)
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.panel import Panelist, panel_identities
from metacog_pipeline.querying.partition import Progress, SessionResult
from metacog_pipeline.querying.planning import CostEstimate
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.store import read_partition

VERSION = "1"


def seats(study: Study, spec: ModelSpec) -> tuple[Judge, ...]:
    """Return who judges a model: the rows the study names, and the model itself for ``self``."""
    rows = {row.name: row for row in study.judges}
    return protocol.judges_of(settings(study).judges, rows, spec)


def judges(study: Study, spec: ModelSpec) -> tuple[ModelSpec, ...]:
    """Return the models that judge a model."""
    return tuple(seat.spec for seat in seats(study, spec))


def expected(partition: Partition) -> int:
    """Return how many judgements the observations of a partition ask for; 0 before there are any."""
    if not observations_path(partition).exists():
        return 0
    return len(_cases(partition)) * len(seats(partition.study, partition.spec))


def fingerprint(partition: Partition) -> str:
    """Return a digest of everything a partition's judgements depend on."""
    observed = mark_of(observations_path(partition))
    return protocol.fingerprint(
        partition, seats(partition.study, partition.spec), load_judge_wording(), observed
    )


def ask(partition: Partition, on_progress: Callable[[Progress], None] | None) -> SessionResult:
    """Ask the judges what is not judged yet."""
    return common.ask_panel(JUDGING, partition, _panel(partition, _cases(partition)), on_progress)


def read(partition: Partition) -> pl.DataFrame:
    """Return one row per reply and judge."""
    seat, judged = common.judged_partition(JUDGING, partition), _cases(partition)
    return read_judgements(
        pl.DataFrame(pl.from_arrow(read_partition(seat.folder))),
        judged,
        seats(partition.study, partition.spec),
        model=partition.spec,
        run=partition.run,
        asked=panel_identities(seat, _panel(partition, judged)),
        wording=load_judge_wording(),
    )


def estimate(partition: Partition) -> dict[str, CostEstimate]:
    """Return what is left to ask about a partition, by who is asked."""
    return common.estimate_panel(JUDGING, partition, _panel(partition, _cases_to_come(partition)))


def respondent(study: Study, spec: ModelSpec) -> SimulatedJudge:
    """Return the simulated voice of a judge."""
    return SimulatedJudge(items(study), spec.observer, wording(study), lexicon(study))


def every_judgement(study: Study, observations: pl.DataFrame) -> pl.DataFrame | None:
    """Return the judgements of all models and runs of ``observations``; None without any."""
    return common.every_judgement(JUDGING, study, BENCHMARK, observations)


def _panel(partition: Partition, judged: list[Case]) -> list[Panelist]:
    study = partition.study
    return protocol.panel(
        seats(study, partition.spec), judged, load_judge_wording(), lambda spec: respondent(study, spec)
    )


def _cases(partition: Partition) -> list[Case]:
    study = partition.study
    return cases(items(study), read_frame(observations_path(partition)), wording(study))


def _cases_to_come(partition: Partition) -> list[Case]:
    """Return the cases there are, and the longest there can be where a model has yet to answer."""
    study = partition.study
    known: set[tuple[str, str]] = set()
    there: list[Case] = []
    if observations_path(partition).exists():
        observed = read_frame(observations_path(partition)).filter(~pl.col("status").is_in(UNANSWERED))
        known = set(observed.select("condition", "item_id").iter_rows())
        there = cases(items(study), observed, wording(study))
    to_come = longest(items(study), conditions(study), wording(study), REPLY_CHARACTERS)
    return [*there, *(case for case in to_come if (case.condition, case.item_id) not in known)]


JUDGING = Judging(
    name=protocol.BENCHMARK,
    version=VERSION,
    wanted=lambda study: bool(settings(study).judges),
    judges=judges,
    expected=expected,
    fingerprint=fingerprint,
    ask=ask,
    read=read,
    estimate=estimate,
    respondent=respondent,
)
