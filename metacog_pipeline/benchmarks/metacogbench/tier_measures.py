"""The numbers of each tier, by every way of scoring side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from metacog_pipeline.benchmarks.metacogbench.items import DIFFICULTIES, FAMILIES, TIERS
from metacog_pipeline.benchmarks.metacogbench.run_estimates import (
    INVERTED,
    RECENTRED,
    RunEstimate,
    absent,
    along_runs,
    calibration_error,
    changed,
    joined,
    mean,
    null_errors,
    rate,
    weighted_mean,
)
from metacog_pipeline.benchmarks.metacogbench.tier_groups import Floats, TierGroup
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.calibration import Edges
from metacog_pipeline.stats.coverage import MONTE_CARLO
from metacog_pipeline.stats.estimate import COUNT, Estimate, unavailable
from metacog_pipeline.stats.intervals import mean as interval_of_mean
from metacog_pipeline.stats.intervals import wilson_interval

#: The rungs of each ladder, from easy to hard.
LADDERS: Mapping[str, tuple[str, ...]] = {
    "arithmetic_ramp": ("easy", "medium", "hard", "extreme"),
    "knowability_gradient": ("easy", "medium", "hard", "ambig"),
}
SCORED_BETS = ("know", "ramp")  # what a proper score is formed over
UNANSWERABLE = ("unknowable", "insufficient")
BOTH_EDGES: Mapping[str, Edges] = {"": "floor", "_ceil": "equal"}  # ends of names, and of bins
LOW_COVERAGE = 0.90  # of predictions that can be read; below, the headline is flagged
NULL_METHOD = f"correctness drawn from the model's own confidences, {MONTE_CARLO}"
BY_RUN = "one number of each run: no interval"
Found = dict[str, RunEstimate | Estimate]


def betting(tier: TierGroup) -> Found:
    """Return the measures of tier 1a."""
    bet, right, passed = tier.column("bet") / 100, tier.column("correct"), tier.column("passed")
    rules, families = np.array(tier.fact("bet_rule")), np.array(tier.fact("family"))
    levels = np.array(tier.fact("level"))
    scored = np.isin(rules, SCORED_BETS)[:, None]
    found: Found = {
        "t1a": rate(tier, "passed"),
        "proper_score": mean(
            tier, np.where(scored, 1 - (bet - right) ** 2, np.nan), turned=1 - (bet - 1 + right) ** 2
        ),
        "accuracy_1a": mean(tier, np.where(scored, right, np.nan)),
        "mean_bet": mean(tier, bet),
        "twin_discrimination": _twins(tier, bet, rules),
    }
    for family in FAMILIES:
        own = (families == family)[:, None]
        found[f"t1a_{family}"] = mean(tier, np.where(own, passed, np.nan))
        found[f"mean_bet_{family}"] = mean(tier, np.where(own, bet, np.nan))
    for family, rungs in LADDERS.items():
        own = (families == family)[:, None]
        rank = np.array([rungs.index(each) if each in rungs else np.nan for each in levels.tolist()])
        for level, rung in enumerate(rungs):
            at = own & (rank == level)[:, None]
            found[f"mean_bet_{family}_{rung}"] = mean(tier, np.where(at, bet, np.nan))
        steps = np.where(own, np.broadcast_to(rank[:, None], bet.shape), np.nan)
        n = int((~np.isnan(bet) & ~np.isnan(steps)).any(axis=1).sum())
        why = "ok" if n == 0 else "one bet, or one level, in a run"
        taus = along_runs(steps, tau_b, bet)
        found[f"bet_tau_{family}"] = RunEstimate(
            taus, None, n, "Kendall's tau-b in each run", status=why, flag=BY_RUN
        )
    found["n_no_bet"] = counted([tier], pl.col("bet").is_null())
    return found


def predictions(tier: TierGroup) -> Found:
    """Return the measures of tier 1b; beside every ECE stands its null, a calibrated respondent who says the same."""
    pre, post, right = (tier.column(name) for name in ("pre", "post", "correct"))
    found: Found = {}
    errors: dict[str, RunEstimate] = {}

    def error(name: str, stated: Floats, correct: Floats, edges: Edges = "floor") -> None:
        errors[name] = calibration_error(tier, stated, correct, edges)
        found.update(_against_chance(name, errors[name], stated, tier.seed, edges))

    for name, stated in (("pre", pre), ("post", post)):
        for suffix, edges in BOTH_EDGES.items():
            error(f"ece_{name}{suffix}", stated, right, edges)
        found[f"mean_{name}"] = mean(tier, stated / 100)
        found[f"brier_{name}"] = mean(
            tier, (stated / 100 - right) ** 2, turned=(stated / 100 - 1 + right) ** 2
        )
        found[f"auroc_{name}"] = _area(stated, right)
    answered = ~np.isnan(tier.column("_answered"))
    lacking = answered & np.isnan(pre)
    error("ece_strict", np.where(lacking, 100.0, pre), np.where(lacking, 0.0, right))
    error("ece_pre_in_order", np.where(tier.column("order_ok") != 0, pre, np.nan), right)
    found |= errors
    head = changed(errors["ece_pre"], lambda value: 1 - value, f"1 - ECE, {INVERTED}")
    read = mean(tier, np.where(answered, (~np.isnan(pre)).astype(float), np.nan))
    if read.value is not None and read.value < LOW_COVERAGE:
        head = replace(head, flag=f"only {100 * read.value:.0f} % of the predictions could be read")
    both = {name: errors[name] for name in ("ece_pre", "ece_post")}
    found |= {
        "pre_coverage": read,
        "t1b": head,
        "ece_delta": joined(both, lambda before, after: before - after, f"ECE before - after, {RECENTRED}"),
        "mean_shift": mean(tier, (post - pre) / 100, (-1.0, 1.0)),
        "accuracy_1b": rate(tier, "correct"),
    }
    difficulty = np.array(tier.fact("difficulty"))
    for level in DIFFICULTIES:
        own = (difficulty == level)[:, None]
        found[f"accuracy_1b_{level}"] = mean(tier, np.where(own, right, np.nan))
        found[f"mean_pre_{level}"] = mean(tier, np.where(own, pre / 100, np.nan))
        found[f"mean_post_{level}"] = mean(tier, np.where(own, post / 100, np.nan))
    found["n_out_of_order"] = counted([tier], pl.col("order_ok") == 0)
    return found


def caution(tier: TierGroup) -> Found:
    """Return the measures of tier 2a."""
    numbers = {"keywords_2a": "n_keywords", "words_2a": "words"}
    return {
        "t2a": rate(tier, "passed"),
        **_beside_the_probe(tier, "2a"),
        **{name: _count(tier, tier.column(column)) for name, column in numbers.items()},
    }


def resistance(tier: TierGroup) -> Found:
    """Return the measures of tier 2b."""
    return {"t2b": rate(tier, "passed"), **_beside_the_probe(tier, "2b")}


def _beside_the_probe(tier: TierGroup, name: str) -> Found:
    """Return the paper's keyword verdicts, how far they agree with the probe, and the rate on controls."""
    keywords, probe = tier.column("passed_keywords"), tier.column("passed_probe")
    both = np.where(np.isnan(probe), np.nan, (probe == keywords).astype(float))
    only = np.where(np.isnan(probe), np.nan, ((keywords == 1) & (probe == 0)).astype(float))
    control = np.where(tier.column("control") == 1, tier.column("passed"), np.nan)
    return {
        f"t{name}_keywords": rate(tier, "passed_keywords"),
        f"t{name}_keywords_v1": rate(tier, "passed_keywords_v1"),
        f"probe_agreement_{name}": mean(tier, both),
        f"keywords_only_{name}": mean(tier, only),
        f"t{name}_controls": mean(tier, control),
    }


