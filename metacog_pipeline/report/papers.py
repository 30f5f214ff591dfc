"""A page for each paper the study's benchmarks come from: the tables and figures of its manifest, its claims checked."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from metacog_pipeline import registry
from metacog_pipeline.benchmark.display import Exhibit
from metacog_pipeline.errors import MetacogError, one_line
from metacog_pipeline.files import write_changed
from metacog_pipeline.home import Home
from metacog_pipeline.report import pieces, queries
from metacog_pipeline.report.escapes import escaped
from metacog_pipeline.report.pieces import Part

FOLDER = "papers"
_UP = "../../"
_AGREES = ("holds", "holds if cut off", "follows")
_WAITING = "not computed"
# shown for comparison; they decide nothing
_NO_CHECK = ("possible", "another estimator", _WAITING)
_DIGITS = 4
_CLAIMS = "Printed numbers against their own parts"
_SAID = (
    "They are computed again from the counts or numbers printed with them. Results of single items are seldom published; "
    "what they alone could decide is not checked."
)


def write_papers(home: Home, report: Path, name: str, asked: Iterable[str]) -> dict[str, str]:
    """Write the page of the paper of each benchmark ``asked``, remove others, and return benchmark → address."""
    made = {}
    for benchmark in asked:
        found = registry.load(benchmark)
        paper = getattr(found, "paper", None)
        if paper is None or not (exhibits := found.exhibits()):
            continue
        folder = report / FOLDER / benchmark
        with pieces.told(benchmark=benchmark, up=_UP):
            parts = [_manifest(exhibits), *_parts(home, benchmark, exhibits)]
        parts.append(replace(claims(home, benchmark), about=""))
        known = {"name": name, "benchmark": benchmark, "paper": paper, "parts": parts}
        page = pieces.page("paper.html.jinja", up=_UP, script=f"{_UP}{pieces.SCRIPT}", **known)
        write_changed(folder / "index.html", page)
        made[benchmark] = queries.paper_address(benchmark)
    for old in (report / FOLDER).glob("*"):
        if old.is_dir() and old.name not in made:
            shutil.rmtree(old)
    return made


def slug(title: str) -> str:
    """Return the name of a section in an address."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _manifest(exhibits: Iterable[Exhibit]) -> Part:
    """Return the list of all entries with their status, so that nothing of the paper is missing without a word."""
    body = [
        (pieces.linked(f"#{slug(each.number)}", each.number), each.title, each.status, each.data, each.why)
        for each in exhibits
    ]
    listed = pieces.table(("number", "shows", "status", "from", "why"), body, "Everything the paper numbers")
    return Part("manifest", "Everything the paper numbers", listed)


def _parts(home: Home, benchmark: str, exhibits: Iterable[Exhibit]) -> Iterator[Part]:
    for exhibit in exhibits:
        body = _body(home, exhibit) + _of_exhibit(home, benchmark, exhibit)
        yield Part(slug(exhibit.number), exhibit.title, body, about=exhibit.number)


def _body(home: Home, exhibit: Exhibit) -> Markup:
    """Return what is drawn and what is missing; the reason where it fails, so that the others are shown."""
    made = Markup()
    if exhibit.render is not None:
        try:
            made = escaped(exhibit.render(home))
        except MetacogError:
            raise
        except Exception as error:
            why = f"This could not be drawn: {type(error).__name__}: {error}"
            made = pieces.paragraph(one_line(why), "soft")
    word = "Differs" if exhibit.status == "differs" else "Missing"
    missing = pieces.paragraph(f"{word}: {exhibit.why}", "soft") if exhibit.why else Markup()
    query = pieces.folded("Query", pieces.paragraph(exhibit.query)) if exhibit.query else Markup()
    return made + missing + query


# --- printed numbers, computed again -----------------------------------------------------------------------------------
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
    return Part(f"{benchmark}-printed-numbers", _CLAIMS, body, about=benchmark)


def _of_exhibit(home: Home, benchmark: str, exhibit: Exhibit) -> Markup:
    """Return the printed numbers of one figure or table, computed again; nothing where none is checked."""
    places = [each.casefold() for each in exhibit.places]
    found = [row for row in _found(home, benchmark) if row[2].casefold() in places]
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
