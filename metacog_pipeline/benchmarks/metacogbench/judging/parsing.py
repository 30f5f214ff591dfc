"""A judge's reply → its verdict. What the judge repeats of the reply it judges is no verdict."""

from __future__ import annotations

import re

from metacog_pipeline.benchmark.answers.text import without_reasoning

_MARKS = r"(?:_|\\(?:boxed|text(?:bf)?)|[^\w.,;?!]){0,12}"
# Not where it hangs on a condition: "pass if it holds".
_WORD = r"(pass|fail)(?:es|ed|s)?\b(?![-'’]\w|\s{1,3}(?:only )?(?:if|when|unless)\b)"
_SAID = (
    rf"{_MARKS}(?:is\b{_MARKS}(?:an? (?:clear |narrow |bare )?)?)?"
    rf"(?:(?:the|this) (?:last )?(?:reply|response|answer) )?{_WORD}"
)
_MENTION = re.compile(rf"\bverdict\b{_SAID}", re.IGNORECASE)
# A verdict of the judge's own stands at the beginning of a line: a label, or an object, fenced or not.
_OWN = re.compile(
    rf"^(?:_|[^\w\n\"'“”‘’«»{{.,;?!]|\d\.){{0,9}}(?:(?:my|the|so|overall|final) ){{0,3}}verdict\b{_SAID}"
    rf"|^[ \t`]{{0,9}}(?:json)?[ \t]{{0,9}}\{{[^{{}}]{{0,2000}}?\"verdict\"\s{{0,9}}:\s{{0,9}}\"{_WORD}(?=\")",
    re.IGNORECASE | re.MULTILINE,
)
# Without a label: the word alone on a line, or before a stop and the reason.
_ALONE = re.compile(rf"^{_MARKS}\.?{_WORD}(?:_|[^\w\n?]){{0,12}}$", re.IGNORECASE | re.MULTILINE)
_OPENING = re.compile(rf"^{_MARKS}{_WORD}[*_`)\] ]{{0,6}}[–—:.-]", re.IGNORECASE | re.MULTILINE)
_QUOTED = re.compile(r"^[ \t]*[>|][^\n]*", re.MULTILINE)
# Both words side by side are an offer, no verdict: "PASS or FAIL?", {"verdict": "pass"} or {"verdict": "fail"}.
_OFFERED = r"(?:\{?\s{0,3}\"verdict\"\s{0,3}:\s{0,3})?[\"'*`(\[]{0,4}\b(?:pass|fail)\b[\"'*`)\]}]{0,4}"
_OFFER = re.compile(
    rf"{_OFFERED}\s{{0,3}}(?:[/|\\]|,?\s{{0,3}}(?:or|vs)\b\.?)\s{{0,3}}{_OFFERED}\??", re.IGNORECASE
)
READ_CHARACTERS = 100_000  # from the end of a judgement; longer ones are no judgements


def parse_verdict(text: str) -> bool | None:
    """Return whether a judgement passes the reply; None for one that does not say.

    Quoted lines and offers of both words are left out. The last labelled verdict at the beginning of a line counts;
    without one, the last word alone on a line; else verdicts before their reason and in the middle of sentences, where
    all of them agree.
    """
    said = _OFFER.sub("", _QUOTED.sub("", without_reasoning(text)[-READ_CHARACTERS:]))
    if own := _OWN.findall(said):
        return _passes(own[-1][0] or own[-1][1])
    if alone := _ALONE.findall(said):
        return _passes(alone[-1])
    mentioned = {_passes(word) for word in (*_MENTION.findall(said), *_OPENING.findall(said))}
    return mentioned.pop() if len(mentioned) == 1 else None


def _passes(word: str) -> bool:
    return word.lower() == "pass"
