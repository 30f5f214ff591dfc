"""A table of answers that brings the question or the reply itself: its rows are samples, as those of a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import columns as named
from metacog_pipeline.interchange import question_rows as parts_of
from metacog_pipeline.interchange import record, table_columns
from metacog_pipeline.interchange.answer_files import AnswerFile
from metacog_pipeline.interchange.columns import RowError, absent, correctness, only, reply_text, shown, whole
from metacog_pipeline.interchange.import_rules import ImportOptions, QuestionRows
from metacog_pipeline.interchange.question import LETTERS, states_confidence
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.interchange.table_columns import USUAL_NAMES, Confidence
from metacog_pipeline.llm.types import Completion, Status

_REPLIES: Mapping[str, tuple[str, ...]] = {
    "response": (*USUAL_NAMES["response"], "generated_answer", "generated", "llm_answer", "llm_response",
                 "actual_output", "actual", "hypothesis", "sampled"),
    "choice": ("choice", "prediction", "predicted", "pred", "model_answer", "predicted_answer", "pred_answer"),
}  # fmt: skip
FIELDS: Mapping[str, tuple[str, ...]] = {
    "item_id": USUAL_NAMES["item_id"],
    "question": (*USUAL_NAMES["question"], "query", "problem", "input", "prompt", "statement", "claim"),
    "context": parts_of.CONTEXT,
    "options": parts_of.NAMES["options"],
    **_REPLIES,
    "confidence": ("confidence", "conf", "certainty", "probability", "confidence_score", "verbalized_confidence",
                   "stated_confidence", "p_true", "prob", "confidence_reply", "confidence_response"),
    "key": (*USUAL_NAMES["key"], "answer", "answers", "answerkey", "answer_idx", "answer_index", "correct_idx",
            "correct_index", "gold_idx", "gold_index", "cop", "label", "expected_answer", "expected_output", "expected",
            "reference_answer", "reference", "ideal"),
    **{field: USUAL_NAMES[field] for field in ("correct", "model", "run")},
    "dataset": ("dataset", "task"),
}  # fmt: skip
# Words for nothing that can be right, Na as sodium; NA, null and a dash are no key.
_WORDS = ("Na", "None", "none", "Nil", "nil")


def read(path: Path, pairs: Sequence[str], options: ImportOptions) -> list[Sample]:
    """Return the rows of a table as samples; StudyError for a file that cannot be read or lacks what is needed."""
    rows = AnswerFile(path)
    try:
        mapping = table_columns.parse_mapping(pairs, tuple(FIELDS))
    except StudyError as error:
        raise StudyError(f"{error}; to map fields of a benchmark's own, name the benchmark") from None
    if options.people is not None:
        mapping = {"model": options.people, **mapping}
    found = _columns(rows, mapping)
    parts = parts_of.option_columns(rows.columns) if "options" not in found else {}
    used = table_columns.used_columns({**found, **parts}, rows.columns)
    for needed in (("question", "item_id"), ("choice", "response")):
        if not {*needed} & {*found}:
            advice = f"name the column, as in --map {needed[0]}=COLUMN"
            raise StudyError(f"{path}: it lacks {' or '.join(needed)}; {advice}; {used}")
    table = _Table(path, bool({"key", "correct"} & {*found}), parts, options)
    made = table_columns.samples(rows, found, options, {"file": path.name}, table.take)
    table.check()
    options.report([f"a table of answers; {used}", str(table.confidence)])
    return made


def _columns(rows: AnswerFile, mapping: Mapping[str, str]) -> dict[str, str]:
    # "answer" is the key beside a reply, and else the model's
    replied = {} if {*_REPLIES} & {*mapping} else _REPLIES
    others = {name: names for name, names in FIELDS.items() if name not in _REPLIES}
    found = table_columns.found_columns(rows, mapping, {**others, **replied})
    if {*_REPLIES} & {*found}:
        return found
    return table_columns.found_columns(rows, mapping, {"choice": ("answer",), **others})


class _Table:
    """Fills samples from rows."""

    def __init__(self, path: Path, keyed: bool, parts: Mapping[str, str], options: ImportOptions) -> None:
        """``keyed`` says whether a column has a key or a verdict; ``parts`` are columns of an option each."""
        self._path, self._keyed, self._parts, self._options = path, keyed, parts, options
        self.confidence = Confidence(path, QuestionRows, options.scale)
        self._repeats = Counter[tuple[str, ...]]()
        self._numbers: list[tuple[Sample, str, int]] = []  # keys and choices that are places of options

    def take(self, made: Sample, said: dict[str, Any], cells: Mapping[str, Any]) -> None:
        """Fill a sample with what a row says; RowError with the reason where it cannot be used."""
        made.task = named.line_of(said.get("dataset")) or self._path.stem
        run = 1 if self._options.people else named.run_of(said.get("run"))
        question = _question(said["question"]) if "question" in said else None
        options, labels = self._options_of(cells, said.get("options"))
        for field in {"key", "choice"} & {*said}:
            try:
                said[field] = parts_of.by_label(said[field], labels)
            except ValueError as error:  # a 0 among labels from 1
                raise StudyError(f"{self._path} row {made.row}: {error}; nothing was kept") from None
        made.name = named.line_of(said.get("item_id")) or parts_of.content_digest(str(question), options)
        text, choice = self._reply(said, options, made.row)
        made.said = Completion(Status.OK, text)
        key, places = self._options.word(said.get("key")), {"choice": choice}
        if question is None:
            made.key = None if _says_nothing(key, _WORDS) else key
        elif self._keyed:
            places["key"] = self._hold(made, question, options, key, said)
        else:  # one of the study's, which has the key
            made.question, made.known = record.question_cells(question, options, [], read=False), True
        texts = {*map(parts_of.flat, options)}
        for field, value in places.items() if options else ():
            place = None if value is None else whole(value)
            if place is not None and not {parts_of.flat(str(value)), str(place)} & texts:
                self._numbers.append((made, field, place))
        if run is None:  # no column counts the repeats: they are counted
            asked = made.question or {}
            one = (made.task, made.model, made.name, str(asked.get("context")), str(asked.get("question")))
            self._repeats[one] += 1
            run = self._repeats[one]
        made.run = run

    def _hold(
        self, made: Sample, question: str, options: Sequence[str], key: Any, said: Mapping[str, Any]
    ) -> Any:
        """Give a sample its question, with the key or the verdict of its row; return the only key."""
        correct = said.get("correct")
        right = None if absent(correct) else correctness(self._options.word(correct))
        made.right = None if right is None else bool(right)
        try:
            answers = [] if _says_nothing(key, [*options, *_WORDS]) else parts_of.right_answers(key)
        except ValueError as error:
            raise RowError(f"key {error}") from None
        context = said["context"] if isinstance(said.get("context"), str) else ""
        made.question = record.question_cells(question, options, answers, read=bool(answers), context=context)
        if options and len(answers) > 1:
            raise RowError(f"has {len(answers)} right options; one can be right")
        if right is None and (not answers or (made.question or {}).get("kind") == "graded"):
            raise RowError("has no short right answer (key) and no verdict (correct)")
        return answers[0] if len(answers) == 1 else None

    def _options_of(self, cells: Mapping[str, Any], value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if self._parts:
            value = parts_of.texts_of([cells.get(column) for column in self._parts.values()])
        try:
            return ((), ()) if absent(value) else parts_of.options_of(value)
        except ValueError as error:
            raise RowError(f"options {shown(value)}: {error}") from None

    def _reply(self, said: Mapping[str, Any], options: Sequence[str], row: int) -> tuple[str, Any]:
        """Return the reply of a row, put together where it is no raw one, and the choice in it."""
        choice = self._options.word(said.get("choice"))
        right = [str(each).strip().casefold() for each in parts_of.listed(said.get("key"))]
        if _says_nothing(choice, [*options, *right]):
            if absent(said.get("response")):
                raise RowError("has no answer")
            text, choice = reply_text(said["response"], "response"), None
        else:
            choice = only(choice)
            place = whole(choice) if options and str(choice) not in options else None
            text = f"Answer: {one_line(str(choice if place is None else place).strip(), 2_000)}"  # 5.0 of the option 5
        sure = said.get("confidence")
        sure = sure if named.number(sure) is not None else self._options.word(sure)
        if self.confidence.none_stated(sure):
            self.confidence.missing += "confidence" in said
        elif not states_confidence(text):
            rated = self.confidence.take(sure, row)
            text += f"\nConfidence: {rated}%" if named.number(rated) is not None else ""
        return text, choice

    def check(self) -> None:
        """Put letters for numbers of options, and refuse confidence on no scale."""
        self.confidence.check()
        sized = [(*each, (each[0].question or {}).get("options", ())) for each in self._numbers]
        zero = any(place == 0 for _, _, place, _ in sized)
        if sized and zero == any(place == len(options) for _, _, place, options in sized):
            seen = (
                "counted from 0 and from 1" if zero else "numbers, and none says whether they begin at 0 or 1"
            )
            raise StudyError(
                f"{self._path}: options are {seen}; nothing was kept; say which letter each number is, as in "
                "--map-values 1=A,2=B,3=C,4=D"
            )
        for sample, field, place, options in sized:
            at = place - (not zero)
            if not 0 <= at < len(options):
                sample.why = f"names option {place} of {len(options)}"
            elif field == "key":
                sample.question = {**(sample.question or {}), "answer": record.lettered(LETTERS[at], options)}
            else:
                below = sample.said.text.split("\n", 1)[1:]
                sample.said = Completion(Status.OK, "\n".join([f"Answer: {LETTERS[at]}", *below]))


def _question(value: Any) -> str:
    if isinstance(value, Mapping | list):
        raise RowError("question is no text; give a column with its text")
    if absent(value):
        raise RowError("has no question")
    return str(value)


def _says_nothing(value: Any, known: Sequence[Any]) -> bool:
    # a word for nothing, such as none or NA, is an answer where it is an option or right
    text = str(value).strip()
    return absent(value) or (named.missing(value) and not {text, text.casefold()} & {*map(str, known)})
