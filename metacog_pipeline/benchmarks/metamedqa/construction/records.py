"""The records construction works on, validated from JSON objects; what is wrong is told in one line.

A parent row has ``question``, ``options`` {A..D}, ``answer_idx``, ``answer``, ``meta_info`` and optionally ``realidx``;
a fictional row ``question``, ``options`` {A..D}, ``language``, ``generator`` and a key of its own that the benchmark
does not use; a published row six options and ``kind``. Fields not named here are ignored.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, TypeAdapter, ValidationError

from metacog_pipeline.benchmarks.metamedqa.items import CANNOT_ANSWER, NONE_OF_THE_ABOVE, Letter
from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import JsonRow, Line, read_lines, read_objects
from metacog_pipeline.study.allowed import wanted

RecordT = TypeVar("RecordT")
Key = Literal["A", "B", "C", "D"]
CHOICES: tuple[Key, ...] = get_args(Key)
EditKind = Literal["answer_replaced", "answer_altered", "question_altered", "malformed"]
EDIT_KINDS: tuple[EditKind, ...] = get_args(EditKind)
ANSWER_EDITS: tuple[EditKind, ...] = ("answer_replaced", "answer_altered")
Status = Literal["proposed", "accepted", "rejected"]
ChangedField = Literal["question", "options.A", "options.B", "options.C", "options.D"]
PARENT_PREFIX = "medqa-usmle-test-"
FICTIONAL_PREFIX = "fictional-"


def _storable(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode without lone surrogates") from None
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must be non-empty text")
    return text


def _or_unknown(text: str | None) -> str | None:
    return None if text is None or not text.strip() else _storable(text)


def _by_letter(options: object) -> object:
    """Return the texts of A..D of an object by letter."""
    if isinstance(options, dict) and sorted(options) == list(CHOICES):
        return tuple(options[letter] for letter in CHOICES)
    raise ValueError("must be an object with exactly the keys A, B, C, D")


AnyText = Annotated[str, AfterValidator(_storable)]
Text = Annotated[AnyText, AfterValidator(_not_blank)]
Known = Annotated[str | None, AfterValidator(_or_unknown)]
"""A text that may be missing; a blank one is."""
Four = tuple[str, str, str, str]
FourTexts = Annotated[tuple[Text, Text, Text, Text], BeforeValidator(_by_letter)]
Place = Annotated[StrictInt, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class ParentRow:
    """One question of the parent set; ``source_index`` is its 0-based row."""

    source_index: Place
    question: Text
    options: FourTexts
    answer_idx: Key
    answer: AnyText
    meta_info: AnyText


@dataclass(frozen=True, slots=True)
class FictionalRow:
    """One question about something that does not exist; ``index`` is its 0-based row in the pool.

    ``source_answer_idx`` is the pool's own key, kept beside the benchmark's F (``None`` where never published).
    """

    index: Place
    item_id: AnyText
    question: Text
    options: FourTexts
    language: Text
    generator: Known = None
    source_answer_idx: Key | None = None


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """One row of any multiple-choice file, ``letters`` in the order of the file; ``place`` is its 0-based row."""

    place: Place
    question: Text
    letters: tuple[str, ...]
    options: tuple[AnyText, ...]
    answer_idx: str | None = None
    answer: Known = None
    meta_info: AnyText = ""
    kind: Known = None
    item_id: Known = None

    def option(self, letter: str) -> str | None:
        """Return the text of ``letter``, or ``None`` when the row has no such choice."""
        return self.options[self.letters.index(letter)] if letter in self.letters else None

    @property
    def choices(self) -> Four:
        """The texts of A..D; SourceError when one is missing."""
        texts = [self.option(letter) for letter in CHOICES]
        if any(text is None for text in texts):
            raise SourceError(
                f"row {self.place}: options {', '.join(self.letters)} given, A, B, C and D needed; mend the row"
            )
        a, b, c, d = (text or "" for text in texts)
        return a, b, c, d


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one field: the whole text (``before`` -> ``after``) or a part (``find`` -> ``replace``).

    ``find`` must occur exactly ``count`` times.
    """

    field: ChangedField
    before: Text | None = None
    after: AnyText | None = None
    find: Text | None = None
    replace: AnyText | None = None
    count: Annotated[StrictInt, Field(ge=1)] = 1


