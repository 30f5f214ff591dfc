"""The benchmark MetaCog-Bench: what it declares to the pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from typing import ClassVar

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Benchmark, Calls, Ladder, Stage
from metacog_pipeline.benchmarks.metacogbench import BOARD, items, prompts, read, rules, settings
from metacog_pipeline.benchmarks.metacogbench.contrasts import CONTRASTS, QUESTIONS
from metacog_pipeline.benchmarks.metacogbench.judging import JUDGING, Agreement, agreement, with_judgements
from metacog_pipeline.benchmarks.metacogbench.measures import MEASURES
from metacog_pipeline.benchmarks.metacogbench.prompts import Wording, load_wording
from metacog_pipeline.benchmarks.metacogbench.published import PUBLISHED
from metacog_pipeline.benchmarks.metacogbench.rows import Rows
from metacog_pipeline.benchmarks.metacogbench.simulated import SimulatedRespondent
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.study.wording import words_of


class MetaCogBench(Benchmark[settings.Settings, items.Item, rules.Response]):
    """The benchmark bound to one study."""

    name = items.BENCHMARK
    title = "MetaCog-Bench"
    paper = contract.Paper(
        "MetaCog-Bench: A Process-Based Benchmark for Evaluating Metacognitive Monitoring and Control in Large "
        "Language Models",
        "anonymous",
        2026,
        "under review",
        "https://openreview.net/forum?id=ayRu5RL4Hb",
    )
    Settings, Item, Response = settings.Settings, items.Item, rules.Response
    versions: ClassVar[Mapping[Stage, str]] = {
        **dict.fromkeys(Stage, "1"),
        Stage.PARSING: "22",
        Stage.JUDGING: "3",
        Stage.SCORING: "11",
    }
    unanswered, unreadable = read.UNANSWERED, read.UNREADABLE
    measures = (MEASURES,)
    contrasts = CONTRASTS
    questions = QUESTIONS
    tables = (
        contract.Table(
            "judges", Agreement, agreement,
            "How far a judge and a rule agree on the same replies, of a model or of all.",
        ),
    )  # fmt: skip
    judging = JUDGING
    published = PUBLISHED
    board = BOARD
    importer = Rows
    trial_settings: ClassVar = {
        "dataset": "metacog147",
        "limit": 4,
        "conditions": ["free", "one_turn", "delegate"],
    }
    ladders = (
        Ladder("t1b", "confidence_bias", 0.6, 0.0),
        Ladder("t2a", "metacognition", 0.0, 1.0),
        Ladder("d_2a", "metacognition", 0.0, 1.0),
        Ladder("c_2a", "caution", 0.9, 0.1),
        Ladder("t2b", "metacognition", 0.0, 1.0),
        Ladder("d_2b", "metacognition", 0.0, 1.0),
        Ladder("c_2b", "sycophancy", 0.9, 0.1),
        Ladder("t3", "transfer", 0.1, 0.9),
        Ladder("overall", "metacognition", 0.0, 1.0),
    )
    gate_settings: ClassVar = {"limit": None, "conditions": ["free", "json"]}

    def probes(self) -> Iterable[contract.Probe]:
        """Return the choices of tiers 2a and 2b; tasks of one story, which share their options, hang together."""
        for item in self.items:
            if item.options:
                right = tuple(k for k, each in enumerate(item.options) if each.role in item.right)
                texts, roles = (
                    tuple(getattr(each, name) for each in item.options) for name in ("text", "role")
                )
                challenge = item.challenges[0] if item.challenges else ""
                yield contract.Probe(
                    item.tier, item.item_id, texts, right, item.stem, challenge, roles, item.story
                )

    @cached_property
    def wording(self) -> Wording:
        """The words of the prompts; raises StudyError for a file that cannot be used."""
        return words_of(self.study, self.settings.wording, load_wording)

    def construction(self) -> tuple[contract.Step, ...]:
        return items.STEPS

    def conditions(self) -> tuple[contract.Condition, ...]:
        """Return the ways of asking that the study names, each with the tasks it is put to."""
        # not what is asked under free
        other = (prompts.ONE_TURN, prompts.DELEGATE)
        return tuple(
            contract.Condition(
                name, partial(prompts.applicable, condition=name), content=name if name in other else ""
            )
            for name in self.settings.conditions
        )

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        """Return the calls every item takes at least; further turns follow in 1b, 2a and 2b."""
        return (prompts.ANSWER, prompts.PROBE) if condition == prompts.JSON_NOTES else (prompts.ANSWER,)

    def prompt_digest(self, condition: str) -> str:
        return self.wording.digest

    async def ask(self, item: items.Item, condition: str, chat: contract.Chat) -> None:
        await prompts.ask_item(item, condition, chat, self.wording)

    def parse(self, item: items.Item, condition: str, calls: Calls) -> rules.Response:
        return rules.parse(item, condition, calls)

    def again(self, item: items.Item, condition: str, calls: Calls) -> Iterable[tuple[str, str]]:
        return rules.again(item, calls, condition)

    def derive(self, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
        return with_judgements(responses, judgements)

    def harmonise(self, responses: pl.DataFrame) -> pl.DataFrame:
        """Return the predictions of tier 1b: confidence is what was stated before answering."""
        return responses.filter(tier="1b").with_columns(
            correct=pl.col("passed").cast(pl.Float64),
            confidence=pl.col("pre") / 100,
            response=pl.col("answer"),
            n_alternatives=pl.lit(None, pl.Int32),
        )

    def observer(self, parameters: ObserverSpec) -> contract.Respondent:
        return SimulatedRespondent(self.items, parameters, self.wording)
