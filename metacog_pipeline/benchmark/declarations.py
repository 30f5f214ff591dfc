"""What a benchmark declares, one class each: re-exported by ``contract``, which is what an author imports.

In order: items (`Source`, `Step`), asking (`Condition`, `Chat`), reading (`Response`), scoring
(`Contrast`, `Table`), `Judging`, `Importer`, `TrainingStep`. Measures are in ``measures``, their display in ``display``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import polars as pl
from pydantic import BaseModel

from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.home import Home
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion

Json = Any


# --- items ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Source:
    """A published file that items are built from, fetched to the study's home and verified. Never shipped."""

    # name, urls: what it is called; where it is downloaded from, first to last
    name: str
    urls: tuple[str, ...]
    licence: str  # under which terms it may be used; shown in the UI and in the methods page
    # ``fetch(home, folder, transport, progress)`` brings it home, verified, from the web or from ``folder``. Raises
    # SourceError for a file that is not the pinned one.
    fetch: Callable[..., Any]
    digest: Callable[[Home], str | None]  # ``digest(home)``: SHA-256 of what was fetched; None before


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check: whether it passed, and its figures."""

    passed: bool
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """What must hold of a step's result. A blocking check that fails keeps later steps from running."""

    says: str
    blocking: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """What a step made."""

    # rows of the step's ``writes``; empty where it writes none, or writes ``frame``
    rows: Sequence[BaseModel] = ()
    frame: pl.DataFrame | None = None  # the table where the step has no row class
    facts: Mapping[str, Any] = field(default_factory=dict)  # figures shown with the asset
    # results by the names of the step's ``checks``
    checks: Mapping[str, Checked] = field(default_factory=dict)


class Inputs(Protocol):
    """What a step reads: the results of the steps it needs."""

    def rows(self, step: str) -> Sequence[Any]:
        """Return the rows of an earlier step that writes a row class."""

    def frame(self, step: str) -> pl.DataFrame:
        """Return the table of an earlier step."""


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of item construction; one asset."""

    # name, says: the asset is ``<benchmark>_<name>``; one sentence about it
    name: str
    says: str
    # ``make(benchmark, inputs)``: a pure function but for reading sources at home. The last step makes the items.
    make: Callable[[Any, Inputs], Made]
    needs: tuple[str, ...] = ()  # names of earlier steps
    # the row class of its Parquet file; None for a table whose schema is its own, or nothing at all
    writes: type[BaseModel] | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)  # what must hold of the result, by name
    # digest of what it reads besides settings and earlier steps: sources, shipped files
    inputs: Callable[[Any], Json] | None = None
    version: str = "1"  # raised when the same inputs would give another result


# --- asking -----------------------------------------------------------------------------------------------------------
def _all_of_them(items: Sequence[Any]) -> Sequence[Any]:
    return items


@dataclass(frozen=True, slots=True)
class Condition:
    """An experimental arm over the same items: ``items`` selects those it asks.

    ``shared`` are {another condition: its steps} that are worded the same here: an answer given there counts here too,
    where this condition has none of its own. ``content`` names what is asked where that is not what the others ask, such as
    another language: only under conditions of one content does one reply get one score.
    """

    name: str
    items: Callable[[Sequence[Any]], Sequence[Any]] = _all_of_them
    shared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    content: str = ""


class Chat(Ask, Protocol):
    """An `Ask` that also has the answer mode and the model's row of the study file."""

    @property
    def mode(self) -> str:
        """The answer mode."""

    @property
    def spec(self) -> ModelSpec:
        """The model's row of the study file."""


