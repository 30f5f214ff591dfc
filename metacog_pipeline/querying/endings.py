"""Signals that end a run, and which of them one that is under way listens to."""

import signal

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ONE_PRESS_S = 1.0  # signals so close are one wish: who stops a service tells each of its processes


def heard() -> list[signal.Signals]:
    """Return the signals that end a run: not that of a closed terminal where the run was told to ignore it (nohup)."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [each for each in ENDINGS if not (ignored and each is signal.SIGHUP)]
