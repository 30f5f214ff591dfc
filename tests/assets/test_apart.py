"""Work that a run has done in processes without Dagster: what comes back from them, and how they end."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import json, os, signal, sys, time
from metacog_assets import apart
from metacog_assets.figures import Stopped, Waits
from metacog_assets.showing import markdown
from metacog_pipeline.asking.endings import patiently
from metacog_pipeline.asking.endings import INTERRUPTED

def about(number):
    apart.say(f"line {number}")
    time.sleep(0.2)
    return number, os.getpid(), "dagster" in sys.modules, os.environ.get("LATER")

def words():
    return markdown("**bold**")

def fails(kind):
    if kind == "stopped":
        raise Stopped("budget spent", 5)
    if kind == "disk":
        raise OSError(28, "No space left on device", "answers/file")
    raise ValueError("a fault")

def killed(number):
    os.kill(os.getpid(), number)

def patient():
    os.kill(PARENT, signal.SIGINT)
    time.sleep(30)

def deaf(number):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # as in a long call of a library
    os.kill(PARENT, signal.SIGINT)
    time.sleep(60)

def asking():
    signal.signal(signal.SIGINT, lambda number, frame: INTERRUPTED.set())
    with patiently():
        os.kill(PARENT, signal.SIGINT)
        time.sleep(apart.DEAF_AFTER_S + 2 * apart.PARENT_WATCHED_EVERY_S)
    return "kept" if INTERRUPTED.is_set() else "not told"

def forever():
    print(os.getpid(), flush=True)
    time.sleep(60)

class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one)
        self.held = lambda: two

def bad(kind):
    if kind == "exit":
        os._exit(0)
    if kind == "memory":
        raise MemoryError
    if kind == "exception":
        raise Odd("no way", "to send it")
    return (lambda: 0) if kind == "result" else bytes(30_000_000) if kind == "huge" else deaths(1)

def deaths(number):
    if number % 2 == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return number, os.getpid(), sum(os.readlink(f"/proc/self/fd/{each}").startswith("socket") for each in fds())

def fds():
    return [each for each in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{each}")]

def closed(line):
    raise BrokenPipeError(32, "Broken pipe")

def shown():
    return os.environ["METACOG_PROGRESS"]

def loud():
    print("x" * 300_000, flush=True)
    apart.say("said")
    return 7

def raised(*args):
    try:
        return apart.call(*args)
    except BaseException as error:
        return [type(error).__name__, str(error), getattr(error, "exit_code", None), getattr(error, "filename", None)]

PARENT = os.getpid()
apart.start(int)
if sys.argv[1:]:
    apart.call(apart.MODELS, None, forever)
import dagster
os.environ["LATER"] = "seen"
lines = []
told = {"first": apart.call(apart.ITEMS, lines.append, about, 1), "again": apart.call(apart.ITEMS, None, about, 2),
        "other": apart.call(apart.MODELS, None, about, 3), "lines": lines,
        "several": sorted(each for _, each in apart.each(apart.MODELS, None, about, [(n,) for n in range(4)])),
        "words": type(apart.call(apart.MODELS, None, words)).__name__}
for kind in ("stopped", "disk", "fault"):
    told[kind] = raised(apart.MODELS, None, fails, kind)
told["interrupted"] = raised(apart.MODELS, None, patient)
started = time.monotonic()
told["deaf"] = [raised(apart.MODELS, None, deaf, 1)[0], time.monotonic() - started]
told["asking"] = apart.call(apart.ITEMS, None, asking)  # in a process of its own, which was interrupted
INTERRUPTED.clear()
told["after"] = apart.call(apart.MODELS, None, about, 5)[0]
told["killed"] = raised(apart.MODELS, None, killed, signal.SIGKILL)
for kind in ("exit", "memory", "exception", "result"):
    told[kind] = raised(apart.MODELS, None, bad, kind)
told["huge"] = len(apart.call(apart.MODELS, None, bad, "huge"))
told["deaths"] = [[number, found if isinstance(found, tuple) else str(found)]
                  for number, found in apart.each(apart.MODELS, None, deaths, [(n,) for n in range(9)])]
_, idle, _ = apart.call(apart.MODELS, None, deaths, 1)
os.kill(idle, signal.SIGKILL)
time.sleep(0.2)
told["idle"] = raised(apart.MODELS, None, deaths, 1)
os.kill(apart._nurseries[0]._pid, signal.SIGTERM)
told["ignored"] = raised(apart.MODELS, None, deaths, 1)
os.kill(apart._nurseries[0]._pid, signal.SIGKILL)
time.sleep(0.2)
told["nursery"] = sorted(n for n, _ in apart.each(apart.MODELS, None, deaths, [(n,) for n in (1, 3, 5)]))
saved = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
told["closed"] = raised(apart.MODELS, closed, loud)
os.dup2(saved, 1)
begun = []
try:
    for number, found in apart.each(apart.MODELS, None, deaths, [(n,) for n in (1, 3, 5)], 1):
        begun.append(number)
        os.kill(os.getpid(), signal.SIGINT)  # between two pieces of work
except KeyboardInterrupt:
    told["between"] = begun
os.environ["METACOG_PROGRESS"] = "bar"
told["bars"] = [{found for _, found in apart.each(apart.MODELS, None, shown, [()] * n)}
                == {kind} for n, kind in ((1, "bar"), (2, "bar" if len(apart._nurseries) < 2 else "lines"))]
told["own"] = os.getpid()
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    script = tmp_path_factory.mktemp("apart") / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_a_sort_of_work_has_a_process_without_dagster_until_another_sort_is_asked_for(told):
    number, worker, has_dagster, seen = told["first"]
    assert (number, has_dagster, seen) == (1, False, "seen")
    assert worker == told["again"][1] != told["other"][1]
    assert told["own"] not in (worker, told["other"][1])
    assert told["lines"] == ["line 1"]


def test_several_work_at_once_and_each_result_is_told_by_its_number(told):
    done = [tuple(each) for each in told["several"]]
    assert [number for number, *_ in done] == [0, 1, 2, 3]
    assert len({worker for _, worker, *_ in done}) == min(len(os.sched_getaffinity(0)), 4)


def test_what_people_see_becomes_dagsters_where_dagster_is(told):
    assert told["words"] == "MarkdownMetadataValue"


def test_errors_come_back_as_they_were_raised(told):
    assert told["stopped"] == ["Stopped", "stopped: budget spent", 5, None]
    assert told["disk"] == [
        "OSError",
        "[Errno 28] No space left on device: 'answers/file'",
        None,
        "answers/file",
    ]
    assert told["fault"][:2] == ["ValueError", "a fault"]


def test_an_interrupt_reaches_the_work_and_ends_what_asked_for_it(told):
    assert told["interrupted"][0] == "KeyboardInterrupt"
    assert told["after"] == 5


def test_work_that_does_not_hear_an_interrupt_is_ended_and_who_asks_models_is_spared(told):
    name, seconds = told["deaf"]
    assert name == "KeyboardInterrupt" and seconds < 30
    assert told["asking"] == "kept"


def test_work_that_was_killed_is_told_in_one_line(told):
    name, line, code, _ = told["killed"]
    assert name == "WorkerEndedError" and "signal 9" in str(line) and code == 1


def test_who_asked_is_killed_and_the_work_ends_at_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    with subprocess.Popen([sys.executable, script, "forever"], stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout is not None
        worker = int(asking.stdout.readline())
        asking.send_signal(signal.SIGKILL)
        asking.wait(10)
        for _ in range(100):
            if not Path(f"/proc/{worker}").exists():
                return
            time.sleep(0.05)
    raise AssertionError("the worker goes on")


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        ("exit", "WorkerEndedError", "(code 0)"),
        ("memory", "WorkerEndedError", "memory ran out"),
        ("exception", "RuntimeError", "Odd: no way"),
        ("result", "AttributeError", "pickle"),
    ],
)
def test_work_that_ends_or_answers_oddly_is_told_in_one_line(told, kind, name, line):
    assert told[kind][0] == name and line in told[kind][1] and "\n" not in told[kind][1]


def test_of_several_those_that_die_are_told_and_the_others_go_on_apart(told):
    found = dict(told["deaths"])
    assert sorted(found) == list(range(9))
    assert all("signal 9" in found[number] for number in (0, 2, 4, 6, 8))
    for number in (1, 3, 5, 7):
        done, worker, sockets = found[number]
        assert done == number and worker != told["own"]
        assert sockets == 1, "a worker holds no end of another: its death would not be seen"


def test_a_process_that_dies_while_it_has_nothing_to_do_costs_nothing(told):
    assert told["idle"][0] == told["ignored"][0] == 1
    assert told["own"] not in (told["idle"][1], told["ignored"][1])
    assert told["nursery"] == [0, 1, 2]


def test_results_of_any_size_come_back_and_nobody_need_listen_to_lines(told):
    assert told["huge"] == 30_000_000 and told["closed"] == 7


def test_an_interrupt_between_two_pieces_of_work_is_heard(told):
    assert told["between"] == [0]


NO_FORKS = """
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as whoever started this may have done
import metacog_assets.parts, metacog_assets.work
from metacog_assets import apart
from metacog_pipeline.leaderboard.models import load_project

def process():
    return os.getpid()

load_project()
print(*sorted(open(f"/proc/self/task/{each}/comm").read().strip()[:10] for each in os.listdir("/proc/self/task")))
PARENT, fork = os.getpid(), os.fork

def refused():
    if os.getpid() != PARENT or sys.argv[1] == "none":
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return fork()

os.fork = refused
apart.start(int)
print(apart.call(apart.ITEMS, None, process) == PARENT)
"""


@pytest.mark.parametrize("which", ["none", "workers"])
def test_where_no_process_can_be_started_work_is_done_here(tmp_path, which):
    script = tmp_path / "script.py"
    script.write_text(NO_FORKS, encoding="utf-8")
    own = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, script, which], capture_output=True, text=True, timeout=60, env=own
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    threads, said = done.stdout.splitlines()
    assert said == "True"
    # What Polars starts when it is imported waits for work and stands a fork; none of its workers, DuckDB's or Arrow's.
    assert threads.split().count("python") == 1 and not {"polars-0", "tokio-rt-w"} & set(threads.split())


def test_bars_of_several_do_not_draw_over_each_other(told):
    assert told["bars"] == [True, True]
