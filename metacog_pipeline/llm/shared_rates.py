"""Requests and tokens a minute of one account among many hosts: a bucket in PostgreSQL, by its clock, taken in chunks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from metacog_pipeline.llm.rates import REQUEST_BURST_SHARE, TOKEN_BURST_SHARE, Rates, T
from metacog_pipeline.llm.shared_ledger import LedgerAwayError, SharedLedger

CHUNK_S = 0.5  # of the rate is taken at once
KEPT_S = 1.0  # a chunk not used by then is dropped, so that chunks of many hosts are no burst
AWAY_S = 0.5
_MINUTE_S = 60.0
_TAKE = """
with known as (
    insert into metacog_rates as old (account, level) values (%(account)s, %(capacity)s)
    on conflict (account) do update
    set level = least(%(capacity)s, old.level + extract(epoch from clock_timestamp() - old.at) * %(rate)s),
        at = clock_timestamp()
    returning level
)
select level from known
"""


class _Purse:
    """What this process holds of one bucket."""

    def __init__(self, account: str, capacity: float, per_minute: float) -> None:
        self.account, self.capacity = account, capacity
        # Of the 60 s of a minute, KEPT_S more count: what was taken then may be used now.
        self.rate = max(per_minute - capacity, per_minute / 2) / (_MINUTE_S + KEPT_S)
        self.level = 0.0
        self.taken_at = float("-inf")

    def enough(self, amount: float, now: float) -> bool:
        if now - self.taken_at > KEPT_S:
            self.level = min(self.level, 0.0)  # a debt stays
        return self.level >= amount

    def fetch(self, shared: SharedLedger, amount: float) -> float:
        """Take a chunk that lets ``amount`` go; return the seconds to wait where there is not enough."""
        need = amount - self.level
        least = min(need, self.capacity)
        with shared.transaction() as connection:
            values = {"account": self.account, "capacity": self.capacity, "rate": self.rate}
            level = float(connection.execute(_TAKE, values).fetchone()[0])
            if level < least * (1 - 1e-9):
                return (least - level) / self.rate
            chunk = max(need, min(level, self.rate * CHUNK_S))
            connection.execute(
                "update metacog_rates set level = level - %s where account = %s", (chunk, self.account)
            )
        self.level += chunk
        return 0.0


class SharedRates(Rates):
    """The limits a minute of one model, among all hosts of a study that share its ledger."""

    def __init__(
        self, shared: SharedLedger, account: str, requests: float | None, tokens: float | None
    ) -> None:
        super().__init__()
        self._shared = shared
        limits = (("requests", requests, REQUEST_BURST_SHARE), ("tokens", tokens, TOKEN_BURST_SHARE))
        self._purses = {
            name: _Purse(f"{account}|{name}", max(1.0, per_minute * share), per_minute)
            for name, per_minute, share in limits
            if per_minute is not None
        }

    async def admit(self, tokens: float, acquire: Callable[[], Awaitable[T]]) -> T:
        """See `Rates`. Where PostgreSQL is away, calls wait."""
        async with self._turn:
            amounts = [(purse, 1.0 if name == "requests" else tokens) for name, purse in self._purses.items()]
            loop = asyncio.get_running_loop()
            for purse, amount in amounts:
                while not purse.enough(amount, loop.time()):
                    await asyncio.sleep(await self._fetched(purse, amount))
            for purse, amount in amounts:
                purse.level -= amount
            return await acquire()

    def charge(self, reserved: float, used: float) -> None:
        """See `Rates`."""
        if (purse := self._purses.get("tokens")) is not None:
            purse.level += reserved - used

    async def _fetched(self, purse: _Purse, amount: float) -> float:
        try:
            wait = await asyncio.to_thread(purse.fetch, self._shared, amount)
        except LedgerAwayError:
            return AWAY_S
        if wait == 0.0:
            purse.taken_at = asyncio.get_running_loop().time()
        return wait
