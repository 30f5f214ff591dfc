"""A study home made of synthetic data files: what the pipeline would have left, without asking anybody anything."""

import functools
import random
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline import registry
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import one_connection
from tests.folders import made_once
from tests.homes import print_numbers, rows, write
from tests.leaderboard import asked_study

KINDS = {**dict.fromkeys("ABCD", "Original"), "E": "Answer removed", "F": "Fictional"}
WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def items(count: int, dataset: str) -> list[dict[str, object]]:
    return [
        {"item_id": f"item-{i:04d}", "dataset": dataset, "position": i, "question": f"Question {i}?",
         "target": "ABCDEF"[i % 6], "kind": KINDS["ABCDEF"[i % 6]], "item_hash": f"{i:064x}"}
        for i in range(count)
    ]  # fmt: skip


def responses(
    asked: Sequence[Mapping[str, object]], model: str, run: int, source: str
) -> list[dict[str, object]]:
    rng = random.Random(f"{model}/{run}")
    rows = []
    for item in asked:
        answer = rng.choice([str(item["target"]), *"ABCDEF"])
        rows.append(
            {**{name: item[name] for name in ("item_id", "position", "kind", "target", "dataset")},
             "benchmark": "metamedqa", "condition": "baseline", "model": model, "run": run, "answer": answer,
             "confidence": rng.randint(1, 5), "correct": int(answer == item["target"]), "status": "ok", "source": source,
             "answer_ids": [f"{model}-{run}-{item['item_id']}"]}
        )  # fmt: skip
    return rows


def harmonised(row: Mapping[str, object]) -> dict[str, object]:
    names = ("benchmark", "dataset", "condition", "model", "run", "item_id", "source")
    return {
        **{name: row[name] for name in names}, "cluster": row["item_id"], "correct": float(str(row["correct"])),
        "confidence": (int(str(row["confidence"])) - 1) / 4, "n_alternatives": 6, "response": row["answer"],
        "reading": "ok",
    }  # fmt: skip


def estimates(
    model: str, source: str, dataset: str, run: int | None, accuracy: float
) -> list[dict[str, object]]:
    same = {"benchmark": "metamedqa", "dataset": dataset, "condition": "baseline", "model": model, "run": run,
            "source": source, "n": 11, "n_failed": 0, "n_unreadable": 1, "coverage": 1.0, "method": "Wilson",
            "status": "ok"}  # fmt: skip
    return rows(
        "measure estimate low high", ("accuracy", accuracy, accuracy - 0.1, accuracy + 0.1),
        ("d_unanswerable", 2 * accuracy, accuracy, 3 * accuracy), ("coverage", 1.0, None, None), **same,
    )  # fmt: skip


def call(text: str = "A", **columns: object) -> dict[str, object]:
    """Return a call as transcripts have it."""
    return {
        "answer_id": "a", "benchmark": "metamedqa", "model": "alpha", "run": 1, "item_id": "i", "condition": "c",
        "step": "answer", "source": "measured", "provider": "openai", "status": "ok", "text": text, "superseded": False,
        "started_at": WHEN, "latency_s": 0.5, "request_json": '{"messages": [["user", "Why?"]]}', **columns,
    }  # fmt: skip


def _called(row: Mapping[str, Any]) -> dict[str, object]:
    same = {name: row[name] for name in ("benchmark", "model", "run", "item_id", "condition", "source")}
    asked = f'{{"messages": [["user", "Question {row["position"]}?"]]}}'
    answer = {"answer_id": row["answer_ids"][0], "request_json": asked, "cost_usd": 0.01}
    return call(f"Answer: {row['answer']}", **same, **answer)


def write_model(home: Home, model: str, source: str, dataset: str, accuracy: float, *, runs: int = 1) -> None:
    asked = items(12, dataset)
    for run in range(1, runs + 1):
        own = responses(asked, model, run, source)
        at = f"model={model}/run={run}"
        write(home, f"scored/metamedqa/{at}.parquet", own)
        write(home, f"harmonised/metamedqa/{at}.parquet", [*map(harmonised, own)])
        write(home, f"transcripts/benchmark=metamedqa/{at}/transcripts.parquet", [*map(_called, own)])
        of_run = estimates(model, source, dataset, run, accuracy)
        write(home, f"estimates/metamedqa/runs/{at}.parquet", of_run)
    pooled = estimates(model, source, dataset, None, accuracy)
    write(home, f"estimates/metamedqa/models/{model}.parquet", pooled)


def write_study(
    home: Home, models: Mapping[str, str], benchmarks: Sequence[str] = ("metamedqa",), runs: int = 1
) -> None:
    shown = ((name, source, source != "retired") for name, source in models.items())
    listed = rows("model source listed", *shown, provider="openai", runs=runs)
    asked = [(each, row["model"]) for each in benchmarks for row in listed if row["listed"]]
    counts = {"n_expected": 12, "n_answered": 12, "n_failed": 0}
    states = rows("benchmark model", *asked, run=1, state="complete", **counts)
    write(home, "study/models.parquet", listed)
    write(home, "study/partitions.parquet", states)
    write(home, "study/study.parquet", [{"name": "test", "seed": 1, "digest": "d"}])


def new_home(
    home: Home,
    models: Mapping[str, str] | None = None,
    dataset: str = "sample",
    silent: Sequence[str] = (),
    runs: int = 1,
) -> Home:
    """Write a home of models that answered everything, but for the silent ones."""
    sources = models if models is not None else {"alpha": "measured", "beta": "measured"}
    write_study(home, sources, runs=runs)
    write(home, "items/metamedqa.parquet", items(12, dataset))
    for place, (name, source) in enumerate(sources.items()):
        if name not in silent:
            write_model(home, name, source, dataset, 0.5 + place / 10, runs=runs)
    return home


@pytest.fixture
def make_home(tmp_path):
    """Return ``make_home({name: source}, dataset=…, silent=(names,))``, which writes a home and returns it."""
    return functools.partial(new_home, Home(tmp_path / "home"))


@pytest.fixture(scope="session")
def built_once(tmp_path_factory):
    """The home that ``make_home()`` writes, with its board."""
    made = made_once(
        tmp_path_factory.getbasetemp(), "built", lambda folder: build(new_home(Home(folder / "home")))
    )
    return Home(made / "home")


@pytest.fixture
def built_home(built_once, tmp_path):
    """A copy of it of the test's own."""
    return Home(shutil.copytree(built_once.path, tmp_path / "home"))


@pytest.fixture(scope="session")
def printed(tmp_path_factory):
    """What papers print, below ``estimates``: the same in every home."""
    home = Home(tmp_path_factory.mktemp("printed"))
    for name in registry.names():
        if name != "questions":  # no paper prints numbers of one's own questions
            print_numbers(home, name, claims=False)
    return home / "estimates"


@pytest.fixture
def sql_folder(tmp_path):
    """Return ``sql_folder({"marts/a": "select 1"})``, which writes SQL files and returns their folder."""

    def make(files: dict[str, str]) -> Path:
        folder = tmp_path / "sql"
        for name, sql in files.items():
            path = folder / f"{name}.sql"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(sql, "utf-8")
        return folder

    return make


@pytest.fixture(scope="session")
def asked_home(tmp_path_factory, printed):
    """The study of `asked_study` with its board, opened once; tests only read it."""
    made = asked_study.make(Home(tmp_path_factory.mktemp("asked") / "home"), printed)
    build(made)
    with one_connection(made):
        yield made
