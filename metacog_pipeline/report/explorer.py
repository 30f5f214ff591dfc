"""The explorer: items × models, and for each item what every model was asked, answered and was read as, as files.

The page opens from disk. A page from disk may read no file but scripts, so its data are scripts that each call one
function with JSON, loaded when they are looked at:

==================  =================================================================================================
``questions-B.js``  the items of benchmark number B in the order of asking: name, question, key, kind
``grid-B-C.js``     under condition number C: per model and item those right, confidence, responses, verdicts
``items-B-S.js``    slice S of its items: all that is known of each, prompts, replies, thoughts, what was read of them
==================  =================================================================================================
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from metacog_pipeline import registry
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import write_changed
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.report import pieces, queries
from metacog_pipeline.report.escapes import script_data
from metacog_pipeline.scoring.responses import FAILED_READING

FOLDER, PAGE, SCRIPT = "explore", "index.html", "explorer.js"
# characters of a question in the grid; the page of the item has it whole
QUESTION = 160
# Of a reply, a thought or a prompt: more stays in the store, and the page says so.
CHARACTERS = 4000
# Some 2 MB at most: read in an instant, and few files.
_ANSWERS_A_FILE = 400
# Whose texts one query fetches: each query reads all transcripts, and never all of them are in memory.
_FILES_AT_ONCE = 100
#: Of a response, what is shown elsewhere on the page or has no meaning for readers.
_NOT_SHOWN = {
    *("benchmark", "dataset", "condition", "model", "run", "item_id", "position", "cluster"),
    *("source", "task", "latency_s", "cost_usd", "input_tokens", "output_tokens", "mode", "wording"),
}
_ITEM = ("item_id", "question", "key", "kind", "facts")
_CALL = ("item_id", "model", "condition", "step", "run", "status")
_TEXTS = f"""
    left(text, {CHARACTERS}) as text, length(text) as characters,
    left(reasoning_text, {CHARACTERS}) as reasoning, length(reasoning_text) as thought, request_json as request
    from transcripts
"""
_OF_TEXTS = ("text", "characters", "reasoning", "thought", "request")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark with answers: conditions in the order of the grid, models, items, what is ``read``, items of a file."""

    name: str
    conditions: tuple[str, ...]
    models: tuple[str, ...]
    n_items: int
    read: tuple[str, ...] = ()
    slice: int = 1


def write_explorer(home: Home, report: Path, name: str) -> Sequence[Benchmark]:
    """Write the explorer below ``report`` and return what it shows; nothing where there are no answers."""
    folder = report / FOLDER
    found, kept = contents(home), set()
    for file, content in _files(home, name, found) if found else ():
        write_changed(folder / file, content)
        kept.add(file)
    for old in folder.glob("*"):
        if old.name not in kept:
            old.unlink()
    return found


