"""A command ends at once, but whole: what it printed is there, exit handlers ran, threads are done, the code is told."""

import os
import subprocess
import sys
from pathlib import Path

from tests.tables import every

_RUN = """
import atexit, sys, threading, time
from metacog_pipeline import cli

def work():
    time.sleep(0.2)
    print("the thread is done")

def ends(**_):
    atexit.register(print, "the handler ran")
    threading.Thread(target=work).start()
    print("said", end="")
    sys.exit({code})

cli.cli.main = ends
cli.command()
"""


def ended(code, **more):
    return subprocess.run([sys.executable, "-c", _RUN.format(code=code)], timeout=60, **more)


@every(("code", "told"), [("7", 7), ("None", 0), ("0", 0), ("'a mistake'", 1), ("True", 1)])
def test_what_was_begun_is_finished_and_the_code_is_told(code, told):
    done = ended(code, capture_output=True, text=True)
    assert done.returncode == told
    assert done.stdout.splitlines() == ["saidthe thread is done", "the handler ran"]
    assert done.stderr == ("a mistake\n" if "mistake" in code else "")


def test_output_that_cannot_be_written_is_not_taken_for_written():
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        done = ended("0", stdout=full, stderr=subprocess.PIPE, text=True, env=buffered)
    assert done.returncode == 120 and "No space left" in done.stderr


def test_a_fault_keeps_its_traceback():
    code = "from metacog_pipeline import cli\ncli.cli.main = lambda **_: 1 / 0\ncli.command()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr
