"""Rows of question files and edit records: read, applied, and recovered by comparing two sets."""

from __future__ import annotations

import functools
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

# loads scipy.optimize where it is first used: few commands need it, and it takes long
import scipy
from pydantic import Field, StrictInt, TypeAdapter, ValidationError

from metacog_pipeline.benchmarks.metamedqa.items import Kind, Letter
from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import Line, read_lines, read_objects
from metacog_pipeline.study.allowed import wanted

RecordT = TypeVar("RecordT")
Key = Literal["A", "B", "C", "D"]
CHOICES: tuple[Key, ...] = get_args(Key)
EditKind = Literal["answer_replaced", "answer_altered", "question_altered", "malformed"]
ANSWER_EDITS: tuple[EditKind, ...] = ("answer_replaced", "answer_altered")
PUBLISHED_KIND: dict[EditKind, Kind] = {
    "answer_replaced": "Answer removed",
    "answer_altered": "Answer modified",
    "question_altered": "Question modified",
    "malformed": "Bad",
}
#: Keys an edit may lead to: E where no listed choice is right, F where the question cannot be decided.
KEYS_AFTER: Mapping[EditKind, tuple[str, ...]] = {
    **dict.fromkeys(ANSWER_EDITS, ("E",)),
    "question_altered": ("E", "F"),
    "malformed": ("F",),
}
PARENT_PREFIX, FICTIONAL_META = "medqa-usmle-test-", "glianorex"


