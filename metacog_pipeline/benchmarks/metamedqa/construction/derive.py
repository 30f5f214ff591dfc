"""The inverse of construction: the edit table from a parent set and a modified set, and the modified set's order.

Rows are matched by exact question text, then by folded text, then by the best character similarity among what is
left, as the one-to-one assignment of the greatest total (doubtful pairs are dropped only where the two sides differ in
number). Matches below ``LEAST_SIMILARITY`` or with a rival
within ``LEAST_LEAD`` points are reported. On the published set the worst true match has 67.5 and its rival 51.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy  # loads scipy.optimize where it is first used: few commands need it, and it takes long

from metacog_pipeline.benchmarks.metamedqa.construction import edits as editing
from metacog_pipeline.benchmarks.metamedqa.construction import records
from metacog_pipeline.benchmarks.metamedqa.construction.records import ChoiceRow, EditRecord, ParentRow
from metacog_pipeline.benchmarks.metamedqa.construction.text import fold, similarity, word_jaccard
from metacog_pipeline.benchmarks.metamedqa.items import Letter

LEAST_SIMILARITY = 60.0
LEAST_LEAD = 10.0
HINT_JACCARD = 1 / 3
_RIVALS = 32
"""Similarity is computed for this many parents per row, those with the most words in common."""

_EDIT_KIND: dict[str, records.EditKind] = {
    published: kind for kind, published in editing.PUBLISHED_KIND.items()
}


@dataclass(frozen=True, slots=True)
class Match:
    """A row of the modified set and its parent. ``score`` and ``runner_up`` are 0..100; an exact match has 100, 0."""

    position: int
    source_index: int
    score: float
    runner_up: float
    exact: bool


@dataclass(frozen=True, slots=True)
class Derivation:
    """What comparing two sets yields.

    ``matches`` is sorted by position, ``edits`` by parent row; ``fictional`` holds the positions of rows without a
    parent; ``missing`` the parent rows without a match; ``reports`` one line per doubtful match or loose end.
    """

    edits: tuple[EditRecord, ...]
    matches: tuple[Match, ...]
    fictional: tuple[int, ...]
    missing: tuple[int, ...]
    reports: tuple[str, ...]

    @property
    def one_to_one(self) -> bool:
        """Whether every parent row is in the modified set."""
        return not self.missing


def derive(
    parents: Sequence[ParentRow], rows: Sequence[ChoiceRow], prefix: str = records.PARENT_PREFIX
) -> Derivation:
    """Compare ``rows`` (a modified set, in any order, with or without ``kind``) with ``parents``.

    Rows of kind ``Fictional`` or meta_info ``glianorex`` are never matched; other rows without a parent are
    reported and counted as fictional.
    """
    marked = [r for r in rows if r.kind == "Fictional" or (r.kind is None and r.meta_info == "glianorex")]
    own = {row.place for row in marked}
    matches = match_rows(parents, [row for row in rows if row.place not in own])
    matched = {match.position for match in matches}
    strays = [row.place for row in rows if row.place not in matched and row.place not in own]
    found = {match.source_index for match in matches}
    missing = tuple(p.source_index for p in parents if p.source_index not in found)
    by_place = {row.place: row for row in rows}
    edits = [_edit(parents[m.source_index], by_place[m.position], prefix) for m in matches]
    return Derivation(
        edits=tuple(sorted((e for e in edits if e is not None), key=lambda e: e.source_index)),
        matches=tuple(matches),
        fictional=tuple(sorted([*own, *strays])),
        missing=missing,
        reports=(
            *(report for match in matches for report in _doubts(match)),
            *(f"row {place}: no parent row resembles it; taken for fictional" for place in strays),
            *(f"parent row {index}: no row of the modified set resembles it" for index in missing),
        ),
    )


def match_rows(parents: Sequence[ParentRow], rows: Sequence[ChoiceRow]) -> list[Match]:
    """Return the one-to-one matches of ``rows`` with ``parents``, sorted by position."""
    matches: list[Match] = []
    left_rows, left_parents = list(rows), list(parents)
    steps: tuple[Callable[[ParentRow | ChoiceRow], object], ...] = (
        lambda r: (r.question, r.options[:4]),
        lambda r: r.question,
        lambda r: fold(r.question),
    )
    for place, key in enumerate(steps):
        pairs = _unique_pairs(left_parents, left_rows, key)
        matches += [Match(row.place, parent.source_index, 100.0, 0.0, place < 2) for parent, row in pairs]
        gone_parents, gone_rows = {p.source_index for p, _ in pairs}, {r.place for _, r in pairs}
        left_parents = [p for p in left_parents if p.source_index not in gone_parents]
        left_rows = [r for r in left_rows if r.place not in gone_rows]
    return sorted([*matches, *_nearest(left_parents, left_rows)], key=lambda match: match.position)


def _unique_pairs(
    parents: Sequence[ParentRow], rows: Sequence[ChoiceRow], key: Callable[[ParentRow | ChoiceRow], object]
) -> list[tuple[ParentRow, ChoiceRow]]:
    """Pair rows whose key is unique on both sides."""
    left: dict[object, list[ParentRow]] = defaultdict(list)
    right: dict[object, list[ChoiceRow]] = defaultdict(list)
    for parent in parents:
        left[key(parent)].append(parent)
    for row in rows:
        right[key(row)].append(row)
    return [(left[k][0], right[k][0]) for k in left if len(left[k]) == 1 and len(right.get(k, ())) == 1]


def _nearest(parents: Sequence[ParentRow], rows: Sequence[ChoiceRow]) -> list[Match]:
    """Assign rows to parents by greatest total similarity; more rows than parents leaves the worst unmatched."""
    if not parents or not rows:
        return []
    scores = _similarities([p.question for p in parents], [r.question for r in rows])
    matches = []
    for row, parent in _assigned(scores):
        rivals = np.concatenate([np.delete(scores[:, row], parent), np.delete(scores[parent], row)])
        score, runner_up = float(scores[parent, row]), float(rivals.max(initial=0.0))
        doubtful = score < LEAST_SIMILARITY and score - runner_up < LEAST_LEAD
        if doubtful and len(rows) != len(parents):
            continue
        matches.append(Match(rows[row].place, parents[parent].source_index, score, runner_up, False))
    return matches


def _assigned(scores: np.ndarray) -> list[tuple[int, int]]:
    """Return (row, parent) of the assignment of the greatest total; ``scores`` are of parents × rows."""
    nearest = scores.argmax(axis=0).tolist()
    if len(set(nearest)) == len(nearest):  # no two rows want the same parent: no other total is greater
        return list(enumerate(nearest))
    rows, parents = scipy.optimize.linear_sum_assignment(scores.T, maximize=True)
    return list(zip(rows.tolist(), parents.tolist(), strict=True))


def _similarities(left: Sequence[str], right: Sequence[str]) -> np.ndarray:
    """Return the similarity of each pair, 0 where too few words are shared to be among the nearest."""
    shared = _shared_words(left, right)
    scores = np.zeros((len(left), len(right)))
    for column in range(len(right)):
        for line in np.argsort(-shared[:, column], kind="stable")[:_RIVALS].tolist():
            scores[line, column] = similarity(left[line], right[column])
    return scores


def _shared_words(left: Sequence[str], right: Sequence[str]) -> np.ndarray:
    """Return how many distinct words each pair shares, as a share of the words of both."""
    vocabulary: dict[str, int] = {}
    bags = [{vocabulary.setdefault(w, len(vocabulary)) for w in text.split()} for text in (*left, *right)]
    table = np.zeros((len(bags), len(vocabulary)), dtype=np.float32)
    for line, bag in enumerate(bags):
        table[line, list(bag)] = 1.0
    first, second = table[: len(left)], table[len(left) :]
    total = first.sum(axis=1)[:, None] + second.sum(axis=1)[None, :]
    return np.asarray((first @ second.T) / np.maximum(total, 1.0))


def _doubts(match: Match) -> list[str]:
    text = f"row {match.position}: nearest parent row {match.source_index} has similarity {match.score:.1f}"
    doubts = []
    if match.score < LEAST_SIMILARITY:
        doubts.append(f"{text}, below {LEAST_SIMILARITY:.0f}; check it by eye")
    if match.score - match.runner_up < LEAST_LEAD:
        doubts.append(
            f"{text}, a rival {match.runner_up:.1f}, within {LEAST_LEAD:.0f} points; check it by eye"
        )
    return doubts


def _edit(parent: ParentRow, row: ChoiceRow, prefix: str) -> EditRecord | None:
    """Return the record that turns ``parent`` into ``row``, ``None`` when nothing differs."""
    old, new = (
        editing.fields_of(parent.question, parent.options),
        editing.fields_of(row.question, row.choices),
    )
    changes = tuple(
        records.Change(field, before=text, after=new[field])
        for field, text in old.items()
        if text != new[field]
    )
    after = row.answer_idx or parent.answer_idx
    if not changes and after == parent.answer_idx:
        return None
    return EditRecord(
        item_id=editing.item_id(prefix, parent.source_index),
        source_index=parent.source_index,
        edit_kind=_EDIT_KIND.get(row.kind or "") or infer_kind(changes, parent.answer_idx),
        changes=changes,
        answer_before=parent.answer_idx,
        answer_after=cast(Letter, after),
        published_kind=row.kind,
    )


def infer_kind(changes: Sequence[records.Change], key: str) -> records.EditKind:
    """Return the likely kind of an unlabelled edit from what it changes.

    No change: malformed. Only the stem, or the stem and choices other than the key: a question edit. Else an
    answer edit, ``answer_altered`` when the old and new text of the keyed choice (or the first changed one) share at
    least a third of their words. A hint: of the published edits it calls 24 of 27 alterations and 76 of
    83 replacements by their published kind.
    """
    if not changes:
        return "malformed"
    answers = [change for change in changes if change.field != "question"]
    keyed = [change for change in answers if change.field == f"options.{key}"]
    if not answers or (len(answers) < len(changes) and not keyed):
        return "question_altered"
    change = (keyed or answers)[0]
    alike = word_jaccard(change.before or "", change.after or "")
    return "answer_altered" if alike >= HINT_JACCARD else "answer_replaced"
