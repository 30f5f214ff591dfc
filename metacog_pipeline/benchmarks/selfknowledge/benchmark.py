"""The benchmark Self-knowledge: what it declares to the pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from typing import Any, ClassVar

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmarks.selfknowledge import imports, items, prompts, published, read, report
from metacog_pipeline.benchmarks.selfknowledge.contrasts import CONTRASTS, QUESTIONS
from metacog_pipeline.benchmarks.selfknowledge.items import DUAL, IDK, LANGUAGE_OF, PRECEDED, SOURCES
from metacog_pipeline.benchmarks.selfknowledge.measures import CODED, CURVES, MEASURES
from metacog_pipeline.benchmarks.selfknowledge.prompts import DIRECT, META
from metacog_pipeline.benchmarks.selfknowledge.settings import REFERENCE, Settings
from metacog_pipeline.benchmarks.selfknowledge.simulated import SimulatedRespondent
from metacog_pipeline.benchmarks.selfknowledge.training.steps import TRAINING
from metacog_pipeline.judges.names import Asked, names_judging, with_names
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import OneOf
from metacog_pipeline.reading.calls import ended, read_step
from metacog_pipeline.reading.names import ShortText
from metacog_pipeline.study.wording import words_of

# of a reply, as published, unless the row of the model says otherwise
ANSWER_TOKENS = 32


def _undecided(responses: pl.DataFrame) -> pl.DataFrame:
    """Return the replies in which no accepted answer is found as it is written; published rules stay as they are."""
    held = pl.col("abstained").is_null() | (pl.col("abstained") == 0)
    wrong = responses.filter(held, status="ok", correct=0, matching="entities")
    return wrong.select("item_id", "condition", reply="output")


def _asked(item: items.Item, condition: str) -> Asked | None:
    question, accepted = item.question(LANGUAGE_OF[condition]), item.accepted(LANGUAGE_OF[condition])
    return Asked(question, accepted) if question and accepted else None


JUDGING = names_judging(_undecided, _asked)


class SelfKnowledge(contract.Benchmark[Settings, items.Item, read.Response]):
    """A question, and in a context of its own whether the answer is known."""

    name = "selfknowledge"
    title = "Self-knowledge (ESMA)"
    paper = contract.Paper(
        "Fine-Tuning Language Models to Know What They Know", "Sangjun Park, Elliot Meyerson, Xin Qiu, Risto Miikkulainen",
        2026, "arXiv:2602.02605", "https://arxiv.org/abs/2602.02605",
    )  # fmt: skip
    Settings, Item, Response = Settings, items.Item, read.Response
    versions: ClassVar[Mapping[contract.Stage, str]] = {
        **dict.fromkeys(contract.Stage, "1"), contract.Stage.PARSING: "18", contract.Stage.SCORING: "9",
    }  # fmt: skip
    answer_modes = ("text", "choice")
    unreadable = ("meta_invalid", "refused")
    coded = CODED
    sources = tuple(each.declared for each in SOURCES.values())
    measures = MEASURES
    contrasts = CONTRASTS
    questions = QUESTIONS
    tables = (CURVES,)
    published = published.PUBLISHED
    board = report.BOARD
    importer = imports.Rows
    judging = JUDGING
    training = TRAINING
    trial_settings: ClassVar = {"limit": 12, "languages": ["en", "es"], "preceded": True}

    ladders = tuple(contract.Ladder(*each) for each in (
        ("accuracy", "accuracy", 0.3, 0.9), ("d_type2", "d_type2", 0.0, 2.5), ("yes_ratio", "yes_bias", -1.0, 1.0),
        ("c_type2", "yes_bias", 1.0, -1.0), ("abstain_d", "d_type2", 0.0, 2.5),
    ))  # fmt: skip
    gate_settings: ClassVar = {"limit": 100, "languages": ["en"], "preceded": False}

    def probes(self) -> Iterable[contract.Probe]:
        for item in self.items:
            if accepted := item.accepted():
                text = item.question() or ""
                yield contract.Probe("answers", item.item_id, (), accepted, text, cluster=item.cluster)

    def construction(self) -> tuple[contract.Step, ...]:
        return items.STEPS

    @property
    def split(self) -> str:
        """The part of the data set the study asks."""
        return items.split_of(self.settings.dataset, self.settings.split)

    def needed_sources(self) -> tuple[str, ...]:
        own = items.PARTS[self.settings.dataset][self.split]
        return (*own, items.REFERENCE_PROMPTS) if self.settings.wording == REFERENCE else own

    @cached_property
    def wording(self) -> prompts.Wording:
        """The words of the prompts."""
        if self.settings.wording == REFERENCE:
            ours = {("en", PRECEDED): prompts.load_wording().template("en", PRECEDED)}
            theirs = items.reference_prompts(SOURCES[items.REFERENCE_PROMPTS].load(self.study.home))
            return prompts.Wording("reference", ours | theirs)
        return words_of(self.study, self.settings.wording, prompts.load_wording)

    def conditions(self) -> tuple[contract.Condition, ...]:
        wanted = {DUAL: self.settings.languages, IDK: self.settings.idk_languages}
        names = [f"{kind}_{code}".removesuffix("_en") for kind, codes in wanted.items() for code in codes]
        names += [PRECEDED] if self.settings.preceded else []
        asked = {name: partial(items.asked, condition=name) for name in names}
        return tuple(contract.Condition(name, of, content=LANGUAGE_OF[name]) for name, of in asked.items())

    def modes(self, spec: ModelSpec) -> tuple[str, ...]:
        return (spec.answer_mode,) if spec.answer_mode in self.answer_modes else ("text",)

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        return prompts.condition_steps(condition)

    def prompt_digest(self, condition: str) -> str:
        return self.wording.condition_digest(condition)

    async def ask(self, item: items.Item, condition: str, chat: contract.Chat) -> None:
        """Ask each step in a context of its own, so that no answer can lean on another."""
        limit = chat.spec.max_tokens if "max_tokens" in chat.spec.model_fields_set else ANSWER_TOKENS
        same: Any = {"max_tokens": limit, "send_temperature": self.settings.decoding == "greedy"}
        held = OneOf(prompts.YES_NO[LANGUAGE_OF[condition]]) if chat.mode == "choice" else None
        for step in self.steps(condition):
            # Log-probabilities of the meta reply tell how sure a yes is; None asks for as many as the model's row says.
            own: Any = {"constraint": held, "top_logprobs": None} if step == META else {"top_logprobs": 0}
            await chat(step, prompts.messages(item, condition, step, self.wording), **own, **same)

    def observer(self, parameters: ObserverSpec) -> contract.Respondent:
        return SimulatedRespondent(self.items, parameters, self.wording)

    def parse(self, item: items.Item, condition: str, calls: contract.Calls) -> read.Response:
        rule, yes_no, worded = self.settings.matching, self.settings.yes_no, self.prompt_digest(condition)
        return read.read_response(item, condition, calls, rule=rule, yes_no=yes_no, wording=worded)

    def again(self, item: items.Item, condition: str, calls: contract.Calls) -> Iterable[tuple[str, str]]:
        field = ShortText(item.accepted(LANGUAGE_OF[condition]))
        forms = ((META, read.Known(), "Yes or No"), (DIRECT, field, "the answer alone, in a few words"))
        for step, asked, form in forms:
            if step in calls and ended(calls[step]) is None:
                answer = read_step(calls, step, [asked])["answer"]
                if answer.status in ("no_answer", "ambiguous") and not answer.withheld:
                    yield step, form

    def derive(self, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
        """Add what rests on two conditions, where one question was asked."""
        responses = with_names(responses, judgements)
        keys = ("dataset", "model", "run", "language", "item_id")
        failed, dual = pl.col("status").is_in(self.unanswered), pl.col("condition").str.starts_with(DUAL)
        knew, yes = (pl.when(~failed).then(pl.col(name)) for name in ("correct", "yes"))
        there = responses.filter(dual).select(*keys, knew=knew, _dual_yes=yes, _dual_failed=failed)
        tried = 1 - pl.col("abstained")
        # Right and yes when asked for the answer, and not abstaining here: all three or none.
        aligned = (pl.col("knew") + pl.col("_dual_yes") + tried).is_in([0, 3])
        joined = responses.with_columns(_here=pl.when(~dual).then(pl.col("item_id"))).join(
            there, left_on=[*keys[:4], "_here"], right_on=list(keys), how="left", maintain_order="left"
        )
        return joined.with_columns(
            yes=pl.when(dual).then(pl.col("yes")).otherwise(tried).cast(pl.Int8),
            all_aligned=aligned.cast(pl.Int8),
            _partner_failed=pl.col("_dual_failed").fill_null(False).cast(pl.Int64),
        ).drop("_here", "_dual_yes", "_dual_failed")

    def harmonise(self, responses: pl.DataFrame) -> pl.DataFrame:
        dual = responses.filter(pl.col("condition").str.starts_with(DUAL))
        right, none = pl.col("correct").cast(pl.Float64), pl.lit(None, pl.Int32)
        return dual.with_columns(correct=right, n_alternatives=none)
