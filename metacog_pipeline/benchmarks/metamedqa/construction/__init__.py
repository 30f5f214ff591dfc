"""From published sources to the items: three files, an edit table, questions about an organ that does not exist.

============= ========================================== ========================== =============
data set      parent and fictional questions             edits                      order
============= ========================================== ========================== =============
``published`` fetched sources                            derived from the two files published one
``corrected`` the same                                   the same, see `CORRECTED`  published one
``sample``    shipped with this project                  shipped                    the parent's
``custom``    files of a folder                          ``edits.jsonl``            the parent's
============= ========================================== ========================== =============

``edits`` holds rows and edit records, ``rules`` what must hold of them and the screen for malformed stems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from metacog_pipeline.benchmark.contract import Inputs, Made, Step
from metacog_pipeline.benchmark.item import drawn
from metacog_pipeline.benchmarks.metamedqa import items as of_items
from metacog_pipeline.benchmarks.metamedqa.construction import edits as editing
from metacog_pipeline.benchmarks.metamedqa.construction import rules
from metacog_pipeline.benchmarks.metamedqa.construction.edits import PUBLISHED_KIND as KIND
from metacog_pipeline.benchmarks.metamedqa.construction.edits import EditRecord, Quirk, Row, item_id
from metacog_pipeline.benchmarks.metamedqa.construction.rules import Violation
from metacog_pipeline.benchmarks.metamedqa.items import FETCHED, NAME, Dataset, Item
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import sha256_hex, shipped
from metacog_pipeline.home import Home

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metamedqa import MetaMedQA

MOST_FICTIONAL = 100  # as in the paper


# --- the files of a data set ------------------------------------------------------------------------------------------
class Files(NamedTuple):
    """Where the files of a data set are: at home, shipped, or in the ``folder`` of a custom one."""

    home: Home
    dataset: Dataset
    folder: Path | None = None

    def path(self, what: str) -> Path:
        """Return the path of ``parent``, ``edits``, ``fictional`` or ``published``; SourceError where it is not there."""
        if self.dataset == "sample":
            return shipped("data", NAME, "sample", f"{what}.jsonl")
        if self.dataset in FETCHED:
            return of_items.SOURCES["medqa" if what == "parent" else "metamedqa"].load(self.home)
        own = (self.folder or Path()) / f"{what}.jsonl"
        found = own if own.is_file() else own.with_suffix(".jsonl.gz")
        if not found.is_file() and what != "fictional":
            lacks = f"no {what}.jsonl (or .jsonl.gz); an empty one will do for edits"
            there = self.folder is not None and self.folder.is_dir()
            said = lacks if there else "no such folder; give that of your data set"
            raise SourceError(f"{self.folder}: {said}")
        return found


def load_parent(files: Files) -> list[Row]:
    """Return the parent rows. Raises SourceError when a file is missing or wrong."""
    return editing.load_rows(files.path("parent"))


def load_fictional(files: Files) -> list[Row]:
    """Return the pool of fictional questions with their ids; a custom set without the file has none."""
    if files.dataset in FETCHED:
        published = (row for row in editing.load_rows(files.path("published")) if row.kind == "Fictional")
        rows, prefix = [_of_the_pool(place, row) for place, row in enumerate(published)], "fictional-"
    else:
        path, prefix = files.path("fictional"), f"{files.dataset}-fictional-"
        rows = editing.load_rows(path) if path.is_file() else []
    return [replace(row, item_id=row.item_id or f"{prefix}{row.place:03d}") for row in rows]


def _of_the_pool(place: int, row: Row) -> Row:
    """Return a published fictional row as it was in the pool: four choices; its own key is not published."""
    four: dict[str, str] = {letter: row.options[letter] for letter in editing.CHOICES}
    return replace(row, place=place, options=four, answer_idx=None, answer=None, kind=None, language="en")


def select_fictional(dataset: Dataset, pool: Sequence[Row], seed: int) -> list[Row]:
    """Return the English questions in pool order: of a custom pool at most 100, drawn by SHA-256 rank."""
    fitting = [row for row in pool if (row.language or "").strip().casefold().startswith("en")]
    return drawn(fitting, MOST_FICTIONAL if dataset == "custom" else None, seed, "fictional")


# --- edit tables ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class EditTable:
    """The edits of a data set, and what a comparison of two files shows besides."""

    edits: Sequence[EditRecord]
    # what the ids of parent rows start with
    prefix: str = editing.PARENT_PREFIX
    # `corrections`
    notes: Mapping[int, str] = field(default_factory=dict)
    # cells to set after building
    quirks: Sequence[Quirk] = ()
    # parent rows and, of fictional rows, question texts
    order: Sequence[int | str] = ()


#: What the corrected set does with an item whose published edit breaks a rule: an edit that leaves the keyed choice alone
#: is taken back, because a respondent that never errs loses these 2 of 115 items keyed E (175, 950); where more than the
#: keyed choice changed the right answer is gone, and the edit stays (998).
CORRECTED = {"E6": "restored", rules.EXTRA: "kept"}


def corrections(
    parents: Sequence[Row], edits: Sequence[EditRecord], quirks: Sequence[Quirk], prefix: str
) -> dict[int, str]:
    """Return the parent rows whose published items are wrong, and what the corrected set does with each."""
    broken = rules.check_edits(parents, edits, prefix)
    found = {each.source_index or 0: CORRECTED[each.rule] for each in broken if each.rule in CORRECTED}
    # cells that depart from the rules (1124)
    repaired = {quirk.source_index: "repaired" for quirk in quirks}
    return dict(sorted({**found, **repaired}.items()))


def edits_from_published(
    parents: Sequence[Row], rows: Sequence[Row], quirks: Sequence[Quirk] = (), *,
    apply_corrections: bool = False, prefix: str = editing.PARENT_PREFIX,
) -> EditTable:  # fmt: skip
    """Return the edit table, order and notes of a modified set; SourceError if its rows are not those of the parents."""
    parent_of = editing.parents_of(parents, rows)
    edits = editing.derive(parents, rows, parent_of, prefix)
    order = [parent_of.get(row.place, row.question) for row in rows]
    notes = corrections(parents, edits, quirks, prefix)
    if not apply_corrections:
        return EditTable(edits, prefix, notes, quirks, order)
    kept = [edit for edit in edits if notes.get(edit.source_index) != "restored"]
    return EditTable(kept, prefix, notes, (), order)


def load_edit_table(files: Files, parents: Sequence[Row]) -> EditTable:
    """Return the edit table: from its file, or derived from the parent and the published file."""
    if files.dataset in FETCHED:
        rows = editing.load_rows(files.path("published"))
        quirks = editing.load_quirks(shipped("data", NAME, "published_quirks.json"))
        return edits_from_published(parents, rows, quirks, apply_corrections=files.dataset == "corrected")
    edits = editing.load_edits(files.path("edits"))
    # What ids of a set start with is seen in its own records.
    numbered = ((edit.item_id, f"{edit.source_index:04d}") for edit in edits)
    prefixes = (name.removesuffix(number) for name, number in numbered if name.endswith(number))
    return EditTable(edits, next(prefixes, f"{files.dataset}-"))


# --- items ------------------------------------------------------------------------------------------------------------
def items_of(
    dataset: Dataset, parents: Sequence[Row], table: EditTable, fictional: Sequence[Row]
) -> list[Item]:
    """Return each parent row after its edit, then the fictional rows with key F, in the order of the table."""
    edits = {edit.source_index: edit for edit in table.edits if edit.counts}
    items = []
    for row in parents:
        edit, about = edits.get(row.place), {"target": row.answer_idx, "kind": "Original"}
        if edit is not None:
            about = {"target": edit.answer_after, "kind": KIND[edit.edit_kind], "edit_kind": edit.edit_kind}
        items.append(
            _item(
                dataset, item_id(table.prefix, row.place), editing.apply_edit(row, edit), **about,
                meta_info=row.meta_info, source_target=row.answer_idx, source_index=row.place,
                tags=_tags(row, edit, table.notes.get(row.place)),
            )
        )  # fmt: skip
    for quirk in table.quirks:
        items[quirk.source_index] = _quirky(items[quirk.source_index], quirk)
    about = {"target": "F", "kind": "Fictional", "meta_info": editing.FICTIONAL_META}
    for row in fictional:
        items.append(_item(dataset, row.item_id or "", row.texts(), source_target=row.answer_idx, **about))
    # What the table does not order, which is every set that is not published, keeps the order of the parent.
    rank = {key: place for place, key in enumerate(table.order)}
    items.sort(key=lambda i: rank.get(i.question if i.source_index is None else i.source_index, len(rank)))
    return [item.model_copy(update={"position": place}) for place, item in enumerate(items)]


def _item(dataset: str, name: str, texts: Mapping[str, str], **more: Any) -> Item:
    question, *four = texts.values()
    options: Any = (*four, of_items.NONE_OF_THE_ABOVE, of_items.CANNOT_ANSWER)
    return Item(item_id=name, question=question, options=options, dataset=dataset, **more)


def _tags(parent: Row, edit: EditRecord | None, note: str | None) -> tuple[str, ...]:
    own = {
        # wrong in the published data
        "anomaly": note is not None,
        # Nominated by the screen, not judged by a person: the stem points at a picture, and its key was kept.
        of_items.MEDIA_ABSENT: edit is None and rules.mentions_absent_media(parent.question),
        # given back the parent's text
        "restored": edit is None and note == "restored",
    }
    return tuple(name for name, holds in own.items() if holds)


def _quirky(item: Item, quirk: Quirk) -> Item:
    if quirk.field == "kind":
        return item.model_copy(update={"kind": quirk.published})
    at = "ABCDEF".index(quirk.field[-1])
    return item.model_copy(update={"options": (*item.options[:at], quirk.published, *item.options[at + 1 :])})


class Build(NamedTuple):
    """A finished data set: the items in order, and the violations found (anomalies included)."""

    items: Sequence[Item]
    violations: Sequence[Violation]


def construct(files: Files, seed: int = 0) -> Build:
    """Return the finished data set of files that are at home, shipped, or in a folder."""
    parents = load_parent(files)
    return build(files.dataset, parents, load_fictional(files), load_edit_table(files, parents), seed)


def build(
    dataset: Dataset, parents: Sequence[Row], pool: Sequence[Row], table: EditTable, seed: int = 0
) -> Build:
    """Return the finished data set; SourceError for a broken rule of an item that is not known to be anomalous."""
    chosen = select_fictional(dataset, pool, seed)
    rules.refuse(dataset, [*rules.check_parent(parents, table.prefix), *rules.check_pool(chosen)])
    known: set[int | None] = set() if dataset == "corrected" else {*table.notes}
    # A proposed record changes nothing, so it may be wrong until somebody accepts it.
    violations = rules.check_edits(parents, [edit for edit in table.edits if edit.counts], table.prefix)
    rules.refuse(dataset, (each for each in violations if each.source_index not in known))
    items = items_of(dataset, parents, table, chosen)
    violations += rules.check_items(items)
    rules.refuse(dataset, (each for each in violations if each.source_index not in known))
    return Build(items, violations)


# --- assets -----------------------------------------------------------------------------------------------------------
def _screened(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    found = []
    for row in load_parent(benchmark.files):
        cues = rules.cues(row.question)
        classes = [*cues, *["missing_laboratory"] * rules.lacks_laboratory(row.question)]
        if classes:
            excerpt = next(iter(cues.values()), "")
            found.append({"source_index": row.place, "classes": classes, "excerpt": excerpt})
    return Made(frame=pl.DataFrame(found), facts={"nominated": len(found)})


def _edits(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    facts = _fetched(benchmark, "metamedqa")
    table = load_edit_table(benchmark.files, load_parent(benchmark.files))
    kinds = dict(Counter(edit.edit_kind for edit in table.edits))
    return Made(frame=_frame(table.edits), facts={**facts, "anomalies": len(table.notes), "kinds": kinds})


def _fictional(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    pool, dataset = load_fictional(benchmark.files), benchmark.settings.dataset
    return Made(frame=_frame(select_fictional(dataset, pool, benchmark.seed)))


def _items(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    done = construct(benchmark.files, benchmark.seed)
    known = [violation.render() for violation in done.violations]
    facts = {"dataset": benchmark.settings.dataset, "kinds": dict(Counter(item.kind for item in done.items))}
    return Made(rows=done.items, facts={**facts, "known_violations": known})


def _read(benchmark: MetaMedQA, inputs: Inputs, source: str, load: Callable[[Files], Sequence[Row]]) -> Made:
    # first: it brings the file
    facts = _fetched(benchmark, source)
    return Made(frame=_frame(load(benchmark.files)), facts=facts)


def _fetched(benchmark: MetaMedQA, name: str) -> dict[str, Any]:
    """Fetch what the data set needs; shipped and custom sets need nothing."""
    if benchmark.settings.dataset not in FETCHED:
        return {"origin": benchmark.settings.dataset}
    [done] = of_items.fetch(benchmark.study.home, [name])
    return {"origin": done.origin}


def _read_files(benchmark: MetaMedQA) -> Any:
    """Return the digests of the files that are neither settings nor pinned."""
    if benchmark.settings.dataset in FETCHED:
        return [digest for digest, _ in of_items.CONTENTS.values()]
    folder = benchmark.files.folder or shipped("data", NAME, "sample")
    return {path.name: sha256_hex(path.read_bytes()) for path in sorted(folder.glob("*.jsonl*"))}


def _frame(rows: Sequence[Any]) -> pl.DataFrame:
    return pl.DataFrame([asdict(row) for row in rows], infer_schema_length=None)


_SCREENED = "Parent questions that point at something absent; a person decides which are malformed."
_MEDQA, _GLIANOREX = (
    partial(_read, source="medqa", load=load_parent), partial(_read, source="metamedqa", load=load_fictional)
)  # fmt: skip
STEPS = (
    Step("medqa", "The parent questions: four options each.", _MEDQA, inputs=_read_files),
    Step("screened", _SCREENED, _screened, needs=("medqa",)),
    Step("edits", "What was changed in the parent questions.", _edits, needs=("medqa",), inputs=_read_files),
    Step("glianorex", "Questions about an organ that does not exist.", _GLIANOREX, inputs=_read_files),
    Step("fictional", "Those of them that are asked.", _fictional, needs=("glianorex",)),
    Step("items", "The benchmark as it is asked: six options, the key, the kind of each item.", _items,
         needs=("medqa", "screened", "edits", "fictional"), writes=Item),
)  # fmt: skip
