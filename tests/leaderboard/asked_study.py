"""One small study whose every number is known by hand: the study behind the queries of ``docs/boards.md``.

Four models answer six published questions of one benchmark. *ada* misses one item, *bob* three, with full confidence; two
replies of *cyd* cannot be read; *dan* came last and is not complete. Nobody gets the last item. *bob* reports another id on
the second day and says something else to two questions.
"""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from metacog_pipeline.home import Home
from tests.homes import rows, write

ITEMS = [f"sample-{place:04d}" for place in (1, 2, 3, 4, 5, 10)]
KEYS = "ABCDEF"
FIRST = datetime(2026, 1, 2, 3, tzinfo=UTC)
#: Letter and stated confidence (1 to 5) by item; None: the reply could not be read.
REPLIES: dict[str, list[tuple[str | None, int | None]]] = {
    "ada": [("A", 5), ("B", 5), ("C", 5), ("D", 5), ("E", 5), ("A", 1)],
    "bob": [("A", 5), ("B", 5), ("C", 5), ("A", 5), ("A", 5), ("A", 5)],
    "cyd": [("A", 3), ("B", 3), (None, None), (None, None), ("A", 3), ("A", 3)],
    "dan": [("A", 4), ("A", 4)],
}
DAY = {"ada": 0, "bob": 0, "cyd": 1, "dan": 2}
DOLLARS = {"ada": 0.05, "bob": 0.01, "cyd": 0.03, "dan": 0.0}
TOKENS = {"ada": 100, "bob": 10, "cyd": 50, "dan": 20}
REASONS = {2: "the reply is empty", 3: "no answer letter is declared"}
Row = dict[str, Any]


def make(home: Home, printed: Path) -> Home:
    """Write the study's data files into ``home``; ``printed`` is the folder of published numbers."""
    shutil.copytree(printed, home / "estimates")
    _study(home)
    for model, replies in REPLIES.items():
        scored = [_scored(model, place, *reply) for place, reply in enumerate(replies)]
        calls = [_call(model, place, *reply) for place, reply in enumerate(replies)]
        at = f"metamedqa/model={model}/run=1.parquet"
        write(home, f"scored/{at}", scored)
        write(home, f"harmonised/{at}", [_harmonised(row) for row in scored])
        write(home, f"estimates/metamedqa/models/{model}.parquet", _estimates(model))
        write(home, f"transcripts/benchmark=metamedqa/model={model}/run=1/transcripts.parquet", calls)
    _again(home)
    _beside(home)
    return home


def _study(home: Home) -> None:
    listed = {"provider": "openai", "source": "measured", "listed": True, "runs": 2}
    write(home, "study/models.parquet", rows("model", *((name,) for name in REPLIES), **listed))
    complete = [(name, "complete", 6, None) for name in ("ada", "bob", "cyd")]
    states = rows(
        "model state n_answered message", *complete, ("dan", "failed", 2, "stopped: no connection"),
        benchmark="metamedqa", run=1, n_expected=6,
    )  # fmt: skip
    write(home, "study/partitions.parquet", states)
    write(home, "study/study.parquet", [{"name": "asked", "seed": 1, "digest": "d"}])
    items = [
        {"item_id": item, "dataset": "published", "position": place, "question": f"Question {place}?",
         "target": KEYS[place], "kind": "Original", "item_hash": f"{place:064x}"}
        for place, item in enumerate(ITEMS)
    ]  # fmt: skip
    write(home, "items/metamedqa.parquet", items)


def _key(model: str) -> Row:
    same = {"benchmark": "metamedqa", "dataset": "published", "condition": "baseline"}
    return {**same, "model": model, "source": "measured"}


def _scored(model: str, place: int, letter: str | None, confidence: int | None) -> Row:
    read = {"status": "ok"} if letter else {"status": "answer_unparsed", "reason": REASONS[place]}
    return {**_key(model), "run": 1, "item_id": ITEMS[place], "cluster": ITEMS[place], "position": place, **read,
            "answer_ids": [f"{model}-{place}"], "kind": "Original", "target": KEYS[place], "answer": letter,
            "confidence": confidence, "correct": int(letter == KEYS[place])}  # fmt: skip


def _harmonised(row: Row) -> Row:
    shared = {name: row[name] for name in (*_key(""), "run", "item_id", "cluster")}
    read = {"reading": row["status"], "reason": row.get("reason")}
    if row["answer"] is None:
        return {**shared, **read}
    said = {"correct": row["correct"], "confidence": (row["confidence"] - 1) / 4, "response": row["answer"]}
    return {**shared, **said, "n_alternatives": 6, **read}


