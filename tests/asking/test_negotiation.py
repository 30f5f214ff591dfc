"""No option ends a study: what a provider refuses is left out, in few calls, and only the bare call decides."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from metacog_pipeline.asking.loop import Loop
from metacog_pipeline.asking.negotiation import DELIVERY, MOST_CALLS, NO_CONSTRAINT, Negotiation
from metacog_pipeline.asking.states import Profile, SessionResult
from metacog_pipeline.asking.step import Session
from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.home import Home
from metacog_pipeline.llm import capabilities
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, SAMPLING, Capabilities, Learnt
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import (
    ChatRequest,
    Completion,
    ErrorKind,
    JsonObject,
    Message,
    Sampling,
    Status,
    Usage,
)
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.store import PartitionStore
from tests.tables import every

SPEC = ModelSpec(name="m", provider="openai", model="x", max_concurrency=4)
MODES = ("json_schema", "choice", "text")
Rule = Callable[[ChatRequest, Capabilities], Completion | None]


def refusal(status: int, param: str | None = None, code: str | None = "invalid_request_error") -> Completion:
    """Return a refusal as a wire reads it."""
    fatal = status in (401, 402, 403) or code == "model_not_found"
    kind = ErrorKind.FATAL if fatal else ErrorKind.UNSUPPORTED
    told = {"http_status": status, "error_kind": kind, "error_code": code, "error_param": param}
    return Completion(Status.FAILED, **told, error_message="no", cost_usd=0.0)


class Strict:
    """A model that answers what no rule refuses, and remembers in which way each call came."""

    def __init__(self, *rules: Rule) -> None:
        self.rules = rules
        self.known = NOTHING_KNOWN
        self.calls: list[tuple[ChatRequest, Capabilities]] = []
        self.refused = 0
        self.refused_first = 0  # before anything was answered

    async def complete(self, request: ChatRequest) -> Completion:
        await asyncio.sleep(0)
        self.calls.append((request, self.known))
        for rule in self.rules:
            if (found := rule(request, self.known)) is not None:
                self.refused += 1
                self.refused_first += self.refused == len(self.calls)
                return found
        return Completion(Status.OK, "yes", usage=Usage(10, 3, 0), latency_s=0.25, service_tier="default")

    async def close(self) -> None:
        """Nothing to release."""


def tasks(count: int = 6) -> list[Task]:
    def task(name: str) -> Task:
        async def run(ask: Ask, mode: str) -> None:
            held = None if mode == "text" else JsonObject(mode, "{}")
            await ask("answer", [Message("user", name)], constraint=held)

        return Task(name, "hash", "baseline", run)

    return [task(str(n)) for n in range(count)]


def ask(
    folder: Path,
    model: Strict,
    *,
    modes: Sequence[str] = MODES,
    known: Profile | None = None,
    spec: ModelSpec = SPEC,
    todo: Sequence[Task] | None = None,
) -> SessionResult:
    async def go(store: PartitionStore) -> SessionResult:
        session = Session("bench", spec, 1, 7, model, store)
        session.learnt = Learnt.of(model, Home(folder / "home"), spec.name, "now")
        return await Loop(session, todo or tasks(), modes, known=known).run()

    with PartitionStore(PartitionFolder(Home(folder / "home"), "b", "m", 1)) as store:
        return asyncio.run(go(store))


def kept(folder: Path) -> Capabilities | None:
    return capabilities.load(Home(folder / "home"), "m", "now")


def no(option: str, status: int, *, named: bool) -> Rule:
    def rule(request: ChatRequest, known: Capabilities) -> Completion | None:
        sampling = request.sampling
        sent = {
            "temperature": sampling.temperature is not None,
            "seed": sampling.seed is not None,
            "top_logprobs": sampling.top_logprobs is not None,
            "constraint": request.constraint is not None,
            **{name: name not in known.refused for name in DELIVERY},
        }
        param = {"constraint": "response_format", "top_logprobs": "logprobs", "thinking_room": "max_tokens"}
        return refusal(status, param.get(option, option) if named else None) if sent[option] else None

    return rule


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    "option",
    ["temperature", "seed", "top_logprobs", "constraint", "stream", "stream_options", "thinking_room"],
)
def test_no_option_ends_a_study_whatever_status_it_is_refused_with(tmp_path, option, named, status):
    model = Strict(no(option, status, named=named))
    outcome = ask(tmp_path, model)
    assert outcome.complete, outcome.stopped
    assert model.refused_first < MOST_CALLS
    if named and status in (400, 422):
        assert model.refused <= 3
        assert outcome.profile.dropped == {option} & SAMPLING


def test_what_a_reasoning_model_refuses_is_left_out_and_nothing_else(tmp_path):
    """Log-probabilities with 403 and no code, then a temperature by name: as the official address does it."""
    model = Strict(no("top_logprobs", 403, named=False), no("temperature", 400, named=True))
    outcome = ask(tmp_path, model)
    assert outcome.profile == Profile("json_schema", frozenset({"top_logprobs", "temperature"}))
    assert model.refused == 2
    assert kept(tmp_path) is not None


def test_everything_refused_one_by_one_by_name_takes_no_more_than_five_calls(tmp_path):
    model = Strict(*(no(option, 400, named=True) for option in sorted(SAMPLING | DELIVERY | {"constraint"})))
    assert ask(tmp_path, model).complete and model.refused_first < MOST_CALLS


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("modes", [("text",), ("json_schema", "choice", "logit_bias", "text")])
@pytest.mark.parametrize(
    ("status", "code"),
    [(401, "invalid_api_key"), (404, "model_not_found"), (400, None), (403, None), (422, None)],
)
def test_what_refuses_the_bare_call_too_stops_after_five_calls_with_one_line(
    tmp_path, status, code, modes, named
):
    model = Strict(lambda request, known: refusal(status, "temperature" if named else None, code))
    outcome = ask(tmp_path, model, modes=modes)
    assert f"HTTP {status}" in outcome.stopped and "\n" not in outcome.stopped
    assert outcome.exit_code != 0 and len(model.calls) <= MOST_CALLS
    barest = max(model.calls, key=lambda call: len(call[1].refused))
    bare, known = model.calls[1] if status in (401, 404) else barest
    sampling = bare.sampling
    assert (sampling.temperature, sampling.seed, sampling.top_logprobs) == (None, None, None)
    assert known.refused >= DELIVERY
    assert model.known == NOTHING_KNOWN, "later calls are not worded by what was tried in vain"


@pytest.mark.parametrize(
    ("key", "value", "param"),
    [
        ("effort", "high", "reasoning_effort"),
        ("effort", "high", "reasoning.effort"),
        ("verbosity", "low", "verbosity"),
        ("thinking_tokens", 900, "thinking"),
        ("thinking_tokens", 900, "generationConfig.thinkingConfig.thinkingBudget"),
        ("extra_body", {"top_k": 5}, "top_k"),
    ],
)
def test_what_the_study_asks_for_by_name_is_never_dropped_and_the_line_names_its_key(
    tmp_path, key, value, param
):
    model = Strict(lambda request, known: refusal(400, param))
    outcome = ask(tmp_path, model, spec=SPEC.model_copy(update={key: value}))
    assert key in outcome.stopped
    assert len(model.calls) == 1


def test_a_refusal_that_names_nothing_names_the_keys_that_were_left(tmp_path):
    spec = SPEC.model_copy(update={"effort": "high", "verbosity": "low"})
    outcome = ask(tmp_path, Strict(lambda request, known: refusal(400)), spec=spec)
    assert 'effort = "high"' in outcome.stopped
    assert 'verbosity = "low"' in outcome.stopped


def renamed_limit(request: ChatRequest, known: Capabilities) -> Completion | None:
    taken = known.limit_field == "max_completion_tokens"
    return None if taken else refusal(400, "max_tokens", "unsupported_parameter")


def test_the_other_name_of_the_limit_is_taken_where_one_is_refused(tmp_path):
    model = Strict(renamed_limit)
    assert ask(tmp_path, model).profile == Profile("json_schema") and model.refused == 1
    found = kept(tmp_path)
    assert found.limit_field == "max_completion_tokens" and not found.refused


def test_room_to_think_that_is_too_large_is_given_up_first(tmp_path):
    def rule(request: ChatRequest, known: Capabilities) -> Completion | None:
        return None if "thinking_room" in known.refused else refusal(400, "max_tokens", "invalid_value")

    assert ask(tmp_path, Strict(rule)).profile == Profile("json_schema")
    found = kept(tmp_path)
    assert (found.limit_field, found.refused) == (None, {"ample_room", "thinking_room"})


def test_what_was_learnt_is_kept_and_no_other_benchmark_tries_it_again(tmp_path):
    rules = [no(option, 400, named=True) for option in ("temperature", "constraint", "stream")]
    ask(tmp_path, Strict(*rules), modes=("json_schema", "text"))
    found = kept(tmp_path)
    assert found.refused >= {"temperature", "stream"} and found.reasons is False
    assert found.refused_modes == {"json_schema"}
    again, other = Strict(*rules), tmp_path / "other"
    (other / "home").mkdir(parents=True)
    capabilities.save(Home(other / "home"), "m", "now", found)
    outcome = ask(other, again, modes=("json_schema", "text"))
    assert outcome.complete and outcome.profile.mode == "text" and again.refused == 0


def test_a_schema_that_is_too_hard_says_nothing_of_other_schemas(tmp_path):
    hard = refusal(400, "response_format", "invalid_json_schema")
    ask(
        tmp_path,
        Strict(lambda request, known: hard if request.constraint else None),
        modes=("json_schema", "text"),
    )
    assert not kept(tmp_path).refused_modes


def test_an_option_refused_later_is_left_out_once_and_the_rest_is_asked(tmp_path):
    def rule(request: ChatRequest, known: Capabilities) -> Completion | None:
        late = int(request.messages[-1].content) >= 3 and request.sampling.temperature is not None
        return refusal(400, "temperature") if late else None

    model = Strict(rule)
    outcome = ask(tmp_path, model, modes=("text",), known=Profile("text"), todo=tasks(40))
    assert outcome.complete
    assert outcome.profile == Profile("text", frozenset({"temperature"}))
    assert model.refused <= 1 + 2 * SPEC.max_concurrency


def test_nothing_answered_is_asked_again_in_another_mode_when_the_provider_refuses_more(tmp_path):
    todo = tasks(40)
    assert ask(tmp_path, Strict(), modes=MODES, todo=todo[30:]).profile == Profile(MODES[0])
    model = Strict(no("constraint", 400, named=True))
    outcome = ask(tmp_path, model, modes=MODES, known=Profile(MODES[0]), todo=todo)
    assert outcome.complete and outcome.profile == Profile("text")
    assert outcome.tally.reused == 10 and model.refused < len(model.calls)
    assert not {"30", "39"} & {request.messages[-1].content for request, _ in model.calls}
    # And so in every session after it: asked in the mode of the first answer, to the last step.
    later = Strict()
    outcome = ask(tmp_path, later, modes=MODES, known=Profile("text"), todo=todo)
    assert outcome.complete and outcome.tally.reused == 40 and not later.calls


def test_a_better_mode_that_is_asked_for_anew_does_not_take_the_answers_of_another(tmp_path):
    ask(tmp_path, Strict(), modes=("text",))
    model = Strict()
    assert ask(tmp_path, model, modes=MODES).complete
    assert len(model.calls) == len(tasks())


def test_what_is_part_of_a_request_is_never_left_out_of_a_call_behind_its_back(tmp_path):
    """A partition asked with a temperature stays so, whatever another benchmark has found out since."""
    (tmp_path / "home").mkdir()
    refused = Capabilities(refused=frozenset({"temperature", "stream"}))
    capabilities.save(Home(tmp_path / "home"), "m", "now", refused)
    model = Strict()
    ask(tmp_path, model, modes=("text",), known=Profile("text"))
    assert all(known.refused == {"stream"} for _, known in model.calls)
    assert all(request.sampling.temperature == 0.0 for request, _ in model.calls)


@every(
    ("replies", "reasons", "most"),
    [
        ([Completion(Status.OK, "a", usage=Usage(5, 3))], False, None),
        ([Completion(Status.OK, "a", usage=Usage(5, 500))], None, None),
        ([Completion(Status.OK, "a", usage=Usage(5, 500, 450))], True, 450),
        ([Completion(Status.TRUNCATED, "", usage=Usage(5, 64))], True, None),
        ([Completion(Status.OK, "a", usage=Usage(5, 3)), Completion(Status.OK, "a", reasoning_text="hm")], True, None),
        ([Completion(Status.OK, "a"), Completion(Status.OK, "a", usage=Usage(5, 90, 80))], True, 80),
        ([Completion(Status.FAILED, usage=Usage(5, 90, 80))], None, None),
    ],
)  # fmt: skip
def test_whether_a_model_thinks_is_learnt_from_its_replies(replies, reasons, most):
    model = Strict()
    learnt = Learnt(model)
    for reply in replies:
        learnt.observe(ChatRequest((), Sampling(max_tokens=64)), reply)
    assert (learnt.known.reasons, learnt.known.reasoning_tokens) == (reasons, most)
    assert model.known.reasons is reasons


def test_sampling_that_was_left_out_for_nothing_is_not_kept_as_refused(tmp_path):
    """The room to think is refused without a name: sampling options are tried first, and given back."""
    model = Strict(lambda request, known: None if "ample_room" in known.refused else refusal(400))
    assert ask(tmp_path, model).profile == Profile("json_schema")
    found = kept(tmp_path)
    assert "ample_room" in found.refused and not found.refused & SAMPLING


def test_the_later_steps_of_the_first_question_are_asked_in_the_way_that_is_tried(tmp_path):
    """The first reply teaches whether the model thinks: that must not undo what is being tried."""

    async def run(ask: Ask, mode: str) -> None:
        for step in ("first", "second", "third"):
            await ask(step, [Message("user", step)])

    model = Strict(renamed_limit)
    assert ask(tmp_path, model, modes=("text",), todo=[Task("a", "hash", "baseline", run)]).complete
    assert (model.refused, len(model.calls), model.known.reasons) == (1, 4, False)


def test_a_call_that_was_never_sent_is_none_of_those_that_are_refused():
    negotiation = Negotiation(SPEC, ("json_schema", "choice", "logit_bias", "text"))
    for _ in range(3):
        negotiation.refused(refusal(400, code=NO_CONSTRAINT))
    for option in ("temperature", "seed"):
        negotiation.refused(refusal(400, param=option))
    assert negotiation.profile == Profile("text", frozenset({"temperature", "seed"}))
