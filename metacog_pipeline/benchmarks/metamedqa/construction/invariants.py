"""The rules a parent set, an edit table and a finished data set must hold, each violation named.

====  ==========================================================================================================
P1    the parent has the expected number of rows (1,273 for MedQA-USMLE; not asked of other sets)
P2    the expected choices, all non-empty and pairwise different after folding
P3    ``answer`` is the text of the keyed choice
P4    questions are unique
E1    one record that counts per item, and the item exists
E2    ``before`` (or ``find``) and ``answer_before`` match the parent
E3    ``after`` differs from ``before`` and is not blank
E4    the key after is E or F, as the kind of edit allows
E5    ``malformed`` changes nothing else; every other kind changes something
E6    answer edits touch the keyed choice
E7    no choice A-D equals another, or the text of E or F
E8    no key change without a record, and no record without effect
O1    six choices in order
O2    the texts of E and F are the standard ones
O3    ``answer`` is the text of the keyed choice
O4    the counts add up
O5    questions are unique
O6    every row's text is the parent's unless the edit table says otherwise
O7    kind and key agree
====  ==========================================================================================================

On the published data these find exactly E6 at parent rows 175 and 950, O2 and O7 at 1124, and one advisory note
(``extra_change``) at 998.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from metacog_pipeline.benchmarks.metamedqa.construction import edits as editing
from metacog_pipeline.benchmarks.metamedqa.construction import records
from metacog_pipeline.benchmarks.metamedqa.construction.records import ChoiceRow, EditRecord, ParentRow
from metacog_pipeline.benchmarks.metamedqa.construction.text import fold
from metacog_pipeline.benchmarks.metamedqa.items import CANNOT_ANSWER, LETTERS, NONE_OF_THE_ABOVE
from metacog_pipeline.errors import SourceError, one_line

MEDQA_ROWS = 1273

KEYS_BY_KIND: Mapping[str, tuple[str, ...]] = {
    "Original": records.CHOICES,
    "Answer removed": ("E",),
    "Answer modified": ("E",),
    "Question modified": ("E", "F"),
    "Bad": ("F",),
    "Fictional": ("F",),
}


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that does not hold; an ``advisory`` one does not make a check fail."""

    rule: str
    item_id: str
    source_index: int | None
    message: str
    advisory: bool = False

    def render(self) -> str:
        """Return one printable line."""
        return one_line(f"{self.rule}{' (advisory)' if self.advisory else ''} {self.item_id}: {self.message}")


def check_parent(
    rows: Sequence[ParentRow], expected_rows: int | None = None, prefix: str = records.PARENT_PREFIX
) -> list[Violation]:
    """Check P1-P4; ``expected_rows=None`` leaves P1 out."""
    found = []
    if expected_rows is not None and len(rows) != expected_rows:
        found.append(Violation("P1", "parent", None, f"{len(rows)} rows, {expected_rows} expected"))
    for p in rows:
        name, at = editing.item_id(prefix, p.source_index), p.source_index
        row = ChoiceRow(at, p.question, records.CHOICES, p.options, p.answer_idx, p.answer)
        found += [Violation("P2", name, at, text) for text in choice_faults(row, records.CHOICES)]
        found += [Violation("P3", name, at, text) for text in answer_faults(row)]
    names = [(editing.item_id(prefix, p.source_index), p.source_index, p.question) for p in rows]
    return found + unique_questions("P4", names)


def choice_faults(row: ChoiceRow, letters: Sequence[str] | None) -> list[str]:
    """Return what is wrong with the choices: letters (A, B, C … when ``None``), blanks, and texts that fold alike."""
    wanted = tuple(letters or ascii_uppercase[: max(2, len(row.letters))])
    faults = []
    if tuple(sorted(row.letters)) != wanted:
        faults.append(f"choices {', '.join(row.letters)}, expected {', '.join(wanted)}")
    groups = _by_text(zip(row.letters, row.options, strict=True))
    if "" in groups:
        faults.append(f"choice {', '.join(groups[''])} is empty")
    return faults + _repeated(groups)


def same_choices(options: Iterable[tuple[str, str]]) -> list[str]:
    """Return one text per group of non-empty choices that read the same after folding."""
    return _repeated(_by_text(options))


def _by_text(options: Iterable[tuple[str, str]]) -> Mapping[str, list[str]]:
    """Return the letters of each folded text."""
    groups: dict[str, list[str]] = defaultdict(list)
    for letter, text in options:
        groups[fold(text)].append(letter)
    return groups


def _repeated(groups: Mapping[str, list[str]]) -> list[str]:
    repeated = ((text, same) for text, same in groups.items() if text and len(same) > 1)
    return [f"choices {', '.join(same)} read the same: {text[:80]!r}" for text, same in repeated]


