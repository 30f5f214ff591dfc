"""What a reply says: one letter A to F and a confidence from 1 to 5, or why there is none. A refusal is not F.

Answers collected elsewhere become such replies. A row of a table names its item by ``item_id``, by ``position`` (0-based)
or by the text of its ``question``; its answer is a ``choice`` (a letter, an index 0 = A to 5 = F, or the text of an option)
with an optional ``confidence``, or the raw ``response``. A ``key``, a ``correct`` and every further column that names the
item must agree with it: an index from 1 next to the question's text refuses the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Calls, Flag
from metacog_pipeline.benchmarks.metamedqa.items import BASELINE, LETTERS, Item
from metacog_pipeline.errors import StudyError
from metacog_pipeline.home import Home
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.columns import RowError, Scale, only, shown, whole
from metacog_pipeline.interchange.import_rules import RowRules, importer_of
from metacog_pipeline.reading import calls as of_calls
from metacog_pipeline.reading import rows, tokens
from metacog_pipeline.reading.calls import ended, read_step, reading_of, said, said_with, why
from metacog_pipeline.reading.envelope import Envelope
from metacog_pipeline.reading.fields import Confidence, Letter
from metacog_pipeline.reading.reader import Reading, read

UNANSWERED = (of_calls.FAILED, of_calls.TOO_LONG, of_calls.NOT_RUN)
UNREADABLE = ("answer_unparsed", "confidence_unparsed", of_calls.REFUSED)
STEPS = ("answer", "choice", "confidence")
RATINGS = ("1", "2", "3", "4", "5")
RATING = Confidence(1, 5, whole=True)


@dataclass(slots=True)
class Response(contract.Response):
    """The reading of one item's calls; ``status`` is ok, or one of ``UNANSWERED`` and ``UNREADABLE``."""

    kind: Annotated[str, "what was done to the parent question, or Fictional"]
    target: Annotated[str, "the right letter; E none of the above, F cannot be answered"]
    answer: Annotated[str | None, "the letter read, null when there is none"] = None
    confidence: Annotated[int | None, pl.Int8, "1 (not at all) to 5 (absolutely sure)"] = None
    correct: Annotated[Flag, "1 right, 0 wrong or no letter"] = 0
    status: str = of_calls.NOT_RUN
    reason: str | None = "not asked yet"
    choice_probs: Annotated[list[float] | None, "probabilities of the letters, where kept"] = None
    confidence_probs: Annotated[list[float] | None, "probabilities of the levels, where kept"] = None
    off_menu_mass: Annotated[float | None, "probability outside the admissible letters, 0 to 1"] = None
    tags: Annotated[tuple[str, ...], "subsets reported separately"] = ()
    meta_info: Annotated[str, "examination step of the parent question"] = ""
    source_target: Annotated[str | None, "the letter of the parent question"] = None


def read_reply(text: str, options: Sequence[str]) -> Reading:
    """Read letter and confidence of a whole reply."""
    return read(Envelope.of(text), _fields(options))


def _fields(options: Sequence[str]) -> tuple[Letter, Confidence]:
    return Letter(dict(zip(LETTERS, options, strict=True))), RATING


def read_response(item: Item, calls: Calls) -> Response:
    """Read the calls of one item; any text gives a response."""
    found = Response(
        item.kind, item.target, tags=item.tags, meta_info=item.meta_info, source_target=item.source_target
    )
    steps = _newest_mode(calls)
    if (over := ended(calls.get(steps[0]))) is not None:
        found.status, found.reason = over
        return found
    reading = read_step(calls, steps[0], _fields(item.options))
    answer, rated = reading["answer"], reading
    if answer.status != "ok":
        found.status = of_calls.REFUSED if answer.status == "refused" else "answer_unparsed"
        found.reason = why(answer, "answer")
        return found
    if len(steps) > 1:
        # A refused second call is read: the letter stands, the confidence is missing.
        over = ended(calls.get(steps[1]))
        if over is not None and over[0] != of_calls.REFUSED:
            found.status, found.reason = over
            return found
        rated = read_step(calls, steps[1], (RATING,))
    found.answer, found.correct = answer.value, int(answer.value == item.target)
    found.choice_probs, found.off_menu_mass = _shares(calls, steps[0], reading, "answer", LETTERS)
    confidence = rated["confidence"]
    if confidence.status != "ok":
        found.status, found.reason = "confidence_unparsed", why(confidence, "confidence")
        return found
    found.status, found.reason, found.confidence = "ok", None, int(confidence.value)
    found.confidence_probs, _ = _shares(calls, steps[-1], rated, "confidence", RATINGS)
    return found


