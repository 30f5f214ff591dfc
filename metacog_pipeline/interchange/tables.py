"""A table of answers that brings the question or the reply itself: its rows are samples, as those of a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import answer_cells, cells, record
from metacog_pipeline.interchange import question_rows as parts_of
from metacog_pipeline.interchange.answer_cells import RowError, line_of, only, reply_text, shown, whole
from metacog_pipeline.interchange.cells import absent
from metacog_pipeline.interchange.confidence import Confidence
from metacog_pipeline.interchange.import_rules import ImportOptions, RowRules
from metacog_pipeline.interchange.question import LETTERS, states_confidence
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Completion, Status

# Words for nothing that can be right, Na as sodium; NA, null and a dash are no key.
_WORDS = ("Na", "None", "none", "Nil", "nil")


class Questions:
    """Fills samples from rows with questions of one's own."""

    def __init__(
        self, path: Path, rules: RowRules, options: ImportOptions, fields: Mapping[str, str]
    ) -> None:
        """``fields`` are those that the table has, with their columns."""
        self._path, self._options, self._keyed = path, options, bool({"key", "correct"} & {*fields})
        self.confidence = Confidence(path, rules, options)
        self._repeats = Counter[tuple[str, ...]]()

    def lines(self, samples: Sequence[Sample]) -> list[str]:
        """Return on which scale confidence was taken; StudyError where it is on none."""
        self.confidence.check()
        return [str(self.confidence)]

    def take(self, made: Sample, said: Mapping[str, Any]) -> None:
        """Fill a sample with what a row says; RowError with the reason where it cannot be used."""
        made.task = line_of(said.get("dataset")) or self._path.stem
        run = 1 if self._options.people else answer_cells.run_of(said.get("run"))
        question = _question(said["question"]) if "question" in said else None
        options, labels = _options(said)
        made.name = line_of(said.get("item_id")) or parts_of.content_digest(str(question), options)
        key, choice = (self._named(said, field, options, labels, made.row) for field in ("key", "choice"))
        made.said = Completion(Status.OK, self._reply(said, choice, key, options, made.row))
        if question is None:
            made.key = None if _says_nothing(key, _WORDS) else key
        elif self._keyed:
            self._hold(made, question, options, key, said)
        else:  # one of the study's, which has the key
            made.question, made.known = record.question_cells(question, options, [], read=False), True
        if run is None:  # no column counts the repeats: they are counted
            asked = made.question or {}
            one = (made.task, made.model, made.name, str(asked.get("context")), str(asked.get("question")))
            self._repeats[one] += 1
            run = self._repeats[one]
        made.run = run

    def _named(
        self, said: Mapping[str, Any], field: str, options: Sequence[str], labels: Sequence[str], row: int
    ) -> Any:
        """Return the key or the choice of a row; StudyError for a number of which nothing says which option it is."""
        try:
            value = self._options.word(parts_of.by_label(said.get(field), labels))
        except ValueError as error:  # a 0 among labels from 1
            raise StudyError(f"{self._path} row {row}: {error}; nothing was kept") from None
        place = whole(only(value)) if options and not isinstance(value, Mapping) else None
        if place is None or {parts_of.flat(str(value)), str(place)} & {*map(parts_of.flat, options)}:
            return value if place is None or field == "key" else place  # 5.0 of the option 5
        raise StudyError(
            f"{self._path} row {row}: {field} {shown(value)} is no option, but a number: does the first have 0 or 1? "
            "nothing was kept; say which letter each number is, as in --map-values 1=A,2=B,3=C,4=D"
        )

    def _hold(
        self, made: Sample, question: str, options: Sequence[str], key: Any, said: Mapping[str, Any]
    ) -> None:
        """Give a sample its question, with the key or the verdict of its row."""
        correct = said.get("correct")
        made.right = None if absent(correct) else answer_cells.correctness(self._options.word(correct))
        try:
            answers = [] if _says_nothing(key, [*options, *_WORDS]) else parts_of.right_answers(key)
        except ValueError as error:
            raise RowError(f"key {error}") from None
        context = said["context"] if isinstance(said.get("context"), str) else ""
        made.question = record.question_cells(question, options, answers, read=bool(answers), context=context)
        if options and len(answers) > 1:
            raise RowError(f"has {len(answers)} right options; one can be right")
        if made.right is None and (not answers or (made.question or {}).get("kind") == "graded"):
            raise RowError("has no short right answer (key) and no verdict (correct)")

    def _reply(self, said: Mapping[str, Any], choice: Any, key: Any, options: Sequence[str], row: int) -> str:
        """Return the reply of a row: the choice as a line, else the raw one, and its confidence where that has none."""
        right = [str(each).strip().casefold() for each in parts_of.listed(key)]
        if not _says_nothing(choice, [*options, *right]):
            text = f"Answer: {one_line(str(only(choice)).strip(), 2_000)}"
        elif not absent(said.get("response")):
            text = reply_text(said["response"], "response")
        else:
            raise RowError("has no answer")
        # a reply is read for its confidence only where a cell has another one: that takes time
        if cells.missing(said.get("confidence")) or not states_confidence(text):
            rated = self.confidence.rating(said, "confidence", row)
            text += f"\nConfidence: {rated}%" if cells.number(rated) is not None else ""
        return text


def _question(value: Any) -> str:
    if isinstance(value, Mapping | list):
        raise RowError("question is no text; give a column with its text")
    if absent(value):
        raise RowError("has no question")
    return str(value)


def _options(said: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    parts = [cell for field, cell in said.items() if field in LETTERS]  # a column each
    value = parts_of.texts_of(parts) if parts else said.get("options")
    try:
        return ((), ()) if absent(value) else parts_of.options_of(value)
    except ValueError as error:
        raise RowError(f"options {shown(value)}: {error}") from None


def _says_nothing(value: Any, known: Sequence[Any]) -> bool:
    # a word for nothing, such as none or NA, is an answer where it is an option or right
    text = str(value).strip()
    return absent(value) or (cells.missing(value) and not {text, text.casefold()} & {*map(str, known)})
