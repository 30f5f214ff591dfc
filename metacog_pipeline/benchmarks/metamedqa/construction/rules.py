"""The rules a parent set, an edit table and a finished data set must hold, and the screen for malformed stems.

============  ==================================================================================================
P2, P3, P4    four different choices A-D that are not empty; ``answer`` is the keyed choice; questions are unique
E1, E2        one record per item, of a row that exists; ``before`` (or ``find``) and ``answer_before`` match it
E3, E4        ``after`` differs from ``before`` and is not blank; the key after is one the kind of edit allows
E5, E6        ``malformed`` changes nothing else, other kinds do; answer edits touch the keyed choice
E7, E8        no choice equals another, or E or F; no key change without a record, no record without effect
A1, A2        after an author's answer edit, which has a status, the old right answer is offered nowhere; an accepted
              record has auditor, reason and date
O2, O5, O7    the texts of E and F are the standard ones; questions are unique; kind and key agree
============  ==================================================================================================

The other rules of a finished set hold by the way it is built: six choices in order (O1), ``answer`` the keyed one (O3),
counts that add up (O4), texts and keys as the parent has them or an edit says (O6, E8).
On the published data these find exactly E6 at parent rows 175 and 950, O2 and O7 at 1124, and the advisory
``extra_change`` at 998.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from metacog_pipeline.benchmarks.metamedqa.construction import edits as editing
from metacog_pipeline.benchmarks.metamedqa.construction.edits import EditRecord, Row, fold, item_id
from metacog_pipeline.benchmarks.metamedqa.items import CANNOT_ANSWER, NAME, NONE_OF_THE_ABOVE, Item
from metacog_pipeline.errors import SourceError, one_line
from metacog_pipeline.files import read_toml, shipped

KEYS_BY_KIND: Mapping[str, tuple[str, ...]] = {
    "Original": editing.CHOICES,
    **{kind: editing.KEYS_AFTER[edit_kind] for edit_kind, kind in editing.PUBLISHED_KIND.items()},
    "Fictional": ("F",),
}
EXTRA = "extra_change"
_STANDARD = {"E": NONE_OF_THE_ABOVE, "F": CANNOT_ANSWER}
# a rule, and what breaks it
Fault = tuple[str, str]


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
def check_parent(rows: Sequence[Row], prefix: str = editing.PARENT_PREFIX) -> list[Violation]:
    """Check P2-P4 of a parent set."""
    found, repeated = list[Violation](), repeats("P4", [row.question for row in rows])
    for row in rows:
        faults = [*choice_faults(row), *answer_faults(row), *repeated.get(row.place, ())]
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


def answer_faults(row: Row) -> Iterator[Fault]:
    """Yield what breaks P3, between ``answer`` and the key of a row."""
    text = row.options.get(row.answer_idx or "")
    if text is None:
        yield "P3", f"the key {row.answer_idx} is not among the choices"
    elif row.answer is not None and text != row.answer:
        yield "P3", f"answer reads {row.answer[:80]!r}, choice {row.answer_idx} reads {text[:80]!r}"


def repeats(rule: str, questions: Iterable[str]) -> dict[int, list[Fault]]:
    """Return what is wrong with the questions, by place, that repeat an earlier one after folding."""
    first: dict[str, int] = {}
    found = [(place, first.setdefault(fold(text), place)) for place, text in enumerate(questions)]
    return {at: [(rule, f"the question is that of row {to}")] for at, to in found if at != to}


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
def check_items(items: Sequence[Item]) -> list[Violation]:
    """Check O2, O5 and O7 of a data set."""
    found, repeated = list[Violation](), repeats("O5", [item.question for item in items])
    for place, item in enumerate(items):
        faults, keys = repeated.get(place, []), KEYS_BY_KIND[item.kind]
        for text, (letter, standard) in zip(item.options[4:], _STANDARD.items(), strict=True):
            if text != standard:
                faults.append(("O2", f"choice {letter} reads {text[:80]!r}, the standard is {standard!r}"))
        if item.target not in keys:
            faults.append(("O7", f"kind {item.kind!r} has key {item.target}, expected {', '.join(keys)}"))
        found += [Violation(rule, item.item_id, item.source_index, text) for rule, text in faults]
    return found


# --- screen -----------------------------------------------------------------------------------------------------------
#: Classes of absent pictures, tracings and graphs, which a text question cannot hold, are all but these.
_NOT_MEDIA = {"shown_here", "lost_context", "broken_table", "result_missing"}


@functools.cache  # a study whose items are built screens nothing
def _patterns(group: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns of a group of the screen by their names, the parts they name put in."""
    screen = read_toml(shipped("data", NAME, "screen.toml"))
    found = dict(screen[group])
    for part, text in screen["parts"].items():
        found = {name: pattern.replace(f"<{part}>", text) for name, pattern in found.items()}
    return {name: re.compile(pattern, re.IGNORECASE | re.VERBOSE) for name, pattern in found.items()}


def cues(question: str) -> dict[str, str]:
    """Return the cue classes that fire on a stem, each with the text it fired on."""
    hits = ((name, pattern.search(question)) for name, pattern in _patterns("cues").items())
    return {name: " ".join(hit.group().split()) for name, hit in hits if hit is not None}


def lacks_laboratory(question: str) -> bool:
    """Whether a stem announces laboratory values and then has fewer than two numbers with a unit."""
    announced, value = _patterns("laboratory").values()
    hit = announced.search(question)
    return hit is not None and len(value.findall(question[hit.end() :])) < 2


def mentions_absent_media(question: str) -> bool:
    """Whether a stem points at a picture, tracing or graph."""
    return bool(cues(question).keys() - _NOT_MEDIA)
