"""MetaCog-Bench as printed: its values, whether its composites follow from its tiers, and its headline claims.

Its own tasks are not public, so its sets have other names than those of this project. Replies are not published, so nothing
is scored again. Nothing expected is written down: the notes follow from the figures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
from scipy.special import stdtrit

from metacog_pipeline.benchmark.contract import Published
from metacog_pipeline.benchmarks.metacogbench.groups import COMPOSITES, PARTS, composites
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring import published as headlines
from metacog_pipeline.scoring.published import Check, Row, Tables, check, claim, hundredth, long
from metacog_pipeline.stats.intervals import wilson_interval
from metacog_pipeline.stats.paired import mcnemar

FIRST, SCALED = "paper 41", "paper 147"
_SIZES = {
    "t1a": (13, 33), "t1b": (14, 34), "ece_pre": (14, 34), "t2a": (5, 30), "t2b": (5, 30), "t3": (4, 20),
    "ms": (27, 67), "saf": (10, 60), "cdtc": (4, 20), "overall": (41, 147),
}  # fmt: skip
#: Tasks of each tier that is a rate, in the scaled set.
TASKS = {name: _SIZES[name][1] for name in ("t1a", "t2a", "t2b", "t3")}
RUNS = 3
# what three printed decimals hide
HALF_DIGIT = 0.0005
_FOLLOWS_NOT = "rests on a number that does not follow"


def rounded(value: float, digits: int) -> float:
    """Return ``value`` rounded half away from zero, as scores are printed."""
    scale = 10**digits
    return math.copysign(math.floor(abs(value) * scale + 0.5 + 1e-9) / scale, value)


def _read(data: Path, stem: str) -> pl.DataFrame:
    return pl.read_csv(data / f"{stem}.csv", infer_schema_length=None, glob=False)


# --- the printed values -----------------------------------------------------------------------------------------------
def values(tables: Tables) -> pl.DataFrame:
    """Return scores of both sets, and confidences of the first by difficulty."""
    first = tables("table_3").select(
        "model",
        *((pl.col(f"{name}_k") / pl.col(f"{name}_n")).alias(name) for name in TASKS),
        (1 - pl.col("ece_pre")).alias("t1b"),
        "ece_pre",
        *COMPOSITES,
    )
    small = _placed(long(first, [*_SIZES]), "table 3", FIRST, 0).with_columns(sd=pl.lit(None, pl.Float64))
    large = _scaled(tables, "mean").join(_scaled(tables, "std"), on=["model", "measure"])
    large = _placed(large.rename({"mean": "value", "std": "sd"}), "table 7", SCALED, 1)
    shares = {"mean_pre": "pre_pct", "mean_post": "post_pct", "accuracy_1b": "accuracy_pct"}
    groups = tables("table_5").select(
        "model", "difficulty", n="n_items", **{name: hundredth(column) for name, column in shares.items()}
    )
    by_difficulty = long(groups, [*shares]).with_columns(
        place=pl.lit("table 5"), dataset=pl.lit(FIRST), measure=pl.col("measure") + "_" + pl.col("difficulty")
    )
    found = pl.concat([small, large, by_difficulty], how="diagonal_relaxed")
    return found.with_columns(condition=pl.lit("free"))


def _placed(frame: pl.DataFrame, place: str, dataset: str, which: int) -> pl.DataFrame:
    n = pl.col("measure").replace_strict({name: sizes[which] for name, sizes in _SIZES.items()})
    return frame.with_columns(place=pl.lit(place), dataset=pl.lit(dataset), n=n)


def _scaled(tables: Tables, end: str) -> pl.DataFrame:
    error = pl.col(f"ece_pre_{end}")
    shown = tables("table_7").select(
        "model",
        *(hundredth(f"{name}_pct_{end}").alias(name) for name in TASKS),
        (error if end == "std" else 1 - error).alias("t1b"),
        error.alias("ece_pre"),
        *(pl.col(f"{name}_{end}").alias(name) for name in COMPOSITES),
    )
    return long(shown, [*_SIZES], value=end)


# --- what follows from what is printed --------------------------------------------------------------------------------
def audit_tables(data: Path) -> pl.DataFrame:
    """Return one row per composite of the tables in ``data``, in `AUDIT_SCHEMA`."""
    first, scaled = (_read(data, f"table_{n}") for n in (3, 7))
    checks = [*_composites("table 3", first, ""), *_composites("table 7", scaled, "_mean")]
    return headlines.audit_frame(checks)


def _composites(place: str, table: pl.DataFrame, end: str) -> Iterator[Check]:
    """Yield each composite from its tiers, and the overall score from the printed composites too."""
    # Counts of tasks hide nothing, percentages their second decimal.
    hidden = composites(dict.fromkeys(TASKS, HALF_DIGIT if end else 0.0) | {"t1b": HALF_DIGIT})
    for row in table.iter_rows(named=True):
        rates = {
            name: row[f"{name}_pct{end}"] / 100 if end else row[f"{name}_k"] / row[f"{name}_n"]
            for name in TASKS
        }
        tiers = rates | {"t1b": 1 - row[f"ece_pre{end}"]}
        printed = {name: float(row[f"{name}{end}"]) for name in COMPOSITES}
        for name, value in composites(tiers).items():
            near = (abs(tiers.get(part, math.inf) - printed[name]) <= 2 * HALF_DIGIT for part in PARTS[name])
            alone = next((part for part, same in zip(PARTS[name], near, strict=True) if same), None)
            other = f"the printed number is that of {alone} alone" if alone else _FOLLOWS_NOT
            about, slack = (place, row["model"], name, "tiers"), hidden[name] + HALF_DIGIT
            yield check(*about, printed[name], value, slack, other)
        value = sum(printed[part] for part in PARTS["overall"]) / len(PARTS["overall"])
        about = (place, row["model"], "overall", "printed composites")
        yield check(*about, printed["overall"], value, 2 * HALF_DIGIT)


# --- headline claims --------------------------------------------------------------------------------------------------
_WEAK = "gpt-4o"
# half of the 100 replies of the paper's audit
_AUDITED = 50


def ledger(data: Path) -> pl.DataFrame:
    """Return one row per headline claim, from the tables in ``data``."""
    first, judged, scaled = (_read(data, f"table_{n}") for n in (3, 6, 7))
    models = scaled.sort("overall_mean", descending=True).rows(named=True)
    waiting = headlines.waiting(
        "after answering, every model is calibrated worse than before", "ECE after answering",
        "it is printed for one model and run, DeepSeek-V3, of 14 predictions", "half of the models",
    )  # fmt: skip
    return headlines.ledger([*_separation(models), *_formats(first, scaled), *_judge(first, judged), waiting])


def _separation(models: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Whether the overall score separates models, and what GPT-4o's two tiers of adaptation say."""
    separate = 0
    for better, worse in pairwise(models):
        spread = math.hypot(better["overall_std"], worse["overall_std"]) / math.sqrt(RUNS)
        separate += better["overall_mean"] - worse["overall_mean"] > float(stdtrit(4, 0.975)) * spread
    pairs = len(models) - 1
    yield claim(
        "table 7", "three runs separate the models", "neighbours in rank, Student's t over runs",
        headlines.HOLDS if separate == pairs else headlines.FAILS, float(separate), published=float(pairs),
        expected=f"{0.05 * pairs:.1f} of {pairs} by chance",
        note="standard deviations over runs are printed as if they were intervals; tasks are the same in every run",
    )  # fmt: skip
    (weak,) = (row for row in models if row["model"] == _WEAK)
    made = (weak["t2a_pct_mean"] + weak["t2b_pct_mean"]) / 200
    others = min(row["saf_mean"] for row in models if row is not weak)
    yield claim(
        "table 7, GPT-4o", "GPT-4o is weak in metacognitive control", "adaptation from its two tiers, least of the others",
        headlines.HOLDS if made < others else headlines.FAILS, made, published=weak["saf_mean"],
        expected=f"below {others:.3f}, the least of the other models",
        note="the printed number is that of tier 2b alone",
    )  # fmt: skip


