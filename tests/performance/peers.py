"""Running a script of this folder in a process of its own, and the peer that ours is measured against."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PEERS = Path(".venv-peers")
PEER = "inspect-ai"
PROMPT_BYTES = 2000
SHORT, LONG = 300, 1500
PATIENCE_S = 300


def child(python: str | Path, script: str, *arguments: object) -> dict[str, Any]:
    """Run a script of this folder and return what it printed."""
    command = [str(python), str(HERE / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr[-2000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def cpu_ms(python: str | Path, script: str, url: str, folder: Path, in_flight: int, repeats: int) -> float:
    """Return the milliseconds of processor time that one request more costs."""
    found = {
        count: min(
            child(python, script, url, folder / f"{in_flight}-{count}-{n}", count, in_flight, PROMPT_BYTES)[
                "cpu_s"
            ]
            for n in range(repeats)
        )
        for count in (SHORT, LONG)
    }
    return 1000 * float(found[LONG] - found[SHORT]) / (LONG - SHORT)


def peer_cpu_ms(python: Path, url: str, folder: Path, in_flight: int) -> float:
    """Return the milliseconds of processor time that one request more costs the peer."""
    return cpu_ms(python, "peer.py", url, folder, in_flight, 1)


def peer_release(python: Path) -> str:
    """Return the release of the peer in its environment."""
    code = f"from importlib.metadata import version; print(version('{PEER}'))"
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True).stdout.strip()


def installed(folder: Path, peer: str, *wanted: Sequence[str]) -> Path:
    """Return the interpreter of an environment in ``folder`` with all that is ``wanted``; skips where that cannot be."""
    python = folder.absolute() / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=PATIENCE_S)
    quick, plain = [sys.executable, "-m", "uv", "pip"], [str(python), "-m", "pip"]
    try:
        has_uv = subprocess.run([*quick, "--version"], capture_output=True).returncode == 0
        pip = [*quick, "install", "--python", str(python)] if has_uv else [*plain, "install"]
        for what in wanted:
            command = [*pip, "--quiet", *what]
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{peer} could not be installed, so there is nothing to compare with: {str(error)[:200]}")
    return python


def installed_peer() -> Path:
    """Return the interpreter of an environment that has the newest release of the peer; skips where there is none."""
    return installed(PEERS, PEER, ["--upgrade", PEER, "openai"])
