"""What a pool of analysts holds of each claim: labels as ranks, disagreement, two consensus rules, and its verification.

Construction reads labels by their exact spelling: another label counts as moderate, a claim without an item as not rated.
The published files name their rule ``adaptive_jackknife_median`` though it is the upper median of labels, `label_median`;
the paper describes `jackknife_majority`.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.benchmarks.medley.items import Consensus
from metacog_pipeline.benchmarks.medley.records import claim_items

Floats = NDArray[np.float64]
Ranks = NDArray[np.int8]  # (analysts, claims): 0 very low … 4 very high, -1 not rated
Counts = NDArray[np.int64]

SCALE = ("very_low", "low", "moderate", "high", "very_high")
POSITIONS = ("support", "oppose", "uncertain")
NOT_RATED = -1
_POSITION_OF_RANK = np.array([1, 1, 2, 0, 0], dtype=np.int8)  # index into POSITIONS
PUBLISHED_METHOD, MAJORITY_METHOD = "adaptive_jackknife_median", "jackknife_majority"
# What labels stand for in the published consensus; very low does not occur there, its value is the verification's.
PUBLISHED_VALUES = {"very_high": 0.9, "high": 0.75, "moderate": 0.5, "low": 0.25, "very_low": 0.1}
UNDECIDED = 0.5
# Exceeded by a majority. 15 of 28 is 0.536, where the range of confidences that the paper states, 0.54 to 1, begins.
MORE_THAN_HALF = 0.5
AGREE, DISAGREE, AMBIGUOUS = VERDICTS = ("AGREE", "DISAGREE", "AMBIGUOUS")
CORRECT, WRONG, UNCLEAR = "verified_correct", "verified_wrong", "ambiguous"
ENOUGH = 2  # of three judges of a claim decide it


def rated_labels(response: object, claim_ids: Iterable[str] | None = None) -> dict[str, str]:
    """Return {claim: label} of a reply, the last item of each claim; with ``claim_ids``, of these only."""
    wanted = None if claim_ids is None else set(claim_ids)
    found: dict[str, str] = {}
    for item in claim_items(response):
        name = item.get("claim_id") if isinstance(item, dict) else None
        if isinstance(name, str) and (wanted is None or name in wanted):
            label = item.get("confidence")
            found[name] = label if isinstance(label, str) else ""
    return found


def ranks(rated: Sequence[Mapping[str, Any] | None], claim_ids: Sequence[str]) -> Ranks:
    """Return labels by analyst as ranks; None is an analyst whose reply could not be read."""
    known = {label: rank for rank, label in enumerate(SCALE)}
    rows = [
        [known.get(labels[claim], 2) if claim in labels else NOT_RATED for claim in claim_ids]
        for labels in (each or {} for each in rated)
    ]
    return np.array(rows, dtype=np.int8).reshape(len(rated), len(claim_ids))


def label_counts(table: Ranks) -> Counts:
    """Return (claims, 5): how many analysts gave each label, very low first."""
    return np.stack([(table == value).sum(axis=0) for value in range(len(SCALE))], axis=-1)


def positions(table: Ranks) -> Ranks:
    """Return the places in `POSITIONS` of ranks; -1 where not rated."""
    return np.where(table == NOT_RATED, np.int8(NOT_RATED), _POSITION_OF_RANK[table])


def position_counts(table: Ranks) -> Counts:
    """Return (claims, 3) from ranks: how many support, oppose, are uncertain."""
    places = positions(table)
    return np.stack([(places == value).sum(axis=0) for value in range(len(POSITIONS))], axis=-1)


def disagreement(counts: ArrayLike) -> Floats:
    """Return the mean Jensen–Shannon divergence (nats, 0..0.42281) of raters' labels from their mean, from (..., 5) counts.

    Below two raters it is 0. With p the share of each label: Σ p · ½ · [ln(2/(1+p)) + p·ln(2p/(1+p)) + (1−p)·ln 2].
    """
    table = np.asarray(counts, dtype=np.float64)
    raters = table.sum(axis=-1, keepdims=True)
    p = table / np.maximum(raters, 1.0)
    inside = np.log(np.where(p > 0, 2 * p / (1 + p), 1.0))
    terms = p * 0.5 * (np.log(2 / (1 + p)) + p * inside + (1 - p) * np.log(2))
    return np.where(raters[..., 0] < 2, 0.0, np.maximum(terms.sum(axis=-1), 0.0))


@functools.lru_cache(maxsize=64)
def _count_sets(raters: int) -> Counts:
    """Return every way to give ``raters`` labels of five kinds, up to order: (ways, 5), largest count first."""
    cuts = np.array(list(combinations_with_replacement(range(raters + 1), len(SCALE) - 1)), dtype=np.int64)
    edges = np.pad(cuts, ((0, 0), (1, 1)))
    edges[:, -1] = raters
    return np.unique(-np.sort(-np.diff(edges, axis=1), axis=1), axis=0)


def counts_behind(value: float | None, raters: float | None) -> list[tuple[int, ...]]:
    """Return the sets of label counts whose disagreement is ``value``, largest count first; none above 60 raters."""
    if value is None or raters is None or not 1 <= raters <= 60:
        return []
    sets = _count_sets(int(raters))
    return [tuple(row) for row in sets[np.abs(disagreement(sets) - value) <= 1e-12].tolist()]


def label_median(rated: Sequence[Mapping[str, Any] | None], claim_ids: Sequence[str]) -> Consensus:
    """Return the consensus by the rule of the published files: the upper median of the labels of the analysts shown."""
    table = ranks(rated, claim_ids)
    confidences, details = {}, {}
    for claim, column, counts in zip(claim_ids, table.T, position_counts(table), strict=True):
        given = np.sort(column[column != NOT_RATED])
        label = SCALE[given[len(given) // 2]] if len(given) else "moderate"
        confidences[claim] = PUBLISHED_VALUES[label]
        details[claim] = {
            "median_confidence": label,
            "majority_position": POSITIONS[counts.argmax()] if len(given) else "uncertain",
            "majority_strength": int(counts.max()),
            "total_analysts": len(given),
            "position_distribution": dict(zip(POSITIONS, counts.tolist(), strict=True)),
        }
    return Consensus(confidences, details, PUBLISHED_METHOD)


def jackknife_majority(table: Ranks, claim_ids: Sequence[str]) -> Consensus:
    """Return the consensus of a whole pool, kept only where it survives leaving out each analyst in turn."""
    tally = position_counts(table)
    confidences, details = {}, {}
    for claim, counts, stable in zip(claim_ids, tally, stable_majority(tally), strict=True):
        raters = int(counts.sum())
        share = float(counts.max() / raters) if raters else 0.0
        position = POSITIONS[counts.argmax()] if stable else "uncertain"
        # Stable is more than half.
        confidences[claim] = {"support": share, "oppose": 1 - share}.get(position, UNDECIDED)
        details[claim] = {
            "majority_position": position,
            "majority_strength": int(counts.max()),
            "majority_share": share,
            "stable": bool(stable),
            "total_analysts": raters,
            "position_distribution": dict(zip(POSITIONS, counts.tolist(), strict=True)),
        }
    return Consensus(confidences, details, MAJORITY_METHOD)


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
    """Return {claim: verified_correct, verified_wrong or ambiguous} of the claims that have verdicts.

    A claim is right where the consensus supports it and two judges agree, or opposes it and two disagree.
    """
    found = {}
    for claim, given in verdicts.items():
        side = (consensus.claim_details.get(claim) or {}).get("majority_position")
        said = next((name for name in (AGREE, DISAGREE) if given.count(name) >= ENOUGH), None)
        found[claim] = UNCLEAR
        if side in ("support", "oppose") and said is not None:
            found[claim] = CORRECT if (side == "support") == (said == AGREE) else WRONG
    return found
