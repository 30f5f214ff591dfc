"""Signal detection in the report: d′ and meta-d′, how far criteria move under risk, and the published numbers again."""

from __future__ import annotations

from markupsafe import Markup

from metacog_pipeline.benchmark.contract import Section
from metacog_pipeline.benchmarks.signaldetection import exhibits
from metacog_pipeline.home import Home
from metacog_pipeline.report import pieces
from metacog_pipeline.report.figures import Point, ladder, scatter
from metacog_pipeline.report.pieces import WORLDS
from metacog_pipeline.report.queries import rows

_STEPS = {
    "risk_s1": "saying 0 wrongly is punished",
    "risk_none": "no risk",
    "risk_s2": "saying 1 wrongly is punished",
}
_TASKS = 'Task A: sentiment of a film review. B: oral or written. C: was one "the" deleted.'
_SHIFTS = (
    "Intervals are at the level of the whole family of tests (Bonferroni), and the verdicts rest on them. Significant: "
    "a change of at least 0.1; negligible: of less than 0.1; inconclusive: a change, perhaps of less than 0.1. The "
    "paired test knows that both conditions were answered on the same items."
)
_DIGITS = 4
# The numbers of the study beside the printed ones, each with its world; published d′ and meta-d′ are posterior means.
_VALUES = """
    with every as (
        select source, task, condition, model, measure, estimate, low, high
        from estimates where benchmark = 'signaldetection'
        union all
        select 'published', task, condition, model, replace(measure, '_bayes', ''), value, low, high
        from published_values where benchmark = 'signaldetection'
    )
    select source, task, replace(condition, task || ' ', '') as condition, model, measure, estimate, low, high
    from every where measure in ('c', 'd', 'meta_d') order by source, task, model, condition
"""
Values = dict[tuple[str, str, str], dict[str, Point]]  # (task, model, condition) → measure → value


def sensitivity(home: Home) -> Markup:
    """Return meta-d′ against d′."""
    figures = []
    for title, values in _values(home).items():
        points = [
            (model, f"task {task}", found["d"], found["meta_d"])
            for (task, model, condition), found in values.items()
            if condition == "confidence" and {"d", "meta_d"} <= found.keys()
        ]
        if points:
            drawn = scatter(points, x=f"d′, {title.lower()}", y="meta-d′", line="optimal: meta-d′ = d′")
            printed = title == WORLDS["published"]
            made = "posterior means" if printed else "maximum likelihood, 95 % intervals: item bootstrap"
            said = f"{title}: meta-d′ against d′. Below the line confidence knows less than the answers."
            figures.append(pieces.figure(drawn, said, n=_trials(home, title), method=made))
    return pieces.paragraph(_TASKS, "soft") + pieces.joined([pieces.grid(figures)], "No values yet.")


def criteria(home: Home) -> Markup:
    """Return criteria under each risk, and how far they move."""
    figures = []
    for title, values in _values(home).items():
        points: dict[str, dict[str, Point]] = {}
        for (task, model, condition), found in values.items():
            if condition in _STEPS and "c" in found:
                points.setdefault(f"{task} {model}", {})[_STEPS[condition]] = found["c"]
        if points:
            steps = list(_STEPS.values())
            drawn = ladder(list(points.items()), steps=steps, x=f"criterion c, {title.lower()}")
            said = f"{title}: below 0 label 1 is said too often. Predicted from left to right: {', '.join(steps)}."
            made = "95 % intervals of normal theory, from the rates of hits and false alarms"
            figures.append(pieces.figure(drawn, said, n=_trials(home, title), method=made))
    return pieces.joined([pieces.grid(figures)], "No values yet.") + shifts(home)


PAPER = exhibits.PAPER
SECTIONS = (
    Section("What confidence knows: d′ and meta-d′", sensitivity),
    Section("Criteria under risk", criteria),
)


def _values(home: Home) -> dict[str, Values]:
    """Return title of a world → its values, in the order of tasks and models."""
    made: dict[str, Values] = {title: {} for title in WORLDS.values()}
    for source, task, condition, model, measure, *ends in rows(home, _VALUES):
        if (point := pieces.point(*ends)) is not None:
            made[WORLDS[source]].setdefault((task, model, condition), {})[measure] = point
    return made


def _trials(home: Home, title: str) -> str:
    """Return how many answers each number of a world rests on."""
    if title == WORLDS["published"]:
        sql = "select n from published_values where benchmark = 'signaldetection'"
    else:
        sql = "select n from estimates where benchmark = 'signaldetection' and measure in ('d', 'c')"
    return pieces.counted(n for (n,) in rows(home, sql))


def _interval(parts: tuple[object, ...]) -> object:
    value, low, high = parts
    return pieces.interval(value, low, high, digits=_DIGITS)


def shifts(home: Home) -> Markup:
    """Return how far each stated risk moves the criterion, and the verdicts."""
    found = rows(
        home,
        "select source, model, task, b, a, difference, low_adjusted, high_adjusted, z, p_adjusted, verdict, as_predicted, "
        "paired_difference, paired_low_adjusted, paired_high_adjusted, paired_verdict "
        "from signaldetection_criterion_shifts where measure = 'c' order by source, task, model, b desc, a",
    )
    columns = (
        "model", "task", "from", "to", "change of c", "Z", "p adjusted", "verdict", "as predicted", "paired change",
        "paired verdict",
    )  # fmt: skip
    made = []
    for title, own in pieces.by_world(found):
        body = [
            (*place, _interval(change), pieces.shown(z, 2), pieces.p_value(p),
             pieces.said(verdict), predicted, _interval(paired), pieces.said(paired_verdict))
            for place, change, z, p, verdict, predicted, paired, paired_verdict in (
                (row[1:5], row[5:8], *row[8:12], row[12:15], row[15]) for row in own
            )
        ]  # fmt: skip
        # The items behind the published counts are not known, so those cannot be paired.
        width = len(columns) if any(row[-2] is not None for row in body) else len(columns) - 2
        caption = f"{title}: change of the criterion between conditions"
        made.append(pieces.table(columns[:width], [row[:width] for row in body], caption))
    if not made:
        return pieces.paragraph("No criterion shifts measured yet.", "soft")
    return pieces.joined(made) + pieces.paragraph(_SHIFTS, "soft")
