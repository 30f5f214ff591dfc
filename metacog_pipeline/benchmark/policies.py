"""Policies that do not read the question, and whether one of them does better than chance on an instrument.

An instrument that such a policy passes measures its own form. A benchmark gives its scored choices as `Probe`; every policy
here sees the options, the challenge, the order and the keys of other items, and never the item's own question.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05  # of all policies of an instrument together: each is held to its share of it
FREE = 0.05  # chance of a free answer: keys hardly repeat, and a fixed answer right once in twenty says nothing of them
MOST = 2_000  # items of an instrument that are tried, evenly spaced: a leak shows in fewer
_SEEN_TWICE = 2  # a word of one option alone is no evidence about another
_LENGTH_STEP = 15  # characters per class of length
_WORD = re.compile(r"[^\W_]+")
Floats = NDArray[np.float64]
Scores = list[Floats]  # of the options of each probe, best highest; equal ones share the choice


@dataclass(frozen=True, slots=True)
class Probe:
    """One scored choice, as somebody meets it who does not read the question."""

    instrument: str  # probes of one instrument are judged together
    item: str
    options: tuple[str, ...]  # in the order they are shown; without them the answer is free
    right: tuple[int | str, ...]  # the places of options that score, or the texts of free answers
    stem: str = ""  # the question
    context: str = ""  # shown besides it: a challenge, what others say
    # of the options, where those of different items are of one kind (``keep``, ``give``)
    roles: tuple[str, ...] = ()
    cluster: str = ""  # items that hang together, such as variants of one question, count as one
    balanced: bool = False  # whether every kind of right answer weighs the same (d', balanced accuracy)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The role or the text of each option."""
        return self.roles or self.options

    @property
    def unit(self) -> str:
        """The cluster, or the item that has none."""
        return self.cluster or self.item


class Verdict(NamedTuple):
    """How one policy does on one instrument; it ``wins`` where ``value`` lies above ``high``, the end of chance."""

    policy: str
    value: float
    high: float
    instrument: str
    n: int
    chance: float

    @property
    def wins(self) -> bool:
        """Whether the policy does better than chance."""
        return self.value > self.high + 1e-12


def verdicts(probes: Iterable[Probe]) -> list[Verdict]:
    """Return how every policy does on every instrument.

    >>> options = [("yes", "no, not at all"), ("no, never ever", "yes"), ("it is", "it is certainly not so")] * 7
    >>> long = [Probe("length", str(n), o, (int(len(o[1]) > len(o[0])),)) for n, o in enumerate(options)]
    >>> {each.policy for each in verdicts(long) if each.wins} >= {"longest option"}
    True
    """
    # The interval of chance is that of a guess among the options, exact over clusters, at 95 % for all policies of an
    # instrument together.
    found: dict[tuple[str, bool], list[Probe]] = defaultdict(list)
    for probe in probes:
        if probe.right:  # where nothing is right no policy is scored
            found[probe.instrument, bool(probe.options)].append(probe)
    return [verdict for own in found.values() for verdict in _of_instrument(own)]


