"""A board for people: one table per benchmark, condition and kind of respondent, one line per model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from metacog_pipeline.benchmark.display import Board, Column
from metacog_pipeline.errors import one_line
from metacog_pipeline.leaderboard.columns import board_of
from metacog_pipeline.leaderboard.notes import notes
from metacog_pipeline.leaderboard.output import (
    NOT_AVAILABLE,
    Format,
    Rows,
    Stacked,
    fixed,
    render,
    shown,
    to_markdown,
    to_table,
)

__all__ = ["LOW_N", "LOW_N_LEGEND", "Section", "legend", "notes", "render_board", "sections"]

_WORLDS = {"simulated": "simulated observers"}
_REAL = "models"
_MARKED, _STANDS_IN, LOW_N = " !", " *", " °"
LOW_N_LEGEND = (
    "°: so few right or wrong answers that the 95 % interval covers less than 92 or more than 97 %,\n"
    "or its coverage was not measured (low_n).\n"
)
_MORE = "Every measure, with the reason where one is missing: metacog board --format csv\n"
_REASONS = 6  # below a section; column status of the table has all


@dataclass(frozen=True, slots=True)
class Section:
    """One table of the board: the models of one ``world`` (real or simulated) under one ``condition``.

    ``reasons`` say why a number is missing, or what is to be minded about it, a line each.
    """

    benchmark: str
    condition: str
    world: str
    table: Rows
    reasons: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Benchmark, condition and world, for a heading."""
        return f"{self.benchmark} · {self.condition} · {self.world}"


@dataclass(frozen=True, slots=True)
class _Line:
    model: str
    source: str
    measures: Mapping[str, Mapping[str, object]]

    def number(self, measure: str) -> float | None:
        value = self.measures.get(measure, {}).get("estimate")
        return value if isinstance(value, float) else None

    def status(self, measure: str) -> str:
        """Return what is said of the number besides that the run is not complete; "" where nothing is."""
        said = str(self.measures.get(measure, {}).get("status") or "ok")
        return "" if said == "ok" or said.startswith("incomplete") else said

    def place(self, measures: Sequence[str]) -> tuple[bool, float, str]:
        """Return what orders lines by the first of ``measures`` this one has: best first, those without a value last.

        Nothing stands in for a ratio whose denominator may be 0.
        """
        for name in measures:
            if (value := self.number(name)) is not None:
                upwards = self.measures[name].get("higher_is_better") is False
                compared = round(value, 9)  # as the rank of the board: rounding decides nothing
                return False, compared if upwards else -compared, self.model
            if "unbounded" in self.status(name):
                break
        return True, 0.0, self.model


def render_board(rows: Rows, form: Format, *, width: int | None = None) -> str:
    """Return a board: long rows for ``csv`` and ``json``; for people, sections with one line per model.

    Simulated observers never share a section with real models. Models stand in the order of the benchmark's main
    measure; those without one come last, so a model that only failed is still named.
    """
    if form in ("csv", "json"):
        return render(rows, form)
    parts = []
    every = sections(rows)
    several = len({section.benchmark for section in every}) > 1
    for benchmark, found in groupby(every, key=lambda section: section.benchmark):
        whole = list(found)
        shown_here = [section for section in whole if not (several and _summed_up(section))]
        for section in shown_here:
            if form == "markdown":
                parts.append(f"### {section.title}\n\n{to_markdown(section.table)}")
            else:
                parts.append(to_table(section.table, title=section.title, width=width))
            if section.reasons:
                parts.append("".join(f"{line}\n" for line in section.reasons))
        if words := legend(benchmark, shown_here):
            parts.append(words)
        if len(shown_here) < len(whole):
            left_out = ", ".join(board_of(benchmark).summed_up)
            parts.append(f"Summed up below: {left_out}; their tables: metacog board {benchmark}\n")
    if parts and form == "table":
        parts.append(_MORE)
    return "\n".join(parts) or "The board is empty: nothing has been answered yet.\n"


def _summed_up(section: Section) -> bool:
    return section.condition.rpartition(" ")[2] in board_of(section.benchmark).summed_up


