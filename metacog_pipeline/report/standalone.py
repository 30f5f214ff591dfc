"""Every figure as files of its own, for papers and slides: SVG at the widths of a journal's columns, its numbers as CSV.

PNG is made of the figure by the page's script, at the same widths.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from metacog_pipeline.files import write_changed
from metacog_pipeline.report import pieces
from metacog_pipeline.report.escapes import escaped
from metacog_pipeline.report.pieces import Part

FOLDER = "figures"
#: One and two columns of a journal, in mm; static/report.js has the same.
WIDTHS_MM = (88, 180)
#: Colours of text and axes, and of what is behind them: outside the page no other page's colours can be taken.
INK, PAPER = "#1b1f24", "#ffffff"
_LETTERS, _LINE = 88, 10  # of a caption: letters of 8 points in a line, points between two lines
_FIGURE = re.compile(
    r'<figure>(<svg.*?</svg>)\s*<figcaption>(<span class="caption">(.*?)</span>)</figcaption>'
    r"<template>(.*?)</template></figure>",
    re.DOTALL,
)
_TAKEN = re.compile(r'((?:fill|stroke|color)(?:: *|="))currentColor')
_BOX = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')


def with_files(parts: Sequence[Part], folder: Path) -> Iterator[Part]:
    """Write each figure of ``parts``, as ``figures/<part>-<n>`` below the page's folder, and yield the parts with links.

    Figures of an older report are removed.
    """
    folder = folder / FOLDER
    kept = set()
    for part in parts:
        made, end = [], 0
        for place, found in enumerate(_FIGURE.finditer(part.body), start=1):
            drawn, caption, words, numbers = found.groups()
            name = f"{part.anchor}-{place}"
            svgs = {mm: f"{name}-{mm}mm.svg" for mm in WIDTHS_MM}
            files = {each: standalone(drawn, mm, words) for mm, each in svgs.items()}
            for each, text in {**files, f"{name}.csv": html.unescape(numbers)}.items():
                write_changed(folder / each, text)
                kept.add(folder / each)
            links = pieces.files(
                name, {mm: f"{FOLDER}/{each}" for mm, each in svgs.items()}, f"{FOLDER}/{name}.csv"
            )
            figure = f"<figure>{drawn}<figcaption>{caption} {links}</figcaption></figure>"
            made += [part.body[end : found.start()], figure]
            end = found.end()
        yield replace(part, body=Markup("".join([*made, part.body[end:]])))
    for old in set(folder.glob("*")) - kept:
        old.unlink()


def standalone(svg: str, mm: float, caption: str = "") -> str:
    """Return a figure of the page as a file ``mm`` wide: with a ground, its own ink, and its caption (escaped) below it."""
    opening, _, rest = svg.partition(">")
    lines = textwrap.wrap(html.unescape(caption), _LETTERS)
    written = ""
    if box := _BOX.search(opening):
        wide, high = float(box[1]), float(box[2])
        whole = high + (_LINE * len(lines) + 6 if lines else 0)
        opening = opening.replace(box[0], f'viewBox="0 0 {wide:g} {whole:g}"')
        opening += f' width="{mm}mm" height="{mm * whole / wide:.2f}mm"'
        written = "".join(
            f'<text x="4" y="{high + _LINE * place:g}" font-family="sans-serif" font-size="8" fill="{INK}">'
            f"{escaped(line)}</text>"
            for place, line in enumerate(lines, start=1)
        )
    said = f"<desc>{caption}</desc>" if caption else ""
    ground = f'{said}<rect width="100%" height="100%" fill="{PAPER}"/>'
    drawn = _TAKEN.sub(rf"\g<1>{INK}", rest).replace("</svg>", f"{written}</svg>")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{opening}>{ground}{drawn}\n'
