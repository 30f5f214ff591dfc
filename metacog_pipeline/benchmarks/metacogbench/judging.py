"""A language model as the scorer, beside the rules: what judges say of the same kept replies, and how far they agree.

A judgement never enters a score. One call per reply; the reply is quoted line by line and the verdict is read as data.
Judgements are kept as a partition of their own, with the judged model and run (`BENCHMARK`). Agreement is told apart by
whether the judge is the judged model itself, of its family, or of another.
"""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import polars as pl
import pyarrow as pa

from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.observe import UNANSWERED
from metacog_pipeline.benchmarks.metacogbench.parsing.text import without_reasoning
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Constraint, JsonObject, Message, Status
from metacog_pipeline.querying.types import Ask, Task
from metacog_pipeline.stats.agreement import cohen_kappa
from metacog_pipeline.stats.paired import mcnemar_from_data

BENCHMARK = "metacogbench_judgements"
STEP = "judge"
MODES = ("json_schema", "text")
JUDGED_TIERS = ("2a", "2b", "3")
JUDGE_TOKENS = 2_000  # the least a judgement may take
REPLY_CHARACTERS = 20_000  # what a judge is shown of a reply
RELATIONS = ("self", "same family", "other family")
_VERDICT = re.compile(
    r"\bverdict\b[\"'*`\s]{0,9}[:=\-]?[\"'*`\s]{0,9}(pass|fail)(?:es|ed|s)?\b", re.IGNORECASE
)
_BARE = re.compile(r"[\s\"'*`.]*(pass|fail)(?:es|ed|s)?[\s\"'*`.!]*", re.IGNORECASE)

JUDGEMENT_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "dataset", "tier", "condition", "model"), pl.String),
        "run": pl.Int32,
        **dict.fromkeys(("judge", "relation", "item_id"), pl.String),
        **dict.fromkeys(("verdict", "by_rules"), pl.Int8),
        **dict.fromkeys(("status", "reason", "answer_id"), pl.String),
        "cost_usd": pl.Float64,
        "source": pl.String,
    }
)
AGREEMENT_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(
            ("benchmark", "dataset", "source", "tier", "condition", "judge", "relation"), pl.String
        ),
        **dict.fromkeys(("judge_rate", "rules_rate", "difference", "p", "kappa", "low", "high"), pl.Float64),
        **dict.fromkeys(("n", "n_unread"), pl.Int64),
        "status": pl.String,
    }
)


@dataclass(frozen=True, slots=True)
class JudgeWording:
    """The texts a judge is sent: ``tiers`` by tier, ``form`` below each of them."""

    id: str
    system: str
    form: str
    tiers: Mapping[str, str]

    @property
    def digest(self) -> str:
        """SHA-256 over all texts."""
        return sha256_hex(canonical_json([self.system, self.form, dict(self.tiers)]))


@dataclass(frozen=True, slots=True)
class Case:
    """One reply to judge: the observation's row and the task."""

    row: Mapping[str, Any]
    task: str


@functools.cache
def load_judge_wording() -> JudgeWording:
    """Return the shipped texts."""
    given = tomllib.loads(shipped("data", "metacogbench", "judge.toml").read_text("utf-8"))
    return JudgeWording(given["id"], given["system"].strip(), given["form"].strip(), given["tiers"])


def cases(items: Sequence[Item], observations: pl.DataFrame) -> list[Case]:
    """Return the replies of one model and run that can be judged: answered, not empty, of `JUDGED_TIERS`."""
    tasks = {item.item_id: item.stem for item in items}
    kept = observations.filter(
        pl.col("tier").is_in(JUDGED_TIERS),
        ~pl.col("status").is_in(UNANSWERED),
        pl.col("passed").is_not_null(),
    )
    return [
        Case(row, tasks[row["item_id"]])
        for row in kept.iter_rows(named=True)
        if row["item_id"] in tasks and (row["reply"] or "").strip()
    ]


def messages(case: Case, wording: JudgeWording) -> tuple[Message, ...]:
    """Return what a judge is sent about one reply."""
    shown = {"task": case.task, "first": case.row["reply_turn_1"] or "", "reply": case.row["reply"] or ""}
    text = re.sub(
        r"\{\{(task|first|reply)\}\}",
        lambda place: quoted(shown[place[1]]),
        wording.tiers[case.row["tier"]].strip(),
    )
    return (Message("system", wording.system), Message("user", f"{text}\n\n{wording.form}"))


def case_hash(case: Case, wording: JudgeWording) -> str:
    """Return the SHA-256 of everything a judge is sent about a reply."""
    return sha256_hex(canonical_json([message.content for message in messages(case, wording)]))


def quoted(text: str) -> str:
    """Return a text with ``| `` before every line; no line of it can pass for one of the judge's instructions."""
    return "\n".join(f"| {line}" for line in text[:REPLY_CHARACTERS].splitlines()) or "| (nothing)"


def judge_tasks(judged: Sequence[Case], judge: ModelSpec, wording: JudgeWording) -> list[Task]:
    """Return one task per reply, as `querying.panel.Panelist` takes them."""

    def task(case: Case) -> Task:
        async def run(ask: Ask, mode: str) -> None:
            tokens = max(judge.max_tokens, JUDGE_TOKENS)
            await ask(
                STEP, messages(case, wording), constraint=constraint(mode), max_tokens=tokens, top_logprobs=0
            )

        return Task(case.row["item_id"], case_hash(case, wording), case.row["condition"], run)

    return [task(case) for case in judged]


