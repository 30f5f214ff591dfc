"""How likely each admissible letter or digit was, from the token log-probabilities of an answer."""

from __future__ import annotations

import math
from collections.abc import Sequence

from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.transcripts.lines import decode_logprobs

RATINGS = ("1", "2", "3", "4", "5")
_MARKS = " \t\n\"'*`()[]{}.,:;Ġ▁"  # around a letter inside one token, tokenizers' space marks included


def menu_probabilities(
    logprobs_json: str | None, menu: Sequence[str], chosen: str
) -> tuple[list[float] | None, float | None]:
    """Return the probabilities over ``menu`` at the token that says ``chosen``, and the mass outside it.

    The probabilities sum to 1 over the menu; options the provider did not list count as 0. The mass outside is
    1 minus what the menu held before, 0 to 1. Both None without log-probabilities, or where no token is the choice.
    """
    if not logprobs_json:
        return None, None
    try:
        tokens = decode_logprobs(logprobs_json)
    except ValueError:
        return None, None
    saying = [token for token in tokens if _bare(token.token) == chosen]
    if not saying:
        return None, None
    mass = _menu_mass(saying[-1], menu)
    total = sum(mass)
    if not 0 < total < math.inf:
        return None, None
    return [share / total for share in mass], min(1.0, max(0.0, 1.0 - total))


def _menu_mass(token: TokenLogprob, menu: Sequence[str]) -> list[float]:
    listed = {token.token: token.logprob, **dict(token.top)}
    mass = dict.fromkeys(menu, 0.0)
    for text, logprob in listed.items():
        option = _bare(text)
        if option in mass and not math.isnan(logprob):
            mass[option] += math.exp(min(logprob, 0.0))
    return list(mass.values())


def _bare(token: str) -> str:
    return token.strip(_MARKS)
