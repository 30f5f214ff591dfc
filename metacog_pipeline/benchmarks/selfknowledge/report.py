"""Self-knowledge in the report: d′ of type 2, ROC curves, densities, abstaining, languages, the printed numbers again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from metacog_pipeline.benchmark.contract import Exhibit, Section
from metacog_pipeline.benchmarks.selfknowledge import exhibits
from metacog_pipeline.benchmarks.selfknowledge.figures import Curves, collected, density_figure, roc_figure
from metacog_pipeline.home import Home
from metacog_pipeline.report import pieces
from metacog_pipeline.report.figures import intervals, label_text
from metacog_pipeline.report.pieces import WORLDS
from metacog_pipeline.report.queries import rows

_SENSITIVITY = {
    "d_type2": "d′", "d_type2_clip": "d′, clipped", "d_type2_threshold": "d′ at P(yes) > P(no)",
    "d_type2_reference": "d′, published rules", "auroc2": "AUROC2", "rmi": "RMI",
}  # fmt: skip
_YESES = {
    "yes_ratio": "yes", "hit_rate": "yes when right", "false_alarm_rate": "yes when wrong", "yfr": "yeses that fail",
    "nfr": "noes that fail", "invalid_share": "neither",
}  # fmt: skip
_ASKED_ONCE = {
    "idk_accuracy": "accuracy", "idk_rate": "abstains", "idk_alignment": "alignment", "idk_d_type2": "d′",
    "all_alignment": "all alignment",
}  # fmt: skip
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
_ONCE = (
    "One question with leave to say that the answer is not known. Alignment: right = not abstained; all alignment: "
    "that, being right and saying yes when asked twice are all the same. It cannot exceed the alignment of asking "
    "twice. An abstaining reply hardly ever holds the right answer, which alone makes the d′ large: compare it between "
    "models, not with that of asking twice."
)
MOST_TESTS = 1000  # rows of the table of tests; pairs of 80 models are 40,000
#: How many tests a world has, and those that are printed: all, or of many the primary ones with the smallest p.
_TESTS = f"""
    with tests as (
        select source, family, coalesce(condition, model) as held, measure, a, b, value, low, high, p_adjusted, verdict,
            status, n, "primary", count(*) over (partition by source) as every
        from comparisons where benchmark = 'selfknowledge'
    )
    select source, every, * exclude (source, every, "primary") from tests
    qualify every <= {MOST_TESTS} or ("primary" and row_number() over (partition by source, "primary"
        order by p_adjusted nulls last, family, held, measure, a, b) <= {MOST_TESTS})
    order by source, family, held, measure, a, b
