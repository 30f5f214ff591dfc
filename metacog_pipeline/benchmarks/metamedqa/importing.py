"""Answers collected elsewhere, turned into transcript records. Every row that is not taken is listed with its reason.

An item is named by ``item_id``, by ``position`` (0-based place in the order of the set) or by the text of its
``question``. The answer is a ``choice`` (a letter, an index 0 = A to 5 = F, or the text of an option) with an optional
``confidence``, or the raw ``response``, which the parser reads like any other reply. ``condition`` is optional.

A ``key``, a ``correct`` and every further column that names the item are checksums (`asking.checksums`): an index that
begins at 1 beside the question's text refuses the file, and is never taken for the place of the next item.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline import columns as named
from metacog_pipeline.asking import checksums, construction, importing
from metacog_pipeline.asking.answer_files import AnswerFile, FileRow, read_rows
from metacog_pipeline.asking.importing import (
    Imported,
    ImportOptions,
    Rejected,
    RowError,
    absent,
    first_named,
    used_columns,
)
from metacog_pipeline.benchmark.contract import Importer
from metacog_pipeline.benchmarks.metamedqa import import_cells as cells_of
from metacog_pipeline.benchmarks.metamedqa.import_cells import folded, shown, whole
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, NAME, Item
from metacog_pipeline.benchmarks.metamedqa.parsing import parse
from metacog_pipeline.benchmarks.metamedqa.prompts import BASELINE, Wording, load_wording
from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.querying.session import keep_imported
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import kept_records

ITEM_FIELDS = ("item_id", "position", "question")
CHECKS = ("key", "correct")
FIELDS = (*ITEM_FIELDS, "choice", "confidence", "response", "condition", *CHECKS)
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
    "key": (
        "key",
        "answer_key",
        "gold",
        "gold_answer",
        "target",
        "correct_answer",
        "correct_option",
        "ground_truth",
    ),
    "correct": ("correct", "is_correct"),
}
# The index a data frame is written with: a position where nothing else names the item.
_FRAME_INDEX = ("unnamed:_0", "")
_OWN_SCALE = named.Scale(1, 5)
_LEAST_STATED = 10  # confidences from which a scale shows
_TOLERATED = 0.1  # of stated confidences that are no rating 1 to 5: more than that is another scale


def import_answers(
    benchmark: Any,
    file: Path,
    model: str,
    run: int,
    pairs: Sequence[str],
    condition: str,
    options: ImportOptions | None = None,
) -> Imported:
    """Keep the answers in ``file`` as those of a replayed model; nothing is kept when the file is unreadable.

    Raises
    ------
    StudyError
        If the model is not a replayed one, the run is not in the study, the file or mapping is wrong, or a column of
        the file contradicts the items.
    """
    options = options or ImportOptions()
    study, mapping = benchmark.context.study, importing.parse_mapping(pairs, FIELDS)
    partition = importing.replayed_partition(study, NAME, model, run)
    study.home.prepare()
    if not construction.items_current(benchmark):
        construction.build(benchmark)
    how: dict[str, Any] = {"model": model, "run": run, "mapping": mapping, "condition": condition}
    found = read_answers(file, benchmark.built, wording=benchmark.wording, options=options, **how)
    if "confidence" not in options.trust:
        _refuse_another_scale(file, found.records, kept_records(partition.folder), model, run)
    options.tell(found)
    keep_imported(partition, found.records)
    return found


def _refuse_another_scale(
    file: Path, new: Sequence[Record], kept: Iterable[Record], model: str, run: int
) -> None:
    """Refuse answers whose confidence was on another scale than that of answers kept already."""
    ids = {record.answer_id for record in new}
    before = {record.request_json for record in kept if record.answer_id not in ids and _rated(record)}
    for record in new:
        if _rated(record) and before - {record.request_json}:
            old, this = _scale_of(next(iter(before - {record.request_json}))), _scale_of(record.request_json)
            raise StudyError(
                f"{file}: its confidence is on {this}, that of answers kept for {model}, run {run}, on {old}; nothing was "
                f"kept; use another --run, or take it with --trust confidence"
            )


def _rated(record: Record) -> bool:
    return record.text is not None and "\nConfidence: " in record.text


def _scale_of(request_json: str) -> str:
    return str(json.loads(request_json).get("confidence_scale", _OWN_SCALE))


def read_answers(
    path: Path,
    items: Sequence[Item],
    *,
    model: str,
    run: int,
    mapping: Mapping[str, str] | None = None,
    wording: Wording | None = None,
    condition: str = BASELINE,
    options: ImportOptions | None = None,
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
    options
        Scale, shape and what is trusted.

    Raises
    ------
    StudyError
        When the file cannot be read, a mapped column is not there, no column names the item or the answer, a checking
        column disagrees with the items, or confidence is on no scale that is known.
    """
    options = options or ImportOptions()
    rows = read_rows(path, options.shape)
    columns = _resolve(path, rows, dict(mapping or {}))
    words = wording or load_wording()
    reader = _Reader(path, items, columns, options, words, words.condition(condition))
    for row in rows:
        reader.take(row, model, run)
    checked = reader.check(frozenset(mapping or ()))
    reader.check_scale()
    return Imported(
        tuple(reader.records.values()),
        tuple(reader.rejected),
        tuple(reader.warnings),
        reader.summary(rows.columns, checked),
    )


