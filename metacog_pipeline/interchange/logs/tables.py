"""A plain table that says question, right answer and reply itself: its rows are samples, as those of a log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import columns as named
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.answer_files import AnswerFile, FileRow, chosen
from metacog_pipeline.interchange.cells import absent, truth
from metacog_pipeline.interchange.import_cells import (
    RowError,
    correctness,
    none_stated,
    reply_text,
    shown,
    whole,
)
from metacog_pipeline.interchange.import_columns import (
    USUAL_NAMES,
    first_named,
    parse_mapping,
    unclaimed,
    used_columns,
)
from metacog_pipeline.interchange.import_scale import Confidence
from metacog_pipeline.interchange.imported import ImportOptions
from metacog_pipeline.interchange.question import LETTERS, Question, states_confidence
from metacog_pipeline.interchange.question_rows import (
    CONTEXT,
    NAMES,
    by_label,
    content_digest,
    flat,
    labels_of,
    listed,
    option_columns,
    options_of,
    question_of,
    right_answers,
    texts_of,
)
from metacog_pipeline.interchange.question_rules import QuestionRows
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Completion, Status

_INDICES = ("answer_idx", "answer_index", "correct_idx", "correct_index", "gold_idx", "gold_index", "cop")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "item_id": USUAL_NAMES["item_id"],
    "question": (*USUAL_NAMES["question"], "query", "problem", "input", "prompt", "statement", "claim"),
    "context": CONTEXT,
    "options": NAMES["options"],
    "response": (*USUAL_NAMES["response"], "generated_answer", "generated", "llm_answer", "llm_response",
                 "actual_output", "actual", "hypothesis", "sampled"),
    "choice": (*(name for name in QuestionRows.own["choice"] if name != "answer"), "predicted_answer", "pred_answer"),
    "confidence": (*QuestionRows.own["confidence"], "verbalized_confidence", "stated_confidence", "p_true", "prob",
                   "confidence_reply", "confidence_response", "confidence_text"),
    "key": (*USUAL_NAMES["key"], "answer", "answers", "answerkey", *_INDICES, "label", "expected_answer",
            "expected_output", "expected", "reference_answer", "reference", "ideal"),
    "correct": USUAL_NAMES["correct"],
    "model": ("model", "model_name", "model_id", "system", "engine"),
    "run": ("run", "epoch", "repeat"),
    "dataset": ("dataset", "task"),
}  # fmt: skip
_SHOWN = 3
MOST_RUNS = 99
_NAMING = {"key", "choice"}  # fields that may name an option
_TRUTH_NUMBERS = {"1": True, "1.0": True, "0": False, "0.0": False}
_NUMBERED = re.compile(r"[^\W\d]{1,20}[\s_#-]{0,3}(\d{1,3})")


def read(path: Path, pairs: Sequence[str], options: ImportOptions) -> list[Sample] | None:
    """Return the rows of a table as samples; None where it does not say question, reply, and right answer or verdict.

    Raises ``StudyError`` for a file that cannot be read, confidence on no scale that is known, indices of options of
    which it cannot be told where they begin, and a correctness that disagrees with the key.
    """
    rows = AnswerFile(path, options.shape)
    try:
        mapping = parse_mapping(pairs, tuple(FIELDS))
    except StudyError as error:
        raise StudyError(f"{error}; to map fields of a benchmark's own, name the benchmark") from None
    found = _columns(rows, mapping)
    parts = option_columns(rows.columns) if "options" not in found else {}
    show = options.show or (lambda line: None)
    if lacks := _lacks(found):
        show(f"no questions are taken from it: it lacks {lacks}; {used_columns(found, rows.columns)}")
        return None
    table = _Table(path, found, parts, options)
    made = [each for row in chosen(rows, options.where) if (each := table.sample(row)) is not None]
    table.check(made)
    show(f"a table of questions with their answers; {used_columns({**found, **parts}, rows.columns)}")
    show(str(table.confidence) if table.confidence else "no column holds a confidence")
    return made


def _columns(rows: AnswerFile, mapping: dict[str, str]) -> dict[str, str]:
    for field, column in mapping.items():
        if not rows.has(column):
            there = ", ".join(map(repr, rows.columns))
            raise StudyError(f"{rows.path}: no column {column!r} to map {field} to; the columns are: {there}")
    found = dict(mapping)
    answered = {"choice", "response"} & set(mapping)
    for field, usual in FIELDS.items():
        free = unclaimed(rows.columns, found.values())
        if field in found or (answered and field in ("choice", "response")):
            continue
        if (usually := first_named(usual, free)) is not None:
            found[field] = usually
    if not {"choice", "response"} & set(found) and "answer" in map(str.casefold, rows.columns):
        plain = next(name for name in rows.columns if name.casefold() == "answer")
        other = first_named(FIELDS["key"], [name for name in rows.columns if name != plain])
        if found.get("key") == plain and other:
            found["key"] = other
        if "key" in found and found["key"] != plain:  # beside a key of its own, "answer" is the model's
            found["choice"] = plain
    return found


def _lacks(found: Mapping[str, str]) -> str:
    """Return what a table lacks to bring its own questions; '' where it lacks nothing."""
    needed = ("question",), ("choice", "response"), ("key", "correct")
    return ", ".join(" or ".join(each) for each in needed if not set(each) & set(found))


class _Number(NamedTuple):
    """A number in a cell that names an option: by its place, or as its ``text``."""

    place: int
    text: bool


class _Table:
    """Makes samples of rows, then holds their correctness to the key."""

    def __init__(
        self, path: Path, found: Mapping[str, str], parts: Mapping[str, str], options: ImportOptions
    ) -> None:
        self._path, self._columns, self._parts, self._options = path, found, parts, options
        rules: Any = QuestionRows
        self.confidence = Confidence(path, rules, options.scale)
        self._repeats = Counter[tuple[str, ...]]()
        self._rows: dict[int, int] = {}
        self._numbers: list[tuple[str, int, int]] = []  # field, the number, how many options
        self._indexed: list[tuple[Sample, dict[str, _Number], str]] = []

    def sample(self, row: FileRow) -> Sample | None:
        """Return what a row says; a sample with the reason where it cannot be used."""
        if row.broken is not None:
            return record.nothing(f"row {row.number}", self._path.stem, "", row.broken)
        said = {field: named.cell(row.cells, column) for field, column in self._columns.items()}
        task, model, run = _text(said.get("dataset")) or self._path.stem, _text(said.get("model")), None
        try:
            run = _run(said.get("run"))
            question = self._question(said)
            options = self._options_of(row.cells, said.get("options"))
            labels = labels_of(said.get("options")) if options else ()
            said |= {each: self._by_label(said[each], labels, row.number) for each in _NAMING & said.keys()}
            name = self._name(said.get("item_id"), question, options)
            text, indices = self._reply(said, options, row.number)
        except RowError as error:
            return record.nothing(f"row {row.number}", task, model, str(error), run or 1)
        key = self._options.shape.word(said.get("key"))
        correct = said.get("correct")
        right = None if absent(correct) else correctness(self._options.shape.word(correct))
        try:
            answers = [] if _no_key(key, options) else self._right_answers(key, options)
        except RowError as error:
            return record.nothing(f"row {row.number}", task, model, str(error), run or 1)
        if len(answers) == 1 and options and (place := self._index(answers[0], options)) is not None:
            indices["key"] = place
        context = str(said["context"]) if isinstance(said.get("context"), str) else ""
        cells = record.question_cells(question, options, answers, read=bool(answers), context=context)
        if cells is None or (not answers and right is None):
            return record.nothing(f"row {row.number}", task, model, "has neither key nor verdict", run or 1)
        if cells.get("kind") == "graded" and right is None:
            why = "has no short right answer (key) and no verdict (correct)"
            return record.nothing(f"row {row.number}", task, model, why, run or 1)
        if run is None:  # no column counts the repeats: they are counted
            asked = (task, model, name, context, question)
            self._repeats[asked] += 1
            run = self._repeats[asked]
        made = Sample(
            name, task, model, Completion(Status.OK, text), question=cells, run=run,
            right=None if right is None else bool(right), settings={"file": self._path.name},
        )  # fmt: skip
        self._rows[id(made)] = row.number
        if indices:
            self._indexed.append((made, indices, text))
            told = indices.items()
            self._numbers += [(field, each.place, len(options)) for field, each in told if not each.text]
        return made

    def _question(self, said: dict[str, Any]) -> str:
        """Return the question; one that is an object, as in some data sets, with its options beside it."""
        question = said.get("question")
        if isinstance(question, Mapping):
            if absent(said.get("options")):
                said["options"] = question.get("choices")
            parts = [question[each] for each in ("stem", "text", "question") if each in question]
            question = parts[0] if parts else question
        if isinstance(question, list) and question and all(isinstance(each, Mapping) for each in question):
            asked = [each.get("content") for each in question if each.get("role") == "user"]
            question = asked[-1] if asked else question  # the last turn of a conversation
        if isinstance(question, Mapping | list):
            raise RowError(f"question is {_parts(question, 'question', self._columns['question'])}")
        if absent(question) or not isinstance(question, str | int | float):
            raise RowError("has no question")
        return str(question)

    def _options_of(self, cells: Mapping[str, Any], value: Any) -> list[str]:
        if self._parts:
            value = texts_of([cells.get(column) for column in self._parts.values()])
        if absent(value):
            return []
        try:
            return list(options_of(value))
        except ValueError as error:
            raise RowError(f"options {shown(value)}: {error}") from None

    def _by_label(self, value: Any, labels: Sequence[str], row: int) -> Any:
        """Return the letter for a label; a file that has a 0 beside labels from 1 is refused."""
        try:
            return by_label(value, labels)
        except ValueError as error:
            raise StudyError(f"{self._path} row {row}: {error}; nothing was kept") from None

    def _right_answers(self, key: Any, options: Sequence[str]) -> list[Any]:
        """Return the right answers of a key: of a list of a 0 or 1 for each option the option with the 1."""
        try:
            answers = right_answers(key)
        except ValueError as error:
            assert isinstance(key, Mapping), error
            raise RowError(f"key is {_parts(key, 'key', self._columns['key'])}") from None
        marks = [whole(each) for each in answers]
        if options and len(answers) == len(options) and set(marks) <= {0, 1}:
            answers = [LETTERS[place] for place, mark in enumerate(marks) if mark]
        if options and len(answers) > 1:
            raise RowError(f"has {len(answers)} right options; one can be right")
        return answers

    @staticmethod
    def _name(value: Any, question: str, options: Sequence[str]) -> str:
        """Return what the row calls its question, else a digest of it."""
        return content_digest(question, options) if absent(value) else one_line(str(value).strip(), 200)

    def _reply(
        self, said: Mapping[str, Any], options: Sequence[str], row: int
    ) -> tuple[str, dict[str, _Number]]:
        """Return the reply of a row, put together where it is no raw one, and the number of an option in it."""
        value, indices = self._options.shape.word(said.get("choice")), dict[str, _Number]()
        if _no_answer(value, said.get("key"), options):
            if absent(said.get("response")):
                raise RowError("has no answer")
            text = reply_text(said["response"], "response")
        else:
            while isinstance(value, list) and len(value) == 1:
                value = value[0]
            value = value if options else _in_words_of(said.get("key"), value)
            place = self._index(value, options) if options else None
            if place is not None:
                indices["choice"] = place
            if place is not None and place.text and str(value) not in options:
                value = place.place  # 5.0 of the option 5
            text = f"Answer: {one_line(str(value).strip(), 2_000)}"
        sure = said.get("confidence")
        sure = sure if named.number(sure) is not None else self._options.shape.word(sure)
        if named.missing(sure) or none_stated(sure, self._options.scale or QuestionRows.scale):
            self.confidence.missing += "confidence" in said
        elif not states_confidence(text):
            rated = self.confidence.take(sure, row)
            text += f"\nConfidence: {rated}%" if named.number(rated) is not None else ""
        return text, indices

    def _index(self, value: Any, options: Sequence[str]) -> _Number | None:
        """Return the number by which a cell may name an option; None where it names it by letter or text."""
        place = whole(value)
        if place is None:
            return None
        return _Number(place, text={flat(str(value)), str(place)} & {*map(flat, options)} != set())

    def _by_number(self) -> set[str]:
        """Return the fields that name options by number: where most of their numbers are the text of no option."""
        told = Counter[str]()
        for _, indices, _ in self._indexed:
            told.update({field: -1 if each.text else 1 for field, each in indices.items()})
        return {field for field, more in told.items() if more > 0}

    def check(self, made: Sequence[Sample]) -> None:
        """Put letters for numbers of options, and refuse confidence or a correctness that cannot be right."""
        self.confidence.check()
        if any(each.run == 0 for each in made):  # runs are counted from 0 in the file
            for each in made:
                each.run += 1
        first, numbered = self._first(), self._by_number()
        for each, numbers, text in self._indexed:
            assert each.question is not None
            indices = {
                name: said.place for name, said in numbers.items() if not said.text or name in numbered
            }
            options = each.question.get("options", ())
            there = {name: place - first for name, place in indices.items()}
            letters = {name: LETTERS[at] for name, at in there.items() if 0 <= at < len(options)}
            if len(letters) < len(indices):
                each.why = f"names option {max(indices.values())} of {len(options)}"
                continue
            if "key" in letters:
                each.question = {**each.question, "answer": record.lettered(letters["key"], options)}
            if "choice" in letters:
                below = text.split("\n", 1)[1:]
                reply = "\n".join([f"Answer: {letters['choice']}", *below])
                each.said = Completion(Status.OK, reply)
        self._refuse_other_verdicts([each for each in made if each.why is None])

    def _first(self) -> int:
        """Return the number of the first option: 0, or 1 where that is said or shown. One file counts in one way."""
        zero = {field for field, place, _ in self._numbers if place == 0}
        over = {field for field, place, size in self._numbers if place == size}
        if zero and over and not self._options.from_one:
            said = " and ".join(
                f"{field} (column {self._columns[field]!r}) holds {what}"
                for fields, what in ((zero, "a 0"), (over, "the number of options"))
                for field in sorted(fields)
            )
            raise StudyError(
                f"{self._path}: options are counted from 0 and from 1: {said}; nothing was kept; "
                "put letters in the file, or take the rows that fit with --from-one"
            )
        if self._options.from_one or over:
            return 1
        if not zero and self._numbers:
            raise StudyError(
                f"{self._path}: options are named by numbers and none is 0, so they seem to begin at 1; nothing was kept; "
                "take them so with --from-one, or say which letter each is with --map-values 0=A,1=B,…"
            )
        return 0

    def _refuse_other_verdicts(self, made: Sequence[Sample]) -> None:
        if "correct" in self._options.trust:
            return
        keys: dict[tuple[str, str], Question | None] = {}
        compared, other = 0, []
        for each in made:
            if each.right is None or (item := _item(keys, each)) is None or item.kind == "graded":
                continue
            read = item.is_right(each.said.text)
            compared += read is not None
            if read is not None and bool(read) != each.right:
                other.append(
                    f"row {self._rows[id(each)]} ({each.name}) says {int(each.right)}, by key {int(read)}"
                )
        if other:
            raise StudyError(
                f"{self._path}: correct (column {self._columns['correct']!r}) disagrees with the key in {len(other)} of "
                f"{compared} rows: {', '.join(other[:_SHOWN])}{', …' if len(other) > _SHOWN else ''}; nothing was kept; "
                "correct the file, or score by its key with --trust correct"
            )


def _item(keys: dict[tuple[str, str], Question | None], each: Sample) -> Question | None:
    place = each.task, each.name
    if place not in keys:
        try:
            row = {**(each.question or {}), "id": each.name}
            keys[place] = Question(**question_of(row, each.task))
        except ValueError:
            keys[place] = None
    return keys[place]


def _parts(value: Mapping[str, Any] | list[Any], field: str, column: str) -> str:
    """Return what a cell of several parts is, and how one of them is mapped."""
    if isinstance(value, list):
        return f"a list of {len(value)}; map one of them, as in --map {field}={column}[0]"
    names = ", ".join(one_line(str(name), 40) for name in list(value)[:5])
    first = one_line(str(next(iter(value), "…")), 40)
    return f"an object with {names or 'nothing'}; map a part of it, as in --map {field}={column}.{first}"


def _run(value: Any) -> int | None:
    """Return the number of a run, of "run_3" or "epoch 3" the 3; None where there is none."""
    if absent(value):
        return None
    told = _NUMBERED.fullmatch(str(value).strip())
    run = int(told[1]) if told else whole(value)
    if run is None:
        raise RowError(f"run {shown(value)} is no number")
    if not 0 <= run <= MOST_RUNS:
        raise RowError(f"run {run} is outside 0 to {MOST_RUNS}")
    return run


def _in_words_of(key: Any, value: Any) -> Any:
    """Return a True, yes or 1 in the words of a right answer that says the same: of two sides one may be a 1."""
    wanted, said = (_TRUTH_NUMBERS.get(str(each).strip(), truth(str(each))) for each in (key, value))
    return key if wanted is not None and wanted == said and str(key) != str(value) else value


def _no_key(value: Any, options: Sequence[str]) -> bool:
    """Whether a cell holds no right answer. Na (sodium) and none are one; NA, null and a dash are not, unless an option."""
    text = str(value).strip()
    return named.missing(value) and (
        absent(value) or text not in (*options, "Na", "None", "none", "Nil", "nil")
    )


def _no_answer(value: Any, key: Any, options: Sequence[str]) -> bool:
    """Whether a cell holds no answer; a word for nothing is one where it is right, or an option."""
    if absent(value) or not named.missing(value):
        return absent(value)
    text = str(value).strip()
    right = [str(each).strip().casefold() for each in listed(key) if not _no_key(each, options)]
    return text not in options and text.casefold() not in right


def _text(value: Any) -> str:
    return "" if absent(value) else one_line(str(value).strip(), 200)
