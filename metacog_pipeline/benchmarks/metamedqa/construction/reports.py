"""What a person at a terminal does with a question set, as data: build, check, screen, sample, accept, reject.

Every function returns a :class:`Report`; printing it and exiting is the caller's.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path

from metacog_pipeline.benchmarks.metamedqa.construction import (
    authoring,
    invariants,
    output_rules,
    pipeline,
    records,
    screen,
)
from metacog_pipeline.benchmarks.metamedqa.construction.build import published_layout
from metacog_pipeline.benchmarks.metamedqa.construction.counts import paper_checks
from metacog_pipeline.benchmarks.metamedqa.construction.derive import derive
from metacog_pipeline.benchmarks.metamedqa.construction.edit_table import Order, infer_prefix
from metacog_pipeline.benchmarks.metamedqa.construction.edits import item_id
from metacog_pipeline.benchmarks.metamedqa.construction.invariants import Violation
from metacog_pipeline.benchmarks.metamedqa.construction.pipeline import Dataset
from metacog_pipeline.benchmarks.metamedqa.construction.records import ChoiceRow, EditRecord, ParentRow
from metacog_pipeline.errors import SourceError, one_line
from metacog_pipeline.files import write_text
from metacog_pipeline.home import Home
from metacog_pipeline.sources import JsonRow, read_lines, write_rows


@dataclass(frozen=True, slots=True)
class Report:
    """Printable ``lines``, the same as data in ``rows``, and whether all is well (exit status 0 or 1)."""

    lines: tuple[str, ...]
    rows: tuple[JsonRow, ...] = ()
    ok: bool = True


@dataclass(frozen=True, slots=True)
class Inputs:
    """A parent set, its edit table, and what its ids start with."""

    parents: Sequence[ParentRow]
    edits: Sequence[EditRecord]
    prefix: str


def inputs_of(home: Home, dataset: Dataset, folder: Path | None = None) -> Inputs:
    """Load the parent set and edits of a data set."""
    parents = pipeline.load_parent(home, dataset, folder)
    table = pipeline.load_or_derive_edits(home, dataset, parents, folder)
    return Inputs(parents, table.edits, table.prefix)


def inputs_from_files(parent: Path, edits: Path | None = None) -> Inputs:
    """Load a parent set and, where given, its edit table from files; the prefix of ids is taken from the edits."""
    table = records.load_edits(edits) if edits is not None else []
    start = infer_prefix(table, records.PARENT_PREFIX)
    return Inputs(records.load_parents(parent), table, start)


def build(
    output: Path,
    home: Home,
    dataset: Dataset,
    folder: Path | None,
    *,
    order: Order = "default",
    seed: int = 0,
    fictional_count: int | None = None,
) -> Report:
    """Build a data set into ``output`` in the published layout, with its manifest beside it."""
    done = pipeline.construct(
        home, dataset, order=order, seed=seed, fictional_count=fictional_count, folder=folder
    )
    write_rows(output, [published_layout(item) for item in done.items])
    manifest = json.dumps(done.manifest, indent=2, sort_keys=True, ensure_ascii=True)
    write_text(output.with_name(output.name + ".manifest.json"), manifest + "\n")
    kinds = ", ".join(f"{kind} {n}" for kind, n in done.manifest["counts_by_kind_and_key"].items())
    unknown, statuses = done.manifest["edit_records_unknown"], done.manifest["edit_records_by_status"]
    lines = [f"{output}: {len(done.items)} items ({dataset}), {kinds}"]
    if unknown["auditor"] or unknown["reason"]:
        lines.append(
            f"edit records: auditor unknown for {unknown['auditor']} of {sum(statuses.values())}, "
            f"reason for {unknown['reason']}"
        )
    if dataset == "corrected":
        lines += [
            f"{note['action']}: {note['item_id']}: {note['why']}" for note in done.manifest["anomalies"]
        ]
    lines += [violation.render() for violation in done.violations]
    return Report(tuple(lines), tuple(asdict(violation) for violation in done.violations))


def check(
    files: Sequence[Path],
    *,
    parent: Path | None = None,
    edits: Path | None = None,
    paper_counts: bool = False,
) -> Report:
    """Check multiple-choice files against the rules that apply to each; not ok when one is broken.

    With ``parent`` each file is compared with it: the edits are derived, or taken from ``edits``, and every rule on
    edits and output is checked too. Without files, ``parent`` and ``edits`` are checked by themselves. With
    ``paper_counts`` the paper's counts are printed beside each file's; their disagreement does not fail the check.
    """
    if edits is not None and parent is None:
        raise SourceError(f"{edits}: an edit table is checked against its parent set; give the parent too")
    found: list[Violation] = []
    lines: list[str] = []
    if parent is not None and not files:
        inputs = inputs_from_files(parent, edits)
        found = [*invariants.check_parent(inputs.parents, None, inputs.prefix), *_check_records(inputs)]
        lines += [_summary(parent, len(inputs.parents), found), *_rendered(found)]
    for file in files:
        rows = records.load_choice_rows(file)
        own, reports = (
            (output_rules.check_choice_rows(rows), ())
            if parent is None
            else _check_against(rows, parent, edits)
        )
        lines += [_summary(file, len(rows), own), *(f"  note: {text}" for text in reports)]
        lines += _rendered(own)
        if paper_counts:
            lines += [f"  {paper.render()}" for paper in paper_checks(rows)]
        found += own
    return _checked(lines, found)


def _rendered(found: Sequence[Violation]) -> list[str]:
    return [f"  {violation.render()}" for violation in found]


def _checked(lines: Sequence[str], found: Sequence[Violation]) -> Report:
    return Report(tuple(lines), tuple(asdict(v) for v in found), all(v.advisory for v in found))


def _check_records(inputs: Inputs) -> list[Violation]:
    """Check records that count against the rules on edits, author-made ones against those on new edits too.

    Rejected records change nothing and may be wrong: that is why they were rejected.
    """
    found = invariants.check_edits(inputs.parents, inputs.edits, inputs.prefix)
    seen = {(violation.rule, violation.item_id) for violation in found}
    for edit in inputs.edits:
        if edit.status in ("proposed", "accepted") and edit.source_index < len(inputs.parents):
            extra = authoring.check_record(inputs.parents[edit.source_index], edit)
            found += [v for v in extra if (v.rule, v.item_id) not in seen]
    return found


def _check_against(
    rows: Sequence[ChoiceRow], parent: Path, edits: Path | None
) -> tuple[list[Violation], tuple[str, ...]]:
    inputs = inputs_from_files(parent, edits)
    compared = derive(inputs.parents, rows, inputs.prefix)
    table = compared.edits if edits is None else inputs.edits
    origin = {match.position: match.source_index for match in compared.matches}
    output = []
    for row in rows:
        index = origin.get(row.place)
        name = output_rules.row_name(row) if index is None else item_id(inputs.prefix, index)
        output.append(output_rules.OutputRow(row, name, index))
    found = [
        *invariants.check_parent(inputs.parents, None, inputs.prefix),
        *invariants.check_edits(inputs.parents, table, inputs.prefix),
        *output_rules.check_output(output, inputs.parents, table, len(compared.fictional), inputs.prefix),
    ]
    return found, compared.reports


def _summary(file: Path, rows: int, found: Sequence[Violation]) -> str:
    advisory = sum(violation.advisory for violation in found)
    return f"{file}: {rows} rows, {len(found) - advisory} broken rule(s), {advisory} advisory note(s)"


def screen_file(file: Path) -> Report:
    """Nominate malformed stems of any multiple-choice file; where rows have kinds, compare with kind ``Bad``."""
    rows = records.load_choice_rows(file)
    nominated = screen.screen((output_rules.row_name(row), row.question) for row in rows)
    classes = Counter(name for nomination in nominated for name in nomination.classes)
    lines = [f"{file}: {len(nominated)} of {len(rows)} stems nominated; a person decides"]
    lines += [f"  {name}: {classes[name]}" for name in screen.CUE_CLASSES if classes[name]]
    bad = {row.place for row in rows if row.kind == "Bad"}
    if bad:
        hits = len(bad & {nomination.place for nomination in nominated})
        lines.append(
            f"  of {len(bad)} marked malformed {hits} are nominated; precision {hits}/{len(nominated)}"
        )
    lines += [one_line(f"{n.item_id}: {', '.join(n.classes)}: {n.excerpt}", 160) for n in nominated]
    found = [asdict(n) | {"classes": list(n.classes)} for n in nominated]
    for row in rows:
        if screen.lacks_laboratory(row.question):
            name = output_rules.row_name(row)
            lines.append(f"{name}: announces laboratory values, fewer than two follow")
            found.append({"item_id": name, "place": row.place, "classes": ["missing_laboratory"]})
    return Report(tuple(lines), tuple(found))


def sample(
    inputs: Inputs,
    output: Path,
    *,
    seed: int = 0,
    k: int = authoring.SAMPLE_SIZE,
    purpose: str = authoring.PURPOSE,
    exclude: Collection[str] = (),
    quotas: Mapping[str, int] | None = None,
) -> Report:
    """Draw ``k`` items to edit and write one worksheet stub for each to ``output``, which must not exist yet."""
    if output.exists():
        raise SourceError(
            f"{output}: exists already; worksheets may hold someone's work, choose another name"
        )
    drawn = authoring.sample(
        authoring.eligible(inputs.parents, inputs.edits, inputs.prefix, exclude), k, seed, purpose
    )
    stubs = authoring.worksheet(inputs.parents, drawn, inputs.prefix, quotas)
    write_rows(output, stubs)
    return Report((f"{output}: {len(stubs)} worksheets (seed {seed}, purpose {purpose})",), tuple(stubs))


def check_worksheet(inputs: Inputs, file: Path) -> Report:
    """Check every filled-in stub of a worksheet; unfilled ones are listed and do not fail the check."""
    filled, waiting = authoring.read_worksheet(read_lines(file))
    found: list[Violation] = []
    for edit in filled:
        if invariants.names_its_row(edit, inputs.parents, inputs.prefix):
            found += authoring.check_record(inputs.parents[edit.source_index], edit)
        else:
            found += invariants.check_edits(inputs.parents, [replace(edit, status=None)], inputs.prefix)
    return _checked([f"{file}: {len(filled)} filled in, {len(waiting)} not yet", *_rendered(found)], found)


def decide(
    inputs: Inputs,
    file: Path,
    names: Sequence[str],
    auditor: str,
    *,
    accept: bool,
    today: date,
    second: bool = False,
) -> Report:
    """Accept or reject the named items' records in ``file`` (an edit table or worksheet) and write it back.

    All or nothing: one item that cannot be decided leaves the file as it was. Stubs not yet filled in stay.
    """
    if file.suffix == ".gz":
        raise SourceError(f"{file}: unpack it first; decisions are written back in plain text")
    lines = read_lines(file)
    filled, waiting = authoring.read_worksheet(lines)
    edits: tuple[EditRecord, ...] = tuple(filled)
    for name in names:
        if name in waiting:
            raise SourceError(f"{file}: {name} is not filled in yet: edit_kind and answer_after are needed")
        edits = authoring.decide(
            inputs.parents, edits, name, auditor, accept=accept, today=today, second=second
        )
    rest = [line.row for line in lines if authoring.waits(line.row)]
    write_rows(file, [*(records.edit_to_json(edit) for edit in edits), *rest])
    verb = "accepted" if accept else "rejected"
    return Report(tuple(f"{name}: {verb} by {auditor.strip()}" for name in names))


def compare_auditors(first: Path, second: Path) -> Report:
    """Return Cohen's kappa of two people's decisions, each in a copy of the same edit table."""
    kappa = authoring.agreement(records.load_edits(first), records.load_edits(second))
    if kappa.value is None:
        return Report((f"Cohen's kappa: N/A over {kappa.n} shared items ({kappa.status})",))
    span = "" if kappa.low is None or kappa.high is None else f" (95 % {kappa.low:.2f} to {kappa.high:.2f})"
    return Report((f"Cohen's kappa: {kappa.value:.3f}{span} over {kappa.n} shared items",))
