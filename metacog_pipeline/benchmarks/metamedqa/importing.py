"""Answers collected elsewhere, turned into transcript records. Every row that is not taken is listed with its reason.

An item is named by ``item_id``, by ``position`` (0-based place in the order of the set) or by the text of its
``question``. The answer is a ``choice`` (a letter, or an index 0 = A to 5 = F) with an optional ``confidence``, or the
raw ``response``, which the parser reads like any other reply. ``condition`` is optional.

Where columns are found by their usual names, all that name the item must agree: an index that begins at 1 beside the
question's text is reported, row by row, and never taken for the place of the next item.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.asking import construction, importing
from metacog_pipeline.asking.answer_files import FileRow, read_rows
from metacog_pipeline.asking.importing import Imported, Rejected, RowError, absent, first_named
from metacog_pipeline.benchmark.contract import Importer
from metacog_pipeline.benchmarks.metamedqa.construction.text import fold, straight_quotes
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, NAME, Item
from metacog_pipeline.benchmarks.metamedqa.parsing import parse
from metacog_pipeline.benchmarks.metamedqa.prompts import BASELINE, Wording, load_wording
from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.querying.session import keep_imported
from metacog_pipeline.transcripts.schema import Record

ITEM_FIELDS = ("item_id", "position", "question")
FIELDS = (*ITEM_FIELDS, "choice", "confidence", "response", "condition")
# Column names seen in result files, most telling first; compared without case, spaces and hyphens.
USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "item_id": ("item_id", "itemid", "question_id", "qid", "id"),
    "position": ("position", "doc_id", "docid", "index", "idx", "row"),
    "question": ("question", "question_text", "stem"),
    # "answer" comes late: beside a prediction it is the key.
    "choice": ("choice", "model_answer", "prediction", "predicted", "pred", "selected", "answer", "letter"),
    "confidence": ("confidence", "conf", "confidence_score", "certainty"),
    "response": ("response", "raw_response", "model_output", "output", "completion", "raw", "reply"),
    "condition": ("condition", "prompt_condition", "prompt_id"),
}
# The index a data frame is written with: a position where nothing else names the item.
_FRAME_INDEX = ("unnamed:_0", "")
_SHOWN = 60


def import_answers(
    benchmark: Any, file: Path, model: str, run: int, pairs: Sequence[str], condition: str
) -> Imported:
    """Keep the answers in ``file`` as those of a replayed model; nothing is kept when the file is unreadable.

    Raises
    ------
    StudyError
        If the model is not a replayed one, the run is not in the study, or the file or mapping is wrong.
    """
    study, mapping = benchmark.context.study, importing.parse_mapping(pairs, FIELDS)
    partition = importing.replayed_partition(study, NAME, model, run)
    study.home.prepare()
    if not construction.items_current(benchmark):
        construction.build(benchmark)
    how: dict[str, Any] = {"model": model, "run": run, "mapping": mapping, "condition": condition}
    found = read_answers(file, benchmark.built, wording=benchmark.wording, **how)
    keep_imported(partition, found.records)
    return found


def read_answers(
    path: Path,
    items: Sequence[Item],
    *,
    model: str,
    run: int,
    mapping: Mapping[str, str] | None = None,
    wording: Wording | None = None,
    condition: str = BASELINE,
) -> Imported:
    """Read the answers in ``path`` (CSV, TSV, JSON Lines, JSON or Parquet).

    Parameters
    ----------
    items
        The items of the study; rows about others are rejected.
    model, run
        What the answers are kept under.
    mapping
        {field: column}; fields not mapped are found by their usual names.
    wording
        Says which conditions there are; the shipped one by default.
    condition
        Of rows without a condition of their own.

    Raises
    ------
    StudyError
        When the file cannot be read, a mapped column is not there, or no column names the item or the answer.
    """
    rows = read_rows(path)
    columns = _resolve(
        path, list(dict.fromkeys(name for row in rows for name in row.cells)), dict(mapping or {})
    )
    words = wording or load_wording()
    usual, by_name = words.condition(condition), _ByName(items, columns)
    records: dict[tuple[str, str], tuple[int, Record]] = {}
    rejected, warnings = [], []
    for row in rows:
        try:
            item, told, text = _read(row, columns, by_name, words, usual)
            first, _ = records.get((item.item_id, told), (row.number, None))
            if first != row.number:
                raise RowError(
                    f"item {item.item_id} is given twice, first in row {first}; the first one counts"
                )
        except RowError as error:
            rejected.append(Rejected(row.number, one_line(str(error))))
            continue
        if (reason := parse(text, item.options).reason) is not None:
            warnings.append(one_line(f"{reason} in item {item.item_id} (run {run}): recorded as unparsable"))
        records[item.item_id, told] = row.number, _record(item, told, text, model, run)
    return Imported(tuple(record for _, record in records.values()), tuple(rejected), tuple(warnings))


def _resolve(path: Path, columns: Sequence[str], mapping: dict[str, str]) -> dict[str, str]:
    """Return the column of every field that has one."""
    there = f"the columns are: {', '.join(map(repr, columns)) or 'none'}"
    for field, column in mapping.items():
        if field not in FIELDS:
            raise StudyError(f"{path}: unknown field {field!r}; map one of {', '.join(FIELDS)}")
        if column not in columns:
            raise StudyError(f"{path}: no column {column!r} to map {field} to; {there}")
    if "response" in mapping and ("choice" in mapping or "confidence" in mapping):
        raise StudyError(
            f"{path}: map response, or choice and confidence, not both: which of them is the answer?"
        )
    found = dict(mapping)

    def take(field: str, names: Sequence[str]) -> None:
        column = first_named(names, [name for name in columns if name not in found.values()])
        if column is not None:
            found[field] = column

    for field in FIELDS:
        if field not in found and not _answered_by(field, mapping):
            take(field, USUAL_NAMES[field])
    if not any(field in found for field in ITEM_FIELDS):
        take("position", _FRAME_INDEX)
    if not any(field in found for field in ITEM_FIELDS):
        raise StudyError(
            f"{path}: no column names the item; use --map item_id=…, position=… or question=…; {there}"
        )
    if "choice" not in found and "response" not in found:
        raise StudyError(f"{path}: no column holds the answer; use --map choice=… or response=…; {there}")
    return found


def _answered_by(field: str, mapping: Mapping[str, str]) -> bool:
    """Whether what the user mapped already answers the question ``field`` is about."""
    if field in ITEM_FIELDS:
        return any(other in mapping for other in ITEM_FIELDS)
    if field == "choice" or field == "confidence":
        return "response" in mapping
    return field == "response" and ("choice" in mapping or "confidence" in mapping)


class _ByName:
    """Finds the item that all given fields of a row agree on."""

    def __init__(self, items: Sequence[Item], columns: Mapping[str, str]) -> None:
        self._fields = [field for field in ITEM_FIELDS if field in columns]
        self._columns = columns
        self._by_id = {item.item_id: item for item in items}
        self._by_position = {item.position: item for item in items}
        self._by_question: dict[str, list[Item]] = {}
        for item in items if "question" in columns else ():
            self._by_question.setdefault(_question(item.question), []).append(item)

    def __call__(self, cells: Mapping[str, Any]) -> Item:
        """Return the item; a field that names none counts only where it stands alone."""
        given = {field: cells.get(self._columns[field]) for field in self._fields}
        named = {field: value for field, value in given.items() if not absent(value)}
        if not named:
            raise RowError("the row names no item")
        found = {field: self._named(field, value) for field, value in named.items()}
        known = [(field, item) for field, item in found.items() if item is not None]
        if not known:
            raise RowError(self._unknown(named))
        (field, item), (last, other) = known[0], known[-1]
        if any(item.item_id != another.item_id for _, another in known):
            raise RowError(
                f"{field} {_show(named[field])} is {item.item_id}, but the {last} is that of {other.item_id}; "
                f"say which is right with --map {field}=… or {last}=…"
            )
        return item

    def _named(self, field: str, value: Any) -> Item | None:
        if field == "item_id":
            return self._by_id.get(str(value).strip())
        if field == "position":
            place = _whole(value)
            return None if place is None else self._by_position.get(place)
        same = self._by_question.get(_question(str(value)), ())
        return same[0] if len(same) == 1 else None

    def _unknown(self, named: Mapping[str, Any]) -> str:
        """Say why a row's fields name no item."""
        same = self._by_question.get(_question(str(named["question"])), ()) if "question" in named else ()
        if same:
            return (
                f"question {_show(named['question'])} belongs to {len(same)} items; give item_id or position"
            )
        field, value = next(iter(named.items()))
        number = field == "item_id" and _whole(value) is not None
        hint = "; if it is a place: --map position=…" if number else ""
        return f"unknown item: {field} {_show(value)} is none of the {len(self._by_id)} items of this study{hint}"


