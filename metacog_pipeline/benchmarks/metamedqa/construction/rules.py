"""The rules a parent set, an edit table and a finished data set must hold, and the screen for malformed stems.

============  ==================================================================================================
P1            the parent has the expected number of rows (1,273 for MedQA-USMLE; not asked of other sets)
P2, P3, P4    four different choices A-D that are not empty; ``answer`` is the keyed choice; questions are unique
E1, E2        one record per item, of a row that exists; ``before`` (or ``find``) and ``answer_before`` match it
E3, E4        ``after`` differs from ``before`` and is not blank; the key after is one the kind of edit allows
E5, E6        ``malformed`` changes nothing else, other kinds do; answer edits touch the keyed choice
E7, E8        no choice equals another, or E or F; no key change without a record, no record without effect
A1, A2        after an author's answer edit, which has a status, the old right answer is offered nowhere; an accepted
              record has auditor, reason and date
O1, O2, O3    six choices in order; the texts of E and F are the standard ones; ``answer`` is the keyed choice
O4, O5        the counts add up; questions are unique
O6, O7        every text is the parent's unless the edit table says otherwise; kind and key agree
============  ==================================================================================================

On the published data these find exactly E6 at parent rows 175 and 950, O2 and O7 at 1124, and the advisory
``extra_change`` at 998.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from metacog_pipeline.benchmarks.metamedqa.construction import edits as editing
from metacog_pipeline.benchmarks.metamedqa.construction.edits import EditRecord, Row, fold, item_id
from metacog_pipeline.benchmarks.metamedqa.items import CANNOT_ANSWER, LETTERS, NONE_OF_THE_ABOVE
from metacog_pipeline.errors import SourceError, one_line

MEDQA_ROWS = 1273
KEYS_BY_KIND: Mapping[str, tuple[str, ...]] = {
    "Original": editing.CHOICES,
    **{kind: editing.KEYS_AFTER[edit_kind] for edit_kind, kind in editing.PUBLISHED_KIND.items()},
    "Fictional": ("F",),
}
EXTRA = "extra_change"
_STANDARD = {"E": NONE_OF_THE_ABOVE, "F": CANNOT_ANSWER}
Fault = tuple[str, str]  # a rule, and what breaks it


class Violation(NamedTuple):
    """A rule that does not hold; an ``advisory`` one does not make a check fail."""

    rule: str
    item_id: str
    source_index: int | None
    message: str
    advisory: bool = False

    def render(self) -> str:
        """Return one printable line."""
        return one_line(f"{self.rule}{' (advisory)' if self.advisory else ''} {self.item_id}: {self.message}")


def refuse(dataset: str, violations: Iterable[Violation]) -> None:
    """Raise SourceError for violations that are not advisory."""
    if broken := [each for each in violations if not each.advisory]:
        said = f"{len(broken)} broken rule(s), first {broken[0].render()}"
        raise SourceError(f"{dataset} data set: {said}; correct its files")


# --- rows -------------------------------------------------------------------------------------------------------------
def check_parent(
    rows: Sequence[Row], expected_rows: int | None, prefix: str = editing.PARENT_PREFIX
) -> list[Violation]:
    """Check P1-P4 of a parent set; P1 only where a number of rows is expected."""
    found = []
    if expected_rows not in (None, len(rows)):
        found.append(Violation("P1", "parent set", None, f"{len(rows)} rows, {expected_rows} expected"))
    repeated = repeats("P4", rows)
    for row in rows:
        faults = [*choice_faults(row), *answer_faults("P3", row), *repeated.get(row.place, ())]
        name = item_id(prefix, row.place)
        found += [Violation(rule, name, row.place, text) for rule, text in faults]
    return found


def check_pool(rows: Sequence[Row]) -> list[Violation]:
    """Check P2 of fictional questions."""
    return [
        Violation(rule, row.item_id or "", None, text) for row in rows for rule, text in choice_faults(row)
    ]


def choice_faults(row: Row) -> Iterator[Fault]:
    """Yield what breaks P2: letters, blanks, and texts that fold alike."""
    if tuple(sorted(row.options)) != editing.CHOICES:
        yield "P2", f"choices {', '.join(row.options)}, expected {', '.join(editing.CHOICES)}"
    yield from (("P2", f"choice {letter} is empty") for letter, text in row.options.items() if not fold(text))
    yield from (("P2", text) for text in same_choices(row.options))


def same_choices(options: Mapping[str, str]) -> list[str]:
    """Return one text per group of non-empty choices that read the same after folding."""
    groups: dict[str, list[str]] = defaultdict(list)
    for letter, text in options.items():
        groups[fold(text)].append(letter)
    repeated = ((text, same) for text, same in groups.items() if text and len(same) > 1)
    return [f"choices {', '.join(same)} read the same: {text[:80]!r}" for text, same in repeated]


def answer_faults(rule: str, row: Row) -> Iterator[Fault]:
    """Yield what is wrong between ``answer`` and the key of a row."""
    text = row.options.get(row.answer_idx or "")
    if text is None:
        yield rule, f"the key {row.answer_idx} is not among the choices"
    elif row.answer is not None and text != row.answer:
        yield rule, f"answer reads {row.answer[:80]!r}, choice {row.answer_idx} reads {text[:80]!r}"


def repeats(rule: str, rows: Iterable[Row]) -> dict[int, list[Fault]]:
    """Return what is wrong with the rows, by place, whose question repeats that of an earlier one after folding."""
    first: dict[str, int] = {}
    found = {row.place: first.setdefault(fold(row.question), row.place) for row in rows}
    return {at: [(rule, f"the question is that of row {to}")] for at, to in found.items() if at != to}


# --- edits ------------------------------------------------------------------------------------------------------------
def check_edits(
    parents: Sequence[Row], edits: Sequence[EditRecord], prefix: str = editing.PARENT_PREFIX
) -> list[Violation]:
    """Check E1-E8, A1 and A2 of the records that are not rejected; a rejected one may be wrong."""
    found: list[Violation] = []
    seen: set[int] = set()
    for edit in (each for each in edits if each.status != "rejected"):
        at, faults = edit.source_index, list[Fault]()
        if at >= len(parents) or edit.item_id != item_id(prefix, at):
            faults.append(("E1", f"source_index {at} is no parent row of this id"))
        else:
            if edit.counts and at in seen:
                faults.append(("E1", "more than one record that counts"))
            seen |= {at} if edit.counts else set()
            faults += [*_kind_faults(edit), *_text_faults(parents[at], edit)]
        for rule, text in faults:
            # New edits change nothing else; the published ones, which have no status, are noted.
            advisory = rule == EXTRA and edit.status is None
            found.append(Violation(rule, edit.item_id, at, text, advisory))
    return found


def _kind_faults(edit: EditRecord) -> Iterator[Fault]:
    """Yield what breaks E4, E5, E6 and A2, and an ``extra_change``."""
    kind, fields, keyed = edit.edit_kind, edit.fields, f"options.{edit.answer_before}"
    touched = ", ".join(sorted(fields))
    if edit.answer_after not in (allowed := editing.KEYS_AFTER[kind]):
        yield "E4", f"{kind} leads to {' or '.join(allowed)}, the record has {edit.answer_after}"
    if bool(fields) == (kind == "malformed"):
        yield "E5", f"{kind} with {len(edit.changes)} changes"
    if kind in editing.ANSWER_EDITS and fields and keyed not in fields:
        yield "E6", f"changes {touched}, not keyed choice {edit.answer_before}: the answer is still offered"
    own = "question" if kind == "question_altered" else keyed
    if kind != "malformed" and own in fields and len(fields) > 1:
        yield EXTRA, f"{kind} changes {touched}"
    given = {"auditor": edit.auditor, "reason": edit.reason, "created": edit.created}
    lacking = [name for name, text in given.items() if not (text or "").strip()]
    if edit.status == "accepted" and lacking:
        yield "A2", f"accepted without {', '.join(lacking)}"


def _text_faults(parent: Row, edit: EditRecord) -> Iterator[Fault]:
    """Yield what breaks E2, E3, E7, E8 and A1, following several changes of one field in their order."""
    texts = parent.texts()
    if edit.answer_before != parent.answer_idx:
        yield "E2", f"answer_before is {edit.answer_before}, the parent's key is {parent.answer_idx}"
        return
    for change in edit.changes:
        try:
            after = editing.apply_change(texts[change.field], change, edit.item_id)
        except SourceError as error:
            yield "E2", str(error).removeprefix(f"{edit.item_id}: ")
            return
        if not after.strip() or after == texts[change.field]:
            what = "the text before it" if after.strip() else "blank"
            yield "E3", f"{change.field}: the text after the edit is {what}"
        texts[change.field] = after
    four = {str(letter): texts[f"options.{letter}"] for letter in editing.CHOICES}
    yield from (("E7", text) for text in same_choices({**four, **_STANDARD}))
    if texts == parent.texts() and edit.answer_after == parent.answer_idx:
        yield "E8", "the record has no effect"
    old = fold(parent.options[edit.answer_before])
    if edit.status is not None and edit.edit_kind in editing.ANSWER_EDITS and old in map(fold, four.values()):
        yield "A1", "the old right answer is still offered"


# --- a finished set ---------------------------------------------------------------------------------------------------
def check_output(
    rows: Sequence[Row], origin: Mapping[int, int | None], parents: Sequence[Row], edits: Sequence[EditRecord]
) -> list[Violation]:
    """Check O1-O7 and E8 of a data set against what it was built from; ``origin`` is the parent row by place."""
    by_index = {edit.source_index: edit for edit in edits if edit.counts}
    found, repeated, keys = list[Violation](), repeats("O5", rows), [row.answer_idx for row in rows]
    for row in rows:
        at, faults = origin.get(row.place), [*_row_faults(row), *repeated.get(row.place, ())]
        if at is not None:
            faults += _parent_faults(row, parents[at], by_index.get(at))
        found += [Violation(rule, row.item_id or f"row {row.place}", at, text) for rule, text in faults]
    there = {at for row in rows if (at := origin.get(row.place)) is not None}
    undecidable = sum(edit.answer_after == "F" for edit in by_index.values())
    sums = (
        ("A-D", sum(key in editing.CHOICES for key in keys), len(parents) - len(by_index), "parent - edits"),
        ("F", keys.count("F"), len(rows) - len(there) + undecidable, "fictional + malformed + undecidable"),
    )
    for key, number, expected, how in sums:
        if number != expected:
            text = f"{number} rows keyed {key}, {expected} expected ({how})"
            found.append(Violation("O4", "data set", None, text))
    for at in sorted({*range(len(parents))} - there):
        found.append(Violation("O4", f"parent row {at}", at, "the parent row is not in the data set"))
    return found


def _row_faults(row: Row) -> Iterator[Fault]:
    if tuple(row.options) != LETTERS:
        yield "O1", f"choices {', '.join(row.options)}, expected {', '.join(LETTERS)} in this order"
    for letter, standard in _STANDARD.items():
        if (text := row.options.get(letter, standard)) != standard:
            yield "O2", f"choice {letter} reads {text[:80]!r}, the standard is {standard!r}"
    yield from answer_faults("O3", row)
    keys = KEYS_BY_KIND.get(row.kind or "", ())
    if row.kind is not None and row.answer_idx not in keys:
        expected = ", ".join(keys) or "a known kind"
        yield "O7", f"kind {row.kind!r} has key {row.answer_idx}, expected {expected}"


def _parent_faults(row: Row, parent: Row, edit: EditRecord | None) -> Iterator[Fault]:
    texts, own = editing.apply_edit(parent, edit), row.texts()
    if differing := ", ".join(field for field, wanted in texts.items() if wanted != own[field]):
        yield "O6", f"{differing} differ from the parent's text without a record of it"
    key = parent.answer_idx if edit is None else edit.answer_after
    if row.answer_idx != key:
        yield "E8", f"the key is {row.answer_idx}, the parent and the edit table give {key}"


# --- screen -----------------------------------------------------------------------------------------------------------
# It nominates, a person decides: "malformed" means that a question cannot be decided without the missing part, and many
# stems that name an absent picture can. The words were chosen with the published malformed items in sight, so recall on
# these is in-sample.
_MEDIUM = (
    r"(?:photo(?:graph|micrograph)?s?|radiographs?|roentgenograms?|x[-‑ ]?rays?|films?|scans?|mris?|ct"
    r"|ultraso(?:und|nogram|nograph)\w*"
    r"|sonograms?|echocardiograms?|angiograms?|images?|imaging|pictures?|figures?|illustrations?|diagrams?|drawings?"
    r"|ecgs?|ekgs?|electrocardio\w+|cardiotoco\w+|eegs?|tracings?|rhythms?|strips?|recordings?|audiograms?|spirometry|smears?"
    r"|aspirates?|biops(?:y|ies)|specimens?|sections?|slides?|stains?|microscopy|histology|micrographs?|findings?"
    r"|graphs?|curves?|charts?|plots?|tables?|pedigrees?|loops?|rash(?:es)?|lesions?|appearance|fundus|fundoscop\w*"
    r"|examination|results?|karyotypes?|gels?|blots?|electrophoresis|cultures?|views?|studies|study)"
)
_SHOWN = r"(?:shown|pictured|depicted|displayed|provided|illustrated|presented|reproduced|demonstrated\s+(?:below|here))"
_CLAUSE = rf"\b(?:is|are|was|were)\s+(?:\w+ly\s+|also\s+|as\s+)?{_SHOWN}\b"
_PICTURE = r"(?:images?|figures?|pictures?|photographs?|exhibits?|graphs?|diagrams?|illustrations?)"
_HERE = rf"(?:below|above|here|(?:in|on|by)\s+(?:the|this|an?|following)\s+(?:\w+\s+){{0,3}}?{_PICTURE})"
_NOT_IN_TEXT = r"(?![^.?!]{0,12}:)"  # data that follow in the text: a colon soon after
_PATTERNS: dict[str, str] = {
    "media_shown": rf"\b{_MEDIUM}\b[^.?!]{{0,90}}?{_CLAUSE}{_NOT_IN_TEXT}",
    "shown_here": rf"\b(?:shown|seen|presented|depicted|pictured|listed|provided)\s+(?:\w+\s+)?{_HERE}{_NOT_IN_TEXT}",
    "figure_ref": r"\b(?:figures?|images?|exhibits?|fig\.)\s*(?:[A-H]\b|\d)|[(\[]\s*figure",
    "see_image": rf"\bsee\s+(?:the\s+)?(?:\w+\s+)?{_PICTURE}|\b(?:refer|referring)\s+to\s+the\s+(?:\w+\s+)?{_PICTURE}",
    "media_below": rf"\b{_PICTURE}\s+below\b",
    "in_media": rf"\b(?:in|on|from)\s+the\s+(?:\w+\s+){{0,2}}?{_PICTURE}\b|\bthe\s+{_PICTURE}\s+(?:below\s+)?shows?\b",
    "pointer": r"\b(?:marked|indicated|label+ed|denoted|identified)\s+(?:by|with|as|at)?\s*(?:an?\s+|the\s+)?(?:\w+\s+)?"
    r"(?:arrow(?:head)?s?|asterisks?|numbers?|letters?|circles?)\b|\b(?:black|white|red|yellow|blue|green)\s+arrow",
    "graph_point": r"\bpoints?\s+[A-F]\b|\bbased\s+on\s+the\s+(?:\w+\s+)?(?:graph|curve)",
    "lost_context": r"\b(?:summary|passage|abstract|table|case|scenario|vignette)s?\s+"
    r"(?:described\s+|given\s+|shown\s+)?above\b"
    r"|\babove\s+(?:summary|passage|abstract|table|case)|\bprevious\s+question|\b(?:summary|passage|abstract)\s+below\b"
    r"|\b(?:following|provided)\s+(?:\w+\s+)?(?:summary|passage|abstract)\b",
    "broken_table": r"\$\s*\$\s*\$|%\s*%\s*%|\|\s*\|\s*\|",
    "result_missing": r"\b(?:ecgs?|ekgs?|electrocardiograms?|x-?rays?|radiographs?|laborator\w+|labs?|scans?)\b[^.?!]{0,60}"
    r"\b(?:are|is|were|was)\s+found\s*[.?]",
}
CUE_CLASSES = tuple(_PATTERNS)
#: Classes of absent pictures, tracings and graphs, which a text question cannot hold.
MEDIA_CLASSES = {*_PATTERNS} - {"shown_here", "lost_context", "broken_table", "result_missing"}
_LABORATORY = re.compile(
    r"\b(?:laborator\w+|labs?)\b[^.:?!]{0,60}\b(?:are|is)\s+(?:as\s+follows|shown|listed|below)|"
    r"\b(?:laborator\w+|labs?|studies|analysis)\b[^.:?!]{0,60}\b(?:shows?|reveals?|demonstrates?)\s*:",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\d[\d,.]*\s*(?:[x×]\s*10\S+\s*)?(?:%|°|(?:[munpµμkf]?(?:g|mol|eq|l|iu|u|osm)|mm\s*hg|mm|cm|cells?|/)\b|/|U\b|s\b|sec)",
    re.IGNORECASE,
)


def cues(question: str) -> dict[str, str]:
    """Return the cue classes that fire on a stem, each with the text it fired on."""
    # Compiled by the first search, and kept by `re`: a study whose items are built needs none.
    hits = (
        (name, re.search(pattern, question, 0 if name == "graph_point" else re.IGNORECASE))
        for name, pattern in _PATTERNS.items()
    )
    return {name: " ".join(hit.group().split()) for name, hit in hits if hit is not None}


def lacks_laboratory(question: str) -> bool:
    """Whether a stem announces laboratory values and then has fewer than two numbers with a unit."""
    hit = _LABORATORY.search(question)
    return hit is not None and len(_VALUE.findall(question[hit.end() :])) < 2


def mentions_absent_media(question: str) -> bool:
    """Whether a stem points at a picture, tracing or graph."""
    return not cues(question).keys().isdisjoint(MEDIA_CLASSES)