def _one_change(row: object) -> object:
    """Keep what belongs to the kind of change that the row is; its two texts must be there."""
    if not isinstance(row, dict):
        return row
    texts = ("find", "replace") if row.get("find") is not None else ("before", "after")
    if lacking := [name for name in texts if row.get(name) is None]:
        raise ValueError(f"must have the text {lacking[0]!r}")
    kept = ("field", *texts, *(("count",) if "find" in texts and row.get("count") is not None else ()))
    return {name: row[name] for name in kept if name in row}


@dataclass(frozen=True, slots=True)
class EditRecord:
    """What was done to one parent item. Empty ``changes`` is for ``malformed`` only.

    ``reason``, ``auditor``, ``created`` and ``status`` are ``None`` in a derived table: they were never published.
    A record counts when its status is ``accepted`` or absent.
    """

    item_id: Text
    source_index: Place
    edit_kind: EditKind
    changes: tuple[Annotated[Change, BeforeValidator(_one_change)], ...]
    answer_before: Key
    answer_after: Letter
    reason: Known = None
    auditor: Known = None
    created: Known = None
    status: Status | None = None
    second_auditor: Known = None
    published_kind: Known = None

    @property
    def counts(self) -> bool:
        """Whether the record changes the data set."""
        return self.status in (None, "accepted")


@dataclass(frozen=True, slots=True)
class Quirk:
    """One cell in which the published file departs from its own rules."""

    source_index: Place
    field: Literal["kind", "options.E", "options.F"]
    standard: Text
    published: Text


@functools.cache  # each takes 10 ms, and whoever has the items builds none
def _adapter(record: Any) -> TypeAdapter[Any]:
    return TypeAdapter(record)


def _read(record: type[RecordT], line: Line, **given: object) -> RecordT:
    """Return the record on ``line`` with ``given`` in place of its fields; SourceError names the first wrong one."""
    try:
        kind: Any = record
        read: RecordT = _adapter(kind).validate_python({**line.row, **given})
        return read
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
    wrong = (
        "is missing" if fault["type"] == "missing" else f"{wanted(fault)}, got {repr(fault['input'])[:80]}"
    )
    raise _refused(line, ".".join(map(str, fault["loc"])), wrong)


def _refused(line: Line, field: str, wrong: str) -> SourceError:
    named = "" if line.row.get("item_id") is None else f" ({str(line.row['item_id'])[:80]})"
    return SourceError(f"{line.where}{named}: field {field!r} {wrong}; mend the row")


def _given(row: JsonRow, field: str, otherwise: object) -> object:
    """Return the field, ``otherwise`` where it is missing, null or blank."""
    value = row.get(field)
    return otherwise if value is None or (isinstance(value, str) and not value.strip()) else value


def parse_parent(line: Line, place: int) -> ParentRow:
    """Return the parent row on ``line``; ``realidx``, where given, must be its 0-based ``place``."""
    row, options = line.row, line.row.get("options")
    if row.get("realidx") not in (None, place):
        wrong = f"is {repr(row['realidx'])[:80]} but this is row {place} (from 0); keep the parent's order"
        raise _refused(line, "realidx", wrong)
    keyed = options.get(str(row.get("answer_idx"))) if isinstance(options, dict) else None
    answer, about = _given(row, "answer", keyed), _given(row, "meta_info", "")
    return _read(ParentRow, line, source_index=place, answer=answer, meta_info=about)


def parse_fictional(line: Line, place: int, prefix: str = FICTIONAL_PREFIX) -> FictionalRow:
    """Return the pool row on ``line``; its id is ``item_id`` where given, else ``prefix`` and its row number."""
    key = line.row.get("source_answer_idx")
    key = line.row.get("answer_idx") if key is None else key
    name = _given(line.row, "item_id", f"{prefix}{place:03d}")
    return _read(FictionalRow, line, index=place, item_id=name, source_answer_idx=key)


