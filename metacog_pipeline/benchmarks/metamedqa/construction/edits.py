"""Rows of question files and edit records: read, applied, and recovered by comparing two sets."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
import scipy  # loads scipy.optimize where it is first used: few commands need it, and it takes long
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
# Doubtful matches of two sets are listed: of the published ones the worst has 67.5, and its rival 51.0.
LEAST_SIMILARITY, LEAST_LEAD = 60.0, 10.0
# Of the published alterations 24 of 27 share a third of their words with the old text, of 83 replacements 7.
ALIKE = 1 / 3


# --- records ----------------------------------------------------------------------------------------------------------
Text = Annotated[str, Field(pattern=r"\S")]
Place = Annotated[StrictInt, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a question file; other fields of the file are ignored."""

    place: Place  # 0-based
    question: Text
    options: Annotated[dict[Annotated[str, Field(pattern=r"^[A-F]$")], str], Field(min_length=4)]
    answer_idx: Letter | None = None  # the key; of a fictional question that of its pool
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
    changes: tuple[Change, ...]  # none of ``malformed``
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
    standard: Text
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


def similarity(a: str, b: str) -> float:
    """Return 100 · 2·LCS(a, b) / (len(a) + len(b)), 0..100: symmetric and exact, where ``difflib`` is neither."""
    # The longest common subsequence by Hyyrö's bit-parallel recurrence (2004).
    places: dict[str, int] = defaultdict(int)
    for index, character in enumerate(a):
        places[character] |= 1 << index
    row = mask = (1 << len(a)) - 1
    for character in b:
        hits = row & places[character]
        row = ((row + hits) | (row - hits)) & mask
    total = len(a) + len(b)
    return 200.0 * (len(a) - row.bit_count()) / total if total else 100.0


class Match(NamedTuple):
    """A row of the modified set and its parent; scores are 0 to 100."""

    position: int
    source_index: int
    score: float = 100.0
    runner_up: float = 0.0


class Derivation(NamedTuple):
    """What comparing two sets yields."""

    edits: Sequence[EditRecord]  # by parent row
    matches: Sequence[Match]  # by position
    fictional: Sequence[int]  # places of rows without a parent
    missing: Sequence[int]  # parent rows without a match
    reports: Sequence[str]  # a line per doubtful match or loose end


def derive(parents: Sequence[Row], rows: Sequence[Row], prefix: str = PARENT_PREFIX) -> Derivation:
    """Compare ``rows``, a modified set in any order, with or without kinds, with its parent set."""
    # They have no parent, and would take that of another row.
    pooled = ((row.place, row.kind or row.meta_info) for row in rows)
    own = {place for place, about in pooled if about in ("Fictional", FICTIONAL_META)}
    matches = match_rows(parents, [row for row in rows if row.place not in own])
    matched, taken = {match.position for match in matches}, {match.source_index for match in matches}
    strays = [row.place for row in rows if row.place not in matched | own]
    missing = sorted({parent.place for parent in parents} - taken)
    by_place = {row.place: row for row in rows}
    edits = [_edit(parents[each.source_index], by_place[each.position], prefix) for each in matches]
    reports = [
        f"row {row}: nearest parent row {parent} has similarity {score:.1f}, a rival {rival:.1f}; check it by eye"
        for row, parent, score, rival in matches
        if score < LEAST_SIMILARITY or score - rival < LEAST_LEAD
    ]
    reports += [f"row {place}: no parent row resembles it; taken for fictional" for place in strays]
    reports += [f"parent row {index}: no row of the modified set resembles it" for index in missing]
    edits_in_order = sorted((edit for edit in edits if edit), key=lambda edit: edit.source_index)
    return Derivation(edits_in_order, matches, sorted([*own, *strays]), missing, reports)


def match_rows(parents: Sequence[Row], rows: Sequence[Row]) -> list[Match]:
    """Return the one-to-one matches: by equal question, the rest as the most similar assignment."""
    left, right = _by_question(parents), _by_question(rows)
    pairs = [(own, right.get(text, [])) for text, own in left.items()]
    matches = [Match(found[0].place, own[0].place) for own, found in pairs if len(own) == len(found) == 1]
    taken, matched = {match.source_index for match in matches}, {match.position for match in matches}
    others = [row for row in rows if row.place not in matched]
    return sorted([*matches, *_nearest([p for p in parents if p.place not in taken], others)])


