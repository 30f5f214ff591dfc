"""Answers collected elsewhere, and the published analysts as respondents, turned into transcript records.

A file has one row per instance and condition, with the raw replies in columns ``step_a``, ``b_private`` and ``b_social``;
what is not there was not asked. Every row that is not taken is listed with its reason. An analyst answered the same
question as a model in step A, alone and about the same case. So what it wrote can be kept as an imported answer and read
and scored like any other step A; the two later steps were never asked of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.answer_files import AnswerFile, FileRow, read_rows
from metacog_pipeline.asking.importing import (
    Imported,
    ImportOptions,
    Rejected,
    RowError,
    absent,
    first_named,
    imported_record,
    replayed_partition,
    used_columns,
)
from metacog_pipeline.asking.importing import parse_mapping as parse_mapping_of
from metacog_pipeline.asking.tasks import chosen_items
from metacog_pipeline.benchmark.contract import Importer
from metacog_pipeline.benchmarks.medley.items import BENCHMARK, CONDITIONS, STEPS, Analyst, Instance
from metacog_pipeline.benchmarks.medley.labels import claim_confidence
from metacog_pipeline.benchmarks.medley.parsing import is_error, parse_reply
from metacog_pipeline.benchmarks.medley.presentation import NORMAL, STRIPPED, applicable
from metacog_pipeline.benchmarks.medley.prompts import STEP_A
from metacog_pipeline.columns import Shape, cell
from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.session import Partition, keep_imported
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import kept_records

FIELDS = ("instance_id", "condition", *STEPS)
# Column names seen in result files, most telling first; compared without case, spaces and hyphens.
USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "instance_id": ("instance_id", "item_id", "instance", "case_id", "id"),
    "condition": ("condition", "mode"),
    "step_a": ("step_a", "stepa", "response_a", "a", "solo"),
    "b_private": ("b_private", "step_b_private", "private", "response_b_private"),
    "b_social": ("b_social", "step_b_social", "social", "response_b_social"),
}
_PLACE = re.compile(r"Analyst ([A-Z])")
_SHOWN, _SHOWN_CHARACTERS = 8, 60


def import_file(
    benchmark: Any,
    file: Path,
    model: str,
    run: int,
    pairs: tuple[str, ...],
    condition: str,
    options: ImportOptions | None = None,
) -> Imported:
    """Keep answers collected elsewhere as those of a replayed model; nothing is kept when the file is unreadable.

    Raises
    ------
    StudyError
        If the model is not a replayed one, the run is not in the study, or the file or mapping is wrong.
    """
    options = options or ImportOptions()
    if options.trust or options.scale is not None:
        raise StudyError("--trust, --scale: replies to medley are text and prove nothing; leave them out")
    partition = _partition(benchmark, model, run)
    chosen = {each.name: each for each in benchmark.conditions()}.get(STRIPPED)
    found = read_answers(
        file,
        benchmark.items,
        model=model,
        run=run,
        mapping=parse_mapping(pairs),
        condition=condition,
        stripped=None if chosen is None or chosen.after is None else chosen_items(benchmark, chosen),
        shape=options.shape,
    )
    options.tell(found)
    keep_imported(partition, found.records)
    return found


def import_analyst(benchmark: Any, analyst: str, model: str, run: int) -> Imported:
    """Keep what one analyst of the instances wrote as a replayed model's answers to step A.

    Raises
    ------
    StudyError
        If the model is not a replayed one, the run is not in the study, or no instance has that analyst.
    """
    partition = _partition(benchmark, model, run)
    found = Imported(tuple(analyst_answers(benchmark.items, analyst, model=model, run=run)))
    keep_imported(partition, found.records)
    return found


def kept(study: Study, benchmark: str, spec: ModelSpec) -> list[Record]:
    """Return everything that was kept of a replayed model."""
    folders = (Partition(study, benchmark, spec, run).folder for run in study.runs)
    return [record for folder in folders for record in kept_records(folder)]


def _partition(benchmark: Any, model: str, run: int) -> Partition:
    study = benchmark.context.study
    partition = replayed_partition(study, BENCHMARK, model, run)
    study.home.prepare()
    if not construction.items_current(benchmark):
        construction.build(benchmark)
    return partition


def parse_mapping(pairs: Sequence[str]) -> dict[str, str]:
    """Return {field: column} from texts like ``step_a=first``; raise `StudyError` for anything else."""
    return parse_mapping_of(pairs, FIELDS)


def read_answers(
    path: Path,
    items: Sequence[Instance],
    *,
    model: str,
    run: int,
    mapping: Mapping[str, str] | None = None,
    condition: str = NORMAL,
    stripped: Collection[str] | None = None,
    shape: Shape | None = None,
) -> Imported:
    """Read the answers in ``path`` (CSV, TSV, JSON Lines, JSON or Parquet).

    Parameters
    ----------
    items
        The instances of the study; rows about others are rejected.
    model, run
        What the answers are kept under.
    mapping
        {field of `FIELDS`: column}; fields not mapped are found by their usual names.
    condition
        Of rows that name none.
    stripped
        The ids of the instances that can be asked with two analysts; None for all.
    shape
        Wide columns, if there are any.

    Raises
    ------
    StudyError
        When the file cannot be read, a mapped column is not there, or no column names the instance or holds a reply.

    Notes
    -----
    A reply is text; a JSON object in its place is taken as the text of that object. Steps A and B-private are the same
    under every condition: where a row of another condition lacks them, those given under ``normal`` count.
    """
    if condition not in CONDITIONS:
        raise StudyError(f"--condition {condition}: there are {', '.join(CONDITIONS)}")
    rows = read_rows(path, shape)
    columns = _columns(path, rows, dict(mapping or {}))
    reader = _Reader(items, columns, model, run, condition, stripped)
    for row in rows:
        reader.take(row)
    given = {record.item_id for record in reader.records}
    summary = (
        f"{len(reader.records)} replies to {len(given)} of {len(items)} instances, by instance_id; "
        f"{len(reader.rejected)} rows not taken",
        used_columns(columns, rows.columns),
    )
    return Imported(tuple(reader.records), tuple(reader.rejected), tuple(reader.warnings), summary)


def analyst_names(items: Sequence[Instance]) -> Counter[str]:
    """Return the analysts of the instances by model, and how many instances each answered."""
    return Counter(name for item in items for name in {analyst.model_id for analyst in item.analysts})


def analyst_answers(items: Sequence[Instance], analyst: str, *, model: str, run: int = 1) -> list[Record]:
    """Return one imported answer to step A for each instance the analyst answered.

    Parameters
    ----------
    items
        The instances of the study, with their analysts as the data has them.
    analyst
        A model of `analyst_names`; or ``Analyst A``, ``Analyst B``, … for whoever stands in that place, so that eight
        such respondents cover all analysts of all instances.
    model, run
        What the answers are kept under; hand them to `querying.session.keep_imported`.

    Raises
    ------
    StudyError
        When no instance has that analyst.
    """
    found = [(item, one) for item in items if (one := _chosen(item, analyst)) is not None]
    if not found:
        known = [name for name, _ in analyst_names(items).most_common()]
        more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
        raise StudyError(
            f"medley: no instance has the analyst {analyst!r}; there are Analyst A, Analyst B, … by place, and "
            f"{', '.join(known[:_SHOWN]) or 'none by model'}{more}"
        )
    return [
        _record(item, NORMAL, STEP_A, json.dumps(one.response, ensure_ascii=False), model, run, one.model_id)
        for item, one in found
    ]


def to_replay(items: Sequence[Instance], records: Sequence[Record]) -> list[Instance] | None:
    """Return the instances a replayed model has to answer where it has answered step A alone; None where it has more.

    Those are all of them; or, where all answers are one analyst's, those that analyst answered.
    """
    if not records or any(record.step != STEP_A for record in records):
        return None
    who = {record.model_id for record in records}
    if len(who) > 1 or not (name := next(iter(who))):
        return list(items)
    return [item for item in items if any(one.model_id == name for one in item.analysts)] or list(items)


def _chosen(item: Instance, analyst: str) -> Analyst | None:
    by_name = next((one for one in item.analysts if one.model_id == analyst), None)
    by_place = _PLACE.fullmatch(analyst)
    if by_name is not None or by_place is None:
        return by_name
    place = ord(by_place[1]) - ord("A")
    return item.analysts[place] if place < len(item.analysts) else None


def _columns(path: Path, rows: AnswerFile, mapping: dict[str, str]) -> dict[str, str]:
    """Return the column of every field that has one."""
    columns = rows.columns
    there = ", ".join(map(repr, columns)) or "none"
    for field, column in mapping.items():
        if field not in FIELDS:
            raise StudyError(f"{path}: unknown field {field!r}; map one of {', '.join(FIELDS)}")
        if not rows.has(column):
            raise StudyError(f"{path}: no column {column!r} to map {field} to; the columns are: {there}")
    found = dict(mapping)
    for field in FIELDS:
        free = [name for name in columns if name not in found.values()]
        if field not in found and (usual := first_named(USUAL_NAMES[field], free)) is not None:
            found[field] = usual
    if "instance_id" not in found:
        raise StudyError(
            f"{path}: no column names the instance; use --map instance_id=…; the columns are: {there}"
        )
    if not any(step in found for step in STEPS):
        raise StudyError(
            f"{path}: no column holds a reply; use --map step_a=… b_private=… b_social=…; the columns are: {there}"
        )
    return found


class _Reader:
    """Turns rows into records, one after the other."""

    def __init__(
        self,
        items: Sequence[Instance],
        columns: Mapping[str, str],
        model: str,
        run: int,
        condition: str,
        stripped: Collection[str] | None,
    ) -> None:
        self.columns = columns
        self.model = model
        self.run = run
        self.condition = condition
        self.records: list[Record] = []
        self.rejected: list[Rejected] = []
        self.warnings: list[str] = []
        self._seen: dict[tuple[str, str], int] = {}
        self._by_id = {item.item_id: item for item in items}
        self._asked = {
            name: {item.item_id for item in applicable(items, name, stripped)} for name in CONDITIONS
        }

    def take(self, row: FileRow) -> None:
        """Add the row's records, or the reason there is none."""
        try:
            if row.broken is not None:
                raise RowError(row.broken)
            item, condition = self._item(row.cells), self._condition(row.cells)
            if item.item_id not in self._asked[condition]:
                raise RowError(f"instance {item.item_id} is not asked under {condition}")
            given = {
                step: self._text(row.cells, step)
                for step in STEPS
                if step in self.columns and not absent(cell(row.cells, self.columns[step]))
            }
            if not given:
                raise RowError(f"there is no reply to instance {item.item_id}")
            first = self._seen.setdefault((item.item_id, condition), row.number)
            if first != row.number:
                raise RowError(
                    f"instance {item.item_id} under {condition} is given twice, first in row {first}; the first counts"
                )
        except RowError as error:
            self.rejected.append(Rejected(row.number, one_line(str(error))))
            return
        for step, text in given.items():
            if (reason := _unreadable(item, text)) is not None:
                place = f"{step} of instance {item.item_id} (run {self.run})"
                self.warnings.append(one_line(f"{place} {reason}: recorded as unparsable"))
            self.records.append(_record(item, condition, step, text, self.model, self.run))

    def _item(self, cells: Mapping[str, Any]) -> Instance:
        value = cell(cells, self.columns["instance_id"])
        if absent(value):
            raise RowError("the row names no instance")
        found = self._by_id.get(str(value).strip())
        if found is None:
            raise RowError(
                f"unknown instance: {_show(value)} is none of the {len(self._by_id)} instances of this study"
            )
        return found

    def _condition(self, cells: Mapping[str, Any]) -> str:
        value = cell(cells, self.columns["condition"]) if "condition" in self.columns else None
        if absent(value):
            return self.condition
        name = str(value).strip().casefold()
        if name not in CONDITIONS:
            raise RowError(f"condition {_show(value)} is none of {', '.join(CONDITIONS)}")
        return name

    def _text(self, cells: Mapping[str, Any], step: str) -> str:
        value = cell(cells, self.columns[step])
        if isinstance(value, str):
            return value
        try:
            return json.dumps(value, ensure_ascii=False, default=str)
        except (ValueError, RecursionError):
            raise RowError(f"{step} is nested too deeply to be a reply") from None


def _unreadable(item: Instance, text: str) -> str | None:
    """Say why a reply will not count, None where it will."""
    reply = parse_reply(text)
    if is_error(reply):
        return "holds no JSON object"
    rated = (claim_confidence(reply, claim.claim_id, claim.claim_text) for claim in item.claims)
    return "rates no claim" if all(value is None for value in rated) else None


def _record(
    item: Instance, condition: str, step: str, text: str, model: str, run: int, model_id: str = ""
) -> Record:
    return imported_record(
        BENCHMARK,
        (item.item_id, item.item_hash),
        model=model,
        run=run,
        condition=condition,
        step=step,
        text=text,
        identity=[BENCHMARK, model, run, item.item_id, condition, step, text, "import"],
        model_id=model_id,
    )


def _show(value: object) -> str:
    return repr(one_line(str(value), _SHOWN_CHARACTERS))


IMPORTER = Importer(FIELDS, NORMAL, import_file)
