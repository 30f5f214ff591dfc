"""Work in processes that have not loaded Dagster, so that no process holds Dagster and the data of a study at once.

``python -m metacog_assets`` forks *nurseries* before it loads Dagster. Each forks a worker for a sort of work: the worker
ends when another sort is asked for, and gives back what it held. What needs no model is done by several at once. Elsewhere
(runs of the UI, tests) work is done where it is asked for.

Nothing changes for whoever looks at a run: a worker writes to the standard streams that the run has at the time, its
lines of progress and its errors come back, and what ends the run ends the worker, with the same signal.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import os
import pickle
import select
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, ParamSpec, TypeVar, cast

from metacog_pipeline.asking.endings import ENDINGS, IMPATIENT, INTERRUPTED, PARENT_WATCHED_EVERY_S, heard
from metacog_pipeline.asking.variables import WATCH_PARENT
from metacog_pipeline.errors import MetacogError, reason_of
from metacog_pipeline.progress import ENVIRONMENT, keep_terminal

ITEMS, MODELS, BOARDS, REPORT = "items", "models", "boards", "report"  # the sorts of work
MOST = 4  # workers at once
SELDOM = (
    20_000,
    20,
    50,
)  # answers are many small objects, and almost none of them garbage: looked for now and then
DEAF_AFTER_S = 2.0  # work that was told to end and asks nobody is ended then
NOTE = "In the process at work:\n"  # before the lines that say where in it something was raised
_NOT_BEGUN = BaseException("no process could be started")
QUERY_INTERRUPTED = "Query interrupted"  # DuckDB raises a RuntimeError with it in place of KeyboardInterrupt
_WORK = b"w"
_SIZE = struct.Struct("!Q")
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG
P = ParamSpec("P")
T = TypeVar("T")
Say = Callable[[str], None]


class WorkerEndedError(MetacogError):
    """The process at work ended before its work did."""


class Nursery:
    """This end of a process that forks workers, and of the worker there is.

    What is said to a worker goes over a pair of sockets of its own: where it dies in the middle of a message, the next one
    is not mistaken for the rest.
    """

    def __init__(self, prepare: Callable[[], object]) -> None:
        self.end, theirs = socket.socketpair()
        self.work: tuple[int, Any] = (-1, None)  # what is done, with its number
        self._sort: str | None = None
        self._to_worker: socket.socket | None = None
        self._worker = 0  # its process while it listens to signals
        self._passed: list[int] = []
        self._left: list[int] = []  # of these, what the worker was not told yet
        self._told_at: float | None = None  # when the worker was told first
        with theirs:
            try:
                self._pid = os.fork()
            except OSError:
                self.end.close()
                raise
            if self._pid == 0:
                self.end.close()
                _fork_workers(theirs, prepare)
        atexit.register(self.close)

    @property
    def ends(self) -> list[socket.socket]:
        """What has something to read when a message came, or the worker ended."""
        return [self.end] if self._to_worker is None else [self._to_worker, self.end]

    def begin(self, sort: str, number: int, environment: Mapping[str, str], work: tuple[Any, ...]) -> bool:
        """Have a worker begin ``work``; False where the nursery is gone."""
        try:
            worker = self._to_worker
            if worker is not None and (self._sort != sort or select.select([worker], [], [], 0)[0]):
                self._end_worker()  # another is needed, or it was ended from outside while it had nothing to do
            if self._to_worker is None:
                self._to_worker, theirs = socket.socketpair()
                with theirs:
                    socket.send_fds(self.end, [_WORK], [theirs.fileno()])
            self._sort, self.work = sort, (number, work)
            socket.send_fds(self._to_worker, [_WORK], [1, 2])
            _send(self._to_worker, (environment, work))
        except (EOFError, ConnectionError):
            self.close()
            return False
        return True

    def received(self, told: Say | None) -> tuple[bool, Any]:
        """Take a message; return whether the work has ended, and what it returned or raised."""
        assert self._to_worker is not None
        try:
            if not select.select([self._to_worker], [], [], 0)[0]:
                raise EOFError  # the nursery speaks: the worker has ended, though something it started holds its end
            kind, value = _receive(self._to_worker)
        except (EOFError, ConnectionError):
            return True, self._ended()
        if kind == "worker":
            self._worker = value
            self._deliver()
        elif kind == "line" and told is not None:
            with contextlib.suppress(OSError, ValueError):  # nobody listens any more: no reason to stop
                told(value)
        if kind not in ("done", "raised"):
            return False, None
        self._worker = 0
        found, interrupted = value
        if interrupted:
            INTERRUPTED.set()
        if interrupted or not isinstance(found, Exception if kind == "raised" else object):
            self._passed.clear()  # it was heard
        return True, found

    def pass_on(self, number: int) -> None:
        """Pass a signal on to the worker, as soon as it listens."""
        self._passed.append(number)
        self._left.append(number)
        self._deliver()

    def _deliver(self) -> None:
        while self._worker and self._left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._worker, self._left.pop(0))
                self._told_at = self._told_at or time.monotonic()

    def hurry(self) -> None:
        """End work that was told to end and does not hear it, in a long call of a library; who asks models is spared."""
        if self._worker and self._told_at and time.monotonic() - self._told_at > DEAF_AFTER_S:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._worker, IMPATIENT)

    def unheard(self) -> list[int]:
        """Return the signals of which the work that has ended took no notice."""
        found, self._passed, self._left, self._told_at = self._passed, [], [], None
        return found

    def _ended(self) -> BaseException:
        """Return what to say of a worker that ended in its work, by itself or by a signal that was passed on."""
        try:
            code = self._end_worker()
        except (EOFError, ConnectionError):  # the nursery was ended, and the worker with it
            self.close()
            code = -signal.SIGKILL
        if code is None:
            self.close()
            return _NOT_BEGUN
        if -code in self._passed or (self._passed and -code == IMPATIENT):
            return KeyboardInterrupt()
        how = f"signal {-code}" if code < 0 else f"code {code}"
        if code == -signal.SIGKILL:
            how += ", as where memory runs out"
        return WorkerEndedError(
            f"the process that did this work ended in the middle of it ({how}): run again, what was answered is kept"
        )

    def _end_worker(self) -> int | None:
        """Have the worker end, where it has not; return how it ended, None where no process could be started."""
        assert self._to_worker is not None
        self._to_worker.close()
        self._to_worker, self._worker = None, 0
        code: int | None = _receive(self.end)
        return code

    def close(self) -> None:
        """End the worker and its nursery, and wait for them."""
        if self in _nurseries:
            _nurseries.remove(self)
        for end in self.ends:
            end.close()
        if self._pid:
            os.waitpid(self._pid, 0)
            self._pid = 0


_nurseries: list[Nursery] = []
_told: Say | None = None
_started_by = 0


def start(prepare: Callable[[], object]) -> None:
    """Fork the nurseries; to be called once, before Dagster is loaded and before anything has threads.

    The first one, which does what is done alone, does ``prepare`` meanwhile: all its workers know the result.
    """
    global _started_by
    _started_by = os.getppid()
    signal.signal(
        signal.SIGCHLD, signal.SIG_DFL
    )  # whoever started this may ignore it: nobody could be waited for then
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError):  # no more processes allowed: those there are do it, or this one
        for number in range(min(cores, MOST)):
            _nurseries.append(Nursery(prepare if number == 0 else int))


def say(line: str) -> None:
    """Say a line to whoever asked for the work that is done."""
    if _told is not None:
        _told(line)


def call(sort: str, told: Say | None, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Return what ``work``, a function of a module, returns for arguments that can be sent; ``told`` gets its lines."""
    [(_, found)] = _each(sort, told, [(0, (work, args, named))], 1)
    if isinstance(found, Exception):
        raise found
    return cast(T, found)


