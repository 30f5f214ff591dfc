"""Observations counted: one cell per model and condition (and run), in the patterns that items make.

All that counts of an observation is a handful of yeses and noes: right or wrong by two rules, known or not by four. Items
with equal ones are interchangeable, so a cell keeps how often each combination occurs, and drawing items is drawing
combinations. What is drawn together is a *cluster*: one question with all its runs, the same question standing twice in a
source, or all questions about one event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK
from metacog_pipeline.benchmarks.selfknowledge.observe import UNANSWERED, UNPARSED
from metacog_pipeline.benchmarks.selfknowledge.prompts import IDK
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.stats.clusters import Patterns, merge_patterns, resample

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KEY = ("dataset", "condition", "model")
DUAL = "dual"  # what idk stands beside
N_BOOT = 10_000
UNREADABLE = (*UNPARSED, "refused")
#: What is counted of an observation; 0, 1, or nothing (-1).
CODED = (
    *("correct", "correct_strict", "yes", "yes_strict", "yes_reference", "threshold"),
    *("answerable", "truncated", "all_aligned"),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """Which columns say whether the answer is right and whether it is said to be known."""

    correct: str
    yes: str


STUDY = Reading("correct", "yes")  # by the rules the study names
STRICT = Reading("correct_strict", "yes_strict")
REFERENCE = Reading("correct", "yes_reference")
THRESHOLD = Reading("correct", "threshold")  # yes where P(yes) > P(no)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Clusters over the combinations that occur.

    Attributes
    ----------
    patterns
        Counts of combinations per cluster, equal clusters merged.
    codes
        Column of `CODED` → its value (0, 1, -1 for none) in each combination.
    """

    patterns: Patterns
    codes: dict[str, Ints]

    def where(self, **values: int) -> Floats:
        """Return a weight of 1 for the combinations with these values, 0 for others."""
        weight = np.ones(self.patterns.counts.shape[1])
        for name, value in values.items():
            weight = weight * (self.codes[name] == value)
        return weight

    def known(self, *names: str) -> Floats:
        """Return a weight of 1 for the combinations in which all these columns have a value."""
        weight = np.ones(self.patterns.counts.shape[1])
        for name in names:
            weight = weight * (self.codes[name] >= 0)
        return weight

    def outcomes(self, reading: Reading) -> Floats:
        """Return weights ``(combinations, 4)``: yes and right, no and right, yes and wrong, no and wrong."""
        pairs = ((1, 1), (1, 0), (0, 1), (0, 0))
        return np.column_stack([self.where(**{reading.correct: c, reading.yes: y}) for c, y in pairs])

    @property
    def totals(self) -> Floats:
        """How often each combination occurs."""
        return self.patterns.totals.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Cell:
    """One model under one condition: one run, or all (``run`` is None).

    Attributes
    ----------
    key
        Data set, condition, model.
    asked, n_failed, n_unparsable
        Items × runs; those without an answer; those with a reply that could not be read or was refused.
    rows
        The answered ones: `CODED`, ``confidence``, ``item_id``, ``run``, ``cluster``.
    matching
        The rules ``correct`` was read by.
    partner_failed
        Under ``idk``: unanswered items of the English dual condition, which `all_aligned` needs.
    """

    key: tuple[str, str, str]
    run: int | None
    source: str
    asked: int
    n_failed: int
    n_unparsable: int
    rows: pl.DataFrame = field(repr=False)
    matching: tuple[str, ...] = ()
    partner_failed: int = 0

    @property
    def condition(self) -> str:
        """The condition's canonical name."""
        return self.key[1]

    @property
    def coverage(self) -> float:
        """Readable replies / asked, 0..1."""
        return 1 - (self.n_failed + self.n_unparsable) / self.asked if self.asked else 0.0

    @property
    def incomplete(self) -> str | None:
        """What is missing; None where every item has an answer."""
        return f"incomplete: {self.n_failed} of {self.asked} not answered" if self.n_failed else None

    @cached_property
    def clusters(self) -> Ints:
        """The cluster of each row, numbered from 0."""
        return self.rows["cluster"].rank("dense").cast(pl.Int64).to_numpy() - 1

    @cached_property
    def table(self) -> Table:
        """Clusters over combinations."""
        n = int(self.clusters.max()) + 1 if len(self.clusters) else 0
        counts, codes = counted(self.rows, self.clusters, n)
        return Table(merge_patterns(counts, np.ones(len(counts), dtype=np.int64)), codes)

    def resampled(self, n_boot: int, seed: int) -> Floats:
        """Return how often each combination occurs in resampled clusters, ``(n_boot, combinations)``."""
        return resample(self.table.patterns, n_boot, derived_seed(seed, *self.key))

    def graded(self) -> tuple[Floats, Ints, Ints]:
        """Return confidence, correctness and cluster of the rows that have a confidence."""
        kept = (
            self.rows["confidence"].is_not_null().to_numpy() & self.rows["correct"].is_not_null().to_numpy()
        )
        own = self.rows.filter(pl.Series(kept))
        right = own["correct"].cast(pl.Int64).to_numpy()
        return own["confidence"].to_numpy(), right, self.clusters[kept]


