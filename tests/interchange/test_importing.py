"""Every benchmark takes answers through one path: by step or put together from a table, shown first, kept whole or not."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.benchmarks.metacogbench.prompts import item_steps
from metacog_pipeline.cli import cli
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.cells import parse_scale
from metacog_pipeline.interchange.import_rules import Imported, ImportOptions, RowRules
from metacog_pipeline.interchange.importing import import_file, placed
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import kept_records

STUDY = """
[study]
name = "t"
home = "home"
runs = 9

[[models]]
name = "theirs"
provider = "replay"

[benchmarks.selfknowledge]
limit = 12
languages = ["en", "es"]

[benchmarks.metacogbench]
dataset = "metacog41"
conditions = ["free", "json", "one_turn"]

[benchmarks.signaldetection]
dataset = "sample"
trials = 20
"""


@pytest.fixture
def benchmark(tmp_path):
    """Return what builds a benchmark of a study in the test's folder."""
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")

    def made(name: str) -> Bound:
        study = load_study(tmp_path / "study.toml")
        study.prepare()
        found = bound(study, name)
        construction.build(found)
        return found

    return made


def take(
    into: Bound,
    file: Path,
    rows: Sequence[Mapping[str, Any]] | str,
    *pairs: str,
    run: int = 1,
    **options: Any,
) -> Any:
    """Import ``rows``, a CSV file as text, or written as CSV or as JSON Lines, and return what was taken."""
    if not isinstance(rows, str) and file.suffix == ".jsonl":
        rows = "\n".join(map(json.dumps, rows))
    elif not isinstance(rows, str):
        out = io.StringIO()
        writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)
        rows = out.getvalue()
    file.write_text(rows, encoding="utf-8")
    return read_file(into, file, run, pairs, **options)


def read_file(into: Bound, file: Path, run: int = 1, pairs: Sequence[str] = (), **options: Any) -> Any:
    how = ImportOptions(model="theirs", run=run, pairs=tuple(pairs), benchmark=into.name, **options)
    return import_file(file, into.study.path, how)


def steps(found: Imported) -> dict[str, str]:
    return {each.step: each.text for each in found.records}


def kept(into: Bound, run: int = 1) -> list[Record]:
    study = into.study
    return list(kept_records(Partition(study, into.name, study.model("theirs"), run).folder))


def read(into: Bound, records: Sequence[Record], item_id: str, condition: str) -> Any:
    item = next(item for item in into.items if item.item_id == item_id)
    mine = [each for each in records if (each.item_id, each.condition) == (item_id, condition)]
    return into.parse(item, condition, {each.step: Call("ok", each.text) for each in mine})


def known(into: Bound) -> list[dict[str, Any]]:
    found = []
    for place, item in enumerate(into.items):
        answer = {"answer": item.accepted()[0], "gold": item.accepted()[0], "correct": 1}
        about = {"item_id": item.item_id, "question": item.question()}
        found.append({**about, **answer, "knows": "yes" if place % 2 else "No"})
    return found


def test_an_answer_and_whether_it_was_known_become_the_replies_of_two_steps(benchmark, tmp_path):
    into = benchmark("selfknowledge")
    found = take(into, tmp_path / "a.csv", known(into))
    assert "key of 12 rows agrees with the items" in found.summary
    assert "accuracy by the file's own verdicts 1.000 of 12, by key 1.000 of 12" in found.summary
    first = read(into, found.records, into.items[0].item_id, "dual")
    second = read(into, found.records, into.items[1].item_id, "dual")
    assert [(each.correct, each.yes, each.status) for each in (first, second)] == [(1, 0, "ok"), (1, 1, "ok")]
    assert {each.source for each in found.records} == {"imported"}
    assert {each.answer_id for each in found.records} <= {each.answer_id for each in kept(into)}


def test_a_reply_to_no_step_is_told(benchmark, tmp_path):
    into = benchmark("selfknowledge")
    item_id = into.items[4].item_id
    with pytest.raises(StudyError, match=r"takes direct, meta: give a column for each"):
        take(into, tmp_path / "b.csv", [{"item_id": item_id, "response": "x"}])


def test_a_decision_and_a_confidence_are_the_lines_of_a_reply(benchmark, tmp_path):
    into = benchmark("signaldetection")
    rows = [
        {"trial_id": item.item_id, "stimulus": item.stimulus, "confidence": 20 * (place % 6), "correct": int(place % 3 > 0),
         "decision": item.stimulus if place % 3 else 1 - item.stimulus}
        for place, item in enumerate(into.items)
    ]  # fmt: skip
    file = tmp_path / "a.csv"
    with pytest.raises(StudyError, match=r"are no rating 1 to 5.*--scale 0..100; nothing was kept"):
        take(into, file, rows)
    found = take(into, file, rows, run=2, scale=parse_scale("0..100"))
    assert "key of 60 rows agrees with the items" in found.summary
    assert found.summary[-1] == "accuracy by the file's own verdicts 0.667 of 60, by key 0.667 of 60"
    assert found.records[0].text == f"Decision: {1 - into.items[0].stimulus}\nConfidence: 1"
    answer = read(into, found.records, into.items[5].item_id, "confidence")
    assert (answer.correct, answer.confidence, answer.status) == (1, 5, "ok")
    words = [{"trial_id": into.items[0].item_id, "decision": "perhaps", "confidence": 3}] * 2
    with pytest.raises(StudyError, match="none of its answers can be read, such as 'Decision: perhaps"):
        take(into, file, words)


