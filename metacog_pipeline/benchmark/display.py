"""What people see of a benchmark: its paper, printed numbers, the board, sections of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metacog_pipeline.home import Home

if TYPE_CHECKING:
    import polars as pl

    from metacog_pipeline.benchmark.declarations import Comparison


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
    """Printed numbers shipped with the package, and what follows from them.

    ``values(benchmark)`` and ``claims(benchmark)`` return frames in the columns of ``published_values`` and
    ``published_claims``; ``contrasts(benchmark)`` the tests between published models, of source ``published``, which stand
    among the comparisons. They may take minutes (a model is fitted anew): what is slow is kept in ``context.cache``.
    """

    values: Callable[[Any], pl.DataFrame]
    claims: Callable[[Any], pl.DataFrame]
    contrasts: Callable[[Any], Iterable[Comparison]] | None = None


FIRST_REPLY = "_first_reply"  # behind the name of a measure: of first replies alone, without second asks


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a printed board.

    Attributes
    ----------
    measure, short
        Name on the board and above the column.
    instead
        A measure shown, marked with ``*``, where a model lacks the first; None where nothing can stand in.
    interval
        Whether the 95 % interval stands below the value.
    mark_from
        Values from here up are marked with ``!``; None marks nothing.
    """

    measure: str
    short: str
    instead: str | None = None
    interval: bool = True
    mark_from: float | None = None

    @property
    def measures(self) -> tuple[str, ...]:
        """What can stand in the column, best first."""
        return (self.measure,) if self.instead is None else (self.measure, self.instead)


@dataclass(frozen=True, slots=True)
class Board:
    """How one benchmark is printed.

    Attributes
    ----------
    columns
        Shown from left to right where any model of the section has them.
    order
        Alternatives: the first with a value for any model of a section orders it, highest first. Measures that stand
        together in one alternative are of one kind, and the first a model has counts.
    legend, marked, stands_in
        Explanations printed below the sections: always; where a value is marked with ``!``; where one with ``*``.
    about
        What to know about each data set.
    summed_up
        Last words of conditions whose sections are left out beside other benchmarks, because ``notes`` sum them up.
    notes
        ``notes(read)`` yields lines below the board; ``read(sql)`` returns rows of the leaderboard file.
    """

    columns: tuple[Column, ...] = (Column("accuracy", "accuracy"),)
    order: tuple[tuple[str, ...], ...] = (("accuracy",),)
    legend: str = ""
    marked: str = ""
    stands_in: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    summed_up: tuple[str, ...] = ()
    notes: Callable[[Callable[[str], Sequence[tuple[Any, ...]]]], Iterable[str]] | None = None


PLAIN = Board()


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table or figure of the paper that rests on numbers, drawn again on the paper's page of the report.

    Attributes
    ----------
    label, title
        Its number in the paper, and what it shows, in words of this project.
    render
        ``render(home)`` returns the `markupsafe.Markup` below the title; None where nothing can be drawn.
    missing
        What cannot be drawn again, and why; empty where all of it is.
    """

    label: str
    title: str
    render: Callable[[Home], str] | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report about a benchmark: a title, and ``render(home)``, the `markupsafe.Markup` below it.

    Anything else ``render`` returns is shown as text.
    """

    title: str
    render: Callable[[Home], str]
