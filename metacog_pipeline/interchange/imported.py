"""What an import takes in and gives back: options, what was kept, rows that were not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, NamedTuple

from metacog_pipeline.interchange.columns import Scale
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.schema import Record

NOT_KEPT, UNSCORED = "not kept", "kept, not scored"
#: What ``--trust`` takes of every file, besides the fields of a table.
TRUSTED = ("key", "model", "run", "status")


class Rejected(NamedTuple):
    """A row that is not kept or not scored: its number in a table or its name in a log, which of both, and why."""

    row: int | str
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file gave.

    The ``rows`` of the file are the ``records`` kept or ``known`` before, the ``same`` answers once more, and those
    ``rejected`` as not kept. ``summary`` says line by line how the file was understood.
    """

    records: Sequence[Record]
    rejected: tuple[Rejected, ...] = ()
    summary: tuple[str, ...] = ()
    study: Study | None = None
    known: int = 0
    rows: int = 0
    same: int = 0

    @property
    def kept(self) -> int:
        """How many answers are new."""
        return len(self.records) - self.known


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a file is to be understood."""

    trust: tuple[str, ...] = ()  # fields or columns whose disagreement with the items is taken
    scale: Scale | None = None  # of confidence; None for the benchmark's own
    words: Mapping[str, str] = field(
        default_factory=dict
    )  # words of cells, in small letters, with their values
    show: Callable[[str], None] | None = None  # gets each line of the summary before anything is kept
    model: str | None = None  # names the only model
    run: int | None = None  # what the first run of the file becomes
    benchmark: str | None = None  # of the study, which the file is about
    people: str | None = None  # the column that names human respondents, who are the models then

    def report(self, lines: Sequence[str]) -> None:
        """Show lines of the summary."""
        for line in lines if self.show is not None else ():
            self.show(line)  # type: ignore[misc]

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