def legend(benchmark: str, shown_here: Sequence[Section]) -> str:
    """Return what the columns and marks of these sections of ``benchmark`` mean."""
    board = board_of(benchmark)
    cells = [cell for section in shown_here for row in section.table.rows for cell in row]
    # Only numbers of our own making are stacked: a model's name that ends like a mark is none.
    values = [cell for cell in cells if isinstance(cell, Stacked)]
    marked = any(_MARKED in cell for cell in values)
    stands_in = any(_STANDS_IN in cell for cell in values)
    low_n = LOW_N_LEGEND if any(LOW_N in cell for cell in values) else ""
    return board.legend + (board.marked if marked else "") + (board.stands_in if stands_in else "") + low_n


def sections(rows: Rows) -> list[Section]:
    """Return the tables of the board ``rows``, in order of benchmark, condition and world."""
    grouped: dict[tuple[str, str, str], dict[tuple[str, str], dict[str, Mapping[str, object]]]] = {}
    for values in rows.rows:
        row = dict(zip(rows.columns, values, strict=True))
        source = str(row["source"])
        key = (str(row["benchmark"]), str(row["condition"]), _WORLDS.get(source, _REAL))
        line = grouped.setdefault(key, {}).setdefault((str(row["model"]), source), {})
        line[str(row["measure"])] = row
    found = []
    for (benchmark, condition, world), models in sorted(grouped.items()):
        lines = [_Line(model, source, measures) for (model, source), measures in models.items()]
        board = board_of(benchmark)
        found.append(Section(benchmark, condition, world, _table(board, lines), _reasons(board, lines)))
    return found


def _reasons(board: Board, lines: Sequence[_Line]) -> tuple[str, ...]:
    """Return one line per reason and column: whose number is missing or uncertain, and why."""
    found: dict[tuple[str, str], list[str]] = {}
    for column in board.columns:
        for line in lines:
            if why := line.status(column.measure):
                found.setdefault((column.short, why), []).append(line.model)
    said = [one_line(f"{short} of {', '.join(models)}: {why}") for (short, why), models in found.items()]
    more = len(said) - _REASONS
    return (*said[:_REASONS], *([f"… and {more} more: column status of --format csv"] if more > 0 else []))


def _table(board: Board, lines: Sequence[_Line]) -> Rows:
    columns = [
        each
        for each in board.columns
        if any(name in line.measures for line in lines for name in each.measures)
    ]
    mixed = len({line.source for line in lines}) > 1  # each line must then say which it is
    names = (
        "model",
        *(("source",) if mixed else ()),
        *(column.short for column in columns),
        "coverage",
        "failed",
        "unreadable",
    )
    ranking = next(
        (
            names
            for names in board.order
            if any(line.number(name) is not None for line in lines for name in names)
        ),
        (),
    )
    ordered = sorted(lines, key=lambda line: line.place(ranking))
    return Rows(names, tuple(_row(line, columns, mixed) for line in ordered))


def _row(line: _Line, columns: Sequence[Column], mixed: bool) -> tuple[object, ...]:
    about = line.measures.get("coverage") or next(iter(line.measures.values()))
    return (
        line.model,
        *((line.source,) if mixed else ()),
        *(_cell(line, column) for column in columns),
        _number(about["coverage"]),
        shown(about["n_failed"]),
        shown(about["n_unreadable"]),
    )


def _cell(line: _Line, column: Column) -> str:
    found = next((name for name in column.measures if line.number(name) is not None), None)
    if found is None:
        return NOT_AVAILABLE
    row, value = line.measures[found], line.number(found)
    marked = column.mark_from is not None and value is not None and value >= column.mark_from
    stands_in = found != column.measure
    number = f"{_number(value)}{_MARKED if marked else ''}{_STANDS_IN if stands_in else ''}"
    if row.get("low_n") is True:
        number += LOW_N
    if not column.interval:
        return Stacked(number)
    if row["low"] is None or row["high"] is None:
        return Stacked(number) if stands_in else number
    return Stacked(f"{number}\n{_interval(row['low'], row['high'])}")


def _interval(low: object, high: object) -> str:
    """Return an interval, short: ``.22–.31``; with a sign in it ``-.13 to .05``."""
    ends = [_short(low), _short(high)]
    return (" to " if any(end.startswith("-") for end in ends) else "–").join(ends)


def _short(value: object) -> str:
    if not isinstance(value, float):
        return shown(value)
    text = fixed(value, 2)
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _number(value: object) -> str:
    return fixed(value, 3) if isinstance(value, float) else shown(value)
