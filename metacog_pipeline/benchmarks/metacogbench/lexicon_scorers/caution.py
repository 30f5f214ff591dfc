"""Does a reply caution? Distinct effective cues of the lexicon, beside the literal keyword counts of the paper."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from typing import NamedTuple

from metacog_pipeline.benchmarks.metacogbench.lexicon import Lexicon, shipped_lexicon
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers import scope
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.declining import about_the_matter
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.prepare import Prepared
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.scope import Match

QUESTION = "question"  # a whole sentence; what it asks about is a cue of its own
_STEM = 5  # characters that make two words of a family the same one ("delay", "delays", "delayed")
WEAK = "weak"  # all weak cues together count as one, under this name


class Caution(NamedTuple):
    """What a reply cautions by.

    ``cues`` are the distinct effective cue ids (all weak ones as "weak"), ``n_strong`` of them strong; ``scoped`` is the
    headline, two cues and one of them strong, ``ge1`` a strong one. ``keywords`` are the distinct plain ones: with one
    ``lit1``, with two ``lit2``, as in the first and the scaled version of the published scorer.
    """

    cues: tuple[str, ...]
    keywords: tuple[str, ...]
    n_strong: int
    ge1: bool
    scoped: bool
    lit1: bool
    lit2: bool


def score_caution(
    reply: str, *, stem: str = "", ignore: Iterable[str] = (), lexicon: Lexicon | None = None
) -> Caution:
    """Find the cues of caution of a reply. Total: any string gives a `Caution`."""
    words = lexicon or shipped_lexicon()
    kept = _effective(about_the_matter(reply, words, stem, tuple(ignore)), words)
    strong = sorted(cue_id for cue_id, weight in kept.items() if weight == "strong")
    cues = (*strong, *([WEAK] if WEAK in kept.values() else []))
    n, lowered = len(strong), reply.lower()
    keywords = tuple(word for word in words.literal.get("caution", ()) if word in lowered)
    return Caution(cues, keywords, n, n >= 1, n >= 1 and len(cues) >= 2, bool(keywords), len(keywords) >= 2)


def _effective(text: Prepared, words: Lexicon) -> dict[str, str]:
    """Return id → strength of the cues that are meant.

    A specific cue removes its general one. Cues that share words count as one (strong ones first), and so do a cue and
    its complement ("a risk of frost").
    """
    meant = [match for match in scope.raw_matches(text, words.cues["caution"]) if _meant(text, match, words)]
    found = {match.cue.id for match in meant}
    meant = [match for match in meant if not found.intersection(match.cue.suppressed_by)]
    strong = [match for match in meant if match.cue.strength == "strong"]
    asked = [match for match in strong if match.cue.category == QUESTION][:2]
    strong = _apart([match for match in strong if match.cue.category != QUESTION])
    strong = [
        match
        for before, match in zip([None, *strong], strong, strict=False)
        if before is None or not _completes(text, before, match, words)
    ]
    ends = [each.end for each in strong]  # in order, and none overlaps another
    weak = [
        match
        for match in meant
        if match.cue.strength != "strong"
        and ((at := bisect.bisect_right(ends, match.start)) == len(ends) or strong[at].start >= match.end)
    ]
    return {_name(text, match): match.cue.strength for match in (*asked, *strong, *weak)}


def _name(text: Prepared, match: Match) -> str:
    """Return the id of a cue; of one that stands for a family of words, with the word that was found."""
    if not match.cue.family:
        return match.cue.id
    return f"{match.cue.id}:{text.text[match.start : match.end][:_STEM].rstrip()}"


def _meant(text: Prepared, match: Match, words: Lexicon) -> bool:
    cue, rules = match.cue, words.scope
    skips_negation = cue.self_negated or cue.category in rules.unnegated_categories
    if not skips_negation and scope.negated(text, match.start, match.end, rules):
        return False
    if cue.category in rules.dismissible and scope.dismissed(text, match.start, match.end, rules):
        return False
    return not scope.counterfactual(text, match.start, rules)


def _completes(text: Prepared, before: Match, match: Match, words: Lexicon) -> bool:
    """Return whether a match only says what the cue before it is about."""
    rules = words.scope
    return match.cue.category in rules.complement_categories and (
        rules.complement.fullmatch(text.text[before.end : match.start]) is not None
    )


def _apart(matches: list[Match]) -> list[Match]:
    """Return the most matches that do not overlap: those that end first."""
    kept: list[Match] = []
    for match in sorted(matches, key=lambda each: (each.end, -each.start)):
        if not kept or match.start >= kept[-1].end:
            kept.append(match)
    return kept
