"""A board for people: one table per benchmark, condition and kind of respondent, one line per model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.errors import one_line
from metacog_pipeline.warehouse.output import (
    NOT_AVAILABLE,
    Format,
    Stacked,
    render,
    shown,
    to_markdown,
    to_table,
)
from metacog_pipeline.warehouse.query import Rows, run_query

_WORLDS = {"simulated": "simulated observers"}
_REAL = "models"
_SHOWN = (
    "accuracy",
    "mean_confidence",
    "high_confidence_accuracy",
    "missing_answer_recall",
    "choice_share_E",
    "unknown_recall",
    "fictional_accuracy",
    "ece",
    "auroc2",
)
_SHORT = {
    "mean_confidence": "confidence",
    "high_confidence_accuracy": "when sure",
    "missing_answer_recall": "missing",
    "choice_share_E": "E chosen",
    "unknown_recall": "unknown",
    "fictional_accuracy": "fictional",
    "ece": "ECE",
    "auroc2": "AUROC2",
}
_E_OVERUSED = 0.20
_LEGEND = (
    "Below each value its 95 % interval. confidence: mean, 1 to 5; when sure: accuracy at confidence 5; missing: recall\n"
    'of "none of the above"; E chosen: how often that was answered at all; unknown: recall of "I don\'t know or cannot\n'
    'answer"; N/A: no such answers. More measures: --format csv.\n'
)
_OVERUSED = "!: a fifth or more of all answers; the recall beside it is inflated (8.4 % of the published keys are E).\n"
_ABOUT = {
    "published": " (two of its 115 items keyed E still offer the right answer: someone who never errs misses those two)",
    "sample": " (written for this project; not comparable with the literature)",
    "corrected": " (the published set with its known anomalies mended; not comparable with the literature)",
    "custom": " (the study's own)",
}


@dataclass(frozen=True, slots=True)
class _Line:
    model: str
    source: str
    measures: Mapping[str, Mapping[str, object]]


def render_board(rows: Rows, form: Format, *, width: int | None = None) -> str:
    """Return a board: long rows for ``csv`` and ``json``; for people, sections with one line per model.

    Simulated observers never share a section with real models. Models stand in the order of their accuracy; those
    without one come last, so a model that only failed is still named.
    """
    if form in ("csv", "json"):
        return render(rows, form)
    parts = []
    for title, table in _sections(rows):
        if form == "markdown":
            parts.append(f"### {title}\n\n{to_markdown(table)}")
        else:
            parts.append(to_table(table, title=title, width=width))
    if parts:
        overused = any(
            isinstance(cell, Stacked) and cell.endswith("!")
            for _, table in _sections(rows)
            for row in table.rows
            for cell in row
        )
        parts.append(_LEGEND + (_OVERUSED if overused else ""))
    return "\n".join(parts) or "The board is empty: nothing has been answered yet.\n"


def notes(home: Path) -> str:
    """Return what a reader of the board must know: which question set, and what is not complete."""
    lines = []
    for (dataset,) in run_query(
        home, "select distinct dataset from int_metamedqa_question_sets order by all"
    ).rows:
        lines.append(f"Question set: {dataset}{_ABOUT.get(str(dataset), '')}")
    states = run_query(
        home,
        "select model, run, state, n_answered, n_expected, message from board_partitions order by model, run",
    ).rows
    waiting = [row for row in states if row[2] != "complete"]
    if waiting:
        lines.append(
            f"PROVISIONAL: {len(states) - len(waiting)} of {len(states)} partitions are complete. Waiting for:"
        )
        for model, run, state, answered, expected, message in waiting:
            why = f": {message}" if message else ""
            lines.append(one_line(f"  {model}, run {run}: {state}, {answered} of {expected} answered{why}"))
    for model, run, state, _, _, message in states:
        if state == "complete" and message:
            lines.append(one_line(f"{model}, run {run}: {message}"))
    return "\n".join(lines) + "\n" if lines else ""


def _sections(rows: Rows) -> list[tuple[str, Rows]]:
    grouped: dict[tuple[str, str, str], dict[tuple[str, str], dict[str, Mapping[str, object]]]] = {}
    for values in rows.rows:
        row = dict(zip(rows.columns, values, strict=True))
        source = str(row["source"])
        key = (str(row["benchmark"]), str(row["condition"]), _WORLDS.get(source, _REAL))
        line = grouped.setdefault(key, {}).setdefault((str(row["model"]), source), {})
        line[str(row["measure"])] = row
    sections = []
    for (benchmark, condition, world), models in sorted(grouped.items()):
        lines = [_Line(model, source, measures) for (model, source), measures in models.items()]
        sections.append((f"{benchmark} · {condition} · {world}", _section(lines)))
    return sections


def _section(lines: Sequence[_Line]) -> Rows:
    measures = [name for name in _SHOWN if any(name in line.measures for line in lines)]
    columns = (
        "model",
        *(("source",) if _mixed(lines) else ()),
        *(_SHORT.get(name, name) for name in measures),
        "coverage",
        "failed",
        "unparsable",
    )
    ordered = sorted(lines, key=_rank)
    return Rows(columns, tuple(_row(line, measures, _mixed(lines)) for line in ordered))


def _mixed(lines: Sequence[_Line]) -> bool:
    """Whether measured and published models stand together, so that each line must say which it is."""
    return len({line.source for line in lines}) > 1


def _rank(line: _Line) -> tuple[bool, float, str]:
    value = line.measures.get("accuracy", {}).get("estimate")
    return (True, 0.0, line.model) if not isinstance(value, float) else (False, -value, line.model)


def _row(line: _Line, measures: Sequence[str], mixed: bool) -> tuple[object, ...]:
    cells = [
        _e_share(line.measures.get(name)) if name == "choice_share_E" else _cell(line.measures.get(name))
        for name in measures
    ]
    about = line.measures.get("coverage") or next(iter(line.measures.values()))
    return (
        line.model,
        *((line.source,) if mixed else ()),
        *cells,
        _number(about["coverage"]),
        shown(about["n_failed"]),
        shown(about["n_unparsable"]),
    )


def _cell(row: Mapping[str, object] | None) -> str:
    if row is None or row["estimate"] is None:
        return NOT_AVAILABLE
    value = _number(row["estimate"])
    if row["low"] is None or row["high"] is None:
        return value
    return Stacked(f"{value}\n{_short(row['low'])}–{_short(row['high'])}")


def _e_share(row: Mapping[str, object] | None) -> str:
    """Return the share of E, marked where it says that the recall of missing answers means little."""
    share = None if row is None else row["estimate"]
    if not isinstance(share, float):
        return NOT_AVAILABLE
    return Stacked(f"{share:.3f} !" if share >= _E_OVERUSED else f"{share:.3f}")


def _short(value: object) -> str:
    """Return an interval's end, short: 0.223 as .22."""
    return f"{value:.2f}".removeprefix("0") if isinstance(value, float) else shown(value)


def _number(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else shown(value)
