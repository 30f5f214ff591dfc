"""Coverage of the published intervals on a grid of cells: what `test_coverage` prints and the marks of boards rest on.

``python -m tests.performance.coverage_cells FILE [WAY ...]`` measures cells one after the other and appends each to FILE as
a line; those that stand there are not measured again, so it may be stopped at any time. ``--write FILE`` makes the table.
"""

import functools
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl

from metacog_pipeline.benchmarks.signaldetection.counts import Counts, Grid
from metacog_pipeline.benchmarks.signaldetection.measures import (
    confidence_estimates,
    meta_d_estimates,
    type1_estimates,
)
from metacog_pipeline.scoring import calibration as shared
from metacog_pipeline.scoring import model_pairs
from metacog_pipeline.scoring.harmonised_measures import PREFIX
from metacog_pipeline.scoring.schemas import HARMONISED
from metacog_pipeline.stats import calibration, measured_coverage, observers, resampling
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.mafc import efficiency
from metacog_pipeline.stats.meta_information import meta_information
from metacog_pipeline.stats.resampling import Patterns
from tests.observers import criteria_around
from tests.performance import coverage_scores, respondents

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
    runs: int = 1


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


def weighted(patterns: Patterns, says: np.ndarray) -> Found:
    """Estimate of accuracy weighted by confidence."""
    level, right = np.repeat(np.arange(1.0, LEVELS + 1), 2), np.tile([0.0, 1.0], LEVELS)
    draws = resampling.patterns(patterns, N_DRAWS, 1)
    return {"weighted_accuracy": resampling.ratio(patterns, level * right, level, draws)}


def harmonised(patterns: Patterns, says: np.ndarray) -> Found:
    """Estimates of the table that all benchmarks share, but for the fits."""
    frame = answers(patterns, says, "a").with_columns(n_alternatives=pl.lit(None, pl.Int32))
    return _harmonised(frame)


def clustered(patterns: Patterns, says: np.ndarray) -> Found:
    """Estimates of items with several runs: those of a benchmark and those of the shared table."""
    return {**plain(patterns, says), **harmonised(patterns, says)}