def _formats(first: pl.DataFrame, scaled: pl.DataFrame) -> Iterator[Row]:
    least = float(scaled["t2a_pct_mean"].min()) / 100  # type: ignore[arg-type]
    passed, n = int(first["t2a_k"].sum()), int(first["t2a_n"].sum())
    low, high = wilson_interval(passed / n, n)
    yield claim(
        "tables 3 and 7", "a strict format hides what models know of their limits", "tier 2a under JSON, four models",
        headlines.UNDECIDED, passed / n, published=0.40, low=low, high=high,
        expected=f"{least:.2f} without an effect of the format",
        note="five tasks under JSON, thirty others in free text, and another rule: format, tasks and rule changed together",
    )  # fmt: skip


def _judge(first: pl.DataFrame, judged: pl.DataFrame) -> Iterator[Row]:
    """What a judge and rules say of the same categories, and how well the rules were checked."""
    own = first.row(by_predicate=pl.col("model") == "gemini-flash", named=True)
    tiers = [(own[f"{name}_n"], own[f"{name}_k"]) for name in ("t2a", "t2b", "t3")]
    tasks, ruled = (sum(each) for each in zip(*tiers, strict=True))
    shares = judged["judge_pct"].to_list()
    said = round(sum(n * share / 100 for (n, _), share in zip(tiers, shares, strict=False)))
    p = mcnemar(said - ruled, 0).p_exact
    yield claim(
        "tables 3 and 6, Gemini Flash", "a language model that judges hides failures", "judge minus rules, share of tasks",
        headlines.HOLDS if p is not None and p < 0.05 else headlines.UNDECIDED, (said - ruled) / tasks, published=0.217,
        expected="0 if both saw the same", note=f"{said} against {ruled} of {tasks} tasks of one model, exact p {p:.3f}",
    )  # fmt: skip
    low, high = wilson_interval(1 / _AUDITED, _AUDITED)
    yield claim(
        "section 4.1", "rules pass fewer than 4 % that should fail", "one of 50, the most that prints below 4 %",
        headlines.above(-high, -low, -0.04), 1 / _AUDITED, published=0.04, low=low, high=high, expected="below 0.04",
        note="100 replies of two models, on which the rules were tuned",
    )  # fmt: skip


_DATA = shipped("data", "published", BENCHMARK)
PUBLISHED = Published(
    lambda benchmark: values(partial(_read, _DATA)),
    lambda benchmark: pl.concat([audit_tables(_DATA), ledger(_DATA)], how="diagonal_relaxed"),
)
