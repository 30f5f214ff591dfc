"""Every figure as a file of its own, for papers and slides; the caption in the page links to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from metacog_pipeline.files import write_text
from metacog_pipeline.report.pieces import Part

FOLDER = "figures"
#: Colours of text and axes, and of what is behind them: outside the page no other page's colours can be taken.
INK, PAPER = "#1b1f24", "#ffffff"
_FIGURE = re.compile(r"<figure>(<svg.*?</svg>)\s*<figcaption>(.*?)</figcaption></figure>", re.DOTALL)
_TAKEN = re.compile(r'((?:fill|stroke|color)(?:: *|="))currentColor')
_BOX = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')


def with_files(parts: Sequence[Part], report: Path) -> Iterator[Part]:
    """Write each figure of ``parts`` as ``<report>/figures/<part>-<n>.svg`` and yield the parts with links to them.

    Figures of an older report are removed.
    """
    folder = report / FOLDER
    kept = set()
    for part in parts:
        pieces, end = [], 0
        for place, found in enumerate(_FIGURE.finditer(part.body), start=1):
            path = folder / f"{part.anchor}-{place}.svg"
            write_text(path, standalone(found[1]))
            kept.add(path)
            link = f'<a href="{FOLDER}/{path.name}" aria-label="this figure as an SVG file">SVG</a>'
            caption = f"<figcaption>{found[2]} {link}</figcaption>"
            pieces += [part.body[end : found.start()], f"<figure>{found[1]}{caption}</figure>"]
            end = found.end()
        yield replace(part, body=Markup("".join([*pieces, part.body[end:]])))
    for old in set(folder.glob("*.svg")) - kept:
        old.unlink()


def standalone(svg: str) -> str:
    """Return a figure of the page as a file: with a size, a ground and its own ink."""
    opening, _, rest = svg.partition(">")
    ground = f'<rect width="100%" height="100%" fill="{PAPER}"/>'
    if box := _BOX.search(opening):
        opening += f' width="{box[1]}pt" height="{box[2]}pt"'
    drawn = _TAKEN.sub(rf"\g<1>{INK}", rest)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{opening}>{ground}{drawn}\n'
