"""What is judged, by which judges, and how their grades are read and combined.

One call, and up to two more where the judge says next to nothing; the three are steps of their own, so that each is paid
for once and found again. A grade outside 0, 1, 2, 3 is none.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any

import polars as pl

from metacog_pipeline.asking.states import source_of
from metacog_pipeline.asking.tasks import asked
from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.benchmark.contract import Judging, Small, schema_of
from metacog_pipeline.benchmarks.medley.items import B_SOCIAL, BENCHMARK, STEP_A, Instance
from metacog_pipeline.benchmarks.medley.judging import grades
from metacog_pipeline.benchmarks.medley.judging.grades import CRITERIA, JUDGE_DIMENSIONS, parse_judgement
from metacog_pipeline.benchmarks.medley.prompts import json_object
from metacog_pipeline.benchmarks.medley.records import claim_items
from metacog_pipeline.benchmarks.medley.simulated import SimulatedJudge
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.judges.verdicts import modes
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import JsonObject, Message, Status
from metacog_pipeline.reading.calls import ended
from metacog_pipeline.scoring.responses import Kept, call_of, in_order, total

STEPS = ("judge", "judge_2", "judge_3")
JUDGE_TOKENS = 2_000  # the least a reply may take: thirty grades are about 300
VIGNETTE_CHARACTERS = 500
ANSWER_CHARACTERS = 5_000
LABEL_CHARACTERS = 80  # of a confidence, a claim id or an analyst's name; longer ones are none
_KEY = ("model", "run", "condition", "item_id")


# --- what is judged ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Case:
    """One answer of the judged model, as a judge reads it."""

    item: Instance
    condition: str  # of the row; it reaches no message
    first: str  # step A and B-social, condensed
    final: str
    unjudged: str | None = None  # why there is nothing to judge
    source: str = "measured"

    def messages(self, *, again: bool = False) -> tuple[Message, ...]:
        """Return the messages that ask for a judgement; ``again`` after a reply with few grades."""
        vignette = self.item.vignette[:VIGNETTE_CHARACTERS]
        quoted = {"vignette": vignette, "first": self.first, "final": self.final}
        return grades.judge_wording().messages("again" if again else "judge", self.item, quoted)

    @property
    def digest(self) -> str:
        """SHA-256 of everything a judge is sent."""
        return sha256_hex(canonical_json([grades.judge_digest(), self.messages()[-1].content]))


def cases(instances: Sequence[Instance], responses: pl.DataFrame) -> list[Case]:
    """Return one case per response of one model and run, in their order; rows of other instances are left out."""
    by_id, steps, found = {instance.item_id: instance for instance in instances}, (STEP_A, B_SOCIAL), []
    for row in responses.filter(pl.col("item_id").is_in(list(by_id))).iter_rows(named=True):
        why = next((f"{s} is {row[f'status_{s}']}" for s in steps if row[f"status_{s}"] != "ok"), None)
        first, final = ("" if why else condensed(json.loads(row[f"reply_{s}"] or "null")) for s in steps)
        found.append(Case(by_id[row["item_id"]], row["condition"], first, final, why, row["source"]))
    return found


def condensed(reply: object) -> str:
    """Return a parsed reply as a judge reads it: ``Overall: …``, then a line per claim with reasoning and confidence."""
    given = reply if isinstance(reply, dict) else {}
    if given.get("_parse_error"):
        return str(given.get("_raw") or "").strip()[:ANSWER_CHARACTERS]
    texts = (_flat(given.get(key)) for key in ("assessment", "overall_assessment"))
    lines = [f"Overall: {text}" for text in texts if text][:1]
    for item in claim_items(reply):
        if isinstance(item, dict) and (reasoning := _flat(item.get("reasoning"))):
            claim, label = (_short(item.get(key)) for key in ("claim_id", "confidence"))
            lines.append(f"{claim}: {reasoning} (conf: {label})")
    return "\n".join(lines)[:ANSWER_CHARACTERS]


def _flat(value: object) -> str:
    # Line breaks become blanks, so that no text can pass for the next line.
    return " ".join(value.strip()[: 2 * ANSWER_CHARACTERS].split()) if isinstance(value, str) else ""


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value) if isinstance(value, int | float) else ""
    return " ".join(text.split()) or "?" if len(text) <= LABEL_CHARACTERS else "?"


# --- by whom ----------------------------------------------------------------------------------------------------------
def eligible(judges: Sequence[ModelSpec], model: ModelSpec) -> tuple[ModelSpec, ...]:
    """Return the judges that may judge ``model``: those of another family. `Settings` sees to it that each has one."""
    return tuple(judge for judge in judges if judge.family != model.family)


def judge_tasks(given: Sequence[Case], judge: ModelSpec) -> list[Task]:
    """Return one task per case in which there is something to judge."""
    grade = {"type": "integer", "enum": list(range(grades.BEST_GRADE + 1))}
    form = JsonObject("grades", json.dumps(json_object(dict.fromkeys(CRITERIA, grade))))

    async def run(case: Case, ask: Ask, mode: str) -> None:
        held, tokens = None if mode == "text" else form, max(judge.max_tokens, JUDGE_TOKENS)
        for step in STEPS:
            words = case.messages(again=step != STEPS[0])
            answer = await ask(step, words, constraint=held, max_tokens=tokens, top_logprobs=0)
            if answer.status is not Status.OK or not parse_judgement(answer.text).tells_little:
                return

    asked = (case for case in given if case.unjudged is None)
    return [Task(one.item.item_id, one.digest, one.condition, functools.partial(run, one)) for one in asked]


# --- how it is read ---------------------------------------------------------------------------------------------------
_Grade = Annotated[int | None, pl.Int8]
#: One judge's grades of one answer: who, the thirty criteria of 0 to 3, the ten dimensions of 0 to 1, and how it went.
Judgement = make_dataclass(
    "Judgement",
    [
        *((name, str) for name in ("benchmark", "dataset", "domain", "condition", "model")),
        *(("run", Small), ("judge", str), ("judge_family", str), ("judge_place", Small)),
        *(("item_id", str), ("position", Small)),
        *((name, _Grade) for name in CRITERIA),
        *((name, float | None) for name in JUDGE_DIMENSIONS),
        *(("status", str), ("reason", str | None), ("n_unscored", Small), ("reading", str)),
        *(("latency_s", float | None), ("cost_usd", float | None)),
        *(("input_tokens", int | None), ("output_tokens", int | None)),
        *((name, str | None) for name in ("mode", "step", "answer_id", "source")),
    ],
)
JUDGEMENT_SCHEMA = schema_of(Judgement)


def read_judgements(
    transcripts: pl.DataFrame, given: Sequence[Case], judges: Sequence[ModelSpec], *, model: ModelSpec, run: int
) -> pl.DataFrame:  # fmt: skip
    """Return one row per case × judge that may judge ``model``, in `JUDGEMENT_SCHEMA`; cases with nothing to judge too."""
    rows, calls = [], dict[tuple[str, str, str, str], dict[str, Kept]]()
    for call in in_order(transcripts.filter(~pl.col("superseded")), ("item_hash", "model", "source")):
        key = (call["model"], call["item_id"], call["condition"], call["item_hash"])
        calls.setdefault(key, {})[call["step"]] = call
    digests = ["" if case.unjudged else case.digest for case in given]
    for place, judge in enumerate(judges):
        for case, digest in zip(given, digests, strict=True) if eligible([judge], model) else ():
            # Judgements of another text than the case's are passed over; of the up to three calls the last counts.
            kept = calls.get((judge.name, case.item.item_id, case.condition, digest), {})
            last = next((kept[step] for step in reversed(STEPS) if step in kept), None)
            sources = {case.source, source_of(judge), *(call["source"] for call in kept.values())}
            summed = ("latency_s", "cost_usd", "input_tokens", "output_tokens")
            row = {
                **{"benchmark": BENCHMARK, "dataset": case.item.dataset, "domain": case.item.domain},
                **{"condition": case.condition, "model": model.name, "run": run},
                **{"judge": judge.name, "judge_family": judge.family, "judge_place": place},
                **{"item_id": case.item.item_id, "position": case.item.position, "reading": "strict"},
                **_graded(case, last),
                **{name: total(list(kept.values()), name) for name in summed},
                **{name: last[name] if last else None for name in ("mode", "step", "answer_id")},
                "source": "simulated" if "simulated" in sources else case.source,
            }
            rows.append(row)
    return pl.DataFrame(rows, schema=JUDGEMENT_SCHEMA)


def _graded(case: Case, call: Kept | None) -> dict[str, Any]:
    """Return what the last call says: its grades, those of the dimensions where it says enough, and how it went."""
    none: dict[str, Any] = dict.fromkeys((*CRITERIA, *JUDGE_DIMENSIONS, "n_unscored"))
    if case.unjudged is not None:
        return {**none, "status": "no_answer", "reason": case.unjudged}
    if call is None:
        return {**none, "status": "not_run", "reason": "not asked yet"}
    if (cut := ended(call_of(call), "the judge's max_tokens")) is not None:
        return {**none, "status": cut[0], "reason": cut[1]}
    found = parse_judgement(call["text"])
    unscored = [name for name, grade in found.criteria.items() if grade is None]
    graded = len(CRITERIA) - len(unscored)
    known = {**none, **found.criteria, "n_unscored": len(unscored)}
    if graded == 0:
        return {**known, "status": "unreadable", "reason": "the reply holds no grade from 0 to 3"}
    if found.tells_little:
        little = f"{found.non_default} of {graded} grades differ from 1"
        return {**known, "status": "says_little", "reason": little}
    reason = f"no grade from 0 to 3 for {', '.join(unscored)}" if unscored else None
    return {**known, **found.dimensions, "status": "partial" if reason else "ok", "reason": reason}


# --- how judges are combined ------------------------------------------------------------------------------------------
def combined(judgements: pl.DataFrame) -> dict[tuple[Any, ...], dict[str, float | None]]:
    """Return {(model, run, condition, instance): {dimension: median grade over judges, of 0..1, or None}}."""
    found = judgements.group_by(_KEY, maintain_order=True).agg(pl.median(*JUDGE_DIMENSIONS))
    return {tuple(row[name] for name in _KEY): row for row in found.iter_rows(named=True)}


def graded_by(scored: pl.DataFrame, judgements: pl.DataFrame | None, judges: Sequence[str]) -> pl.DataFrame:
    """Return scored responses with ``judge_grades``: the mean grade by each of ``judges``, null where one gave none."""
    if judgements is None or judgements.is_empty():
        return scored.with_columns(judge_grades=pl.lit(None, pl.List(pl.Float64)))
    # Not `mean_horizontal`, which adds in the order in which threads happen to come: the last digit would be chance.
    means = judgements.with_columns(grade=pl.concat_list(JUDGE_DIMENSIONS).list.mean())
    each = [pl.col("grade").filter(pl.col("judge") == name).first().alias(f"_{name}") for name in judges]
    grades = pl.concat_list(f"_{name}" for name in judges)
    wide = means.group_by(_KEY).agg(each).select(*_KEY, judge_grades=grades)
    return scored.join(wide, on=_KEY, how="left", maintain_order="left")


# --- what is declared -------------------------------------------------------------------------------------------------
def _longest(benchmark: Any, model: ModelSpec, judge: ModelSpec) -> list[Task]:
    if model.provider == "replay":
        return []  # nobody knows how much of it will be imported
    found = []
    for name, items in asked(benchmark):
        # No two conditions have equal texts: equal ones would be planned as one.
        texts = [f"{step} {name} ".ljust(ANSWER_CHARACTERS, "x") for step in (STEP_A, B_SOCIAL)]
        found += [Case(item, name, *texts) for item in items]  # type: ignore[arg-type]
    return judge_tasks(found, judge)


def _read(benchmark: Any, transcripts: pl.DataFrame, responses: pl.DataFrame) -> pl.DataFrame:
    if responses.is_empty():
        return pl.DataFrame(schema=JUDGEMENT_SCHEMA)
    name, run = responses.select("model", "run").row(0)
    given, model = cases(benchmark.items, responses), benchmark.context.study.model(name)
    return read_judgements(transcripts, given, benchmark.judges, model=model, run=run)


JUDGING = Judging(
    wanted=lambda benchmark: bool(benchmark.judges),
    judges=lambda benchmark, spec: eligible(benchmark.judges, spec),
    tasks=lambda benchmark, judge, responses: judge_tasks(cases(benchmark.items, responses), judge),
    longest=_longest,
    modes=modes,
    read=_read,
    row=Judgement,
    respondent=lambda benchmark, spec: SimulatedJudge(spec.observer),
    prompt_digest=lambda benchmark: [grades.judge_digest()],
)
