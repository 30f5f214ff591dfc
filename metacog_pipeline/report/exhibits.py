"""Tables and figures of a paper, drawn again: printed values unchanged, the study's own in the same columns and units."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from markupsafe import Markup

from metacog_pipeline.files import shipped
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.leaderboard.output import Stacked, fixed
from metacog_pipeline.report import pieces, queries
from metacog_pipeline.report.figures import MOST_ROWS, Point, intervals, ladder
from metacog_pipeline.report.pieces import WORLDS

PRINTED = pieces.PRINTED
NOBODY = "No model of this study was asked this."
_OWN = ("measured", "simulated")
Printed = Sequence[Mapping[str, str]]
Key = tuple[str, ...]
Steps = Mapping[str, Point]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table of a paper: its heading, and where its values come from."""

    label: str
    # column of the shipped table; empty where none is printed
    printed: str = ""
    # the study's measure of the same; empty where it computes none
    measure: str = ""
    # what the measure is multiplied with to have the paper's unit: 100 for percent
    times: float = 1.0
    # decimals of the study's value
    digits: int = 3
    # column of the shipped table: the standard deviation
    spread: str = ""


@dataclass(frozen=True, slots=True)
class Own:
    """One value of a model of the study."""

    value: float
    low: float | None
    high: float | None
    n: int | None
    method: str | None
    low_n: bool | None = None

    def point(self, times: float = 1.0) -> Point:
        """Return it as a point of a figure."""
        found = pieces.point(self.value, self.low, self.high, times=times)
        return found or Point(times * self.value)


#: Title of a world → key (model first, then data set and condition) → measure → value.
Worlds = Mapping[str, Mapping[Key, Mapping[str, Own]]]


def printed(benchmark: str, stem: str) -> list[dict[str, str]]:
    """Return the rows of a shipped table, every value as it is printed."""
    with shipped("data", "published", benchmark, f"{stem}.csv").open(encoding="utf-8", newline="") as file:
        # as text, so that no digit is lost
        return list(csv.DictReader(file))


def own(home: Home, benchmark: str, measures: Iterable[str], where: str = "true") -> Worlds:
    """Return the study's values of ``measures``, of the groups that the SQL condition ``where`` leaves."""
    listed = ", ".join(text(name) for name in measures if name)
    found = queries.rows(
        home,
        "select source, model, dataset, condition, measure, estimate, low, high, n, method, low_n from estimates "
        f"where benchmark = {text(benchmark)} and measure in ({listed or 'null'}) and estimate is not null and ({where}) "
        "order by source, model, dataset, condition",
    )
    made: dict[str, dict[Key, dict[str, Own]]] = {}
    for source, model, dataset, condition, measure, *rest in found:
        if source in _OWN:
            groups = made.setdefault(WORLDS[source], {})
            groups.setdefault((model, dataset or "", condition or ""), {})[measure] = Own(*rest)
    return made


def tables(
    benchmark: str,
    found: Worlds,
    rows: Printed,
    columns: Sequence[Column],
    *,
    keys: Mapping[str, str],
    key_of: Callable[[Key], Sequence[str]] = lambda key: key[:1],
    caption: str = "",
) -> Markup:
    """Return the printed table and below it one per world; ``keys`` and ``key_of`` name its rows and those of the study."""
    heads = (*keys.values(), *(column.label for column in columns))
    body: list[Sequence[object]] = [
        (*(row[name] for name in keys), *(_as_printed(row, column) for column in columns)) for row in rows
    ]
    made = pieces.table(heads, body, f"{PRINTED}{caption and f': {caption}'}")
    for title, groups in found.items():
        body = [(*key_of(key), *(_of_study(own, each) for each in columns)) for key, own in groups.items()]
        made += pieces.table(heads, body, f"{title} of this study" if title == WORLDS["measured"] else title)
    groups_of_all = [values for groups in found.values() for values in groups.values()]
    few = any(values[c.measure].low_n for values in groups_of_all for c in columns if c.measure in values)
    return made + pieces.about_low_n(few) + (Markup() if found else pieces.paragraph(NOBODY, "soft"))


def _as_printed(row: Mapping[str, str], column: Column) -> object:
    value = row.get(column.printed, "")
    if not value:
        return None
    return Stacked(f"{value} ± {row[column.spread]}" if column.spread else value)


