"""A page for each paper the study's benchmarks come from: its tables and figures drawn again, and its claims checked.

Each benchmark declares its paper's manifest (`Exhibit`).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from metacog_pipeline import registry
from metacog_pipeline.benchmark.display import Exhibit
from metacog_pipeline.errors import MetacogError, one_line
from metacog_pipeline.files import write_changed
from metacog_pipeline.home import Home
from metacog_pipeline.report import pieces, printed, queries
from metacog_pipeline.report.escapes import escaped
from metacog_pipeline.report.pieces import Part

FOLDER = "papers"
_UP = "../../"


def write_papers(home: Home, report: Path, name: str, asked: Iterable[str]) -> dict[str, str]:
    """Write the page of the paper of each benchmark ``asked`` and return benchmark → address relative to ``report``.

    Pages of benchmarks that are not asked any more are removed.
    """
    made = {}
    for benchmark in asked:
        found = registry.load(benchmark)
        paper = getattr(found, "paper", None)
        if paper is None or not (exhibits := found.exhibits()):
            continue
        folder = report / FOLDER / benchmark
        with pieces.told(benchmark=benchmark, up=_UP):
            parts = [_manifest(exhibits), *_parts(home, benchmark, exhibits)]
        parts.append(replace(printed.claims(home, benchmark), about=""))
        page = pieces.page(
            "paper.html.jinja",
            name=name,
            benchmark=benchmark,
            paper=paper,
            parts=parts,
            up=_UP,
            script=f"{_UP}{pieces.SCRIPT}",
        )
        write_changed(folder / "index.html", page)
        made[benchmark] = queries.paper_address(benchmark)
    for old in (report / FOLDER).glob("*"):
        if old.is_dir() and old.name not in made:
            shutil.rmtree(old)
    return made


def anchor(exhibit: Exhibit) -> str:
    """Return the name of an exhibit's section on its page."""
    return re.sub(r"[^a-z0-9]+", "-", exhibit.number.lower()).strip("-")


def _manifest(exhibits: Iterable[Exhibit]) -> Part:
    """Return the list of all entries with their status, so that nothing of the paper is missing without a word."""
    body = [
        (pieces.linked(f"#{anchor(each)}", each.number), each.title, each.status, each.data, each.why)
        for each in exhibits
    ]
    listed = pieces.table(("number", "shows", "status", "from", "why"), body, "Everything the paper numbers")
    return Part("manifest", "Everything the paper numbers", listed)


def _parts(home: Home, benchmark: str, exhibits: Iterable[Exhibit]) -> Iterator[Part]:
    for exhibit in exhibits:
        body = _body(home, exhibit) + printed.of_exhibit(home, benchmark, exhibit)
        yield Part(anchor(exhibit), exhibit.title, body, about=exhibit.number)


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
