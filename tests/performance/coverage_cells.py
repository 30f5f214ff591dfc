"""Coverage of the published intervals on a grid of cells: what `test_coverage` prints and the marks of boards rest on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl

from metacog_pipeline.benchmarks.signaldetection.grid import Counts, Grid
from metacog_pipeline.benchmarks.signaldetection.measures.meta_d import meta_d_estimates
from metacog_pipeline.benchmarks.signaldetection.measures.type1 import type1_estimates
from metacog_pipeline.scoring import calibration as shared
from metacog_pipeline.scoring import efficiency, model_pairs
from metacog_pipeline.scoring.harmonised import HARMONISED
from metacog_pipeline.stats import calibration, coverage, observers, resampling
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.resampling import Patterns

NUMBERS, ACCURACIES, RATIOS = (100, 300, 1373), (0.75, 0.9, 0.97), (0.5, 1.0)
ALTERNATIVES, LEVELS, RATINGS = 4, 5, 4
N_DRAWS = 1000
Found = Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of the grid: answers, accuracy and M-ratio of the respondent, and how to measure it."""

    way: str
    n: int
    accuracy: float
    m_ratio: float
    samples: int
    seed: int

    @property
    def wrong(self) -> float:
        """Wrong answers to be expected."""
        return self.n * (1 - self.accuracy)


def stated(cells: np.ndarray, overconfident: float) -> np.ndarray:
    """Return what each level stands for, in whole per cent: how often it is right, moved towards 1."""
    right = cells[1::2] / (cells[0::2] + cells[1::2])
    return np.round(right + overconfident * (1 - right), 2)


# --- ways to measure --------------------------------------------------------------------------------------------------
def plain(patterns: Patterns, says: np.ndarray) -> Found:
    """Estimates of a benchmark that counts levels: shares, means, ECE, Brier, AUROC2."""
    ones, right = np.ones(2 * LEVELS), np.tile([0.0, 1.0], LEVELS)
    draws = resampling.patterns(patterns, N_DRAWS, 1)
    return {
        "accuracy": resampling.ratio(patterns, right, ones),
        "mean_confidence": resampling.ratio(patterns, np.repeat(says, 2), ones),
        "brier": calibration.brier_from_patterns(patterns, says),
        "ece": calibration.ece_estimate(patterns, says, draws),
        "auroc2": auroc_from_patterns(patterns),
    }


def harmonised(patterns: Patterns, says: np.ndarray) -> Found:
    """Estimates of the table that all benchmarks share, but for the fits."""
    frame = answers(patterns, says, "a").with_columns(n_alternatives=pl.lit(None, pl.Int32))
    rows = shared.calibration(frame, seed=1)
    return {
        row["measure"]: Estimate(
            row["estimate"], row["low"], row["high"], row["n"], row["method"], row["status"]
        )
        for row in rows.iter_rows(named=True)
    }


def fitted(patterns: Patterns, says: np.ndarray) -> Found:
    """Estimates of the efficiency of a choice among m."""
    table = patterns.totals.reshape(-1, 2).astype(float)
    counts = efficiency.Choices(table[None, :, 1], table[None, :, 0], np.array([ALTERNATIVES]))
    return efficiency.estimates([counts])[0]


def difference(first: Patterns, second: Patterns, says: np.ndarray) -> Found:
    """Differences of two models that answered the same items."""
    both = pl.concat([answers(first, says, "a"), answers(second, says, "b")])
    rows = model_pairs.paired(both, "a", "b", seed=1, n_boot=N_DRAWS)
    return {
        f"difference_{row['measure']}": Estimate(
            row["difference"], row["low"], row["high"], row["n_items"], "paired", row["status"]
        )
        for row in rows.iter_rows(named=True)
    }


