"""The graph people see, held against a snapshot: ``METACOG_REWRITE_SNAPSHOTS=1 pytest tests/assets`` rewrites it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from dagster import MultiPartitionsDefinition

from assets.definitions import defs

SNAPSHOT = Path(__file__).with_name("definitions.json")


def dimensions(partitions: object) -> list[str] | None:
    return (
        sorted(partitions.partition_dimension_names)
        if isinstance(partitions, MultiPartitionsDefinition)
        else None
    )


def graph() -> dict[str, Any]:
    """Return every asset with what decides how it looks and runs; versions and texts left out."""
    nodes = defs.resolve_asset_graph()
    return {
        key.to_user_string(): {
            "group": node.group_name,
            "deps": sorted(parent.to_user_string() for parent in node.parent_keys),
            "partitions": dimensions(node.partitions_def),
            "checks": sorted(
                f"{check.name}{' (blocking)' if nodes.get(check).blocking else ''}"
                for check in node.check_keys
            ),
            "automation": node.automation_condition.get_label() if node.automation_condition else None,
        }
        for key in sorted(nodes.get_all_asset_keys())
        for node in [nodes.get(key)]
    }


def test_the_graph_is_the_one_of_the_snapshot() -> None:
    found = graph()
    if os.environ.get("METACOG_REWRITE_SNAPSHOTS"):
        SNAPSHOT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert found == json.loads(SNAPSHOT.read_text(encoding="utf-8"))


def test_every_asset_says_what_it_is_and_has_a_group() -> None:
    nodes = defs.resolve_asset_graph()
    for key in nodes.get_all_asset_keys():
        assert (nodes.get(key).description or "").strip(), key
        assert nodes.get(key).group_name != "default", key


def test_partitions_have_two_dimensions_and_runs_follow_the_study(bench: Any, simulated: Any) -> None:
    bench.write(simulated("first"), runs=3)
    printed = bench.python(
        "import json; from assets.partitions import MODEL_RUNS\n"
        "dims = {d.name: d.partitions_def for d in MODEL_RUNS.partitions_defs}\n"
        "print(json.dumps([sorted(dims), dims['run'].get_partition_keys()]))"
    )
    assert printed == [["model", "run"], ["1", "2", "3"]]
