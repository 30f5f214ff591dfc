"""MetaMedQA in the report: accuracy by confidence, the recalls, what the prompt changes, the printed numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from metacog_pipeline.leaderboard.output import Stacked, fixed
from metacog_pipeline.leaderboard.read import Rows, read_table
from metacog_pipeline.report.figures import Point, ladder
from metacog_pipeline.report.html import Part, figure, folded, paragraph, table
from metacog_pipeline.report.levels import MOST_LINES, levels

_WORLDS = {
    "measured": "Models",
    "simulated": "Simulated observers",
    "published": "Published models, as printed",
}
_SCALE = (1, 2, 3, 4, 5)
_RECALLS = {
    "accuracy": "all questions",
    "missing_answer_recall": '"none of the above"',
    "unknown_recall": '"I don\'t know or cannot answer"',
}
_BASELINE = "baseline"
_MOST_ROWS = 40  # of a figure; the table has all
_FEW = f"the first {_MOST_ROWS} in the order of the table, which has all"
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


def parts(home: Path) -> Iterator[Part]:
    """Yield the parts of the page about MetaMedQA, from the leaderboard of ``home``."""
    yield Part("metamedqa-confidence", "Accuracy by confidence", _confidence(home))
    yield Part("metamedqa-recall", "Recall of what has no answer", _recall(home))
    yield Part("metamedqa-prompts", "What the system message changes", _prompts(home))
    yield Part("metamedqa-published", "Printed numbers against their own counts", _published(home))


def _confidence(home: Path) -> str:
    found = read_table(
        home,
        "select source, condition, model, confidence, accuracy, low, high, n from metamedqa_confidence "
        "order by source, condition <> 'baseline', condition, model, confidence",
    ).rows
    made = []
    for (source, condition), group in groupby(found, key=lambda row: row[:2]):
        title = f"{_WORLDS[str(source)]}: {condition}"
        lines: dict[str, list[tuple[int, Point]]] = {}
        cells: dict[str, list[object]] = {}
        for _, _, model, level, value, low, high, n in group:
            if (point := _point(value, low, high)) is not None:
                lines.setdefault(str(model), []).append((int(str(level)), point))
            cells.setdefault(str(model), [model]).append(_used(value, low, high, n))
        if not lines:
            continue
        rest = f" The first {MOST_LINES} models; the table has all." if len(lines) > MOST_LINES else ""
        drawn = figure(
            levels(lines, x="stated confidence", y="share correct", line="as often right as stated"),
            f"{title}: share correct at each confidence.{rest}",
        )
        columns = ("model", *(f"confidence {level}" for level in _SCALE))
        whole = table(
            Rows(columns, tuple(map(tuple, cells.values()))), f"{title}: share correct; answers below"
        )
        made.append(_open_or_folded(title, drawn + whole, condition == _BASELINE))
    return paragraph(_CONFIDENCE, "soft") + ("".join(made) or paragraph("No answers yet."))


def _recall(home: Path) -> str:
    found = read_table(
        home,
        "select source, condition, model, measure, estimate, low, high, n from board where benchmark = 'metamedqa' "
        "and measure in ('accuracy', 'missing_answer_recall', 'unknown_recall') "
        "order by source, condition <> 'baseline', condition, model",
    ).rows
    made = []
    for (source, condition), group in groupby(found, key=lambda row: row[:2]):
        title = f"{_WORLDS[str(source)]}: {condition}"
        rows: dict[str, dict[str, Point]] = {}
        for _, _, model, measure, *ends, _ in group:
            if (point := _point(*ends)) is not None:
                rows.setdefault(str(model), {})[str(measure)] = point
        if not rows:
            continue
        body = tuple((model, *(_interval(own.get(name)) for name in _RECALLS)) for model, own in rows.items())
        whole = table(Rows(("model", *_RECALLS.values()), body), f"{title}: share found")
        drawn = ladder(
            [
                (model, {_RECALLS[name]: point for name, point in own.items()})
                for model, own in list(rows.items())[:_MOST_ROWS]
            ],
            steps=list(_RECALLS.values()),
            x="share answered as keyed",
            apart=0.2,
        )
        rest = f"; {_FEW}" if len(rows) > _MOST_ROWS else ""
        shown = figure(drawn, f"{title}: recall with 95 % intervals{rest}.") + whole
        made.append(_open_or_folded(title, shown, condition == _BASELINE))
    return paragraph(_RECALL, "soft") + ("".join(made) or paragraph("No answers yet."))


def _prompts(home: Path) -> str:
    found = read_table(
        home,
        "select source, measure, model, a, b, difference, low, high, p_adjusted, stars, n, status "
        "from metamedqa_comparisons where family = 'paired_conditions' order by source, measure, model, a, b",
    ).rows
    figures, made = [], []
    for (source, measure), group in groupby(found, key=lambda row: row[:2]):
        own = list(group)
        name = _RECALLS.get(str(measure), str(measure).replace("_", " "))
        title = f"{_WORLDS[str(source)]}: {name}"
        rows: dict[str, dict[str, Point]] = {}
        for _, _, model, a, _, *ends in own:
            if (point := _point(*ends[:3])) is not None:
                rows.setdefault(str(model), {})[str(a)] = point
        if rows:
            steps = list(dict.fromkeys(str(row[3]) for row in own))
            drawn = ladder(
                list(rows.items())[:_MOST_ROWS],
                steps=steps,
                x="change against no message",
            )
            rest = f"; {_FEW}" if len(rows) > _MOST_ROWS else ""
            figures.append(figure(drawn, f"{title}, change with its 95 % interval{rest}."))
        columns = ("model", "contrast", "difference", "p adjusted", "stars", "items", "note")
        body = tuple(
            (row[2], f"{row[3]} - {row[4]}", _interval(_point(*row[5:8])), _p(row[8]), row[9] or "", row[10],
             "" if row[11] == "ok" else row[11])
            for row in own
        )  # fmt: skip
        made.append(folded(f"{title}: {len(body)} tests", table(Rows(columns, body), title)))
    nothing = paragraph("Asked under one system message only.")
    grid = f'<div class="figures">{"".join(figures)}</div>' if figures else ""
    return paragraph(_PROMPTS, "soft") + (grid + "".join(made) or nothing) + _stars(home)


def _stars(home: Path) -> str:
    """Return what the paper prints of prompts: its table 4, with its marks."""
    found = read_table(
        home,
        "select condition, model, measure, value, stars from published_metamedqa where place = 'table 4' "
        "order by condition <> 'baseline', condition, measure",
    ).rows
    measures = list(dict.fromkeys(str(row[2]) for row in found))
    rows = []
    for (condition, model), group in groupby(found, key=lambda row: row[:2]):
        values = {str(row[2]): row[3:] for row in group}
        rows.append((condition, model, *(_starred(values.get(name)) for name in measures)))
    if not rows:
        return ""
    columns = ("system message", "model", *(name.replace("_", " ") for name in measures))
    said = (
        "Printed in table 4; *: p < 0.05, **: < 0.01, ***: < 0.001, ****: < 0.0001 against no system message."
    )
    return folded(
        "The same as printed", paragraph(said, "soft") + table(Rows(columns, tuple(rows)), "Table 4")
    )


def _published(home: Path) -> str:
    found = read_table(
        home,
        "select claim, topic, subject, stated, recomputed, verdict, explanation from published_checks_metamedqa "
        "order by topic, claim",
    ).rows
    if not found:
        return paragraph("The printed numbers are not checked yet.", "soft")
    columns = ("claim", "about", "printed", "computed", "verdict", "why")

    def rows(only: str | None) -> Rows:
        kept = (row for row in found if only is None or row[5] == only)
        return Rows(columns, tuple((row[2], row[1], *row[3:6], row[6] or "") for row in kept))

    holds = sum(str(row[5]).startswith("holds") for row in found)
    return (
        paragraph(
            "Printed in Large Language Models lack essential metacognition for reliable medical reasoning "
            f"(doi:10.1038/s41467-024-55628-6): {holds} of {len(found)} statements hold against counts that fit the "
            "printed figures. Single answers are not published."
        )
        + table(rows("does not hold"), "What does not hold")
        + folded("All checks", table(rows(None), "All checks"))
    )


def _open_or_folded(title: str, body: str, is_open: bool) -> str:
    return body if is_open else folded(title, body)


def _point(value: object, low: object = None, high: object = None) -> Point | None:
    if not isinstance(value, float):
        return None
    return Point(value, low if isinstance(low, float) else None, high if isinstance(high, float) else None)


def _interval(point: Point | None) -> object:
    if point is None:
        return None
    if point.low is None or point.high is None:
        return Stacked(fixed(point.value, 3))
    return Stacked(f"{fixed(point.value, 3)}\n{fixed(point.low, 3)} to {fixed(point.high, 3)}")


def _used(value: object, low: object, high: object, n: object) -> object:
    if not isinstance(value, float):
        return None
    ends = (
        f"{fixed(low, 2)} to {fixed(high, 2)}; " if isinstance(low, float) and isinstance(high, float) else ""
    )
    return Stacked(f"{fixed(value, 3)}\n{ends}n {n}")


def _p(value: object) -> object:
    if not isinstance(value, float):
        return None
    return Stacked("<0.0001" if value < 1e-4 else fixed(value, 4))


def _starred(found: Sequence[object] | None) -> object:
    if found is None or not isinstance(found[0], float):
        return None
    return Stacked(f"{fixed(found[0], 3)} {found[1] or ''}".strip())
