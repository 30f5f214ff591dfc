"""Virtual time, and a provider that answers from a script, for tests of everything that waits."""

import asyncio
import contextlib
import inspect
import json
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import httpx
import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.client import HttpChatModel
from metacog_pipeline.llm.limiter import Limiter
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.transport import Http
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling

T = TypeVar("T")
Scripted = httpx.Response | Exception
Script = Callable[[int, httpx.Request], Scripted]


class _VirtualSelector(selectors.DefaultSelector):
    """Instead of waiting, moves the clock to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        events = super().select(0)
        if not events:
            if timeout is None:
                raise RuntimeError("every task waits for something that will never happen")
            self.now += max(0.0, timeout)
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in which sleeping takes no time and the clock starts at 0."""

    def __init__(self) -> None:
        self._virtual = _VirtualSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def _run(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


class Provider:
    """Answers call number n (from 0) with ``script(n, request)`` after ``latency`` seconds; keeps every request."""

    def __init__(self, script: Script, latency: float) -> None:
        self.script = script
        self.latency = latency
        self.requests: list[httpx.Request] = []
        self.times: list[float] = []
        self.under_way = 0
        self.peak = 0

    async def answer(self, request: httpx.Request) -> httpx.Response:
        number = len(self.requests)
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        self.under_way += 1
        self.peak = max(self.peak, self.under_way)
        try:
            await asyncio.sleep(self.latency)
        finally:
            self.under_way -= 1
        said = self.script(number, request)
        if isinstance(said, Exception):
            raise said
        return said


class Bench:
    """What the tests of the client are made of."""

    key = "sk-canary-0123456789abcdef"

    def reply(self, text: str = "A", *, usage: object = (100, 10), **fields: object) -> httpx.Response:
        body: dict[str, object] = {
            "model": "served-model",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            ],
            **fields,
        }
        if isinstance(usage, tuple):
            body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
        return httpx.Response(200, json=body)

    def error(
        self, status: int, code: str | None = None, message: str = "no", **headers: str
    ) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.Response(
            status, headers=named, content=json.dumps({"error": {"code": code, "message": message}})
        )

    def provider(self, script: Script | list[Scripted] | None = None, latency: float = 0.2) -> Provider:
        """A list is answered in order, then every further call with a good answer."""
        if isinstance(script, list):
            return Provider(lambda n, _: script[n] if n < len(script) else self.reply(), latency)
        return Provider(script or (lambda n, _: self.reply()), latency)

    def spec(self, **fields: Any) -> ModelSpec:
        given = {"name": "m", "provider": "openai", "model": "model-id", "base_url": "http://test.invalid/v1"}
        prices = {"price_in": 1.0, "price_out": 2.0, "thinking_tokens": 0}
        return ModelSpec.model_validate(given | prices | fields)

    def request(self, text: str = "question", max_tokens: int = 50) -> ChatRequest:
        return ChatRequest((Message("user", text),), Sampling(max_tokens=max_tokens))

    def model(
        self,
        provider: Provider,
        *,
        spec: ModelSpec | None = None,
        limiter: Limiter | None = None,
        **more: Any,
    ) -> HttpChatModel:
        spec = spec or self.spec()
        http = Http(httpx.MockTransport(provider.answer))
        limiter = limiter or Limiter(spec.max_concurrency)
        return HttpChatModel(spec, self.key, http=http, limiter=limiter, **more)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test that is a coroutine in virtual time."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    _run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
    return True


@pytest.fixture
def virtual():
    """Run a coroutine in virtual time: every wait is over at once, and a deadlock is an error."""
    return _run


@pytest.fixture
def bench():
    return Bench()


@pytest.fixture
def budget(tmp_path):
    """Open budgets of a fresh home: ``budget(cap_usd)``. They are closed in the end."""
    with contextlib.ExitStack() as opened:

        def budget_of(cap: float | None, **more: float) -> Budget:
            return opened.enter_context(contextlib.closing(Budget(Home(tmp_path / "home"), cap, **more)))

        yield budget_of
