"""Logs of inspect_ai become answers of replayed models; a log that cannot be trusted leaves everything as it was."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.cli import cli
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.import_rules import Imported
from metacog_pipeline.interchange.logs import inspect_log
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import kept_records
from tests.logs.conftest import FIXTURES, entries_of, written

SMALL, LARGE, MIXED = (FIXTURES / f"{name}.eval" for name in ("small", "large", "mixed"))
Take = Callable[..., Imported]


def state(folder: Path) -> dict[str, str]:
    """Return what stands in a folder: the digest of every file."""
    files = (
        each for each in folder.rglob("*") if each.is_file() and each.suffix not in (".eval", ".parquet")
    )
    return {str(each.relative_to(folder)): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


def kept(done: Imported, model: str, run: int) -> list[Any]:
    spec = done.study.model(model)
    return list(kept_records(Partition(done.study, "questions", spec, run).folder))


def refused(take: Take, folder: Path, path: Path, why: str, **options: Any) -> None:
    before = state(folder)
    with pytest.raises(StudyError, match=why):
        take(path, **options)
    assert state(folder) == before


def as_third(header: Any) -> None:
    header["eval"].update(model="third")


def test_two_logs_give_a_board_with_paired_tests_and_nobody_is_asked(take, tmp_path):
    take(SMALL)
    named = ["import", str(LARGE), "--study", str(tmp_path / "study.toml")]
    done = CliRunner().invoke(cli, named, standalone_mode=False)
    assert done.exception is None, done.output
    assert "questions · general verbal_percent" in done.output and "AUROC2" in done.output
    study = load_study(tmp_path / "study.toml")
    measures = "select distinct measure from leaderboard where benchmark = 'questions' and model = 'small'"
    found = {name for (name,) in run_query(study.home, measures).rows}
    assert found >= {"accuracy", "ece", "auroc2", "aurc", "meta_d_mafc", "m_ratio_mafc"}
    tests = (
        "select a, b, n from comparisons where family = 'confidence_models' and measure = 'harmonised_auroc2'"
    )
    assert [tuple(row) for row in run_query(study.home, tests).rows] == [("large", "small", 8)]
    assert run_query(study.home, "select distinct source from transcripts").rows == (("imported",),)


def test_epochs_are_runs(take):
    done = take(SMALL)
    assert done.study.study.runs == 2 and (done.kept, done.rejected) == (16, ())
    first = next(each for each in kept(done, "small", 1) if each.item_id == "general/g0")
    assert (first.model_id, first.input_tokens, first.output_tokens) == ("mockllm/small", 90, 9)
    assert first.text == "ANSWER: A\nConfidence: 38%" and len(kept(done, "small", 2)) == 8


def test_items_are_found_by_id_then_by_what_is_asked(take, changed):
    take(SMALL)
    renamed = changed(lambda each: each.update(id=f"other-{each['id']}"), as_third)
    assert "questions found by question: 16" in take(renamed).summary
    assert len(bound(load_study(take(SMALL).study.path), "questions").items) == 8


def test_each_answer_keeps_which_version_of_a_model_gave_it(take, changed):
    done = take(changed(lambda each: each["output"].update(model=f"snapshot-{each['epoch']}")))
    assert {each.model_reported for each in done.records} == {"snapshot-1", "snapshot-2"} and done.kept == 16


def test_other_answers_of_a_run_that_is_there_are_refused(take, tmp_path, changed):
    take(SMALL)

    def other(each: Any) -> None:
        each["output"]["completion"] = "ANSWER: A\nConfidence: 1%"

    refused(take, tmp_path, changed(other), "has other answers to 8 of these questions")
    assert take(changed(other), run=3).study.study.runs == 4


def test_a_key_that_disagrees_is_refused_and_named(take, tmp_path, changed):
    take(SMALL)
    path = changed(lambda each: each.update(target="C"), as_third)
    refused(take, tmp_path, path, "disagrees with the study in 6 questions: general/g0 has C, the study A")
    assert take(path, trust=("key",)).kept == 16


def test_what_the_log_graded_by_a_model_stays_as_it_graded(take, changed):
    def essay(each: Any) -> None:
        each.update(choices=None, target="An answer of many words. " * 9)
        each["scores"] = {"model_graded_qa": {"value": "C" if each["id"] < "g4" else 0.5}}

    done = take(changed(essay, lambda h: h["eval"].update(scorers=[{"name": "model_graded_qa"}])))
    assert {each.kind for each in bound(done.study, "questions").items} == {"graded"}
    modes = sorted({each.mode for each in kept(done, "small", 1)})
    assert modes == ["graded: 1", "graded: ?"]


def test_a_study_that_asks_models_keeps_its_runs_and_its_text(take, tmp_path):
    study = tmp_path / "study.toml"
    text = (
        '[study]\nname = "x"\n\n[[models]]\nname = "mine"\nprovider = "simulated"\n\n[benchmarks.questions]\n'
    )
    study.write_text(text)
    refused(take, tmp_path, SMALL, "the study has runs 1 to 1, the answers are of run 2")
    study.write_text("models = []\n" + text)
    with pytest.raises(StudyError):
        take(SMALL)
    assert study.read_text() == "models = []\n" + text


def test_a_bomb_and_deep_json_are_refused(take, tmp_path, monkeypatch):
    path = tmp_path / "bomb.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(entries_of(SMALL)["header.json"]))
        archive.writestr("samples/a_epoch_1.json", " " * 3_000_000)
    monkeypatch.setattr(inspect_log, "LARGEST", 1_000_000)
    refused(take, tmp_path, path, "unpacks to more than is read")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "[" * 100_000)
    refused(take, tmp_path, path, "not readable as JSON")


def test_answers_go_to_a_benchmark_of_the_study_whose_questions_they_are(take, changed, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(
        '[study]\nname = "x"\nruns = 2\n\n[benchmarks.metamedqa]\ndataset = "sample"\nallow_incomplete = true\n'
        '\n[[models]]\nname = "dummy"\nprovider = "replay"\n'
    )
    items = bound(load_study(study), "metamedqa")
    items.study.prepare()
    construction.build(items)
    another = [item.item_id for item in items.items[:8]]

    def asked(each: Any) -> None:  # one answer to all: what belongs to each must not be told by its text
        at = int(each["id"][1:])
        each.update(id=another[at], input="", choices=None)
        each["output"]["choices"][0]["message"]["content"] = "A"
        each["output"]["usage"].update(input_tokens=100 + at)

    done = take(changed(asked))
    spec = done.study.model("small")
    records = list(kept_records(Partition(done.study, "metamedqa", spec, 1).folder))
    assert done.kept == 16 and "questions" not in done.study.benchmarks
    counted = {each.item_id: each.input_tokens for each in records}
    assert counted == {item_id: 100 + at for at, item_id in enumerate(another)}


def test_a_model_of_another_provider_with_the_same_last_name_gets_a_name_of_its_own(take, changed):
    take(SMALL)
    done = take(changed(header=lambda h: h["eval"].update(model="azure/small")))
    assert [each.name for each in done.study.models] == ["small", "azure-small"]


@pytest.mark.parametrize("cut", [10, 30_000])
def test_a_log_that_is_cut_off_is_refused(take, tmp_path, cut):
    path = tmp_path / "cut.eval"
    path.write_bytes(SMALL.read_bytes()[:cut])
    refused(take, tmp_path, path, "cut off")
    assert not (tmp_path / "study.toml").exists()


def test_of_a_run_that_did_not_finish_is_taken_what_is_trusted(take, tmp_path):
    entries = entries_of(SMALL)
    header = entries.pop("header.json")
    refused(take, tmp_path, written(tmp_path / "started.eval", entries), "did not finish")
    path = written(tmp_path / "cancelled.eval", {**entries, "header.json": {**header, "status": "cancelled"}})
    refused(take, tmp_path, path, "status cancelled.*--trust status")
    assert take(path, trust=("status",)).kept == 16


@pytest.mark.parametrize(("field", "packing"), [("CRC", "zstd"), ("file_size", "deflate")])
def test_a_sample_that_differs_from_its_checksum_or_its_size_is_damaged(take, tmp_path, field, packing):
    """Newer logs are packed with zstd, whose frames need not hold a checksum of their own."""
    path = tmp_path / "lying.eval"
    if packing == "zstd":
        path.write_bytes(SMALL.read_bytes())
    else:
        written(path, entries_of(SMALL))
    with zipfile.ZipFile(path) as archive:
        value = getattr(archive.getinfo("samples/g3_epoch_1.json"), field)
    other = value ^ 1 if field == "CRC" else 100
    path.write_bytes(path.read_bytes().replace(value.to_bytes(4, "little"), other.to_bytes(4, "little")))
    refused(take, tmp_path, path, "is damaged")


def test_tasks_of_several_logs_stand_apart_and_nobody_lacks_what_was_not_asked(take):
    take(LARGE)
    done = take(MIXED)
    into = bound(done.study, "questions")
    assert [item.task for item in into.items] == ["general"] * 8 + ["mixed"] * 3
    per = {(c, item.task) for c, items in tasks.asked(into) for item in items}
    assert per == {("verbal_percent", "general"), ("verbal_percent", "mixed")}
    own = {(c, item.task) for c, items in tasks.asked(into, done.study.model("large")) for item in items}
    assert own == {("verbal_percent", "general")}


def test_tool_calls_and_pictures_are_kept_and_not_scored(take):
    done = take(MIXED)
    left = [(name, what) for name, what, _ in done.rejected]
    assert left == [("2", "kept, not scored"), ("3", "kept, not scored")]
    modes = {each.item_id: each.mode for each in kept(done, "small", 1)}
    assert modes["mixed/3"] == "unscored: calls a tool" and "picture" in modes["mixed/2"]
    into = bound(done.study, "questions")
    item = next(each for each in into.items if each.item_id == "mixed/3")
    read = into.parse(item, "answer_only", {"answer": Call("ok", "Shakespeare", modes["mixed/3"])})
    assert (read.status, read.correct) == ("not_scored", None)
