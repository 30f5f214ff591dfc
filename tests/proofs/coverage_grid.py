"""The grid of coverage: answers × accuracy × runs, every measure of a board, and the difference of two models."""

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import ndtri

from metacog_pipeline.benchmark.groups import merged
from metacog_pipeline.benchmarks.signaldetection.measures import (
    CODED,
    Trials,
    confidence_estimates,
    meta_d_estimates,
    type1_estimates,
    with_cells,
)
from metacog_pipeline.scoring import harmonised as shared
from metacog_pipeline.scoring import model_pairs
from metacog_pipeline.scoring.schemas import HARMONISED
from metacog_pipeline.stats import (
    calibration,
    confidence_grid,
    confidence_measures,
    coverage,
    intervals,
    observers,
    power,
    resampling,
)
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.confidence_measures import trials
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.mafc import efficiency
from metacog_pipeline.stats.meta_information import meta_information
from metacog_pipeline.stats.multiple import holm
from metacog_pipeline.stats.resampling import Patterns
from tests.observers import criteria_around, simulate
from tests.proofs import coverage_scores, null_studies, respondents

NUMBERS, ACCURACIES, RUNS = (20, 60, 200, 1000), (0.5, 0.8, 0.94), (1, 3)
ALTERNATIVES, LEVELS, RATINGS = 4, 5, 4
N_DRAWS, MORE = 400, 4
COLUMNS = coverage.Cell._fields
REPEATED = 0.5  # how often a run gives the answer of the first run of its item
Found = Mapping[str, Estimate]


class Respondent(NamedTuple):
    """One way to answer in one cell of the grid."""

    n: int
    accuracy: float
    runs: int
    m_ratio: float
    overconfident: float

    def seed(self, *more: object) -> int:
        return resampling.stream("coverage", *self, *more)


def cell_of(n: int, accuracy: float, runs: int) -> list[Respondent]:
    """Return the four respondents of a cell."""
    return [Respondent(n, accuracy, runs, *how) for how in product((1.0, 0.5), (0.0, 0.5))]


# --- answers on levels of confidence ----------------------------------------------------------------------------------
def _levels(who: Respondent, m_ratio: float | None = None, accuracy: float | None = None) -> np.ndarray:
    return respondents.respondent(accuracy or who.accuracy, m_ratio or who.m_ratio, ALTERNATIVES)


def _stated(cells: np.ndarray, overconfident: float) -> np.ndarray:
    """Return what each level stands for, in whole per cent: how often it is right, moved towards 1."""
    right = cells[1::2] / (cells[0::2] + cells[1::2])
    return np.round(right + overconfident * (1 - right), 2)


def levels(patterns: Patterns, says: np.ndarray) -> Found:
    """Estimates of a benchmark that counts levels."""
    ones, right = np.ones(2 * LEVELS), np.tile([0.0, 1.0], LEVELS)
    level = np.repeat(np.arange(1.0, LEVELS + 1), 2)
    return {
        "accuracy": intervals.ratio(patterns, right, ones),
        "mean_confidence": intervals.ratio(patterns, np.repeat(says, 2), ones),
        "weighted_accuracy": intervals.ratio(patterns, level * right, level),
        "brier": calibration.brier_from_patterns(patterns, says),
        "ece": calibration.ece_estimate(patterns, says, resampling.patterns(patterns, N_DRAWS, 1)),
        "auroc2": auroc_from_patterns(patterns),
    }


