"""A small study, asked in this process and published: two models, one and two calls to a question."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.cli import cli
from metacog_pipeline.exporting import bundle, formats
from metacog_pipeline.leaderboard import publishing
from metacog_pipeline.scoring import files
from metacog_pipeline.study import load_study
from tests import homes
from tests.asking_in_process import ask
from tests.studies import write_study

#: Stand where they must not leave from: the environment, the study file, the name of its folder, a reply.
# A model and a file have names that look like keys: these stay.
CANARIES = ("sk-canary-1234567890abcdef", "canary-token-from-the-environment", "canary-user", "canary-pass")
QUESTIONS = [
    {"id": f"q{n}", "question": f"What is {n} plus {n}?", "options": [str(2 * n + k) for k in (0, 1, 3)], "answer": "A"}
    for n in range(5)
] + [{"id": "=odd", "question": "=1+1 in a sheet?\r\n'quoted'", "answer": "2"}]  # fmt: skip


def respondent(name: str, seed: int, accuracy: float = 0.8, **more: Any) -> dict[str, Any]:
    observer = {"accuracy": accuracy, "metacognition": 0.8, "untidiness": 0.1, "seed": seed}
    return {"name": name, "provider": "simulated", "observer": observer, **more}


def publish(path: Path) -> Path:
    """Ask whoever is simulated, judges too, and publish."""
    study = load_study(path)
    study.prepare()
    if "medley" in study.benchmarks:
        homes.lend_cases(study)
    for benchmark in enabled(study):
        construction.build(benchmark)
        judges = judging.wanted(benchmark)
        for partition in tasks.partitions(benchmark):
            ask(benchmark, partition)
            if judges is not None:
                judging.ask(benchmark, judges, partition, files.read(benchmark, partition))
    publishing.publish(study, asking=False)
    return path


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The study file; its home stands beside it, in a folder whose path must not leave."""
    folder = tmp_path_factory.mktemp("canary-user") / "home-of-canary-user"
    (folder / "own").mkdir(parents=True)
    lines = "".join(json.dumps(each) + "\n" for each in QUESTIONS)
    (folder / "own" / "hf_my_questions.jsonl").write_text(lines, encoding="utf-8")
    own = {
        "items": ["own/hf_my_questions.jsonl"],
        "conditions": ["verbal_percent", "p_true"],
        "allow_incomplete": True,
    }
    models = respondent("careful", 1, api_key_env="LEAVES_API_KEY"), respondent("hf-hasty-model", 2, 0.5)
    asked = {"questions": own}
    return publish(write_study(folder, *models, benchmarks=asked, seed=3, owners=["canary-user@example.org"]))


@pytest.fixture(scope="session")
def exported(made, tmp_path_factory):
    """Return what gives the small study in a format: a folder, or the bundle; written once."""

    @functools.cache
    def written(form: str) -> Path:
        study, target = load_study(made), tmp_path_factory.mktemp(form) / "out"
        _ = bundle.write(study, target) if form == "bundle" else formats.write(study, target, form)
        return target

    return written


@pytest.fixture
def metacog(tmp_path, monkeypatch):
    """Return what runs a command in the test's folder, and holds that it ends as expected."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: Any, code: int = 0) -> Result:
        done = CliRunner().invoke(cli, [*map(str, arguments)], standalone_mode=False)
        failed = done.exception
        ended = 0 if failed is None else getattr(failed, "exit_code", getattr(failed, "code", 99))
        assert ended == code, (done.output, done.exc_info)
        return done

    return run


def printed_by(module: str, code: str, folder: Path) -> str:
    """Return what a program with ``module`` prints in ``folder``, by an interpreter that METACOG_PEERS names; or skip."""
    for python in (sys.executable, *os.environ.get("METACOG_PEERS", "").split(":")):
        found = f"import importlib.util as u, sys; sys.exit(u.find_spec('{module}') is None)"
        if Path(python).is_file() and subprocess.run([python, "-c", found], timeout=60).returncode == 0:
            done = subprocess.run(
                [python, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120
            )
            assert done.returncode == 0, done.stdout + done.stderr[-2000:]
            return done.stdout
    pytest.skip(f"no interpreter here has {module}")
