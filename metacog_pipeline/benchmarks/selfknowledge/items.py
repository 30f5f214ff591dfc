"""The item, the published question sets and how their rows are read, and the steps that make the items of a study."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

import pyarrow as pa
from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

from metacog_pipeline.benchmark import source_files
from metacog_pipeline.benchmark.contract import Inputs, Made, Step
from metacog_pipeline.benchmark.contract import Item as ContractItem
from metacog_pipeline.benchmark.item import seeded_sample
from metacog_pipeline.benchmark.source_files import PinnedFile
from metacog_pipeline.benchmarks.selfknowledge.settings import Dataset, Language
from metacog_pipeline.errors import SourceError, StudyError, one_line
from metacog_pipeline.files import read_toml, sha256_hex, shipped
from metacog_pipeline.interchange import parquet_bounds
from metacog_pipeline.sources import Line, content_digest, read_bytes, read_objects

MAX_BYTES = 1024**3
REFERENCE_PROMPTS = "reference_prompts"
# A blank answer would be found in every reply; the longest published texts have a few hundred characters.
Text = Annotated[str, StringConstraints(pattern=r"\S", max_length=20_000)]
Name = Annotated[Text, BeforeValidator(lambda found: str(found) if type(found) is int else found)]
BENCHMARK = "selfknowledge"
LANGUAGES: tuple[Language, ...] = get_args(Language)
SAMPLE = "sample"
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
    # its only part is published under the name of "train"
    "mkqa": dict.fromkeys(("all", "train"), ("mkqa",)),
    "fictional_qa": dict.fromkeys(("all", "train", "validation"), ("fictional_qa",)),
}  # fmt: skip


class Item(ContractItem):
    """One question, by language; what a source does not say is empty."""

    split: str
    questions: tuple[tuple[str, str], ...]
    answers: tuple[tuple[str, tuple[str, ...]], ...]  # empty: nothing is right
    # what the source calls it: TriviaQA has some twice, under one id
    question_id: str = ""
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


class Row(BaseModel):
    """One question of a set, in one or more languages. ``number`` is its row in the published file, from 0."""

    model_config = ConfigDict(frozen=True, strict=True)

    number: int
    question_id: Name
    questions: dict[Language, Text]
    answers: dict[Language, list[Text]]
    event_id: str = ""
    topic: str = ""
    difficulty: str = ""

    def record(self) -> dict[str, Any]:
        """Return the row as JSON values, what is empty left out: the form that digests are of."""
        return {"row": self.number, **self.model_dump(exclude={"number"}, exclude_defaults=True)}


def of_rows(path: Path, read: Reader, within: Sequence[str] = ()) -> list[Row]:
    """Return the questions of a file in the order of its rows; SourceError names file, row and fault."""
    found, seen = [], dict[str, str]()
    for number, line in enumerate(_lines(path, within)):
        try:
            own = read(line.row, number)
            row = None if own is None else Row(number=number, **own)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            why = f"not a row of this set ({type(error).__name__}: {one_line(str(error), 200)})"
            raise SourceError(f"{line.where}: {why}; correct or replace the file") from None
        if row is not None:
            asked, name = "\n".join(row.questions.values()), row.question_id
            if seen.setdefault(name, asked) != asked:
                raise SourceError(
                    f"{line.where}: the id {name!r} is that of another question; replace the file"
                )
            found.append(row)
    if not any(any(row.answers.values()) for row in found):
        raise SourceError(f"{path}: no question has an accepted answer (a test part?); take another file")
    return found


def _lines(path: Path, within: Sequence[str]) -> Sequence[Line]:
    data = read_bytes(path, MAX_BYTES)
    # By its first bytes: publishers keep the same set as Parquet and as JSON Lines, and copies are renamed.
    if not data.startswith(b"PAR1"):
        return read_objects(path, within, MAX_BYTES)
    try:
        rows = [row for batch in parquet_bounds.batches(pa.py_buffer(data)) for row in batch.to_pylist()]
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise SourceError(f"{path}: not a readable Parquet file ({error}); replace it") from None
    return [Line(str(path), number, row) for number, row in enumerate(rows, start=1)]


#: Returns the fields of a `Row` of a published row and its number; None for one that is left out.
Reader = Callable[[Mapping[str, Any], int], dict[str, Any] | None]
_MKQA_KEYS: Mapping[Language, str] = {"en": "en", "zh": "zh_cn", "ko": "ko", "es": "es"}


def own(row: Mapping[str, Any], number: int, language: str = "en") -> dict[str, Any]:
    """Return a row of one's own: question and answers by language, or one question in ``language``."""
    answers = row.get("answers", row.get("answer", []))
    if "questions" in row:
        return {"question_id": number, **row, "answers": answers}
    accepted = [answers] if isinstance(answers, str) else answers
    name = row.get("question_id", row.get("id", number))
    return {"question_id": name, "questions": {language: row["question"]}, "answers": {language: accepted}}


