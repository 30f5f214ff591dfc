"""Judges: models, the judged model itself among them, that give a verdict on the replies the rules score.

A judge reads the free reply with everything said before it, quoted line by line, so that no line of it can pass for one of
the judge's instructions. It does not see the choice that follows, so of 2a and 2b its verdict is held against the keyword
rules as well, which read the same reply. A judgement enters a score only where words alone do not decide.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from metacog_pipeline.asking.types import Task
from metacog_pipeline.benchmark.contract import Flag, Judging, Scored, Small, schema_of
from metacog_pipeline.benchmark.item import uniforms
from metacog_pipeline.benchmarks.metacogbench import prompts
from metacog_pipeline.benchmarks.metacogbench.groups import Floats, item_weights, summed
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK, CONDITIONS, Item
from metacog_pipeline.benchmarks.metacogbench.read import NOT_READ, UNANSWERED
from metacog_pipeline.benchmarks.metacogbench.rules import score
from metacog_pipeline.benchmarks.metacogbench.simulated import PHRASES
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.judges import verdicts
from metacog_pipeline.judges.verdicts import columns_of, digest, judge_calls, quoted, task, unquoted
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, Message
from metacog_pipeline.reading.calls import TOO_LONG, Call
from metacog_pipeline.stats.estimate import OK, SINGLE_ITEM
from metacog_pipeline.stats.intervals import wilson_interval

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metacogbench import MetaCogBench

# in a study's list of judges: the model that is judged
SELF = "self"
REFUSAL = "I would rather not judge this."
# κ has no value
ONE_CATEGORY = "one category used by both"
_PLACES = ("task", "first", "next", "reply")
_PLACE = re.compile(rf"\{{\{{({'|'.join(_PLACES)})\}}\}}")
_QUOTATION = re.compile(r"(?m)^\| [^\n]*(?:\n\| [^\n]*)*")


# --- what is judged ---------------------------------------------------------------------------------------------------
class Case(NamedTuple):
    """One reply to judge. ``said`` maps the places of the judge's wording to texts, ``passed`` is the verdict of the rules
    that read that reply alone (None where nothing decides)."""

    item_id: str
    tier: str
    condition: str
    said: Mapping[str, str]
    dataset: str = ""
    passed: int | None = None
    source: str = ""

    @property
    def kind(self) -> str:
        """Which text of the judge's wording is about it: the tier, and whether a prediction took two turns."""
        return f"{self.tier}_two_turn" if self.tier == "1b" and "first" in self.said else self.tier


def cases(items: Sequence[Item], responses: pl.DataFrame, wording: prompts.Wording) -> list[Case]:
    """Return the replies of one model and run that can be judged: answered, not empty and not left to a partner."""
    by_id = {item.item_id: item for item in items}
    unjudged = pl.col("status").is_in((*UNANSWERED, TOO_LONG)) | pl.col("delegated").eq_missing(1)
    by_words = pl.when(pl.col("tier").is_in(["2a", "2b"])).then("passed_keywords").otherwise("passed")
    columns = ("item_id", "condition", "first", "reply_turn_1", "reply", "dataset")
    found = []
    for name, condition, first, earlier, reply, *rest in (
        responses.filter(~unjudged).select(*columns, by_words.alias("by_words"), "source").iter_rows()
    ):  # fmt: skip
        if (item := by_id.get(name)) is not None and (reply or "").strip():
            said = _said(item, condition, wording, earlier or "", reply, first)
            found.append(Case(name, item.tier, condition, said, *rest))
    return found


def longest(
    items: Sequence[Item], conditions: Sequence[str], wording: prompts.Wording, length: int, *firsts: str
) -> Iterator[Case]:
    """Yield for every item and condition a case with replies of ``length`` characters, unlike for each; of 2b one for each
    of the ``firsts`` that a challenge can be against."""
    for condition in conditions:
        for item in prompts.applicable(items, condition):
            reply = f"{item.item_id} {condition} ".ljust(length, "x")
            for first in firsts or ("first",) if item.tier == "2b" else (None,):
                said = _said(item, condition, wording, reply, reply, first)
                yield Case(item.item_id, item.tier, condition, said)


def _said(
    item: Item, condition: str, wording: prompts.Wording, earlier: str, reply: str, first: str | None
) -> dict[str, str]:
    steps = prompts.item_steps(item, condition)
    asked = prompts.user_message(item, condition, steps[0], wording)
    if prompts.TURN_2 not in steps:
        return {"task": asked, "reply": reply}
    following = prompts.user_message(item, condition, prompts.TURN_2, wording, first)
    return {"task": asked, "first": earlier, "next": following, "reply": reply}


