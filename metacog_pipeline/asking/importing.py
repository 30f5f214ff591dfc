"""Answers collected elsewhere, kept as those of a replayed model: what every benchmark does alike when it takes them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from metacog_pipeline import columns
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.schema import Record


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that was not taken: its number in the file and why."""

    row: int
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What an answer file gave.

    ``warnings`` are rows taken although something in them cannot be read; ``summary`` says line by line how the file was
    understood.
    """

    records: tuple[Record, ...]
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a file is to be understood.

    Attributes
    ----------
    trust
        Fields or columns whose disagreement with the items is taken.
    scale
        The confidence that can be stated; None for the benchmark's own.
    shape
        Wide columns, and words for values.
    show
        Called with each line of the summary before anything is kept.
    """

    trust: tuple[str, ...] = ()
    scale: columns.Scale | None = None
    shape: columns.Shape = field(default_factory=columns.Shape)
    show: Callable[[str], None] | None = None

    def tell(self, found: Imported) -> None:
        """Show the summary."""
        for line in found.summary if self.show is not None else ():
            assert self.show is not None
            self.show(line)


class RowError(Exception):
    """Why one row is not taken."""


def parse_mapping(pairs: Sequence[str], fields: Sequence[str]) -> dict[str, str]:
    """Return {field: column} from texts like ``choice=prediction``; raise `StudyError` for anything else."""
    mapping: dict[str, str] = {}
    for pair in pairs:
        field, equals, column = pair.partition("=")
        if not equals or not column or field not in fields:
            raise StudyError(f"--map {pair}: give field=column, with a field out of {', '.join(fields)}")
        if field in mapping:
            raise StudyError(
                f"--map {pair}: field {field} is already mapped to {mapping[field]!r}; map it once"
            )
        mapping[field] = column
    return mapping


def first_named(names: Sequence[str], columns: Sequence[str]) -> str | None:
    """Return the column with the first of ``names``, compared without case, spaces and hyphens; None without one."""
    plain = {re.sub(r"[\s-]+", "_", name.strip().casefold()): name for name in reversed(columns)}
    return next((plain[name] for name in names if name in plain), None)


def absent(value: object) -> bool:
    """Whether a cell says nothing."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or not str(value).strip()


def used_columns(found: dict[str, str], there: Sequence[str]) -> str:
    """Return a line on the columns used and ignored."""
    used = ", ".join(f"{field}={column}" for field, column in found.items())
    heads = {columns.path_of(column)[:1] for column in found.values()}
    ignored = [name for name in there if name not in found.values() and (name,) not in heads]
    return f"columns used: {used}; ignored: {', '.join(ignored) or 'none'}"


def replayed_partition(study: Study, benchmark: str, model: str, run: int) -> Partition:
    """Return the partition that imported answers are kept in.

    Raises
    ------
    StudyError
        If the model is not a replayed one, or the run is not in the study.
    """
    spec = study.model(model)
    if spec.provider != "replay":
        raise StudyError(
            f'{study.path.name}: model "{model}" has provider = "{spec.provider}"; imported answers need a model with '
            'provider = "replay", so that they are never mixed with answers asked here'
        )
    if run not in study.runs:
        raise StudyError(f"--run {run}: the study has runs 1 to {study.study.runs}; raise study.runs")
    return Partition(study, benchmark, spec, run)


def imported_record(
    benchmark: str,
    item: tuple[str, str],
    *,
    model: str,
    run: int,
    condition: str,
    step: str,
    text: str,
    identity: Sequence[object],
    model_id: str = "",
    request_json: str = "{}",
) -> Record:
    """Return one imported answer to ``step`` of ``item``, an item's id and hash.

    ``identity`` is what makes it the same answer when it is imported again; ``request_json`` how it was understood.
    """
    item_id, item_hash = item
    return Record(
        answer_id=sha256_hex(canonical_json(list(identity))),
        benchmark=benchmark,
        model=model,
        run=run,
        item_id=item_id,
        item_hash=item_hash,
        condition=condition,
        step=step,
        source="imported",
        provider="replay",
        model_id=model_id,
        model_reported=None,
        mode="import",
        request_json=request_json,
        status="ok",
        text=text,
        finish_reason=None,
        logprobs_json=None,
        input_tokens=None,
        output_tokens=None,
        cost_usd=None,
        attempts=0,
        started_at=datetime.now(UTC),
        latency_s=0.0,
        http_status=None,
        error_kind=None,
        error_code=None,
        error_message=None,
    )
