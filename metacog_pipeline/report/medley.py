"""MEDLEY-BENCH in the report: who follows what, tiers, how sure ranks are, strengths within a model, printed numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from metacog_pipeline.leaderboard.output import Stacked, fixed
from metacog_pipeline.leaderboard.read import Rows, read_table
from metacog_pipeline.report.cells import interval, number, shown
from metacog_pipeline.report.figures import Point
from metacog_pipeline.report.html import Part, figure, folded, paragraph, table
from metacog_pipeline.report.more_figures import heat_map, intervals, plane

_WORLDS = {
    "measured": "Models",
    "simulated": "Simulated observers",
    "published": "Published models, as printed",
}
_ABILITIES = ("monitoring", "control", "evaluation", "self_regulation")
_TIER_NAMES = {
    "t1": "T1, updating on reflection",
    "t2": "T2, robustness to others",
    "t3": "T3, saying why",
}
_POINTS = 100  # MMS and abilities are shown in points of 0 to 100
_MAP = (
    "Changes of MMS, in points, on the same instances: with an inverted consensus, arguments being the same, and with only "
    "the two weakest analysts. MMS is scored otherwise when the consensus is inverted: who changes nothing gains as well. "
    "What a respondent is moved by shows in what it rates otherwise (crowd pull: by the direction of the consensus alone)."
)
# The scores of the study beside the printed ones, each with its world.
_TIERS = """
    select source, variant, model, measure, estimate, low, high
    from medley_estimates
    where condition = 'normal' and measure in ('t1', 't2', 't3')
    union all
    select 'published', 'as printed', model, measure, value, null, null
    from published_medley
    where condition = 'normal' and measure in ('t1', 't2', 't3')
        and 'published' in (select dataset from int_medley_question_sets)
    order by source, variant, model, measure
