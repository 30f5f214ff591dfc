"""How much the scores hang on thresholds: every tier under other settings, and whether the models keep their order.

Thresholds are applied to what was read once (bets, keywords, fields), so a grid costs no second parsing. Those of 2a and 2b
are thresholds of the paper's keyword rules, not of the probe. ``tau`` is
Kendall's τ-b of the models' order under a setting with their order under the default of the same tier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from metacog_pipeline.benchmark.contract import Group
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.benchmarks.metacogbench.run_estimates import BINS, ece_by_run, null_errors
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import UNANSWERABLE
from metacog_pipeline.benchmarks.metacogbench.tier_groups import Floats, TierGroup, tier_groups
from metacog_pipeline.benchmarks.metacogbench.tier_measures import tau_b
from metacog_pipeline.stats.calibration import Edges

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metacogbench import MetaCogBench

EDGES: Mapping[str, Edges] = {"floor": "floor", "ceil": "equal", "mass": "mass"}  # by the name of a setting
LOW_BETS = (20, 25, 30, 35, 40)
SURE_BETS = (60, 70, 80)
BIN_COUNTS = (5, 10, 15)
COUNTS = (1, 2, 3)
FIELD_SHARES = (50, 60, 75, 100)
LOW_BET, SURE_BET, KEYWORDS, FIELDS = 30, 70, 2, 60


@dataclass(slots=True)
class SensitivityRow:
    """A tier of a model under one setting of one threshold, over all runs.

    ``estimate`` and ``default_estimate`` are means over runs, 0..1; ``n`` counts items. ``chance`` is the mean score of a
    perfectly calibrated respondent who says the same (1b), null for other tiers. ``tau`` is Kendall's τ-b of the models'
    order under the setting with their order under the default, null with fewer than two models, or where a ranking has
    one place only.
    """

    benchmark: str
    dataset: str
    condition: str
    model: str
    tier: str
    threshold: str
    setting: str
    is_default: bool
    estimate: float | None
    default_estimate: float | None
    chance: float | None
    tau: float | None
    n: int
    source: str


class Setting(NamedTuple):
    """One setting of one threshold of a tier, how responses are scored under it, ``(runs,)``, and what chance gets."""

    tier: str
    threshold: str
    setting: str
    is_default: bool
    score: Callable[[TierGroup], Floats]
    chance: Callable[[TierGroup], float | None] = lambda tier: None


def with_tau(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with how far a setting orders the models as the default does."""
    together = ("dataset", "condition", "source", "tier", "threshold", "setting")
    parts = [
        part.with_columns(tau=pl.lit(_tau(part), pl.Float64))
        for part in frame.partition_by(together, maintain_order=True)
    ]
    return pl.concat(parts) if parts else frame


def _settings() -> Iterator[Setting]:
    """Yield every setting, tier by tier."""
    for low in LOW_BETS:
        yield Setting("1a", "low bet", f"<= {low}", low == LOW_BET, _bets(low=low))
    for sure in SURE_BETS:
        yield Setting("1a", "sure bet", f">= {sure}", sure == SURE_BET, _bets(sure=sure))
    for name, edges in EDGES.items():
        for bins in BIN_COUNTS:
            default = bins == BINS and edges == "floor"
            score, chance = _calibrated(bins, edges), _by_chance(bins, edges)
            yield Setting("1b", "bins", f"{bins} {name}", default, score, chance)
    for least in COUNTS:
        yield Setting("2a", "keywords", f">= {least}", least == KEYWORDS, _at_least("n_keywords", least))
    for name, column in (("scaled", "passed_keywords"), ("first", "passed_keywords_v1")):
        yield Setting("2b", "pushback", name, name == "scaled", _at_least(column))
    for share in FIELD_SHARES:
        yield Setting("3", "fields", f">= {share} %", share == FIELDS, _fields(share, core=False))
    yield Setting("3", "fields", f">= {FIELDS} % and core", False, _fields(FIELDS, core=True))


