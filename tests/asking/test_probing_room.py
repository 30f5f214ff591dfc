"""The second call of a probe keeps room to think where options are refused by name; a thought that is cut fails nothing."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from metacog_pipeline.asking.probing import probe
from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.llm import capabilities
from metacog_pipeline.llm.capabilities import MODEST_THINKING_TOKENS, Capabilities
from metacog_pipeline.study import Study, load_study

Body = dict[str, Any]
STUDY = """
[study]
name = "t"
home = "home"
[[models]]
name = "m"
provider = "openai"
model = "x"
base_url = "http://test.invalid/v1"
stream = false
price_in = 1.0
price_out = 1.0
[benchmarks.metamedqa]
dataset = "sample"
"""


def study_of(folder: Path) -> Study:
    path = folder / "study.toml"
    path.write_text(STUDY)
    return load_study(path)


def refused(param: str | None) -> httpx.Response:
    return httpx.Response(400, json={"error": {"message": "no", "param": param, "code": "invalid_value"}})


def reply(text: str, thought: int, finish: str = "stop") -> httpx.Response:
    usage = {
        "prompt_tokens": 30,
        "completion_tokens": thought + 5,
        "completion_tokens_details": {"reasoning_tokens": thought},
    }
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text},
    }
    return httpx.Response(200, json={"model": "x", "choices": [choice], "usage": usage})


def probed(
    study: Study, answers: list[Callable[[], httpx.Response]]
) -> tuple[Capabilities, str | None, list[Body]]:
    sent: list[Body] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(404)
        sent.append(json.loads(request.content))
        return answers[len(sent) - 1]()

    found, problem = asyncio.run(probe(study, study.models[0], transport=lambda: httpx.MockTransport(answer)))
    return found, problem, sent


def test_where_options_are_named_the_second_call_has_room_to_think(tmp_path):
    answers = [lambda: refused("temperature"), lambda: reply("yes", 700)]
    found, problem, sent = probed(study_of(tmp_path), answers)
    assert problem is None and found.reasons and found.reasoning_tokens == 700
    assert "temperature" not in sent[1] and sent[1]["max_tokens"] == 64 + MODEST_THINKING_TOKENS
    assert "temperature" in found.refused and "thinking_room" not in found.refused


def test_a_second_refusal_of_the_room_alone_is_no_problem(tmp_path):
    study = study_of(tmp_path)
    found, problem, sent = probed(study, [lambda: refused("temperature"), lambda: refused("max_tokens")])
    assert problem is None and len(sent) == 2
    kept = capabilities.load(study.home, "m", request_digest(study.models[0]))
    assert kept == found and {"temperature", "thinking_room"} <= found.refused


def test_where_nothing_is_named_the_second_call_is_bare_and_a_cut_thought_is_no_answer_of_64_tokens(tmp_path):
    answers = [lambda: refused(None), lambda: reply("", 59, "length")]
    found, problem, sent = probed(study_of(tmp_path), answers)
    assert problem is None and sent[1]["max_tokens"] == 64
    assert found.reasons and found.reasoning_tokens is None and found.reasoning_share is None


def test_a_second_refusal_of_something_else_is_the_problem(tmp_path):
    _, problem, sent = probed(
        study_of(tmp_path), [lambda: refused("temperature"), lambda: refused("messages")]
    )
    assert problem is not None and "\n" not in problem and len(sent) == 2
