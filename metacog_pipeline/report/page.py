"""``<home>/report/index.html``: the board of a study, and what there is to say about each benchmark it asks.

Beside it stand ``methods.html``, a page for each model and each figure as a file. The page runs and loads none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import write_text
from metacog_pipeline.leaderboard.columns import board_of
from metacog_pipeline.leaderboard.printing import legend, notes, sections
from metacog_pipeline.leaderboard.read import board, read_table
from metacog_pipeline.report import (
    across,
    cost,
    medley,
    metacogbench,
    metamedqa,
    printed,
    selfknowledge,
    signaldetection,
)
from metacog_pipeline.report.html import Part, folded, linked, paragraph, table, words
from metacog_pipeline.report.methods import write_methods
from metacog_pipeline.report.models import links, write_model_pages
from metacog_pipeline.report.standalone import with_files
from metacog_pipeline.report.style import STYLE

PAGE = "index.html"
#: Benchmark → what the page shows of it beside its board.
PARTS: Mapping[str, Callable[[Path], Iterator[Part]]] = {
    "metamedqa": metamedqa.parts,
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
    parts = [
        *across.glance(home),
        *_boards(home),
        *across.parts(home),
        *cost.parts(home),
        *printed.parts(home),
        *_benchmarks(home),
        *_notes(home),
    ]
    target = home / "report" / PAGE
    title = name or home.resolve().name
    try:
        pages = links(write_model_pages(home, target.parent))
        methods = linked(write_methods(target.parent, title), "Methods: formulas and sources")
        shown = list(with_files(parts, target.parent))
        write_text(target, _page(title, shown, f"<p>{methods}</p>{pages}"))
    except OSError as error:
        raise StoreError(
            f"{target}: cannot be written ({error.strerror}); free space and try again"
        ) from None
    return target


def _boards(home: Path) -> Iterator[Part]:
    for benchmark, found in groupby(sections(board(home)), key=lambda section: section.benchmark):
        shown_here = list(found)
        tables = [
            folded(section.title, table(section.table, section.title))
            if section.condition.rpartition(" ")[2] in board_of(benchmark).summed_up
            else table(section.table, section.title)
            for section in shown_here
        ]
        yield Part(
            f"board-{benchmark}",
            f"Board: {benchmark}",
            "".join(tables) + paragraph(legend(benchmark, shown_here).replace("\n", " "), "soft"),
        )


def _benchmarks(home: Path) -> Iterator[Part]:
    asked = [str(row[0]) for row in read_table(home, "from int_benchmarks order by all").rows]
    for benchmark in asked:
        if made := PARTS.get(benchmark):
            yield from (replace(part, about=benchmark) for part in made(home))


def _notes(home: Path) -> Iterator[Part]:
    if text := notes(home):
        yield Part("notes", "What to know", paragraph(text))


def _page(name: str, parts: Sequence[Part], pages: str) -> str:
    body = "".join(
        f'<section id="{words(part.anchor)}"><h2>{_about(part)}{words(part.title)}</h2>{part.body}</section>\n'
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
        f'<nav aria-label="Parts">{_contents(parts)}</nav>{pages}</header>\n<main>\n{body}{empty}</main></body></html>\n'
    )


def _contents(parts: Sequence[Part]) -> str:
    """Return links to the parts: those about everything in sight, those of each benchmark behind its name."""
    groups: dict[str, list[str]] = {"": []}
    for part in parts:
        line = f"<li>{linked(f'#{part.anchor}', part.title)}</li>"
        groups.setdefault(part.about, []).append(line)
    return "".join(
        folded(about, f"<ul>{''.join(lines)}</ul>") if about else f"<ul>{''.join(lines)}</ul>"
        for about, lines in groups.items()
        if lines
    )


def _about(part: Part) -> str:
    return f"<small>{words(part.about)}</small> " if part.about else ""
