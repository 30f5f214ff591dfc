"""Killed, out of space, or with a failing disk at each sort of operation of a run: the next gives the undisturbed board.

The disk fails in C (``faulty_disk.c``, loaded before the run), so that what DuckDB and Arrow write is counted as well. The
run is that of a small study from the construction of items to the report. What a killed run leaves is the disk as it was
before that operation: one run that stops before each of them shows every such state, and equal ones are tried once.

Tried is the first operation of each site: of a kind (opened to write, written, synced, renamed, …) on files of a name, with
``*`` for numbers, random parts, and tables and pages of one folder. ``METACOG_POINTS=all`` tries every operation. A part of
the points: ``METACOG_PART=2/8`` takes the second of eight parts, every eighth point.
"""

import contextlib
import mmap
import os
import re
import shutil
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from metacog_pipeline.cli import cli, running
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.read import run_query
from tests import forked
from tests.studies import metamedqa, write_study

pytestmark = pytest.mark.proof
PART, PARTS = (int(number) for number in os.environ.get("METACOG_PART", "1/1").split("/"))
ALL = os.environ.get("METACOG_POINTS") == "all"
VARIES = re.compile(r"(?<=\.)[a-z0-9_]{8}(?=\.tmp)|[0-9a-f]{8,}(?:-[0-9a-f]{4,})*|\d+(?:T\d+)?")
SAME_WRITER = re.compile(r"(?<=/)[^/]+(?=\.(?:parquet|svg|csv|js|html)\b)")  # such files of a folder
SOURCE = Path(__file__).with_name("faulty_disk.c")
FRESH_NS = 100_000_000  # a file changed so lately may change again without another time of change

BOARD = "select * from leaderboard order by all"


class Study:
    """A study in a folder, run on a disk that can fail."""

    def __init__(self, folder, count, monkeypatch):
        model = {"name": "one", "provider": "simulated", "price_in": 1, "price_out": 1}
        asked = metamedqa(limit=4, conditions=["baseline"])
        self._path = write_study(folder, model, benchmarks=asked, budget_usd=1.0)
        self.home, self._log, self._count, self._set = (
            folder / "home",
            folder / "operations",
            count,
            monkeypatch,
        )

    def run(self, kind="none", at=0, site="", log=""):
        """Run it with a fault at one operation (0: never), of all or of those of a site; return the exit code."""
        with self._count.open("r+b") as count:
            count.write(bytes(16))
        own = {"ROOT": self.home, "COUNT": self._count, "KIND": kind, "AT": at, "SITE": site, "LOG": log}
        for name, value in own.items():
            self._set.setenv(f"FAULT_{name}", str(value))
        return CliRunner().invoke(cli, ["run", str(self._path), "--quiet"]).exit_code

    def sites(self, kind="none"):
        """Run it; return site → number of its first operation, and of each where all are tried."""
        self._log.unlink(missing_ok=True)
        assert self.run(kind, log=self._log) == 0
        first: dict[str, int] = {}
        for line in self._log.read_text().splitlines():
            number, operation, path = line.split(" ", 2)
            site = f"{operation} {SAME_WRITER.sub('*', VARIES.sub('*', path.removesuffix(' (deleted)')))}"
            first[site] = min(int(number), first.get(site, int(number)))
        return first

    @property
    def operations(self):
        """How many operations the last run made."""
        return int(struct.unpack("qq", self._count.read_bytes())[0])

    def wrong(self, expected):
        """Run it undisturbed; return what is wrong then."""
        again = self.run()
        sound = CliRunner().invoke(cli, ["doctor", str(self._path), "--kept"])
        shown = run_query(Home(self.home), BOARD) if not again else None
        if again or sound.exit_code or shown != expected:
            return f"ended {again}, board equal {shown == expected}, verify {sound.output[-200:]}"
        return None

    def states(self, kept):
        """Run it; return the disk before each operation, with its contents in ``kept``, and the sites."""
        kept.mkdir()
        found = []
        ended = threading.Event()
        with self._count.open("r+b") as file, mmap.mmap(file.fileno(), 16) as shared:
            looking = threading.Thread(target=self._look, args=(shared, kept, found, ended))
            looking.start()
            try:
                sites = self.sites("tell")
            finally:
                ended.set()
                looking.join()
        return found, sites

    def _look(self, shared, kept, found, ended):
        known = {}
        while not ended.is_set():
            now, seen = struct.unpack("qq", shared[:16])
            if now > seen:
                found.append(_disk(self.home, kept, known))
                shared[8:16] = struct.pack("q", now)
            else:
                time.sleep(0.0001)

    def put(self, disk, kept):
        """Make the home what it was in this state."""
        shutil.rmtree(self.home, ignore_errors=True)
        for name, (digest, changed) in disk.items():
            path = self.home / name
            if digest:
                shutil.copyfile(kept / digest, path)
                os.utime(path, ns=(changed, changed))
            else:
                path.mkdir(parents=True, exist_ok=True)


