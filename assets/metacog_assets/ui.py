"""The process of ``metacog ui``: Dagster's servers, which end with the command that waits for them.

``python -m metacog_assets.ui ARGUMENTS`` is ``dagster dev ARGUMENTS`` with two differences: the web server refuses names it
does not go by (`metacog_assets.webserver`), and when the process that started this one is gone, however it ended, all that
was started ends as with Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Sequence
from subprocess import Popen
from typing import Any

from dagster import SupersessionWarning
from dagster._cli import dev
from dagster_shared.ipc import open_ipc_subprocess

_LOOKS_EVERY_S = 0.5


def main() -> None:
    """Serve until interrupted, or until the process that started this one is gone."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    vars(dev)["open_ipc_subprocess"] = _guarded  # Dagster has no setting for its web server's module
    warnings.simplefilter("ignore", SupersessionWarning)  # who called metacog ui cannot call dg dev instead
    dev.dev_command(prog_name="metacog ui")


def _guarded(parts: Sequence[str], **options: Any) -> Popen[Any]:
    return open_ipc_subprocess(
        ["metacog_assets.webserver" if part == "dagster_webserver" else part for part in parts], **options
    )


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOKS_EVERY_S)
    os.killpg(os.getpgid(0), signal.SIGINT)  # the command starts this process as the leader of a group


if __name__ == "__main__":
    main()
