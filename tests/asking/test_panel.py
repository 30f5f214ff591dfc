"""Judges as a panel: each is itself in cost and identity, none keeps another from answering, nobody is asked twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.judging import panel_identities
from metacog_pipeline.asking.session import Panelist, Partition, query_panel, request_digest
from metacog_pipeline.asking.states import OnProgress, SessionResult
from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.llm import capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, Message, Status
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import read_partition
from tests.asking.scripted import Reply, Scripted
from tests.studies import write_study

PRICE = 0.01


class Court:
    """Every judge's model: what it replies, and what it was asked."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}
        self.asked: Counter[tuple[str, str]] = Counter()

    def open_model(self, spec: ModelSpec, **_: object) -> Scripted:
        def reply(request: ChatRequest) -> Completion:
            self.asked[spec.name, request.messages[-1].content] += 1
            return self.replies.get(spec.name, verdict(spec.name))(request)

        return Scripted(reply)


def verdict(name: str) -> Reply:
    return lambda request: Completion(
        Status.OK,
        text=f"{name}: {request.messages[-1].content}",
        cost_usd=PRICE * (1 + ord(name[-1]) - ord("a")),
        model_reported=f"model-{name[-1]}",
    )


def broken(kind: ErrorKind) -> Reply:
    return lambda _: Completion(Status.FAILED, error_kind=kind, error_message=f"{kind} happened")


@pytest.fixture
def court(monkeypatch):
    found = Court()
    monkeypatch.setattr("metacog_pipeline.llm.open.open_model", found.open_model)
    yield found
    INTERRUPTED.clear()


@pytest.fixture
def partition(tmp_path):
    judged = {"name": "judged", "provider": "simulated", "family": "house"}
    study = load_study(write_study(tmp_path, judged, benchmarks={"medley": {}}))
    study.prepare()
    return Partition(study, "medley_judgements", study.models[0], 1)


def judge(letter: str) -> ModelSpec:
    name, model, family = (f"{word}-{letter}" for word in ("judge", "model", "house"))
    return ModelSpec(name=name, provider="openai", model=model, family=family)


def case(name: str, words: str = "") -> Task:
    async def run(ask: Ask, mode: str) -> None:
        await ask("judge", [Message("user", words or f"grade {name}")])

    return Task(name, "hash", "normal", run)


def panel(letters: str, tasks: Sequence[Task], modes: Sequence[str] = ("text",)) -> list[Panelist]:
    return [Panelist(judge(letter), tasks, modes) for letter in letters]


def query(partition: Partition, seats: Sequence[Panelist], **more: OnProgress) -> SessionResult:
    return query_panel(partition, seats, fingerprint="print", **more)


def rows(partition: Partition) -> list[dict[str, object]]:
    return read_partition(partition.folder).to_pylist()


CASES = [case("one"), case("two")]


def test_three_judges_of_one_item_are_kept_apart_in_the_folder_of_the_model_they_judge(partition, court):
    assert query(partition, panel("abc", CASES)).complete
    assert partition.folder.path.parts[-3:] == ("benchmark=medley_judgements", "model=judged", "run=1")
    kept = {(row["item_id"], row["model"]): row for row in rows(partition)}
    assert len(kept) == 6
    for (item, name), row in kept.items():
        assert (row["text"], row["superseded"]) == (f"{name}: grade {item}", False)
        assert row["benchmark"] == "medley_judgements"


def test_costs_and_identities_are_the_judges(partition, court):
    outcome = query(partition, panel("ab", CASES))
    assert outcome.tally.cost_usd == pytest.approx(2 * PRICE + 4 * PRICE)
    for row in rows(partition):
        spec = judge(str(row["model"])[-1])
        assert row["cost_usd"] == pytest.approx(PRICE if spec.name == "judge-a" else 2 * PRICE)
        assert (row["model_id"], row["provider"]) == (spec.model, "openai")
    identities = panel_identities(partition, panel("ab", CASES))
    for name, found in identities.items():
        assert found == {row["answer_id"] for row in rows(partition) if row["model"] == name}
    assert not identities["judge-a"] & identities["judge-b"]


def picky(request: ChatRequest) -> Completion:
    if request.sampling.temperature is None:
        return verdict("judge-b")(request)
    named = {"error_kind": ErrorKind.UNSUPPORTED, "error_param": "temperature"}
    return Completion(Status.FAILED, http_status=400, **named)


@pytest.mark.parametrize("kind", [ErrorKind.FATAL, ErrorKind.TRANSIENT, ErrorKind.UNSUPPORTED])
def test_a_judge_that_fails_does_not_keep_the_others_from_answering(partition, court, kind):
    court.replies["judge-b"] = broken(kind)
    outcome = query(partition, panel("abc", CASES))
    assert (outcome.tasks, outcome.answered, outcome.complete) == (6, 4, False)
    assert {row["model"] for row in rows(partition) if row["status"] == "ok"} == {"judge-a", "judge-c"}
    assert partition.manifest()["fingerprint"] is None
    assert str(outcome.stopped).startswith("judge-b: ")
    del court.replies["judge-b"]
    court.asked.clear()
    assert query(partition, panel("abc", CASES)).complete
    assert {name for name, _ in court.asked} == {"judge-b"}


def test_a_judge_without_a_key_is_named_and_the_others_answer(tmp_path, monkeypatch, partition):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    keyless = judge("a").model_copy(update={"api_key_env": "NO_SUCH_KEY"})
    speaker = ModelSpec(name="judge-s", provider="simulated", family="simulation")
    seats = [Panelist(keyless, CASES, ("text",)), Panelist(speaker, CASES, ("text",), lambda _: "graded")]
    outcome = query(partition, seats)
    assert outcome.stopped.startswith("judge-a: ")
    assert "NO_SUCH_KEY" in outcome.stopped
    assert outcome.answered == 2
    assert partition.manifest()["state"] == "failed"
    assert outcome.exit_code != 0


