"""A judge's reply → its verdict. What the judge repeats of the reply it judges is no verdict."""

from __future__ import annotations

import re

from metacog_pipeline.benchmark.answers.text import without_reasoning

_SAID = r"[\"'*`\s]{0,9}[:=\-]?[\"'*`\s]{0,9}(pass|fail)(?:es|ed|s)?\b"
_MENTION = re.compile(rf"\bverdict\b{_SAID}", re.IGNORECASE)
# A verdict of the judge's own stands at the beginning of a line: a label, or an object, fenced or not.
_OWN = re.compile(
    rf"^[ \t#*_`]{{0,9}}(?:(?:my|final|the) )?verdict\b{_SAID}"
    r"|^[ \t`]{0,9}(?:json)?[ \t]{0,9}\{[^{}]{0,2000}?\"verdict\"\s{0,9}:\s{0,9}\"(pass|fail)\"",
    re.IGNORECASE | re.MULTILINE,
)
_BARE = re.compile(r"[\s\"'*`.]*(pass|fail)(?:es|ed|s)?[\s\"'*`.!]*", re.IGNORECASE)
_QUOTED = re.compile(r"^[ \t]*[>|][^\n]*", re.MULTILINE)
READ_CHARACTERS = 100_000  # from the end of a judgement; longer ones are no judgements


def parse_verdict(text: str) -> bool | None:
    """Return whether a judgement passes the reply; None for one that does not say.

    Quoted lines are left out. The last verdict at the beginning of a line counts; without one, verdicts in the middle of
    sentences where all of them agree, or a reply that is nothing but the word.
    """
    said = _QUOTED.sub("", without_reasoning(text)[-READ_CHARACTERS:])
    if own := _OWN.findall(said):
        return _passes(own[-1][0] or own[-1][1])
    mentioned = {_passes(word) for word in _MENTION.findall(said)}
    if mentioned:
        return mentioned.pop() if len(mentioned) == 1 else None
    bare = _BARE.fullmatch(said)
    return None if bare is None else _passes(bare[1])


def _passes(word: str) -> bool:
    return word.lower() == "pass"
