"""The item, the parts of the question sets, and the steps that make the items of a study."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from metacog_pipeline.benchmark import source_files
from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made, Step
from metacog_pipeline.benchmark.contract import Item as ContractItem
from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.selfknowledge import sources
from metacog_pipeline.benchmarks.selfknowledge.settings import Dataset, Language
from metacog_pipeline.benchmarks.selfknowledge.sources import Row
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import sha256_hex, shipped

BENCHMARK = "selfknowledge"
LANGUAGES: tuple[Language, ...] = get_args(Language)
SAMPLE, OWN = "sample", "own"
SAMPLE_FILE = shipped("data", "selfknowledge", SAMPLE, "facts.jsonl")
SPLIT_SEED = 42  # of the published split of FictionalQA
DUAL, IDK, PRECEDED = "dual", "idk", "preceded"


#: Condition → the language it is asked in.
LANGUAGE_OF: Mapping[str, str] = {
    **{f"{kind}_{code}".removesuffix("_en"): code for kind in (DUAL, IDK) for code in LANGUAGES}, PRECEDED: "en",
}  # fmt: skip
#: Data set → its parts, each with the sources it is read from; the first part is the one the paper's results are about.
PARTS: Mapping[Dataset, Mapping[str, tuple[str, ...]]] = {
    "sample": {"all": (), "train": (), "validation": ()},
    "own": {"all": ()},
    "trivia_qa": {
        "validation": ("trivia_qa",), "train": ("trivia_qa_train",), "all": ("trivia_qa_train", "trivia_qa"),
    },
    "freebase_qa": dict.fromkeys(("test", "all"), ("freebase_qa",)),
    "nq_open": dict.fromkeys(("validation", "all"), ("nq_open",)),
    "web_questions": dict.fromkeys(("test", "all"), ("web_questions",)),
    "efficientqa": dict.fromkeys(("validation", "all"), ("efficientqa",)),
    "mkqa": dict.fromkeys(("all", "train"), ("mkqa",)),  # its only part is published under the name of "train"
    "fictional_qa": dict.fromkeys(("all", "train", "validation"), ("fictional_qa",)),
}  # fmt: skip


class Item(ContractItem):
    """One question, by language; what a source does not say is empty."""

    split: str
    questions: tuple[tuple[str, str], ...]
    answers: tuple[tuple[str, tuple[str, ...]], ...]  # empty: nothing is right
    question_id: str = ""  # what the source calls it: TriviaQA has some twice, under one id
    event_id: str = ""  # ties questions about the same thing together
    topic: str = ""
    difficulty: str = ""
    source: str = ""
    source_row: int = 0

    def question(self, language: str = "en") -> str | None:
        """Return the question in ``language``; None where there is none."""
        return dict(self.questions).get(language)

    def accepted(self, language: str = "en") -> tuple[str, ...]:
        """Return the answers accepted in ``language``; empty where nothing is right."""
        return dict(self.answers).get(language, ())

    @property
    def cluster(self) -> str:
        """Questions about one event, or the same question standing twice in a source, are drawn together."""
        return self.event_id or self.question_id or self.item_id

    def asked_and_scored_by(self) -> object:
        """Return questions and answers by language; their order does not matter."""
        return [dict(self.questions), {name: list(each) for name, each in self.answers}]


def asked(items: Iterable[Item], condition: str) -> list[Item]:
    """Return the items that have a question in the language of ``condition``."""
    return [item for item in items if item.question(LANGUAGE_OF[condition]) is not None]


# --- from rows to items -------------------------------------------------------------------------------------------------
# In item ids, where a set has several sources.
_LABELS = {"trivia_qa_train": "train-", "trivia_qa": "validation-"}
Parts = Mapping[str, Sequence[Row]]  # the rows of each source


def split_of(dataset: Dataset, named: str | None) -> str:
    """Return the part a study asks; StudyError where there is none such."""
    parts = PARTS[dataset]
    if named is None or named in parts:
        return named or next(iter(parts))
    why = f"there are {', '.join(parts)}: of others nothing, or not the answers, is published"
    raise StudyError(f'selfknowledge: {dataset} has no split "{named}"; {why}')


def sample_rows() -> list[Row]:
    """Return the facts that ship with the package."""
    return sources.of_rows(SAMPLE_FILE, sources.own)


def _file(benchmark: Any) -> Path | None:
    """Return the file of a study that asks the sample or questions of its own; None of a published set."""
    if named := benchmark.settings.questions:
        return benchmark.context.beside(named)  # type: ignore[no-any-return]
    return SAMPLE_FILE if benchmark.settings.dataset == SAMPLE else None


def parts_of(benchmark: Any) -> Parts:
    """Return the sources the study's questions are read from, verified."""
    home, dataset, split = benchmark.context.home, benchmark.settings.dataset, benchmark.split
    if file := _file(benchmark):
        return {dataset: sources.of_rows(file, sources.own)}
    return {name: sources.load(home, name) for name in PARTS[dataset][split]}


