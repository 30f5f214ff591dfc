"""A page for each paper the study's benchmarks come from: its tables and figures drawn again, and its claims checked.

Which exhibits there are is declared by each benchmark (`Exhibit`); `listing` tells them all, for docs/papers.md.
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
            parts = list(_parts(home, exhibits))
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
        shutil.rmtree(folder / "figures", ignore_errors=True)  # of an earlier version
        write_changed(folder / "index.html", page)
        made[benchmark] = queries.paper_address(benchmark)
    for old in (report / FOLDER).glob("*"):
        if old.is_dir() and old.name not in made:
            shutil.rmtree(old)
    return made


def anchor(exhibit: Exhibit) -> str:
    """Return the name of an exhibit's section on its page."""
    return re.sub(r"[^a-z0-9]+", "-", exhibit.label.lower()).strip("-")


def _parts(home: Home, exhibits: Iterable[Exhibit]) -> Iterator[Part]:
    for exhibit in exhibits:
        yield Part(anchor(exhibit), exhibit.title, _body(home, exhibit), about=exhibit.label)


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
    missing = pieces.paragraph(f"Missing: {exhibit.missing}", "soft") if exhibit.missing else Markup()
    return made + missing


def listing() -> str:
    """Return every exhibit of every paper as Markdown: what is drawn again, and what is missing."""
    lines = [
        "# As in the papers",
        "",
        "A report has one page per paper (`report/papers/BENCHMARK/index.html`): every table and figure below that rests",
        "on numbers is drawn again from the published values, with the study's own models and observers in tables and",
        "figures of their own beside them, and every printed number computed again below. What cannot be drawn again says",
        "what is missing. Printed values come from `data/published`; a figure's number is given where the sources of this",
        "project have it.",
        "",
        "Below them stands the ledger of what the paper leads with: the claim, its data, what follows with its interval,",
        "what would be seen without it, and a verdict. One query prints the ledgers of all five papers:",
        "",
        "```",
        "metacog sql --study STUDY \"from published_claims where place = 'headline'\"",
        "```",
    ]
    for benchmark in registry.names():
        found = registry.load(benchmark)
        if (paper := getattr(found, "paper", None)) is None or not found.exhibits():
            continue
        lines += ["", f"## {benchmark}", "", f"{paper.title} ({paper.where}).", ""]
        lines += ["| exhibit | shows | drawn again | missing |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {each.label} | {each.title} | {'no' if each.render is None else 'yes'} | {each.missing or 'nothing'} |"
            for each in found.exhibits()
        ]
    return "\n".join([*lines, ""])
