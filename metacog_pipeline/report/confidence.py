"""What confidence knows, by one rule for every benchmark, and whether the benchmarks agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from metacog_pipeline.leaderboard.output import Stacked
from metacog_pipeline.report import maps, queries
from metacog_pipeline.report.figures import MOST_LINES, Point, lines
from metacog_pipeline.report.pieces import WORLDS, Part, ends, figure, folded, grid, number, paragraph, table

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
    "type-2 AUROC; eta and M-ratio where an answer was chosen among known alternatives. Intervals are over items."
)
_ABOUT_AGREEMENT = (
    "Spearman's rank correlation over models of measures of different benchmarks, turned so that more is better. "
    "Convergent: one trait, two benchmarks; discriminant: two traits, two benchmarks. The table in the leaderboard has "
    "the correlations corrected for noise too."
)
Use = Sequence[tuple[int, int, int]]  # (percent, n, n correct), percent 0..100


def parts(home: Path) -> Iterator[Part]:
    """Yield what the benchmarks have in common, and whether they agree."""
    if made := Markup().join(_calibration(home)):
        yield Part("confidence", "What confidence knows", paragraph(_ABOUT_CALIBRATION, "soft") + made)
    if made := Markup().join(_agreement(home)):
        yield Part("agreement", "Do the benchmarks agree?", paragraph(_ABOUT_AGREEMENT, "soft") + made)


def reliability_line(use: Use, bins: int = 10) -> list[tuple[float, Point]]:
    """Return (mean confidence, share correct) of each of ``bins`` bins, (low, high], that was used."""
    found = []
    for place in range(bins):
        inside = [each for each in use if max(0, (each[0] * bins + 99) // 100 - 1) == place]
        if count := sum(n for _, n, _ in inside):
            mean = sum(percent * n for percent, n, _ in inside) / (100 * count)
            found.append((mean, Point(sum(right for _, _, right in inside) / count)))
    return found


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


def _calibration(home: Path) -> Iterator[Markup]:
    stated = queries.rows(home, queries.STATED)
    for key, group in groupby(queries.rows(home, queries.CALIBRATION), key=lambda row: row[:3]):
        source, benchmark, condition = key
        title = f"{WORLDS[source]}: {benchmark}, {condition}"
        body = []
        for model, own in groupby(group, key=lambda row: row[3]):
            by_measure = {row[4]: row[5:] for row in own}
            body.append((model, *(_cell(by_measure.get(name)) for name in _MEASURES)))
        drawn = _curves([row[3:] for row in stated if row[:3] == key], title)
        yield folded(title, drawn + table(("model", *_MEASURES.values()), body, title))


def _curves(use: Sequence[tuple[Any, ...]], title: str) -> Markup:
    by_model = {
        model: [(int(percent), int(n), int(right)) for _, percent, n, right in own]
        for model, own in groupby(use, key=lambda row: row[0])
    }
    rest = f" The first {MOST_LINES} models; the table has all." if len(by_model) > MOST_LINES else ""
    made = []
    if by_model:
        reliability = {model: reliability_line(own) for model, own in by_model.items()}
        drawn = lines(
            reliability, x="mean confidence", y="share correct", diagonal="as often right as stated"
        )
        made.append(figure(drawn, f"{title}: reliability.{rest}"))
    if roc := {model: line for model, own in by_model.items() if (line := roc_line(own))}:
        drawn = lines(
            roc, x="share of wrong answers", y="share of correct answers", diagonal="chance", marks=False
        )
        made.append(figure(drawn, f"{title}: type-2 ROC.{rest}"))
    return grid(made)


def _cell(found: Sequence[Any] | None) -> object:
    if found is None:
        return None
    value, low, high, status = found
    if not isinstance(value, float):
        return Stacked(f"N/A\n{status}")
    return Stacked(f"{value:.3f}\n{ends(low, high) or status}")


def _agreement(home: Path) -> Iterator[Markup]:
    for source, group in groupby(queries.rows(home, queries.CORRELATIONS), key=lambda row: row[0]):
        own, title = list(group), WORLDS[source]
        if warned := max((row for row in own if row[8]), key=lambda row: row[4], default=None):
            yield paragraph(f"{title}, at best: {warned[8]}.")
        if any(isinstance(row[5], float) for row in own):
            yield figure(_matrix(own), f"{title}: rank correlations between benchmarks.")
        columns = ("kind", "measure", "with", "models", "Spearman", "95 % interval")
        body = [(*row[1:5], _two(row[5]), ends(row[6], row[7], 2)) for row in own]
        yield folded(f"{title}: every pair", table(columns, body, "Pairs of measures"))


def _matrix(rows: Sequence[tuple[Any, ...]]) -> str:
    value = {(row[2], row[3]): row[5] for row in rows}
    names = sorted({name for pair in value for name in pair})
    cells = [
        (
            f"{place + 1} {name}",
            [number(value.get((name, other), value.get((other, name)))) for other in names],
        )
        for place, name in enumerate(names)
    ]
    return maps.heat_map(
        cells, columns=[str(place + 1) for place in range(len(names))], name="Rank correlations"
    )


def _two(value: object) -> object:
    return f"{value:.2f}" if isinstance(value, float) else None
