"""How sure a yes is: the share of yes among yes and no where a reply could have said either.

D = P(yes) / (P(yes) + P(no)) = sigmoid(l_yes − l_no), from the log-probabilities of the yes word and the no word at the
place where the reply begins. Published values use two logits of one forward pass; providers list the most likely tokens
only, each spelling on its own ("Yes", " yes"): spellings of one word are added up, and a word that is not listed is given
the most it can have.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from metacog_pipeline.benchmark.thinking import without_thinking
from metacog_pipeline.benchmarks.selfknowledge.answer_words import YES_NO
from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.transcripts.lines import decode_logprobs

_MARKS = " \t\r\n\"'“”‘’«»「」『』*_`#>()[]{}<.,:;!?¡¿。，：！-–—Ġ▁Ċ"  # tokenizers' marks of spaces included
_OTHER_SPELLINGS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ko": (("네",), ("아니오",)),
    "es": (("si",), ()),
}
_SPELLED_OUT = 8  # tokens a word may take


def confidence(logprobs_json: str | None, language: str = "en") -> float | None:
    """Return D, 0 to 1, from kept token log-probabilities of a meta reply.

    None without any, where a reply is all thinking, and where neither word was likely enough to be listed.
    """
    try:
        tokens = _of_reply(decode_logprobs(logprobs_json))
    except ValueError:
        return None
    sides = _spellings(language)
    begun = False
    for place, token in enumerate(tokens):
        said = _bare(token.token)
        if not said:
            continue
        own = _side(said, sides) or (None if begun else _spelled(tokens[place:], sides))
        # Where the reply begins it may go either way whatever was said; later only a yes or a no is such a place.
        if (own is not None or not begun) and (share := _share(token, own, sides)) is not None:
            return share
        begun = True
    return None


def _of_reply(tokens: Sequence[TokenLogprob]) -> Sequence[TokenLogprob]:
    """Return the tokens after all thinking."""
    text = "".join(token.token for token in tokens)
    if "<" not in text:
        return tokens
    reply = without_thinking(text).lstrip()
    start = text.rfind(reply) if reply else len(text)
    if start < 0:  # thoughts in the middle of the reply
        start = len(text)
    place = 0
    for number, token in enumerate(tokens):
        if place >= start:
            return tokens[number:]
        place += len(token.token)
    return ()


def _spellings(language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return how yes and no may be spelled: in the language, and in English, which many models fall back to."""
    more = _OTHER_SPELLINGS.get(language, ((), ()))
    yes, no = ((YES_NO[language][i], YES_NO["en"][i], *more[i]) for i in (0, 1))
    return tuple(map(_bare, yes)), tuple(map(_bare, no))


def _bare(token: str) -> str:
    return unicodedata.normalize("NFC", token).strip(_MARKS).casefold()


def _side(said: str, sides: tuple[Sequence[str], Sequence[str]]) -> int | None:
    """Return 0 where ``said`` is a yes, 1 where it is a no, or the first syllables of one in Korean."""
    for side in (0, 1):
        for word in sides[side]:
            if said == word or (word.startswith(said) and "\uac00" <= said[0] <= "\ud7a3"):
                return side
    return None


def _spelled(tokens: Sequence[TokenLogprob], sides: tuple[Sequence[str], Sequence[str]]) -> int | None:
    """Return the side whose word the first few tokens spell together."""
    joined = _bare("".join(token.token for token in tokens[:_SPELLED_OUT]).strip(_MARKS))
    for side in (0, 1):
        for word in sides[side]:
            if joined.startswith(word) and not joined[len(word) : len(word) + 1].isalnum():
                return side
    return None


def _share(token: TokenLogprob, own: int | None, sides: tuple[Sequence[str], Sequence[str]]) -> float | None:
    listed = {token.token: token.logprob, **dict(token.top)}
    logs: tuple[list[float], list[float]] = ([], [])
    for text, logprob in listed.items():
        bare = _bare(text)
        side = own if text == token.token and own is not None else _side(bare, sides) if bare else None
        if side is not None and not math.isnan(logprob):
            logs[side].append(min(logprob, 0.0))
    yes, no = _sum(logs[0]), _sum(logs[1])
    if max(yes, no) == -math.inf:
        return None
    most = _most_unlisted(token, listed.values())
    return _sigmoid((yes if logs[0] else most) - (no if logs[1] else most))


def _most_unlisted(token: TokenLogprob, listed: Iterable[float]) -> float:
    """Return the largest log-probability a token can have that is not listed."""
    rest = 1.0 - sum(math.exp(min(each, 0.0)) for each in listed if not math.isnan(each))
    left = math.log(rest) if rest > 0 else -math.inf
    return min([left, *(value for _, value in token.top if not math.isnan(value))])


def _sum(logs: Sequence[float]) -> float:
    """Return the logarithm of the sum of what ``logs`` are logarithms of."""
    largest = max(logs, default=-math.inf)
    if largest == -math.inf:
        return largest
    return largest + math.log(sum(math.exp(each - largest) for each in logs))


def _sigmoid(difference: float) -> float:
    if difference >= 0:
        return 1.0 / (1.0 + math.exp(-difference))
    return math.exp(difference) / (1.0 + math.exp(difference))
