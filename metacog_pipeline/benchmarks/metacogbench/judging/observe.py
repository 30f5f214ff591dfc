"""Judgements: the verdict of every judge on every reply, one row each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import polars as pl
import pyarrow as pa

from metacog_pipeline.benchmarks.common.judging import calls_about
from metacog_pipeline.benchmarks.common.observing import Call, ended
from metacog_pipeline.benchmarks.metacogbench.judging.cases import Case
from metacog_pipeline.benchmarks.metacogbench.judging.parsing import parse_verdict
from metacog_pipeline.benchmarks.metacogbench.judging.prompts import JudgeWording, case_hash
from metacog_pipeline.benchmarks.metacogbench.judging.protocol import BENCHMARK, SELF, STEP, Judge
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.asking import source_of

RELATIONS = (SELF, "same family", "other family", "family unknown")
#: Without a judgement in the store.
UNANSWERED = ("transport_error", "too_long", "not_run")
_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "dataset", "tier", "condition", "model"), pl.String),
    "run": pl.Int32,
    **dict.fromkeys(("judge", "judge_model", "relation", "item_id"), pl.String),
    **dict.fromkeys(("verdict", "by_rules"), pl.Int8),
    **dict.fromkeys(("status", "reason", "mode", "answer_id"), pl.String),
    "cost_usd": pl.Float64,
    "source": pl.String,
}
JUDGEMENT_SCHEMA = pl.Schema(_TYPES)


def relation(judge: ModelSpec, model: ModelSpec) -> str:
    """Return one of `RELATIONS`; ``self`` for the same model under another name, too."""
    if judge.name == model.name or _identity(judge) == _identity(model):
        return RELATIONS[0]
    if not judge.family or not model.family:
        return RELATIONS[3]
    return RELATIONS[1] if judge.family.casefold() == model.family.casefold() else RELATIONS[2]


def read_judgements(
    transcripts: pa.Table | pl.DataFrame,
    judged: Sequence[Case],
    judges: Sequence[Judge],
    *,
    model: ModelSpec,
    run: int,
    asked: Mapping[str, Collection[str]],
    wording: JudgeWording,
) -> pl.DataFrame:
    """Return one row per reply and judge in `JUDGEMENT_SCHEMA`.

    Parameters
    ----------
    transcripts
        Rows of the transcript schema, of the partition of the judged model and run.
    asked
        The identities of the calls that count, by the name of the spec that was asked (`panel_identities`).
    wording
        As the judges were asked with; a judgement of another text than the case's is passed over.

    Notes
    -----
    ``judge`` is the judge's place in the study's list, ``judge_model`` who was asked. ``verdict`` is 1 for a pass, null
    for a reply that says neither; ``by_rules`` is the headline verdict of the scorer. ``cost_usd`` is dollars.
    """
    calls = calls_about(transcripts, BENCHMARK, run, (STEP,))
    keys = [(case.item_id, case.condition, case_hash(case, wording)) for case in judged]
    rows = []
    for who in judges:
        own = asked.get(who.spec.name, ())
        for case, key in zip(judged, keys, strict=True):
            found = [call for call in calls.get(key, ()) if call["answer_id"] in own]
            rows.append(_row(case, who, model, run, found[-1] if found else None))
    return pl.DataFrame(rows, schema=JUDGEMENT_SCHEMA, orient="row")


def _row(case: Case, who: Judge, model: ModelSpec, run: int, call: Call | None) -> tuple[object, ...]:
    verdict, status, reason = _read(call)
    sources = (case.source, source_of(who.spec), *((call["source"],) if call else ()))
    return (
        BENCHMARK,
        *(case.dataset, case.tier, case.condition, model.name, run),
        *(who.name, who.spec.name, relation(who.spec, model), case.item_id),
        None if verdict is None else int(verdict),
        case.passed,
        *(status, reason),
        *((None, None, None) if call is None else (call["mode"], call["answer_id"], call["cost_usd"])),
        "simulated" if "simulated" in sources else case.source,
    )


def _read(call: Call | None) -> tuple[bool | None, str, str | None]:
    if call is None:
        return None, "not_run", "not asked yet"
    if (cut := ended(call, "the judge's max_tokens")) is not None:
        return None, *cut
    verdict = parse_verdict(call["text"])
    return (None, "unreadable", "neither pass nor fail") if verdict is None else (verdict, "ok", None)


def _identity(spec: ModelSpec) -> dict[str, object]:
    return spec.identity_fields()
