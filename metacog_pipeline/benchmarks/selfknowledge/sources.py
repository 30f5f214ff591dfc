"""The published question sets: where each is, what it must be, and how its rows are read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

from metacog_pipeline.benchmark import source_files
from metacog_pipeline.benchmark.source_files import PinnedFile
from metacog_pipeline.benchmarks.selfknowledge.settings import Language
from metacog_pipeline.errors import SourceError, one_line
from metacog_pipeline.home import Home
from metacog_pipeline.interchange import parquet_bounds
from metacog_pipeline.sources import Line, content_digest, read_bytes, read_objects

MAX_BYTES = 1024**3
REFERENCE_PROMPTS = "reference_prompts"
# A blank answer would be found in every reply; the longest published texts have a few hundred characters.
Text = Annotated[str, StringConstraints(pattern=r"\S", max_length=20_000)]
Name = Annotated[Text, BeforeValidator(lambda found: str(found) if type(found) is int else found)]


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


def of_rows(path: Path, read: Reader, within: tuple[str, ...] = ()) -> list[Row]:
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


def _lines(path: Path, within: tuple[str, ...]) -> Sequence[Line]:
    data = read_bytes(path, MAX_BYTES)
    # By its first bytes: publishers keep the same set as Parquet and as JSON Lines, and copies are renamed.
    if not data.startswith(b"PAR1"):
        return read_objects(path, within, MAX_BYTES)
    try:
        rows = [row for batch in parquet_bounds.batches(pa.py_buffer(data)) for row in batch.to_pylist()]
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise SourceError(f"{path}: not a readable Parquet file ({error}); replace it") from None
    return [Line(str(path), number, row) for number, row in enumerate(rows, start=1)]


# --- the layouts --------------------------------------------------------------------------------------------------------
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


def _trivia_qa(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    return _english(row["question"], row["answer"]["aliases"], row["question_id"])


def _nq_open(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    return _english(row["question"], row["answer"], number)


_HUB, _RAW = "https://huggingface.co/datasets/{}/resolve/{}/{}", "https://raw.githubusercontent.com/{}/{}/{}"


class _Set(NamedTuple):
    read: Reader
    rows: int
    place: str  # repository, revision and file
    licence: str = "as its publisher says"
    digest: str | None = None  # of the questions, `content_digest`
    also: tuple[str, ...] = ()  # other names of the file in a folder
    within: tuple[str, ...] = ()

    def of(self, path: Path) -> list[Row]:
        """Return the questions of a file."""
        return of_rows(path, self.read, self.within)

    def pinned(self, name: str) -> PinnedFile:
        repository, revision, file = self.place.split(" ")
        hub = file.endswith(".parquet")
        names = (Path(file).name, *self.also, f"{name}.jsonl", f"{name}.parquet")
        return PinnedFile(
            "selfknowledge", name, (_HUB if hub else _RAW).format(repository, revision, file), self.licence,
            f"{name}.published", None, names, partial(self.verified, name), MAX_BYTES,
            redirects=("huggingface.co", "hf.co") if hub else (),
        )  # fmt: skip

    def verified(self, name: str, path: Path) -> int:
        """Return how many questions the file has; SourceError unless they are, as far as is known, the published ones."""
        # Where no digest is known the number must be right, and the first file fetched pins the set for the home.
        if (n := len(rows := self.of(path))) != self.rows:
            raise SourceError(f"{path}: {n} questions, but source {name!r} has {self.rows}; replace the file")
        if self.digest not in (None, content_digest(row.record() for row in rows)):
            raise SourceError(f"{path}: not the questions of source {name!r}; replace the file")
        return len(rows)


_TRIVIA = "mandarjoshi/trivia_qa 0f7faf33a3908546c6fd5b73a660e0f8ff173c2f rc.nocontext"
_NQ = "google-research-datasets/natural-questions fb26a3073b1fe636c97302890a27b491d6530130 nq_open"
SETS: Mapping[str, _Set] = {
    # Joshi et al. 2017, without the evidence
    "trivia_qa": _Set(_trivia_qa, 17_944, f"{_TRIVIA}/validation-00000-of-00001.parquet"),
    "trivia_qa_train": _Set(_trivia_qa, 138_384, f"{_TRIVIA}/train-00000-of-00001.parquet"),
    # Jiang, Wu and Jiang 2019
    "freebase_qa": _Set(
        _freebase_qa, 3_996, "kelvin-jiang/FreebaseQA 1773919d816f87bafc586ecf022a4f9b1f9f6690 FreebaseQA-eval.json",
        "CC BY 4.0", also=("freebase_qa.json",), within=("Questions",)),
    # Lee, Chang and Toutanova 2019
    "nq_open": _Set(
        _nq_open, 3_610, f"{_NQ}/NQ-open.dev.jsonl", "CC BY-SA 3.0",
        "6cce8b8ebbed6bb77717444b93bc316640830e8566e2ccabe59c7138790e9b8f", ("nq_open_dev.jsonl",)),
    # Berant et al. 2013, as YodaQA's authors keep it
    "web_questions": _Set(
        lambda row, number: _english(row["qText"], row["answers"], row["qId"]), 2_032,
        "brmson/dataset-factoid-webquestions 668890853388010fe6ae9a5eb035a7917b88933b main/test.json", "CC BY 4.0",
        "377afab8a85fe3f7b179269651a55454a4d66812bf8f98960dbab5071757c107", ("webquestions_test.jsonl",)),
    # Min et al. 2021
    "efficientqa": _Set(
        _nq_open, 1_800, f"{_NQ}/NQ-open.efficientqa.dev.1.1.jsonl", "CC BY-SA 3.0",
        "fa60fbc6a87b75e3feb1e3ac436426a836ee06866aed8689c0728298f2416ea0", ("nq_efficientqa_dev_1.1.jsonl",)),
    # Longpre, Lu and Daiber 2021
    "mkqa": _Set(
        _mkqa, 10_000, "apple/ml-mkqa 651b8cc85c407270b024157aff06ee6ab8c4fc6d dataset/mkqa.jsonl.gz", "CC BY-SA 3.0"),
    # Kirchenbauer et al. 2025, questions that repeat another left out
    "fictional_qa": _Set(
        _fictional_qa, 1_797,
        "tomg-group-umd/fictionalqa adad911d2518d62c4434ac590cc48d202f2aad83 fict_qa/train-00000-of-00001.parquet",
        also=("fict_qa.parquet",)),
}  # fmt: skip


# --- the authors' prompts -----------------------------------------------------------------------------------------------
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
        "selfknowledge", REFERENCE_PROMPTS,
        _RAW.format("cosmoquester/ESMA", "19ceda55dbf8545fd01c53a1fa09e4dcb7eabf8f", "esma/prompt.py"),
        "MIT", f"{REFERENCE_PROMPTS}.py", None, ("prompt.py",), lambda path: len(reference_prompts(path)),
    ),
}  # fmt: skip
fetch = partial(source_files.fetch, SOURCES)


def load(home: Home, name: str) -> list[Row]:
    """Return the questions of a kept source after checking it against its digest."""
    return SETS[name].of(SOURCES[name].load(home))
