"""The contract of a benchmark: one class and what it declares. The pipeline does the rest.

A benchmark declares its settings in the study file, its items and how they are made, the calls an item takes, how a reply
is read, what is measured and what is compared. From these the pipeline makes the assets, asks, keeps answers, scores, and
fills tables, boards and the report. An installed package registers its class under the entry-point group
``metacog.benchmarks``; no other file names it. `check_benchmark` tests the class. Where its package has ``PARTS`` =
{"Settings": "module:Name", "board": "module:NAME"}, a study file is validated and a board printed without the class.
"""

from __future__ import annotations

import abc
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import polars as pl
from pydantic import BaseModel

from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.display import PLAIN, Board, Column, Exhibit, Paper, Published, Section
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.benchmark.item import Item
from metacog_pipeline.benchmark.measures import (
    Comparison,
    Contrast,
    HitRate,
    Measure,
    MeasureSet,
    Question,
    Unit,
    lost_items,
)
from metacog_pipeline.benchmark.policies import Probe
from metacog_pipeline.benchmark.schema import Flag, Small, schema_of
from metacog_pipeline.errors import StudyError
from metacog_pipeline.home import Home
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Completion
from metacog_pipeline.reading.calls import Call, Calls
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study.sections import Settings, Stage, setting

if TYPE_CHECKING:
    from metacog_pipeline.study import Study

__all__ = [
    "PLAIN", "Benchmark", "Board", "Call", "Calls", "Chat", "Column",
    "Comparison", "Condition", "Contrast", "Estimate", "Exhibit", "Flag", "Group", "HitRate",
    "Inputs", "Item", "Judging", "Ladder", "Made", "Measure", "MeasureSet", "Paper", "Probe", "Published", "Question",
    "Respondent", "Response", "Scored", "Section", "Settings", "Small", "Source", "Stage", "Step",
    "Table", "Unit", "lost_items", "schema_of", "setting",
]  # fmt: skip


# --- items ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Source:
    """A published file that items are built from, fetched to the study's home and verified. Never shipped."""

    name: str
    urls: tuple[str, ...]  # tried from first to last
    licence: str
    # fetch(home, folder, transport, progress): from the web or from ``folder``; SourceError for any but the pinned file
    fetch: Callable[..., Any]
    digest: Callable[[Home], str | None]  # SHA-256 of what was fetched; None before


@dataclass(frozen=True, slots=True)
class Made:
    """The result of a step: ``rows`` of its row class, or the ``frame`` of a step without one; or nothing."""

    rows: Sequence[BaseModel] = ()
    frame: pl.DataFrame | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)  # figures shown with the asset
    # by the names of the step's ``checks``: whether it holds, and figures
    checks: Mapping[str, tuple[bool, Mapping[str, Any]]] = field(default_factory=dict)


class Inputs(Protocol):
    """The results of the steps that a step needs."""

    def rows(self, step: str) -> Sequence[Any]:
        """Return the rows of an earlier step that writes a row class."""

    def frame(self, step: str) -> pl.DataFrame:
        """Return the table of an earlier step."""


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of item construction; one asset, ``<benchmark>_<name>``. The last one makes the items."""

    name: str
    says: str  # one sentence about it
    make: Callable[[Any, Inputs], Made]  # make(benchmark, inputs): pure, but for reading sources at home
    needs: tuple[str, ...] = ()  # names of earlier steps
    writes: type[BaseModel] | None = None  # the row class of its Parquet file
    # by name what should hold of the result. What must hold ``make`` raises itself: nothing is kept then
    checks: Mapping[str, str] = field(default_factory=dict)
    inputs: Callable[[Any], Any] | None = None  # digest of sources and shipped files that it reads
    version: str = "1"  # raised when the same inputs would give another result


# --- asking -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Condition:
    """An experimental arm over the same items: ``items`` selects those it asks."""

    name: str
    items: Callable[[Sequence[Any]], Sequence[Any]] = lambda every: every
    # {another condition: its steps} that are worded alike here: an answer given there counts here where there is none
    shared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # what is asked where the others ask something else, such as another language: one reply gets one score per content
    content: str = ""


class Chat(Ask, Protocol):
    """An `Ask` that also has the answer mode and the model's row of the study file."""

    mode: str
    spec: ModelSpec


#: A simulated observer: answers in text, like a model.
Respondent = Callable[[ChatRequest], str | Completion]


# --- reading ----------------------------------------------------------------------------------------------------------
class Response:
    """Base of a benchmark's reading of one item under one condition: a dataclass of its own columns."""

    status: str  # ok, or one of the benchmark's ``unanswered`` or ``unreadable``
    reason: str | None  # why it is not ok


