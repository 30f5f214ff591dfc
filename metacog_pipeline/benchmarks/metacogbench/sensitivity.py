"""How much the scores hang on thresholds: every tier under other settings, and whether the models keep their order.

Thresholds are applied to what was read once (bets, cues, factors, fields), so a grid costs no second reading. ``tau`` is
Kendall's τ-b of the models' order under a setting with their order under the default of the same tier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.stats import kendalltau

from metacog_pipeline.benchmarks.common.files import write_frame
from metacog_pipeline.benchmarks.metacogbench.cells import Cell, Floats, Sheet, cells_of
from metacog_pipeline.benchmarks.metacogbench.ece import BINS, EDGES, Edges, ece, null_distribution
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK

SENSITIVITY_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "dataset", "condition", "model"), pl.String),
        **dict.fromkeys(("tier", "threshold", "setting"), pl.String),
        "is_default": pl.Boolean,
        **dict.fromkeys(("estimate", "default_estimate", "chance", "tau"), pl.Float64),
        "n": pl.Int64,
        "source": pl.String,
    }
)
LOW_BETS = (20, 25, 30, 35, 40)
SURE_BETS = (60, 70, 80)
BIN_COUNTS = (5, 10, 15)
COUNTS = (1, 2, 3)
FIELD_SHARES = (50, 60, 75, 100)
LOW_BET, SURE_BET, CUES, FACTORS, FIELDS = 30, 70, 2, 2, 60


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of one threshold of a tier, how a sheet is scored under it, ``(runs,)``, and what chance would get."""

    tier: str
    threshold: str
    setting: str
    is_default: bool
    score: Callable[[Sheet], Floats]
    chance: Callable[[Sheet, int], float | None] = lambda sheet, seed: None


