"""Which analysts are shown: a greedy choice of eight from the pool, by what they add to the set.

The worth of a set is 0.35·diversity (entropy of positions, as a share of ln 3) + 0.25·coverage (1 where two support, two
oppose and one is uncertain, ½ where one supports and one opposes) + 0.25·family (distinct families over the size) +
0.15·quality (how positions fit verdicts; 0.5 without). The published sets were chosen without verdicts, from a pool that is
not published: they can be scored again, not chosen again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley.construction import consensus as ratings
from metacog_pipeline.benchmarks.medley.construction.consensus import (
    CORRECT,
    NOT_RATED,
    POSITIONS,
    UNCLEAR,
    WRONG,
)

PANEL = 8
PER_FAMILY = 2
FEWEST_RATED = 3
TIE = 1e-9  # values this near are equal, and the first candidate wins: rounding must not choose
WEIGHTS = {"diversity": 0.35, "coverage": 0.25, "family": 0.25, "quality": 0.15}
UNVERIFIED = 0.5
# By POSITIONS.
_FITS = {CORRECT: (1.0, 0.0, 0.5), WRONG: (0.0, 1.0, 0.5), UNCLEAR: (0.4, 0.4, 0.6)}
_AGAINST = {CORRECT: 1, WRONG: 0}  # the place in POSITIONS that is against a verdict
_NOBODY = 9
Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An analyst of the pool. ``labels`` are {claim: label}, None where its reply could not be read."""

    model_id: str
    family: str
    labels: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Scores:
    """The worth of a set of analysts and its four parts, each 0..1."""

    total: float = 0.0
    diversity: float = 0.0
    coverage: float = 0.0
    family: float = 0.0
    quality: float = 0.0


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen models in the order of their choice, and what the set is like."""

    selected_models: tuple[str, ...]
    scores: Scores
    strong_wrong_included: bool
    family_counts: dict[str, int]
    position_summary: dict[str, dict[str, int]]


class Pool:
    """Candidates in a fixed order. The claims are those of the first that rates any, unless ``claim_ids`` are given."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        verdicts: Mapping[str, str] | None = None,
        claim_ids: Iterable[str] | None = None,
    ) -> None:
        self.candidates, verdicts = tuple(candidates), verdicts or {}
        readable = next((each.labels for each in candidates if each.labels), {})
        self.claim_ids = tuple(sorted(readable) if claim_ids is None else claim_ids)
        self.ranks = ratings.ranks([each.labels for each in candidates], self.claim_ids)
        self.positions = ratings.positions(self.ranks)
        self.families = [each.family for each in candidates]
        # Who rates too little is no candidate.
        self.valid = [i for i, each in enumerate(candidates) if len(each.labels or ()) >= FEWEST_RATED]
        # How well each position fits the claim's verdict, NaN without either.
        self._fit, wrong = np.full(self.ranks.shape, np.nan), self.ranks == 0
        for column, claim in enumerate(self.claim_ids):
            if (verdict := verdicts.get(claim)) is None:
                continue
            taken = self.positions[:, column]
            wrong[:, column] = taken == _AGAINST.get(verdict, _NOBODY)
            if verdict in _FITS:  # a position of -1, not rated, is the last: NaN
                self._fit[:, column] = np.array([*_FITS[verdict], np.nan])[taken]
        # Who takes a position against a verdict or, where there is none, very low.
        self.wrong: NDArray[np.bool_] = wrong.any(axis=1)

    def scores(self, chosen: Sequence[int], size: int) -> Scores:
        """Return the worth of candidates, by their places, for a panel of ``size``; an empty panel is worth 0."""
        if not chosen or not self.claim_ids:
            return Scores()
        tally = ratings.position_counts(self.ranks[list(chosen)])
        supporting, opposing, uncertain = tally.T
        full = (supporting >= 2) & (opposing >= 2) & (uncertain >= 1)
        some = (supporting >= 1) & (opposing >= 1)
        shares = tally / np.maximum(tally.sum(axis=1, keepdims=True), 1)
        entropy = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1) / np.log(len(POSITIONS))
        fits = self._fit[list(chosen)]
        known = ~np.isnan(fits)
        parts = {
            "diversity": float(entropy.mean()),
            "coverage": float(np.where(full, 1.0, np.where(some, 0.5, 0.0)).mean()),
            "family": min(len({self.families[place] for place in chosen}) / size, 1.0) if size else 0.0,
            "quality": float(fits[known].mean()) if known.any() else UNVERIFIED,
        }
        return Scores(total=sum(WEIGHTS[name] * value for name, value in parts.items()), **parts)

    def summary(self, chosen: Sequence[int], size: int) -> Selection:
        """Return a set of candidates as a selection."""
        tally = ratings.position_counts(self.ranks[list(chosen)]).tolist()
        return Selection(
            selected_models=tuple(self.candidates[place].model_id for place in chosen),
            scores=self.scores(chosen, size),
            strong_wrong_included=bool(self.wrong[list(chosen)].any()),
            family_counts=dict(Counter(self.families[place] for place in chosen)),
            position_summary={
                claim: dict(zip(POSITIONS, counts, strict=True))
                for claim, counts in zip(self.claim_ids, tally, strict=True)
            },
        )


def select(pool: Pool, size: int = PANEL) -> Selection:
    """Return the panel of ``size`` analysts; a pool with no more valid ones is taken whole, unreadable ones last."""
    valid, families = pool.valid, pool.families
    if len(valid) <= size:
        others = [place for place in range(len(families)) if place not in valid]
        return pool.summary([*valid, *others][:size], size)
    # A pair of different families that disagrees most; then who adds most, two per family as long as others are left.
    chosen = list(_seed_pair(pool))[:size]
    while len(chosen) < size:
        left, counts = [place for place in valid if place not in chosen], Counter(families[i] for i in chosen)
        allowed = [place for place in left if counts[families[place]] < PER_FAMILY]
        chosen.append(first_largest(allowed or left, lambda i: pool.scores([*chosen, i], size).total))
    # Where nobody is firmly wrong, the first who is takes the place of the member that is missed least.
    wrong = [place for place in valid if pool.wrong[place]]
    if wrong and not set(wrong) & set(chosen):
        missed = first_largest(range(size), lambda i: pool.scores(chosen[:i] + chosen[i + 1 :], size).total)
        chosen[missed] = wrong[0]
    return pool.summary(chosen, size)


def first_largest(choices: Iterable[Choice], worth: Callable[[Choice], float]) -> Choice:
    """Return the first choice that no later one exceeds by more than `TIE`."""
    best, *others = choices
    most = worth(best)
    for choice in others:
        value = worth(choice)
        if value > most + TIE:
            best, most = choice, value
    return best


def _seed_pair(pool: Pool) -> tuple[int, int]:
    """Return the first pair of valid candidates, of two families if there is one, that differs on most claims."""

    def differing(pair: tuple[int, int]) -> float:
        one, two = pool.positions[list(pair)]
        differ = (one != NOT_RATED) & (two != NOT_RATED) & (one != two)
        return float(differ.sum() / len(one)) if len(one) else 0.0

    pairs = list(combinations(pool.valid, 2))
    mixed = [pair for pair in pairs if pool.families[pair[0]] != pool.families[pair[1]]]
    return first_largest(mixed or pairs, differing)
