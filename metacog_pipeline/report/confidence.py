"""What confidence knows, by one rule for every benchmark, and whether the benchmarks agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any

from markupsafe import Markup

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.output import Stacked
from metacog_pipeline.report import maps, pieces, queries
from metacog_pipeline.report.figures import MOST_LINES, Drawn, Point, lines
from metacog_pipeline.report.pieces import WORLDS, Part

_MEASURES = {
    "harmonised_accuracy": "accuracy",
    "harmonised_ece": "ECE",
    "harmonised_brier": "Brier",
    "harmonised_auroc2": "AUROC2",
    "harmonised_eta_mafc": "eta",
    "harmonised_m_ratio_mafc": "M-ratio (m alternatives)",
}
_ABOUT_CALIBRATION = (
    "One rule for every benchmark that asks for a confidence per item: ECE over ten bins of equal width, Brier score, "
    "type-2 AUROC; eta and M-ratio where an answer was chosen among known alternatives. Risk is the share wrong among the "
    "surest answers. Intervals are over items; the table calibration has further measures."
)
_ABOUT_AGREEMENT = (
    "Spearman's rank correlation over models of measures of different benchmarks, turned so that more is better. "
    "Convergent: one trait, two benchmarks; discriminant: two traits, two benchmarks. The table in the leaderboard has "
    "the correlations corrected for noise too."
)
BINS = "share right in ten bins of equal width of the stated confidence, without intervals"
Use = Sequence[tuple[int, int, int]]  # (percent, n, n correct), percent 0..100


def parts(home: Home) -> Iterator[Part]:
    """Yield what the benchmarks have in common, and whether they agree."""
    if made := Markup().join(_calibration(home)):
        yield Part("confidence", "What confidence knows", pieces.paragraph(_ABOUT_CALIBRATION, "soft") + made)
    if made := Markup().join(agreement(home)):
        yield Part("agreement", "Do the benchmarks agree?", pieces.paragraph(_ABOUT_AGREEMENT, "soft") + made)


def reliability_line(use: Use, bins: int = 10) -> list[tuple[float, Point]]:
    """Return (mean confidence, share correct) of each of ``bins`` bins, (low, high], that was used."""
    counted = [[0, 0, 0] for _ in range(bins)]  # answers, those right, percent in all
    for percent, n, right in use:
        own = counted[max(0, (percent * bins + 99) // 100 - 1)]
        own[0] += n
        own[1] += right
        own[2] += percent * n
    return [(percents / (100 * n), Point(right / n)) for n, right, percents in counted if n]


def roc_line(use: Use) -> list[tuple[float, Point]]:
    """Return the type-2 ROC, (share of wrong, share of correct answers) above each confidence; empty without both kinds."""
    right = sum(correct for _, _, correct in use)
    wrong = sum(n - correct for _, n, correct in use)
    if not (right and wrong):
        return []
    line, hits, alarms = [(0.0, Point(0.0))], 0, 0
    for _, n, correct in sorted(use, reverse=True):
        hits, alarms = hits + correct, alarms + n - correct
        line.append((alarms / wrong, Point(hits / right)))
    return line


def _calibration(home: Home) -> Iterator[Markup]:
    asked = (queries.STATED, queries.RISK_COVERAGE, queries.RISK_ANSWERS)
    every = [queries.rows(home, query) for query in asked]
    stated, risks, answers = (
        {key: [row[3:] for row in own] for key, own in groupby(rows, key=lambda row: row[:3])}
        for rows in every
    )
    for key, group in groupby(queries.rows(home, queries.CALIBRATION), key=lambda row: row[:3]):
        source, benchmark, condition = key
        title = f"{WORLDS[source]}: {benchmark}, {condition}"
        by_model = {
            model: {row[4]: row[5:] for row in own} for model, own in groupby(group, key=lambda row: row[3])
        }
        drawn = _curves(stated.get(key, []), risks.get(key, []), title, answers.get(key, []))
        body = [(model, *(_cell(found.get(name)) for name in _MEASURES)) for model, found in by_model.items()]
        with pieces.told(benchmark=benchmark, condition=condition):
            drawn += pieces.table(("model", *_MEASURES.values()), body, title)
        yield pieces.folded(title, drawn)


def _curves(
    use: Sequence[tuple[Any, ...]],
    risks: Sequence[tuple[Any, ...]],
    title: str,
    answers: Sequence[tuple[Any, ...]],
) -> Markup:
    by_model = {
        model: [(int(percent), int(n), int(right)) for _, percent, n, right in own]
        for model, own in groupby(use, key=lambda row: row[0])
    }
    rest = f" The first {MOST_LINES} models; the table has all." if len(by_model) > MOST_LINES else ""
    made = []

    def answered(models: Iterable[str]) -> str:
        return pieces.counted(sum(each for _, each, _ in by_model[model]) for model in models)

    if by_model:
        reliability = {model: reliability_line(own) for model, own in islice(by_model.items(), MOST_LINES)}
        n = answered(reliability)
        drawn = lines(
            reliability, x="mean confidence", y="share correct", diagonal="as often right as stated"
        )
        made.append(pieces.figure(drawn, f"{title}: reliability.{rest}", n=n, method=BINS))
    every = ((model, line) for model, own in by_model.items() if (line := roc_line(own)))
    if roc := dict(islice(every, MOST_LINES)):
        drawn = lines(
            roc, x="share of wrong answers", y="share of correct answers", diagonal="chance", marks=False
        )
        said = "shares above every stated confidence, without intervals; areas are in the table"
        made.append(pieces.figure(drawn, f"{title}: type-2 ROC.{rest}", n=answered(roc), method=said))
    if risks:
        drawn = lines(
            {
                model: [(x, Point(y)) for _, x, y in own]
                for model, own in groupby(risks, key=lambda row: row[0])
            },
            x="coverage: share of answers kept, surest first",
            y="risk: share wrong among them",
            diagonal=None,
            marks=False,
        )
        said = "mean over the orders of equal confidences; 95 % intervals are in the table curves"
        shown = {model for model, *_ in risks}
        n = pieces.counted(n for model, n in answers if model in shown)
        made.append(pieces.figure(drawn, f"{title}: risk against coverage.{rest}", n=n, method=said))
    return pieces.grid(made)


def _cell(found: Sequence[Any] | None) -> object:
    if found is None:
        return None
    value, low, high, status = found
    if not isinstance(value, float):
        return Stacked(f"N/A\n{status}")
    return Stacked(f"{value:.3f}\n{pieces.ends(low, high) or status}")


def agreement(home: Home) -> Iterator[Markup]:
    """Yield how far measures of different benchmarks order the models of a world alike."""
    for source, group in groupby(queries.rows(home, queries.CORRELATIONS), key=lambda row: row[0]):
        own, title = list(group), WORLDS[source]
        if warned := max((row for row in own if row[8]), key=lambda row: row[4], default=None):
            yield pieces.paragraph(f"{title}, at best: {warned[8]}.")
        if any(isinstance(row[5], float) for row in own):
            n = pieces.counted((row[4] for row in own), "models")
            said = (
                "Spearman's correlation; columns are numbered as rows are; blue: the same order, red: the opposite, empty: "
                "no value; intervals are in the table below"
            )
            yield pieces.figure(
                _matrix(own), f"{title}: rank correlations between benchmarks.", n=n, method=said
            )
        columns = ("kind", "measure", "with", "models", "Spearman", "95 % interval")
        body = [
            (
                *(row[1], pieces.named(row[2], benchmark=row[9]), pieces.named(row[3], benchmark=row[10])),
                *(pieces.leading(value, benchmark=row[9], ours=True) for value in (row[4], _two(row[5]))),
                pieces.ends(row[6], row[7], 2),
            )
            for row in own
        ]
        yield pieces.folded(f"{title}: every pair", pieces.table(columns, body, "Pairs of measures"))


def _matrix(rows: Sequence[tuple[Any, ...]]) -> Drawn:
    value = {(row[2], row[3]): row[5] for row in rows}
    names = sorted({name for pair in value for name in pair})
    cells = [
        (
            f"{place + 1} {name.replace('harmonised_', '')}",  # names are cut where they are long
            [pieces.number(value.get((name, other), value.get((other, name)))) for other in names],
        )
        for place, name in enumerate(names)
    ]
    return maps.heat_map(
        cells, columns=[str(place + 1) for place in range(len(names))], name="Rank correlations"
    )


def _two(value: object) -> object:
    return f"{value:.2f}" if isinstance(value, float) else None
