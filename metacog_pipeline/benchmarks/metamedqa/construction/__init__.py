"""From published sources to the items: three files, an edit table, questions about an organ that does not exist.

======================  ==========================================  ==========================  ==================
data set                parent and fictional questions              edits                       order by default
======================  ==========================================  ==========================  ==================
``published``           fetched sources                             derived from the two files  the published one
``corrected``           the same                                    the same, see `corrections` the published one
``sample``              shipped with this project                   shipped                     the parent's
``custom``              ``parent.jsonl`` and ``fictional.jsonl``    ``edits.jsonl``             the parent's
                        of a folder (or ``.jsonl.gz``)
======================  ==========================================  ==========================  ==================

``edits`` holds rows and edit records, ``rules`` what must hold of them and the screen for malformed stems. Here: sources,
edit tables, the items and their assets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made, Step
from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.metamedqa.construction import edits as editing
from metacog_pipeline.benchmarks.metamedqa.construction import rules
from metacog_pipeline.benchmarks.metamedqa.construction.edits import EditRecord, Quirk, Row, item_id
from metacog_pipeline.benchmarks.metamedqa.construction.rules import OutputRow, Violation
from metacog_pipeline.benchmarks.metamedqa.items import (
    CANNOT_ANSWER,
    CONTENTS,
    FETCHED,
    LETTERS,
    NAME,
    NONE_OF_THE_ABOVE,
    SOURCES,
    Dataset,
    Item,
    fetch,
    fictional_rows,
)
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import sha256_hex, shipped
from metacog_pipeline.home import Home
from metacog_pipeline.sources import Line, read_lines

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metamedqa import MetaMedQA

DEFAULT_FICTIONAL = 100  # as in the paper, of a custom pool with more


# --- the files of a data set ------------------------------------------------------------------------------------------
def load_parent(home: Home, dataset: Dataset, folder: Path | None = None) -> list[Row]:
    """Return the parent rows; ``folder`` is for ``custom``. Raises SourceError when a file is missing or wrong."""
    return editing.load_rows(_file(home, dataset, "parent", folder))


def load_fictional(home: Home, dataset: Dataset, folder: Path | None = None) -> list[Row]:
    """Return the pool of fictional questions with their ids; a custom set without the file has none."""
    if dataset == "custom" and _in_folder(folder, "fictional", needed=False) is None:
        return []
    prefix = "fictional-" if dataset in FETCHED else f"{dataset}-fictional-"
    if dataset in FETCHED:
        path = _file(home, dataset, "published", folder)
        pool = fictional_rows([line.row for line in read_lines(path)])
        rows = [editing.parse_row(Line(str(path), place + 1, row), place) for place, row in enumerate(pool)]
    else:
        rows = editing.load_rows(_file(home, dataset, "fictional", folder))
    return [replace(row, item_id=row.item_id or f"{prefix}{row.place:03d}") for row in rows]


def select_fictional(dataset: Dataset, pool: Sequence[Row], count: int | None, seed: int) -> list[Row]:
    """Return ``count`` English questions in pool order, drawn by SHA-256 rank (purpose ``fictional``).

    By default all of a set's own, 100 of a custom pool with more. Raises SourceError when there are fewer than ``count``,
    or two rows with one id.
    """
    fitting = [row for row in pool if (row.language or "").strip().casefold().startswith("en")]
    names = [row.item_id or "" for row in fitting]
    if len(set(names)) != len(names):
        raise SourceError("fictional pool: an item_id is given twice; ids must be unique")
    if count is None:
        count = min(len(fitting), DEFAULT_FICTIONAL) if dataset == "custom" else len(fitting)
    if count > len(fitting):
        raise SourceError(
            f"fictional pool: {count} questions asked for, {len(fitting)} of {len(pool)} rows have a language starting "
            "with 'en'; lower the count or add rows"
        )
    chosen = set(seeded_sample(names, count, seed, "fictional"))
    return [row for row in fitting if row.item_id in chosen]


def _file(home: Home, dataset: Dataset, what: str, folder: Path | None) -> Path:
    if dataset == "sample":
        return shipped("data", NAME, "sample", f"{what}.jsonl")
    if dataset == "custom":
        return _in_folder(folder, what, needed=True) or Path()
    return SOURCES["medqa" if what == "parent" else "metamedqa"].load(home)


def _in_folder(folder: Path | None, what: str, *, needed: bool) -> Path | None:
    if folder is None:
        raise SourceError(
            'dataset "custom" needs a folder with parent.jsonl, edits.jsonl and fictional.jsonl'
        )
    if not folder.is_dir():
        raise SourceError(f"{folder}: no such folder; give the folder of a custom data set")
    found = [folder / name for name in (f"{what}.jsonl", f"{what}.jsonl.gz") if (folder / name).is_file()]
    if needed and not found:
        hint = ", an empty one where there are no edits yet" if what == "edits" else ""
        raise SourceError(f"{folder}: no {what}.jsonl (or .jsonl.gz); a custom data set needs it{hint}")
    return found[0] if found else None


# --- edit tables ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Correction:
    """An item of the published set that is wrong, and what the corrected set does: ``restored``, ``kept``, ``repaired``."""

    item_id: str
    source_index: int
    action: Literal["restored", "kept", "repaired"]
    why: str


@dataclass(frozen=True, slots=True)
class EditTable:
    """The edits of a data set, what its ids start with, and what a comparison of two files shows besides.

    ``order`` lists parent rows and, for fictional rows, question texts; ``notes`` what is wrong with the published data;
    ``quirks`` cells to set after building.
    """

    edits: tuple[EditRecord, ...]
    prefix: str = editing.PARENT_PREFIX
    notes: tuple[Correction, ...] = ()
    quirks: tuple[Quirk, ...] = ()
    order: tuple[int | str, ...] = ()
    counts: Mapping[str, Any] | None = None
    reports: tuple[str, ...] = ()


def corrections(edits: Sequence[EditRecord], quirks: Sequence[Quirk], prefix: str) -> tuple[Correction, ...]:
    """Return what is wrong with a published edit table and its quirk cells, by parent row.

    Of the published data: 175 and 950 are restored to the parent's text and key, because a respondent that never errs
    loses these 2 of 115 items keyed E; 998 is kept, because the right answer is gone; 1124 is repaired.
    """
    restored = "the edit leaves keyed choice {} alone, so the right answer is still offered"
    kept = "the edit changes more than the keyed choice"
    found = [
        Correction(e.item_id, e.source_index, "restored", restored.format(e.answer_before))
        for e in edits
        if rules.misses_key(e)
    ]
    found += [Correction(e.item_id, e.source_index, "kept", kept) for e in edits if rules.changes_more(e)]
    cells: dict[int, list[str]] = defaultdict(list)
    for quirk in quirks:
        cells[quirk.source_index].append(f"{quirk.field} reads {quirk.published!r}")
    found += [
        Correction(item_id(prefix, index), index, "repaired", " and ".join(sorted(texts)))
        for index, texts in cells.items()
    ]
    return tuple(sorted(found, key=lambda note: (note.source_index, note.action)))


def corrected_edits(edits: Sequence[EditRecord], notes: Sequence[Correction]) -> tuple[EditRecord, ...]:
    """Return the records without those whose items go back to the parent's text and key."""
    dropped = {note.source_index for note in notes if note.action == "restored"}
    return tuple(edit for edit in edits if edit.source_index not in dropped)


