"""The official clients can drive the batches of the local server, and read what it says."""

import io
import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.llm.clients import anthropic, gemini_types, genai, openai
from tests.simulated_server import ServerThread

KEY = "sk-test-0123456789"
LONGEST_S = 20.0


@pytest.fixture
def server():
    with ServerThread(lambda model, request: f"said {request.messages[-1].content}") as started:
        yield started


def ended(look: Callable[[], Any], done: Callable[[Any], bool]) -> Any:
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until:
        found = look()
        if done(found):
            return found
        time.sleep(0.02)
    raise AssertionError("the batch did not end")


def plan(server: ServerThread, **fields: Any) -> None:
    assert httpx.post(f"{server.url}/batch-faults", json=fields).status_code == 200


def chat_lines(*ids: str) -> bytes:
    body = {"model": "m", "max_tokens": 5}
    lines = [
        {
            "custom_id": each,
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {**body, "messages": [{"role": "user", "content": each}]},
        }
        for each in ids
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def test_the_official_openai_client_sends_a_batch_and_reads_it(server):
    client = openai.OpenAI(api_key=KEY, base_url=f"{server.url}/v1", max_retries=0)
    file = client.files.create(file=("mine.jsonl", io.BytesIO(chat_lines("a", "b"))), purpose="batch")
    assert [each.filename for each in client.files.list(purpose="batch")] == ["mine.jsonl"]
    batch = client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"k": "v"}
    )
    batch = ended(lambda: client.batches.retrieve(batch.id), lambda found: found.status == "completed")
    assert batch.request_counts is not None and batch.request_counts.completed == 2
    assert batch.output_file_id is not None and batch.metadata == {"k": "v"}
    lines = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
    replies = [openai.types.chat.ChatCompletion.model_validate(line["response"]["body"]) for line in lines]
    assert [reply.choices[0].message.content for reply in replies] == ["said a", "said b"]
    assert [each.id for each in client.batches.list()] == [batch.id]


def test_the_official_anthropic_client_sends_a_batch_and_reads_it(server):
    client = anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0)
    plan(server, script=["expired"])
    params: Any = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hello"}]}
    batch = client.messages.batches.create(requests=[{"custom_id": each, "params": params} for each in "ab"])
    batch = ended(
        lambda: client.messages.batches.retrieve(batch.id), lambda found: found.processing_status == "ended"
    )
    assert (batch.request_counts.succeeded, batch.request_counts.expired) == (1, 1)
    found = {each.custom_id: each.result for each in client.messages.batches.results(batch.id)}
    assert found["b"].type == "expired"
    assert found["a"].type == "succeeded" and found["a"].message.content[0].text == "said hello"
    assert [each.id for each in client.messages.batches.list()] == [batch.id]


@pytest.mark.parametrize("inline", [True, False])
def test_the_official_gemini_client_sends_a_batch_and_reads_it(inline, server):
    client = genai.Client(api_key=KEY, http_options=gemini_types.HttpOptions(base_url=server.url))
    contents: Any = [{"role": "user", "parts": [{"text": "hello"}]}]
    if inline:
        source: Any = [{"contents": contents, "metadata": {"key": "a"}}]
    else:
        line = json.dumps({"key": "a", "request": {"contents": contents}}) + "\n"
        uploaded = client.files.upload(
            file=io.BytesIO(line.encode()), config={"name": "files/mc-1", "mime_type": "application/jsonl"}
        )
        assert client.files.get(name="files/mc-1").name == uploaded.name == "files/mc-1"
        source = uploaded.name
    batch = client.batches.create(model="models/m", src=source, config={"display_name": "mine"})
    batch = ended(
        lambda: client.batches.get(name=batch.name), lambda found: found.state.name == "JOB_STATE_SUCCEEDED"
    )
    assert [each.display_name for each in client.batches.list()] == ["mine"]
    if inline:
        reply = batch.dest.inlined_responses[0].response
        assert reply.text == "said hello"
    else:
        text = client.files.download(file=batch.dest.file_name)
        line = json.loads(text)
        assert line["key"] == "a"
        assert line["response"]["candidates"][0]["content"]["parts"][0]["text"] == "said hello"


def test_a_batch_is_seen_only_by_the_key_that_made_it(server):
    mine, other = (
        openai.OpenAI(api_key=key, base_url=f"{server.url}/v1", max_retries=0)
        for key in (KEY, "another-key-000")
    )
    file = mine.files.create(file=("mine.jsonl", io.BytesIO(chat_lines("a"))), purpose="batch")
    batch = mine.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    )
    assert not [*other.batches.list()]
    with pytest.raises(openai.NotFoundError):
        other.batches.retrieve(batch.id)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"delay_s": -1}, 400),
        ({"script": ["no such fault"]}, 400),
        ({"always": "expired"}, 200),
        ({"strange": 1}, 400),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused(fields, status, server):
    assert httpx.post(f"{server.url}/batch-faults", json=fields).status_code == status


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b'{"requests": []}', b'{"requests": [{"custom_id": "a b", "params": {}}]}', b"\xff"],
)
def test_a_batch_that_cannot_be_read_is_refused(body, server):
    headers = {"anthropic-version": "2026-10-21", "x-api-key": KEY}
    assert httpx.post(f"{server.url}/v1/messages/batches", content=body, headers=headers).status_code == 400
    assert httpx.post(f"{server.url}/v1/models/m:batchGenerateContent", content=body).status_code == 400
    assert httpx.post(f"{server.url}/v1/batches", content=body).status_code == 400