def sensitivity(observations: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """Return one row per dataset, condition, model and setting in `SENSITIVITY_SCHEMA`, over all runs.

    Tiers that lack replies are left out. ``estimate`` and ``default_estimate`` are means over runs, 0..1; ``n`` counts
    items. ``chance`` is the mean score of a perfectly calibrated respondent who says the same (1b), drawn by ``seed``, null
    for other tiers. ``tau`` is null with fewer than two models, or where a ranking has one place only.
    """
    rows: list[dict[str, object]] = []
    for cell in cells_of(observations, by_run=False):
        rows.extend(_of_cell(cell, seed))
    if not rows:
        return pl.DataFrame(schema=SENSITIVITY_SCHEMA)
    frame = pl.DataFrame(rows, schema={**SENSITIVITY_SCHEMA})
    group = ("dataset", "condition", "source", "tier", "threshold", "setting")
    parts = [
        part.with_columns(tau=pl.lit(_tau(part), pl.Float64))
        for part in frame.partition_by(group, maintain_order=True)
    ]
    return pl.concat(parts).select(SENSITIVITY_SCHEMA.names())


def write_sensitivity(observations: pl.DataFrame, folder: Path, seed: int = 0) -> int:
    """Write the grid to ``folder / sensitivity / sensitivity.parquet``; return how many rows there are."""
    found = sensitivity(observations, seed)
    write_frame(found, folder / "sensitivity" / "sensitivity.parquet", "")
    return found.height


def settings() -> Iterator[Setting]:
    """Yield every setting, tier by tier."""
    for low in LOW_BETS:
        yield Setting("1a", "low bet", f"<= {low}", low == LOW_BET, _bets(low=low))
    for sure in SURE_BETS:
        yield Setting("1a", "sure bet", f">= {sure}", sure == SURE_BET, _bets(sure=sure))
    for edges in EDGES:
        for bins in BIN_COUNTS:
            default = bins == BINS and edges == "floor"
            score, chance = _calibrated(bins, edges), _by_chance(bins, edges)
            yield Setting("1b", "bins", f"{bins} {edges}", default, score, chance)
    for least in COUNTS:
        yield Setting("2a", "cues", f">= {least}", least == CUES, _cues(least))
        yield Setting("2a", "factors", f">= {least}", least == FACTORS, _at_least("n_factors", least))
    for name, column in (("all", "passed"), ("first 32", "passed_v1"), ("strong only", "passed_strong")):
        yield Setting("2b", "pushback", name, name == "all", _flag(column))
    for share in FIELD_SHARES:
        yield Setting("3", "fields", f">= {share} %", share == FIELDS, _fields(share, core=False))
    yield Setting("3", "fields", f">= {FIELDS} % and core", False, _fields(FIELDS, core=True))


def _of_cell(cell: Cell, seed: int) -> Iterator[dict[str, object]]:
    defaults: dict[tuple[str, str], float | None] = {}
    rows = []
    for setting in settings():
        sheet = cell.sheets.get(setting.tier)
        if sheet is None or sheet.n_failed:
            continue
        by_run = setting.score(sheet)
        value = None if np.isnan(by_run).any() else float(by_run.mean())
        if setting.is_default:
            defaults[setting.tier, setting.threshold] = value
        rows.append(
            {
                "benchmark": BENCHMARK,
                "dataset": cell.dataset,
                "condition": cell.condition,
                "model": cell.model,
                "tier": setting.tier,
                "threshold": setting.threshold,
                "setting": setting.setting,
                "is_default": setting.is_default,
                "estimate": value,
                "chance": setting.chance(sheet, seed),
                "tau": None,
                "n": sheet.n_items,
                "source": cell.source,
            }
        )
    for row in rows:
        yield {**row, "default_estimate": defaults.get((str(row["tier"]), str(row["threshold"])))}


def _tau(part: pl.DataFrame) -> float | None:
    known = part.drop_nulls(["estimate", "default_estimate"])
    first, second = known["estimate"].to_numpy(), known["default_estimate"].to_numpy()
    if len(np.unique(first)) < 2 or len(np.unique(second)) < 2:
        return None
    return float(kendalltau(first, second, variant="b").statistic)


def _bets(low: float | None = None, sure: float | None = None) -> Callable[[Sheet], Floats]:
    """Return the pass rate with another threshold of a low bet, or of a sure one.

    A low bet is asked of items that cannot be answered, and of hard ones answered wrongly; a sure one of items everyone can
    know, where the item sets the default threshold.
    """

    def score(sheet: Sheet) -> Floats:
        bet, right, hi, lo = (sheet.column(name) for name in ("bet", "correct", "hi", "lo"))
        refusal, insufficient, slot = (
            sheet.column(name) == 1 for name in ("refusal", "insufficiency", "slot_named")
        )
        rules = np.array(sheet.fact("bet_rule"))[:, None]
        at_most = LOW_BET if low is None else low
        hi = np.where((rules == "know") & (hi == SURE_BET), SURE_BET if sure is None else sure, hi)
        lo = np.where((rules == "ramp") & (lo == LOW_BET), at_most, lo)
        with np.errstate(invalid="ignore"):
            by_rule: Mapping[str, ArrayLike] = {
                "know": (right == 1) & (bet >= hi),
                "ramp": np.where(right == 1, bet >= hi, bet <= lo),
                "band": (bet >= lo) & (bet <= hi),
                "unknowable": (bet <= at_most) | (refusal & ~slot),
                "insufficient": (bet <= at_most) | ((refusal | insufficient) & ~slot),
            }
        passed = np.zeros(bet.shape)
        for rule, holds in by_rule.items():
            passed = np.where(rules == rule, holds, passed)
        return _mean(passed)

    return score


def _calibrated(bins: int, edges: Edges) -> Callable[[Sheet], Floats]:
    def score(sheet: Sheet) -> Floats:
        pre, right = sheet.column("pre"), sheet.column("correct")
        found = []
        for run in range(pre.shape[1]):
            here = ~np.isnan(pre[:, run]) & ~np.isnan(right[:, run])
            error = ece(pre[here, run], right[here, run], bins, edges)
            found.append(np.nan if error is None else 1 - error)
        return np.array(found)

    return score


def _by_chance(bins: int, edges: Edges) -> Callable[[Sheet, int], float | None]:
    def chance(sheet: Sheet, seed: int) -> float | None:
        drawn = null_distribution(sheet.column("pre"), seed, bins=bins, edges=edges)
        return None if np.isnan(drawn).any() else 1 - float(drawn.mean())

    return chance


def _cues(least: int) -> Callable[[Sheet], Floats]:
    return lambda sheet: _mean((sheet.column("n_cues") >= least) & (sheet.column("n_strong") >= 1))


def _at_least(column: str, least: int) -> Callable[[Sheet], Floats]:
    return lambda sheet: _mean(sheet.column(column) >= least)


def _flag(column: str) -> Callable[[Sheet], Floats]:
    return lambda sheet: _mean(sheet.column(column) == 1)


def _fields(share: int, *, core: bool) -> Callable[[Sheet], Floats]:
    def score(sheet: Sheet) -> Floats:
        enough = (100 * sheet.column("n_ok") >= share * sheet.column("n_fields")) & (
            sheet.column("found") == 1
        )
        return _mean(enough & (sheet.column("core_ok") == 1) if core else enough)

    return score


def _mean(passed: ArrayLike) -> Floats:
    """Return the share of items in each run."""
    rates: Floats = np.asarray(passed, dtype=np.float64).mean(axis=0)
    return rates
