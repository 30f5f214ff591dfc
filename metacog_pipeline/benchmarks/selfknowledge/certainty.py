"""How sure a yes is: the share of yes among yes and no at the token that says it.

D = P(yes) / (P(yes) + P(no)) = sigmoid(l_yes - l_no). Published values use two logits of one forward pass; providers list
the most likely tokens only, each spelling on its own ("Yes", " yes").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from metacog_pipeline.benchmark.contract import Flag
from metacog_pipeline.benchmarks.selfknowledge.prompts import YES_NO
from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.reading.tokens import bare

# How tokens spell a yes and a no beside the words of the prompt.
_SPELLINGS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ko": (("네",), ("아니오",)),
    "es": (("si",), ()),
}


def certainty(tokens: Sequence[TokenLogprob], yes: Flag, language: str) -> float | None:
    """Return D = P(yes) / (P(yes) + P(no)), 0 to 1, at the token that says ``yes``, 1 or 0; None without such a token.

    Spellings of one word are added up; a word that the provider does not list is given the most it can have.
    """
    token = next((each for each in tokens if bare(each.token)), None)
    if token is None or yes is None:
        return None
    listed = {token.token: token.logprob, **dict(token.top)}
    logs: dict[int, list[float]] = {0: [], 1: []}
    for text, logprob in listed.items():
        side = yes if text == token.token else _side(bare(text).casefold(), language)
        if side is not None and not math.isnan(logprob):
            logs[side].append(min(logprob, 0.0))
    rest = 1.0 - sum(math.exp(min(each, 0.0)) for each in listed.values() if not math.isnan(each))
    least = (each for _, each in token.top if not math.isnan(each))
    unlisted = min([math.log(rest) if rest > 0 else -math.inf, *least])
    sums = [_log_sum(logs[side]) if logs[side] else unlisted for side in (0, 1)]
    return None if max(sums) == -math.inf else _sigmoid(sums[1] - sums[0])


def _side(word: str, language: str) -> Flag:
    """Return 1 for a spelling of yes, 0 for one of no, in the language or in English; Korean ones in pieces too."""
    for side in (1, 0):
        more = _SPELLINGS.get(language, ((), ()))[1 - side]
        for known in (YES_NO[language][1 - side], YES_NO["en"][1 - side], *more):
            if word == known.casefold() or ("가" <= word[:1] <= "힣" and known.startswith(word)):
                return side
    return None


def _log_sum(logs: Sequence[float]) -> float:
    largest = max(logs)
    return (
        largest
        if largest == -math.inf
        else largest + math.log(sum(math.exp(each - largest) for each in logs))
    )


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))
