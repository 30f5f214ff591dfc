"""What a reply says about the matter: without sentences that only decline the task; nothing where it does no more."""

from __future__ import annotations

import re
from functools import lru_cache

from metacog_pipeline.benchmarks.metacogbench.lexicon import Lexicon
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers import scope
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.prepare import Prepared, prepare

DECLINE = "decline"
_CONTENT = "content"
_LABEL_WORDS = 3  # "Recommendation:" before a refusal says nothing by itself
_LONGEST = 300  # characters of a clause; a longer one has something to say
# Conjunctions part clauses only where another subject follows, so that a list of nouns stays whole.
_PARTS = re.compile(
    r"(?P<mark>[,;:()\n]|[.!?]+(?=\s|$)|\s-{1,2}\s)"
    r"|\s(?=(?:but|however|although|though|because|since|unless|until|without|while|whereas)\s(?!for me\b))"
    r"|\s(?=(?:and|so|as|or|yet)\s(?:i|i'm|i'd|i'll|we|it|it's|this|that|they|you|there|the"
    r"|please|an ai|a language|doing)\b)"
)
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")


@lru_cache(maxsize=8)
def about_the_matter(reply: str, words: Lexicon, stem: str = "", ignore: tuple[str, ...] = ()) -> Prepared:
    """Return a prepared reply without sentences that only decline; empty when the whole reply does no more than that.

    ``stem`` and ``ignore`` as in `prepare`. Several scorers ask for one reply in turn: the last few are kept.

    A sentence with any clause about the matter stays as it is: in "I can't call it safe, because the load is uneven" the
    refusal is part of the warning. Positions are kept.
    """
    text = prepare(reply, stem, ignore)
    kept, start, declined, content = [], 0, False, False
    for end in text.sentence_ends:
        sentence = text.text[start:end]
        start = end
        kinds = _kinds(sentence, words)
        if DECLINE in kinds and _CONTENT not in kinds:
            declined = True
            kept.append(re.sub(r"[^\s.!?]", " ", sentence))
        else:
            content = content or _CONTENT in kinds
            kept.append(sentence)
    if not declined:
        return text
    return Prepared("".join(kept)) if content else Prepared("")


def _kinds(sentence: str, words: Lexicon) -> set[str]:
    """Return the kinds of the clauses of a sentence, up to the first that is about the matter."""
    kinds, start = set(), 0
    for found in [*_PARTS.finditer(sentence), None]:
        clause = sentence[start : found.start() if found else len(sentence)]
        start = found.end() if found else start
        bare = _EDGES.sub("", clause)
        if not bare:
            continue
        if found is not None and found["mark"] == ":" and len(bare.split()) <= _LABEL_WORDS:
            continue
        kinds.add(_kind(bare, words) if len(bare) <= _LONGEST else _CONTENT)
        if _CONTENT in kinds:
            break
    return kinds


@lru_cache(maxsize=2_048)
def _kind(clause: str, words: Lexicon) -> str:
    """Return the kind of a clause; two preparations of one reply ask for the same ones."""
    for cue in words.cues["declining"]:
        if cue.regex.fullmatch(clause) and not scope.stopped(clause, 0, len(clause), cue):
            return cue.category
    return _CONTENT
