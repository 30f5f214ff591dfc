"""Judgements: the typed reading of every judge's replies, one row per instance, condition and judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import make_dataclass
from typing import Annotated, Any

import polars as pl

from metacog_pipeline.asking.states import source_of
from metacog_pipeline.benchmark.contract import Small, schema_of
from metacog_pipeline.benchmarks.medley.grades import CRITERIA, JUDGE_DIMENSIONS, parse_judgement
from metacog_pipeline.benchmarks.medley.items import BENCHMARK
from metacog_pipeline.benchmarks.medley.judging.asking import STEPS, eligible
from metacog_pipeline.benchmarks.medley.judging.cases import Case
from metacog_pipeline.benchmarks.medley.judging.prompts import JudgeWording, case_hash
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.reading.calls import ended
from metacog_pipeline.scoring.responses import Kept, call_of, in_order, total

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
        ("latency_s", float | None),
        ("cost_usd", float | None),
        ("input_tokens", int | None),
        ("output_tokens", int | None),
        *((name, str | None) for name in ("mode", "step", "answer_id", "source")),
    ],
)
JUDGEMENT_SCHEMA = schema_of(Judgement)
_SUMMED = ("latency_s", "cost_usd", "input_tokens", "output_tokens")


def read_judgements(
    transcripts: pl.DataFrame,
    cases: Sequence[Case],
    judges: Sequence[ModelSpec],
    *,
    model: ModelSpec,
    run: int,
    wording: JudgeWording,
) -> pl.DataFrame:
    """Return one row per case × judge that may judge ``model``, in `JUDGEMENT_SCHEMA`; cases with nothing to judge too.

    ``judges`` are all of the study, in its order. Superseded calls, and judgements of another text than the case's, are
    passed over; of the up to three calls the last one counts. ``ok``: all thirty criteria graded, five or more otherwise
    than 1. ``partial``: some without a grade; a dimension is the mean of what is graded in it. ``says_little``: fewer than
    five grades other than 1, after all calls; the grades stand in their columns, the dimensions are null. ``unreadable``:
    no grade at all. ``n_unscored`` counts the criteria without a grade in a reply. Criteria are 0 to 3, dimensions 0 to 1;
    latency (seconds), cost (dollars) and tokens are sums over the calls.
    """
    calls = _calls(transcripts)
    hashes = {id(case): case_hash(case, wording) for case in cases if case.unjudged is None}
    rows = []
    for place, judge in enumerate(judges):
        if not eligible([judge], model):
            continue
        who = {"model": model.name, "run": run, "judge": judge.name, "judge_family": judge.family}
        for case in cases:
            kept = calls.get((judge.name, case.item_id, case.condition, hashes.get(id(case), "")), {})
            last = next((kept[step] for step in reversed(STEPS) if step in kept), None)
            sources = {case.source, source_of(judge), *(call["source"] for call in kept.values())}
            rows.append(
                {
                    "benchmark": BENCHMARK,
                    "dataset": case.item.dataset,
                    "domain": case.item.domain,
                    "condition": case.condition,
                    **who,
                    "judge_place": place,
                    "item_id": case.item_id,
                    "position": case.item.position,
                    **_graded(case, last),
                    "reading": "strict",
                    **{name: total(list(kept.values()), name) for name in _SUMMED},
                    **{name: last[name] if last else None for name in ("mode", "step", "answer_id")},
                    "source": "simulated" if "simulated" in sources else case.source,
                }
            )
    return pl.DataFrame(rows, schema=JUDGEMENT_SCHEMA)


def _calls(transcripts: pl.DataFrame) -> dict[tuple[str, str, str, str], dict[str, Kept]]:
    """Return {(judge, item, condition, hash of what was asked): {step: the newest call that did not fail}}."""
    found: dict[tuple[str, str, str, str], dict[str, Kept]] = {}
    for call in in_order(transcripts.filter(~pl.col("superseded")), ("item_hash", "model", "source")):
        key = (call["model"], call["item_id"], call["condition"], call["item_hash"])
        found.setdefault(key, {})[call["step"]] = call
    return found


def _graded(case: Case, call: Kept | None) -> dict[str, Any]:
    """Return what the last call says: its grades, those of the dimensions, and how it went."""
    none: dict[str, Any] = dict.fromkeys((*CRITERIA, *JUDGE_DIMENSIONS, "n_unscored"))
    if case.unjudged is not None:
        return {**none, "status": "no_answer", "reason": case.unjudged}
    if call is None:
        return {**none, "status": "not_run", "reason": "not asked yet"}
    if (cut := ended(call_of(call), "the judge's max_tokens")) is not None:
        return {**none, "status": cut[0], "reason": cut[1]}
    found = parse_judgement(call["text"])
    graded = len(CRITERIA) - len(found.unscored)
    if graded == 0:
        told = {"status": "unreadable", "reason": "the reply holds no grade from 0 to 3"}
        return {**none, **told, "n_unscored": len(CRITERIA)}
    known = {**none, **found.criteria, "n_unscored": len(found.unscored)}
    if found.tells_little:
        little = f"{found.non_default} of {graded} grades differ from 1"
        return {**known, "status": "says_little", "reason": little}
    reason = f"no grade from 0 to 3 for {', '.join(found.unscored)}" if found.unscored else None
    return {**known, **found.dimensions, "status": "partial" if reason else "ok", "reason": reason}