def infer_prefix(edits: Sequence[EditRecord], default: str) -> str:
    """Return what the ids of an edit table start with, before the row number; ``default`` for an empty table."""
    numbered = ((edit.item_id, f"{edit.source_index:04d}") for edit in edits)
    return next((name.removesuffix(number) for name, number in numbered if name.endswith(number)), default)


def edits_from_published(
    parents: Sequence[Row],
    rows: Sequence[Row],
    quirks: Sequence[Quirk] = (),
    *,
    apply_corrections: bool = False,
    prefix: str = editing.PARENT_PREFIX,
) -> EditTable:
    """Return the edit table, order and notes of a modified set; SourceError if a parent row is not in it."""
    found = editing.derive(parents, rows, prefix)
    if found.missing:
        raise SourceError(
            f"published file: {len(found.missing)} of {len(parents)} parent rows are not in it (first: "
            f"{item_id(prefix, found.missing[0])}); fetch both files again"
        )
    parent_of = {match.position: match.source_index for match in found.matches}
    notes = corrections(found.edits, quirks, prefix)
    return EditTable(
        edits=corrected_edits(found.edits, notes) if apply_corrections else found.edits,
        prefix=prefix,
        notes=notes,
        quirks=() if apply_corrections else tuple(quirks),
        order=tuple(parent_of.get(row.place, row.question) for row in rows),
        counts=editing.derivation_counts(parents, rows, found),
        reports=found.reports,
    )


