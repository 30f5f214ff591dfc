"""A board for people: one table per benchmark, condition and kind of respondent, one line per model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metacog_pipeline.warehouse.output import NOT_AVAILABLE, Format, render, shown, to_markdown, to_table
from metacog_pipeline.warehouse.query import Rows

_WORLDS = {"simulated": "simulated observers"}
_REAL = "models"
_SHOWN = (
    "accuracy",
    "mean_confidence",
    "high_confidence_accuracy",
    "medium_confidence_accuracy",
    "low_confidence_accuracy",
    "missing_answer_recall",
    "unknown_recall",
    "fictional_accuracy",
    "ece",
    "brier",
    "auroc2",
)
_SHORT = {
    "mean_confidence": "confidence",
    "high_confidence_accuracy": "acc. high conf.",
    "medium_confidence_accuracy": "acc. medium",
    "low_confidence_accuracy": "acc. low",
    "missing_answer_recall": "missing recall",
    "unknown_recall": "unknown recall",
    "fictional_accuracy": "fictional",
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
    return "\n".join(parts) or "The board is empty: nothing has been answered yet.\n"


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
        "source",
        *(_SHORT.get(name, name) for name in measures),
        "coverage",
        "failed",
        "unparsable",
    )
    ordered = sorted(lines, key=_rank)
    return Rows(columns, tuple(_row(line, measures) for line in ordered))


def _rank(line: _Line) -> tuple[bool, float, str]:
    value = line.measures.get("accuracy", {}).get("estimate")
    return (True, 0.0, line.model) if not isinstance(value, float) else (False, -value, line.model)


def _row(line: _Line, measures: Sequence[str]) -> tuple[object, ...]:
    cells = [_cell(line.measures.get(name)) for name in measures]
    about = line.measures.get("coverage") or next(iter(line.measures.values()))
    return (
        line.model,
        line.source,
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
    return f"{value} ({_number(row['low'])} to {_number(row['high'])})"


def _number(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else shown(value)
