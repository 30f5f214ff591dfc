"""MEDLEY-BENCH in the report: who follows what, tiers, how sure ranks are, strengths within a model, printed numbers."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from markupsafe import Markup

from metacog_pipeline.benchmark.contract import Exhibit, Section
from metacog_pipeline.benchmarks.medley import exhibits
from metacog_pipeline.benchmarks.medley.profiles import LEAST_CASES
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.output import Stacked, fixed
from metacog_pipeline.report import maps, pieces, printed
from metacog_pipeline.report.figures import Point, intervals
from metacog_pipeline.report.pieces import WORLDS
from metacog_pipeline.report.queries import rows

ABILITIES = ("monitoring", "control", "evaluation", "self_regulation")
TIERS = {"t1": "T1, updating on reflection", "t2": "T2, robustness to others", "t3": "T3, saying why"}
POINTS = 100  # MMS, tiers and abilities are shown in points of 0 to 100
_MAP = (
    "Under an inverted statistic, whose arguments stay what they are: how far ratings move toward the statistic (crowd "
    "pull) and toward the arguments (argument pull), in units of the scale of 0 to 1, minus a placebo. What moves a "
    f"respondent is named by these two, from {LEAST_CASES} instances on. Printed models have changes of MMS instead, in "
    "points; MMS is scored by other rules there, so that they say nothing of behaviour."
)
_INTERVALS = "95 % intervals: bootstrap of instances"
_AGREED = "mean over the ten dimensions; 0 as by chance, 1 full"
_BIASED = "what a form of fixed answers that deserves no more adds to a grade of 0 to 1, with Student's t"
# The scores of the study beside the printed ones, each with its world.
_TIER_VALUES = """
    select source, scoring, model, measure, estimate, low, high, n
    from estimates
    where benchmark = 'medley' and condition = 'normal ' || scoring and measure in ('t1', 't2', 't3')
    union all
    select 'published', 'as printed', model, measure, value, null, null, n
    from published_values
    where benchmark = 'medley' and condition = 'normal' and measure in ('t1', 't2', 't3')
        and 'published' in (select dataset from items where benchmark = 'medley')
    order by source, scoring, model, measure
