"""Before a study spends anything: one short question says whether a model can be asked, and none where it is known."""

import asyncio
from pathlib import Path

import httpx
import pytest

from metacog_pipeline.asking.probing import probe
from metacog_pipeline.llm.budget import read_figures
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.types import ChatRequest
from metacog_pipeline.study import Study, load_study
from tests.provider import FaultPlan
from tests.simulated_server import ServerThread

STUDY = """
[study]
name = "t"
home = "home"
{budget}
[[models]]
name = "m"
provider = "{provider}"
model = "x"
base_url = "{url}"
timeout_s = 20.0
{more}
[benchmarks.metamedqa]
dataset = "sample"
"""


def study(folder: Path, url: str, more: str = "", provider: str = "openai", budget: str = "") -> Study:
    folder.mkdir(exist_ok=True)
    path = folder / "study.toml"
    path.write_text(STUDY.format(provider=provider, url=url, more=more, budget=budget), encoding="utf-8")
    loaded = load_study(path)
    loaded.prepare()
    return loaded


def probed(asked: Study) -> tuple[Capabilities, str | None]:
    return asyncio.run(probe(asked, asked.models[0]))


def received(server: ServerThread) -> int:
    return int(str(server.stats["received"]))


def yes(model: str, request: ChatRequest) -> str:
    return '{"answer": "yes"}'


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_a_model_that_takes_everything_is_asked_once_and_then_never_again(tmp_path, provider):
    with ServerThread(yes, FaultPlan()) as server:
        asked = study(tmp_path, server.url + ("/v1" if provider == "openai" else ""), provider=provider)
        known, problem = probed(asked)
        assert problem is None
        assert received(server) == 1
        again, _ = probed(asked)
        assert again == known
        assert received(server) == 1
        probed(study(tmp_path, server.url + "/v1", "temperature = 0.5", provider))
        assert received(server) == 2


@pytest.mark.parametrize("fault", ["reject_temperature", "reject_response_format"])
def test_a_model_that_refuses_an_option_is_asked_twice_and_what_it_named_is_known(tmp_path, fault):
    with ServerThread(yes, FaultPlan(always=(fault,))) as server:
        asked = study(tmp_path, server.url + "/v1")
        known, problem = probed(asked)
        assert problem is None
        assert received(server) == 2
        probed(asked)
        assert received(server) == 2
    if fault == "reject_temperature":
        assert known.refused == {"temperature"}
        assert not known.refused_modes
    else:
        assert not known.refused
        assert known.refused_modes == {"json_schema"}


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (("unauthorized",) * 9, "HTTP 401"),
        (("model_not_found",) * 9, "check model and base_url"),
        (("quota",) * 9, "HTTP 429"),
        (("empty",) * 9, "answered with nothing"),
    ],
)
def test_what_is_wrong_is_one_line_after_at_most_two_calls(tmp_path, script, says):
    with ServerThread(yes, FaultPlan(script=script)) as server:
        _, problem = probed(study(tmp_path, server.url + "/v1"))
        calls = received(server)
    assert says in problem
    assert "\n" not in problem
    assert calls <= 2


def test_its_calls_are_billed_through_the_budget(tmp_path):
    prices = "price_in = 10.0\nprice_out = 10.0"
    with ServerThread(yes, FaultPlan()) as server:
        asked = study(tmp_path, server.url + "/v1", prices, budget="budget_usd = 1.0")
        _, problem = probed(asked)
    assert problem is None
    assert read_figures(asked.home, 1.0).spent > 0


def test_a_budget_that_is_spent_is_said_without_a_call(tmp_path):
    prices = "price_in = 1000.0\nprice_out = 1000.0"
    with ServerThread(yes, FaultPlan()) as server:
        asked = study(tmp_path, server.url + "/v1", prices, budget="budget_usd = 0.000001")
        _, problem = probed(asked)
        assert received(server) == 0
    assert "budget" in problem


def test_what_a_server_lists_is_not_taken_for_an_answer_of_its_model(tmp_path):
    listed = {"data": [{"id": "x", "owned_by": "vllm", "max_model_len": 4096}]}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json=listed)
        return httpx.Response(500)

    asked = study(tmp_path, "http://127.0.0.1:9/v1")
    once = RetryPolicy(transient_attempts=1)
    known, problem = asyncio.run(
        probe(asked, asked.models[0], transport=lambda: httpx.MockTransport(answer), retries=once)
    )
    assert problem is not None
    assert not list(asked.home.path.glob("capabilities/*"))
    assert known.server == "vllm"
