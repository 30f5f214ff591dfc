"""How long MEDLEY scores take from the files of observations to the board."""

import json
import os
import random
import time
from pathlib import Path

import polars as pl
import pytest

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmarks.medley import Medley, sources
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, REFERENCE_MAP, STEPS, Instance
from metacog_pipeline.benchmarks.medley.prompts import applicable
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.scoring import files, printed
from metacog_pipeline.scoring.schemas import response_schema
from metacog_pipeline.study import load_study
from metacog_pipeline.study.frames import write_frame

pytestmark = pytest.mark.bench

HERE = Path(__file__).parent
DATA = Path(os.environ.get("METACOG_DATA") or HERE.parents[1].parent / "shared" / "data") / "medley" / "v1.0"
MODELS, CPU_S = 100, 30.0
CONDITIONS = ("normal", "adversarial", "stripped")
HEAD = '[study]\nname = "board"\nhome = "home"\nruns = 1\n'
TAIL = "[benchmarks.medley]\nenabled = true\nconditions = {conditions}\n"
LABELS = ("very_high", "high", "moderate", "low", "very_low")
SENTENCES = (
    "On {claim}, Analyst {analyst} gives the stronger account, because it explains both observations.",
    "I keep {claim}: nothing in the case speaks against the order of the two events.",
    "The missing control makes me less sure than I was before.",
)


def written(folder):
    if not DATA.is_dir():
        pytest.skip(f"{DATA} is absent: the published instances are needed")
    path = folder / "study.toml"
    rows = (
        f'[[models]]\nname = "{name}"\nprovider = "openai"\nmodel = "{name}"\n'
        for name in (f"model-{i:02d}" for i in range(MODELS))
    )
    tail = TAIL.format(conditions=json.dumps(CONDITIONS))
    path.write_text("".join([HEAD, *rows, tail]), encoding="utf-8")
    study = load_study(path)
    study.prepare()
    sources.fetch(study.home, folder=DATA)
    bench = Medley.of(study)
    construction.build(bench)
    asked = [(name, applicable(bench.items, name)) for name in CONDITIONS]
    draw = random.Random(4)
    for partition in tasks.partitions(bench):
        made = [
            observed(one, partition.spec.name, partition.run, draw) | {"condition": name}
            for name, items in asked
            for one in items
        ]
        write_frame(pl.DataFrame(made, schema=response_schema(bench)), partition.below("responses"), "drawn")
    return study


def observed(instance: Instance, model: str, run: int, draw: random.Random) -> dict[str, object]:
    """Return one row: random labels, a dozen short sentences in each reply."""
    row: dict[str, object] = {
        "benchmark": "medley", "dataset": "published", "domain": instance.domain, "condition": "normal",
        "model": model, "run": run, "item_id": instance.item_id, "cluster": instance.item_id,
        "position": instance.position, "status": "ok", "status_step_a": "ok", "source": "measured",
    }  # fmt: skip
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


def from_files_to_board(study):
    """Do what the stages do after answers were read: partition by partition, then all models together."""
    bench = Medley.of(study)
    for partition in tasks.partitions(bench):
        files.score(bench, partition)
    files.pool(bench)
    files.compare(bench)
    printed.write(bench)
    write_status(study)
    build(study.home)


def test_from_observations_of_100_models_under_three_conditions_to_the_board(tmp_path, figure):
    study = written(tmp_path)
    before = time.process_time()
    from_files_to_board(study)
    used = time.process_time() - before
    query = "select count(distinct (model, condition)) from leaderboard where measure = 'mms' and source = 'measured'"
    assert run_query(study.home, query).rows == ((3 * MODELS,),)
    what = f"MEDLEY, {MODELS} models × 130 instances × 3 conditions, from Parquet to board"
    figure(what, f"≤ {CPU_S:.0f} s CPU", f"{used:.1f} s", used <= CPU_S)