"""


# The place on the map: both pulls, of printed rows the changes of MMS in points.
_PLACES = ", ".join(
    f"if(source = 'published', {printed}, {own})"
    for printed, own in (
        (f"{POINTS} * adversarial_delta", "crowd_pull"), ("null", "crowd_pull_low"), ("null", "crowd_pull_high"),
        (f"{POINTS} * stripped_delta", "argument_pull"), ("null", "argument_pull_low"), ("null", "argument_pull_high"),
    )
)  # fmt: skip


def cognitive_map(home: Home) -> Markup:
    """Return what pulls each model under an inverted statistic, and printed changes of MMS."""
    found = rows(
        home,
        f"select source, scoring, model, {_PLACES}, quadrant, profile, character, "
        "adversarial_delta, adversarial_low, adversarial_high, stripped_delta, stripped_low, stripped_high "
        "from medley_profiles order by source, scoring, model",
    )
    columns = (
        "model",
        "scored as",
        "crowd pull",
        "argument pull",
        "quadrant",
        "moved by",
        "MMS, inverted",
        "MMS, stripped",
    )
    figures, tables = [], []
    for title, own in pieces.by_world(found):
        points = [
            (row[2], row[11] or row[10] or "not told", Point(*row[3:6]), Point(*row[6:9]))
            for row in own
            if row[3] is not None and row[6] is not None
        ]
        published = title == WORLDS["published"]
        if points:
            x, y = (
                ("change, inverted consensus", "change, weak analysts")
                if published
                else ("crowd pull", "argument pull")
            )
            drawn = maps.plane(points, x=x, y=y, axes_at_zero=True)
            named = (
                "label in the paper, in points of MMS"
                if published
                else "what moves them, in units of the scale"
            )
            caption = f"{title}, by {named}."
            n = "n = 30 and 50 instances" if published else pieces.counted(_changed(home), "instances")
            said = "no interval" if published else _INTERVALS
            figures.append(pieces.figure(drawn, caption, n=n, method=said))
        if not published:
            body = [
                (
                    *(row[2], row[1]),
                    _pull(*row[3:6]),
                    _pull(*row[6:9]),
                    *map(pieces.shown, (row[9], row[11])),
                    *(_scaled(*row[place : place + 3]) for place in (12, 15)),
                )
                for row in own
            ]
            tables.append(pieces.table(columns, body, f"{title}: what others change"))
    return pieces.paragraph(_MAP, "soft") + pieces.joined([pieces.grid(figures), *tables], "No values yet.")


def tiers(home: Home) -> Markup:
    """Return the tiers against each other."""
    values: dict[tuple[str, str, str], dict[str, Point]] = {}
    counts: dict[str, list[int]] = {}
    for source, scoring, model, measure, *ends, n in rows(home, _TIER_VALUES):
        if (point := _point(*ends)) is not None:
            counts.setdefault(source, []).append(n)
            values.setdefault((source, scoring, model), {})[measure] = point
    figures = []
    for world, title in WORLDS.items():
        for x, y in (("t2", "t1"), ("t2", "t3")):
            points = [
                (model, scoring if world == "published" else f"scored as {scoring}", found[x], found[y])
                for (source, scoring, model), found in values.items()
                if source == world and {x, y} <= found.keys()
            ]
            if points:
                drawn = maps.plane(points, x=TIERS[x], y=TIERS[y], axes_at_zero=False)
                n = pieces.counted(counts[world], "instances")
                said = "as printed, no interval" if world == "published" else _INTERVALS
                caption = f"{title}: {TIERS[y]} against {TIERS[x]}, in points."
                figures.append(pieces.figure(drawn, caption, n=n, method=said))
    return pieces.joined([pieces.grid(figures), *_t3_and_judges(home)], "No values yet.")


def _t3_and_judges(home: Home) -> list[Markup]:
    """Return T3 of every model with agreement and bias of the judges it rests on; nothing where nobody judged."""
    found: dict[tuple[str, str, str], dict[str, tuple[object, ...]]] = {}
    for source, condition, model, measure, *ends in rows(
        home,
        "select source, condition, model, measure, estimate, low, high from estimates where benchmark = 'medley' "
        "and measure in ('t3', 'judge_agreement', 'judge_bias') and estimate is not null order by source, condition, model",
    ):
        found.setdefault((source, condition, model), {})[measure] = tuple(ends)
    nothing = (None, None, None)
    body = [
        (
            *(WORLDS[source], model, condition),
            *(pieces.interval(*told.get(name, nothing)) for name in ("t3", "judge_agreement", "judge_bias")),
        )
        for (source, condition, model), told in found.items()
        if "judge_bias" in told or "judge_agreement" in told
    ]
    columns = ("world", "model", "condition", "T3", "judges agree (alpha)", "largest bias of a judge")
    return [pieces.table(columns, body, "T3 and the judges it rests on")] if body else []


def ranks(home: Home) -> Markup:
    """Return the rank of each with its interval."""
    found = rows(
        home,
        "select source, scoring, model, value, low, high, n from comparisons where benchmark = 'medley' "
        "and family = 'rank' and value is not null order by source, scoring, value, model",
    )
    figures = []
    for (world, scoring), group in groupby(found, key=lambda row: row[:2]):
        title, own = WORLDS[world], list(group)
        drawn = intervals(
            [(row[2], point) for row in own if (point := pieces.point(*row[3:6])) is not None],
            x=f"rank by MMS, {title.lower()}, {scoring}",
        )
        said = "central 95 % of the ranks when instances are drawn again"
        n = pieces.counted((row[6] for row in own), "instances")
        figures.append(
            pieces.figure(drawn, f"{title}, scored as {scoring}: the rank of each.", n=n, method=said)
        )
    return pieces.joined([pieces.grid(figures)], "No values yet.")


def abilities(home: Home) -> Markup:
    """Return the four abilities within each model."""
    found = rows(
        home,
        f"select source, model, {', '.join(ABILITIES)} from medley_profiles order by source, scoring, model",
    )
    figures = []
    for title, own in pieces.by_world(found):
        body = [(row[1], [None if cell is None else POINTS * cell for cell in row[2:]]) for row in own]
        columns = [name.replace("_", "-") for name in ABILITIES]
        drawn = maps.heat_map(body, columns=columns, name=f"Abilities within each of: {title.lower()}")
        said = "each ability minus the mean of the judged dimensions of the same model, in points"
        n = "n = 130 instances" if title == WORLDS["published"] else pieces.counted(_sizes(home), "instances")
        figures.append(pieces.figure(drawn, f"{title}: strengths within each model.", n=n, method=said))
    return pieces.joined(
        [pieces.grid(figures)], "Abilities rest on judges alone; nothing has been judged yet."
    )


def judges(home: Home) -> Markup:
    """Return how far the judges agree, and what forms of fixed answers do to the grades of each."""
    found = rows(
        home,
        "select source, measure, coalesce(a || ' and ' || b, a, 'all'), estimate, low, high, n, status "
        "from judge_agreement where benchmark = 'medley' and dimension = 'all' order by source, measure desc, a, b",
    )
    if not found:
        return pieces.paragraph(
            "Nothing has been judged yet: MMS rests on rules alone, and the board says what that leaves out."
        )
    tables = []
    for title, own in pieces.by_world(found):
        for biased, head, said in (
            (False, ("measure", "judges", "agreement", "answers", "status"), _AGREED),
            (True, ("form", "judge", "bias", "fixed answers", "verdict"), _BIASED),
        ):
            body = [
                (pieces.said(row[1].removeprefix("bias_")), row[2], pieces.interval(*row[3:6]), *row[6:])
                for row in own
                if row[1].startswith("bias_") == biased
            ]
            if body:
                tables.append(pieces.table(head, body, f"{title}: {said}"))
    return pieces.joined(tables)


def headline_claims(home: Home) -> Markup:
    """Return what follows of the claims of the paper, and how the study's own models grow with size."""
    slopes = rows(
        home,
        "select source, scoring, measure, value, low, high, n, status from comparisons where benchmark = 'medley' "
        "and family = 'size_slope' order by source = 'published', source, scoring, measure",
    )
    made = [each for each in [printed.ledger(home, "medley")] if each]
    if slopes:
        body = [
            (WORLDS[row[0]], row[1] or "", pieces.said(row[2]), pieces.interval(*row[3:6]), *row[6:])
            for row in slopes
        ]
        columns = ("models", "scored as", "score", "per tenfold size", "n", "status")
        made.append(
            pieces.table(columns, body, "What a tenfold size adds within families, and its 95 % interval")
        )
    return pieces.joined(made, "No values yet.")


