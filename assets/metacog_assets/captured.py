"""What a step prints, kept for the UI and shown where its run was started.

Dagster shows it through a ``tail``, with a Python that watches over it, for each stream of each run, and ends both before
the last lines are through. Here a thread copies what comes; the files are the same.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from dagster import StringSource
from dagster._core.storage.compute_log_manager import CapturedLogContext, ComputeIOType
from dagster._core.storage.local_compute_log_manager import IO_TYPE_EXTENSION, LocalComputeLogManager
from dagster._serdes import ConfigurableClassData
from dagster._utils import ensure_file, touch_file

LOOKS_EVERY_S = 0.25
FOLDER = "storage"  # where Dagster keeps such files by default, below its home
_AT_ONCE = 1 << 16


class Captured(LocalComputeLogManager):
    """Standard output and error of every step, as files below Dagster's home."""

    @classmethod
    def config_type(cls) -> Any:
        """Return what dagster.yaml may say."""
        return {"home": StringSource}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Captured:
        """Return what keeps them in the home that dagster.yaml names."""
        return cls(str(Path(config_value["home"]) / FOLDER), inst_data=inst_data)

    @contextlib.contextmanager
    def capture_logs(self, log_key: Sequence[str]) -> Iterator[CapturedLogContext]:
        """Keep and show what is printed while a step runs."""
        kinds = ((sys.stdout, ComputeIOType.STDOUT), (sys.stderr, ComputeIOType.STDERR))
        with contextlib.ExitStack() as both:
            for stream, kind in kinds:
                path = self.get_captured_local_path(log_key, IO_TYPE_EXTENSION[kind])
                both.enter_context(copied(stream, path))
            yield CapturedLogContext(log_key)
        touch_file(self.complete_artifact_path(log_key))  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def copied(stream: TextIO, path: str) -> Iterator[None]:
    """Have what any process writes to the file of ``stream`` added to ``path``, and shown where it went before.

    A stream without a file, as tests have some, is left alone.
    """
    ensure_file(path)
    try:
        number = stream.fileno()
    except (AttributeError, OSError, ValueError):
        yield
        return
    ended = threading.Event()
    with Path(path).open("rb") as reader, contextlib.ExitStack() as opened:
        reader.seek(0, os.SEEK_END)
        before = os.dup(number)
        opened.callback(os.close, before)
        kept = os.open(path, os.O_WRONLY | os.O_APPEND)
        opened.callback(os.close, kept)
        copying = threading.Thread(target=_copy, args=(reader, before, ended), name="captured", daemon=True)
        copying.start()
        try:
            stream.flush()
            os.dup2(kept, number)
            yield
        finally:
            stream.flush()
            os.dup2(before, number)
            ended.set()
            copying.join()


def _copy(reader: Any, to: int, ended: threading.Event) -> None:
    """Write to ``to`` what is added to a file, until it has ended and nothing is left."""
    while True:
        last = ended.wait(LOOKS_EVERY_S)
        while found := reader.read(_AT_ONCE):
            with contextlib.suppress(OSError):  # nobody listens any more: it is kept all the same
                rest = memoryview(found)
                while rest:
                    rest = rest[os.write(to, rest) :]
        if last:
            return
