"""Published files of questions → rows, in the order of the file. One function for each layout; all read any packing of it.

==================  =====================================================================================
``trivia_qa``       ``question_id``, ``question``, ``answer.aliases``; also as the authors pack it (``Data``)
``freebase_qa``     ``Questions`` with ``RawQuestion`` and ``Parses``
``nq_open``         ``question``, ``answer``; also EfficientQA
``web_questions``   ``url``, ``question``, ``answers``; or ``qId``, ``qText``, ``answers``
``mkqa``            ``query``, ``queries`` and ``answers`` by language
``fictional_qa``    ``question_id``, ``event_id``, ``natural_answer``, ``duplicate_relationship``
``golden_answers``  ``id``, ``question``, ``golden_answers``: samples of TriviaQA and PopQA
``selfaware``       ``question``, ``answer`` or null, ``answerable``
==================  =====================================================================================

Each raises SourceError with file and row for anything that is not as it must be. A question without any answer is kept:
it can be asked, and nothing is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from metacog_pipeline.benchmarks.selfknowledge.construction import fields
from metacog_pipeline.benchmarks.selfknowledge.construction.rows import MAX_BYTES, Row, english, unique_ids
from metacog_pipeline.errors import SourceError
from metacog_pipeline.interchange import parquet_bounds
from metacog_pipeline.sources import Line, read_bytes, read_objects

_MKQA_KEYS = {"en": "en", "zh": "zh_cn", "ko": "ko", "es": "es"}


@dataclass(frozen=True, slots=True)
class Loaded:
    """The questions of a file and the layout they were found in."""

    rows: tuple[Row, ...]
    layout: str


def read_published(path: Path, columns: Sequence[str], within: Sequence[str] = ()) -> list[Line]:
    """Return the rows of a Parquet or JSON file, packed or not; at least one.

    Of a Parquet file ``columns`` are read; those it lacks are left out, for the loader to miss. A JSON file may keep the
    list of its rows under one of the names ``within``.
    """
    data = read_bytes(path, MAX_BYTES)
    if data.startswith(b"PAR1"):
        lines = _parquet(path, data, columns)
    else:
        del data
        lines = read_objects(path, within, MAX_BYTES)
    if not lines:
        raise SourceError(f"{path}: no rows in it; replace the file")
    return lines


def _parquet(path: Path, data: bytes, columns: Sequence[str]) -> list[Line]:
    try:
        rows = [
            row for batch in parquet_bounds.batches(pa.py_buffer(data), columns) for row in batch.to_pylist()
        ]
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise SourceError(f"{path}: not a readable Parquet file ({error}); replace it") from None
    return [Line(str(path), number, row) for number, row in enumerate(rows, start=1)]


def _loaded(lines: Sequence[Line], read: Callable[[Line, int], Row], layout: str) -> Loaded:
    """Return what ``read`` makes of each line; no id may come twice."""
    return Loaded(tuple(unique_ids([read(line, number) for number, line in enumerate(lines)], lines)), layout)


def _text(line: Line, name: str, *other: str) -> str:
    return fields.text(line, name, fields.value(line, name, *other))


def _id(line: Line, name: str, *other: str) -> str:
    return fields.identifier(line, name, fields.value(line, name, *other))


def trivia_qa(path: Path) -> Loaded:
    """Read TriviaQA (Joshi et al. 2017, arXiv:1705.03551), reading-comprehension part: ``answer.aliases`` are accepted.

    The part joins questions with evidence from the web and from Wikipedia: one with both stands there twice, under one
    id. The test part, whose answers were never published, is refused.
    """
    lines = read_published(path, ("question_id", "question", "answer.aliases"), within=("Data",))
    if all("question" in line.row or "Question" in line.row for line in lines) and not any(
        _has_aliases(line) for line in lines
    ):
        raise SourceError(
            f"{path}: no question has an answer, as in the test part of TriviaQA, whose answers are not published: nothing "
            "could be right and d′ is undefined; take the validation part"
        )
    rows = [_trivia_row(line, number) for number, line in enumerate(lines)]
    first: dict[str, Row] = {}
    for row, line in zip(rows, lines, strict=True):
        if first.setdefault(row.question_id, row).questions != row.questions:
            raise fields.wrong(line, f"the id {row.question_id!r} is that of another question already")
    return Loaded(tuple(rows), "authors" if "QuestionId" in lines[0].row else "hub")


def _has_aliases(line: Line) -> bool:
    answer: Any = line.row.get("answer", line.row.get("Answer"))
    return isinstance(answer, dict) and bool(answer.get("aliases", answer.get("Aliases")))


def _trivia_row(line: Line, number: int) -> Row:
    answer = fields.mapping(line, "answer", fields.value(line, "answer", "Answer"))
    inside = Line(line.file, line.number, answer)
    aliases = fields.texts(line, "answer.aliases", fields.value(inside, "aliases", "Aliases"))
    name = _id(line, "question_id", "QuestionId")
    return Row(name, {"en": _text(line, "question", "Question")}, {"en": aliases}, number)


def freebase_qa(path: Path) -> Loaded:
    """Read FreebaseQA (Jiang, Wu and Jiang 2019, N19-1028): each name of an answer of a parse is accepted, once.

    Names that are empty are passed over.
    """

    def row(line: Line, number: int) -> Row:
        asked = {"en": _text(line, "RawQuestion")}
        return Row(_id(line, "Question-ID"), asked, {"en": fields.distinct(_names(line))}, number)

    lines = read_published(path, ("Question-ID", "RawQuestion", "Parses"), within=("Questions",))
    return _loaded(lines, row, "freebase_qa")


def _names(line: Line) -> Iterator[str]:
    for parse in fields.items(line, "Parses", fields.value(line, "Parses")):
        inside = Line(line.file, line.number, fields.mapping(line, "a parse", parse))
        for answer in fields.items(line, "Answers", fields.value(inside, "Answers")):
            held = Line(line.file, line.number, fields.mapping(line, "an answer", answer))
            for name in fields.items(line, "AnswersName", fields.value(held, "AnswersName")):
                if name is not None and name != "":
                    yield fields.text(line, "AnswersName", name)


def nq_open(path: Path) -> Loaded:
    """Read NQ-Open (Lee, Chang and Toutanova 2019, P19-1612) or EfficientQA (Min et al. 2021, arXiv:2101.00133).

    The id of a question is its row.
    """

    def row(line: Line, number: int) -> Row:
        return english(line, number, fields.value(line, "question"), fields.value(line, "answer"))

    return _loaded(read_published(path, ("question", "answer")), row, "nq_open")


def web_questions(path: Path) -> Loaded:
    """Read WebQuestions (Berant et al. 2013, D13-1160), as the hub has it or as YodaQA's authors keep it (``brmson``).

    A ``url`` names the page a question is about. Several questions share one, so it is no key.
    """

    def brmson(line: Line, number: int) -> Row:
        asked = fields.value(line, "qText")
        return english(line, number, asked, fields.value(line, "answers"), _id(line, "qId"))

    def hub(line: Line, number: int) -> Row:
        url = line.row.get("url")
        name = "" if url is None else fields.text(line, "url", url)
        return english(line, number, fields.value(line, "question"), fields.value(line, "answers"), name)

    lines = read_published(path, ("url", "question", "answers", "qId", "qText"))
    if "qText" in lines[0].row:
        return _loaded(lines, brmson, "brmson")
    return Loaded(tuple(hub(line, number) for number, line in enumerate(lines)), "hub")


def mkqa(path: Path) -> Loaded:
    """Read MKQA (Longpre, Lu and Daiber 2021, arXiv:2007.15207): questions in 26 languages, of which four are read.

    A question has the languages it has answers or an entry for answers in. Accepted in a language: the text of each of
    its answers and then its aliases, each once. Unanswerable questions, and those whose answer is a paragraph, have none.
    A question missing in a language is asked as it was searched for, in English.
    """
    return _loaded(read_published(path, ("example_id", "query", "queries", "answers")), _mkqa_row, "mkqa")


def _mkqa_row(line: Line, number: int) -> Row:
    query = _text(line, "query")
    queries = fields.mapping(line, "queries", fields.value(line, "queries"))
    answers = fields.mapping(line, "answers", fields.value(line, "answers"))
    present = {language: key for language, key in _MKQA_KEYS.items() if answers.get(key) is not None}
    if not present:
        raise fields.wrong(line, f"answers has none of {', '.join(_MKQA_KEYS.values())}")
    accepted = {name: fields.distinct(_accepted(line, key, answers[key])) for name, key in present.items()}
    asked = {
        name: fields.text(line, f"queries.{key}", queries[key])
        if queries.get(key) not in (None, "")
        else query
        for name, key in present.items()
    }
    return Row(_id(line, "example_id"), asked, accepted, number, topic=_kind(answers.get("en")))


def _accepted(line: Line, key: str, found: Any) -> Iterator[str]:
    name = f"answers.{key}"
    for entry in fields.items(line, name, found):
        answer = fields.mapping(line, name, entry)
        for each in (answer.get("text"), *fields.items(line, f"{name}.aliases", answer.get("aliases") or [])):
            if each is not None and each != "":
                yield fields.text(line, name, each)


def _kind(found: Any) -> str:
    """Return the kind of the first answer: a number, a date, an entity, unanswerable …"""
    first = found[0] if isinstance(found, list) and found else None
    kind = first.get("type") if isinstance(first, dict) else None
    return kind if isinstance(kind, str) and len(kind) < 40 and kind.isascii() else ""


def fictional_qa(path: Path) -> Loaded:
    """Read FictionalQA (Kirchenbauer et al. 2025, arXiv:2506.05639), configuration ``fict_qa``: facts that were made up.

    Questions that repeat another (``duplicate_relationship`` is not null) are left out, though the number of a row counts
    them; ``natural_answer`` is accepted.
    """
    columns = ("question_id", "event_id", "question", "natural_answer", "duplicate_relationship")
    lines = read_published(path, columns)
    kept = [
        (number, line)
        for number, line in enumerate(lines)
        if fields.value(line, "duplicate_relationship") is None
    ]
    if not kept:
        raise SourceError(f"{path}: every question repeats another; replace the file")
    rows = [
        Row(
            _id(line, "question_id"),
            {"en": _text(line, "question")},
            {"en": (_text(line, "natural_answer"),)},
            number,
            event_id=_id(line, "event_id"),
        )
        for number, line in kept
    ]
    return Loaded(tuple(unique_ids(rows, [line for _, line in kept])), "fictional_qa")


def golden_answers(path: Path) -> Loaded:
    """Read samples of TriviaQA and of PopQA (Mallen et al. 2023, arXiv:2212.10511) with ``golden_answers``.

    PopQA's rows also say which property is asked for (``metadata.prop``): the topic.
    """

    def read(line: Line, number: int) -> Row:
        name, question = _id(line, "id"), fields.value(line, "question")
        row = english(line, number, question, fields.value(line, "golden_answers"), name)
        about = line.row.get("metadata")
        asked_for = None if about is None else fields.mapping(line, "metadata", about).get("prop")
        return row if asked_for is None else replace(row, topic=fields.text(line, "metadata.prop", asked_for))

    lines = read_published(path, ("id", "question", "golden_answers", "metadata"))
    return _loaded(lines, read, "golden_answers")


def selfaware(path: Path) -> Loaded:
    """Read SelfAware (Yin et al. 2023, arXiv:2305.18153): questions with an answer, and questions nobody can answer.

    ``answer`` is null exactly where ``answerable`` is false.
    """

    def read(line: Line, number: int) -> Row:
        answers, answerable = fields.value(line, "answer"), fields.value(line, "answerable")
        if not isinstance(answerable, bool) or answerable != bool(answers):
            raise fields.wrong(line, f"answerable is {answerable!r}, but the answer is {str(answers)[:40]!r}")
        name, question = _id(line, "question_id"), fields.value(line, "question")
        row = english(line, number, question, [] if answers is None else answers, name)
        origin = line.row.get("source")
        return row if origin is None else replace(row, topic=fields.text(line, "source", origin))

    columns = ("question_id", "question", "answer", "answerable", "source")
    return _loaded(read_published(path, columns, within=("example",)), read, "selfaware")