def _of_instrument(every: Sequence[Probe]) -> list[Verdict]:
    probes = every[:: -(-len(every) // MOST)]
    if probes[0].options:
        weights = _weights(probes)
        chance = np.array([len(each.right) / len(each.options) for each in probes])
        expected = float(weights @ chance)
        hits = {name: _hits(probes, scores) for name, scores in _policies(probes, weights).items()}
    else:
        weights = np.full(len(probes), 1 / len(probes))
        times = Counter(str(each.right[0]) for each in probes)
        expected = max(FREE, 1 / len(times))
        chance = np.full(len(probes), expected)
        common = max(times, key=lambda text: (times[text], text))
        said = {
            "constant answer": [common] * len(probes),
            "another item's question": [str(each.right[0]) for each in _shifted(probes)],
        }
        hits = {
            name: [float(text in map(str, each.right)) for text, each in zip(texts, probes, strict=True)]
            for name, texts in said.items()
        }
    high = _end_of_chance(probes, chance, weights, LEVEL / 2 / len(hits))
    about = probes[0].instrument, len(probes), expected
    return [Verdict(name, float(np.dot(weights, own)), high, *about) for name, own in hits.items()]


def _shifted(probes: Sequence[Probe]) -> list[Probe]:
    return [*probes[1:], *probes[:1]]


def _weights(probes: Sequence[Probe]) -> Floats:
    """Return what each probe adds to the score, in sum 1."""
    kinds = [
        "|".join(sorted(each.kinds[int(k)] for k in each.right)) if each.balanced else "" for each in probes
    ]
    times = Counter(kinds)
    return np.array([1 / times[kind] / len(times) for kind in kinds])


def _hits(probes: Sequence[Probe], scores: Scores) -> list[float]:
    best = [np.flatnonzero(own >= own.max() - 1e-9) for own in scores]
    return [float(np.isin(own, each.right).mean()) for own, each in zip(best, probes, strict=True)]


def _end_of_chance(probes: Sequence[Probe], chance: Floats, weights: Floats, tail: float) -> float:
    """Return the highest score that a guess exceeds with probability ``tail`` at most, in steps of a 2000th."""
    # The items of a cluster are right or wrong together.
    _, cluster = np.unique([each.unit for each in probes], return_inverse=True)
    steps = np.rint(np.bincount(cluster, weights) * 2000).astype(int)
    mass = np.ones(1)
    for step, rate in zip(steps, np.bincount(cluster, chance) / np.bincount(cluster), strict=True):
        mass = np.append(mass * (1 - rate), np.zeros(step)) + np.append(np.zeros(step), mass * rate)
    above = 1 - np.cumsum(mass)
    return float(np.argmax(above <= tail + 1e-12) / max(steps.sum(), 1))


# --- the policies -----------------------------------------------------------------------------------------------------
def _policies(probes: Sequence[Probe], weights: Floats) -> dict[str, Scores]:
    def by_text(score: Callable[[str], float]) -> Scores:
        return [np.array([float(score(text)) for text in each.options]) for each in probes]

    def like(texts: Iterable[str], sign: int = 1) -> Scores:
        return [sign * _overlap(text, each) for text, each in zip(texts, probes, strict=True)]

    times = Counter(text for each in probes for text in each.options)
    found = {
        "longest option": by_text(len),
        "shortest option": by_text(lambda text: -len(text)),
        "option of most items": by_text(lambda text: times[text]),
        "option of fewest items": by_text(lambda text: -times[text]),
        "position": _learned(probes, weights, lambda probe, k: (str(k),)),
        "option words": _learned(probes, weights, lambda probe, k: _features(probe.options[k])),
        "another item's question": like(each.stem for each in _shifted(probes)),
    }
    if [*times.values()].count(len(probes)) == len(probes[0].options):  # the same options everywhere
        right = Counter[str]()
        for each, weight in zip(probes, weights.tolist(), strict=True):
            right.update({each.options[int(k)]: weight for k in each.right})
        found["constant answer"] = by_text(lambda text: right[text])
    if any(each.context for each in probes):
        contexts = [each.context for each in probes]
        found["challenge words"] = _learned(
            probes, weights, lambda each, k: [f"{each.kinds[k]} {word}" for word in _features(each.context)]
        )
        found["option most like the challenge"] = like(contexts)
        found["option least like the challenge"] = like(contexts, -1)
    return found


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _features(text: str) -> set[str]:
    """Return words, pairs of words, the first word and the length of a text."""
    words = _words(text)
    pairs = map("_".join, pairwise(words))
    return {*words, *pairs, f"first {words[0] if words else ''}", f"length {len(text) // _LENGTH_STEP}"}


def _overlap(text: str, probe: Probe) -> Floats:
    """Return how many different words each option shares with a text."""
    own = {word for word in _words(text) if len(word) > 2}
    return np.array([float(len(own & set(_words(option)))) for option in probe.options])


def _learned(
    probes: Sequence[Probe], weights: Floats, features: Callable[[Probe, int], Iterable[str]]
) -> Scores:
    """Return naive Bayes over the features of single options, learned from the items of other clusters."""
    # An option is as good as its features are more frequent in right than in wrong options of other items, each item
    # by its weight in the score. Sorted: the last digits of a sum depend on the order.
    options = [(place, k) for place, each in enumerate(probes) for k in range(len(each.options))]
    seen = [sorted({*features(probes[place], k)}) for place, k in options]
    of = np.array([place for place, _ in options])
    right = np.array([k in probes[place].right for place, k in options])
    _, cluster = np.unique([probes[place].unit for place in of], return_inverse=True)
    row = np.repeat(np.arange(len(seen)), [len(found) for found in seen])
    names, feature = np.unique([name for found in seen for name in found], return_inverse=True)
    # A cell for each cluster and feature: what the cluster has of it is taken off again.
    _, cell = np.unique(cluster[row] * len(names) + feature, return_inverse=True)

    def elsewhere(amount: Floats) -> tuple[Floats, Floats]:
        """Return how much the options of other clusters have: those with each feature, and all."""
        with_feature: Any = np.bincount(feature, amount[row])[feature] - np.bincount(cell, amount[row])[cell]
        return with_feature, (amount.sum() - np.bincount(cluster, amount)[cluster])[row]

    odds = np.zeros(len(row))
    for side, sign in ((right, 1), (~right, -1)):
        with_feature, every = elsewhere(weights[of] * len(probes) * side)
        odds += sign * np.log((with_feature + 0.5) / (every + 1))
    odds[elsewhere(np.ones(len(seen)))[0] < _SEEN_TWICE] = 0
    scores = np.bincount(row, odds, minlength=len(seen))
    return np.split(scores, np.flatnonzero(np.diff(of)) + 1)
