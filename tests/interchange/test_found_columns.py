"""Which column holds what: what is mapped comes before what is called so, and steps are those of the items."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from metacog_pipeline.asking import construction
from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.benchmarks.metacogbench.prompts import item_steps
from metacog_pipeline.cli import cli
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.imported import Imported, ImportOptions
from metacog_pipeline.study import load_study

STUDY = """
[study]
name = "t"
home = "home"
runs = 2

[[models]]
name = "theirs"
provider = "replay"

[benchmarks.selfknowledge]
limit = 6

[benchmarks.metacogbench]
limit = 3

[benchmarks.signaldetection]
dataset = "sample"
trials = 10
"""
KNOWN = ("item_id=meta.qid", "answer=out[0].text", "knows=Known to you")


@pytest.fixture
def into(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    study = load_study(tmp_path / "study.toml")
    study.prepare()

    def made(name: str) -> Bound:
        found = bound(study, name)
        construction.build(found)
        return found

    return made


def take(into: Bound, file: Path, rows: list[dict[str, Any]], *pairs: str, **options: Any) -> Imported:
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert into.importer is not None
    how = ImportOptions(**options)
    return into.importer.read(into, file, "theirs", 1, pairs, into.importer.condition, how)


def steps(found: Imported) -> dict[str, str]:
    return {each.step: each.text for each in found.records}


def test_what_is_mapped_comes_before_a_column_of_the_same_name(into, tmp_path):
    made = into("selfknowledge")
    name = made.items[0].item_id
    told = {"out": [{"text": "Paris"}], "Known to you": "No"}
    found = take(made, tmp_path / "a.jsonl", [{"meta": {"qid": name}, **told}], *KNOWN)
    assert steps(found) == {"direct": "Paris", "meta": "No"}
    plain = ("answer=out[0].text", "knows=Known to you")
    found = take(made, tmp_path / "b.jsonl", [{"item_id": name, "meta": "some words", **told}], *plain)
    assert steps(found) == {"direct": "Paris", "meta": "No"}


def test_a_column_that_a_mapped_path_leads_into_is_taken_for_nothing_else(into, tmp_path):
    made = into("signaldetection")
    row = {"response": json.dumps({"id": made.items[0].item_id}), "decision": 1, "confidence": 4}
    found = take(made, tmp_path / "a.jsonl", [row], "item_id=response.id")
    assert [each.text for each in found.records] == ['{"decision": "1", "confidence": 4}']


def test_other_answers_of_a_run_are_refused_unless_trusted(into, tmp_path):
    made = into("selfknowledge")
    rows = [{"item_id": each.item_id, "direct": "Paris", "meta": "No"} for each in made.items]
    blind = [{**row, "meta": "who can say"} for row in rows]
    assert len(take(made, tmp_path / "a.jsonl", rows).records) == 12
    with pytest.raises(StudyError, match=r"run 1 of theirs has other answers to 6 of .* --trust run"):
        take(made, tmp_path / "b.jsonl", blind)
    assert (
        "of 6 answers that were read 6 cannot be read"
        in take(made, tmp_path / "b.jsonl", blind, trust=("run",)).summary[1]
    )


def test_a_column_per_step_of_every_item(into, tmp_path):
    made = into("metacogbench")
    asked = [(each, step) for each in made.items for step in item_steps(each, "free")]
    assert {"answer", "turn_1", "turn_2", "probe"} <= {step for _, step in asked}
    wide = [
        {"item_id": each.item_id, **{step: f"{step}: A)" for step in item_steps(each, "free")}}
        for each in made.items
    ]
    found = take(made, tmp_path / "b.jsonl", wide)
    assert not found.rejected and len(found.records) == len(asked)
    bet = next(each for each in made.items if each.tier == "1a")
    raw = {"item_id": bet.item_id, "answer": "**ANSWER:** 7\nBET: 40"}
    assert steps(take(made, tmp_path / "c.jsonl", [raw], trust=("run",))) == {"answer": raw["answer"]}
    parts = {"item_id": bet.item_id, "answer": "7", "bet": 40, "turn_1": None}
    assert steps(take(made, tmp_path / "c.jsonl", [parts], trust=("run",))) == {
        "answer": "ANSWER: 7\nBET: 40"
    }
    assert take(made, tmp_path / "b.jsonl", wide, "probe=probe", trust=("run",)).records


def test_a_table_about_one_of_several_benchmarks_names_it(into, tmp_path):
    lines = [f"{each.item_id},{each.stimulus},3" for each in into("signaldetection").items]
    (tmp_path / "t.csv").write_text("\n".join(["name,r,confidence", *lines]))
    fields = ("--map", "item_id=name", "--map", "decision=r")
    run = CliRunner()

    def done(*words: str) -> Result:
        return run.invoke(cli, ["import", *words, "--study", str(tmp_path / "study.toml")])

    named = ("signaldetection", str(tmp_path / "t.csv"))
    assert done(*named, "--model", "theirs", *fields).exit_code == 0
    assert "name it with --model" in str(done(*named, *fields).exception)
    unknown = str(done(named[1], "--model", "theirs", "--map", "taks=part").exception)
    assert "--map taks=part" in unknown and "name the benchmark" in unknown
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    nothing = str(done(named[1]).exception)
    assert "columns ignored: x, y" in nothing and "columns used" not in nothing
