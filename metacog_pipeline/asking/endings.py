"""Signals that end a run, and which of them one that is under way listens to."""

import contextlib
import signal
from collections.abc import Iterator

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ONE_PRESS_S = 1.0  # signals so close are one wish: who stops a service tells each of its processes
#: Sent to work that was told to end and has not: a long call of a library hears no interrupt, but is ended by this one.
IMPATIENT = signal.SIGALRM


def heard() -> list[signal.Signals]:
    """Return the signals that end a run: not that of a closed terminal where the run was told to ignore it (nohup)."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [each for each in ENDINGS if not (ignored and each is signal.SIGHUP)]


@contextlib.contextmanager
def patiently() -> Iterator[None]:
    """Be spared `IMPATIENT`: what was asked is kept and written down, however long the disk takes."""
    try:
        before = signal.signal(IMPATIENT, signal.SIG_IGN)
    except ValueError:  # only the main thread may say so; whoever owns the process decides elsewhere
        yield
        return
    try:
        yield
    finally:
        signal.signal(IMPATIENT, before)