# --- scoring ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Ladder:
    """Two simulated respondents that differ in one ``parameter``, and the measure that has to put them in order."""

    measure: str
    parameter: str
    low: Any
    high: Any  # is to be better, or higher where neither end of the measure is better
    conditions: tuple[str, ...] = ()  # () means all under which the measure has a value
    others: Mapping[str, Any] = field(default_factory=dict)  # parameters that both have besides


@dataclass(frozen=True, slots=True)
class Scored:
    """The input of a benchmark's own table: responses with derived columns, pooled groups, judgements, estimates."""

    responses: pl.DataFrame
    groups: Sequence[Group]
    judgements: pl.DataFrame | None
    estimates: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Table:
    """A table of one benchmark: ``detail.<benchmark>_<name>``; ``curves`` joins the shared one."""

    name: str
    row: type  # its annotations are the columns
    compute: Callable[[Any, Scored], pl.DataFrame] | None  # compute(benchmark, scored)
    says: str
    # of a table whose rows rest on one group each, instead of ``compute``: of_group(benchmark, group) yields them as tuples
    of_group: Callable[[Any, Group], Iterable[tuple[object, ...]]] | None = None


# --- judging ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Judging:
    """How responses are judged by models, one partition per judged model and run."""

    wanted: Callable[[Any], bool]  # whether the study names judges
    judges: Callable[[Any, ModelSpec], tuple[ModelSpec, ...]]  # those of them that may judge a model
    # tasks(benchmark, judge, responses of a model and run)
    tasks: Callable[[Any, ModelSpec, pl.DataFrame], Sequence[Task]]
    # as long tasks as responses can make, for ``plan`` before there are any: longest(benchmark, model, judge)
    longest: Callable[[Any, ModelSpec, ModelSpec], Sequence[Task]]
    modes: Callable[[ModelSpec], tuple[str, ...]]  # answer modes to try with a judge, best first
    # read(benchmark, transcripts, responses): kept judgements → one row per item, condition and judge, in ``row``
    read: Callable[[Any, pl.DataFrame, pl.DataFrame], pl.DataFrame]
    row: type
    respondent: Callable[[Any, ModelSpec], Respondent]  # the simulated answers of a judge
    version: str = "1"  # raised when judgements would be read otherwise
    needs: tuple[str, ...] = ()  # steps of construction that must be made before anybody judges
    # words of ``tasks`` besides items and responses: with it, a state is reported without computing the tasks
    prompt_digest: Callable[[Any], Any] | None = None


# --- the benchmark ----------------------------------------------------------------------------------------------------
SettingsT = TypeVar("SettingsT", bound=Settings)
ItemT = TypeVar("ItemT", bound=Item)
ResponseT = TypeVar("ResponseT", bound=Response)


