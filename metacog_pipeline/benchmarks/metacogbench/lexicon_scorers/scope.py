"""Is a match meant? Negation, distancing, dismissal, hypothesis and attribution around it; all rules are data."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from metacog_pipeline.benchmarks.metacogbench.lexicon import Cue, Scope
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers import heads
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.prepare import Prepared

_TOKEN = re.compile(r"[\w%]+(?:'\w+)?")
_BEFORE, _AFTER = 300, 160  # characters looked at around a match
_STOP_REACH = 60
_MATCHES_AT_MOST = 400  # of one cue in one reply


@dataclass(frozen=True, slots=True)
class Match:
    """One meant cue: which, where, and in which sentence."""

    cue: Cue
    start: int
    end: int
    sentence: int


def raw_matches(text: Prepared, cues: Iterable[Cue]) -> list[Match]:
    """Return every match of every cue outside its stop collocations, in order of position."""
    found: list[Match] = []
    for cue in cues:
        count = 0
        for match in heads.matches(cue.regex, text.places):
            if match.end() == match.start() or stopped(text.text, match.start(), match.end(), cue):
                continue
            found.append(Match(cue, match.start(), match.end(), sentence_of(text, match.start())))
            count += 1
            if count == _MATCHES_AT_MOST:
                break
    return sorted(found, key=lambda each: (each.start, each.end))


def stopped(text: str, start: int, end: int, cue: Cue) -> bool:
    """Return whether a stop collocation of the cue overlaps the match."""
    if not cue.stop:
        return False
    low = max(0, start - _STOP_REACH)
    around = text[low : end + _STOP_REACH]
    return any(
        low + found.start() < end and start < low + found.end()
        for stop in cue.stop
        for found in stop.finditer(around)
    )


def sentence_of(text: Prepared, position: int) -> int:
    """Return the index of the sentence a position lies in."""
    return bisect.bisect_right(text.sentence_ends, position)


def clause_before(text: Prepared, position: int, scope: Scope) -> str:
    """Return the text from the last clause break to ``position``."""
    return _last_clause(text.text[max(0, position - _BEFORE) : position], scope.breaks)


@lru_cache(maxsize=1_024)
def _last_clause(text: str, breaks: re.Pattern[str]) -> str:
    """Return the text behind its last break; asked by several rules about one match, and of one place by several cues."""
    end = 0
    for found in breaks.finditer(text):
        end = found.end()
    return text[end:]


@lru_cache(maxsize=4_096)
def _says(rule: re.Pattern[str], text: str) -> bool:
    """Return whether a rule finds anything; asked of one clause by every cue in it."""
    return rule.search(text) is not None


def sentence_before(text: Prepared, position: int) -> str:
    """Return the text of the sentence up to ``position``."""
    index = sentence_of(text, position)
    start = text.sentence_ends[index - 1] if index else 0
    return text.text[max(start, position - _BEFORE) : position]


def sentence_after(text: Prepared, position: int) -> str:
    """Return the text of the sentence from ``position`` on."""
    end = text.sentence_ends[min(sentence_of(text, max(0, position - 1)), len(text.sentence_ends) - 1)]
    return text.text[position : min(max(end, position), position + _AFTER)]


def negated(text: Prepared, start: int, end: int, scope: Scope) -> bool:
    """Return whether a negator or a distancing phrase stands shortly before, in the same clause, without exception."""
    clause = clause_before(text, start, scope)
    words = _TOKEN.findall(clause)
    window = " ".join(words[-scope.negation_window :])
    matched = text.text[start:end]
    wide = " ".join([*words[-scope.negation_window - 4 :], matched])
    if _says(scope.exceptions, wide):
        return False
    return _says(scope.negators, window) or _says(
        scope.distancing, " ".join(words[-scope.negation_window - 2 :]) + " "
    )


def negated_inside(matched: str, scope: Scope) -> bool:
    """Return whether the last clause of a match holds a negator of its own ("I was not wrong")."""
    return _says(scope.negators, _last_clause(matched, scope.breaks))


def dismissed(text: Prepared, start: int, end: int, scope: Scope) -> bool:
    """Return whether the sentence waves the match away: before ("we can ignore") or after ("is negligible")."""
    if scope.dismissed_after.match(sentence_after(text, end)) is not None:
        return True
    clause = clause_before(text, start, scope)
    words = _TOKEN.findall(clause)
    window = " ".join(words[-8:]) + " "
    return _says(scope.dismissed_before, window) and not _says(scope.exceptions, window)


def counterfactual(text: Prepared, start: int, scope: Scope) -> bool:
    """Return whether the match stands in a supposition against the facts ("if there were any risk")."""
    return _says(scope.counterfactual, sentence_before(text, start))


def hypothetical(text: Prepared, start: int, scope: Scope) -> bool:
    """Return whether the match stands behind if, unless, whether, had or were in its clause."""
    return _says(scope.hypothetical, clause_before(text, start, scope))


def attributed(text: Prepared, start: int, scope: Scope) -> bool:
    """Return whether somebody else is said to hold what is matched ("you say", "a mistake to say")."""
    clause = clause_before(text, start, scope)
    return _says(scope.attribution, clause) or _says(scope.attribution_to_a_claim, clause)


def said_by_others(text: Prepared, start: int, scope: Scope) -> bool:
    """Return whether a person other than the speaker is said to hold what is matched."""
    return _says(scope.attribution, clause_before(text, start, scope))


def denied(text: Prepared, start: int, end: int, scope: Scope) -> bool:
    """Return whether what was matched is called false: behind a denied step ("does not follow that") or after it."""
    return (
        _says(scope.denied_before, clause_before(text, start, scope))
        or scope.denied_after.match(sentence_after(text, end)) is not None
    )
