"""Batches in parts: records, the wave, what is set aside, and providers that answer strangely."""

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.llm.batch import job, records, transport
from metacog_pipeline.llm.batch.backends import Look, OpenAiBatches
from metacog_pipeline.llm.batch.job import BatchError, Jobs, Results
from metacog_pipeline.llm.batch.queue import Request, batch_of
from metacog_pipeline.llm.batch.records import Batch, BatchRecord
from metacog_pipeline.llm.batch.transport import Later
from metacog_pipeline.llm.budget import Budget, BudgetSpent, read_figures
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN
from metacog_pipeline.llm.ledger import nano
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.transport import open_http
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from metacog_pipeline.llm.wire import wire_for

KEY = "sk-canary-0123456789abcdef"
Answer = Callable[[httpx.Request], httpx.Response]
TARGET, HEADERS = "/v1/chat/completions", (("authorization", f"Bearer {job.KEY}"),)
IDS = [f"{number:064x}" for number in range(5)]


def spec(provider: str = "openai", **fields: Any) -> ModelSpec:
    root = "http://test.invalid" + ("/v1" if provider == "openai" else "")
    given = {
        "name": "m",
        "provider": provider,
        "model": "m",
        "base_url": root,
        "price_in": 1.0,
        "price_out": 2.0,
    }
    return ModelSpec.model_validate(given | {"lane": "batch", "batch_factor": 0.5} | fields)


def jobs_of(answer: Answer, budget: Budget | None = None, provider: str = "openai") -> Jobs:
    async def replied(request: httpx.Request) -> httpx.Response:
        await request.aread()
        return answer(request)

    return Jobs(spec(provider), KEY, open_http(transport=httpx.MockTransport(replied)), budget)


def written(home: Home, at: Jobs, ids: list[str] = IDS, worst: float = 0.001) -> Batch:
    plain = at.spec.model_copy(update={"stream": False})
    request = ChatRequest((Message("user", "hello"),), Sampling())
    call = wire_for(at.spec.provider).build(plain, request, KEY, NOTHING_KNOWN)
    requests = at.backend.separator.join(at.backend.line(answer, TARGET, call) for answer in ids)
    record = BatchRecord(
        mark=records.new_mark(), partition=("b", "m", 1), kept_in="transcripts/x", provider=at.spec.provider,
        address=at.root, account=at.account, target=TARGET, n=len(ids), size=len(requests), digest="d",
        worst_usd=worst * len(ids), created_at=records.utc_text(), headers=dict(HEADERS),
    )  # fmt: skip
    return records.create(home, record, requests, [(answer, nano(worst)) for answer in ids])


def queued(lines: list[bytes], worst: float = 0.0, target: str = TARGET) -> list[Request]:
    return [
        Request(answer, target, HEADERS, line, nano(worst)) for answer, line in zip(IDS, lines, strict=False)
    ]


def test_a_batch_holds_no_more_requests_or_bytes_than_its_provider_takes():
    backend, requests = OpenAiBatches(), queued([b"x" * 10] * 5)
    backend.most_requests, backend.most_bytes = 2, 1000
    assert batch_of(requests, backend, None) == requests[:2]
    backend.most_requests, backend.most_bytes = 100, 21
    assert batch_of(requests, backend, None) == requests[:2]
    assert batch_of(queued([b"x" * 99]), backend, None), "one that is too long is the provider's to refuse"


def test_a_batch_holds_requests_of_one_endpoint_that_can_be_paid_for_at_their_worst():
    backend = OpenAiBatches()
    requests = [*queued([b"x"], 0.5), *queued([b"y"], 0.5, "/v1/other"), *queued([b"z"] * 3, 0.5)]
    assert batch_of(requests, backend, 1.0) == [requests[0], requests[2]]
    assert batch_of(requests, backend, 0.4) == []


def test_what_a_batch_may_cost_is_held_whichever_process_lives(tmp_path):
    first = Budget.open(Home(tmp_path), 1.0)
    assert first.hold("one", 0.7) and first.hold("one", 0.7), "held once"
    assert not first.hold("two", 0.4)
    first.close()
    figures = read_figures(Home(tmp_path), 1.0)
    assert (figures.reserved, figures.spent) == (pytest.approx(0.7), 0.0)
    second = Budget.open(Home(tmp_path), 1.0)
    assert second.free() == pytest.approx(0.3)
    with pytest.raises(BudgetSpent):
        asyncio.run(_reserved(second, 0.4))
    second.release("one", 0.1)
    assert second.free() == pytest.approx(0.9) and second.hold("two", 0.9)
    second.release("two", 0.0)
    second.close()
    assert read_figures(Home(tmp_path), 1.0).spent == pytest.approx(0.1)


