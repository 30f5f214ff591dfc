"""The graph people see of the demo: few assets in few groups, drawn from left to right, made with Dagster's public API."""

import json
import os
import re
from pathlib import Path

import pytest
from dagster import DefaultSensorStatus

from metacog_assets.definitions import defs
from metacog_assets.sensors import SENSORS

ROOT = Path(__file__).resolve().parents[2]
MOST_ASSETS, MOST_GROUPS, MOST_OF_A_GROUP = 60, 8, 16
LONGEST_NAME = 18  # letters of the last part of a key that a node of the graph shows whole, at any zoom
STAGES_OF_PAPERS = (
    "metamedqa/edits",
    "metamedqa/items",
    "medley/disagreement",
    "medley/panels",
    "medley/consensus",
)
#: Prints the asset graph of the demo study as JSON.
GRAPH = """
import json
from metacog_assets.definitions import defs
nodes = defs.resolve_asset_graph()
found = {key.to_user_string(): nodes.get(key) for key in nodes.get_all_asset_keys()}
deps = {name: sorted(above.to_user_string() for above in node.parent_keys) for name, node in found.items()}
print(json.dumps({name: {"group": node.group_name, "deps": deps[name]} for name, node in found.items()}))
"""


@pytest.fixture(scope="module")
def graph(loaded):
    """The graph of the demo study, loaded in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "METACOG_STUDY"}
    printed = loaded.python("-c", GRAPH, **environment)
    out, err = printed.communicate()
    assert printed.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def test_the_demo_has_few_assets_in_few_groups(graph):
    groups: dict[str, int] = {}
    for each in graph.values():
        groups[each["group"]] = groups.get(each["group"], 0) + 1
    assert len(graph) <= MOST_ASSETS
    assert len(groups) <= MOST_GROUPS, groups
    assert max(groups.values()) <= MOST_OF_A_GROUP, groups


def test_each_benchmark_is_one_group_with_its_items_and_boards_are_another(graph):
    for key, each in graph.items():
        expected = "boards" if key in ("leaderboard", "report") else key.partition("/")[0]
        assert each["group"] == expected, key


def test_no_arrow_between_groups_runs_back(graph):
    """Collapsed, the graph reads from left to right: every arrow that leaves a group leads to the boards."""
    arrows = {
        (graph[parent]["group"], each["group"])
        for each in graph.values()
        for parent in each["deps"]
        if graph[parent]["group"] != each["group"]
    }
    assert {to for _, to in arrows} == {"boards"}
    assert "boards" not in {origin for origin, _ in arrows}


def test_the_stages_of_the_papers_are_assets(graph):
    assert set(STAGES_OF_PAPERS) <= graph.keys()


def test_no_name_is_too_long_to_show(graph):
    assert not [each for each in graph if len(each.rpartition("/")[2]) > LONGEST_NAME]


def test_every_asset_has_a_description_and_owners():
    nodes = defs.resolve_asset_graph()
    for key in nodes.get_all_asset_keys():
        node = nodes.get(key)
        assert (node.description or "").strip() and set(node.owners) == {"team:metacog"}, key


def test_what_may_cost_money_is_never_run_by_a_sensor_that_is_on():
    nodes = defs.resolve_asset_graph()
    keys = nodes.get_all_asset_keys()
    paid = {key for key in keys if nodes.get(key).tags.get("cost") == "paid"}
    assert paid and {key for key in keys if "models" in nodes.get(key).pools} == paid, (
        "the pool of those who ask"
    )
    assert {each.default_status for each in SENSORS} == {DefaultSensorStatus.RUNNING}
    assert not any(nodes.get(key).automation_condition for key in keys)


def test_partitions_have_two_dimensions_runs_follow_the_study_and_assets_have_its_owners(bench, simulated):
    bench.write(simulated("first"), runs=3)
    bench.path.write_text(bench.path.read_text().replace("[study]", '[study]\nowners = ["team:own"]'))
    printed = bench.python(
        "import json; from metacog_assets.definitions import defs\n"
        "from metacog_assets.partitions import MODEL_RUNS\n"
        "dims = {d.name: d.partitions_def for d in MODEL_RUNS.partitions_defs}\n"
        "graph = defs.resolve_asset_graph()\n"
        "owners = {each for key in graph.get_all_asset_keys() for each in graph.get(key).owners}\n"
        "print(json.dumps([sorted(dims), dims['run'].get_partition_keys(), *owners]))"
    )
    assert printed == [["model", "run"], ["1", "2", "3"], "team:own"]


def test_only_the_public_interface_of_dagster_is_imported():
    private = re.compile(
        r"^\s*(?:from|import)\s+dagster\w*(?:\.\w+)*(?:\._\w+|\s+import\s+[^#\n]*\b_\w+)", re.MULTILINE
    )
    assert private.search("from dagster._core import x") and private.search("from dagster import _check")
    for path in [*ROOT.glob("assets/**/*.py"), *ROOT.glob("metacog_pipeline/**/*.py")]:
        assert not private.search(path.read_text(encoding="utf-8")), path
