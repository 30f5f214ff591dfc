"""The contract of a benchmark: one class and what it names. The pipeline does the rest.

A benchmark declares its settings in the study file, its items and how they are made, the calls an item takes, how a
reply is read, what is measured and what is compared. From these the pipeline makes the assets, asks, keeps answers,
scores, and fills the tables, the boards and the report. An installed package registers its class under the entry-point
group ``metacog.benchmarks``; no other file names it. ``check_benchmark`` holds the class to what is written here. Where
its module has ``PARTS`` = {"Settings": "module:Name", "board": "module:NAME"}, a study file is validated and a board
printed without importing the class.

:class:`Benchmark` is below; the classes it declares things with are in ``declarations`` and ``display`` and can be
imported from here.
"""

from __future__ import annotations

import abc
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import polars as pl

from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.declarations import (
    Chat,
    Check,
    Checked,
    Comparison,
    Condition,
    Contrast,
    Importer,
    Inputs,
    Judging,
    Ladder,
    Made,
    Question,
    Respondent,
    Response,
    Scored,
    Source,
    Step,
    Table,
    TrainingStep,
    lost_items,
)
from metacog_pipeline.benchmark.display import PLAIN, Board, Column, Exhibit, Paper, Published, Section
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.benchmark.item import Item
from metacog_pipeline.benchmark.measures import HitRate, Measure, MeasureSet, Unit
from metacog_pipeline.benchmark.policies import Probe
from metacog_pipeline.benchmark.schema import Flag, Small, schema_of
from metacog_pipeline.errors import StudyError
from metacog_pipeline.home import Home
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.reading.calls import Call, Calls
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study.sections import Settings, Stage, setting

if TYPE_CHECKING:
    from metacog_pipeline.study import Study

__all__ = [
    "PLAIN", "Benchmark", "Board", "Call", "Calls", "Chat", "Check", "Checked", "Column",
    "Comparison", "Condition", "Context", "Contrast", "Estimate", "Exhibit", "Flag", "Group", "HitRate", "Importer",
    "Inputs", "Item", "Judging", "Ladder", "Made", "Measure", "MeasureSet", "Paper", "Probe", "Published", "Question",
    "Respondent", "Response", "Scored", "Section", "Settings", "Small", "Source", "Stage", "Step",
    "Table", "TrainingStep", "Unit", "lost_items", "schema_of", "setting",
]  # fmt: skip


# --- the benchmark ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Context:
    """Where a benchmark runs: the study it belongs to."""

    study: Study

    @property
    def home(self) -> Home:
        """The folder everything is written below."""
        return self.study.home

    @property
    def seed(self) -> int:
        """The study's seed."""
        return self.study.study.seed

    def beside(self, path: Path) -> Path:
        """Return ``path`` as the study file means it."""
        return self.study.beside(path)

    def cache(self, name: str) -> Path:
        """Return a folder for results that are slow to recompute; it may be deleted at any time."""
        return self.home.cache / name


SettingsT = TypeVar("SettingsT", bound=Settings)
ItemT = TypeVar("ItemT", bound=Item)
ResponseT = TypeVar("ResponseT", bound=Response)


