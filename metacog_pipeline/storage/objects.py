"""An object store (S3 and what speaks like it, Google, Azure) through obstore; the extra ``cluster`` brings it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.storage.store import ABSENT, ChangedError, Listed, Stored, checked, is_key, scheme_of

PATIENCE_S = 120.0  # a store that is gone for so long loses nobody's answer; the calls wait
READING_S = 10.0  # who only looks is told sooner
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_CREDENTIALS = {
    "s3": (
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        r"AWS_(?:ACCESS_KEY_ID|WEB_IDENTITY|CONTAINER_CRED|SKIP_SIG)",
    ),
    "gs": ("GOOGLE_APPLICATION_CREDENTIALS", r"GOOGLE_"),
    "az": ("AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY", r"AZURE_"),
}


class ObjectStore:
    """Objects below a bucket and prefix. Endpoint and credentials come from the environment, as each provider names them.

    What is written waits out an outage of `PATIENCE_S`; every put is one request that happens whole or not at all.
    """

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self._kind = scheme_of(address)
        try:
            import obstore
        except ImportError as error:
            raise StudyError(
                f'deploy.store = "{address}": needs the extra cluster: pip install "metacog-pipeline[cluster]"'
            ) from error
        self._mark = "version" if self._kind == "gs" else "e_tag"  # what conditions of this provider name
        self._api: Any = obstore
        self._errors = obstore.exceptions
        self._reader = self._client(READING_S)
        self._writer = self._client(PATIENCE_S)

    def _client(self, patience_s: float) -> Any:
        from obstore import store as stores

        from_url: Any = stores.from_url
        endpoint = next((os.environ[name] for name in ENDPOINTS if os.environ.get(name)), None)
        options: dict[str, Any] = {"endpoint": endpoint} if self._kind == "s3" and endpoint else {}
        if self._kind == "s3" and "AWS_REGION" not in os.environ and "AWS_DEFAULT_REGION" not in os.environ:
            options["region"] = (
                "us-east-1"  # servers of one's own have no regions, but requests are signed for one
            )
        retry = {
            "max_retries": 10_000,
            "retry_timeout": timedelta(seconds=patience_s),
            "backoff": {
                "init_backoff": timedelta(seconds=0.1),
                "max_backoff": timedelta(seconds=2),
                "base": 2,
            },
        }
        client = {
            "allow_http": bool(endpoint and endpoint.startswith("http://")),
            "timeout": "60s",
            "connect_timeout": "5s",
        }
        with self._explained("open"):
            return from_url(self.address, retry_config=retry, client_options=client, **options)

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
            pages = self._api.list(self._reader, checked(prefix))
            found = [
                Listed(one["path"], int(one["size"]), str(one[self._mark]))
                for page in pages
                for one in page
                if is_key(one["path"])
            ]
        return sorted(found)

    def put(self, key: str, content: bytes | Path, when: str | None = None) -> str:
        """See `Store`."""
        data = content if isinstance(content, bytes) else content.read_bytes()
        mode: Any = "overwrite" if when is None else "create" if when == ABSENT else {self._mark: when}
        refused = (self._errors.AlreadyExistsError, self._errors.PreconditionError, FileNotFoundError)
        with self._explained("write"):
            try:
                result = self._api.put(self._writer, checked(key), data, mode=mode, use_multipart=False)
            except refused as error:
                standing = self.read(key)
                if standing is None or standing.content != data:
                    raise ChangedError(f"{self.address}/{key}: something else stands there") from error
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
            raise StoreError(f"cannot {doing} the store {self.address}: {self._reason(error)}") from error

    def _reason(self, error: Exception) -> str:
        said = str(error)
        names, known = _CREDENTIALS[self._kind]
        if not any(re.match(known, name) for name in os.environ):
            return f"no credentials in the environment; set {names}"
        if isinstance(error, self._errors.PermissionDeniedError | self._errors.UnauthenticatedError):
            return f"the credentials are refused; check {names} and what the key may do"
        if isinstance(error, self._errors.NotSupportedError) or "501" in said:
            return "it refuses conditional puts, without which two hosts could overwrite each other; choose another"
        if "NoSuchBucket" in said:
            return "there is no such bucket; create it"
        found = re.search(r"status code: (\d{3}[^:<\n]*)|HTTP error: ([^\n]{1,80})|(timed? ?out)", said)
        short = next(
            (group for group in (found.groups() if found else ()) if group), said.splitlines()[0][:120]
        )
        return f"{short.strip()}; check the address, {ENDPOINTS[1]} and the network, and run again"