async def _reserved(budget: Budget, usd: float) -> None:
    await budget.reserve(usd)


def _result(answer: str, body: object, status: int = 200) -> bytes:
    line = {"custom_id": answer, "response": {"status_code": status, "body": body}}
    return json.dumps(line).encode() + b"\n"


def test_an_answer_that_is_lost_costs_the_most_it_can_have_been_billed(tmp_path):
    """Of six: one counted, one without usage, a line that cannot be read, one refused, one lost, one without a trace."""
    choice = {"finish_reason": "stop", "message": {"content": "A"}}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    results = (
        _result(IDS[0], {"choices": [choice], "usage": usage})
        + _result(IDS[1], {"choices": [choice]})
        + b"{ no json\n"
        + _result(IDS[3], {"error": {"message": "no"}}, 400)
        + b'{"custom_id": "%s", "response": null, "error": {"code": "lost"}}\n' % IDS[4].encode()
    )
    budget = Budget.open(Home(tmp_path), 1.0)
    at = jobs_of(lambda request: httpx.Response(200, content=results), budget)
    batch = written(Home(tmp_path), at, [*IDS, "f" * 64], worst=0.001)
    at.set_aside(batch)
    batch.now(state="submitted", remote="batch_1")
    asyncio.run(
        at.collect(batch, Look("ended", "completed", ("http://test.invalid/v1/files/file-1/content",)))
    )
    cost = 0.5 * (100 * 1.0 + 10 * 2.0) / 1e6 + 4 * 0.001
    assert batch.record.cost_usd == pytest.approx(cost)
    assert budget.figures().spent == pytest.approx(cost) and budget.figures().reserved == 0
    budget.close()


def test_a_batch_is_durable_before_it_is_sent_and_holds_no_key(tmp_path):
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        (found,) = records.batches(Home(tmp_path))
        seen.append(found.record.state)
        assert request.headers["authorization"] == f"Bearer {KEY}"
        return httpx.Response(
            200, json={"id": "file-1"} if "files" in request.url.path else {"id": "batch_1"}
        )

    at = jobs_of(answer)
    batch = written(Home(tmp_path), at)
    asyncio.run(at.submit(batch))
    assert seen == ["submitting", "submitting"]
    (found,) = records.batches(Home(tmp_path))
    assert (found.record.state, found.record.remote, found.record.n) == ("submitted", "batch_1", 5)
    assert [answer for answer, _ in found.answers()] == IDS
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b"{}", b'{"id": 7}', b'{"id": "../../x"}', b'{"id": "a b"}', b"\xff", b"[" * 9000],
)
def test_a_reply_that_names_nothing_usable_leaves_the_batch_to_be_looked_for(body, tmp_path):
    at = jobs_of(lambda request: httpx.Response(200, content=body))
    batch = written(Home(tmp_path), at)
    with pytest.raises(Later):
        asyncio.run(at.submit(batch))
    assert batch.record.state == "submitting"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_a_refused_submission_is_told_in_one_line_and_holds_no_money(status, tmp_path):
    budget = Budget.open(Home(tmp_path), 1.0)
    said = {"error": {"message": f"no {KEY}\nfor you", "code": "x"}}
    at = jobs_of(lambda request: httpx.Response(status, json=said), budget)
    batch = written(Home(tmp_path), at)
    with pytest.raises(BatchError) as refusal:
        asyncio.run(at.submit(batch))
    assert "\n" not in str(refusal.value) and KEY not in str(refusal.value)
    assert batch.record.state == "refused" and KEY not in batch.noted.read_text()
    assert budget.free() == 1.0
    budget.close()


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_a_submission_that_may_be_taken_later_is_not_given_up(status, tmp_path):
    at = jobs_of(lambda request: httpx.Response(status, json={"error": {"message": "later"}}))
    batch = written(Home(tmp_path), at)
    with pytest.raises(Later):
        asyncio.run(at.submit(batch))
    taken_or_not = status in (500, 502, 503)
    assert batch.record.state == ("submitting" if taken_or_not else "written")


def test_a_gemini_upload_goes_nowhere_else_than_to_the_address_of_the_study(tmp_path):
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        return httpx.Response(200, json={}, headers={"x-goog-upload-url": "https://elsewhere.invalid/up"})

    at = jobs_of(answer, provider="gemini")
    batch = written(Home(tmp_path), at)
    with pytest.raises(Later):
        asyncio.run(at.submit(batch))
    assert set(asked) == {"test.invalid"}


def message_batch(name: str, count: int) -> dict[str, Any]:
    counts = {"processing": 0, "succeeded": count, "errored": 0, "canceled": 0, "expired": 0}
    made = {"id": name, "created_at": "2999-01-01T00:00:00Z", "request_counts": counts}
    return made | {"processing_status": "ended", "results_url": "https://elsewhere.invalid/results"}


