"""Coverage where nothing is rated: scores of instances (MEDLEY), tiers (MetaCog-Bench), yes and no (SelfKnowledge)."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

from metacog_pipeline.benchmark.groups import Counts
from metacog_pipeline.benchmarks.medley.measures import mean_of
from metacog_pipeline.benchmarks.metacogbench import groups
from metacog_pipeline.benchmarks.metacogbench.groups import TierGroup
from metacog_pipeline.benchmarks.selfknowledge import measures as yes_no
from metacog_pipeline.stats import calibration, resampling, robust
from metacog_pipeline.stats.estimate import Estimate
from tests.proofs import respondents

Found = Mapping[str, Estimate]
#: Levels of confidence of a tier's predictions, and what they say.
LEVELS = np.array([0.3, 0.5, 0.7, 0.85, 0.95])
TIERS = ("1a", "1b", "2a", "2b", "3")
N_POPULATION = 2_000_000


# --- MEDLEY -----------------------------------------------------------------------------------------------------------
def scores(mean: float, steady: bool, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return scores of instances in 0..1: spread around ``mean``, or half of them 0 or 1."""
    spread = rng.beta(8 * mean, 8 * (1 - mean), n)
    whole = (rng.random(n) < mean).astype(float)
    return spread if steady else np.where(rng.random(n) < 0.5, whole, spread)


def of_instances(who: Any, count: int) -> tuple[dict[str, float], list[Found]]:
    """Return the true locations of scores, and the estimates of samples of them; there are no runs of them."""
    mean, steady, n, rng = who.accuracy, who.m_ratio == 1.0, who.n, resampling.generator(who.seed())
    everything = scores(mean, steady, N_POPULATION, rng)[None]
    true = {name: float(robust.location(everything, name)[0]) for name in robust.LOCATIONS}
    true["mean_score"] = true.pop("mean")
    return true, [_located(scores(mean, steady, n, rng)) for _ in range(count)]


def _located(values: np.ndarray) -> Found:
    names: tuple[robust.Location, ...] = ("trimmed_mean", "median", "double_step")
    made = {name: robust.location_estimate(values, name, seed=1) for name in names}
    mean = mean_of(values, 1, "mean, instance bootstrap", "")
    return {**made, "mean_score": mean}


# --- MetaCog-Bench ----------------------------------------------------------------------------------------------------
def of_tiers(who: Any, count: int) -> tuple[dict[str, float], list[Found]]:
    """Return the true values of tiers and composites, and the estimates of samples of ``n`` items in each tier."""
    accuracy, overconfident, rng = who.accuracy, who.overconfident, resampling.generator(who.seed())
    # How often a level is used and is right, so that the accuracy is as asked.
    right = np.clip(LEVELS * (accuracy / (LEVELS.mean())), 0.05, 0.99)
    right = np.clip(right + accuracy - right.mean(), 0.02, 0.995)
    said = np.round(100 * np.clip(right + overconfident * (1 - right), 0, 1))
    everything = _predicted(right, said, N_POPULATION, rng)
    error = calibration.ece(everything[0] / 100, everything[1], groups.BINS).value or 0.0
    t1b, share = 1 - error, accuracy
    true = {
        "passed_share": share,
        "one_minus_ece": t1b,
        "bet_mean": float(np.mean(said)) / 100,
        "composite": ((share + t1b) / 2 + share + share) / 3,
    }
    return true, [_tiers(accuracy, right, said, who.n, rng) for _ in range(count)]


def _predicted(
    right: np.ndarray, said: np.ndarray, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    level = rng.integers(0, len(right), n)
    return said[level], (rng.random(n) < right[level]).astype(float)


def _tiers(accuracy: float, right: np.ndarray, said: np.ndarray, n: int, rng: np.random.Generator) -> Found:
    tiers = {tier: _tier(tier, accuracy, right, said, n, rng) for tier in TIERS}
    found = {groups.TIER_MEASURES[tier]: each.headline for tier, each in tiers.items()}
    whole = groups.composites(found, groups.mean_of_parts)["overall"]
    bet = groups.mean(tiers["1b"], tiers["1b"].column("pre") / 100)
    made = {"passed_share": found["t1a"], "one_minus_ece": found["t1b"], "bet_mean": bet, "composite": whole}
    return {name: each.estimate() for name, each in made.items()}


def _tier(
    tier: str, accuracy: float, right: np.ndarray, said: np.ndarray, n: int, rng: np.random.Generator
) -> TierGroup:
    """Return one run of ``n`` items of a tier, every second of which is signal; ``passed`` as often as ``accuracy``."""
    stated, outcome = _predicted(right, said, n, rng)
    columns = {
        "item_id": [f"i{place:06}" for place in range(n)],
        "signal": np.arange(n) % 2,
        "passed": (rng.random(n) < accuracy).astype(float),
        "pre": stated,
        "correct": outcome,
    }
    return TierGroup(tier, 1, 1, pl.DataFrame(columns).with_columns(run=1, status=pl.lit("ok")))


# --- SelfKnowledge ----------------------------------------------------------------------------------------------------
def of_yes_and_no(who: Any, count: int) -> tuple[dict[str, float], list[Found]]:
    """Return the true d′type2 of a yes that goes with being right, and the estimates of samples."""
    accuracy, d = who.accuracy, 2 * who.m_ratio
    bias = float(ndtri(0.75))
    hits, alarms = float(ndtr(bias)), float(ndtr(bias - d))
    shares = np.array(
        [(1 - accuracy) * alarms, accuracy * hits, (1 - accuracy) * (1 - alarms), accuracy * (1 - hits)]
    )
    true = {"d_type2": d, "d_type2_clip": d}
    return true, [
        _yes_no(each) for each in respondents.samples(shares, who.n, count, who.seed(), runs=who.runs)
    ]


def _yes_no(patterns: resampling.Patterns) -> Found:
    counted = np.zeros((len(patterns.counts), 4), dtype=np.int64)
    counted[:, : patterns.counts.shape[1]] = patterns.counts
    items = resampling.Patterns(counted, patterns.weights)
    counts = Counts(items, {"correct": np.array([0, 1, 0, 1]), "yes": np.array([1, 1, 0, 0])})
    group: Any = SimpleNamespace(counts=counts, draws=resampling.patterns(items, 1000, 1))
    return {
        f"d_type2{'_clip' if name == 'clip' else ''}": yes_no.sensitivity(name)(group)
        for name in ("d", "clip")
    }
