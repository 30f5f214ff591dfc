"""A study home made of synthetic Parquet files: what the pipeline would have left, without asking anybody anything."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.leaderboard.schemas import DATASETS, STUDY_MODELS, STUDY_PARTITIONS

ITEMS = DATASETS["items/metamedqa*.parquet"]
OBSERVATIONS = DATASETS["observations/metamedqa/**/*.parquet"]
RUN_ESTIMATES = DATASETS["estimates/metamedqa/runs/**/*.parquet"]
MODEL_ESTIMATES = DATASETS["estimates/metamedqa/models/*.parquet"]
TRANSCRIPTS = DATASETS["transcripts/**/*.parquet"]
KINDS = {
    "A": "Original",
    "B": "Original",
    "C": "Original",
    "D": "Original",
    "E": "Answer removed",
    "F": "Fictional",
}
SDT_ITEMS = DATASETS["items/signaldetection*.parquet"]
SDT_OBSERVATIONS = DATASETS["observations/signaldetection/**/*.parquet"]
SDT_ESTIMATES = DATASETS["estimates/signaldetection/models/*.parquet"]
SDT_COMPARISONS = DATASETS["estimates/signaldetection/comparisons/*.parquet"]
RISKS = ("risk_s1", "risk_none", "risk_s2")
WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MakeHome = Callable[..., Path]


def write(path: Path, rows: Sequence[Mapping[str, object]], schema: pa.Schema) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    filled = [{name: row.get(name) for name in schema.names} for row in rows]
    pq.write_table(pa.Table.from_pylist(filled, schema=schema), path)


def items(count: int, dataset: str) -> list[dict[str, object]]:
    return [
        {
            "item_id": f"item-{i:04d}",
            "position": i,
            "question": f"Question {i}?",
            **{f"option_{letter}": f"option {letter}" for letter in "abcdef"},
            "target": "ABCDEF"[i % 6],
            "kind": KINDS["ABCDEF"[i % 6]],
            "meta_info": "step1",
            "dataset": dataset,
            "tags": ["anomaly"] if i == 0 else [],
            "item_hash": f"{i:064x}",
        }
        for i in range(count)
    ]


def observations(
    asked: Sequence[Mapping[str, Any]], model: str, run: int, condition: str, source: str, unanswered: bool
) -> list[dict[str, object]]:
    rng = random.Random(f"{model}/{run}/{condition}")
    rows = []
    for item in asked:
        lost = unanswered or rng.random() < 0.05
        answer = None if lost else rng.choice([item["target"], *"ABCDEF"])
        rows.append(
            {
                **{name: item[name] for name in ("item_id", "position", "kind", "target", "dataset", "tags")},
                "benchmark": "metamedqa",
                "condition": condition,
                "model": model,
                "run": run,
                "answer": answer,
                "confidence": None if lost else rng.randint(1, 5),
                "correct": int(answer == item["target"]),
                "status": "transport_error" if unanswered else "answer_unparsed" if lost else "ok",
                "source": source,
                "latency_s": rng.random(),
                "cost_usd": 0.001,
            }
        )
    return rows


def estimates(rows: Sequence[Mapping[str, Any]], *, run: int | None) -> list[dict[str, object]]:
    answered = [row for row in rows if row["answer"] is not None]
    failed = sum(row["status"] == "transport_error" for row in rows)
    shared = {
        **{name: rows[0][name] for name in ("benchmark", "dataset", "condition", "model", "source")},
        "run": run,
        "n_failed": failed,
        "n_unparsable": len(rows) - len(answered) - failed,
        "coverage": len(answered) / len(rows),
        "method": "wilson",
    }
    accuracy = sum(int(row["correct"]) for row in rows) / len(rows)
    coverage = len(answered) / len(rows)
    return [
        {
            **shared,
            "measure": "accuracy",
            "estimate": accuracy if answered else None,
            "low": max(0.0, accuracy - 0.1) if answered else None,
            "high": min(1.0, accuracy + 0.1) if answered else None,
            "n": len(rows) if answered else 0,
            "status": "ok" if answered else "no items",
        },
        {**shared, "measure": "coverage", "estimate": coverage, "n": len(rows), "status": "ok"},
    ]


def transcript(row: Mapping[str, Any], text: str) -> dict[str, object]:
    return {
        "answer_id": f"{row['model']}-{row['run']}-{row['condition']}-{row['item_id']}",
        **{name: row[name] for name in ("benchmark", "model", "run", "item_id", "condition", "source")},
        "item_hash": "0" * 64,
        "step": "answer",
        "provider": "openai",
        "model_id": row["model"],
        "mode": "text",
        "request_json": "{}",
        "status": "failed" if row["status"] == "transport_error" else "ok",
        "text": text,
        "input_tokens": 100,
        "output_tokens": 10,
        "cost_usd": row["cost_usd"],
        "attempts": 1,
        "started_at": WHEN,
        "latency_s": row["latency_s"],
        "schema_version": 1,
        "superseded": False,
        "text_altered": False,
    }


@pytest.fixture
def make_home(tmp_path: Path) -> MakeHome:
    """Return ``make_home(models={name: source}, …)``, which writes a home and returns its path.

    ``retired`` models have data and are not listed; ``failing`` ones are listed and have only failures;
    ``silent`` ones are listed and have left nothing at all.
    """

    def make(
        models: Mapping[str, str] | None = None,
        *,
        runs: int = 2,
        count: int = 24,
        conditions: Sequence[str] = ("baseline",),
        dataset: str = "published",
        retired: Sequence[str] = (),
        failing: Sequence[str] = (),
        silent: Sequence[str] = (),
        text: str = "Answer: A\nConfidence: 5",
        home: Path | None = None,
    ) -> Path:
        home = home or tmp_path / "home"
        home.mkdir(parents=True, exist_ok=True)
        sources = dict(models if models is not None else {"alpha": "measured", "beta": "imported"})
        sources |= dict.fromkeys([*failing, *silent, *retired], "measured")
        asked = items(count, dataset)
        write(home / "items" / "metamedqa.parquet", asked, ITEMS)
        listed, partitions = [], []
        for model, source in sources.items():
            pooled: dict[str, list[dict[str, object]]] = {}
            for run in range(1, runs + 1):
                state = "failed" if model in failing else "missing" if model in silent else "complete"
                if model not in retired:
                    done = 0 if state != "complete" else count * len(conditions)
                    partitions.append(
                        {
                            "benchmark": "metamedqa",
                            "model": model,
                            "run": run,
                            "state": state,
                            "n_expected": count * len(conditions),
                            "n_answered": done,
                            "n_failed": count if state == "failed" else 0,
                            "message": "the provider refuses the key" if state == "failed" else None,
                            "updated_at": WHEN,
                        }
                    )
                if model in silent:
                    continue
                seen, scored = [], []
                for condition in conditions:
                    rows = observations(asked, model, run, condition, source, model in failing)
                    seen += rows
                    scored += estimates(rows, run=run)
                    pooled.setdefault(condition, []).extend(rows)
                parts = f"model={model}", f"run={run}.parquet"
                write(home.joinpath("observations", "metamedqa", *parts), seen, OBSERVATIONS)
                write(home.joinpath("estimates", "metamedqa", "runs", *parts), scored, RUN_ESTIMATES)
                folder = home / "transcripts" / "benchmark=metamedqa" / f"model={model}" / f"run={run}"
                write(folder / "transcripts.parquet", [transcript(row, text) for row in seen], TRANSCRIPTS)
            if pooled:
                scored = [row for rows in pooled.values() for row in estimates(rows, run=None)]
                write(
                    home / "estimates" / "metamedqa" / "models" / f"{model}.parquet", scored, MODEL_ESTIMATES
                )
            listed.append(
                {
                    "model": model,
                    "provider": "simulated" if source == "simulated" else "openai",
                    "model_id": model,
                    "source": source,
                    "listed": model not in retired,
                    "runs": runs,
                }
            )
        write(home / "study" / "models.parquet", listed, STUDY_MODELS)
        write(home / "study" / "partitions.parquet", partitions, STUDY_PARTITIONS)
        return home

    return make


def sdt_items(count: int, tasks: Sequence[str], dataset: str, text: str) -> list[dict[str, object]]:
    return [
        {
            "item_id": f"sdt-{task}-{i:06d}",
            "task": task,
            "stimulus": i % 2,
            "text": text,
            "dataset": dataset,
            "source": "SST-2",
            "source_row": i,
            "position": i,
            "item_hash": f"{i:064x}",
        }
        for task in tasks
        for i in range(count)
    ]


def sdt_observations(
    asked: Sequence[Mapping[str, Any]], model: str, run: int, condition: str, source: str, unanswered: bool
) -> list[dict[str, object]]:
    rng = random.Random(f"{model}/{run}/{condition}")
    rows = []
    for item in asked:
        lost = unanswered or rng.random() < 0.05
        response = None if lost else item["stimulus"] if rng.random() < 0.8 else 1 - item["stimulus"]
        rows.append(
            {
                **{name: item[name] for name in ("item_id", "task", "position", "stimulus", "dataset")},
                "benchmark": "signaldetection",
                "condition": condition,
                "model": model,
                "run": run,
                "response": response,
                "confidence": rng.randint(1, 5)
                if response is not None and condition == "confidence"
                else None,
                "correct": int(response == item["stimulus"]),
                "status": "transport_error" if unanswered else "answer_unparsed" if lost else "ok",
                "source": source,
                "latency_s": 0.1,
                "cost_usd": 0.001,
            }
        )
    return rows


def sdt_estimates(rows: Sequence[Mapping[str, Any]], *, run: int | None) -> list[dict[str, object]]:
    answered = [row for row in rows if row["response"] is not None]
    failed = sum(row["status"] == "transport_error" for row in rows)
    kept = ("benchmark", "dataset", "task", "condition", "model", "source")
    shared = {
        **{name: rows[0][name] for name in kept},
        "run": run,
        "n": len(answered),
        "n_failed": failed,
        "n_unparsable": len(rows) - len(answered) - failed,
        "coverage": len(answered) / len(rows),
        "method": "raw counts",
        "status": "ok" if answered else "no items",
    }

    def rate(stimulus: int) -> float:
        own = [row for row in answered if row["stimulus"] == stimulus]
        return (sum(int(row["response"]) for row in own) + 0.5) / (len(own) + 1)

    hit, alarm = (NormalDist().inv_cdf(rate(stimulus)) for stimulus in (1, 0))
    values = {
        "accuracy": sum(row["correct"] for row in rows) / len(rows),
        "d": hit - alarm,
        "c": -(hit + alarm) / 2,
    }
    if rows[0]["condition"] == "confidence":
        values |= {"meta_d": 0.8 * (hit - alarm), "m_ratio": 0.8, "auroc2": 0.7, "ece": 0.1}
        values |= {"m_ratio_bayes": 0.79} if run is None else {}
    estimated = [
        {
            **shared,
            "measure": name,
            "estimate": value if answered else None,
            "low": value - 0.1 if answered else None,
            "high": value + 0.1 if answered else None,
        }
        for name, value in values.items()
    ]
    return [*estimated, {**shared, "measure": "coverage", "estimate": shared["coverage"], "status": "ok"}]


def sdt_shifts(dataset: str, source: str, model: str, task: str) -> list[dict[str, object]]:
    """Two tests (independent and paired) of each measure for each pair of risks."""
    return [
        {
            "benchmark": "signaldetection",
            "dataset": dataset,
            "source": source,
            "task": task,
            "model": model,
            "family": family,
            "measure": measure,
            "a": a,
            "b": b,
            "difference": 0.5,
            "se": 0.1,
            "low": 0.3,
            "high": 0.7,
            "low_adjusted": 0.2,
            "high_adjusted": 0.8,
            "statistic": 5.0,
            "p": 1e-6,
            "p_adjusted": 3e-6,
            "verdict": "significant",
            "n": 40,
            "status": "ok",
        }
        for family in ("criterion_z", "criterion_paired")
        for measure in ("c", "d", "c_prime")
        for b, a in (RISKS[:2], RISKS[1:], RISKS[::2])
    ]


@pytest.fixture
def make_sdt_home(tmp_path: Path) -> MakeHome:
    """Return ``make_sdt_home(models={name: source}, …)``: a home whose study asks signal detection.

    With ``home`` the data stand beside what is there; ``beside=True`` keeps asking the other benchmark too.
    """

    def make(
        models: Mapping[str, str] | None = None,
        *,
        runs: int = 1,
        count: int = 40,
        tasks: Sequence[str] = ("A", "B"),
        conditions: Sequence[str] = ("confidence", *RISKS),
        dataset: str = "published",
        failing: Sequence[str] = (),
        silent: Sequence[str] = (),
        text: str = "a film",
        home: Path | None = None,
        beside: bool = False,
    ) -> Path:
        home = home or tmp_path / "home"
        sources = dict(models if models is not None else {"alpha": "measured", "beta": "measured"})
        sources |= dict.fromkeys([*failing, *silent], "measured")
        asked = sdt_items(count, tasks, dataset, text)
        write(home / "items" / "signaldetection.parquet", asked, SDT_ITEMS)
        root = home / "estimates" / "signaldetection"
        listed, partitions, compared = [], [], []
        for model, source in sources.items():
            state = "failed" if model in failing else "missing" if model in silent else "complete"
            pooled: dict[tuple[str, str], list[dict[str, object]]] = {}
            for run in range(1, runs + 1):
                expected = len(asked) * len(conditions)
                partitions.append(
                    {
                        "benchmark": "signaldetection",
                        "model": model,
                        "run": run,
                        "state": state,
                        "n_expected": expected,
                        "n_answered": expected if state == "complete" else 0,
                        "n_failed": count if state == "failed" else 0,
                        "updated_at": WHEN,
                    }
                )
                if model in silent:
                    continue
                seen, scored = [], []
                for task, condition in product(tasks, conditions):
                    own = [item for item in asked if item["task"] == task]
                    rows = sdt_observations(own, model, run, condition, source, model in failing)
                    seen += rows
                    scored += sdt_estimates(rows, run=run)
                    pooled.setdefault((task, condition), []).extend(rows)
                parts = f"model={model}", f"run={run}.parquet"
                write(home.joinpath("observations", "signaldetection", *parts), seen, SDT_OBSERVATIONS)
                write(root.joinpath("runs", *parts), scored, SDT_ESTIMATES)
            scored = [row for rows in pooled.values() for row in sdt_estimates(rows, run=None)]
            write(root / "models" / f"{model}.parquet", scored, SDT_ESTIMATES)
            if state == "complete" and set(RISKS) <= set(conditions):
                world = "simulated" if source == "simulated" else "measured"
                compared += [row for task in tasks for row in sdt_shifts(dataset, world, model, task)]
            listed.append(
                {
                    "model": model,
                    "provider": "simulated" if source == "simulated" else "openai",
                    "model_id": model,
                    "source": source,
                    "listed": True,
                    "runs": runs,
                }
            )
        write(root / "comparisons" / "comparisons.parquet", compared, SDT_COMPARISONS)
        if beside:
            partitions += pq.read_table(home / "study" / "partitions.parquet").to_pylist()
        write(home / "study" / "models.parquet", listed, STUDY_MODELS)
        write(home / "study" / "partitions.parquet", partitions, STUDY_PARTITIONS)
        return home

    return make


@pytest.fixture
def sql_folder(tmp_path: Path) -> Callable[..., Path]:
    """Return ``sql_folder({"marts/a": "select 1 as x", …})``, which writes a folder of SQL files."""

    def make(files: Mapping[str, str]) -> Path:
        root = tmp_path / "sql"
        for name, sql in files.items():
            path = root / f"{name}.sql"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(sql, encoding="utf-8")
        return root

    return make