"""
MOST_DENSITIES = 12  # figures of one model each; the values of all are in the table curves
Ends = tuple[Any, ...]  # estimate, low, high, n, method
Values = dict[tuple[str, str], dict[str, Ends]]  # (model, condition) → measure → ends


def sensitivity(home: Home) -> Markup:
    """Return how far a yes goes with being right, and who gets a yes."""
    made = []
    for title, values in _values(home).items():
        own = {key: found for key, found in values.items() if not key[1].startswith("idk")}
        points = [
            (", ".join(key), point)
            for key, found in own.items()
            if (point := pieces.point(*found.get("d_type2", (None,))[:3])) is not None
        ]
        if points:
            drawn = intervals(points, x=f"d′ of type 2, {title.split()[0].lower()}")
            n = pieces.counted(found["d_type2"][3] for found in own.values() if "d_type2" in found)
            said = pieces.methods(found["d_type2"][4] for found in own.values() if "d_type2" in found)
            made.append(pieces.figure(drawn, f"{title}: d′ of type 2.", n=n, method=said))
        for chosen, said in ((_SENSITIVITY, "what a yes knows"), (_YESES, "who gets a yes")):
            body = [(*key, *(_interval(found, name) for name in chosen)) for key, found in own.items()]
            if body:
                made.append(pieces.table(("model", "condition", *chosen.values()), body, f"{title}: {said}"))
    return pieces.paragraph(_D, "soft") + pieces.joined(made, "No values yet.")


def curves(home: Home) -> Markup:
    """Return type-2 ROC curves and densities of confidence."""
    found = rows(
        home,
        "select source, model, condition, curve, x, y, n from curves where benchmark = 'selfknowledge' "
        "and curve <> 'risk_coverage' order by source, model, condition, curve, position",
    )
    rocs, densities = [], []
    sizes: dict[tuple[str, str], set[int]] = {}
    for title, own in pieces.by_world(found):
        by_condition: dict[str, dict[str, Curves]] = {}
        for row in own:
            if row[3] in ("roc", "said"):
                sizes.setdefault((title, row[2]), set()).add(row[6])
        for (model, condition), drawn in collected(row[1:6] for row in own).items():
            by_condition.setdefault(condition, {})[model] = drawn
        for condition, series in sorted(by_condition.items()):
            if svg := roc_figure(series):
                said = f"{title}, {condition}: marks are the spoken yes, lines the graded one."
                n = pieces.counted(sizes.get((title, condition), ()))
                method = "shares above every degree of yes, without intervals"
                rocs.append(pieces.figure(svg, said, n=n, method=method))
            made = [
                pieces.figure(
                    svg,
                    f"{label_text(model)}, {condition}: how sure a yes is; each area is 1.",
                    n=pieces.counted(sizes.get((title, condition), ())),
                    method="histograms over bins of equal width",
                )
                for model, each in _most_sensitive(series, _values(home).get(title, {}), condition)
                if (svg := density_figure(each, name=f"confidence of {model}, {condition}"))
            ]
            if made:
                told = f", the {MOST_DENSITIES} of {len(series)} models with the largest d′"
                which = told if len(series) > MOST_DENSITIES else ""
                densities.append(
                    pieces.folded(f"{title}: densities of confidence, {condition}{which}", pieces.grid(made))
                )
    return pieces.joined([pieces.grid(rocs), *densities], "No values yet.")


def _most_sensitive(
    series: Mapping[str, Curves], values: Values, condition: str
) -> Sequence[tuple[str, Curves]]:
    """Return the models whose densities are drawn: all, or where there are many those with the largest d′."""
    if len(series) <= MOST_DENSITIES:
        return list(series.items())
    known = {model: (values.get((model, condition), {}).get("d_type2") or (None,))[0] for model in series}
    # Rounded: whose density is drawn must not hang on the last bit of two equal d′.
    size = {model: -math.inf if value is None else round(value, 9) for model, value in known.items()}
    chosen = sorted(known, key=lambda model: (-size[model], model))
    return [(model, series[model]) for model in chosen[:MOST_DENSITIES]]


def asked_once(home: Home) -> Markup:
    """Return what changes where a model may abstain."""
    made = []
    for title, values in _values(home).items():
        body = [
            (
                model,
                _interval(values.get((model, "dual"), {}), "accuracy"),
                *(_interval(found, name) for name in _ASKED_ONCE),
            )
            for (model, condition), found in values.items()
            if condition.startswith("idk")
        ]
        if body:
            columns = ("model", "accuracy, asked twice", *_ASKED_ONCE.values())
            made.append(pieces.table(columns, body, f"{title}: asked once"))
    return pieces.paragraph(_ONCE, "soft") + pieces.joined(made, "Not asked.")


def tests(home: Home) -> Markup:
    """Return the differences on the same questions."""
    found = rows(home, _TESTS)
    columns = ("contrast", "of", "tested", "measure", "difference", "p adjusted", "verdict", "items")
    made = []
    for title, own in pieces.by_world(found):
        body = [
            (f"{a} - {b}", held, _FAMILIES.get(family, family), measure, pieces.interval(*ends), pieces.shown(p),
             pieces.said(verdict, status), n)
            for _, _, family, held, measure, a, b, *ends, p, verdict, status, n in own
        ]  # fmt: skip
        every = own[0][1]
        some = len(body) < every
        told = (
            f"; of the primary ones the {len(body)} with the smallest p; all are in comparisons"
            if some
            else ""
        )
        made.append(
            pieces.folded(
                f"{title}: {every} tests{told}", pieces.table(columns, body, f"{title}: differences")
            )
        )
    said = "Questions are resampled with all their runs, alike on both sides; p by Holm over the pairs of a measure."
    nothing = "Tests need two models, two languages, or the question with leave to abstain."
    return pieces.paragraph(said, "soft") + pieces.joined(made, nothing)


PAPER: tuple[Exhibit, ...] = exhibits.PAPER
SECTIONS = (
    Section("Does a yes go with being right?", sensitivity),
    Section("Type-2 ROC and confidence", curves),
    Section("Asked once, with leave to abstain", asked_once),
    Section("Differences on the same questions", tests),
)


def _values(home: Home) -> dict[str, Values]:
    """Return title of a world → its values."""
    found = rows(
        home,
        "select source, model, condition, measure, estimate, low, high, n, method from estimates "
        "where benchmark = 'selfknowledge' order by source, model, condition",
    )
    made: dict[str, Values] = {}
    for source, model, condition, measure, *ends in found:
        made.setdefault(WORLDS[source], {}).setdefault((model, condition), {})[measure] = tuple(ends)
    return dict(sorted(made.items()))


def _interval(found: dict[str, Ends], name: str) -> object:
    return pieces.interval(*found[name][:3]) if name in found else None