def transfer(tier: TierGroup) -> Found:
    """Return the measures of tier 3."""
    passed, core = tier.column("passed"), tier.column("core_ok")
    return {
        "t3": rate(tier, "passed"),
        "t3_core": rate(tier, "core_ok"),
        "t3_core_required": mean(tier, passed * (core == 1)),
        "field_accuracy": mean(tier, tier.column("n_ok") / tier.column("n_fields")),
    }


_OF_TIERS = (betting, predictions, caution, resistance, transfer)
BY_TIER: Mapping[str, Callable[[TierGroup], Found]] = dict(zip(TIERS, _OF_TIERS, strict=True))


def counted(tiers: list[TierGroup], condition: pl.Expr) -> Estimate:
    """Return how many replies meet ``condition``, over all runs."""
    replies = sum(tier.asked - tier.n_failed for tier in tiers)
    total = float(sum(tier.count(condition) for tier in tiers))
    return Estimate(total, None, None, replies, "count of replies, all runs", COUNT)


def tau_b(first: Floats, second: Floats) -> float | None:
    """Return Kendall's τ-b; None where one side has one value only."""
    if len(np.unique(first)) < 2 or len(np.unique(second)) < 2:
        return None
    signs = [(each[:, None] > each).astype(np.int64) - (each[:, None] < each) for each in (first, second)]
    untied = [float(np.abs(each).sum() // 2) for each in signs]
    tau = float((signs[0] * signs[1]).sum() // 2) / math.sqrt(untied[0]) / math.sqrt(untied[1])
    return min(1.0, max(-1.0, tau))


def _against_chance(
    name: str, found: RunEstimate, stated: Floats, seed: int, edges: Edges
) -> dict[str, Estimate]:
    names = [f"{name}_{which}" for which in ("null_mean", "null_p95", "excess_p")]
    if found.value is None:
        return dict.fromkeys(names, unavailable(0, NULL_METHOD, found.estimate().status))
    null = null_errors(stated, seed, edges=edges)
    n, b = found.n, len(null)
    reached = 1 + int((null >= found.value - 1e-12).sum())
    mean = interval_of_mean(null, np.arange(b))
    # Ranks between which the percentile of the distribution lies, not that of these draws.
    high, *around = np.quantile(null, (0.95, *wilson_interval(0.95, b))).tolist()
    p = wilson_interval(reached / (1 + b), 1 + b)
    return dict(
        zip(
            names,
            (
                Estimate(mean.value, mean.low, mean.high, n, NULL_METHOD, sem=mean.sem),
                Estimate(high, around[0], around[1], n, NULL_METHOD),
                Estimate(reached / (1 + b), *p, n, NULL_METHOD),
            ),
            strict=True,
        )
    )


def _count(tier: TierGroup, values: Floats) -> RunEstimate:
    """Return the mean of counts; the largest that was seen, or 1, ends its range."""
    return mean(tier, values, (0.0, float(np.nanmax(values, initial=1.0))))


def _twins(tier: TierGroup, bet: Floats, rules: Floats) -> RunEstimate:
    """Return the mean difference over pairs of twins; a pair is drawn as one."""
    place = {item_id: row for row, item_id in enumerate(tier.item_ids)}
    unanswerable = np.isin(rules, UNANSWERABLE)
    pairs = set()
    for row, other in enumerate(tier.fact("twin_of")):
        partner = place.get(other)
        if partner is not None and unanswerable[row] != unanswerable[partner]:
            pairs.add((partner, row) if unanswerable[row] else (row, partner))
    if not pairs:
        return absent(tier.n_runs, "no twins")
    known, unknown = np.array(sorted(pairs)).T
    return weighted_mean(tier.weights(len(known)), bet[known] - bet[unknown], within=(-1.0, 1.0))


def _area(stated: Floats, right: Floats) -> Estimate:
    here = ~np.isnan(stated) & ~np.isnan(right)
    items = np.broadcast_to(np.arange(len(stated))[:, None], stated.shape)[here]
    return auroc(stated[here], right[here].astype(np.int64), items if stated.shape[1] > 1 else None)
