"""``[deploy]``: where Dagster keeps its runs, what works on them, and where answers and money are kept."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from metacog_pipeline.errors import StudyError
from metacog_pipeline.storage.store import scheme_of

_NAME = "the NAME of an environment variable that holds the address, never the address itself: it holds a password"
POSTGRES = "postgresql+psycopg2"
_LIKE = {
    "dagster_storage": f"{POSTGRES}://USER:PASSWORD@HOST:5432/DATABASE",
    "broker": "redis://HOST:6379/0",
}
_SCHEMES = {"dagster_storage": (POSTGRES,), "broker": ("redis", "rediss", "amqp", "amqps", "pyamqp")}
#: The extra that installs an engine, and the module that shows it is there.
_EXTRAS = {extra: f"dagster_{extra}" for extra in ("postgres", "celery", "docker", "k8s")}


def _variable() -> Any:
    return Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200, description=_NAME)


class DeploySection(BaseModel):
    """``[deploy]``: what a study needs past one machine; left out, everything is a file of this one.

    ``dagster_storage`` and ``broker`` name environment variables that hold the addresses of PostgreSQL and of Redis.
    ``executor`` says who works on a run: its own process, a process per step, a Celery worker (the whole run), or a job of
    Kubernetes per step. ``launcher`` says where a run starts: beside the code, in a container, in a pod. ``store`` is the
    address of an object store, or of a folder all hosts see, for answers and boards; ``ledger`` keeps money in a file or in
    the PostgreSQL of ``dagster_storage``. ``workers`` is how many runs go at once.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    dagster_storage: str | None = _variable()
    broker: str | None = _variable()
    executor: Literal["in_process", "multiprocess", "celery", "k8s"] = "in_process"
    launcher: Literal["default", "docker", "k8s"] = "default"
    store: str | None = Field(default=None, min_length=1, max_length=1000)
    ledger: Literal["file", "postgres"] = "file"
    workers: int = Field(default=4, ge=1, le=10_000, strict=True)

    @property
    def queued(self) -> bool:
        """Whether runs are worked on elsewhere, so that they go through the queue of the daemon."""
        return self.executor != "in_process" or self.launcher != "default"

    @property
    def extras(self) -> tuple[str, ...]:
        """The extras of this package that hold the engines named here."""
        chosen = {self.executor, self.launcher, "postgres" if self.dagster_storage else ""}
        return tuple(extra for extra in _EXTRAS if extra in chosen)

    def problems(self) -> Iterable[str]:
        """Yield what does not go together: what, the value, what to do, one line each."""
        if self.store is not None:
            try:
                scheme_of(self.store)
            except StudyError as error:
                yield str(error)
        if self.dagster_storage is None:
            for key in ("ledger", "executor", "launcher"):
                if (value := getattr(self, key)) in ("postgres", "celery", "docker", "k8s"):
                    yield (
                        f'deploy.{key} = "{value}": needs deploy.dagster_storage, the name of an environment variable '
                        "with the address of a PostgreSQL server: a file of this machine is not seen elsewhere"
                    )
        if self.executor == "celery" and self.broker is None:
            yield (
                'deploy.executor = "celery": needs deploy.broker, the name of an environment variable with the address '
                "of a Redis server"
            )
        if self.executor == "celery" and self.launcher != "default":
            yield (
                f'deploy.launcher = "{self.launcher}": Celery workers take whole runs; leave launcher out with '
                'executor = "celery"'
            )
        if self.executor == "k8s" and self.launcher != "k8s":
            yield f'deploy.launcher = "{self.launcher}": executor = "k8s" needs launcher = "k8s"'

    def address(self, key: Literal["dagster_storage", "broker"]) -> str:
        """Return the address in the variable that ``key`` names.

        Raises ``StudyError`` if there is no such key or variable, or what it holds is of another kind.
        """
        name = getattr(self, key)
        value = os.environ.get(name, "").strip() if name else ""
        if not value:
            said = f'deploy.{key} = "{name}": the variable is not set' if name else f"deploy.{key}: missing"
            raise StudyError(f'{said}; export {name or "NAME"}="{_LIKE[key]}"')
        if value.partition("://")[0] not in _SCHEMES[key]:
            raise StudyError(
                f'deploy.{key} = "{name}": what the variable holds is not an address of the form {_LIKE[key]}'
            )
        return value

    def check(self) -> None:
        """Raise StudyError where a variable is not set or an engine is not installed."""
        for key in ("dagster_storage", "broker"):
            if getattr(self, key) is not None:
                self.address(key)
        if self.launcher != "default" and not os.environ.get("METACOG_IMAGE"):
            raise StudyError(
                f'deploy.launcher = "{self.launcher}": METACOG_IMAGE is not set; export METACOG_IMAGE="NAME:TAG", '
                "the image that deploy/Dockerfile makes"
            )
        missing = [extra for extra in self.extras if find_spec(_EXTRAS[extra]) is None]
        if missing:
            raise StudyError(
                f"[deploy] needs {', '.join(_EXTRAS[each] for each in missing)}, not installed here; "
                f"pip install 'metacog-pipeline[{','.join(missing)}]'"
            )
