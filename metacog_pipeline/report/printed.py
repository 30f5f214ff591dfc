"""Published beside measured, and how many of the printed numbers hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from markupsafe import Markup

from metacog_pipeline.report import queries
from metacog_pipeline.report.figures import MOST_ROWS, Point, ladder
from metacog_pipeline.report.pieces import Part, ends, figure, folded, joined, number, shown, table

_STEPS = {"measured": "measured here", "published": "as printed"}
_AGREES = ("holds", "holds if cut off", "follows", "reproduced")
_DIFFERS = ("does not hold", "differs")
_NOT_BESIDE = (
    "Published numbers stand beside those of a study that asks real models the published questions. This one does not, so "
    "they stand in the parts of each benchmark only."
)


def parts(home: Path) -> Iterator[Part]:
    """Yield what is published beside what was measured, and the audit of all printed numbers."""
    if asked := queries.asked(home):
        yield Part("beside", "Published beside measured", joined(_beside(home), _NOT_BESIDE))
        yield Part("audit", "Do the printed numbers hold?", _audit(home, asked))


def _beside(home: Path) -> Iterator[Markup]:
    for (benchmark, condition, measure), group in groupby(
        queries.rows(home, queries.BESIDE), key=lambda row: row[:3]
    ):
        own = [row[3:] for row in group]
        if {source for source, *_ in own} != set(_STEPS):
            continue
        drawn = [
            (model, {_STEPS[source]: Point(value, number(low), number(high))})
            for source, model, value, low, high in own
        ]
        title = f"{benchmark}, {condition}: {str(measure).replace('_', ' ')}"
        rest = f" The best {MOST_ROWS} only." if len(own) > MOST_ROWS else ""
        yield figure(
            ladder(drawn, steps=list(_STEPS.values()), x=title),
            f"{title}, with 95 % intervals where there are any.{rest}",
        )
        body = [(model, source, shown(value), ends(low, high)) for source, model, value, low, high in own]
        yield folded(f"{title}, all", table(("model", "source", "value", "95 % interval"), body, title))


def _audit(home: Path, benchmarks: list[str]) -> Markup:
    body = []
    for name in benchmarks:
        told = Counter(
            verdict for (verdict,) in queries.rows(home, f"select verdict from published_checks_{name}")
        )
        agree, differ = (sum(told[verdict] for verdict in which) for which in (_AGREES, _DIFFERS))
        other = ", ".join(
            f"{count} {verdict}"
            for verdict, count in sorted(told.items())
            if verdict not in _AGREES + _DIFFERS
        )
        body.append((name, told.total(), agree, differ, other, queries.about(name).paper))
    columns = ("benchmark", "checked", "hold", "do not", "besides", "printed in")
    return table(
        columns,
        body,
        "Every printed number that can be computed again; what does not hold is listed with each benchmark",
    )
