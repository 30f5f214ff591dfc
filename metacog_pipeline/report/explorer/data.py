"""What the explorer shows, as the contents of its files.

==========================  =======================================================================================
``questions-B.js``          the items of benchmark number B in the order of asking: name, question, key, kind
``items-B-S.js``            slice S of its items: all that is known of each
``grid-B-MODEL.js``         per condition and item what a model answered: those right, confidence, responses
``answers-B-S-MODEL.js``    slice S of its answers: prompts, replies, thoughts, and what was read out of them
==========================  =======================================================================================

A model that is added has files of its own and changes none of the others.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.llm.spec import SLUG_PATTERN
from metacog_pipeline.report import queries
from metacog_pipeline.report.escapes import script_data
from metacog_pipeline.scoring.responses import FAILED_READING

ITEMS_A_SLICE = 20
_SLUG = re.compile(SLUG_PATTERN)
QUESTION = 160  # characters of a question in the grid; the page of the item has it whole
CHARACTERS = 4000  # of a reply, a thought or a prompt: more stays in the store, and the page says so
_OF_RESPONSE = ("item_id", "condition", "model", "run")  # which it is
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
    """A benchmark with answers: its conditions in the order of the grid, and how many items it has."""

    name: str
    conditions: tuple[str, ...]
    models: tuple[str, ...]
    n_items: int

    @property
    def slices(self) -> range:
        """The numbers of the slices of its items."""
        return range(-(-self.n_items // ITEMS_A_SLICE))


Of = tuple[str, int]  # a model and a slice


def contents(home: Home) -> list[Benchmark]:
    """Return the benchmarks that have responses, those most of whose answers are right or wrong first, then by name."""
    found: list[tuple[bool, Benchmark]] = []
    for name in queries.asked(home):
        sql = f"select condition, model, count(correct), count(*) from ({_responses(home, name)}) group by all order by all"
        cells = queries.rows(home, sql)
        conditions = tuple(dict.fromkeys(condition for condition, *_ in cells))
        models = tuple(sorted({*(model for _, model, *_ in cells), *_failing(home, name)}))
        (n_items,) = queries.rows(home, f"select count(*) from items where benchmark = {text(name)}")[0]
        if conditions:
            seldom_told = 2 * sum(n for *_, n, _ in cells) < sum(n for *_, n in cells)
            found.append((seldom_told, Benchmark(name, conditions, models, n_items)))
    return [each for _, each in sorted(found, key=lambda one: one[0])]


def _failing(home: Home, benchmark: str) -> set[str]:
    """Return the respondents that were asked and gave no response: why their calls failed is shown as well."""
    asked = f"select model from progress where role = 'respondent' and benchmark = {text(benchmark)}"
    found = queries.rows(
        home,
        f"select distinct model from calls where benchmark = {text(benchmark)} and not superseded and model in ({asked})",
    )
    return {model for (model,) in found}


def n_answers(home: Home) -> int:
    """Return how many answers of respondents the study keeps: it decides whether the files are written."""
    ((found,),) = queries.rows(
        home,
        "select count(*) from calls where not superseded and benchmark in (select benchmark from progress where "
        "role = 'respondent')",
    )
    return int(found)


def _begun(column: str) -> str:
    return f"if(length({column}) > {QUESTION}, left({column}, {QUESTION - 1}) || '…', {column})"


def questions(home: Home, number: int, benchmark: Benchmark) -> str:
    """Return the script of the items of a benchmark."""
    sql = (
        f"select item_id, {_begun('question')}, {_begun('key')}, kind from items "
        f"where benchmark = {text(benchmark.name)} order by position, item_id"
    )
    return _called("questions", number, queries.rows(home, sql))


def grids(home: Home, number: int, benchmark: Benchmark, models: Sequence[str]) -> dict[str, str]:
    """Return the script of each of ``models``: per condition those right, mean confidence (hundredths), answers, verdicts.

    Those right are the sum of the verdicts, so that shares of many items are those of the board; null without a verdict, as
    a confidence is where none was stated. Responses are 0 where nothing readable was answered, and all four null where the
    model has no response under the condition.
    """
    items = (
        f"select item_id, row_number() over (order by position, item_id) - 1 as place from items "
        f"where benchmark = {text(benchmark.name)}"
    )
    sql = (
        "select model, condition, place, round(sum(correct), 4), round(100 * avg(confidence)), "
        f"count(*) filter (readable), count(correct) from ({_responses(home, benchmark.name)}) as said "
        f"inner join ({items}) as items using (item_id) where model in ({_listed(models)}) "
        "group by model, condition, place"
    )
    cells: dict[tuple[str, str], list[list[float | None]]] = {
        (model, condition): [[None] * benchmark.n_items for _ in range(4)]
        for model in models
        for condition in benchmark.conditions
    }
    for model, condition, at, *values in queries.rows(home, sql):
        for column, value in zip(cells[model, condition], values, strict=True):
            column[at] = int(value) if value is not None and value == int(value) else value
    return {
        model: _called("grid", number, file_of(model), [cells[model, each] for each in benchmark.conditions])
        for model in models
    }


def items(home: Home, number: int, benchmark: Benchmark, wanted: Sequence[int]) -> list[str]:
    """Return the scripts of the slices ``wanted`` of a benchmark's items, each ``ITEMS_A_SLICE`` items long."""
    columns = ("item_id", "question", "key", "kind", "facts")
    slices = _sliced(home, benchmark, wanted, columns)
    return [
        _called("items", number, slice_, [dict(zip(columns, row, strict=True)) for row in own])
        for slice_, own in zip(wanted, slices, strict=True)
    ]


