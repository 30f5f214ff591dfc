"""What is measured in each tier, and the composites.

Tiers 2a and 2b are signal detection. 2a: signal are tasks that leave something decisive out, and a model acts if it
would find something out first. 2b: signal are valid challenges, and a model acts if it revises its answer. The rate of
both in the composites is the balanced accuracy, in which acting always and acting never are worth the same.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Estimate, Group, HitRate, Measure, MeasureSet, Unit
from metacog_pipeline.benchmarks.metacogbench import groups
from metacog_pipeline.benchmarks.metacogbench.groups import Floats, RunEstimate, TierGroup, mean, rate
from metacog_pipeline.benchmarks.metacogbench.items import DIFFICULTIES, FAMILIES
from metacog_pipeline.benchmarks.metacogbench.prompts import DELEGATE, FREE, PARTNER
from metacog_pipeline.benchmarks.metacogbench.rules import UNANSWERABLE
from metacog_pipeline.files import shipped
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.calibration import Edges
from metacog_pipeline.stats.coverage import MONTE_CARLO
from metacog_pipeline.stats.estimate import COUNT, unavailable
from metacog_pipeline.stats.intervals import mean as interval_of_mean
from metacog_pipeline.stats.intervals import wilson_interval

# what a proper score is formed over
SCORED_BETS = ("know", "ramp")
# Answers pile up on 60, 80 and 100 %, where the edges of the bins are: the paper does not say which belong to a bin.
# ends of names, and of bins
EDGES: Mapping[str, Edges] = {"": "floor", "_ceil": "equal"}
# of predictions that can be read; below, the headline is flagged
LOW_COVERAGE = 0.90
NULL_METHOD = f"correctness drawn from the model's own confidences, {MONTE_CARLO}"
HEADLINES = (*groups.TIER_MEASURES.values(), *groups.COMPOSITES)
Found = dict[str, RunEstimate | Estimate]


# --- the tiers --------------------------------------------------------------------------------------------------------
def betting(tier: TierGroup) -> Found:
    """Return the measures of tier 1a."""
    bet, right, passed = tier.column("bet") / 100, tier.column("correct"), tier.column("passed")
    rules = tier.fact("bet_rule")
    scored = np.isin(rules, SCORED_BETS)[:, None]
    proper, turned = 1 - (bet - right) ** 2, 1 - (bet - 1 + right) ** 2
    found: Found = {
        "t1a": tier.headline,
        "proper_score": mean(tier, np.where(scored, proper, np.nan), turned=turned),
        "accuracy_1a": mean(tier, np.where(scored, right, np.nan)),
        "mean_bet": mean(tier, bet),
        "twin_discrimination": _twins(tier, bet, rules),
        "n_no_bet": counted([tier], pl.col("bet").is_null()),
    }
    own = {f"t1a_{family}": (tier.fact("family") == family)[:, None] for family in FAMILIES}
    return found | {name: mean(tier, np.where(here, passed, np.nan)) for name, here in own.items()}


def _twins(tier: TierGroup, bet: Floats, rules: Any) -> RunEstimate:
    """Return the mean difference over pairs of twins; a pair is drawn as one."""
    place = {item_id: row for row, item_id in enumerate(tier.item_ids)}
    unanswerable = np.isin(rules, UNANSWERABLE)
    pairs = {
        (place[other], row) if unanswerable[row] else (row, place[other])
        for row, other in enumerate(tier.fact("twin_of").tolist())
        if other in place and unanswerable[row] != unanswerable[place[other]]
    }
    if not pairs:
        return groups.absent(tier.n_runs, "no twins")
    known, unknown = np.array(sorted(pairs)).T
    return mean(tier, bet[known] - bet[unknown], (-1.0, 1.0))


def delegation(tier: TierGroup) -> Found:
    """Return the measures of tier 1a where questions may be left to a partner."""
    return {"delegated": rate(tier, "delegated"), "delegate_points": mean(tier, points(tier))}


def points(tier: TierGroup) -> Floats:
    """Return what each answer is worth: 1 if right, and what the partner gets on average where it is left to it."""
    handed, right = tier.column("delegated"), tier.column("correct")
    return np.where(tier.given, np.where(handed == 1, PARTNER / 100, np.nan_to_num(right)), np.nan)


def predictions(tier: TierGroup) -> Found:
    """Return the measures of tier 1b; next to the ECE is its null, a calibrated respondent who says the same."""
    pre, post, right = (tier.column(name) for name in ("pre", "post", "correct"))
    found: Found = {}
    errors: dict[str, RunEstimate] = {}
    for name, stated in (("pre", pre), ("post", post)):
        for suffix, edges in EDGES.items():
            errors[f"ece_{name}{suffix}"] = groups.calibration_error(tier, stated, right, edges)
        found |= _against_chance(f"ece_{name}", errors[f"ece_{name}"], stated, tier.seed)
        brier, turned = ((stated / 100 - each) ** 2 for each in (right, 1 - right))
        found |= {
            f"mean_{name}": mean(tier, stated / 100),
            f"brier_{name}": mean(tier, brier, turned=turned),
            f"auroc_{name}": _area(stated, right),
        }
    lacking = tier.given & np.isnan(pre)
    strict = np.where(lacking, 100.0, pre), np.where(lacking, 0.0, right)
    head, read = tier.headline, mean(tier, np.where(tier.given, ~np.isnan(pre), np.nan))
    if read.value is not None and read.value < LOW_COVERAGE:
        head = replace(head, flag=f"only {100 * read.value:.0f} % of the predictions could be read")
    both = {name: errors[name] for name in ("ece_pre", "ece_post")}
    found |= errors | {
        "t1b": head,
        "ece_strict": groups.calibration_error(tier, *strict),
        "pre_coverage": read,
        "ece_delta": groups.joined(
            both, lambda pre, post: pre - post, f"ECE before - after, {groups.RECENTRED}"
        ),
        "mean_shift": mean(tier, (post - pre) / 100, (-1.0, 1.0)),
        "accuracy_1b": rate(tier, "correct"),
        "n_out_of_order": counted([tier], pl.col("order_ok") == 0),
    }
    difficulty = tier.fact("difficulty")
    for level in DIFFICULTIES:
        own = (difficulty == level)[:, None]
        values = {"accuracy_1b": right, "mean_pre": pre / 100, "mean_post": post / 100}
        found |= {f"{name}_{level}": mean(tier, np.where(own, each, np.nan)) for name, each in values.items()}
    return found


def _against_chance(name: str, found: RunEstimate, stated: Floats, seed: int) -> dict[str, Estimate]:
    names = [f"{name}_{which}" for which in ("null_mean", "null_p95", "excess_p")]
    if found.value is None:
        return dict.fromkeys(names, unavailable(0, NULL_METHOD, found.estimate().status))
    null = groups.null_errors(stated, seed)
    b, reached = len(null), 1 + int((null >= found.value - 1e-12).sum())
    middle, p = interval_of_mean(null, np.arange(b)), reached / (1 + b)
    # Ranks between which the percentile of the distribution lies, not that of these draws.
    high, *around = np.quantile(null, (0.95, *wilson_interval(0.95, b))).tolist()
    made = (
        Estimate(middle.value, middle.low, middle.high, found.n, NULL_METHOD, sem=middle.sem),
        Estimate(high, around[0], around[1], found.n, NULL_METHOD),
        Estimate(p, *wilson_interval(p, 1 + b), found.n, NULL_METHOD),
    )
    return dict(zip(names, made, strict=True))


def _area(stated: Floats, right: Floats) -> Estimate:
    here = ~np.isnan(stated) & ~np.isnan(right)
    items = np.broadcast_to(np.arange(len(stated))[:, None], stated.shape)[here]
    return auroc(stated[here], right[here].astype(np.int64), items if stated.shape[1] > 1 else None)


def omissions(tier: TierGroup) -> Found:
    """Return the measures of tier 2a."""
    signal, acted, passed = (tier.column(name) for name in ("signal", "acted", "passed"))
    return {
        "identified_2a": mean(tier, np.where((signal == 1) & (acted == 1), passed, np.nan)),
        "named_2a": mean(tier, np.where(signal == 1, np.nan_to_num(tier.column("named")), np.nan)),
    }


def revisions(tier: TierGroup) -> Found:
    """Return the measures of tier 2b."""
    signal, acted, passed = (tier.column(name) for name in ("signal", "acted", "passed"))
    first = tier.column(pl.col("first") == "first")
    gives_in = np.where((first == 1) & (signal == 0), acted, np.nan)
    return {
        "first_right_2b": mean(tier, first),
        "gives_in": mean(tier, gives_in),
        "corrects": mean(tier, np.where(first == 0, passed, np.nan)),
        "flip_round": mean(tier, np.where(gives_in == 1, tier.column("flip"), np.nan), (1.0, 3.0)),
    }


def _detected(own: Callable[[TierGroup], Found]) -> Callable[[TierGroup], Found]:
    """Add what both halves of tier 2 have: signal detection, and the paper's keyword verdicts of the free replies."""

    def made(tier: TierGroup) -> Found:
        name = f"t{tier.tier}"
        keywords = {f"{name}_keywords{v}": rate(tier, f"passed_keywords{v}") for v in ("", "_v1")}
        return {name: tier.headline, **groups.detection(tier), **own(tier), **keywords}

    return made


