"""The graph people see, held against a snapshot: ``METACOG_REWRITE_SNAPSHOTS=1 pytest tests/assets`` rewrites it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from dagster import DefaultSensorStatus

from metacog_assets.automation import ask_models, score_and_publish
from metacog_assets.definitions import defs

MOST_OF_A_GROUP, MOST_ASSETS = 25, 130
LONGEST_NAME = 30  # characters that a node of the graph shows whole
SNAPSHOT = Path(__file__).with_name("definitions.json")


@pytest.fixture(scope="module")
def graph(loaded):
    """The graph of the demo study, loaded in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "METACOG_STUDY"}
    printed = loaded.python(Path(__file__).with_name("graph.py"), **environment)
    out, err = printed.communicate()
    assert printed.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def test_the_graph_is_the_one_of_the_snapshot(graph):
    if os.environ.get("METACOG_REWRITE_SNAPSHOTS"):
        SNAPSHOT.write_text(json.dumps(graph, indent=1) + "\n", encoding="utf-8")
    assert graph == json.loads(SNAPSHOT.read_text(encoding="utf-8"))


def test_every_asset_says_what_it_is_and_has_a_group():
    nodes = defs.resolve_asset_graph()
    for key in nodes.get_all_asset_keys():
        assert (nodes.get(key).description or "").strip(), key
        assert nodes.get(key).group_name != "default", key


def test_what_may_cost_money_is_never_run_by_the_sensor_that_is_on():
    nodes = defs.resolve_asset_graph()
    keys = nodes.get_all_asset_keys()
    assert {nodes.get(key).tags.get("cost") for key in keys} == {"paid", "free"}
    paid = {key for key in keys if nodes.get(key).tags["cost"] == "paid"}
    assert {key for key in keys if "models" in nodes.get(key).pools} == paid, "the pool of those who ask"
    assert score_and_publish.asset_selection.resolve(nodes) == keys - paid
    assert score_and_publish.default_status is DefaultSensorStatus.RUNNING
    assert ask_models.asset_selection.resolve(nodes) == paid
    assert ask_models.default_status is DefaultSensorStatus.STOPPED


def test_no_group_is_too_large_to_look_at(graph):
    groups: dict[str, int] = {}
    for each in graph.values():
        groups[each["group"]] = groups.get(each["group"], 0) + 1
    assert max(groups.values()) <= MOST_OF_A_GROUP, groups
    assert len(graph) <= MOST_ASSETS


def test_no_two_nodes_of_a_group_have_one_name_and_none_is_too_long_to_show(graph):
    shown = [(each["group"], key.rsplit("/", 1)[-1]) for key, each in graph.items()]
    assert len(shown) == len(set(shown))
    assert max(len(name) for _, name in shown) <= LONGEST_NAME, max(shown, key=lambda each: len(each[1]))


def test_every_asset_has_owners_a_layer_and_kinds():
    nodes = defs.resolve_asset_graph()
    for key in nodes.get_all_asset_keys():
        node = nodes.get(key)
        assert set(node.owners) == {"team:metacog"}, key
        assert node.tags["layer"] in ("items", "answers", "judgements", "scores", "tables"), key
        assert node.kinds, key


def test_six_jobs_select_by_tags():
    jobs = {job.name for job in defs.jobs or ()}
    assert jobs == {"build_items", "generate_items", "ask", "score", "publish"}, (
        "and train, where a model is trained"
    )


def test_partitions_have_two_dimensions_and_runs_follow_the_study(bench, simulated):
    bench.write(simulated("first"), runs=3)
    printed = bench.python(
        "import json; from metacog_assets.partitions import MODEL_RUNS\n"
        "dims = {d.name: d.partitions_def for d in MODEL_RUNS.partitions_defs}\n"
        "print(json.dumps([sorted(dims), dims['run'].get_partition_keys()]))"
    )
    assert printed == [["model", "run"], ["1", "2", "3"]]


@pytest.mark.slow
def test_dg_checks_and_lists_the_definitions(loaded, monkeypatch):
    dg = Path(sys.executable).with_name("dg")
    if not dg.exists():
        pytest.skip("dg is not installed (dagster-dg-cli, dev extra)")
    monkeypatch.chdir(Path(__file__).resolve().parents[2])
    environment = {name: value for name, value in os.environ.items() if name != "METACOG_STUDY"}
    environment["VIRTUAL_ENV"] = str(dg.parents[1])

    def said(*arguments: str) -> tuple[str, str]:
        run = loaded.python(dg, *arguments, **environment)
        out, err = run.communicate()
        assert run.returncode == 0, out + err
        return out, err

    assert "All definitions loaded successfully" in "".join(said("check", "defs"))
    listed, _ = said("list", "defs", "--json")
    assert {each["asset_key"] for each in json.loads(listed[listed.index("{") :])["assets"]} == set(
        json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    )


def test_loading_the_definitions_warns_of_nothing():
    loaded = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            # What an older Dagster warns of in its own code, or pydantic of Dagster's, is no warning of ours.
            "import warnings; warnings.simplefilter('ignore'); import dagster; warnings.simplefilter('error'); "
            "warnings.filterwarnings('ignore', category=DeprecationWarning, module='dagster'); "
            "import metacog_assets.definitions as d; d.defs.resolve_asset_graph()",
        ],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "PYTHONPATH": "assets"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert loaded.returncode == 0, loaded.stderr
