"""Pieces of the pages. Templates escape every text, so a name or an answer stays text; numbers look alike everywhere."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from metacog_pipeline.leaderboard.output import NOT_AVAILABLE, Rows, Stacked, fixed
from metacog_pipeline.leaderboard.output import shown as plain
from metacog_pipeline.leaderboard.printing import LOW_N, LOW_N_LEGEND
from metacog_pipeline.leaderboard.verdict import p_text
from metacog_pipeline.report.escapes import escaped
from metacog_pipeline.report.figures import Point

TEMPLATES = Path(__file__).parent / "templates"
# of every page of the report: tables and figures
SCRIPT = "report.js"
#: Who gives answers → how they are called above a table. They never share one.
WORLDS = {
    "measured": "Models",
    "simulated": "Simulated observers",
    "published": "Published models, as printed",
    "human": "Human respondents",
}
PRINTED = "As printed"
_OURS, _PRINTED = (WORLDS["measured"], WORLDS["simulated"]), (WORLDS["published"], PRINTED)
# characters of an interval: it stays on one line
_SPAN = 18
# characters that make a column one of sentences
_LONG = 40
_DIGITS = re.compile(r"-?[0-9.]+")
# what a row says of itself → where its numbers lead
Lead = Callable[[Mapping[str, object]], str | None]
_LEAD: ContextVar[Lead | None] = ContextVar("lead", default=None)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the index page; ``about`` names a benchmark, or none; ``folded``: its body opens with a click."""

    anchor: str
    title: str
    body: Markup
    about: str = ""
    folded: bool = False


_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    finalize=escaped,
    trim_blocks=True,
    lstrip_blocks=True,
)


def page(template: str, **values: object) -> str:
    """Return a whole page; every value that is no `Markup` is escaped."""
    return _ENVIRONMENT.get_template(template).render(**values)


def script(name: str) -> str:
    """Return one of the scripts that are written next to the pages."""
    return (TEMPLATES.parent / "static" / name).read_text("utf-8")


def _piece(name: str, *values: object) -> Markup:
    macro: Any = getattr(_ENVIRONMENT.get_template("pieces.html.jinja").module, name)
    return Markup(macro(*values))


def paragraph(text: str, kind: str = "") -> Markup:
    """Return a paragraph of plain text; its line breaks stay."""
    return _piece("paragraph", text, kind)


def folded(summary: str, body: Markup) -> Markup:
    """Return ``body`` below a line that opens it."""
    return _piece("folded", summary, body)


def linked(address: str, text: str) -> Markup:
    """Return a link; ``address`` is one of this package's own."""
    # There are thousands: a template takes ten times as long.
    return Markup(f'<a href="{escaped(address)}">{escaped(text)}</a>')


@contextlib.contextmanager
def leading_to(lead: Lead | None) -> Iterator[None]:
    """Have the numbers of every table that is made meanwhile lead where ``lead`` says."""
    before = _LEAD.set(lead)
    try:
        yield
    finally:
        _LEAD.reset(before)


@contextlib.contextmanager
def told(**known: object) -> Iterator[None]:
    """Say of the tables made meanwhile what their rows do not: benchmark, condition, model; ``up`` leads to the report."""
    lead = _LEAD.get()
    with leading_to(lead and (lambda row: lead({**known, **row}))):
        yield


def lead_of(**known: object) -> str | None:
    """Return where what is ``known`` of a number leads; None where there is no explorer, or nothing of it there."""
    lead = _LEAD.get()
    return lead(known) if lead else None


def named(name: str, **known: object) -> str:
    """Return a name that leads to the items of ``known``, where there is an explorer; else as it is."""
    address = lead_of(ours=True, **known)
    return linked(address, name) if address else name


def figure(drawn: str, caption: str, *, n: str, method: str) -> Markup:
    """Return a figure of `report.figures`; its caption, one sentence, ends with the method and how many."""
    said = f"{caption.removesuffix('.')}; {method}; {n}."
    return _piece("figure", Markup(drawn), said)


