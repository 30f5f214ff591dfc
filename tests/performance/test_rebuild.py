"""How long new boards take all together, from a million observations over a hundred models kept on disk.

The same steps as a run takes after the answers are read: estimates of every run, models pooled, the state of every
partition, the SQL models and their tests. Tests between models are a table of their own beside the boards and have a
row of their own here. Wall seconds, the best of several times.
"""

import shutil
import time
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.asking import tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmarks.metamedqa import MetaMedQA
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Item, Kind, Letter
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.scoring import files
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.transcripts.store import write_manifest
from tests.metamedqa.engine import RESPONSES

pytestmark = pytest.mark.bench

MODELS, ITEMS = 100, 10_000
ALL_S = 10.0  # a third of it is what DuckDB takes to write the rows
# Kind and key of every item, in turn: as in the published set, most are ordinary questions with a key of A to D.
# Kind and key of the items, in turn: as in the published set, most are ordinary questions with a key of A to D.
ORDINARY: tuple[Letter, ...] = ("A", "B", "C", "D", "A", "B", "C", "D")
OTHERS: tuple[tuple[Kind, Letter], ...] = (("Answer removed", "E"), ("Fictional", "F"))
KINDS: tuple[tuple[Kind, Letter], ...] = (*(("Original", letter) for letter in ORDINARY), *OTHERS)


def items() -> list[Item]:
    options = ("Anaemia", "Fever", "Jaundice", "Oedema", "None of the above", "I don't know or cannot answer")
    return [
        Item(
            item_id=f"item-{n:05d}",
            position=n,
            question=f"Question {n}?",
            options=options,
            target=KINDS[n % len(KINDS)][1],
            kind=KINDS[n % len(KINDS)][0],
            meta_info="step1",
            dataset="custom",
        )
        for n in range(ITEMS)
    ]


def write_observations(partition: Partition, asked: list[Item], seed: int) -> None:
    """Write what parsing would have written for one model."""
    rng = np.random.default_rng(seed)
    target = np.array([item.target for item in asked])
    knows = rng.random(ITEMS) < rng.uniform(0.3, 0.9)
    answer = np.where(knows, target, np.array(LETTERS)[rng.integers(0, 6, ITEMS)])
    same = {
        "benchmark": "metamedqa",
        "dataset": "custom",
        "condition": "baseline",
        "model": partition.spec.name,
        "run": 1,
        "status": "ok",
        "latency_s": 0.5,
        "cost_usd": 0.0004,
        "input_tokens": 300,
        "output_tokens": 12,
        "mode": "text",
        "source": "measured",
        "tags": [],
        "meta_info": "step1",
    }
    columns = {
        "item_id": [item.item_id for item in asked],
        "position": np.arange(ITEMS),
        "kind": [item.kind for item in asked],
        "target": target,
        "answer": answer,
        "confidence": rng.integers(1, 6, ITEMS),
        "correct": (answer == target).astype(np.int8),
        "answer_ids": [[f"{seed:04d}{n:060d}"] for n in range(ITEMS)],
        "cluster": [item.item_id for item in asked],
    }
    absent = {name: None for name in RESPONSES.names() if name not in {**same, **columns}}
    frame = pl.DataFrame(columns).with_columns(
        pl.lit(value).alias(name) for name, value in {**same, **absent}.items()
    )
    path = partition.below("responses")
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.select(pl.col(name).cast(kind) for name, kind in RESPONSES.items()).write_parquet(
        path, metadata={"metacog_made_from": f"seed {seed}"}
    )


def partitions(study: Study) -> list[Partition]:
    return [Partition(study, MetaMedQA.name, spec, 1) for spec in study.models]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rebuild")
    models = [
        f'[[models]]\nname = "model-{n:03d}"\nprovider = "openai"\nmodel = "m{n}"' for n in range(MODELS)
    ]
    text = ['[study]\nname = "big"', *models, '[benchmarks.metamedqa]\ndataset = "custom"\nfolder = "own"']
    (folder / "study.toml").write_text("\n".join(text))
    made = load_study(folder / "study.toml")
    made.prepare()
    asked = items()
    item_files.write_rows(item_files.items_path(made.home, MetaMedQA.name), asked, Item, "made")
    for seed, partition in enumerate(partitions(made)):
        write_observations(partition, asked, seed)
        counts = {"n_expected": ITEMS, "n_answered": ITEMS, "n_failed": 0}
        partition.folder.path.mkdir(parents=True, exist_ok=True)
        print_of = tasks.fingerprint(MetaMedQA.of(made), partition)
        write_manifest(
            partition.folder,
            {
                **counts,
                "state": "complete",
                "fingerprint": print_of,
                "finished_at": "2026-01-02T00:00:00+00:00",
            },
        )
    return made


def seconds(run: Callable[[], object], before: Callable[[], object] = lambda: None, times: int = 3) -> float:
    found = []
    for _ in range(times):
        before()
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def boards(study: Study) -> None:
    write_status(study)
    build(study.home)


def test_a_rebuild_from_a_million_observations(study, figure):
    def everything() -> None:
        files.pool(MetaMedQA.of(study))
        boards(study)

    for partition in partitions(study):
        files.score(MetaMedQA.of(study), partition)
    taken = seconds(
        everything, before=lambda: shutil.rmtree(study.home.estimates / "metamedqa" / "models", True)
    )
    figure(
        f"boards rebuilt from {MODELS * ITEMS:,} observations over {MODELS} models (pooling, states, SQL, tests)",
        f"≤ {ALL_S} s",
        f"{taken:.2f} s",
        taken <= ALL_S,
    )


def test_runs_and_comparisons_beside_the_boards(study, figure):
    runs = seconds(lambda: [files.score(MetaMedQA.of(study), partition) for partition in partitions(study)])
    tests = seconds(lambda: files.compare(MetaMedQA.of(study)), times=1)
    figure(
        f"beside the boards: estimates of {MODELS} single runs; tests between {MODELS} models",
        "none",
        f"{runs:.2f} s; {tests:.2f} s",
        True,
    )
