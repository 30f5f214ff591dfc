"""Does a reply say that its answer is not known? Weighed by the words it is made of, where no phrase foresees them.

In Latin script the features are words and pairs of words, in Chinese and Korean runs of up to three characters; those of
the first clause count apart. What the question says, numbers and names become ``<asked>``, ``<number>`` and ``<name>``, so
that the words around an answer are weighed and not the answer. A reply of a few words is left to the phrases. The weights,
``data/answers/unknowing.json``, are a logistic regression on the labelled batches: ``python -m tests.fit_words``.
"""

from __future__ import annotations

import re
from itertools import pairwise

from metacog_pipeline.benchmark.answers.abstaining import plain
from metacog_pipeline.benchmark.answers.weights import Weights, shipped_weights, weighed

_CLAUSE = re.compile(r"[.;!?\n。，；！？、,]")
_WORD = re.compile(r"[\w']{1,40}")
_NAME = re.compile(r"(?<=[\w,;:*(] )[*_\"“]{0,3}([A-ZÁÉÍÓÚÑ][\w'-]{1,40})")
_SPEAKER = frozenset(("i", "i'm", "i'd", "i've", "i'll"))
_DENSE = re.compile(r"[\u4e00-\u9fff가-힣]")
_LATIN, _DIGITS = re.compile(r"[a-z]+"), re.compile(r"\d+")
_MOST = 1_200  # characters that are weighed: who does not know says so early
_SHORT, _FEW = 5, 4  # characters, words from which a reply is weighed
SURE = 0.5  # weight from which a reply withholds


def features(reply: str, question: str = "") -> dict[str, float]:
    """Return what is weighed of a reply."""
    said, asked = plain(reply)[:_MOST], plain(question)[:_MOST]
    names = {name.casefold() for name in _NAME.findall(reply[: 2 * _MOST])} - _SPEAKER
    words, runs = set(_WORD.findall(asked)), {asked[at : at + 2] for at in range(len(asked) - 1)}
    found: dict[str, float] = {"<bias>": 1.0}
    for at, clause in enumerate(each for each in _CLAUSE.split(said) if each.strip()):
        marks = _runs(clause, runs) if _DENSE.search(clause) else _words(clause, words, names)
        found |= dict.fromkeys(marks, 1.0)
        if at == 0:
            found |= {f"first {mark}": 1.0 for mark in marks}
    return found


def _words(clause: str, asked: set[str], names: set[str]) -> list[str]:
    words = ["^"]
    for word in _WORD.findall(clause):
        if word[0].isdigit():
            words.append("<number>")
        elif word in asked and len(word) > 3:
            words.append("<asked>")
        else:
            words.append("<name>" if word in names else word)
    return words + [f"{one} {other}" for one, other in pairwise(words)]


def _runs(clause: str, asked: set[str]) -> list[str]:
    text = _LATIN.sub("L", _DIGITS.sub("0", clause.strip()))
    pairs = [text[at : at + 2] for at in range(len(text) - 1)]
    known = ["<asked>" if pair in asked else pair for pair in pairs]
    return [
        f"^{text[:2]}",
        *text,
        *known,
        *(text[at : at + 3] for at, pair in enumerate(pairs) if pair not in asked),
    ]


def says_unknown(reply: str, question: str = "", weights: Weights | None = None) -> float:
    """Return how much the words of a reply speak for an answer that is not known. Total for any reply."""
    said = plain(reply[: 2 * _MOST])
    if len(said) < _SHORT if _DENSE.search(said) else len(said.split()) < _FEW:
        return 0.0
    return weighed(
        features(reply, question), shipped_weights("answers", "unknowing") if weights is None else weights
    )