def _call(model: str, place: int, letter: str | None, confidence: int | None) -> Row:
    return {"benchmark": "metamedqa", "model": model, "run": 1, "item_id": ITEMS[place], "condition": "baseline",
            "answer_id": f"{model}-{place}", "step": "answer", "source": "measured", "provider": "openai", "status": "ok",
            "model_reported": f"{model}-1", "text": f"Answer: {letter}, confidence {confidence}",
            "request_json": f'{{"messages": [["user", "Question {place}?"]], "sampling": {{"temperature": 0.0}}}}',
            "output_tokens": TOKENS[model], "reasoning_tokens": TOKENS[model] // 2, "input_tokens": 10,
            "cost_usd": DOLLARS[model], "latency_s": 0.5, "superseded": False,
            "started_at": FIRST + timedelta(days=DAY[model], seconds=place)}  # fmt: skip


def _again(home: Home) -> None:
    """Let *bob* answer a second run a day later: under another id, two of the six replies with other words."""
    calls = [_call("bob", place, *reply) for place, reply in enumerate(REPLIES["bob"])]
    for place, call in enumerate(calls):
        call |= {"run": 2, "answer_id": f"bob-again-{place}", "model_reported": "bob-2"}
        call |= {"cost_usd": 0.0, "started_at": FIRST + timedelta(days=1, seconds=place)}
        if place < 2:
            call["text"] = "something else"
    write(home, "transcripts/benchmark=metamedqa/model=bob/run=2/transcripts.parquet", calls)


def _estimates(model: str) -> list[Row]:
    right = sum(letter == KEYS[place] for place, (letter, _) in enumerate(REPLIES[model]))
    counts = {"n": 6, "n_failed": 0, "n_unreadable": 0, "coverage": 1.0}
    known = {**_key(model), **counts, "method": "Wilson", "status": "ok"}
    return rows(
        "measure estimate low high", ("accuracy", right / 6, right / 12, 1.0), ("unknown_recall", right / 10, 0.0, 1.0),
        ("d_unanswerable", right / 6, right / 12, 1.0), ("auroc2", right / 6, right / 12, 1.0),
        ("coverage", 1.0, None, None), **known,
    )  # fmt: skip


def _beside(home: Home) -> None:
    """Write what is computed over models and benchmarks, and what judges say."""
    shared = {"n": 6, "n_items": 6, "status": "ok", "low": 0.1, "high": 0.9}
    calibration: list[Row] = []
    for model, *values in (("ada", 1.0, 0.1, 0.05, 0.02), ("bob", 0.5, 0.5, 0.5, 0.25)):
        names = (f"harmonised_{name}" for name in ("auroc2", "calibration_in_the_large", "ece", "brier"))
        calibration += rows("measure estimate", *zip(names, values, strict=True), **_key(model), **shared)
    write(home, "cross_benchmark/calibration.parquet", calibration)
    tests = [
        {**_key("ada"), "family": family, "measure": "accuracy", "a": a, "b": other, "value": 0.3,
         "low": 0.1, "high": 0.5, "p_adjusted": p, "primary": family == "paired_models"}
        for family, a, other, p in (
            ("paired_models", "ada", "bob", 0.2), ("paired_models", "ada", "cyd", 0.01),
            ("tukey_models", "ada", "dan", 0.03), ("correlation_models", "accuracy", "unknown_recall", 0.001),
            ("published_pairs", "ada", "GPT-4o-2024-05-13", 0.001),
        )
    ]  # fmt: skip
    between = {
        **_key("ada"),
        "model": None,
        "family": "paired_models",
        "measure": "auroc2",
        "a": "ada",
        "b": "bob",
    }
    ends = {"low": 0.2, "high": 0.8, "low_adjusted": 0.1, "high_adjusted": 0.9, "p_adjusted": 0.01}
    tests.append({**between, **ends, "value": 0.5, "verdict": "significant"})
    write(home, "estimates/metamedqa/comparisons/comparisons.parquet", tests)
    agreement = rows(
        "measure dimension a b estimate", ("krippendorff_alpha", "all", None, None, 0.75),
        ("krippendorff_alpha", "depth", None, None, 0.5), ("bias_padding", "all", "one", None, 0.1),
        ("cohen_kappa", "all", "one", "two", 0.6),
        benchmark="metamedqa", dataset="published", source="measured", n=40, status="ok",
    )  # fmt: skip
    write(home, "estimates/metamedqa/judge_agreement/judge_agreement.parquet", agreement)