# --- records ----------------------------------------------------------------------------------------------------------
Text = Annotated[str, Field(pattern=r"\S")]
Place = Annotated[StrictInt, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a question file; other fields of the file are ignored."""

    place: Place  # 0-based
    question: Text
    options: Annotated[dict[Annotated[str, Field(pattern=r"^[A-F]$")], str], Field(min_length=4)]
    # the key; of a fictional question that of its pool
    answer_idx: Letter | None = None
    answer: str | None = None
    meta_info: str = ""
    kind: str | None = None
    item_id: str | None = None
    language: str | None = None

    def texts(self) -> dict[str, str]:
        """Return what an edit may change, by field."""
        return {"question": self.question, **{f"options.{each}": self.options[each] for each in CHOICES}}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one field: of the whole text, or of each of exactly ``count`` occurrences of ``find``."""

    field: Literal["question", "options.A", "options.B", "options.C", "options.D"]
    before: Text | None = None
    after: str | None = None
    find: Text | None = None
    replace: str | None = None
    count: Annotated[StrictInt, Field(ge=1)] = 1

    def __post_init__(self) -> None:
        whole, part = (self.before, self.after), (self.find, self.replace)
        if sum(None not in pair for pair in (whole, part)) != 1:
            raise ValueError("must have the texts 'before' and 'after', or 'find' and 'replace'")


@dataclass(frozen=True, slots=True)
class EditRecord:
    """What was done to one parent row."""

    item_id: Text
    source_index: Place
    edit_kind: EditKind
    # none of ``malformed``
    changes: tuple[Change, ...]
    answer_before: Key
    answer_after: Letter
    # Never published: None in a derived table.
    reason: str | None = None
    auditor: str | None = None
    created: str | None = None
    status: Literal["proposed", "accepted", "rejected"] | None = None
    second_auditor: str | None = None
    published_kind: str | None = None

    @property
    def counts(self) -> bool:
        """Whether the record changes the data set."""
        return self.status in (None, "accepted")

    @property
    def fields(self) -> set[str]:
        """The fields it changes."""
        return {change.field for change in self.changes}


@dataclass(frozen=True, slots=True)
class Quirk:
    """One cell in which the published file departs from its own rules."""

    source_index: Place
    field: Literal["kind", "options.E", "options.F"]
    published: Text


@functools.cache  # each takes 10 ms, and a study whose items are built needs none
def _adapter(record: Any) -> TypeAdapter[Any]:
    return TypeAdapter(record)


def _read(record: type[RecordT], line: Line, **given: object) -> RecordT:
    """Return the record on ``line`` with ``given`` in place of its fields; SourceError names the first wrong one."""
    try:
        kind: Any = record
        found: RecordT = _adapter(kind).validate_python({**line.row, **given})
        return found
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
    field = ".".join(map(str, fault["loc"]))
    said = f"{line.where}: field {field!r} {wanted(fault)}, got {ascii(fault['input'])[:80]}"
    raise SourceError(f"{said}; correct the row")


def parse_row(line: Line, place: int) -> Row:
    """Return a row; ``realidx`` must be ``place``, ``source_answer_idx`` is the key of a fictional question."""
    row = line.row
    if row.get("realidx") not in (None, place):
        said = f"field 'realidx' is {repr(row['realidx'])[:80]} but this is row {place} (from 0)"
        raise SourceError(f"{line.where}: {said}; correct the row")
    key = row.get("source_answer_idx") or row.get("answer_idx")
    return _read(Row, line, place=place, answer_idx=key, meta_info=row.get("meta_info") or "")


def load_rows(path: Path) -> list[Row]:
    """Read a file of questions, ``.jsonl`` or ``.jsonl.gz``."""
    return [parse_row(line, place) for place, line in enumerate(read_lines(path))]


def load_edits(path: Path) -> list[EditRecord]:
    """Read an edit table, ``.jsonl`` or ``.jsonl.gz``."""
    return [_read(EditRecord, line) for line in read_lines(path)]


def load_quirks(path: Path) -> tuple[Quirk, ...]:
    """Read quirk cells from a JSON array of objects."""
    return tuple(_read(Quirk, line) for line in read_objects(path))


# --- applying ---------------------------------------------------------------------------------------------------------
def item_id(prefix: str, source_index: int) -> str:
    """Return the id of a parent row: ``prefix`` and its 0-based row in four digits."""
    return f"{prefix}{source_index:04d}"


def apply_edit(parent: Row, edit: EditRecord | None) -> dict[str, str]:
    """Return the texts of ``parent`` by field after ``edit``; SourceError where a change does not find what it names."""
    texts = parent.texts()
    for change in edit.changes if edit is not None else ():
        texts[change.field] = apply_change(texts[change.field], change, edit.item_id if edit else "")
    return texts


def apply_change(text: str, change: Change, name: str) -> str:
    """Return ``text`` after a change of item ``name``; raises as `apply_edit`."""
    if change.find is not None:
        if (seen := text.count(change.find)) != change.count:
            raise SourceError(
                f"{name}: {change.field}: {change.find[:120]!r} occurs {seen} times, not {change.count}, in "
                f"{text[:120]!r}; correct the edit record"
            )
        return text.replace(change.find, change.replace or "")
    before = change.before or ""
    if text != before:
        differ = (at for at, (one, two) in enumerate(zip(text, before, strict=False)) if one != two)
        # Stems are long: what differs is shown.
        start = max(0, next(differ, min(len(text), len(before))) - 40)
        expected, found = (repr(each[start : start + 120]) for each in (before, text))
        raise SourceError(
            f"{name}: {change.field}: the text before the edit does not match: expected …{expected}, found …{found}; "
            "correct the edit record or use its parent set"
        )
    return change.after or ""


# --- comparing two sets -----------------------------------------------------------------------------------------------
def fold(text: str) -> str:
    """Return ``text`` for comparison: NFKC, case-folded, white space collapsed, one trailing full stop dropped."""
    # Other punctuation stays, because arrows and signs distinguish choices.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    flat = " ".join(folded.split())
    return flat[:-1].rstrip() if flat.endswith(".") else flat


def parents_of(parents: Sequence[Row], rows: Sequence[Row]) -> dict[int, int]:
    """Return the parent row of every row that is not fictional, by place; SourceError unless each parent has one row."""
    own = [row for row in rows if row.kind != "Fictional"]
    places = {fold(parent.question): parent.place for parent in parents}
    found = {row.place: places[text] for row in own if (text := fold(row.question)) in places}
    taken = set(found.values())
    altered = [row for row in own if row.place not in found]
    left = [parent for parent in parents if parent.place not in taken]
    # A question that was altered goes to the parent with which it shares most words.
    shared = [[(_words(row) & _words(parent)).total() for parent in left] for row in altered]
    if altered and left:
        for row, parent in zip(*scipy.optimize.linear_sum_assignment(shared, maximize=True), strict=True):
            found[altered[row].place] = left[parent].place
    if sorted(found.values()) != list(range(len(parents))) or len(found) != len(own):
        said = f"{len(own)} rows of the modified set are not the {len(parents)} parent rows, each once"
        raise SourceError(f"{said}; fetch both files again")
    return found


def _words(row: Row) -> Counter[str]:
    return Counter(fold(row.question).split())


def derive(
    parents: Sequence[Row], rows: Sequence[Row], parent_of: Mapping[int, int], prefix: str = PARENT_PREFIX
) -> list[EditRecord]:
    """Return the records that turn the parents into ``rows``, a modified set with its kinds, in any order."""
    row_of = {parent_of[row.place]: row for row in rows if row.place in parent_of}
    edits = (_edit(parent, row_of[parent.place], prefix) for parent in parents)
    return [edit for edit in edits if edit is not None]


def _edit(parent: Row, row: Row, prefix: str) -> EditRecord | None:
    """Return the record that turns ``parent`` into ``row``, None where nothing differs."""
    old, new = parent.texts(), row.texts()
    changed: Any = [field for field in old if old[field] != new[field]]
    changes = tuple(Change(field, before=old[field], after=new[field]) for field in changed)
    before: Any = parent.answer_idx
    after: Any = row.answer_idx or before
    if not changes and after == before:
        return None
    # One row that changes a choice is published as an original (1124).
    labelled = (kind for kind, published in PUBLISHED_KIND.items() if published == row.kind)
    kind: EditKind = next(labelled, "answer_replaced")
    name = item_id(prefix, parent.place)
    return EditRecord(name, parent.place, kind, changes, before, after, published_kind=row.kind)
