"""The same folder behind a server not written here, asked over HTTP: `transformers serve`."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, ErrorKind, Message, OneOf, Sampling, Status
from tests.llm.local.conftest import answers, spec_of

pytest.importorskip("torch", reason="the extra train is not installed")
pytest.importorskip("fastapi", reason="transformers[serving] is not installed")
STARTED_WITHIN_S = 120

pytestmark = pytest.mark.proof  # the server takes half a minute to start


@pytest.fixture(scope="module")
def address(folders):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("transformers"), "serve", folders["llama"]]
    server = subprocess.Popen(
        [*command, "--device", "cpu", "--host", "127.0.0.1", "--port", str(port)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", server)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + STARTED_WITHIN_S
    while time.monotonic() < until:
        assert server.poll() is None, "the server ended before it answered"
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(url, timeout=5).status_code == 200:
                return
        time.sleep(0.3)
    pytest.fail(f"the server did not answer within {STARTED_WITHIN_S} s")


def over_http(folder, address):
    # Room to think is none, as in this process; streamed, the server would lose halves of characters.
    asked = {"max_concurrency": 4, "api_key_env": None, "thinking_tokens": 0, "stream": False}
    return ModelSpec(name="served", provider="openai", model=str(folder), base_url=address, **asked)


def questions(**sampling):
    texts = ["What is it?", "Q", "And which city lies at the mouth of that river?"]
    return [
        ChatRequest((Message("user", text),), Sampling(**{"max_tokens": 12, **sampling})) for text in texts
    ]


def test_a_foreign_server_and_this_process_answer_alike(folders, address):
    served = answers(over_http(folders["llama"], address), questions())
    own = answers(spec_of(folders["llama"]), questions())
    assert [each.text for each in served] == [each.text for each in own]
    assert [each.status for each in served] == [each.status for each in own] == [Status.TRUNCATED] * 3
    assert [each.usage.input_tokens for each in served] == [each.usage.input_tokens for each in own]


def test_a_choice_it_does_not_know_is_refused_as_unsupported_so_that_the_next_form_is_tried(folders, address):
    (first, *_) = questions()
    request = ChatRequest(first.messages, first.sampling, OneOf(("Yes", "No")))
    (served,) = answers(over_http(folders["llama"], address), [request])
    assert served.status is Status.FAILED and served.error_kind is ErrorKind.UNSUPPORTED
    assert served.http_status == 422
    (own,) = answers(spec_of(folders["llama"]), [request])
    assert own.status is Status.OK and own.text in ("Yes", "No")


def test_log_probabilities_it_leaves_out_are_none_and_the_answer_is_kept(folders, address):
    served = answers(over_http(folders["llama"], address), questions(top_logprobs=5))
    own = answers(spec_of(folders["llama"]), questions(top_logprobs=5))
    assert all(each.logprobs == () and each.text for each in served)
    assert all(len(each.logprobs) == each.usage.output_tokens for each in own)
