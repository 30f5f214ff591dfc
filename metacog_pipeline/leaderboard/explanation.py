"""Where one number of a board comes from: its definition, what it rests on, how it is made, and its recount."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import Benchmark, Measure
from metacog_pipeline.errors import StoreError, StudyError, suggestion
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard import read
from metacog_pipeline.leaderboard.database import identifier, text
from metacog_pipeline.leaderboard.glossary import formulas, terms
from metacog_pipeline.scoring.calibration import PREFIX
from metacog_pipeline.scoring.recount import Recount, items_of, recount
from metacog_pipeline.study import Study

TABLES = (
    "estimates",
    "calibration",
)  # where a number stands with its method, in the order they are looked at
NAMES = ("benchmark", "condition", "model", "measure")
COMPARED = ("estimate", "low", "high", "n", "status")
LIKE = 1e-9  # a fit that is repeated among others ends some 1e-12 beside
MOST_NAMES = 20  # listed in a message
PUBLISHED = "published"


def explain(study: Study, benchmark: str, condition: str, model: str, measure: str) -> dict[str, Any]:
    """Return what one number of a board rests on, as plain values.

    ``differs`` says in one sentence how the recount differs from the board; None where they are equal, and of a
    published number, which is not computed here.

    Raises
    ------
    StudyError
        If the board has no such benchmark, condition, model or measure.
    StoreError
        If there is no board, or nothing to recount from: every call of the model failed, for one.
    """
    home = study.home
    table, row = _row(home, benchmark, condition, model, measure)
    found: dict[str, Any] = {
        **{name: row.get(name) for name in (*NAMES, "source")},
        **_definition(home, benchmark, measure),
        "board": {name: row.get(name) for name in (*COMPARED, "method", "low_n")},
        "sql": [_sql(table, row)],
    }
    if row["source"] == PUBLISHED:
        return {
            **found,
            "recount": None,
            "differs": None,
            "asked": None,
            "left_out": [],
            "items": None,
        }
    _refuse_unanswered(home, benchmark, model)
    anew = recount(study, benchmark, condition, model, measure)
    made = anew.made
    again = {
        "estimate": made.value, "low": made.low, "high": made.high, "n": made.n, "status": made.status,
        "method": made.method,
    }  # fmt: skip
    return {
        **found,
        "recount": again,
        "differs": differs(found["board"], again),
        "asked": anew.asked.height,
        "left_out": [{"n": each.n, "why": each.why, "reasons": dict(each.reasons)} for each in anew.left_out],
        "items": None if anew.counted is None else items_of(anew.counted),
        "sql": [*found["sql"], _sql_of_answers(home, anew, row)],
    }


def _refuse_unanswered(home: Home, benchmark: str, model: str) -> None:
    """Raise StoreError, with the reason asking ended for, where the model was asked and answered nothing."""
    where = _where({"benchmark": benchmark, "model": model, "role": "respondent"})
    found = read.read_table(
        home, f"select state, n_answered, message from progress where {where} order by run"
    ).rows
    if any(state == "failed" for state, *_ in found) and not any(n for _, n, _ in found):
        why = next((str(reason) for *_, reason in found if reason), "no reason is kept")
        raise StoreError(
            f"explain: every call of {model} to {benchmark} failed, so there is nothing to count ({why}); "
            "mend that and run `metacog run` again"
        )


def differs(board: Mapping[str, Any], again: Mapping[str, Any]) -> str | None:
    """Return how a recount differs from the board; None where it does not."""
    for name in COMPARED:
        ours, theirs = again[name], board.get(name)
        if isinstance(ours, float) and isinstance(theirs, float):
            same = abs(ours - theirs) <= LIKE * max(1.0, abs(theirs))
        else:
            same = ours == theirs
        if not same and not (name in ("n", "status") and name not in board):
            return f"{name} is {theirs} on the board and {ours} by the recount"
    return None


# --- which number -----------------------------------------------------------------------------------------------------
def _row(home: Home, *names: str) -> tuple[str, dict[str, Any]]:
    """Return the table a number stands in with its method, and its row."""
    _check(home, names)
    where = _where(dict(zip(NAMES, names, strict=True)))
    for table in (*TABLES, "leaderboard"):
        found = read.read_table(home, f"from {table} where {where}")
        if found.rows:
            return table, dict(zip(found.columns, found.rows[0], strict=True))
    raise StudyError(f"explain: the board has no {' '.join(names)}")  # _check has found it


def _check(home: Home, names: Sequence[str]) -> None:
    """Raise StudyError for the first name the board does not have beside those before it."""
    every = " union ".join(f"select {', '.join(NAMES)} from {table}" for table in (*TABLES, "leaderboard"))
    here: dict[str, str] = {}
    for name, value in zip(NAMES, names, strict=True):
        where = _where(here) or "true"
        asked = f"select distinct {name} from ({every}) where {where} order by all"
        known = [str(each[0]) for each in read.read_table(home, asked).rows]
        if value not in known:
            of = f" of {' '.join(here.values())}" if here else ""
            listed = ", ".join(known[:MOST_NAMES]) + (", …" if len(known) > MOST_NAMES else "")
            raise StudyError(
                f'explain: the board has no {name} "{value}"{of}{suggestion(value, known)}; '
                f"it has: {listed or 'none yet'}"
            )
        here[name] = value


def _where(values: Mapping[str, Any]) -> str:
    return " and ".join(
        f"{identifier(name)} is null" if value is None else f"{identifier(name)} = {text(str(value))}"
        for name, value in values.items()
    )


def _sql(table: str, row: Mapping[str, Any]) -> str:
    """Return the query that shows the number."""
    return f"from {table} where {_where({name: row[name] for name in NAMES})}"


def _sql_of_answers(home: Home, anew: Recount, row: Mapping[str, Any]) -> str:
    """Return the query that shows the responses a number was made from."""
    measure, own = anew.declared, f"{row['benchmark']}_responses"
    if measure.shared or own not in read.columns_of(home):
        place = {name: row[name] for name in NAMES[:3]}
        among = _among(measure, read.columns_of(home)["responses"]) if measure.shared else ""
        return f"from responses where {_where(place)}{among} order by item_id, run"
    columns = read.columns_of(home)[own]
    first = next(anew.asked.select("dataset", "condition", "task").iter_rows(named=True), {})
    place = {"model": row["model"], **first}
    known = {name: value for name, value in place.items() if name in columns and value is not None}
    among = _among(measure, columns)
    lacking = sorted(set(anew.asked["status"]) & set(anew.benchmark.unanswered))
    if among and lacking:
        among += f" and status not in ({', '.join(map(text, lacking))})"
    return f"from detail.{identifier(own)} where {_where(known)}{among} order by item_id, run"


def _among(measure: Measure, columns: Mapping[str, str]) -> str:
    """Return what a measure says of the responses it rests on, as far as the table has the columns."""
    named = [(name, values) for name, values in measure.basis if name in columns]
    return "".join(f" and {_holds(name, values, columns[name])}" for name, values in named)


def _holds(name: str, values: tuple[Any, ...] | None, kind: str) -> str:
    column = identifier(name)
    if values is None:
        return f"{column} is not null"
    listed = ", ".join(text(each) if isinstance(each, str) else str(each).lower() for each in values)
    return f"list_has_any({column}, [{listed}])" if kind.endswith("[]") else f"{column} in ({listed})"


# --- what it is -------------------------------------------------------------------------------------------------------
def _definition(home: Home, benchmark: str, measure: str) -> dict[str, Any]:
    """Return name, formula, unit and references of a measure, as it is declared and as it is shared."""
    name = measure.removeprefix(PREFIX)
    where = _where({"benchmark": benchmark, "measure": measure})
    rows = read.read_table(home, f"select label, unit, definition, paper from measures where {where}").rows
    label, unit, words, place = rows[0] if rows else (None, None, None, None)
    shared = formulas().get(name, {})
    term = terms().get(name)
    words = words or (term.definition if term else "")
    references = [shared.get("reference", ""), term.reference if term else ""]
    return {
        "label": label or name,
        "words": words,
        "formula": shared.get("formula") or words,
        "unit": unit,
        "reference": "; ".join(dict.fromkeys(each for each in references if each)),
        "paper": _paper(benchmark, place),
    }


def _paper(benchmark: str, place: object) -> str:
    """Return where the benchmark was published, and the place in it that defines the measure."""
    if benchmark not in registry.names():
        return ""
    of: type[Benchmark[Any, Any, Any]] = registry.load(benchmark)
    paper = of.paper
    said = f"{paper.authors} {paper.year}, {paper.title}, {paper.where}"
    return f"{said}, {place}" if place else said