def each(
    sort: str, told: Say | None, work: Callable[..., T], args: Sequence[tuple[Any, ...]], at_once: int = MOST
) -> Iterator[tuple[int, T | Exception]]:
    """Yield the number of each call of ``work`` and what it returned or raised, as they end."""
    if INTERRUPTED.is_set():
        raise KeyboardInterrupt
    return _each(sort, told, [(number, (work, own, {})) for number, own in enumerate(args)], at_once)


def _each(
    sort: str, told: Say | None, works: Sequence[tuple[int, Any]], at_once: int
) -> Iterator[tuple[int, Any]]:
    if not _nurseries or threading.current_thread() is not threading.main_thread():
        yield from _here(told, works)
        return
    free, busy, left = _nurseries[:at_once], list[Nursery](), list(works)[::-1]
    ending: list[BaseException] = []  # what ends it, though it is no fault of the work
    unheard: list[int] = []
    environment = dict(os.environ)
    if min(len(free), len(left)) > 1 and environment.get(ENVIRONMENT) == "bar":
        environment[ENVIRONMENT] = "lines"  # bars of several would draw over each other

    def pass_on(number: int, frame: FrameType | None) -> None:
        for nursery in busy:
            nursery.pass_on(number)
        if not busy:
            unheard.append(number)

    _flush()
    before = {number: signal.signal(number, pass_on) for number in heard()}
    try:
        while busy or (left and free and not (ending or unheard or INTERRUPTED.is_set())):
            while left and free and not (ending or unheard or INTERRUPTED.is_set()):
                busy.append(free.pop(0))
                if busy[-1].begin(sort, left[-1][0], environment, left[-1][1]):
                    left.pop()
                else:
                    unheard += busy.pop().unheard()
            for nursery in _ready(busy):
                ended, found = nursery.received(told)
                if ended:
                    busy.remove(nursery)
                    unheard += nursery.unheard()
                    free[:0] = [nursery] * (nursery in _nurseries)
                    if found is _NOT_BEGUN:
                        left.append(nursery.work)
                    elif isinstance(found, BaseException) and not isinstance(found, Exception):
                        ending.append(found)
                    else:
                        yield nursery.work[0], found
    finally:
        _drop(busy)
        for number, handler in before.items():
            signal.signal(number, handler)
    for passed in unheard[:1]:  # came between two pieces of work, or ended one
        signal.raise_signal(passed)
        ending.append(KeyboardInterrupt())
    for error in ending:
        raise error
    if left and INTERRUPTED.is_set():
        raise KeyboardInterrupt
    yield from _here(told, left[::-1])  # every process that could do it was ended from outside


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, full, or never there
            stream.flush()


