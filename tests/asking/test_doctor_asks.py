"""The doctor against real HTTP: one short question says whether a model can be asked, and none where it is known."""

from pathlib import Path

import pytest

from metacog_pipeline.asking.doctor import Finding, examine, exit_code
from metacog_pipeline.asking.plan import plan_study
from metacog_pipeline.llm.budget import read_figures
from metacog_pipeline.llm.types import ChatRequest
from metacog_pipeline.study import Study, load_study
from tests.provider import Fault, FaultPlan
from tests.servers import free_port
from tests.simulated_server import ServerThread
from tests.studies import metamedqa, write_study

KEY = "sk-cAnArY/9f3b71d2c04e+5a66"


@pytest.fixture
def server():
    def respond(model: str, request: ChatRequest) -> str:
        return '{"answer": "yes"}'

    with ServerThread(respond, FaultPlan(thinking_tokens=300), models=("known",)) as started:
        yield started


def study_of(folder: Path, url: str, rows: dict[str, dict[str, str]], budget: float = 5.0) -> Study:
    usual = {
        "provider": "openai",
        "model": "known",
        "base_url": f"{url}/v1",
        "price_in": 1.0,
        "price_out": 2.0,
    }
    models = ({"name": name, **usual, **keys} for name, keys in rows.items())
    return load_study(write_study(folder, *models, benchmarks=metamedqa(limit=3), budget_usd=budget))


def received(server: ServerThread) -> int:
    return int(str(server.stats["received"]))


def failed(found: list[Finding]) -> dict[str, str]:
    return {each.subject: each.text for each in found if each.state == "fail"}


def shown(found: list[Finding], name: str) -> str:
    return next(each.text for each in found if each.subject == name and "as it answers" in each.text)


def test_of_five_models_three_are_broken_and_each_is_told_apart(tmp_path, server):
    rows = {
        "fine": {},
        "unknown": {"model": "no-such-model"},
        "dark": {"base_url": f"http://127.0.0.1:{free_port()}/v1"},
        "keyless": {"api_key_env": "EMPTY_KEY"},
        "gem": {"provider": "gemini", "base_url": server.url, "api_key_env": "GOOD_KEY"},
    }
    study = study_of(tmp_path, server.url, rows)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("EMPTY_KEY", "")
        patched.setenv("GOOD_KEY", KEY)
        found = examine(study)
        wrong = failed(found)
        assert set(wrong) == {"unknown", "keyless", "dark"}
        assert "is set but empty" in wrong["keyless"]
        assert "no-such-model" in wrong["unknown"] and "404" in wrong["unknown"]
        assert exit_code(found) != 0
        assert "reasons yes, up to" in shown(found, "fine")
        assert "reasons yes" in shown(found, "gem")
        calls = received(server)
        assert 3 <= calls <= 6
        examine(study)
        assert received(server) - calls <= 2, "only the one nobody knows anything of"
    assert KEY[3:13] not in "".join(each.line for each in found)


def test_what_the_doctor_asks_is_billed_and_the_plan_shows_what_it_found(tmp_path, server):
    study = study_of(tmp_path, server.url, {"fine": {}})
    assert exit_code(examine(study)) == 0
    spent = read_figures(study.home, 5.0)
    assert 0 < spent.spent < 0.01 and spent.reserved == 0
    (row,) = plan_study(study).rows
    assert row.at_most_usd is not None and 0 < row.expected_usd < row.at_most_usd


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault.UNAUTHORIZED, "HTTP 401; check the key"),
        (Fault.MODEL_NOT_FOUND, "HTTP 404; check model"),
        (Fault.QUOTA, "429"),
        (Fault.EMPTY, "answered with nothing"),
        (Fault.INVALID_JSON, ""),
        (Fault.PROVIDER_ERROR, ""),
    ],
)
def test_a_server_that_refuses_or_babbles_is_one_line(tmp_path, server, fault, words):
    server.provider.use(FaultPlan(rates={fault.value: 1.0}))
    found = examine(study_of(tmp_path, server.url, {"m": {}}))
    (text,) = (each.text for each in found if each.state == "fail")
    assert words in text and "\n" not in text
    assert exit_code(found) == 6 and received(server) <= 2
    assert not list((tmp_path / "home").glob("capabilities/*")), "nothing is known of it"


def test_a_budget_that_one_call_could_pass_is_one_line_and_nobody_is_asked(tmp_path, server):
    found = examine(study_of(tmp_path, server.url, {"m": {}}, budget=0.000001))
    assert "raise budget_usd" in failed(found)["m"]
    assert received(server) == 0


def test_an_option_that_is_refused_takes_one_more_call_and_is_known(tmp_path, server):
    server.provider.use(FaultPlan(always=("reject_temperature",)))
    study = study_of(tmp_path, server.url, {"m": {}})
    assert "does not take temperature" in shown(examine(study), "m")
    assert received(server) == 2
