"""The page's answer at a glance: which model knows what it does not know, how sure are we, what did it cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from metacog_pipeline.leaderboard.output import Stacked
from metacog_pipeline.leaderboard.read import Rows, read_table
from metacog_pipeline.report.curves import MOST_LINES, curves, reliability_line, roc_line
from metacog_pipeline.report.html import Part, figure, folded, paragraph, table
from metacog_pipeline.report.more_figures import heat_map

_WORLDS = {"measured": "Models", "simulated": "Simulated observers"}
_HEADLINES = {
    "metamedqa": "MetaMedQA accuracy",
    "signaldetection": "M-ratio",
    "medley": "MEDLEY MMS",
    "metacogbench": "MetaCog overall",
    "selfknowledge": "d′type2",
}
_ALIKE = ("accuracy", "ece", "brier", "auroc2", "meta_d", "m_ratio")
_TITLES = {"ece": "ECE", "brier": "Brier", "auroc2": "AUROC2", "meta_d": "meta-d′", "m_ratio": "M-ratio"}
_MOST_NAMED = 8  # models in the sentence that opens the page
_ABOUT_ALIKE = (
    "One rule for every benchmark that asks for a confidence per item: ECE over ten bins of equal width, Brier score, "
    "type-2 AUROC, meta-d′ of the two-alternative equivalent. Intervals are over items. More: table confidence_alike."
)
_ABOUT_AGREEMENT = (
    "Spearman's rank correlation over models of measures of different benchmarks, turned so that more is better. "
    "Convergent: one trait, two benchmarks; discriminant: two traits, two benchmarks. More, with the correlations "
    "corrected for noise: table convergent_validity."
)


def glance(home: Path) -> Iterator[Part]:
    """Yield the first part of the page: one line per model, and what to mind about them."""
    made = [*_who_knows(home), *_profiles(home), *_drift(home)]
    if made:
        yield Part("glance", "At a glance", "".join(made))


def parts(home: Path) -> Iterator[Part]:
    """Yield what the benchmarks have in common, and whether they agree."""
    if alike := "".join(_alike(home)):
        yield Part("confidence", "What confidence knows", paragraph(_ABOUT_ALIKE, "soft") + alike)
    if agreement := "".join(_agreement(home)):
        yield Part("agreement", "Do the benchmarks agree?", paragraph(_ABOUT_AGREEMENT, "soft") + agreement)


def _who_knows(home: Path) -> Iterator[str]:
    """Yield one sentence per kind of respondent: whose confidence tells right from wrong answers, best first.

    Means are over the conditions in which every one of them has a value, so that nobody is judged by easier questions.
    """
    found = read_table(
        home,
        "select source, benchmark || ' ' || condition, model, estimate from confidence_alike where measure = 'auroc2'",
    ).rows
    for world, title in _WORLDS.items():
        values = {(str(cell), str(model)): value for source, cell, model, value in found if source == world}
        models = sorted({model for _, model in values})
        cells = sorted({cell for cell, _ in values})
        shared = [
            cell for cell in cells if all(isinstance(values.get((cell, model)), float) for model in models)
        ]
        if not shared or len(models) < 2:
            continue
        means = {
            model: sum(float(str(values[cell, model])) for cell in shared) / len(shared) for model in models
        }
        ranked = sorted(means, key=lambda model: -means[model])
        listed = ", ".join(f"{model} {means[model]:.2f}" for model in ranked[:_MOST_NAMED])
        more = f" and {len(ranked) - _MOST_NAMED} more" if len(ranked) > _MOST_NAMED else ""
        yield paragraph(
            f"{title}: whose confidence tells right from wrong? {listed}{more} (type-2 AUROC, mean of {len(shared)} "
            f"{'condition' if len(shared) == 1 else 'conditions'} all of them have; 0.5 says nothing, 1 everything; "
            "intervals below)."
        )


def _profiles(home: Path) -> Iterator[str]:
    found = read_table(home, "from profile")
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    for world, title in _WORLDS.items():
        own = [row for row in rows if row["source"] == world]
        asked = [name for name in _HEADLINES if any(row[name] is not None for row in own)]
        if not asked:
            continue
        body = tuple(
            (row["model"], *(_headline(row, name) for name in asked), _dollars(row["cost_usd"]))
            for row in own
        )
        columns = ("model", *(_HEADLINES[name] for name in asked), "paid")
        yield table(
            Rows(columns, body),
            f"{title}: below each value its 95 % interval and the percentile among its like",
        )


def _headline(row: dict[str, object], name: str) -> object:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if not isinstance(value, float):
        return None
    below = (
        [f"{low:.3f} to {high:.3f}"]
        if isinstance(low, float) and isinstance(high, float)
        else ["no interval"]
    )
    percentile, coverage = row[f"{name}_percentile"], row[f"{name}_coverage"]
    if isinstance(percentile, float):
        below.append(f"percentile {percentile:.0f}")
    if isinstance(coverage, float) and coverage < 0.995:
        below.append(f"coverage {coverage:.0%}")
    return Stacked(f"{value:.3f}\n{'; '.join(below)}")


def _dollars(value: object) -> object:
    return Stacked(f"${value:.2f}") if isinstance(value, float) else None


def _drift(home: Path) -> Iterator[str]:
    found = read_table(
        home,
        "select model, benchmark, sign, earlier, later, n, changed from drift where flagged order by all",
    )
    if found.rows:
        yield paragraph("Under these names the model seems to have changed while it was being asked:")
        yield table(found, "Signs of drift")


def _alike(home: Path) -> Iterator[str]:
    values = read_table(
        home,
        "select source, benchmark, condition, model, measure, estimate, low, high, status from confidence_alike "
        "order by source, benchmark, condition, model",
    ).rows
    use = read_table(
        home,
        "select source, benchmark, condition, model, percent, n, n_correct from confidence_use "
        "order by source, benchmark, condition, model, percent",
    ).rows
    for (source, benchmark, condition), group in groupby(values, key=lambda row: row[:3]):
        title = f"{_WORLDS[str(source)]}: {benchmark}, {condition}"
        body = []
        for model, own in groupby(group, key=lambda row: row[3]):
            by_measure = {row[4]: row[5:] for row in own}
            body.append((model, *(_cell(by_measure.get(name)) for name in _ALIKE)))
        columns = ("model", *(_TITLES.get(name, name) for name in _ALIKE))
        drawn = _curves([row[3:] for row in use if row[:3] == (source, benchmark, condition)], title)
        yield folded(title, drawn + table(Rows(columns, tuple(body)), title))


def _curves(use: Sequence[tuple[object, ...]], title: str) -> str:
    by_model = {
        str(model): [(int(str(percent)), int(str(n)), int(str(right))) for _, percent, n, right in own]
        for model, own in groupby(use, key=lambda row: row[0])
    }
    lines = {model: reliability_line(own) for model, own in by_model.items()}
    roc = {model: line for model, own in by_model.items() if (line := roc_line(own))}
    made = []
    rest = f" The first {MOST_LINES} models; the table has all." if len(by_model) > MOST_LINES else ""
    if lines:
        drawn = curves(
            lines, x="mean confidence", y="share correct", diagonal="as often right as stated", marks=True
        )
        made.append(figure(drawn, f"{title}: reliability.{rest}"))
    if roc:
        drawn = curves(
            roc, x="share of wrong answers", y="share of correct answers", diagonal="chance", marks=False
        )
        made.append(figure(drawn, f"{title}: type-2 ROC.{rest}"))
    return f'<div class="figures">{"".join(made)}</div>'


def _cell(found: Sequence[object] | None) -> object:
    if found is None:
        return None
    value, low, high, status = found
    if not isinstance(value, float):
        return Stacked(f"N/A\n{status}")
    interval = (
        f"{low:.3f} to {high:.3f}" if isinstance(low, float) and isinstance(high, float) else str(status)
    )
    return Stacked(f"{value:.3f}\n{interval}")


def _agreement(home: Path) -> Iterator[str]:
    found = read_table(
        home,
        "select source, kind, a, b, n_models, spearman, low, high, warning from convergent_validity "
        "where kind <> 'method' order by source, kind, a, b",
    ).rows
    for source, group in groupby(found, key=lambda row: row[0]):
        own = list(group)
        if warned := max((row for row in own if row[8]), key=lambda row: int(str(row[4])), default=None):
            yield paragraph(f"{_WORLDS[str(source)]}, at best: {warned[8]}.")
        if any(isinstance(row[5], float) for row in own):
            yield figure(_matrix(own), f"{_WORLDS[str(source)]}: rank correlations between benchmarks.")
        columns = ("kind", "measure", "with", "models", "Spearman", "95 % interval")
        body = tuple((row[1], row[2], row[3], row[4], _digits(row[5]), _ends(row[6], row[7])) for row in own)
        yield folded(f"{_WORLDS[str(source)]}: every pair", table(Rows(columns, body), "Pairs of measures"))


def _matrix(rows: Sequence[tuple[object, ...]]) -> str:
    value = {(str(row[2]), str(row[3])): row[5] for row in rows}
    names = sorted({name for pair in value for name in pair})
    cells = [
        (
            f"{place + 1} {name}",
            [_known(value.get((name, other), value.get((other, name)))) for other in names],
        )
        for place, name in enumerate(names)
    ]
    return heat_map(cells, columns=[str(place + 1) for place in range(len(names))], name="Rank correlations")


def _known(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _digits(value: object) -> object:
    return f"{value:.2f}" if isinstance(value, float) else None


def _ends(low: object, high: object) -> object:
    return f"{low:.2f} to {high:.2f}" if isinstance(low, float) and isinstance(high, float) else None