class _Reader:
    """Turns rows into records, and gathers what proves or contradicts them."""

    def __init__(
        self,
        path: Path,
        items: Sequence[Item],
        columns: dict[str, str],
        options: ImportOptions,
        wording: Wording,
        usual: str,
    ) -> None:
        self.records: dict[tuple[str, str], Record] = {}
        self.rejected: list[Rejected] = []
        self.warnings: list[str] = []
        self._path, self._columns, self._options = path, columns, options
        self._wording, self._usual = wording, usual
        self._items = sorted(items, key=lambda item: item.position)
        self._place = {item.item_id: place for place, item in enumerate(self._items)}
        self._by_name = _ByName(items, columns)
        self._first: dict[tuple[str, str], int] = {}
        self._evidence = checksums.Evidence(said={name: [] for name in CHECKS if name in columns})
        self._matched: dict[str, int] = {}
        self._stated: list[float] = []
        self._unstated = self._unrated = 0
        scale = options.scale
        self._request = "{}" if scale in (None, _OWN_SCALE) else json.dumps({"confidence_scale": str(scale)})

    def take(self, row: FileRow, model: str, run: int) -> None:
        """Add the row's record, or the reason there is none."""
        try:
            if row.broken is not None:
                raise RowError(row.broken)
            item, by, other = self._by_name(row.cells)
            cells = {field: named.cell(row.cells, column) for field, column in self._columns.items()}
            condition = self._condition(cells.get("condition"))
            first = self._first.get((item.item_id, condition))
            if first is not None:
                raise RowError(
                    f"item {item.item_id} is given twice, first in row {first}; the first one counts"
                )
            text = self._text(cells, item, row.number)
        except RowError as error:
            self.rejected.append(Rejected(row.number, one_line(str(error))))
            return
        parsed = parse(text, item.options)
        if parsed.reason is not None:
            self.warnings.append(
                one_line(f"{parsed.reason} in item {item.item_id} (run {run}): recorded as unparsable")
            )
        self._first[item.item_id, condition] = row.number
        self.records[item.item_id, condition] = _record(item, condition, text, model, run, self._request)
        self._matched[by] = self._matched.get(by, 0) + 1
        self._note(row.number, item, parsed.answer, cells, other)

    def _note(
        self,
        number: int,
        item: Item,
        answer: str | None,
        cells: Mapping[str, Any],
        other: Mapping[str, Item | None],
    ) -> None:
        """Add what the row says to the evidence."""
        evidence = self._evidence
        before = len(evidence.row)
        evidence.row.append(number)
        evidence.place.append(self._place[item.item_id])
        evidence.choice.append(checksums.NONE if answer is None else LETTERS.index(answer))
        for name in CHECKS:
            if name in self._columns:
                evidence.said[name].append(self._said(name, cells[name], item))
        for name in ITEM_FIELDS[1:]:
            if name in self._columns:
                said = evidence.said.setdefault(name, [checksums.NONE] * before)
                one = other.get(name)
                silent = name not in other
                said.append(
                    checksums.NONE
                    if silent
                    else checksums.UNREADABLE
                    if one is None
                    else self._place[one.item_id]
                )

    def _said(self, name: str, value: Any, item: Item) -> int:
        value = self._options.shape.word(value)
        if named.missing(value):
            return checksums.NONE
        if name == "correct":
            right = cells_of.correctness(value)
            return checksums.UNREADABLE if right is None else right
        try:
            return LETTERS.index(cells_of.letter(value, item.options))
        except RowError:
            return checksums.UNREADABLE

    def _condition(self, told: Any) -> str:
        try:
            return self._usual if absent(told) else self._wording.condition(str(told).strip())
        except StudyError as error:
            raise RowError(str(error)) from None

    def _text(self, cells: Mapping[str, Any], item: Item, number: int) -> str:
        """Return the raw response, or the answer in the two lines a model is asked for."""
        raw = cells.get("response")
        if not (raw is None or (isinstance(raw, float) and math.isnan(raw))):
            return raw if isinstance(raw, str) else str(raw)
        if "choice" not in cells:
            raise RowError("there is no response")
        word = self._options.shape.word
        letter, confidence = (
            cells_of.letter(word(cells["choice"]), item.options),
            word(cells.get("confidence")),
        )
        if named.missing(confidence):
            self._unstated += "confidence" in cells
            return f"Answer: {letter}"
        if named.has_comma(confidence):
            raise StudyError(
                f"{self._path} row {number}: confidence {shown(confidence)} is a number with a comma; write it with a "
                "decimal point and no separators of thousands"
            )
        stated = named.number(confidence)
        if stated is None:
            self._unrated += 1
        else:
            self._stated.append(stated)
        return f"Answer: {letter}\nConfidence: {cells_of.rating(confidence, self._options.scale)}"

    def check(self, mapped: frozenset[str]) -> list[checksums.Checked]:
        """Hold the checking columns to the items; one found by its name alone must be what it is called."""
        said = self._evidence.said
        for name in list(said):
            there = [value for value in said[name] if value != checksums.NONE]
            unreadable = there.count(checksums.UNREADABLE)
            if not there or (name not in mapped and 2 * unreadable > len(there)):
                del said[name]
                if name in CHECKS and name not in mapped:
                    del self._columns[name]
        by = max(self._matched, key=lambda name: self._matched[name], default=ITEM_FIELDS[0])
        target = [LETTERS.index(item.target) for item in self._items]
        names = [item.item_id for item in self._items]
        checking = {name: self._columns[name] for name in said}
        return checksums.check(
            self._path, self._evidence, target, names, checking, by, self._columns, self._options.trust
        )

    def check_scale(self) -> None:
        """Refuse confidence that is on no declared scale and not on that of the benchmark."""
        off = [value for value in self._stated if value not in (1, 2, 3, 4, 5)]
        if (
            self._options.scale is None
            and len(self._stated) >= _LEAST_STATED
            and len(off) > _TOLERATED * len(self._stated)
        ):
            low, high = min(self._stated), max(self._stated)
            fits = " or ".join(f"--scale {name}" for name in named.fitting_scales(low, high))
            raise StudyError(
                f"{self._path}: {len(off)} of {len(self._stated)} confidences are no rating 1 to 5; they run from "
                f"{low:g} to {high:g}: say on which scale, as in {fits or '--scale LOW..HIGH'}; nothing was kept"
            )

    def summary(self, there: Sequence[str], checked: Sequence[checksums.Checked]) -> tuple[str, ...]:
        """Return how the file was understood, line by line."""
        taken, answered = len(self.records), [c for c in self._evidence.choice if c != checksums.NONE]
        target = [LETTERS.index(self._items[place].target) for place in self._evidence.place]
        right = sum(c == t for c, t in zip(self._evidence.choice, target, strict=True))
        by = ", ".join(f"{count} by {name}" for name, count in self._matched.items()) or "none"
        proof = (
            "; ".join(map(str, checked)) or "nothing in it proves the match (map key, correct or question)"
        )
        lines = [f"{taken + len(self.rejected)} rows, {taken} taken; matched {by}; {proof}"]
        accuracy = (
            f"{right / len(answered):.3f} of {len(answered)} choices" if answered else "no choice can be read"
        )
        lines.append(f"accuracy {accuracy}; {self._confidence()}")
        items = {item_id for item_id, _ in self.records}
        if lacking := len(self._items) - len(items):
            lines.append(
                f"{len(items)} of {len(self._items)} items have an answer; with {lacking} missing, a run is scored only "
                "where allow_incomplete = true is set, with its coverage"
            )
        return (*lines, used_columns(self._columns, there))

    def _confidence(self) -> str:
        if "confidence" not in self._columns or not (self._stated or self._unrated):
            return (
                "no confidence of its own"
                if "response" not in self._columns
                else "confidence is in the responses"
            )
        scale = self._options.scale
        told = f"on {scale}" if scale is not None else "taken as a rating 1..5"
        told += "" if scale in (None, _OWN_SCALE) else ", put on the nearest of 1 to 5"
        ends = f" from {min(self._stated):g} to {max(self._stated):g}" if self._stated else ""
        return f"confidence{ends}, {told}, {self._unstated} missing, {self._unrated} not numbers"


