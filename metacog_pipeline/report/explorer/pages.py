"""The explorer as files beside the report: it opens from disk, without a server, up to `MOST_ANSWERS` answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

from markupsafe import Markup

from metacog_pipeline.files import write_text
from metacog_pipeline.report import pieces
from metacog_pipeline.report.explorer import data
from metacog_pipeline.report.explorer.data import Benchmark

FOLDER, PAGE, SCRIPT = "explore", "index.html", "explorer.js"
MOST_ANSWERS = (
    100_000  # about 400 MB of files; beyond it `metacog explore` makes them when they are asked for
)
_AT_ONCE = 25  # slices a query fetches: fewer queries for some hundred items, and never all texts in memory


def write_explorer(home: Path, report: Path, name: str) -> Sequence[Benchmark]:
    """Write the explorer below ``report`` and return what it shows; nothing where there is too much or nothing.

    Files of an older explorer are removed.
    """
    folder = report / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    found = data.contents(home)
    if not found or data.n_answers(home) > MOST_ANSWERS:
        return ()
    for number, benchmark in enumerate(found):
        write_text(folder / f"questions-{number}.js", data.questions(home, number, benchmark))
        for place in range(len(benchmark.conditions)):
            write_text(folder / f"grid-{number}-{place}.js", data.grid(home, number, place, benchmark))
        slices = range(-(-benchmark.n_items // data.ITEMS_A_SLICE))
        for first in range(0, len(slices), _AT_ONCE):
            wanted = slices[first : first + _AT_ONCE]
            for slice_, made in zip(wanted, data.slices(home, number, benchmark, wanted), strict=True):
                write_text(folder / f"items-{number}-{slice_}.js", made)
    write_text(folder / SCRIPT, script())
    write_text(folder / PAGE, page(name, found, back="../index.html"))
    return found


def leads(found: Sequence[Benchmark]) -> pieces.Lead | None:
    """Return where the numbers of a row lead, relative to the report: to the answers of the model, or to all items.

    A row names its model, benchmark and condition. One of printed values leads nowhere; one that names no model of the
    explorer leads to the items of its benchmark where its table is ``ours``.
    """
    models = {each.name: frozenset(each.models) for each in found}

    def lead(row: Mapping[str, object]) -> str | None:
        benchmark, model = str(row.get("benchmark")), row.get("model")
        names = ("benchmark", "model", "condition") if model in models.get(benchmark, ()) else ("benchmark",)
        if row.get("source") == "published" or benchmark not in models or not (row.get("ours") or names[1:]):
            return None
        asked = {name: row[name] for name in names if row.get(name)}
        return f"{row.get('up', '')}{FOLDER}/{PAGE}#{urlencode(asked)}"

    return lead if found else None


def page(name: str, found: Sequence[Benchmark], back: str | None = None) -> str:
    """Return the page; ``back`` is the address of the report, where there is one."""
    listed = [
        {"name": each.name, "conditions": each.conditions, "models": each.models, "items": each.n_items}
        for each in found
    ]
    said = json.dumps({"benchmarks": listed, "slice": data.ITEMS_A_SLICE}).replace("<", "\\u003c")
    return pieces.page("explorer.html.jinja", name=name, back=back, contents=Markup(said), script=SCRIPT)


def script() -> str:
    """Return the script of the page."""
    return pieces.script(SCRIPT)
