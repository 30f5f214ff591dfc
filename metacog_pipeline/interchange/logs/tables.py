"""A plain table that says question, right answer and reply itself: its rows are samples, as those of a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import columns as named
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.answer_files import AnswerFile, FileRow
from metacog_pipeline.interchange.columns import absent, truth
from metacog_pipeline.interchange.confidence import Confidence
from metacog_pipeline.interchange.import_cells import RowError, correctness, only, reply_text, shown, whole
from metacog_pipeline.interchange.import_columns import (
    USUAL_NAMES,
    first_named,
    found_columns,
    parse_mapping,
    used_columns,
)
from metacog_pipeline.interchange.imported import ImportOptions
from metacog_pipeline.interchange.importing import run_of
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
    "model": USUAL_NAMES["model"],
    "run": USUAL_NAMES["run"],
    "dataset": ("dataset", "task"),
}  # fmt: skip
_NEEDED = (("question",), ("choice", "response"), ("key", "correct"))
_SHOWN = 3
_TRUTH_NUMBERS = {"1": True, "1.0": True, "0": False, "0.0": False}


def read(path: Path, pairs: Sequence[str], options: ImportOptions) -> list[Sample] | None:
    """Return the rows of a table as samples; None where it does not say question, reply, and right answer or verdict.

    Raises ``StudyError`` for a file that cannot be read, confidence on no scale that is known, numbers of options whose
    first is unknown, and a correctness that disagrees with the key.
    """
    rows = AnswerFile(path)
    try:
        mapping = parse_mapping(pairs, tuple(FIELDS))
    except StudyError as error:
        raise StudyError(f"{error}; to map fields of a benchmark's own, name the benchmark") from None
    found = _columns(rows, mapping)
    parts = option_columns(rows.columns) if "options" not in found else {}
    if lacks := ", ".join(" or ".join(each) for each in _NEEDED if not set(each) & set(found)):
        options.report(
            [f"no questions are taken from it: it lacks {lacks}; {used_columns(found, rows.columns)}"]
        )
        return None
    table = _Table(path, found, parts, options)
    made = [table.sample(row) for row in rows]
    table.check(made)
    options.report([
        f"a table of questions with their answers; {used_columns({**found, **parts}, rows.columns)}",
        str(table.confidence) if table.confidence else "no column holds a confidence",
    ])  # fmt: skip
    return made


def _columns(rows: AnswerFile, mapping: dict[str, str]) -> dict[str, str]:
    reply = {"choice", "response"}
    usual = {field: names for field, names in FIELDS.items() if not (field in reply and reply & set(mapping))}
    found = found_columns(rows, mapping, usual)
    plain = next((name for name in rows.columns if name.casefold() == "answer"), None)
    if plain is not None and not reply & set(found):
        other = first_named(FIELDS["key"], [name for name in rows.columns if name != plain])
        if found.get("key") == plain and other:
            found["key"] = other
        if "key" in found and found["key"] != plain:  # next to a key of its own, "answer" is the model's
            found["choice"] = plain
    return found


class _Number(NamedTuple):
    """A key or a choice that is a number: of a sample with options, in which field, whether an option is that text."""

    sample: Sample
    field: str
    place: int
    as_text: bool


class _Table:
    """Makes samples of rows, then holds their correctness to the key."""

    def __init__(
        self, path: Path, found: Mapping[str, str], parts: Mapping[str, str], options: ImportOptions
    ) -> None:
        self._path, self._columns, self._parts, self._options = path, found, parts, options
        self._word = options.shape.word
        self.confidence = Confidence(path, QuestionRows, options.scale)
        self._repeats = Counter[tuple[str, ...]]()
        self._rows: dict[int, int] = {}
        self._numbers: list[_Number] = []

    def sample(self, row: FileRow) -> Sample:
        """Return what a row says; a sample with the reason where it cannot be used."""
        said = {field: named.cell(row.cells, column) for field, column in self._columns.items()}
        task, model = _text(said.get("dataset")) or self._path.stem, _text(said.get("model"))
        run: int | None = None
        try:
            if row.broken is not None:
                raise RowError(row.broken)
            run = run_of(said.get("run"))
            made = self._sample(row, said, task, model)
        except RowError as error:
            return record.nothing(f"row {row.number}", task, model, str(error), run or 1)
        if run is None:  # no column counts the repeats: they are counted
            cells = made.question or {}
            asked = (task, model, made.name, str(cells.get("context")), str(cells.get("question")))
            self._repeats[asked] += 1
            run = self._repeats[asked]
        made.run = run
        self._rows[id(made)] = row.number
        return made

    def _sample(self, row: FileRow, said: dict[str, Any], task: str, model: str) -> Sample:
        question = self._question(said)
        options = self._options_of(row.cells, said.get("options"))
        labels = labels_of(said.get("options")) if options else ()
        for field in {"key", "choice"} & set(said):
            try:
                said[field] = by_label(said[field], labels)
            except ValueError as error:  # a 0 among labels from 1
                raise StudyError(f"{self._path} row {row.number}: {error}; nothing was kept") from None
        name = said.get("item_id")
        name = content_digest(question, options) if absent(name) else one_line(str(name).strip(), 200)
        text, choice = self._reply(said, options, row.number)
        key, correct = self._word(said.get("key")), said.get("correct")
        right = None if absent(correct) else correctness(self._word(correct))
        answers = [] if _no_key(key, options) else self._right_answers(key, options)
        context = str(said["context"]) if isinstance(said.get("context"), str) else ""
        cells = record.question_cells(question, options, answers, read=bool(answers), context=context)
        if cells is None or (not answers and right is None):
            raise RowError("has neither key nor verdict")
        if cells.get("kind") == "graded" and right is None:
            raise RowError("has no short right answer (key) and no verdict (correct)")
        made = Sample(
            name, task, model, Completion(Status.OK, text), question=cells,
            right=None if right is None else bool(right), settings={"file": self._path.name},
        )  # fmt: skip
        numbers = {"choice": choice, "key": answers[0] if len(answers) == 1 else None}
        texts = {*map(flat, options)}
        for field, value in numbers.items() if options else ():
            if value is not None and (place := whole(value)) is not None:
                as_text = bool({flat(str(value)), str(place)} & texts)
                self._numbers.append(_Number(made, field, place, as_text))
        return made

    def _question(self, said: dict[str, Any]) -> str:
        """Return the question; one that is an object, as in some data sets, holds its options, too."""
        question = said.get("question")
        if isinstance(question, Mapping):
            if absent(said.get("options")):
                said["options"] = question.get("choices")
            question = next(
                (question[each] for each in ("stem", "text", "question") if each in question), question
            )
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
        try:
            return [] if absent(value) else list(options_of(value))
        except ValueError as error:
            raise RowError(f"options {shown(value)}: {error}") from None

    def _right_answers(self, key: Any, options: Sequence[str]) -> list[Any]:
        """Return the right answers of a key: of a list of a 0 or 1 for each option the option with the 1."""
        try:
            answers = right_answers(key)
        except ValueError:
            raise RowError(f"key is {_parts(key, 'key', self._columns['key'])}") from None
        marks = [whole(each) for each in answers]
        if options and len(answers) == len(options) and set(marks) <= {0, 1}:
            answers = [LETTERS[place] for place, mark in enumerate(marks) if mark]
        if options and len(answers) > 1:
            raise RowError(f"has {len(answers)} right options; one can be right")
        return answers

    def _reply(self, said: Mapping[str, Any], options: Sequence[str], row: int) -> tuple[str, Any]:
        """Return the reply of a row, put together where it is no raw one, and the choice in it."""
        choice = self._word(said.get("choice"))
        if _no_answer(choice, said.get("key"), options):
            if absent(said.get("response")):
                raise RowError("has no answer")
            text, choice = reply_text(said["response"], "response"), None
        else:
            choice = only(choice) if options else _in_words_of(said.get("key"), only(choice))
            place = whole(choice) if options and str(choice) not in options else None
            text = f"Answer: {one_line(str(choice if place is None else place).strip(), 2_000)}"  # 5.0 of the option 5
        sure = said.get("confidence")
        sure = sure if named.number(sure) is not None else self._word(sure)
        if self.confidence.none_stated(sure):
            self.confidence.missing += "confidence" in said
        elif not states_confidence(text):
            rated = self.confidence.take(sure, row)
            text += f"\nConfidence: {rated}%" if named.number(rated) is not None else ""
        return text, choice

    # --- all rows -----------------------------------------------------------------------------------------------------
    def check(self, made: Sequence[Sample]) -> None:
        """Put letters for numbers of options, and refuse confidence or a correctness that cannot be right."""
        self.confidence.check()
        from_zero = any(each.run == 0 for each in made)
        for each in made:
            each.run += from_zero
        # a field names options by number where most of its numbers are the text of no option
        texts = Counter[str]()
        for number in self._numbers:
            texts[number.field] += 1 if number.as_text else -1
        used = [number for number in self._numbers if not number.as_text or texts[number.field] < 0]
        first = self._first(used)
        for sample, field, place, _ in used:
            question = sample.question or {}
            options, at = question.get("options", ()), place - first
            if not 0 <= at < len(options):
                sample.why = f"names option {place} of {len(options)}"
            elif field == "key":
                sample.question = {**question, "answer": record.lettered(LETTERS[at], options)}
            else:
                below = sample.said.text.split("\n", 1)[1:]
                sample.said = Completion(Status.OK, "\n".join([f"Answer: {LETTERS[at]}", *below]))
        if "correct" not in self._options.trust:
            self._refuse_other_verdicts([each for each in made if each.why is None])

    def _first(self, used: Sequence[_Number]) -> int:
        """Return the number of the first option: 0, or 1 where that is given or a number is that of the last option."""
        places = [each for each in used if not each.as_text]
        if not places or self._options.from_one:
            return int(self._options.from_one)
        zero = any(each.place == 0 for each in places)
        over = any(each.place == len((each.sample.question or {}).get("options", ())) for each in places)
        if zero == over:
            seen = "named by numbers and none is 0, so they seem to begin at 1"
            raise StudyError(
                f"{self._path}: options are {'counted from 0 and from 1' if zero else seen}; nothing was kept; put letters "
                "in the file, or take numbers from 1 with --from-one"
            )
        return int(over)

    def _refuse_other_verdicts(self, made: Sequence[Sample]) -> None:
        keys: dict[tuple[str, str, str], Question | None] = {}
        compared, other = 0, []
        for each in made:
            if each.right is None or (item := item_of(keys, each)) is None or item.kind == "graded":
                continue
            read_here = item.is_right(each.said.text)
            compared += read_here is not None
            if read_here is not None and bool(read_here) != each.right:
                row = self._rows[id(each)]
                other.append(f"row {row} ({each.name}) says {int(each.right)}, by key {int(read_here)}")
        if other:
            raise StudyError(
                f"{self._path}: correct (column {self._columns['correct']!r}) disagrees with the key in {len(other)} of "
                f"{compared} rows: {', '.join(other[:_SHOWN])}{', …' if len(other) > _SHOWN else ''}; nothing was kept; "
                "correct the file, or score by its key with --trust correct"
            )


def item_of(keys: dict[tuple[str, str, str], Question | None], each: Sample) -> Question | None:
    """Return the question that a row asks, one object for all rows that ask it; None where it is none."""
    place = each.task, each.name, repr(each.question)
    if place not in keys:
        try:
            keys[place] = Question(**question_of({**(each.question or {}), "id": each.name}, each.task))
        except ValueError:
            keys[place] = None
    return keys[place]


def _parts(value: Mapping[str, Any] | list[Any], field: str, column: str) -> str:
    """Return what a cell of several parts is, and how one of them is mapped."""
    if isinstance(value, list):
        return f"a list of {len(value)}; map one of them, as in --map {field}={column}[0]"
    names = [one_line(str(name), 40) for name in list(value)[:5]] or ["…"]
    return f"an object with {', '.join(names)}; map a part of it, as in --map {field}={column}.{names[0]}"


def _in_words_of(key: Any, value: Any) -> Any:
    """Return a True, yes or 1 in the words of a right answer that says the same: of two sides one may be a 1."""
    wanted, said = (_TRUTH_NUMBERS.get(str(each).strip(), truth(str(each))) for each in (key, value))
    return key if wanted is not None and wanted == said and str(key) != str(value) else value


def _no_key(value: Any, options: Sequence[str]) -> bool:
    """Whether a cell holds no right answer. Na (sodium) and none are one; NA, null and a dash are not, unless an option."""
    words = (*options, "Na", "None", "none", "Nil", "nil")
    return named.missing(value) and (absent(value) or str(value).strip() not in words)


def _no_answer(value: Any, key: Any, options: Sequence[str]) -> bool:
    """Whether a cell holds no answer; a word for nothing is one where it is right, or an option."""
    if absent(value) or not named.missing(value):
        return absent(value)
    text = str(value).strip()
    right = [str(each).strip().casefold() for each in listed(key) if not _no_key(each, options)]
    return text not in options and text.casefold() not in right


def _text(value: Any) -> str:
    return "" if absent(value) else one_line(str(value).strip(), 200)
