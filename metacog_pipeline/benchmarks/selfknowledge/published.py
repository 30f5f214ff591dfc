"""The printed numbers (arXiv:2602.02605) against each other: which follow from those next to them, and what they rest on.

With accuracy p and alignment r the false-alarm rate follows from the hit rate h, f = 1 - (r - p h) / (1 - p).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

# loads scipy.optimize where it is first used: few commands need it, and it takes long
import scipy
from scipy.special import ndtri

from metacog_pipeline.benchmark.contract import Published
from metacog_pipeline.benchmark.groups import Floats
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK, DUAL, IDK, SETS
from metacog_pipeline.benchmarks.selfknowledge.report import VARIANTS
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring import published as shared
from metacog_pipeline.scoring.published import FAILS, HOLDS, Check, Row, above, check, claim, long
from metacog_pipeline.stats.yes_no import CLIP

DATA = shipped("data", "published", BENCHMARK)
NOT_STATED, SMALL = "size not stated", "Qwen2.5 1.5B"
#: Table → what its rows are about, where it has no column of that name.
ABOUT: Mapping[str, Mapping[str, str]] = {
    "table_1": {"dataset": "trivia_qa"}, "table_3": {"dataset": "fictional_qa", "model": NOT_STATED},
    "table_4": {"dataset": "trivia_qa", "model": SMALL}, "table_5": {"dataset": "trivia_qa"}, "table_6": {},
    "table_7": {"model": NOT_STATED}, "table_2": {"dataset": "trivia_qa", "condition": IDK},
    "figure_2": {"dataset": "trivia_qa"},
}  # fmt: skip
HALF = 0.005  # what two printed decimals hide
_GRID = 20_001  # so fine that no two solutions fall between neighbours
_PERCENT = [
    "raw_alignment", "accuracy", "yes_ratio", "yfr", "nfr", "idk_accuracy", "idk_alignment", "all_alignment",
]  # fmt: skip


class Rates(NamedTuple):
    """Shares of yeses: of right answers, of wrong ones, of all; 0..1."""

    hit_rate: float
    false_alarm_rate: float
    yes_ratio: float


def derived(yes: float, yfr: float, nfr: float) -> dict[str, float]:
    """Return accuracy, raw alignment (percent) and d′ of three shares in 0..1."""
    accuracy = yes * (1 - yfr) + (1 - yes) * nfr
    aligned = yes * (1 - yfr) + (1 - yes) * (1 - nfr)
    rates = (yes * (1 - yfr) / accuracy, yes * yfr / (1 - accuracy))
    z = [float(ndtri(min(max(rate, CLIP), 1 - CLIP))) for rate in rates]
    return {"accuracy_pct": 100 * accuracy, "raw_alignment_pct": 100 * aligned, "d_prime": z[0] - z[1]}


def implied_rates(d_prime: float, raw_alignment: float, accuracy: float) -> list[Rates]:
    """Return the rates that give these three; shares 0..1, d′ clipped as published and printed with two digits."""
    low, high = max(0.0, (raw_alignment - (1 - accuracy)) / accuracy), min(1.0, raw_alignment / accuracy)
    if not 0 < accuracy < 1 or low > high:
        return []

    def alarms(h: Floats) -> Floats:
        return 1 - (raw_alignment - accuracy * h) / (1 - accuracy)

    def excess(h: Floats) -> Floats:
        z = [ndtri(np.clip(each, CLIP, 1 - CLIP)) for each in (h, alarms(h))]
        return np.asarray(z[0] - z[1] - d_prime)

    grid = np.linspace(low, high, _GRID)
    off = excess(grid)
    turns = np.flatnonzero(np.signbit(off[1:]) != np.signbit(off[:-1]))
    roots = [scipy.optimize.brentq(excess, grid[i], grid[i + 1], xtol=1e-12) for i in turns]
    if not roots and float(np.abs(off).min()) <= HALF:
        # touches what is printed without crossing it
        roots = [float(grid[int(np.abs(off).argmin())])]
    hits = np.array(roots)
    false = np.clip(alarms(hits), 0.0, 1.0)
    yes = accuracy * hits + (1 - accuracy) * false
    return [Rates(*each) for each in np.column_stack([hits, false, yes]).tolist()]


def tables_of(data: Path) -> dict[str, pl.DataFrame]:
    """Return every shipped table by its name."""
    read = {path.stem: pl.read_csv(path, infer_schema_length=None, glob=False) for path in data.glob("*.csv")}
    return {**read, **{stem: _named(read[stem], stem) for stem in ABOUT}}


def _named(table: pl.DataFrame, stem: str) -> pl.DataFrame:
    """Return a table with place, data set, condition and model of each row."""
    if stem == "table_7":
        language = pl.col("dataset").str.replace("mkqa", DUAL)
        table = table.drop("size").with_columns(condition=language, dataset=pl.lit("mkqa"))
    elif "size" in table.columns:
        table = table.rename({"size": "model"}).with_columns(model=pl.format("Qwen2.5 {}", "model"))
    about = {"place": stem.replace("_", " "), "condition": DUAL, **ABOUT[stem]}
    return table.with_columns(pl.lit(v).alias(k) for k, v in about.items() if k not in table.columns)


def values() -> pl.DataFrame:
    """Return the printed numbers in the names and units of the board, each once."""
    given = tables_of(DATA)
    # table 1 has their other rows
    only = {"table_4": ["direct", "meta"], "table_5": ["sft"]}
    about = ("place", "dataset", "condition", "model", "variant")
    named = [stem for stem in ABOUT if stem.startswith("table")]
    parts = [given[stem].filter(pl.col("variant").is_in(only.get(stem, [*VARIANTS]))) for stem in named]
    tables = pl.concat(parts, how="diagonal_relaxed")
    shares = [(pl.col(f"{name}_pct") / 100).round(6).alias(name) for name in _PERCENT]
    wide = tables.select(*about, pl.col("d_prime").alias("d_type2_reference"), *shares)
    areas = given["figure_2"].rename({"original_auc": "original", "esma_auc": "esma"})
    drawn = long(areas, ["original", "esma"]).rename({"measure": "variant"})
    printed = long(wide, ["d_type2_reference", *_PERCENT])
    sized = ~pl.col("measure").is_in(["yfr", "nfr"])
    suffix = {name: label and f" {label}" for name, label in VARIANTS.items()}
    return pl.concat([printed, drawn.with_columns(measure=pl.lit("auroc2"))], how="diagonal").with_columns(
        model=pl.col("model") + pl.col("variant").replace_strict(suffix),
        n=pl.when(sized).then(
            pl.col("dataset").replace_strict({name: each.rows for name, each in SETS.items()})
        ),
    )


def audit(given: Mapping[str, pl.DataFrame]) -> Iterator[Check]:
    """Yield every check of the printed numbers: recomputed minus published, against what rounding explains."""
    first = {_subject(row): row for row in given["table_1"].iter_rows(named=True)}
    for row in (row for stem in ("table_1", "table_5") for row in given[stem].iter_rows(named=True)):
        yield from _from_failures(row)
    for row in given["table_2"].iter_rows(named=True):
        subject, aligned = _subject(row), float(row["all_alignment_pct"])
        # Only a range is possible: its end nearest to the printed number stands for it.
        most = min(aligned, float(first[subject]["raw_alignment_pct"]))
        what = ("table 2", subject, "all_alignment_pct", "at most raw alignment, table 1")
        yield check(*what, aligned, most, 2 * HALF)
    yield from _shares_of_gain(given["claims"], first)


def _subject(row: Mapping[str, Any]) -> str:
    return f"{row['model']} {VARIANTS[str(row['variant'])]}".rstrip()


def _from_failures(row: Mapping[str, str]) -> Iterator[Check]:
    shares = [float(row[name]) for name in ("yes_ratio_pct", "yfr_pct", "nfr_pct")]
    corners = [
        derived(*((each + side * HALF) / 100 for each, side in zip(shares, sides, strict=True)))
        for sides in product((-1, 1), repeat=3)
    ]
    for name, value in derived(*(each / 100 for each in shares)).items():
        slack = HALF + max(abs(corner[name] - value) for corner in corners)
        about = (row["place"], _subject(row), name, "yes ratio, YFR and NFR")
        yield check(*about, float(row[name]), value, slack)


def _shares_of_gain(table: pl.DataFrame, first: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """Yield the share of the gain in d′ that the text claims for a part of the changed weights, from its own d′."""
    base, tuned = (float(first[name]["d_prime"]) for name in (SMALL, f"{SMALL} {VARIANTS['esma']}"))
    reached = dict(table.filter(quantity="d_prime").select("subject", "value").iter_rows())
    for row in table.filter(quantity="share_of_gain_pct").iter_rows(named=True):
        d = float(reached[row["subject"]])
        share = 100 * (d - base) / (tuned - base)
        slack = 100 * 2 * HALF / (tuned - base) + HALF * 100
        about = (row["place"], row["subject"], row["quantity"], "d′ of the text and of table 1")
        way = f"d′ {d:.2f} is {share:.0f} % of the way from {base:.2f} to {tuned:.2f}"
        yield check(*about, float(row["value"]), share, slack)._replace(note=way)


def ways(given: Mapping[str, pl.DataFrame]) -> Iterator[Row]:
    """Yield the rates that give a row of tables 3, 4, 6 and 7, by solution."""
    for row in (row for at in (3, 4, 6, 7) for row in given[f"table_{at}"].iter_rows(named=True)):
        where = {"table 6": f", {row['dataset']}", "table 7": f", {row['condition'].replace(DUAL, 'mkqa')}"}
        about = {"place": row["place"], "subject": _subject(row) + where.get(row["place"], "")}
        found = implied_rates(row["d_prime"], row["raw_alignment_pct"] / 100, row["accuracy_pct"] / 100)
        for number, rates in enumerate(found, start=1):
            how = {"verdict": "possible", "method": f"solution {number} on {row['dataset']}"}
            yield from (
                about | {"quantity": q, "recomputed": value} | how for q, value in rates._asdict().items()
            )


_LEADS = (
    ("training raises what a model knows of its knowledge", "table_1", "d_prime"),
    ("training does not cost accuracy", "table_1", "accuracy_pct"),
    ("confidence, too, separates right from wrong better", "figure_2", "auc"),
    ("the gain carries over to other data sets", "table_6", "d_prime"),
    ("on other data sets a yes fits the answer more often", "table_6", "raw_alignment_pct"),
    ("the gain carries over to other languages", "table_7", "d_prime"),
)


def _gains(table: pl.DataFrame, measure: str) -> pl.Series:
    """Return what training changes of a measure, in each row that is printed before and after."""
    if "variant" not in table.columns:  # figure 2 prints both in one row
        return table[f"esma_{measure}"] - table[f"original_{measure}"]
    key = ["model", "dataset", "condition"]
    before, after = (table.filter(variant=each).select(*key, measure) for each in ("original", "esma"))
    both = after.join(before, on=key, suffix="_before")
    return (both[measure] - both[f"{measure}_before"]) * (0.01 if measure.endswith("_pct") else 1.0)


def ledger(data: Path) -> pl.DataFrame:
    """Return one row per headline claim: the mean change by training over the rows printed before and after."""
    given, made = tables_of(data), []
    for text, stem, measure in _LEADS:
        gains = _gains(given[stem], measure)
        value, low, high = shared.mean_of(gains.to_list())
        # What must not fall holds unless it does.
        verdict = above(low, high) if measure != "accuracy_pct" else FAILS if high < 0 else HOLDS
        about = (stem.replace("_", " "), text, f"mean change of {measure}, Student's t", verdict, value)
        note = f"up in {(gains > 0).sum()} of {len(gains)}, each trained once"
        made.append(claim(*about, low=low, high=high, expected="0 without an effect", note=note))
    return shared.ledger(made)


def claims() -> pl.DataFrame:
    """Return the checks, every way in which three printed numbers can come about, and the ledger of claims."""
    given = tables_of(DATA)
    possible = pl.DataFrame(list(ways(given)), infer_schema_length=None)
    return pl.concat([shared.audit_frame(audit(given)), possible, ledger(DATA)], how="diagonal_relaxed")


PUBLISHED = Published(lambda benchmark: values(), lambda benchmark: claims())
