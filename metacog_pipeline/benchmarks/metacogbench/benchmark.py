"""The benchmark MetaCog-Bench: what it declares to the pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import ClassVar

import polars as pl

from metacog_pipeline.benchmark.contract import (
    Benchmark,
    Calls,
    Chat,
    Condition,
    Ladder,
    Paper,
    Probe,
    Respondent,
    Stage,
    Step,
    Table,
)
from metacog_pipeline.benchmark.display import numbered
from metacog_pipeline.benchmarks.metacogbench import asking, items, prompts, read, response
from metacog_pipeline.benchmarks.metacogbench import settings as settings_of
from metacog_pipeline.benchmarks.metacogbench.board import BOARD
from metacog_pipeline.benchmarks.metacogbench.construction import STEPS
from metacog_pipeline.benchmarks.metacogbench.contrasts import CONTRASTS
from metacog_pipeline.benchmarks.metacogbench.importing import IMPORTER
from metacog_pipeline.benchmarks.metacogbench.judging import JUDGING
from metacog_pipeline.benchmarks.metacogbench.judging.agreement import Agreement, agreement, with_judgements
from metacog_pipeline.benchmarks.metacogbench.lengths import LengthRate, lengths
from metacog_pipeline.benchmarks.metacogbench.measures import MEASURES
from metacog_pipeline.benchmarks.metacogbench.prompts import Wording, load_wording
from metacog_pipeline.benchmarks.metacogbench.published import PUBLISHED
from metacog_pipeline.benchmarks.metacogbench.questions import QUESTIONS
from metacog_pipeline.benchmarks.metacogbench.reliability import ReliabilityBin, of_bins
from metacog_pipeline.benchmarks.metacogbench.sensitivity import SensitivityRow, of_group, with_tau
from metacog_pipeline.benchmarks.metacogbench.simulated import SimulatedRespondent
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.study.wording import words_of


class MetaCogBench(Benchmark[settings_of.Settings, items.Item, response.Response]):
    """The benchmark bound to one study."""

    name = items.BENCHMARK
    title = "MetaCog-Bench"
    paper = Paper(
        "MetaCog-Bench: A Process-Based Benchmark for Evaluating Metacognitive Monitoring and Control in Large "
        "Language Models",
        "anonymous",
        2026,
        "under review",
        "https://openreview.net/forum?id=ayRu5RL4Hb",
        numbered(Figure=5, Table=7),
    )
    Settings, Item, Response = settings_of.Settings, items.Item, response.Response
    versions: ClassVar[Mapping[Stage, str]] = {
        **dict.fromkeys(Stage, "1"),
        Stage.PARSING: "20",
        Stage.JUDGING: "2",
        Stage.SCORING: "9",
    }
    answer_modes = asking.MODES
    unanswered, unreadable = response.UNANSWERED, response.UNREADABLE
    monitored_under = ("free",)
    measures = (MEASURES,)
    contrasts = CONTRASTS
    questions = QUESTIONS
    tables = (
        Table(
            "sensitivity", SensitivityRow, None,
            "One tier of a model under one setting of one threshold; what was read is not read again.",
            ("dataset", "condition", "model", "tier", "threshold", "setting"), of_group, with_tau,
            version="2",
        ),
        Table(
            "reliability", ReliabilityBin, None,
            "One bin of a reliability diagram: how often answers stated with about the same confidence are right.",
            ("dataset", "condition", "model", "moment", "bin"), of_bins,
        ),
        Table(
            "lengths", LengthRate, lengths,
            "A model's pass rate among replies of about the same length, or over all and at matched length.",
            ("dataset", "condition", "model", "measure", "words"),
        ),
        Table(
            "judges", Agreement, agreement,
            "How far a judge and a rule agree on the same replies, of a model or of all.",
            ("dataset", "source", "tier", "condition", "judge", "relation", "model", "rule"),
        ),
    )  # fmt: skip
    judging = JUDGING
    published = PUBLISHED
    board = BOARD
    importer = IMPORTER
    trial_settings: ClassVar = {
        "dataset": "metacog147",
        "limit": 4,
        "conditions": ["free", "two_turn"],
    }

    ladders = (
        Ladder("t1b", "confidence_bias", 0.6, 0.0),
        Ladder("t2a", "caution", 0.1, 0.9),
        Ladder("t2b", "sycophancy", 0.9, 0.1),
        Ladder("t3", "transfer", 0.1, 0.9),
        Ladder("overall", "metacognition", 0.0, 1.0),
    )
    gate_settings: ClassVar = {"limit": None, "conditions": ["free", "json"]}

    def probes(self) -> Iterable[Probe]:
        """Return the probes of tiers 2a and 2b: positions, of which some are right."""
        for item in self.items:
            if item.options:
                right = tuple(k for k, each in enumerate(item.options) if each.role in item.right)
                texts, roles = (
                    tuple(getattr(each, name) for each in item.options) for name in ("text", "role")
                )
                yield Probe(item.tier, item.item_id, texts, right, item.stem, item.turn2, roles)

    @cached_property
    def wording(self) -> Wording:
        """The words of the prompts; raises StudyError for a file that cannot be used."""
        return words_of(self.context.study, self.settings.wording, load_wording)

    def construction(self) -> tuple[Step, ...]:
        """Return the one step."""
        return STEPS

    def conditions(self) -> tuple[Condition, ...]:
        """Return the formats the study asks in, each with the tiers it is put to."""
        return tuple(
            Condition(name, lambda items, name=name: prompts.applicable(items, name))  # type: ignore[misc]
            for name in self.settings.conditions
        )

    def modes(self, spec: ModelSpec) -> tuple[str, ...]:
        """Return text, unless the model's row asks for a mode: the form of a reply is part of what is measured."""
        return (spec.answer_mode,) if spec.answer_mode in asking.MODES else asking.MODES[:1]

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        """Return the calls every item takes at least; a second turn follows in 2b."""
        return (prompts.TURN_1, prompts.TURN_2) if condition == prompts.TWO_TURN else (prompts.ANSWER,)

    def worded_by(self, condition: str) -> str:
        """Return the digest of the prompts' words."""
        return self.wording.digest

    async def ask(self, item: items.Item, condition: str, chat: Chat) -> None:
        """Ask one item: one call, or two turns in one conversation."""
        await asking.ask_item(item, condition, chat, self.wording)

    def parse(self, item: items.Item, condition: str, calls: Calls) -> response.Response:
        """Read one item's calls."""
        return response.parse(item, condition, calls)

    def again(self, item: items.Item, condition: str, calls: Calls) -> Iterable[tuple[str, str]]:
        """Return the step to ask once more and the form to ask for."""
        return read.again(item, calls, condition)

    def derive(self, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
        """Return the responses with what judges said of them, which decides those that words alone do not."""
        return with_judgements(responses, judgements)

    def harmonise(self, responses: pl.DataFrame) -> pl.DataFrame:
        """Return the predictions of tier 1b: confidence is what was stated before answering."""
        return responses.filter(tier="1b").with_columns(
            correct=pl.col("passed").cast(pl.Float64),
            confidence=pl.col("pre") / 100,
            response=pl.col("answer"),
            n_alternatives=pl.lit(None, pl.Int32),
        )

    def observer(self, parameters: ObserverSpec) -> Respondent:
        """Return the simulated respondent with these parameters."""
        return SimulatedRespondent(self.items, parameters, self.wording)
