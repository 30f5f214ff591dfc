"""Progress people can see: a bar on a terminal, a plain line now and then elsewhere, nothing with ``--quiet``.

Nothing is shown in the first two seconds; work that short needs no bar.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOW_AFTER_S = 2.0
LINE_EVERY_S = 10.0
ENVIRONMENT = "METACOG_PROGRESS"  # "bar", "lines" or "quiet": how a command tells the processes it starts

Style = Literal["bar", "lines", "quiet"]
_terminal: TextIO | None = None


def keep_terminal() -> None:
    """Hold on to the terminal behind standard error: bars are drawn there even while a run captures its output."""
    global _terminal
    if _terminal is None and sys.stderr.isatty():
        _terminal = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="replace")


def style_for(quiet: bool) -> Style:
    """Return how to show progress in this process."""
    if quiet:
        return "quiet"
    return "bar" if sys.stderr.isatty() else "lines"


def style_from_environment() -> Style:
    """Return what the parent command asked for; ``lines`` when nobody did."""
    wanted = os.environ.get(ENVIRONMENT, "lines")
    return "bar" if wanted == "bar" else "quiet" if wanted == "quiet" else "lines"


class ProgressLine:
    """Progress of one piece of work: done of total, rate, time left, dollars.

    Parameters
    ----------
    label
        What is being worked on.
    total
        How many units there are.
    style
        ``bar``, ``lines`` or ``quiet``.
    say
        Where plain lines go; standard error by default.
    priced
        Whether the work costs money, so that dollars are shown.
    """

    def __init__(
        self,
        label: str,
        total: int,
        style: Style,
        say: Callable[[str], None] | None = None,
        *,
        priced: bool = True,
    ) -> None:
        self._label = label
        self._total = total
        self._style = style
        self._priced = priced
        self._say = say or (lambda line: print(line, file=sys.stderr, flush=True))
        self._started = self._spoke = time.monotonic()
        self._first: int | None = None
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self.note = ""  # about the last unit; stands in place of rate and time left

    def __enter__(self) -> Self:
        """Start the clock."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last state on the screen."""
        with contextlib.suppress(OSError, ValueError):
            if self._bar is not None:
                self._bar.stop()

    def update(self, done: int, dollars: float = 0.0) -> None:
        """Show that ``done`` units are finished and ``dollars`` were spent in this session.

        Never raises because nobody can be told: a closed terminal or pipe must not end work that was paid for.
        """
        with contextlib.suppress(OSError, ValueError):
            self._show(done, dollars)

    def _show(self, done: int, dollars: float) -> None:
        if self._style == "quiet":
            return
        now = time.monotonic()
        if self._first is None:
            self._first = done
        if now - self._started < SHOW_AFTER_S:
            return
        rate = (done - self._first) / (now - self._started)
        if self._style == "bar":
            self._draw(done, rate, dollars)
        elif now - self._spoke >= LINE_EVERY_S or done >= self._total:
            self._spoke = now
            left = (self._total - done) / rate if rate > 0 else float("inf")
            eta = f"{left:.0f} s left" if left < float("inf") else "stalled"
            cost = f", ${dollars:.4f}" if self._priced else ""
            said = self.note or f"{_rate(rate)}/s, {eta}"
            self._say(f"{self._label}: {done}/{self._total}, {said}{cost}")

    def _draw(self, done: int, rate: float, dollars: float) -> None:
        if self._bar is None or self._task is None:
            from rich.console import Console  # takes longer to load than most work takes
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.completed}/{task.total}"),
                TextColumn("{task.fields[rate]}/s"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", markup=False),
                *([TextColumn("${task.fields[dollars]:.4f}")] if self._priced else []),
                console=Console(file=_terminal) if _terminal else Console(stderr=True),
                refresh_per_second=4,
            )
            self._bar.start()
            self._task = self._bar.add_task(self._label, total=self._total, rate="0", dollars=0.0, note="")
        self._bar.update(self._task, completed=done, rate=_rate(rate), dollars=dollars, note=self.note)


def _rate(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 10 or rate == 0 else f"{rate:.2g}"
