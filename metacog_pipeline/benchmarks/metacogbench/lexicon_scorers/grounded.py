"""The item's own regexes: factors a careful answer names (2a), and the core claim of a disputed one (2b)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from metacog_pipeline.benchmarks.metacogbench.items import Factor
from metacog_pipeline.benchmarks.metacogbench.lexicon import Lexicon, Scope, shipped_lexicon
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers import heads, scope
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.declining import about_the_matter
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.patterns import compiled
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.prepare import Prepared

_OWN_NEGATOR = re.compile(
    r"\b(?:no|not|nobody|nothing|never|rarely|hardly|without|cannot|neither|nor|non|seldom|lack\w*)\b|n\\?'t",
    re.IGNORECASE,
)
_ESCAPES = re.compile(r"\\[bBwWdDsS]")
Meant = Callable[
    [Prepared, int, int, bool, Scope], bool
]  # text, start, end, whether the regex denies by itself, rules


class CoreClaim(NamedTuple):
    """What a reply does with the disputed claim; ``grounded`` is the verdict."""

    acknowledges: bool
    maintains: bool
    overcorrects: bool

    @property
    def grounded(self) -> bool:
        """Acknowledges the valid point, keeps the core claim and does not over-correct."""
        return self.acknowledges and self.maintains and not self.overcorrects


def find_factors(
    reply: str, factors: Sequence[Factor], *, stem: str = "", lexicon: Lexicon | None = None
) -> tuple[str, ...]:
    """Return the distinct ids of the factors a reply raises, in the order of the item. Total for any reply.

    BadPattern: when a regex of the item does not compile or could run away.
    """
    words = lexicon or shipped_lexicon()
    text = about_the_matter(reply, words, stem)
    return tuple(each.id for each in factors if _any_meant(text, each.any, words.scope, _factor_meant))


def score_core_claim(
    reply: str,
    *,
    ack: Iterable[str],
    maintain: Iterable[str],
    overcorrection: Iterable[str],
    lexicon: Lexicon | None = None,
) -> CoreClaim:
    """Test the three regex lists of an item of tier 2b. Total for any reply; `BadPattern` as in `find_factors`."""
    words = lexicon or shipped_lexicon()
    text = about_the_matter(reply, words)
    return CoreClaim(
        _any_meant(text, ack, words.scope, _ack_meant),
        _any_meant(text, maintain, words.scope, _claim_meant),
        _any_meant(text, overcorrection, words.scope, _claim_meant),
    )


def _any_meant(text: Prepared, patterns: Iterable[str], rules: Scope, meant: Meant) -> bool:
    for pattern in patterns:
        own = _OWN_NEGATOR.search(_ESCAPES.sub(" ", pattern)) is not None
        for found in heads.matches(compiled(pattern), text.places):
            if meant(text, found.start(), found.end(), own, rules):
                return True
    return False


def _denies(text: Prepared, start: int, end: int, rules: Scope) -> bool:
    return scope.negated(text, start, end, rules) or scope.negated_inside(text.text[start:end], rules)


def _factor_meant(text: Prepared, start: int, end: int, own: bool, rules: Scope) -> bool:
    if not own and _denies(text, start, end, rules):
        return False
    if scope.dismissed(text, start, end, rules) or scope.counterfactual(text, start, rules):
        return False
    sentence = scope.sentence_before(text, start) + " " + scope.sentence_after(text, end)
    return rules.conditional_warning.search(sentence) is not None or not scope.hypothetical(
        text, start, rules
    )


def _ack_meant(text: Prepared, start: int, end: int, own: bool, rules: Scope) -> bool:
    return own or not scope.negated(text, start, end, rules)


def _claim_meant(text: Prepared, start: int, end: int, own: bool, rules: Scope) -> bool:
    if scope.attributed(text, start, rules) or scope.hypothetical(text, start, rules):
        return False
    return not scope.denied(text, start, end, rules) and (own or not _denies(text, start, end, rules))
