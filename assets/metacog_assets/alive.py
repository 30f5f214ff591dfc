"""``python -m metacog_assets.alive daemon|worker``: what a container is asked for its health; exit code 1 says why not."""

from __future__ import annotations

import socket
import sys

import dagster as dg

from metacog_assets.request import daemon_alive
from metacog_assets.study_file import current_study


def main(kind: str) -> str | None:
    """Return what is wrong; None where nothing is."""
    if kind == "daemon":
        with dg.DagsterInstance.get() as instance:
            return None if daemon_alive(instance) else "no daemon has said for two minutes that it is there"
    if kind == "worker":
        from metacog_assets.celery_runs import app_of

        answers = app_of(current_study().deploy).control.ping(timeout=10)
        own = f"@{socket.gethostname()}"
        return (
            None
            if any(name.endswith(own) for each in answers for name in each)
            else f"no worker{own} answers"
        )
    return f'"{kind}": give daemon or worker'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
