"""How long MEDLEY scores take from the files of observations to the board: 35 models × 130 instances × 3 runs.

Wall seconds of reading, scoring every instance, estimates of every run, of every model over its runs, comparisons, and the
whole rebuild of the board, files written in between as the stages write them.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.benchmarks.medley.comparisons import compare_scored
from metacog_pipeline.benchmarks.medley.instance_scores import score_instances
from metacog_pipeline.benchmarks.medley.items import (
    CLAIM_IDS,
    DOMAINS,
    STEPS,
    Instance,
    instance_from_published,
)
from metacog_pipeline.benchmarks.medley.labels import REFERENCE_MAP
from metacog_pipeline.benchmarks.medley.observe import OBSERVATION_SCHEMA
from metacog_pipeline.benchmarks.medley.published import audit_published
from metacog_pipeline.benchmarks.medley.scoring import pool, score
from metacog_pipeline.warehouse import build, run_query
from metacog_pipeline.warehouse.schemas import STUDY_MODELS, STUDY_PARTITIONS

pytestmark = pytest.mark.bench

HERE = Path(__file__).parent
DATA = Path(os.environ.get("METACOG_DATA") or HERE.parents[1].parent / "shared" / "data") / "medley" / "v1.0"
MODELS, RUNS, LIMIT_S = 35, 3, 20.0
LABELS = ("very_high", "high", "moderate", "low", "very_low")
SENTENCES = (
    "On {claim}, Analyst {analyst} gives the stronger account, because it explains both observations.",
    "I keep {claim}: nothing in the case speaks against the order of the two events.",
    "The missing control makes me less sure than I was before.",
)

Figure = Callable[[str, str, str, bool], None]


@pytest.fixture(scope="module")
def instances() -> list[Instance]:
    if not DATA.is_dir():
        pytest.skip(f"{DATA} is absent: the published instances are needed")
    answers = json.loads((DATA / "known_answers.json").read_text())
    found = []
    for domain in DOMAINS:
        consensus = json.loads((DATA / "consensus" / f"{domain}.json").read_text())
        for given in json.loads((DATA / "instances" / f"{domain}.json").read_text()):
            name = given["instance_id"]
            known = answers.get(name)
            found.append(
                instance_from_published(given, consensus.get(name), known_answer=known, position=len(found))
            )
    return found


@pytest.fixture(scope="module")
def home(instances: list[Instance], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the observations of all models and runs."""
    home = tmp_path_factory.mktemp("medley") / "home"
    draw = random.Random(4)
    for model in names():
        for run in range(1, RUNS + 1):
            rows = [observed(instance, model, run, draw) for instance in instances]
            path = home / "observations" / "medley" / f"model={model}" / f"run={run}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pl.DataFrame(rows, schema=OBSERVATION_SCHEMA).write_parquet(path)
    (home / "study").mkdir()
    listed = [
        {"model": name, "provider": "openai", "source": "measured", "listed": True, "runs": RUNS}
        for name in names()
    ]
    counts = {"state": "complete", "n_expected": 130, "n_answered": 130, "n_failed": 0}
    states = [{"benchmark": "medley", "model": name, "run": 1, **counts} for name in names()]
    for name, rows, schema in (("models", listed, STUDY_MODELS), ("partitions", states, STUDY_PARTITIONS)):
        filled = [{each: row.get(each) for each in schema.names} for row in rows]
        pq.write_table(pa.Table.from_pylist(filled, schema=schema), home / "study" / f"{name}.parquet")
    return home


def names() -> list[str]:
    return [f"model-{i:02d}" for i in range(MODELS)]


def observed(instance: Instance, model: str, run: int, draw: random.Random) -> dict[str, object]:
    """Return one row: random labels, a dozen short sentences in each reply."""
    row: dict[str, object] = {
        "benchmark": "medley",
        "dataset": "published",
        "domain": instance.domain,
        "condition": "normal",
        "model": model,
        "run": run,
        "item_id": instance.instance_id,
        "position": instance.position,
        "status": "ok",
        "source": "measured",
    }
    for letter, step in zip("aps", STEPS, strict=True):
        items = []
        for claim in CLAIM_IDS:
            label = draw.choice(LABELS)
            row[f"{letter}_{claim.lower()}"] = getattr(REFERENCE_MAP, label)
            reasons = (
                s.format(claim=claim, analyst=draw.choice("ABCDEFGH")) for s in draw.sample(SENTENCES, 2)
            )
            items.append({"claim_id": claim, "confidence": label, "reasoning": " ".join(reasons)})
        reply = {"assessment": draw.choice(SENTENCES), "claim_level_assessments": items}
        row[f"reply_{step}"] = json.dumps(reply)
    return row


def from_files_to_board(home: Path, instances: list[Instance]) -> None:
    """Do what the stages do after answers were read: run by run, then all models, then the board."""
    folder = home / "estimates" / "medley"
    paths = sorted((home / "observations" / "medley").glob("*/*.parquet"))
    for path in paths:
        write(
            score(pl.read_parquet(path, hive_partitioning=False), instances, seed=1),
            folder / "runs" / path.parent.name / path.name,
        )
    whole = pl.concat([pl.read_parquet(path, hive_partitioning=False) for path in paths])
    for (model,), rows in pool(whole, instances, seed=1).group_by("model"):
        write(rows, folder / "models" / f"{model}.parquet")
    scored = score_instances(whole, instances)
    write(scored, folder / "instances" / "instances.parquet")
    write(compare_scored(scored, seed=1), folder / "comparisons" / "comparisons.parquet")
    audit_published(home)
    build(home)


def write(table: pl.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table.write_parquet(path)


def test_from_observations_of_35_models_to_the_board(
    home: Path, instances: list[Instance], figure: Figure
) -> None:
    started = time.perf_counter()
    from_files_to_board(home, instances)
    seconds = time.perf_counter() - started
    rows = run_query(
        home, "select count(distinct model) from board where measure = 'mms' and source = 'measured'"
    ).rows
    assert rows == ((MODELS,),)
    assert run_query(home, "select count(*) from medley_instances").rows == ((MODELS * len(instances),),)
    figure(
        f"MEDLEY, {MODELS} models × {len(instances)} instances × {RUNS} runs, from Parquet to board",
        f"≤ {LIMIT_S:.0f} s",
        f"{seconds:.1f} s",
        seconds <= LIMIT_S,
    )
