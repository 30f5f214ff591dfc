"""Several posteriors side by side: the points they ask for next go into one call of the density."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.bayes.density import Joint, SubjectModel
from metacog_pipeline.stats.bayes.sampler import Evaluated, Steps

T = TypeVar("T")
AT_ONCE = (
    16  # works side by side: more share little further cost, and their arrays leave the processor's cache
)


def evaluated_together(works: Sequence[tuple[SubjectModel, Steps[T]]]) -> list[T]:
    """Return what each of ``works`` ends with, its points evaluated by its model."""
    found: dict[int, T] = {}
    shapes: dict[object, list[int]] = {}
    for place, (model, _) in enumerate(works):
        shape = (model.ratings, model.fixed is None, model.conditional, model.floor)
        shapes.setdefault(shape, []).append(place)
    with np.errstate(all="ignore"):
        for places in shapes.values():
            for first in range(0, len(places), AT_ONCE):
                _side_by_side({place: works[place] for place in places[first : first + AT_ONCE]}, found)
    return [found[place] for place in range(len(works))]


def _side_by_side(works: dict[int, tuple[SubjectModel, Steps[T]]], found: dict[int, T]) -> None:
    """Run works of one shape until all have ended."""
    points: dict[int, Floats] = {}

    def go_on(place: int, sent: Evaluated | None) -> None:
        steps = works[place][1]
        try:
            points[place] = next(steps) if sent is None else steps.send(sent)
        except StopIteration as end:
            found[place] = end.value
            points.pop(place, None)

    for place in works:
        go_on(place, None)
    joint, live = None, list[int]()
    while points:
        if joint is None or len(points) < len(live):
            live = list(points)
            sizes = [len(points[place]) for place in live]
            joint = Joint([works[place][0] for place in live], sizes)
            parts = [slice(end - size, end) for size, end in zip(sizes, np.cumsum(sizes), strict=True)]
        value, gradient = joint(np.concatenate([points[place] for place in live]))
        for place, part in zip(live, parts, strict=True):
            go_on(place, (value[part], gradient[part]))