def constraint(mode: str) -> Constraint | None:
    """Return what a judgement is held to: an object with a verdict, in mode ``json_schema``."""
    if mode == "text":
        return None
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["pass", "fail"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    return JsonObject("judgement", json.dumps(schema))


def parse_verdict(text: str) -> bool | None:
    """Return whether a judgement passes the reply; None for one that does not say. The last verdict counts."""
    said = without_reasoning(text)
    found = _VERDICT.findall(said)
    if found:
        return str(found[-1]).lower() == "pass"
    bare = _BARE.fullmatch(said)
    return None if bare is None else bare[1].lower() == "pass"


def relation(judge: ModelSpec, model: ModelSpec) -> str:
    """Return one of `RELATIONS`; a judge or model without a family is of another."""
    if _identity(judge) == _identity(model):
        return RELATIONS[0]
    return RELATIONS[1] if judge.family and judge.family == model.family else RELATIONS[2]


def _identity(spec: ModelSpec) -> tuple[str, str]:
    return spec.provider, spec.model or spec.name


def read_judgements(
    transcripts: pa.Table | pl.DataFrame,
    judged: Sequence[Case],
    judges: Sequence[ModelSpec],
    model: ModelSpec,
    wording: JudgeWording,
) -> pl.DataFrame:
    """Return one row per reply and judge in `JUDGEMENT_SCHEMA`; ``by_rules`` is the verdict of the scorer."""
    given = (
        transcripts
        if isinstance(transcripts, pl.DataFrame)
        else cast(pl.DataFrame, pl.from_arrow(transcripts))
    )
    given = given.filter(pl.col("benchmark") == BENCHMARK, pl.col("step") == STEP)
    if "superseded" in given.columns:
        given = given.filter(~pl.col("superseded"))
    given = given.sort(pl.col("status") != "failed", pl.col("started_at"), maintain_order=True)
    calls = {
        (row["model"], row["item_id"], row["item_hash"], row["condition"]): row
        for row in given.iter_rows(named=True)
    }
    keys = [(case.row["item_id"], case_hash(case, wording), case.row["condition"]) for case in judged]
    rows = [
        _judgement(case, judge, model, calls.get((judge.name, *key)))
        for judge in judges
        for case, key in zip(judged, keys, strict=True)
    ]
    return pl.DataFrame(rows, schema=JUDGEMENT_SCHEMA, orient="row")


def agreement(judgements: pl.DataFrame) -> pl.DataFrame:
    """Return one row per tier, condition, judge and relation in `AGREEMENT_SCHEMA`, over models and runs.

    ``difference`` is the share the judge passes minus the share the rules pass, on the same replies; ``p`` McNemar's exact;
    ``kappa`` Cohen's with its 95 % interval; ``n_unread`` judgements that say neither pass nor fail.
    """
    group = ("dataset", "source", "tier", "condition", "judge", "relation")
    parts = judgements.sort(*group).partition_by(group, maintain_order=True, as_dict=True)
    return pl.DataFrame(
        [row for key, part in parts.items() for row in _agreement(key, part)],
        schema=AGREEMENT_SCHEMA,
        orient="row",
    )


def _agreement(key: tuple[object, ...], part: pl.DataFrame) -> Iterator[tuple[object, ...]]:
    asked = part.filter(pl.col("status") != "not_run")
    both = asked.filter(pl.col("verdict").is_not_null())
    if both.is_empty():
        yield (BENCHMARK, *key, *(None,) * 7, 0, asked.height, "no judgements")
        return
    judge, rules = both["verdict"].to_numpy(), both["by_rules"].to_numpy()
    rates = (float(judge.mean()), float(rules.mean()))
    kappa = cohen_kappa(judge, rules)
    yield (
        BENCHMARK,
        *key,
        *rates,
        rates[0] - rates[1],
        mcnemar_from_data(judge, rules).p_exact,
        *(kappa.value, kappa.low, kappa.high),
        both.height,
        asked.height - both.height,
        kappa.status,
    )


def _judgement(
    case: Case, judge: ModelSpec, model: ModelSpec, call: Mapping[str, Any] | None
) -> tuple[object, ...]:
    verdict = None
    reason: str | None = None
    if call is None:
        status, reason = "not_run", "not asked yet"
    elif call["status"] != Status.OK.value:
        status, reason = str(call["status"]), call["error_message"]
    else:
        verdict = parse_verdict(call["text"])
        status = "ok" if verdict is not None else "unreadable"
        reason = None if verdict is not None else "neither pass nor fail"
    row = case.row
    return (
        BENCHMARK,
        *(row[name] for name in ("dataset", "tier", "condition", "model", "run")),
        judge.name,
        relation(judge, model),
        row["item_id"],
        None if verdict is None else int(verdict),
        row["passed"],
        status,
        reason,
        None if call is None else call["answer_id"],
        None if call is None else call["cost_usd"],
        row["source"],
    )
