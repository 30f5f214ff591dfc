"""PostgreSQL as Dagster's storage over a connection that stays open: Dagster itself opens one for each event of a run."""

from __future__ import annotations

from typing import Any, Self

import sqlalchemy
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage
from dagster_postgres.utils import pg_url_from_config

from metacog_pipeline.llm.shared_ledger import TIMEOUTS

RECYCLED_S = 600


class Pooled(DagsterPostgresStorage):
    """One connection per process, looked at before it is used, so that a restart of the server is no fault; more on demand.

    A server that falls silent is given up after seconds, not after the quarter of an hour that TCP would wait.
    """

    def __init__(self, postgres_url: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(postgres_url, inst_data=inst_data)
        engine = sqlalchemy.create_engine(
            postgres_url,
            isolation_level="AUTOCOMMIT",
            pool_size=1,
            max_overflow=-1,
            pool_pre_ping=True,
            pool_recycle=RECYCLED_S,
            connect_args=TIMEOUTS,
        )
        storages: tuple[Any, ...] = (self._run_storage, self._event_log_storage, self._schedule_storage)
        for storage in storages:
            storage._engine = engine

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:
        """Return the storage that ``dagster.yaml`` describes."""
        return cls(pg_url_from_config(config_value), inst_data)
