"""``metacog status``, the port of ``metacog ui`` and the names of commands: what there is, why not, what was meant."""

import json
import socket

import pytest

from metacog_pipeline import ports
from metacog_pipeline.asking import construction
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.folder import PartitionFolder, write_manifest
from tests.asking_in_process import ask


@pytest.fixture
def taken():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_a_study_nobody_ran_has_everything_missing_and_no_boards(metacog, study):
    said = metacog("status", study)
    assert said.code == 0
    assert "metamedqa: 0 of 2 model runs complete" in said.out
    assert "metamedqa, sim, run 1: missing" in said.out
    assert "no boards yet" in said.out
    assert not (study.parent / "home").exists(), "status writes nothing"


def test_a_small_budget_is_shown_as_it_was_set(metacog, study):
    study.write_text(study.read_text().replace("[study]", "[study]\nbudget_usd = 0.0025", 1))
    assert "of $0.0025" in metacog("status", study).out


def test_a_program_reads_the_same_as_json(metacog, study):
    found = json.loads(metacog("status", study, "--json").out)
    states = {each["model"]: each["state"] for each in found["partitions"]}
    assert found["board_current"] is False and states == {"sim": "missing", "theirs": "missing"}


def test_a_long_list_is_cut_and_says_so(metacog, study):
    study.write_text(study.read_text().replace("[study]", "[study]\nruns = 20"), encoding="utf-8")
    short = metacog("status", study).out
    assert "and 28 more: --json has all" in short and short.count(": missing") == 12


def test_what_was_asked_of_a_model_as_it_was_is_not_counted_as_answered(metacog, study):
    loaded = load_study(study)
    loaded.prepare()
    construction.build(bound(loaded, "metamedqa"))
    ask(bound(loaded, "metamedqa"), Partition(loaded, "metamedqa", loaded.model("sim"), 1))

    def sim():
        found = json.loads(metacog("status", study, "--json").out)["partitions"]
        return next(each for each in found if each["model"] == "sim")

    before = sim()
    assert before["n_answered"] == before["n_expected"] > 0
    study.write_text(
        study.read_text().replace('"simulated"', '"simulated"\ntemperature = 0.7'), encoding="utf-8"
    )
    after = sim()
    assert (after["state"], after["n_answered"]) == ("incomplete", 0)
    assert "row has changed" in after["message"]


def test_the_ui_refuses_a_port_that_somebody_else_serves(metacog, study, taken):
    metacog("ui", study, "--port", taken).refused_in_one_line(f"--port {taken}", "another study", "--port 0")


def test_port_0_is_the_next_free_one(taken):
    found = ports.port_for("127.0.0.1", 0, first=taken)
    assert taken < found < taken + 100
    with pytest.raises(StudyError, match="no address of this machine"):
        ports.port_for("no such host", 3000)


def test_what_failed_is_listed_before_what_was_not_asked_yet(metacog, study):
    home = load_study(study).home
    failed = {"state": "failed", "message": "no connection"}
    folder = PartitionFolder(home, "metamedqa", "theirs", 1)
    folder.path.mkdir(parents=True)
    write_manifest(folder, failed)
    said = metacog("status", study).out
    assert said.index("theirs, run 1: failed") < said.index("sim, run 1: missing")