def test_tiers_are_put_in_the_lines_they_are_asked_for(benchmark, tmp_path):
    into = benchmark("metacogbench")
    betting = next(item for item in into.items if item.tier == "1a" and item.answer is not None)
    predicting = next(item for item in into.items if item.tier == "1b")
    holding = next(item for item in into.items if item.tier == "2b")
    rows = [
        {"item_id": betting.item_id, "answer": betting.answer, "bet": 80},
        {"item_id": predicting.item_id, "answer": predicting.answer, "pre": 0.9, "post": 1},
        {"item_id": predicting.item_id, "answer": "x", "pre": 0.5, "post": 0.5, "condition": "json"},
        {"item_id": predicting.item_id, "answer": "x", "pre": 0.5, "post": 0.5, "condition": "one_turn"},
        {"item_id": holding.item_id, "turn_1": "It is so.", "turn_2": "It stays so."},
        {"item_id": holding.item_id, "answer": "one reply"},
    ]
    found = take(into, tmp_path / "a.csv", rows, scale=parse_scale("0..1"))
    bet = read(into, found.records, betting.item_id, "free")
    assert (bet.bet, bet.correct, bet.status) == (80, 1, "ok")
    for condition, pre, right in (("free", 90, 1), ("json", 50, 0), ("one_turn", 50, 0)):
        said = read(into, found.records, predicting.item_id, condition)
        assert (said.pre, said.correct, said.status) == (pre, right, "ok")
    assert read(into, found.records, holding.item_id, "free").status == "not_run"
    assert [each.row for each in found.rejected] == [7]


def test_a_model_belongs_to_the_benchmarks_it_was_imported_into(benchmark, tmp_path):
    into = benchmark("selfknowledge")
    other = bound(into.study, "signaldetection")
    assert [spec.name for spec in tasks.models(other)] == ["theirs"]  # until something is imported
    take(into, tmp_path / "a.csv", [{"item_id": into.items[0].item_id, "answer": "x", "knows": "yes"}])
    assert [spec.name for spec in tasks.models(into)] == ["theirs"] and not tasks.models(other)


CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 120), st.floats(), st.text(max_size=8),
    st.sampled_from(["dual", "free", "json", "one_turn", "meta", "turn_2", "yes", "S1", "1e308", "1,5", "{", "-1", "٣"]),
    st.lists(st.text(max_size=3), max_size=2), st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)  # fmt: skip
NAMES = (
    "item_id", "question", "condition", "step", "response", "key", "correct", "answer", "knows", "direct",
    "meta", "idk", "bet", "pre", "post", "turn_1", "turn_2", "decision", "confidence", "task", "model", "x",
)  # fmt: skip


@pytest.mark.parametrize("name", ["selfknowledge", "metacogbench", "signaldetection"])
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_whatever_a_row_holds_is_taken_or_told(name, data, benchmark, tmp_path):
    into = benchmark(name)
    known_ids = st.sampled_from([item.item_id for item in into.items])
    columns = data.draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=7))
    named = data.draw(st.booleans())
    cells = {column: known_ids if column == "item_id" and named else CELLS for column in columns}
    rows = data.draw(st.lists(st.fixed_dictionaries(cells), min_size=1, max_size=6))
    file = tmp_path / "fuzz.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    try:
        found = read_file(into, file, 9)
    except StudyError as refused:
        assert "\n" not in str(refused)
        return
    assert found.records and len(found.rejected) < len(rows)
    for record in found.records:
        read(into, found.records, record.item_id, record.condition)


class Plain(RowRules):
    """The least a benchmark of somebody else declares."""

    condition = "confidence"


def test_rules_that_only_name_a_condition_take_raw_replies(benchmark, tmp_path):
    into = benchmark("signaldetection")
    item = into.items[0]
    file = tmp_path / "a.csv"
    file.write_text(f'id,response\n{item.item_id},"{{""decision"": ""1"", ""confidence"": 3}}"\nnobody,x\n')
    rules, how = Plain(into), ImportOptions(model="theirs", run=8, condition=Plain.condition)
    found = placed(file, rules, *columns.samples(file, rules, how), how).summed_up(how)
    assert [each.row for each in found.rejected] == [3] and len(found.records) == 1
    assert read(into, found.records, item.item_id, "confidence").confidence == 3


