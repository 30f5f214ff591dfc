"""How rows of a table become replies to a benchmark's items, what an import takes and what it gives back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from metacog_pipeline.asking import tasks
from metacog_pipeline.interchange.answer_cells import RowError, shown
from metacog_pipeline.interchange.cells import NAMES
from metacog_pipeline.stats.confidence_scale import Scale
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.schema import Record

ITEM_FIELDS, RESPONSE = ("item_id", "question"), "response"
NOT_KEPT, UNSCORED = "not kept", "kept, not scored"


class Rejected(NamedTuple):
    """A row that is not kept or not scored: its number in a table or its name in a log, which of both, and why."""

    row: int | str
    what: str
    reason: str

    @property
    def place(self) -> str:
        """The row or the sample, as messages name it."""
        return f"row {self.row}" if isinstance(self.row, int) else f"sample {self.row}"


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file gave: its ``rows`` are ``records``, the ``same`` answers once more, and ``rejected`` as not kept."""

    records: Sequence[Record]
    rejected: tuple[Rejected, ...] = ()
    summary: tuple[str, ...] = ()  # line by line how the file was understood
    study: Study | None = None
    known: int = 0  # of the records, those that were kept before
    rows: int = 0
    same: int = 0

    @property
    def kept(self) -> int:
        """How many answers are new."""
        return len(self.records) - self.known


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a file is to be understood."""

    trust: tuple[str, ...] = ()  # of `--trust`: what is taken though it disagrees with the study
    scale: Scale | None = None  # of confidence; None for the benchmark's own
    words: Mapping[str, str] = field(default_factory=dict)  # words of cells, in lower case, with their values
    model: str | None = None  # names the only model
    run: int | None = None  # what the first run of the file becomes
    benchmark: str | None = None  # of the study, which the file is about
    people: str | None = None  # the column that names human respondents, who are the models then
    quiet: bool = False  # without a summary, for which replies are read
    pairs: tuple[str, ...] = ()  # of `--map`: FIELD=COLUMN
    condition: str | None = None  # of rows that name none

    @property
    def of_table(self) -> bool:
        """Whether an option is about tables: the file is then not taken for a log."""
        return bool(self.pairs or self.condition or self.words or self.scale or self.people)

    def word(self, value: Any) -> Any:
        """Return the value of a word or a whole number; anything else as it is."""
        if not self.words or value is None or isinstance(value, bool | list | Mapping):
            return value
        text = f"{value:g}" if isinstance(value, float) else str(value)
        return self.words.get(text.strip().casefold(), value)


#: What every imported answer has, and null where nothing is known.
UNKNOWN: Mapping[str, Any] = {
    **{each.name: None for each in fields(Record) if each.default is MISSING},
    "source": "imported", "provider": "replay", "attempts": 0,
}  # fmt: skip


# --- what a benchmark says of its rows --------------------------------------------------------------------------------
class RowRules:
    """What a row of a table says about one benchmark. A benchmark overrides what is its own."""

    condition: ClassVar[str]  # of rows that name none
    #: Fields that are put together to one reply, each as a line, with the usual names of their columns; what stands
    #: before a field in its line, where that is not its name; usual names of the columns of other fields.
    own: ClassVar[Mapping[str, Sequence[str]]] = {}
    labels: ClassVar[Mapping[str, str]] = {}
    usual: ClassVar[Mapping[str, Sequence[str]]] = {}
    #: Names of columns of fields in a table that has no other column of replies.
    without_reply: ClassVar[Mapping[str, Sequence[str]]] = {}
    #: Fields of `own` that are a confidence, the scale the benchmark asks for, whether it takes whole numbers only.
    rated: ClassVar[tuple[str, ...]] = ()
    scale: Scale = Scale(0, 1)
    whole_ratings: ClassVar[bool] = False

    def __init__(self, benchmark: Any) -> None:
        self.benchmark = benchmark

    @property
    def items(self) -> Sequence[Any]:
        """The items answers can be about."""
        found: Sequence[Any] = self.benchmark.items
        return found

    @property
    def by_id(self) -> dict[str, Any]:
        """Those items by their id."""
        return {item.item_id: item for item in self.items}

    @cached_property
    def _asked(self) -> Mapping[str, frozenset[str]]:
        asked = tasks.asked(self.benchmark)
        return {name: frozenset(item.item_id for item in items) for name, items in asked}

    def condition_named(self, text: str) -> str:
        """Return the condition ``text`` names; raise `RowError` for none of the study's."""
        for name in self._asked:
            if name.casefold() == text.strip().casefold():
                return name
        raise RowError(f"unknown condition {shown(text)}; the study has {', '.join(self._asked)}")

    def check_asked(self, item: Any, condition: str) -> None:
        """Raise `RowError` where an item is not asked under a condition."""
        if item.item_id not in self._asked[self.condition_named(condition)]:
            raise RowError(f"item {item.item_id} is not asked under {condition}")

    @cached_property
    def all_steps(self) -> tuple[str, ...]:
        """The steps of all conditions."""
        return tuple(dict.fromkeys(step for name in self._asked for step in self.benchmark.steps(name)))

    @property
    def raw(self) -> tuple[str, ...]:
        """The fields of raw replies: one, and where there are several steps one for each that is no field of `own`."""
        several = self.all_steps if len(self.all_steps) > 1 else ()
        return (RESPONSE, *(step for step in several if step not in self.own))

    @property
    def fields(self) -> tuple[str, ...]:
        """Every field that a row can have."""
        return (*ITEM_FIELDS, *self.own, *self.raw, "condition", "key", "correct", "model", "run")

    def steps(self, item: Any, condition: str) -> tuple[str, ...]:
        """Return the calls an item takes."""
        return tuple(self.benchmark.steps(condition))

    def questions(self, item: Any) -> Iterable[str]:
        """Return the texts that name an item."""
        return ()

    def replies(self, item: Any, condition: str, said: Mapping[str, Any]) -> dict[str, str]:
        """Return {step: reply} put together from the fields of `own` that a row has; raise `RowError` without one."""
        first, *_ = self.own
        if first not in said:
            raise RowError(f"there is no {first}")
        return {self.free_step(item, condition): self.lines(said)}

    def free_step(self, item: Any, condition: str, replied: Collection[str] = ()) -> str:
        """Return the only step that is not ``replied`` to; raise `RowError` where it is not the only one."""
        steps = self.steps(item, condition)
        free = [step for step in steps if step not in replied]
        if len(free) != 1:
            raise RowError(f"item {item.item_id} takes {', '.join(steps)}: give a column for each")
        return free[0]

    def lines(self, said: Mapping[str, Any]) -> str:
        """Return fields as the lines of a reply, which the benchmark's reader reads."""
        return "\n".join(
            f"{self.labels.get(name, name.capitalize())}: {value}" for name, value in said.items()
        )

    def right(self, response: Any) -> int | None:
        """Return whether a response is right, None where it cannot be."""
        right = getattr(response, "correct", None)
        return None if right is None else int(right)

    def agrees(self, item: Any, key: Any) -> bool:
        """Return whether a key of the table is that of the item; raise `RowError` for what is none."""
        return True


# --- questions of one's own -------------------------------------------------------------------------------------------
class QuestionRows(RowRules):
    """A row has a question, or the name of one of the study's, and a raw reply, or a choice. It is read under a condition
    by what the reply states."""

    condition, step = "verbal_percent", "answer"
    all_steps = (step,)
    #: Conditions of answers that have log-probabilities of letters, and that state no confidence either.
    by_logprob, unstated = "choice_logprob", "answer_only"
    own: ClassVar = {"choice": NAMES["questions"]["choice"]}
    labels: ClassVar = {"choice": "Answer"}
    #: Beside a reply "answer" is the key.
    without_reply: ClassVar = {"choice": ["answer"]}
    scale, rated = Scale(0, 100), ("confidence",)
    usual: ClassVar = {
        name: [*NAMES["usual"].get(name, ()), *more] for name, more in NAMES["questions"].items()
    }
    fields = ("item_id", "question", "context", "options", "response", "choice", "confidence", "key", "correct", "model",
              "run", "dataset")  # fmt: skip