def refitted(patterns: Patterns, says: np.ndarray) -> Found:
    """Estimates of the efficiency of a choice among m, of items with several runs."""
    cell = np.repeat(np.tile(np.arange(2 * LEVELS), len(patterns.counts)), patterns.counts.ravel())
    item = np.repeat(np.arange(len(patterns.counts)), patterns.counts.sum(axis=1))
    whole = [np.concatenate([cell[item == each]] * int(w)) for each, w in enumerate(patterns.weights)]
    own = [
        np.repeat(np.arange(int(w)), int(patterns.counts[each].sum()))
        for each, w in enumerate(patterns.weights)
    ]
    first = np.concatenate([[0], np.cumsum(patterns.weights)[:-1]])
    items = np.concatenate([each + start for each, start in zip(own, first, strict=True)])
    cells = np.concatenate(whole)
    m = np.full(len(cells), ALTERNATIVES)
    made = efficiency.choices(cells // 2, cells % 2, m, items, 1, LEVELS)
    return efficiency.efficiency(made)


def _harmonised(frame: pl.DataFrame) -> Found:
    rows, _ = shared.with_curves(frame, seed=1)
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
    return efficiency.efficiency(counts)


def difference(first: Patterns, second: Patterns, says: np.ndarray) -> Found:
    """Differences of two models that answered the same items."""
    both = pl.concat([answers(first, says, "a"), answers(second, says, "b")])
    rows = model_pairs.between_models(both, seed=1, n_boot=N_DRAWS)
    return {
        f"difference_{row.measure.removeprefix(PREFIX)}": Estimate(
            row.value, row.low, row.high, row.n, "paired", row.status
        )
        for row in rows
    }


def answers(patterns: Patterns, says: np.ndarray, model: str) -> pl.DataFrame:
    """Return answers in the form that all benchmarks share, items in an order that repeats."""
    counts = np.repeat(patterns.counts, patterns.weights, axis=0)
    if model == "a":
        counts = np.random.default_rng(len(counts)).permutation(counts)
    item, cell = np.nonzero(counts)
    number = counts[item, cell]
    item, cells = np.repeat(item, number), np.repeat(cell, number)
    items = [f"i{place}" for place in item]
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


def yes_no(counts: np.ndarray) -> Found:
    """Estimates of yes/no signal detection of counts ``(2, 2 K)``."""
    grid = Grid(RATINGS)
    place = np.concatenate(
        [np.repeat(np.arange(2 * RATINGS) + side * grid.width, counts[side]) for side in (0, 1)]
    )
    n = len(place)
    names = pl.Series([f"i{number}" for number in range(n)])
    group = Counts(grid, names, np.arange(n), place, np.ones(n, dtype=np.int64), 1)
    information = confidence_estimates(group)["meta_information"]
    return {
        **meta_d_estimates(group),
        **type1_estimates(group),
        "meta_information": information,
    }


# --- a cell -----------------------------------------------------------------------------------------------------------
def measured(cell: Cell) -> dict[str, respondents.Coverage]:
    """Return the coverage of every interval that one way of measuring gives of a cell."""
    truth, found = WAYS[cell.way](cell)
    return {
        name: respondents.covered(value, [each.get(name) for each in found]) for name, value in truth.items()
    }


def _of_tables(
    estimate: Callable[[Patterns, np.ndarray], Found], cell: Cell
) -> tuple[dict[str, float], list[Found]]:
    cells = respondents.respondent(cell.accuracy, cell.m_ratio, ALTERNATIVES)
    # Half of the respondents are calibrated, half say too much: an error near 0 is the harder one to cover.
    says = stated(cells, 0.0 if cell.seed % 2 else 0.5)
    truth = _values(estimate(respondents.population(cells, 200_000), says))
    if shared.PREFIX + "ece" in truth:  # the debiased error estimates the error itself
        truth[shared.PREFIX + "ece_debiased"] = truth[shared.PREFIX + "ece"]
    drawn = respondents.samples(cells, cell.n, cell.samples, _seed(cell), runs=cell.runs)
    return truth, [estimate(each, says) for each in drawn]


def _of_pairs(cell: Cell) -> tuple[dict[str, float], list[Found]]:
    first = respondents.respondent(cell.accuracy, cell.m_ratio, ALTERNATIVES)
    second = respondents.respondent(cell.accuracy - 0.03, 0.75, ALTERNATIVES)
    says = stated(first, 0.25)
    alone = [_values(harmonised(respondents.population(each, 100_000), says)) for each in (first, second)]
    true = {
        f"difference_{name}": alone[0][shared.PREFIX + name] - alone[1][shared.PREFIX + name]
        for name in model_pairs.STATISTICS
    }
    drawn = zip(
        respondents.samples(first, cell.n, cell.samples, _seed(cell)),
        respondents.samples(second, cell.n, cell.samples, _seed(cell, "second")),
        strict=True,
    )
    return true, [difference(*each, says) for each in drawn]


def _of_yes_no(cell: Cell) -> tuple[dict[str, float], list[Found]]:
    from scipy.special import ndtri

    d = 2 * float(ndtri(cell.accuracy))
    meta, c = d * cell.m_ratio, 0.0 if cell.seed % 2 else 0.3
    below, above = criteria_around(cell.m_ratio, c, np.array([0.35, 0.8, 1.35]))
    observer = (d, cell.m_ratio, c, below, above)
    everything = observers.simulate(*observer, 4_000_000, seed=1, cells=1)
    truth = {
        "d": d, "c": c, "c_prime": c / d, "ln_beta": c * d, "meta_d": meta, "m_ratio": cell.m_ratio, "m_diff": meta - d,
        "log_m_ratio": float(np.log(cell.m_ratio)), "meta_d_rs1": meta, "meta_d_rs2": meta,
        "meta_information": float(meta_information(everything).meta_i_signed[0]),
    }  # fmt: skip
    found = []
    for number in range(cell.samples):
        table = observers.simulate(*observer, cell.n, seed=_seed(cell, number), cells=1)
        found.append(yes_no(np.vstack([table.n_s1, table.n_s2]).astype(np.int64)))
    return truth, found


def _of_scores(cell: Cell) -> tuple[dict[str, float], list[Found]]:
    of = (cell.accuracy, cell.m_ratio == 1.0, cell.n, cell.samples, _seed(cell))
    return coverage_scores.of_instances(*of)


def _of_tiers(cell: Cell) -> tuple[dict[str, float], list[Found]]:
    too_much = 0.0 if cell.seed % 2 else 0.5
    return coverage_scores.of_tiers(cell.accuracy, too_much, cell.n, cell.samples, _seed(cell))


def _of_yes(cell: Cell) -> tuple[dict[str, float], list[Found]]:
    d = 2 * cell.m_ratio  # 1 or 2
    of = (cell.accuracy, d, cell.n, cell.samples, _seed(cell))
    return coverage_scores.of_yes_and_no(*of, runs=cell.runs)


def _seed(cell: Cell, *more: object) -> int:
    return resampling.stream("coverage", *asdict(cell).values(), *more)


def _values(true: Found) -> dict[str, float]:
    return {name: each.value for name, each in true.items() if each.value is not None}


WAYS: Mapping[str, Callable[[Cell], tuple[dict[str, float], list[Found]]]] = {
    "plain": functools.partial(_of_tables, plain),
    "harmonised": functools.partial(_of_tables, harmonised),
    "weighted": functools.partial(_of_tables, weighted),
    "fitted": functools.partial(_of_tables, fitted),
    "pairs": _of_pairs,
    "yes_no": _of_yes_no,
    "scores": _of_scores,
    "tiers": _of_tiers,
    "yes": _of_yes,
    "runs": functools.partial(_of_tables, clustered),
    "weighted_runs": functools.partial(_of_tables, weighted),
    "yes_runs": _of_yes,
    "fitted_runs": functools.partial(_of_tables, refitted),
}
SAMPLES = {
    "plain": 1000, "weighted": 100, "harmonised": 75, "fitted": 75, "pairs": 75, "yes_no": 60, "scores": 75, "tiers": 25,
    "yes": 250, "runs": 30, "weighted_runs": 50, "yes_runs": 75, "fitted_runs": 50,
}  # fmt: skip
#: Where intervals rest on so many items, however they were answered: the numbers of items instead.
BY_ITEMS: Mapping[str, tuple[int, ...]] = {"scores": (12, 30, 60, *NUMBERS), "tiers": (60, 100, 300)}
RUNS = 3


def grid(ways: Iterable[str] = tuple(WAYS), scale: float = 1.0) -> list[Cell]:
    """Return the cells of the grid: calibrated respondents and such that say too much, of two M-ratios."""
    return [
        Cell(
            way, n, accuracy, ratio, max(2, round(SAMPLES[way] * scale)), seed,
            RUNS if way.endswith("runs") else 1,
        )
        for way in ways
        for n in BY_ITEMS.get(way, NUMBERS)
        for accuracy in ACCURACIES
        for place, ratio in enumerate(RATIOS)
        for seed in (2 * place + 1, 2 * place + 2)
    ]  # fmt: skip


def coverages(cells: list[Cell], workers: int) -> list[dict[str, object]]:
    """Return a row per measure, n, accuracy and number of runs, of all respondents together."""
    with ProcessPoolExecutor(workers) as pool:
        return rows(zip(cells, pool.map(measured, cells), strict=True))


def rows(parts: Iterable[tuple[Cell, Mapping[str, respondents.Coverage]]]) -> list[dict[str, object]]:
    """Return the rows of the table."""
    sums: dict[tuple[str, int, float, int, str], list[respondents.Coverage]] = {}
    for cell, found in parts:
        for name, each in found.items():
            share = len(coverage_scores.TIERS) if name in coverage_scores.PER_TIER else 1
            sums.setdefault((name, cell.n // share, cell.accuracy, cell.runs, cell.way), []).append(each)
    return [_row(*key, own) for key, own in sorted(sums.items())]


def _row(
    name: str, n: int, accuracy: float, runs: int, way: str, parts: list[respondents.Coverage]
) -> dict[str, object]:
    whole = respondents.Coverage(
        sum(each.held for each in parts),
        sum(each.samples for each in parts),
        sum(each.without for each in parts),
    )
    return {
        "measure": name, "n": n, "accuracy": accuracy, "runs": runs,
        "wrong": None if way in BY_ITEMS else round(n * runs * (1 - accuracy)),
        "coverage": whole.percent, "error": whole.error, "samples": whole.samples, "without": whole.without,
    }  # fmt: skip


# --- a cell after the other -------------------------------------------------------------------------------------------
def kept(file: Path) -> dict[Cell, dict[str, respondents.Coverage]]:
    """Return what was measured into a file."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    read = [json.loads(line) for line in lines]
    return {
        Cell(**each["cell"]): {name: respondents.Coverage(*found) for name, found in each["found"].items()}
        for each in read
    }


def main(arguments: list[str]) -> None:
    """Measure what a file lacks, or write the table of it."""
    if arguments[0] == "--write":
        there = kept(Path(arguments[1]))
        whole = [way for way in WAYS if all(cell in there for cell in grid((way,)))]
        print(f"whole: {', '.join(whole)}")
        write(rows((cell, there[cell]) for cell in grid(whole)))
        return
    file, there = Path(arguments[0]), kept(Path(arguments[0]))
    for cell in grid(arguments[1:] or tuple(WAYS)):
        if cell in there:
            continue
        found = {name: (each.held, each.samples, each.without) for name, each in measured(cell).items()}
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"cell": asdict(cell), "found": found}) + "\n")


COLUMNS = ("measure", "n", "accuracy", "runs", "wrong", "coverage", "error", "samples", "without")
HEAD = "# Written by tests/performance (METACOG_WRITE_COVERAGE=1 make bench, or coverage_cells.py --write): do not edit.\n"


def write(found: Iterable[Mapping[str, object]]) -> None:
    """Put the rows in the place of those of the same measures and numbers of runs."""
    path = measured_coverage.FILE
    made = [",".join(_written(row[name]) for name in COLUMNS) for row in found]
    new = {(line.split(",")[0], line.split(",")[3]) for line in made}
    lines = path.read_text("utf-8").splitlines()[2:] if path.exists() else []
    old = [line for line in lines if (line.split(",")[0], line.split(",")[3]) not in new]
    path.write_text(
        HEAD + ",".join(COLUMNS) + "\n" + "\n".join(sorted(old + made, key=_place)) + "\n", "utf-8"
    )


def _written(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _place(line: str) -> tuple[str, int, int, float]:
    name, n, accuracy, runs, *_ = line.split(",")
    return name, int(runs), int(n), float(accuracy)


if __name__ == "__main__":
    main(sys.argv[1:])
