"""Rows of files: replies without a study, and tables of answers collected elsewhere, which become such replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from metacog_pipeline.benchmarks.metamedqa.construction import Files, construct
from metacog_pipeline.benchmarks.metamedqa.items import BASELINE, LETTERS, Item
from metacog_pipeline.benchmarks.metamedqa.read import RATING, newest_mode, read_reply
from metacog_pipeline.errors import StudyError
from metacog_pipeline.home import Home
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.columns import RowError, Scale, only, shown, whole
from metacog_pipeline.interchange.import_rules import RowRules, importer_of
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import TOO_LONG, ended, read_step, reading_of, said
from metacog_pipeline.reading.fields import Letter
from metacog_pipeline.reading.reader import Reading

_STEPS = ("answer", "choice", "confidence")
_FROM_ONE = 30  # indices from which it shows that none is 0


def read_row(row: rows.Row) -> dict[str, Any]:
    """Read one row of ``metacog read``."""
    item = rows.found_item(row, _shipped())
    options: dict[str, str] = dict(zip(LETTERS, item.options, strict=True)) if item else rows.options_of(row)
    if not options:
        raise rows.BadRow("options are missing; give them as a list or by letter, or name a shipped item_id")
    calls = rows.calls_of(row, _STEPS, "answer")
    step = newest_mode(calls)[0]
    if (over := ended(calls.get(step))) is not None:
        return rows.unread("truncated" if over[0] == TOO_LONG else "no_answer")
    reading = read_step(calls, step, (Letter(options), RATING))
    rated = reading_of(calls, "confidence", (RATING,)).fields if "confidence" in calls else {}
    reading = Reading(reading.status, {**reading.fields, **rated})
    given = (item.target,) if item else rows.answers_of(row)
    key = rows.letter_of(given[0], options) if given else None
    return rows.result(reading, correct=None if key is None else said(reading["answer"]) == key, scale=(1, 5))


@cache
def _shipped() -> Mapping[str, Item]:
    return {item.item_id: item for item in construct(Files(Home(Path()), "sample")).items}


def letter_of(value: object, options: Sequence[str]) -> tuple[str, bool]:
    """Return the letter of a choice (an index from 0, or what a reply may say), and whether it was given as an index."""
    value = only(value)
    if isinstance(value, str) and len(bare := value.strip().upper()) == 1 and bare in LETTERS:
        return bare, False  # the reader is far slower, and tables have a million rows
    index = whole(value)
    if columns.missing(value) or index == -1:  # how other programs write that no choice was read
        raise RowError("there is no choice")
    read = read_reply(str(value), options)["answer"]
    if index is not None and 0 <= index < len(LETTERS):
        if read.status == "ok" and read.value != LETTERS[index]:
            raise RowError(
                f"choice {shown(value)} is an index and the text of option {read.value}; map letters"
            )
        return LETTERS[index], True
    if read.status != "ok":
        raise RowError(f"choice {shown(value)} is neither a letter A–F nor an index 0–5 nor an option's text")
    return str(read.value), False


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
    rated = ("confidence",)
    scale, whole_ratings = Scale(1, 5), True

    def __init__(self, benchmark: Any) -> None:
        super().__init__(benchmark)
        self._indices = self._zeros = 0  # of the choices of the file

    @property
    def items(self) -> Sequence[Item]:
        built: Sequence[Item] = self.benchmark.built
        return built

    def condition_named(self, text: str) -> str:
        try:
            return str(self.benchmark.wording.condition(text.strip()))
        except StudyError as error:
            raise RowError(str(error)) from None

    def check_asked(self, item: Item, condition: str) -> None:
        pass

    def questions(self, item: Item) -> Iterable[str]:
        return (item.question,)

    def replies(self, item: Item, condition: str, said: Mapping[str, Any]) -> dict[str, str]:
        chosen, by_index = letter_of(said.get("choice"), item.options)
        self._indices += by_index
        self._zeros += by_index and chosen == LETTERS[0]
        rating = f"\nConfidence: {said['confidence']}" if "confidence" in said else ""
        return {"answer": f"Answer: {chosen}{rating}"}

    def check_choices(self, path: Path) -> None:
        if self._indices >= _FROM_ONE and not self._zeros:
            raise StudyError(
                f"{path}: {self._indices} choices are numbers and none is 0, so they seem to begin at 1; nothing "
                "was kept; say which letter each is with --map-values 1=A,2=B,3=C,4=D,5=E,6=F (or 0=A,1=B,… where 0 is A)"
            )

    def agrees(self, item: Item, key: Any) -> bool:
        return letter_of(key, item.options)[0] == item.target

    def keyed(self, item: Item) -> str:
        return item.target


IMPORTER = importer_of(Rows)
