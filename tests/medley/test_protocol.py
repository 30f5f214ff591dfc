"""Three isolated calls per instance; what conditions have in common is asked once."""

import asyncio
import json
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest

from metacog_pipeline.asking.dry_run import DryRun, stored_answers
from metacog_pipeline.asking.loop import Loop
from metacog_pipeline.asking.session import Partition, query_partition
from metacog_pipeline.asking.states import Profile
from metacog_pipeline.asking.step import Session
from metacog_pipeline.asking.types import Answer, Task
from metacog_pipeline.benchmarks.medley.asking import ANSWER_TOKENS, MODES, ask_item, constraint, steps
from metacog_pipeline.benchmarks.medley.importing import analyst_answers
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, CONDITIONS, STEPS
from metacog_pipeline.benchmarks.medley.presentation import MASKING, Masking, applicable, presented
from metacog_pipeline.benchmarks.medley.prompts import load_wording
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Completion, ErrorKind, JsonObject, Status
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import PartitionStore, keep_whole, read_partition
from tests.medley.bound import read as observe

WORDING = load_wording()
SPEC = ModelSpec(name="m", provider="openai", model="x", max_concurrency=8, price_in=1.0, price_out=1.0)
REPLY = json.dumps({"claim_level_assessments": [{"claim_id": c, "confidence": "high"} for c in CLAIM_IDS]})


def test_each_step_is_asked_afresh_with_the_first_reply_quoted_whole(instance, converse):
    first = "  {broken reply\n" + "x" * 100_000
    replies = {"step_a": first, "b_private": "P", "b_social": "S"}
    said, requests = converse(lambda request: replies[request.step], instance)
    assert tuple(said) == STEPS == steps("text")
    for step, request in requests.items():
        assert [message.role for message in request.messages] == ["user"], step
        assert instance.vignette in request.messages[0].content
    assert first not in requests["step_a"].messages[0].content
    for step in ("b_private", "b_social"):
        assert first in requests[step].messages[0].content
    assert said["b_private"] == "P"
    social = WORDING.read("b_social", False, requests["b_social"].messages[0].content)
    assert social["step_a"] == first, "the first reply, not the private revision"


def test_conditions_differ_in_what_b_social_shows_and_in_nothing_else(instance, converse):
    sent = {c: converse(lambda request: REPLY, instance, c)[1] for c in CONDITIONS}
    for step in ("step_a", "b_private"):
        assert len({sent[condition][step].messages for condition in CONDITIONS}) == 1
    assert len({sent[condition]["b_social"].messages for condition in CONDITIONS}) == 3
    filled = {c: WORDING.read("b_social", False, sent[c]["b_social"].messages[0].content) for c in CONDITIONS}
    assert filled["normal"]["analysts"] == filled["adversarial"]["analysts"]
    assert filled["normal"]["consensus"] != filled["adversarial"]["consensus"]
    assert len(json.loads(filled["stripped"]["analysts"])) == 2


def test_what_is_hidden_follows_the_masking(instance, converse):
    _, requests = converse(lambda request: REPLY, instance, masking=Masking(anonymise=False))
    text = requests["b_social"].messages[0].content
    assert all(analyst.model_id in text for analyst in instance.analysts)


@pytest.mark.parametrize("status", [Status.REFUSED, Status.TRUNCATED])
def test_nothing_is_asked_after_a_first_answer_that_is_not_whole(instance, converse, status):
    said, _ = converse(lambda request: Answer(status, "half an ans"), instance)
    assert list(said) == ["step_a"]


def test_a_refused_private_step_does_not_keep_from_the_social_one(instance, converse):
    said, _ = converse(
        lambda request: Answer(Status.REFUSED, "") if request.step == "b_private" else REPLY, instance
    )
    assert tuple(said) == STEPS


def test_replies_may_be_long_and_come_without_alternatives(instance, converse):
    _, requests = converse(lambda request: REPLY, instance)
    assert {request.sampling.max_tokens for request in requests.values()} == {ANSWER_TOKENS}
    assert {request.sampling.top_logprobs for request in requests.values()} == {0}


def test_modes_and_what_replies_are_held_to(instance, converse):
    assert MODES == ("json_schema", "text")
    _, requests = converse(lambda request: REPLY, instance, mode="json_schema")
    for step, request in requests.items():
        schema = json.loads(request.constraint.schema_json)
        assert isinstance(request.constraint, JsonObject)
        assert schema["required"] == list(schema["properties"]) and schema["additionalProperties"] is False
        claim = schema["properties"]["claim_level_assessments"]["items"]
        assert claim["properties"]["claim_id"]["enum"] == list(CLAIM_IDS)
        assert ("claim_text" in claim["properties"]) == (step == "step_a")
    assert constraint("text", "step_a") is None
    with pytest.raises(StudyError, match="unknown answer mode 'choice'"):
        steps("choice")
    with pytest.raises(StudyError, match="no step 'judge'"):
        constraint("text", "judge")


def test_an_unknown_condition_asks_nothing(instance, converse):
    with pytest.raises(StudyError, match="unknown condition 'hostile'"):
        converse(lambda request: pytest.fail("asked"), instance, "hostile")


class Counting:
    """A model that counts what it is asked, by step; ``failing`` steps fail."""

    def __init__(self, failing=()):
        self.asked = Counter()
        self.failing = set(failing)

    async def complete(self, request):
        self.asked[request.step] += 1
        await asyncio.sleep(0)
        if request.step in self.failing:
            return Completion(Status.FAILED, error_kind=ErrorKind.TRANSIENT, error_message="down")
        return Completion(Status.OK, text=REPLY, cost_usd=0.01)

    async def close(self):
        pass