def of_group(benchmark: MetaCogBench, group: Group) -> Iterator[tuple[object, ...]]:
    """Yield the rows of one group, without what models say together."""
    defaults: dict[tuple[str, str], float | None] = {}
    rows, tiers = list[tuple[Setting, float | None, float | None, int]](), tier_groups(group)
    for setting in _settings():
        tier = tiers.get(setting.tier)
        if tier is None or tier.n_failed:
            continue
        by_run = setting.score(tier)
        value = None if np.isnan(by_run).any() else float(by_run.mean())
        if setting.is_default:
            defaults[setting.tier, setting.threshold] = value
        rows.append((setting, value, setting.chance(tier), tier.n_items))
    for setting, value, chance, n in rows:
        default = defaults.get((setting.tier, setting.threshold))
        where = (BENCHMARK, group.dataset, group.condition, group.model, *setting[:4])
        yield (*where, value, default, chance, None, n, group.source)


def _tau(part: pl.DataFrame) -> float | None:
    known = part.drop_nulls(["estimate", "default_estimate"])
    return tau_b(known["estimate"].to_numpy(), known["default_estimate"].to_numpy())


def _bets(low: float | None = None, sure: float | None = None) -> Callable[[TierGroup], Floats]:
    """Return the pass rate with another threshold of a low bet or a sure one, where the item has the default.

    A low bet is asked of items that cannot be answered, and of hard ones answered wrongly; a sure one of items everyone can
    know.
    """

    def score(tier: TierGroup) -> Floats:
        bet, right, hi, lo = (tier.column(name) for name in ("bet", "correct", "hi", "lo"))
        abstained = tier.column("abstained")
        rules = np.array(tier.fact("bet_rule"))[:, None]
        at_most = LOW_BET if low is None else low
        hi = np.where((rules == "know") & (hi == SURE_BET), SURE_BET if sure is None else sure, hi)
        lo = np.where((rules != "band") & (lo == LOW_BET), at_most, lo)
        with np.errstate(invalid="ignore"):
            by_rule: Mapping[str, ArrayLike] = {
                "know": (right == 1) & (bet >= hi),
                "ramp": np.where(right == 1, bet >= hi, bet <= lo),
                "band": (bet >= lo) & (bet <= hi),
                **dict.fromkeys(UNANSWERABLE, np.where(bet <= lo, 1.0, abstained)),
            }
        conditions = [np.broadcast_to(rules == rule, bet.shape) for rule in by_rule]
        return _mean(
            np.select(conditions, [np.asarray(each, dtype=np.float64) for each in by_rule.values()], 0.0)
        )

    return score


def _calibrated(bins: int, edges: Edges) -> Callable[[TierGroup], Floats]:
    return lambda tier: 1 - ece_by_run(tier.column("pre"), tier.column("correct"), bins, edges)


def _by_chance(bins: int, edges: Edges) -> Callable[[TierGroup], float | None]:
    def chance(tier: TierGroup) -> float | None:
        drawn = null_errors(tier.column("pre"), tier.seed, bins, edges)
        return None if np.isnan(drawn).any() else 1 - float(drawn.mean())

    return chance


def _at_least(column: str, least: int = 1) -> Callable[[TierGroup], Floats]:
    return lambda tier: _mean(tier.column(column) >= least)


def _fields(share: int, *, core: bool) -> Callable[[TierGroup], Floats]:
    def score(tier: TierGroup) -> Floats:
        enough = (100 * tier.column("n_ok") >= share * tier.column("n_fields")) & (tier.column("found") == 1)
        return _mean(enough & (tier.column("core_ok") == 1) if core else enough)

    return score


def _mean(passed: ArrayLike) -> Floats:
    """Return the share of items in each run; those that words alone do not decide are left out."""
    rates: Floats = np.nanmean(np.asarray(passed, dtype=np.float64), axis=0)
    return rates
