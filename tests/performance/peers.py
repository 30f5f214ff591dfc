"""The peers that ours is measured against, each in an environment of its own."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PATIENCE_S = 300


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