class Benchmark(abc.ABC, Generic[SettingsT, ItemT, ResponseT]):
    """A benchmark bound to one study. Subclasses declare; the pipeline calls."""

    name: ClassVar[str]  # in tables, folders and the study file
    title: ClassVar[str]
    paper: ClassVar[Paper]
    Settings: ClassVar[type[Any]]
    Item: ClassVar[type[Any]]
    Response: ClassVar[Any]
    # by stage: raised when the same inputs would be asked, read, judged or scored otherwise
    versions: ClassVar[Mapping[Stage, str]] = dict.fromkeys(Stage, "1")
    answer_modes: ClassVar[tuple[str, ...]] = ("text",)  # modes a model can be asked in, best first
    # statuses of responses without an answer, which are never scored, and of answers that could not be read
    unanswered: ClassVar[tuple[str, ...]] = ("transport_error", "too_long", "not_run")
    unreadable: ClassVar[tuple[str, ...]] = ("refused",)
    # variants of scoring the same responses, in column ``scoring``
    scorings: ClassVar[tuple[str | None, ...]] = (None,)
    # columns that separate groups besides data set and condition: ``("task",)``
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
    # a subclass of `import_rules.RowRules`; None where a replayed model cannot be scored
    importer: ClassVar[type[Any] | None] = None
    # stages of training, an asset each where the study has ``[training]``: name, says, needs, run, total
    training: ClassVar[tuple[Any, ...]] = ()
    # keys of its table that need no download and few items: what `check_benchmark` tries it with. The validity gate lays
    # ``gate_settings`` over them: it needs enough items to distinguish respondents and policies
    trial_settings: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    gate_settings: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    ladders: ClassVar[tuple[Ladder, ...]] = ()
    # words of tests and tables that cannot both hold of one respondent
    contrary: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __init_subclass__(cls, **more: Any) -> None:
        """Refuse a class that shows a hit rate alone, or compares columns of different bases."""
        super().__init_subclass__(**more)
        if not all(isinstance(each, tuple) for each in (cls.measures, cls.contrasts)):
            return  # `conformance` reports it with the name of the package
        known: dict[str, Measure] = {}
        for each in cls.measures:
            known |= {one.name: one for one in (each.measures if isinstance(each, MeasureSet) else (each,))}
        for measure in known.values():
            if lacking := [each for each in measure.hit_rate or () if each not in known]:
                raise TypeError(
                    f"{cls.__name__}: measure {measure.name} rises with every yes; declare {', '.join(lacking)} with it"
                )
        for contrast in cls.contrasts:
            bases = {known[name].bases.get(where, "") for name, where in contrast.compares if name in known}
            if len(bases) > 1:
                said = f"contrast {contrast.family} compares columns scored by {sorted(bases)}"
                raise TypeError(f"{cls.__name__}: {said}; compare columns of one basis")

    def __init__(self, settings: SettingsT, study: Study) -> None:
        self.settings, self.study = settings, study

    @classmethod
    def of(cls, study: Study) -> Any:
        """Return the benchmark bound to its table of ``study``; a StudyError where the study has none."""
        if cls.name not in study.benchmarks:
            raise StudyError(f"{study.path.name}: there is no [benchmarks.{cls.name}]; add the table")
        return cls(study.benchmarks[cls.name], study)  # type: ignore[arg-type]

    # what is displayed
    @classmethod
    def sections(cls) -> tuple[Section, ...]:
        """Return the parts of the report about this benchmark: ``SECTIONS`` of the module ``report`` next to its class."""
        return cls._beside("SECTIONS")

    @classmethod
    def exhibits(cls) -> tuple[Exhibit, ...]:
        """Return the manifest of the paper, in its order: ``PAPER`` of the module ``report`` next to the class."""
        return cls._beside("PAPER")

    @classmethod
    def _beside(cls, name: str) -> tuple[Any, ...]:
        # The class is in the package itself or in a module of it. Plots are imported only when they are shown.
        package = sys.modules[cls.__module__].__package__
        found = importlib.util.find_spec(f"{package}.report") if package else None
        return tuple(getattr(importlib.import_module(found.name), name, ())) if found else ()

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
        return item_files.load_items(self.study.home, self.name, self.Item)

    def probes(self) -> Iterable[Probe]:
        """Return the scored choices of the study's items, so that policies that do not read the question can be tried."""
        return ()

    # asking
    def advice(self) -> Iterable[str]:
        """Return what `metacog plan` says of these settings, one line each: too few items for what is asked of them."""
        return ()

    def conditions(self) -> tuple[Condition, ...]:
        """Return the arms these settings ask, in order."""
        return (Condition("asked"),)

    def modes(self, spec: ModelSpec) -> tuple[str, ...]:
        """Return the answer modes to try with a model, best first."""
        if spec.answer_mode in self.answer_modes:
            return (spec.answer_mode,)
        return ("text",) if spec.provider == "simulated" else self.answer_modes

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        """Return the names of the calls one item takes."""
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
        """Return the steps whose replies are asked once more, each with the form to give it in."""
        return ()

    def derive(self, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
        """Return the responses of one model and run with columns that rest on other rows, on judgements, or on items."""
        return responses  # a column whose name starts with an underscore is counted and not shown

    def harmonise(self, responses: pl.DataFrame) -> pl.DataFrame:
        """Return readable responses with ``correct`` (0/1), ``confidence`` (0..1) and ``n_alternatives``."""
        missing = [name for name in ("correct", "confidence") if name not in responses.columns]
        # Empty where nothing is right or wrong.
        found = responses.clear() if missing else responses.filter(status="ok")
        blank = {name: pl.lit(None, pl.Float64) for name in missing}
        return found.with_columns(**blank, n_alternatives=pl.lit(None, pl.Int32))

    # scoring
    @property
    def seed(self) -> int:
        """The study's seed."""
        return self.study.study.seed

    def stream(self, *names: object) -> int:
        """Return the seed that belongs to ``names``, after the benchmark and the study's seed."""
        return resampling.stream(self.name, self.seed, *names)

    def scoring_digest(self) -> Any:
        """Return what decides the numbers besides responses, judgements, settings and seed: digests of files."""
        return None