def _here(told: Say | None, works: Sequence[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """Do the work in this process."""
    global _told
    for place, (number, (work, args, named)) in enumerate(works):
        if place and INTERRUPTED.is_set():
            raise KeyboardInterrupt
        before, _told = _told, told
        try:
            found: Any = work(*args, **named)
        except Exception as error:
            found = _said(error)
            if not isinstance(found, Exception):
                raise found from None
        finally:
            _told = before
        yield number, found


def _said(error: Exception) -> BaseException:
    """Return an error as whoever asked for the work gets it: no memory, or an interrupt, is no fault of the program."""
    if QUERY_INTERRUPTED in str(error):
        return KeyboardInterrupt()
    if isinstance(error, MemoryError):
        return WorkerEndedError(
            "memory ran out in this work: run again with more of it free, what was answered is kept"
        )
    return error


def _ready(busy: Sequence[Nursery]) -> list[Nursery]:
    """Wait for messages; where the command that started this process is gone, nobody could stop it any more."""
    global _started_by
    while busy:
        if os.environ.get(WATCH_PARENT) and os.getppid() != _started_by:
            _started_by = os.getppid()
            for nursery in busy:
                nursery.pass_on(signal.SIGINT)
        ends = [end for nursery in busy for end in nursery.ends]
        if found := select.select(ends, [], [], PARENT_WATCHED_EVERY_S)[0]:
            return [nursery for nursery in busy if any(end in found for end in nursery.ends)]
        for nursery in busy:
            nursery.hurry()
    return []


def _drop(busy: Sequence[Nursery]) -> None:
    """End what is still under way when nobody waits for it any more; what it kept is kept."""
    for nursery in list(busy):
        nursery.pass_on(signal.SIGTERM)
        nursery.close()


def _fork_workers(end: socket.socket, prepare: Callable[[], object]) -> None:
    """Be a nursery: fork a worker when one is wanted and say how it ended, until the other end is closed."""
    try:
        atexit._clear()
        for other in _nurseries:
            other.end.close()
        _nurseries.clear()
        os.setpgid(0, 0)  # an interrupt of the group reaches workers once, from whoever asked for the work
        for number in ENDINGS:
            signal.signal(number, signal.SIG_IGN)  # it ends with whoever asked, after the worker
        _die_with_parent()
        with contextlib.suppress(Exception):  # who needs the result meets it again
            prepare()
        gc.freeze()
        while True:
            sign, files, *_ = socket.recv_fds(end, 1, 1)
            if not sign:
                os._exit(0)
            [theirs] = files
            code = None
            try:
                worker = os.fork()
            except OSError:
                os.close(theirs)
            else:
                if worker == 0:
                    end.close()
                    _work(socket.socket(fileno=theirs))
                os.close(theirs)
                code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
            _send(end, code)
    finally:
        os._exit(1)


def _work(end: socket.socket) -> None:
    """Be a worker: do what is asked, one after another, until told to end."""
    global _told
    _die_with_parent()
    gc.enable()
    gc.set_threshold(*SELDOM)
    keep_terminal()
    _told = lambda line: _send(end, ("line", line))  # noqa: E731
    while True:
        sign, files, *_ = socket.recv_fds(end, 1, 2)
        if not sign:
            break
        for number, file in zip((1, 2), files, strict=True):
            os.dup2(file, number)
            os.close(file)
        environment, (work, args, named) = _receive(end)
        if environment != dict(os.environ):
            os.environ.clear()
            os.environ.update(environment)
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number in {*ENDINGS, IMPATIENT} - {signal.SIGINT}:
                signal.signal(number, signal.SIG_DFL)
            _send(end, ("worker", os.getpid()))
            found = work(*args, **named)
            message = pickle.dumps(("done", (found, INTERRUPTED.is_set())), pickle.HIGHEST_PROTOCOL)
        except BaseException as error:
            raised = _sendable(error, NOTE + traceback.format_exc())
            message = pickle.dumps(("raised", (raised, INTERRUPTED.is_set())), pickle.HIGHEST_PROTOCOL)
        with contextlib.suppress(KeyboardInterrupt):
            for number in ENDINGS:
                signal.signal(number, signal.SIG_IGN)
        _flush()
        _send_bytes(end, message)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    os._exit(0)


def _sendable(error: BaseException, where: str) -> BaseException:
    """Return an error as it can be sent, a fault with ``where`` it was raised; others are told by their name and words."""
    if isinstance(error, Exception):
        error = _said(error)
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(reason_of(error) if isinstance(error, Exception) else repr(error))
    if not isinstance(error, MetacogError):
        error.add_note(where)
    return error


def _die_with_parent() -> None:
    """Have the kernel end this process at once when its parent ends; elsewhere the closed end of the pipe does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)


def _send(end: socket.socket, message: Any) -> None:
    _send_bytes(end, pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))


def _send_bytes(end: socket.socket, data: bytes) -> None:
    end.sendall(_SIZE.pack(len(data)) + data)


def _receive(end: socket.socket) -> Any:
    return pickle.loads(_exactly(end, _SIZE.unpack(_exactly(end, _SIZE.size))[0]))


def _exactly(end: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        piece = end.recv(min(size - len(found), 1 << 20))
        if not piece:
            raise EOFError
        found += piece
    return bytes(found)
