"""``<home>/report/index.html``: the board of a study, and what there is to say about each benchmark it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import write_text
from metacog_pipeline.report import across, medley, metacogbench, selfknowledge, signaldetection
from metacog_pipeline.report.html import Part, paragraph, table, words
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

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --paper: #ffffff; --band: #f6f8fa;
  --link: #0550ae; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9da7b3; --line: #3d444d; --paper: #0d1117; --band: #161b22; --link: #79b8ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main, header { max-width: 80rem; margin: 0 auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 1.5rem 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.25rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem; }
p { max-width: 46rem; overflow-wrap: anywhere; }
p.soft, figcaption, caption { color: var(--soft); font-size: .875rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; list-style: none; }
a { color: var(--link); }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .25rem 0; position: sticky; left: 0; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { white-space: nowrap; color: var(--soft); font-weight: 600; }
tbody th { font-weight: 600; min-width: 8.5rem; max-width: 14rem; overflow-wrap: break-word; }
thead th:first-child, tbody th { position: sticky; left: 0; background: var(--paper); }
@media (max-width: 40rem) { tbody th { max-width: 8.5rem; } }
tbody tr:nth-child(odd), tbody tr:nth-child(odd) th { background: var(--band); }
td.number, th.number { text-align: right; white-space: nowrap; }
td.long { min-width: 18rem; max-width: 30rem; }
summary { cursor: pointer; color: var(--link); margin: .75rem 0; }
td small { display: block; color: var(--soft); white-space: normal; max-width: 13rem; margin-left: auto; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem 2rem; }
figure { margin: 1rem 0; max-width: 40rem; }
figure svg { width: 100%; height: auto; color: var(--ink); }
footer { color: var(--soft); font-size: .875rem; margin: 2rem 0; }
"""


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
        write_text(target, _page(name or home.resolve().name, parts))
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


def _page(name: str, parts: Sequence[Part]) -> str:
    links = "".join(f'<li><a href="#{words(part.anchor)}">{words(part.title)}</a></li>' for part in parts)
    body = "".join(
        f'<section id="{words(part.anchor)}"><h2>{words(part.title)}</h2>{part.body}</section>\n'
        for part in parts
    )
    empty = "" if parts else paragraph("The board is empty: nothing has been answered yet.")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{words(name)}: report</title>\n<style>{_STYLE}</style></head>\n"
        f"<body><header><h1>{words(name)}</h1>"
        '<p class="soft">Intervals are 95 % intervals where nothing else is said. Simulated observers never stand among '
        "models.</p>"
        f'<nav aria-label="Parts"><ul>{links}</ul></nav></header>\n<main>\n{body}{empty}</main></body></html>\n'
    )