def tasks_of(instances, conditions=CONDITIONS):
    def task(item, condition):
        async def run(ask, mode):
            await ask_item(item, condition, mode, ask, WORDING, SPEC)

        return Task(item.item_id, item.item_hash, condition, run)

    return [task(item, c) for c in conditions for item in applicable(instances, c)]


def query(folder, model, tasks):
    async def go(store):
        session = Session("medley", SPEC, 1, 7, model, store)
        return await Loop(session, tasks, MODES, known=Profile("text")).run()

    with PartitionStore(folder) as store:
        outcome = asyncio.run(go(store))
        store.compact(outcome.tally.current)
    return outcome


def observed(folder, instances, conditions=CONDITIONS):
    return observe(instances, pl.DataFrame(pl.from_arrow(read_partition(folder))), conditions=conditions)


def test_what_conditions_share_is_asked_once_and_kept_under_each(folder, instance):
    model = Counting()
    outcome = query(folder, model, tasks_of([instance]))
    assert outcome.complete and dict(model.asked) == {"step_a": 1, "b_private": 1, "b_social": 3}
    rows = pl.DataFrame(pl.from_arrow(read_partition(folder)))
    assert Counter(rows["step"]) == dict.fromkeys(STEPS, 3)
    assert rows["superseded"].sum() == 0
    frame = observed(folder, [instance])
    assert frame["condition"].to_list() == list(CONDITIONS)
    assert set(frame["status"]) == {"ok"}
    first, private, social = (frame["answer_ids"].list.get(place) for place in range(3))
    assert first.n_unique() == private.n_unique() == 1 and social.n_unique() == 3
    assert frame["cost_usd"].sum() == pytest.approx(0.05), "what is used again costs nothing again"


def test_a_condition_added_later_asks_only_its_own_step(folder, instance):
    model = Counting()
    query(folder, model, tasks_of([instance], ["normal"]))
    assert dict(model.asked) == dict.fromkeys(STEPS, 1)
    query(folder, model, tasks_of([instance], ["normal", "adversarial"]))
    assert dict(model.asked) == {"step_a": 1, "b_private": 1, "b_social": 2}
    query(folder, model, tasks_of([instance], ["normal", "adversarial"]))
    assert model.asked.total() == 4, "nothing is left to ask"
    assert set(observed(folder, [instance], ["normal", "adversarial"])["status"]) == {"ok"}


def test_a_failed_step_is_asked_again_and_the_others_are_not(folder, instance):
    query(folder, Counting(failing=["b_private"]), tasks_of([instance], ["normal"]))
    frame = observed(folder, [instance], ["normal"])
    assert frame["status"].to_list() == ["transport_error"]
    assert frame["failed_step"].to_list() == ["b_private"] and "down" in frame["reason"][0]
    again = Counting()
    query(folder, again, tasks_of([instance], ["normal"]))
    assert dict(again.asked) == {"b_private": 1, "b_social": 1}
    assert observed(folder, [instance], ["normal"])["status"].to_list() == ["ok"]


def test_the_plan_counts_what_is_shared_once_and_the_prompts_that_quote(folder, instance):
    tasks = tasks_of([instance])
    plan = DryRun(SPEC, 1, 7, {}.get).through(tasks, Profile("text")).counts
    assert (plan["calls"], plan["answered"]) == (5, 0)
    assert plan["tokens_out"] == 5 * ANSWER_TOKENS
    assert plan["tokens_in"] > 4 * ANSWER_TOKENS, "four of the five prompts may quote as long an answer"
    query(folder, Counting(), tasks[:1])
    rest = DryRun(SPEC, 1, 7, stored_answers(folder).get).through(tasks, Profile("text")).counts
    assert (rest["calls"], rest["answered"]) == (5, 3)


def test_prompt_and_score_are_made_from_the_same_instance(instance, converse):
    masking = Masking(order="seeded")
    _, requests = converse(lambda request: REPLY, instance, masking=masking)
    found = WORDING.read("b_social", False, requests["b_social"].messages[0].content)
    shown = presented(instance, "normal", masking)
    assert [one["assessment"] for one in json.loads(found["analysts"])] == [
        analyst.response["assessment"] for analyst in shown.analysts
    ]
    assert presented(instance, "normal", MASKING).analysts[0].model_id == "Analyst A"


STUDY = """
[study]
name = "t"
home = "home"
[[models]]
name = "thorough"
provider = "replay"
[benchmarks.medley]
enabled = true
"""


def test_published_analysts_are_replayed_without_asking(tmp_path, debate):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    study = load_study(path)
    instances = [debate(number) for number in (1, 2)]
    partition = Partition(study, "medley", study.models[0], 1)
    records = analyst_answers(instances, "Analyst A", model="thorough")
    keep_whole(partition.folder, records)
    keep_whole(
        partition.folder, [replace(record, step="b_social", answer_id="f" * 64) for record in records[:1]]
    )
    outcome = query_partition(partition, tasks_of(instances, ["normal"]), MODES, fingerprint="x")
    assert (outcome.answered, outcome.tally.calls) == (2, 0)
    kept = pl.DataFrame(pl.from_arrow(read_partition(partition.folder)))
    frame = observe(instances, kept, conditions=["normal"], model="thorough", source="imported")
    assert frame["status_step_a"].to_list() == ["ok", "ok"]
    assert frame["status_b_social"].to_list() == ["ok", "answer_unparsed"], (
        "an imported step does not replace another"
    )
    assert set(frame["source"]) == {"imported"}
