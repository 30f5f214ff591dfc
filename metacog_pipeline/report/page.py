"""``<home>/report/index.html``: the boards of a study, and what there is to say about each benchmark it asks.

Next to it are ``methods.html``, the explorer of items and answers, and the pages of the papers.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

from markupsafe import Markup

from metacog_pipeline import registry
from metacog_pipeline.benchmark.display import Section as About
from metacog_pipeline.errors import MetacogError, StoreError, one_line
from metacog_pipeline.files import write_changed
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.printing import legend, notes, sections
from metacog_pipeline.leaderboard.read import board, one_connection
from metacog_pipeline.report import PAGE, confidence, explorer, papers, pieces, queries, verdict
from metacog_pipeline.report.escapes import escaped
from metacog_pipeline.report.pieces import Part

METHODS = "methods.html"
_SECTION = re.compile(r'<section id="([a-z0-9-]+)"><h2>(.*?)</h2>')


def build_report(home: Home, name: str | None = None) -> Path:
    """Write the report of the study called ``name`` from its leaderboard, and return the page to open."""
    title, target = name or home.path.resolve().name, home.report / PAGE
    try:
        with one_connection(home):
            explored = explorer.write_explorer(home, target.parent, title)
            with pieces.leading_to(explorer.leads(explored)):
                _write_pages(home, title, target, explored=any(each.models for each in explored))
    except OSError as error:
        raise StoreError(
            f"{target}: cannot be written ({error.strerror}); free space and try again"
        ) from None
    return target


def _write_pages(home: Home, title: str, target: Path, *, explored: bool) -> None:
    asked = queries.asked(home)
    first = _whole("verdict", "Who knows what it knows", lambda: verdict.parts(home))
    made = pieces.page(
        "index.html.jinja",
        name=title,
        methods=_write_methods(target.parent, title, asked),
        models=_addresses(home),
        explorer=f"{explorer.FOLDER}/{explorer.PAGE}" if explored else None,
        parts=[*first, *(replace(part, folded=True) for part in _details(home, asked))],
        papers=papers.write_papers(home, target.parent, title, asked),
        script=pieces.SCRIPT,
    )
    write_changed(target.parent / pieces.SCRIPT, pieces.script(pieces.SCRIPT))
    write_changed(target, made)


def _write_methods(report: Path, name: str, asked: Iterable[str]) -> str:
    """Write what every measure means: what is shared, then ``methods.html`` of each benchmark; return its address."""
    folders = [_folder(benchmark) for benchmark in asked]
    files = [pieces.TEMPLATES / "methods_shared.html", *(folder / METHODS for folder in folders)]
    texts = Markup("".join(file.read_text("utf-8") for file in files if file.exists()))
    anchors = [(anchor, Markup(title)) for anchor, title in _SECTION.findall(texts)]
    made = pieces.page("methods.html.jinja", name=name, texts=texts, anchors=anchors)
    write_changed(report / METHODS, made)
    return METHODS


def _details(home: Home, asked: Sequence[str]) -> Iterator[Part]:
    """Yield what is shown after a click: each benchmark's board and sections, confidence, notes."""
    boards = {part.about: part for part in _boards(home)}
    for benchmark in asked:
        yield from (part for part in [boards.pop(benchmark, None)] if part is not None)
        yield from _benchmark(home, benchmark)
    yield from boards.values()
    yield from _whole("confidence", "Confidence", lambda: confidence.parts(home))
    yield from _notes(home)


def _addresses(home: Home) -> dict[str, str]:
    """Return where the answers of each listed model are shown."""
    shown = ((model, pieces.lead_of(model=model)) for _, model in queries.models(home))
    return {model: address for model, address in shown if address}


def _boards(home: Home) -> Iterator[Part]:
    for benchmark, found in groupby(sections(board(home)), key=lambda section: section.benchmark):
        shown_here = list(found)
        body = Markup()
        for section in shown_here:
            with pieces.told(benchmark=benchmark, condition=section.condition):
                made = pieces.table_of(section.table, section.title)
            body += made + Markup("").join(pieces.paragraph(reason, "soft") for reason in section.reasons)
        said = pieces.paragraph(legend(benchmark, shown_here).replace("\n", " "), "soft")
        yield Part(f"board-{benchmark}", "Board", body + said, about=benchmark)


def _benchmark(home: Home, benchmark: str) -> Iterator[Part]:
    found = registry.load(benchmark)
    for section in found.sections():
        anchor = f"{benchmark}-{papers.slug(section.title)}"
        made = partial(_rendered, home, anchor, section, benchmark)
        yield from _whole(anchor, section.title, made, benchmark)
    # Of a benchmark with exhibits they are on the page of its paper.
    if found.published is not None and not found.exhibits():
        claims = partial(papers.claims, home, benchmark)
        yield from _whole(f"{benchmark}-claims", "Printed claims", lambda: [claims()], benchmark)


def _rendered(home: Home, anchor: str, section: About, benchmark: str) -> list[Part]:
    with pieces.told(benchmark=benchmark):
        return [Part(anchor, section.title, escaped(section.render(home)), about=benchmark)]


def _whole(anchor: str, title: str, make: Callable[[], Iterable[Part]], about: str = "") -> list[Part]:
    """Return what ``make`` gives; a part with the reason where it fails."""
    try:
        return list(make())
    except MetacogError:
        raise
    # A part that fails keeps no other back: the report is how a person finds out what is wrong.
    except Exception as error:
        why = one_line(f"This part could not be made: {type(error).__name__}: {error}")
        return [Part(anchor, title, pieces.paragraph(why, "soft"), about=about)]


def _folder(benchmark: str) -> Path:
    """Return the folder of a benchmark's code."""
    module = sys.modules[registry.load(benchmark).__module__]
    return Path(str(module.__file__)).parent


def _notes(home: Home) -> Iterator[Part]:
    made = pieces.paragraph(text) if (text := notes(home)) else Markup()
    if drifted := queries.rows(home, queries.DRIFT):
        columns = ("model", "benchmark", "sign", "earlier", "later", "n", "changed")
        made += pieces.paragraph("Under these names the model seems to have changed while it was asked:")
        made += pieces.table(columns, drifted, "Signs of drift")
    if made:
        yield Part("notes", "What to know", made)
