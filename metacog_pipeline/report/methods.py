"""``methods.html``: what every measure of the report means, its formula, its source."""

from __future__ import annotations

import re
from pathlib import Path

from metacog_pipeline.files import write_text
from metacog_pipeline.report.html import words
from metacog_pipeline.report.style import STYLE

PAGE = "methods.html"
_TEXT = Path(__file__).parent / "static" / PAGE
_SECTION = re.compile(r'<section id="([a-z0-9-]+)"><h2>(.*?)</h2>')
_STYLE = """
.formula { background: var(--band); padding: .5rem .75rem; border-left: 3px solid var(--line); max-width: 46rem;
  font-family: ui-serif, Georgia, serif; font-size: 1.05rem; overflow-x: auto; }
dt { font-weight: 600; margin-top: .75rem; } dd { margin: 0 0 0 1rem; max-width: 46rem; }
main li { max-width: 46rem; overflow-wrap: anywhere; } sub, sup { line-height: 0; }
"""


def write_methods(report: Path, name: str) -> str:
    """Write the page below ``report`` and return its address relative to it; ``name`` is the study's."""
    text = _TEXT.read_text("utf-8")
    anchors = "".join(f'<li><a href="#{anchor}">{title}</a></li>' for anchor, title in _SECTION.findall(text))
    write_text(
        report / PAGE,
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{words(name)}: methods</title>\n<style>{STYLE}{_STYLE}</style></head>\n"
        f'<body><header><p><a href="index.html">report</a></p><h1>Methods</h1>'
        '<p class="soft">What the measures on the boards are, how they are computed here, and where they come from.</p>'
        f'<nav aria-label="Parts"><ul>{anchors}</ul></nav></header>\n<main>\n{text}</main></body></html>\n',
    )
    return PAGE
