"""MetaMedQA in the report: accuracy by confidence, the recalls, what the prompt changes, the printed numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from metacog_pipeline.benchmark.contract import Section
from metacog_pipeline.benchmarks.metamedqa import exhibits
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.output import Stacked, fixed
from metacog_pipeline.report import pieces
from metacog_pipeline.report.figures import MOST_LINES, MOST_ROWS, Point, ladder, lines
from metacog_pipeline.report.pieces import WORLDS
from metacog_pipeline.report.queries import rows

_WILSON = "95 % intervals: Wilson"
_SCALE = (1, 2, 3, 4, 5)
_APART = 0.28  # how far around its level the models of one level stand beside each other
_RECALLS = {
    "accuracy": "all questions",
    "missing_answer_recall": '"none of the above"',
    "unknown_recall": '"I don\'t know or cannot answer"',
}
_BASELINE = "baseline"
_CONFIDENCE = (
    "Who knows what it knows is right more often the surer it is: the line rises along the dashed one, which reads "
    "confidence 1 as never and 5 as always right. Intervals are Wilson's, over answers of all runs."
)
_RECALL = (
    "How often the key is found: over all questions, where no listed answer is right, and where the question cannot be "
    "answered. Who chooses the last two letters for everything recalls them too: the board shows how often E is chosen."
)
_PROMPTS = (
    "Accuracy and recalls under each system message minus those under none, on the same items. Intervals by resampling "
    "items; p by Holm over the pairs of a measure."
)


def confidence(home: Home) -> Markup:
    """Return the share correct at each confidence."""
    found = rows(
        home,
        "select source, condition, model, position, y, low, high, n from curves where benchmark = 'metamedqa' "
        "and curve = 'reliability' order by source, condition <> 'baseline', condition, model, position",
    )
    made = []
    for (source, condition), group in groupby(found, key=lambda row: row[:2]):
        title = f"{WORLDS[source]}: {condition}"
        series: dict[str, list[tuple[float, Point]]] = {}
        cells: dict[str, dict[int, object]] = {}
        counts = Counter[str]()
        for _, _, model, level, value, low, high, n in group:
            counts[model] += n
            if (point := pieces.point(value, low, high)) is not None:
                series.setdefault(model, []).append((level, point))
            cells.setdefault(model, {})[level] = _used(value, low, high, n)
        rest = f" The first {MOST_LINES} models; the table has all." if len(series) > MOST_LINES else ""
        answers = pieces.counted(counts[model] for model in list(series)[:MOST_LINES])
        drawn = lines(
            series,
            x="stated confidence",
            y="share correct",
            diagonal="as often right as stated",
            span=(_SCALE[0], _SCALE[-1]),
            apart=_APART,
        )
        columns = ("model", *(f"confidence {level}" for level in _SCALE))
        used = [(model, *(own.get(level) for level in _SCALE)) for model, own in cells.items()]
        caption = f"{title}: share correct at each confidence.{rest}"
        body = pieces.figure(drawn, caption, n=answers, method=_WILSON) + pieces.table(
            columns, used, f"{title}: share correct; answers below"
        )
        made.append(body if condition == _BASELINE else pieces.folded(title, body))
    return pieces.paragraph(_CONFIDENCE, "soft") + pieces.joined(made, "No answers yet.")


def recall(home: Home) -> Markup:
    """Return how often the key is found where there is an answer, and where there is none."""
    found = rows(
        home,
        "select source, condition, model, measure, estimate, low, high, n from leaderboard where benchmark = 'metamedqa' "
        "and measure in ('accuracy', 'missing_answer_recall', 'unknown_recall') "
        "order by source, condition <> 'baseline', condition, model",
    )
    made = []
    for (source, condition), group in groupby(found, key=lambda row: row[:2]):
        title = f"{WORLDS[source]}: {condition}"
        own_rows = list(group)
        points = _by_model(row[2:7] for row in own_rows)
        if not points:
            continue
        named = [
            (model, {_RECALLS[name]: each for name, each in own.items()}) for model, own in points.items()
        ]
        drawn = ladder(named, steps=list(_RECALLS.values()), x="share answered as keyed", apart=0.2)
        cells = [(model, *(_ends(own.get(name)) for name in _RECALLS)) for model, own in points.items()]
        n = pieces.counted((row[7] for row in own_rows), "questions of a kind")
        drawn_ = pieces.figure(drawn, f"{title}: recall{_rest(points)}.", n=n, method=_WILSON)
        body = drawn_ + pieces.table(("model", *_RECALLS.values()), cells, f"{title}: share found")
        made.append(body if condition == _BASELINE else pieces.folded(title, body))
    return pieces.paragraph(_RECALL, "soft") + pieces.joined(made, "No answers yet.")


def prompts(home: Home) -> Markup:
    """Return what each system message changes, and what is printed of it."""
    found = rows(
        home,
        "select source, measure, model, a, b, value, low, high, p_adjusted, n, status from comparisons "
        "where benchmark = 'metamedqa' and family = 'paired_conditions' order by source, measure, model, a, b",
    )
    columns = ("model", "contrast", "difference", "p adjusted", "stars", "items", "note")
    figures, tables = [], []
    for (source, measure), group in groupby(found, key=lambda row: row[:2]):
        own = [row[2:] for row in group]
        title = f"{WORLDS[source]}: {_RECALLS.get(measure, pieces.said(measure))}"
        points = _by_model((model, a, *ends) for model, a, _, *ends, _, _, _ in own)
        if points:
            steps = list(dict.fromkeys(row[1] for row in own))
            drawn = ladder(list(points.items()), steps=steps, x="change against no message")
            n = pieces.counted((row[7] for row in own), "items")
            said = "95 % intervals by resampling items"
            figures.append(pieces.figure(drawn, f"{title}, change{_rest(points)}.", n=n, method=said))
        body = [
            (model, f"{a} - {b}", pieces.interval(*ends), pieces.p_value(p), pieces.stars(p), n,
             "" if status == "ok" else status)
            for model, a, b, *ends, p, n, status in own
        ]  # fmt: skip
        tables.append(pieces.folded(f"{title}: {len(body)} tests", pieces.table(columns, body, title)))
    made = pieces.joined([pieces.grid(figures), *tables], "Asked under one system message only.")
    return pieces.paragraph(_PROMPTS, "soft") + made + _starred(home)


PAPER = exhibits.PAPER
SECTIONS = (
    Section("Accuracy by confidence", confidence),
    Section("Recall of what has no answer", recall),
    Section("What the system message changes", prompts),
)


def _starred(home: Home) -> Markup:
    """Return what the paper prints of prompts: its table 4, with its marks."""
    found = rows(
        home,
        "select condition, model, measure, value, regexp_extract(note, 'printed mark ([*]+)', 1) "
        "from published_values where benchmark = 'metamedqa' and place = 'table 4' and value is not null "
        "order by condition <> 'baseline', condition, measure",
    )
    if not found:
        return Markup()
    measures = list(dict.fromkeys(row[2] for row in found))
    body = []
    for (condition, model), group in groupby(found, key=lambda row: row[:2]):
        values = {row[2]: Stacked(f"{fixed(row[3], 3)} {row[4] or ''}".strip()) for row in group}
        body.append((condition, model, *(values.get(name) for name in measures)))
    said = (
        "Printed in table 4; *: p < 0.05, **: < 0.01, ***: < 0.001, ****: < 0.0001 against no system message."
    )
    columns = ("system message", "model", *map(pieces.said, measures))
    return pieces.folded(
        "The same as printed", pieces.paragraph(said, "soft") + pieces.table(columns, body, "Table 4")
    )


def _by_model(found: Any) -> dict[str, dict[str, Point]]:
    """Return model → name → value, from rows of model, name, value, low, high."""
    made: dict[str, dict[str, Point]] = {}
    for model, name, *ends in found:
        if (point := pieces.point(*ends)) is not None:
            made.setdefault(model, {})[name] = point
    return made


def _rest(rows_: Mapping[str, object] | Sequence[object]) -> str:
    return (
        f"; the first {MOST_ROWS} in the order of the table, which has all" if len(rows_) > MOST_ROWS else ""
    )


def _ends(point: Point | None) -> object:
    return None if point is None else pieces.interval(point.value, point.low, point.high)


def _used(value: object, low: object, high: object, n: int) -> object:
    if not isinstance(value, float):
        return None
    ends = pieces.ends(low, high, 2)
    return Stacked(f"{fixed(value, 3)}\n{f'{ends}; ' if ends else ''}n {n}")
