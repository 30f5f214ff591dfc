"""Any two models of the study against each other: the tests there are between them, chosen on the page.

The tests of a pair lie in a file of the first of its models in the order of the list, `pairs-<n>.js`, so that a study of
many models opens as fast as one of two. Nothing is computed here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from metacog_pipeline import registry
from metacog_pipeline.files import write_text
from metacog_pipeline.report import pieces, queries
from metacog_pipeline.report.explorer import pages as explorer
from metacog_pipeline.report.pieces import Part

FOLDER = "compare"
#: Values of a row as the script reads them; keep in step with static/report.js.
COLUMNS = (
    *("benchmark", "family", "measure", "better", "under", "primary"),
    *("value", "low", "high", "p", "n", "verdict", "status", "note", "items"),
)
# Tests that hold neither a model nor a pair of conditions: a and b are the models.
_TESTS = """
    select a, b, benchmark, family, coalesce(measures.label, measure), measures.higher_is_better,
        concat_ws(', ', dataset, task, condition, scoring), "primary", value, low, high, coalesce(p_adjusted, p), n,
        verdict, case when status = 'ok' then null else status end, note, condition
    from comparisons left join measures using (benchmark, measure)
    where comparisons.model is null and source <> 'published'
        and a in (select model from models) and b in (select model from models)
    order by benchmark, not "primary", comparisons.measure, family, 7
"""
_ABOUT = (
    "Differences on the items both models answered, from the tests of the study: nothing is computed anew for this table. "
    "A benchmark's primary test answers its question; all others show how far the answer depends on the way of testing. "
    "p is corrected over the family of the test."
)


def parts(home: Path, report: Path, explored: frozenset[str] = frozenset()) -> Iterator[Part]:
    """Write the files of all pairs below ``report`` and yield the part that shows two models.

    Tests lead to the items on which models disagree, where there are models ``explored``. Nothing is yielded, and files of
    an older report are removed, where no two models were tested.
    """
    folder = report / FOLDER
    models = [model for _, model in queries.models(home)]
    place = {model: number for number, model in enumerate(models)}
    by_first: dict[int, list[list[Any]]] = {}
    for a, b, *values in queries.rows(home, _TESTS):
        shown: list[Any] = [
            None if isinstance(value, float) and not math.isfinite(value) else value for value in values
        ]
        shown[-1] = _items(shown[0], shown[-1]) if explored else None
        by_first.setdefault(min(place[a], place[b]), []).append([place[a], place[b], *shown])
    kept = {_file(folder, first, rows) for first, rows in by_first.items()}
    for old in set(folder.glob("pairs-*.js")) - kept:
        old.unlink()
    if by_first:
        pairs = [(row[0], row[1]) for rows in by_first.values() for row in rows]
        chosen = _first_pair(home, place, pairs)
        yield Part("compare", "Compare two models", _chooser(models, pairs, chosen))


def _items(benchmark: str, condition: str | None) -> str:
    """Return where the explorer shows the items of a test on which models disagree."""
    asked = {"benchmark": benchmark, "which": "disagree"} | ({"condition": condition} if condition else {})
    return f"{explorer.FOLDER}/{explorer.PAGE}#{urlencode(asked)}"


def _file(folder: Path, first: int, rows: Sequence[Sequence[Any]]) -> Path:
    """Write the tests of one model against all that follow it; the file cannot end a script or hold markup."""
    text = json.dumps([first, rows], allow_nan=False)[1:-1].replace("<", "\\u003c")
    path = folder / f"pairs-{first}.js"
    write_text(path, f"pairs({text});\n")
    return path


def _first_pair(home: Path, place: Mapping[str, int], pairs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the pair shown first: the two that stand highest on the first headline, where they were tested."""
    tested = {frozenset(pair) for pair in pairs}
    ranked = queries.rows(
        home,
        "select benchmark, source, model from leaderboard where headline and source <> 'published' and rank is not null "
        "order by benchmark, source, rank, model",
    )
    for (benchmark, source, one), (*where, other) in pairwise(ranked):
        both = (place.get(one, -1), place.get(other, -1))
        if where == [benchmark, source] and frozenset(both) in tested:
            return both
    return pairs[0]


def _chooser(models: Sequence[str], pairs: Sequence[tuple[int, int]], chosen: tuple[int, int]) -> Markup:
    asks = {
        name: {question.primary[0]: question.asks for question in registry.load(name).questions}
        for name in registry.names()
    }
    given = {
        "models": [str(pieces.words(model)) for model in models],
        "asks": asks,
        "columns": COLUMNS,
        "chosen": chosen,
        "folder": FOLDER,
    }
    contents = Markup(json.dumps(given).replace("<", "\\u003c"))
    tested = sorted({number for pair in pairs for number in pair})
    listed = [(number, models[number]) for number in tested]
    return pieces.paragraph(_ABOUT, "soft") + pieces.chooser(listed, chosen, contents)