def contents(home: Home) -> list[Benchmark]:
    """Return the benchmarks that have responses, those most of whose answers are right or wrong first, then by name."""
    found: list[tuple[bool, Benchmark]] = []
    for name in queries.asked(home):
        where = f"benchmark = {text(name)}"
        said = f"select condition, model, count(correct), count(*) from ({_responses(home, name)})"
        cells = queries.rows(home, f"{said} group by all order by all")
        # Whoever was asked and gave no response is shown as well: why the calls failed.
        asked = queries.rows(home, f"select model from progress where role = 'respondent' and {where}")
        current = f"from transcripts where {where} and not superseded"
        calls = dict(queries.rows(home, f"select model, count(*) {current} group by model"))
        models = {model for _, model, *_ in cells} | ({model for (model,) in asked} & calls.keys())
        ((n_items,),) = queries.rows(home, f"select count(*) from items where {where}")
        n_calls = sum(calls.values())
        if cells and n_items:
            own = Benchmark(
                name,
                tuple(dict.fromkeys(condition for condition, *_ in cells)),
                tuple(sorted(models)),
                n_items,
                tuple(each for each in _own_columns(home, name) if each not in _NOT_SHOWN),
                max(1, _ANSWERS_A_FILE * n_items // max(n_calls, n_items)),
            )
            found.append((2 * sum(n for *_, n, _ in cells) < sum(n for *_, n in cells), own))
    return [each for _, each in sorted(found, key=lambda one: one[0])]


def page(name: str, found: Sequence[Benchmark]) -> str:
    """Return the page."""
    listed = [{key: value for key, value in asdict(each).items() if key != "n_items"} for each in found]
    return pieces.page("explorer.html.jinja", name=name, contents=script_data(listed), script=SCRIPT)


def leads(found: Sequence[Benchmark]) -> pieces.Lead | None:
    """Return where the numbers of a row lead, relative to the report: to the answers of the model, or to all items."""
    models = {each.name: frozenset(each.models) for each in found}

    def lead(row: Mapping[str, object]) -> str | None:
        model = row.get("model")
        # A row of a model over all benchmarks leads to its answers on the first.
        first = next((name for name, own in models.items() if model in own), "")
        benchmark = str(row.get("benchmark") or first)
        known = model in models.get(benchmark, ())
        if row.get("source") == "published" or benchmark not in models or not (row.get("ours") or known):
            return None
        asked = {"benchmark": benchmark}
        if known:
            asked |= {name: str(row[name]) for name in ("model", "condition") if row.get(name)}
        return f"{row.get('up', '')}{address(asked)}"

    return lead if found else None


def address(asked: Mapping[str, str]) -> str:
    """Return where the explorer shows what is ``asked`` for, relative to the report."""
    return f"{FOLDER}/{PAGE}#{urlencode(asked)}"


# --- files ------------------------------------------------------------------------------------------------------------
def _files(home: Home, title: str, found: Sequence[Benchmark]) -> Iterator[tuple[str, str]]:
    """Yield each file's name and content."""
    yield PAGE, page(title, found)
    yield SCRIPT, pieces.script(SCRIPT)
    for number, benchmark in enumerate(found):
        yield _script("questions", number, data=_questions(home, benchmark))
        for place, condition in enumerate(benchmark.conditions):
            yield _script("grid", number, place, data=_grid(home, benchmark, condition))
        for place, items in enumerate(_slices(home, benchmark)):
            yield _script("items", number, place, data=items)


def _script(kind: str, *key: int, data: object) -> tuple[str, str]:
    return f"{'-'.join((kind, *map(str, key)))}.js", f"explorer.{kind}({script_data([*key, data])[1:-1]});\n"


def _questions(home: Home, benchmark: Benchmark) -> list[tuple[Any, ...]]:
    begun = "if(length({0}) > {1}, left({0}, {1} - 1) || '…', {0})"
    columns = f"item_id, {begun.format('question', QUESTION)}, {begun.format('key', QUESTION)}, kind"
    where = f"where benchmark = {text(benchmark.name)} order by position, item_id"
    return queries.rows(home, f"select {columns} from items {where}")


def _grid(home: Home, benchmark: Benchmark, condition: str) -> list[list[list[float | None]]]:
    """Return per model its answers to the items: those right, mean confidence (hundredths), responses, verdicts."""
    # Those right are the sum of the verdicts, so that shares of many items are those of the board.
    items = (
        "select item_id, row_number() over (order by position, item_id) - 1 as place from items "
        f"where benchmark = {text(benchmark.name)}"
    )
    found = queries.rows(
        home,
        "select model, place, round(sum(correct), 4), round(100 * avg(confidence)), count(*) filter (readable), "
        f"count(correct) from ({_responses(home, benchmark.name)}) as said inner join ({items}) as items "
        f"using (item_id) where condition = {text(condition)} group by model, place",
    )
    cells: dict[str, list[list[float | None]]] = {
        model: [[None] * benchmark.n_items for _ in range(4)] for model in benchmark.models
    }
    for model, at, *values in found:
        for column, value in zip(cells[model], values, strict=True):
            column[at] = int(value) if value is not None and value == int(value) else value
    return list(cells.values())


def _slices(home: Home, benchmark: Benchmark) -> Iterator[list[dict[str, Any]]]:
    """Yield what is known of the items, some in a slice: facts, prompts, answers, what was read out of them."""
    number = {model: place for place, model in enumerate(benchmark.models)}
    for first in range(0, benchmark.n_items, benchmark.slice * _FILES_AT_ONCE):
        some = (
            f"from items where benchmark = {text(benchmark.name)} order by position, item_id "
            f"limit {benchmark.slice * _FILES_AT_ONCE} offset {first}"
        )
        listed = queries.rows(home, f"select {', '.join(_ITEM)} {some}")
        items = [dict(zip(_ITEM, row, strict=True)) for row in listed]
        names = f"select item_id {some}"
        calls = _by_item(_calls(home, benchmark.name, names), number)
        read = _by_item(_read(home, benchmark, names), number)
        for item in items:
            prompts: dict[str, int] = {}
            item["answers"] = calls.get(item["item_id"], [])
            for call in item["answers"]:
                call["prompt"] = prompts.setdefault(_messages(call.pop("request")), len(prompts))
            item["prompts"], item["read"] = list(prompts), read.get(item["item_id"], [])
        yield from (items[start : start + benchmark.slice] for start in range(0, len(items), benchmark.slice))


def _by_item(rows: Iterable[dict[str, Any]], number: Mapping[str, int]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows by item, their models as numbers; rows of models that are not shown are left out."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["model"] in number:
            row["model"] = number[row["model"]]
            found.setdefault(row.pop("item_id"), []).append(row)
    return found


def _calls(home: Home, benchmark: str, names: str) -> list[dict[str, Any]]:
    """Return the current calls about the items that SQL ``names``, with their texts."""
    found = queries.rows(
        home,
        f"select {', '.join(_CALL)}, concat_ws(': ', error_kind, error_code) as why, {_TEXTS} "
        f"where benchmark = {text(benchmark)} and not superseded and item_id in ({names}) "
        "order by item_id, condition, step, model, run",
    )
    return [dict(zip((*_CALL, "why", *_OF_TEXTS), row, strict=True)) for row in found]


def _read(home: Home, benchmark: Benchmark, names: str) -> list[dict[str, Any]]:
    """Return what was read out of the responses to the items that SQL ``names``; values in the order of ``read``."""
    which = ("item_id", "model", "condition", "run")
    if not benchmark.read:
        return []
    found = queries.rows(
        home,
        f"select {', '.join((*which, *benchmark.read))} from {benchmark.name}_responses where item_id in ({names}) "
        "order by all",
    )
    return [{**dict(zip(which, row, strict=False)), "values": row[len(which) :]} for row in found]


def _responses(home: Home, benchmark: str) -> str:
    """Return SQL of every response: condition, model, run, item_id, correct, confidence, whether it could be read."""
    # Where a condition has right and wrong answers, an answer that is neither could not be read.
    declared = registry.load(benchmark)
    lost = ", ".join(map(text, (*declared.unanswered, *declared.unreadable, FAILED_READING)))
    return (
        "select condition, model, run, item_id, correct, confidence, "
        f"if(bool_or(correct is not null) over (partition by condition), correct is not null, reading not in ({lost})) "
        f"as readable from answers where benchmark = {text(benchmark)}"
    )


def _own_columns(home: Home, benchmark: str) -> list[str]:
    """Return the columns of a benchmark's own table of responses; none where it has no such table."""
    try:
        found = queries.rows(home, f"select column_name from (describe {benchmark}_responses)")
    except StoreError:
        return []
    return [name for (name,) in found]


@functools.lru_cache(maxsize=4096)  # models are asked the same
def _messages(request: str | None) -> str:
    """Return the messages of a request, one under the other; a request of another shape unchanged."""
    try:
        whole = "\n\n".join(f"{role}: {words}" for role, words in json.loads(request or "")["messages"])
    except (ValueError, KeyError, TypeError):
        whole = request or ""
    return whole[:CHARACTERS]
