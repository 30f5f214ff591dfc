"""Replies collected elsewhere: rows of ``metacog read selfknowledge`` and of imported tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, ClassVar

from metacog_pipeline.benchmarks.selfknowledge import items as of_items
from metacog_pipeline.benchmarks.selfknowledge import prompts
from metacog_pipeline.benchmarks.selfknowledge.items import DUAL, IDK, LANGUAGES, PRECEDED, Item
from metacog_pipeline.benchmarks.selfknowledge.prompts import DIRECT, META
from metacog_pipeline.benchmarks.selfknowledge.read import Known, is_right, is_withheld
from metacog_pipeline.interchange.import_rules import RowRules
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import reading_of, said
from metacog_pipeline.reading.names import ShortText, has_words


def read_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the replies of a row say: of ``direct`` or ``idk``, else of ``meta`` alone; raises `BadRow`."""
    accepted, calls = _accepted(row), rows.calls_of(row, prompts.STEPS, DIRECT)
    meta = reading_of(calls, META, [Known()]) if META in calls else None
    beside = {} if meta is None else {"meta": said(meta["answer"]), "meta_status": meta.status}
    step = next((each for each in (DIRECT, IDK, PRECEDED) if each in calls), None)
    if step is None:
        assert meta is not None  # a row has a reply
        return rows.result(meta, correct=None, abstained=None, **beside)
    field = ShortText(accepted or ())
    answer = reading_of(calls, step, [field])
    right = None if accepted is None else is_right(answer, accepted)
    withheld = None if answer.status == "truncated" else is_withheld(answer)
    found = rows.result(answer, correct=right, abstained=withheld, **({"meta": None} | beside))
    return found | {"answer": field.short(found["answer"]) if found["answer"] else None}


def _accepted(row: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the accepted answers of a row or of the fact it names, in its language; None without a key."""
    if given := rows.answers_of(row):
        return given
    item = rows.found_item(row, _facts())
    if item is None:
        return None
    language = row.get("lang") or row.get("language")
    if language is not None and language not in LANGUAGES:
        raise rows.BadRow(f"no language {str(language)[:20]!r}; there are: {', '.join(LANGUAGES)}")
    return tuple(answer for each in ([language] if language else LANGUAGES) for answer in item.accepted(each))


@cache
def _facts() -> Mapping[str, Item]:
    made = of_items.build({"sample": of_items.of_rows(of_items.SAMPLE_FILE, of_items.own)}, "sample", "all")
    return {name: item for item in made for name in (item.item_id, item.question_id)}


_ANSWERS = ("answer", "model_answer", "prediction", "predicted", "pred", "keywords", "extracted_answer")
_KNOWS = ("knows", "known", "knows_answer", "self_knowledge", "yes_no")


class Rows(RowRules):
    """The raw replies, a column for each step; a ``key`` is an accepted answer, or a list of them."""

    condition = DUAL
    usual: ClassVar = {
        **{step: (step, f"{step}_output", f"{step}_response", f"output_{step}", f"response_{step}", *more)
           for step, more in ((DIRECT, _ANSWERS), (META, _KNOWS), (IDK, ()))},
        "key": ("key", "gold", "gold_answer", "answers", "aliases", "correct_answer", "ground_truth", "target"),
    }  # fmt: skip

    def questions(self, item: Item) -> Iterable[str]:
        """Return the question in every language."""
        return (text for _, text in item.questions)

    def agrees(self, item: Item, key: Any) -> bool:
        """Return whether the key names an accepted answer; where nothing is right, every key will do."""
        accepted = [answer for _, each in item.answers for answer in each]
        return not accepted or has_words(str(key), accepted)
