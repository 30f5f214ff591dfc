"""``mlflow`` and ``wandb``: an offline run for each benchmark and model: every number with its interval, and the board.

Both libraries give runs ids and times of their own, so these two formats differ from one export to the next. What they
note of the machine (paths, the user, installed packages) is taken out, and nothing goes to a server.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import MetacogError, StoreError
from metacog_pipeline.exporting import samples, spreadsheets
from metacog_pipeline.exporting.facts import Facts

_QUIET = {
    "MLFLOW_ALLOW_FILE_STORE": "true",  # a folder that needs no database
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "WANDB_MODE": "offline",
    "WANDB_SILENT": "true",
    "WANDB_ERROR_REPORTING": "false",
    "WANDB_HOST": "host",
    "WANDB_USERNAME": "user",
}


def write_mlflow(facts: Facts, folder: Path) -> list[str]:
    """Write ``mlruns``: an experiment named after the study."""
    with _environment(), _installed("mlflow", "mlflow-skinny"):
        from mlflow.entities import Metric, Param
        from mlflow.tracking import MlflowClient

        about = facts.write_about(folder, {"format": "mlflow"})
        place = folder.absolute() / "mlruns"
        client = MlflowClient(tracking_uri=place.as_uri())
        experiment = client.create_experiment(about["study"], tags={"snapshot": about["snapshot"]})
        runs = 0
        for name, model, values, told in _runs(facts, about):
            run = client.create_run(experiment, start_time=0, run_name=f"{name} {model}").info.run_id
            metrics = [Metric(key, value, 0, 0) for key, value in values.items()]
            for first in range(0, len(metrics), 900):  # a batch holds at most 1,000
                client.log_batch(run, metrics=metrics[first : first + 900])
            client.log_batch(run, params=[Param(key, str(value)) for key, value in told.items()])
            client.log_artifact(run, str(_board(facts, folder)))
            client.set_terminated(run, end_time=0)
            runs += 1
    (folder / "leaderboard.csv").unlink(missing_ok=True)
    for path in place.rglob("meta.yaml"):  # the folder is named after its place now, and is moved
        text = path.read_text(encoding="utf-8").replace(place.as_uri(), "mlruns")
        path.write_text(re.sub(r"^user_id: .*$", "user_id: user", text, flags=re.MULTILINE), encoding="utf-8")
    _refuse_leaks(facts, folder)
    return [f"{runs} runs in mlruns"]


def write_wandb(facts: Facts, folder: Path) -> list[str]:
    """Write ``wandb``: offline runs, which ``wandb sync`` sends where their owner wants them."""
    about = facts.write_about(folder, {"format": "wandb"})
    runs = 0
    with _environment(), _installed("wandb", "wandb"):
        import wandb

        settings = wandb.Settings(
            console="off", x_disable_stats=True, x_disable_meta=True, x_disable_machine_info=True, save_code=False,
            disable_git=True, host="host", program="metacog", program_relpath="metacog", x_save_requirements=False,
        )  # fmt: skip
        for name, model, values, told in _runs(facts, about):
            project = re.sub(r"[^A-Za-z0-9._-]+", "-", about["study"])
            run = wandb.init(
                project=project,
                name=f"{name} {model}",
                dir=str(folder),
                mode="offline",
                config=told,
                settings=settings,
            )
            run.summary.update(values)
            run.finish()
            runs += 1
    for path in sorted((folder / "wandb").rglob("*"), reverse=True):  # logs name folders of this machine
        if path.is_symlink() or path.suffix == ".log":
            path.unlink()
        elif path.is_dir() and path.name in ("logs", "tmp"):
            shutil.rmtree(path)
    _refuse_leaks(facts, folder)
    return [f"{runs} offline runs in wandb"]


def _runs(facts: Facts, about: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, float], dict[str, Any]]]:
    """Yield benchmark, model, its numbers and what is told of the run."""
    for benchmark in facts.benchmarks():
        for model, identifier in samples.models(facts, benchmark).items():
            values: dict[str, float] = {}
            for row in samples.estimates(facts, benchmark, model):
                key = re.sub(r"[^A-Za-z0-9_.:/ -]+", "_", samples.label(row))
                found = {key: row["estimate"], f"{key}.low": row["low"], f"{key}.high": row["high"]}
                values |= {name: float(value) for name, value in found.items() if value is not None}
            told = {name: about[name] for name in ("study", "seed", "snapshot", "version")}
            yield benchmark.name, model, values, {**told, "benchmark": benchmark.name, "model": identifier}


def _board(facts: Facts, folder: Path) -> Path:
    path = folder / "leaderboard.csv"
    if not path.exists():
        spreadsheets.write_table(path, facts.table("leaderboard"))
    return path


@contextlib.contextmanager
def _installed(module: str, package: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise MetacogError(
            f"{error.name or module} is not installed: pip install {package}; nothing was written"
        ) from None


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _QUIET}
    os.environ.update(_QUIET)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _refuse_leaks(facts: Facts, folder: Path) -> None:
    """Raise StoreError where a file of another library holds what must not leave."""
    for path in folder.rglob("*"):
        if path.is_file() and (
            found := facts.clean.leaks(path.read_bytes().replace(str(folder).encode(), b""))
        ):
            raise StoreError(
                f"{path.relative_to(folder)}: would hold {found}, which must not leave; nothing was written"
            )