def parse_choice_row(line: Line, place: int) -> ChoiceRow:
    """Return a row of any multiple-choice file: options as an object by letter or a list, key as letter or index."""
    options, key = line.row.get("options"), line.row.get("answer_idx")
    if isinstance(options, list):
        options = (
            dict(zip(ascii_uppercase, options, strict=False)) if len(options) <= len(ascii_uppercase) else {}
        )
    if not isinstance(options, dict) or not options or not all(k and k in ascii_uppercase for k in options):
        wrong = f"must be an object by capital letter or a list of at most 26 texts, got {repr(options)[:80]}"
        raise _refused(line, "options", wrong)
    letters = tuple(options)
    if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < len(letters):
        key = letters[key]
    if key is not None and key not in letters:
        wrong = f"must be one of {', '.join(letters)} or an index from 0, got {repr(key)[:80]}"
        raise _refused(line, "answer_idx", wrong)
    texts, about = tuple(options.values()), _given(line.row, "meta_info", "")
    given = {"letters": letters, "options": texts, "answer_idx": key, "meta_info": about}
    return _read(ChoiceRow, line, place=place, **given)


def parse_edit(line: Line) -> EditRecord:
    """Return the edit record on ``line``."""
    return _read(EditRecord, line)


def fields_of_record(record: Any) -> dict[str, Any]:
    """Return what ``asdict`` gives for one of these records; what they hold cannot change, so nothing is copied."""
    found = {name: getattr(record, name) for name in record.__dataclass_fields__}
    if isinstance(record, EditRecord):
        found["changes"] = tuple(map(fields_of_record, record.changes))
    return found


def edit_to_json(edit: EditRecord) -> JsonRow:
    """Return the record as a JSON object; fields that are unknown are left out, not filled in."""
    row = _known(fields_of_record(edit))
    for change in row["changes"]:
        if change["find"] is None:
            del change["count"]
    return {**row, "changes": [_known(change) for change in row["changes"]]}


def _known(row: JsonRow) -> JsonRow:
    return {name: value for name, value in row.items() if value is not None}


def load_parents(path: Path) -> list[ParentRow]:
    """Read a parent set from ``.jsonl`` or ``.jsonl.gz``."""
    return [parse_parent(line, place) for place, line in enumerate(read_lines(path))]


def load_fictional(path: Path, prefix: str = FICTIONAL_PREFIX) -> list[FictionalRow]:
    """Read a fictional pool from ``.jsonl`` or ``.jsonl.gz``."""
    return [parse_fictional(line, place, prefix) for place, line in enumerate(read_lines(path))]


def load_choice_rows(path: Path) -> list[ChoiceRow]:
    """Read any multiple-choice file from ``.jsonl`` or ``.jsonl.gz``."""
    return [parse_choice_row(line, place) for place, line in enumerate(read_lines(path))]


def load_edits(path: Path) -> list[EditRecord]:
    """Read an edit table from ``.jsonl`` or ``.jsonl.gz``."""
    return [parse_edit(line) for line in read_lines(path)]


def load_quirks(path: Path) -> tuple[Quirk, ...]:
    """Read quirk cells from a JSON array of objects."""
    return tuple(_read(Quirk, line) for line in read_objects(path))


def option_text(parent: ParentRow | FictionalRow, letter: str) -> str:
    """Return the text of choice ``letter`` (A..F), E and F in their standard wording."""
    return (*parent.options, NONE_OF_THE_ABOVE, CANNOT_ANSWER)["ABCDEF".index(letter)]


def unknown_fields(edits: Sequence[EditRecord]) -> dict[str, int]:
    """Count the records whose ``auditor``, ``reason``, ``created`` or ``status`` is unknown."""
    names = ("auditor", "created", "reason", "status")
    return {name: sum(getattr(edit, name) is None for edit in edits) for name in names}
