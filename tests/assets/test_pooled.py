"""Dagster's storage in PostgreSQL keeps one connection open, and a restart of the server is no fault."""

import pytest


def test_one_connection_serves_all_and_is_opened_again_after_a_restart(postgres, postgres_server):
    pytest.importorskip("dagster_postgres")
    from metacog_assets.pooled import Pooled

    storage = Pooled(postgres.replace("postgresql://", "postgresql+psycopg2://"))
    storage.run_storage.set_cursor_values({"a": "1"})
    with storage.run_storage.connect() as connection:  # type: ignore[attr-defined]
        before = connection.exec_driver_sql("select pg_backend_pid()").scalar()
    with storage.schedule_storage.connect() as connection:  # type: ignore[attr-defined]
        assert connection.exec_driver_sql("select pg_backend_pid()").scalar() == before
    postgres_server.stop()
    postgres_server.start()
    assert storage.run_storage.get_cursor_values({"a"}) == {"a": "1"}