def counted(numbers: Iterable[object], unit: str = "answers") -> str:
    """Return how many values figures rest on: the smallest and the largest number there is.

    >>> counted([121, 98, None]), counted([60], "items"), counted([])
    ('n = 98 to 121 answers', 'n = 60 items', 'n not stated')
    """
    found = sorted({each for each in numbers if isinstance(each, int)})
    if not found:
        return "n not stated"
    return f"n = {found[0]} {unit}" if len(found) == 1 else f"n = {found[0]} to {found[-1]} {unit}"


def methods(found: Iterable[object], otherwise: str = "no interval") -> str:
    """Return by which methods intervals were made.

    >>> methods(["wilson", None, "wilson"]), methods(["no interval"])
    ('95 % intervals: wilson', 'no interval')
    """
    named = sorted({str(each) for each in found if each} - {otherwise})
    return f"95 % intervals: {'; '.join(named)}" if named else otherwise


def grid(figures: Sequence[Markup]) -> Markup:
    """Return figures side by side where there is room; nothing without any."""
    return _piece("grid", figures) if figures else Markup()


def matrix(caption: str, models: Sequence[str], rows: Iterable[tuple[str, Iterable[Any]]]) -> Markup:
    """Return the verdict as a table: a group of rows per question, a column per model; on a phone, a block per row."""
    return _piece("matrix", caption, models, rows)


def screen(lead: str, matrix: Markup, drawn: Markup, rest: Markup) -> Markup:
    """Return the first screen: a sentence, the matrix with a figure at its side where there is room, what is below."""
    return _piece("screen", lead, matrix, drawn, rest)


def listed(lines: Iterable[str]) -> Markup:
    """Return a list of plain texts."""
    return _piece("listed", lines)


def joined(pieces: Iterable[Markup], otherwise: str = "") -> Markup:
    """Return pieces one after the other; ``otherwise`` as a paragraph where there are none."""
    made = Markup().join(pieces)
    return made or (paragraph(otherwise) if otherwise else made)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], caption: str) -> Markup:
    """Return a table; where there is an explorer its numbers lead to the answers they were made of."""
    listed = [tuple(row) for row in rows]
    lead = None if caption.startswith(_PRINTED) else _LEAD.get()
    about = {"ours": caption.startswith(_OURS)}
    numeric = [[_numeric(value) for value in row] for row in listed]
    places = range(len(columns))
    kinds = [_kind([row[each] for row in listed], [row[each] for row in numeric]) for each in places]
    starts = [_start(place, kind) for place, kind in enumerate(kinds)]
    body = Markup("\n").join(
        _row(row, numbers, starts, lead({**about, **dict(zip(columns, row, strict=False))}) if lead else None)
        for row, numbers in zip(listed, numeric, strict=True)
    )
    return _piece("table", caption, columns, kinds, body)


def _start(place: int, kind: str) -> tuple[str, str]:
    """Return how a cell of a column opens and closes."""
    opened, closed = ('<th scope="row"', "</th>") if place == 0 else ("<td", "</td>")
    return opened + (f' class="{kind}">' if kind else ">"), closed


def _row(
    row: Sequence[object], numeric: Sequence[bool], starts: Sequence[tuple[str, str]], address: str | None
) -> Markup:
    """Return a row of a table, every text escaped; its numbers lead to ``address``, but for the first, which names it."""
    # A report may have forty thousand cells, too many for a template.
    made = []
    to = address if address is None else escaped(address)
    for place, (value, number_, (opened, closed)) in enumerate(zip(row, numeric, starts, strict=True)):
        first, below = _lines(value)
        if to is not None and place and number_ and value not in (None, NOT_AVAILABLE):
            first = f'<a href="{to}">{first}</a>'
        wraps = ' class="words"' if len(below) > _SPAN else ""
        small = f"<small{wraps}>{escaped(below)}</small>" if below else ""
        made.append(f"{opened}{first}{small}{closed}")
    return Markup("<tr>" + "".join(made) + "</tr>")


