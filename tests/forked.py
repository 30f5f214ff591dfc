"""``metacog run`` of tests that call it in their own process: forked from a process that has loaded what every run loads.

A run stays a process of its own, with its own environment, folder, output and exit code. It only does not load Dagster
anew, which is half of the processor time of a small study. Tests that start ``metacog`` itself load all, as users do.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LARGEST = 1 << 20  # of a message: arguments and environment
RUN = [sys.executable, "-m", "metacog_assets"]
WHAT_RUNS_LOAD = (
    "metacog_assets.command",
    "metacog_pipeline.leaderboard.build",
    "metacog_pipeline.scoring.files",
)


class Forked:
    """A run that was forked, with what the command uses of a process."""

    def __init__(self, server: socket.socket, command: Sequence[str], env: Mapping[str, str]) -> None:
        asked = {"argv": list(command[2:]), "env": dict(env), "cwd": str(Path.cwd())}
        socket.send_fds(server, [json.dumps(asked).encode()], [0, 1, 2])
        self._server = server
        self.pid = int(server.recv(64))

    def wait(self) -> int:
        """Return the exit code; minus the number of the signal that ended it."""
        return int(self._server.recv(64))

    def send_signal(self, number: int) -> None:
        """Send a signal to the run."""
        os.kill(self.pid, number)


class Loaded:
    """Stands for the module ``subprocess``: runs are forked from one process that is started with the first of them."""

    def __init__(self) -> None:
        self._server: socket.socket | None = None
        self._forks: subprocess.Popen[bytes] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def Popen(self, command: Sequence[str], **options: Any) -> Any:
        """Fork a run of a study; start anything else."""
        if list(command[:3]) != RUN:
            return subprocess.Popen(command, **options)
        if self._server is None:
            self._server, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                ours = [sys.executable, __file__, str(theirs.fileno())]
                self._forks = subprocess.Popen(ours, pass_fds=[theirs.fileno()])
        return Forked(self._server, command, options["env"])

    def close(self) -> None:
        """End the process that forks; it ends when nobody can ask it any more."""
        if self._server is not None and self._forks is not None:
            self._server.close()
            self._forks.wait(30)


def serve(asking: socket.socket) -> None:
    """Fork a run for each message until the other end is closed."""
    gc.disable()
    for name in WHAT_RUNS_LOAD:
        importlib.import_module(name)

    gc.freeze()
    gc.enable()
    while True:
        message, files, *_ = socket.recv_fds(asking, LARGEST, 3)
        if not message:
            gc.unfreeze()  # DuckDB calls leaked what the collector does not see at the end
            return
        child = os.fork()
        if child == 0:
            asking.close()
            _run(json.loads(message), files)
        for file in files:
            os.close(file)
        asking.send(str(child).encode())
        asking.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _run(asked: Mapping[str, Any], files: Sequence[int]) -> None:
    """Be the run that was asked for, from here to its end."""
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        sys.argv = asked["argv"]
        runpy.run_module(asked["argv"][0], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