def answer_faults(row: ChoiceRow) -> list[str]:
    """Return what is wrong between ``answer`` and the key; a row without either has no fault."""
    if row.answer_idx is None or row.answer is None:
        return []
    text = row.option(row.answer_idx)
    if text is None:
        return [f"the key {row.answer_idx} is not among the choices"]
    if text != row.answer:
        return [f"answer reads {row.answer[:80]!r}, choice {row.answer_idx} reads {text[:80]!r}"]
    return []


def unique_questions(rule: str, rows: Iterable[tuple[str, int | None, str]]) -> list[Violation]:
    """Return a violation for every question that repeats an earlier one after folding."""
    first: dict[str, str] = {}
    named = [(name, index, first.setdefault(fold(question), name)) for name, index, question in rows]
    return [
        Violation(rule, name, index, f"the question is that of {earlier}")
        for name, index, earlier in named
        if earlier != name
    ]


def misses_key(edit: EditRecord) -> bool:
    """Whether an answer edit leaves the keyed choice as it was (rule E6)."""
    fields = _fields(edit)
    return edit.edit_kind in records.ANSWER_EDITS and bool(fields) and _own(edit) not in fields


def changes_more(edit: EditRecord) -> bool:
    """Whether an edit changes, besides what its kind is about, something else too (advisory)."""
    own = "question" if edit.edit_kind == "question_altered" else _own(edit)
    return edit.edit_kind != "malformed" and own in _fields(edit) and len(_fields(edit)) > 1


def check_edits(
    parents: Sequence[ParentRow], edits: Sequence[EditRecord], prefix: str = records.PARENT_PREFIX
) -> list[Violation]:
    """Check E1-E8 on the records that count."""
    found: list[Violation] = []
    seen: Counter[int] = Counter()
    for edit in edits:
        if not edit.counts:
            continue
        seen[edit.source_index] += 1
        if not names_its_row(edit, parents, prefix):
            found.append(_broken("E1", edit, f"source_index {edit.source_index} is no parent row of this id"))
            continue
        if seen[edit.source_index] == 2:
            found.append(_broken("E1", edit, "more than one record that counts"))
        found += check_edit(parents[edit.source_index], edit)
    return found


def names_its_row(edit: EditRecord, parents: Sequence[ParentRow], prefix: str) -> bool:
    """Whether a record's id is that of the parent row it names."""
    at = edit.source_index
    return at < len(parents) and edit.item_id == editing.item_id(prefix, at)


def check_edit(parent: ParentRow, edit: EditRecord) -> list[Violation]:
    """Check E2-E8 on one record, and note an ``extra_change``."""
    found = list(_before_faults(parent, edit))
    kind, touched = edit.edit_kind, ", ".join(sorted(_fields(edit)))
    allowed = editing.allowed_keys(kind)
    if edit.answer_after not in allowed:
        text = f"{kind} leads to {' or '.join(allowed)}, the record says {edit.answer_after}"
        found.append(_broken("E4", edit, text))
    if bool(edit.changes) == (kind == "malformed"):
        number = len(edit.changes)
        found.append(_broken("E5", edit, f"{kind} with {number} change{'' if number == 1 else 's'}"))
    if misses_key(edit):
        text = f"changes {touched}, not keyed choice {edit.answer_before}: the answer still stands"
        found.append(_broken("E6", edit, text))
    if changes_more(edit):
        found.append(_broken("extra_change", edit, f"{kind} changes {touched}", advisory=True))
    if any(violation.rule == "E2" for violation in found):
        return found
    question, four = editing.apply_edit(parent, edit)
    offered = zip(LETTERS, (*four, NONE_OF_THE_ABOVE, CANNOT_ANSWER), strict=True)
    found += [_broken("E7", edit, text) for text in same_choices(offered)]
    if (question, four, edit.answer_after) == (parent.question, parent.options, parent.answer_idx):
        found.append(_broken("E8", edit, "the record has no effect"))
    return found


def _before_faults(parent: ParentRow, edit: EditRecord) -> Iterator[Violation]:
    """Check E2 and E3, following several changes of one field in their order."""
    if edit.answer_before != parent.answer_idx:
        text = f"answer_before is {edit.answer_before}, the parent's key is {parent.answer_idx}"
        yield _broken("E2", edit, text)
    texts = editing.fields_of(parent.question, parent.options)
    for change in edit.changes:
        try:
            after = editing.apply_change(texts[change.field], change, edit.item_id)
        except SourceError as error:
            yield _broken("E2", edit, str(error).removeprefix(f"{edit.item_id}: "))
            continue
        if not after.strip():
            yield _broken("E3", edit, f"{change.field}: the text after the edit is blank")
        elif after == texts[change.field]:
            yield _broken("E3", edit, f"{change.field}: the text after the edit is the text before it")
        texts[change.field] = after


def _fields(edit: EditRecord) -> set[str]:
    return {change.field for change in edit.changes}


def _own(edit: EditRecord) -> str:
    return f"options.{edit.answer_before}"


def _broken(rule: str, edit: EditRecord, message: str, *, advisory: bool = False) -> Violation:
    return Violation(rule, edit.item_id, edit.source_index, message, advisory)