def answers(
    home: Home, number: int, benchmark: Benchmark, models: Sequence[str], wanted: Sequence[int]
) -> dict[Of, str]:
    """Return the scripts of what ``models`` answered to the items of the slices ``wanted``."""
    slices = _sliced(home, benchmark, wanted, ("item_id",))
    names = f"select item_id from items {_range(benchmark, wanted)}"
    calls = _grouped(_calls(home, benchmark.name, models, names))
    read = _grouped(_read(home, benchmark.name, models, names))
    return {
        (model, slice_): _called(
            "answers", number, slice_, file_of(model),
            [_answered(calls.get((name, model), []), read.get((name, model), [])) for (name,) in own],
        )
        for model in models
        for slice_, own in zip(wanted, slices, strict=True)
    }  # fmt: skip


def file_of(model: str) -> str:
    """Return what stands for a model in file names: its own name, or a digest where no study file could hold it."""
    return model if _SLUG.fullmatch(model) else f"model-{sha256_hex(model)[:16]}"


def _sliced(
    home: Home, benchmark: Benchmark, wanted: Sequence[int], columns: Sequence[str]
) -> list[list[tuple[Any, ...]]]:
    """Return the rows of the items of each wanted slice, in the order of asking."""
    rows = queries.rows(home, f"select {', '.join(columns)} from items {_range(benchmark, wanted)}")
    starts = (ITEMS_A_SLICE * (slice_ - min(wanted)) for slice_ in wanted)
    return [rows[start : start + ITEMS_A_SLICE] for start in starts]


def _range(benchmark: Benchmark, wanted: Sequence[int]) -> str:
    """Return SQL that takes the items from the first to the last wanted slice, in the order of asking."""
    first, last = ITEMS_A_SLICE * min(wanted), ITEMS_A_SLICE * (max(wanted) + 1)
    return f"where benchmark = {text(benchmark.name)} order by position, item_id limit {last - first} offset {first}"


def _answered(calls: Iterable[dict[str, Any]], read: Sequence[dict[str, Any]]) -> dict[str, Any]:
    prompts: dict[str, int] = {}
    made = []
    for call in calls:
        asked = _messages(call.pop("request"))
        made.append({**call, "prompt": prompts.setdefault(asked, len(prompts))})
    return {"prompts": list(prompts), "answers": made, "read": read}


def _calls(home: Home, benchmark: str, models: Sequence[str], names: str) -> list[dict[str, Any]]:
    """Return the calls of some models with their texts, cut at `CHARACTERS`, about the items that SQL ``names``."""
    columns = ("item_id", "condition", "step", "model", "run", "status")
    shown = ", ".join(f"calls.{name}" for name in columns)
    words = [
        "concat_ws(': ', error_kind, error_code) as why",
        "answers.text as text", "length(answers.text) as characters", "answers.reasoning as reasoning",
        "length(answers.reasoning) as thought", "prompts.request as request",
    ]  # fmt: skip
    source = (
        "left join texts.answers as answers using (answer_id) "
        "left join texts.prompts as prompts on prompts.prompt = answers.prompt"
    )
    if not home.texts.is_file():
        words, source = (
            [
                words[0],
                "null as text",
                "0 as characters",
                "null as reasoning",
                "0 as thought",
                "null as request",
            ],
            "",
        )
    sql = (
        f"select {shown}, {', '.join(words)} from calls {source} where calls.benchmark = {text(benchmark)} "
        f"and calls.model in ({_listed(models)}) and not superseded and item_id in ({names}) "
        "order by item_id, condition, step, model, run"
    )
    found = [
        dict(
            zip((*columns, "why", "text", "characters", "reasoning", "thought", "request"), row, strict=True)
        )
        for row in queries.rows(home, sql)
    ]
    for call in found:
        for name in ("text", "reasoning"):
            call[name] = None if call[name] is None else call[name][:CHARACTERS]
    return found


def _read(home: Home, benchmark: str, models: Sequence[str], names: str) -> list[dict[str, Any]]:
    """Return what was read out of the responses of some models to the items that SQL ``names``: what is there, as text."""
    columns = _own_columns(home, benchmark)
    if not columns:
        return []
    shown = [name for name in columns if name not in _NOT_SHOWN]
    sql = (
        f"select {', '.join((*_OF_RESPONSE, *shown))} from {benchmark}_responses where item_id in ({names}) "
        f"and model in ({_listed(models)}) order by {', '.join(columns)}"
    )
    found = []
    for row in queries.rows(home, sql):
        values = zip(shown, row[len(_OF_RESPONSE) :], strict=True)
        said: dict[str, Any] = dict(zip(_OF_RESPONSE, row, strict=False))
        said["values"] = [
            [name, _plain(value)] for name, value in values if value is not None and value != []
        ]
        found.append(said)
    return found


def _responses(home: Home, benchmark: str) -> str:
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


def _own_columns(home: Home, benchmark: str) -> list[str]:
    """Return the columns of a benchmark's own table of responses; none where it has no such table."""
    try:
        found = queries.rows(home, f"select column_name from (describe {benchmark}_responses)")
    except StoreError:  # asked rather than looked for in duckdb_columns(), which lists all columns there are
        return []
    return [name for (name,) in found]


def _grouped(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the rows by item and model, without both."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row.pop("item_id"), row.pop("model")), []).append(row)
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
    """Return a script that calls one function of the page."""
    return f"explorer.{function}({script_data(arguments)[1:-1]});\n"