PAPER: tuple[Exhibit, ...] = exhibits.PAPER
SECTIONS = (
    Section("Who follows arguments, and who the crowd", cognitive_map),
    Section("Tiers", tiers),
    Section("How sure the ranks are", ranks),
    Section("Strengths within a model", abilities),
    Section("Agreement of judges", judges),
    Section("Headline claims", headline_claims),
)


def _changed(home: Home) -> list[int]:
    """Return how many instances the pulls of each model of the study rest on."""
    sql = "select n from estimates where benchmark = 'medley' and measure in ('pull_crowd', 'pull_arguments')"
    return [n for (n,) in rows(home, sql)]


def _sizes(home: Home) -> list[int]:
    """Return how many instances the MMS of each model of the study rests on, with an untouched consensus."""
    sql = "select n from estimates where benchmark = 'medley' and measure = 'mms' and starts_with(condition, 'normal')"
    return [n for (n,) in rows(home, sql)]


def _point(*ends: Any) -> Point | None:
    """Return a value of 0..1 with its ends, in points."""
    return pieces.point(*ends, times=POINTS)


def _scaled(*ends: Any) -> object:
    point = _point(*ends)
    return None if point is None else _stacked(point, 1)


def _pull(value: float | None, low: float | None, high: float | None) -> object:
    return None if value is None else _stacked(Point(value, low, high), 3)


def _stacked(point: Point, digits: int) -> Stacked:
    return Stacked(
        f"{fixed(point.value, digits)}\n{pieces.ends(point.low, point.high, digits) or ''}".strip()
    )
