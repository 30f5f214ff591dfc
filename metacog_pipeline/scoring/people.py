"""People who answered the items of a benchmark: kept apart from models, pooled over people, and a model's place among them.

A person's trials are read by the benchmark's own reader, as a model's replies are. The values of all people are a sample:
the group's value is their mean with a t interval. Single people answer too few questions for a meta-d′ of their own: d′,
meta-d′ and M-ratio of the group are fitted to all answers, with intervals over resampled people. A model's percentile is
the share of people below it (ties half), with an interval over resampled people and the model's own error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from metacog_pipeline.asking import construction
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.benchmark.cells import missing
from metacog_pipeline.errors import SourceError, StudyError, one_line
from metacog_pipeline.files import file_sha256
from metacog_pipeline.home import Home
from metacog_pipeline.interchange.answer_files import AnswerFile, chosen
from metacog_pipeline.interchange.columns import cell
from metacog_pipeline.interchange.import_columns import fields_of, parse_mapping, resolved, used_columns
from metacog_pipeline.interchange.import_reader import Reader
from metacog_pipeline.interchange.imported import ImportOptions, Rejected
from metacog_pipeline.scoring import calibration, files
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.scoring.harmonised_measures import OF_CHOICES
from metacog_pipeline.scoring.responses import read_responses
from metacog_pipeline.scoring.schemas import CALIBRATION
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import read_frame, write_frame
from metacog_pipeline.transcripts.schema import Record

HUMAN, PEOPLE, VERSION = "human", "people", "2"
PERCENTILES = ("accuracy", "auroc2", "m_ratio_mafc")
N_DRAWS, FEW, MOST = 2_000, 10, 10_000
_SHARES = (
    "accuracy",
    "aurc",
    "auroc2",
    "brier",
    "ece",
    "mean_confidence",
)  # of 0 to 1, and so is their interval
_DRAWS_OF_ONE = 20  # resamples of one person, whose interval nobody sees
_WHERE = ["dataset", "condition", "model"]


def path_of(home: Home, benchmark: str) -> Path:
    """Return where the answers of people are kept."""
    return home.people / f"{benchmark}.parquet"


def mark(benchmark: Bound) -> str | None:
    """Return the digest of the answers of people that are kept, to see whether a board is still current."""
    path = path_of(benchmark.context.home, benchmark.name)
    return file_sha256(path) if path.exists() else None


def keep(
    benchmark: Bound, file: Path, subject: str, pairs: Sequence[str], condition: str | None, options: ImportOptions
) -> tuple[int, int, list[Rejected]]:  # fmt: skip
    """Keep the answers of a table in which column ``subject`` names people; the table replaces what was kept before.

    Returns
    -------
    tuple
        Answers kept, people, and the rows that were not taken.

    Raises
    ------
    StudyError
        As an import does; nothing is kept then.
    """
    if benchmark.importer is None or benchmark.importer.rules is None:
        raise StudyError(f"{benchmark.name}: answers cannot be imported")
    rules, rows = benchmark.importer.rules(benchmark), AnswerFile(file, options.shape)
    if not rows.has(subject):
        raise StudyError(
            f"{file}: --group {subject}: no such column; the columns are: {', '.join(rows.columns)}"
        )
    mapping = parse_mapping(pairs, fields_of(rules), rules.also)
    columns = resolved(file, rows, rules, mapping)
    if options.show is not None:
        options.show(used_columns({"group": subject, **columns}, rows.columns))
    readers: dict[str, Reader] = {}
    rejected: list[Rejected] = []
    for row in chosen(rows, options.where):
        who = None if row.broken is not None else cell(row.cells, subject)
        if missing(who):
            rejected.append(Rejected(row.number, row.broken or "names nobody"))
            continue
        name = one_line(str(who), 60)
        if name not in readers:
            if len(readers) == MOST:
                raise StudyError(
                    f"{file}: --group {subject} names more than {MOST:,} people; is it the right column?"
                )
            usual = condition or rules.condition
            readers[name] = Reader(
                file, rules, dict(columns), options, usual, name, 1
            )  # each drops what it cannot use
        readers[name].take(row)
    made = []
    for name, reader in readers.items():
        found = reader.finish(frozenset(mapping), rows.columns)
        rejected += found.rejected
        if found.records:
            made.append(_answers(benchmark, name, found.records))
    if not made:
        first = rejected[0] if rejected else Rejected(1, "there is no row")
        raise StudyError(f"{file}: no row was taken; row {first.row}: {first.reason}; nothing was kept")
    answers = pl.concat(made).sort("model", "condition", "item_id")
    write_frame(answers, path_of(benchmark.context.home, benchmark.name), file_sha256(file))
    return answers.height, len(made), rejected


def _answers(benchmark: Bound, name: str, records: Sequence[Record]) -> pl.DataFrame:
    """Return the harmonised answers of one person."""
    fields = (
        "answer_id",
        "item_id",
        "condition",
        "step",
        "status",
        "mode",
        "text",
        "logprobs_json",
        "latency_s",
    )
    paid = ("cost_usd", "input_tokens", "output_tokens", "error_code", "error_message", "started_at")
    table = pl.DataFrame(
        [[getattr(each, column) for column in (*fields, *paid)] for each in records],
        schema=[*fields, *paid], orient="row", infer_schema_length=None,
    )  # fmt: skip
    items = {item.item_id: item for item in benchmark.items}
    asked: dict[str, dict[str, Any]] = {}
    for each in records:
        asked.setdefault(each.condition, {})[each.item_id] = items[each.item_id]
    told = [(condition, list(own.values())) for condition, own in asked.items()]
    responses = read_responses(benchmark, table, told, model=name, run=1, source="imported")
    found = harmonised(benchmark, files.derived(benchmark, responses, None))
    return found.with_columns(source=pl.lit(HUMAN))


# --- numbers ----------------------------------------------------------------------------------------------------------
def measured(study: Study, models: pl.DataFrame) -> pl.DataFrame:
    """Return rows of the table ``calibration``: the group of people, and the percentile of each of ``models``' rows."""
    made = [CALIBRATION.to_frame()]
    for benchmark in enabled(study):
        kept = path_of(study.home, benchmark.name)
        if not kept.exists():
            continue
        values = _of_people(study, kept)
        rows = [
            *_group(benchmark.name, values),
            *_placed(study, values, models.filter(benchmark=benchmark.name)),
        ]
        made.append(pl.DataFrame(rows, schema=CALIBRATION, orient="row"))
    return pl.concat(made)


