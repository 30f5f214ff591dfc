"""A pool of analysts: what it holds of each claim (disagreement, consensus, verification), and who of it is shown.

Labels are read by their exact spelling: another label counts as moderate, a claim without an item as not rated.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.benchmarks.medley.items import Consensus, claim_items

Floats = NDArray[np.float64]
Ranks = NDArray[np.int8]  # (analysts, claims): 0 very low … 4 very high, -1 not rated
Counts = NDArray[np.int64]
Choice = TypeVar("Choice")

SCALE = ("very_low", "low", "moderate", "high", "very_high")
POSITIONS = ("support", "oppose", "uncertain")
NOT_RATED = -1
_POSITION_OF_RANK = np.array([1, 1, 2, 0, 0], dtype=np.int8)  # index into POSITIONS
# The published files name their rule so, though it is the upper median of labels; the paper describes the other.
PUBLISHED_METHOD, MAJORITY_METHOD = "adaptive_jackknife_median", "jackknife_majority"
# What labels stand for in the published consensus; very low does not occur there, its value is the verification's.
PUBLISHED_VALUES = {"very_high": 0.9, "high": 0.75, "moderate": 0.5, "low": 0.25, "very_low": 0.1}
UNDECIDED = 0.5
# Exceeded by a majority. 15 of 28 is 0.536, where the range of confidences that the paper states, 0.54 to 1, begins.
MORE_THAN_HALF = 0.5
AGREE, DISAGREE, AMBIGUOUS = VERDICTS = ("AGREE", "DISAGREE", "AMBIGUOUS")
CORRECT, WRONG, UNCLEAR = "verified_correct", "verified_wrong", "ambiguous"
ENOUGH = 2  # of three judges of a claim decide it


def rated_labels(response: object, claim_ids: Iterable[str]) -> dict[str, str]:
    """Return {claim: label} of a reply for these claims, of each its last item."""
    wanted, found = list(claim_ids), dict[str, str]()
    for item in claim_items(response):
        if isinstance(item, dict) and (name := item.get("claim_id")) in wanted:
            label = item.get("confidence")
            found[name] = label if isinstance(label, str) else ""
    return found


def ranks(rated: Sequence[Mapping[str, Any] | None], claim_ids: Sequence[str]) -> Ranks:
    """Return labels by analyst as ranks; None is an analyst whose reply could not be read."""
    known: dict[str | None, int] = {label: rank for rank, label in enumerate(SCALE)}
    known[None] = NOT_RATED
    rows = [[known.get((own or {}).get(claim), 2) for claim in claim_ids] for own in rated]
    return np.array(rows, dtype=np.int8).reshape(len(rated), len(claim_ids))


def positions(table: Ranks) -> Ranks:
    """Return the places in `POSITIONS` of ranks; -1 where not rated."""
    return np.where(table == NOT_RATED, np.int8(NOT_RATED), _POSITION_OF_RANK[table])


def counts_of(places: Ranks, kinds: Sequence[str]) -> Counts:
    """Return (claims, kinds): how many analysts are at each place in `SCALE`, or in `POSITIONS`."""
    return np.stack([(places == place).sum(axis=0) for place in range(len(kinds))], axis=-1)


def disagreement(counts: ArrayLike) -> Floats:
    """Return the mean Jensen–Shannon divergence of raters from their mean, 0..0.42281 nats, of (..., 5) counts."""
    # With p the share of each label: Σ p · ½ · [ln(2/(1+p)) + p·ln(2p/(1+p)) + (1−p)·ln 2]. Below two raters it is 0.
    table = np.asarray(counts, dtype=np.float64)
    raters = table.sum(axis=-1, keepdims=True)
    p = table / np.maximum(raters, 1.0)
    inside = np.log(np.where(p > 0, 2 * p / (1 + p), 1.0))
    terms = p * 0.5 * (np.log(2 / (1 + p)) + p * inside + (1 - p) * np.log(2))
    return np.where(raters[..., 0] < 2, 0.0, np.maximum(terms.sum(axis=-1), 0.0))


def counts_behind(value: float | None, raters: float | None) -> list[tuple[int, ...]]:
    """Return the sets of label counts whose disagreement is ``value``, largest count first; none above 60 raters."""
    if value is None or raters is None or not 1 <= raters <= 60:
        return []
    sets = _count_sets(int(raters))
    return [tuple(row) for row in sets[np.abs(disagreement(sets) - value) <= 1e-12].tolist()]


@functools.lru_cache(maxsize=64)
def _count_sets(raters: int) -> Counts:
    """Return every way to give ``raters`` labels of five kinds, up to order: (ways, 5), largest count first."""
    cuts = np.array(list(combinations_with_replacement(range(raters + 1), len(SCALE) - 1)), dtype=np.int64)
    edges = np.pad(cuts, ((0, 0), (1, 1)))
    edges[:, -1] = raters
    return np.unique(-np.sort(-np.diff(edges, axis=1), axis=1), axis=0)


def label_median(rated: Sequence[Mapping[str, Any] | None], claim_ids: Sequence[str]) -> Consensus:
    """Return the consensus by the rule of the published files: the upper median of the labels of the analysts shown."""
    table = ranks(rated, claim_ids)
    tally, confidences, details = counts_of(positions(table), POSITIONS), {}, {}
    for claim, column, counts in zip(claim_ids, table.T, tally, strict=True):
        given = np.sort(column[column != NOT_RATED])
        label = SCALE[given[len(given) // 2]] if len(given) else "moderate"
        side = POSITIONS[counts.argmax()] if len(given) else "uncertain"
        confidences[claim] = PUBLISHED_VALUES[label]
        details[claim] = {"median_confidence": label, **_detail(side, counts)}
    return Consensus(confidences, details, PUBLISHED_METHOD)


def jackknife_majority(table: Ranks, claim_ids: Sequence[str]) -> Consensus:
    """Return the consensus of a whole pool, kept only where it survives leaving out each analyst in turn."""
    tally, confidences, details = counts_of(positions(table), POSITIONS), {}, {}
    for claim, counts, stable in zip(claim_ids, tally, stable_majority(tally).tolist(), strict=True):
        share = float(counts.max() / counts.sum()) if counts.any() else 0.0
        side = POSITIONS[counts.argmax()] if stable else "uncertain"
        confidences[claim] = {"support": share, "oppose": 1 - share}.get(side, UNDECIDED)
        details[claim] = _detail(side, counts, majority_share=share, stable=stable)
    return Consensus(confidences, details, MAJORITY_METHOD)


def _detail(side: str, counts: Counts, **more: Any) -> dict[str, Any]:
    told = {"majority_position": side, "majority_strength": int(counts.max()), **more}
    shares = dict(zip(POSITIONS, counts.tolist(), strict=True))
    return {**told, "total_analysts": int(counts.sum()), "position_distribution": shares}


def stable_majority(tally: ArrayLike) -> NDArray[np.bool_]:
    """Say of (claims, 3) position counts whether more than half take one position that leads whoever is left out."""
    counts = np.asarray(tally, dtype=np.int64)
    stable: NDArray[np.bool_] = counts.max(axis=-1) > MORE_THAN_HALF * counts.sum(axis=-1)
    for place in range(counts.shape[-1]):
        left = counts.copy()
        left[..., place] -= 1
        ordered = np.sort(left, axis=-1)
        leads = ordered[..., -1] > ordered[..., -2]
        stable &= (left[..., place] < 0) | (leads & (left.argmax(axis=-1) == counts.argmax(axis=-1)))
    return stable


def majority_verdict(verdicts: Sequence[str]) -> str:
    """Return the most frequent verdict, the first judge's where several are; AMBIGUOUS without judges."""
    most = Counter(verdicts).most_common(2)
    tied = len(most) == 2 and most[0][1] == most[1][1]
    return verdicts[0] if tied else most[0][0] if most else AMBIGUOUS


