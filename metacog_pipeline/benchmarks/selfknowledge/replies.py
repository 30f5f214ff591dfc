"""Replies read without a study: one row of ``metacog read selfknowledge``.

A row is about an item of the shipped facts (``item_id``, or the ``question_id`` of a fact), or brings its own ``question``
and ``answers``. ``language`` says in which language it was asked; without it every language of the item counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmark.replies import BadRow, found_item, texts_of, too_long, unparsable
from metacog_pipeline.benchmark.thinking import without_thinking
from metacog_pipeline.benchmarks.selfknowledge import matching
from metacog_pipeline.benchmarks.selfknowledge.construction import pipeline
from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGES
from metacog_pipeline.benchmarks.selfknowledge.parsing import abstains, read_yes_no
from metacog_pipeline.benchmarks.selfknowledge.prompts import DIRECT, IDK, META, STEPS
from metacog_pipeline.home import Home


def read_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the replies of a row say; raises `BadRow` for a row without an item or a reply."""
    languages = _languages(row)
    questions, accepted = _asked(row, languages)
    texts = texts_of(row, STEPS)
    if (too := next(filter(None, map(too_long, texts.values())), None)) is not None:
        return {**unparsable(too), "correct_inclusion": None, "abstained": None, "yes": None}
    answer = texts.get(DIRECT, texts.get(IDK, texts.get("response")))
    read: dict[str, Any] = {}
    made: dict[str, Any] = {"correct": None, "correct_inclusion": None, "abstained": None, "yes": None}
    why = None
    if answer is not None:
        said = without_thinking(answer).strip()
        read["answer"] = " ".join(said.split())[:200]
        question = " ".join(questions)
        made["abstained"] = abstains(texts.get(IDK, answer), answers=accepted, question=question)
        made["correct"] = matching.matches(said, accepted, "entities", question)
        made["correct_inclusion"] = matching.matches(said, accepted, "inclusion")
        why = _why(made, said)
    if META in texts:
        found = [read_yes_no(texts[META], language) for language in languages]
        values = {each.value for each in found if each.value is not None}
        made["yes"] = bool(values.pop()) if len(values) == 1 else None
        why = why or found[0].reason
    status = "unparsable" if answer is not None and not read["answer"] else "ok"
    return {
        "status": status, "read": read, **made, "passed": made["correct"], "ambiguous": False, "basis": "words", "why": why,
    }  # fmt: skip


def _why(made: Mapping[str, Any], said: str) -> str:
    if not said:
        return "the reply is empty"
    if made["abstained"]:
        return "says that the answer is not known"
    return "an accepted answer is said" if made["correct"] else "no accepted answer is said"


def _languages(row: Mapping[str, Any]) -> tuple[str, ...]:
    given = row.get("language")
    if given is None:
        return LANGUAGES
    if given not in LANGUAGES:
        raise BadRow(f"no language {str(given)[:20]!r}; there are: {', '.join(LANGUAGES)}")
    return (given,)


def _asked(row: Mapping[str, Any], languages: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the questions and the accepted answers of a row."""
    answers = row.get("answers")
    if answers is not None:
        if not isinstance(answers, list) or not all(isinstance(each, str) for each in answers):
            raise BadRow("answers must be a list of texts")
        return [str(row.get("question") or "")], answers
    item = found_item(row, _items())
    questions = [text for language, text in item.questions if language in languages]
    return questions, [answer for language in languages for answer in item.accepted(language)]


@cache
def _items() -> Mapping[str, Any]:
    made = pipeline.items_of(pipeline.load_parts(Home(Path()), "sample", "all"), "sample", "all")
    return {name: item for item in made for name in (item.item_id, item.question_id)}
