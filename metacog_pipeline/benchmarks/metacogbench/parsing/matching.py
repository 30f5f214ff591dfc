"""Is a stated answer the right one? The reader is `metacog_pipeline.benchmark.answers`; here it meets an item's key."""

from __future__ import annotations

import re

from metacog_pipeline.benchmark.answers.reading import AnswerKey, Reading, read_stated
from metacog_pipeline.benchmark.answers.text import without_reasoning

_OWN_LINE = re.compile(  # marks of one line only: across lines a run of blank ones is quadratic
    r"^(?:[^\w\n]|_)*(?:(?:pre|post|initial|final|my)[-_ ]{0,2})?(?:confidence|bet|stake|wager)\b[^\n]*$",
    re.IGNORECASE | re.MULTILINE,
)


def read(answer: str | None, reply: str, key: AnswerKey) -> Reading:
    """Read the text behind ``ANSWER:``; in a reply without one, the whole of it but for its bet and its confidence."""
    if answer is not None:
        return read_stated(answer, key)
    return read_stated(_OWN_LINE.sub("", without_reasoning(reply)), key, labelled=False)


def is_correct_literally(reply: str, key: AnswerKey) -> bool:
    """Return whether any accepted form stands anywhere in the reply: plain keyword matching, for comparison."""
    lowered = reply.lower()
    return any(str(form).lower() in lowered for form in key.forms)
