"""Human respondents: separate from models, pooled over persons.

The benchmark's own reader reads their trials. The values of all respondents are a sample: the group's value is their
mean with a t interval. One respondent answers too few questions for a meta-d′: d′, meta-d′ and M-ratio of the group
are fitted to all answers, with intervals over resampled respondents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.files import file_sha256
from metacog_pipeline.home import Home
from metacog_pipeline.interchange.import_rules import Imported, ImportOptions
from metacog_pipeline.interchange.importing import by_partition, read
from metacog_pipeline.scoring import calibration, files
from metacog_pipeline.scoring.harmonised import OF_CHOICES, PREFIX, harmonised
from metacog_pipeline.scoring.responses import CALL_COLUMNS, read_responses
from metacog_pipeline.scoring.schemas import CALIBRATION, table_of
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import read_frame, write_frame
from metacog_pipeline.transcripts.schema import Record

HUMAN, PEOPLE, VERSION = "human", "people", "2"
FEW = 10  # respondents without whom the mean of them is low_n
#: Prefixes of measures of 0 to 1, and so is their interval.
_SHARES = ("accuracy", "aurc", "auroc2", "brier", "ece", "mean_confidence")
_DRAWS_OF_ONE = 20  # resamples of one person, whose interval is not shown
_WHERE = ["dataset", "condition", "model"]
_VALUES = table_of(
    "String dataset condition model measure", "Float64 estimate", "Int64 n", "Float64 low high", "String method status"
)  # fmt: skip


# --- importing --------------------------------------------------------------------------------------------------------
def path_of(home: Home, benchmark: str) -> Path:
    """Return where the answers of human respondents are kept."""
    return home.people / f"{benchmark}.parquet"


def keep(benchmark: Bound, file: Path, options: ImportOptions) -> tuple[Imported, int]:
    """Keep the answers of a table whose column ``options.people`` names the respondent; return them and the respondents.

    They replace those kept before. Raises StudyError as an import does; nothing is kept then.
    """
    found = read(file, benchmark.study, benchmark.name, options).summed_up(options)
    people = by_partition(found.records)
    answers = pl.concat([_answers(benchmark, name, records) for (name, _), records in people.items()])
    answers = answers.sort("model", "condition", "item_id")
    write_frame(answers, path_of(benchmark.study.home, benchmark.name), file_sha256(file))
    return replace(found, study=benchmark.study), len(people)


def _answers(benchmark: Bound, name: str, records: Sequence[Record]) -> pl.DataFrame:
    columns = [*CALL_COLUMNS, "started_at"]
    values = [[getattr(each, column) for column in columns] for each in records]
    table = pl.DataFrame(values, schema=columns, orient="row", infer_schema_length=None)
    items = {item.item_id: item for item in benchmark.items}
    asked: dict[str, dict[str, Any]] = {}
    for each in records:
        asked.setdefault(each.condition, {})[each.item_id] = items[each.item_id]
    arms = [(condition, list(own.values())) for condition, own in asked.items()]
    responses = read_responses(benchmark, table, arms, model=name, run=1, source="imported")
    found = harmonised(benchmark, files.derived(benchmark, responses, None))
    return found.with_columns(source=pl.lit(HUMAN))


# --- numbers ----------------------------------------------------------------------------------------------------------
def measured(study: Study) -> pl.DataFrame:
    """Return rows of the table ``calibration``: each benchmark's group of respondents."""
    made = [CALIBRATION.to_frame()]
    for benchmark in enabled(study):
        kept = path_of(study.home, benchmark.name)
        if kept.exists():
            values = _of_people(study, read_frame(kept))
            made.append(pl.DataFrame([*_group(benchmark.name, values)], schema=CALIBRATION, orient="row"))
    return pl.concat(made)


def _of_people(study: Study, answers: pl.DataFrame) -> pl.DataFrame:
    """Return the values of each person, and those fitted to all of them (model is null)."""
    rows: list[tuple[Any, ...]] = []
    seed = study.study.seed
    for (dataset, condition), own in answers.group_by("dataset", "condition", maintain_order=True):
        stated = own.filter(pl.col("confidence").is_not_null())
        if stated.height:
            found = calibration.of_answers(stated.with_columns(cluster="model"), seed)
            rows += [(dataset, condition, None, name, *_fields(found[name])) for name in OF_CHOICES]
    for key, own in answers.group_by(_WHERE, maintain_order=True):
        rows.append((*key, "accuracy", own["correct"].mean(), own.height, *[None] * 4))
        stated = own.filter(pl.col("confidence").is_not_null())
        if stated.height:
            found = calibration.of_answers(stated, seed, _DRAWS_OF_ONE)
            rows += [(*key, name, *_fields(each)) for name, each in found.items() if name != "accuracy"]
    return pl.DataFrame(rows, schema=_VALUES, orient="row")


def _fields(each: Estimate) -> tuple[Any, ...]:
    return each.value, each.n, each.low, each.high, each.method, each.status


def _group(benchmark: str, values: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the mean over respondents of each measure, or what is fitted to all their answers."""
    by = values.group_by("dataset", "condition", "measure", maintain_order=True)
    for (dataset, condition, measure), own in by:
        together, own = own.filter(pl.col("model").is_null()).to_dicts(), own.drop_nulls("model")
        known = own["estimate"].drop_nulls().to_numpy()
        n, lacking = len(known), own.height - len(known)
        row = {"benchmark": benchmark, "dataset": dataset, "condition": condition, "model": PEOPLE, "source": HUMAN,
               "measure": PREFIX + str(measure), "n": int(own["n"].sum()), "n_items": own.height,
               "n_without_confidence": 0, "method": f"mean of {n} respondents, t interval", "low_n": n < FEW,
               "status": f"{lacking} of {own.height} respondents have no value" if lacking else "ok"}  # fmt: skip
        if together:
            how = together[0]["method"].replace("over items", "over respondents")
            fitted = {name: together[0][name] for name in ("estimate", "low", "high", "n", "status")}
            row |= {**fitted, "method": f"all answers of {own.height} respondents, {how}"}
        elif n:
            row["estimate"] = float(known.mean())
            row |= _interval(known, str(measure)) if n > 1 else {}
        yield row


def _interval(known: Any, measure: str) -> dict[str, Any]:
    """Return the t interval of the mean over respondents; a point where all are equal would claim that none differ."""
    n, mean, error = len(known), float(known.mean()), float(known.std(ddof=1)) / len(known) ** 0.5
    if not error:
        return {"status": f"no interval: {n} respondents, all with one value"}
    far = float(stdtrit(n - 1, 0.975)) * error
    lowest, highest = (0.0, 1.0) if measure.startswith(_SHARES) else (-np.inf, np.inf)
    return {"low": max(lowest, mean - far), "high": min(highest, mean + far), "sem": error}
