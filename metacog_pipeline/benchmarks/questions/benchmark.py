"""The benchmark of one's own questions: what it declares to the pipeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

import polars as pl

from metacog_pipeline.benchmark import contract as c
from metacog_pipeline.benchmark.item import drawn
from metacog_pipeline.benchmarks.questions import BOARD, prompts, read
from metacog_pipeline.benchmarks.questions.items import LETTERS, NAME, Settings, answered_only, files_of
from metacog_pipeline.benchmarks.questions.simulated import SimulatedRespondent
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import file_sha256
from metacog_pipeline.interchange import question_rows
from metacog_pipeline.interchange.import_rules import QuestionRows
from metacog_pipeline.interchange.question import Question
from metacog_pipeline.judges.names import Asked, names_judging, with_names
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.scoring import confident_answers
from metacog_pipeline.scoring.measures import share
from metacog_pipeline.stats.confidence_scale import are_shares
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
    return c.Made(rows=rows, facts=Counter(item.kind for item in rows))


def _digests(benchmark: Any) -> list[str]:
    return [file_sha256(path) if path.is_file() else "" for path in files_of(benchmark)]


def on_one_scale(responses: pl.DataFrame) -> pl.DataFrame:
    """Return the responses of one model and run with a bare 1 as certainty where all their other numbers are shares."""
    certain = pl.when(stated=1.0).then(1.0).otherwise("confidence")
    found = responses["stated"].drop_nulls().to_list()
    return responses.with_columns(confidence=certain) if are_shares(found) else responses


def _undecided(responses: pl.DataFrame) -> pl.DataFrame:
    """Return the short answers that are not right as they are written: the reader model decides."""
    # A withheld answer is no name that could be right.
    kept = pl.col("kept").is_null() | (pl.col("kept") == 1)
    return responses.filter(kept, status="ok", correct=0).select("item_id", "condition", reply="said")


def _asked(item: Question, condition: str) -> Asked | None:
    return Asked(item.question, (item.answer, *item.accept)) if item.kind == "text" else None


class OwnQuestions(c.Benchmark[Settings, Question, read.Response]):
    """Questions of the user's own, with confidence elicited in one way or several."""

    name, title = NAME, "Your own questions"
    paper = c.Paper("Questions of the study's own", "the study's authors", 2026, "not published")
    Settings, Item, Response = Settings, Question, read.Response
    versions: ClassVar = {
        **dict.fromkeys(c.Stage, "1"), c.Stage.ITEMS: "7", c.Stage.PARSING: "20", c.Stage.SCORING: "7",
    }  # fmt: skip
    unanswered = ("transport_error", "too_long", "not_run", "not_scored")
    unreadable = read.UNREADABLE
    coded, grouped_by = ("correct", "kept"), ("task",)
    measures = MEASURES
    contrasts = (confident_answers.between_conditions(ELICITATIONS, _WORDS),)
    questions = (c.Question(_ASKS, (ELICITATIONS, "auroc2")),)
    board, importer, judging = BOARD, QuestionRows, names_judging(_undecided, _asked)
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
        return drawn(super().items, self.settings.limit, self.seed, self.name)

    def probes(self) -> Iterable[c.Probe]:
        """Return each question with its options, or with the answers that are accepted."""
        for item in (each for each in self.items if each.answer):
            texts, letter = (item.answer, *item.accept), item.options and (LETTERS.index(item.answer),)
            instrument = f"{item.task}, choices" if item.options else item.task
            named = (instrument, item.item_id, item.options, letter or texts, item.question)
            yield c.Probe(*named, cluster=item.cluster)

    @property
    def wording(self) -> prompts.Words:
        return words_of(self.study, self.settings.wording, prompts.load_wording)

    def conditions(self) -> tuple[c.Condition, ...]:
        """Return the ways to elicit confidence; log-probabilities of letters only where a question has options."""
        try:
            choices = any(each.options for each in super().items)
        except SourceError:  # the files are not read yet
            choices = True
        names = [each for each in self.settings.conditions if choices or each != "choice_logprob"]
        if not names:
            raise SourceError(
                f"[benchmarks.{self.name}] conditions: choice_logprob alone, and no question has options; "
                "give options, or another condition"
            )
        return tuple(c.Condition(name, partial(self._asked, name)) for name in names)

    def _asked(self, name: str, every: Sequence[Question]) -> Sequence[Question]:
        found = [each for each in every if each.options or name != "choice_logprob"]
        models = self.study.models
        # Logs of several tasks are in one study: what its models were never asked is not missing.
        replayed = all(spec.provider == "replay" for spec in models)
        return answered_only(self, models, ((name, found),))[0][1] if replayed else found

    def replayed(self, spec: Any, asked: Any) -> Any:
        return answered_only(self, (spec,), asked)

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        return prompts.steps(condition, self.settings.samples)

    def prompt_digest(self, condition: str) -> Any:
        return dict(self.wording)

    async def ask(self, item: Question, condition: str, chat: c.Chat) -> None:
        await prompts.ask(item, condition, chat, self.wording, self.settings.samples)

    def observer(self, parameters: ObserverSpec) -> c.Respondent:
        return SimulatedRespondent(self.items, parameters, self.wording)

    def parse(self, item: Question, condition: str, calls: c.Calls) -> read.Response:
        return read.read(item, condition, calls, self.settings.samples)

    def again(self, item: Question, condition: str, calls: c.Calls) -> Iterable[tuple[str, str]]:
        status = self.parse(item, condition, calls).status
        rating = "Confidence: <0 to 100>" if condition == read.STATED else ""
        if status == "answer_unparsed" and condition != prompts.SAMPLED:
            yield (
                prompts.ANSWER,
                f"Answer: <{'letter' if item.kind == 'choice' else 'answer'}>\n{rating}".rstrip(),
            )
        elif status == "confidence_unparsed" and rating:
            yield prompts.ANSWER, rating

    def derive(self, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
        """Return the responses with confidence on the scale of the whole log."""
        responses = on_one_scale(with_names(responses, judgements))
        forced = responses.filter(pl.col("kept").is_null(), status="ok")
        # A withheld answer is right where that to the first other condition is.
        first = forced.group_by("run", "item_id", maintain_order=True).agg(_forced=pl.col("correct").first())
        joined = responses.join(first, on=["run", "item_id"], how="left", maintain_order="left")
        known = pl.when(status="ok").then(pl.coalesce("correct", "_forced")).otherwise("correct")
        return joined.with_columns(correct=known)

    def harmonise(self, responses: pl.DataFrame) -> pl.DataFrame:
        """Return the responses that can be read, and among how many options they chose."""
        options = {each.item_id: len(each.options) or None for each in super().items}
        return responses.filter(status="ok").with_columns(
            n_alternatives=pl.col("item_id").replace_strict(options, default=None, return_dtype=pl.Int32),
            correct=pl.col("correct").cast(pl.Float64), response=pl.col("said"),
        )  # fmt: skip