def _resolve(path: Path, rows: AnswerFile, mapping: dict[str, str]) -> dict[str, str]:
    """Return the column of every field that has one."""
    columns = rows.columns
    there = f"the columns are: {', '.join(map(repr, columns)) or 'none'}"
    for field, column in mapping.items():
        if field not in FIELDS:
            raise StudyError(f"{path}: unknown field {field!r}; map one of {', '.join(FIELDS)}")
        if not rows.has(column):
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
            self._by_question.setdefault(folded(item.question), []).append(item)

    def __call__(self, cells: Mapping[str, Any]) -> tuple[Item, str, dict[str, Item | None]]:
        """Return the item, the field that names it, and what each later field names; raise `RowError` without one."""
        given = {field: named.cell(cells, self._columns[field]) for field in self._fields}
        names = {field: value for field, value in given.items() if not absent(value)}
        if not names:
            raise RowError("the row names no item")
        found: Item | None = None
        by, other = "", {}
        for field, value in names.items():
            one = self._named(field, value)
            if found is None:
                found, by = one, field
            elif not (one is None and field == "question" and self._shared(value, found)):
                other[field] = one
        if found is None:
            raise RowError(self._unknown(names))
        return found, by, other

    def _shared(self, question: Any, item: Item) -> bool:
        """Whether several items have this question, ``item`` among them."""
        return item in self._by_question.get(folded(str(question)), ())

    def _named(self, field: str, value: Any) -> Item | None:
        if field == "item_id":
            return self._by_id.get(str(value).strip())
        if field == "position":
            place = whole(value)
            return None if place is None else self._by_position.get(place)
        same = self._by_question.get(folded(str(value)), ())
        return same[0] if len(same) == 1 else None

    def _unknown(self, named: Mapping[str, Any]) -> str:
        """Say why a row's fields name no item."""
        same = self._by_question.get(folded(str(named["question"])), ()) if "question" in named else ()
        if same:
            return (
                f"question {shown(named['question'])} belongs to {len(same)} items; give item_id or position"
            )
        field, value = next(iter(named.items()))
        number = field == "item_id" and whole(value) is not None
        hint = "; if it is a place: --map position=…" if number else ""
        return f"unknown item: {field} {shown(value)} is none of the {len(self._by_id)} items of this study{hint}"


def _record(item: Item, condition: str, text: str, model: str, run: int, request_json: str) -> Record:
    return importing.imported_record(
        NAME,
        (item.item_id, item.item_hash),
        model=model,
        run=run,
        condition=condition,
        step="answer",
        text=text,
        identity=[NAME, model, run, item.item_id, condition, text, "import"],
        request_json=request_json,
    )


IMPORTER = Importer(FIELDS, BASELINE, import_answers)
