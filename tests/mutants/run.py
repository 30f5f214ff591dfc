"""Mutation check: apply each change of ``mutants.toml`` to a copy of the repository and run the tests that must notice it.

``make mutants`` runs all; ``python tests/mutants/run.py --area llm`` one area; ``--list`` prints them without a run. The
exit code is 1 where less than 95 % of an area is noticed, or a change survives whose entry gives no reason.
"""

import argparse
import contextlib
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEAST_NOTICED = 0.95  # of an area
TIMEOUT = 300.0  # seconds; a change that makes its tests hang is noticed
PASSED, FAILED, COLLECTION_FAILED, INTERNAL_ERROR = 0, 1, 2, 3  # pytest's exit codes
#: Loaded once, before each run of tests is forked: two thirds of a short run are imports. None of it is our code.
LOADED = ("hypothesis", "numpy", "scipy.stats", "polars", "pyarrow.parquet", "duckdb", "pydantic", "httpx")


class Mutant(NamedTuple):
    """One change of one file; ``survives`` is the reason why no test can notice it."""

    area: str
    file: str
    old: str
    new: str
    tests: list[str]
    why: str  # what a user would lose
    survives: str = ""


class Run(NamedTuple):
    """Tests that run in a copy."""

    mutant: Mutant | None  # None: the unchanged code
    folder: Path
    began: float


def load() -> list[Mutant]:
    """Return the curated changes, in the order of the file."""
    found = tomllib.loads((ROOT / "tests" / "mutants" / "mutants.toml").read_text("utf-8"))
    return [Mutant(**each) for each in found["mutant"]]


def copy_tracked(folder: Path) -> None:
    """Copy the tracked files; compile them so that a changed source is always seen (by its hash, not by its second)."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    compiled = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "metacog_pipeline", "assets"]
    subprocess.run([sys.executable, *compiled], cwd=folder, check=True)


def change(mutant: Mutant | None, folder: Path, *, back: bool = False) -> None:
    """Apply a change in a copy, or take it ``back``."""
    if mutant is not None:
        text = (ROOT / mutant.file).read_text("utf-8")
        if text.count(mutant.old) != 1:
            sys.exit(f"{mutant.file}: not exactly once: {mutant.old}")
        made = text if back else text.replace(mutant.old, mutant.new)
        (folder / mutant.file).write_text(made, encoding="utf-8")


def start(tests: Sequence[str], folder: Path) -> int:
    """Run tests in a copy, in a forked process; return its id. What they print goes to ``output`` next to the copy."""
    if pid := os.fork():
        return pid
    code = INTERNAL_ERROR
    try:
        os.setsid()
        os.chdir(folder)
        with (folder.parent / "output").open("w") as output:
            for number in (1, 2):
                os.dup2(output.fileno(), number)
        own = [str(folder), str(folder / "assets")]
        sys.path[:] = [*own, *sys.path[1:]]  # without the folder of this file
        os.environ["PYTHONPATH"] = os.pathsep.join(own)
        quiet = [
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
            "--hypothesis-profile=more",
        ]
        code = int(pytest.main(["-x", *quiet, *tests]))
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)  # nothing of the parent runs on in here


def finished(running: dict[int, Run]) -> Iterator[tuple[Run, int]]:
    """Yield each run that has ended, with pytest's exit code; end those that take too long."""
    for pid, run in list(running.items()):
        ended, status = os.waitpid(pid, os.WNOHANG)
        late = run.mutant is not None and time.monotonic() - run.began > TIMEOUT
        if not ended and late:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        if ended or late:
            with contextlib.suppress(ProcessLookupError):  # what the tests started ends with them
                os.killpg(pid, signal.SIGKILL)
            del running[pid]
            yield run, os.waitstatus_to_exitcode(status) if ended else FAILED


def results(mutants: Sequence[Mutant], jobs: int, base: Path) -> Iterator[tuple[Mutant, bool]]:
    """Yield each change and whether its tests noticed it; the unchanged code comes first, and has to pass."""
    folders = [base / str(number) / "repository" for number in range(jobs)]
    for folder in folders:
        copy_tracked(folder)
    waiting: list[Mutant | None] = [None, *mutants]
    running: dict[int, Run] = {}
    while waiting or running:
        while waiting and folders:
            mutant, folder = waiting.pop(0), folders.pop()
            change(mutant, folder)
            unchanged = sorted({test for each in mutants for test in each.tests})
            tests = unchanged if mutant is None else mutant.tests
            running[start(tests, folder)] = Run(mutant, folder, time.monotonic())
        for (mutant, folder, began), code in finished(running):
            change(mutant, folder, back=True)
            folders.append(folder)
            said = (folder.parent / "output").read_text("utf-8", "replace")[-2000:]
            if mutant is None and code != PASSED:
                sys.exit(f"the tests fail without any change:\n{said}")
            if code not in (PASSED, FAILED, COLLECTION_FAILED) and code >= 0:  # negative: a signal ended it
                sys.exit(f"pytest ended with {code}:\n{said}")
            if mutant is not None:
                state, seconds = "SURVIVED" if code == PASSED else "noticed ", time.monotonic() - began
                print(f"{state} {seconds:4.0f} s  {mutant.area}: {mutant.why}", flush=True)
                yield mutant, code != PASSED
        time.sleep(0.05)


def check(mutants: Sequence[Mutant], jobs: int) -> bool:
    """Run the changes, print what was noticed per area and the survivors; return whether that is enough."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as base:
        noticed = list(results(mutants, jobs, Path(base)))
    enough, total, found = True, Counter[str](), Counter[str]()
    for mutant, seen in noticed:
        total[mutant.area] += 1
        found[mutant.area] += seen
        if not seen:
            enough &= bool(mutant.survives)
            print(f"survivor  {mutant.file}: {mutant.old!r}\n          {mutant.survives or mutant.why}")
    for area, n in sorted(total.items()):
        enough &= found[area] >= LEAST_NOTICED * n
        print(f"{area:16} {found[area]:3} of {n:3} noticed")
    print(f"{'all':16} {found.total():3} of {total.total():3} noticed")
    return enough


def main() -> None:
    """Read the options and run."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--area", action="append", help="only this area (repeatable)")
    options.add_argument("--match", default="", help="only changes whose file or reason has this text")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="copies that run at once")
    options.add_argument("--list", action="store_true", help="print the changes and end")
    chosen = options.parse_args()
    mutants = [each for each in load() if not chosen.area or each.area in chosen.area]
    mutants = [each for each in mutants if chosen.match in f"{each.file} {each.why}"]
    if chosen.list:
        for each in mutants:
            print(f"{each.area:16} {each.file}: {each.why}")
        return
    shared = ROOT.parent / "shared"
    os.environ.setdefault("METACOG_GOLDEN", str(shared / "golden"))
    os.environ.setdefault("METACOG_DATA", str(shared / "data"))
    for threads in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(threads, "1")
    for name in LOADED:
        importlib.import_module(name)
    if not check(mutants, max(1, min(chosen.jobs, len(mutants)))):
        sys.exit(1)


if __name__ == "__main__":
    main()