class Respondent(Protocol):
    """A simulated observer: answers in text, like a model."""

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` is about an item of its benchmark."""

    def __call__(self, request: ChatRequest) -> str | Completion:
        """Return the text of the answer, or all of it where there is more to it than text."""


# --- reading ----------------------------------------------------------------------------------------------------------
class Response:
    """Base of a benchmark's reading of one item under one condition: a dataclass of its own columns, ``status`` among them.

    ``status`` is ``ok``, one of the benchmark's ``unanswered`` (nothing to score) or ``unreadable`` (an answer that could
    not be read); ``reason`` says why it is not ok. Columns every response has (model, run, item, tokens, dollars, …) are
    added by the pipeline.
    """

    status: str
    reason: str | None


# --- scoring ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Comparison:
    """One result of a test of a against b. Empty where there is no number; ``status`` says why.

    The pipeline fills ``n_tests``, ``primary``, ``question``, ``low_n`` and ``n_left_out``: the size of its family, whether
    it is the test that answers a `Question`, which question of the verdict that is, whether its interval rests on too few
    answers, and how many items were asked and not answered by a model it names.
    """

    family: str
    measure: str
    a: str | None = None
    b: str | None = None
    dataset: str | None = None
    task: str | None = None
    condition: str | None = None
    scoring: str | None = None
    model: str | None = None
    source: str | None = None
    value: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    low_adjusted: float | None = None
    high_adjusted: float | None = None
    statistic: float | None = None
    df1: float | None = None
    df2: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    effect_size: float | None = None
    verdict: str | None = None
    n: int = 0
    note: str | None = None
    status: str = "ok"
    n_tests: int = 0
    primary: bool = False
    question: str | None = None
    low_n: bool | None = None
    n_left_out: int | None = None


def lost_items(first: int, second: int, shared: int) -> str | None:
    """Return how many items of either side the other has no answer to; None where both answered the same."""
    if first == second == shared:
        return None
    return f"left out: {first - shared} items of a, {second - shared} of b that the other did not answer"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a benchmark's answers, and the one test that answers it."""

    asks: str  # the question, in one sentence
    primary: tuple[str, str]  # family and measure of the test that answers it
    # families that ask it in another way. Other measures of the primary family are secondary as well.
    secondary: tuple[str, ...] = ()
    # what n of the primary test counts: too few of them leave a verdict out (`stats.exact`)
    unit: Literal["items", "models"] = "items"
    # which question of the study's verdict it answers (`leaderboard.verdict.QUESTIONS`); None: none of them
    verdict: Literal["knows", "calibrated", "unanswerable", "judgement"] | None = None

    @property
    def families(self) -> tuple[str, ...]:
        """Every family that bears on it, the primary one first."""
        return (self.primary[0], *self.secondary)


@dataclass(frozen=True, slots=True)
class Ladder:
    """Simulated respondents that differ in one trait, and the measure that has to put them in order."""

    # measure, parameter: the measure that claims the trait, and the trait: a parameter of the simulated observer
    measure: str
    parameter: str
    # low, high: its values for two respondents who are alike in everything else. ``high`` is to be better, or higher
    # where neither end of the measure is better.
    low: Any
    high: Any
    # under which they are distinguished; () means all under which the measure has a value
    conditions: tuple[str, ...] = ()
    others: Mapping[str, Any] = field(default_factory=dict)  # parameters that both have besides


@dataclass(frozen=True, slots=True)
class Contrast:
    """A definition of a family of tests over all groups."""

    # its name on the table; rows of ``compute`` may carry another (a second test of the same pairs)
    family: str
    # ``compute(benchmark, groups)`` yields rows without ``p_adjusted`` and ``verdict``, unless ``correction`` is None
    # and it gives its own. The groups are pooled over runs.
    compute: Callable[..., Iterable[Comparison]]
    # correction, within: ``holm`` or ``bonferroni`` over the rows that are equal in the fields ``within``: one
    # family. None leaves rows as they are; those of a family that gives no ``p_adjusted`` at all are corrected by
    # Holm.
    correction: Literal["holm", "bonferroni"] | None = "holm"
    within: tuple[str, ...] = ("family", "measure")
    # paper, words: place in the paper; what is tested, in one sentence
    paper: str = ""
    words: str = ""
    # what ``n`` of a row counts: too few of them leave a verdict out (`stats.exact`)
    unit: Literal["items", "models"] = "items"
    # between_models, under: whether models are compared with each other, and under which conditions (empty: all): a
    # model that lacks answers and is in no row then has one with the reason
    between_models: bool = False
    under: tuple[str, ...] = ()
    # whether a row rests on the models a and b alone: ``compute(benchmark, groups, pairs)`` then yields the rows of
    # these pairs of models, whose results are kept, so that another model costs its own pairs only
    pairs: bool = False
    # whether a row rests on the responses of its ``model`` alone: ``compute`` may be given the groups of some models,
    # and results are kept by model
    by_model: bool = False
    # regions of practical equivalence, half width by measure: they decide the verdict of corrected rows
    rope: Mapping[str, float] = field(default_factory=dict)
    version: str = "1"  # raised when the same responses would give other rows
    # columns, as (measure, condition), that rows compare with each other. A class whose contrast compares columns of
    # more than one basis cannot be declared.
    compares: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Scored:
    """What a benchmark's own table is made from: responses with derived columns, pooled groups, judgements, estimates."""

    responses: pl.DataFrame
    groups: Sequence[Group]
    judgements: pl.DataFrame | None
    estimates: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Table:
    """A table of one benchmark, next to the shared ones: ``detail.<benchmark>_<name>``; ``curves`` joins the shared one.

    ``row`` is a class whose annotations are the columns; ``compute(benchmark, scored)`` returns a frame in its schema.
    A table whose rows rest on one group each has none: ``of_group(benchmark, group)`` yields them as tuples.
    """

    name: str
    row: type
    compute: Callable[[Any, Scored], pl.DataFrame] | None
    says: str
    key: tuple[str, ...] = ()
    of_group: Callable[[Any, Group], Iterable[tuple[object, ...]]] | None = None


# --- judging ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Judging:
    """How responses are judged by models, one partition per judged model and run."""

    wanted: Callable[[Any], bool]  # whether the study names judges
    judges: Callable[[Any, ModelSpec], tuple[ModelSpec, ...]]  # those of them that may judge a model
    # what a judge is asked about the responses of a model and run: ``tasks(benchmark, judge, responses)``
    tasks: Callable[[Any, ModelSpec, pl.DataFrame], Sequence[Task]]
    # as long tasks as responses can make, for ``plan`` before there are any: ``longest(benchmark, model, judge)``
    longest: Callable[[Any, ModelSpec, ModelSpec], Sequence[Task]]
    modes: Callable[[ModelSpec], tuple[str, ...]]  # answer modes to try with a judge, best first
    # ``read(benchmark, transcripts, responses)``: kept judgements → one row per item, condition and judge, in ``row``
    read: Callable[[Any, pl.DataFrame, pl.DataFrame], pl.DataFrame]
    row: type  # the row class of the judgements
    respondent: Callable[[Any, ModelSpec], Respondent]  # the simulated answers of a judge
    version: str = "1"  # raised when judgements would be read otherwise
    needs: tuple[str, ...] = ()  # steps of construction that must be made before anybody judges
    # what decides the words of ``tasks`` besides items and responses. Where it is given, tasks of judgements that are
    # whole are not computed each time a state is reported.
    prompt_digest: Callable[[Any], Any] | None = None


# --- answers collected elsewhere --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Importer:
    """How a file of answers collected elsewhere is kept as those of a replayed model."""

    fields: tuple[str, ...]  # what a row can say: ``--map FIELD=COLUMN`` names a column for one of them
    condition: str  # of rows that name none
    # ``read(benchmark, file, model, run, pairs, condition, options)`` keeps the rows and returns what was and was not
    # taken (`import_rules.Imported`); ``pairs`` are the texts given to ``--map``, ``options`` an
    # `import_rules.ImportOptions`, which may be left out
    read: Callable[..., Any]
    # ``rules(benchmark)`` are the `import_rules.RowRules` by which a row becomes a reply
    rules: Callable[[Any], Any] | None = None


# --- training ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class TrainingStep:
    """One stage of training a model on a benchmark's task; one asset of the group ``training`` where the study trains."""

    # name, says: of the asset; one sentence about it
    name: str
    says: str
    # ``run(study, done, report)`` makes or continues it and returns a result with ``digest``, ``facts`` and ``table``
    # (or None). ``done`` is called with the units that are finished, ``report`` before it with figures of the last
    # one, which have ``numbers()`` and a ``line()`` for the progress.
    run: Callable[[Any, Callable[[int], None] | None, Callable[[Any], None] | None], Any]
    total: Callable[[Any], int] | None = None  # how many units there are; None where progress is not shown
    needs: tuple[str, ...] = ()  # names of earlier steps
