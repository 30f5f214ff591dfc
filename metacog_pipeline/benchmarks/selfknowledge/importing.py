"""What a row of a table says about self-knowledge: an answer and whether it was known, or the raw replies.

The raw replies stand in columns ``direct`` and ``meta`` (and ``idk``), or one per row with the step named in a column
``step``. Instead of them a row may have the ``answer`` and ``knows``: yes or no, 1 or 0, or any reply to the question
whether it is known. A ``key`` is an accepted answer, or a list of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGE_OF, Item
from metacog_pipeline.benchmarks.selfknowledge.prompts import DIRECT, IDK, META, YES_NO, gives_leave
from metacog_pipeline.benchmarks.selfknowledge.rules import token_boundary
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.import_cells import RowError, correctness, folded, shown
from metacog_pipeline.interchange.import_rules import RowRules
from metacog_pipeline.interchange.importing import importer_of

_PARTS = re.compile(r"\s*[|;]\s*")


class Rows(RowRules):
    """A question, and apart from it whether the answer is known."""

    condition = "dual"
    own: ClassVar = {
        "answer": (
            "answer", "model_answer", "prediction", "predicted", "pred", "keywords", "extracted_answer",
        ),
        "knows": ("knows", "known", "knows_answer", "self_knowledge", "yes_no"),
    }  # fmt: skip
    made_by: ClassVar = {"answer": DIRECT, "knows": META}
    usual: ClassVar = {
        DIRECT: ("direct", "direct_output", "direct_response", "output_direct", "response_direct"),
        META: ("meta", "meta_output", "meta_response", "output_meta", "response_meta"),
        IDK: ("idk", "idk_output", "idk_response", "output_idk", "response_idk"),
        "key": (
            "key", "gold", "gold_answer", "answers", "aliases", "correct_answer", "ground_truth", "target",
        ),
    }  # fmt: skip
    objects = False
    step_words: ClassVar = {"answer": DIRECT, "question": DIRECT, "knows": META, "self_knowledge": META}

    def questions(self, item: Item) -> Iterable[str]:
        """Return the question in every language."""
        return (text for _, text in item.questions)

    def replies(self, item: Item, condition: str, said: Mapping[str, Any]) -> dict[str, str]:
        """Return the answer as it is, and whether it was known as a bare yes or no in the language asked."""
        made: dict[str, str] = {}
        if "answer" in said:
            made[IDK if gives_leave(condition) else DIRECT] = str(said["answer"])
        if "knows" in said and not gives_leave(condition):
            value = said["knows"]
            yes = correctness(value)
            if yes is None and columns.number(value) is not None:
                raise RowError(
                    f"knows {shown(value)} is neither yes nor no; say what it stands for with --map-values, or fit a "
                    "confidence with metacog fit"
                )
            made[META] = str(value) if yes is None else YES_NO[LANGUAGE_OF[condition]][1 - yes]
        if not made:
            raise RowError(f"there is no answer to item {item.item_id}")
        return made

    def agrees(self, item: Item, key: str) -> bool:
        """Return whether the key is an accepted answer, or a list with one; where nothing is right, every key will do."""
        accepted = [answer for language in item.languages for answer in item.accepted(language)]
        if not accepted:
            return True
        words = {folded(answer) for answer in accepted}
        return any(folded(part) in words or token_boundary(part, accepted) for part in _parts(key))

    def keyed(self, item: Item) -> str:
        """Return the first accepted answer."""
        return next((answer for language in item.languages for answer in item.accepted(language)), "nothing")


def _parts(key: str) -> list[str]:
    """Return the answers a key lists: as JSON, or between bars or semicolons."""
    if key.startswith("["):
        try:
            found = json.loads(key)
        except (ValueError, RecursionError):
            found = re.findall(r"'([^']*)'", key)
        return [str(part) for part in found if str(part).strip()]
    return [key, *_PARTS.split(key)]


IMPORTER = importer_of(Rows)
