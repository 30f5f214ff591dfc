"""The verdict for a terminal: a line per question and benchmark, a column per model, at most 25 lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metacog_pipeline.benchmark.display import board_condition
from metacog_pipeline.leaderboard.output import Rows, fixed, printable, to_table
from metacog_pipeline.scoring.verdict import QUESTIONS, WORLDS, Answer, Cell, Verdict

_COMPARED = (
    *("question", "benchmark", "condition", "measure", "family"),
    *("difference", "95 % interval", "p", "n", "verdict", "low_n"),
)
MOST_MODELS = 4  # columns of a terminal of 120 characters
NOTHING = "Nothing has been answered yet: there is no verdict."
_LEGEND = (
    "Value and 95 % interval, best model first. *: the paired test finds it worse than the best (p < 0.05 in its family).",
    "°: too few answers for the interval (low_n). …: answers are missing. N/A: no value; metacog board --all says why.",
)


def verdict_text(found: Mapping[str, Verdict]) -> str:
    """Return the verdict as text: models where the study has any, else the simulated respondents."""
    source = next((each for each in WORLDS if each in found), None)
    if source is None:
        return f"{NOTHING}\n"
    lines = [*_lines(found[source])]
    if others := [WORLDS[each] for each in found if each != source]:
        lines.append(f"Not shown: {', '.join(others)}; metacog board --all has them.")
    return "".join(f"{line}\n" for line in lines)


def verdict_table(verdict: Verdict) -> Rows:
    """Return a verdict as a table: question, benchmark, and a column for each of the best models."""
    shown = verdict.models[:MOST_MODELS]
    rows = [
        (QUESTIONS[answer.question][1], *(cell.strip() for cell in _row(answer, shown)))
        for answer in verdict.answers
    ]
    return Rows(("question", "benchmark", *map(printable, shown)), tuple(rows))


def compared_text(found: Rows, a: str, b: str) -> str:
    """Return the tests of two models as text: those that answer a question of the verdict first, then all others."""
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    text = f"{printable(a)} minus {printable(b)}, on the items both answered. p and interval are those of the family.\n"
    for title, answers in (("Primary tests", True), ("Exploratory tests", False)):
        own = [row for row in rows if (row["question"] is not None) is answers and row["value"] is not None]
        if own:
            text += f"\n{title}\n{to_table(Rows(_COMPARED, tuple(map(_compared, own))))}"
    if left := sum(row["value"] is None for row in rows):
        text += f"\n{left} of {len(rows)} tests have no value; column status of --format csv says why.\n"
    return text


def _compared(row: Mapping[str, Any]) -> tuple[object, ...]:
    condition = board_condition(row["task"], row["condition"])
    ends = row["low_adjusted"], row["high_adjusted"]
    interval = "" if None in ends else f"[{_short(ends[0])}, {_short(ends[1])}]"
    about = (row["question"] or "", row["benchmark"], condition, row["measure"], row["family"])
    few = "yes" if row["low_n"] else ""
    tested = (p_text(row["p_adjusted"]), row["n"], row["verdict"] or "", few)
    return (*about, _short(row["value"]), interval, *tested)


def p_text(p: float | None) -> str:
    """Return a p for readers: ``< 0.001`` below a thousandth, nothing where there is none."""
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _lines(verdict: Verdict) -> Iterator[str]:
    shown = verdict.models[:MOST_MODELS]
    yield from verdict.sentences()
    names = [printable(model) for model in shown]
    rows = [(question, [_row(each, shown) for each in verdict.of(question)]) for question in QUESTIONS]
    cells = [row for _, found in rows for row in found]
    widths = [max(map(len, column)) for column in zip(("", *names), *cells, strict=True)]
    yield _joined(("", *names), widths)
    for question, found in rows:
        if found:
            yield QUESTIONS[question][0]
            yield from (_joined(row, widths) for row in found)
    if left := len(verdict.models) - len(shown):
        yield f"{left} more {'model' if left == 1 else 'models'}: metacog board --all"
    yield from _LEGEND


def _row(answer: Answer, models: Sequence[str]) -> tuple[str, ...]:
    first = f"  {answer.benchmark}, {answer.condition}: {answer.label}"
    return (first, *(_cell(answer.cells.get(model)) for model in models))


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.estimate is None:
        return "N/A"
    return f"{_short(cell.estimate)}{cell.marks} {_interval(cell)}".rstrip()


def _interval(cell: Cell) -> str:
    if cell.low is None or cell.high is None:
        return ""
    return f"[{_short(cell.low)}, {_short(cell.high)}]"


def _short(value: float) -> str:
    text = fixed(value, 2)
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) and text != "0.00" else text


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
