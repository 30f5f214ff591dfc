"""A benchmark of somebody else's package: built as a distribution of its own, in a folder of its own."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.folders import made_once

TOY = Path(__file__).parent / "toy"


@pytest.fixture(scope="session")
def toy_folder(tmp_path_factory):
    """Install the toy's wheel into a folder nobody else looks into; return the folder."""
    source = tmp_path_factory.mktemp("toy") / "source"

    def install(target):
        shutil.copytree(TOY, source)
        wheels = source / "dist"
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
        subprocess.run(build, cwd=source, check=True, capture_output=True, timeout=120)
        (wheel,) = wheels.glob("*.whl")
        shutil.unpack_archive(wheel, target, "zip")

    return made_once(tmp_path_factory.getbasetemp(), "installed", install)
