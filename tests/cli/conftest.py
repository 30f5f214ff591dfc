"""Run ``metacog`` as a user does: arguments in; exit code, output and errors out."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.cli import main
from tests.folders import made_once
from tests.forked import FEW_DRAWS


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str

    def refused_in_one_line(self, *parts: str) -> None:
        """Hold what every user mistake gives: one line saying what, where, what to do; no traceback."""
        assert self.code not in (0, None)
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err + self.out
        for part in parts:
            assert part in lines[0], lines[0]


Metacog = Callable[..., Result]


@pytest.fixture
def metacog(capfd):
    def run(*arguments: str | Path) -> Result:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        code = ended.value.code
        return Result(code if isinstance(code, int) else 0 if code is None else 1, out, err)

    return run


STUDY = """
[study]
name = "t"
home = "home"

[[models]]
name = "sim"
provider = "simulated"

[[models]]
name = "theirs"
provider = "replay"

[benchmarks.metamedqa]
dataset = "sample"
limit = 10
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def done_once(tmp_path_factory):
    """The folder of a study whose simulated model is done."""
    return made_once(tmp_path_factory.getbasetemp(), "finished", _run_in)


def _run_in(folder):
    study = folder / "study.toml"
    study.write_text(
        STUDY.replace('[[models]]\nname = "theirs"\nprovider = "replay"\n', ""), encoding="utf-8"
    )
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setenv(FEW_DRAWS, "1")
        main(["run", str(study), "--quiet"])
    assert not ended.value.code


@pytest.fixture
def finished(done_once, tmp_path):
    """A copy of it of the test's own."""
    return shutil.copytree(done_once, tmp_path / "own") / "study.toml"


@pytest.fixture
def file(tmp_path):
    """What writes a file of this name and content, text or bytes."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def fitted(result: Result, **ids: object) -> dict[str, dict[str, Any]]:
    """Return the rows that ``metacog fit --format json`` printed of one cell, by measure."""
    assert result.code == 0, result.err
    rows = [row for row in json.loads(result.out) if all(row[k] == v for k, v in ids.items())]
    return {row["measure"]: row for row in rows}
