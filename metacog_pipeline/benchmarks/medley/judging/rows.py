"""Judgements: the typed reading of every judge's replies, one row per instance, condition and judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Literal

import polars as pl

from metacog_pipeline.benchmark.contract import Small, schema_of
from metacog_pipeline.benchmarks.medley.items import BENCHMARK
from metacog_pipeline.benchmarks.medley.judging.asking import STEPS, eligible
from metacog_pipeline.benchmarks.medley.judging.cases import Case
from metacog_pipeline.benchmarks.medley.judging.prompts import JudgeWording, case_hash, load_judge_wording
from metacog_pipeline.benchmarks.medley.parsing import (
    CRITERIA,
    JUDGE_DIMENSIONS,
    WITHOUT_JUDGE,
    parse_judgement,
)
from metacog_pipeline.benchmarks.medley.parsing import Judgement as Grades
from metacog_pipeline.benchmarks.medley.responses import ended
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.asking import source_of
from metacog_pipeline.scoring.responses import Kept, call_of, in_order, total

JudgementStatus = Literal[
    "ok",
    "partial",
    "says_little",
    "unreadable",
    "refused",
    "too_long",
    "transport_error",
    "not_run",
    "no_answer",
]

Grade = Annotated[int | None, pl.Int8]
#: One judge's grades of one answer: who, the thirty criteria of 0 to 3, the ten dimensions of 0 to 1, and how it went.
Judgement = make_dataclass(
    "Judgement",
    [
        *((name, str) for name in ("benchmark", "dataset", "domain", "condition", "model")),
        ("run", Small),
        ("judge", str),
        ("judge_family", str),
        ("judge_place", Small),
        ("item_id", str),
        ("position", Small),
        *((name, Grade) for name in CRITERIA),
        *((name, float | None) for name in JUDGE_DIMENSIONS),
        ("status", str),
        ("reason", str | None),
        ("n_unscored", Small),
        ("reading", str),
        ("wrong_consensus", bool),
        ("latency_s", float | None),
        ("cost_usd", float | None),
        ("input_tokens", int | None),
        ("output_tokens", int | None),
        *((name, str | None) for name in ("mode", "step", "answer_id", "source")),
    ],
)
JUDGEMENT_SCHEMA = schema_of(Judgement)
_SUMMED = ("latency_s", "cost_usd", "input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class _Reading:
    status: JudgementStatus
    reason: str | None = None
    criteria: Mapping[str, int | None] | None = None
    dimensions: Mapping[str, float | None] | None = None


def read_judgements(
    transcripts: pl.DataFrame,
    cases: Sequence[Case],
    judges: Sequence[ModelSpec],
    *,
    model: ModelSpec,
    run: int,
    wording: JudgeWording | None = None,
    reference: bool = False,
) -> pl.DataFrame:
    """Return one row per case × judge that may judge ``model``, in `JUDGEMENT_SCHEMA`.

    Parameters
    ----------
    transcripts
        Kept calls of the partition of the judged model and run; superseded ones are passed over.
    cases
        What is judged; those with nothing to judge get rows too, with the status ``no_answer``.
    judges
        All judges of the study, in its order; those of the model's own family are left out.
    wording
        As the judges were asked with; a judgement of another text than the case's is passed over.
    reference
        Read as the authors' package does: what is no grade counts as 1, and a judgement that says little as 1/3 in every
        dimension. Column ``reading`` says which reading it is: ``strict`` or ``reference``.

    Notes
    -----
    Of the up to three calls the last one counts. ``ok``: all thirty criteria graded, five or more otherwise than 1.
    ``partial``: some without a grade; a dimension is the mean of what is graded in it. ``says_little``: fewer than five
    grades other than 1, after all calls; the grades stand in their columns, the dimensions are null. ``unreadable``: no
    grade at all. ``n_unscored`` counts the criteria without a grade in a reply. Criteria are 0 to 3, dimensions 0 to 1.
    Latency (seconds), cost (dollars) and tokens are sums over the calls.
    """
    words = wording or load_judge_wording()
    calls = _calls(transcripts)
    hashes = {id(case): case_hash(case, words) for case in cases if case.unjudged is None}
    reading = "reference" if reference else "strict"
    rows: list[tuple[object, ...]] = []
    for place, judge in enumerate(judges):
        if not eligible([judge], model):
            continue
        for case in cases:
            kept = calls.get((judge.name, case.item_id, case.condition, hashes.get(id(case), "")), {})
            last = next((kept[step] for step in reversed(STEPS) if step in kept), None)
            read = _read(case, last, reference)
            rows.append(_row(case, model.name, run, judge, place, reading, read, list(kept.values()), last))
    return pl.DataFrame(rows, schema=JUDGEMENT_SCHEMA, orient="row")


def _calls(transcripts: pl.DataFrame) -> dict[tuple[str, str, str, str], dict[str, Kept]]:
    """Return {(judge, item, condition, hash of what was asked): {step: the newest call that did not fail}}."""
    found: dict[tuple[str, str, str, str], dict[str, Kept]] = {}
    for call in in_order(transcripts.filter(~pl.col("superseded")), ("item_hash", "model", "source")):
        key = (call["model"], call["item_id"], call["condition"], call["item_hash"])
        found.setdefault(key, {})[call["step"]] = call
    return found


def _read(case: Case, call: Kept | None, reference: bool) -> _Reading:
    if case.unjudged is not None:
        return _Reading("no_answer", case.unjudged)
    if call is None:
        return _Reading("not_run", "not asked yet")
    if (cut := ended(call_of(call), "the judge's max_tokens")) is not None:
        return _Reading(cut[0], cut[1])  # type: ignore[arg-type]
    found = parse_judgement(call["text"], reference=reference)
    return _graded(found, reference)


def _graded(found: Grades, reference: bool) -> _Reading:
    graded = len(CRITERIA) - len(found.unscored)
    if graded == 0:
        return _Reading("unreadable", "the reply holds no grade from 0 to 3")
    if found.tells_little:
        reason = f"{found.non_default} of {graded} grades differ from 1"
        dimensions = dict.fromkeys(JUDGE_DIMENSIONS, WITHOUT_JUDGE) if reference else None
        return _Reading("says_little", reason, found.criteria, dimensions)
    if found.unscored:
        reason = f"no grade from 0 to 3 for {', '.join(found.unscored)}"
        return _Reading("partial", reason, found.criteria, found.dimensions)
    return _Reading("ok", None, found.criteria, found.dimensions)


def _row(
    case: Case,
    model: str,
    run: int,
    judge: ModelSpec,
    place: int,
    reading: str,
    read: _Reading,
    calls: Sequence[Kept],
    last: Kept | None,
) -> tuple[object, ...]:
    criteria, dimensions = read.criteria or {}, read.dimensions or {}
    replied = read.status in ("ok", "partial", "says_little", "unreadable")
    sources = (case.source, source_of(judge), *(call["source"] for call in calls))
    return (
        BENCHMARK,
        case.item.dataset,
        case.item.domain,
        case.condition,
        model,
        run,
        judge.name,
        judge.family,
        place,
        case.item_id,
        case.item.position,
        *(criteria.get(name) for name in CRITERIA),
        *(dimensions.get(name) for name in JUDGE_DIMENSIONS),
        read.status,
        read.reason,
        sum(criteria.get(name) is None for name in CRITERIA) if replied else None,
        reading,
        case.wrong_consensus,
        *(total(calls, name) for name in _SUMMED),
        last["mode"] if last else None,
        last["step"] if last else None,
        last["answer_id"] if last else None,
        "simulated" if "simulated" in sources else case.source,
    )
