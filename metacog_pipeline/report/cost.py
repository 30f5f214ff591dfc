"""What was paid, and what a point of each headline cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.output import Stacked
from metacog_pipeline.report import pieces, queries
from metacog_pipeline.report.pieces import Part
from metacog_pipeline.report.queries import About

_SAID = (
    "Dollars for every answer of a model, of every condition and run, superseded ones too: all was paid for. Below: "
    "dollars per point of 100 of a share or score, per 0.1 of any other headline; none where the headline is not above 0. "
    "A cheap point may be a poor one: read it with the headline."
)
Headlines = dict[tuple[str, str], float]  # (model, benchmark) → estimate


def parts(home: Home) -> Iterator[Part]:
    """Yield the part of the page about cost; nothing before the first answer."""
    values = {(each.model, each.benchmark): each.estimate for each in queries.headlines(home)}
    asked, about = queries.asked(home), queries.about(home)
    found = [row for row in queries.rows(home, queries.COSTS) if row[2] in asked and row[2] in about]
    if made := Markup().join(_world(title, own, values, about) for title, own in pieces.by_world(found)):
        yield Part("cost", "What did it cost?", pieces.paragraph(_SAID, "soft") + made + others(home))


def per_unit(dollars: float, headline: float | None, units: int) -> float | None:
    """Return dollars per unit of a headline that has ``units`` of them at 1; None where it is not above 0."""
    return dollars / (units * headline) if headline is not None and headline > 0 else None


def money(dollars: float) -> str:
    """Return dollars with cents, and with two figures where they are fewer than ten cents."""
    if dollars == 0 or dollars >= 0.1:
        return f"${dollars:.2f}"
    return f"${dollars:.2g}" if dollars >= 1e-4 else "< $0.0001"


def _world(title: str, own: Sequence[Sequence[Any]], values: Headlines, about: Mapping[str, About]) -> Markup:
    asked = sorted({row[2] for row in own})
    cells = {
        (row[1], row[2]): pieces.leading(_cell(row, values, about), model=row[1], benchmark=row[2])
        for row in own
    }
    models = dict.fromkeys(row[1] for row in own)
    body = [(model, *(cells.get((model, name)) for name in asked)) for model in models]
    columns = ("model", *(about[name].headline for name in asked))
    return pieces.table(columns, body, f"{title}: dollars, and dollars for each point")


def _cell(row: Sequence[Any], values: Headlines, abouts: Mapping[str, About]) -> object:
    _, model, name, dollars, unpriced = row
    if not isinstance(dollars, float):
        return None
    about = abouts[name]
    each = per_unit(dollars, values.get((model, name)), about.units)
    below = f"no cost for each {about.unit}" if each is None else f"{money(each)} per {about.unit}"
    missing = f"; {unpriced} calls without a price" if unpriced else ""
    return Stacked(f"{money(dollars)}\n{below}{missing}")


def others(home: Home) -> Markup:
    """Return what was paid besides: to judges and for building questions, and to models no longer listed."""
    found = queries.rows(home, queries.OTHER_COSTS)
    body = [
        (name, n, Stacked(money(dollars)) if isinstance(dollars, float) else None)
        for name, n, dollars in found
    ]
    title = "Paid besides: judges, building questions, models no longer listed"
    return pieces.folded(title, pieces.table(("for", "answers", "paid"), body, title)) if body else Markup()
