"""A small study on disk, its models behind a local server that counts calls, and a Dagster instance of its own."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from dagster import AssetKey, DagsterInstance, DagsterRun

# The code location is imported once per process, for the study named then.
os.environ["METACOG_STUDY"] = str(Path(__file__).with_name("study.toml"))

from metacog_assets.run import Command, run
from metacog_assets.study_file import current_study
from metacog_pipeline.asking import construction
from metacog_pipeline.benchmark.bound import bound as benchmark_of
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.study import load_study
from tests.forked import Forked, Loaded
from tests.homes import few_tables
from tests.simulated_server import ServerThread
from tests.studies import metamedqa, write_study

STUDY = Path(__file__).with_name("study.toml").read_text(encoding="utf-8")
ITEMS = 6


def model(name: str, **more: object) -> dict[str, object]:
    """Return a simulated model; give ``base_url`` to ask over HTTP instead."""
    if "base_url" in more:
        http = {"provider": "openai", "model": name, "price_in": 0, "price_out": 0, "answer_mode": "text"}
        return {"name": name, **http, **more}
    return {"name": name, "provider": "simulated", **more}


@dataclass
class Bench:
    """One study in one folder."""

    folder: Path
    instance: DagsterInstance
    loaded: Loaded
    models: list[dict[str, object]] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.folder / "study.toml"

    @property
    def home(self) -> Home:
        return Home(self.folder / "home")

    def write(self, *models: Mapping[str, object], runs: int = 1, limit: int = ITEMS, seed: int = 0) -> None:
        """Write the study file; the models stay as they are when none is given."""
        self.models = [dict(each) for each in models] or self.models
        write_study(self.folder, *self.models, benchmarks=metamedqa(limit=limit), runs=runs, seed=seed)

    def launch(self, **options: Any) -> int:
        """Do what ``metacog run`` does, in this process; return the exit code."""
        study = current_study()
        study.prepare()
        return run(Command(study, self.instance, **options))

    def runs(self) -> list[str]:
        """Return every Dagster run so far, oldest first, as ``items``, ``boards``, ``model|run`` or ``first..last``."""
        return [_named(run) for run in reversed(self.instance.get_runs())]

    def sql(self, query: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in run_query(self.home, query).rows]

    def command(self) -> Forked:
        """Start ``python -m metacog_assets`` on the study, as its own process group."""
        return self.loaded.python("-m", "metacog_assets", **self.environment())

    def python(self, code: str) -> Any:
        """Run ``code`` in a new process that sees the study; return what it printed last, read as JSON."""
        done = self.loaded.python("-c", code, **self.environment())
        out, err = done.communicate()
        assert done.returncode == 0, err
        return json.loads(out.splitlines()[-1])

    def environment(self) -> dict[str, str]:
        current_study().prepare()
        return {**os.environ, "METACOG_STUDY": str(self.path), "DAGSTER_HOME": str(self.home / "dagster")}


def _named(run: DagsterRun) -> str:
    if first := run.tags.get("dagster/asset_partition_range_start"):
        last = run.tags["dagster/asset_partition_range_end"]
        return first if first == last else f"{first}..{last}"
    return "boards" if AssetKey("leaderboard") in (run.asset_selection or ()) else "items"


def _stub_of_the_report(home: Home, name: str | None = None) -> Path:
    page = home / "report" / "index.html"
    page.parent.mkdir(exist_ok=True)
    page.write_text("<!doctype html>", encoding="utf-8")
    return page


@pytest.fixture
def bench(tmp_path, monkeypatch, loaded, few_resamples):
    """An empty bench whose study is the one this process shows.

    Its report is a stub and its board has few tables: tests/cli writes whole ones.
    """
    monkeypatch.setattr("metacog_assets.boards.build_report", _stub_of_the_report)
    few_tables(monkeypatch, "leaderboard", "progress", "comparisons", "verdict")
    made = Bench(tmp_path, DagsterInstance.ephemeral(), loaded)
    made.write(model("first"), model("second"))
    monkeypatch.setenv("METACOG_STUDY", str(made.path))
    with made.instance:
        yield made


@pytest.fixture(scope="session")
def respondent(tmp_path_factory):
    """A simulated observer that knows the sample questions."""
    path = tmp_path_factory.mktemp("sample") / "study.toml"
    path.write_text(STUDY.replace("../../metacog-demo/loaded", "home"), encoding="utf-8")
    known = benchmark_of(load_study(path), "metamedqa")
    construction.build(known)
    return known.observer(ObserverSpec())


@dataclass
class Counting:
    """A local provider that counts the calls of each model."""

    server: ServerThread
    calls: dict[str, int]

    @property
    def url(self) -> str:
        return f"{self.server.url}/v1"


@pytest.fixture
def provider(respondent):
    """A provider that answers as the simulated observer does."""
    calls: dict[str, int] = {}

    def respond(name: str, request: Any) -> str:
        calls[name] = calls.get(name, 0) + 1
        return respondent(request)

    with ServerThread(respond) as server:
        yield Counting(server, calls)


@pytest.fixture
def http(provider):
    """Return a function that makes a model asked over HTTP."""
    return lambda name, **more: model(name, **{"base_url": provider.url, **more})


@pytest.fixture
def simulated():
    """Return a function that makes a simulated model."""
    return model
