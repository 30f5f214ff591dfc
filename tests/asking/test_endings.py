"""Signals that end a run: which are listened to, and when a second one is a second wish."""

import asyncio
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from metacog_pipeline.asking import endings
from metacog_pipeline.asking.endings import ENDINGS, ONE_PRESS_S, heard


def test_a_closed_terminal_ends_a_run_unless_it_was_told_to_ignore_that():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert heard() == [signal.SIGINT, signal.SIGTERM]
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert heard() == list(ENDINGS)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_signals_at_once_are_one_wish_and_a_later_one_gives_up_what_is_under_way():
    told: list[str] = []
    pool = SimpleNamespace(interrupted=False, stopped_at=0.0, stop=told.append)

    async def press(number):
        endings.interrupt(pool, number)

    loop = asyncio.new_event_loop()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        loop.run_until_complete(press(signal.SIGTERM))
        loop.run_until_complete(press(signal.SIGINT))  # as systemd and the command do
        assert pool.interrupted and told
        pool.stopped_at -= 2 * ONE_PRESS_S
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(press(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
        endings.INTERRUPTED.clear()
        loop.close()


def test_what_a_command_was_started_without_is_opened_before_anything_takes_its_number():
    code = "import os, sys; from metacog_pipeline import cli; cli._open_streams(); print('lost'); " + (
        "os.write(0, os.readlink('/proc/self/fd/1').encode())"
    )
    read, write = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=write, preexec_fn=lambda: os.close(1)
    ) as started:
        assert started.wait() == 0
    os.close(write)
    assert os.read(read, 100) == b"/dev/null"
    os.close(read)
