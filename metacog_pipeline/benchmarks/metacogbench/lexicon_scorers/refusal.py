"""Does a reply refuse to name an answer, or say that what is given is not enough? And does it name one after all?"""

from __future__ import annotations

import re
from typing import NamedTuple

from metacog_pipeline.benchmark.answers.abstaining import denies_knowing, plain
from metacog_pipeline.benchmarks.metacogbench.lexicon import Lexicon, Scope, shipped_lexicon
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers import scope
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.patterns import compiled
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.prepare import Prepared, prepare

_STAKE_LINE = re.compile(r"\s*(?:my |final )?(?:bet|wager|stake)\b", re.IGNORECASE)  # its number is no answer
LANGUAGES = ("en", "es", "ko", "zh")
_BRACKETS = re.compile(r"[(\[][^()\[\]]{0,400}[)\]]")
_CLAUSES = re.compile(r"[;:\n]|[.,](?=\s)|(?=\b(?:but|however|although|though)\b)| - ")
_GUESSES = re.compile(
    r"\b(?:guess|estimate|i'd say|i would say|probably|likely|perhaps|maybe|best|assum\w+"
    r"|approximately|about)\b"
)
# 205 / (17 + v): a value in an unknown is none
_FORMULA = re.compile(r"\b\d[\d.]*\s*[-+*/×]\s*(?:\([^()]{0,80}\b[a-z]\b[^()]{0,80}\)|[a-z]\b)")
# "between 12 and 30 euros, depending on the ratio": bounds that the story names
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_RANGE = re.compile(r"(\d+(?:[.,]\d+)?)[^\d.;]{1,16}(\d+(?:[.,]\d+)?)")


class Refusal(NamedTuple):
    """``refuses``: a refusal cue; ``insufficient``: an insufficiency cue; both negation-aware."""

    refuses: bool
    insufficient: bool


def score_refusal(reply: str, *, stem: str = "", lexicon: Lexicon | None = None) -> Refusal:
    """Find refusal and insufficiency cues. Total."""
    words = lexicon or shipped_lexicon()
    text = prepare(reply, stem)
    return Refusal(_any(text, words, "refusal"), _any(text, words, "insufficiency"))


def names_slot(
    reply: str, answer: str | None, slot: str, *, stem: str = "", lexicon: Lexicon | None = None
) -> bool:
    """Return whether a concrete answer stands there.

    The slot regex is tested on the ANSWER text; without one, on every sentence that carries no refusal cue and is not
    copied from the stem. An empty ``slot`` is never named.
    """
    if not slot:
        return False
    pattern = compiled(slot)
    words = lexicon or shipped_lexicon()
    if answer is not None:
        return _commits(answer, pattern, words, stem)
    text = prepare(reply, stem)
    start = 0
    for end in text.sentence_ends:
        sentence = Prepared(text.text[start:end])
        start = end
        if _STAKE_LINE.match(sentence.text):
            continue
        if pattern.search(sentence.text) and not _any(sentence, words, "refusal"):
            return True
    return False


def _commits(answer: str, pattern: re.Pattern[str], words: Lexicon, stem: str) -> bool:
    """Return whether an ANSWER commits itself: what explains a refusal, in brackets or after it, names no answer."""
    said = _FORMULA.sub(" ", prepare(answer).text)
    if any(_any(Prepared(said), words, section) for section in ("insufficiency", "refusal")):
        said = _RANGE.sub(
            lambda each: " " if {each[1], each[2]} <= set(_NUMBER.findall(stem)) else each[0], said
        )
    outside = _BRACKETS.sub(" ", said)
    if not outside.strip(" .,:;-"):
        return pattern.search(said) is not None
    refused = contradicts = False
    for clause in _CLAUSES.split(outside):
        text = Prepared(clause)
        contradicts = contradicts or _any(text, words, "insufficiency")
        if contradicts or _any(text, words, "refusal"):
            refused = True
        turned = not contradicts and re.match(r"\W*(?:but|however)\b", clause) is not None
        if pattern.search(clause) and (not refused or turned or _GUESSES.search(clause)):
            return True
    return False


def _any(text: Prepared, words: Lexicon, section: str) -> bool:
    if section == "refusal" and denies_knowing(plain(text.text), LANGUAGES):
        return True
    return any(_meant(text, match, words.scope) for match in scope.raw_matches(text, words.cues[section]))


def _meant(text: Prepared, match: scope.Match, rules: Scope) -> bool:
    negated = not match.cue.self_negated and scope.negated(text, match.start, match.end, rules)
    return not negated and not scope.hypothetical(text, match.start, rules)