def build(parts: Parts, dataset: str, split: str, *, limit: int | None = None, seed: int = 0) -> list[Item]:
    """Return the items of ``split``, at most ``limit``, in the order in which they are drawn by ``seed``."""
    # Of data set and row alone, so an item has one id in every language, draw and split.
    chosen = {
        f"sk-{dataset}-{_LABELS.get(source, '')}{row.number:06d}": (source, row)
        for source, rows in parts.items()
        for row in select(rows, dataset, split)
    }
    drawn, made = seeded_sample(chosen, len(chosen) if limit is None else limit, seed, BENCHMARK), []
    for place, name in enumerate(drawn):
        source, row = chosen[name]
        same = row.model_dump(include={"question_id", "event_id", "topic", "difficulty"})
        answers = tuple((code, tuple(each)) for code, each in row.answers.items())
        where = {"dataset": dataset, "split": split, "source": source, "source_row": row.number}
        own = {"questions": tuple(row.questions.items()), "answers": answers}
        made.append(Item(item_id=name, position=place, **where, **own, **same))
    return made


def select(rows: Sequence[Row], dataset: str, split: str) -> list[Row]:
    """Return the rows of ``split`` where the parts of a data set are in one file, else all."""
    if split == "all" or dataset not in (SAMPLE, "fictional_qa"):
        return list(rows)
    if dataset == "fictional_qa":
        # As its results were published: by event, so that no event is in two parts, in the order Python shuffles them.
        keys = [row.event_id for row in rows]
        shuffled = sorted(set(keys))
        random.Random(SPLIT_SEED).shuffle(shuffled)
        train = set(shuffled[: len(shuffled) // 2])
    else:
        keys = [row.question_id for row in rows]
        train = set(seeded_sample(keys, len(keys) // 2, SPLIT_SEED, f"{BENCHMARK}-train"))
    return [row for row, key in zip(rows, keys, strict=True) if (key in train) == (split == "train")]


# --- steps --------------------------------------------------------------------------------------------------------------
def input_digests(benchmark: Any) -> object:
    """Return the split and the digests of what the items are built from; a source that is not fetched is left out."""
    dataset, split = benchmark.settings.dataset, benchmark.split
    if file := _file(benchmark):
        return [split, {dataset: sha256_hex(file.read_bytes()) if file.is_file() else ""}]
    return [split, source_files.kept_digests(sources.SOURCES, benchmark.context.home, PARTS[dataset][split])]


def bring_sources(benchmark: Any, inputs: Inputs) -> Made:
    """Bring the questions the study asks home, verified."""
    origin = source_files.brought(sources.SOURCES, benchmark)
    rows = [row for part in parts_of(benchmark).values() for row in part]
    without = sum(not any(row.answers.values()) for row in rows)
    return Made(facts={"rows": len(rows), "unanswerable": without, "origin": origin})


def make_items(benchmark: Any, inputs: Inputs) -> Made:
    """Build the items the study asks."""
    settings, split = benchmark.settings, benchmark.split
    drawn = {"limit": settings.limit, "seed": benchmark.context.seed}
    items = build(parts_of(benchmark), settings.dataset, split, **drawn)
    without = sum(not any(accepted for _, accepted in item.answers) for item in items)
    facts = {"dataset": settings.dataset, "split": split, "items": len(items), "unanswerable": without}
    mostly = Checked(10 * without <= len(items), {"without an answer": without})
    return Made(rows=items, facts=facts, checks={"mostly_answerable": mostly})


STEPS = (
    Step(
        "sources", "Short-answer questions with all accepted answers: a published set, verified, or the sample's facts.",
        bring_sources, inputs=input_digests,
    ),
    Step(
        "items", "The questions, in every language they have, the same for every model, run and condition.", make_items,
        needs=("sources",), writes=Item, inputs=input_digests,
        checks={"mostly_answerable": Check("Nine in ten questions have an answer; the others count as wrong.")},
    ),
)  # fmt: skip
