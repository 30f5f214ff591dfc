"""The benchmark MEDLEY-BENCH: what it declares to the pipeline."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from metacog_pipeline.asking.construction import result_path
from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import (
    Calls,
    Chat,
    Choice,
    Condition,
    Ladder,
    Paper,
    Probe,
    Respondent,
    Source,
    Stage,
    Step,
)
from metacog_pipeline.benchmark.display import numbered
from metacog_pipeline.benchmarks.medley import asking, importing, reference_wording, responses, sources
from metacog_pipeline.benchmarks.medley.board import BOARD
from metacog_pipeline.benchmarks.medley.construction import authored, given
from metacog_pipeline.benchmarks.medley.construction.roles import FIRST_SAMPLE, Roles, roles_of
from metacog_pipeline.benchmarks.medley.construction.wording import Words, load_words
from metacog_pipeline.benchmarks.medley.contrasts import CONTRASTS
from metacog_pipeline.benchmarks.medley.instance_scores import (
    STRIPPED_INSTANCES,
    most_divided,
    score_instances,
)
from metacog_pipeline.benchmarks.medley.items import STEPS, Instance
from metacog_pipeline.benchmarks.medley.judging import suite
from metacog_pipeline.benchmarks.medley.judging.combine import combined
from metacog_pipeline.benchmarks.medley.judging.declared import JUDGING, graded_by
from metacog_pipeline.benchmarks.medley.judging.prompts import JudgeWording, load_judge_wording
from metacog_pipeline.benchmarks.medley.measures import MEASURES
from metacog_pipeline.benchmarks.medley.presentation import (
    NORMAL,
    NUDGED,
    REFERENCE_MASKING,
    STRIPPED,
    Masking,
    applicable,
    direction,
)
from metacog_pipeline.benchmarks.medley.prompts import B_PRIVATE, B_SOCIAL, STEP_A, Wording
from metacog_pipeline.benchmarks.medley.published import PUBLISHED
from metacog_pipeline.benchmarks.medley.questions import QUESTIONS
from metacog_pipeline.benchmarks.medley.read import again
from metacog_pipeline.benchmarks.medley.responses import UNANSWERED, UNPARSED, marked_where_alone, parse
from metacog_pipeline.benchmarks.medley.settings import Settings
from metacog_pipeline.benchmarks.medley.simulated import SimulatedRespondent
from metacog_pipeline.benchmarks.medley.tables import TABLES
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.study.frames import mark_of
from metacog_pipeline.study.wording import words_of

_SHARED = {NORMAL: (STEP_A, B_PRIVATE)}  # worded the same in every condition but one
_SHARED_NUDGED = {NORMAL: (STEP_A, B_SOCIAL)}


def _pick(benchmark: Medley, scored: pl.DataFrame) -> tuple[str, ...]:
    return most_divided(scored, STRIPPED_INSTANCES)


def _kept_by_0_1(benchmark: Medley) -> Collection[str] | None:
    """Return the instances a home of version 0.1 chose to strip; None where it chose none, or of other instances."""
    path = benchmark.context.home.items / "medley.stripped.txt"
    if not path.exists():
        return None
    digest, *chosen = path.read_text("utf-8").split() or [""]
    return chosen if digest == benchmark.items_digest else None


class Medley(contract.Benchmark[Settings, Instance, responses.Response]):
    """MEDLEY-BENCH, bound to a study."""

    name = "medley"
    title = "MEDLEY-BENCH"
    paper = Paper(
        "MEDLEY-BENCH: Scale Buys Evaluation but Not Control in AI Metacognition",
        "Farhad Abtahi, Abdolamir Karbalaie, Eduardo Illueca-Fernandez, Fernando Seoane",
        2026,
        "arXiv:2604.16009",
        "https://arxiv.org/abs/2604.16009",
        numbered(Figure=4, Table=1, Table_S=11),
    )
    Settings, Item, Response = Settings, Instance, responses.Response
    versions: ClassVar[Mapping[Stage, str]] = {
        **dict.fromkeys(Stage, "1"),
        Stage.ITEMS: "2",
        Stage.PARSING: "4",
        Stage.JUDGING: "3",
        Stage.SCORING: "9",
    }
    answer_modes = asking.MODES
    unanswered = UNANSWERED
    unreadable = (UNPARSED, "refused")
    sources = (
        Source(
            sources.PUBLISHED,
            (sources.SOURCES[sources.PUBLISHED].url,),
            "as its authors state: see the repository",
            lambda home, **how: sources.fetch(home, [sources.PUBLISHED], **how)[0],
            sources.kept_digest,
        ),
    )
    measures = MEASURES
    contrasts = CONTRASTS
    questions = QUESTIONS
    tables = TABLES
    judging = JUDGING
    published = PUBLISHED
    board = BOARD
    importer = importing.IMPORTER
    trial_settings: ClassVar = {
        "dataset": "sample",
        "limit": 4,
        "conditions": ["normal", "adversarial", "stripped"],
    }
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
                    named = f"{item.item_id} {claim.claim_id}"
                    shown = direction(item.consensus, claim.claim_id)
                    yield Probe(
                        "brier_score_change", named, ("opposes", "supports"), (int(share > 0.5),), claim.claim_text,
                        shown, balanced=True,
                    )  # fmt: skip

    @property
    def scorings(self) -> tuple[str | None, ...]:  # type: ignore[override]
        """The way the study scores; behind a colon in which words it asks, where they are not this project's."""
        if self.settings.wording is None:
            return (self.settings.scoring,)
        return (f"{self.settings.scoring}:{'-'.join(self.wording.id.split())}",)

    @property
    def folder(self) -> Path | None:
        """The folder of a data set of the user's own."""
        return None if self.settings.folder is None else self.context.beside(self.settings.folder)

    @property
    def masking(self) -> Masking:
        """What is hidden of the analysts."""
        section = self.settings
        in_their_words = section.wording is not None and self.wording.authors
        if in_their_words or (not section.anonymise and section.order == "file"):
            return REFERENCE_MASKING
        return Masking(
            anonymise=section.anonymise,
            order=section.order,
            direction="number" if section.dataset == FIRST_SAMPLE else "certified",
        )

    @property
    def wording(self) -> Wording:
        """The words of the prompts; raises StudyError for an unreadable file."""
        if self.settings.wording == reference_wording.REFERENCE:
            return reference_wording.installed()
        return words_of(self.context.study, self.settings.wording, reference_wording.load)

    @property
    def judge_wording(self) -> JudgeWording:
        """The words the judges are asked in; raises StudyError for an unreadable file."""
        return words_of(self.context.study, self.settings.judge_wording, load_judge_wording)

    @cached_property
    def author_words(self) -> Words:
        """The words designers, analysts and verifiers are asked in."""
        return load_words()

    @property
    def judges(self) -> tuple[ModelSpec, ...]:
        """The judges the study names, in that order."""
        by_name = {spec.name: spec for spec in self.context.study.judges}
        return tuple(by_name[name] for name in self.settings.judges)

    @cached_property
    def roles(self) -> Roles:
        """Who makes the instances; raises SourceError for seeds that cannot be used."""
        return roles_of(self.settings, self.context)

    @property
    def families(self) -> Mapping[str, str]:
        """{analyst of instances that were made here: family}."""
        return self.roles.families if self.makes_items else {}

    @property
    def makes_items(self) -> bool:
        """Whether the instances are made, not given."""
        return self.settings.dataset in ("sample", FIRST_SAMPLE) or self.settings.generator is not None

    @property
    def incomplete_will_do(self) -> bool:
        """Whether instances are made although somebody has not answered everything."""
        return self.settings.generator is not None and self.settings.generator.allow_incomplete

    @property
    def items_digest(self) -> str:
        """The digest of everything that decides how the instances are asked and scored."""
        from metacog_pipeline.benchmark.item_files import items_digest

        return items_digest(self.context.home, self.name, Instance)

    # --- items ------------------------------------------------------------------------------------------------------
    def construction(self) -> tuple[Step, ...]:
        """Return the steps that make new instances, or read given ones; before them, where judges grade, their trial."""
        tried = (suite.STEP,) if self.judges else ()
        return (*tried, *(authored.STEPS if self.makes_items else given.STEPS))

    def needed_sources(self) -> tuple[str, ...]:
        """Return the names of the sources these settings read."""
        return (sources.PUBLISHED,) if self.settings.dataset == "published" else ()

    # --- asking -----------------------------------------------------------------------------------------------------
    def conditions(self) -> tuple[Condition, ...]:
        """Return the study's conditions, the normal one first: the others reuse its first two steps."""
        named = sorted(self.settings.conditions, key=lambda name: name != NORMAL)
        return tuple(map(self._condition, named))

    def _condition(self, name: str) -> Condition:
        def items(every: Sequence[Instance]) -> list[Instance]:
            return applicable(every, name)

        after = None
        if name == STRIPPED and self._is_large:
            after = Choice(NORMAL, _pick, earlier=_kept_by_0_1)
        shared = _SHARED_NUDGED if name == NUDGED else _SHARED
        return Condition(name, items, after, {} if name == NORMAL else shared)

    @property
    def _is_large(self) -> bool:
        """Whether there are more instances than are stripped; all of a small set are."""
        try:
            return len(self.items) > STRIPPED_INSTANCES
        except MetacogError:  # not built yet
            return True

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        """Return the names of the calls one instance takes."""
        return STEPS

    def worded_by(self, condition: str) -> Any:
        """Return what decides the words besides the instances."""
        certified = self.makes_items and self.masking.direction == "certified"
        shown = ["certified"] if certified else []
        return [self.wording.digest, self.masking.agreement, *shown]

    def replayed(
        self, spec: ModelSpec, asked: Sequence[tuple[str, Sequence[Instance]]]
    ) -> Sequence[tuple[str, Sequence[Instance]]]:
        """Return what a replayed model has to answer: of which there is step A alone, no more than that."""
        alone = importing.to_replay(self.items, importing.kept(self.context.study, self.name, spec))
        return asked if alone is None else [(NORMAL, alone)]

    async def ask(self, item: Instance, condition: str, chat: Chat) -> None:
        """Ask the three steps of an instance, each in a context of its own."""
        await asking.ask_item(item, condition, chat.mode, chat, self.wording, chat.spec, masking=self.masking)

    def observer(self, parameters: ObserverSpec) -> Respondent:
        """Return the simulated respondent with these parameters."""
        return SimulatedRespondent(self.items, parameters, self.wording)

    # --- reading and scoring ----------------------------------------------------------------------------------------
    def parse(self, item: Instance, condition: str, calls: Calls) -> responses.Response:
        """Read the three replies to an instance."""
        return parse(item, calls)

    def again(self, item: Instance, condition: str, calls: Calls) -> Iterable[tuple[str, str]]:
        """Return the steps to ask once more, each with the form to ask for."""
        read = parse(item, calls)
        statuses = {step: getattr(read, f"status_{step}") for step in STEPS if step in calls}
        return again(statuses, UNPARSED)

    def derive(self, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
        """Return the responses with the scores of their instances."""
        scored = score_instances(
            marked_where_alone(responses),
            self.items,
            None if judgements is None else combined(judgements),
            scoring=self.settings.scoring,
            masking=self.masking,
        )
        scored = graded_by(scored, judgements, [spec.name for spec in self.judges])
        words = "house" if self.settings.wording is None else self.wording.id
        return scored.with_columns(scoring=pl.lit(self.scorings[0]), wording=pl.lit(words))

    def scored_by(self) -> Any:
        """Return what decides the scores besides responses and judgements."""
        tried = [mark_of(result_path(self, suite.NAME))] if self.judges else []
        return [self.items_digest, self.masking.anonymise, self.masking.order, *tried]
