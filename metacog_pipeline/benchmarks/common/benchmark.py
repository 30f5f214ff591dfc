"""What one benchmark tells the rest of the pipeline about itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import polars as pl

from metacog_pipeline.benchmark.source_files import Fetched
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion
from metacog_pipeline.querying.partition import Progress, SessionResult
from metacog_pipeline.querying.planning import CostEstimate
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.querying.types import Task
from metacog_pipeline.study import Study


class Respondent(Protocol):
    """A simulated observer: answers in text, like a model."""

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` is about an item of its benchmark."""

    def __call__(self, request: ChatRequest) -> str | Completion:
        """Return the text of the answer, or all of it where there is more to it than text."""


@dataclass(frozen=True, slots=True)
class Judging:
    """How a benchmark has answers judged by models, one partition per judged model and run.

    Attributes
    ----------
    name
        Of the partitions of judgements, in folders and tables.
    version
        Raised when the same judgements would be read or combined otherwise.
    wanted
        Whether the study names judges.
    judges
        Those of them that may judge a model.
    expected
        How many judgements a partition needs; counted from its observations, so 0 before there are any.
    fingerprint
        Digest of everything a partition's judgements depend on.
    ask
        Ask the judges what the partition lacks.
    read
        Kept judgements → one row per item, condition and judge.
    estimate
        What is left to ask about a partition, by judge; a call is one judgement. Before there are answers to judge, as
        long a prompt as these can make.
    respondent
        The simulated voice of a judge.
    plan_note
        What to know about a plan's count of judgements.
    """

    name: str
    version: str
    wanted: Callable[[Study], bool]
    judges: Callable[[Study, ModelSpec], tuple[ModelSpec, ...]]
    expected: Callable[[Partition], int]
    fingerprint: Callable[[Partition], str]
    ask: Callable[[Partition, Callable[[Progress], None] | None], SessionResult]
    read: Callable[[Partition], pl.DataFrame]
    estimate: Callable[[Partition], dict[str, CostEstimate]]
    respondent: Callable[[Study, ModelSpec], Respondent]
    plan_note: str = ""


@dataclass(frozen=True, slots=True)
class Seat:
    """The partition of somebody who helps to make items: answers it needs, and the digest of what they depend on."""

    partition: Partition
    expected: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Helpers:
    """Models that help to make a benchmark's items: they are planned and shown like those that are measured.

    Attributes
    ----------
    estimates
        (name of their transcripts, who, what is left to ask), in the order of asking.
    seats
        Their partitions.
    respondent
        The simulated voice of one of them.
    foreseen
        While it lasts: the study with items as they may be at most, in a home of their own, where its own cannot be built
        before somebody has answered; None where they can.
    plan_note
        What to know about a plan of items to come.
    """

    estimates: Callable[[Study], list[tuple[str, ModelSpec, CostEstimate]]]
    seats: Callable[[Study], list[Seat]]
    respondent: Callable[[Study, ModelSpec], Respondent]
    foreseen: Callable[[Study], AbstractContextManager[Study | None]]
    plan_note: str


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark, as the stages, the planner, the server and the launcher see it.

    Attributes
    ----------
    name
        Its name in study files, folders and tables.
    parsing_version, scoring_version
        Raised when the same answers would be read or scored otherwise than before; the numbers are then made anew.
    items_current
        Whether the items on disk were built from what the study names now.
    construct
        Build the items, sources included.
    conditions
        The study's conditions, by their canonical names.
    expected_rows
        Items × conditions of one partition; 0 before the items are built.
    tasks
        What is asked of a model: one task per item and condition.
    modes
        Answer modes to try with a model, best first.
    steps
        The names of the calls one item takes in a mode.
    fingerprint
        Digest of everything a partition's answers depend on.
    respondent
        The simulated observer of a model, knowing the study's items.
    parse
        A partition's transcripts → one observation per item and condition.
    score
        Observations of one run → its estimates.
    pool
        Observations of whole models → their estimates over all runs.
    compare
        Observations of all models → tests between models and conditions.
    scoring_inputs
        What the estimates depend on besides observations, seed and version; any JSON value.
    fetch
        ``fetch(home, names, folder=…, progress=…)``: bring sources home, verified; no names: all.
    source_names
        The names ``fetch`` knows.
    needed_sources
        The sources a study reads.
    takes_imports
        Whether answers collected elsewhere can be imported; where not, replayed models are left out.
    judging
        Where answers are judged by other models; None elsewhere.
    helpers
        Where models help to make the items; None elsewhere.
    first_board
        The board's condition a model stands under before anything of it is scored, where the study decides that.
    settle
        Called when every partition has been measured: decide what could not be decided before there were answers.
        Whether there is more to ask now.
    observation_preview, estimate_preview
        Columns worth showing.
    """

    name: str
    parsing_version: str
    scoring_version: str
    items_current: Callable[[Study], bool]
    construct: Callable[[Study], object]
    conditions: Callable[[Study], tuple[str, ...]]
    expected_rows: Callable[[Study], int]
    tasks: Callable[[Study, ModelSpec], list[Task]]
    modes: Callable[[ModelSpec], tuple[str, ...]]
    steps: Callable[[str], tuple[str, ...]]
    fingerprint: Callable[[Partition], str]
    respondent: Callable[[Study, ModelSpec], Respondent]
    parse: Callable[[Partition, pl.DataFrame], pl.DataFrame]
    score: Callable[[Study, pl.DataFrame], pl.DataFrame]
    pool: Callable[[Study, pl.DataFrame], pl.DataFrame]
    compare: Callable[[Study, pl.DataFrame], pl.DataFrame]
    scoring_inputs: Callable[[Study], object]
    fetch: Callable[..., Sequence[Fetched]]
    source_names: tuple[str, ...]
    needed_sources: Callable[[Study], tuple[str, ...]]
    observation_preview: tuple[str, ...]
    estimate_preview: tuple[str, ...]
    takes_imports: bool = False
    judging: Judging | None = None
    helpers: Helpers | None = None
    first_board: Callable[[Study], str] | None = None
    settle: Callable[[Study], bool] = lambda study: False

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of a partition's assets, in order."""
        judged = (self.judging.name,) if self.judging is not None else ()
        return (f"{self.name}_transcripts", f"{self.name}_observations", *judged, f"{self.name}_estimates")

    @property
    def free_stages(self) -> tuple[str, str]:
        """Those that ask nobody: they score what was answered."""
        return (self.stages[1], self.stages[-1])

    def judged_by(self, study: Study) -> Judging | None:
        """Return how answers are judged, where the study names judges."""
        return self.judging if self.judging is not None and self.judging.wanted(study) else None

    def partition(self, study: Study, spec: ModelSpec, run: int) -> Partition:
        """Return one model × run of this benchmark."""
        return Partition(study, self.name, spec, run)

    def partitions(self, study: Study) -> list[Partition]:
        """Return every partition the study asks for, in the order of the study file."""
        return [self.partition(study, spec, run) for spec in self.models(study) for run in study.runs]

    def models(self, study: Study) -> list[ModelSpec]:
        """Return the models of the study this benchmark can score."""
        return [spec for spec in study.models if self.takes_imports or spec.provider != "replay"]

    def estimates_folder(self, study: Study) -> Path:
        """Return where this benchmark's numbers are kept."""
        return study.home.estimates / self.name