def load_edit_table(
    home: Home, dataset: Dataset, parents: Sequence[Row], folder: Path | None = None
) -> EditTable:
    """Return the edit table: from its file, or derived from the parent and the published file."""
    if dataset not in FETCHED:
        edits = editing.load_edits(_file(home, dataset, "edits", folder))
        return EditTable(tuple(edits), infer_prefix(edits, f"{dataset}-"))
    rows = editing.load_rows(_file(home, dataset, "published", folder))
    quirks = editing.load_quirks(shipped("data", NAME, "published_quirks.json"))
    return edits_from_published(parents, rows, quirks, apply_corrections=dataset == "corrected")


def item_order(table: EditTable, items: Sequence[Item]) -> list[str] | None:
    """Return the item ids in the published order where there is one, else None: the parent's, then the fictional rows."""
    by_question = {item.question: item.item_id for item in items if item.source_index is None}
    listed = [
        item_id(table.prefix, place) if isinstance(place, int) else by_question.get(place, "")
        for place in table.order
    ]
    rest = [each.item_id for each in items if each.item_id not in set(listed)]
    return [name for name in listed if name] + rest if listed else None


# --- items ------------------------------------------------------------------------------------------------------------
def items_of(
    dataset: str,
    parents: Sequence[Row],
    edits: Sequence[EditRecord],
    fictional: Sequence[Row],
    prefix: str = editing.PARENT_PREFIX,
    quirks: Sequence[Quirk] = (),
) -> list[Item]:
    """Return each parent row after its edit, then the fictional rows with key F.

    Raises SourceError if an edit does not fit its row, or an id is used twice.
    """
    chosen = editing.edits_by_index(parents, edits, prefix)
    items = []
    for parent in parents:
        edit = chosen.get(parent.place)
        texts = editing.apply_edit(parent, edit)
        items.append(
            _item(
                dataset, item_id(prefix, parent.place), texts,
                target=editing.edited_key(parent, edit), meta_info=parent.meta_info, source_target=parent.answer_idx,
                kind="Original" if edit is None else editing.PUBLISHED_KIND[edit.edit_kind], source_index=parent.place,
                edit_kind=None if edit is None else edit.edit_kind,
            )
        )  # fmt: skip
    items += [
        _item(dataset, row.item_id or "", row.texts(), target="F", kind="Fictional",
              meta_info=editing.FICTIONAL_META, source_target=row.answer_idx)
        for row in fictional
    ]  # fmt: skip
    name, times = Counter(item.item_id for item in items).most_common(1)[0] if items else ("", 0)
    if times > 1:
        raise SourceError(f"item id {name!r} is used {times} times; ids must be unique")
    return [_quirky(item, quirks) for item in items]


def _item(dataset: str, name: str, texts: Mapping[str, str], **more: Any) -> Item:
    question, *four = texts.values()
    options: Any = (*four, NONE_OF_THE_ABOVE, CANNOT_ANSWER)
    return Item(item_id=name, question=question, options=options, dataset=dataset, **more)


def _quirky(item: Item, quirks: Sequence[Quirk]) -> Item:
    for quirk in (each for each in quirks if each.source_index == item.source_index):
        options = dict(zip(LETTERS, item.options, strict=True))
        letter: Any = quirk.field[-1]
        found = item.kind if quirk.field == "kind" else options[letter]
        if found != quirk.standard:
            raise SourceError(
                f"{item.item_id}: quirk on {quirk.field} expects {quirk.standard!r}, found {found!r}; edit the quirk file"
            )
        if quirk.field == "kind":
            item = item.model_copy(update={"kind": quirk.published})
        else:
            texts = {**options, letter: quirk.published}.values()
            item = item.model_copy(update={"options": tuple(texts)})
    return item


def ordered(items: Sequence[Item], order: Sequence[str] | None) -> list[Item]:
    """Return the items with their positions in the ``order`` of ids; SourceError unless it lists each id once."""
    by_id = {item.item_id: item for item in items}
    if order is not None and sorted(order) != sorted(by_id):
        wrong = sorted(set(order) ^ set(by_id)) or [name for name in by_id if list(order).count(name) > 1]
        raise SourceError(f"order: {wrong[0]!r} is missing, unknown or listed twice")
    listed = items if order is None else [by_id[name] for name in order]
    return [item.model_copy(update={"position": place}) for place, item in enumerate(listed)]


def item_tags(
    items: Sequence[Item], parents: Sequence[Row], notes: Sequence[Correction]
) -> dict[str, tuple[str, ...]]:
    """Return the tags by item id.

    ``anomaly`` marks items that are wrong in the published data, ``restored`` those given back the parent's text,
    ``media_absent_but_answerable`` unedited items whose stem points at a picture but whose key was kept. The last is a
    screen's nomination, not a person's judgement.
    """
    action = {note.item_id: note.action for note in notes}
    tags: dict[str, tuple[str, ...]] = {}
    for item in items:
        unedited = item.source_index is not None and item.edit_kind is None
        own = (
            ("anomaly", item.item_id in action),
            (
                rules.MEDIA_TAG,
                unedited and rules.mentions_absent_media(parents[item.source_index or 0].question),
            ),
            ("restored", unedited and action.get(item.item_id) == "restored"),
        )
        if named := tuple(name for name, holds in own if holds):
            tags[item.item_id] = named
    return tags


