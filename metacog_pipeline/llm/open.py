"""Opening the models of a study: one HTTP client and one limiter for each account, independent of the models' names."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from metacog_pipeline.errors import BudgetError, StudyError
from metacog_pipeline.llm.batch.backends import Calls
from metacog_pipeline.llm.batch.queue import BatchModel
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.client import HttpChatModel
from metacog_pipeline.llm.costs import priced
from metacog_pipeline.llm.limiter import Halt, Limiter
from metacog_pipeline.llm.local.generation import LocalModel
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.simulated import ReplayModel, Respond, SimulatedModel
from metacog_pipeline.llm.spec import ModelSpec, base_url, key_of, key_variable
from metacog_pipeline.llm.transport import Http, open_http
from metacog_pipeline.llm.types import ChatModel


class Clients:
    """What the models of one process share. For one event loop, in ``async with``."""

    def __init__(
        self,
        *,
        budget: Budget | None = None,
        retries: RetryPolicy | None = None,
        environment: Mapping[str, str] | None = None,
        seed: int = 0,
        transport: Callable[[], httpx.AsyncBaseTransport] | None = None,
    ) -> None:
        # The caller closes it.
        self.budget = budget
        # Gives up what these models have not sent yet.
        self.halt = Halt()
        self._retries = retries
        self._environment = os.environ if environment is None else environment
        # For the jitter.
        self._seed = seed
        # Takes the place of the network, for tests.
        self._transport = transport
        self._accounts: dict[tuple[str, str, str | None], tuple[Http, Limiter]] = {}

    async def __aenter__(self) -> Clients:
        return self

    async def __aexit__(self, *_: object) -> None:
        accounts, self._accounts = self._accounts, {}
        for http, _limiter in accounts.values():
            await http.aclose()

    def http_model(self, spec: ModelSpec) -> HttpChatModel:
        """Open ``spec`` over HTTP. Raises as `open_model` does."""
        if self.budget is not None and self.budget.capped and not priced(spec):
            raise BudgetError(
                f"model {spec.name} has no price, so budget_usd cannot be kept: set price_in and price_out (dollars "
                "per million tokens; 0 for a free model) in the study file, or remove budget_usd"
            )
        key = key_of(spec, self._environment)
        http, limiter = self._account(spec)
        jitter = random.Random(f"{self._seed}:{spec.name}")
        given: dict[str, Any] = {"budget": self.budget, "retries": self._retries, "halt": self.halt}
        return HttpChatModel(spec, key, http=http, limiter=limiter, rng=jitter, **given)

    def batch_model(self, model: HttpChatModel, **options: Any) -> BatchModel:
        """Have ``model`` asked through the batches of its provider (``options``: see `BatchModel`)."""
        assert self.budget is not None, "what a batch may cost is set aside"
        key = key_of(model.spec, self._environment)
        return BatchModel(model, self._account(model.spec)[0], key, self.budget, **options)

    def batch_calls(self, spec: ModelSpec, mark: str) -> Calls:
        """Return what calls the provider about a batch of ``spec``. Raises ``StudyError`` where its key is missing."""
        return Calls(self._account(spec)[0], spec, key_of(spec, self._environment), mark)

    def _account(self, spec: ModelSpec) -> tuple[Http, Limiter]:
        """Return what is shared where rate limits apply: the provider, the address, and the variable with the key."""
        account = spec.provider, base_url(spec), key_variable(spec)
        if account not in self._accounts:
            http = open_http() if self._transport is None else Http(self._transport())
            self._accounts[account] = http, Limiter(spec.max_concurrency)
        found = self._accounts[account]
        found[1].ceiling = max(found[1].ceiling, spec.max_concurrency)
        return found


def open_model(spec: ModelSpec, *, shared: Clients, respond: Respond | None = None) -> ChatModel:
    """Open the model of ``spec``; ``respond`` is the benchmark's simulated observer. Raises a ``MetacogError``."""
    match spec.provider:
        case "replay":
            return ReplayModel(spec)
        case "transformers":
            return LocalModel(spec)
        case "simulated" if respond is not None:
            return SimulatedModel(spec, respond)
        case "simulated":
            raise StudyError(
                f"model {spec.name} is simulated, but this benchmark has no simulated observer: leave the model "
                "out of it or choose another provider"
            )
        case _:
            return shared.http_model(spec)
