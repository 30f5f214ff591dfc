"""What the MetaCog-Bench paper leads with, each against the numbers it prints."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import Any

import polars as pl
from scipy.special import stdtrit

from metacog_pipeline.scoring import published as headlines
from metacog_pipeline.scoring.published import FAILS, HOLDS, UNDECIDED, Row, above, claim
from metacog_pipeline.stats.intervals import wilson_interval
from metacog_pipeline.stats.paired import mcnemar
from metacog_pipeline.stats.ranks import spearman

RUNS = 3
_OPEN, _WEAK = "nemo-12b", "gpt-4o"
_PROPRIETARY = ("grok-3-mini", "gemini-flash", "claude-sonnet-4", "mistral-large", "gpt-4o")
_SATURATED = 0.95
_AUDITED = 50  # half of the 100 replies of the paper's audit


def ledger(data: Path) -> pl.DataFrame:
    """Return one row per headline claim, from the tables in ``data``."""
    first, judged, scaled = (pl.read_csv(data / f"table_{n}.csv", glob=False) for n in (3, 6, 7))
    models = {row["model"]: row for row in scaled.iter_rows(named=True)}
    waiting = headlines.waiting(
        "after answering, every model is calibrated worse than before", "ECE after answering",
        "it is printed for one model and run, DeepSeek-V3, of 14 predictions", "half of the models",
    )  # fmt: skip
    found = (_ranking(models), _control(models), _formats(first, scaled), _judge(first, judged), [waiting])
    return headlines.ledger(chain.from_iterable(found))


def _ranking(models: dict[str, dict[str, Any]]) -> Iterator[Row]:
    """Whether the overall score tells models apart, and how far apart they are."""
    ordered = sorted(models.values(), key=lambda row: -row["overall_mean"])
    apart = 0
    for better, worse in pairwise(ordered):
        spread = math.hypot(better["overall_std"], worse["overall_std"]) / math.sqrt(RUNS)
        apart += better["overall_mean"] - worse["overall_mean"] > float(stdtrit(4, 0.975)) * spread
    pairs = len(ordered) - 1
    yield claim(
        "table 7", "three runs tell the models apart", "neighbours in rank, Student's t over runs",
        headlines.all_of(apart, pairs), float(apart), published=float(pairs),
        expected=f"{0.05 * pairs:.1f} of {pairs} by chance",
        note="standard deviations over runs are printed as if they were intervals; tasks are the same in every run",
    )  # fmt: skip
    best, worst = (pick(models[name]["overall_mean"] for name in _PROPRIETARY) for pick in (max, min))
    gap, inside = best - models[_OPEN]["overall_mean"], best - worst
    yield claim(
        "table 7", "the open model is no further behind than proprietary models lie apart",
        "best minus open, less best minus worst proprietary", HOLDS if gap <= inside else FAILS, gap - inside,
        expected="0 or less if it holds", note=f"{gap:.3f} against {inside:.3f}",
    )  # fmt: skip
    shares = [[row[f"{name}_mean"] for row in models.values()] for name in ("ms", "saf", "cdtc")]
    rhos = [spearman(one, other).value or 0.0 for one, other in combinations(shares, 2)]
    yield claim(
        "table 7", "monitoring, adaptation and transfer are separate abilities", "mean Spearman of the composites",
        UNDECIDED, sum(rhos) / len(rhos), low=min(rhos), high=max(rhos),
        expected="0 if separate; over 7 models chance reaches 0.79 in one of 20",
        note="low and high: range over pairs; two of the five tiers are at their ceiling",
    )  # fmt: skip


def _control(models: dict[str, dict[str, Any]]) -> Iterator[Row]:
    weak, nemo = models[_WEAK], models[_OPEN]
    made = (weak["t2a_pct_mean"] + weak["t2b_pct_mean"]) / 200
    others = min(row["saf_mean"] for name, row in models.items() if name != _WEAK)
    yield claim(
        "table 7, GPT-4o", "GPT-4o is weak in metacognitive control", "adaptation from its two tiers, least of the others",
        HOLDS if made < others else FAILS, made, published=weak["saf_mean"],
        expected=f"below {others:.3f}, the least of the other models",
        note="the printed number is that of tier 2b alone",
    )  # fmt: skip
    own = nemo["t2b_pct_mean"] / 100
    theirs = [models[name]["t2b_pct_mean"] / 100 for name in _PROPRIETARY]
    yield claim(
        "table 7, Nemo 12B", "a small open model withstands flattery like proprietary ones", "tier 2b minus their mean",
        above(own - max(theirs), own - min(theirs)), own - sum(theirs) / len(theirs), low=own - max(theirs),
        high=own - min(theirs), expected="0 if alike",
        note=f"low and high: range over {len(theirs)} models; the paper quotes {nemo['saf_mean']}, half of it another tier",
    )  # fmt: skip


def _formats(first: pl.DataFrame, scaled: pl.DataFrame) -> Iterator[Row]:
    least = float(scaled["t2a_pct_mean"].min()) / 100  # type: ignore[arg-type]
    yield claim(
        "table 7", "in free text models name the limits of their advice", "least tier 2a of seven models",
        HOLDS if least >= 0.96 else FAILS, least, published=0.96, expected="1 for any reply with two words of caution",
        note=f"all are above {_SATURATED}: the tier tells no models apart",
    )  # fmt: skip
    passed, n = int(first["t2a_k"].sum()), int(first["t2a_n"].sum())
    low, high = wilson_interval(passed / n, n)
    yield claim(
        "tables 3 and 7", "a strict format hides what models know of their limits", "tier 2a under JSON, four models",
        UNDECIDED, passed / n, published=0.40, low=low, high=high, expected=f"{least:.2f} without an effect of the format",
        note="five tasks under JSON, thirty others in free text, and another rule: format, tasks and rule changed together",
    )  # fmt: skip


def _judge(first: pl.DataFrame, judged: pl.DataFrame) -> Iterator[Row]:
    """What a judge and rules say of the same categories, and how well the rules were checked."""
    own = first.row(by_predicate=pl.col("model") == "gemini-flash", named=True)
    tasks = sum(own[f"{name}_n"] for name in ("t2a", "t2b", "t3"))
    ruled = sum(own[f"{name}_k"] for name in ("t2a", "t2b", "t3"))
    said = round(sum(own[f"{name}_n"] * share / 100 for name, share in zip(
        ("t2a", "t2b", "t3"), judged["judge_pct"].to_list(), strict=False
    )))  # fmt: skip
    p = mcnemar(said - ruled, 0).p_exact
    yield claim(
        "tables 3 and 6, Gemini Flash", "a language model that judges hides failures", "judge minus rules, share of tasks",
        HOLDS if p is not None and p < 0.05 else UNDECIDED, (said - ruled) / tasks, published=0.217,
        expected="0 if both saw the same", note=f"{said} against {ruled} of {tasks} tasks of one model, exact p {p:.3f}",
    )  # fmt: skip
    low, high = wilson_interval(1 / _AUDITED, _AUDITED)
    yield claim(
        "section 4.1", "rules pass fewer than 4 % that should fail", "one of 50, the most that prints below 4 %",
        above(-high, -low, -0.04), 1 / _AUDITED, published=0.04, low=low, high=high, expected="below 0.04",
        note="100 replies of two models, on which the rules were tuned",
    )  # fmt: skip
