"""The benchmark of one's own questions: what it declares to the pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

import polars as pl

from metacog_pipeline.benchmark import contract as c
from metacog_pipeline.benchmark.contract import Calls, Chat, Condition, Probe, Stage
from metacog_pipeline.benchmark.seeded_sample import drawn
from metacog_pipeline.benchmarks.questions import BOARD, prompts, read
from metacog_pipeline.benchmarks.questions.items import LETTERS, NAME, Settings, files_of
from metacog_pipeline.benchmarks.questions.items import Item as Question
from metacog_pipeline.benchmarks.questions.simulated import SimulatedRespondent
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import file_sha256
from metacog_pipeline.interchange import question_rows
from metacog_pipeline.interchange.import_rules import QuestionRows, answered_only, importer_of
from metacog_pipeline.judges.names import with_names
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.scoring import confident_answers
from metacog_pipeline.scoring.measures import share
from metacog_pipeline.study.wording import words_of

ELICITATIONS = "elicitations_paired"
MEASURES = (
    c.Measure(
        "accuracy", "accuracy", share({"correct": 1}),
        words="Share of the answered questions that are right; a reply without a readable answer is wrong.",
    ),
    c.Measure(
        "abstained", "abstains", share({"kept": 0}), higher_is_better=None,
        conditions=lambda name: name == "abstain_allowed", words="Share of answers that were withheld.",
    ),
    confident_answers.measures(lambda condition: condition != "answer_only"),
)  # fmt: skip
_WORDS = "Two ways to elicit confidence from one model, on the questions it answered under both."
_ASKS = "Which way to elicit confidence separates right from wrong best, of one model?"


def _read_files(benchmark: Any, inputs: c.Inputs) -> c.Made:
    if not (files := files_of(benchmark)):
        why = 'names no questions: give items = "my.jsonl", or import a log that has them'
        raise SourceError(f"[benchmarks.{NAME}] {why}")
    rows = question_rows.load(files, Question)
    kinds = [item.kind for item in rows]
    return c.Made(rows=rows, facts={kind: kinds.count(kind) for kind in dict.fromkeys(kinds)})


def _digests(benchmark: Any) -> list[str]:
    return [file_sha256(path) if path.is_file() else "" for path in files_of(benchmark)]


class OwnQuestions(c.Benchmark[Settings, Question, read.Response]):
    """Questions of the user's own, with confidence elicited in one way or several."""

    name, title = NAME, "Your own questions"
    paper = c.Paper("Questions of the study's own", "the study's authors", 2026, "not published")
    Settings, Item, Response = Settings, Question, read.Response
    versions: ClassVar = dict(
        zip(Stage, ("7", "1", "20", "1", "7"), strict=True)
    )  # items, asking, parsing, judging, scoring
    unanswered = ("transport_error", "too_long", "not_run", "not_scored")
    unreadable = read.UNREADABLE
    coded, grouped_by = ("correct", "kept"), ("task",)
    measures = MEASURES
    contrasts = (confident_answers.between_conditions(ELICITATIONS, _WORDS),)
    questions = (c.Question(_ASKS, (ELICITATIONS, "auroc2")),)
    board, importer, judging = BOARD, importer_of(QuestionRows), read.JUDGING
    trial_settings: ClassVar = {"items": ["sample"], "samples": 3, "conditions": ["verbal_percent", "p_true"]}

    ladders = (
        c.Ladder("accuracy", "accuracy", 0.3, 0.9),
        c.Ladder("auroc2", "metacognition", 0.0, 1.0, ("verbal_percent",)),
    )

    def construction(self) -> tuple[c.Step, ...]:
        words = "The questions of the study's files."
        return (c.Step("items", words, _read_files, writes=Question, inputs=_digests),)

    @property
    def items(self) -> Sequence[Question]:
        """The questions of the study: all, or ``limit`` of them drawn by its seed; a larger limit adds."""
        return drawn(super().items, self.settings.limit, self.context.seed, self.name)

    def probes(self) -> Iterable[Probe]:
        """Return each question with its options, or with the answers that are accepted."""
        for item in (each for each in self.items if each.answer):
            texts, letter = (item.answer, *item.accept), item.options and (LETTERS.index(item.answer),)
            instrument = f"{item.task}, choices" if item.options else item.task
            named = (instrument, item.item_id, item.options, letter or texts, item.question)
            yield Probe(*named, cluster=item.cluster)

    @property
    def wording(self) -> prompts.Words:
        return words_of(self.context.study, self.settings.wording, prompts.load_wording)

    def conditions(self) -> tuple[Condition, ...]:
        """Return the ways to elicit confidence; log-probabilities of letters only where a question has options."""
        try:
            choices = any(each.options for each in super().items)
        except SourceError:
            choices = True
        names = [each for each in self.settings.conditions if choices or each != "choice_logprob"]
        if not names:
            raise SourceError(
                f"[benchmarks.{self.name}] conditions: choice_logprob alone, and no question has options; "
                "give options, or another condition"
            )
        return tuple(Condition(name, partial(self._asked, name)) for name in names)

    def _asked(self, name: str, every: Sequence[Question]) -> Sequence[Question]:
        found = [each for each in every if each.options or name != "choice_logprob"]
        models = self.context.study.models
        if any(spec.provider != "replay" for spec in models):
            return found
        return answered_only(self, models, ((name, found),))[0][1]

    def replayed(self, spec: Any, asked: Any) -> Any:
        return answered_only(self, (spec,), asked)

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        return prompts.steps(condition, self.settings.samples)

    def prompt_digest(self, condition: str) -> Any:
        return dict(self.wording)

    async def ask(self, item: Question, condition: str, chat: Chat) -> None:
        await prompts.ask(item, condition, chat, self.wording, self.settings.samples)

    def observer(self, parameters: ObserverSpec) -> c.Respondent:
        return SimulatedRespondent(self.items, parameters, self.wording)

    def parse(self, item: Question, condition: str, calls: Calls) -> read.Response:
        return read.read(item, condition, calls, self.settings.samples)

    def again(self, item: Question, condition: str, calls: Calls) -> Iterable[tuple[str, str]]:
        return read.again(item, condition, self.parse(item, condition, calls))

    def derive(self, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
        """Return the responses with confidence on the scale of the whole log.

        An answer that was withheld is right where that to the first other condition is.
        """
        responses = read.on_one_scale(with_names(responses, judgements))
        forced = responses.filter(pl.col("kept").is_null(), status="ok").unique(
            ["run", "item_id"], keep="first", maintain_order=True
        )
        verdicts = forced.select("run", "item_id", _forced="correct")
        joined = responses.join(verdicts, on=["run", "item_id"], how="left", maintain_order="left")
        held = pl.col("status") == "ok"
        return joined.with_columns(
            correct=pl.when(held).then(pl.coalesce("correct", "_forced")).otherwise("correct")
        )

    @cached_property
    def _alternatives(self) -> pl.DataFrame:
        of = {each.item_id: len(each.options) or None for each in super().items}
        return pl.DataFrame(
            {"item_id": list(of), "n_alternatives": pl.Series(list(of.values()), dtype=pl.Int32)}
        )

    def harmonise(self, responses: pl.DataFrame) -> pl.DataFrame:
        """Return the responses that can be read, and among how many options they chose."""
        found = responses.filter(status="ok").join(
            self._alternatives, on="item_id", how="left", maintain_order="left"
        )
        return found.with_columns(correct=pl.col("correct").cast(pl.Float64), response=pl.col("said"))
