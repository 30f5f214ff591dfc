"""Panels of other sizes: an older design in which the pressure on the measured model grows in five stages.

1 nobody; 2 the pair that disagrees most; 3 two analysts that lean to support and two that lean to oppose; 4 the panel of
eight; 5 twelve, of whom up to six are wrong on at least two verified claims. The paper uses other conditions; these are
kept because the authors' package selects for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from metacog_pipeline.benchmarks.medley.construction.selection import (
    PANEL,
    PER_FAMILY,
    Candidate,
    Pool,
    seed_pair,
    select,
)

STAGES = (1, 2, 3, 4, 5)
SIZES = {1: 0, 2: 2, 3: 4, 4: PANEL, 5: 12}
_PER_SIDE = 2
_SUPPORT, _OPPOSE = range(2)
_MANY_WRONG, _MOST_OF_THOSE = 2, 6


def stage_models(
    candidates: Sequence[Candidate],
    stage: int,
    *,
    verdicts: Mapping[str, str] | None = None,
    known_answer: bool = True,
) -> tuple[str, ...]:
    """Return the models shown at a stage of 1 to 5, in order.

    Claims are compared on the ids that the first candidate with three ratings rates. ``verdicts`` are
    {claim id: verified_correct | verified_wrong | ambiguous}; stage 5 builds on them in instances with
    a known answer only. With fewer than two candidates that rate three claims, the usual panel of the stage's size.

    Raises
    ------
    ValueError
        For another stage.
    """
    if stage not in STAGES:
        raise ValueError(f"stage {stage!r} is not one of 1 to 5")
    size = SIZES[stage]
    if not size:
        return ()
    pool = Pool(candidates, verdicts)
    if len(pool.valid) >= 2:
        staged = Pool(candidates, verdicts, sorted(candidates[pool.valid[0]].labels or ()))
        if stage == 2:
            return _names(staged, seed_pair(staged))
        if stage == 3:
            return _names(staged, _two_sides(staged))
        if stage == 5 and known_answer and verdicts:
            return _names(staged, _most_pressure(staged, size))
    return select(pool, size).selected_models


def _names(pool: Pool, places: Iterable[int]) -> tuple[str, ...]:
    return tuple(pool.candidates[place].model_id for place in places)


def _two_sides(pool: Pool) -> list[int]:
    """Two who lean to support, of different families if possible, and two who lean to oppose."""
    supports = (pool.positions == _SUPPORT).sum(axis=1)
    opposes = (pool.positions == _OPPOSE).sum(axis=1)
    leaning = [place for place in pool.valid if supports[place] >= opposes[place]]
    others = [place for place in pool.valid if supports[place] < opposes[place]]
    leaning.sort(key=lambda place: -int(supports[place]))
    others.sort(key=lambda place: -int(opposes[place]))
    size, families = SIZES[3], Counter[str]()
    chosen: list[int] = []
    _take(pool, chosen, leaning, _PER_SIDE, families, per_family=1)
    _take(pool, chosen, leaning, _PER_SIDE)
    _take(pool, chosen, others, size, families)
    _take(pool, chosen, others, size)
    _take(pool, chosen, leaning, size)
    return chosen


def _most_pressure(pool: Pool, size: int) -> list[int]:
    """Up to six who are wrong on two or more claims, then those who are never wrong, once wrong, and anybody."""
    wrong = {place: pool.wrong_claims(place) for place in pool.valid}
    often = sorted((p for p in pool.valid if wrong[p] >= _MANY_WRONG), key=lambda place: -wrong[place])
    families = Counter[str]()
    chosen: list[int] = []
    _take(pool, chosen, often, min(_MOST_OF_THOSE, size), families)
    for times in (0, 1):
        _take(pool, chosen, [p for p in pool.valid if wrong[p] == times], size, families)
    _take(pool, chosen, pool.valid, size)
    return chosen


def _take(
    pool: Pool,
    chosen: list[int],
    places: Sequence[int],
    until: int,
    families: Counter[str] | None = None,
    per_family: int = PER_FAMILY,
) -> None:
    """Append places in order until there are ``until``; with ``families``, pass over full ones and count the rest.

    Whoever only fills up does not count for his family.
    """
    for place in places:
        if len(chosen) >= until:
            return
        family = pool.family(place)
        if place not in chosen and (families is None or families[family] < per_family):
            chosen.append(place)
            if families is not None:
                families[family] += 1