def _english(question: Any, answers: Any, name: Any) -> dict[str, Any]:
    return {"question_id": name, "questions": {"en": question}, "answers": {"en": answers}}


def _freebase_qa(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    names = (name for parse in row["Parses"] for answer in parse["Answers"] for name in answer["AnswersName"])
    return _english(row["RawQuestion"], list(dict.fromkeys(filter(None, names))), row["Question-ID"])


def _mkqa(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Unanswerable questions have no answer. One that is missing in a language is asked as it was searched for."""
    there = {code: key for code, key in _MKQA_KEYS.items() if row["answers"].get(key) is not None}
    accepted = {}
    for code, key in there.items():
        names = (n for each in row["answers"][key] for n in (each["text"], *(each.get("aliases") or [])))
        accepted[code] = list(dict.fromkeys(filter(None, names)))
    asked = {code: row["queries"].get(key) or row["query"] for code, key in there.items()}
    kind = next((each.get("type") for each in row["answers"].get("en") or []), None) or ""
    return {"question_id": row["example_id"], "questions": asked, "answers": accepted, "topic": kind}


def _fictional_qa(row: Mapping[str, Any], number: int) -> dict[str, Any] | None:
    made = _english(row["question"], [row["natural_answer"]], row["question_id"])
    return None if row["duplicate_relationship"] is not None else {**made, "event_id": row["event_id"]}


_LAYOUTS: Mapping[str, Reader] = {
    "freebase_qa": _freebase_qa, "mkqa": _mkqa, "fictional_qa": _fictional_qa,
    "trivia_qa": lambda row, number: _english(row["question"], row["answer"]["aliases"], row["question_id"]),
    "nq_open": lambda row, number: _english(row["question"], row["answer"], number),
    "web_questions": lambda row, number: _english(row["qText"], row["answers"], row["qId"]),
}  # fmt: skip


class _Set(NamedTuple):
    layout: str
    rows: int
    url: str
    licence: str
    digest: str | None = None  # of the questions, `content_digest`
    also: Sequence[str] = ()  # other names of the file in a folder
    within: Sequence[str] = ()  # the key that the rows stand under

    def of(self, path: Path) -> list[Row]:
        """Return the questions of a file."""
        return of_rows(path, _LAYOUTS[self.layout], self.within)

    def pinned(self, name: str) -> PinnedFile:
        hosts = ("huggingface.co", "hf.co")
        names = (self.url.rpartition("/")[2], *self.also, f"{name}.jsonl", f"{name}.parquet")
        return PinnedFile(
            BENCHMARK, name, self.url, self.licence, f"{name}.published", None, names, partial(self.verified, name),
            MAX_BYTES, redirects=hosts if hosts[0] in self.url else (),
        )  # fmt: skip

    def verified(self, name: str, path: Path) -> int:
        """Return how many questions the file has; SourceError unless they are, as far as is known, the published ones."""
        # Where no digest is known the number must be right, and the first file fetched pins the set for the home.
        if (n := len(rows := self.of(path))) != self.rows:
            raise SourceError(f"{path}: {n} questions, but source {name!r} has {self.rows}; replace the file")
        if self.digest not in (None, content_digest(row.record() for row in rows)):
            raise SourceError(f"{path}: not the questions of source {name!r}; replace the file")
        return n


SETS = {name: _Set(**one) for name, one in read_toml(shipped("data", BENCHMARK, "sources.toml")).items()}


_STEPS = {"DIRECT_QA": "direct", "META_QA": "meta", "DIRECT_QA_WITH_IDW": "idk"}
_CODES: Mapping[str, Language] = {"": "en", "_CN": "zh", "_KO": "ko", "_ES": "es"}


def reference_prompts(path: Path) -> dict[tuple[str, str], str]:
    """Return the authors' prompts by language and step, from the literals of their file; nothing of it is run."""
    wanted = {
        f"{name}{suffix}_PROMPT": (_CODES[suffix], _STEPS[name]) for name in _STEPS for suffix in _CODES
    }
    prompts: dict[tuple[str, str], str] = {}
    try:
        for each in ast.parse(read_bytes(path).decode()).body:
            match each:
                case ast.Assign([ast.Name(name)], ast.Constant(text)) if name in wanted:
                    prompts[wanted[name]] = str(text)
    except (SyntaxError, ValueError) as error:
        raise SourceError(f"{path}: not the authors' file of prompts ({error}); replace it") from None
    if lacking := {(code, step) for code in _CODES.values() for step in ("direct", "meta")} - prompts.keys():
        raise SourceError(f"{path}: no prompt for {min(lacking)}; take the authors' prompt.py")
    return prompts


SOURCES: Mapping[str, PinnedFile] = {
    **{name: one.pinned(name) for name, one in SETS.items()},
    REFERENCE_PROMPTS: PinnedFile(
        BENCHMARK, REFERENCE_PROMPTS,
        "https://raw.githubusercontent.com/cosmoquester/ESMA/19ceda55dbf8545fd01c53a1fa09e4dcb7eabf8f/esma/prompt.py",
        "MIT", f"{REFERENCE_PROMPTS}.py", None, ("prompt.py",), lambda path: len(reference_prompts(path)),
    ),
}  # fmt: skip
fetch = partial(source_files.fetch, SOURCES)


# In item ids, where a set has several sources.
_LABELS = {"trivia_qa_train": "train-", "trivia_qa": "validation-"}


def split_of(dataset: Dataset, named: str | None) -> str:
    """Return the part a study asks; StudyError where there is none such."""
    parts = PARTS[dataset]
    if named is None or named in parts:
        return named or next(iter(parts))
    why = f"there are {', '.join(parts)}: of others nothing, or not the answers, is published"
    raise StudyError(f'selfknowledge: {dataset} has no split "{named}"; {why}')


def _file(benchmark: Any) -> Path | None:
    """Return the file of a study that asks the sample or questions of its own; None of a published set."""
    if named := benchmark.settings.questions:
        return benchmark.study.beside(named)  # type: ignore[no-any-return]
    return SAMPLE_FILE if benchmark.settings.dataset == SAMPLE else None


def parts_of(benchmark: Any) -> dict[str, list[Row]]:
    """Return the sources the study's questions are read from, verified."""
    home, dataset, split = benchmark.study.home, benchmark.settings.dataset, benchmark.split
    if file := _file(benchmark):
        return {dataset: of_rows(file, own)}
    return {name: SETS[name].of(SOURCES[name].load(home)) for name in PARTS[dataset][split]}


def build(
    parts: Mapping[str, Sequence[Row]], dataset: str, split: str, *, limit: int | None = None, seed: int = 0
) -> list[Item]:
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
        where: Any = {"dataset": dataset, "split": split, "source": source, "source_row": row.number}
        own: Any = {"questions": tuple(row.questions.items()), "answers": answers}
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


def input_digests(benchmark: Any) -> object:
    """Return the split and the digests of what the items are built from; a source that is not fetched is left out."""
    dataset, split = benchmark.settings.dataset, benchmark.split
    if file := _file(benchmark):
        return [split, {dataset: sha256_hex(file.read_bytes()) if file.is_file() else ""}]
    return [split, source_files.kept_digests(SOURCES, benchmark.study.home, PARTS[dataset][split])]


def bring_sources(benchmark: Any, inputs: Inputs) -> Made:
    """Bring the questions the study asks home, verified."""
    origin = source_files.brought(SOURCES, benchmark)
    rows = [row for part in parts_of(benchmark).values() for row in part]
    without = sum(not any(row.answers.values()) for row in rows)
    return Made(facts={"rows": len(rows), "unanswerable": without, "origin": origin})


def make_items(benchmark: Any, inputs: Inputs) -> Made:
    """Build the items the study asks."""
    settings, split = benchmark.settings, benchmark.split
    drawn = {"limit": settings.limit, "seed": benchmark.seed}
    items = build(parts_of(benchmark), settings.dataset, split, **drawn)
    without = sum(not any(accepted for _, accepted in item.answers) for item in items)
    facts = {"dataset": settings.dataset, "split": split, "items": len(items), "unanswerable": without}
    mostly = (10 * without <= len(items), {"without an answer": without})
    return Made(rows=items, facts=facts, checks={"mostly_answerable": mostly})


STEPS = (
    Step(
        "sources", "Short-answer questions with all accepted answers: a published set, verified, or the sample's facts.",
        bring_sources, inputs=input_digests,
    ),
    Step(
        "items", "The questions, in every language they have, the same for every model, run and condition.", make_items,
        needs=("sources",), writes=Item, inputs=input_digests,
        checks={"mostly_answerable": "Nine in ten questions have an answer; the others count as wrong."},
    ),
)  # fmt: skip