class Benchmark(abc.ABC, Generic[SettingsT, ItemT, ResponseT]):
    """A benchmark bound to one study. Subclasses declare; the pipeline calls."""

    # name, title, paper: in tables, folders and the study file; for readers; where it was published
    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]
    Settings: ClassVar[type[Any]]
    Item: ClassVar[type[Any]]
    Response: ClassVar[type[Any]]
    # by stage: raised when the same inputs would be asked, read, judged or scored otherwise
    versions: ClassVar[Mapping[Stage, str]] = dict.fromkeys(Stage, "1")
    answer_modes: ClassVar[tuple[str, ...]] = ("text",)  # modes a model can be asked in, best first
    # unanswered, unreadable: statuses of responses without an answer, which are never scored; and with one that could
    # not be read
    unanswered: ClassVar[tuple[str, ...]] = ("transport_error", "too_long", "not_run")
    unreadable: ClassVar[tuple[str, ...]] = ("refused",)
    # variants of scoring the same responses, separate in column ``scoring``; (None,) where there is one
    scorings: ClassVar[tuple[str | None, ...]] = (None,)
    # columns that separate groups besides data set and condition: ``("task",)`` where tasks are scored separately
    grouped_by: ClassVar[tuple[str, ...]] = ()
    coded: ClassVar[tuple[str, ...]] = ()  # columns of 0, 1 or null that `Group.counts` counts over
    sources: ClassVar[tuple[Source, ...]] = ()
    measures: ClassVar[tuple[Measure | MeasureSet, ...]] = ()
    contrasts: ClassVar[tuple[Contrast, ...]] = ()
    questions: ClassVar[tuple[Question, ...]] = ()  # what the contrasts answer, each by one primary test
    tables: ClassVar[tuple[Table, ...]] = ()
    judging: ClassVar[Judging | None] = None
    published: ClassVar[Published | None] = None
    board: ClassVar[Board] = PLAIN
    # how answers collected elsewhere are kept; None where a replayed model cannot be scored
    importer: ClassVar[Importer | None] = None
    # steps that train a model on the benchmark's task, where the study has ``[training]``
    training: ClassVar[tuple[TrainingStep, ...]] = ()
    # keys of its table that need no download and few items: what `check_benchmark` tries it with
    trial_settings: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    # simulated respondents that differ in one trait, and the measure that has to put them in order
    ladders: ClassVar[tuple[Ladder, ...]] = ()
    # pairs of words of tests and tables that cannot both hold of one respondent
    contrary: ClassVar[tuple[tuple[str, str], ...]] = ()
    # keys laid over ``trial_settings`` for the validity gate: enough items to distinguish respondents, and policies
    gate_settings: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    def __init_subclass__(cls, **more: Any) -> None:
        """Refuse a class that shows a hit rate alone, or compares columns of different bases."""
        super().__init_subclass__(**more)
        given: tuple[Any, Any] = (cls.measures, cls.contrasts)
        if not all(isinstance(each, tuple) for each in given):
            return  # `conformance` says so, with the name of the package
        declared = [each for each in cls.measures if isinstance(each, Measure | MeasureSet)]
        known: dict[str, Measure] = {
            one.name: one
            for each in declared
            for one in (each.measures if isinstance(each, MeasureSet) else (each,))
        }
        for measure in known.values():
            if lacking := [each for each in measure.hit_rate or () if each not in known]:
                raise TypeError(
                    f"{cls.__name__}: measure {measure.name} rises with every yes; declare {', '.join(lacking)} with it"
                )
        for contrast in (each for each in cls.contrasts if isinstance(each, Contrast)):
            bases = {known[name].bases.get(where, "") for name, where in contrast.compares if name in known}
            if len(bases) > 1:
                raise TypeError(
                    f"{cls.__name__}: contrast {contrast.family} compares columns scored by {sorted(bases)}; compare "
                    "columns of one basis"
                )

    def __init__(self, settings: SettingsT, context: Context) -> None:
        self.settings = settings
        self.context = context

    @classmethod
    def of(cls, study: Study) -> Any:
        """Return the benchmark bound to its table of ``study``; a StudyError where the study has none."""
        if cls.name not in study.benchmarks:
            raise StudyError(f"{study.path.name}: there is no [benchmarks.{cls.name}]; add the table")
        return cls(study.benchmarks[cls.name], Context(study))  # type: ignore[arg-type]

    # what is displayed
    @classmethod
    def sections(cls) -> tuple[Section, ...]:
        """Return the parts of the report about this benchmark, in order: by default ``SECTIONS`` of the module ``report``
        next to its class, which is imported only now; none where there is no such module."""
        found: tuple[Section, ...] = cls._beside("report", "SECTIONS")
        return found

    @classmethod
    def exhibits(cls) -> tuple[Exhibit, ...]:
        """Return the manifest of the paper, in its order: by default ``PAPER`` of the module ``report`` next to the class,
        which is imported only now; empty where there is none."""
        found: tuple[Exhibit, ...] = cls._beside("report", "PAPER")
        return found

    @classmethod
    def _beside(cls, module: str, name: str) -> Any:
        # The class is in the package itself or in a module of it, what is displayed always in the package.
        package = sys.modules[cls.__module__].__package__
        found = importlib.util.find_spec(f"{package}.{module}") if package else None
        return () if found is None else getattr(importlib.import_module(found.name), name, ())

    # items
    @abc.abstractmethod
    def construction(self) -> tuple[Step, ...]:
        """Return the steps that make the items under these settings, in order; the last writes ``Item``."""

    def needed_sources(self) -> tuple[str, ...]:
        """Return the names of the sources these settings read."""
        return ()

    @property
    def items(self) -> Sequence[ItemT]:
        """The items of the study; raises SourceError before they are built."""
        found: Sequence[ItemT] = item_files.load_items(self.context.home, self.name, self.Item)
        return found

    def probes(self) -> Iterable[Probe]:
        """Return the scored choices of the study's items, so that policies that do not read the question can be tried."""
        return ()

    # asking
    def advice(self) -> Iterable[str]:
        """Return what `metacog plan` says of these settings, one line each: too few items for what is asked of them."""
        return ()

    def conditions(self) -> tuple[Condition, ...]:
        """Return the arms these settings ask, in order: by default one, ``asked``."""
        return (Condition("asked"),)

    def modes(self, spec: ModelSpec) -> tuple[str, ...]:
        """Return the answer modes to try with a model, best first."""
        if spec.answer_mode in self.answer_modes:
            return (spec.answer_mode,)
        return ("text",) if spec.provider == "simulated" else self.answer_modes

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        """Return the names of the calls one item takes: by default one, ``answer``."""
        return ("answer",)

    def prompt_digest(self, condition: str) -> Any:
        """Return what decides the words of a condition besides items and settings: digests of wording files."""
        return None

    def replayed(
        self, spec: ModelSpec, asked: Sequence[tuple[str, Sequence[ItemT]]]
    ) -> Sequence[tuple[str, Sequence[ItemT]]]:
        """Return which of the conditions and items ``asked`` a model whose answers are imported has to answer: all."""
        return asked

    @abc.abstractmethod
    async def ask(self, item: ItemT, condition: str, chat: Chat) -> None:
        """Ask the calls of one item; what comes back is kept by ``chat``, nothing is returned."""

    @abc.abstractmethod
    def observer(self, parameters: ObserverSpec) -> Respondent:
        """Return the simulated observer with these parameters, knowing the study's items."""

    # reading
    @abc.abstractmethod
    def parse(self, item: ItemT, condition: str, calls: Calls) -> ResponseT:
        """Read one item's calls. Total: any text gives a response, at worst one whose status says why it cannot be read."""

    def again(self, item: ItemT, condition: str, calls: Calls) -> Iterable[tuple[str, str]]:
        """Return the steps whose replies are asked once more, each with the form to give it in; none by default."""
        return ()

    def derive(self, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
        """Return the responses with the columns that groups count: what rests on other rows, on judgements, or on items.

        Called for one model and run at a time; what it returns is kept and shown. Columns whose names start with an
        underscore are counted and not shown.
        """
        return responses

    def harmonise(self, responses: pl.DataFrame) -> pl.DataFrame:
        """Return readable responses with ``correct`` (0/1), ``confidence`` (0..1) and ``n_alternatives``.

        By default the columns ``correct`` and ``confidence`` as they were read; empty where nothing is right or wrong.
        Data set, task, condition, model, run and item stay as they are.
        """
        there = {"correct", "confidence"} <= set(responses.columns)
        found = responses.filter(status="ok") if there else responses.clear()
        blank = [pl.lit(None, pl.Float64).alias(name) for name in ("correct", "confidence")]
        return found.with_columns(*([] if there else blank), n_alternatives=pl.lit(None, pl.Int32))

    # scoring
    def stream(self, *names: object) -> int:
        """Return the seed that belongs to ``names``, after the benchmark and the study's seed."""
        return resampling.stream(self.name, self.context.seed, *names)

    def scoring_digest(self) -> Any:
        """Return what decides the numbers besides responses, judgements, settings and seed: digests of files."""
        return None