"""


def parts(home: Path) -> Iterator[Part]:
    """Yield the parts of the page about MEDLEY-BENCH, from the leaderboard of ``home``."""
    yield Part("medley-map", "Who follows arguments, and who the crowd", _map(home))
    yield Part("medley-tiers", "Tiers", _tiers(home))
    yield Part("medley-ranks", "How sure the ranks are", _ranks(home))
    yield Part("medley-abilities", "Strengths within a model", _profiles(home))
    yield Part("medley-judges", "Agreement of judges", _judges(home))
    yield Part("medley-published", "Printed numbers against their own parts", _published(home))


def _grid(figures: Sequence[str]) -> str:
    return f'<div class="figures">{"".join(figures)}</div>' if figures else paragraph("No values yet.")


def _map(home: Path) -> str:
    found = read_table(
        home,
        "select source, variant, model, adversarial_delta, adversarial_low, adversarial_high, stripped_delta, "
        "stripped_low, stripped_high, crowd_pull, argument_pull, quadrant, profile, character "
        "from medley_cognitive_map order by source, variant, model",
    ).rows
    figures, tables = [], []
    for world, title in _WORLDS.items():
        own = [row for row in found if row[0] == world]
        points = [
            (str(row[2]), str(row[13] or row[12] or "not told"), across, up)
            for row in own
            if (across := _point(*row[3:6])) is not None and (up := _point(*row[6:9])) is not None
        ]
        if points:
            drawn = plane(
                points, x="change, inverted consensus", y="change, weak analysts", axes_at_zero=True
            )
            named = "label in the paper" if world == "published" else "what they behave like"
            figures.append(figure(drawn, f"{title}, by {named}. In points of MMS."))
        rows = [
            (
                row[2],
                row[1],
                _scaled(*row[3:6]),
                _scaled(*row[6:9]),
                shown(row[9]),
                shown(row[10]),
                *row[11:],
            )
            for row in own
            if world != "published"
        ]
        if rows:
            columns = ("model", "scored as", "inverted", "stripped", "crowd pull", "argument pull")
            whole = Rows((*columns, "quadrant", "profile", "behaves like"), tuple(rows))
            tables.append(table(whole, f"{title}: what others change"))
    return paragraph(_MAP, "soft") + _grid(figures) + "".join(tables)


def _tiers(home: Path) -> str:
    values: dict[tuple[str, str, str], dict[str, Point]] = {}
    for source, variant, model, measure, *ends in read_table(home, _TIERS).rows:
        if (point := _point(*ends)) is not None:
            values.setdefault((str(source), str(variant), str(model)), {})[str(measure)] = point
    figures = []
    for world, title in _WORLDS.items():
        for x, y in (("t2", "t1"), ("t2", "t3")):
            points = [
                (model, variant if world == "published" else f"scored as {variant}", found[x], found[y])
                for (source, variant, model), found in values.items()
                if source == world and {x, y} <= found.keys()
            ]
            if points:
                drawn = plane(points, x=_TIER_NAMES[x], y=_TIER_NAMES[y], axes_at_zero=False)
                figures.append(
                    figure(drawn, f"{title}: {_TIER_NAMES[y]} against {_TIER_NAMES[x]}, in points.")
                )
    return _grid(figures)


def _ranks(home: Path) -> str:
    found = read_table(
        home,
        "select source, variant, model, value, low, high from medley_comparisons where family = 'rank' "
        "order by source, variant, value, model",
    ).rows
    figures = []
    groups = dict.fromkeys((str(row[0]), str(row[1])) for row in found)
    for world, variant in groups:
        rows = [
            (str(row[2]), Point(float(row[3]), number(row[4]), number(row[5])))
            for row in found
            if (row[0], row[1]) == (world, variant) and isinstance(row[3], float)
        ]
        drawn = intervals(rows, x=f"rank by MMS, {_WORLDS[world].lower()}, {variant}")
        words = "with the central 95 % of its ranks when instances are drawn again"
        figures.append(figure(drawn, f"{_WORLDS[world]}, scored as {variant}: the rank of each, {words}."))
    return _grid(figures)


def _profiles(home: Path) -> str:
    found = read_table(
        home,
        f"select source, variant, model, {', '.join(_ABILITIES)} from medley_ipsative order by source, variant, model",
    ).rows
    figures = []
    for world, title in _WORLDS.items():
        rows = [
            (str(row[2]), [None if (v := number(cell)) is None else _POINTS * v for cell in row[3:]])
            for row in found
            if row[0] == world
        ]
        if rows:
            columns = [name.replace("_", "-") for name in _ABILITIES]
            drawn = heat_map(rows, columns=columns, name=f"Abilities within each of: {title.lower()}")
            words = "each ability minus the mean of the judged dimensions of the same model, in points"
            figures.append(figure(drawn, f"{title}: {words}."))
    if not figures:
        return paragraph("Abilities rest on judges alone; nothing has been judged yet.")
    return _grid(figures)


def _judges(home: Path) -> str:
    found = read_table(
        home,
        "select source, measure, coalesce(a || ' and ' || b, 'all'), estimate, low, high, n, status "
        "from medley_judge_agreement where dimension = 'all' order by source, measure desc, a, b",
    ).rows
    if not found:
        return paragraph(
            "Nothing has been judged yet: MMS rests on rules alone, and the board says what that leaves out."
        )
    rows = [
        (str(measure).replace("_", " "), who, interval(value, low, high), n, status)
        for _, measure, who, value, low, high, n, status in found
    ]
    columns = ("measure", "judges", "agreement", "answers", "status")
    return table(Rows(columns, tuple(rows)), "Mean over the ten dimensions; 0 as by chance, 1 full")


def _published(home: Path) -> str:
    found = read_table(
        home,
        "select place, subject, quantity, method, published, recomputed, difference, verdict, note "
        "from published_checks_medley order by place, quantity, method, subject",
    ).rows
    if not found:
        return paragraph("Not computed yet.", "soft")
    columns = ("subject", "place", "number", "from", "printed", "computed", "difference", "note")

    def rows(verdict: str) -> Rows:
        made = [
            (subject, place, str(quantity).replace("_", " "), method, shown(printed), shown(value), shown(gap),
             note or "")
            for place, subject, quantity, method, printed, value, gap, told, note in found
            if told == verdict
        ]  # fmt: skip
        return Rows(columns, tuple(made))

    agree = sum(row[7] == "follows" for row in found)
    return (
        paragraph(
            "Printed in MEDLEY-BENCH (arXiv:2604.16009), and computed again from the numbers printed beside them: "
            f"{agree} of {len(found)} follow. Results of single instances are not published, so MMS itself cannot be "
            "computed again; where a number has two rules (one of the paper, one of its package), both are tried."
        )
        + folded("What does not follow", table(rows("differs"), "What does not follow from its own parts"))
        + folded("What follows", table(rows("follows"), "What follows from its own parts"))
    )


def _point(value: object, low: object = None, high: object = None) -> Point | None:
    """Return a value of 0..1 with its ends, in points."""
    middle, first, last = number(value), number(low), number(high)
    if middle is None:
        return None
    if first is None or last is None:
        return Point(_POINTS * middle)
    return Point(_POINTS * middle, _POINTS * first, _POINTS * last)


def _scaled(value: object, low: object, high: object) -> object:
    point = _point(value, low, high)
    if point is None:
        return None
    if point.low is None or point.high is None:
        return Stacked(fixed(point.value, 1))
    return Stacked(f"{fixed(point.value, 1)}\n{fixed(point.low, 1)} to {fixed(point.high, 1)}")
