"""What confidence knows, by one rule for every benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any

from markupsafe import Markup

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.output import Stacked
from metacog_pipeline.report import pieces, queries
from metacog_pipeline.report.figures import MOST_LINES, Point, lines
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
    "type-2 AUROC; eta and M-ratio where an answer was chosen among known alternatives. "
    "Intervals are over items; the table calibration has further measures."
)
BINS = "share right in ten bins of equal width of the stated confidence, without intervals"
# (percent, n, n correct), percent 0..100
Use = Sequence[tuple[int, int, int]]


def parts(home: Home) -> Iterator[Part]:
    """Yield what the benchmarks have in common."""
    if made := Markup().join(_calibration(home)):
        yield Part("confidence", "What confidence knows", pieces.paragraph(_ABOUT_CALIBRATION, "soft") + made)


def reliability_line(use: Use, bins: int = 10) -> list[tuple[float, Point]]:
    """Return (mean confidence, share correct) of each of ``bins`` bins, (low, high], that was used."""
    # answers, those right, percent in all
    counted = [[0, 0, 0] for _ in range(bins)]
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
    stated = {
        key: [row[3:] for row in own]
        for key, own in groupby(queries.rows(home, queries.STATED), key=lambda row: row[:3])
    }
    for key, group in groupby(queries.rows(home, queries.CALIBRATION), key=lambda row: row[:3]):
        source, benchmark, condition = key
        title = f"{WORLDS[source]}: {benchmark}, {condition}"
        by_model = {
            model: {row[4]: row[5:] for row in own} for model, own in groupby(group, key=lambda row: row[3])
        }
        drawn = _curves(stated.get(key, []), title)
        body = [(model, *(_cell(found.get(name)) for name in _MEASURES)) for model, found in by_model.items()]
        with pieces.told(benchmark=benchmark, condition=condition):
            drawn += pieces.table(("model", *_MEASURES.values()), body, title)
        yield pieces.folded(title, drawn)


def _curves(use: Sequence[tuple[Any, ...]], title: str) -> Markup:
    by_model = {
        model: [(int(percent), int(n), int(right)) for _, percent, n, right in own]
        for model, own in groupby(use, key=lambda row: row[0])
    }
    rest = f" (the first {MOST_LINES} models, the table has all)" if len(by_model) > MOST_LINES else ""
    made = []

    def answered(models: Iterable[str]) -> str:
        return pieces.counted(sum(each for _, each, _ in by_model[model]) for model in models)

    if by_model:
        reliability = {model: reliability_line(own) for model, own in islice(by_model.items(), MOST_LINES)}
        n = answered(reliability)
        drawn = lines(
            reliability, x="mean confidence", y="share correct", diagonal="as often right as stated"
        )
        made.append(pieces.figure(drawn, f"{title}: reliability{rest}", n=n, method=BINS))
    every = ((model, line) for model, own in by_model.items() if (line := roc_line(own)))
    if roc := dict(islice(every, MOST_LINES)):
        drawn = lines(
            roc, x="share of wrong answers", y="share of correct answers", diagonal="chance", marks=False
        )
        said = "shares above every stated confidence, without intervals; areas are in the table"
        made.append(pieces.figure(drawn, f"{title}: type-2 ROC{rest}", n=answered(roc), method=said))
    return pieces.grid(made)


def _cell(found: Sequence[Any] | None) -> object:
    if found is None:
        return None
    value, low, high, status = found
    if not isinstance(value, float):
        return Stacked(f"N/A\n{status}")
    return Stacked(f"{value:.3f}\n{pieces.ends(low, high) or status}")
