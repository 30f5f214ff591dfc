"""Signal detection in the report: d′ and meta-d′, how far criteria move under risk, and the published numbers again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from metacog_pipeline.leaderboard.output import Stacked, fixed
from metacog_pipeline.leaderboard.read import Rows, read_table
from metacog_pipeline.report.figures import Point, ladder, scatter
from metacog_pipeline.report.html import Part, figure, folded, paragraph, table

_STEPS = {
    "risk_s1": "saying 0 wrongly is punished",
    "risk_none": "no risk",
    "risk_s2": "saying 1 wrongly is punished",
}
_WORLDS = ("measured", "simulated", "published")
_TITLES = {"measured": "Models", "simulated": "Simulated observers", "published": "Published models"}
_TASKS = 'Task A: sentiment of a film review. B: oral or written. C: was one "the" deleted.'

_NUMBERS = {"d": "d′", "meta_d": "meta-d′", "m_ratio": "M-ratio", "c": "c", "ci_half": "half width of c"}

# The numbers of the study beside the printed ones, each with its world; published d′ and meta-d′ are posterior means.
_VALUES = """
    select source, task, condition, model, measure, estimate, low, high
    from signaldetection_estimates
    union all
    select 'published', task, condition, model, replace(measure, '_bayes', ''), value, low, high
    from published_signaldetection
    order by source, task, model, condition