def _of_study(values: Mapping[str, Own], column: Column) -> object:
    found = values.get(column.measure)
    if found is None:
        return None
    point = found.point(column.times)
    if column.spread and (spread := values.get(f"{column.measure}_sd")):
        values_of = (fixed(value, column.digits) for value in (point.value, column.times * spread.value))
        return Stacked(" ± ".join(values_of))
    return pieces.interval(point.value, point.low, point.high, digits=column.digits, low_n=found.low_n)


def forests(
    rows: Sequence[tuple[str, Steps]],
    found: Worlds,
    columns: Sequence[Column],
    *,
    x: str,
    n: str,
    method: str,
    name_of: Callable[[Key], str] = lambda key: key[0],
    apart: float = 0.0,
) -> list[Markup]:
    """Return a figure per world, a row per model and a mark per column; printed rows, with ``n``, join measured models."""
    steps, measured = [column.label for column in columns], WORLDS["measured"]
    drawn = []
    for title, groups in found.items():
        own_rows: list[tuple[str, Steps]] = []
        for key, values in groups.items():
            points = {c.label: values[c.measure].point(c.times) for c in columns if c.measure in values}
            own_rows.append((name_of(key), points))
        every = [values[c.measure] for values in groups.values() for c in columns if c.measure in values]
        counted = pieces.counted(each.n for each in every)
        by = pieces.methods(each.method for each in every if each.low is not None)
        if title == measured and rows:
            own_rows += [(f"{name}, as printed", points) for name, points in rows]
            counted, by = f"{counted}; as printed {n}", f"{by}; as printed {method}"
        if every or (title == measured and rows):
            drawn.append(_forest(own_rows, steps, x, title, counted, by, apart))
    if rows and measured not in found:
        drawn.insert(0, _forest(rows, steps, x, PRINTED, n, method, apart))
    return drawn


def _forest(
    rows: Sequence[tuple[str, Steps]],
    steps: Sequence[str],
    x: str,
    title: str,
    n: str,
    method: str,
    apart: float,
) -> Markup:
    rest = f" (the first {MOST_ROWS}, the table has all)" if len(rows) > MOST_ROWS else ""
    label = f"{title}: {x}"
    if len(steps) == 1:
        points = [(name, own[steps[0]]) for name, own in rows[:MOST_ROWS] if own]
        made = intervals(points, x=x, label=label)
    else:
        made = ladder(rows, steps=steps, x=x, apart=apart, label=label)
    return pieces.figure(made, f"{label}{rest}", n=n, method=method)


def figure_of(title: str, drawn: str, said: str, *, n: str, method: str) -> Markup:
    """Return one figure of one world."""
    return pieces.figure(drawn, f"{title}: {said}", n=n, method=method)


def of_printed(
    rows: Printed, columns: Sequence[Column], name: Callable[[Mapping[str, str]], str]
) -> list[tuple[str, Steps]]:
    """Return printed rows as those of a figure; a standard deviation is no interval and is not drawn."""
    return [
        (name(row), {c.label: Point(float(row[c.printed])) for c in columns if row.get(c.printed)})
        for row in rows
    ]


def contrasts(home: Home, benchmark: str, family: str, columns: Sequence[str]) -> Markup:
    """Return what the study's own comparisons of a family say of pairs: a, b, value, 95 % interval, models."""
    found = queries.rows(
        home,
        "select source, concat_ws(' ', condition, scoring), a, b, value, low, high, n, status from comparisons "
        f"where benchmark = {text(benchmark)} and family = {text(family)} and source <> 'published' "
        "order by source, 2, a, b",
    )
    made = Markup()
    for (source, condition), group in groupby(found, key=lambda row: row[:2]):
        own_rows: list[tuple[Any, ...]] = list(group)
        pair = any(row[3] for row in own_rows)
        body = [(*row[2 : 4 if pair else 3], pieces.interval(*row[4:7]), row[7], row[8]) for row in own_rows]
        heads = (*columns[: 2 if pair else 1], "Spearman's ρ", "models", "status")
        made += pieces.table(heads, body, f"{WORLDS[source]}: {condition}")
    return made or pieces.paragraph(NOBODY, "soft")
