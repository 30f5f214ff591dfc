"""The benchmark Self-knowledge: what it declares to the pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.display import numbered
from metacog_pipeline.benchmarks.selfknowledge import items, names, prompts, read, response, sources
from metacog_pipeline.benchmarks.selfknowledge import settings as settings_of
from metacog_pipeline.benchmarks.selfknowledge.board import BOARD
from metacog_pipeline.benchmarks.selfknowledge.construction import pipeline
from metacog_pipeline.benchmarks.selfknowledge.construction.build import Part
from metacog_pipeline.benchmarks.selfknowledge.construction.datasets import dataset_info
from metacog_pipeline.benchmarks.selfknowledge.construction.steps import STEPS
from metacog_pipeline.benchmarks.selfknowledge.contrasts import CONTRASTS, DUAL
from metacog_pipeline.benchmarks.selfknowledge.curves import CURVES
from metacog_pipeline.benchmarks.selfknowledge.importing import IMPORTER
from metacog_pipeline.benchmarks.selfknowledge.items import CONDITIONS, LANGUAGE_OF, asked
from metacog_pipeline.benchmarks.selfknowledge.measures import CODED, MEASURES
from metacog_pipeline.benchmarks.selfknowledge.published import PUBLISHED
from metacog_pipeline.benchmarks.selfknowledge.questions import QUESTIONS
from metacog_pipeline.benchmarks.selfknowledge.simulated import SimulatedRespondent
from metacog_pipeline.benchmarks.selfknowledge.training.steps import TRAINING
from metacog_pipeline.home import Home
from metacog_pipeline.judges.names import with_names
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import OneOf
from metacog_pipeline.study.wording import words_of

ANSWER_TOKENS = 32  # of a reply, as published, unless the row of the model says otherwise


def _source(name: str) -> contract.Source:
    def fetch(home: Home, **how: Any) -> Any:
        return sources.fetch(home, (name,), **how)[0]

    found = sources.SOURCES[name]
    return contract.Source(
        name, (found.url,), "as its publisher says", fetch, lambda home: sources.kept_digest(home, name)
    )


class SelfKnowledge(contract.Benchmark[settings_of.Settings, items.Item, response.Response]):
    """A question, and apart from it whether the answer is known."""

    name = "selfknowledge"
    title = "Self-knowledge (ESMA)"
    paper = contract.Paper(
        "Fine-Tuning Language Models to Know What They Know",
        "Sangjun Park, Elliot Meyerson, Xin Qiu, Risto Miikkulainen",
        2026,
        "arXiv:2602.02605",
        "https://arxiv.org/abs/2602.02605",
        numbered(Figure=18, Table=7),
    )
    Settings, Item, Response = settings_of.Settings, items.Item, response.Response
    versions: ClassVar[Mapping[contract.Stage, str]] = {
        **dict.fromkeys(contract.Stage, "1"),
        contract.Stage.PARSING: "17",
        contract.Stage.SCORING: "7",
    }
    answer_modes = ("text", "choice")
    unreadable = ("meta_invalid", "refused")
    monitored_under = (DUAL,)
    coded = CODED
    sources = tuple(_source(name) for name in sources.SOURCES)
    measures = MEASURES
    contrasts = CONTRASTS
    questions = QUESTIONS
    tables = (CURVES,)
    published = PUBLISHED
    board = BOARD
    importer = IMPORTER
    judging = names.JUDGING
    training = TRAINING
    trial_settings: ClassVar = {"limit": 12, "languages": ["en", "es"]}

    ladders = (
        contract.Ladder("accuracy", "accuracy", 0.3, 0.9),
        contract.Ladder("d_type2", "d_type2", 0.0, 2.5),
        contract.Ladder("yes_ratio", "yes_bias", -1.0, 1.0),
    )
    gate_settings: ClassVar = {"limit": 100, "languages": ["en"]}

    # items
    def probes(self) -> Iterable[contract.Probe]:
        """Return each answerable question in English with the answers that are accepted."""
        for item in self.items:
            if accepted := item.accepted():
                text = item.question() or ""
                yield contract.Probe("answers", item.item_id, (), accepted, text, cluster=item.cluster)

    def construction(self) -> tuple[contract.Step, ...]:
        """Sources, then items."""
        return STEPS

    def needed_sources(self) -> tuple[str, ...]:
        """None for the sample or a folder."""
        return pipeline.needed_sources(self.settings.dataset, self.settings.split, self.folder)

    @property
    def folder(self) -> Path | None:
        """The folder of files got elsewhere, where the study names one."""
        return None if self.settings.folder is None else self.context.beside(self.settings.folder)

    @property
    def split(self) -> str:
        """The part of the data set the study asks."""
        return dataset_info(self.settings.dataset).split(self.settings.split)

    def parts(self) -> list[Part]:
        """Return the files the items are built from, verified."""
        return pipeline.load_parts(self.context.home, self.settings.dataset, self.split, self.folder)

    # asking
    @cached_property
    def wording(self) -> prompts.Wording:
        """The words of the prompts."""
        return words_of(self.context.study, self.settings.wording, prompts.load_wording)

    def conditions(self) -> tuple[contract.Condition, ...]:
        """One per language, and the question with leave to abstain."""
        duals = {LANGUAGE_OF[name]: name for name in CONDITIONS if not prompts.gives_leave(name)}
        leave = {LANGUAGE_OF[name]: name for name in CONDITIONS if prompts.gives_leave(name)}
        names = [duals[language] for language in self.settings.languages]
        names += [leave[language] for language in self.settings.idk_languages]
        return tuple(
            contract.Condition(
                name,
                lambda every, name=name: asked(every, name),  # type: ignore[misc]
                content=LANGUAGE_OF[name],
            )
            for name in names
        )

    def modes(self, spec: ModelSpec) -> tuple[str, ...]:
        """Text, unless the model's row asks for a mode there is: what a model says of its own accord is measured."""
        return (spec.answer_mode,) if spec.answer_mode in self.answer_modes else ("text",)

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        """For the answer, then whether it is known; once with leave to abstain."""
        return prompts.condition_steps(condition)

    def worded_by(self, condition: str) -> str:
        """Return the digest of the texts."""
        return self.wording.condition_digest(condition)

    async def ask(self, item: items.Item, condition: str, chat: contract.Chat) -> None:
        """Ask each step in a context of its own, so that no answer can lean on another.

        A model in mode ``choice`` is held to the yes word and the no word of the language in the meta step. Token
        log-probabilities are asked for there: they tell how sure a yes is.
        """
        limit = chat.spec.max_tokens if "max_tokens" in chat.spec.model_fields_set else ANSWER_TOKENS
        words = prompts.YES_NO[LANGUAGE_OF[condition]]
        for step in self.steps(condition):
            await chat(
                step,
                prompts.messages(item, condition, step, self.wording),
                constraint=OneOf(words) if chat.mode == "choice" and step == prompts.META else None,
                max_tokens=limit,
                top_logprobs=None if step == prompts.META else 0,
                send_temperature=self.settings.decoding == "greedy",
            )

    def observer(self, parameters: ObserverSpec) -> contract.Respondent:
        """Return the observer of `simulated`."""
        return SimulatedRespondent(self.items, parameters, self.wording)

    # reading
    def parse(self, item: items.Item, condition: str, calls: contract.Calls) -> response.Response:
        """Read by the study's rules."""
        settings, worded = self.settings, self.worded_by(condition)
        return response.read(
            item, condition, calls, rule=settings.matching, yes_no=settings.yes_no, wording=worded
        )

    def again(self, item: items.Item, condition: str, calls: contract.Calls) -> Iterable[tuple[str, str]]:
        """Return the steps to ask once more, each with the form to ask for."""
        return read.again(item.accepted(LANGUAGE_OF[condition]), calls)

    def derive(self, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
        """Add what is counted beside what was read.

        ``threshold``: D > 0.5, a tie is a no. ``yes`` under ``idk``: the answer was not withheld. ``all_aligned`` under
        ``idk``: being right and saying yes under ``dual``, and not abstaining here, are all three the same.
        """
        responses = with_names(responses, judgements)
        keys = ("dataset", "model", "run", "language", "item_id")
        failed, idk = (
            pl.col("status").is_in(self.unanswered),
            pl.col("condition").str.starts_with(prompts.IDK),
        )
        dual = responses.filter(pl.col("condition").str.starts_with(DUAL)).select(
            *keys,
            _dual_correct=pl.when(~failed).then(pl.col("correct")),
            _dual_yes=pl.when(~failed).then(pl.col("yes")),
            _dual_failed=failed,
        )
        tried = 1 - pl.col("abstained")
        aligned = (pl.col("_dual_correct") == pl.col("_dual_yes")) & (pl.col("_dual_yes") == tried)
        known = ("_dual_correct", "_dual_yes", "abstained")
        whole = pl.all_horizontal(pl.col(name).is_not_null() for name in known)
        joined = responses.with_columns(_here=pl.when(idk).then(pl.col("item_id"))).join(
            dual, left_on=[*keys[:4], "_here"], right_on=list(keys), how="left", maintain_order="left"
        )
        return joined.with_columns(
            yes=pl.when(idk).then(tried).otherwise(pl.col("yes")).cast(pl.Int8),
            threshold=(pl.col("confidence") > 0.5).cast(pl.Int8),
            all_aligned=pl.when(idk & whole).then(aligned).cast(pl.Int8),
            _partner_failed=(idk & pl.col("_dual_failed").fill_null(False)).cast(pl.Int64),
        )

    def harmonise(self, responses: pl.DataFrame) -> pl.DataFrame:
        """Return right or wrong and P(yes) / (P(yes) + P(no)) of the dual conditions; how many could be right is open."""
        dual = responses.filter(pl.col("condition").str.starts_with(DUAL))
        return dual.with_columns(
            correct=pl.col("correct").cast(pl.Float64), n_alternatives=pl.lit(None, pl.Int32)
        )
