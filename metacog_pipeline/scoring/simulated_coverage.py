"""How often the interval of one number holds, measured at the number's own answers.

The answers of the cell are the population, so the value of the cell is the truth. Samples of as many items are drawn from
them, an item with all its runs, and the measure itself gives an interval of each: whatever method it has, it is that method
which is measured. What was counted is kept in the study's cache, by everything it was counted from.
"""

from __future__ import annotations

import contextlib
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Stage
from metacog_pipeline.files import canonical_json, sha256_hex, write_text
from metacog_pipeline.scoring import calibration as calibrating
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.scoring.recount import Recount
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.auroc import METHOD as AREA
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.coverage import Coverage, covered
from metacog_pipeline.stats.estimate import Estimate

SAMPLES, FEWEST = 200, 20
LONGEST_S = 15.0  # processor time; then fewer samples have to do
LIKE = 1e-6
VERSION = 2  # rises when other samples are drawn, or otherwise measured


@dataclass(frozen=True, slots=True)
class Simulated:
    """A measured coverage, or in ``why`` the reason there is none; right and wrong answers it is for, where known."""

    coverage: Coverage | None
    why: str = ""


def simulated(anew: Recount, cache: Path, samples: int = SAMPLES) -> Simulated:
    """Return how many intervals of samples of a cell's own answers hold its value."""
    made, cell = anew.made, anew.cell
    if made.low is None or made.value is None:
        return Simulated(None, "there is no interval")
    if samples <= 0:
        return Simulated(None, "not asked for")
    kept = cache / f"{_made_from(anew, samples)}.json"
    with contextlib.suppress(OSError, ValueError, TypeError):  # not there, or not ours: it is counted again
        return Simulated(Coverage(**json.loads(kept.read_text("utf-8"))))
    alone = _quickest(anew)(cell.frame, harmonised(cell.benchmark, cell.frame))
    if (
        alone is None
        or alone.value is None
        or abs(alone.value - made.value) > LIKE * max(1.0, abs(made.value))
    ):
        return Simulated(None, "the measure rests on several conditions")
    found = covered(made.value, _estimates(anew, samples))
    if found.samples < min(FEWEST, samples):
        return Simulated(None, f"the measure is slow: {found.samples} samples in {LONGEST_S:.0f} s")
    with contextlib.suppress(OSError):  # a home that can only be read: it is counted again next time
        write_text(kept, json.dumps(asdict(found)))
    return Simulated(found)


def _estimates(anew: Recount, samples: int) -> Iterator[Estimate | None]:
    """Yield the estimate of each sample, until there are enough or it takes too long."""
    cell = anew.cell
    # Made once of the items themselves: what a benchmark knows of an item it finds by its name.
    answers = harmonised(cell.benchmark, cell.frame)
    of, answered = _by_cluster(cell.frame), _by_cluster(answers)
    places = [(rows, answered.get(cluster, rows[:0])) for cluster, rows in of.items()]
    rng = resampling.generator(cell.benchmark.stream("simulated coverage", cell.condition, cell.measure))
    estimate = _quickest(anew)
    started = time.process_time()
    for _ in range(samples):
        if time.process_time() - started > LONGEST_S:
            return
        drawn = rng.integers(0, len(places), len(places))
        yield estimate(
            _sample(cell.frame, [places[each][0] for each in drawn]),
            _sample(answers, [places[each][1] for each in drawn]),
        )


def _by_cluster(frame: pl.DataFrame) -> dict[str, np.ndarray]:
    """Return the numbers of the rows of each cluster."""
    found = frame.with_row_index("_row").group_by("cluster", maintain_order=True).agg("_row")
    return {cluster: np.asarray(rows) for cluster, rows in found.iter_rows()}


def _sample(frame: pl.DataFrame, drawn: Sequence[np.ndarray]) -> pl.DataFrame:
    """Return the rows of the clusters that were drawn. An item that is drawn twice is two items."""
    number = pl.Series(np.repeat(np.arange(len(drawn)), [len(rows) for rows in drawn])).cast(pl.String)
    return frame[np.concatenate(drawn)].with_columns(
        pl.concat_str(pl.lit("s"), number, pl.lit("-"), pl.col(name)).alias(name)
        for name in ("item_id", "cluster")
    )


def _quickest(anew: Recount) -> Callable[[pl.DataFrame, pl.DataFrame], Estimate | None]:
    """Return what gives the estimate of responses and what they are harmonised to: the measure, or an area alone."""
    cell, made = anew.cell, anew.made

    def area(_: pl.DataFrame, answers: pl.DataFrame) -> Estimate:
        seen = answers.filter(pl.col("confidence").is_not_null())
        return auroc(seen["confidence"].to_numpy(), seen["correct"].to_numpy(), seen["cluster"].to_numpy())

    def measured(frame: pl.DataFrame, answers: pl.DataFrame) -> Estimate | None:
        return cell.of_answers(answers, frame) if cell.shared else cell.estimate(frame)

    if made.method.startswith(AREA):  # without the fits it is declared beside
        quick = area(cell.frame, harmonised(cell.benchmark, cell.frame))
        if (quick.value, quick.n) == (made.value, made.n) and quick.low is not None and made.low is not None:
            return area if abs(quick.low - made.low) < LIKE else measured
    return measured


def _made_from(anew: Recount, samples: int) -> str:
    cell = anew.cell
    benchmark = cell.benchmark
    table = io.BytesIO()
    cell.frame.write_ipc(table)
    settings = benchmark.settings.affecting(Stage.SCORING)
    named = [benchmark.name, cell.condition, cell.measure, anew.made.method, calibrating.VERSION, VERSION]
    depends = [*named, benchmark.versions[Stage.SCORING], settings, benchmark.context.seed, samples]
    return sha256_hex(canonical_json([*depends, sha256_hex(table.getvalue())]))[:32]
