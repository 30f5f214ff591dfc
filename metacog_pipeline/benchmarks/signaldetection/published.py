"""The published results refitted from the published counts: what follows from them, and what does not.

"Measuring the metacognition of AI" (arXiv 2603.29693) prints posterior means of d′, meta-d′ and M-ratio of nine cells
(table S1), and criteria of 27 cells with 95 % half widths from raw rates (table S2). Here every number is computed anew
from the counts that were published with it: maximum likelihood on raw and on padded counts, the Bayesian model run until
it converges, the criteria with all their contrasts. Nothing expected is written down; notes follow from the figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from metacog_pipeline.benchmarks.common.files import computed_once
from metacog_pipeline.benchmarks.common.rows import number, table
from metacog_pipeline.benchmarks.signaldetection.contrasts.criteria import ROPE, contrast_rows
from metacog_pipeline.benchmarks.signaldetection.contrasts.efficiency import (
    Fitted,
    efficiency_rows,
    fitted_counts,
)
from metacog_pipeline.benchmarks.signaldetection.groups import RISKS
from metacog_pipeline.benchmarks.signaldetection.measures.posteriors import MODEL_VERSION
from metacog_pipeline.benchmarks.signaldetection.observe import BENCHMARK
from metacog_pipeline.benchmarks.signaldetection.published_notes import (
    TOLERANCE,
    cell_notes,
    printed_note,
)
from metacog_pipeline.benchmarks.signaldetection.rows import COMPARISON_SCHEMA, Comparison
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.stats.counts import Counts, counts, padded
from metacog_pipeline.stats.decisions import criterion_shift
from metacog_pipeline.stats.metad import MetaD, fit_metad
from metacog_pipeline.stats.type1 import Type1, type1_from_table

VERSION = "1"  # raised when the same counts would give another table
DATASET = SOURCE = "published"
KEEP = 16_000  # draws of each cell: the ends of an interval of a difference are then good to 0.005
FILES = ("counts.csv", "criterion_counts.csv", "table_s1.csv", "table_s2.csv")
_PRINTED = {"d": "dprime", "meta_d": "meta_d", "m_ratio": "M_ratio"}
_POSTERIOR = {"d": "d1", "meta_d": "meta_d", "m_ratio": "m_ratio"}
_CONDITION = {"S1": "risk_s1", "None": "risk_none", "S2": "risk_s2"}

_COMMON: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("published", "recomputed", "difference", "tolerance", "low", "high"), pl.Float64),
    "follows": pl.Boolean,
    "n": pl.Int64,
    "note": pl.String,
    "status": pl.String,
}
_KEYS = dict.fromkeys(("task", "model"), pl.String)
METAD_SCHEMA = pl.Schema({**_KEYS, "quantity": pl.String, "method": pl.String, **_COMMON})
CRITERIA_SCHEMA = pl.Schema({**_KEYS, "condition": pl.String, "quantity": pl.String, **_COMMON})


@dataclass(frozen=True, slots=True)
class Refit:
    """The published results beside ours.

    Attributes
    ----------
    metad
        One row per task, model, quantity (``d``, ``meta_d``, ``m_ratio``) and method (``ml_raw``, ``ml_padded``,
        ``bayes``). The printed numbers are of method ``bayes``; ``follows`` is null for the others.
    criteria
        One row per task, model, condition and quantity (``c``, ``ci_half``), from raw rates.
    contrasts
        `rows.COMPARISON_SCHEMA`: criterion shifts as published, and the Bayesian comparisons of the nine cells.
        ``difference`` is recomputed minus published in the first two frames, a minus b here.
    """

    metad: pl.DataFrame
    criteria: pl.DataFrame
    contrasts: pl.DataFrame


def refit_published(home: Path, seed: int) -> Refit:
    """Return the refit, computed once per home and seed and kept in ``estimates/signaldetection/published``.

    Parameters
    ----------
    home
        The study's folder.
    seed
        Of the Bayesian fits.
    """
    folder = home / "estimates" / "signaldetection"
    paths = [folder / "published" / f"{name}.parquet" for name in ("metad", "criteria", "contrasts")]
    data, posteriors = shipped("data", "published", "signaldetection"), folder / "posteriors"

    def refit() -> list[pl.DataFrame]:
        found = refit_tables(data, seed, posteriors)
        return [found.metad, found.criteria, found.contrasts]

    return Refit(*computed_once(paths, _made_from(seed), refit))


def refit_tables(data: Path, seed: int, posteriors: Path) -> Refit:
    """Return the refit of the four files of ``data``, posteriors kept in ``posteriors``."""
    given = {name: pl.read_csv(data / name) for name in FILES}
    metad, fits = _metad(given["counts.csv"], given["table_s1.csv"], seed, posteriors)
    measured = type1_of(given["criterion_counts.csv"])
    criteria = _criteria(given["criterion_counts.csv"], given["table_s2.csv"], measured)
    contrasts = [*_shifts(given["criterion_counts.csv"], measured), *efficiency_rows(fits, seed)]
    return Refit(metad, criteria, table(BENCHMARK, contrasts, COMPARISON_SCHEMA))


def type1_of(cells: pl.DataFrame) -> Type1:
    """Return the type-1 measures of rows of hits, misses, false alarms and correct rejections, from raw rates."""
    names = ("hits", "misses", "false_alarms", "correct_rejections")
    hits, misses, false_alarms, rejections = (cells[name].to_numpy().astype(np.float64) for name in names)
    return type1_from_table(hits, misses, false_alarms, rejections)


def _made_from(seed: int) -> str:
    folder = shipped("data", "published", "signaldetection")
    digests = [sha256_hex((folder / name).read_bytes()) for name in FILES]
    return sha256_hex(canonical_json([VERSION, MODEL_VERSION, seed, digests]))


def _metad(
    cells: pl.DataFrame, printed: pl.DataFrame, seed: int, posteriors: Path
) -> tuple[pl.DataFrame, list[Fitted]]:
    raw = counts(_vectors(cells["nR_S1"]), _vectors(cells["nR_S2"]))
    by_ml = {"ml_raw": fit_metad(raw), "ml_padded": fit_metad(padded(raw))}
    values = {(row["task"], row["model"]): row for row in printed.iter_rows(named=True)}
    rows: list[tuple[object, ...]] = []
    fits = []
    for place, (task, model) in enumerate(cells.select("task", "model").iter_rows()):
        fit = fitted_counts(raw.take(place), DATASET, SOURCE, task, model, seed, posteriors, KEEP)
        fits.append(fit)
        stated = {
            quantity: None if (row := values.get((task, model))) is None else row[column]
            for quantity, column in _PRINTED.items()
        }
        for method, found in by_ml.items():
            note = _empty_note(raw.take(place)) if method == "ml_raw" else None
            rows.extend((task, model, *row) for row in _ml_rows(found, place, method, stated, fit.n, note))
        rows.extend((task, model, *row) for row in _bayes_rows(fit, stated, float(by_ml["ml_raw"].d1[place])))
    return pl.DataFrame(rows, schema=METAD_SCHEMA, orient="row"), fits


def _vectors(column: pl.Series) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array([[float(part) for part in text.split(";")] for text in column])


def _empty_note(cell: Counts) -> str | None:
    both = np.concatenate([cell.n_s1[0], cell.n_s2[0]])
    empty = int((both == 0).sum())
    return f"{empty} of {len(both)} counts are 0" if empty else None


def _ml_rows(
    found: MetaD, place: int, method: str, stated: dict[str, float | None], n: int, note: str | None
) -> Iterator[tuple[object, ...]]:
    values = {"d": found.d1[place], "meta_d": found.meta_d1[place], "m_ratio": found.m_ratio[place]}
    for quantity, value in values.items():
        yield _row(
            (quantity, method), stated[quantity], number(value), None, None, n, note, str(found.status[place])
        )


def _bayes_rows(fit: Fitted, stated: dict[str, float | None], plain_d: float) -> Iterator[tuple[object, ...]]:
    """Yield the rows the printed numbers belong to.

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
        status = "ok" if fit.why is None else fit.why
        ends = (None, None) if found is None else (found.low, found.high)
        yield _row((quantity, "bayes"), printed, value, *ends, fit.n, note, status, follows)


