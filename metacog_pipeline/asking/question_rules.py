"""What a row of a table says about a `Question`: an answer with a confidence, or the raw reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from metacog_pipeline.asking.import_cells import RowError
from metacog_pipeline.asking.import_rules import RowRules
from metacog_pipeline.benchmark.answers.question_rows import Question
from metacog_pipeline.benchmark.answers.reading import read_stated
from metacog_pipeline.columns import Scale


class QuestionRows(RowRules):
    """One reply to a `Question`, put together from an answer and a confidence in percent where there is no raw one."""

    condition = "verbal_percent"
    own: ClassVar = {
        "choice": ("choice", "answer", "prediction", "predicted", "pred", "model_answer"),
        "confidence": ("confidence", "conf", "certainty", "probability", "confidence_score"),
    }
    step: ClassVar = "answer"
    rated, scale = ("confidence",), Scale(0, 100)
    item_word = "question"

    def questions(self, item: Question) -> Iterable[str]:
        """Return the question, and the question with its options."""
        return (item.question, item.stem) if item.options else (item.question,)

    def replies(self, item: Question, condition: str, said: Mapping[str, Any]) -> dict[str, str]:
        """Return the lines a model is asked for."""
        if "choice" not in said:
            raise RowError(f"there is no answer to question {item.item_id}")
        lines = [f"Answer: {said['choice']}"]
        if "confidence" in said:
            lines.append(f"Confidence: {said['confidence']}%")
        return {self.step: "\n".join(lines)}

    def agrees(self, item: Question, key: str) -> bool:
        """Return whether the key is an accepted answer, read as a stated one."""
        return not item.answer or read_stated(key, item.key).correct is True

    def keyed(self, item: Question) -> str:
        """Return the accepted answers."""
        return " or ".join((item.answer, *item.accept)) or "nothing"

    def states_confidence(self, text: str) -> bool:
        """Return whether a reply put together here has one."""
        return "\nConfidence: " in text
