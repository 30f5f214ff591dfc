"""What the explorer shows, as the contents of its files.

==========================  =======================================================================================
``questions-B.js``          the items of benchmark number B in the order of asking: name, question, key, kind
``grid-B-C.js``             under its condition number C, per model and item: share right, confidence, responses
``items-B-S.js``            slice S of its items: prompts, replies, thoughts, and what was read out of them
==========================  =======================================================================================
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.leaderboard.database import TEXTS, text
from metacog_pipeline.report import queries
from metacog_pipeline.scoring.responses import FAILED_READING

ITEMS_A_SLICE = 20
QUESTION = 160  # characters of a question in the grid; the page of the item has it whole
CHARACTERS = 4000  # of a reply, a thought or a prompt: more stays in the store, and the page says so
#: Of a response, what is shown elsewhere on the page or says nothing to people.
_NOT_SHOWN = frozenset(
    (
        *(
            "benchmark",
            "dataset",
            "condition",
            "model",
            "run",
            "item_id",
            "position",
            "cluster",
            "answer_ids",
        ),
        *("source", "task", "latency_s", "cost_usd", "input_tokens", "output_tokens", "mode", "wording"),
    )
)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark with answers: its number in file names, its conditions in theirs, and how many items it has."""

    name: str
    conditions: tuple[str, ...]
    models: tuple[str, ...]
    n_items: int


def contents(home: Path) -> list[Benchmark]:
    """Return the benchmarks that have responses, in alphabetical order."""
    found = []
    for name in queries.asked(home):
        sql = f"select distinct condition, model from ({_responses(home, name)}) order by all"
        cells = queries.rows(home, sql)
        conditions = tuple(dict.fromkeys(condition for condition, _ in cells))
        models = tuple(sorted({model for _, model in cells}))
        (n_items,) = queries.rows(home, f"select count(*) from items where benchmark = {text(name)}")[0]
        if conditions:
            found.append(Benchmark(name, conditions, models, n_items))
    return found


def n_answers(home: Path) -> int:
    """Return how many answers of respondents the study keeps: it decides whether the files are written."""
    ((found,),) = queries.rows(
        home,
        "select count(*) from calls where not superseded and benchmark in (select benchmark from progress where "
        "role = 'respondent')",
    )
    return int(found)


def questions(home: Path, number: int, benchmark: Benchmark) -> str:
    """Return the script of the items of a benchmark."""
    sql = (
        f"select item_id, left(question, {QUESTION}), left(key, {QUESTION}), kind from items "
        f"where benchmark = {text(benchmark.name)} order by position, item_id"
    )
    return _called("questions", number, queries.rows(home, sql))


def grid(home: Path, number: int, place: int, benchmark: Benchmark) -> str:
    """Return the script of one condition: model → share right, mean confidence (hundredths), responses, in item order.

    A share is null where no response of the model has a verdict, a confidence where none was stated; responses are 0 where
    nothing readable was answered, and null where the item is not asked under this condition.
    """
    items = (
        f"select item_id, row_number() over (order by position, item_id) - 1 as place from items "
        f"where benchmark = {text(benchmark.name)}"
    )
    sql = (
        "select model, place, round(100 * avg(correct)), round(100 * avg(confidence)), count(*) filter (readable) "
        f"from ({_responses(home, benchmark.name)}) as said inner join ({items}) as items using (item_id) "
        f"where condition = {text(benchmark.conditions[place])} group by model, place"
    )
    found = queries.rows(home, sql)
    asked: list[int | None] = [None] * benchmark.n_items
    for _, at, *_ in found:
        asked[at] = 0
    cells: dict[str, list[list[int | None]]] = {
        model: [[None] * benchmark.n_items, [None] * benchmark.n_items, asked.copy()]
        for model in benchmark.models
    }
    for model, at, right, sure, n in found:
        for column, value in zip(cells[model], (right, sure, n), strict=True):
            column[at] = None if value is None else int(value)
    return _called("grid", number, place, cells)


def slices(home: Path, number: int, benchmark: Benchmark, wanted: Sequence[int]) -> list[str]:
    """Return the scripts of the slices ``wanted`` of a benchmark's items, each ``ITEMS_A_SLICE`` items long."""
    first, last = ITEMS_A_SLICE * min(wanted), ITEMS_A_SLICE * (max(wanted) + 1)
    about = queries.rows(
        home,
        f"select item_id, question, key, kind, facts from items where benchmark = {text(benchmark.name)} "
        f"order by position, item_id limit {last - first} offset {first}",
    )
    names = [row[0] for row in about]
    calls = _grouped(_calls(home, benchmark.name, names))
    read = _grouped(_read(home, benchmark.name, names))
    pages = []
    for slice_ in wanted:
        start = ITEMS_A_SLICE * slice_ - first
        own = about[start : start + ITEMS_A_SLICE]
        pages.append(_called("items", number, slice_, [_item(row, calls, read) for row in own]))
    return pages


