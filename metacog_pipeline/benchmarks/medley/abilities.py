"""Four metacognitive abilities from the judged dimensions, their mean (MAS), and the profile within a respondent.

The paper never prints the whole map from dimensions to abilities; its Appendix K fixes the one of the authors' notebook,
``notebook``, which is the default. ``documents`` is the map of the package's documents; the other three each move one
dimension, for checks of robustness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley.parsing import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.rule_based.options import AbilityMap, Options
from metacog_pipeline.benchmarks.medley.rule_based.panel import Bools, Floats
from metacog_pipeline.benchmarks.medley.rule_based.table import Table

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


@dataclass(frozen=True, slots=True, eq=False)
class Abilities:
    """Abilities of N instances, in the order of ``ABILITIES``.

    Attributes
    ----------
    scores
        Shape ``(N, 4)``, 0..1; a dimension without a grade counts as 0.333.
    mas
        Shape ``(N,)``: their mean, the Medley Ability Score.
    ipsative
        Shape ``(N, 4)``: each minus the mean of the judged dimensions present (or of the four abilities).
    dominant
        Shape ``(N,)``: place of the largest, the first on ties.
    n_judged
        Shape ``(N,)``: dimensions with a grade, 0..10. With 0 the scores say nothing.
    """

    scores: Floats
    mas: Floats
    ipsative: Floats
    dominant: NDArray[np.int64]
    n_judged: NDArray[np.int64]


def abilities(judged: Table, options: Options) -> Abilities:
    """Return the abilities of instances from their judge grades."""
    values = {name: judged.column(name) for name in JUDGE_DIMENSIONS}
    scores = np.column_stack([_mean_grade(values, own) for own in MAPS[options.ability_map].values()])
    here = np.column_stack([present for _, present in values.values()])
    n_judged = here.sum(axis=1)
    if options.ipsative_centre == "dimensions":
        grades = np.column_stack([grade for grade, _ in values.values()])
        centre = np.full(len(scores), MISSING)
        np.divide(np.where(here, grades, 0.0).sum(axis=1), n_judged, out=centre, where=n_judged > 0)
    else:
        centre = scores.mean(axis=1)
    ipsative = scores - centre[:, None]
    return Abilities(scores, scores.mean(axis=1), ipsative, scores.argmax(axis=1), n_judged)


def dominant_ability(dominant: Sequence[int] | NDArray[np.int64]) -> tuple[str | None, int]:
    """Return a model's most frequent dominant ability over instances and its share in whole percent, cut off.

    Ties go to the first of control, evaluation, monitoring, self_regulation. None without instances.
    """
    places = np.asarray(dominant, dtype=np.int64)
    if not len(places):
        return None, 0
    counts = {name: int((places == place).sum()) for place, name in enumerate(ABILITIES)}
    best = max(sorted(counts), key=lambda name: counts[name])
    return best, 100 * counts[best] // len(places)


def _mean_grade(values: Mapping[str, tuple[Floats, Bools]], own: Sequence[str]) -> Floats:
    grades = [np.where(values[name][1], values[name][0], MISSING) for name in own]
    mean: Floats = np.mean(grades, axis=0)
    return mean
