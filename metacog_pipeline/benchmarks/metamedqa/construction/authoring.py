"""Making new edits: draw items, hand out worksheets, check what comes back, accept or reject it under a name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.metamedqa.construction import records
from metacog_pipeline.benchmarks.metamedqa.construction.derive import infer_kind
from metacog_pipeline.benchmarks.metamedqa.construction.edits import apply_edit, item_id, missing_provenance
from metacog_pipeline.benchmarks.metamedqa.construction.invariants import Violation, check_edit
from metacog_pipeline.benchmarks.metamedqa.construction.records import EditRecord, ParentRow
from metacog_pipeline.benchmarks.metamedqa.construction.text import fold
from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import JsonRow, Line
from metacog_pipeline.stats.agreement import cohen_kappa
from metacog_pipeline.stats.estimate import Estimate

PURPOSE = "modify"
SAMPLE_SIZE = 125


def eligible(
    parents: Sequence[ParentRow],
    edits: Sequence[EditRecord],
    prefix: str = records.PARENT_PREFIX,
    exclude: Collection[str] = (),
) -> list[str]:
    """Return the ids that may be drawn: without a record that is proposed or counts, and not in ``exclude``.

    A malformed item has a record; pass the ids of a screen's nominations as ``exclude`` where none was made yet.
    """
    taken = {edit.item_id for edit in edits if edit.status != "rejected"} | set(exclude)
    ids = (item_id(prefix, parent.source_index) for parent in parents)
    return [name for name in ids if name not in taken]


def sample(ids: Sequence[str], k: int = SAMPLE_SIZE, seed: int = 0, purpose: str = PURPOSE) -> list[str]:
    """Draw ``k`` of the eligible ids by SHA-256 rank, in rank order; SourceError when there are fewer."""
    if k > len(ids):
        raise SourceError(f"{k} items asked for, {len(ids)} are eligible; lower the number")
    return seeded_sample(ids, k, seed, purpose)


def worksheet(
    parents: Sequence[ParentRow],
    drawn: Sequence[str],
    prefix: str = records.PARENT_PREFIX,
    quotas: Mapping[str, int] | None = None,
) -> list[JsonRow]:
    """Return one stub per drawn id, old texts filled in and new texts blank; choice letters and order stay.

    ``quotas`` (kind of edit -> number) writes the kind into the first stubs, in the order of the draw; the rest are
    left to the author. What stays blank in ``changes`` is taken for unchanged.
    """
    by_id = {item_id(prefix, parent.source_index): parent for parent in parents}
    wanted = _spread(quotas or {}, len(drawn))
    return [_stub(name, by_id[name], kind) for name, kind in zip(drawn, wanted, strict=True)]


def _spread(quotas: Mapping[str, int], size: int) -> list[str | None]:
    unknown = sorted(set(quotas) - set(records.EDIT_KINDS))
    if unknown:
        raise SourceError(f"quota for {unknown[0]!r}: kinds of edit are {', '.join(records.EDIT_KINDS)}")
    kinds: list[str | None] = [kind for kind in records.EDIT_KINDS for _ in range(quotas.get(kind, 0))]
    if len(kinds) > size:
        raise SourceError(f"quotas add up to {len(kinds)}, more than the {size} items drawn; lower them")
    return kinds + [None] * (size - len(kinds))


def _stub(name: str, parent: ParentRow, kind: str | None) -> JsonRow:
    key = parent.answer_idx
    fields: list[tuple[str, str]] = []
    if kind in (None, "question_altered"):
        fields.append(("question", parent.question))
    if kind is None or kind in records.ANSWER_EDITS:
        fields.append((f"options.{key}", records.option_text(parent, key)))
    return {
        "item_id": name,
        "source_index": parent.source_index,
        "edit_kind": kind,
        "changes": [{"field": field, "before": text, "after": ""} for field, text in fields],
        "answer_before": key,
        "answer_after": "E" if kind in records.ANSWER_EDITS else "F" if kind == "malformed" else None,
        "reason": "",
        "auditor": "",
        "created": "",
        "status": "proposed",
        "second_auditor": None,
        "item": {
            "question": parent.question,
            "options": dict(zip(records.CHOICES, parent.options, strict=True)),
        },
    }


def read_worksheet(lines: Sequence[Line]) -> tuple[list[EditRecord], list[str]]:
    """Return the filled-in records and the ids of stubs that still lack a kind or a key."""
    filled, waiting = [], []
    for line in lines:
        row = dict(line.row)
        changes = row.get("changes")
        if isinstance(changes, list):
            row["changes"] = [c for c in changes if not (isinstance(c, dict) and _blank(c))]
        if waits(row):
            waiting.append(str(row.get("item_id")))
        else:
            filled.append(records.parse_edit(Line(line.file, line.number, row)))
    return filled, waiting


def waits(row: Mapping[str, Any]) -> bool:
    """Whether a stub still lacks a kind or a key."""
    return row.get("edit_kind") is None or row.get("answer_after") is None


def _blank(change: Mapping[str, Any]) -> bool:
    return change.get("find") is None and not str(change.get("after") or "").strip()


def check_record(parent: ParentRow, edit: EditRecord) -> list[Violation]:
    """Check one author-made record: every rule on edits, and what a new edit must hold besides.

    Besides: after an answer edit the old right answer stands nowhere among A-D (``A1``) and only the keyed choice is
    changed (``extra_change``, not advisory here); reason and date are given (``A2``). ``A3`` is advisory: the overlap
    of words suggests the other kind of answer edit.
    """
    found = [replace(v, advisory=False) if v.rule == "extra_change" else v for v in check_edit(parent, edit)]

    def broken(rule: str, message: str, advisory: bool = False) -> None:
        found.append(Violation(rule, edit.item_id, edit.source_index, message, advisory))

    if edit.edit_kind in records.ANSWER_EDITS and not any(v.rule in ("E2", "E5") for v in found):
        _, four = apply_edit(parent, edit)
        old = records.option_text(parent, parent.answer_idx)
        still = [
            letter for letter, text in zip(records.CHOICES, four, strict=True) if fold(text) == fold(old)
        ]
        if still:
            broken("A1", f"the old right answer still stands as choice {', '.join(still)}: {old[:80]!r}")
        suggested = infer_kind(edit.changes, parent.answer_idx)
        if suggested in records.ANSWER_EDITS and suggested != edit.edit_kind:
            broken("A3", f"old and new text look like {suggested}, the record says {edit.edit_kind}", True)
    if not edit.reason:
        broken("A2", "no reason given")
    if edit.created is not None and not _is_date(edit.created):
        broken("A2", f"created is {edit.created!r}, a date like 2025-01-31 needed")
    lacking = [name for name in missing_provenance(edit) if name != "reason"]
    if lacking:
        broken("A2", f"accepted without {', '.join(lacking)}")
    return found


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def decide(
    parents: Sequence[ParentRow],
    edits: Sequence[EditRecord],
    name: str,
    auditor: str,
    *,
    accept: bool,
    today: date,
    second: bool = False,
) -> tuple[EditRecord, ...]:
    """Return the records with the proposed one of item ``name`` accepted or rejected by ``auditor`` on ``today``.

    ``second`` adds the name of a second auditor to an accepted record instead.

    Raises SourceError when there is no such record, the name is blank, the record breaks a rule, or the second
    auditor is the first.
    """
    if not auditor.strip():
        raise SourceError(
            f"{name}: an auditor's name is needed; a record counts only when a person stands for it"
        )
    wanted = "accepted" if second else "proposed"
    places = [i for i, edit in enumerate(edits) if edit.item_id == name and edit.status == wanted]
    if len(places) != 1:
        raise SourceError(f"{name}: {len(places)} {wanted} records of this item; exactly one needed")
    edit = edits[places[0]]
    if second:
        decided = _second(edit, auditor.strip(), accept)
    else:
        status: records.Status = "accepted" if accept else "rejected"
        decided = replace(edit, status=status, auditor=auditor.strip(), created=today.isoformat())
        if accept:
            _refuse_broken(parents, edits, decided)
    return (*edits[: places[0]], decided, *edits[places[0] + 1 :])


def _second(edit: EditRecord, auditor: str, accept: bool) -> EditRecord:
    if fold(auditor) == fold(edit.auditor or ""):
        raise SourceError(
            f"{edit.item_id}: {auditor} is the first auditor already; a second person is needed"
        )
    return replace(edit, second_auditor=auditor, status="accepted" if accept else "rejected")


def _refuse_broken(parents: Sequence[ParentRow], edits: Sequence[EditRecord], decided: EditRecord) -> None:
    if any(edit.item_id == decided.item_id and edit.counts for edit in edits):
        raise SourceError(f"{decided.item_id}: has an accepted record already; one per item")
    if decided.source_index >= len(parents):
        raise SourceError(
            f"{decided.item_id}: source_index {decided.source_index} is no row of the parent set"
        )
    faults = [v for v in check_record(parents[decided.source_index], decided) if not v.advisory]
    if faults:
        raise SourceError(
            f"{decided.item_id}: cannot be accepted, {len(faults)} fault(s): {faults[0].render()}"
        )


def agreement(first: Sequence[EditRecord], second: Sequence[EditRecord]) -> Estimate:
    """Return Cohen's kappa of two people's decisions over the items both accepted or rejected.

    A decision is that of the second auditor where there is one. In tables with second auditors, an item that both
    tables hold under one name was not judged by the second person: it does not count.
    """
    mine, yours = (
        {edit.item_id: edit for edit in edits if edit.status in ("accepted", "rejected")}
        for edits in (first, second)
    )
    shared = sorted(mine.keys() & yours.keys())
    if any(edit.second_auditor for edit in (*first, *second)):
        shared = [name for name in shared if _judge(mine[name]) != _judge(yours[name])]
    return cohen_kappa(
        [str(mine[name].status) for name in shared], [str(yours[name].status) for name in shared]
    )


def _judge(edit: EditRecord) -> str:
    """Return who decided on a record, folded; empty where that is unknown."""
    return fold(edit.second_auditor or edit.auditor or "")