def _item(
    about: Sequence[Any], calls: Mapping[str, list[dict[str, Any]]], read: Mapping[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    item_id, question, key, kind, facts = about
    prompts: dict[str, int] = {}
    answers = []
    for call in calls.get(item_id, []):
        asked = _messages(call.pop("request"))
        answers.append({**call, "prompt": prompts.setdefault(asked, len(prompts))})
    return {
        "item_id": item_id, "question": question, "key": key, "kind": kind, "facts": facts, "prompts": list(prompts),
        "answers": answers, "read": read.get(item_id, []),
    }  # fmt: skip


def _calls(home: Path, benchmark: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the calls of some items with their texts, cut at `CHARACTERS`."""
    columns = ("item_id", "condition", "step", "model", "run", "status")
    shown = ", ".join(f"calls.{name}" for name in columns)
    words = [
        "answers.text as text", "length(answers.text) as characters", "answers.reasoning as reasoning",
        "length(answers.reasoning) as thought", "prompts.request as request",
    ]  # fmt: skip
    source = (
        "left join texts.answers as answers using (answer_id) "
        "left join texts.prompts as prompts on prompts.prompt = answers.prompt"
    )
    if not (home / TEXTS).is_file():
        words, source = (
            ["null as text", "0 as characters", "null as reasoning", "0 as thought", "null as request"],
            "",
        )
    sql = (
        f"select {shown}, {', '.join(words)} from calls {source} where calls.benchmark = {text(benchmark)} "
        f"and not superseded and item_id in ({_listed(names)}) order by item_id, condition, step, model, run"
    )
    found = [
        dict(zip((*columns, "text", "characters", "reasoning", "thought", "request"), row, strict=True))
        for row in queries.rows(home, sql)
    ]
    for call in found:
        for name in ("text", "reasoning"):
            call[name] = None if call[name] is None else call[name][:CHARACTERS]
    return found


def _read(home: Path, benchmark: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return what was read out of the responses to some items: values that are there, as text."""
    columns = list(_own_columns(home, benchmark))
    if not columns:
        return []
    sql = f"select {', '.join(columns)} from {benchmark}_responses where item_id in ({_listed(names)}) order by all"
    found = []
    for row in queries.rows(home, sql):
        said = dict(zip(columns, row, strict=True))
        found.append(
            {
                **{name: said[name] for name in ("item_id", "condition", "model", "run")},
                "values": [
                    [name, _plain(value)]
                    for name, value in said.items()
                    if name not in _NOT_SHOWN and value is not None and value != []
                ],
            }
        )
    return found


def _responses(home: Path, benchmark: str) -> str:
    """Return SQL of every response: condition, model, item_id, correct, confidence, whether it could be read.

    Verdicts come from `responses`, which holds the readable ones alike for all benchmarks; the others from the
    benchmark's own table.
    """
    judged = (
        "select condition, model, run, item_id, correct, confidence, true as readable from responses "
        f"where benchmark = {text(benchmark)}"
    )
    columns = _own_columns(home, benchmark)
    if not columns:
        return judged
    declared = registry.load(benchmark)
    named = "concat_ws(' ', task, condition)" if "task" in columns else "condition"
    lost = _listed([*declared.unanswered, *declared.unreadable, FAILED_READING])
    readable = f"status not in ({lost})" if "status" in columns else "true"
    verdicts = f"select distinct condition from responses where benchmark = {text(benchmark)}"
    return (
        f"with judged as ({judged}) from judged union all by name "
        f"select {named} as condition, model, run, item_id, null::double as correct, null::double as confidence, "
        f"{readable} and {named} not in ({verdicts}) as readable from {benchmark}_responses as own "
        f"where not exists (select 1 from judged where judged.item_id = own.item_id and judged.model = own.model "
        f"and judged.run = own.run and judged.condition = {named})"
    )


def _own_columns(home: Path, benchmark: str) -> list[str]:
    """Return the columns of a benchmark's own table of responses; none where it has no such table."""
    found = queries.rows(
        home,
        "select column_name from duckdb_columns() where database_name = 'leaderboard' "
        f"and table_name = {text(benchmark + '_responses')} order by column_index",
    )
    return [name for (name,) in found]


def _grouped(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row.pop("item_id"), []).append(row)
    return found


@functools.lru_cache(maxsize=4096)  # models are asked the same
def _messages(request: str | None) -> str:
    """Return the messages of a request, one under the other; a request of another shape as it stands."""
    if request is None:
        return ""
    try:
        said = json.loads(request)["messages"]
        whole = "\n\n".join(f"{role}: {words}" for role, words in said)
    except (ValueError, KeyError, TypeError):
        whole = request
    return whole[:CHARACTERS]


def _plain(value: object) -> object:
    if isinstance(value, float):
        return round(value, 4)
    return value if isinstance(value, str | int) else str(value)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(text, names)) or "null"


def _called(function: str, *arguments: object) -> str:
    """Return a script that calls one function of the page. JSON without ``<`` cannot end a script."""
    said = json.dumps(arguments, allow_nan=False, default=str, separators=(",", ":"))[1:-1]
    return f"explorer.{function}({said.replace('<', chr(92) + 'u003c')});\n"