def _of_people(study: Study, kept: Path) -> pl.DataFrame:
    """Return the values of each person, and those fitted to all of them (model is null)."""
    rows: list[tuple[Any, ...]] = []
    answers = read_frame(kept)
    for (dataset, condition), own in answers.group_by("dataset", "condition", maintain_order=True):
        stated = own.filter(pl.col("confidence").is_not_null())
        if stated.height:
            found = calibration.of_answers(stated.with_columns(cluster="model"), study.study.seed)
            rows += [(dataset, condition, None, name, *_fields(found[name])) for name in OF_CHOICES]
    for (dataset, condition, model), own in answers.group_by(_WHERE, maintain_order=True):
        rows.append((dataset, condition, model, "accuracy", own["correct"].mean(), own.height, *[None] * 4))
        stated = own.filter(pl.col("confidence").is_not_null())
        if stated.height:
            found = calibration.of_answers(stated, study.study.seed, _DRAWS_OF_ONE)
            del found["accuracy"]
            rows += [(dataset, condition, model, name, *_fields(each)) for name, each in found.items()]
    schema = {
        **dict.fromkeys((*_WHERE, "measure"), pl.String), "estimate": pl.Float64, "n": pl.Int64,
        **dict.fromkeys(("low", "high"), pl.Float64), **dict.fromkeys(("method", "status"), pl.String),
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def _fields(each: Estimate) -> tuple[Any, ...]:
    return each.value, each.n, each.low, each.high, each.method, each.status


def _group(benchmark: str, values: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the mean over people of each measure."""
    for (dataset, condition, measure), own in values.group_by(
        "dataset", "condition", "measure", maintain_order=True
    ):
        together, own = own.filter(pl.col("model").is_null()).to_dicts(), own.drop_nulls("model")
        known = own["estimate"].drop_nulls().to_numpy()
        n, lacking = len(known), own.height - len(known)
        row = {"benchmark": benchmark, "dataset": dataset, "condition": condition, "model": PEOPLE, "source": HUMAN,
               "measure": calibration.PREFIX + str(measure), "n": int(own["n"].sum()), "n_items": own.height,
               "n_without_confidence": 0, "method": f"mean of {n} people, t interval", "low_n": n < FEW,
               "status": f"{lacking} of {own.height} people have no value" if lacking else "ok"}  # fmt: skip
        if together:
            how = f"all answers of {own.height} people, {together[0]['method'].replace('over items', 'over people')}"
            row |= {name: together[0][name] for name in ("estimate", "low", "high", "n", "status")} | {
                "method": how
            }
        elif n:
            row["estimate"] = float(known.mean())
        if n > 1 and not together:
            error = float(known.std(ddof=1)) / n**0.5
            far = float(stdtrit(n - 1, 0.975)) * error
            lowest, highest = (0.0, 1.0) if str(measure).startswith(_SHARES) else (-np.inf, np.inf)
            row |= {
                "low": max(lowest, row["estimate"] - far),
                "high": min(highest, row["estimate"] + far),
                "sem": error,
            }
            if not error:  # as wide as a point: it would say that nobody differs
                row |= {
                    "low": None,
                    "high": None,
                    "sem": None,
                    "status": f"no interval: {n} people, all with one value",
                }
        yield row


def _placed(study: Study, values: pl.DataFrame, models: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the percentile of every model's value among those of the people under the same condition."""
    wanted = {calibration.PREFIX + name: name for name in PERCENTILES}
    for row in models.filter(
        pl.col("measure").is_in(list(wanted)), pl.col("estimate").is_not_null()
    ).to_dicts():
        measure = wanted[row["measure"]]
        own = values.filter(dataset=row["dataset"], condition=row["condition"], measure=measure)
        people = own.drop_nulls("model")["estimate"].drop_nulls().to_numpy()
        if not len(people):
            continue
        rng = resampling.generator(
            resampling.stream("people", study.study.seed, *(str(row[name]) for name in _WHERE), measure)
        )
        drawn = people[rng.integers(0, len(people), (N_DRAWS, len(people)))]
        error = (row["high"] - row["low"]) / (2 * 1.96) if row["low"] is not None else 0.0
        at = row["estimate"] + error * rng.standard_normal((N_DRAWS, 1))
        below = (drawn < at).mean(axis=1) + 0.5 * (drawn == at).mean(axis=1)
        low, high = (float(each) for each in np.quantile(below, [0.025, 0.975]))
        value = float((people < row["estimate"]).mean() + 0.5 * (people == row["estimate"]).mean())
        yield {**row, "measure": f"{row['measure']}_percentile", "estimate": value, "low": min(low, value),
               "high": max(high, value), "sem": float(below.std()), "n_items": len(people), "low_n": len(people) < FEW,
               "method": f"share of {len(people)} people below, resampled people and model", "status": "ok"}  # fmt: skip


def fitting(study: Study, name: str | None) -> Bound:
    """Return the benchmark that answers of people are about; it is named where the study has several."""
    found = [each for each in enabled(study) if name in (None, each.name)]
    if len(found) != 1:
        there = ", ".join(study.enabled) or "none"
        raise StudyError(f"import: name the benchmark the people answered with --benchmark, out of {there}")
    try:
        study.prepare()
        if not construction.items_current(found[0]):
            construction.build(found[0])
    except SourceError as error:
        raise StudyError(str(error)) from None
    return found[0]


def told(rejected: Sequence[Rejected]) -> list[tuple[object, str, str]]:
    """Return the rows that were not taken as a list beside the file has them."""
    return [(each.row, "not taken", each.reason) for each in sorted(rejected, key=lambda each: each.row)]
