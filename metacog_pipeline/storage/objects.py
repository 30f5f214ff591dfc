"""An object store (S3 and what speaks like it, Google, Azure) through obstore; the extra ``cluster`` brings it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StoreError, StudyError, one_line
from metacog_pipeline.storage.store import ABSENT, ChangedError, Listed, Stored, checked, is_key, scheme_of

PATIENCE_S = 120.0  # a store that is gone for so long loses no answer; the calls wait
READING_S = 10.0  # who only looks gets an error sooner


class ObjectStore:
    """Objects below a bucket and prefix. Endpoint and credentials come from the environment, as each provider names them.

    What is written waits out an outage of `PATIENCE_S`; every put is one request that happens whole or not at all.
    """

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        try:
            import obstore
        except ImportError as error:
            raise StudyError(
                f'deploy.store = "{address}": needs the extra cluster: pip install "metacog-pipeline[cluster]"'
            ) from error
        self._mark = (
            "version" if scheme_of(address) == "gs" else "e_tag"
        )  # what conditions of this provider name
        self._api: Any = obstore
        self._reader = self._client(READING_S)
        self._writer = self._client(PATIENCE_S)

    def _client(self, patience_s: float) -> Any:
        from obstore import store as stores

        waits = {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=2), "base": 2}
        patience = timedelta(seconds=patience_s)
        retry: Any = {"max_retries": 10_000, "retry_timeout": patience, "backoff": waits}
        # Whether it is encrypted the endpoint says; it comes from the environment, as keys and region do.
        client: Any = {"allow_http": True, "timeout": "60s", "connect_timeout": "5s"}
        with self._explained("open"):
            return stores.from_url(self.address, retry_config=retry, client_options=client)

    def read(self, key: str) -> Stored | None:
        """See `Store`."""
        with self._explained("read"):
            try:
                found = self._api.get(self._reader, checked(key))
            except FileNotFoundError:
                return None
            return Stored(bytes(found.bytes()), str(found.meta[self._mark]))

    def listed(self, prefix: str) -> list[Listed]:
        """See `Store`."""
        with self._explained("list"):
            found = [one for page in self._api.list(self._reader, checked(prefix)) for one in page]
        return sorted(
            Listed(one["path"], int(one["size"]), str(one[self._mark]))
            for one in found
            if is_key(one["path"])
        )

    def put(self, key: str, content: bytes | Path, when: str | None = None) -> str:
        """See `Store`."""
        data = content if isinstance(content, bytes) else content.read_bytes()
        mode: Any = "overwrite" if when is None else "create" if when == ABSENT else {self._mark: when}
        errors = self._api.exceptions
        with self._explained("write"):
            try:
                result = self._api.put(self._writer, checked(key), data, mode=mode, use_multipart=False)
            except (errors.AlreadyExistsError, errors.PreconditionError, FileNotFoundError) as error:
                standing = self.read(key)
                if standing is None or standing.content != data:
                    raise ChangedError(f"{self.address}/{key}: another version is there") from error
                return standing.version
            return str(result[self._mark])

    def delete(self, keys: list[str]) -> None:
        """See `Store`."""
        with self._explained("write"):
            if keys:
                self._api.delete(self._writer, [checked(key) for key in keys])

    @contextlib.contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        try:
            yield
        except (StoreError, StudyError):
            raise
        except Exception as error:  # obstore has a dozen kinds, all of which end here
            raise StoreError(
                f"cannot {doing} the store {self.address}: {one_line(str(error).partition('Debug source')[0], 160)}; check "
                "the address, bucket, network, and the variables with its keys (AWS_ACCESS_KEY_ID, …; docs/scaling.md)"
            ) from error
