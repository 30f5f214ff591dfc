"""The display of a benchmark: its paper, printed numbers, the board, sections of the report. Nothing here loads Polars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metacog_pipeline.home import Home

if TYPE_CHECKING:
    import polars as pl

    from metacog_pipeline.benchmark.measures import Comparison

FIRST_REPLY = "_first_reply"  # behind the name of a measure: of first replies alone, without second asks
STATUSES = ("drawn", "recomputed", "differs", "cannot")  # of an exhibit


def board_condition(task: str | None, condition: str | None) -> str:
    """Return a condition as boards show it: the task, where there is one, and the condition."""
    return " ".join(each for each in (task, condition) if each is not None)


@dataclass(frozen=True, slots=True)
class Paper:
    """The publication a benchmark implements."""

    title: str
    authors: str
    year: int
    where: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """Printed numbers shipped with the package, and what follows from them: functions of the bound benchmark.

    They may take minutes (a model is refitted): what is slow is kept in ``home.cache``.
    """

    values: Callable[[Any], pl.DataFrame]  # in the columns of ``published_values``
    claims: Callable[[Any], pl.DataFrame]  # in those of ``published_claims``
    contrasts: Callable[[Any], Iterable[Comparison]] | None = None  # tests between published models


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a printed board."""

    measure: str
    short: str  # above the column
    instead: str | None = None  # a measure shown, marked with ``*``, where a model lacks the first
    interval: bool = True  # whether the 95 % interval is below the value

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of the column, best first."""
        return (self.measure,) if self.instead is None else (self.measure, self.instead)


@dataclass(frozen=True, slots=True)
class Board:
    """How one benchmark is printed."""

    # shown from left to right where any model of the section has them
    columns: tuple[Column, ...] = (Column("accuracy", "accuracy"),)
    # alternatives: the first with a value for any model of a section orders it, highest first. Measures of one alternative
    # are of one kind: the first that a model has counts.
    order: tuple[tuple[str, ...], ...] = (("accuracy",),)
    legend: str = ""  # printed below the sections
    stands_in: str = ""  # printed there where a value is marked with ``*``
    about: Mapping[str, str] = field(default_factory=dict)  # what to know about each data set


PLAIN = Board()


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One entry of a paper's manifest: a figure, table, appendix analysis, prompt set, test or verdict of its text."""

    number: str  # as in the paper: ``"Figure 2"``, ``"Table S5"``, ``"Appendix C"``; ``"Text: ..."`` for a verdict
    title: str  # what it shows, in words of this project
    # render(home) returns the `markupsafe.Markup` of the plot or table; None where nothing is drawn
    render: Callable[[Home], str] | None = None
    why: str = ""  # what cannot be shown or how it differs; required for ``differs`` and ``cannot``
    # ``drawn`` (as where it is left empty, with a ``render``): shown with the study's own numbers. ``recomputed``: computed
    # from the numbers printed with it (``published_claims``). ``differs``: the printed numbers do not follow. ``cannot``.
    status: str = ""
    data: str = ""  # files of ``data/published/BENCHMARK``, tables of the leaderboard
    query: str = ""  # the query of the study's own numbers, for ``metacog sql``
    places: tuple[str, ...] = ()  # ``place`` of its rows in ``published_claims``; by default its number

    def __post_init__(self) -> None:
        status = self.status or ("cannot" if self.render is None else "drawn")
        object.__setattr__(self, "status", status)
        object.__setattr__(self, "places", self.places or (self.number,))
        reasoned = status in ("drawn", "recomputed") or (status in STATUSES and bool(self.why))
        if not reasoned or (status != "recomputed" and (status == "cannot") != (self.render is None)):
            said = f"one of {', '.join(STATUSES)}, with `why` for the last two, and a `render` for all but `cannot`"
            raise ValueError(f"{self.number}: status {status!r} does not fit; it is {said}")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report: ``render(home)`` returns `markupsafe.Markup`; anything else is shown as text."""

    title: str
    render: Callable[[Home], str]
