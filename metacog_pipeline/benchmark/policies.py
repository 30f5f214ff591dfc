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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05  # of all policies of an instrument together: each is held to its share of it
#: Chance of a free answer where keys hardly repeat: below one in twenty a fixed answer says nothing about the items.
FREE = 0.05
MOST = 2_000  # items of an instrument that are tried, evenly spaced: a leak shows in fewer
_SEEN_TWICE = 2  # a word of one option alone is no evidence about another
_LENGTH_STEP = 15  # characters per class of length
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Probe:
    """One scored choice, as somebody meets it who does not read the question."""

    # instrument, item: probes of one instrument are judged together; the item it belongs to
    instrument: str
    item: str
    # options, right: texts in the order they are shown, and the places of those that score. Without options the
    # answer is free, and ``right`` are the texts that score.
    options: tuple[str, ...]
    right: tuple[int | str, ...]
    # stem, context: the question; what is shown besides it: a challenge, what others say. Empty where there is no
    # such thing.
    stem: str = ""
    context: str = ""
    # what each option is, where options of different items are of one kind (``keep``, ``give``); their texts
    # otherwise
    roles: tuple[str, ...] = ()
    # items that hang together, such as variants of one question: they are left out together, and count as one
    cluster: str = ""
    # whether every kind of right answer weighs the same in the score (d', balanced accuracy), however often it is
    # right
    balanced: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each option is."""
        return self.roles or self.options

    @property
    def unit(self) -> str:
        """What is left out together."""
        return self.cluster or self.item


class Verdict(NamedTuple):
    """How one policy does on one instrument; it ``wins`` where ``value`` lies above ``high``, the end of chance."""

    instrument: str
    policy: str
    n: int
    value: float
    chance: float
    high: float

    @property
    def wins(self) -> bool:
        """Whether the policy does better than chance."""
        return self.value > self.high + 1e-12


Scores = NDArray[np.float64]  # of the options of a probe, best highest; equal ones share the choice
Policy = Callable[[Probe, int], Scores]


def verdicts(probes: Iterable[Probe]) -> list[Verdict]:
    """Return how every policy does on every instrument.

    The interval of chance is that of a guess among the options, exact over clusters, at 95 % for all policies of an
    instrument together.

    >>> options = [("yes", "no, not at all"), ("no, never ever", "yes"), ("it is", "it is certainly not so")] * 7
    >>> long = [Probe("length", str(n), o, (int(len(o[1]) > len(o[0])),)) for n, o in enumerate(options)]
    >>> {each.policy for each in verdicts(long) if each.wins} >= {"longest option"}
    True
    """
    found: dict[tuple[str, bool], list[Probe]] = defaultdict(list)
    for probe in probes:
        if probe.right:  # where nothing is right no policy is scored
            found[probe.instrument, bool(probe.options)].append(probe)
    return [verdict for own in found.values() for verdict in _of_instrument(own)]


def _of_instrument(every: Sequence[Probe]) -> list[Verdict]:
    probes = every[:: -(-len(every) // MOST)]
    if not probes[0].options:
        return _of_free_answers(probes)
    weights = _weights(probes)
    chance = np.array([len(each.right) / len(each.options) for each in probes])
    policies = _policies(probes, weights)
    high = _end_of_chance(probes, chance, weights, LEVEL / 2 / len(policies))
    found = []
    for name, policy in policies.items():
        hits = [_hit(each, policy(each, place)) for place, each in enumerate(probes)]
        value = float(np.dot(weights, hits))
        found.append(Verdict(probes[0].instrument, name, len(probes), value, float(weights @ chance), high))
    return found


def _of_free_answers(probes: Sequence[Probe]) -> list[Verdict]:
    """Return how often the commonest answer is right, and the answer to another item's question."""
    n, weights = len(probes), np.full(len(probes), 1 / len(probes))
    first = Counter(str(each.right[0]) for each in probes)
    chance = np.full(n, max(FREE, 1 / len(first)))
    high = _end_of_chance(probes, chance, weights, LEVEL / 2 / 2)
    common = max(first.items(), key=lambda each: (each[1], each[0]))[0]
    guesses = {
        "constant answer": [common] * n,
        "another item's question": [str(each.right[0]) for each in (*probes[1:], *probes[:1])],
    }
    found = []
    for name, said in guesses.items():
        hits = [text in map(str, each.right) for text, each in zip(said, probes, strict=True)]
        value = float(np.mean(hits))
        found.append(Verdict(probes[0].instrument, name, n, value, float(chance[0]), high))
    return found


def _weights(probes: Sequence[Probe]) -> NDArray[np.float64]:
    """Return what each probe adds to the score, in sum 1."""
    kinds = [
        "|".join(sorted(each.kinds[int(k)] for k in each.right)) if each.balanced else "" for each in probes
    ]
    times = Counter(kinds)
    return np.array([1 / times[kind] / len(times) for kind in kinds])