def test_a_log_about_items_names_them_by_id_also_where_it_has_the_whole_prompt(benchmark, tmp_path):
    into = benchmark("signaldetection")
    rows = [
        {"evaluation_id": "e", "evaluation_name": "t", "model_id": "theirs", "sample_id": each.item_id,
         "input": {"raw": f"Decide.\n\n{each.text}\n\nAnswer in JSON."}, "evaluation": {"is_correct": True},
         "output": {"raw": [json.dumps({"decision": str(each.stimulus), "confidence": 3})]}}
        for each in into.items
    ]  # fmt: skip
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    found = import_file(file, into.study.path, ImportOptions(benchmark=into.name))
    assert (len(found.records), found.rejected) == (60, ())
    assert found.summary[-1] == "accuracy by the file's own verdicts 1.000 of 60, by key 1.000 of 60"


def test_a_model_that_the_study_does_not_have_is_refused_and_not_added(benchmark, tmp_path):
    into, before = benchmark("selfknowledge"), (tmp_path / "study.toml").read_text()
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps({"item_id": into.items[0].item_id, "answer": "a", "knows": "yes"}))
    with pytest.raises(StudyError, match=r'no model "thiers".*theirs'):
        import_file(file, into.study.path, ImportOptions(model="thiers", benchmark=into.name))
    assert (tmp_path / "study.toml").read_text() == before and not kept(into)


def test_keys_of_signs_alone_are_not_the_same(benchmark):
    into = benchmark("metacogbench")
    rules = into.importer(into)
    sign = into.items[0].model_copy(update={"answer": "∀", "accept": ()})
    assert rules.agrees(sign, "∀") and not rules.agrees(sign, "∃")


def test_models_and_runs_of_a_table_are_those_of_its_columns(benchmark, tmp_path):
    into = benchmark("selfknowledge")
    rows = [
        {"item_id": item.item_id, "answer": f"{model} {run}", "knows": "yes", "model": model, "run": run}
        for item in into.items[:3] for model in ("org/a", "b") for run in (0, 1)
    ]  # fmt: skip
    file = tmp_path / "t.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    found = import_file(file, into.study.path, ImportOptions(benchmark=into.name))
    assert {(each.model, each.run) for each in found.records} == {("a", 1), ("a", 2), ("b", 1), ("b", 2)}
    assert [each.name for each in load_study(tmp_path / "study.toml").models] == ["theirs", "a", "b"]


def test_a_narrower_scale_that_fits_as_well_is_asked_for(benchmark, tmp_path):
    into = benchmark("metacogbench")
    items = [item for item in into.items if item.tier == "1b"]
    assert len(items) >= 5
    for low, high, said in (
        (0, 1, "0..1 or --scale 0..10 or --scale 0..100;"),
        (1, 5, "0..10 or --scale 0..100 or --scale 1..5;"),
    ):
        rows = [{"item_id": each.item_id, "answer": "x", "pre": low, "post": high} for each in items]
        with pytest.raises(StudyError, match="say on which scale") as refused:
            take(into, tmp_path / "a.csv", rows, run=3)
        assert said in str(refused.value)
        assert take(into, tmp_path / f"{high}.csv", rows, run=2 + high, scale=parse_scale("0..100")).records


def test_other_answers_of_a_run_are_refused_unless_trusted(benchmark, tmp_path):
    made = benchmark("selfknowledge")
    rows = [{"item_id": each.item_id, "direct": "Paris", "meta": "No"} for each in made.items]
    blind = [{**row, "meta": "who can say"} for row in rows]
    assert len(take(made, tmp_path / "a.jsonl", rows).records) == 24
    with pytest.raises(StudyError, match=r"run 1 of theirs has other answers to 12 of .* --trust run"):
        take(made, tmp_path / "b.jsonl", blind)
    found = take(made, tmp_path / "b.jsonl", blind, trust=("run",))
    assert "of 12 answers that were read 12 cannot be read" in found.summary[-1]


def test_a_column_per_step_of_every_item(benchmark, tmp_path):
    made = benchmark("metacogbench")
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
    found = take(made, tmp_path / "c.jsonl", [parts], trust=("run",))
    assert steps(found) == {"answer": "ANSWER: 7\nBET: 40"}
    assert take(made, tmp_path / "b.jsonl", wide, "probe=probe", trust=("run",)).records


def test_a_table_about_one_of_several_benchmarks_names_it(benchmark, tmp_path):
    lines = [f"{each.item_id},{each.stimulus},3" for each in benchmark("signaldetection").items]
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
    assert (
        "no column names the item; use --map item_id=" in nothing and "the columns are: 'x', 'y'" in nothing
    )
