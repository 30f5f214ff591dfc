"""Batches of one model over providers that answer strangely: nothing sent twice, nothing lost, nothing paid unnoticed."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx
import pytest

from metacog_pipeline.errors import ProviderError
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.llm.batch import Pending, backends, queue, records
from metacog_pipeline.llm.batch.queue import BatchModel
from metacog_pipeline.llm.budget import Budget, read_figures
from metacog_pipeline.llm.ledger import NANO
from metacog_pipeline.llm.open import Clients
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, Message, Sampling

KEY = "sk-canary-0123456789abcdef"
Answer = Callable[[httpx.Request], httpx.Response]
QUESTIONS = [ChatRequest((Message("user", f"question {number}"),), Sampling()) for number in range(6)]
PRICES = {"price_in": 1.0, "price_out": 2.0, "batch_factor": 0.5, "thinking_tokens": 0}


def identity(request: ChatRequest) -> str:
    return sha256_hex(request.messages[0].content)


IDS = [identity(each) for each in QUESTIONS]


class Asker:
    """A model asked through the batches of a provider that answers by ``answer``."""

    def __init__(self, home: Home, answer: Answer, provider: str = "openai") -> None:
        async def replied(request: httpx.Request) -> httpx.Response:
            await request.aread()
            return answer(request)

        root = "http://test.invalid" + ("/v1" if provider == "openai" else "")
        fields = {"name": "m", "provider": provider, "model": "m", "base_url": root, "api_key_env": "KEY"}
        spec = ModelSpec.model_validate(fields | PRICES | {"lane": "batch"})
        self.home, self.budget = home, Budget(home, 1.0)
        mock = httpx.MockTransport(replied)
        clients = Clients(budget=self.budget, environment={"KEY": KEY}, transport=lambda: mock)
        self.model: BatchModel = clients.batch_model(
            clients.http_model(spec), home=home, partition=("b", "m", 1), kept_in="transcripts/x",
            identify=identity, kept=lambda answer: False,
        )  # fmt: skip
        self.model.begin()

    def ask(self, questions: list[ChatRequest] = QUESTIONS) -> list[Completion | None]:
        """Ask, submit and collect as far as is possible now; return the answers that are there."""

        async def asked(question: ChatRequest) -> Completion | None:
            with suppress(Pending):
                return await self.model.complete(question)
            return None

        async def all_of_them() -> list[Completion | None]:
            found = [await asked(each) for each in questions]
            await self.model.next()
            return [came or await asked(each) for came, each in zip(found, questions, strict=True)]

        return asyncio.run(all_of_them())

    @property
    def record(self) -> records.BatchRecord:
        (batch,) = records.batches(self.home)
        return batch.record


def result(answer: str, body: object, status: int = 200) -> str:
    return (
        json.dumps({"custom_id": answer, "response": {"status_code": status, "body": body}, "error": None})
        + "\n"
    )


def openai_batch(results: str, seen: list[str] | None = None) -> Answer:
    """Return a provider that takes a batch and has its results at once."""

    def answer(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append(f"{request.method} {request.url.path}")
        if request.url.path.endswith("/content"):
            return httpx.Response(200, text=results)
        return httpx.Response(200, json={"id": "batch_1", "status": "completed", "output_file_id": "file-1"})

    return answer


CHOICE = {"finish_reason": "stop", "message": {"content": "A"}}
USAGE = {"prompt_tokens": 20, "completion_tokens": 1}


def test_an_answer_that_is_lost_costs_the_most_it_can_have_been_billed(tmp_path):
    """Of six: one counted, one without usage, a line that cannot be read, one refused, one failed, one without a trace."""
    results = (
        result(IDS[0], {"choices": [CHOICE], "usage": USAGE})
        + result(IDS[1], {"choices": [CHOICE]})
        + "{ no json\n"
        + result(IDS[3], {"error": {"message": "no"}}, 400)
        + f'{{"custom_id": "{IDS[4]}", "response": null, "error": {{"code": "lost"}}}}\n'
    )
    asker = Asker(Home(tmp_path), openai_batch(results))
    found = asker.ask()
    counted = 0.5 * (20 * 1.0 + 1 * 2.0) / 1e6
    record, most = asker.record, (asker.record.worst_usd or 0.0) / 6
    uncounted = found[1].cost_usd
    assert found[0].cost_usd == pytest.approx(counted) and counted < uncounted <= most * 1.001
    assert found[3].error_kind is ErrorKind.UNSUPPORTED and found[3].cost_usd == 0
    assert record.cost_usd == pytest.approx(counted + uncounted + 3 * most, rel=0.01)
    assert record.counts == {"answered": 2} and "results.jsonl" in (record.message or "")
    figures = asker.budget.figures()
    assert figures.spent == pytest.approx(record.cost_usd, abs=1e-8) and figures.reserved == 0
    assert [each is None for each in found] == [False, False, True, False, True, True], (
        "the lost are asked again"
    )


def test_a_request_that_was_lost_in_three_batches_has_failed_and_costs_what_all_may_have_billed(tmp_path):
    asker = Asker(Home(tmp_path), openai_batch(""))
    (came,) = [one for _ in range(3) for one in asker.ask(QUESTIONS[:1]) if one is not None]
    made = [batch.record for batch in records.batches(Home(tmp_path))]
    assert (came.attempts, came.attempts_billed, len(made)) == (3, 3, 3)
    assert came.cost_usd == pytest.approx(sum(each.worst_usd or 0 for each in made))
    assert came.error_message is not None and "missing" in came.error_message


def test_a_batch_is_durable_and_paid_for_before_it_is_sent_and_holds_no_key(tmp_path):
    seen: list[tuple[str, int]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        (found,) = records.batches(Home(tmp_path))
        held = read_figures(Home(tmp_path), 1.0).reserved == pytest.approx(found.record.worst_usd)
        seen.append((found.record.state, held))
        assert request.headers["authorization"] == f"Bearer {KEY}"
        name = "file-1" if request.url.path.endswith("/files") else "batch_1"
        return httpx.Response(200, json={"id": name, "status": "in_progress"})

    asker = Asker(Home(tmp_path), answer)
    asker.ask()
    assert seen == [("submitting", True), ("submitting", True), ("submitted", True)]
    (found,) = records.batches(Home(tmp_path))
    assert (found.record.state, found.record.remote, found.record.n) == ("submitted", "batch_1", 6)
    assert [answer for answer, *_ in found.answers()] == IDS
    assert [request for *_, request in found.answers()] == QUESTIONS
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"id": 7}', b'{"id": "../../x"}', b"\xff", b"[" * 9000]
)
def test_a_reply_that_names_nothing_usable_leaves_the_batch_to_be_looked_for(body, tmp_path):
    asker = Asker(Home(tmp_path), lambda request: httpx.Response(200, content=body))
    asker.ask()
    assert asker.record.state == "submitting" and asker.budget.figures().reserved > 0


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413])
def test_a_refused_submission_is_one_line_and_holds_no_money(status, tmp_path):
    said = {"error": {"message": f"no {KEY}\nfor you", "code": "x"}}
    asker = Asker(Home(tmp_path), lambda request: httpx.Response(status, json=said))
    with pytest.raises(ProviderError) as refusal:
        asker.ask()
    assert "\n" not in str(refusal.value) and KEY not in str(refusal.value)
    assert asker.record.state == "refused" and KEY not in str(asker.record)
    assert asker.budget.free() == NANO


@pytest.mark.parametrize(
    ("status", "taken"), [(429, False), (529, False), (500, True), (502, True), (503, True)]
)
def test_a_submission_that_may_have_been_taken_is_looked_for_and_any_other_is_forgotten(
    status, taken, tmp_path
):
    asker = Asker(
        Home(tmp_path), lambda request: httpx.Response(status, json={"error": {"message": "later"}})
    )
    assert asker.ask() == [None] * 6 and asker.model.waiting == 1
    assert [each.record.state for each in records.batches(asker.home)] == ["submitting"] * taken
    assert (asker.budget.free() == NANO) is not taken


def test_a_gemini_upload_goes_nowhere_else_than_to_the_address_of_the_study(tmp_path):
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        return httpx.Response(200, json={}, headers={"x-goog-upload-url": "https://elsewhere.invalid/up"})

    Asker(Home(tmp_path), answer, "gemini").ask()
    assert set(asked) == {"test.invalid"}


def message_batch(name: str, count: int) -> dict[str, Any]:
    counts = {"processing": 0, "succeeded": count, "errored": 0, "canceled": 0, "expired": 0}
    made = {"id": name, "created_at": "2999-01-01T00:00:00Z", "request_counts": counts}
    return made | {"processing_status": "ended", "results_url": "https://elsewhere.invalid/results"}


def test_a_batch_of_the_same_size_that_is_anothers_is_told_by_its_results(tmp_path, monkeypatch):
    """Anthropic's batches bear no mark: of two of this size the one that names our requests is ours."""
    monkeypatch.setattr(queue, "SETTLING_S", 0.0)
    lines = {"msgbatch_ours": IDS, "msgbatch_other": [sha256_hex(str(number)) for number in range(6)]}
    usage = {"input_tokens": 20, "output_tokens": 1}
    text = {
        "type": "message",
        "content": [{"type": "text", "text": "A"}],
        "stop_reason": "end_turn",
        "usage": usage,
    }

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.host == "test.invalid", "the key goes nowhere else"
        if request.method == "POST":
            return httpx.Response(502)
        name = request.url.path.removesuffix("/results").rpartition("/")[2]
        if request.url.path.endswith("/results"):
            found = [
                {"custom_id": each, "result": {"type": "succeeded", "message": text}} for each in lines[name]
            ]
            return httpx.Response(200, text="\n".join(map(json.dumps, found)))
        if name in lines:
            return httpx.Response(200, json=message_batch(name, 6))
        listed = [message_batch(each, 6) for each in reversed(lines)] + [message_batch("msgbatch_small", 4)]
        return httpx.Response(200, json={"data": listed, "has_more": False})

    asker = Asker(Home(tmp_path), answer, "anthropic")
    assert [each.text for each in asker.ask()] == ["A"] * 6
    assert asker.record.remote == "msgbatch_ours" and asker.record.counts == {"answered": 6}
    assert asker.record.cost_usd == pytest.approx(6 * (20 * 1.0 + 1 * 2.0) * 0.5 / 1e6)


def test_results_cut_on_the_way_are_no_results(tmp_path):
    whole = openai_batch("")

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/content"):
            return httpx.Response(200, content=b"{}\n", headers={"content-length": "900"})
        return whole(request)

    asker = Asker(Home(tmp_path), answer)
    asker.ask()
    (batch,) = records.batches(asker.home)
    assert batch.record.state == "submitted" and not batch.results.exists()


@pytest.mark.parametrize(("name", "most"), [("MOST_REQUESTS", 2), ("MOST_BYTES", 600)])
def test_a_batch_holds_no_more_requests_or_bytes_than_are_held_in_memory(name, most, tmp_path, monkeypatch):
    monkeypatch.setattr(backends, name, most)
    seen: list[str] = []
    asker = Asker(Home(tmp_path), openai_batch("", seen))
    asker.ask()
    assert [each.record.n for each in records.batches(asker.home)] == [2, 2, 2]
    assert seen.count("POST /v1/batches") == 3
