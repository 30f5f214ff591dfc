"""Signals that end a run: which are listened to, and when a second one is a second wish."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from metacog_pipeline.asking import endings
from metacog_pipeline.asking.endings import ENDINGS, WATCH_PARENT, heard, stopping_gently


def test_a_closed_terminal_ends_a_run_unless_it_was_told_to_ignore_that():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert heard() == [signal.SIGINT, signal.SIGTERM]
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert heard() == list(ENDINGS)
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.fixture
def told():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield []
    signal.signal(signal.SIGINT, before)
    endings.INTERRUPTED.clear()


def test_signals_at_once_are_one_wish_and_a_later_one_gives_up_what_is_under_way(told, monkeypatch):
    async def asked():
        with stopping_gently(told.append):
            for number in (signal.SIGTERM, signal.SIGINT):  # as systemd and the command do
                os.kill(os.getpid(), number)
                await asyncio.sleep(0.01)
            assert told and endings.INTERRUPTED.is_set()
            told.append("went on")
            monkeypatch.setattr(endings, "ONE_PRESS_S", 0.0)
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(1)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(asked())
    assert "went on" in told


def test_a_process_whose_starter_is_gone_stops_asking(told, monkeypatch):
    parents = iter([41, 41, 41])
    monkeypatch.setenv(WATCH_PARENT, "1")
    monkeypatch.setattr(endings, "PARENT_WATCHED_EVERY_S", 0.001)
    monkeypatch.setattr("os.getppid", lambda: next(parents, 1))

    async def asked():
        with stopping_gently(told.append):
            for _ in range(1000):
                await asyncio.sleep(0.001)
                if told:
                    return

    asyncio.run(asked())
    assert told and endings.INTERRUPTED.is_set()


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