@functools.cache
def judge_words() -> dict[str, Any]:
    """Return the texts a judge is sent: ``tiers`` by `Case.kind`, and ``form`` below each of them."""
    given = tomllib.loads(shipped("data", "metacogbench", "judge.toml").read_text("utf-8"))
    tiers = {kind: text.strip() for kind, text in given["tiers"].items()}
    return {"system": given["system"].strip(), "form": given["form"].strip(), "tiers": tiers}


def messages(case: Case) -> tuple[Message, ...]:
    """Return what a judge is sent about one reply."""
    words = judge_words()
    text = _PLACE.sub(lambda place: quoted(case.said[place[1]]), words["tiers"][case.kind])
    return (Message("system", words["system"]), Message("user", f"{text}\n\n{words['form']}"))


def quotations(message: str) -> dict[str, str]:
    """Return what a message about a case quotes, by place."""
    found = [unquoted(each) for each in _QUOTATION.findall(message)]
    return dict(zip(_PLACES if len(found) == len(_PLACES) else ("task", "reply"), found, strict=False))


# --- judgements -------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Judgement:
    """The verdict of a judge on a reply."""

    benchmark: str
    dataset: str
    tier: str
    condition: str
    model: str
    run: Small
    judge: str  # its name in the study's list
    judge_model: str  # who was asked
    relation: str
    item_id: str
    # 1 for a pass, null where it says neither
    verdict: Flag
    # that of the rules that read the same reply
    by_rules: Flag
    status: str
    reason: str | None
    mode: str | None
    answer_id: str | None
    cost_usd: float | None
    source: str


def judges_of(bench: MetaCogBench, model: ModelSpec) -> list[tuple[str, ModelSpec]]:
    """Return who judges ``model``, by their names in the study's list; the reader model where the table names none."""
    rows = {row.name: row for row in bench.study.judges}
    reader = bench.study.reader_model
    names = bench.settings.judges or (() if reader is None else (reader.name,))
    return [(name, model if name == SELF else rows[name]) for name in names]


def relation(judge: ModelSpec, model: ModelSpec) -> str:
    """Return what a judge is to a model; ``self`` for the same model under another name, too."""
    if judge.name == model.name or judge.identity_json == model.identity_json:
        return SELF
    if not judge.family or not model.family:
        return "family unknown"
    return "same family" if judge.family.casefold() == model.family.casefold() else "other family"


def _judge_tasks(judged: Iterable[Case], judge: ModelSpec) -> list[Task]:
    return [task(each.item_id, each.condition, messages(each), judge) for each in judged]


def _judgements(bench: MetaCogBench, transcripts: pl.DataFrame, responses: pl.DataFrame) -> pl.DataFrame:
    """Return one row per reply and judge; a judgement of another text than the case's is passed over."""
    schema, rows = schema_of(Judgement), list[dict[str, Any]]()
    if responses.is_empty():
        return schema.to_frame()
    model, run = bench.study.model(responses["model"][0]), int(responses["run"][0])
    judged = cases(bench.items, responses, bench.wording)
    calls = judge_calls(transcripts, "model", "item_id", "condition", "item_hash")
    for name, judge in judges_of(bench, model):
        for case in judged:
            call = calls.get((judge.name, case.item_id, case.condition, digest(messages(case))))
            of = {name: getattr(case, name) for name in ("dataset", "tier", "condition", "item_id")}
            whose = {"benchmark": BENCHMARK, "model": model.name, "run": run, "judge": name}
            who = {"judge_model": judge.name, "relation": relation(judge, model), "by_rules": case.passed}
            rows.append({**of, **whose, **who, **columns_of(call, judge, case.source)})
    return pl.DataFrame(rows, schema=schema, orient="row")


