"""Counts of a derived edit table, and the paper's counts beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from metacog_pipeline.benchmarks.metamedqa.construction import records
from metacog_pipeline.benchmarks.metamedqa.construction.derive import Derivation

PAPER_COUNTS = {
    "total": 1373,
    "unchanged": 1096,
    "none_of_the_above": 115,
    "dont_know": 162,
    "fictional": 100,
    "malformed_audited": 55,
    "modified": 125,
}
"""Stated in the paper's Methods; the published data has 52 malformed items, not 55."""


def derivation_counts(
    parents: Sequence[records.ParentRow], rows: Sequence[records.ChoiceRow], derivation: Derivation
) -> dict[str, Any]:
    """Return every count of a comparison: rows, kinds, keys, kinds of edit, and what makes up E and F."""
    edits = derivation.edits
    kinds = Counter(edit.edit_kind for edit in edits)
    changed = [edit for edit in edits if edit.changes]
    keyed_e = Counter(edit.edit_kind for edit in edits if edit.answer_after == "E")
    keyed_f = Counter(edit.edit_kind for edit in edits if edit.answer_after == "F")
    fictional = len(derivation.fictional)
    return {
        "rows": {
            "medqa_test": len(parents),
            "published": len(rows),
            "fictional": fictional,
            "matched_one_to_one": len(derivation.matches),
            "matched_exact_question_text": sum(match.exact for match in derivation.matches),
            "matched_fuzzy": sum(not match.exact for match in derivation.matches),
        },
        "published_kind_by_key": kind_by_key((row.kind, row.answer_idx) for row in rows),
        "answer_key_counts": _sorted(row.answer_idx or "none" for row in rows),
        "medqa_answer_key_counts": _sorted(parent.answer_idx for parent in parents),
        "medqa_meta_info_counts": _sorted(parent.meta_info for parent in parents),
        "derived_edit_kind_by_new_key": _sorted(f"{edit.edit_kind}|{edit.answer_after}" for edit in edits),
        "derived_edit_kind": _sorted(edit.edit_kind for edit in edits),
        "unchanged_from_medqa": len(derivation.matches) - len(edits),
        "edited_total": len(edits),
        "modifications_total": len(edits) - kinds["malformed"],
        "malformed_total": kinds["malformed"],
        "question_text_changed": sum(_touches(edit, "question") for edit in changed),
        "options_changed": sum(_touches(edit, "options") for edit in changed),
        "items_with_any_text_change": len(changed),
        "key_E_total": sum(keyed_e.values()),
        "key_E_breakdown": dict(keyed_e),
        "key_F_total": sum(keyed_f.values()) + fictional,
        "key_F_breakdown": {"fictional": fictional, **keyed_f},
    }


def kind_by_key(pairs: Iterable[tuple[str | None, str | None]]) -> dict[str, int]:
    """Count rows by ``kind|key``, the four parent keys taken together as ``A-D``."""
    return _sorted(
        f"{kind or 'none'}|{'A-D' if key in records.CHOICES else key or 'none'}" for kind, key in pairs
    )


def _touches(edit: records.EditRecord, field: str) -> bool:
    return any(change.field.startswith(field) for change in edit.changes)


def _sorted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


@dataclass(frozen=True, slots=True)
class PaperCheck:
    """One count of the paper beside the data's."""

    quantity: str
    paper: int
    data: int

    @property
    def agrees(self) -> bool:
        """Whether the two are equal."""
        return self.paper == self.data

    def render(self) -> str:
        """Return one printable line."""
        verdict = "agrees" if self.agrees else "DISAGREES"
        return f"{self.quantity:18} paper {self.paper:5}  data {self.data:5}  {verdict}"


def paper_checks(rows: Sequence[records.ChoiceRow]) -> tuple[PaperCheck, ...]:
    """Compare the paper's counts with a data set in the published layout.

    The paper's 1,096 + 125 + 55 is three more than the 1,273 parent questions; the data, with 52, adds up. Kind
    ``Original`` with key E is counted as a modification, as the data's own text shows it to be.
    """
    keys = Counter(row.answer_idx for row in rows)
    kinds = Counter(row.kind for row in rows)
    unchanged = sum(row.kind == "Original" and row.answer_idx in records.CHOICES for row in rows)
    data = {
        "total": len(rows),
        "unchanged": unchanged,
        "none_of_the_above": keys["E"],
        "dont_know": keys["F"],
        "fictional": kinds["Fictional"],
        "malformed_audited": kinds["Bad"],
        "modified": len(rows) - unchanged - kinds["Bad"] - kinds["Fictional"],
    }
    return tuple(PaperCheck(name, stated, data[name]) for name, stated in PAPER_COUNTS.items())