def _lines(value: object) -> tuple[str, str]:
    """Return the first line of a cell, escaped, and the lines below it."""
    if isinstance(value, Stacked):
        first, _, below = value.partition("\n")
        return escaped(first), below
    return escaped(value if isinstance(value, Markup) else plain(value)), ""


def table_of(rows: Rows, caption: str) -> Markup:
    """Return the answer to a query as a table."""
    return table(rows.columns, rows.rows, caption)


def by_world(
    rows: Iterable[Sequence[Any]], worlds: Iterable[str] = WORLDS
) -> Iterator[tuple[str, list[Sequence[Any]]]]:
    """Yield the title of each world and its rows, whose first value names it; worlds without any are left out."""
    listed = list(rows)
    for world in worlds:
        if own := [row for row in listed if row[0] == world]:
            yield WORLDS[world], own


def number(value: object) -> float | None:
    """Return ``value`` where it is a number, else None."""
    # most are, and curves of many models have a hundred thousand
    if type(value) is float:
        return value
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def shown(value: object, digits: int = 3) -> object:
    """Return a number with ``digits`` decimals, anything else as it is."""
    return Stacked(fixed(value, digits)) if isinstance(value, float) else value


def interval(
    value: object, low: object = None, high: object = None, *, digits: int = 3, low_n: bool | None = False
) -> object:
    """Return a number with its interval below it, marked where that rests on too few answers; anything else as it is."""
    if not (isinstance(value, float) and isinstance(low, float) and isinstance(high, float)):
        return shown(value, digits)
    return Stacked(f"{fixed(value, digits)}{LOW_N if low_n else ''}\n{ends(low, high, min(digits, 3))}")


def about_low_n(few: bool) -> Markup:
    """Return what the mark of `interval` means, where ``few`` say that a number above has it."""
    return paragraph(LOW_N_LEGEND.replace("\n", " "), "soft") if few else Markup()


def exact(value: str) -> object:
    """Return a number as it is printed; None for an empty one."""
    return Stacked(value) if value else None


def ends(low: object, high: object, digits: int = 3) -> str | None:
    """Return both ends of an interval, None where there are none."""
    if not isinstance(low, float) or not isinstance(high, float):
        return None
    return f"{fixed(low, digits)} to {fixed(high, digits)}"


def p_value(value: object) -> object:
    """Return a p value as every surface writes it."""
    return Stacked(p_text(value)) if isinstance(value, float) else value


def point(value: object, low: object = None, high: object = None, *, times: float = 1.0) -> Point | None:
    """Return a value as a point of a figure, multiplied by ``times``; None where there is no value."""
    middle, first, last = number(value), number(low), number(high)
    if middle is None:
        return None
    if first is None or last is None:
        return Point(times * middle)
    return Point(times * middle, times * first, times * last)


def stars(p: object) -> str:
    """Return the usual marks of a p value: * below 0.05, ** 0.01, *** 0.001, **** 0.0001."""
    return "*" * sum(p < level for level in (0.05, 0.01, 0.001, 0.0001)) if isinstance(p, float) else ""


def said(verdict: object, otherwise: object = None) -> str:
    """Return a verdict in words."""
    return str(verdict or otherwise or "untested").replace("_", " ")


def _kind(values: Sequence[object], numeric: Sequence[bool]) -> str:
    if all(numeric):
        return "number"
    return "long" if any(len(str(value)) > _LONG for value in values) else ""


def _numeric(value: object) -> bool:
    """Whether ``value`` is a number or the mark of a missing one."""
    if isinstance(value, Stacked) or value is None or value == NOT_AVAILABLE:
        return True
    if isinstance(value, str):
        return _DIGITS.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)
