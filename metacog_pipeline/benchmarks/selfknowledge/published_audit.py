"""The published numbers against each other: which follow from what is printed beside them, and what they rest on.

Tables 1 to 7 and the text of arXiv:2602.02605. Accuracy, raw alignment and d′ are computed again from the shares of yeses
and of failed yeses and noes (tables 1, 5); the same model must be printed alike in several tables; All Alignment cannot
exceed raw alignment (table 2); d′, alignment and accuracy must be reachable with whole answers, and where only one set of
them is, it is named (tables 3, 4, 6, 7). Answers are not published, so nothing is scored again. Nothing expected is written
down: the notes follow from the figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import ndtri

from metacog_pipeline.benchmarks.selfknowledge.implied import Answers, implied_rates, whole_answers
from metacog_pipeline.benchmarks.selfknowledge.measures import log_linear
from metacog_pipeline.scoring.published import Check, audit_frame, check
from metacog_pipeline.stats.yes_no import CLIP

FILES = (*(f"table_{i}.csv" for i in range(1, 8)), "figure_2.csv", "claims.csv")
RATES_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("place", "subject", "dataset"), pl.String),
        "solution": pl.Int32,
        **dict.fromkeys(("hit_rate", "false_alarm_rate", "yes_ratio", "d_clip", "d_loglinear"), pl.Float64),
        **dict.fromkeys(("n", "n_solutions", "correct", "hits", "false_alarms"), pl.Int64),
        "note": pl.String,
    }
)
#: Questions of the part of each data set that published numbers are about.
QUESTIONS: Mapping[str, int] = {
    "trivia_qa": 17_944, "freebase_qa": 3_996, "nq_open": 3_610, "web_questions": 2_032, "mkqa": 10_000,
    "fictional_qa": 1_797,
}  # fmt: skip
#: What was done to a model → what stands behind its name.
VARIANTS: Mapping[str, str] = {
    "original": "", "esma": " ESMA", "sft": " SFT on yes and no", "fictional_sft": " taught the facts",
    "fictional_sft_then_esma": " taught the facts, then ESMA", "joint": " joint reward", "direct": " direct reward",
    "meta": " meta reward",
}  # fmt: skip
HALF = 0.005  # what two printed decimals hide
NOT_STATED = "size not stated"
_Row = Mapping[str, float | str]


def audit_tables(data: Path) -> pl.DataFrame:
    """Return one row per check of the tables in ``data``, in `AUDIT_SCHEMA`.

    ``difference`` is recomputed minus published; where only a range is possible, ``recomputed`` is its end nearest to the
    printed number. ``tolerance`` is what rounding explains; ``follows`` says whether the difference stays within it.
    """
    given = {name: pl.read_csv(data / name, glob=False) for name in FILES}
    first = {_subject(row): row for row in given["table_1.csv"].iter_rows(named=True)}
    rows = [
        *_from_failures("table 1", given["table_1.csv"]),
        *_from_failures("table 5", given["table_5.csv"]),
        *_alignments(given["table_2.csv"], first),
        *_alike("table 4", given["table_4.csv"], first, {"original": "original", "joint": "esma"}),
        *_alike("table 5", given["table_5.csv"], first, {"original": "original", "esma": "esma"}),
        *_reachable(given),
        *_claims(given["claims.csv"], first),
    ]
    return audit_frame(rows)


def rates_behind(data: Path) -> pl.DataFrame:
    """Return the shares of yeses behind each row of tables 3, 4, 6 and 7, in `RATES_SCHEMA`.

    Two rows where two are possible. ``n_solutions`` counts the whole answers that print alike; where there is one only,
    the rates are its own and it is written out. ``d_loglinear`` is what the headline measure of this project gives.
    """
    given = {name: pl.read_csv(data / name, glob=False) for name in FILES}
    rows = [
        (place, subject, dataset, number, *behind)
        for place, subject, dataset, row in _triples(given)
        for number, behind in enumerate(_behind(dataset, row), start=1)
    ]
    return pl.DataFrame(rows, schema=RATES_SCHEMA, orient="row")


def model_name(name: str, variant: str) -> str:
    """Return how a printed row is called on boards: the model, and what was done to it."""
    return f"{name}{VARIANTS[variant]}"


def _subject(row: _Row) -> str:
    return model_name(str(row["model"]), str(row["variant"]))


def derived(yes: float, yfr: float, nfr: float) -> dict[str, float]:
    """Return accuracy, raw alignment (percent) and d′ of three shares in 0..1."""
    accuracy = yes * (1 - yfr) + (1 - yes) * nfr
    aligned = yes * (1 - yfr) + (1 - yes) * (1 - nfr)
    rates = (yes * (1 - yfr) / accuracy, yes * yfr / (1 - accuracy))
    z = [float(ndtri(min(max(rate, CLIP), 1 - CLIP))) for rate in rates]
    return {"accuracy_pct": 100 * accuracy, "raw_alignment_pct": 100 * aligned, "d_prime": z[0] - z[1]}


def _from_failures(place: str, table: pl.DataFrame) -> Iterator[Check]:
    """Yield accuracy, raw alignment and d′ from the shares of yeses, failed yeses and failed noes."""
    for row in table.iter_rows(named=True):
        shares = [float(row[name]) for name in ("yes_ratio_pct", "yfr_pct", "nfr_pct")]
        made = derived(*(each / 100 for each in shares))
        corners = [
            derived(*((each + side * HALF) / 100 for each, side in zip(shares, sides, strict=True)))
            for sides in product((-1, 1), repeat=3)
        ]
        for name, value in made.items():
            tolerance = HALF + max(abs(corner[name] - value) for corner in corners)
            method = "yes ratio, YFR and NFR"
            yield check(place, _subject(row), name, method, float(row[name]), value, tolerance)


def _alignments(table: pl.DataFrame, first: Mapping[str, _Row]) -> Iterator[Check]:
    for row in table.iter_rows(named=True):
        subject, aligned = _subject(row), float(row["all_alignment_pct"])
        most = float(first[subject]["raw_alignment_pct"])
        yield check(
            "table 2", subject, "all_alignment_pct", "at most raw alignment, table 1", aligned,
            min(aligned, most), 2 * HALF,
        )  # fmt: skip
        printed, other = float(row["dual_accuracy_pct"]), float(first[subject]["accuracy_pct"])
        yield check("table 2", subject, "accuracy_pct", "the same in table 1", printed, other, 0.0)


def _alike(
    place: str, table: pl.DataFrame, first: Mapping[str, _Row], same: Mapping[str, str]
) -> Iterator[Check]:
    """Yield the rows that table 1 has too; tables 4 and 5 are about its smallest model."""
    for row in table.iter_rows(named=True):
        if (variant := same.get(str(row["variant"]))) is None:
            continue
        other = first[model_name("Qwen2.5 1.5B", variant)]
        subject = model_name("Qwen2.5 1.5B", str(row["variant"]))
        for name in ("d_prime", "raw_alignment_pct", "accuracy_pct"):
            method = "the same in table 1"
            yield check(place, subject, name, method, float(row[name]), float(other[name]), 0.0)


def _triples(given: Mapping[str, pl.DataFrame]) -> Iterator[tuple[str, str, str, _Row]]:
    """Yield place, subject, data set and row of every line that prints d′, alignment and accuracy only."""
    for row in given["table_3.csv"].iter_rows(named=True):
        yield "table 3", model_name(NOT_STATED, str(row["variant"])), "fictional_qa", row
    for row in given["table_4.csv"].iter_rows(named=True):
        yield "table 4", model_name("Qwen2.5 1.5B", str(row["variant"])), "trivia_qa", row
    for row in given["table_6.csv"].iter_rows(named=True):
        name = model_name(f"Qwen2.5 {row['size']}", str(row["variant"]))
        yield "table 6", f"{name}, {row['dataset']}", str(row["dataset"]), row
    for row in given["table_7.csv"].iter_rows(named=True):
        name = model_name(NOT_STATED, str(row["variant"]))
        yield "table 7", f"{name}, {row['dataset']}", "mkqa", row


def _whole(dataset: str, row: _Row) -> list[Answers]:
    d_prime, raw, accuracy = (float(row[name]) for name in ("d_prime", "raw_alignment_pct", "accuracy_pct"))
    return whole_answers(QUESTIONS[dataset], d_prime, raw, accuracy)


def _reachable(given: Mapping[str, pl.DataFrame]) -> Iterator[Check]:
    """Yield whether whole answers give the three printed numbers; a single set of them gives d′ to any digit."""
    for place, subject, dataset, row in _triples(given):
        found, printed = _whole(dataset, row), float(row["d_prime"])
        n = QUESTIONS[dataset]
        method = f"whole answers to {n:,} questions"
        if not found:
            made = check(place, subject, "d_prime", method, printed, printed, HALF)
            yield made._replace(follows=False, note=f"no whole answers to {n:,} questions print so")
            continue
        if len(found) > 1:
            note = f"{len(found):,} sets of whole answers print so"
            yield check(place, subject, "d_prime", method, printed, printed, HALF)._replace(note=note)
            continue
        (only,) = found
        d_prime = derived(*_shares(only))["d_prime"]
        made = check(place, subject, "d_prime", method, printed, d_prime, HALF)
        yield made._replace(note=_only(only))


def _shares(answers: Answers) -> tuple[float, float, float]:
    """Return yes ratio, YFR and NFR of whole answers."""
    yes = answers.hits + answers.false_alarms
    return yes / answers.n, answers.false_alarms / yes, (answers.correct - answers.hits) / (answers.n - yes)


def _log_linear(hits: float, alarms: float, right: float, wrong: float) -> float:
    made = log_linear(*(np.array([each], dtype=np.float64) for each in (hits, alarms, right, wrong)))
    return float(made[0])


def _only(answers: Answers) -> str:
    hits, alarms, right, wrong = answers.table
    said = (
        f"one set of whole answers prints so: {right} of {answers.n:,} right, yes to {hits} right and {alarms} wrong "
        f"ones; log-linear d′ {_log_linear(hits, alarms, right, wrong):.2f}"
    )
    return f"{said}; made by the clip" if hits in (0, right) or alarms in (0, wrong) else said


def _behind(dataset: str, row: _Row) -> Iterator[tuple[object, ...]]:
    n, found = QUESTIONS[dataset], _whole(dataset, row)
    if len(found) == 1:
        (only,) = found
        hits, alarms, right, wrong = only.table
        d_clip, yes = derived(*_shares(only))["d_prime"], (hits + alarms) / n
        rates = (hits / right, alarms / wrong, yes, d_clip, _log_linear(hits, alarms, right, wrong))
        yield *rates, n, 1, right, hits, alarms, _only(only)
        return
    d, raw, accuracy = (float(row[name]) for name in ("d_prime", "raw_alignment_pct", "accuracy_pct"))
    for each in implied_rates(d, raw / 100, accuracy / 100):
        n1, n0 = n * accuracy / 100, n * (1 - accuracy / 100)
        d_loglinear = _log_linear(each.hit_rate * n1, each.false_alarm_rate * n0, n1, n0)
        rates = (each.hit_rate, each.false_alarm_rate, each.yes_ratio, d, d_loglinear)
        yield *rates, n, len(found), None, None, None, None


def _claims(table: pl.DataFrame, first: Mapping[str, _Row]) -> Iterator[Check]:
    """Yield the share of the gain in d′ that the text claims for a part of the changed weights, from its own d′."""
    base, tuned = (float(first[model_name("Qwen2.5 1.5B", name)]["d_prime"]) for name in ("original", "esma"))
    stated = {(str(row["subject"]), str(row["quantity"])): row for row in table.iter_rows(named=True)}
    for (subject, quantity), row in stated.items():
        if quantity != "share_of_gain_pct":
            continue
        reached = float(stated[subject, "d_prime"]["value"])
        share = 100 * (reached - base) / (tuned - base)
        slack = 100 * 2 * HALF / (tuned - base) + HALF * 100
        method = "d′ of the text and of table 1"
        made = check(str(row["place"]), subject, quantity, method, float(row["value"]), share, slack)
        way = f"d′ {reached:.2f} is {share:.0f} % of the way from {base:.2f} to {tuned:.2f}"
        yield made._replace(note=way)
