"""Pieces of the page. Every text goes through :func:`words`, so a model's name or answer stays text."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from metacog_pipeline.leaderboard.output import NOT_AVAILABLE, Stacked, printable, shown
from metacog_pipeline.leaderboard.read import Rows

_LONG = 40  # characters that make a column one of sentences
_DIGITS = re.compile(r"-?[0-9.]+")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the page: ``body`` is HTML, made by the functions of this module; ``about`` a benchmark, or none."""

    anchor: str
    title: str
    body: str
    about: str = ""


def words(text: object) -> str:
    """Return ``text`` as HTML text: escaped, and without characters that cannot be printed."""
    plain = str(text).encode("utf-8", "replace").decode("utf-8")
    return html.escape(printable(plain))


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text; its line breaks stay."""
    lines = "<br>".join(words(line) for line in text.strip("\n").split("\n"))
    return f'<p class="{words(kind)}">{lines}</p>' if kind else f"<p>{lines}</p>"


def table(rows: Rows, caption: str) -> str:
    """Return a table that scrolls within itself where the screen is narrow; numbers stand to the right."""
    numeric = [all(_numeric(row[place]) for row in rows.rows) for place in range(len(rows.columns))]
    long = [any(len(str(row[place])) > _LONG for row in rows.rows) for place in range(len(rows.columns))]
    kinds = [
        ' class="number"' if figures else ' class="long"' if text else ""
        for figures, text in zip(numeric, long, strict=True)
    ]
    head = "".join(
        f'<th scope="col"{kind}>{words(name)}</th>' for name, kind in zip(rows.columns, kinds, strict=True)
    )
    body = "".join(f"<tr>{_cells(row, kinds)}</tr>" for row in rows.rows)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{words(caption)}"><table>'
        f"<caption>{words(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def linked(address: str, text: str) -> str:
    """Return a link; ``address`` is one of this package's own."""
    return f'<a href="{words(address)}">{words(text)}</a>'


def folded(summary: str, body: str) -> str:
    """Return ``body``, which is HTML, behind a line to open it with."""
    return f"<details><summary>{words(summary)}</summary>{body}</details>"


def figure(svg: str, caption: str) -> str:
    """Return a figure; ``svg`` comes from :mod:`metacog_pipeline.report.figures`."""
    return f"<figure>{svg}<figcaption>{words(caption)}</figcaption></figure>"


def _cells(row: Sequence[object], kinds: Sequence[str]) -> str:
    cells = []
    for place, (value, kind) in enumerate(zip(row, kinds, strict=True)):
        if isinstance(value, Stacked):
            first, _, below = value.partition("\n")
            text = words(first) + (f"<small>{words(below)}</small>" if below else "")
        else:
            text = words(shown(value))
        cells.append(f'<th scope="row"{kind}>{text}</th>' if place == 0 else f"<td{kind}>{text}</td>")
    return "".join(cells)


def _numeric(value: object) -> bool:
    """Whether ``value`` is a number or stands where one is missing."""
    if isinstance(value, Stacked) or value is None or value == NOT_AVAILABLE:
        return True
    if isinstance(value, str):
        return _DIGITS.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)
