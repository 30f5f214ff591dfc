"""The rules O1-O7 of a finished data set, and E8 seen from its side: a key that changed without a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from metacog_pipeline.benchmarks.metamedqa.construction import edits as editing
from metacog_pipeline.benchmarks.metamedqa.construction import invariants
from metacog_pipeline.benchmarks.metamedqa.construction.invariants import Violation, unique_questions
from metacog_pipeline.benchmarks.metamedqa.construction.records import (
    CHOICES,
    ChoiceRow,
    EditRecord,
    ParentRow,
)
from metacog_pipeline.benchmarks.metamedqa.construction.text import fold
from metacog_pipeline.benchmarks.metamedqa.items import CANNOT_ANSWER, LETTERS, NONE_OF_THE_ABOVE
from metacog_pipeline.errors import SourceError


@dataclass(frozen=True, slots=True)
class OutputRow:
    """A row of a finished data set, its id, and the parent row it comes from (``None`` for fictional rows)."""

    row: ChoiceRow
    item_id: str
    source_index: int | None

    def broken(self, rule: str, message: str) -> Violation:
        """Return the violation of ``rule`` by this row."""
        return Violation(rule, self.item_id, self.source_index, message)


def check_output(
    rows: Sequence[OutputRow],
    parents: Sequence[ParentRow],
    edits: Sequence[EditRecord],
    fictional: int,
    prefix: str,
) -> list[Violation]:
    """Check O1-O7 and E8 of a data set against what it was built from; ``fictional`` rows were added."""
    by_index = {edit.source_index: edit for edit in edits if edit.counts}
    found: list[Violation] = []
    for row in rows:
        found += row_faults(row)
        if row.source_index is not None and row.source_index < len(parents):
            found += _parent_faults(row, parents[row.source_index], by_index.get(row.source_index))
    found += _count_faults(rows, len(parents), by_index, fictional)
    missing = sorted(set(range(len(parents))) - {row.source_index for row in rows})
    text = "the parent row is not in the data set"
    found += [Violation("O4", editing.item_id(prefix, i), i, text) for i in missing[:20]]
    return found + unique_questions("O5", [(row.item_id, row.source_index, row.row.question) for row in rows])


def row_faults(output: OutputRow) -> Iterator[Violation]:
    """Check O1, O2, O3 and O7 of one row."""
    row = output.row
    if row.letters != LETTERS:
        yield output.broken(
            "O1", f"choices {', '.join(row.letters)}, expected {', '.join(LETTERS)} in this order"
        )
    for letter, standard in (("E", NONE_OF_THE_ABOVE), ("F", CANNOT_ANSWER)):
        text = row.option(letter)
        if text is not None and text != standard:
            yield output.broken("O2", f"choice {letter} reads {text[:80]!r}, the standard is {standard!r}")
    for fault in invariants.answer_faults(row):
        yield output.broken("O3", fault)
    keys = invariants.KEYS_BY_KIND.get(row.kind or "", ())
    if row.kind is not None and row.answer_idx not in keys:
        expected = ", ".join(keys) or "one of the known kinds"
        yield output.broken("O7", f"kind {row.kind!r} has key {row.answer_idx}, expected {expected}")


def _parent_faults(output: OutputRow, parent: ParentRow, edit: EditRecord | None) -> Iterator[Violation]:
    """Check O6 and E8 of one row against its parent and edit."""
    row = output.row
    try:
        edited = (parent.question, parent.options) if edit is None else editing.apply_edit(parent, edit)
        key = editing.edited_key(parent, edit)
    except SourceError:
        return  # The record itself is broken; the rules on edits name it.
    own = (row.question, *map(row.option, CHOICES))
    pairs = zip(editing.fields_of(*edited).items(), own, strict=True)
    differing = ", ".join(field for (field, wanted), text in pairs if wanted != text)
    if differing:
        yield output.broken("O6", f"{differing} differ from the parent's text without a record of it")
    if row.answer_idx != key:
        yield output.broken("E8", f"the key is {row.answer_idx}, the parent and the edit table give {key}")


def _count_faults(
    rows: Sequence[OutputRow], parents: int, edits: Mapping[int, EditRecord], fictional: int
) -> list[Violation]:
    keys = [row.row.answer_idx for row in rows]
    undecidable = sum(edit.answer_after == "F" for edit in edits.values())
    sums = (
        ("rows", len(rows), parents + fictional, "parent + fictional"),
        ("rows keyed A-D", sum(key in CHOICES for key in keys), parents - len(edits), "parent - edits"),
        ("rows keyed F", keys.count("F"), fictional + undecidable, "fictional + malformed + undecidable"),
    )
    wrong = (each for each in sums if each[1] != each[2])
    return [
        Violation("O4", "data set", None, f"{found} {what}, {wanted} expected ({how})")
        for what, found, wanted, how in wrong
    ]


def check_choice_rows(rows: Sequence[ChoiceRow]) -> list[Violation]:
    """Check any multiple-choice file on its own: the rules that need nothing but the file.

    Rows with choice E "None of the above" and six choices are taken for the benchmark's layout (O1, O2, O3, O5, O7 and
    E7); others for a plain question set (P2, P3, P4), whatever the number of their choices.
    """
    six = [row for row in rows if row.letters == LETTERS or row.kind is not None]
    standard = sum(fold(row.option("E") or "") == fold(NONE_OF_THE_ABOVE) for row in rows)
    benchmark = bool(rows) and len(six) == len(rows) and standard * 2 > len(rows)
    found: list[Violation] = []
    for row in rows:
        output = OutputRow(row, row_name(row), None)
        if benchmark:
            found += row_faults(output)
            same = invariants.same_choices(zip(row.letters, row.options, strict=True))
            found += [output.broken("E7", text) for text in same]
        else:
            found += [output.broken("P2", text) for text in invariants.choice_faults(row, None)]
            found += [output.broken("P3", text) for text in invariants.answer_faults(row)]
    names = [(row_name(row), None, row.question) for row in rows]
    return found + unique_questions("O5" if benchmark else "P4", names)


def row_name(row: ChoiceRow) -> str:
    """Return the row's id, or its 0-based place where it has none."""
    return row.item_id or f"row {row.place}"