"""


def parts(home: Path) -> Iterator[Part]:
    """Yield the parts of the page about signal detection, from the leaderboard of ``home``."""
    values = read_table(home, _VALUES).rows
    sensitivity = "".join(_sensitivity(values, world) for world in _WORLDS)
    yield Part(
        "sensitivity", "What confidence knows: d′ and meta-d′", paragraph(_TASKS, "soft") + _grid(sensitivity)
    )
    yield Part("criteria", "Criteria under risk", _criteria(values) + _shifts(home))
    yield Part("published", "Published numbers, computed again", _published(home))


def _grid(figures: str) -> str:
    return f'<div class="figures">{figures}</div>' if figures else paragraph("No values yet.")


def _points(values: Sequence[tuple[object, ...]], world: str) -> dict[tuple[str, str, str], dict[str, Point]]:
    """Return the values of one world: (model, task, condition) → measure → point."""
    found: dict[tuple[str, str, str], dict[str, Point]] = {}
    for source, task, condition, model, measure, estimate, low, high in values:
        if source == world and isinstance(estimate, float):
            ends = (low, high) if isinstance(low, float) and isinstance(high, float) else (None, None)
            point = Point(estimate, *ends)
            found.setdefault((str(model), str(task), str(condition)), {})[str(measure)] = point
    return found


def _sensitivity(values: Sequence[tuple[object, ...]], world: str) -> str:
    points = [
        (model, f"task {task}", found["d"], found["meta_d"])
        for (model, task, condition), found in _points(values, world).items()
        if condition == "confidence" and "d" in found and "meta_d" in found
    ]
    if not points:
        return ""
    svg = scatter(
        points,
        x=f"d′, {_TITLES[world].lower()}",
        y="meta-d′",
        line="optimal: meta-d′ = d′",
    )
    made = "posterior means, as printed" if world == "published" else "by maximum likelihood"
    return figure(
        svg,
        f"{_TITLES[world]}: meta-d′ against d′, {made}. Below the line confidence knows less than the answers.",
    )


def _criteria(values: Sequence[tuple[object, ...]]) -> str:
    made = []
    for world in _WORLDS:
        rows: dict[str, dict[str, Point]] = {}
        for (model, task, condition), found in sorted(
            _points(values, world).items(), key=lambda each: each[0][1::-1]
        ):
            if condition in _STEPS and "c" in found:
                rows.setdefault(f"{task} {model}", {})[_STEPS[condition]] = found["c"]
        if rows:
            svg = ladder(
                list(rows.items()), steps=list(_STEPS.values()), x=f"criterion c, {_TITLES[world].lower()}"
            )
            made.append(
                figure(
                    svg,
                    f"{_TITLES[world]}: below 0 label 1 is said too often. Predicted from left to right: "
                    + ", ".join(_STEPS.values())
                    + ".",
                )
            )
    return _grid("".join(made))


def _shifts(home: Path) -> str:
    found = read_table(
        home,
        "select task, model, source, b, a, difference, low_adjusted, high_adjusted, z, p_adjusted, verdict, as_predicted, "
        "paired_difference, paired_low_adjusted, paired_high_adjusted, paired_verdict "
        "from signaldetection_criterion_shifts where measure = 'c' order by source, task, model, b desc, a",
    ).rows
    columns = (
        "model", "task", "from", "to", "change of c", "Z", "p adjusted", "verdict", "as predicted", "paired change",
        "paired verdict",
    )  # fmt: skip
    made = []
    for world in _WORLDS:
        rows = [
            (model, task, b, a, _interval(change, low, high), _number(z, 2), _p(p), _said(verdict), predicted,
             _interval(paired, paired_low, paired_high), _said(paired_verdict))
            for task, model, source, b, a, change, low, high, z, p, verdict, predicted,
                paired, paired_low, paired_high, paired_verdict in found
            if source == world
        ]  # fmt: skip
        if rows:
            # The items behind the published counts are not known, so those cannot be paired.
            width = len(columns) if any(row[-2] is not None for row in rows) else len(columns) - 2
            made.append(
                table(
                    Rows(columns[:width], tuple(row[:width] for row in rows)),
                    f"{_TITLES[world]}: change of the criterion between conditions",
                )
            )
    if not made:
        return paragraph("No criterion shifts measured yet.", "soft")
    return "".join(made) + paragraph(
        "Intervals are at the level of the whole family of tests (Bonferroni), and the verdicts rest on them. Significant: "
        "a change of at least 0.1; negligible: of less than 0.1; inconclusive: a change, perhaps of less than 0.1. The "
        "paired test knows that both conditions were answered on the same items.",
        "soft",
    )


def _published(home: Path) -> str:
    found = read_table(
        home,
        "select place, task, condition, model, quantity, published, recomputed, low, high, ml_raw, "
        "difference, verdict, note from published_checks_signaldetection "
        "order by place, task, model, condition, list_position(['d', 'meta_d', 'm_ratio', 'c', 'ci_half'], quantity)",
    ).rows
    columns = (
        "model",
        "task",
        "condition",
        "number",
        "printed",
        "computed",
        "ML",
        "difference",
        "verdict",
        "note",
    )

    def rows(keep: Callable[[str, str], bool]) -> Rows:
        made = [
            (model, task, condition, _NUMBERS[str(quantity)], _number(printed), _interval(value, low, high),
             _number(likeliest), _number(difference), verdict, note or "")
            for place, task, condition, model, quantity, printed, value, low, high, likeliest, difference, verdict, note
            in found
            if keep(str(place), str(verdict))
        ]  # fmt: skip
        return Rows(columns, tuple(made))

    computed = [row for row in found if row[11] != "not computed"]
    agree = sum(row[11] == "reproduced" for row in computed)
    waiting = f" {len(found) - len(computed)} are not computed yet." if len(computed) < len(found) else ""
    differing = rows(lambda _, verdict: verdict == "differs")
    return (
        paragraph(
            "Printed in Measuring the metacognition of AI (arXiv:2603.29693), and computed again from the counts "
            f"published with it: {agree} of {len(computed)} numbers agree.{waiting} ML: the same quantity by maximum "
            "likelihood on the raw counts, which is another estimator."
        )
        + (table(differing, "What does not follow from the counts") if differing.rows else "")
        + folded("Table S1: posterior means", table(rows(lambda place, _: place == "table S1"), "Table S1"))
        + folded("Table S2: criteria", table(rows(lambda place, _: place == "table S2"), "Table S2"))
    )


def _said(verdict: object) -> str:
    return str(verdict or "untested").replace("_", " ")


def _number(value: object, digits: int = 4) -> object:
    return Stacked(fixed(value, digits)) if isinstance(value, float) else value


def _p(value: object) -> object:
    return Stacked("<0.0001") if isinstance(value, float) and value < 1e-4 else _number(value)


def _interval(value: object, low: object, high: object) -> object:
    if not isinstance(value, float):
        return value
    if not isinstance(low, float) or not isinstance(high, float):
        return _number(value)
    return Stacked(f"{fixed(value, 4)}\n{fixed(low, 3)} to {fixed(high, 3)}")