def _answers(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return item and cell of every answer of items over cells."""
    item, cell = np.nonzero(counts)
    return np.repeat(item, counts[item, cell]), np.repeat(cell, counts[item, cell])


def harmonised(patterns: Patterns, says: np.ndarray) -> Found:
    """Estimates of the table that all benchmarks share, but for the fits."""
    item, cell = _answers(np.repeat(patterns.counts, patterns.weights, axis=0))
    drawn = trials(says[cell // 2], cell % 2, item, stream=1, n_draws=N_DRAWS)
    table = resampling.patterns_of(
        item, confidence_grid.cells_at(says[cell // 2], cell % 2), confidence_grid.CELLS
    )
    made = {
        **confidence_grid.measures(table, resampling.patterns(table, N_DRAWS, 1)),
        **confidence_measures.of_trials(drawn),
    }
    return {shared.PREFIX + name: each for name, each in made.items()}


def choices(patterns: Patterns, says: np.ndarray) -> Found:
    """Estimates of the efficiency of a choice among m."""
    counts = np.repeat(patterns.counts, patterns.weights, axis=0)
    item, cell = _answers(counts)
    several = 1 if len(item) > len(counts) else None
    m = np.full(len(cell), ALTERNATIVES)
    return efficiency.efficiency(efficiency.choices(cell // 2, cell % 2, m, item, several, LEVELS, N_DRAWS))


def answers(patterns: Patterns, says: np.ndarray, model: str) -> pl.DataFrame:
    """Return answers in the form that all benchmarks share."""
    counts = np.repeat(patterns.counts, patterns.weights, axis=0)
    if model == "a":
        counts = np.random.default_rng(len(counts)).permutation(counts)
    item, cells = _answers(counts)
    items = [f"i{place}" for place in item]
    named = {"benchmark": "b", "dataset": "d", "condition": "c", "model": model, "source": "simulated"}
    own = {
        "correct": (cells % 2).astype(float),
        "confidence": says[cells // 2],
        "item_id": items,
        "cluster": items,
    }
    same = {"run": 1, "n_alternatives": ALTERNATIVES, "response": "", **named}
    frame = pl.DataFrame(own).with_columns(**{name: pl.lit(value) for name, value in same.items()})
    return frame.select(pl.col(name).cast(kind) for name, kind in HARMONISED.items())


def _of_tables(estimate: Callable[[Patterns, np.ndarray], Found], who: Respondent, samples: int):
    """Return the true values of estimates, and the estimates of samples; of the population without resamples."""
    cells = _levels(who)
    says = _stated(cells, who.overconfident)
    truth = _values(estimate(respondents.population(cells, 100_000), says))
    drawn = respondents.samples(cells, who.n, samples, who.seed(), runs=who.runs, repeated=REPEATED)
    return truth, [estimate(each, says) for each in drawn]


def of_pairs(who: Respondent, samples: int):
    """Return the true differences of two models that answered the same items, and the estimates of samples."""
    both = _levels(who), _levels(who, 0.75, who.accuracy - 0.03)
    says = _stated(both[0], who.overconfident)
    alone = [_values(levels(respondents.population(each, 100_000), says)) for each in both]
    bins = [_values(harmonised_ece(respondents.population(each, 100_000), says)) for each in both]
    truth = {f"difference_{name}": alone[0][name] - alone[1][name] for name in alone[0]} | {
        "difference_ece": bins[0]["ece"] - bins[1]["ece"]
    }
    drawn = zip(
        *(
            respondents.samples(each, who.n, samples, who.seed(side), runs=who.runs, repeated=REPEATED)
            for side, each in enumerate(both)
        ),
        strict=True,
    )
    known = {f"difference_{name}" for name in model_pairs.STATISTICS}
    return {name: value for name, value in truth.items() if name in known}, [
        _difference(one, two, says) for one, two in drawn
    ]


def harmonised_ece(patterns: Patterns, says: np.ndarray) -> Found:
    """Return the error over ten equal bins, which two models are compared in."""
    drawn = resampling.patterns(patterns, 2, 1)
    return {"ece": calibration.ece_estimate(patterns, says, drawn, 10, "equal")}


def _difference(first: Patterns, second: Patterns, says: np.ndarray) -> Found:
    frame = pl.concat([answers(first, says, "a"), answers(second, says, "b")])
    rows = model_pairs.between_models(frame, seed=1, n_boot=N_DRAWS)
    return {
        f"difference_{row.measure.removeprefix(shared.PREFIX)}": Estimate(
            row.value, row.low, row.high, row.n, "paired", row.status
        )
        for row in rows
    }


# --- yes and no with ratings ------------------------------------------------------------------------------------------
def _observer(who: Respondent) -> tuple[float, float, tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Return d and c of an observer of yes/no signal detection, its criteria, and what it does to either stimulus."""
    d, c = 2 * float(ndtri(who.accuracy)), 0.3 if who.overconfident else 0.0
    criteria = criteria_around(who.m_ratio, c, np.array([0.35, 0.8, 1.35]))
    expected = observers.expected_counts(d, who.m_ratio, c, *criteria, 2)
    return d, c, criteria, np.vstack([expected.n_s1, expected.n_s2]) / 2


def of_yes_no(who: Respondent, samples: int):
    """Return the true values of confidence of such an observer, and the estimates of samples."""
    d, c, criteria, shares = _observer(who)
    whole = simulate(d, who.m_ratio, c, *criteria, 4_000_000, seed=1, cells=1)
    truth = {"meta_d": d * who.m_ratio, "meta_information": float(meta_information(whole).meta_i_signed[0])}
    if d:
        truth["m_ratio"] = who.m_ratio
    return truth, [_yes_no(each) for each in _drawn(shares, who, samples)]


def of_type1(who: Respondent, samples: int):
    """Return the true sensitivity and criterion of such an observer, and the estimates of samples."""
    d, c, _, shares = _observer(who)
    truth = {"d": d, "c": c, **({"c_prime": c / d} if d else {})}
    return truth, [type1_estimates(each) for each in _drawn(shares, who, samples)]


def _drawn(shares: np.ndarray, who: Respondent, samples: int) -> Iterator[Trials]:
    rng = resampling.generator(who.seed())
    for _ in range(samples):
        yield _trials(shares / shares.sum(axis=1, keepdims=True), who, rng)


def _trials(shares: np.ndarray, who: Respondent, rng: np.random.Generator) -> Trials:
    """Return one sample: items of either stimulus, and runs that repeat the first answer half of the time."""
    stimulus = (rng.random(who.n) < 0.5).astype(int)
    upto = shares.cumsum(axis=1)[:, :-1]
    drawn = (rng.random((who.n, who.runs, 1)) > upto[stimulus][:, None, :]).sum(axis=2)
    drawn = np.where(rng.random(drawn.shape) < REPEATED, drawn[:, :1], drawn)
    said, place = (drawn >= RATINGS).ravel(), drawn.ravel()
    columns = {
        "stimulus": np.repeat(stimulus, who.runs),
        "response": said.astype(int),
        "confidence": np.where(said, place - RATINGS + 1, RATINGS - place),
    }
    rows, item = with_cells(pl.DataFrame(columns), RATINGS), np.repeat(np.arange(who.n), who.runs)
    return Trials(RATINGS, merged(rows, CODED, item, who.n), 1)


def _yes_no(group: Trials) -> Found:
    information = confidence_estimates(group)["meta_information"]
    return {**meta_d_estimates(group), "meta_information": information}


Way = Callable[[Respondent, int], tuple[dict[str, float], list[Found]]]
#: How to measure, and how many samples of each of the four respondents of a cell.
WAYS: Mapping[str, tuple[Way, int]] = {
    "levels": (partial(_of_tables, levels), 60),
    "harmonised": (partial(_of_tables, harmonised), 25),
    "choices": (partial(_of_tables, choices), 25),
    "pairs": (of_pairs, 40),
    "type1": (of_type1, 100),
    "yes_no": (of_yes_no, 25),
    "scores": (coverage_scores.of_instances, 50),
    "tiers": (coverage_scores.of_tiers, 50),
    "yes": (coverage_scores.of_yes_and_no, 100),
}
#: Ways whose measures have no runs, or the same with any number of them.
WITHOUT_RUNS = ("scores", "tiers")


def _values(true: Found) -> dict[str, float]:
    return {name: each.value for name, each in true.items() if each.value is not None}


def measured(way: str, n: int, accuracy: float, runs: int, scale: float = 1.0) -> list[dict[str, object]]:
    """Return a row per measure of one cell, over its respondents."""
    sums: dict[str, list[respondents.Coverage]] = {}
    compute, samples = WAYS[way]
    for who in cell_of(n, accuracy, runs):
        truth, found = compute(who, max(2, round(samples * scale)))
        for name, value in truth.items():
            sums.setdefault(name, []).append(respondents.covered(value, [each.get(name) for each in found]))
    return [_row(name, n, accuracy, runs, own) for name, own in sums.items()]


def _row(
    name: str, n: int, accuracy: float, runs: int, parts: list[respondents.Coverage]
) -> dict[str, object]:
    held, samples, without = (
        sum(getattr(each, of) for each in parts) for of in ("held", "samples", "without")
    )
    rarer = n if name in coverage.BY_ITEMS else round(n * runs * min(accuracy, 1 - accuracy))
    percent = respondents.Coverage(held, samples, without).percent
    return {
        "measure": name, "n": n, "accuracy": accuracy, "runs": runs, "rarer": rarer,
        "coverage": percent, "samples": samples, "without": without,
    }  # fmt: skip


def jobs() -> list[tuple[str, int, float, int]]:
    """Return the cells of every way, the long ones first."""
    every = product(WAYS, NUMBERS, ACCURACIES, RUNS)
    return [job for job in every if not (job[0] in WITHOUT_RUNS and job[3] > 1)][::-1]


def _of(job: tuple[str, int, float, int]) -> list[dict[str, object]]:
    """Return the rows of one cell; what lies outside is measured with more samples before it is believed."""
    # Of 100 samples one cell in a hundred lies outside by chance; all rows with fewer answers would be marked for it.
    found, n = measured(*job), job[1]
    doubted = {row["measure"] for row in found if n > coverage.FEWEST and not _inside(row)}
    again = measured(*job, scale=MORE) if doubted else []
    return [
        *(row for row in found if row["measure"] not in doubted),
        *(row for row in again if row["measure"] in doubted),
    ]


def _inside(row: Mapping[str, object]) -> bool:
    return coverage.Cell(*(row[name] or 0 for name in COLUMNS)).inside  # type: ignore[arg-type]


def rows(workers: int | None = None) -> list[dict[str, object]]:
    """Return the whole grid."""
    with ProcessPoolExecutor(workers or os.cpu_count() or 1) as pool:
        return [row for found in pool.map(_of, jobs()) for row in found]


def write(found: Iterable[Mapping[str, object]]) -> None:
    """Write the grid with the commit it was made from."""
    root = Path(__file__).parents[2]
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=root, text=True).strip()
    head = f"# Made by METACOG_WRITE_COVERAGE=1 pytest tests/proofs/test_coverage.py from commit {commit}\n"
    ordered = sorted(found, key=lambda row: (row["measure"], row["runs"], row["n"], row["accuracy"]))
    lines = (",".join(_written(row[name]) for name in COLUMNS) for row in ordered)
    coverage.FILE.write_text(head + ",".join(COLUMNS) + "\n" + "\n".join(lines) + "\n", "utf-8")


