"""Which condition of a benchmark has the confidence that knows best: each beside the others, tested in pairs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from markupsafe import Markup

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.output import fixed
from metacog_pipeline.report import figures, pieces
from metacog_pipeline.report.queries import rows

_SAYS = (
    "AUROC2 is the chance that a right answer has more confidence than a wrong one; above one half confidence knows "
    "something. An elicitation knows better than another where the difference on the questions answered under both is "
    "significant after Holm's correction over the pairs of the model. What no other is better than may be the best."
)
_MEASURED = """
    select coalesce(task, dataset), source, model, replace(condition, coalesce(task || ' ', ''), ''), measure, estimate,
        low, high, n, method
    from estimates where benchmark = '{0}' and measure in ('auroc2', 'accuracy', 'ece') order by all
"""
_TESTED = """
    select coalesce(task, dataset), source, model, a, b, value from comparisons
    where benchmark = '{0}' and family = '{1}' and measure = 'auroc2' and verdict = 'significant'
"""
_COLUMNS = (
    *("elicitation", "AUROC2", "95 % interval", "accuracy", "ECE"),
    *("knows better than", "knows worse than"),
)


def knowing_best(benchmark: str, family: str) -> Callable[[Home], Markup]:
    """Return what renders the section: a figure and a table for every data set and model with several conditions.

    ``family`` is that of the paired tests between conditions of a model.
    """

    def render(home: Home) -> Markup:
        better: dict[tuple[str, ...], list[str]] = {}
        for dataset, source, model, a, b, value in rows(home, _TESTED.format(benchmark, family)):
            won, lost = (a, b) if value > 0 else (b, a)
            better.setdefault((dataset, source, model, won, "better"), []).append(lost)
            better.setdefault((dataset, source, model, lost, "worse"), []).append(won)
        made = []
        found = rows(home, _MEASURED.format(benchmark))
        for place, group in groupby(found, key=lambda row: row[:3]):
            own: dict[str, dict[str, Any]] = {}
            for row in group:
                own.setdefault(row[3], {})[row[4]] = row[5:]
            if len([each for each in own.values() if "auroc2" in each]) > 1:
                made.append(_of_model(place, own, better))
        return pieces.paragraph(_SAYS, "soft") + pieces.joined(
            made, "No model was asked in several ways yet."
        )

    return render


def _of_model(
    place: tuple[str, ...], own: dict[str, dict[str, Any]], better: dict[tuple[str, ...], list[str]]
) -> Markup:
    dataset, source, model = place
    none = (None,) * 5
    best = {name: each.get("auroc2", none)[0] for name, each in own.items()}
    order = sorted(own, key=lambda name: -1.0 if (value := best[name]) is None else value, reverse=True)
    points, cells, numbers, how = [], [], [], []
    for name in order:
        value, low, high, n, method = own[name].get("auroc2", none)
        if (point := pieces.point(value, low, high)) is not None:
            points.append((name, point))
            numbers.append(n)
            how.append(method)
        ends = None if low is None else f"{_shown(low)} to {_shown(high)}"
        others = (own[name].get(measure, none)[0] for measure in ("accuracy", "ece"))
        said = (
            ", ".join(sorted(better.get((*place, name, which), []))) or "-" for which in ("better", "worse")
        )
        cells.append((name, _shown(value), ends, *map(_shown, others), *said))
    title = f"{pieces.WORLDS[source]}: {model}, {dataset}"
    drawn = pieces.figure(
        figures.intervals(points, x="AUROC2", label=title), f"{title}: how well confidence tells right from wrong.",
        n=pieces.counted(numbers), method=pieces.methods(how),
    )  # fmt: skip
    return drawn + pieces.table(
        _COLUMNS, cells, f"{title}: ways to elicit confidence, the one that knows best first"
    )


def _shown(value: float | None) -> str | None:
    return None if value is None else fixed(value, 3)
