"""A board as text: one table per benchmark, condition and kind of respondent, one line per model; and notes below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.benchmark.display import FIRST_REPLY, PLAIN, Board, Column
from metacog_pipeline.errors import one_line
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard import output
from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.leaderboard.output import Format, Rows, Stacked, fixed, shown
from metacog_pipeline.leaderboard.read import read_table

_STANDS_IN, LOW_N = " *", " °"
LOW_N_LEGEND = (
    "°: so few right or wrong answers that the 95 % interval covers less than 92 or more than 98.5 %,\n"
    "or its coverage was not measured (low_n).\n"
)
_MORE = "Every measure, with the reason where one is missing: metacog board --all --format csv\n"
_REASONS = 6  # below a section; column status of the table has all

_SETS = """
select distinct benchmark, dataset from items where {only}
union select distinct benchmark, dataset from estimates where {only} and benchmark not in (select benchmark from items)
order by all
"""
_RED = """
select benchmark, rule, instrument, any_value(reason), string_agg(
    format('{} {:.2f}, chance up to {:.2f}', policy, value, high), '; ' order by policy)
from instruments where red and {only} group by all order by all
"""
_PROGRESS = """
select benchmark, model, run, state, n_answered, n_expected, message
from progress where {only} order by model, run, benchmark
"""


def board_of(benchmark: str) -> Board:
    """Return how ``benchmark`` is printed; a plain board for one whose package is not installed any more."""
    found: Board = registry.part(benchmark, "board") if benchmark in registry.names() else PLAIN
    return found


@dataclass(frozen=True, slots=True)
class Section:
    """One table of the board: models, or simulated observers, under one condition; and why numbers are missing."""

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
    """What a board has of one model under one condition: by measure, its row."""

    model: str
    source: str
    measures: Mapping[str, Mapping[str, object]]

    def number(self, measure: str) -> float | None:
        value = self.measures.get(measure, {}).get("estimate")
        return value if isinstance(value, float) else None

    def status(self, measure: str) -> str:
        """Return the status of a number but for incomplete runs; "" where it is ok."""
        said = str(self.measures.get(measure, {}).get("status") or "ok")
        return "" if said in ("ok", "count") or said.startswith("incomplete") else said

    def place(self, measures: Sequence[str]) -> tuple[bool, float, str]:
        """Return what orders lines by the first of ``measures`` this one has: best first, those without a value last."""
        for name in measures:
            if (value := self.number(name)) is not None:
                upwards = self.measures[name].get("higher_is_better") is False
                compared = round(value, 9)  # as the rank of the board: rounding decides nothing
                return False, compared if upwards else -compared, self.model
            if "unbounded" in self.status(name):  # nothing replaces a ratio whose denominator may be 0
                break
        return True, 0.0, self.model


def render_board(rows: Rows, form: Format) -> str:
    """Return a board: long rows for ``csv`` and ``json``; as text, sections with one line per model, best first."""
    if form in ("csv", "json"):
        return output.render(rows, form)
    parts: list[str] = []
    for benchmark, found in groupby(sections(rows), key=lambda section: section.benchmark):
        shown_here = list(found)
        for section in shown_here:
            parts.append(output.to_table(section.table, section.title))
            parts += ["".join(f"{line}\n" for line in section.reasons)] if section.reasons else []
        parts += [words] if (words := legend(benchmark, shown_here)) else []
    parts += [_MORE] if parts else []
    return "\n".join(parts) or "The board is empty: nothing has been answered yet.\n"


def legend(benchmark: str, shown_here: Sequence[Section]) -> str:
    """Return what the columns and marks of these sections of ``benchmark`` mean."""
    board = board_of(benchmark)
    # Only numbers of our own making are stacked: a model's name that ends like a mark is none.
    rows = [row for each in shown_here for row in each.table.rows]
    cells = [cell for row in rows for cell in row if isinstance(cell, Stacked)]
    marks = ((_STANDS_IN, board.stands_in), (LOW_N, LOW_N_LEGEND))
    return board.legend + "".join(words for mark, words in marks if any(mark in cell for cell in cells))


def sections(rows: Rows) -> list[Section]:
    """Return the tables of the board ``rows``, in order of benchmark, condition and world."""
    grouped: dict[tuple[str, str, str], dict[tuple[str, str], dict[str, Mapping[str, object]]]] = {}
    for values in rows.rows:
        row = dict(zip(rows.columns, values, strict=True))
        world = "simulated observers" if row["source"] == "simulated" else "models"
        models = grouped.setdefault((str(row["benchmark"]), str(row["condition"]), world), {})
        models.setdefault((str(row["model"]), str(row["source"])), {})[str(row["measure"])] = row
    return [
        Section(*key, _table(board_of(key[0]), lines), tuple(_reasons(board_of(key[0]), lines)))
        for key, models in sorted(grouped.items())
        for lines in [[_Line(*who, measures) for who, measures in models.items()]]
    ]


def _reasons(board: Board, lines: Sequence[_Line]) -> Iterator[str]:
    """Yield one line per reason and column: whose number is missing or uncertain, and why."""
    found: dict[tuple[str, str], list[str]] = {}
    for column in board.columns:
        for line in lines:
            if why := line.status(column.measure):
                found.setdefault((column.short, why), []).append(line.model)
    for (short, why), models in [*found.items()][:_REASONS]:
        yield one_line(f"{short} of {', '.join(models)}: {why}")
    if (more := len(found) - _REASONS) > 0:
        yield f"… and {more} more: column status of --format csv"


def _table(board: Board, lines: Sequence[_Line]) -> Rows:
    present = {name for line in lines for name in line.measures}
    columns = [each for each in board.columns if present & {*each.measures}]
    shorts = {each.measure: each.short for each in board.columns}
    for name in sorted(each for each in present if each.endswith(FIRST_REPLY)):
        measure = name.removesuffix(FIRST_REPLY)
        columns.append(Column(name, f"{shorts.get(measure, measure)}, first replies"))
    mixed = len({line.source for line in lines}) > 1  # each line must then say which it is
    valued = {name for line in lines for name in line.measures if line.number(name) is not None}
    ranking = next((each for each in board.order if valued & {*each}), ())
    rows = []
    for line in sorted(lines, key=lambda line: line.place(ranking)):
        about = line.measures.get("coverage") or next(iter(line.measures.values()))
        first = (line.model, line.source) if mixed else (line.model,)
        counts = (shown(about["n_failed"]), shown(about["n_unreadable"]))
        cells = (_cell(line, column) for column in columns)
        rows.append((*first, *cells, _number(about["coverage"]), *counts))
    heads = (column.short for column in columns)
    head = ("model", *(("source",) if mixed else ()), *heads, "coverage", "failed", "unreadable")
    return Rows(head, tuple(rows))


def _cell(line: _Line, column: Column) -> str:
    found = next((name for name in column.measures if line.number(name) is not None), None)
    value = None if found is None else line.number(found)
    if found is None or value is None:
        return output.NOT_AVAILABLE
    row, stands_in = line.measures[found], found != column.measure
    low_n = row.get("low_n") is True
    number = f"{_number(value)}{_STANDS_IN * stands_in}{LOW_N * low_n}"
    if not column.interval:
        return Stacked(number)
    if row["low"] is None or row["high"] is None:
        return Stacked(number) if stands_in else number
    return Stacked(f"{number}\n{_interval(row['low'], row['high'])}")


def _interval(low: object, high: object) -> str:
    """Return an interval, short: ``.22–.31``; with a sign in it ``-.13 to .05``."""
    ends = [fixed(end, 2) if isinstance(end, float) else shown(end) for end in (low, high)]
    ends = [end.replace("0.", ".", 1) if end.startswith(("0.", "-0.")) else end for end in ends]
    return (" to " if any(end.startswith("-") for end in ends) else "–").join(ends)


def _number(value: object) -> str:
    return fixed(value, 3) if isinstance(value, float) else shown(value)


# --- below the board --------------------------------------------------------------------------------------------------
def notes(home: Home, benchmark: str | None = None) -> str:
    """Return the notes below the board of ``benchmark``, or of all."""

    def read(sql: str) -> Sequence[tuple[Any, ...]]:
        only = "true" if benchmark is None else f"benchmark = {text(benchmark)}"
        return read_table(home, sql.replace("{only}", only)).rows

    sets = read(_SETS)
    several = len({name for name, _ in sets}) > 1
    lines = [
        one_line(f"Question set{f' of {name}' * several}: {dataset}{board_of(name).about.get(dataset, '')}")
        for name, dataset in sets
    ]
    for name, rule, instrument, reason, won in read(_RED):
        lines.append(one_line(f"Red: {instrument} of {name} ({rule}): {reason or won}"))
    lines += _progress(read(_PROGRESS))
    return "".join(f"{line}\n" for line in lines)


def _progress(states: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    several = len({row[0] for row in states}) > 1
    rows = [(f"{name}, " * several + f"{model}, run {run}", *rest) for name, model, run, *rest in states]
    waiting = [row for row in rows if row[1] != "complete"]
    if waiting:
        yield f"PROVISIONAL: {len(rows) - len(waiting)} of {len(rows)} partitions are complete. Waiting for:"
    for whose, state, answered, expected, message in waiting:
        why = f": {message}" if message else ""
        yield "  " + one_line(f"{whose}: {state}, {answered} of {expected} answered{why}")
    for whose, state, _, _, message in rows:
        if state == "complete" and message:
            yield one_line(f"{whose}: {message}")
