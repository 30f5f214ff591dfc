"""Where one number of a board comes from: its definition, what it rests on, how it is made, and its recount."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import polars as pl

from metacog_pipeline import registry
from metacog_pipeline.errors import StudyError, one_line, suggestion
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard import read
from metacog_pipeline.leaderboard.database import identifier, text
from metacog_pipeline.leaderboard.glossary import formulas, terms
from metacog_pipeline.scoring.harmonised_measures import PREFIX
from metacog_pipeline.scoring.recount import Recount, recount
from metacog_pipeline.stats.coverage import nearest
from metacog_pipeline.study import Study

TABLES = (
    "estimates",
    "calibration",
)  # tables with a number and its method, in the order of look-up
NAMES = ("benchmark", "condition", "model", "measure")
COMPARED = ("estimate", "low", "high", "n", "status")
LIKE = 1e-9  # a fit that is repeated among others ends some 1e-12 off


def explain(study: Study, benchmark: str, condition: str, model: str, measure: str) -> dict[str, Any]:
    """Return what one number of a board rests on, as plain values.

    ``differs`` says in one sentence how the recount differs from the board; None where they are equal, and of a
    published number, which is not computed here.

    StudyError if the board has no such benchmark, condition, model or measure; StoreError if there is no board, or nothing
    to recount from.
    """
    home = study.home
    table, row = _row(home, benchmark, condition, model, measure)
    found: dict[str, Any] = {
        **{name: row.get(name) for name in (*NAMES, "source")},
        **_definition(home, benchmark, measure),
        "board": {name: row.get(name) for name in (*COMPARED, "method", "low_n")},
        "sql": [f"from {table} where {_where({name: row[name] for name in NAMES})}"],
        **dict.fromkeys(("recount", "differs", "asked", "coverage")),
        "not_ok": {},
    }
    if row["source"] == "published":
        return found
    recounted = recount(study, benchmark, condition, model, measure, alike=table == TABLES[1])
    again = {"estimate": recounted.made.value}
    again |= {name: getattr(recounted.made, name) for name in ("low", "high", "n", "status", "method")}
    return {
        **found,
        "recount": again,
        "differs": _difference(found["board"], again),
        "asked": recounted.asked.height,
        "coverage": _coverage(measure, recounted),
        "not_ok": _not_ok(recounted.asked),
        "sql": [*found["sql"], _sql_of_answers(home, recounted, row)],
    }


def _coverage(measure: str, recounted: Recount) -> str | None:
    """Return how often such intervals were measured to hold the truth; None of a number without an interval."""
    made, asked = recounted.made, recounted.asked
    if made.value is None or made.low is None:
        return None
    rarer = None
    if "correct" in asked.columns:
        verdicts = asked["correct"].drop_nulls()
        rarer = min(int(verdicts.sum() or 0), len(verdicts) - int(verdicts.sum() or 0))
    several = asked["item_id"].n_unique() < asked.height
    cell = nearest(measure, made.method, made.value, made.n, rarer, several=several)
    if cell is None or cell.samples == cell.without:
        return "not measured"
    runs = f" × {cell.runs} runs" if cell.runs > 1 else ""
    return f"{cell.coverage:.1f} % of {cell.samples} samples of {cell.n}{runs} answers at accuracy {cell.accuracy:g}"


def _not_ok(asked: pl.DataFrame) -> dict[str, int]:
    """Return how many of the responses asked for have no value, by status and reason, the most frequent first."""
    lacking = asked.filter(pl.col("status") != "ok").select("status", "reason").rows()
    said = (f"{status}: {one_line(reason, 120)}" if reason else str(status) for status, reason in lacking)
    return dict(Counter(said).most_common())


def _difference(board: Mapping[str, Any], again: Mapping[str, Any]) -> str | None:
    for name in COMPARED:
        ours, theirs = again[name], board[name]
        same = ours == theirs
        if isinstance(ours, float) and isinstance(theirs, float):
            same = abs(ours - theirs) <= LIKE * max(1.0, abs(theirs))
        if not same:
            return f"{name} is {theirs} on the board and {ours} by the recount"
    return None


def _row(home: Home, *names: str) -> tuple[str, dict[str, Any]]:
    for table in (*TABLES, "leaderboard"):
        found = read.read_table(home, f"from {table} where {_where(dict(zip(NAMES, names, strict=True)))}")
        if found.rows:
            return table, dict(zip(found.columns, found.rows[0], strict=True))
    raise StudyError(_missing(home, names))


def _missing(home: Home, names: tuple[str, ...]) -> str:
    """Return which of the names is the first that the board does not have with those before it."""
    every = " union ".join(f"select {', '.join(NAMES)} from {table}" for table in (*TABLES, "leaderboard"))
    known = [tuple(map(str, row)) for row in read.read_table(home, every).rows]
    place = 0
    while any(row[: place + 1] == names[: place + 1] for row in known):
        place += 1
    there = sorted({row[place] for row in known if row[:place] == names[:place]})
    close = suggestion(names[place], there)
    return f'show: the board has no {NAMES[place]} "{names[place]}"{close}; metacog board --all --format csv lists all'


def _where(values: Mapping[str, Any]) -> str:
    return " and ".join(
        f"{identifier(name)} is null" if value is None else f"{identifier(name)} = {text(str(value))}"
        for name, value in values.items()
    )


def _sql_of_answers(home: Home, recounted: Recount, row: Mapping[str, Any]) -> str:
    """Return the query that shows the responses of the model and condition a number was made from."""
    own = f"{row['benchmark']}_responses"
    columns = read.columns_of(home).get(own, {})
    if not columns:
        table, place = "answers", {name: row[name] for name in NAMES[:3]}
    else:
        first = next(recounted.asked.select("dataset", "condition", "task").iter_rows(named=True), {})
        known = {name: value for name, value in first.items() if name in columns and value is not None}
        table, place = f"detail.{identifier(own)}", {"model": row["model"], **known}
    return f"from {table} where {_where(place)} order by item_id, run"


def _definition(home: Home, benchmark: str, measure: str) -> dict[str, Any]:
    """Return name, formula, unit and references of a measure, as it is declared and as it is shared."""
    name, where = measure.removeprefix(PREFIX), _where({"benchmark": benchmark, "measure": measure})
    rows = read.read_table(home, f"select label, unit, definition, paper from measures where {where}").rows
    label, unit, words, place = rows[0] if rows else (None, None, None, None)
    shared = formulas().get(name, {})
    words = words or terms().get(name, "")
    paper = ""
    if benchmark in registry.names():
        said = registry.load(benchmark).paper
        paper = f"{said.authors} {said.year}, {said.title}, {said.where}{f', {place}' if place else ''}"
    return {
        "label": label or name,
        "words": words,
        "formula": shared.get("formula") or words,
        "unit": unit,
        "reference": shared.get("reference", ""),
        "paper": paper,
    }
