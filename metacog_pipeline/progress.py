"""Progress: one line that changes on a terminal, a line now and then elsewhere, nothing with ``--quiet``.

Nothing is shown in the first two seconds: work that short needs none of it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Literal, Self, TextIO, cast

SHOW_AFTER_S = 2.0
EVERY_S = {"bar": 0.25, "lines": 10.0}
ENVIRONMENT = "METACOG_PROGRESS"  # a Style: how a command passes it to the processes it starts

Style = Literal["bar", "lines", "quiet"]
_terminal: TextIO | None = None


def keep_terminal() -> None:
    """Hold on to the terminal of standard error: it shows progress even while a run captures its output."""
    global _terminal
    if _terminal is None and sys.stderr.isatty():
        _terminal = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="replace")


def style_for(quiet: bool) -> Style:
    """Return how to show progress in this process."""
    return "quiet" if quiet else "bar" if sys.stderr.isatty() else "lines"


def style_from_environment() -> Style:
    """Return what the parent command asked for; ``lines`` when no parent did."""
    wanted = os.environ.get(ENVIRONMENT)
    return cast(Style, wanted) if wanted in ("bar", "quiet") else "lines"


class ProgressLine:
    """Progress of one piece of work: done of total, rate, time left; dollars where it is ``priced``.

    ``note``, about the last unit, replaces rate and time left.
    """

    def __init__(self, label: str, total: int, style: Style, *, priced: bool = True) -> None:
        self._label, self._total, self._style, self._priced = label, total, style, priced
        self._started = self._spoke = time.monotonic()
        self._first: int | None = None
        self.note = ""

    def __enter__(self) -> Self:
        """Start the clock."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last state on the terminal."""
        if self._style == "bar" and self._spoke > self._started:
            self._print("\n")

    def update(self, done: int, dollars: float = 0.0) -> None:
        """Show that ``done`` units are finished and ``dollars`` were spent in this session."""
        now = time.monotonic()
        self._first = done if self._first is None else self._first
        waits = now - self._spoke < EVERY_S.get(self._style, 0) and done < self._total
        if self._style == "quiet" or waits or now - self._started < SHOW_AFTER_S:
            return
        self._spoke = now
        rate = (done - self._first) / (now - self._started)
        left = f"{(self._total - done) / rate:.0f} s left" if rate > 0 else "stalled"
        said = self.note or f"{rate:.{0 if rate >= 10 else 1}f}/s, {left}"
        line = f"{self._label}: {done}/{self._total}, {said}{f', ${dollars:.4f}' if self._priced else ''}"
        self._print(f"\r\x1b[K{line}" if self._style == "bar" else f"{line}\n")

    def _print(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a closed terminal must not end work that is paid for
            print(text, end="", file=_terminal or sys.stderr, flush=True)