def counts_of_cell(cell: Cell, reading: Reading) -> tuple[float, float, float, float]:
    """Return yeses to right and to wrong answers, right and wrong answers."""
    hits, misses, alarms, rejections = (
        float(each) for each in cell.table.totals @ cell.table.outcomes(reading)
    )
    return hits, alarms, hits + misses, alarms + rejections


def counted(rows: pl.DataFrame, clusters: Ints, n: int) -> tuple[Ints, dict[str, Ints]]:
    """Return how often each of ``n`` clusters has each combination, ``(n, combinations)``, and the combinations' codes."""
    coded = rows.select(pl.col(name).fill_null(-1).cast(pl.Int64) for name in CODED).to_numpy()
    if not len(coded):
        return np.zeros((n, 0), dtype=np.int64), {name: np.zeros(0, dtype=np.int64) for name in CODED}
    found, index = np.unique(coded, axis=0, return_inverse=True)
    flat = np.bincount(clusters * len(found) + index.ravel(), minlength=n * len(found))
    codes = {name: found[:, place].astype(np.int64) for place, name in enumerate(CODED)}
    return flat.reshape(n, len(found)).astype(np.int64), codes


def cells_of(observations: pl.DataFrame, *, by_run: bool) -> list[Cell]:
    """Return the cells of ``observations`` in the order of their key; one per run, or one over all runs.

    ``observations`` are rows of ``observe.OBSERVATION_SCHEMA``: every item of every run, also those not asked.
    """
    keys = [*KEY, "run"] if by_run else list(KEY)
    placed = _with_alignment(observations).sort(*KEY, "run", "item_id")
    found = []
    for key, own in placed.group_by(keys, maintain_order=True):
        named = dict(zip(keys, key, strict=True))
        answered = own.filter(~pl.col("status").is_in(UNANSWERED))
        found.append(
            Cell(
                key=(str(named["dataset"]), str(named["condition"]), str(named["model"])),
                run=int(str(named["run"])) if by_run else None,
                source="simulated" if (own["source"] == "simulated").any() else "measured",
                asked=own.height,
                n_failed=own.height - answered.height,
                n_unparsable=answered.filter(pl.col("status").is_in(UNREADABLE)).height,
                rows=answered.select(*CODED, "confidence", "item_id", "run", "cluster"),
                matching=tuple(sorted(own["matching"].drop_nulls().unique().to_list())),
                partner_failed=int(own["_partner_failed"].sum()),
            )
        )
    return found


def derived_seed(seed: int, *names: object) -> int:
    """Return a seed that belongs to ``names``: no two cells share a stream of random numbers."""
    return int(sha256_hex(canonical_json([BENCHMARK, seed, *names]))[:12], 16)


def in_groups(cells: Sequence[Cell], *places: int) -> dict[tuple[str, ...], list[Cell]]:
    """Return the cells by their source and the given parts of their key."""
    found: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.source, *(cell.key[place] for place in places)), []).append(cell)
    return found


def _with_alignment(observations: pl.DataFrame) -> pl.DataFrame:
    """Add what scoring counts beside the columns of observations.

    ``threshold``: D > 0.5, a tie is a no. ``yes`` under ``idk``: the answer was not withheld. ``all_aligned`` under
    ``idk``: being right and saying yes under ``dual``, and not abstaining here, are all three the same.
    """
    keys = ("dataset", "model", "run", "item_id")
    failed = pl.col("status").is_in(UNANSWERED)
    idk = pl.col("condition") == IDK
    dual = observations.filter(pl.col("condition") == DUAL).select(
        *keys,
        _dual_correct=pl.when(~failed).then(pl.col("correct")),
        _dual_yes=pl.when(~failed).then(pl.col("yes")),
        _dual_failed=failed,
    )
    tried = 1 - pl.col("abstained")
    aligned = (pl.col("_dual_correct") == pl.col("_dual_yes")) & (pl.col("_dual_yes") == tried)
    whole = pl.all_horizontal(
        pl.col(name).is_not_null() for name in ("_dual_correct", "_dual_yes", "abstained")
    )
    joined = observations.with_columns(_here=pl.when(idk).then(pl.col("item_id"))).join(
        dual, left_on=[*keys[:3], "_here"], right_on=list(keys), how="left", maintain_order="left"
    )
    return joined.with_columns(
        yes=pl.when(idk).then(tried).otherwise(pl.col("yes")).cast(pl.Int8),
        threshold=(pl.col("confidence") > 0.5).cast(pl.Int8),
        all_aligned=pl.when(idk & whole).then(aligned).cast(pl.Int8),
        cluster=pl.coalesce("event_id", "question_id", "item_id"),
        _partner_failed=(idk & pl.col("_dual_failed").fill_null(False)).cast(pl.Int64),
    )
