"""``<home>/report/index.html``: the board of a study, and what there is to say about each benchmark it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import write_text
from metacog_pipeline.report import across, medley, metacogbench, selfknowledge, signaldetection
from metacog_pipeline.report.html import Part, paragraph, table, words
from metacog_pipeline.report.models import links, write_model_pages
from metacog_pipeline.report.style import STYLE
from metacog_pipeline.warehouse.leaderboard import legend, notes, sections
from metacog_pipeline.warehouse.query import board, read_table

PAGE = "index.html"
#: Benchmark → what the page shows of it beside its board.
PARTS: Mapping[str, Callable[[Path], Iterator[Part]]] = {
    "signaldetection": signaldetection.parts,
    "medley": medley.parts,
    "metacogbench": metacogbench.parts,
    "selfknowledge": selfknowledge.parts,
}


def build_report(home: Path, name: str | None = None) -> Path:
    """Write the report of the study in ``home`` from its leaderboard, and return the file.

    ``name`` is the study's, for the title; without one the folder's is taken. The page holds its style and figures; it
    opens from disk and loads nothing.

    Raises
    ------
    StoreError
        If there is no leaderboard, it cannot be read, or the page cannot be written.
    """
    parts = [*across.glance(home), *_boards(home), *across.parts(home), *_benchmarks(home), *_notes(home)]
    target = home / "report" / PAGE
    try:
        pages = write_model_pages(home, target.parent)
        write_text(target, _page(name or home.resolve().name, parts, links(pages)))
    except OSError as error:
        raise StoreError(
            f"{target}: cannot be written ({error.strerror}); free space and try again"
        ) from None
    return target


def _boards(home: Path) -> Iterator[Part]:
    for benchmark, found in groupby(sections(board(home)), key=lambda section: section.benchmark):
        shown_here = list(found)
        tables = [table(section.table, section.title) for section in shown_here]
        yield Part(
            f"board-{benchmark}",
            f"Board: {benchmark}",
            "".join(tables) + paragraph(legend(benchmark, shown_here).replace("\n", " "), "soft"),
        )


def _benchmarks(home: Path) -> Iterator[Part]:
    asked = [str(row[0]) for row in read_table(home, "from int_benchmarks order by all").rows]
    for benchmark in asked:
        if made := PARTS.get(benchmark):
            yield from made(home)


def _notes(home: Path) -> Iterator[Part]:
    if text := notes(home):
        yield Part("notes", "What to know", paragraph(text))


def _page(name: str, parts: Sequence[Part], models: str) -> str:
    anchors = "".join(f'<li><a href="#{words(part.anchor)}">{words(part.title)}</a></li>' for part in parts)
    body = "".join(
        f'<section id="{words(part.anchor)}"><h2>{words(part.title)}</h2>{part.body}</section>\n'
        for part in parts
    )
    empty = "" if parts else paragraph("The board is empty: nothing has been answered yet.")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{words(name)}: report</title>\n<style>{STYLE}</style></head>\n"
        f"<body><header><h1>{words(name)}</h1>"
        '<p class="soft">Intervals are 95 % intervals where nothing else is said. Simulated observers never stand among '
        "models.</p>"
        f'<nav aria-label="Parts"><ul>{anchors}</ul></nav>{models}</header>\n<main>\n{body}{empty}</main></body></html>\n'
    )