def _read(
    row: FileRow, columns: Mapping[str, str], by_name: _ByName, wording: Wording, usual: str
) -> tuple[Item, str, str]:
    """Return item, condition and text of a row; RowError says why there is none."""
    if row.broken is not None:
        raise RowError(row.broken)
    item = by_name(row.cells)
    cells = {field: row.cells.get(column) for field, column in columns.items()}
    told = cells.get("condition")
    try:
        condition = usual if absent(told) else wording.condition(str(told).strip())
    except StudyError as error:
        raise RowError(str(error)) from None
    return item, condition, _text(cells)


def _text(cells: Mapping[str, Any]) -> str:
    """Return the raw response, or the answer in the two lines a model is asked for."""
    raw = cells.get("response")
    if not (raw is None or (isinstance(raw, float) and math.isnan(raw))):
        return raw if isinstance(raw, str) else str(raw)
    if "choice" not in cells:
        raise RowError("there is no response")
    letter, confidence = _letter(cells["choice"]), cells.get("confidence")
    return (
        f"Answer: {letter}" if absent(confidence) else f"Answer: {letter}\nConfidence: {_rating(confidence)}"
    )


def _record(item: Item, condition: str, text: str, model: str, run: int) -> Record:
    return importing.imported_record(
        NAME,
        (item.item_id, item.item_hash),
        model=model,
        run=run,
        condition=condition,
        step="answer",
        text=text,
        identity=[NAME, model, run, item.item_id, condition, text, "import"],
    )


def _question(text: str) -> str:
    """Fold a question for comparison; curly and straight quotes are one."""
    return fold(straight_quotes(text))


def _whole(value: object) -> int | None:
    """Return a whole number given as a number or as text (``3``, ``3.0``), else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    text = str(value).strip()
    return int(float(text)) if re.fullmatch(r"-?[0-9]{1,9}(?:\.0+)?", text) else None


def _letter(value: object) -> str:
    if absent(value):
        raise RowError("there is no choice")
    index = _whole(value)
    if index is not None and 0 <= index < len(LETTERS):
        return LETTERS[index]
    letter = str(value).strip().strip("()[].:").upper()
    if letter in LETTERS:
        return letter
    raise RowError(f"choice {_show(value)} is neither a letter A–F nor an index 0–5")


def _rating(value: object) -> str:
    """Return the rating as a reply would state it; what is no whole number is kept for the parser to refuse."""
    number = _whole(value)
    return one_line(str(value), _SHOWN) if number is None else str(number)


def _show(value: object) -> str:
    return repr(one_line(str(value), _SHOWN))


IMPORTER = Importer(FIELDS, BASELINE, import_answers)