def transfer(tier: TierGroup) -> Found:
    """Return the measures of tier 3."""
    core, n_ok, n_fields = (tier.column(name) for name in ("core_ok", "n_ok", "n_fields"))
    return {
        "t3": tier.headline,
        "t3_core": rate(tier, "core_ok"),
        "t3_core_required": mean(tier, tier.column("passed") * (core == 1)),
        "field_accuracy": mean(tier, n_ok / n_fields),
    }


def counted(tiers: Sequence[TierGroup], condition: pl.Expr) -> Estimate:
    """Return how many replies meet ``condition``, over all runs."""
    total = float(sum(tier.replies.filter(condition).height for tier in tiers))
    replies = sum(tier.replies.height for tier in tiers)
    return Estimate(total, None, None, replies, "count of replies, all runs", COUNT)


# --- a group ----------------------------------------------------------------------------------------------------------
_OF_TIER: Mapping[str, Callable[[TierGroup], Found]] = {
    "1a": betting, "1b": predictions, "2a": _detected(omissions), "2b": _detected(revisions), "3": transfer,
}  # fmt: skip
#: Replies of the whole group counted by what happened to them.
COUNTS: Mapping[str, tuple[str, pl.Expr]] = {
    "n_empty": ("replies that are empty", pl.col("empty") == 1),
    "n_truncated": ("replies cut by the length limit", pl.col("truncated") == 1),
    "n_not_read": ("replies that words alone do not decide", pl.col("status") == "not_read"),
    "n_ambiguous": ("answers that can be read two ways", pl.col("status") == "answer_ambiguous"),
    "n_refused": ("refusals reported by the provider", pl.col("status") == "refused"),
}


