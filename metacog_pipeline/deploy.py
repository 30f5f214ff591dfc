"""``[deploy]`` and the ``dagster.yaml`` it gives: where runs, answers and money are kept, and which executor works."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import shipped, write_text
from metacog_pipeline.storage.store import scheme_of

_NAME = "the NAME of an environment variable that holds the address, never the address itself: it holds a password"
#: What the variables hold, and the schemes an address may have.
_ADDRESSES = {
    "dagster_storage": ("postgresql+psycopg2://USER:PASSWORD@HOST:5432/DATABASE", ("postgresql+psycopg2",)),
    "broker": ("redis://HOST:6379/0", ("redis", "rediss", "amqp", "amqps", "pyamqp")),
}
INSTANCE_FILE = "dagster.yaml"
MARK = "# Written by metacog with every command. Without this line the file is yours and stays as it is.\n"
_EARLIER = ("# DAGSTER_HOME of a study.", "# From here on filled in by metacog")  # how it began up to 0.3


def _variable() -> Any:
    return Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200, description=_NAME)


class DeploySection(BaseModel):
    """``[deploy]``: what a study needs past one machine; left out, everything is a file of this one.

    ``dagster_storage`` and ``broker`` name environment variables that hold the addresses of PostgreSQL and of Redis.
    ``executor`` is Dagster's: a run in its own process, a process per step, Celery workers, or a job of Kubernetes per
    step. ``store`` is the address of an object store, or of a folder all hosts see, for answers and boards; ``ledger``
    keeps money in a file or in the PostgreSQL of ``dagster_storage``. ``workers`` is how many runs go at once.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    dagster_storage: str | None = _variable()
    broker: str | None = _variable()
    executor: Literal["in_process", "multiprocess", "celery", "k8s"] = "in_process"
    store: str | None = Field(default=None, min_length=1, max_length=1000)
    ledger: Literal["file", "postgres"] = "file"
    workers: int = Field(default=4, ge=1, le=10_000, strict=True)

    @property
    def queued(self) -> bool:
        """Whether runs are worked on elsewhere, so that they go through the queue of the daemon."""
        return self.executor != "in_process"

    def problems(self) -> Iterable[str]:
        """Yield what does not go together: what, the value, what to do, one line each."""
        if self.store is not None:
            try:
                scheme_of(self.store)
            except StudyError as error:
                yield str(error)
        needed = "{} needs deploy.{}, the name of an environment variable with the address of a {} server"
        if self.dagster_storage is None:
            for key, alone in (("ledger", ("file",)), ("executor", ("in_process", "multiprocess"))):
                if (value := getattr(self, key)) not in alone:
                    yield needed.format(f'deploy.{key} = "{value}":', "dagster_storage", "PostgreSQL")
        if self.executor == "celery" and self.broker is None:
            yield needed.format('deploy.executor = "celery":', "broker", "Redis")

    def check(self) -> None:
        """Raise StudyError where a variable is not set or holds something else, or an engine is not installed."""
        for key, (like, schemes) in _ADDRESSES.items():
            name = getattr(self, key)
            value = os.environ.get(name, "").strip() if name else None
            if value == "":
                raise StudyError(f'deploy.{key} = "{name}": the variable is not set; export {name}="{like}"')
            if value is not None and value.partition("://")[0] not in schemes:
                raise StudyError(
                    f'deploy.{key} = "{name}": what the variable holds is not an address of the form {like}'
                )
        wanted = {
            "postgres": self.dagster_storage is not None,
            self.executor: self.executor in ("celery", "k8s"),
        }
        missing = [name for name, used in wanted.items() if used and find_spec(f"dagster_{name}") is None]
        if missing:
            raise StudyError(
                f"[deploy] needs {', '.join(f'dagster_{name}' for name in missing)}, not installed here; "
                f"pip install 'metacog-pipeline[{','.join(missing)}]'"
            )

    def instance_settings(self) -> dict[str, Any]:
        """Return the keys of ``dagster.yaml`` that this table decides."""
        found: dict[str, Any] = {}
        if self.queued or "workers" in self.model_fields_set:
            # Of those that ask more than one at once only where rates are shared between processes.
            asking = self.workers if self.ledger == "postgres" else 1
            pools = {"default_limit": asking, "granularity": "run"}
            found["concurrency"] = {"runs": {"max_concurrent_runs": self.workers}, "pools": pools}
        if self.dagster_storage is not None:
            found["storage"] = {"postgres": {"postgres_url": {"env": self.dagster_storage}}}
        return found


def write_instance_file(folder: Path, deploy: DeploySection) -> None:
    """Write the ``dagster.yaml`` of a study into ``folder``; one that a person wrote stays as it is."""
    import yaml  # comes with Dagster

    path = folder / INSTANCE_FILE
    present = path.read_text(encoding="utf-8") if path.exists() else MARK
    if present.startswith((MARK, *_EARLIER)):
        settings = yaml.safe_load(shipped("data", INSTANCE_FILE).read_text(encoding="utf-8"))
        text = MARK + yaml.safe_dump(settings | deploy.instance_settings(), sort_keys=False)
        if text != present:
            write_text(path, text)
