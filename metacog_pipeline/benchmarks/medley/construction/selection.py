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
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley.construction.consensus import (
    CORRECT,
    NOT_RATED,
    POSITIONS,
    UNCLEAR,
    WRONG,
    position_counts,
    positions,
    ranks,
)

PANEL = 8
PER_FAMILY = 2
FEWEST_RATED = 3
TIE = 1e-9  # values this near are equal, and the first candidate wins: rounding must not choose
WEIGHTS = {"diversity": 0.35, "coverage": 0.25, "family": 0.25, "quality": 0.15}
UNVERIFIED = 0.5
_FITS = {CORRECT: (1.0, 0.0, 0.5), WRONG: (0.0, 1.0, 0.5), UNCLEAR: (0.4, 0.4, 0.6)}  # by POSITIONS
_SUPPORT, _OPPOSE, _NOBODY = 0, 1, 9  # places in POSITIONS, and of a position nobody takes
Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An analyst of the pool. ``labels`` are {claim: label}, None where its reply could not be read."""

    model_id: str
    family: str
    labels: Mapping[str, str] | None
    response: dict[str, Any] | None = None


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
    """Candidates in a fixed order. The claims are those of the first that rates any, unless ``claim_ids`` are given.

    ``valid`` candidates rate at least three claims.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        verdicts: Mapping[str, str] | None = None,
        claim_ids: Iterable[str] | None = None,
    ) -> None:
        self.candidates = tuple(candidates)
        readable = next((each.labels for each in candidates if each.labels), {})
        self.claim_ids = tuple(sorted(readable) if claim_ids is None else claim_ids)
        self.ranks = ranks([each.labels for each in candidates], self.claim_ids)
        self.positions = positions(self.ranks)
        self.verdicts = verdicts or {}
        rated = [len(each.labels or ()) for each in candidates]
        self.valid = [place for place, count in enumerate(rated) if count >= FEWEST_RATED]
        self.invalid = [place for place, count in enumerate(rated) if count < FEWEST_RATED]
        self._fit, self._wrong = self._by_verdicts()

    def family(self, place: int) -> str:
        """Return the family of a candidate."""
        return self.candidates[place].family

    def scores(self, chosen: Sequence[int], size: int) -> Scores:
        """Return the worth of a set of candidates, given by their places, for a panel of ``size``; that of none is 0."""
        if not chosen or not self.claim_ids:
            return Scores()
        tally = position_counts(self.ranks[list(chosen)])
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
            "family": min(len({self.family(place) for place in chosen}) / size, 1.0) if size else 0.0,
            "quality": float(fits[known].mean()) if known.any() else UNVERIFIED,
        }
        return Scores(total=sum(WEIGHTS[name] * value for name, value in parts.items()), **parts)

    def is_strong_wrong(self, place: int) -> bool:
        """Whether a candidate takes a position that is, or without a verdict may be, firmly wrong on some claim."""
        return bool(self._wrong[place].any())

    def summary(self, chosen: Sequence[int], size: int) -> Selection:
        """Return a set of candidates as a selection."""
        tally = position_counts(self.ranks[list(chosen)])
        return Selection(
            selected_models=tuple(self.candidates[place].model_id for place in chosen),
            scores=self.scores(chosen, size),
            strong_wrong_included=any(self.is_strong_wrong(place) for place in chosen),
            family_counts=dict(Counter(self.family(place) for place in chosen)),
            position_summary={
                claim: dict(zip(POSITIONS, counts, strict=True))
                for claim, counts in zip(self.claim_ids, tally.tolist(), strict=True)
            },
        )

    def best_addition(self, chosen: Sequence[int], size: int) -> int:
        """Return who adds most to a set; a third of a family only where no other is left."""
        left = [place for place in self.valid if place not in chosen]
        families = Counter(self.family(place) for place in chosen)
        allowed = [place for place in left if families[self.family(place)] < PER_FAMILY]
        return self.first_largest(allowed or left, lambda place: self.scores([*chosen, place], size).total)

    def first_largest(self, choices: Iterable[Choice], worth: Callable[[Choice], float]) -> Choice:
        """Return the first choice that no later one exceeds by more than `TIE`."""
        best, *others = choices
        most = worth(best)
        for choice in others:
            value = worth(choice)
            if value > most + TIE:
                best, most = choice, value
        return best

    def seed_pair(self) -> tuple[int, int]:
        """Return the first pair of valid candidates, of two families if there is one, that differs on most claims."""

        def differing(pair: tuple[int, int]) -> float:
            one, two = self.positions[list(pair)]
            differ = (one != NOT_RATED) & (two != NOT_RATED) & (one != two)
            return float(differ.sum() / len(one)) if len(one) else 0.0

        pairs = list(combinations(self.valid, 2))
        mixed = [pair for pair in pairs if self.family(pair[0]) != self.family(pair[1])]
        return self.first_largest(mixed or pairs, differing)

    def _by_verdicts(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return (candidates, claims): how well each position fits the claim's verdict, NaN without either; and whether
        it is firmly wrong: against the verdict or, where there is none, very low."""
        fits, wrong = np.full(self.ranks.shape, np.nan), self.ranks == 0
        for column, claim in enumerate(self.claim_ids):
            taken, verdict = self.positions[:, column], self.verdicts.get(claim)
            if verdict in _FITS:
                fits[:, column] = np.array([*_FITS[verdict], np.nan])[
                    taken
                ]  # -1, not rated, is the last: NaN
            if claim in self.verdicts:
                wrong[:, column] = taken == {CORRECT: _OPPOSE, WRONG: _SUPPORT}.get(verdict or "", _NOBODY)
        return fits, wrong


def select(pool: Pool, size: int = PANEL) -> Selection:
    """Return the panel of ``size`` analysts.

    A pair of different families that disagrees most; then the analyst that adds most, at most two per family as long as
    others are left; then, where nobody in the set is firmly wrong, the first who is takes the place of the member that is
    missed least. A pool with no more valid candidates than ``size`` is taken whole, unreadable ones last.
    """
    if len(pool.valid) <= size:
        return pool.summary([*pool.valid, *pool.invalid][:size], size)
    chosen = list(pool.seed_pair())[:size]
    while len(chosen) < size:
        chosen.append(pool.best_addition(chosen, size))
    wrong = [place for place in pool.valid if pool.is_strong_wrong(place)]
    if wrong and not set(wrong) & set(chosen):
        missed = pool.first_largest(
            range(size), lambda i: pool.scores(chosen[:i] + chosen[i + 1 :], size).total
        )
        chosen[missed] = wrong[0]
    return pool.summary(chosen, size)
