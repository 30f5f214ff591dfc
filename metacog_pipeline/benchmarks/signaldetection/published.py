"""The published results refitted from the published counts: what follows from them, and what does not.

"Measuring the metacognition of AI" (arXiv 2603.29693) prints posterior means of d′, meta-d′ and M-ratio of nine cells
(table S1), and criteria of 27 cells with 95 % half widths from raw rates (table S2). Here every number is computed anew
from the counts that were published with it: maximum likelihood on raw and on padded counts, the Bayesian model run until
it converges, the criteria with all their contrasts. Nothing expected is written down; notes follow from the figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Published, Stage, Unit
from metacog_pipeline.benchmarks.signaldetection import refitted
from metacog_pipeline.benchmarks.signaldetection.contrasts import efficiency
from metacog_pipeline.benchmarks.signaldetection.contrasts.criteria import RISKS, ROPE, contrast_rows
from metacog_pipeline.benchmarks.signaldetection.grid import number
from metacog_pipeline.benchmarks.signaldetection.headline_claims import ledger
from metacog_pipeline.benchmarks.signaldetection.measures.bayes import Fitted, fitted_counts, folder_of
from metacog_pipeline.benchmarks.signaldetection.measures.posteriors import MODEL_VERSION
from metacog_pipeline.benchmarks.signaldetection.published_notes import TOLERANCE, cell_notes, printed_note
from metacog_pipeline.benchmarks.signaldetection.refitted import Claim, Refit
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring.schemas import PUBLISHED_CLAIM, PUBLISHED_VALUE
from metacog_pipeline.stats.counts import Counts, counts, padded
from metacog_pipeline.stats.decisions import criterion_shift
from metacog_pipeline.stats.metad import MetaD, fit_metad
from metacog_pipeline.stats.type1 import Type1, type1_from_table

DATASET = SOURCE = "published"
KEEP = 16_000  # draws of each cell: the ends of an interval of a difference are then good to 0.005
FILES = ("counts.csv", "criterion_counts.csv", "table_s1.csv", "table_s2.csv")
BAYES, RAW_RATES = "bayes", "raw rates"  # the methods of the paper; ml_raw and ml_padded stand beside
_PRINTED = {"d": "dprime", "meta_d": "meta_d", "m_ratio": "M_ratio"}
_POSTERIOR = {"d": "d1", "meta_d": "meta_d", "m_ratio": "m_ratio"}
_CONDITION = {"S1": "risk_s1", "None": "risk_none", "S2": "risk_s2"}


def folder() -> Path:
    """Return where the published files are."""
    return shipped("data", "published", "signaldetection")


def refit(benchmark: Benchmark[Any, Any, Any]) -> Refit:
    """Return the refit of the shipped files: as the release has it, or made anew where anything behind it is another."""
    digest = release(benchmark)
    found = refitted.read(folder(), digest)
    return refit_tables(folder(), refitted.SEED, folder_of(benchmark)) if found is None else found


def release(benchmark: Benchmark[Any, Any, Any]) -> str:
    """Return the digest of everything that the refit of the shipped files depends on."""
    versions = (benchmark.versions[Stage.SCORING], MODEL_VERSION)
    return refitted.made_from(folder(), FILES, versions)


def refit_tables(data: Path, seed: int, posteriors: Path) -> Refit:
    """Return the refit of the four files of ``data``, posteriors kept in ``posteriors``."""
    given = {name: pl.read_csv(data / name, glob=False) for name in FILES}
    fits, sensitivity = _sensitivity(given["counts.csv"], given["table_s1.csv"], seed, posteriors)
    criteria = _criteria(given["criterion_counts.csv"], given["table_s2.csv"])
    families = (efficiency.optimality, efficiency.between_models, efficiency.between_tasks)
    tests = [row for family in families for row in family(fits, seed)]
    return Refit([*sensitivity, *criteria], [*shifts(given["criterion_counts.csv"]), *tests])


def values(benchmark: Benchmark[Any, Any, Any]) -> pl.DataFrame:
    """Return the printed numbers as they stand in the paper, with the trials behind them."""
    given = {name: pl.read_csv(folder() / name, glob=False) for name in (*FILES, "notes.csv")}
    risk = pl.col("risk_configuration").replace_strict(_CONDITION)
    rated, of_cell = pl.lit("confidence"), ["task", "model", "condition"]
    first = given["table_s1.csv"].rename({column: quantity for quantity, column in _PRINTED.items()})
    sensitivity = first.with_columns(place=pl.lit("table S1"), condition=rated).unpivot(
        list(_PRINTED), index=["place", *of_cell], variable_name="measure", value_name="value"
    )
    criteria = given["table_s2.csv"].select(
        "task", "model", pl.col("ci_half").alias("half"), place=pl.lit("table S2"), condition=risk,
        measure=pl.lit("c"), value="c",
    )  # fmt: skip
    decisions = given["criterion_counts.csv"].select("task", "model", condition=risk, n="total")
    trials = given["counts.csv"].select("task", "model", condition=rated, n=pl.col("n_S1") + pl.col("n_S2"))
    notes = given["notes.csv"].rename({"table": "place"})
    posterior = pl.col("place") == "table S1"
    return (
        pl.concat([sensitivity, criteria], how="diagonal")
        .join(pl.concat([trials, decisions]), on=of_cell, how="left")
        .join(notes, on=["place", *of_cell, "measure"], how="left")
        .with_columns(
            benchmark=pl.lit(benchmark.name),
            dataset=pl.lit(DATASET),
            condition=pl.col("task") + " " + pl.col("condition"),  # as boards show it
            measure=pl.when(posterior).then(pl.col("measure") + "_bayes").otherwise("measure"),
            low=(pl.col("value") - pl.col("half")).round(6),
            high=(pl.col("value") + pl.col("half")).round(6),
            sd=pl.lit(None, pl.Float64),
            unit=pl.when(measure="m_ratio").then(pl.lit(Unit.RATIO.value)).otherwise(pl.lit(Unit.SD.value)),
        )
        .select(pl.col(name).cast(kind) for name, kind in PUBLISHED_VALUE.items())
    )


def claims(benchmark: Benchmark[Any, Any, Any]) -> pl.DataFrame:
    """Return every printed number beside what the counts published with it give, and the ledger of headline claims."""
    given = pl.read_csv(folder() / "notes.csv", glob=False)
    remarks = {tuple(row[:-1]): row[-1] for row in given.iter_rows()}

    def note(each: Claim) -> str | None:
        cell = (each.place, each.task, each.model, each.condition, each.quantity)
        return each.note or (remarks.get(cell) if each.method in (BAYES, RAW_RATES) else None)

    found = refit(benchmark)
    rows = [
        {
            **{name: getattr(each, name) for name in PUBLISHED_CLAIM if hasattr(each, name)},
            "benchmark": benchmark.name,
            "subject": f"{each.model}, task {each.task}, {each.condition}",
            "method": "as the paper" if each.method in (BAYES, RAW_RATES) else each.method,
            "tolerance": TOLERANCE[each.quantity],
            "note": note(each),
        }
        for each in found.claims
    ]
    checked = pl.DataFrame(rows, schema=PUBLISHED_CLAIM)
    return pl.concat([checked, ledger(found)], how="diagonal_relaxed")


def contrasts(benchmark: Benchmark[Any, Any, Any]) -> Sequence[Comparison]:
    """Return the tests between the published cells; their items are not known, so none of them is paired."""
    return refit(benchmark).contrasts


PUBLISHED = Published(values, claims, contrasts)


# --- table S1 ---------------------------------------------------------------------------------------------------------
def _sensitivity(
    cells: pl.DataFrame, printed: pl.DataFrame, seed: int, posteriors: Path
) -> tuple[list[Fitted], list[Claim]]:
    raw = counts(_vectors(cells["nR_S1"]), _vectors(cells["nR_S2"]))
    by_ml = {"ml_raw": fit_metad(raw), "ml_padded": fit_metad(padded(raw))}
    values = {(row["task"], row["model"]): row for row in printed.iter_rows(named=True)}
    named = list(cells.select("task", "model").iter_rows())
    both = [((DATASET, SOURCE, *names), raw.take(place)) for place, names in enumerate(named)]
    fits = fitted_counts(both, seed, posteriors, KEEP)
    found: list[Claim] = []
    why = {method: fitted.withheld for method, fitted in by_ml.items()}
    for place, (names, fit) in enumerate(zip(named, fits, strict=True)):
        row = values.get(names, {})
        stated = {quantity: row.get(column) for quantity, column in _PRINTED.items()}
        for method, fitted in by_ml.items():
            note = _empty_note(raw.take(place)) if method == "ml_raw" else None
            cell = replace(_cell(fit), note=note, status=why[method][place] or "ok")
            found += _by_likelihood(fitted, place, method, stated, cell)
        found += _by_posterior(fit, stated, float(by_ml["ml_raw"].d1[place]))
    return fits, found


def _cell(fit: Fitted) -> Claim:
    return Claim(
        "table S1", fit.task, fit.model, "confidence", "", BAYES, None, None, None, None, fit.n, None, fit.why or "ok"
    )  # fmt: skip


def _vectors(column: pl.Series) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array([[float(part) for part in text.split(";")] for text in column])


def _empty_note(cell: Counts) -> str | None:
    both = np.concatenate([cell.n_s1[0], cell.n_s2[0]])
    empty = int((both == 0).sum())
    return f"{empty} of {len(both)} counts are 0" if empty else None


def _by_likelihood(
    found: MetaD, place: int, method: str, stated: Mapping[str, float | None], cell: Claim
) -> Iterator[Claim]:
    values = {"d": found.d1[place], "meta_d": found.meta_d1[place], "m_ratio": found.m_ratio[place]}
    for quantity, value in values.items():
        yield replace(
            cell, quantity=quantity, method=method, published=stated[quantity], recomputed=number(value)
        )  # fmt: skip


def _by_posterior(fit: Fitted, stated: Mapping[str, float | None], plain_d: float) -> Iterator[Claim]:
    """Yield the claims the printed numbers belong to.

    A cell does not follow where one of its printed numbers is further from ours than chance of sampling allows and
    outside the 95 % interval of the converged posterior; then each of its numbers that is off says so.
    """
    estimates = {} if fit.kept is None else {q: fit.kept.estimates[name] for q, name in _POSTERIOR.items()}
    off = {
        quantity
        for quantity, found in estimates.items()
        if (printed := stated[quantity]) is not None
        and found.value is not None
        and abs(found.value - printed) > TOLERANCE[quantity]
    }
    excluded = {
        quantity
        for quantity in off
        if (low := estimates[quantity].low) is not None
        and (high := estimates[quantity].high) is not None
        and not low <= (stated[quantity] or 0.0) <= high
    }
    for quantity, printed in stated.items():
        found = estimates.get(quantity)
        value = None if found is None else found.value
        note = None
        if quantity in off and excluded and value is not None and found is not None:
            where = "outside" if quantity in excluded else "inside"
            note = (
                f"does not follow from the counts: chains run until they converge give {value:.4f}, the printed number "
                f"lies {where} their interval {found.low:.4f} to {found.high:.4f} (d' without a model: {plain_d:.4f}); "
                "chains stopped too early give such numbers"
            )
        follows = None if printed is None or value is None else quantity not in off
        low, high = (None, None) if found is None else (found.low, found.high)
        yield replace(
            _cell(fit), quantity=quantity, published=printed, recomputed=value, low=low, high=high, note=note,
            follows=follows,
        )  # fmt: skip


# --- table S2 ---------------------------------------------------------------------------------------------------------
def type1_of(cells: pl.DataFrame) -> Type1:
    """Return the type-1 measures of rows of hits, misses, false alarms and correct rejections, from raw rates."""
    names = ("hits", "misses", "false_alarms", "correct_rejections")
    hits, misses, false_alarms, rejections = (cells[name].to_numpy().astype(np.float64) for name in names)
    return type1_from_table(hits, misses, false_alarms, rejections)


def _criteria(cells: pl.DataFrame, printed: pl.DataFrame) -> Iterator[Claim]:
    values = {
        (row["task"], row["model"], row["risk_configuration"]): row for row in printed.iter_rows(named=True)
    }
    measured = type1_of(cells)
    low, high = measured.interval("c")
    notes = cell_notes(cells)
    for place, cell in enumerate(cells.iter_rows(named=True)):
        key = (cell["task"], cell["model"], cell["risk_configuration"])
        stated = values.get(key, {})
        n = cell["hits"] + cell["misses"] + cell["false_alarms"] + cell["correct_rejections"]
        half = (high[place] - low[place]) / 2
        for quantity, value in (("c", measured.c[place]), ("ci_half", half)):
            published = stated.get(quantity)
            ends = (number(low[place]), number(high[place])) if quantity == "c" else (None, None)
            said = list(notes[place]) if quantity == "c" else []
            if published is not None:
                said += printed_note(quantity, published, float(value))
            follows = None if published is None else bool(abs(value - published) <= TOLERANCE[quantity])
            yield Claim(
                "table S2", cell["task"], cell["model"], _CONDITION[key[2]], quantity, RAW_RATES, published,
                number(value), *ends, n, "; ".join(said) or None, str(measured.status[place]), follows,
            )  # fmt: skip


def shifts(cells: pl.DataFrame) -> Iterator[Comparison]:
    """Yield the published tests: every pair of configurations, Bonferroni over all pairs of a measure."""
    groups = list(cells.select("task", "model").iter_rows())
    conditions = [_CONDITION[name] for name in cells["risk_configuration"]]
    found = criterion_shift(type1_of(cells), groups, conditions, order=RISKS, rope=ROPE)
    totals = cells["total"].to_list()
    for each in (found.c, found.d, found.c_prime):
        pairs = zip(each.first.tolist(), each.second.tolist(), strict=True)
        bases = [
            {
                "family": "criterion_z", "a": conditions[j], "b": conditions[i], "dataset": DATASET, "source": SOURCE,
                "task": groups[i][0], "model": groups[i][1], "n": totals[i] + totals[j],
            }
            for i, j in pairs
        ]  # fmt: skip
        yield from contrast_rows(each, bases, [None] * len(bases))