def is_wrong(verdicts: Sequence[str]) -> bool:
    """Say whether at least two judges disagree with the consensus: the rule for new instances."""
    # The rule behind the published list is not known: of its 43 claims, 24 have a majority that agrees.
    return verdicts.count(DISAGREE) >= ENOUGH


def verified_claims(consensus: Consensus, verdicts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return {claim: verified_correct, verified_wrong or ambiguous} of the claims that have verdicts."""
    found = dict.fromkeys(verdicts, UNCLEAR)
    for claim, given in verdicts.items():
        side = (consensus.claim_details.get(claim) or {}).get("majority_position")
        said = next((name for name in (AGREE, DISAGREE) if given.count(name) >= ENOUGH), None)
        if side in ("support", "oppose") and said is not None:
            # Right is a claim that the consensus supports and two judges agree with, or opposes and two disagree.
            found[claim] = CORRECT if (side == "support") == (said == AGREE) else WRONG
    return found


# The published panels were chosen without verdicts, from a pool that is not published: they can be scored again, not
# chosen again.
PANEL = 8
PER_FAMILY = 2
FEWEST_RATED = 3
TIE = 1e-9  # values this near are equal, and the first candidate wins: rounding must not choose
WEIGHTS = {"diversity": 0.35, "coverage": 0.25, "family": 0.25, "quality": 0.15}
UNVERIFIED = 0.5
# How positions fit verdicts, by POSITIONS; the last is of one that is not rated, whose place is -1.
_FITS = {CORRECT: (1.0, 0.0, 0.5, np.nan), WRONG: (0.0, 1.0, 0.5, np.nan), UNCLEAR: (0.4, 0.4, 0.6, np.nan)}
_AGAINST = {
    CORRECT: 1,
    WRONG: 0,
}  # the place in POSITIONS that is against a verdict; none is against an unclear one


class Candidate(NamedTuple):
    """An analyst of the pool. ``labels`` are {claim: label}, None where its reply could not be read."""

    model_id: str
    family: str
    labels: Mapping[str, str] | None


class Scores(NamedTuple):
    """The worth of a set of analysts and its four parts, each 0..1."""

    total: float = 0.0
    diversity: float = 0.0  # entropy of positions, as a share of ln 3
    coverage: float = 0.0  # 1 where two support, two oppose and one is uncertain, ½ where one does each
    family: float = 0.0  # distinct families over the size
    quality: float = 0.0  # how positions fit verdicts


class Selection(NamedTuple):
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
        self.ranks = ranks([each.labels for each in candidates], self.claim_ids)
        self.positions = positions(self.ranks)
        self.families = [each.family for each in candidates]
        # Who rates too little is no candidate.
        self.valid = [i for i, each in enumerate(candidates) if len(each.labels or ()) >= FEWEST_RATED]
        # Wrong is a position against a verdict or, where there is none, very low.
        self._fit, wrong = np.full(self.ranks.shape, np.nan), self.ranks == 0
        for column, claim in enumerate(self.claim_ids):
            if (verdict := verdicts.get(claim)) is not None:
                taken = self.positions[:, column]
                wrong[:, column] = taken == _AGAINST.get(verdict, len(POSITIONS))
                self._fit[:, column] = np.array(_FITS.get(verdict, (np.nan,) * 4))[taken]
        self.wrong: NDArray[np.bool_] = wrong.any(axis=1)

    def scores(self, chosen: Sequence[int], size: int) -> Scores:
        """Return the worth of candidates, by their places, for a panel of ``size``; an empty panel is worth 0."""
        if not chosen or not self.claim_ids:
            return Scores()
        tally = counts_of(self.positions[list(chosen)], POSITIONS)
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
        tally = counts_of(self.positions[list(chosen)], POSITIONS).tolist()
        summed = (dict(zip(POSITIONS, counts, strict=True)) for counts in tally)
        models = tuple(self.candidates[place].model_id for place in chosen)
        wrong, families = self.wrong[list(chosen)].any(), Counter(self.families[place] for place in chosen)
        positions = dict(zip(self.claim_ids, summed, strict=True))
        return Selection(models, self.scores(chosen, size), bool(wrong), dict(families), positions)


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
