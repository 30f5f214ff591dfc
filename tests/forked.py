"""``metacog run`` of tests that call it in their own process, and code of tests that needs Dagster in a process of its own:
forked from a process that has loaded what every run loads.

A run stays a process of its own, with its own environment, folder, output and exit code. It only does not load Dagster
anew, which is half of the processor time of a small study. Tests that start ``metacog`` itself load all, as users do.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LARGEST = 1 << 20  # of a message: arguments and environment
#: A variable of the environment: a run that finds it draws few resamples (`tests.draws`).
FEW_DRAWS = "METACOG_TEST_FEW_DRAWS"
RUN = [sys.executable, "-m", "metacog_assets"]
#: What a run loads whatever its study asks for; what depends on the study is loaded by each run.
WHAT_RUNS_LOAD = (
    "dagster",
    "dagster._cli.utils",
    "dagster._core.execution.execute_in_process",
    "dagster._core.executor.in_process",
    "dagster._core.definitions.repository_definition.repository_data_builder",
    "dagster._core.secrets.env_file",
    "metacog_pipeline.benchmarks.metamedqa.benchmark",
    "metacog_pipeline.leaderboard.build",
    "metacog_pipeline.llm.open",
    "metacog_pipeline.report.page",
    "metacog_pipeline.scoring.cross_benchmark",
    "metacog_pipeline.scoring.files",
    "pyarrow.dataset",
    "scipy.stats",
    "upath",
)
#: Parts of a Dagster home that are the same in every one that is new; to make them takes half a second.
HISTORY = ("history", "schedules")


class Forked:
    """A process that was forked, with what the command, or a test, uses of one."""

    def __init__(
        self,
        server: socket.socket,
        argv: Sequence[str],
        env: Mapping[str, str],
        files: Sequence[int] = (0, 1, 2),
    ) -> None:
        asked = {"argv": [str(each) for each in argv], "env": dict(env), "cwd": str(Path.cwd())}
        socket.send_fds(server, [json.dumps(asked).encode()], list(files))
        self._server, self.said = server, list[int]()
        self.pid = int(server.recv(64))

    def communicate(self, timeout: float = 300) -> tuple[str, str]:
        """Wait for the end and return what was printed and complained of."""
        self._server.settimeout(timeout)
        self.returncode = self.wait()
        self._server.settimeout(None)
        texts = []
        for file in self.said:
            with os.fdopen(file, encoding="utf-8") as kept:
                kept.seek(0)
                texts.append(kept.read())
        out, err = texts
        return out, err

    def wait(self) -> int:
        """Return the exit code; minus the number of the signal that ended it."""
        return int(self._server.recv(64))

    def send_signal(self, number: int) -> None:
        """Send a signal to the run."""
        os.kill(self.pid, number)


class Again:
    """Stands for the module ``subprocess`` in a ``metacog`` that was forked: its run is forked from it."""

    def __init__(self, history: Path) -> None:
        self._history, self._child = history, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def Popen(self, command: Sequence[str], **options: Any) -> Any:
        """Fork a run of a study; start anything else."""
        if list(command[:3]) != RUN:
            return subprocess.Popen(command, **options)
        self._child = os.fork()
        if self._child == 0:
            asked = {"argv": command[1:], "env": options["env"], "cwd": str(Path.cwd())}
            _run(asked, (0, options["stdout"] or 1, 2), self._history)
        return self

    def wait(self) -> int:
        """Return the exit code of the run."""
        return os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])

    def send_signal(self, number: int) -> None:
        """Send a signal to the run."""
        os.kill(self._child, number)


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
        return Forked(self._started(), command[1:], options["env"])

    def python(self, *arguments: str | Path, **env: str) -> Forked:
        """Fork a Python with these arguments (``-c CODE``, ``-m MODULE`` or a file) and return it at once."""
        nothing, kept = Path(os.devnull).open(), tempfile.TemporaryFile  # noqa: SIM115
        with nothing, kept() as out, kept() as err:
            files = [each.fileno() for each in (nothing, out, err)]
            made = Forked(self._started(), [str(each) for each in arguments], env, files)
            made.said = [os.dup(file) for file in files[1:]]
            return made

    def _started(self) -> socket.socket:
        if self._server is None:
            self._server, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                ours = [sys.executable, __file__, str(theirs.fileno())]
                self._forks = subprocess.Popen(ours, pass_fds=[theirs.fileno()])
        return self._server

    def close(self) -> None:
        """End the process that forks; it ends when nobody can ask it any more."""
        if self._server is not None and self._forks is not None:
            self._server.close()
            self._forks.wait(30)


def serve(asking: socket.socket) -> None:
    """Fork a run for each message until the other end is closed."""
    gc.disable()
    for name in WHAT_RUNS_LOAD:
        # One that goes by another name today is loaded by each run, which only takes longer.
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    importlib.import_module("metacog_pipeline.leaderboard.sql_folder").load_project()  # kept for every run
    with tempfile.TemporaryDirectory(prefix="metacog-history-") as home:
        shipped = importlib.import_module("metacog_pipeline.files").shipped
        Path(home, "dagster.yaml").write_text(shipped("data", "dagster.yaml").read_text("utf-8"), "utf-8")
        importlib.import_module("dagster").DagsterInstance.from_config(home).dispose()
        _serve(asking, Path(home))


def _serve(asking: socket.socket, home: Path) -> None:
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 50)
    while True:
        message, files, *_ = socket.recv_fds(asking, LARGEST, 3)
        if not message:
            gc.unfreeze()  # DuckDB calls leaked what the collector does not see at the end
            return
        asked = json.loads(message)
        if FEW_DRAWS in asked["env"]:  # `few_draws` loads all benchmarks: here, for the next run too
            registry = importlib.import_module("metacog_pipeline.registry")
            for name in ("draws", "pytest", *(registry.load(each).__module__ for each in registry.names())):
                importlib.import_module(name)
        child = os.fork()
        if child == 0:
            asking.close()
            _run(asked, files, home)
        for file in files:
            os.close(file)
        asking.send(str(child).encode())
        asking.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _run(asked: Mapping[str, Any], files: Sequence[int], history: Path) -> None:
    """Be the run that was asked for, from here to its end."""
    code = 1
    try:
        os.setsid()
        atexit._clear()  # the parent's handlers wait for the parent's threads, which a fork does not have
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        own = Path(asked["env"].get("DAGSTER_HOME", os.devnull))
        for name in HISTORY if own.is_dir() and not (own / HISTORY[0]).exists() else ():
            shutil.copytree(history / name, own / name, dirs_exist_ok=True)
        for name in [each for each in sys.modules if each.startswith("metacog_assets")]:
            del sys.modules[name]  # they read the study when they are loaded; what they load in turn stays
        sys.path[:0] = filter(None, asked["env"].get("PYTHONPATH", "").split(os.pathsep))
        if registry := sys.modules.get("metacog_pipeline.registry"):  # of the packages on that path
            registry.entries.cache_clear()
            registry.load.cache_clear()
            registry._broken.clear()
        if FEW_DRAWS in os.environ:
            importlib.import_module("draws").few_draws(importlib.import_module("pytest").MonkeyPatch())
        kind, *sys.argv = asked["argv"]
        if sys.argv[0] == "metacog_pipeline":
            importlib.import_module("metacog_pipeline.cli.running").subprocess = Again(history)
        if kind == "-m":
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        elif kind == "-c":
            text, sys.argv[0] = sys.argv[0], kind
            exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.argv.insert(0, kind)
            runpy.run_path(kind, run_name="__main__")
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
