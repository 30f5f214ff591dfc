"""The benchmark Signal detection: what it declares to the pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Calls, Chat, Condition, Paper, Respondent, Stage, Step
from metacog_pipeline.benchmarks.signaldetection import prompts, published, read, report
from metacog_pipeline.benchmarks.signaldetection.contrasts import CONTRASTS, QUESTIONS
from metacog_pipeline.benchmarks.signaldetection.items import SOURCES, STEPS, wanted
from metacog_pipeline.benchmarks.signaldetection.items import Item as Trial
from metacog_pipeline.benchmarks.signaldetection.measures import CODED, MEASURES, rated, with_cells
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE, Wording, load_wording
from metacog_pipeline.benchmarks.signaldetection.settings import Settings
from metacog_pipeline.benchmarks.signaldetection.simulated import SimulatedRespondent
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.study.wording import words_of


class SignalDetection(contract.Benchmark[Settings, Trial, read.Response]):
    """Two labels, a decision, a confidence; and the same decision when one of the errors is declared costly."""

    name = "signaldetection"
    title = "Signal detection"
    paper = Paper(
        "Measuring the metacognition of AI", "Richard Servajean, Philippe Servajean", 2026, "arXiv:2603.29693",
        "https://arxiv.org/abs/2603.29693",
    )  # fmt: skip
    Settings, Item, Response = Settings, Trial, read.Response
    answer_modes = prompts.MODES
    unreadable = read.UNREADABLE
    grouped_by = ("task",)
    sources = tuple(each.declared for each in SOURCES.values())
    coded = CODED
    measures = MEASURES
    contrasts = CONTRASTS
    questions = QUESTIONS
    published = published.PUBLISHED
    board = report.BOARD
    importer = read.Rows
    trial_settings: ClassVar = {"dataset": "sample", "trials": 6}
    versions: ClassVar[Mapping[Stage, str]] = dict.fromkeys(Stage, "1") | {
        Stage.PARSING: "4",
        Stage.SCORING: "9",
    }

    def construction(self) -> tuple[Step, ...]:
        return STEPS

    def needed_sources(self) -> tuple[str, ...]:
        return wanted(self.settings.tasks) if self.settings.dataset == "published" else ()

    @cached_property
    def wording(self) -> Wording:
        """The words of the prompts; raises StudyError where a task or condition of the study has none."""
        found = words_of(self.study, self.settings.wording, load_wording)
        for task, condition in product(self.settings.tasks, self.settings.conditions):
            found.text(task, condition)
        return found

    def conditions(self) -> tuple[Condition, ...]:
        return tuple(Condition(name) for name in self.settings.conditions)

    def advice(self) -> Iterator[str]:
        # loads scipy.optimize: for `plan` alone
        from metacog_pipeline.stats.power import approximate_trials

        if CONFIDENCE not in self.settings.conditions:
            return
        for task, d in published.SENSITIVITY.items():
            needed = approximate_trials(d, 0.8, -0.1, ratings=self.wording.ratings)
            if task in self.settings.tasks and (trials := self.settings.trials_of(task)) < (needed or 0):
                yield (
                    f"signaldetection, task {task}: {trials:,} trials; M-ratios of 0.8 and 0.7 differ with a power of 80 % "
                    f'from about {needed:,} on (d′ {d:g}, as in the paper); raise trials, or preset = "paper".'
                )

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        return (prompts.STEP,)

    def prompt_digest(self, condition: str) -> Any:
        words = self.wording
        return [words.system, words.ratings, *(words.text(t, condition) for t in sorted(self.settings.tasks))]

    async def ask(self, item: Trial, condition: str, chat: Chat) -> None:
        await prompts.ask(item, condition, chat, self.wording)

    def observer(self, parameters: ObserverSpec) -> Respondent:
        return SimulatedRespondent(self.items, parameters, self.wording)

    def _ratings(self, condition: str) -> int | None:
        return self.wording.ratings if rated(condition) else None

    def parse(self, item: Trial, condition: str, calls: Calls) -> read.Response:
        return read.read_response(item, calls, self._ratings(condition))

    def again(self, item: Trial, condition: str, calls: Calls) -> Iterable[tuple[str, str]]:
        return read.again(self.parse(item, condition, calls), self._ratings(condition))

    def derive(self, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
        return with_cells(responses, self.wording.ratings)

    def harmonise(self, responses: pl.DataFrame) -> pl.DataFrame:
        steps = self.wording.ratings - 1
        return responses.filter(status="ok", condition=CONFIDENCE).with_columns(
            response=pl.col("response").cast(pl.String),
            correct=pl.col("correct").cast(pl.Float64),
            confidence=0.5 + (pl.col("confidence") - 1) / (2 * steps),
            n_alternatives=pl.lit(2, pl.Int32),
        )

    def scoring_digest(self) -> Any:
        return self.wording.ratings

    # the validity gate
    ladders = (
        contract.Ladder("d", "d", 0.5, 2.5),
        contract.Ladder("c", "criterion", -0.8, 0.8),
        contract.Ladder("m_ratio", "m_ratio", 0.2, 1.2, others={"d": 2.0}),
        contract.Ladder("criterion_shift", "risk_shift", 0.0, 1.2),
    )
    gate_settings: ClassVar = {"trials": 40}

    def probes(self) -> Iterable[contract.Probe]:
        for item in self.items:
            labels = ("label 0", "label 1")
            about = f"task {item.task}", item.item_id
            yield contract.Probe(*about, labels, (item.stimulus,), item.text, balanced=True)
