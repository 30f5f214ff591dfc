"""What a row of a table says about MetaMedQA: a choice with a confidence, or the raw reply.

An item is named by ``item_id``, by ``position`` (0-based place in the order of the set) or by the text of its
``question``. The answer is a ``choice`` (a letter, an index 0 = A to 5 = F, or the text of an option) with an optional
``confidence``, or the raw ``response``, which the parser reads like any other reply. ``condition`` is optional.

A ``key``, a ``correct`` and every further column that names the item must agree with it: an index that begins at 1
beside the question's text refuses the file, and is never taken for the place of the next item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import polars as pl

from metacog_pipeline.benchmark.item_files import HASH, items_path, read_rows
from metacog_pipeline.benchmarks.metamedqa.import_cells import Kind, folded, letter
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, NAME, Item
from metacog_pipeline.benchmarks.metamedqa.prompts import BASELINE
from metacog_pipeline.benchmarks.metamedqa.read import read_reply
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.columns import Scale
from metacog_pipeline.interchange.import_cells import RowError
from metacog_pipeline.interchange.import_rules import NONE, RESPONSE, RowRules, Seen, Texts
from metacog_pipeline.interchange.importing import importer_of
from metacog_pipeline.reading.calls import why

_ANSWER = "answer"
_FROM_ONE = 30  # indices from which it shows that none is 0


class Rows(RowRules):
    """The whole set can be answered, also items a study leaves out, under every condition that has words."""

    condition = BASELINE
    # "answer" comes late: beside a prediction it is the key.
    own: ClassVar = {
        "choice": (
            *("choice", "model_answer", "prediction", "predicted", "pred", "selected", "extracted_answer"),
            *("predicted_answer", "pred_answer", "model_choice", "answer", "letter", "filtered_resps"),
        ),
        "confidence": ("confidence", "conf", "confidence_score", "certainty"),
    }
    rated = ("confidence",)
    scale = Scale(1, 5)
    whole_ratings = True
    options = LETTERS
    all_steps = (_ANSWER,)
    asks_questions = True

    def __init__(self, benchmark: Any) -> None:
        super().__init__(benchmark)
        self._choices, self._keys = Kind(), Kind()

    @property
    def name(self) -> str:
        """The benchmark."""
        return NAME

    @property
    def items(self) -> Sequence[Item]:
        """The whole question set."""
        built: Sequence[Item] = self.benchmark.built
        return built

    def expected(self) -> Mapping[str, frozenset[str]]:
        """Return the items the study asks; all of them without a study."""
        asked = frozenset(item.item_id for item in self.benchmark.items)
        return {each.name: asked for each in self.benchmark.conditions()}

    def condition_named(self, text: str) -> str:
        """Return the condition of the wording."""
        try:
            return str(self.benchmark.wording.condition(text.strip()))
        except StudyError as error:
            raise RowError(str(error)) from None

    def check_asked(self, item: Item, condition: str) -> None:
        """Every item is asked under every condition."""

    def steps(self, item: Item, condition: str) -> tuple[str, ...]:
        """One reply holds letter and confidence."""
        return (_ANSWER,)

    def item_table(self) -> pl.DataFrame | None:
        """Return ids, hashes and keys as they are kept; None without a study, or where it asks a part of the set."""
        settings = getattr(self.benchmark, "settings", None)
        if settings is None or settings.limit is not None or not self._path.exists():
            return None
        columns = ["item_id", HASH, "target"]
        found = pl.read_parquet(self._path, columns=columns, glob=False, hive_partitioning=False)
        places = {letter: place for place, letter in enumerate(LETTERS)}
        return found.with_columns(pl.col("target").replace_strict(places, return_dtype=pl.Int64))

    @property
    def _path(self) -> Path:
        return items_path(self.benchmark.context.home, NAME)

    def plain(self, said: Mapping[str, Any]) -> tuple[str, int] | None:
        """A bare letter, with a confidence or without, is the same reply for any item."""
        choice = str(said.get("choice", "")).strip().upper()
        if len(choice) != 1 or choice not in LETTERS:
            return None
        nobody: Any = SimpleNamespace(item_id="", options=("",) * len(LETTERS), target=LETTERS[0])
        texts = self.replies(nobody, self.condition, said)
        found = self.seen(nobody, self.condition, texts)
        return None if found.problems or found.answer == NONE else (texts[_ANSWER], found.answer)

    def among(self, item_ids: Iterable[str], total: int) -> Rows:
        """Return the rules for some items, read and verified alone."""
        some = read_rows(self._path, Item, only=item_ids)
        made = Rows(
            SimpleNamespace(
                built=some, items=some, wording=self.benchmark.wording, conditions=self.benchmark.conditions
            )
        )
        made.total = total
        return made

    def questions(self, item: Item) -> Iterable[str]:
        """Return the question."""
        return (item.question,)

    def fold(self, text: str) -> str:
        """Fold as options are folded."""
        return folded(text)

    def replies(self, item: Item, condition: str, said: Mapping[str, Any]) -> dict[str, str]:
        """Return the two lines a model is asked for."""
        chosen = letter(said.get("choice"), item.options, self._choices)
        rating = f"\nConfidence: {said['confidence']}" if "confidence" in said else ""
        return {_ANSWER: f"Answer: {chosen}{rating}"}

    def check_choices(self, path: Path) -> None:
        """Refuse indices that seem to begin at 1."""
        if self._choices.indices >= _FROM_ONE and not self._choices.zeros:
            raise StudyError(
                f"{path}: {self._choices.indices} choices are numbers and none is 0, so they seem to begin at 1; nothing "
                "was kept; say which letter each is with --map-values 1=A,2=B,3=C,4=D,5=E,6=F (or 0=A,1=B,… where 0 is A)"
            )

    def seen(self, item: Item, condition: str, texts: Texts) -> Seen:
        """Return letter and confidence as the parser reads them."""
        reading = read_reply(texts[_ANSWER], item.options)
        answer, confidence = reading["answer"], reading["confidence"]
        if answer.status != "ok":
            return Seen(None, NONE, (f"{why(answer, 'answer')} in item {item.item_id}",))
        unrated = {"confidence", RESPONSE} & self.given and confidence.status != "ok"
        problems = (f"{why(confidence, 'confidence')} in item {item.item_id}",) if unrated else ()
        return Seen(int(answer.value == item.target), LETTERS.index(answer.value), problems)

    def target(self, item: Item) -> int:
        """Return the number of the right letter."""
        return LETTERS.index(item.target)

    def option(self, item: Item, value: Any) -> int:
        """Return the number of the letter, index or option text."""
        return LETTERS.index(letter(value, item.options, self._keys))

    def states_confidence(self, text: str) -> bool:
        """Return whether the second line is there."""
        return "\nConfidence: " in text


IMPORTER = importer_of(Rows)
FIELDS = IMPORTER.fields
