"""What columns and measures mean, and what one number of a board rests on: its definition, its answers, its queries."""

from __future__ import annotations

import fnmatch
import functools
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import Measure
from metacog_pipeline.errors import StudyError, one_line, suggestion
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import identifier, text
from metacog_pipeline.leaderboard.read import read_table
from metacog_pipeline.scoring.comparisons import questions_of
from metacog_pipeline.scoring.estimates import measures_of
from metacog_pipeline.scoring.harmonised import DECLARED, PREFIX
from metacog_pipeline.stats.coverage import nearest

_FOLDER = Path(__file__).parent
SHOWN = ("accuracy", "mean_confidence", "ece", "brier", "auroc2")  # what everybody reads of confidence
TABLES = ("estimates", "calibration", "leaderboard")  # with a number, in the order of look-up
NAMES = ("benchmark", "condition", "model", "measure")
NUMBERS = ("estimate", "low", "high", "n", "status", "method", "low_n")


@functools.cache
def terms() -> Mapping[str, str]:
    """Return what a column means in every table, by its name: definition, unit, range and reference."""
    found: dict[str, str] = {}
    for name, entry in tomllib.loads((_FOLDER / "glossary.toml").read_text("utf-8")).items():
        also = [entry[key] for key in ("unit", "range", "reference") if key in entry]
        found[name] = f"{entry['definition']} ({'; '.join(also)})" if also else entry["definition"]
    return found


@functools.cache
def formulas() -> Mapping[str, Mapping[str, str]]:
    """Return formula and reference of measures that several benchmarks share, by measure."""
    return tomllib.loads((_FOLDER / "formulas.toml").read_text("utf-8"))


def meaning(own: Mapping[str, str], column: str) -> str | None:
    """Return what a column means by its table's ``own`` words, else in every table; None where it has no comment."""
    if said := own.get(column) or terms().get(column):
        return said
    # The longest pattern first: it says most of the name.
    patterns = sorted((name for name in own if "*" in name), key=len, reverse=True)
    return next((own[name] for name in patterns if fnmatch.fnmatchcase(column, name)), None)


def declared_measures(benchmarks: Iterable[str]) -> Iterator[tuple[object, ...]]:
    """Yield one row of the dataset ``measures`` per measure the benchmarks declare, and per one they share."""
    for benchmark in sorted({*benchmarks} & {*registry.names()}):
        own = registry.load(benchmark)
        shown = {name for column in own.board.columns for name in column.measures}
        shown |= {each.primary[1] for each in questions_of(own) if each.verdict is not None}
        shown |= {PREFIX + name for name in SHOWN}
        for measure in measures_of(own):
            yield _row(benchmark, measure.name, measure, measure.paper, shown)
        for measure in DECLARED:
            reference = formulas().get(measure.name, {}).get("reference")
            yield _row(benchmark, PREFIX + measure.name, measure, reference, shown)


def declared_questions(benchmarks: Iterable[str]) -> Iterator[tuple[object, ...]]:
    """Yield one row of the dataset ``questions`` per question of the verdict that the benchmarks are asked."""
    for benchmark in sorted({*benchmarks} & {*registry.names()}):
        asked = questions_of(registry.load(benchmark))
        yield from ((benchmark, q.verdict, q.asks, *q.primary) for q in asked if q.verdict is not None)


def _row(
    benchmark: str, name: str, measure: Measure, paper: str | None, shown: Container[str]
) -> tuple[object, ...]:
    words = (measure.label, measure.unit.value, paper or None, measure.words or None)
    detail = name not in shown and not measure.headline
    return (benchmark, name, *words, *measure.range, measure.higher_is_better, measure.headline, detail)


