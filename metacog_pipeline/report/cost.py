"""What was paid, and what a point of each headline cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metacog_pipeline.leaderboard.output import Stacked
from metacog_pipeline.leaderboard.read import Rows, read_table
from metacog_pipeline.report.figures import Point
from metacog_pipeline.report.html import Part, figure, folded, paragraph, table
from metacog_pipeline.report.more_figures import plane

_WORLDS = {"measured": "Models", "simulated": "Simulated observers"}
#: Benchmark → its headline, what one of it is called here, and how many of these a headline of 1 has.
_UNITS = {
    "metamedqa": ("MetaMedQA accuracy", "point", 100),
    "signaldetection": ("M-ratio", "0.1 of M-ratio", 10),
    "medley": ("MEDLEY MMS", "point", 100),
    "metacogbench": ("MetaCog overall", "point", 100),
    "selfknowledge": ("d′type2", "0.1 of d′", 10),
}
_SAID = (
    "Dollars for every answer of a model, whatever its condition and run, superseded ones too: all was paid for. Below: "
    "per point (of 100) of accuracy, MMS and overall score, per 0.1 of M-ratio and d′; none where the headline is not "
    "above 0. A cheap point is no good point: read it beside the headline."
)
_VALUES = """
    select profile.source, cost.model, cost.benchmark, cost.cost_usd, cost.unpriced, cost.answers,
        cost.input_tokens, cost.output_tokens, profile.metamedqa, profile.signaldetection, profile.medley,
        profile.metacogbench, profile.selfknowledge
    from cost
    inner join profile using (model)
    order by profile.source, cost.model, cost.benchmark
"""
_HEADLINES = ("metamedqa", "signaldetection", "medley", "metacogbench", "selfknowledge")


def parts(home: Path) -> Iterator[Part]:
    """Yield the part of the page about cost; nothing before the first answer."""
    found = [_named(row) for row in read_table(home, _VALUES).rows]
    made = "".join(_world(found, world) for world in _WORLDS)
    if made:
        yield Part("cost", "What did it cost?", paragraph(_SAID, "soft") + made + _others(home))


def per_unit(dollars: float, headline: float | None, units: int) -> float | None:
    """Return dollars per unit of a headline that has ``units`` of them at 1; None where it is not above 0."""
    return dollars / (units * headline) if headline is not None and headline > 0 else None


def _named(row: tuple[object, ...]) -> dict[str, object]:
    columns = ("source", "model", "benchmark", "dollars", "unpriced", "answers", "read", "written")
    return dict(zip((*columns, *_HEADLINES), row, strict=True))


def _world(found: list[dict[str, object]], world: str) -> str:
    own = [row for row in found if row["source"] == world and row["benchmark"] in _UNITS]
    asked = [name for name in _UNITS if any(row["benchmark"] == name for row in own)]
    if not asked:
        return ""
    models = dict.fromkeys(str(row["model"]) for row in own)
    cells = {(str(row["model"]), str(row["benchmark"])): _cell(row) for row in own}
    columns = ("model", *(_UNITS[name][0] for name in asked))
    body = tuple((model, *(cells.get((model, name)) for name in asked)) for model in models)
    tokens = Rows(
        ("model", "benchmark", "answers", "tokens read", "tokens written", "without a price"),
        tuple(
            tuple(row[name] for name in ("model", "benchmark", "answers", "read", "written", "unpriced"))
            for row in own
        ),
    )
    title = _WORLDS[world]
    return (
        table(Rows(columns, body), f"{title}: dollars, and dollars for each point")
        + _figures(own, asked, title)
        + folded(f"{title}: answers and tokens", table(tokens, f"{title}: answers and tokens"))
    )


def _cell(row: dict[str, object]) -> object:
    _, unit, units = _UNITS[str(row["benchmark"])]
    dollars, headline = row["dollars"], row[str(row["benchmark"])]
    if not isinstance(dollars, float):
        return None
    each = per_unit(dollars, headline if isinstance(headline, float) else None, units)
    below = f"no cost for each {unit}" if each is None else f"{money(each)} per {unit}"
    missing = f"; {row['unpriced']} calls without a price" if row["unpriced"] else ""
    return Stacked(f"{money(dollars)}\n{below}{missing}")


def money(dollars: float) -> str:
    """Return dollars with cents, and with two figures where they are fewer than ten cents."""
    if dollars == 0 or dollars >= 0.1:
        return f"${dollars:.2f}"
    return f"${dollars:.2g}" if dollars >= 1e-4 else "< $0.0001"


def _figures(own: list[dict[str, object]], asked: list[str], title: str) -> str:
    """Return headline against dollars, where anything was paid."""
    made = []
    for name in asked:
        points = [
            (str(row["model"]), title.lower(), Point(dollars), Point(headline))
            for row in own
            if row["benchmark"] == name
            and isinstance(dollars := row["dollars"], float)
            and isinstance(headline := row[name], float)
        ]
        if any(point[2].value > 0 for point in points):
            drawn = plane(points, x="dollars", y=_UNITS[name][0], axes_at_zero=False)
            made.append(
                figure(drawn, f"{title}: {_UNITS[name][0]} against dollars. Up and to the left is better.")
            )
    return f'<div class="figures">{"".join(made)}</div>' if made else ""


def _others(home: Path) -> str:
    """Return what was paid besides: to judges and for building questions, and to models no longer listed."""
    found = read_table(
        home,
        "select benchmark, sum(cost_usd), sum(answers)::bigint from cost "
        "where not listed or benchmark not in (select benchmark from int_benchmarks) group by benchmark order by all",
    ).rows
    body = tuple((row[0], row[2], money(row[1]) if isinstance(row[1], float) else None) for row in found)
    if not body:
        return ""
    return folded(
        "Paid besides: judges, building questions, models no longer listed",
        table(Rows(("for", "answers", "paid"), body), "Paid besides"),
    )
