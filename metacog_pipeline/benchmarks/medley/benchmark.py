"""The benchmark MEDLEY-BENCH: what it declares to the pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, ClassVar

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Calls, Condition, Ladder, Probe, Question, Stage
from metacog_pipeline.benchmark.item_files import items_digest
from metacog_pipeline.benchmarks.medley import BOARD, importing, items, judging, prompts, read, settings
from metacog_pipeline.benchmarks.medley import sources as published_files
from metacog_pipeline.benchmarks.medley.construction.steps import STEPS
from metacog_pipeline.benchmarks.medley.contrasts import CONTRASTS
from metacog_pipeline.benchmarks.medley.items import NORMAL, NUDGED, Instance
from metacog_pipeline.benchmarks.medley.measures import MEASURES
from metacog_pipeline.benchmarks.medley.published import PUBLISHED
from metacog_pipeline.benchmarks.medley.scores import score_instances
from metacog_pipeline.benchmarks.medley.simulated import SimulatedRespondent
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec


class Medley(contract.Benchmark[settings.Settings, Instance, contract.Response]):
    """MEDLEY-BENCH, bound to a study."""

    name, title = "medley", "MEDLEY-BENCH"
    paper = contract.Paper(
        "MEDLEY-BENCH: Scale Buys Evaluation but Not Control in AI Metacognition",
        "Farhad Abtahi, Abdolamir Karbalaie, Eduardo Illueca-Fernandez, Fernando Seoane",
        *(2026, "arXiv:2604.16009", "https://arxiv.org/abs/2604.16009"),
    )
    Settings, Item, Response = settings.Settings, Instance, items.Response
    versions: ClassVar[Mapping[Stage, str]] = dict(zip(Stage, ("3", "2", "6", "3", "11"), strict=True))
    answer_modes = prompts.MODES
    unanswered = ("transport_error", "too_long", "not_run")
    unreadable = (read.UNPARSED, "refused")
    sources = (
        contract.Source(published_files.PUBLISHED, (published_files.URL,), "as its authors state: see the repository",
                        lambda home, **how: published_files.fetch(home, **how)[0], published_files.kept_digest),
    )  # fmt: skip
    measures, contrasts, judging = MEASURES, CONTRASTS, judging.JUDGING
    published, board, importer = PUBLISHED, BOARD, importing.Rows
    questions = (
        Question("Does one model withstand a statistic that misstates what others hold better than another?",
                 ("models_paired", "resistance"), verdict="judgement"),
        Question("Does a model score otherwise where it meets an analyst of its own family?", ("analyst_overlap", "mms")),
        Question("Does a judged dimension go with the change under an inverted consensus?",
                 ("predictor", "capitulation_quality"), unit="models"),
    )  # fmt: skip
    trial_settings: ClassVar = {"dataset": "sample", "limit": 4, "conditions": [*items.CONDITIONS]}
    ladders = (
        Ladder("mms", "character", "hedger", "argument-follower"),
        Ladder("resistance", "character", "crowd-follower", "argument-follower"),
        Ladder("resistance", "character", "crowd-follower", "stubborn"),
        Ladder("t2", "character", "crowd-follower", "argument-follower"),
        Ladder("t2", "character", "stubborn", "argument-follower"),
    )
    contrary = (("crowd-follower", "argument-follower"), ("crowd-follower", "stubborn"))
    gate_settings: ClassVar = {"limit": None}

    def probes(self) -> Iterable[Probe]:
        """Return the side on which `brier_score_change` scores a rating best, with what is shown of the consensus."""
        for item in self.items:
            for claim in item.claims:
                share = item.consensus.claim_confidences.get(claim.claim_id)
                if isinstance(share, int | float) and share != 0.5:
                    unit, sides = f"{item.item_id} {claim.claim_id}", ("opposes", "supports")
                    told = (
                        (int(share > 0.5),),
                        claim.claim_text,
                        prompts.direction(item.consensus, claim.claim_id),
                    )
                    yield Probe("brier_score_change", unit, sides, *told, balanced=True)

    @property
    def scorings(self) -> tuple[str | None, ...]:  # type: ignore[override]
        return (self.settings.scoring,)

    @property
    def judges(self) -> tuple[ModelSpec, ...]:
        by_name = {spec.name: spec for spec in self.study.judges}
        return tuple(by_name[name] for name in self.settings.judges)

    # --- items ------------------------------------------------------------------------------------------------------
    def construction(self) -> tuple[contract.Step, ...]:
        return STEPS

    def needed_sources(self) -> tuple[str, ...]:
        return (published_files.PUBLISHED,) if self.settings.dataset == "published" else ()

    # --- asking -----------------------------------------------------------------------------------------------------
    def conditions(self) -> tuple[Condition, ...]:
        """Return the study's conditions, the normal one first: the others reuse its first two steps."""
        # Worded the same as under normal: step A, and the step that the condition leaves alone.
        kept = {name: {NORMAL: (items.STEP_A, items.B_PRIVATE)} for name in items.EVERY}
        kept |= {NORMAL: {}, NUDGED: {NORMAL: (items.STEP_A, items.B_SOCIAL)}}
        names = sorted(self.settings.conditions, key=lambda name: name != NORMAL)
        return tuple(Condition(n, partial(prompts.applicable, condition=n), kept[n]) for n in names)

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        return items.STEPS

    def prompt_digest(self, condition: str) -> Any:
        return [prompts.load_wording().digest, "share"]

    async def ask(self, item: Instance, condition: str, chat: contract.Chat) -> None:
        await prompts.ask_item(item, condition, chat.mode, chat, chat.spec.max_tokens)

    def observer(self, parameters: ObserverSpec) -> contract.Respondent:
        return SimulatedRespondent(self.items, parameters)

    # --- reading and scoring ----------------------------------------------------------------------------------------
    def parse(self, item: Instance, condition: str, calls: Calls) -> Any:
        return read.parse(item, calls)

    def again(self, item: Instance, condition: str, calls: Calls) -> Iterable[tuple[str, str]]:
        return read.again(item, calls)

    def derive(self, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
        grades = None if judgements is None else judging.combined(judgements)
        told = blanks_marked(responses)
        scored = score_instances(told, self.items, grades, scoring=self.settings.scoring)
        scored = judging.graded_by(scored, judgements, [spec.name for spec in self.judges])
        return scored.with_columns(scoring=pl.lit(self.settings.scoring), wording=pl.lit("house"))

    def scoring_digest(self) -> Any:
        return [items_digest(self.study.home, self.name, Instance)]


def blanks_marked(responses: pl.DataFrame) -> pl.DataFrame:
    """Return responses in which an imported row that leaves a step blank counts as unreadable, not as not asked yet."""
    blank = [pl.col(f"status_{step}") == "not_run" for step in items.STEPS]
    left = (pl.col("source") == "imported") & pl.any_horizontal(blank) & ~pl.all_horizontal(blank)
    marked = pl.when(left & (pl.col("status") == "not_run"))
    return responses.with_columns(
        reason=marked.then(pl.format("{} was left blank", "failed_step")).otherwise("reason"),
        status=marked.then(pl.lit(read.UNPARSED)).otherwise("status"),
    )