def result(answer: str) -> str:
    usage = {"input_tokens": 3, "output_tokens": 1}
    message = {
        "type": "message",
        "content": [{"type": "text", "text": "A"}],
        "stop_reason": "end_turn",
        "usage": usage,
    }
    return json.dumps({"custom_id": answer, "result": {"type": "succeeded", "message": message}}) + "\n"


def test_a_batch_of_the_same_size_that_is_anothers_is_told_by_its_results(tmp_path, monkeypatch):
    """Anthropic's batches bear no mark: of two of this size the one that names our requests is ours."""
    monkeypatch.setattr(job, "SETTLING_S", 0.0)
    lines = {"msgbatch_other": [f"{number:064x}" for number in range(90, 95)], "msgbatch_ours": IDS}

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.host == "test.invalid", "the key goes nowhere else"
        assert request.method == "GET", "nothing is submitted again"
        name = request.url.path.removesuffix("/results").rpartition("/")[2]
        if request.url.path.endswith("/results"):
            return httpx.Response(200, text="".join(map(result, lines[name])))
        if name in lines:
            return httpx.Response(200, json=message_batch(name, 5))
        listed = [message_batch(each, 5) for each in reversed(lines)] + [message_batch("msgbatch_small", 4)]
        return httpx.Response(200, json={"data": listed, "has_more": False})

    at = jobs_of(answer, provider="anthropic")
    batch = written(Home(tmp_path), at)
    batch.now(state="submitting", submitting_since=records.utc_text(), tries=1)

    async def found() -> Results | None:
        for _ in range(4):
            if batch.record.state == "submitting":
                await at.resolve(batch, set())
            got = await at.collect(batch, await at.look(batch))
            if got is not None:
                return got
        return None

    got = asyncio.run(found())
    assert got is not None and sorted(got.places) == IDS
    assert batch.record.remote == "msgbatch_ours" and batch.record.foreign == ("msgbatch_other",)
    assert batch.record.counts["answered"] == 5
    assert batch.record.cost_usd == pytest.approx(5 * (3 * 1.0 + 1 * 2.0) * 0.5 / 1e6)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"{}",
        b'{"custom_id": []}',
        b'{"custom_id": "%s"}' % IDS[0].encode(),
        b'{"custom_id": "%s", "response": 3}' % IDS[0].encode(),
        b'{"custom_id": "%s", "response": {"status_code": "200"}}' % IDS[0].encode(),
        b'{"custom_id": "%s", "response": {"status_code": 200, "body": null}}' % IDS[0].encode(),
        b'{"custom_id": "%s", "response": {"status_code": -1, "body": {}}}' % IDS[0].encode(),
        b"[" * 100_000,
        b"\xff\x00" * 100,
        b'{"custom_id": "x\\ud800"}',
    ],
)
def test_no_line_of_results_keeps_the_others_from_being_read(line, tmp_path):
    at = jobs_of(lambda request: httpx.Response(500))
    batch = written(Home(tmp_path), at)
    good = {"custom_id": IDS[1], "response": {"status_code": 200, "body": {"choices": []}}}
    batch.results.write_bytes(line + b"\n" + json.dumps(good).encode() + b"\n")
    found = Results.of(batch, at.backend)
    assert IDS[1] in found.places
    for answer in found.places:
        read = found.line(answer, at.backend)
        assert read is not None and at.completion(read, batch).lane == "batch"


def test_a_reply_longer_than_can_be_kept_is_looked_at_again(tmp_path, monkeypatch):
    monkeypatch.setattr(transport, "MAX_JSON_BYTES", 100)
    at = jobs_of(lambda request: httpx.Response(200, content=b" " * 101 + b"{}"))
    with pytest.raises(Later):
        asyncio.run(at.submit(written(Home(tmp_path), at)))


def test_results_cut_on_the_way_are_no_results(tmp_path):
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/content"):
            return httpx.Response(200, content=b"{}\n", headers={"content-length": "900"})
        return httpx.Response(200, json={"id": "batch_1", "status": "completed", "output_file_id": "file-1"})

    at = jobs_of(answer)
    batch = written(Home(tmp_path), at)
    batch.now(state="submitted", remote="batch_1")
    with pytest.raises(Later):
        asyncio.run(_collected(at, batch))
    assert batch.record.state == "submitted" and not batch.results.exists()


async def _collected(at: Jobs, batch: Batch) -> None:
    await at.collect(batch, await at.look(batch))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_home_that_cannot_be_written_sends_nothing(tmp_path):
    at = jobs_of(lambda request: pytest.fail("nothing may be sent"))
    (tmp_path / "batches").mkdir(mode=0o500)
    with pytest.raises(StoreError):
        written(Home(tmp_path), at)
