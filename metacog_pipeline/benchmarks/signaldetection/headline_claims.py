"""What "Measuring the metacognition of AI" leads with, each against the counts published with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from metacog_pipeline.benchmark import headlines
from metacog_pipeline.benchmark.contract import Comparison
from metacog_pipeline.benchmark.headlines import FAILS, HOLDS, UNDECIDED, Row, all_of, claim
from metacog_pipeline.benchmarks.signaldetection.refitted import Claim, Refit
from metacog_pipeline.stats.ties import largest

ALPHA = 0.05
_GPT, _DEEPSEEK = "GPT-5-2025-08-07", "DeepSeek-V3.2-Exp"


def ledger(refit: Refit) -> pl.DataFrame:
    """Return one row per headline claim, from the refit of the published counts."""
    tests = [row for row in refit.contrasts if row.family == "criterion_z"]
    rows = [
        *_efficiency([each for each in refit.claims if each.method == "bayes"], refit.contrasts),
        *_criterion([row for row in tests if row.measure == "c"]),
        _sensitivity([row for row in tests if row.measure == "d"]),
        headlines.waiting(
            "criteria under two risks differ more than chance allows, items being paired",
            "tests that pair the items",
            "counts say nothing of single items: risks are compared as if each had items of its own",
            "narrower intervals than those of independent items",
        ),
    ]
    return headlines.ledger(rows)


def _efficiency(cells: Sequence[Claim], contrasts: Sequence[Comparison]) -> Iterator[Row]:
    found = [each for each in cells if each.quantity == "m_ratio" and each.high is not None]
    below = sum(each.high < 1 for each in found if each.high is not None)
    values = [each.recomputed for each in found if each.recomputed is not None]
    yield claim(
        "table S1, three models × three tasks", "models know less of their errors than their decisions would allow",
        "cells whose interval of M-ratio lies below 1", all_of(below, len(found)), float(below),
        expected=f"0 of {len(found)} for an observer who uses all it has",
        note=f"M-ratio {min(values):.2f} to {max(values):.2f}; {below} of {len(found)}",
    )  # fmt: skip
    pairs = [
        row
        for row in contrasts
        if row.family == "bayes_models" and row.measure == "m_ratio" and {row.a, row.b} == {_GPT, _DEEPSEEK}
    ]
    better = sum(row.verdict == "significant" and ((row.value or 0) > 0) == (row.a == _GPT) for row in pairs)
    gaps = [abs(row.value or 0) for row in pairs]
    if pairs:
        yield claim(
            "table S1, GPT-5 and DeepSeek", "GPT-5 is more efficient than DeepSeek", "tasks in which M-ratio differs so",
            all_of(better, len(pairs)), float(better), expected=f"0 of {len(pairs)} without a difference",
            note=f"differences {min(gaps):.2f} to {max(gaps):.2f}; the printed one of task C is from chains stopped early",
        )  # fmt: skip
    printed = [each for each in cells if each.published is not None and each.follows is not None]
    follow = sum(bool(each.follows) for each in printed)
    yield claim(
        "table S1", "the printed posteriors are those of the counts", "printed numbers that follow",
        all_of(follow, len(printed)), float(follow), published=float(len(printed)), expected=f"all {len(printed)}",
        note="others are the state of chains that had not converged",
    )  # fmt: skip


def _criterion(tests: Sequence[Comparison]) -> Iterator[Row]:
    """Yield whether a stated risk moves the criterion, and whose it moves most."""
    toward = sum((row.value or 0) * _sign(row) > 0 for row in tests)
    moved = sum((row.value or 0) * _sign(row) > 0 and (row.p_adjusted or 0) < ALPHA for row in tests)
    yield claim(
        "table S2, 27 pairs of risks", "models shift their criterion away from the costly error",
        "pairs that differ as predicted, p by Bonferroni", HOLDS if moved > len(tests) / 2 else FAILS, float(moved),
        published=25.0, expected=f"{ALPHA / 2:g} of one pair by chance; {len(tests) / 2:g} in the predicted direction",
        note=f"{toward} of {len(tests)} in the predicted direction",
    )  # fmt: skip
    widest = {
        (str(row.task), str(row.model)): abs(row.value or 0)
        for row in tests
        if {row.a, row.b} == {"risk_s1", "risk_s2"}
    }
    tasks = sorted({str(task) for task, model in widest if model == _GPT})
    if not tasks:
        return
    first = [_moves_furthest(widest, task) for task in tasks]
    yield claim(
        "table S2", "GPT-5 adapts to risk most", "tasks in which its criterion moves furthest",
        all_of(first.count(_GPT), len(tasks)), float(first.count(_GPT)), expected=f"1 of {len(tasks)} by chance",
        note="; ".join(f"{task}: {widest[task, _GPT]:.2f} against at most "
                       f"{max(v for (t, m), v in widest.items() if t == task and m != _GPT):.2f}" for task in tasks),
    )  # fmt: skip


def _moves_furthest(widest: Mapping[tuple[str, str], float], task: str) -> str:
    """Return the model whose criterion moves furthest in a task, the first by name of those that move equally far."""
    models = sorted(model for other, model in widest if other == task)
    return models[int(largest([widest[task, model] for model in models]))]


def _sign(row: Comparison) -> int:
    """Return 1 where a is further towards a costly S2 than b."""
    order = ("risk_s1", "risk_none", "risk_s2")
    return 1 if order.index(row.a) > order.index(row.b) else -1


def _sensitivity(tests: Sequence[Comparison]) -> Row:
    differ = [row for row in tests if (row.p_adjusted or 0) < ALPHA]
    named = sorted(tests, key=lambda row: (row.model, str(row.task), str(row.a), str(row.b)))
    widest = named[int(largest([abs(row.value or 0) for row in named]))]
    return claim(
        "table S2, 27 pairs of risks", "a stated risk leaves sensitivity as it is",
        "pairs whose d′ differs, p by Bonferroni", HOLDS if not differ else FAILS if len(differ) > 1 else UNDECIDED,
        float(len(differ)), published=8.0,
        expected="0, or 1 in 20 such tables by chance",
        note=f"up to {abs(widest.value or 0):.2f} ({widest.model}, task {widest.task})",
    )  # fmt: skip