# --- one number -------------------------------------------------------------------------------------------------------
def explain(home: Home, benchmark: str, condition: str, model: str, measure: str) -> dict[str, Any]:
    """Return what one number of a board rests on, as plain values; StudyError if the board has no such number."""
    table, row = _found(home, benchmark, condition, model, measure)
    found: dict[str, Any] = {
        **{name: row.get(name) for name in (*NAMES, "source")},
        **_definition(home, benchmark, measure),
        "board": {name: row.get(name) for name in NUMBERS},
        "sql": [f"from {table} where {_where({name: row[name] for name in NAMES})}"],
        **dict.fromkeys(("asked", "coverage")),
        "not_ok": {},
    }
    if row["source"] == "published":  # nobody here has the answers
        return found
    answers = f"answers where {_where({name: row[name] for name in NAMES[:3]})}"
    counted: Any = read_table(
        home, f"select reading, reason, count(*) from {answers} group by all order by 3 desc, 1, 2"
    ).rows
    found["asked"] = sum(count for _, _, count in counted)
    found["not_ok"] = {
        one_line(f"{how}: {why}" if why else how, 140): count for how, why, count in counted if how != "ok"
    }
    found["coverage"] = _coverage(home, answers, row)
    found["sql"].append(f"from {answers} order by item_id, run")
    return found


def _coverage(home: Home, answers: str, row: Mapping[str, Any]) -> str | None:
    """Return how often such intervals were measured to hold the truth; None of a number without an interval."""
    if row["estimate"] is None or row["low"] is None:
        return None
    counts = "least(sum(correct), count(correct) - sum(correct))::bigint, count(distinct item_id) < count(*)"
    rows: Any = read_table(home, f"select {counts} from {answers}").rows
    [(rarer, several)] = rows
    about = (row["measure"], row["method"], row["estimate"], row["n"], rarer)
    cell = nearest(*about, several=bool(several))
    if cell is None or cell.samples == cell.without:
        return "not measured"
    runs = f" × {cell.runs} runs" if cell.runs > 1 else ""
    return f"{cell.coverage:.1f} % of {cell.samples} samples of {cell.n}{runs} answers at accuracy {cell.accuracy:g}"


def _found(home: Home, *names: str) -> tuple[str, dict[str, Any]]:
    for table in TABLES:
        found = read_table(home, f"from {table} where {_where(dict(zip(NAMES, names, strict=True)))}")
        if found.rows:
            return table, dict(zip(found.columns, found.rows[0], strict=True))
    raise StudyError(_missing(home, names))


def _missing(home: Home, names: tuple[str, ...]) -> str:
    """Return which of the names is the first that the board does not have with those before it."""
    every = " union ".join(f"select {', '.join(NAMES)} from {table}" for table in TABLES)
    known = [tuple(map(str, row)) for row in read_table(home, every).rows]
    place = 0
    while any(row[: place + 1] == names[: place + 1] for row in known):
        place += 1
    there = sorted({row[place] for row in known if row[:place] == names[:place]})
    close = suggestion(names[place], there)
    return f'show: the board has no {NAMES[place]} "{names[place]}"{close}; metacog board --all --format csv lists all'


def _where(values: Mapping[str, Any]) -> str:
    return " and ".join(f"{identifier(name)} = {text(str(value))}" for name, value in values.items())


def _definition(home: Home, benchmark: str, measure: str) -> dict[str, Any]:
    """Return name, formula, unit and references of a measure, as it is declared and as it is shared."""
    name, where = measure.removeprefix(PREFIX), _where({"benchmark": benchmark, "measure": measure})
    rows = read_table(home, f"select label, unit, definition, paper from measures where {where}").rows
    label, unit, words, place = rows[0] if rows else (None, None, None, None)
    shared = formulas().get(name, {})
    words = words or terms().get(name, "")
    paper = ""
    if benchmark in registry.names():
        said = registry.load(benchmark).paper
        paper = f"{said.authors} {said.year}, {said.title}, {said.where}{f', {place}' if place else ''}"
    about = {"label": label or name, "words": words, "formula": shared.get("formula") or words}
    return {**about, "unit": unit, "reference": shared.get("reference", ""), "paper": paper}