def _hit(probe: Probe, scores: Scores) -> float:
    best = np.flatnonzero(scores >= scores.max() - 1e-9)
    return float(np.isin(best, probe.right).mean())


def _end_of_chance(
    probes: Sequence[Probe], chance: NDArray[np.float64], weights: NDArray[np.float64], tail: float
) -> float:
    """Return the highest score that a guess exceeds with probability ``tail`` at most.

    The items of a cluster are right or wrong together. Scores are counted in steps of a 2000th, rounded up.
    """
    _, cluster = np.unique([each.unit for each in probes], return_inverse=True)
    steps = np.rint(np.bincount(cluster, weights) * 2000).astype(int)
    rates = np.bincount(cluster, chance) / np.bincount(cluster)
    mass = np.ones(1)
    for step, rate in zip(steps, rates, strict=True):
        longer = np.zeros(len(mass) + step)
        longer[: len(mass)] += mass * (1 - rate)
        longer[step:] += mass * rate
        mass = longer
    above = 1 - np.cumsum(mass)
    return float(np.argmax(above <= tail + 1e-12) / max(steps.sum(), 1))


# --- the policies -----------------------------------------------------------------------------------------------------
def _policies(probes: Sequence[Probe], weights: NDArray[np.float64]) -> dict[str, Policy]:
    texts = Counter(text for each in probes for text in each.options)
    shifted = [*probes[1:], *probes[:1]]
    always = [text for text, times in texts.items() if times == len(probes)]
    found: dict[str, Policy] = {
        "longest option": lambda probe, _: np.array([float(len(text)) for text in probe.options]),
        "shortest option": lambda probe, _: np.array([-float(len(text)) for text in probe.options]),
        "option of most items": lambda probe, _: np.array([float(texts[text]) for text in probe.options]),
        "option of fewest items": lambda probe, _: np.array([-float(texts[text]) for text in probe.options]),
        "position": _learned(probes, weights, lambda probe, k: (str(k),)),
        "option words": _learned(probes, weights, lambda probe, k: _features(probe.options[k])),
        "another item's question": lambda probe, place: _overlap(shifted[place].stem, probe),
    }
    if len(always) == len(probes[0].options):  # the same options everywhere: a constant answer
        right = Counter[str]()
        for each, weight in zip(probes, weights.tolist(), strict=True):
            right.update({each.options[int(k)]: weight for k in each.right})
        found["constant answer"] = lambda probe, _: np.array([right[text] for text in probe.options])
    if any(each.context for each in probes):
        found["challenge words"] = _learned(
            probes,
            weights,
            lambda probe, k: [f"{probe.kinds[k]} {word}" for word in _features(probe.context)],
        )
        found["option most like the challenge"] = lambda probe, _: _overlap(probe.context, probe)
        found["option least like the challenge"] = lambda probe, _: -_overlap(probe.context, probe)
    return found


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _features(text: str) -> tuple[str, ...]:
    """Return words, pairs of words, the first word and the length of a text."""
    words = _words(text)
    pairs = map("_".join, pairwise(words))
    return tuple(
        {*words, *pairs, f"first {words[0] if words else ''}", f"length {len(text) // _LENGTH_STEP}"}
    )


def _overlap(text: str, probe: Probe) -> Scores:
    """Return how many different words each option shares with a text."""
    own = {word for word in _words(text) if len(word) > 2}
    return np.array([float(len(own & set(_words(option)))) for option in probe.options])


def _learned(
    probes: Sequence[Probe], weights: NDArray[np.float64], features: Callable[[Probe, int], Sequence[str]]
) -> Policy:
    """Return naive Bayes over the features of single options, learned from the items of other clusters.

    An option is as good as its features are more frequent in right than in wrong options of other items, each item by its
    weight in the score.
    """
    seen = [[set(features(each, k)) for k in range(len(each.options))] for each in probes]
    # Of all probes (unit None), and of those of each cluster, which are taken off again.
    times = Counter[tuple[str | None, str]]()
    weight: dict[tuple[str | None, str, bool], float] = defaultdict(float)
    size: dict[tuple[str | None, bool], float] = defaultdict(float)
    for each, options, scaled in zip(probes, seen, weights * len(probes), strict=True):
        for k, found in enumerate(options):
            for unit in (None, each.unit):
                size[unit, k in each.right] += scaled
                for feature in found:
                    times[unit, feature] += 1
                    weight[unit, feature, k in each.right] += scaled

    def evidence(unit: str, found: Iterable[str]) -> float:
        """Return the log odds that an option with these features is right."""
        score = 0.0
        for feature in sorted(found):  # in one order: the last digits of a sum depend on it
            if times[None, feature] - times[unit, feature] < _SEEN_TWICE:
                continue
            for right, sign in ((True, 1), (False, -1)):
                here = weight.get((None, feature, right), 0.0) - weight.get((unit, feature, right), 0.0)
                score += sign * float(np.log((here + 0.5) / (size[None, right] - size[unit, right] + 1)))
        return score

    return lambda probe, place: np.array([evidence(probe.unit, found) for found in seen[place]])
