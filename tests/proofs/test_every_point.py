"""Killed, out of space, or with a failing disk at every operation of a run: the next gives the board of an undisturbed one.

The disk fails in C (``faulty_disk.c``, loaded before the run), so that what DuckDB and Arrow write is counted as well. The
run is that of a small study from the construction of items to the report. All points take hours; ``METACOG_POINTS=50``
takes that many of each kind, evenly spread from a place drawn by ``METACOG_POINTS_FROM``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from metacog_pipeline.cli import cli
from metacog_pipeline.commands import running
from metacog_pipeline.leaderboard.read import run_query
from tests import forked

pytestmark = pytest.mark.proof
KINDS = ("kill", "ENOSPC", "EIO")
POINTS, FIRST = int(os.environ.get("METACOG_POINTS", "0")), int(os.environ.get("METACOG_POINTS_FROM", "0"))
SOURCE = Path(__file__).with_name("faulty_disk.c")

STUDY = """
[study]
name = "points"
home = "home"
budget_usd = 1.0
[[models]]
name = "one"
provider = "simulated"
price_in = 1
price_out = 1
[benchmarks.metamedqa]
dataset = "sample"
limit = 4
conditions = ["baseline"]
"""
BOARD = "select * from leaderboard order by all"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """Run the study of a folder on a disk that fails at one operation (0: never); gives the exit code."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler: the failing disk cannot be built (Debian: apt-get install gcc libc6-dev)")
    library = tmp_path / "faulty_disk.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    with monkeypatch.context() as loading:
        loading.setenv("LD_PRELOAD", str(library))
        runs = forked.Loaded()
        runs.Popen([*forked.RUN, "--help"], env=dict(os.environ)).wait()
    monkeypatch.setattr(running, "subprocess", runs)
    count = tmp_path / "count"

    def once(folder: Path, kind: str = "none", at: int = 0) -> int:
        count.write_bytes(bytes(8))
        for name, value in (("ROOT", folder / "home"), ("COUNT", count), ("KIND", kind), ("AT", at)):
            monkeypatch.setenv(f"FAULT_{name}", str(value))
        return CliRunner().invoke(cli, ["run", str(folder / "study.toml"), "--quiet"]).exit_code

    once.operations = lambda: int.from_bytes(count.read_bytes(), "little")  # type: ignore[attr-defined]
    yield once
    runs.close()


def _study(folder: Path) -> Path:
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY)
    return folder


def test_a_run_that_fails_anywhere_is_made_good_by_the_next(tmp_path: Path, run: Callable[..., int]) -> None:
    whole = _study(tmp_path / "whole")
    assert run(whole) == 0
    expected = run_query(whole / "home", BOARD)
    operations: int = run.operations()  # type: ignore[attr-defined]
    assert operations > 100, "the disk counts"
    step = max(1, operations // POINTS) if POINTS else 1
    wrong: list[str] = []
    tried = 0
    for kind in KINDS:
        for at in range(1 + FIRST % step, operations + 1, step):
            folder = _study(tmp_path / f"{kind}-{at}")
            disturbed = run(folder, kind, at)
            again = run(folder)
            sound = CliRunner().invoke(cli, ["verify", str(folder / "study.toml")])
            shown = run_query(folder / "home", BOARD) if not again else None
            if again or sound.exit_code or shown != expected:
                wrong.append(f"{kind} at {at}: ended {disturbed}, then {again}, verify {sound.output[-200:]}")
            tried += 1
            shutil.rmtree(folder)
    print(f"{tried} of {len(KINDS) * operations} points, {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong)