def _by_question(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[fold(row.question)].append(row)
    return found


def _nearest(parents: Sequence[Row], rows: Sequence[Row]) -> list[Match]:
    """Assign rows to parents by greatest total similarity; doubtful pairs are left where the numbers differ."""
    scores = np.array([[similarity(p.question, r.question) for r in rows] for p in parents])
    if not scores.size:
        return []
    matches = []
    for parent, row in zip(*scipy.optimize.linear_sum_assignment(scores, maximize=True), strict=True):
        rivals = np.concatenate([np.delete(scores[:, row], parent), np.delete(scores[parent], row)])
        score, runner_up = float(scores[parent, row]), float(rivals.max(initial=0.0))
        # Where the numbers differ, rows without a partner are assigned one all the same.
        doubtful = score < LEAST_SIMILARITY and score - runner_up < LEAST_LEAD
        if not doubtful or len(rows) == len(parents):
            matches.append(Match(rows[row].place, parents[parent].place, score, runner_up))
    return matches


def _edit(parent: Row, row: Row, prefix: str) -> EditRecord | None:
    """Return the record that turns ``parent`` into ``row``, None where nothing differs."""
    old, new = parent.texts(), row.texts()
    changed: Any = [field for field in old if old[field] != new[field]]
    changes = tuple(Change(field, before=old[field], after=new[field]) for field in changed)
    before: Any = parent.answer_idx
    after: Any = row.answer_idx or before
    if not changes and after == before:
        return None
    labelled = [kind for kind, published in PUBLISHED_KIND.items() if published == row.kind]
    kind = labelled[0] if labelled else infer_kind(changes, before)
    name = item_id(prefix, parent.place)
    return EditRecord(name, parent.place, kind, changes, before, after, published_kind=row.kind)


def infer_kind(changes: Sequence[Change], key: str) -> EditKind:
    """Return the likely kind of an unlabelled edit from what it changes: a hint, not a rule."""
    answers = [change for change in changes if change.field != "question"]
    keyed = [change for change in answers if change.field == f"options.{key}"]
    if not changes:
        return "malformed"
    if not answers or (len(answers) < len(changes) and not keyed):
        return "question_altered"
    change = (keyed or answers)[0]
    old, new = (set(re.findall(r"\w+", fold(text or ""))) for text in (change.before, change.after))
    return "answer_altered" if len(old & new) >= ALIKE * len(old | new) else "answer_replaced"


def derivation_counts(parents: Sequence[Row], rows: Sequence[Row], found: Derivation) -> dict[str, Any]:
    """Return every count of a comparison: rows, kinds, keys, kinds of edit, and what makes up E and F."""
    edits, fictional = found.edits, len(found.fictional)
    keyed = {key: dict(Counter(e.edit_kind for e in edits if e.answer_after == key)) for key in "EF"}
    malformed = sum(edit.edit_kind == "malformed" for edit in edits)
    texts = {row.place: row.question for row in rows}
    exact = sum(parents[match.source_index].question == texts[match.position] for match in found.matches)
    return {
        "rows": {
            "medqa_test": len(parents), "published": len(rows), "fictional": fictional,
            "matched_one_to_one": len(found.matches), "matched_exact_question_text": exact,
            "matched_fuzzy": len(found.matches) - exact,
        },
        "published_kind_by_key": kind_by_key((row.kind, row.answer_idx) for row in rows),
        "answer_key_counts": sorted_counts(row.answer_idx or "none" for row in rows),
        "medqa_answer_key_counts": sorted_counts(parent.answer_idx or "none" for parent in parents),
        "medqa_meta_info_counts": sorted_counts(parent.meta_info for parent in parents),
        "derived_edit_kind_by_new_key": sorted_counts(f"{e.edit_kind}|{e.answer_after}" for e in edits),
        "derived_edit_kind": sorted_counts(edit.edit_kind for edit in edits),
        "unchanged_from_medqa": len(found.matches) - len(edits), "edited_total": len(edits),
        "modifications_total": len(edits) - malformed, "malformed_total": malformed,
        "question_text_changed": sum("question" in edit.fields for edit in edits),
        "options_changed": sum(bool(edit.fields - {"question"}) for edit in edits),
        "items_with_any_text_change": sum(bool(edit.changes) for edit in edits),
        "key_E_total": sum(keyed["E"].values()), "key_E_breakdown": keyed["E"],
        "key_F_total": sum(keyed["F"].values()) + fictional,
        "key_F_breakdown": {"fictional": fictional, **keyed["F"]},
    }  # fmt: skip


def kind_by_key(pairs: Iterable[tuple[str | None, str | None]]) -> dict[str, int]:
    """Count rows by ``kind|key``, the four parent keys taken together as ``A-D``."""
    return sorted_counts(
        f"{kind or 'none'}|{'A-D' if key in CHOICES else key or 'none'}" for kind, key in pairs
    )


def sorted_counts(names: Iterable[str]) -> dict[str, int]:
    """Count names, in alphabetical order."""
    return dict(sorted(Counter(names).items()))
