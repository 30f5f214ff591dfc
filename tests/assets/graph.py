"""Print the asset graph of the demo study as JSON: every asset with what decides how it looks and runs."""

import json
from typing import Any

from dagster import MultiPartitionsDefinition

from metacog_assets.definitions import defs


def dimensions(partitions: object) -> list[str] | None:
    return (
        sorted(partitions.partition_dimension_names)
        if isinstance(partitions, MultiPartitionsDefinition)
        else None
    )


def graph() -> dict[str, Any]:
    """Return every asset; versions and texts left out."""
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
            "tags": dict(sorted(node.tags.items())),
            "kinds": sorted(node.kinds),
            "automation": node.automation_condition.get_label() if node.automation_condition else None,
        }
        for key in sorted(nodes.get_all_asset_keys())
        for node in [nodes.get(key)]
    }


if __name__ == "__main__":
    print(json.dumps(graph()))