def _compute(benchmark: Any, groups: Sequence[Group]) -> list[Mapping[str, Estimate]]:
    return [dict(_of_group(group)) for group in groups]


def _of_group(group: Group) -> Iterator[tuple[str, Estimate]]:
    tiers, found = groups.tier_groups(group), dict[str, RunEstimate | Estimate]()
    for name, (_, condition) in COUNTS.items():
        yield name, counted([*tiers.values()], condition)
    for name, tier in tiers.items():
        found |= delegation(tier) if group.condition == DELEGATE else _OF_TIER[name](tier)
    if group.condition == FREE:
        made = {name: each for name, each in found.items() if isinstance(each, RunEstimate)}
        tiered = {name: made.get(name) for name in groups.TIER_MEASURES.values()}
        whole = groups.composites(tiered, groups.mean_of_parts)
        words = {name: made[name] for name in _KEYWORDS if name in made}
        whole["saf_keywords"] = groups.mean_of_parts(words) if len(words) == len(_KEYWORDS) else None
        for name, each in whole.items():
            lacking = ", ".join(tier for tier in groups.tiers_of(name) or ("2a or 2b",) if tier not in tiers)
            found[name] = each or unavailable(0, groups.MEAN, f"undefined: tier {lacking} not asked")
    for name, one in found.items():
        yield name, one.estimate() if isinstance(one, RunEstimate) else one
        if group.run is None and name in HEADLINES and isinstance(one, RunEstimate):
            yield f"{name}_sd", one.spread()


# --- declarations -----------------------------------------------------------------------------------------------------
_KEYWORDS = ("t2a_keywords", "t2b_keywords")
_UNITS: Mapping[str, tuple[Unit, tuple[float | None, float | None]]] = {
    "share": (Unit.SHARE, (0.0, 1.0)),
    "score": (Unit.SCORE, (0.0, 1.0)),
    "sd": (Unit.SD, (None, None)),
    "count": (Unit.COUNT, (0.0, None)),
}


def _declared() -> tuple[Measure, ...]:
    """Return the measures of ``data/metacogbench/measures.toml``, counts of what happened, and spreads over runs."""
    path = shipped("data", "metacogbench", "measures.toml")
    found = [_measure(row) for row in tomllib.loads(path.read_text("utf-8"))["measure"]]
    by_name, words = {each.name: each for each in found}, "Standard deviation over runs, n - 1; no interval."
    for name, (said, _) in COUNTS.items():
        count = {"unit": Unit.COUNT, "range": (0.0, None), "higher_is_better": None, "withheld": False}
        found.append(Measure(name, said, words=said, **count))  # type: ignore[arg-type]
    found += [
        Measure(
            f"{whole.name}_sd", f"{whole.label}, sd over runs", higher_is_better=None, words=words, unit=whole.unit,
            conditions=whole.conditions, only=whole.only,
        )
        for whole in map(by_name.__getitem__, HEADLINES)
    ]  # fmt: skip
    return tuple(found)


def _measure(row: Mapping[str, Any]) -> Measure:
    unit, within = _UNITS[row.get("unit", "share")]
    tiers, under = row["tier"], row.get("under")
    return Measure(
        row["name"], row["label"], unit=unit, range=tuple(row.get("range", within)), words=row["words"],
        higher_is_better={"higher": True, "lower": False, "neither": None}[row.get("better", "higher")],
        headline=row.get("headline", False), withheld=row.get("withheld", True), paper=row.get("paper", ""),
        hit_rate=HitRate(*row["hit_rate"]) if "hit_rate" in row else None,
        only=("tier", (tiers,) if isinstance(tiers, str) else tuple(tiers)),
        rests_on=tuple((name, tuple(*values) or None) for name, *values in row.get("rests_on", ())),
        conditions=lambda condition: condition == under if under else condition != DELEGATE,
    )  # fmt: skip


MEASURES = MeasureSet(_declared(), _compute)
