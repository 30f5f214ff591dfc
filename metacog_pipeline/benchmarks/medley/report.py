"""MEDLEY-BENCH in the report: who follows what, tiers, how sure ranks are, strengths within a model, printed numbers."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from markupsafe import Markup

from metacog_pipeline.benchmark.contract import Section
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
    "Changes of MMS, in points, on the same instances: with an inverted consensus, arguments being the same, and with "
    "only the two weakest analysts. MMS is scored otherwise there: the scoring part is what replies under normal gain by "
    "it, the behavioural part what remains, 0 for who replies the same. The map, quadrants and profiles of a study's own "
    f"models rest on behavioural parts of at least {LEAST_CASES} instances; printed changes cannot be split. What a "
    "respondent is moved by shows in what it rates otherwise (crowd pull: by the direction of the consensus alone)."
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


def _ends(*names: str) -> str:
    return ", ".join(f"{name}, {name}_low, {name}_high" for name in names)


# The place on the map: the behavioural part, of printed rows the whole change.
_PLACES = ", ".join(
    f"if(source = 'published', {one}_{whole}, {one}_behaviour{end})"
    for one in ("adversarial", "stripped")
    for whole, end in (("delta", ""), ("low", "_low"), ("high", "_high"))
)
_PARTS = ", ".join(
    f"{_ends(f'{one}_scoring')}, {one}_delta, {one}_low, {one}_high" for one in ("adversarial", "stripped")
)


def cognitive_map(home: Home) -> Markup:
    """Return how MMS changes where the consensus is inverted and where the analysts are weak."""
    found = rows(
        home,
        f"select source, scoring, model, {_PLACES}, crowd_pull, argument_pull, quadrant, profile, character, "
        f"{_PARTS} from medley_profiles order by source, scoring, model",
    )
    columns = (
        *(
            "model",
            "scored as",
            "inverted, behaviour",
            "stripped, behaviour",
            "inverted, scoring",
            "inverted, whole",
        ),
        *(
            "stripped, scoring",
            "stripped, whole",
            "crowd pull",
            "argument pull",
            "quadrant",
            "profile",
            "behaves like",
        ),
    )
    figures, tables = [], []
    for title, own in pieces.by_world(found):
        points = [
            (row[2], row[13] or row[12] or "not told", across, up)
            for row in own
            if (across := _point(*row[3:6])) is not None and (up := _point(*row[6:9])) is not None
        ]
        published = title == WORLDS["published"]
        if points:
            part = "change" if published else "behavioural change"
            drawn = maps.plane(
                points, x=f"{part}, inverted consensus", y=f"{part}, weak analysts", axes_at_zero=True
            )
            named = "label in the paper" if published else "what they behave like"
            caption = f"{title}, by {named}. In points of MMS."
            n = "n = 30 and 50 instances" if published else pieces.counted(_changed(home), "instances")
            said = "no interval" if published else _INTERVALS
            figures.append(pieces.figure(drawn, caption, n=n, method=said))
        if not published:
            body = [
                (
                    *(row[2], row[1]),
                    *(_scaled(*row[place : place + 3]) for place in (3, 6, 14, 17, 20, 23)),
                    *map(pieces.shown, row[9:14]),
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


PAPER = exhibits.PAPER
SECTIONS = (
    Section("Who follows arguments, and who the crowd", cognitive_map),
    Section("Tiers", tiers),
    Section("How sure the ranks are", ranks),
    Section("Strengths within a model", abilities),
    Section("Agreement of judges", judges),
    Section("Headline claims", headline_claims),
)


def _changed(home: Home) -> list[int]:
    """Return how many instances the changes of each model of the study rest on."""
    sql = "select n from estimates where benchmark = 'medley' and measure in ('adversarial_delta', 'stripped_delta')"
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
    if point is None:
        return None
    return Stacked(f"{fixed(point.value, 1)}\n{pieces.ends(point.low, point.high, 1) or ''}".strip())
