"""The tables and figures of the MetaMedQA paper, drawn again from what it states, with the study's own beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from markupsafe import Markup

from metacog_pipeline.benchmark.display import Exhibit
from metacog_pipeline.benchmarks.metamedqa.items import NAME
from metacog_pipeline.home import Home
from metacog_pipeline.report import exhibits, pieces
from metacog_pipeline.report.exhibits import Column, Key
from metacog_pipeline.report.figures import Point

_BASELINE = "baseline"
_CONFIDENCE = {
    "mean_confidence": "mean confidence, 1 to 5",
    "high_confidence_accuracy": "right at high confidence, %",
    "medium_confidence_accuracy": "right at medium confidence, %",
    "low_confidence_accuracy": "right at low confidence, %",
}
_PROMPTS = {
    "accuracy": "accuracy, %",
    **{name: label for name, label in _CONFIDENCE.items() if name != "mean_confidence"},
    "missing_answer_recall": '"none of the above", %',
    "unknown_recall": '"I don\'t know or cannot answer", %',
}
_NUMBER = "The number of this figure in the paper is not in the sources of this project."


def _columns(named: Mapping[str, str]) -> list[Column]:
    return [
        Column(label, name, name, times=1.0 if name == "mean_confidence" else 100.0, digits=2)
        for name, label in named.items()
    ]


def _stated(place: str, measures: Sequence[str]) -> list[dict[str, str]]:
    """Return the stated numbers of a place, a row per model and prompt, each with its half width or its mark."""
    marks = {
        (row["condition"], row["measure"]): row["stars"] for row in exhibits.printed(NAME, "significance")
    }
    found: dict[Key, dict[str, str]] = {}
    for row in exhibits.printed(NAME, "figures"):
        if row["place"] == place and row["measure"] in measures and row["stated"]:
            key = (row["model"], row["condition"])
            own = found.setdefault(key, {"model": key[0], "condition": key[1]})
            ends = f" ± {row['half_width']}" if row["half_width"] else ""
            mark = marks.get((row["condition"], row["measure"]), "") if place == "table 4" else ""
            own[row["measure"]] = f"{row['stated']}{ends} {mark}".strip()
    return list(found.values())


def table_3(home: Home) -> Markup:
    """Return how sure models are, and how often they are right when they are."""
    found = exhibits.own(home, NAME, _CONFIDENCE, f"condition = '{_BASELINE}'")
    rows = _stated("table 3", list(_CONFIDENCE))
    return exhibits.tables(NAME, found, rows, _columns(_CONFIDENCE), keys={"model": "model"})


def table_4(home: Home) -> Markup:
    """Return what system messages change."""
    found = exhibits.own(home, NAME, _PROMPTS)
    rows = _stated("table 4", list(_PROMPTS))
    keys = {"condition": "system message", "model": "model"}
    caption = "* p < 0.05, ** < 0.01, *** < 0.001, **** < 0.0001 against no message"
    return exhibits.tables(
        NAME, found, rows, _columns(_PROMPTS), keys=keys, key_of=lambda key: (key[2], key[0]), caption=caption
    )


def _text(home: Home, measure: str, label: str) -> Markup:
    """Return a figure of one measure under no system message: models whose value the text states, and the study's own."""
    column = Column(label, measure, measure, times=100.0)
    rows, counts = [], set()
    for row in exhibits.printed(NAME, "figures"):
        if row["place"] == "text" and row["measure"] == measure:
            value, half = float(row["stated"]), 1.96 * float(row["sem"]) if row["sem"] else None
            ends = (None, None) if half is None else (value - half, value + half)
            rows.append((row["model"], {label: Point(value, *ends)}))
            counts.add(row["n"])
    found = exhibits.own(home, NAME, [measure], f"condition = '{_BASELINE}'")
    return pieces.grid(exhibits.forests(
        rows, found, [column], x=label, n=f"n = {' or '.join(sorted(counts))} questions",
        method="95 % intervals from the stated standard errors, where one is stated",
    ))  # fmt: skip


PAPER = (
    Exhibit(
        "Figure of accuracy", "Accuracy on all questions", partial(_text, measure="accuracy", label="accuracy, %"),
        f"the text states four of twelve models; the bars of the others are drawn there without numbers. {_NUMBER}",
    ),
    Exhibit(
        "Figure 3", 'Recall of "none of the above"',
        partial(_text, measure="missing_answer_recall", label="missing-answer recall, %"),
        "the text states two of twelve models; the bars of the others are drawn there without numbers.",
    ),
    Exhibit(
        "Figure of unknown recall", 'Recall of "I don\'t know or cannot answer"',
        partial(_text, measure="unknown_recall", label="unknown recall, %"),
        f"the text states three of twelve models; the bars of the others are drawn there without numbers. {_NUMBER}",
    ),
    Exhibit("Table 3", "Confidence, and accuracy by confidence", table_3),
    Exhibit("Table 4", "What system messages change (GPT-4o)", table_4),
)  # fmt: skip
