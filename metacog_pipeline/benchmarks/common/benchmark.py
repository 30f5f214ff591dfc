"""What one benchmark tells the rest of the pipeline about itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import polars as pl

from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.querying.types import Task
from metacog_pipeline.study import Study


class Respondent(Protocol):
    """A simulated observer: answers in text, like a model."""

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` is about an item of its benchmark."""

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the answer."""


class Fetched(Protocol):
    """A source that is home and verified."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    @property
    def origin(self) -> str:
        """Where it came from."""


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

    @property
    def stages(self) -> tuple[str, str, str]:
        """The names of a partition's assets, in order."""
        return (f"{self.name}_transcripts", f"{self.name}_observations", f"{self.name}_estimates")

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
