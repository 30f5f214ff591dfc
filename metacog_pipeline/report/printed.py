"""How many of the printed numbers hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from metacog_pipeline.benchmark.display import Exhibit
from metacog_pipeline.home import Home
from metacog_pipeline.report import pieces, queries
from metacog_pipeline.report.pieces import Part

_AGREES = ("holds", "holds if cut off", "follows")
_WAITING = "not computed"
_NO_CHECK = ("possible", "another estimator", _WAITING)  # shown for comparison; they decide nothing
_DIGITS = 4
_CLAIMS = "Printed numbers against their own parts"
_SAID = (
    "They are computed again from the counts or numbers printed with them. Results of single items are seldom published; "
    "what they alone could decide is not checked."
)


def claims(home: Home, benchmark: str) -> Part:
    """Return the headline claims of one benchmark's paper, its printed numbers that do not follow, and all of them."""
    found = _found(home, benchmark)
    title, where = queries.paper(benchmark)
    told = f"{title} ({where}): {_hold(found)} {_SAID}"
    if waiting := sum(row[0] == _WAITING for row in found):
        told += f" {waiting} are not computed yet."
    body = pieces.joined([ledger(home, benchmark), pieces.paragraph(told if found else "Not checked yet.")])
    if odd := [row for row in found if row[0] not in (*_AGREES, *_NO_CHECK)]:
        body += _listed(odd, "What does not follow")
    if found:
        body += pieces.folded("All", _listed(found, "All"))
    return Part(_anchor(benchmark), _CLAIMS, body, about=benchmark)


def of_exhibit(home: Home, benchmark: str, exhibit: Exhibit) -> Markup:
    """Return the printed numbers of one figure or table, computed again; nothing where none is checked."""
    found = [row for row in _found(home, benchmark) if exhibit.claims(row[2])]
    if not found:
        return Markup()
    return pieces.folded(f"Computed again: {_hold(found)}", _listed(found, exhibit.number))


def _found(home: Home, benchmark: str) -> list[Sequence[Any]]:
    return [row[1:] for row in queries.rows(home, queries.CLAIMS) if row[0] == benchmark]


def _hold(found: Sequence[Sequence[Any]]) -> str:
    checked = [row for row in found if row[0] not in _NO_CHECK]
    return f"{sum(row[0] in _AGREES for row in checked)} of {len(checked)} printed numbers hold."


def _listed(kept: Sequence[Sequence[Any]], caption: str) -> Markup:
    columns = (
        *("printed of", "place", "number", "from", "printed"),
        *("computed", "difference", "verdict", "note"),
    )
    body = [
        (*row[1:3], pieces.said(row[3]), row[4], pieces.shown(row[5], _DIGITS),
         pieces.interval(*row[6:9], digits=_DIGITS), pieces.shown(row[9], _DIGITS), row[0], row[10] or "")
        for row in kept
    ]  # fmt: skip
    return pieces.table(columns, body, caption)


def ledger(home: Home, benchmark: str) -> Markup:
    """Return what follows of the claims that the paper of a benchmark leads with."""
    found = [row[1:] for row in queries.rows(home, queries.LEDGER) if row[0] == benchmark]
    body = [(*row[:2], pieces.interval(*row[2:5]), row[5], row[6], row[7] or "") for row in found]
    columns = ("claim", "data", "what follows", "without it", "verdict", "note")
    caption = "Headline claims of the paper against its own tables"
    return pieces.table(columns, body, caption) if body else Markup()


def _anchor(benchmark: str) -> str:
    return f"{benchmark}-printed-numbers"
