"""The error of the reader model in estimates: as often as labels say that it errs, its verdicts are changed at random.

The spread of the numbers that changed verdicts give is added to each interval. Without labels (``metacog read --audit``) an
estimate that rests on the reader has no interval.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.schema import schema_of
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.scoring.estimates import measures_of
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.resampling import Z95

NOT_AUDITED = "the reader model is not audited"
DRAWS = 10  # each takes as long as scoring does; the spread of so many varies by a quarter from one set to the next
_SAME = 1e-9
_KEY = ("dataset", "task", "condition", "scoring", "model", "run", "measure")
Change = Callable[[pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True, slots=True)
class ReaderError:
    """Of ``passes`` labelled verdicts ``wrong_passes`` are wrong, of ``fails`` ``wrong_fails``."""

    passes: int
    wrong_passes: int
    fails: int
    wrong_fails: int

    def draw(self, rng: np.random.Generator) -> tuple[float, float]:
        """Draw how often a fail and a pass are wrong, from what the labels leave open (Jeffreys' prior)."""
        fail = rng.beta(self.wrong_fails + 0.5, self.fails - self.wrong_fails + 0.5)
        return float(fail), float(rng.beta(self.wrong_passes + 0.5, self.passes - self.wrong_passes + 0.5))


def deciding(benchmark: Bound) -> ModelSpec | None:
    """Return the reader model, if its verdicts decide anything of a benchmark."""
    declared = benchmark.judging
    decides = declared is not None and "verdict" in schema_of(declared.row)
    return benchmark.study.reader_model if decides else None


def error_path(benchmark: Bound) -> Path:
    """Return where the counts of labels are kept."""
    return benchmark.study.home.audits / f"{benchmark.name}.json"


def reader_digest(benchmark: Bound) -> str:
    """Return the digest of who decides in which words: labels of another reader say nothing of this one."""
    reader, declared = benchmark.study.reader_model, benchmark.judging
    words = None if declared is None else declared.prompt_digest
    worded = None if words is None else words(benchmark)
    return sha256_hex(canonical_json([None if reader is None else request_digest(reader), worded]))


def kept_error(benchmark: Bound) -> ReaderError | None:
    """Return the error that labels showed; None without labels, or where they are of another reader or other words."""
    try:
        kept = json.loads(error_path(benchmark).read_text("utf-8"))
        return ReaderError(**kept) if kept.pop("reader") == reader_digest(benchmark) else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"{error_path(benchmark)}: cannot be read ({error}); keep the labels again with --audit"
        ) from None


def error_digest(benchmark: Bound) -> list[Any]:
    """Return what estimates depend on besides verdicts: nothing in a study without a reader model."""
    if deciding(benchmark) is None:
        return []
    error = kept_error(benchmark)
    return [None if error is None else list(astuple(error))]


def carried(benchmark: Bound, found: pl.DataFrame, under: Callable[[Change], pl.DataFrame]) -> pl.DataFrame:
    """Return estimates with the reader's error in those that rest on its verdicts.

    ``under(change)`` gives the estimates with judgements changed by ``change``.
    """
    reader = deciding(benchmark)
    if reader is None or found.is_empty():
        return found
    other = under(lambda judged: _flipped(judged, pl.col("judge") == reader.name))
    both = found.join(
        other.select(*_KEY, _other="estimate"), on=_KEY, how="left", nulls_equal=True, maintain_order="left"
    )
    # Sums in another order differ in the last bits.
    rests = ((pl.col("estimate") - pl.col("_other")).abs() > _SAME).fill_null(
        pl.col("estimate").is_not_null()
    )
    error = kept_error(benchmark)
    if error is None:
        none = {
            name: pl.when(rests).then(None).otherwise(name).alias(name) for name in ("low", "high", "sem")
        }
        both = both.with_columns(**none, status=pl.when(rests).then(_also(NOT_AUDITED)).otherwise("status"))
        return both.select(found.columns)
    # The mean of changed estimates: a reader that passes too much no longer raises one. The interval grows by their spread.
    rng = resampling.generator(benchmark.stream("reader error"))
    drawn = pl.concat([under(_at_random(error, reader.name, rng)) for _ in range(DRAWS)])
    spread = (
        drawn.drop_nulls("estimate")
        .group_by(_KEY)
        .agg(
            _mean=pl.col("estimate").mean(), _variance=pl.col("estimate").var() * (1 + 1 / DRAWS), _n=pl.len()
        )
    )
    joined = both.join(spread, on=_KEY, how="left", nulls_equal=True, maintain_order="left")
    return _widened(benchmark, joined, rests, error).select(found.columns)


def _at_random(error: ReaderError, judge: str, rng: np.random.Generator) -> Change:
    """Return what changes verdicts of the reader as often as it errs."""
    rates = error.draw(rng)

    def change(judged: pl.DataFrame) -> pl.DataFrame:
        wrong = pl.Series(rng.random(judged.height))
        rate = pl.when(pl.col("verdict") == 1).then(rates[1]).otherwise(rates[0])
        return _flipped(judged, (pl.col("judge") == judge) & (wrong < rate))

    return change


def _flipped(judged: pl.DataFrame, here: pl.Expr) -> pl.DataFrame:
    return judged.with_columns(verdict=pl.when(here).then(1 - pl.col("verdict")).otherwise("verdict"))


def _widened(benchmark: Bound, rows: pl.DataFrame, rests: pl.Expr, error: ReaderError) -> pl.DataFrame:
    """Return rows with mean and spread of the draws in them, within the range of each measure."""
    declared = measures_of(benchmark)
    lowest, highest = (
        pl.col("measure").replace_strict(ends, default=None, return_dtype=pl.Float64)
        for ends in ({each.name: each.range[place] for each in declared} for place in (0, 1))
    )
    whole, extra = rests & (pl.col("_n") == DRAWS), Z95**2 * pl.col("_variance")
    down = pl.col("_mean") - ((pl.col("estimate") - pl.col("low")) ** 2 + extra).sqrt()
    up = pl.col("_mean") + ((pl.col("high") - pl.col("estimate")) ** 2 + extra).sqrt()
    values = {
        "low": pl.max_horizontal(down, lowest),
        "high": pl.min_horizontal(up, highest),
        "sem": (pl.col("sem") ** 2 + pl.col("_variance")).sqrt(),
        "estimate": pl.col("_mean"),
    }
    own = {
        name: pl.when(whole).then(value).otherwise(pl.when(~rests).then(name))
        for name, value in values.items()
    }
    labels = f", reader error of {error.passes + error.fails} labels"
    return rows.with_columns(
        **own,
        method=pl.when(whole).then(pl.col("method") + labels).otherwise("method"),
        status=pl.when(rests & ~whole).then(_also("not formed under the reader's error")).otherwise("status"),
    )


def _also(why: str) -> pl.Expr:
    return pl.when(pl.col("status") == "ok").then(pl.lit(why)).otherwise(pl.col("status") + f"; {why}")