class SimulatedJudge:
    """Judges replies to ``items`` asked with ``wording``; deterministic in reply, observer and the run's seed."""

    # With chance `accuracy` of the observer its verdict is that of the rules on the reply it is shown, otherwise the other;
    # `untidiness` and `refusal` say how often it leaves the form, or says nothing.
    def __init__(self, items: Sequence[Item], observer: ObserverSpec, wording: prompts.Wording) -> None:
        self.observer = observer
        self._items: dict[tuple[str, str], Item] = {}
        by_id = {item.item_id: item for item in items}
        for case in longest(items, CONDITIONS, wording, 0, "first", "other"):
            asked, following = (unquoted(quoted(case.said.get(place, ""))) for place in ("task", "next"))
            self._items.setdefault((asked, following), by_id[case.item_id])

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` asks for a judgement of a reply to one of the items."""
        return self._case(request)[0] is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the judgement; nothing where ``request`` asks for none."""
        item, said = self._case(request)
        if item is None:
            return ""
        condition = prompts.ONE_TURN if item.tier == "1b" and "first" not in said else prompts.FREE
        calls = {prompts.scored_step(item, condition): Call("ok", said["reply"])}
        calls |= {prompts.TURN_1: Call("ok", said["first"])} if "first" in said else {}
        by_rules = score(item, calls, condition).values["passed_keywords" if item.options else "passed"]
        key = canonical_json([self.observer.seed, item.item_id, sorted(said.items()), request.sampling.seed])
        errs, refuses, slips, form, *_ = uniforms(key)
        verdict = "pass" if bool(by_rules) == (errs < self.observer.accuracy) else "fail"
        if not isinstance(request.constraint, JsonObject):
            if refuses < self.observer.refusal:
                return REFUSAL
            if slips < self.observer.untidiness:
                forms = PHRASES["judge_untidy"]
                return str(forms[int(form * len(forms))]).format(verdict=verdict)
        return f'{{"verdict": "{verdict}"}}'

    def _case(self, request: ChatRequest) -> tuple[Item | None, dict[str, str]]:
        asked = [message.content for message in request.messages if message.role == "user"]
        said = quotations(asked[0]) if len(asked) == 1 else {}
        return self._items.get((said.get("task", ""), said.get("next", ""))), said


JUDGING = Judging(
    wanted=lambda bench: bool(bench.settings.judges) or bench.study.reader_model is not None,
    judges=lambda bench, model: tuple(judge for _, judge in judges_of(bench, model)),
    tasks=lambda bench, judge, responses: _judge_tasks(cases(bench.items, responses, bench.wording), judge),
    longest=lambda bench, model, judge: _judge_tasks(
        longest(bench.items, [each.name for each in bench.conditions()], bench.wording, verdicts.REPLY_CHARACTERS), judge
    ),
    modes=verdicts.modes,
    read=_judgements,
    row=Judgement,
    respondent=lambda bench, spec: SimulatedJudge(bench.items, spec.observer, bench.wording),
    prompt_digest=lambda bench: [sha256_hex(canonical_json([*judge_words().values()])), bench.wording.digest],
)  # fmt: skip


def with_judgements(responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
    """Return the responses of a model and run; where words alone do not decide, the first judge of the study's list that is
    not the model itself does."""
    if judgements is None:
        return responses
    deciding = judgements.filter(pl.col("verdict").is_not_null(), pl.col("relation") != SELF)
    where = ["condition", "item_id"]
    first = deciding.group_by(where, maintain_order=True).agg(_decided=pl.col("verdict").first())
    joined = responses.join(first, on=where, how="left", maintain_order="left")
    by_judge = (pl.col("status") == NOT_READ) & pl.col("_decided").is_not_null()
    values: dict[str, Any] = {"passed": pl.col("_decided"), "basis": BY_JUDGE, "status": "ok", "reason": None}
    return joined.with_columns(
        pl.when(by_judge).then(new if name == "passed" else pl.lit(new)).otherwise(name).alias(name)
        for name, new in values.items()
    ).drop("_decided")


# --- judges against rules ---------------------------------------------------------------------------------------------
_BOTH = {"headline": "passed", "keywords": "passed_keywords", "keywords_v1": "passed_keywords_v1"}
#: The rules a judge is compared with, by tier: their names and the columns of a response.
RULES: Mapping[str, Mapping[str, str]] = {
    "1a": {"headline": "passed"},
    "1b": {"headline": "passed", "keywords": "passed_keywords"},
    "2a": _BOTH,
    "2b": _BOTH,
    "3": {"headline": "passed", "core_required": "passed_core"},
}
# what such a verdict rests on
BY_JUDGE = "judge"
NO_JUDGEMENTS = "no judgements"
_GROUP = ("dataset", "source", "tier", "condition", "judge", "relation")
_KEY = ("dataset", "condition", "model", "run", "item_id")


@dataclass(slots=True)
class Agreement:
    """A judge and a rule on the same n replies, of a model or of all (``model`` null).

    ``measure``: ``judge_rate`` and ``rules_rate`` are shares passed; ``difference`` is judge minus rules: how far the tier
    would move; ``accuracy`` the share of replies on which both say the same; ``kappa`` Cohen's. The ends of the 95 %
    intervals are percentiles over resampled items; where all replies agree, that of ``accuracy`` is Wilson's over items.
    ``n_unread`` judgements say neither, or were refused; ``n_missing`` replies were not asked about, or without an answer.
    """

    benchmark: str
    dataset: str
    source: str
    tier: str
    condition: str
    judge: str
    relation: str
    model: str | None
    rule: str
    measure: str
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    n_items: int
    n_unread: int
    n_missing: int
    status: str


def agreement(benchmark: MetaCogBench, scored: Scored) -> pl.DataFrame:
    """Return the measures of every tier, condition, judge, relation and rule, of each model and of all."""
    schema = schema_of(Agreement)
    if scored.judgements is None or scored.judgements.is_empty():
        return schema.to_frame()
    # A verdict that is itself that of a judge is none of the rules.
    by_rule = pl.when(pl.col("basis").ne_missing(BY_JUDGE)).then("passed")
    verdicts = scored.responses.select(
        *_KEY, "passed_keywords", "passed_keywords_v1",
        passed=by_rule, passed_core=pl.col("passed") * pl.col("core_ok").fill_null(0),
    )  # fmt: skip
    both = scored.judgements.join(verdicts, on=list(_KEY), how="left").sort(*_GROUP, "model")
    rows: list[tuple[object, ...]] = []
    for names in (_GROUP, (*_GROUP, "model")):
        for key, part in both.partition_by(names, maintain_order=True, as_dict=True).items():
            own, model = key[: len(_GROUP)], key[len(_GROUP)] if len(key) > len(_GROUP) else None
            for rule, column in RULES[str(key[2])].items():
                found = _measured(part, column, benchmark.seed)
                rows += [(BENCHMARK, *own, model, rule, *each) for each in found]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _measured(part: pl.DataFrame, column: str, seed: int) -> Iterator[tuple[object, ...]]:
    """Yield every measure of one judge and one rule: estimate, interval, counts and status."""
    read = part.filter(pl.col("verdict").is_not_null(), pl.col(column).is_not_null())
    unread = part["status"].is_in(["unreadable", "refused"]).sum()
    counts = read["item_id"].n_unique(), unread, part["status"].is_in([*UNANSWERED, TOO_LONG]).sum()
    # Of each item: replies passed by both, by the judge only, by the rules only, by neither.
    kind = 2 * (read["verdict"] != 1).cast(pl.Int64) + (read[column] != 1).cast(pl.Int64)
    items = read["item_id"].rank("dense").cast(pl.Int64) - 1
    tallied = np.bincount((4 * items + kind).to_numpy(), minlength=4 * counts[0])
    cells = tallied.reshape(-1, 1, 4).astype(np.float64)
    for name, made in _MEASURES.items():
        if read.is_empty():
            yield (name, None, None, None, 0, *counts, NO_JUDGEMENTS)
            continue
        found = summed(item_weights(str(part["tier"][0]), len(cells), seed), cells, made).estimate()
        low, high = found.low, found.high
        if name == "accuracy" and found.value == 1.0 and len(cells) > 1:
            low, high = wilson_interval(1.0, len(cells))
        status = ONE_CATEGORY if found.value is None else SINGLE_ITEM if len(cells) < 2 else OK
        yield (name, found.value, low, high, read.height, *counts, status)


def _kappa(totals: Floats) -> Floats:
    """Return Cohen's kappa of counts; NaN where both use one and the same category only."""
    n = totals.sum(axis=-1)
    judge, rules = (totals[..., 0] + totals[..., 1]) / n, (totals[..., 0] + totals[..., 2]) / n
    chance = judge * rules + (1 - judge) * (1 - rules)
    same = (totals[..., 0] + totals[..., 3]) / n
    made: Floats = np.where(1 - chance > 1e-12, (same - chance) / (1 - chance), np.nan)
    return made


_MEASURES: Mapping[str, Callable[[Floats], Floats]] = {
    "judge_rate": lambda totals: (totals[..., 0] + totals[..., 1]) / totals.sum(axis=-1),
    "rules_rate": lambda totals: (totals[..., 0] + totals[..., 2]) / totals.sum(axis=-1),
    "difference": lambda totals: (totals[..., 1] - totals[..., 2]) / totals.sum(axis=-1),
    "accuracy": lambda totals: (totals[..., 0] + totals[..., 3]) / totals.sum(axis=-1),
    "kappa": _kappa,
}
