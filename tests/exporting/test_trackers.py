"""mlflow, wandb and arviz: offline, read back with the libraries themselves; nothing of the machine is in what leaves."""

import json
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.exporting.conftest import CANARIES, python_with, told_by

BEFORE = "import sys; sys.path += {path!r}\nfrom metacog_pipeline.cli import cli\n"
EXPORT = 'cli.main(["export", {study!r}, "--to", "out", "--format", {form!r}], standalone_mode=False)\n'


def code(study: Path, form: str, patch: str = "", read: str = "") -> str:
    path = [str(ROOT), *(each for each in sys.path if each.endswith("site-packages"))]
    return BEFORE.format(path=path) + patch + EXPORT.format(study=str(study), form=form) + read


def nothing_of_the_machine(folder: Path, study: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file() or path.is_symlink()]
    assert files and not any(path.is_symlink() or path.suffix == ".log" for path in files)
    for path in files:
        data = path.read_bytes()
        forbidden = (*CANARIES, str(study.parent), str(folder), ".tmp/")
        assert not any(each.encode() in data for each in forbidden), path


def test_mlflow_has_a_run_for_each_benchmark_and_model(made, tmp_path):
    read = """
import json, os
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
from pathlib import Path
from mlflow.tracking import MlflowClient
os.chdir("out")
client = MlflowClient(tracking_uri=Path("mlruns").absolute().as_uri())
experiment = client.get_experiment_by_name("leaves")
found = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
run = found["questions hasty"]
key = "own/mine/mine verbal_percent/accuracy"
metrics = run.data.metrics
assert metrics[key + ".low"] <= metrics[key] <= metrics[key + ".high"]
print(json.dumps([sorted(found), run.data.params["seed"], [each.path for each in client.list_artifacts(run.info.run_id)]]))
"""
    told = told_by(python_with("mlflow"), code(made, "mlflow", read=read), tmp_path)
    names, seed, artifacts = json.loads(told.splitlines()[-1])
    assert names == [
        f"{name} {model}" for name in ("metamedqa", "questions") for model in ("careful", "hasty")
    ]
    assert (seed, artifacts) == ("3", ["leaderboard.csv"])
    nothing_of_the_machine(tmp_path / "out", made)


def test_wandb_has_offline_runs(made, tmp_path):
    told_by(python_with("wandb"), code(made, "wandb"), tmp_path)
    runs = list((tmp_path / "out" / "wandb").glob("offline-run-*/run-*.wandb"))
    assert len(runs) == 4 and any(b"questions hasty" in path.read_bytes() for path in runs)
    nothing_of_the_machine(tmp_path / "out", made)


def test_arviz_opens_the_draws(made, tmp_path):
    patch = """
import numpy as np
from metacog_pipeline.benchmarks.questions import OwnQuestions
OwnQuestions.draws = lambda self, groups: {f"mine/{len(groups)}": {"meta_d": np.arange(8.0).reshape(1, 8)}}
"""
    read = """
import arviz, json
found = arviz.from_netcdf("out/questions/mine_2.nc").posterior
print(json.dumps([found["meta_d"].values.tolist(), found.attrs["label"], list(found.sizes)]))
"""
    told = told_by(python_with("arviz"), code(made, "arviz", patch, read), tmp_path)
    assert json.loads(told.splitlines()[-1]) == [[[float(n) for n in range(8)]], "mine/2", ["chain", "draw"]]


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_what_is_not_installed_is_said_in_one_line(metacog, made, tmp_path, monkeypatch, name):
    for module in (name, f"{name}.entities", f"{name}.tracking"):
        monkeypatch.setitem(sys.modules, module, None)
    done = metacog("export", made, "--to", tmp_path / "out", "--format", name, code=1)
    assert "is not installed: pip install" in str(done.exception)
    none = metacog("export", made, "--to", tmp_path / "out", "--format", "arviz", code=2)
    assert "no posterior draws are kept" in str(none.exception) and not (tmp_path / "out").exists()