def _disk(home, kept, known):
    """Return path → digest of its content ("" for a folder) and time of change; ``known`` are digests taken before."""
    disk = {}
    for place, _, files in os.walk(home):
        disk[os.path.relpath(place, home)] = "", 0
        for path in (Path(place, name) for name in files):
            with contextlib.suppress(FileNotFoundError):  # Dagster's own files come and go meanwhile
                state = path.stat()
                mark = (state.st_ino, state.st_size, state.st_mtime_ns)
                inside = str(path.relative_to(home))
                if known.get(inside, (None,))[0] != mark or time.time_ns() - state.st_mtime_ns < FRESH_NS:
                    content = path.read_bytes()
                    known[inside] = mark, sha256_hex(content)
                    if not (kept / known[inside][1]).exists():
                        (kept / known[inside][1]).write_bytes(content)
                disk[inside] = known[inside][1], state.st_mtime_ns
    return disk


def _contents(disk):
    """Return what tells two states apart: not what Dagster keeps for its UI, nor times."""
    return frozenset((name, each[0]) for name, each in disk.items() if not name.startswith("dagster"))


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Return ``study(name)``, a study in a folder of its own whose disk can fail."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler: the failing disk cannot be built (Debian: apt-get install gcc libc6-dev)")
    library = tmp_path / "faulty_disk.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl", "-lpthread"], check=True)
    with monkeypatch.context() as loading:
        loading.setenv("LD_PRELOAD", str(library))
        runs = forked.Loaded()
        runs.Popen([*forked.RUN, "--help"], env=dict(os.environ)).wait()
    monkeypatch.setattr(running, "subprocess", runs)
    (tmp_path / "count").write_bytes(bytes(16))
    yield lambda name: Study(tmp_path / name, tmp_path / "count", monkeypatch)
    runs.close()


def test_a_run_that_is_killed_anywhere_is_made_good_by_the_next(tmp_path, study):
    tried, kept = study("killed"), tmp_path / "kept"
    states, sites = tried.states(kept)
    assert len(states) > 100, "the disk counts"
    expected = run_query(Home(tried.home), BOARD)
    different = {_contents(disk): number for number, disk in enumerate(states, 1)}
    points = different.values() if ALL else {different[_contents(states[at - 1])] for at in sites.values()}
    own = sorted(points)[PART - 1 :: PARTS]
    wrong = []
    for number in own:
        tried.put(states[number - 1], kept)
        if (why := tried.wrong(expected)) is not None:
            wrong.append(f"killed at {number}: {why}")
        print("killed before", number, why or "made good", flush=True)
    print(
        f"killed: {len(own)} of {len(points)} states of {len(sites)} sites ({len(different)} states of {len(states)} "
        f"operations), {len(wrong)} wrong"
    )
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("kind", ["ENOSPC", "EIO"])
def test_a_run_whose_disk_fails_anywhere_is_made_good_by_the_next(study, kind):
    whole = study("whole")
    sites = whole.sites()
    expected, operations = run_query(Home(whole.home), BOARD), whole.operations
    assert operations > 100, "the disk counts"
    points = [(at, "") for at in range(1, operations + 1)] if ALL else [(1, site) for site in sorted(sites)]
    own = points[PART - 1 :: PARTS]
    wrong, missed = [], []
    for at, site in own:
        shutil.rmtree(whole.home)
        disturbed = whole.run(kind, at, site)
        if whole.operations < at:
            missed.append(site)
        if (why := whole.wrong(expected)) is not None:
            wrong.append(f"{kind} at {at} {site}: ended {disturbed}, then {why}")
        print(kind, at, site, disturbed, flush=True)
    print(
        f"{kind}: {len(own)} of {len(points)} points ({operations} operations), {len(wrong)} wrong, not met: {missed}"
    )
    assert not wrong, "\n".join(wrong)
