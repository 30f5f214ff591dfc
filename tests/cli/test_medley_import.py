"""Analysts of the instances and files of replies are kept as a model's answers, and scored by ``metacog run``."""

import csv
import json
from pathlib import Path

import pytest

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.benchmarks.medley import Medley
from metacog_pipeline.benchmarks.medley.importing import import_analyst
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import load_study

STUDY = """
[study]
name = "t"
home = "home"

[[models]]
name = "theirs"
provider = "replay"
family = "elsewhere"

[[models]]
name = "filed"
provider = "replay"
family = "elsewhere"

[[models]]
name = "sim"
provider = "simulated"
family = "here"

[[judges]]
name = "judge"
provider = "simulated"
family = "there"

[benchmarks.medley]
dataset = "sample"
limit = 3
conditions = ["normal", "adversarial"]
judges = ["judge"]
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def rows_of(metacog, study: Path, query: str) -> list[dict[str, object]]:
    return json.loads(metacog("sql", query, "--study", study, "--format", "json").out)


@pytest.mark.proof
def test_an_analyst_and_replies_of_all_three_steps_are_kept_scored_and_complete(metacog, study, tmp_path):
    common = ("--study", study, "--run", "1", "--model")
    assert import_analyst(Medley.of(load_study(study)), "Analyst A", "theirs", 1).records
    kept = metacog(
        "import", "medley", replies_of_everything(study, tmp_path / "answers.csv"), *common, "filed"
    )
    assert kept.code == 8
    assert "'nowhere' is none of the 3 instances" in kept.err
    done = metacog("run", study, "--quiet")
    assert done.code == 0, done.err
    found = rows_of(
        metacog,
        study,
        "select measure, estimate, status from estimates where model = 'theirs' and starts_with(condition, 'normal')",
    )
    by_name = {str(row["measure"]): row for row in found}
    assert by_name["step_a_confidence"]["estimate"] is not None
    assert (by_name["mms"]["estimate"], by_name["mms"]["status"]) == (None, "not defined by step A alone")
    found = rows_of(
        metacog, study, "select condition, estimate from estimates where model = 'filed' and measure = 'mms'"
    )
    assert found and all(row["estimate"] is not None for row in found)
    states = rows_of(metacog, study, "select model, state from progress where benchmark = 'medley'")
    assert {(row["model"], row["state"]) for row in states} == {
        (name, "complete") for name in ("theirs", "filed", "sim")
    }
    asked = (
        "select model, n_answered from progress where benchmark = 'medley_judgements' and model <> 'theirs'"
    )
    judged = rows_of(metacog, study, asked)
    assert {row["model"] for row in judged} == {"filed", "sim"} and all(row["n_answered"] for row in judged)
    characters = rows_of(metacog, study, "select model from comparisons where family = 'character'")
    assert "theirs" not in {row["model"] for row in characters}
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


def test_mistakes_are_answered_in_one_line(study):
    bench = Medley.of(load_study(study))
    for name, model, said in (("Analyst Z", "theirs", "Analyst Z"), ("Analyst A", "sim", "replay")):
        with pytest.raises(StudyError, match=said) as refused:
            import_analyst(bench, name, model, 1)
        assert "\n" not in str(refused.value)
