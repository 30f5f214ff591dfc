"""MetaCog-Bench in the report: composites, calibration beside chance, ways of scoring, formats, thresholds, print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from metacog_pipeline.leaderboard.output import Stacked, fixed
from metacog_pipeline.leaderboard.read import Rows, read_table
from metacog_pipeline.report import formats
from metacog_pipeline.report.cells import grid, interval_of, number, point_of, shown
from metacog_pipeline.report.figures import Point, scatter
from metacog_pipeline.report.html import Part, figure, folded, paragraph, table
from metacog_pipeline.report.more_figures import intervals, plane

_WORLDS = {"measured": "Models", "simulated": "Simulated observers"}
_CHANCE = (
    "The calibration error of few answers is above 0 even for a respondent who is right exactly as often as it says. "
    "Chance: mean and 95th percentile of that error, from the model's own confidences; p: how often chance reaches the "
    "error found. "
    "Errors at the level of chance cannot be ranked."
)
_MODES = {
    "t2a": "2a, scoped",
    "t2a_lit1": "2a, one keyword",
    "t2a_lit2": "2a, two keywords",
    "t2a_grounded": "2a, factors of the task",
    "t2b": "2b, scoped",
    "t2b_lit1": "2b, 32 patterns",
    "t2b_lit2": "2b, 50 patterns",
    "t2b_grounded": "2b, claim of the task",
    "t3": "3, 60 % of the fields",
    "t3_core_required": "3, with the core field",
}


def parts(home: Path) -> Iterator[Part]:
    """Yield the parts of the page about MetaCog-Bench, from the leaderboard of ``home``."""
    yield Part("metacog-spread", "Runs and their spread", _runs(home))
    yield Part("metacog-ranks", "How sure the ranks are", _ranks(home))
    yield Part("metacog-calibration", "Calibration and chance", _calibration(home))
    yield Part("metacog-modes", "Ways of scoring, side by side", _modes(home))
    yield Part("metacog-lengths", "Pass rates at matched length", _lengths(home))
    yield Part("metacog-judges", "Judges beside the rules", _judges(home))
    yield Part("metacog-formats", "What the format changes", formats.body(home))
    yield Part("metacog-thresholds", "Other thresholds", _thresholds(home))
    yield Part("metacog-published", "Printed numbers against their own parts", _published(home))


def _values(home: Path, condition: str = "free") -> dict[tuple[str, str], dict[str, tuple[object, ...]]]:
    """Return (world, model) → measure → (value, low, high)."""
    found: dict[tuple[str, str], dict[str, tuple[object, ...]]] = {}
    rows = read_table(
        home,
        "select source, model, measure, estimate, low, high, condition from metacogbench_estimates order by source, model",
    ).rows
    for source, model, measure, *ends, given in rows:
        if given == condition:
            found.setdefault((str(source), str(model)), {})[str(measure)] = tuple(ends)
    return found


def _runs(home: Path) -> str:
    values, made = _values(home), []
    names = ("ms", "saf", "cdtc", "overall")
    for world, title in _WORLDS.items():
        rows = [
            (model, *(_spread(own.get(name), own.get(f"{name}_sd")) for name in names))
            for (source, model), own in values.items()
            if source == world
        ]
        if rows:
            made.append(
                table(Rows(("model", *(name.upper() for name in names)), tuple(rows)), f"{title}: mean ± sd")
            )
    said = (
        "Mean ± standard deviation (n - 1) over runs. The deviation is no interval: those stand on the board."
    )
    return paragraph(said, "soft") + ("".join(made) or paragraph("No values yet."))


def _ranks(home: Path) -> str:
    found = read_table(
        home,
        "select source, dataset, model, value, low, high from metacogbench_comparisons "
        "where family = 'rank' and measure = 'overall' order by source, dataset, value, model",
    ).rows
    made = []
    for world, dataset in dict.fromkeys((str(row[0]), str(row[1])) for row in found):
        rows = [
            (str(row[2]), Point(float(row[3]), number(row[4]), number(row[5])))
            for row in found
            if (row[0], row[1]) == (world, dataset) and isinstance(row[3], float)
        ]
        drawn = intervals(rows, x=f"rank by overall score, {_WORLDS[world].lower()}")
        made.append(
            figure(
                drawn, f"{_WORLDS[world]}, {dataset}: central 95 % of the ranks when items are drawn again."
            )
        )
    return grid(made) if made else paragraph("Ranks need two models with an overall score.")


def _calibration(home: Path) -> str:
    made = []
    for world, title in _WORLDS.items():
        rows = []
        for (source, model), own in _values(home).items():
            if source != world or "ece_pre" not in own:
                continue
            for which, words in (("pre", "before"), ("post", "after")):
                error = f"ece_{which}"
                chance = [
                    own.get(f"{error}_{name}", (None,))[0] for name in ("null_mean", "null_p95", "excess_p")
                ]
                rows.append((model, words, interval_of(own.get(error)), *map(shown, chance)))
        if rows:
            columns = ("model", "answering", "ECE", "chance, mean", "chance, 95 %", "p")
            made.append(table(Rows(columns, tuple(rows)), f"{title}: calibration error of predictions"))
    made += _diagrams(home)
    return paragraph(_CHANCE, "soft") + ("".join(made) or paragraph("No values yet."))


def _diagrams(home: Path) -> Iterator[str]:
    """Yield a reliability diagram per world."""
    found = read_table(
        home,
        "select source, model, moment, confidence, accuracy, low, high from metacogbench_reliability "
        "where condition = 'free' and n > 0 order by source, model, moment desc, bin",
    ).rows
    when = {"pre": "before answering", "post": "after answering"}
    for world, title in _WORLDS.items():
        points = [
            (
                str(model),
                when[str(moment)],
                Point(float(stated)),
                Point(float(right), number(low), number(high)),
            )
            for source, model, moment, stated, right, low, high in found
            if source == world and isinstance(stated, float) and isinstance(right, float)
        ]
        if points:
            drawn = scatter(points, x="mean confidence", y="share right", line="as often right as stated")
            yield figure(
                drawn, f"{title}: reliability of stated confidence, in the bins of the headline error."
            )


def _lengths(home: Path) -> str:
    found = read_table(
        home,
        "select source, measure, model, mean_words, mean_cues, rate, matched, low, high, status "
        "from metacogbench_lengths where words = 'all' and condition = 'free' order by source, measure, model",
    ).rows
    made = []
    columns = ("scored by", "model", "words", "cues", "passed", "passed at matched length", "note")
    for world, title in _WORLDS.items():
        rows = tuple(
            (_MODES[str(row[1])], row[2], shown(row[3], 0), shown(row[4], 1), shown(row[5]),
             interval_of(row[6:9]), "" if row[9] == "ok" else row[9])
            for row in found
            if row[0] == world
        )  # fmt: skip
        if rows:
            made.append(table(Rows(columns, rows), f"{title}: pass rates as they are and at matched length"))
    said = (
        "Long replies collect cues for nothing. At matched length every model's rates in four groups of lengths are "
        "weighted alike; groups a model has no reply in are left out for all."
    )
    return paragraph(said, "soft") + ("".join(made) or paragraph("No values yet."))


def _judges(home: Path) -> str:
    found = read_table(
        home,
        "select source, judge, relation, tier, condition, rule, rules_rate, judge_rate, difference, difference_low, "
        "difference_high, accuracy, accuracy_low, accuracy_high, kappa, kappa_low, kappa_high, n, n_unread "
        "from metacogbench_judges where model is null order by source, judge, relation, tier, condition, rule",
    ).rows
    if not found:
        return paragraph(
            'No judges are named in the study: judges = ["self"] lets each model judge its own replies.'
        )
    columns = (
        *(
            "judge",
            "relation",
            "tier",
            "rule",
            "by rules",
            "by the judge",
            "difference",
            "same verdict",
            "kappa",
        ),
        *("replies", "unread"),
    )
    made = []
    for world, title in _WORLDS.items():
        rows = [
            (row[1], row[2], row[3] if row[4] == "free" else f"{row[3]}, {row[4]}", row[5], shown(row[6]),
             shown(row[7]), interval_of(row[8:11]), interval_of(row[11:14]), interval_of(row[14:17]), row[17], row[18])
            for row in found
            if row[0] == world
        ]  # fmt: skip
        if rows:
            head = tuple(row for row in rows if row[3] == "headline")
            made.append(
                table(Rows(columns, head), f"{title}: judges and the headline rules on the same replies")
            )
            every = table(Rows(columns, tuple(rows)), f"{title}: judges and every rule")
            made.append(folded(f"Every rule, {title.lower()}", every))
    said = (
        "What language models say of the same kept replies. No score rests on them. Difference: how far a tier would "
        "move if the judge scored it; 95 % intervals over tasks. self: each model judges its own replies."
    )
    return paragraph(said, "soft") + "".join(made)


def _modes(home: Path) -> str:
    made = []
    values = _values(home)
    for world, title in _WORLDS.items():
        own = {model: found for (source, model), found in values.items() if source == world}
        rows = [(model, *(interval_of(found.get(name)) for name in _MODES)) for model, found in own.items()]
        points = [
            (model, "models", scoped, grounded)
            for model, found in own.items()
            if (scoped := point_of(found.get("t2a"))) and (grounded := point_of(found.get("t2a_grounded")))
        ]
        if rows:
            made.append(table(Rows(("model", *_MODES.values()), tuple(rows)), f"{title}: share passed"))
        if points:
            drawn = plane(points, x="2a by cue words", y="2a by factors of the task", axes_at_zero=False)
            made.append(figure(drawn, f"{title}: caution in words against caution about the task."))
    said = "Keywords also fire on politeness and in long replies; what the task itself omits does not."
    return paragraph(said, "soft") + ("".join(made) or paragraph("No values yet."))


def _thresholds(home: Path) -> str:
    found = read_table(
        home,
        "select source, tier, threshold, setting, is_default, min(estimate), max(estimate), min(change), max(change), "
        "any_value(tau), min(chance), max(chance) from metacogbench_sensitivity where condition = 'free' "
        "group by all order by source, tier, threshold, setting",
    ).rows
    if not found:
        return paragraph("No values yet.")
    columns = ("tier", "threshold", "setting", "scores", "by chance", "change", "order kept (τ-b)")
    made = []
    for world, title in _WORLDS.items():
        rows = tuple(
            (row[1], row[2], f"{row[3]} (default)" if row[4] else row[3], _range(*row[5:7]), _range(*row[10:12]),
             _range(*row[7:9]), shown(row[9]))
            for row in found
            if row[0] == world
        )  # fmt: skip
        if rows:
            made.append(table(Rows(columns, rows), f"{title}: lowest and highest score under each setting"))
    return "".join(made)


def _published(home: Path) -> str:
    found = read_table(
        home,
        "select place, subject, quantity, method, published, recomputed, difference, verdict, note "
        "from published_checks_metacogbench order by place, quantity, method, subject",
    ).rows
    if not found:
        return paragraph("The printed numbers are not checked yet.", "soft")
    columns = (
        "printed of",
        "place",
        "number",
        "from",
        "printed",
        "computed",
        "difference",
        "verdict",
        "note",
    )

    def rows(only: str | None) -> Rows:
        kept = (row for row in found if only is None or row[7] == only)
        return Rows(
            columns,
            tuple(
                (row[1], row[0], row[2], row[3], shown(row[4], 4), shown(row[5], 4), shown(row[6], 4),
                 row[7], row[8] or "")
                for row in kept
            ),
        )  # fmt: skip

    agree = sum(row[7] == "follows" for row in found)
    return (
        paragraph(
            f"{agree} of {len(found)} printed numbers follow from what is printed beside them. The tasks of the paper are "
            "not public; these numbers are not comparable with the ones above."
        )
        + table(rows("differs"), "What does not follow")
        + folded("All checks", table(rows(None), "All checks"))
    )


def _spread(mean: Sequence[object] | None, sd: Sequence[object] | None) -> object:
    if mean is None or not isinstance(mean[0], float):
        return None
    if sd is None or not isinstance(sd[0], float):
        return shown(mean[0])
    return Stacked(f"{fixed(mean[0], 3)} ± {fixed(sd[0], 3)}")


def _range(low: object, high: object) -> object:
    if not isinstance(low, float) or not isinstance(high, float):
        return None
    return Stacked(f"{fixed(low, 3)} to {fixed(high, 3)}")
