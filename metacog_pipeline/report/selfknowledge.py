"""Self-knowledge in the report: d′ of type 2, ROC curves, densities, abstaining, languages, the printed numbers again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metacog_pipeline.leaderboard.read import Rows, read_table
from metacog_pipeline.report.cells import grid, interval_of, point_of, shown
from metacog_pipeline.report.figures import label_text
from metacog_pipeline.report.html import Part, figure, folded, paragraph, table
from metacog_pipeline.report.more_figures import intervals
from metacog_pipeline.report.selfknowledge_figures import Curves, collected, density_figure, roc_figure

_WORLDS = {"measured": "Models", "simulated": "Simulated observers"}
_SENSITIVITY = {
    "d_type2": "d′",
    "d_type2_clip": "d′, clipped",
    "d_type2_threshold": "d′ at P(yes) > P(no)",
    "d_type2_reference": "d′, published rules",
    "auroc2": "AUROC2",
    "rmi": "RMI",
}
_YESES = {
    "yes_ratio": "yes",
    "hit_rate": "yes when right",
    "false_alarm_rate": "yes when wrong",
    "yfr": "yeses that fail",
    "nfr": "noes that fail",
    "invalid_share": "neither",
}
_ASKED_ONCE = {
    "idk_accuracy": "accuracy",
    "idk_rate": "abstains",
    "idk_alignment": "alignment",
    "idk_d_type2": "d′",
    "all_alignment": "all alignment",
}
_FAMILIES = {
    "models_paired": "between models",
    "languages_paired": "between languages",
    "dual_idk": "asked twice or once",
    "mcnemar": "McNemar",
}
_D = (
    "d′: z(yes when right) - z(yes when wrong), half an item added to either side; 0: a yes says nothing about the "
    "answer. Clipped: as the paper computes it, without these halves, rates kept 1e-4 from 0 and 1; a number made by that "
    "clip has no interval. Published rules: a yes anywhere in the reply counts. AUROC2 and the density below need "
    "log-probabilities."
)
Values = dict[
    tuple[str, str, str], dict[str, tuple[object, ...]]
]  # (world, model, condition) → measure → ends


def parts(home: Path) -> Iterator[Part]:
    """Yield the parts of the page about self-knowledge, from the leaderboard of ``home``."""
    values = _values(home)
    yield Part("self-d", "Does a yes go with being right?", _sensitivity(values))
    yield Part("self-curves", "Type-2 ROC and confidence", _curves(home))
    yield Part("self-idk", "Asked once, with leave to abstain", _asked_once(values))
    yield Part("self-tests", "Differences on the same questions", _tests(home))
    yield Part("self-published", "Printed numbers against their own parts", _published(home))


def _values(home: Path) -> Values:
    found: Values = {}
    for source, model, condition, measure, *ends in read_table(
        home,
        "select source, model, condition, measure, estimate, low, high from selfknowledge_estimates "
        "order by source, model, condition",
    ).rows:
        found.setdefault((str(source), str(model), str(condition)), {})[str(measure)] = tuple(ends)
    return found


def _sensitivity(values: Values) -> str:
    made = []
    for world, title in _WORLDS.items():
        own = {key[1:]: found for key, found in values.items() if key[0] == world and key[2] != "idk"}
        points = [
            (f"{model}, {condition}", point)
            for (model, condition), found in own.items()
            if (point := point_of(found.get("d_type2"))) is not None
        ]
        if points:
            drawn = intervals(points, x=f"d′ of type 2, {title.split()[0].lower()}")
            made.append(figure(drawn, f"{title}: d′ of type 2 with its 95 % interval."))
        for chosen, words in ((_SENSITIVITY, "what a yes knows"), (_YESES, "who gets a yes")):
            rows = tuple(
                (model, condition, *(interval_of(found.get(name)) for name in chosen))
                for (model, condition), found in own.items()
            )
            if rows:
                columns = ("model", "condition", *chosen.values())
                made.append(table(Rows(columns, rows), f"{title}: {words}"))
    return paragraph(_D, "soft") + ("".join(made) or paragraph("No values yet."))


def _curves(home: Path) -> str:
    rocs, densities = [], []
    for world, title in _WORLDS.items():
        found = read_table(
            home,
            "select model, condition, curve, x, y from selfknowledge_curves "
            f"where source = '{world}' order by model, condition, curve, position",
        ).rows
        by_condition: dict[str, dict[str, Curves]] = {}
        for (model, condition), own in collected(found).items():
            by_condition.setdefault(condition, {})[model] = own
        for condition, series in sorted(by_condition.items()):
            if drawn := roc_figure(series, name=f"type-2 ROC, {condition}, {title}"):
                rocs.append(
                    figure(drawn, f"{title}, {condition}: marks are the spoken yes, lines the graded one.")
                )
            made = [
                figure(drawn, f"{label_text(model)}, {condition}: how sure a yes is; each area is 1.")
                for model, own in series.items()
                if (drawn := density_figure(own, name=f"confidence of {model}, {condition}"))
            ]
            if made:
                densities.append(folded(f"{title}: densities of confidence, {condition}", grid(made)))
    return grid(rocs) + "".join(densities) if rocs else paragraph("No values yet.")


def _asked_once(values: Values) -> str:
    made = []
    for world, title in _WORLDS.items():
        rows = tuple(
            (
                model,
                interval_of(values.get((world, model, "dual"), {}).get("accuracy")),
                *(interval_of(found.get(name)) for name in _ASKED_ONCE),
            )
            for (source, model, condition), found in values.items()
            if source == world and condition == "idk"
        )
        if rows:
            columns = ("model", "accuracy, asked twice", *_ASKED_ONCE.values())
            made.append(table(Rows(columns, rows), f"{title}: asked once"))
    said = (
        "One question with leave to say that the answer is not known. Alignment: right = not abstained; all alignment: "
        "that, being right and saying yes when asked twice are all the same. It cannot exceed the alignment of asking "
        "twice. An abstaining reply hardly ever holds the right answer, which alone makes the d′ large: compare it between "
        "models, not with that of asking twice."
    )
    return paragraph(said, "soft") + ("".join(made) or paragraph("Not asked."))


def _tests(home: Path) -> str:
    found = read_table(
        home,
        "select source, family, coalesce(condition, model) as held, measure, a, b, difference, low, high, p_adjusted, "
        "verdict, status, n from selfknowledge_comparisons order by source, family, held, measure, a, b",
    ).rows
    if not found:
        return paragraph(
            "Tests need two models, two languages, or the question with leave to abstain.", "soft"
        )
    columns = ("contrast", "of", "tested", "measure", "difference", "p adjusted", "verdict", "items")
    made = []
    for world, title in _WORLDS.items():
        rows = tuple(
            (f"{a} - {b}", held, _FAMILIES.get(str(family), family), measure, interval_of((value, low, high)), shown(p),
             _said(verdict, status), n)
            for source, family, held, measure, a, b, value, low, high, p, verdict, status, n in found
            if source == world
        )  # fmt: skip
        if rows:
            made.append(
                folded(f"{title}: {len(rows)} tests", table(Rows(columns, rows), f"{title}: differences"))
            )
    said = "Questions are resampled with all their runs, alike on both sides; p by Holm over the pairs of a measure."
    return paragraph(said, "soft") + "".join(made)


def _published(home: Path) -> str:
    found = read_table(
        home,
        "select place, subject, quantity, method, published, recomputed, difference, verdict, note "
        "from published_checks_selfknowledge order by place, quantity, method, subject",
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

    def rows(all_of_them: bool) -> Rows:
        kept = (row for row in found if all_of_them or row[7] != "follows")
        return Rows(
            columns,
            tuple(
                (row[1], row[0], row[2], row[3], shown(row[4]), shown(row[5]), shown(row[6]), row[7], row[8] or "")
                for row in kept
            ),
        )  # fmt: skip

    agree = sum(row[7] != "differs" for row in found)
    return (
        paragraph(
            f"Printed in Fine-Tuning Language Models to Know What They Know (arXiv:2602.02605): {agree} of {len(found)} "
            "numbers follow from what is printed beside them, some of them made by the clip of the paper's d′. "
            "Answers are not published."
        )
        + table(rows(False), "What does not follow, or is made by the clip")
        + folded("All checks", table(rows(True), "All checks"))
        + folded("The yeses behind the tables", _rates(home))
    )


def _rates(home: Path) -> str:
    found = read_table(
        home,
        "select subject, place, solution, hit_rate, false_alarm_rate, yes_ratio, d_clip, d_loglinear, n_solutions "
        "from published_rates_selfknowledge order by place, subject, solution",
    ).rows
    columns = ("printed of", "place", "solution", "yes when right", "yes when wrong", "yes", "d′, clipped", "d′",
               "whole answers that print so")  # fmt: skip
    return table(
        Rows(columns, tuple(tuple(shown(each) for each in row) for row in found)), "Rates that print so"
    )


def _said(verdict: object, status: object) -> str:
    return str(verdict or status).replace("_", " ")
