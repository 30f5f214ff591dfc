"""Words weighed by a logistic regression on labelled batches: ``python -m tests.fit_words`` writes the weights."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache

from metacog_pipeline.files import shipped

Weights = Mapping[str, float]


@cache
def shipped_weights(folder: str, name: str) -> Weights:
    """Return the weights of ``data/FOLDER/NAME.json``."""
    found: dict[str, float] = json.loads(shipped("data", folder, f"{name}.json").read_text("utf-8"))
    return found


def weighed(features: Mapping[str, float], weights: Weights) -> float:
    """Return how much features speak for what was fitted; longer texts weigh no more than short ones."""
    known = [(weights[name], value) for name, value in features.items() if value and name in weights]
    return sum(weight * value for weight, value in known) / math.sqrt(max(1, len(known)))
