"""The benchmark MetaMedQA: what it declares to the pipeline, and how answers collected elsewhere become replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import polars as pl

from metacog_pipeline.benchmark import contract as c
from metacog_pipeline.benchmark.item import drawn
from metacog_pipeline.benchmarks.metamedqa import BOARD, read
from metacog_pipeline.benchmarks.metamedqa import items as of_items
from metacog_pipeline.benchmarks.metamedqa.construction import STEPS, Files
from metacog_pipeline.benchmarks.metamedqa.contrasts import CONTRASTS, QUESTIONS
from metacog_pipeline.benchmarks.metamedqa.items import BASELINE, FETCHED, LETTERS, NAME, SOURCES
from metacog_pipeline.benchmarks.metamedqa.items import Item as Question
from metacog_pipeline.benchmarks.metamedqa.measures import CODED, MEASURES, N_ALTERNATIVES, N_LEVELS, F, coded
from metacog_pipeline.benchmarks.metamedqa.prompts import MODES, Wording, ask_item, load_wording, steps
from metacog_pipeline.benchmarks.metamedqa.report import PUBLISHED
from metacog_pipeline.benchmarks.metamedqa.simulated import SimulatedRespondent
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.answer_cells import RowError
from metacog_pipeline.interchange.import_rules import RowRules
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.stats.confidence_scale import Scale
from metacog_pipeline.study.wording import words_of


class Rows(RowRules):
    """A choice with an optional confidence, or the raw reply. Every item is asked under every condition with words."""

    condition = BASELINE
    # "answer" comes late: next to a prediction it is the key.
    own: ClassVar = {
        "choice": (
            *("choice", "model_answer", "prediction", "predicted", "pred", "selected", "extracted_answer"),
            *("predicted_answer", "pred_answer", "model_choice", "answer", "letter", "filtered_resps"),
        ),
        "confidence": ("confidence", "conf", "confidence_score", "certainty"),
    }
    labels: ClassVar = {"choice": "Answer"}
    rated = ("confidence",)
    scale, whole_ratings = Scale(1, 5), True

    @property
    def items(self) -> Sequence[Question]:
        built: Sequence[Question] = self.benchmark.built
        return built

    def condition_named(self, text: str) -> str:
        try:
            return str(self.benchmark.wording.condition(text.strip()))
        except StudyError as error:
            raise RowError(str(error)) from None

    def check_asked(self, item: Question, condition: str) -> None:
        pass

    def questions(self, item: Question) -> Iterable[str]:
        return (item.question,)

    def agrees(self, item: Question, key: Any) -> bool:
        letter = str(key).strip().upper()
        # the reader is slow, and tables have a million rows
        if letter not in LETTERS:
            letter = read.read_reply(str(key), item.options)["answer"].value
        if letter is None:
            raise RowError("is neither a letter nor an option's text")
        return bool(letter == item.target)


# --- the benchmark ----------------------------------------------------------------------------------------------------
class MetaMedQA(c.Benchmark[of_items.Settings, Question, read.Response]):
    """Six options each: four listed answers, none of the above, and "I don't know or cannot answer"."""

    name, title = NAME, "MetaMedQA"
    paper = c.Paper(
        title="Large Language Models lack essential metacognition for reliable medical reasoning",
        authors="Maxime Griot, Coralie Hemptinne, Jean Vanderdonckt, Demet Yuksel",
        year=2025,
        where="Nature Communications 16:642",
        url="https://doi.org/10.1038/s41467-024-55628-6",
    )
    Settings, Item, Response = of_items.Settings, Question, read.Response
    versions: ClassVar[Mapping[c.Stage, str]] = {
        **dict.fromkeys(c.Stage, "1"),
        c.Stage.PARSING: "5",
        c.Stage.SCORING: "8",
    }
    answer_modes = MODES
    unanswered, unreadable = read.UNANSWERED, read.UNREADABLE
    sources = tuple(source.declared for source in SOURCES.values())
    measures, contrasts, questions = MEASURES, CONTRASTS, QUESTIONS
    board, coded = BOARD, CODED
    published, importer = PUBLISHED, Rows
    trial_settings: ClassVar = {"dataset": "sample", "limit": 24, "conditions": ["baseline", "role-full"]}

    def construction(self) -> tuple[c.Step, ...]:
        return STEPS

    def needed_sources(self) -> tuple[str, ...]:
        return tuple(SOURCES) if self.settings.dataset in FETCHED else ()

    @property
    def built(self) -> Sequence[Question]:
        """The whole question set; raises SourceError before it is built."""
        return super().items

    @property
    def items(self) -> Sequence[Question]:
        """The items of the study: all, or ``limit`` of them drawn by its seed; a larger limit adds."""
        return drawn(self.built, self.settings.limit, self.seed, "limit")

    @property
    def files(self) -> Files:
        folder = self.settings.folder
        own = None if folder is None else self.study.beside(folder)
        return Files(self.study.home, self.settings.dataset, own)

    @property
    def wording(self) -> Wording:
        return words_of(self.study, self.settings.wording, load_wording)

    def conditions(self) -> tuple[c.Condition, ...]:
        names = dict.fromkeys(self.wording.condition(name) for name in self.settings.conditions)
        return tuple(c.Condition(name) for name in names)

    def modes(self, spec: ModelSpec) -> tuple[str, ...]:
        """Return the answer modes to try, best first; a bias needs the ids of the letters' tokens."""
        found = super().modes(spec)
        return found if spec.token_ids or len(found) == 1 else tuple(m for m in found if m != "logit_bias")

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        return steps(mode)

    def prompt_digest(self, condition: str) -> Any:
        words = self.wording
        return [words.instructions, words.confidence_request, words.system_message(condition)]

    async def ask(self, item: Question, condition: str, chat: c.Chat) -> None:
        await ask_item(item, condition, chat, self.wording)

    def observer(self, parameters: ObserverSpec) -> SimulatedRespondent:
        return SimulatedRespondent(self.items, parameters)

    def parse(self, item: Question, condition: str, calls: c.Calls) -> read.Response:
        return read.read_response(item, calls)

    def again(self, item: Question, condition: str, calls: c.Calls) -> Iterable[tuple[str, str]]:
        return read.again(read.read_response(item, calls), calls)

    def derive(self, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
        return coded(responses)

    def harmonise(self, responses: pl.DataFrame) -> pl.DataFrame:
        """Return the responses with letter and confidence; the ratings 1 to 5 become 0 to 1."""
        # Where F is right, and with an answer of "I do not know", nothing was chosen among alternatives.
        chosen = (pl.col("_ordinary") == 1) & (pl.col("_letter") != F)
        return responses.filter(status="ok").with_columns(
            correct=pl.col("correct").cast(pl.Float64),
            confidence=(pl.col("confidence") - 1) / (N_LEVELS - 1),
            n_alternatives=pl.when(chosen).then(N_ALTERNATIVES).cast(pl.Int32),
            response=pl.col("answer"),
        )

    # the validity gate
    ladders = (
        c.Ladder("accuracy", "accuracy", 0.4, 0.9),
        c.Ladder("d_missing", "missing_awareness", 0.1, 0.9, (BASELINE,)),
        c.Ladder("d_unknown", "unknown_awareness", 0.1, 0.9, (BASELINE,)),
        c.Ladder("d_unanswerable", "unknown_awareness", 0.1, 0.9, (BASELINE,)),
    )
    gate_settings: ClassVar = {"limit": None}

    def probes(self) -> Iterable[c.Probe]:
        """Return the choice among the listed answers, and for E and F whether it is the key, with what is listed."""
        for item in self.items:
            key, listed = LETTERS.index(item.target), item.options[:4]
            if key < len(listed):
                yield c.Probe("listed answer", item.item_id, listed, (key,), item.question)
            # The fictional questions are about one organ, whose name gives all of them away: they count as one cluster.
            cluster = item.kind if item.kind == "Fictional" else item.cluster
            for place, instrument in ((4, "none of the above"), (5, "cannot be answered")):
                about = (("no", "yes"), (int(key == place),), item.question, " ".join(listed))
                yield c.Probe(instrument, item.item_id, *about, cluster=cluster, balanced=True)
