"""Which position of a probe a reply takes: by its letter, or by the words of the option, whole."""

from __future__ import annotations

from collections.abc import Sequence

from metacog_pipeline.benchmark.answers.reading import AnswerKey, read_stated
from metacog_pipeline.benchmark.answers.text import without_reasoning
from metacog_pipeline.benchmarks.metacogbench.items import Option
from metacog_pipeline.benchmarks.metacogbench.prompts import LETTERS, option_list


def read_probe(reply: str, options: Sequence[Option]) -> tuple[str | None, str]:
    """Return the role of the option a reply takes and why; None where it takes none or more than one. Total.

    Other words than the option's own take nothing: who repeats a sentence of the conversation has not chosen.
    """
    key = AnswerKey("choice", (LETTERS[0],), exact=True, question=option_list(options))
    found = read_stated(without_reasoning(reply), key)
    if found.ambiguous:
        return None, found.why
    place = LETTERS.find(found.said or " ")
    if not 0 <= place < len(options):
        return None, "no option is taken"
    role = options[place].role
    return role, f"option {LETTERS[place]} ({role}) is taken"