def _written(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


# --- rates of tests ---------------------------------------------------------------------------------------------------
#: Studies of 20 models without a difference, by benchmark; and of two models, for the table of all benchmarks.
STUDIES = {"metamedqa": 100, "medley": 40, "selfknowledge": 30, "metacogbench": 30, "signaldetection": 20}
PAIRS = 400
PROMISED, EXPERIMENTS = 0.8, 2000


def rates(folder: Path) -> list[dict[str, object]]:
    """Return how many of 100 studies without a difference find none, and the power where 80 % were promised."""
    found = [_rate("family_wise:compare", *_compared())]
    for name, studies in STUDIES.items():
        hits, _ = null_studies.share(null_studies.makers(folder)[name], studies)
        found.append(_rate(f"family_wise:{name}", studies - hits, studies))
    needed = power.approximate_trials(1.5, 0.8, 0.5, power=PROMISED)
    assert needed is not None
    planned = simulated_power(1.5, 0.8, 0.5, needed, EXPERIMENTS, seed=2)
    return [*found, _rate("power:mratio", planned, EXPERIMENTS)]


def _rate(name: str, held: int, samples: int) -> dict[str, object]:
    row = {"n": 0, "accuracy": 0.0, "runs": 1, "rarer": 0, "without": 0}
    return {**row, "measure": name, "coverage": 100 * held / samples, "samples": samples}


def _compared() -> tuple[int, int]:
    """Return in how many studies of two equal models no measure differs after Holm's correction."""
    who = Respondent(200, 0.8, 1, 1.0, 0.0)
    cells = _levels(who)
    says = _stated(cells, who.overconfident)
    drawn = (respondents.samples(cells, who.n, PAIRS, who.seed(side)) for side in range(2))
    frames = (
        pl.concat([answers(one, says, "a"), answers(two, says, "b")]) for one, two in zip(*drawn, strict=True)
    )
    silent = 0
    for frame in frames:
        rows = model_pairs.between_models(frame, seed=1, n_boot=1000)
        silent += not any(p is not None and p < 0.05 for p in holm([row.p for row in rows]))
    return silent, PAIRS


def simulated_power(
    d: float, m_ratio: float, delta: float, trials_each: int, experiments: int, seed: int, ratings: int = 5
) -> int:
    """Return how many of ``experiments`` with so many trials for each observer reject; one without an estimate does not."""
    values, errors = [], []
    for which, ratio in enumerate((m_ratio, m_ratio + delta)):
        stream = resampling.stream("power", seed, which)
        criteria = power.criteria(d, ratio, ratings)
        table = simulate(d, ratio, 0.0, *criteria, trials_each, stream, cells=experiments)
        value, error = power.measured(table)
        values.append(value)
        errors.append(error)
    z = (values[1] - values[0]) / np.sqrt(errors[0] ** 2 + errors[1] ** 2)
    return int((np.abs(z[np.isfinite(z)]) > -ndtri(0.025)).sum())