def answers(patterns: Patterns, says: np.ndarray, model: str) -> pl.DataFrame:
    """Return answers in the form that all benchmarks share, one item each, in an order that repeats."""
    cells = np.repeat(np.arange(2 * LEVELS), patterns_totals(patterns))
    cells = np.random.default_rng(len(cells)).permutation(cells) if model == "a" else cells
    items = [f"i{place}" for place in range(len(cells))]
    own = {
        "correct": (cells % 2).astype(float),
        "confidence": says[cells // 2],
        "item_id": items,
        "cluster": items,
    }
    named = {
        "benchmark": "b",
        "dataset": "d",
        "condition": "c",
        "model": model,
        "source": "simulated",
        "run": 1,
    }
    frame = pl.DataFrame(own).with_columns(
        **{name: pl.lit(value) for name, value in named.items()},
        n_alternatives=ALTERNATIVES,
        response=pl.lit(""),
    )
    return frame.select(pl.col(name).cast(kind) for name, kind in HARMONISED.items())


def patterns_totals(patterns: Patterns) -> np.ndarray:
    totals = np.zeros(2 * LEVELS, dtype=np.int64)
    totals += patterns.totals
    return totals


def yes_no(counts: np.ndarray) -> Found:
    """Estimates of yes/no signal detection of counts ``(2, 2 K)``."""
    grid = Grid(RATINGS)
    place = np.concatenate(
        [np.repeat(np.arange(2 * RATINGS) + side * grid.width, counts[side]) for side in (0, 1)]
    )
    n = len(place)
    names = pl.Series([f"i{number}" for number in range(n)])
    group = Counts(grid, names, np.arange(n), place, np.ones(n, dtype=np.int64), 1)
    return {**meta_d_estimates([group])[0], **type1_estimates([group])[0]}


# --- a cell -----------------------------------------------------------------------------------------------------------
def measured(cell: Cell) -> dict[str, coverage.Coverage]:
    """Return the coverage of every interval that one way of measuring gives of a cell."""
    truth, found = WAYS[cell.way](cell)
    return {
        name: coverage.covered(value, [each.get(name) for each in found]) for name, value in truth.items()
    }


def _of_tables(
    estimate: Callable[[Patterns, np.ndarray], Found], cell: Cell
) -> tuple[dict[str, float], list[Found]]:
    cells = coverage.respondent(cell.accuracy, cell.m_ratio, ALTERNATIVES)
    # Half of the respondents are calibrated, half say too much: an error near 0 is the harder one to cover.
    says = stated(cells, 0.0 if cell.seed % 2 else 0.5)
    true = estimate(coverage.population(cells, 200_000), says)
    found = [estimate(each, says) for each in coverage.samples(cells, cell.n, cell.samples, cell.seed)]
    return _values(true), found


def _of_pairs(cell: Cell) -> tuple[dict[str, float], list[Found]]:
    first = coverage.respondent(cell.accuracy, cell.m_ratio, ALTERNATIVES)
    second = coverage.respondent(cell.accuracy - 0.03, 0.75, ALTERNATIVES)
    says = stated(first, 0.25)
    alone = [_values(harmonised(coverage.population(each, 100_000), says)) for each in (first, second)]
    true = {
        f"difference_{name}": alone[0][shared.PREFIX + name] - alone[1][shared.PREFIX + name]
        for name in model_pairs.STATISTICS
    }
    drawn = zip(
        coverage.samples(first, cell.n, cell.samples, cell.seed),
        coverage.samples(second, cell.n, cell.samples, cell.seed + 1000),
        strict=True,
    )
    return true, [difference(*each, says) for each in drawn]


def _of_yes_no(cell: Cell) -> tuple[dict[str, float], list[Found]]:
    from scipy.special import ndtri

    d = 2 * float(ndtri(cell.accuracy))
    meta = d * cell.m_ratio
    cuts = np.array([0.35, 0.8, 1.35])
    observer = (d, cell.m_ratio, 0.0, -cuts[::-1], cuts)
    truth = {"d": d, "c": 0.0, "meta_d": meta, "m_ratio": cell.m_ratio, "m_diff": meta - d}
    found = []
    for number in range(cell.samples):
        table = observers.simulate(*observer, cell.n, seed=cell.seed * 100_000 + number, cells=1)
        found.append(yes_no(np.vstack([table.n_s1, table.n_s2]).astype(np.int64)))
    return truth, found


def _values(true: Found) -> dict[str, float]:
    return {name: each.value for name, each in true.items() if each.value is not None}


WAYS: Mapping[str, Callable[[Cell], tuple[dict[str, float], list[Found]]]] = {
    "plain": functools.partial(_of_tables, plain),
    "harmonised": functools.partial(_of_tables, harmonised),
    "fitted": functools.partial(_of_tables, fitted),
    "pairs": _of_pairs,
    "yes_no": _of_yes_no,
}
SAMPLES = {"plain": 1000, "harmonised": 250, "fitted": 300, "pairs": 200, "yes_no": 200}  # by what one costs


def grid(ways: tuple[str, ...] = tuple(WAYS), scale: float = 1.0) -> list[Cell]:
    """Return the cells of the grid: calibrated respondents and such that say too much, of two M-ratios."""
    return [
        Cell(way, n, accuracy, ratio, max(2, round(SAMPLES[way] * scale)), seed)
        for way in ways
        for n in NUMBERS
        for accuracy in ACCURACIES
        for place, ratio in enumerate(RATIOS)
        for seed in (2 * place + 1, 2 * place + 2)
    ]


def coverages(cells: list[Cell], workers: int) -> Iterator[dict[str, object]]:
    """Yield a row per measure, n and accuracy, respondents of both M-ratios and ways to state a confidence together."""
    sums: dict[tuple[str, int, float], list[coverage.Coverage]] = {}
    with ProcessPoolExecutor(workers) as pool:
        for cell, found in zip(cells, pool.map(measured, cells), strict=True):
            for name, each in found.items():
                sums.setdefault((name, cell.n, cell.accuracy), []).append(each)
    for (name, n, accuracy), parts in sorted(sums.items()):
        whole = coverage.Coverage(
            sum(each.held for each in parts),
            sum(each.samples for each in parts),
            sum(each.without for each in parts),
        )
        yield {
            "measure": name, "n": n, "accuracy": accuracy, "wrong": round(n * (1 - accuracy)),
            "coverage": whole.percent, "samples": whole.samples, "without": whole.without,
        }  # fmt: skip
