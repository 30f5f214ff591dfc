"""A person adds a model to the study file and launches ONE backfill in the UI: the model stands on the board by itself."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.read import run_query
from tests.studies import metamedqa, write_study

pytestmark = pytest.mark.proof
START_S, FOLLOW_S = 120, 300


def write(folder: Path, *models: str) -> Path:
    rows = ({"name": name, "provider": "simulated"} for name in models)
    return write_study(folder, *rows, benchmarks=metamedqa(limit=6), name="followed")


SENSORS = """{sensorsOrError(repositorySelector:
{repositoryName: "__repository__", repositoryLocationName: "metacog_assets.definitions"})
{... on Sensors {results {name sensorState {status}}}}}"""
KEYS = """{assetNodes(assetKeys: [{path: ["metamedqa", "transcripts"]}])
{partitionKeysByDimension {name partitionKeys}}}"""
BACKFILL = """mutation($p: LaunchBackfillParams!) {launchPartitionBackfill(backfillParams: $p)
{__typename ... on LaunchBackfillSuccess {backfillId}}}"""


@pytest.fixture
def study(tmp_path):
    """A finished study of one model."""
    path = write(tmp_path, "first")
    subprocess.run(
        [sys.executable, "-m", "metacog_pipeline", "run", str(path), "--quiet"], check=True, timeout=200
    )
    return path


@pytest.fixture
def ask(study):
    """``metacog ui`` and a way to send it GraphQL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with study.with_name("ui.log").open("w") as log:
        ui = subprocess.Popen(
            [sys.executable, "-m", "metacog_pipeline", "ui", str(study), "--port", str(port)],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def send(query: str, **variables: object) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/graphql", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)["data"]

    try:
        until(lambda: answers(send), START_S, "the UI does not answer")
        yield send
    finally:
        ui.send_signal(signal.SIGINT)
        try:
            ui.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(ui.pid, signal.SIGKILL)


def answers(send: Callable[..., Any]) -> bool:
    try:
        return bool(send("{version}"))
    except OSError:
        return False


def until(holds: Callable[[], object], seconds: float, otherwise: str) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(otherwise)
        time.sleep(1)


def on_the_board(study: Path) -> bool:
    query = (
        "select 1 from leaderboard where model = 'newcomer' and measure = 'accuracy' and estimate is not null"
    )
    return bool(run_query(Home(study.parent / "home"), query).rows)


def test_a_model_added_to_the_study_stands_on_the_board_after_one_backfill(study, ask):
    states = {
        each["name"]: each["sensorState"]["status"] for each in ask(SENSORS)["sensorsOrError"]["results"]
    }
    assert states == dict.fromkeys(("score_and_publish", "batches_ended"), "RUNNING")
    write(study.parent, "first", "newcomer")

    def models() -> list[str]:
        [node] = ask(KEYS)["assetNodes"]
        return next(
            each["partitionKeys"] for each in node["partitionKeysByDimension"] if each["name"] == "model"
        )

    until(lambda: "newcomer" in models(), START_S, "no partition for the new model")
    selected = {"assetSelection": [{"path": ["metamedqa", "transcripts"]}], "partitionNames": ["newcomer|1"]}
    launched = ask(BACKFILL, p=selected)["launchPartitionBackfill"]
    assert launched["__typename"] == "LaunchBackfillSuccess", launched
    until(lambda: on_the_board(study), FOLLOW_S, "the new model never stood on the board")