def _row(
    names: tuple[str, ...],
    printed: float | None,
    value: float | None,
    low: float | None,
    high: float | None,
    n: int,
    note: str | None,
    status: str,
    follows: bool | None = None,
) -> tuple[object, ...]:
    quantity = names[-2] if names[-1] in ("ml_raw", "ml_padded", "bayes") else names[-1]
    difference = None if printed is None or value is None else value - printed
    tolerance = TOLERANCE[quantity]
    return (*names, printed, value, difference, tolerance, low, high, follows, n, note, status)


def _criteria(cells: pl.DataFrame, printed: pl.DataFrame, measured: Type1) -> pl.DataFrame:
    values = {
        (row["task"], row["model"], row["risk_configuration"]): row for row in printed.iter_rows(named=True)
    }
    low, high = measured.interval("c")
    notes = cell_notes(cells)
    rows = []
    for place, cell in enumerate(cells.iter_rows(named=True)):
        key = (cell["task"], cell["model"], cell["risk_configuration"])
        stated = values.get(key)
        n = cell["hits"] + cell["misses"] + cell["false_alarms"] + cell["correct_rejections"]
        half = (high[place] - low[place]) / 2
        for quantity, value in (("c", measured.c[place]), ("ci_half", half)):
            published = None if stated is None else stated[quantity]
            ends = (number(low[place]), number(high[place])) if quantity == "c" else (None, None)
            said = list(notes[place]) if quantity == "c" else []
            if published is not None:
                said += printed_note(quantity, published, float(value))
            note = "; ".join(said) or None
            follows = None if published is None else bool(abs(value - published) <= TOLERANCE[quantity])
            rows.append(
                (
                    *(cell["task"], cell["model"]),
                    *_row(
                        (_CONDITION[key[2]], quantity), published, number(value), *ends, n, note,
                        str(measured.status[place]), follows,
                    ),
                )
            )  # fmt: skip
    return pl.DataFrame(rows, schema=CRITERIA_SCHEMA, orient="row")


def _shifts(cells: pl.DataFrame, measured: Type1) -> Iterator[Comparison]:
    """Yield the published tests: every pair of configurations, Bonferroni over all pairs of a measure."""
    groups = list(cells.select("task", "model").iter_rows())
    conditions = [_CONDITION[name] for name in cells["risk_configuration"]]
    found = criterion_shift(measured, groups, conditions, order=RISKS, rope=ROPE)
    totals = cells["total"].to_list()
    for each in (found.c, found.d, found.c_prime):
        bases = [
            _shift_base(groups, conditions, totals, int(i), int(j))
            for i, j in zip(each.first, each.second, strict=True)
        ]
        yield from contrast_rows(each, bases)


def _shift_base(
    groups: Sequence[tuple[str, ...]], conditions: Sequence[str], totals: Sequence[int], i: int, j: int
) -> Comparison:
    task, model = groups[i]
    return Comparison(
        DATASET, SOURCE, task, None, model, "criterion_z", "", conditions[j], conditions[i],
        n=totals[i] + totals[j],
    )  # fmt: skip
