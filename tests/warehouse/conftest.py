"""A study home made of synthetic Parquet files: what the pipeline would have left, without asking anybody anything."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.warehouse.schemas import DATASETS, STUDY_MODELS, STUDY_PARTITIONS

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
