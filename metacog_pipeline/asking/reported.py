"""Which model answered, by the provider's own word: an alias may point elsewhere, a proxy may fall back on another."""

from __future__ import annotations

from collections.abc import Mapping

from metacog_pipeline.asking.asking import SIMULATED_PREFIX
from metacog_pipeline.llm.spec import ModelSpec

MODELS_SHOWN = 5


def other_models(spec: ModelSpec, reported: Mapping[str, int]) -> str | None:
    """Return a line for people when answers do not all come from the one model that was asked for, else ``None``.

    ``reported`` counts answers by the model id the provider gave them. A longer or shorter form of the id asked for
    (``m`` and ``m-2026-01-31``, ``vendor/m`` and ``m``) is the same model.
    """
    asked = (spec.model or spec.name).lower().rpartition("/")[2]
    names = {name: name.lower().removeprefix(SIMULATED_PREFIX).rpartition("/")[2] for name in reported}
    if len(reported) <= 1 and all(asked in name or name in asked for name in names.values()):
        return None
    shown = ", ".join(f"{name} ({count})" for name, count in sorted(reported.items())[:MODELS_SHOWN])
    more = ", …" if len(reported) > MODELS_SHOWN else ""
    return f"asked for {spec.model or spec.name}, but the provider says the answers come from {shown}{more}"
