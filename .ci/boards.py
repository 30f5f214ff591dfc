"""Whether the wheel gives the same board in every Python that is here, with the newest packages it allows.

Builds the wheel from what ``deploy/Dockerfile`` copies, installs it without constraints into a fresh environment per
Python, runs the demo in an empty folder there, and compares every row of the boards: numbers within 1e-6, no other sign,
no other status. Run it with the Python of the development environment: ``.venv/bin/python .ci/boards.py``.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
CLOSE = 1e-6
KEY = ("benchmark", "condition", "model", "source", "measure")
NUMBERS = ("estimate", "low", "high", "n", "rank")
Row = dict[str, Any]


def run(command: Sequence[str | Path], folder: Path, timeout: float) -> subprocess.CompletedProcess[str]:
    """Run a command outside this checkout's environment and return what it printed."""
    leaks = (
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "METACOG_STUDY",
        "DAGSTER_HOME",
        "PYTHONDONTWRITEBYTECODE",
    )
    env = {name: value for name, value in os.environ.items() if name not in leaks}
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=timeout, check=False
    )


def must(command: Sequence[str | Path], folder: Path, timeout: float) -> str:
    """Run a command that has to succeed; end with its last lines where it does not."""
    done = run(command, folder, timeout)
    if done.returncode:
        sys.exit(
            f"{' '.join(map(str, command))}: ended with {done.returncode}\n{(done.stdout + done.stderr)[-3000:]}"
        )
    return done.stdout


def build_wheel(folder: Path) -> Path:
    """Build the wheel from a copy of what the image copies."""
    source = folder / "source"
    source.mkdir()
    for line in (ROOT / "deploy" / "Dockerfile").read_text("utf-8").splitlines():
        words = line.split()
        if words[:1] == ["COPY"] and not words[1].startswith("--from"):
            for name in words[1:-1]:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy2(ROOT / name, source / name)
    must([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], source, 180)
    (wheel,) = folder.glob("*.whl")
    return wheel


def interpreter(version: str) -> Path | None:
    """Return a Python of this version that is installed here: the one that runs this, uv's, or one of pyenv."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return Path(sys.executable)
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for found in sorted((root / "versions").glob(f"{version}*/bin/python{version}")):
        return found
    uv = Path(sys.executable).with_name("uv")
    if uv.exists():
        found_by_uv = run([uv, "python", "find", "--no-python-downloads", version], ROOT, 60)
        if found_by_uv.returncode == 0:
            return Path(found_by_uv.stdout.strip())
    return None


def board_of(python: Path, wheel: Path, folder: Path) -> dict[tuple[Any, ...], Row]:
    """Install the wheel for ``python``, run the demo in an empty folder, and return its board by key."""
    folder.mkdir()
    must([python, "-m", "venv", "--without-pip", folder / "venv"], folder, 120)
    uv, own = Path(sys.executable).with_name("uv"), folder / "venv" / "bin" / "python"
    if uv.exists():
        must([uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", own, wheel], folder, 600)
    else:
        must([sys.executable, "-m", "pip", "--python", own, "install", "--quiet", wheel], folder, 900)
    empty = folder / "empty"
    empty.mkdir()
    must([folder / "venv" / "bin" / "metacog", "demo"], empty, 600)
    with duckdb.connect(str(empty / "metacog-demo" / "home" / "leaderboard.duckdb"), read_only=True) as board:
        found = board.execute("select * from leaderboard")
        names = [column[0] for column in found.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    return {tuple(row[name] for name in KEY): row for row in rows}


def differences(one: dict[tuple[Any, ...], Row], other: dict[tuple[Any, ...], Row]) -> list[str]:
    """Return a line for each row that only one board has, and for each number, sign or status that differs."""
    found = [f"only in one: {key}" for key in one.keys() ^ other.keys()]
    for key in one.keys() & other.keys():
        for name in NUMBERS:
            a, b = one[key][name], other[key][name]
            if (a is None) != (b is None):
                found.append(f"{key}: {name} is {a} and {b}")
            elif a is not None and b is not None:
                flipped = math.copysign(1, a) != math.copysign(1, b) and max(abs(a), abs(b)) > CLOSE
                if flipped or abs(a - b) > CLOSE * max(1.0, abs(a)):
                    found.append(f"{key}: {name} is {a} and {b}")
        for name in ("status", "method"):
            if one[key][name] != other[key][name]:
                found.append(f"{key}: {name} is {one[key][name]} and {other[key][name]}")
    return sorted(map(str, found))


def main() -> int:
    """Compare the boards of every Python that is here; return 1 where they differ."""
    wrong = False
    with tempfile.TemporaryDirectory(prefix="metacog-boards-") as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        boards: dict[str, dict[tuple[Any, ...], Row]] = {}
        for version in PYTHONS:
            python = interpreter(version)
            if python is None:
                print(f"Python {version} is not installed here: its board is not compared")
                continue
            boards[version] = board_of(python, wheel, folder / version)
            print(f"Python {version}: the demo ran from the wheel, {len(boards[version])} rows on its board")
        first, *others = boards
        for other in others:
            lines = differences(boards[first], boards[other])
            wrong |= bool(lines)
            print(
                f"boards of Python {first} and {other}: {f'{len(lines)} differences' if lines else 'equal'}"
            )
            print(*lines[:20], sep="\n", end="\n" if lines else "")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
