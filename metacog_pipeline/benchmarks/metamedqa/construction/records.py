"""The records construction works on, parsed from JSON objects with one-line errors.

Layouts: a parent row has ``question``, ``options`` {A..D}, ``answer_idx``, ``answer``, ``meta_info`` and optionally
``realidx``; a published row has six options and ``kind``; a fictional row has ``question``, ``options`` {A..D},
``language``, ``generator`` and a key of its own that the benchmark does not use; an edit record is described at
:class:`EditRecord`. Fields not named here are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from metacog_pipeline.benchmarks.metamedqa.construction.fields import Fields
from metacog_pipeline.benchmarks.metamedqa.items import CANNOT_ANSWER, NONE_OF_THE_ABOVE
from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import JsonRow, Line, read_lines

CHOICES = ("A", "B", "C", "D")
PARENT_PREFIX = "medqa-usmle-test-"
FICTIONAL_PREFIX = "fictional-"

EditKind = Literal["answer_replaced", "answer_altered", "question_altered", "malformed"]
EDIT_KINDS: tuple[EditKind, ...] = get_args(EditKind)
ANSWER_EDITS: tuple[EditKind, ...] = ("answer_replaced", "answer_altered")
STATUSES = ("proposed", "accepted", "rejected")
FIELDS = ("question", "options.A", "options.B", "options.C", "options.D")
UNKNOWN = "unknown"

Four = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class ParentRow:
    """One question of the parent set; ``source_index`` is its 0-based row."""

    source_index: int
    question: str
    options: Four
    answer_idx: str
    answer: str
    meta_info: str


@dataclass(frozen=True, slots=True)
class FictionalRow:
    """One question about something that does not exist; ``index`` is its 0-based row in the pool.

    ``source_answer_idx`` is the pool's own key, kept beside the benchmark's F (``None`` where never published).
    """

    index: int
    item_id: str
    question: str
    options: Four
    language: str
    generator: str | None = None
    source_answer_idx: str | None = None


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """One row of any multiple-choice file, ``letters`` in the order of the file; ``place`` is its 0-based row."""

    place: int
    question: str
    letters: tuple[str, ...]
    options: tuple[str, ...]
    answer_idx: str | None = None
    answer: str | None = None
    meta_info: str = ""
    kind: str | None = None
    item_id: str | None = None

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

    field: str
    before: str | None = None
    after: str | None = None
    find: str | None = None
    replace: str | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class EditRecord:
    """What was done to one parent item. Empty ``changes`` is for ``malformed`` only.

    ``reason``, ``auditor``, ``created`` and ``status`` are ``None`` in a derived table: they were never published.
    A record counts when its status is ``accepted`` or absent.
    """

    item_id: str
    source_index: int
    edit_kind: EditKind
    changes: tuple[Change, ...]
    answer_before: str
    answer_after: str
    reason: str | None = None
    auditor: str | None = None
    created: str | None = None
    status: str | None = None
    second_auditor: str | None = None
    published_kind: str | None = None

    @property
    def counts(self) -> bool:
        """Whether the record changes the data set."""
        return self.status in (None, "accepted")

    @property
    def auditor_or_unknown(self) -> str:
        """Who stands for the record, ``unknown`` where that was never published."""
        return self.auditor or UNKNOWN

    @property
    def reason_or_unknown(self) -> str:
        """Why the edit makes the item unanswerable, ``unknown`` where that was never published."""
        return self.reason or UNKNOWN


def parse_parent(line: Line, place: int) -> ParentRow:
    """Return the parent row on ``line``; ``realidx``, where given, must be its 0-based ``place``."""
    fields = Fields(line)
    index = fields.integer("realidx", default=place)
    if index != place:
        raise SourceError(
            f"{line.where}: field 'realidx' is {index} but this is row {place} (from 0); keep the parent's order"
        )
    options = fields.four_options()
    key = fields.letter("answer_idx", CHOICES)
    return ParentRow(
        source_index=index,
        question=fields.text("question"),
        options=options,
        answer_idx=key,
        answer=fields.optional_text("answer") or options[CHOICES.index(key)],
        meta_info=fields.optional_text("meta_info") or "",
    )


def parse_fictional(line: Line, place: int, prefix: str = FICTIONAL_PREFIX) -> FictionalRow:
    """Return the pool row on ``line``; its id is ``item_id`` where given, else ``prefix`` and its row number."""
    fields = Fields(line)
    key = fields.optional_letter("source_answer_idx", CHOICES) or fields.optional_letter(
        "answer_idx", CHOICES
    )
    return FictionalRow(
        index=place,
        item_id=fields.optional_text("item_id") or f"{prefix}{place:03d}",
        question=fields.text("question"),
        options=fields.four_options(),
        language=fields.text("language"),
        generator=fields.optional_text("generator"),
        source_answer_idx=key,
    )


def parse_choice_row(line: Line, place: int) -> ChoiceRow:
    """Return a row of any multiple-choice file: options as an object by letter or a list, key as letter or index."""
    fields = Fields(line)
    letters, options = fields.any_options()
    return ChoiceRow(
        place=place,
        question=fields.text("question"),
        letters=letters,
        options=options,
        answer_idx=fields.any_key(letters),
        answer=fields.optional_text("answer"),
        meta_info=fields.optional_text("meta_info") or "",
        kind=fields.optional_text("kind"),
        item_id=fields.optional_text("item_id"),
    )


def parse_edit(line: Line) -> EditRecord:
    """Return the edit record on ``line``."""
    fields = Fields(line)
    changes = fields.objects("changes")
    return EditRecord(
        item_id=fields.text("item_id"),
        source_index=fields.integer("source_index"),
        edit_kind=fields.one_of("edit_kind", EDIT_KINDS),
        changes=tuple(_parse_change(Fields(Line(line.file, line.number, c)), fields.name) for c in changes),
        answer_before=fields.letter("answer_before", CHOICES),
        answer_after=fields.letter("answer_after", (*CHOICES, "E", "F")),
        reason=fields.optional_text("reason"),
        auditor=fields.optional_text("auditor"),
        created=fields.optional_text("created"),
        status=fields.one_of("status", STATUSES) if fields.given("status") else None,
        second_auditor=fields.optional_text("second_auditor"),
        published_kind=fields.optional_text("published_kind"),
    )


def _parse_change(fields: Fields, name: str) -> Change:
    fields.name = name
    field = fields.one_of("field", FIELDS)
    if fields.given("find"):
        return Change(
            field,
            find=fields.text("find"),
            replace=fields.text("replace", empty=True),
            count=fields.integer("count", default=1, least=1),
        )
    return Change(field, before=fields.text("before"), after=fields.text("after", empty=True))


def edit_to_json(edit: EditRecord) -> JsonRow:
    """Return the record as a JSON object; fields that are unknown are left out, not filled in."""
    row: dict[str, Any] = {
        "item_id": edit.item_id,
        "source_index": edit.source_index,
        "edit_kind": edit.edit_kind,
        "changes": [_change_to_json(change) for change in edit.changes],
        "answer_before": edit.answer_before,
        "answer_after": edit.answer_after,
    }
    for name in ("published_kind", "reason", "auditor", "created", "status", "second_auditor"):
        value = getattr(edit, name)
        if value is not None:
            row[name] = value
    return row


def _change_to_json(change: Change) -> JsonRow:
    if change.find is not None:
        return {"field": change.field, "find": change.find, "replace": change.replace, "count": change.count}
    return {"field": change.field, "before": change.before, "after": change.after}


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


def option_text(parent: ParentRow | FictionalRow, letter: str) -> str:
    """Return the text of choice ``letter`` (A..F), E and F in their standard wording."""
    return (*parent.options, NONE_OF_THE_ABOVE, CANNOT_ANSWER)["ABCDEF".index(letter)]


def unknown_fields(edits: Sequence[EditRecord]) -> dict[str, int]:
    """Count the records whose ``auditor``, ``reason``, ``created`` or ``status`` is unknown."""
    names = ("auditor", "created", "reason", "status")
    return {name: sum(getattr(edit, name) is None for edit in edits) for name in names}
