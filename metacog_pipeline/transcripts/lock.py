"""One writer at a time in a partition folder, among the processes of one host."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import probe_writing
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.journal import make_folder


class PartitionBusyError(StoreError):
    """Another process is asking this partition right now."""


@contextlib.contextmanager
def locked(folder: PartitionFolder) -> Iterator[None]:
    """Hold the lock of ``folder``, made if missing. The system releases it when the process ends, however it ends.

    Where nothing can be kept there it says so, before answers are paid for that would be lost.
    """
    with contextlib.ExitStack() as held:
        try:
            make_folder(folder)
            descriptor = os.open(folder.lock, os.O_RDWR | os.O_CREAT, 0o644)
            held.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(
                OSError
            ):  # on a full disk the lock still holds; only the number is missing
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, str(os.getpid()).encode("ascii"), 0)
            probe_writing(folder.path)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
            raise PartitionBusyError(
                f"{folder} is in use by process {holder}: wait until it has finished, or stop it, and run again"
            ) from error
        except OSError as error:
            raise StoreError(
                f"cannot keep answers in {folder}: {error.strerror}: free space, or choose a folder you may write in, on a "
                "file system with file locks, and run again"
            ) from error
        yield