def test_answers_of_a_judge_that_stopped_early_stay_current(partition, court):
    query(partition, panel("ab", CASES))
    more = [*CASES, case("three")]
    court.replies["judge-b"] = broken(ErrorKind.FATAL)
    again = [Panelist(judge("a"), more, ("text",)), Panelist(judge("b"), [case("three"), *CASES], ("text",))]
    query(partition, again)
    kept = [row for row in rows(partition) if row["model"] == "judge-b" and row["status"] == "ok"]
    assert len(kept) == 2
    assert not any(row["superseded"] for row in kept)


def test_a_changed_answer_is_judged_anew_and_the_old_judgement_is_superseded(partition, court):
    query(partition, panel("ab", CASES))
    changed = [case("one", "grade the new words"), case("two")]
    court.asked.clear()
    query(partition, panel("ab", changed))
    assert set(court.asked) == {("judge-a", "grade the new words"), ("judge-b", "grade the new words")}
    marks = {(row["model"], row["text"]): row["superseded"] for row in rows(partition)}
    assert marks["judge-a", "judge-a: grade one"]
    assert marks["judge-b", "judge-b: grade one"]
    assert sum(marks.values()) == 2
    old = {row["answer_id"] for row in rows(partition) if row["superseded"]}
    assert not old & set.union(*map(set, panel_identities(partition, panel("ab", changed)).values()))


def interrupting(request: ChatRequest) -> Completion:
    INTERRUPTED.set()
    return verdict("judge-a")(request)


def test_an_interrupted_panel_takes_no_new_judge_and_is_not_complete(partition, court):
    court.replies["judge-a"] = interrupting
    outcome = query(partition, panel("abc", CASES))
    assert not outcome.complete
    assert {name for name, _ in court.asked} == {"judge-a"}
    assert "judge-c: interrupted" in str(outcome.stopped)
    assert partition.manifest()["fingerprint"] is None


def test_an_interrupted_session_leaves_a_long_journal_to_the_next(partition, court, monkeypatch):
    monkeypatch.setattr("metacog_pipeline.asking.session.COMPACTED_AT_ONCE", 0)
    court.replies["judge-a"] = interrupting
    query(partition, panel("a", CASES))
    assert not list(partition.folder.path.glob("*.parquet"))
    INTERRUPTED.clear()
    court.replies["judge-a"] = verdict("judge-a")
    query(partition, panel("a", CASES))
    assert len(rows(partition)) == len(CASES)
    assert len(court.asked) == len(set(court.asked)), "nothing is asked twice"


def test_progress_counts_the_whole_panel(partition, court):
    seen: list[tuple[int, int, float]] = []
    query(partition, panel("ab", CASES), on_progress=lambda *shown: seen.append(shown))
    assert [done for done, _, _ in seen] == [1, 2, 3, 4]
    assert {total for _, total, _ in seen} == {4}
    assert seen[-1][2] == pytest.approx(6 * PRICE)


def test_judgements_by_a_simulated_judge_never_pass_as_measured(partition, court):
    measured = Partition(partition.study, partition.benchmark, judge("m"), 1)
    query(measured, panel("a", CASES))
    assert measured.manifest()["source"] == "measured"
    speaker = ModelSpec(name="judge-s", provider="simulated", family="simulation")
    query(measured, [*panel("a", CASES), Panelist(speaker, CASES, ("text",))])
    assert measured.manifest()["source"] == "simulated"
    query(measured, panel("a", CASES))
    assert measured.manifest()["source"] == "measured"


def test_nobody_to_judge_is_nothing_to_do(partition, court):
    assert query(partition, []).complete
    assert query(partition, panel("ab", [])).complete
    assert not court.asked


def test_a_judge_of_whom_nothing_can_be_read_is_stopped_and_named_and_the_others_judge(partition, court):
    court.replies["judge-b"] = lambda _: Completion(Status.TRUNCATED, "", finish_reason="length")
    cases = [case(str(number)) for number in range(12)]
    outcome = query(partition, panel("abc", cases))
    assert outcome.stopped.startswith("judge-b: 5 items in a row")
    assert sum(count for (name, _), count in court.asked.items() if name == "judge-b") == 5
    assert (outcome.answered, outcome.unusable) == (12 + 5 + 12, 5)


def test_judgements_are_not_complete_while_one_judge_has_less_than_half_of_them_usable(partition, court):
    def odd(request: ChatRequest) -> Completion:
        said = verdict("judge-b")(request)
        return said if int(request.messages[-1].content.split()[-1]) % 3 == 0 else Completion(Status.OK, "")

    court.replies["judge-b"] = odd
    outcome = query(partition, panel("abc", [case(str(number)) for number in range(12)]))
    manifest = partition.manifest()
    assert not outcome.complete
    assert (manifest["state"], manifest["n_unusable"], manifest["fingerprint"]) == ("incomplete", 8, None)
    assert str(manifest["message"]).startswith("judge-b: 8 of 12 items have no usable answer")


def test_what_is_learnt_of_a_judge_is_kept_under_its_own_name(partition, court):
    court.replies["judge-b"] = picky
    assert query(partition, panel("ab", CASES)).complete
    known = capabilities.load(partition.study.home, "judge-b", request_digest(judge("b")))
    assert known.refused == {"temperature"}
    again = Partition(partition.study, "other_judgements", partition.spec, 1)
    court.asked.clear()
    assert query(again, panel("b", CASES)).complete
    assert court.asked.total() == len(CASES)
