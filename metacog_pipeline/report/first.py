"""The first screen: per benchmark its headline, ranked; the ranks that survive uncertainty; one reliability figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from markupsafe import Markup

from metacog_pipeline.home import Home
from metacog_pipeline.report import figures, queries
from metacog_pipeline.report.confidence import BINS, reliability_line
from metacog_pipeline.report.figures import MOST_LINES, MOST_ROWS, Point
from metacog_pipeline.report.pieces import WORLDS, counted, figure, grid, methods, paragraph

_RANKED = """
    select source, benchmark, condition, coalesce(measures.label, measure) as label, model, estimate, low, high, n,
        leaderboard.higher_is_better as upwards,
        method
    from leaderboard left join measures using (benchmark, measure)
    where leaderboard.headline and source <> 'published' and estimate is not null and rank is not null
    order by source, benchmark, condition, rank, model
"""
_ASKED = "select distinct source, benchmark, model from progress where role = 'respondent' order by all"
_NAMED = 12  # models in a sentence
_RULE = (
    "One model stands above another where their 95 % intervals do not overlap; ranks 2 to 4 mean that one stands above "
    "it, and that it may be as low as the fourth."
)


@dataclass(frozen=True, slots=True)
class Ranked:
    """One model's headline on one benchmark."""

    source: str
    benchmark: str
    condition: str
    label: str
    model: str
    estimate: float
    low: float | None
    high: float | None
    n: int | None
    upwards: bool
    method: str | None = None


def first_screen(home: Home) -> Iterator[Markup]:
    """Yield the figures of each world of respondents, and below them the rule of the ranks."""
    found = [Ranked(*row) for row in queries.rows(home, _RANKED)]
    stated, asked = queries.rows(home, queries.STATED), queries.rows(home, _ASKED)
    for world, title in WORLDS.items():
        own = [each for each in found if each.source == world]
        models = {
            benchmark: [model for *_, model in rows]
            for benchmark, rows in groupby((row for row in asked if row[0] == world), key=lambda row: row[1])
        }
        made = [
            _ladder(list(rows), models.get(place[0], ()))
            for place, rows in groupby(own, key=attrgetter("benchmark", "condition", "label"))
        ]
        made += _reliability(world, own, [row for row in stated if row[0] == world])
        if made:
            yield paragraph(f"{title}, best first. {_RULE}", "soft") + grid(made)
            for benchmark in models.keys() - {each.benchmark for each in own}:
                yield paragraph(f"{benchmark}: {_unranked(models[benchmark])}", "soft")


def rank_intervals(rows: Sequence[Ranked]) -> list[tuple[int, int]]:
    """Return for each row the best and the worst rank that its interval leaves it, 1 the best.

    A rank is lost to whoever's interval lies wholly on the better side, and gained over whoever's lies wholly on the worse
    side. A row without an interval is told from nobody.

    >>> row = ("measured", "b", "c", "accuracy")
    >>> rows = [Ranked(*row, "a", 0.9, 0.8, 1.0, 9, True), Ranked(*row, "b", 0.6, 0.5, 0.7, 9, True)]
    >>> rank_intervals(rows), rank_intervals([rows[0], Ranked(*row, "c", 0.7, 0.6, 0.85, 9, True)])
    ([(1, 1), (2, 2)], [(1, 2), (1, 2)])
    """
    return [
        (
            1 + sum(_above(other, each) for other in rows),
            len(rows) - sum(_above(each, other) for other in rows),
        )
        for each in rows
    ]


def _above(one: Ranked, other: Ranked) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low > other.high if one.upwards else one.high < other.low


def _unranked(models: Sequence[str]) -> str:
    """Return the sentence that names models without a headline."""
    more = f"; {len(models) - _NAMED} more" if len(models) > _NAMED else ""
    return f"Without a headline: {', '.join(models[:_NAMED])}{more}; the board says why."


def _ladder(rows: Sequence[Ranked], asked: Sequence[str]) -> Markup:
    """One row per model from best to worst, and sentences that name the ranks and who of those ``asked`` has none."""
    first, shown = rows[0], rows[:MOST_ROWS]
    ranks = rank_intervals(rows)
    said = "; ".join(
        f"{each.model} {low if low == high else f'{low} to {high}'}"
        for each, (low, high) in zip(rows[:_NAMED], ranks[:_NAMED], strict=True)
    )
    more = f"; {len(rows) - _NAMED} more in the board" if len(rows) > _NAMED else ""
    name = f"{first.benchmark}, {first.condition}: {first.label}"
    points = [(each.model, Point(each.estimate, each.low, each.high)) for each in shown]
    drawn = figures.intervals(points, x=first.label, label=f"{WORLDS[first.source]}: {name}")
    n, method = (
        counted(each.n for each in shown),
        methods(each.method for each in shown if each.low is not None),
    )
    rest = f" The {len(shown)} best of {len(rows)} models are drawn." if len(rows) > len(shown) else ""
    if without := [model for model in asked if model not in {each.model for each in rows}]:
        rest += f" {_unranked(without)}"
    return figure(drawn, f"{name}. Ranks: {said}{more}.{rest}", n=n, method=method)


def _reliability(world: str, own: Sequence[Ranked], stated: Sequence[tuple[Any, ...]]) -> list[Markup]:
    """One figure: of the condition of a headline in which most models stated a confidence, the best ranked of them."""
    headlines = {(each.benchmark, each.condition) for each in own}
    by_place = {place: list(rows) for place, rows in groupby(stated, key=lambda row: (row[1], row[2]))}
    if not by_place:
        return []
    place = max(by_place, key=lambda at: (at in headlines, len({row[3] for row in by_place[at]})))
    ranked = sorted(
        (each for each in own if each.benchmark == place[0]), key=lambda each: each.condition != place[1]
    )
    order = {model: at for at, model in enumerate(dict.fromkeys(each.model for each in ranked))}
    use = {model: list(rows) for model, rows in groupby(by_place[place], key=lambda row: row[3])}
    shown = sorted(use, key=lambda model: (order.get(model, len(order)), model))[:MOST_LINES]
    lines = {model: reliability_line([tuple(row[4:]) for row in use[model]]) for model in shown}
    drawn = figures.lines(
        lines, x="mean confidence", y="share correct", diagonal="as often right as stated",
        label=f"{WORLDS[world]}: reliability under {place[0]}, {place[1]}",
    )  # fmt: skip
    rest = f" The {MOST_LINES} best ranked of {len(use)} models." if len(use) > MOST_LINES else ""
    n = counted([sum(row[5] for model in shown for row in use[model])], "answers in all of the models drawn")
    return [figure(drawn, f"{place[0]}, {place[1]}: reliability.{rest}", n=n, method=BINS)]
