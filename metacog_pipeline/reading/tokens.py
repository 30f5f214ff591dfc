"""The chance of an answer by log-probabilities: of the token at the place where the reply gives it, no other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate

from metacog_pipeline.llm.types import TokenLogprob

# around a word inside one token, tokenizers' marks of spaces and line ends included
_MARKS = " \t\n\"'*`()[]{}.,:;$\\Ġ▁Ċ"
_SPACES = str.maketrans("Ġ▁Ċ", "  \n")


def bare(token: str) -> str:
    """Return a token without the marks around its word."""
    return token.strip(_MARKS)


def at(tokens: Sequence[TokenLogprob], reply: str, start: int, end: int) -> Sequence[TokenLogprob]:
    """Return the tokens that say the characters ``start`` to ``end`` of ``reply``; none where their text is another."""
    # They may hold more than the reply: thinking before it, an end-of-turn token behind it.
    texts = [token.token for token in tokens]
    shift = "".join(texts).find(reply)
    if shift < 0:  # tokenizers' own marks of spaces
        texts = [text.translate(_SPACES) for text in texts]
        shift = "".join(texts).find(reply.strip()) - (len(reply) - len(reply.lstrip()))
        if reply.strip() not in "".join(texts):
            return ()
    ends = [*accumulate(map(len, texts))]
    first, last = start + shift, end + shift
    places = zip(tokens, [0, *ends], ends, strict=False)
    return [token for token, begin, stop in places if begin < last and stop > first]


def chance(said: Sequence[TokenLogprob], means: Callable[[str], bool]) -> float | None:
    """Return the chance, 0 to 1, of what ``said`` says; None where no token says it."""
    # several are said one after another: the product of theirs
    if len(said) != 1:
        value = math.exp(sum(min(token.logprob, 0.0) for token in said)) if said else 0.0
    else:  # the chances of all alternatives that mean the same; without alternatives the token's own
        listed = {**dict(said[0].top), said[0].token: said[0].logprob}
        same = [logprob for text, logprob in listed.items() if text == said[0].token or means(bare(text))]
        value = sum(math.exp(min(logprob, 0.0)) for logprob in same if not math.isnan(logprob))
    return min(1.0, value) if math.isfinite(value) and value > 0 else None


def shares(token: TokenLogprob, menu: Sequence[str]) -> tuple[list[float] | None, float | None]:
    """Return the probabilities over ``menu`` at one token, which sum to 1, and the mass outside it; None for none."""
    # an option that the provider did not list counts as 0
    mass = dict.fromkeys(menu, 0.0)
    for text, logprob in {token.token: token.logprob, **dict(token.top)}.items():
        if bare(text) in mass and not math.isnan(logprob):
            mass[bare(text)] += math.exp(min(logprob, 0.0))
    total = sum(mass.values())
    if not 0 < total < math.inf:
        return None, None
    return [share / total for share in mass.values()], min(1.0, max(0.0, 1.0 - total))
