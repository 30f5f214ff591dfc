"""``methods.html``: what every measure of the report means, its formula, its source."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from markupsafe import Markup

from metacog_pipeline.files import write_changed
from metacog_pipeline.report import pieces

PAGE = "methods.html"
_SECTION = re.compile(r'<section id="([a-z0-9-]+)"><h2>(.*?)</h2>')


def write_methods(report: Path, name: str, benchmarks: Iterable[Path]) -> str:
    """Write the page below ``report`` and return its address relative to it.

    ``name`` is the study's, ``benchmarks`` are folders whose ``methods.html`` is shown after what is shared.
    """
    files = [pieces.TEMPLATES / "methods_shared.html", *(folder / PAGE for folder in benchmarks)]
    texts = Markup("".join(file.read_text("utf-8") for file in files if file.exists()))
    anchors = [(anchor, Markup(title)) for anchor, title in _SECTION.findall(texts)]
    write_changed(report / PAGE, pieces.page("methods.html.jinja", name=name, texts=texts, anchors=anchors))
    return PAGE
