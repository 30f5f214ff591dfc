"""Four metacognitive abilities from the judged dimensions, their mean (MAS), and the profile within a respondent.

The paper never prints the whole map from dimensions to abilities; its Appendix K fixes the one of the authors' notebook,
``notebook``, which is the default. ``documents`` is the map of the package's documents; the other three each move one
dimension, for checks of robustness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley.grades import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.rule_based.measures import divided
from metacog_pipeline.benchmarks.medley.rule_based.options import AbilityMap, Options
from metacog_pipeline.benchmarks.medley.rule_based.panel import Floats
from metacog_pipeline.stats.ties import largest

ABILITIES = ("monitoring", "control", "evaluation", "self_regulation")
_NOTEBOOK: Mapping[str, tuple[str, ...]] = {
    "monitoring": ("confidence_coherence", "blind_spot_recognition"),
    "control": ("attribution_depth", "capitulation_quality", "intellectual_courage"),
    "evaluation": ("error_acknowledgment", "steelmanning_quality", "logical_grounding"),
    "self_regulation": ("normative_vs_informational", "transparency"),
}
MISSING = 0.333


def _moved(dimension: str, ability: str) -> Mapping[str, tuple[str, ...]]:
    kept = {name: tuple(d for d in own if d != dimension) for name, own in _NOTEBOOK.items()}
    return {**kept, ability: (*kept[ability], dimension)}


MAPS: Mapping[AbilityMap, Mapping[str, tuple[str, ...]]] = {
    "notebook": _NOTEBOOK,
    "documents": {
        "monitoring": ("attribution_depth", "steelmanning_quality"),
        "control": ("logical_grounding", "capitulation_quality", "normative_vs_informational"),
        "evaluation": ("transparency", "intellectual_courage", "confidence_coherence"),
        "self_regulation": ("error_acknowledgment", "blind_spot_recognition"),
    },
    "courage_self_regulates": _moved("intellectual_courage", "self_regulation"),
    "transparency_monitors": _moved("transparency", "monitoring"),
    "grounding_controls": _moved("logical_grounding", "control"),
}


def abilities(judged: Mapping[str, Floats], options: Options) -> dict[str, NDArray[Any]]:
    """Return the abilities of N instances from their grades, ``(N,)`` each and NaN where there is none.

    By its name each ability, 0..1, in which a dimension without a grade counts as 0.333; ``mas``: their mean, the Medley
    Ability Score; ``ipsative_…``: each minus the mean of the judged dimensions present (or of the four abilities);
    ``dominant``: name of the largest, the first on ties; ``n_judged``: dimensions with a grade, 0..10. With 0 the others
    say nothing.
    """
    grades = np.column_stack([judged[name] for name in JUDGE_DIMENSIONS])
    here = ~np.isnan(grades)
    n_judged = here.sum(axis=1)
    filled = dict(zip(JUDGE_DIMENSIONS, np.where(here, grades, MISSING).T, strict=True))
    means = [np.mean([filled[name] for name in own], axis=0) for own in MAPS[options.ability_map].values()]
    scores = np.column_stack(means)
    mas = scores.mean(axis=1)
    centre = mas
    if options.ipsative_centre == "dimensions":
        centre = divided(np.where(here, grades, 0.0).sum(axis=1), n_judged, n_judged > 0, MISSING)
    return {
        **dict(zip(ABILITIES, scores.T, strict=True)),
        **{f"ipsative_{name}": own - centre for name, own in zip(ABILITIES, scores.T, strict=True)},
        "mas": mas,
        "dominant": np.array(ABILITIES)[largest(scores, axis=1)],
        "n_judged": n_judged,
    }


def strengths(printed: Mapping[str, float]) -> dict[str, float]:
    """Return printed abilities of a model minus the mean of its ten judged dimensions, in the unit they are printed in."""
    sizes = {name: len(MAPS["notebook"][name]) for name in ABILITIES}
    centre = sum(size * printed[name] for name, size in sizes.items()) / sum(sizes.values())
    return {name: printed[name] - centre for name in ABILITIES}


def dominant_ability(dominant: Iterable[str]) -> str | None:
    """Return a model's most frequent dominant ability over instances, the first by name on ties; None without instances."""
    counts = Counter(dominant)
    return min(counts, key=lambda name: (-counts[name], name), default=None)
