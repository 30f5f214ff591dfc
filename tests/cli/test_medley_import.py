"""Files of replies are kept as a model's answers, and scored and judged by ``metacog run``."""

import csv
import json
from pathlib import Path

import pytest

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.study import load_study
from tests.studies import write_study


@pytest.fixture
def study(tmp_path):
    models = (
        {"name": "filed", "provider": "replay", "family": "elsewhere"},
        {"name": "sim", "provider": "simulated", "family": "here"},
    )
    judge = {"name": "judge", "provider": "simulated", "family": "there"}
    medley = {"dataset": "sample", "limit": 3, "conditions": ["normal", "adversarial"], "judges": ["judge"]}
    return write_study(tmp_path, *models, judges=[judge], benchmarks={"medley": medley})


def rows_of(metacog, study: Path, query: str) -> list[dict[str, object]]:
    return json.loads(metacog("sql", query, "--study", study, "--format", "json").out)


@pytest.mark.proof
def test_replies_of_all_three_steps_are_kept_scored_judged_and_complete(metacog, study, tmp_path):
    file = replies_of_everything(study, tmp_path / "answers.csv")
    kept = metacog("import", "medley", file, "--study", study, "--run", "1", "--model", "filed")
    assert kept.code == 8
    assert "'nowhere' is none of the 3 instances" in kept.err
    done = metacog("run", study, "--quiet")
    assert done.code == 0, done.err
    found = rows_of(
        metacog, study, "select condition, estimate from estimates where model = 'filed' and measure = 'mms'"
    )
    assert found and all(row["estimate"] is not None for row in found)
    states = rows_of(metacog, study, "select model, state from progress where benchmark = 'medley'")
    assert {(row["model"], row["state"]) for row in states} == {("filed", "complete"), ("sim", "complete")}
    asked = "select model, n_answered from progress where benchmark = 'medley_judgements'"
    judged = rows_of(metacog, study, asked)
    assert {row["model"] for row in judged} == {"filed", "sim"} and all(row["n_answered"] for row in judged)
    assert "everything is up to date" in metacog("run", study).err


def replies_of_everything(study: Path, file: Path) -> Path:
    """Write a reply to every step of every instance, and one to an instance that is not there."""
    loaded = load_study(study)
    loaded.prepare()
    benchmark = bound(loaded, "medley")
    construction.build(benchmark)
    replies = {
        step: json.dumps(
            {
                "claim_level_assessments": [
                    {"claim_id": f"C{i}", "confidence": label, "reasoning": "Because."} for i in range(1, 6)
                ]
            }
        )
        for step, label in (("step_a", "high"), ("b_private", "high"), ("b_social", "low"))
    }
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, ["instance_id", "condition", *replies])
        writer.writeheader()
        for condition, items in tasks.asked(benchmark):
            for item in items:
                writer.writerow({"instance_id": item.item_id, "condition": condition, **replies})
        writer.writerow({"instance_id": "nowhere", "condition": "normal", **replies})
    return file
