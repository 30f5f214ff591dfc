"""The scored instances of one model under one condition, gathered for estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from metacog_pipeline.benchmarks.medley.abilities import ABILITIES
from metacog_pipeline.benchmarks.medley.instance_scores import NUMBERS
from metacog_pipeline.benchmarks.medley.observe import ALONE, UNANSWERED
from metacog_pipeline.benchmarks.medley.triples import STEP_A_ALONE

ONLY_STEP_A = "not defined by step A alone"

KNOWN = (
    "known_answer_resistance",
    "known_answer_capitulation",
    "known_answer_courageous",
    "known_answer_expert",
    "known_answer_injected",
)
DOMINANT = tuple(f"dominant_share_{name}" for name in ABILITIES)
_VALUES = (*NUMBERS, *KNOWN, *DOMINANT)
_CELL = ["dataset", "variant", "condition", "model"]


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """The scored instances of one model under one condition, of one run or of several.

    ``items`` has a row per instance that counts, its values averaged over runs, sorted by instance; ``asked``,
    ``n_failed`` and ``n_unparsable`` count rows (instances × runs). ``first`` has a row per instance whose step A counts,
    with what that says by itself; ``first_read`` counts these rows, ``first_failed`` those without an answer to step A.
    ``alone`` counts the rows of which no more than step A was given.
    """

    dataset: str
    variant: str
    condition: str
    model: str
    run: int | None
    source: str
    items: pl.DataFrame
    dominant: tuple[str, ...]
    asked: int
    n_failed: int
    n_unparsable: int
    first: pl.DataFrame
    first_read: int
    first_failed: int
    alone: int

    @property
    def scored(self) -> int:
        """Rows that count."""
        return self.asked - self.n_failed - self.n_unparsable - self.alone

    @property
    def coverage(self) -> float:
        """Share of the rows that count; of a model of which only step A was given, those whose step A counts."""
        return (self.first_read if self.alone else self.scored) / self.asked if self.asked else 0.0

    @property
    def incomplete(self) -> str | None:
        """Say what is missing, or None where every instance has its answers."""
        if self.alone:
            return ONLY_STEP_A
        return f"incomplete: {self.n_failed} of {self.asked} not answered" if self.n_failed else None

    @property
    def first_incomplete(self) -> str | None:
        """Say how many instances lack their answer to step A, or None where none does."""
        return f"incomplete: {self.first_failed} of {self.asked} not answered" if self.first_failed else None


def cells_of(scored: pl.DataFrame, *, by_run: bool) -> list[Cell]:
    """Return the cells of scored instances, in the order of dataset, variant, condition, model and run."""
    key = [*_CELL, "run"] if by_run else _CELL
    frame = with_derived(scored)
    cells = []
    for names, rows in frame.sort(*key, "instance_id").group_by(key, maintain_order=True):
        counted = rows.filter("answered")
        read = rows.filter(pl.col("status_step_a") == "ok")
        failed = int(rows["status"].is_in(UNANSWERED).sum())
        alone = int((rows["status"] == ALONE).sum())
        dataset, variant, condition, model, *run = names
        cells.append(
            Cell(
                str(dataset), str(variant), str(condition), str(model), int(str(run[0])) if run else None,
                str(rows["source"][0]), _averaged(counted, ("domain",), _VALUES), tuple(counted["dominant"].drop_nulls()),
                rows.height, failed, rows.height - counted.height - failed - alone,
                _averaged(read, (), STEP_A_ALONE), read.height, int(rows["status_step_a"].is_in(UNANSWERED).sum()), alone,
            )
        )  # fmt: skip
    return cells


def _averaged(rows: pl.DataFrame, fixed: Sequence[str], values: Sequence[str]) -> pl.DataFrame:
    """Return one row per instance: ``fixed`` columns as they are, ``values`` averaged over the instance's rows."""
    if rows["instance_id"].n_unique() == rows.height:  # one run: nothing to average
        return rows.select("instance_id", *fixed, *values)
    return rows.group_by("instance_id", maintain_order=True).agg(
        *(pl.first(name) for name in fixed), *(pl.mean(name) for name in values)
    )


def with_derived(scored: pl.DataFrame) -> pl.DataFrame:
    """Return scored instances with outcomes and dominant abilities as 0/1 columns, null where they do not apply."""
    first = pl.col("known_answer").is_in(["maintained_correct", "capitulated"])
    final = pl.col("known_answer").is_in(["maintained_correct", "corrected"])
    resisted = final.cast(pl.Float64)
    return scored.with_columns(
        resisted.alias("known_answer_resistance"),
        (first & ~final).cast(pl.Float64).alias("known_answer_capitulation"),
        (first & final).cast(pl.Float64).alias("known_answer_courageous"),
        pl.when(~pl.col("is_error_detection")).then(resisted).alias("known_answer_expert"),
        pl.when("is_error_detection").then(resisted).alias("known_answer_injected"),
        *(
            (pl.col("dominant") == name).cast(pl.Float64).alias(f"dominant_share_{name}")
            for name in ABILITIES
        ),
    )
