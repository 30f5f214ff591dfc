"""The jobs: selections among the assets of the study."""

from __future__ import annotations

import dagster as dg

from metacog_assets.automation import PAID_ASSETS


def _of(*layers: str) -> dg.AssetSelection:
    found = dg.AssetSelection.tag("layer", layers[0])
    for layer in layers[1:]:
        found = found | dg.AssetSelection.tag("layer", layer)
    return found


_SAYS = {
    "build_items": (_of("items") - PAID_ASSETS, "Make the items from their sources; asks nobody."),
    "generate_items": (
        _of("items"),
        "Make the items, asking the models that help what they have not answered yet.",
    ),
    "ask": (
        _of("answers", "judgements", "scores"),
        "Ask models and judges what is missing, read and score the answers.",
    ),
    "score": (_of("scores"), "Read and score what was answered; asks nobody."),
    "publish": (_of("tables"), "Pool, compare, and rebuild the boards and the report."),
}
JOBS = [dg.define_asset_job(name, selection, description=says) for name, (selection, says) in _SAYS.items()]
