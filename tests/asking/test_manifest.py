"""The manifest of a partition: its state after each session, and what a changed row of the model makes of it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from metacog_pipeline.asking.session import Partition, failure_recorded, query_partition
from metacog_pipeline.asking.spent import kept_cost
from metacog_pipeline.asking.states import Profile, SessionResult, Tally
from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.errors import ProviderError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, Message, Status
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.folder import write_manifest
from metacog_pipeline.transcripts.store import read_partition
from tests.asking.scripted import Reply, Scripted, good
from tests.studies import write_study

SPEC = ModelSpec(name="m", provider="openai", model="x", answer_mode="text")


def priced(request: ChatRequest) -> Completion:
    return Completion(Status.OK, "yes", cost_usd=0.25)


def failing_on(words: str) -> Reply:
    failed = Completion(Status.FAILED, error_kind=ErrorKind.TRANSIENT, error_message="down")
    return lambda request: failed if request.messages[-1].content == words else good(request)


def from_a_simulation(request: ChatRequest) -> Completion:
    return Completion(Status.OK, "yes", model_reported="simulated/x")


@pytest.fixture
def provider(monkeypatch):
    found = Scripted()
    monkeypatch.setattr("metacog_pipeline.llm.open.open_model", lambda spec, **_: found)
    return found


def partition_of(folder: Path, **changed: object) -> Partition:
    study = load_study(write_study(folder, {"name": "m", "provider": "simulated"}))
    study.prepare()
    return Partition(study, "metamedqa", SPEC.model_copy(update=changed), 1)


def item(name: str, samples: int = 1) -> Task:
    async def run(ask: Ask, mode: str) -> None:
        for number in range(samples):
            await ask(f"answer {number}" if number else "answer", [Message("user", name)], sample=number)

    return Task(name, "hash", "baseline", run)


def query(partition: Partition, items: Sequence[Task]) -> SessionResult:
    return query_partition(partition, items, ("text",), fingerprint="print")


def test_an_incomplete_partition_is_never_taken_as_done_and_only_the_rest_is_asked(tmp_path, provider):
    partition, items = partition_of(tmp_path), [item("one"), item("two"), item("three")]
    provider.reply = failing_on("two")
    assert not query(partition, items).complete
    noted = partition.manifest()
    assert (noted["state"], noted["n_answered"], noted["fingerprint"]) == ("incomplete", 2, None)
    provider.reply, provider.calls = good, []
    assert query(partition, items).complete
    assert [each.messages[-1].content for each in provider.calls] == ["two"]
    assert (partition.manifest()["state"], partition.manifest()["fingerprint"]) == ("complete", "print")


def test_a_partition_that_could_not_be_asked_is_failed_and_keeps_what_was_known(tmp_path, provider):
    partition = partition_of(tmp_path)
    query(partition, [item("one")])
    with pytest.raises(ProviderError), failure_recorded(partition, lambda: 1):
        raise ProviderError("no key")
    noted = partition.manifest()
    assert (noted["state"], noted["message"], noted["fingerprint"]) == ("failed", "no key", None)
    assert noted["n_answered"] == 1 and partition.known_profile() == Profile("text")


@pytest.mark.parametrize(
    "garbage",
    [
        *({"profile": each} for each in ({}, {"mode": 3, "dropped": None}, {"mode": "by telegraph", "dropped": []})),
        {"profile": [], "state": 7, "n_answered": "many"},
    ],
)  # fmt: skip
def test_a_manifest_that_says_nonsense_makes_the_mode_be_tried_anew(tmp_path, provider, garbage):
    partition = partition_of(tmp_path)
    query(partition, [item("one")])
    write_manifest(partition.folder, {**partition.manifest(), **garbage})
    provider.calls = []
    outcome = query(partition, [item("one")])
    assert outcome.complete and outcome.profile == Profile("text") and not provider.calls


@pytest.mark.parametrize("changed", [{"max_tokens": 999}, {"temperature": 0.7}, {"model": "y"}])
def test_a_row_that_asks_otherwise_forgets_how_the_model_was_asked(tmp_path, provider, changed):
    query(partition_of(tmp_path), [item("one")])
    assert partition_of(tmp_path, price_in=3.0).known_profile() == Profile("text")
    assert partition_of(tmp_path, **changed).known_profile() is None


def test_samples_of_one_question_are_asked_with_seeds_of_their_own_and_all_kept(tmp_path, provider):
    partition = partition_of(tmp_path)
    assert query(partition, [item("one", samples=3)]).complete
    seeds = [each.sampling.seed for each in provider.calls]
    assert len(set(seeds)) == 3
    assert seeds[0] == partition.seed
    assert len(set(read_partition(partition.folder, ["answer_id"])["answer_id"].to_pylist())) == 3


def test_a_measured_model_in_the_place_of_a_simulated_one_is_labelled_measured(tmp_path, provider):
    provider.reply = from_a_simulation
    query(partition_of(tmp_path), [item("one")])
    assert partition_of(tmp_path).manifest()["source"] == "simulated"
    query(partition_of(tmp_path), [item("one")])  # reuses the answer of the simulation
    assert partition_of(tmp_path).manifest()["source"] == "simulated"
    provider.reply = good
    now = partition_of(tmp_path, model="y")
    query(now, [item("one")])
    assert now.manifest()["source"] == "measured"


def renamed(partition: Partition, name: str) -> Partition:
    """Return the partition after the study file calls its model otherwise."""
    study = partition.study
    row = study.models[0].model_copy(update={"name": name})
    study = study.model_copy(update={"models": (row,)})
    return Partition(study, partition.benchmark, partition.spec.model_copy(update={"name": name}), 1)


def test_a_renamed_model_takes_over_its_answers_and_nothing_is_paid_twice(tmp_path, provider):
    partition, items = partition_of(tmp_path), [item("one"), item("two")]
    provider.reply = priced
    query(partition, items)
    spent, provider.calls = kept_cost(partition.study.home), []
    after = renamed(partition, "other")
    assert query(after, [*items, item("three")]).complete
    assert [each.messages[-1].content for each in provider.calls] == ["three"]
    assert set(read_partition(after.folder, ["model"])["model"].to_pylist()) == {"other"}
    assert kept_cost(partition.study.home) == pytest.approx(spent * 3 / 2)


@pytest.mark.parametrize("changed", [{"temperature": 0.7}, {"model": "y"}])
def test_another_model_takes_over_nothing(tmp_path, provider, changed):
    query(partition_of(tmp_path), [item("one")])
    provider.calls = []
    query(renamed(partition_of(tmp_path, **changed), "other"), [item("one")])
    assert len(provider.calls) == 1


def test_two_names_that_are_both_listed_are_two_respondents(tmp_path, provider):
    first = partition_of(tmp_path)
    query(first, [item("one")])
    provider.calls = []
    second = renamed(first, "other")
    query(Partition(first.study, first.benchmark, second.spec, 1), [item("one")])
    assert len(provider.calls) == 1


def test_a_session_that_was_stopped_has_failed_whatever_it_answered():
    one = SessionResult(3, 3, 0, None, Tally(), stopped="budget spent")
    assert one.state == ("failed", "budget spent")
    assert SessionResult(3, 3, 0, None, Tally(), waiting=2).state[0] == "waiting"
