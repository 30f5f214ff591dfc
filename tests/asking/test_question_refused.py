"""A question that is refused for itself ends no study, and costs no option, however the provider names it."""

import json
from collections.abc import Callable

import pytest

from metacog_pipeline.asking.loop import FEW_IN_A_ROW
from metacog_pipeline.asking.negotiation import MOST_CALLS, blamed, named_option
from metacog_pipeline.asking.states import Profile
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.types import ChatRequest, Completion
from metacog_pipeline.llm.wire import wire_for
from tests.asking.test_negotiation import SPEC, Strict, ask, kept, no, refusal, tasks
from tests.tables import every

QUESTION = ["messages", "messages[0].content", "messages.0.content", "input", "input[0]", "contents", "prompt", "None",
            "system", "instructions", "body", None]  # fmt: skip
TOO_LONG = "context_length_exceeded"
MODES = ("json_schema", "text")
ONE_BY_ONE = SPEC.model_copy(update={"max_concurrency": 1})
NO_SUCH_CODE = "the caller does not have permission"


def first_question(param: str | None) -> Callable[[ChatRequest, Capabilities], Completion | None]:
    return lambda asked, _: refusal(400, param, TOO_LONG) if asked.messages[-1].content == "0" else None


@pytest.mark.parametrize("param", QUESTION)
def test_a_first_question_that_is_too_long_costs_itself_alone(tmp_path, param):
    model = Strict(first_question(param))
    outcome = ask(tmp_path, model, modes=MODES, todo=tasks(9))
    assert (outcome.answered, outcome.failed, outcome.stopped) == (8, 1, None)
    assert outcome.profile == Profile("json_schema")
    assert model.refused_first < MOST_CALLS
    assert not kept(tmp_path).refused


@every("param", QUESTION)
def test_what_a_call_does_not_carry_is_not_blamed(param):
    assert blamed(refusal(400, param), SPEC) is None


@every(
    ("param", "option"),
    [
        ("temperature", "temperature"),
        ("response_format.json_schema.schema", "constraint"),
        ("generationConfig.maxOutputTokens", "limit"),
        ("reasoning.effort", "effort"),
        ("top_k", "extra_body.top_k"),
        ("top_k[0]", "extra_body.top_k"),
        ("messages", None),
        ("min_p", None),
    ],
)
def test_options_and_keys_of_the_row_are_blamed_by_name(param, option):
    spec = SPEC.model_copy(update={"extra_body": {"top_k": 5}})
    assert blamed(refusal(400, param), spec) == option
    if option is None or option.startswith("extra_body"):
        assert named_option(refusal(400, param)) is None


def test_a_field_of_the_question_in_the_extra_body_is_the_studys_own(tmp_path):
    spec = SPEC.model_copy(update={"extra_body": {"prompt": "more"}})
    outcome = ask(tmp_path, Strict(first_question("prompt")), spec=spec)
    assert "extra_body.prompt asks for it" in outcome.stopped


def test_the_line_at_the_end_sends_nobody_to_the_address_before_the_providers_words(tmp_path):
    words = "Your credit balance is too low to access the API."
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    said = wire_for("anthropic").read(SPEC, 400, {}, json.dumps(body).encode())
    outcome = ask(tmp_path, Strict(lambda asked, known: said))
    assert outcome.stopped.startswith(f"{words} (HTTP 400")
    assert "where the provider's own words do not say what is wrong, check" in outcome.stopped


@pytest.mark.parametrize("limit", [64, 500, 1088])
def test_a_server_that_takes_few_tokens_and_names_nothing_is_asked_all_the_same(tmp_path, limit):
    def small(asked: ChatRequest, known: Capabilities) -> Completion | None:
        return refusal(400) if (known.token_limit(SPEC, asked) or 0) > limit else None

    model = Strict(small)
    assert ask(tmp_path, model, modes=MODES).complete
    assert model.refused_first < MOST_CALLS


@pytest.mark.parametrize("option", ["top_logprobs", "stream"])
def test_an_option_that_is_not_named_costs_neither_the_room_to_think_nor_the_schema(tmp_path, option):
    model = Strict(no(option, 400, named=False))
    outcome = ask(tmp_path, model, modes=MODES)
    assert outcome.complete and outcome.profile is not None and outcome.profile.mode == "json_schema"
    assert model.refused_first < MOST_CALLS
    assert "thinking_room" not in kept(tmp_path).refused


def number_of(request: ChatRequest) -> int:
    return int(request.messages[-1].content)


def test_a_question_that_is_forbidden_between_answers_stops_nothing(tmp_path):
    def rule(request: ChatRequest, known: Capabilities) -> Completion | None:
        return refusal(403, code=NO_SUCH_CODE) if number_of(request) == 3 else None

    outcome = ask(tmp_path, Strict(rule), modes=("text",), todo=tasks(12), spec=ONE_BY_ONE)
    assert (outcome.answered, outcome.failed, outcome.stopped) == (11, 1, None)
    again = ask(tmp_path, Strict(rule), modes=("text",), known=outcome.profile, todo=tasks(14))
    assert (again.answered, again.failed, again.stopped, again.tally.reused) == (13, 1, None, 11)


@pytest.mark.parametrize("code", [NO_SUCH_CODE, "insufficient_permissions"])
def test_a_key_that_is_forbidden_from_now_on_stops_soon(tmp_path, code):
    def rule(request: ChatRequest, known: Capabilities) -> Completion | None:
        return refusal(403, code=code) if number_of(request) >= 3 else None

    outcome = ask(tmp_path, Strict(rule), modes=("text",), todo=tasks(40), spec=ONE_BY_ONE)
    assert outcome.stopped is not None
    assert outcome.failed <= FEW_IN_A_ROW


def test_the_line_about_missing_answers_says_what_the_provider_said_last(tmp_path):
    model = Strict(lambda request, known: refusal(400) if number_of(request) == 4 else None)
    outcome = ask(tmp_path, model, modes=("text",), todo=tasks(9))
    assert outcome.missing == "1 of 9 items have no answer yet; the last failure: no (HTTP 400)"
