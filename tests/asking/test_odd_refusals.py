"""A refusal of one question stops no other; an option refused later makes nobody pay twice; the line names the cause."""

import pytest

from metacog_pipeline.asking.loop import FEW_IN_A_ROW
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.types import ChatRequest, Completion
from tests.asking.test_negotiation import SPEC, Strict, ask, refusal, tasks

ONE_BY_ONE = SPEC.model_copy(update={"max_concurrency": 1})
NO_SUCH_CODE = "the caller does not have permission"


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
