"""The wheel is the whole project: built here, installed into an empty environment, used from a folder elsewhere."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from metacog_pipeline import __version__

ROOT = Path(__file__).resolve().parents[1]
STUDY = """
[study]
name = "elsewhere"
runs = 2

[[models]]
name = "sim"
provider = "simulated"

[benchmarks.metamedqa]
dataset = "sample"
limit = 5
"""
# What installers say when they cannot reach the index; then the environment is at fault and not the wheel.
UNREACHABLE = re.compile(
    r"error sending request|failed to fetch|dns error|connection (?:refused|reset|timed out|error)|timed? ?out"
    r"|network is unreachable|name resolution|could not connect|no route to host|max retries",
    re.IGNORECASE,
)

# Where nothing is kept, each process of an empty environment compiles all that it loads anew: six seconds.
NOTHING_KEPT = ("PYTHONDONTWRITEBYTECODE",)

pytestmark = pytest.mark.slow


def clean_environment() -> dict[str, str]:
    """Return the environment without what would let the checkout leak into the empty one."""
    leaks = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "METACOG_STUDY", "DAGSTER_HOME", *NOTHING_KEPT)
    return {name: value for name, value in os.environ.items() if name not in leaks}


def call(
    command: list[str | Path], folder: Path, timeout: float, **more: str
) -> subprocess.CompletedProcess[str]:
    env = {**clean_environment(), **more}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=timeout)


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


@pytest.fixture(scope="module")
def empty():
    """A folder on the disk, where an installer links files instead of copying 900 MB."""
    with tempfile.TemporaryDirectory(prefix="metacog-empty-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def installed(wheel, empty):
    """The ``bin`` of an empty environment into which the wheel was installed with the pinned versions."""
    environment = empty / "venv"
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if uv is None:
        pytest.skip("uv is not installed: pip would take minutes to fill an empty environment")
    made = call([sys.executable, "-m", "venv", "--without-pip", environment], wheel.parent, 60)
    assert made.returncode == 0, made.stderr
    python = environment / "bin" / "python"
    command = [uv, "pip", "install", "--quiet", "--python", python, "-c", ROOT / "constraints.txt", wheel]
    try:
        done = call(command, wheel.parent, 240, UV_HTTP_TIMEOUT="20")
    except subprocess.TimeoutExpired:
        pytest.skip("installing took over 240 s: the package index is too slow from here")
    if done.returncode and UNREACHABLE.search(done.stderr):
        pytest.skip(f"the package index cannot be reached: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    lend_compiled(Path(sysconfig.get_path("purelib")), next(environment.glob("lib/python*/site-packages")))
    return environment / "bin"


def lend_compiled(ours: Path, theirs: Path) -> None:
    """Link what this environment has compiled of packages that are the same files there: ten seconds less to compile.

    Python takes a compiled file only where time and size of its source are those it was made from.
    """
    for folder, _, files in os.walk(theirs):
        own = ours / Path(folder).relative_to(theirs) / "__pycache__"
        if not own.is_dir() or not any(name.endswith(".py") for name in files):
            continue
        made = Path(folder) / "__pycache__"
        made.mkdir(exist_ok=True)
        try:
            for each in own.glob(f"*.{sys.implementation.cache_tag}.pyc"):
                os.link(each, made / each.name)
        except OSError:  # another disk: each process compiles what it loads
            return


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


def test_the_packages_import_come_from_the_wheel_and_the_command_says_what_it_can_do(installed, tmp_path):
    code = "import metacog_pipeline, metacog_assets; print(metacog_pipeline.__file__)"
    found = call([installed / "python", "-c", code], tmp_path, 60)
    assert found.returncode == 0, found.stderr
    assert Path(found.stdout.strip()).is_relative_to(installed.parent)
    shown = call([installed / "metacog", "--help"], tmp_path, 60)
    assert shown.returncode == 0 and "Exit codes" in shown.stdout, shown.stderr


def with_a_package_of_the_same_folder_name(folder: Path) -> None:
    (folder / "assets").mkdir()
    (folder / "assets" / "__init__.py").write_text("raise ImportError('the wrong package')\n")


@pytest.mark.proof  # `.ci/boards.py` runs the demo from the wheel in every CI run
def test_dagster_loads_the_code_location_anywhere(installed, tmp_path):
    with_a_package_of_the_same_folder_name(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    command = [installed / "dagster", "definitions", "validate", "-m", "metacog_assets.definitions"]
    loaded = call(command, tmp_path, 300, METACOG_STUDY=str(tmp_path / "study.toml"))
    assert loaded.returncode == 0, loaded.stdout + loaded.stderr
    assert "Validation successful" in loaded.stdout + loaded.stderr


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