def limit_items(items: Sequence[Item], limit: int | None, seed: int) -> list[Item]:
    """Return at most ``limit`` items, drawn by SHA-256 rank (purpose ``limit``); order and positions stay."""
    if limit is None or limit >= len(items):
        return list(items)
    chosen = set(seeded_sample([item.item_id for item in items], limit, seed, "limit"))
    return [item for item in items if item.item_id in chosen]


@dataclass(frozen=True, slots=True)
class Build:
    """A finished data set: the items in order, the manifest, and the violations found (anomalies included)."""

    items: tuple[Item, ...]
    manifest: Mapping[str, Any]
    violations: tuple[Violation, ...]


def construct(
    home: Home,
    dataset: Dataset,
    *,
    seed: int = 0,
    fictional_count: int | None = None,
    folder: Path | None = None,
) -> Build:
    """Return the finished data set of files that are at home, shipped, or in ``folder``."""
    parents, pool = load_parent(home, dataset, folder), load_fictional(home, dataset, folder)
    table = load_edit_table(home, dataset, parents, folder)
    return build(dataset, parents, pool, table, seed=seed, fictional_count=fictional_count)


def build(
    dataset: Dataset,
    parents: Sequence[Row],
    pool: Sequence[Row],
    table: EditTable,
    *,
    seed: int = 0,
    fictional_count: int | None = None,
) -> Build:
    """Return the finished data set with its manifest, every rule checked.

    Raises SourceError if an edit does not fit, or a rule is broken by an item that is not known to be anomalous.
    """
    chosen = select_fictional(dataset, pool, fictional_count, seed)
    expected = rules.MEDQA_ROWS if dataset in FETCHED else None
    violations = rules.check_parent(parents, expected, table.prefix)
    for row in chosen:
        faults = rules.choice_faults(row)
        violations += [Violation("P2", row.item_id or "", None, text) for text in faults]
    _refuse(dataset, violations)
    made = items_of(dataset, parents, table.edits, chosen, table.prefix, table.quirks)
    tags = item_tags(made, parents, table.notes)
    made = [item.model_copy(update={"tags": tags.get(item.item_id, ())}) for item in made]
    items = ordered(made, item_order(table, made))
    violations += rules.check_edits(parents, table.edits, table.prefix)
    rows = [OutputRow(item_row(item), item.item_id, item.source_index) for item in items]
    violations += rules.check_output(rows, parents, table.edits, len(chosen), table.prefix)
    known = {note.item_id for note in table.notes} if dataset != "corrected" else set()
    proposed = {edit.item_id for edit in table.edits if edit.status == "proposed"}
    _refuse(dataset, [each for each in violations if each.item_id not in known | proposed])
    manifest = {
        "dataset": dataset,
        "seed": seed,
        "items": len(items),
        "counts_by_key": editing.sorted_counts(item.target for item in items),
        "counts_by_kind": editing.sorted_counts(item.kind for item in items),
        "counts_by_kind_and_key": editing.kind_by_key((item.kind, item.target) for item in items),
        "tags": editing.sorted_counts(tag for item in items for tag in item.tags),
        "edit_records_by_status": editing.sorted_counts(edit.status or "unknown" for edit in table.edits),
        "anomalies": [asdict(note) for note in table.notes],
        "violations": [asdict(violation) for violation in violations],
    }
    return Build(tuple(items), manifest, tuple(violations))


def _refuse(dataset: str, violations: Iterable[Violation]) -> None:
    if broken := [each for each in violations if not each.advisory]:
        raise SourceError(
            f"{dataset} data set: {len(broken)} broken rule(s), first {broken[0].render()}; correct its files"
        )


def item_row(item: Item) -> Row:
    """Return the item as a row of a multiple-choice file."""
    options = {str(letter): text for letter, text in zip(LETTERS, item.options, strict=True)}
    return Row(
        item.position,
        item.question,
        options,
        item.target,
        item.answer,
        item.meta_info,
        item.kind,
        item.item_id,
    )


