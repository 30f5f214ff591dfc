"""The wheel is the whole project, built of what the image copies; `.ci/boards.py` installs it and runs the demo."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from metacog_pipeline import __version__

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow


def call(
    command: list[str | Path], folder: Path, timeout: float, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command without what would let the checkout leak into it."""
    leaks = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "METACOG_STUDY", "DAGSTER_HOME")
    env = {name: value for name, value in os.environ.items() if name not in leaks}
    return subprocess.run(
        command, cwd=folder, env={**env, **more}, capture_output=True, text=True, timeout=timeout
    )


def copy_as_the_image_does(folder: Path) -> None:
    """Copy what the first stage of ``deploy/Dockerfile`` copies, and nothing else: a file it forgets breaks the image."""
    for line in (ROOT / "deploy" / "Dockerfile").read_text("utf-8").splitlines():
        words = line.split()
        if words[:1] != ["COPY"] or words[1].startswith("--from"):
            continue
        for name in words[1:-1]:
            if (ROOT / name).is_dir():
                skipped = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / name, folder / name, ignore=skipped)
            else:
                shutil.copy2(ROOT / name, folder / name)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The built wheel; building needs hatchling of the dev extra and no network."""
    pytest.importorskip("hatchling", reason="hatchling is not installed (dev extra)")
    folder, copied = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("copied")
    copy_as_the_image_does(copied)
    built = call([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], copied, 120)
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_carries_data_and_sql(wheel):
    carried = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("data", "dbt_like_sql"):
        command = ["git", "ls-files", folder]
        files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        names = files.stdout.split() or [str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob("*.*")]
        assert names and not {f"metacog_pipeline/_shipped/{name}" for name in names} - carried
    assert {f"metacog_assets/{name}" for name in ("definitions.py", "__main__.py", "py.typed")} <= carried
    assert "metacog_pipeline/cli/__init__.py" in carried
    assert not [name for name in carried if "CHANGELOG" in name]
    assert not [name for name in carried if name.startswith(("assets/", "tests/", "metacog-demo"))]


@pytest.mark.proof
def test_dagster_takes_the_definitions_of_an_unpacked_root(wheel, tmp_path):
    """What the image holds, with the study that stands beside it: no server is asked."""
    for engine in ("dagster_celery", "dagster_postgres"):
        pytest.importorskip(engine)
    zipfile.ZipFile(wheel).extractall(tmp_path / "root")
    study = {"PYTHONPATH": str(tmp_path / "root"), "METACOG_STUDY": str(ROOT / "deploy" / "study.toml")}
    study["METACOG_POSTGRES"] = "postgresql+psycopg2://nobody@127.0.0.1:1/none"
    command = [sys.executable, "-m", "dagster", "definitions", "validate", "-m", "metacog_assets.definitions"]
    shown = call(command, tmp_path, 120, METACOG_REDIS="redis://127.0.0.1:1/0", **study)
    assert shown.returncode == 0, shown.stdout + shown.stderr


def test_the_package_its_citation_and_its_changelog_name_one_version():
    said = dict(
        line.split(": ", 1)
        for line in (ROOT / "CITATION.cff").read_text("utf-8").splitlines()
        if re.match(r"\w+: ", line)
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["dynamic"] == ["version"]  # metacog_pipeline.__version__ is the one number
    assert (said["version"], said["license"]) == (__version__, project["license"])
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## (\S+)", changes, re.MULTILINE)[0] == __version__
