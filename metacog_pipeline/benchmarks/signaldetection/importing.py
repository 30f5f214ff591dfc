"""What a row of a table says about signal detection: a decision with a confidence, or the raw reply.

A ``decision`` is 0 or 1, S1 or S2, or what the task calls them; a bare 0 or 1 in the place of a raw reply is one, too.
Positions count within a task, so that ``position`` needs ``task`` where the study has several. A ``key`` is the label.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from metacog_pipeline.benchmarks.signaldetection.asking import STEP
from metacog_pipeline.benchmarks.signaldetection.items import Item, Task
from metacog_pipeline.benchmarks.signaldetection.measures import rated
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE
from metacog_pipeline.benchmarks.signaldetection.read import Response
from metacog_pipeline.interchange.columns import Scale
from metacog_pipeline.interchange.import_cells import RowError, shown, whole
from metacog_pipeline.interchange.import_rules import NONE, RowRules
from metacog_pipeline.interchange.importing import importer_of

_LABELS: Mapping[str, int] = {"0": 0, "1": 1, "s1": 0, "s2": 1, "false": 0, "true": 1}
_OF_TASK: Mapping[Task, Mapping[str, int]] = {
    "A": {"negative": 0, "positive": 1},
    "B": {"oral": 0, "oral speech": 0, "spoken": 0, "written": 1, "a written source": 1},
    "C": {"unchanged": 0, "intact": 0, "deleted": 1, "changed": 1},
}


class Rows(RowRules):
    """One call, both answers in one JSON object."""

    condition = CONFIDENCE
    own: ClassVar = {
        "decision": (
            "decision",
            "choice",
            "prediction",
            "predicted",
            "pred",
            "model_answer",
            "answer",
            "judgment",
        ),
        "confidence": ("confidence", "conf", "rating", "certainty", "confidence_score"),
    }
    usual: ClassVar = {
        "key": ("stimulus", "key", "gold", "target", "true_label", "ground_truth", "correct_answer"),
        "question": ("question", "text", "sentence"),
    }
    rated = ("confidence",)
    whole_ratings = True
    item_word = "trial"
    also: ClassVar = {"trial_id": "item_id"}
    options = ("0", "1")
    grouped = "task"

    @property
    def scale(self) -> Scale:  # type: ignore[override]
        """The ratings 1 to K that the prompts ask for."""
        return Scale(1, self.benchmark.wording.ratings)

    def questions(self, item: Item) -> Iterable[str]:
        """Return the sentence shown."""
        return (item.text,)

    def bare(self, value: Any) -> str | None:
        """Return ``decision`` for a bare label."""
        return "decision" if whole(value) in (0, 1) or str(value).strip().casefold() in ("s1", "s2") else None

    def replies(self, item: Item, condition: str, said: Mapping[str, Any]) -> dict[str, str]:
        """Return the object a model is asked for."""
        if "decision" not in said:
            raise RowError(f"there is no decision on trial {item.item_id}")
        made: dict[str, Any] = {"decision": str(self.option(item, said["decision"]))}
        if "confidence" in said and rated(condition):
            stated = said["confidence"]
            made["confidence"] = int(stated) if stated.lstrip("-").isdecimal() else stated
        return {STEP: json.dumps(made)}

    def answer(self, response: Response) -> int:
        """Return the label answered."""
        return NONE if response.response is None else int(response.response)

    def target(self, item: Item) -> int:
        """Return the true label."""
        return item.stimulus

    def option(self, item: Item, value: Any) -> int:
        """Return the label a cell names."""
        number = whole(value)
        text = str(value).strip().casefold() if number is None else str(number)
        found = _LABELS.get(text, _OF_TASK[item.task].get(text))
        if found is None:
            names = ", ".join(_OF_TASK[item.task])
            raise RowError(f"decision {shown(value)} is none of 0, 1, S1, S2, {names}; see --map-values")
        return found

    def states_confidence(self, text: str) -> bool:
        """Return whether the object has one."""
        return '"confidence": ' in text


IMPORTER = importer_of(Rows)
