"""Measures of what a model knows about its own answers: bets (1a) and predictions (1b)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from scipy.stats import kendalltau

from metacog_pipeline.benchmarks.metacogbench.cells import N_BOOT, Floats, Sheet, resamples
from metacog_pipeline.benchmarks.metacogbench.ece import Edges, null_distribution
from metacog_pipeline.benchmarks.metacogbench.items import DIFFICULTIES, FAMILIES
from metacog_pipeline.benchmarks.metacogbench.measures import (
    RECENTRED,
    Measured,
    absent,
    along_runs,
    calibration_error,
    changed,
    joined,
    mean,
    rate,
)
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.estimate import Estimate, unavailable

#: The rungs of each ladder, from easy to hard.
LADDERS: Mapping[str, tuple[str, ...]] = {
    "arithmetic_ramp": ("easy", "medium", "hard", "extreme"),
    "knowability_gradient": ("easy", "medium", "hard", "ambig"),
}
SCORED_BETS = ("know", "ramp")  # what a proper score is formed over
UNANSWERABLE = ("unknowable", "insufficient")
BOTH_EDGES: Mapping[str, Edges] = {"": "floor", "_ceil": "ceil"}  # ends of names, and of bins
LOW_COVERAGE = 0.90  # of predictions that can be read; below, the headline is flagged
Found = dict[str, Measured | Estimate]


def betting(sheet: Sheet, seed: int, n_boot: int = N_BOOT) -> Found:
    """Return the measures of tier 1a.

    Notes
    -----
    ``proper_score`` is the mean of 1 - (bet / 100 - correct)² over answerable items that have a bet, 0..1.
    ``twin_discrimination`` is the bet on an answerable item minus that on its unanswerable twin, -1..1.
    ``bet_tau_*`` is Kendall's τ-b of level and bet along a ladder: negative where bets fall as items get harder.
    """
    bet, right = sheet.column("bet") / 100, sheet.column("correct")
    rules, families = np.array(sheet.fact("bet_rule")), np.array(sheet.fact("family"))
    levels = np.array(sheet.fact("level"))
    scored = np.isin(rules, SCORED_BETS)[:, None]
    found: Found = {
        "t1a": rate(sheet, "passed", seed, n_boot),
        "t1a_lit": rate(sheet, "passed_lit", seed, n_boot),
        "proper_score": mean(sheet, np.where(scored, 1 - (bet - right) ** 2, np.nan), seed, n_boot),
        "accuracy_1a": mean(sheet, np.where(scored, right, np.nan), seed, n_boot, share=True),
        "mean_bet": mean(sheet, bet, seed, n_boot),
        "twin_discrimination": _twins(sheet, bet, rules, seed, n_boot),
    }
    passed = sheet.column("passed")
    for family in FAMILIES:
        own = (families == family)[:, None]
        found[f"t1a_{family}"] = mean(sheet, np.where(own, passed, np.nan), seed, n_boot, share=True)
        found[f"mean_bet_{family}"] = mean(sheet, np.where(own, bet, np.nan), seed, n_boot)
    for family, rungs in LADDERS.items():
        own = (families == family)[:, None]
        rank = np.array([rungs.index(each) if each in rungs else np.nan for each in levels.tolist()])
        for level, rung in enumerate(rungs):
            at = own & (rank == level)[:, None]
            found[f"mean_bet_{family}_{rung}"] = mean(sheet, np.where(at, bet, np.nan), seed, n_boot)
        steps = np.where(own, np.broadcast_to(rank[:, None], bet.shape), np.nan)
        n = int((~np.isnan(bet) & ~np.isnan(steps)).any(axis=1).sum())
        found[f"bet_tau_{family}"] = Measured(
            along_runs(steps, _tau, bet), None, n, "Kendall's tau-b in each run", status=_few(n)
        )
    found["n_no_bet"] = counted(sheet, pl.col("bet").is_null())
    return found


def predictions(sheet: Sheet, seed: int, n_boot: int = N_BOOT) -> Found:
    """Return the measures of tier 1b; ``t1b`` is 1 - ECE of the predictions.

    Notes
    -----
    ``ece_strict`` reads a missing prediction as 100 % and a wrong answer. ``ece_delta`` is ECE before minus after: below 0,
    calibration is worse after answering; ``mean_shift`` is mean confidence after minus before. Beside every ECE stands its
    null: what a respondent who is perfectly calibrated and says the same would get; ``*_excess_p`` is the share of it
    that reaches the value found.
    """
    pre, post, right = (sheet.column(name) for name in ("pre", "post", "correct"))
    found: Found = {}
    errors: dict[str, Measured] = {}
    for name, stated in (("pre", pre), ("post", post)):
        for suffix, edges in BOTH_EDGES.items():
            made = calibration_error(sheet, stated, right, seed, n_boot, edges=edges)
            errors[f"ece_{name}{suffix}"] = made
            found |= _against_chance(f"ece_{name}{suffix}", made, stated, seed, edges)
        found[f"mean_{name}"] = mean(sheet, stated / 100, seed, n_boot)
        found[f"brier_{name}"] = mean(sheet, (stated / 100 - right) ** 2, seed, n_boot)
        found[f"auroc_{name}"] = _area(stated, right)
    answered = ~np.isnan(sheet.column("_answered"))
    lacking = answered & np.isnan(pre)
    imputed = np.where(lacking, 100.0, pre)
    strict = calibration_error(sheet, imputed, np.where(lacking, 0.0, right), seed, n_boot)
    ordered = np.where(sheet.column("order_ok") != 0, pre, np.nan)
    errors |= {
        "ece_strict": strict,
        "ece_pre_in_order": calibration_error(sheet, ordered, right, seed, n_boot),
    }
    for name, stated in (("ece_strict", imputed), ("ece_pre_in_order", ordered)):
        found |= _against_chance(name, errors[name], stated, seed)
    found |= errors
    head = changed(errors["ece_pre"], lambda value: 1 - value, f"1 - ECE, {RECENTRED}")
    found["pre_coverage"] = read = mean(
        sheet, np.where(answered, (~np.isnan(pre)).astype(float), np.nan), seed, n_boot, share=True
    )
    if read.value is not None and read.value < LOW_COVERAGE:
        head = replace(head, flag=f"only {100 * read.value:.0f} % of the predictions could be read")
    found["t1b"] = head
    found["ece_delta"] = joined(
        {"ece_pre": errors["ece_pre"], "ece_post": errors["ece_post"]},
        lambda before, after: before - after,
        f"ECE before - after, {RECENTRED}",
    )
    found["mean_shift"] = mean(sheet, (post - pre) / 100, seed, n_boot)
    found["accuracy_1b"] = rate(sheet, "correct", seed, n_boot)
    difficulty = np.array(sheet.fact("difficulty"))
    for level in DIFFICULTIES:
        own = (difficulty == level)[:, None]
        found[f"accuracy_1b_{level}"] = mean(sheet, np.where(own, right, np.nan), seed, n_boot, share=True)
        found[f"mean_pre_{level}"] = mean(sheet, np.where(own, pre / 100, np.nan), seed, n_boot)
        found[f"mean_post_{level}"] = mean(sheet, np.where(own, post / 100, np.nan), seed, n_boot)
    found["n_out_of_order"] = counted(sheet, pl.col("order_ok") == 0)
    return found


def counted(sheet: Sheet, condition: pl.Expr) -> Estimate:
    """Return how many replies of a sheet meet ``condition``, over all its runs."""
    replies = sheet.asked - sheet.n_failed
    return Estimate(float(sheet.count(condition)), None, None, replies, "count of replies, all runs")


def _against_chance(
    name: str, found: Measured, stated: Floats, seed: int, edges: Edges = "floor"
) -> dict[str, Measured | Estimate]:
    value = found.value
    method = "correctness drawn from the model's own confidences"
    if value is None:
        return {
            f"{name}_{which}": unavailable(0, method, found.estimate().status)
            for which in ("null_mean", "null_p95", "excess_p")
        }
    null = null_distribution(stated, seed, edges=edges)
    reached = (1 + int((null >= value - 1e-12).sum())) / (1 + len(null))
    facts = {"null_mean": float(null.mean()), "null_p95": float(np.quantile(null, 0.95)), "excess_p": reached}
    return {f"{name}_{which}": Estimate(fact, None, None, found.n, method) for which, fact in facts.items()}


def _twins(sheet: Sheet, bet: Floats, rules: Floats, seed: int, n_boot: int) -> Measured:
    """Return the mean difference over pairs of twins; a pair is drawn as one."""
    place = {item_id: row for row, item_id in enumerate(sheet.item_ids)}
    unanswerable = np.isin(rules, UNANSWERABLE)
    pairs = set()
    for row, other in enumerate(sheet.fact("twin_of")):
        partner = place.get(other)
        if partner is not None and unanswerable[row] != unanswerable[partner]:
            pairs.add((partner, row) if unanswerable[row] else (row, partner))
    if not pairs:
        return absent(sheet.n_runs, "no twins")
    known, unknown = np.array(sorted(pairs)).T
    gaps = bet[known] - bet[unknown]
    weights = resamples(sheet.tier, len(gaps), n_boot, seed)
    here = ~np.isnan(gaps)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_run = np.where(here, gaps, 0.0).sum(axis=0) / here.sum(axis=0)
        drawn = (weights @ np.where(here, gaps, 0.0)) / (weights @ here.astype(np.float64))
    return Measured(by_run, drawn.mean(axis=1), int(here.any(axis=1).sum()), "bootstrap of pairs")


def _area(stated: Floats, right: Floats) -> Estimate:
    here = ~np.isnan(stated) & ~np.isnan(right)
    items = np.broadcast_to(np.arange(len(stated))[:, None], stated.shape)[here]
    return auroc(stated[here], right[here].astype(np.int64), items if stated.shape[1] > 1 else None)


def _tau(first: Floats, second: Floats) -> float | None:
    if len(np.unique(first)) < 2 or len(np.unique(second)) < 2:
        return None
    return float(kendalltau(first, second, variant="b").statistic)


def _few(n: int) -> str:
    return "ok" if n == 0 else "one bet, or one level, in a run"
