"""Print the asset graph of the demo study as JSON."""

import json

from metacog_assets.definitions import defs

nodes = defs.resolve_asset_graph()
print(
    json.dumps(
        {
            key.to_user_string(): {
                "group": nodes.get(key).group_name,
                "deps": sorted(parent.to_user_string() for parent in nodes.get(key).parent_keys),
            }
            for key in nodes.get_all_asset_keys()
        }
    )
)