def _newest_mode(calls: Calls) -> Sequence[str]:
    """Return an item's steps in order: letter first, then confidence; a whole answer before an older pair."""
    places = {step: (call.status != "failed", place) for place, (step, call) in enumerate(calls.items())}
    if places.get("answer", (False, -1)) > places.get("choice", (False, -1)) or "choice" not in calls:
        return ("answer",)
    return ("choice", "confidence")


def _shares(
    calls: Calls, step: str, reading: Reading, name: str, menu: Sequence[str]
) -> tuple[list[float] | None, float | None]:
    """Return the probabilities over ``menu`` at the token that says a field, and the mass outside it."""
    said_by = said_with(calls, step, reading, name)
    return tokens.shares(said_by[0], menu) if len(said_by) == 1 else (None, None)


def again(response: Response, calls: Calls) -> Iterable[tuple[str, str]]:
    """Yield the step to ask once more and the form to ask for, of a reply that cannot be read."""
    rating = "Confidence: <1-5>"
    forms = {"answer_unparsed": f"Answer: <A-F>\n{rating}", "confidence_unparsed": rating}
    if response.status in forms and "choice" not in _newest_mode(calls):
        yield "answer", forms[response.status]


def read_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Read one row of ``metacog read``."""
    item = rows.found_item(row, _shipped())
    options: dict[str, str] = dict(zip(LETTERS, item.options, strict=True)) if item else rows.options_of(row)
    if not options:
        raise rows.BadRow("options are missing; give them as a list or by letter, or name a shipped item_id")
    calls = rows.calls_of(row, STEPS, "answer")
    step = _newest_mode(calls)[0]
    if (over := ended(calls.get(step))) is not None:
        return rows.unread("truncated" if over[0] == of_calls.TOO_LONG else "no_answer")
    reading = read_step(calls, step, (Letter(options), RATING))
    rated = reading_of(calls, "confidence", (RATING,)).fields if "confidence" in calls else {}
    reading = Reading(reading.status, {**reading.fields, **rated})
    given = (item.target,) if item else rows.answers_of(row)
    key = rows.letter_of(given[0], options) if given else None
    return rows.result(reading, correct=None if key is None else said(reading["answer"]) == key, scale=(1, 5))


@cache
def _shipped() -> Mapping[str, Item]:
    """Return the items of the sample that ships with the package, by id."""
    from metacog_pipeline.benchmarks.metamedqa.construction import Files, construct  # it imports this module

    return {item.item_id: item for item in construct(Files(Home(Path()), "sample")).items}


# --- answers collected elsewhere --------------------------------------------------------------------------------------
_ANSWER = "answer"
_FROM_ONE = 30  # indices from which it shows that none is 0


def letter_of(value: object, options: Sequence[str]) -> tuple[str, bool]:
    """Return the letter of a choice, and whether it was given as an index; raise `RowError` where it is none.

    A choice is an index from 0, or whatever a reply may say: a letter, the text of one of the item's options.
    """
    value = only(value)
    if isinstance(value, str) and len(bare := value.strip().upper()) == 1 and bare in LETTERS:
        return bare, False
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
    """The whole set can be answered, also items a study leaves out, under every condition that has words."""

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
        """Every item is asked under every condition."""

    def questions(self, item: Item) -> Iterable[str]:
        return (item.question,)

    def replies(self, item: Item, condition: str, said: Mapping[str, Any]) -> dict[str, str]:
        chosen, by_index = letter_of(said.get("choice"), item.options)
        self._indices += by_index
        self._zeros += by_index and chosen == LETTERS[0]
        rating = f"\nConfidence: {said['confidence']}" if "confidence" in said else ""
        return {_ANSWER: f"Answer: {chosen}{rating}"}

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