# --- new edits --------------------------------------------------------------------------------------------------------
def draw(
    parents: Sequence[Row],
    edits: Sequence[EditRecord],
    k: int = 125,
    seed: int = 0,
    prefix: str = editing.PARENT_PREFIX,
    exclude: Collection[str] = (),
) -> list[str]:
    """Draw ``k`` ids to edit by SHA-256 rank (purpose ``modify``) among those without a record that is proposed or counts
    and not in ``exclude``; SourceError when there are fewer."""
    taken = {edit.item_id for edit in edits if edit.status != "rejected"} | set(exclude)
    ids = [name for row in parents if (name := item_id(prefix, row.place)) not in taken]
    if k > len(ids):
        raise SourceError(f"{k} items asked for, {len(ids)} are eligible; lower the number")
    return seeded_sample(ids, k, seed, "modify")


# --- assets -----------------------------------------------------------------------------------------------------------
def _medqa(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    facts = _fetched(benchmark, "medqa")
    return Made(frame=_frame(load_parent(*benchmark.files)), facts=facts)


def _screened(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    found = []
    for row in load_parent(*benchmark.files):
        cues = rules.cues(row.question)
        classes = [*cues, *["missing_laboratory"] * rules.lacks_laboratory(row.question)]
        if classes:
            excerpt = next(iter(cues.values()), "")
            found.append({"source_index": row.place, "classes": classes, "excerpt": excerpt})
    return Made(frame=pl.DataFrame(found), facts={"nominated": len(found)})


def _edits(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    facts = _fetched(benchmark, "metamedqa")
    home, dataset, folder = benchmark.files
    table = load_edit_table(home, dataset, load_parent(home, dataset, folder), folder)
    known = {"anomalies": len(table.notes), "reports": list(table.reports), "counts": table.counts or {}}
    return Made(frame=_frame(table.edits), facts={**facts, **known})


def _glianorex(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    facts = _fetched(benchmark, "metamedqa")
    return Made(frame=_frame(load_fictional(*benchmark.files)), facts=facts)


def _fictional(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    _, dataset, _ = benchmark.files
    pool = load_fictional(*benchmark.files)
    return Made(frame=_frame(select_fictional(dataset, pool, None, benchmark.context.seed)))


def _items(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    home, dataset, folder = benchmark.files
    done = construct(home, dataset, seed=benchmark.context.seed, folder=folder)
    counts = {key: value for key, value in done.manifest.items() if "count" in key}
    known = [violation.render() for violation in done.violations]
    return Made(
        rows=done.items,
        facts={"dataset": dataset, **counts, "known_violations": known},
        checks={
            "counts_add_up": Checked(not any(each.rule == "O4" for each in done.violations), counts),
            "invariants_hold": Checked(True, {"known": known}),
        },
    )


def _fetched(benchmark: MetaMedQA, *names: str) -> dict[str, object]:
    """Fetch what the data set needs; shipped and custom sets need nothing."""
    dataset = benchmark.settings.dataset
    if dataset not in FETCHED:
        return {"origin": dataset}
    return {"origin": "; ".join(each.origin for each in fetch(benchmark.context.home, names))}


def _read_files(benchmark: MetaMedQA) -> Any:
    """Return the digests of the files that are neither settings nor pinned."""
    if benchmark.settings.dataset in FETCHED:
        return [digest for digest, _ in CONTENTS.values()]
    _, _, folder = benchmark.files
    files = sorted((folder or shipped("data", NAME, "sample")).glob("*.jsonl*"))
    return {path.name: sha256_hex(path.read_bytes()) for path in files if path.is_file()}


def _frame(rows: Sequence[Any]) -> pl.DataFrame:
    return pl.DataFrame([asdict(row) for row in rows], infer_schema_length=None)


STEPS = (
    Step("medqa", "The parent questions: four options each.", _medqa, inputs=_read_files),
    Step(
        "screened",
        "Parent questions that point at something absent; a person decides which are malformed.",
        _screened,
        needs=("medqa",),
    ),
    Step("edits", "What was changed in the parent questions.", _edits, needs=("medqa",), inputs=_read_files),
    Step("glianorex", "Questions about an organ that does not exist.", _glianorex, inputs=_read_files),
    Step("fictional", "Those of them that are asked.", _fictional, needs=("glianorex",)),
    Step(
        "items",
        "The benchmark as it is asked: six options, the key, the kind of each item.",
        _items,
        needs=("medqa", "screened", "edits", "fictional"),
        writes=Item,
        checks={
            "counts_add_up": Check("Kinds and keys sum to the items.", blocking=True),
            "invariants_hold": Check(
                "Every rule of a question holds, but for the known oddities of the published data.",
                blocking=True,
            ),
        },
    ),
)
