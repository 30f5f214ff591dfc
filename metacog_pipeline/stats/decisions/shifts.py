"""Does a decision maker move its criterion when one error is costly? Differences between conditions.

Each measure (c, d′, c′) is its own family of tests: Z = (x₂ - x₁) / √(Var₁ + Var₂), Bonferroni over all pairs, then a
region of practical equivalence on the Bonferroni-adjusted interval. A moved criterion is worth interpreting through c′
where d′ moved too; ``examined`` says so. Source: "Measuring the metacognition of AI" (arXiv 2603.29693), c-calibration.

The variances are those of independent trials. Where both conditions were answered on the same items, a paired test
(`contrasts` with its own standard error) is the exact one and usually the sharper.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.decisions.verdicts import ZTest, verdicts, z_test
from metacog_pipeline.stats.estimate import OK
from metacog_pipeline.stats.type1 import Type1

CONDITIONS = ("S1", "None", "S2")  # predicted order of c, from the lowest up
UNDEFINED = "no finite difference: a rate of 0 or 1, or an empty class"
NO_SPREAD = "no sampling variance"


@dataclass(frozen=True, slots=True)
class Contrasts:
    """Differences of one quantity, one row per pair of cells; every array has shape ``(pairs,)``.

    Attributes
    ----------
    quantity
        ``c``, ``d`` or ``c_prime``.
    first, second
        Indices of the two cells of each pair; the difference is second - first.
    difference, se
        In the unit of the quantity; NaN where ``status`` says why.
    test
        Z, p, adjusted p, intervals at the plain and the Bonferroni level.
    verdict
        ``not_significant``, ``significant``, ``negligible``, ``inconclusive``; ``untested`` without a number.
    examined
        Whether the row is one to interpret: for c′ where d′ differs significantly, elsewhere always.
    status
        ``"ok"`` or the reason there is no test.
    rope
        Half width of the region of practical equivalence.
    """

    quantity: str
    first: Ints
    second: Ints
    difference: Floats
    se: Floats
    test: ZTest
    verdict: NDArray[np.str_]
    examined: NDArray[np.bool_]
    status: NDArray[np.str_]
    rope: float


@dataclass(frozen=True, slots=True)
class CriterionShifts:
    """The same pairs of cells compared in c, d′ and c′."""

    c: Contrasts
    d: Contrasts
    c_prime: Contrasts


def criterion_shift(
    table: Type1,
    groups: Sequence[Hashable],
    conditions: Sequence[str],
    *,
    order: Sequence[str] = CONDITIONS,
    family_size: int | None = None,
    rope: float = 0.1,
    level: float = 0.95,
) -> CriterionShifts:
    """Compare the conditions of each group (a task × model).

    Parameters
    ----------
    table
        Type-1 measures of the cells.
    groups, conditions
        One per cell; cells of one group are compared with each other, and no condition comes twice in a group.
    order
        Conditions from the lowest expected criterion to the highest; pairs are made in this direction, neighbours first.
        A group without one of them has fewer pairs; a condition not named here is a ValueError.
    family_size
        Tests per family; by default the number of pairs in the table.
    rope
        Half width of the region of practical equivalence, in the unit of each quantity.
    level
        Confidence of the plain interval, and 1 - the familywise error.

    Examples
    --------
    >>> from metacog_pipeline.stats.type1 import type1_from_table
    >>> table = type1_from_table([80, 60], [20, 40], [40, 20], [60, 80])
    >>> found = criterion_shift(table, ["m", "m"], ["S2", "None"]).c
    >>> found.difference.round(2), found.verdict.tolist()
    (array([-0.59]), ['significant'])
    """
    first, second = condition_pairs(groups, conditions, order)
    if len(groups) != len(table.d):
        raise ValueError(f"{len(groups)} groups for {len(table.d)} cells")
    size = (len(first) or 1) if family_size is None else family_size
    # A correction gives an empty class a rate; it is no measurement.
    measured = np.isin(table.status, ("ok", "zero_dprime"))

    def family(
        name: str, value: Floats, variance: Floats, examined: NDArray[np.bool_] | None = None
    ) -> Contrasts:
        value = np.where(measured, value, np.nan)
        with np.errstate(invalid="ignore"):  # inf - inf at extreme rates is a row with a status
            delta, spread = value[second] - value[first], variance[first] + variance[second]
        spread = np.where(spread >= 0, spread, np.nan)
        return contrasts(
            name, first, second, delta, np.sqrt(spread), family_size=size, rope=rope, level=level, examined=examined,
        )  # fmt: skip

    d = family("d", table.d, table.var_d)
    return CriterionShifts(
        family("c", table.c, table.var_c),
        d,
        family("c_prime", table.c_prime, table.var_c_prime, d.test.significant),
    )


def condition_pairs(
    groups: Sequence[Hashable], conditions: Sequence[str], order: Sequence[str] = CONDITIONS
) -> tuple[Ints, Ints]:
    """Return the indices (first, second) of the cells to compare, groups in order of appearance.

    Parameters
    ----------
    groups, conditions
        Of each cell, in one order.
    order
        Conditions from first to last; a pair goes from the earlier to the later one.

    Raises
    ------
    ValueError
        For unequal lengths, a condition that is not in ``order``, or a condition twice in one group.

    >>> condition_pairs(["m", "m", "m"], ["None", "S1", "S2"])
    (array([1, 0, 1]), array([0, 2, 2]))
    """
    if len(groups) != len(conditions):
        raise ValueError(f"{len(groups)} groups for {len(conditions)} conditions")
    if len(set(order)) != len(order):
        raise ValueError(f"order names a condition twice: {', '.join(order)}")
    cells: dict[Hashable, dict[str, int]] = {}
    for i, (group, condition) in enumerate(zip(groups, conditions, strict=True)):
        if condition not in order:
            raise ValueError(f"condition {condition!r} is not one of {', '.join(order)}")
        if condition in cells.setdefault(group, {}):
            raise ValueError(f"condition {condition!r} comes twice in group {group!r}")
        cells[group][condition] = i
    steps = [(a, a + gap) for gap in range(1, len(order)) for a in range(len(order) - gap)]
    pairs = [
        (cell[order[a]], cell[order[b]])
        for cell in cells.values()
        for a, b in steps
        if order[a] in cell and order[b] in cell
    ]
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def contrasts(
    quantity: str,
    first: Ints,
    second: Ints,
    difference: ArrayLike,
    se: ArrayLike,
    *,
    family_size: int | None = None,
    rope: float = 0.1,
    level: float = 0.95,
    examined: NDArray[np.bool_] | None = None,
) -> Contrasts:
    """Test one family of differences and give each its verdict; parameters as in :func:`criterion_shift`.

    A family size of 1 corrects for nothing: plain and adjusted intervals, p and verdict are those of a single test.

    Parameters
    ----------
    quantity
        What the differences are of, in words.
    first, second
        Indices of the cells of each pair, shapes ``(pairs,)``.
    difference, se
        Differences and their standard errors, shapes ``(pairs,)``.
    family_size
        How many tests are corrected for; None: all that have a number.
    rope
        Half width of the region of practical equivalence.
    level
        Coverage of the plain interval, 0..1.
    examined
        Which pairs belong to the family; None: all.

    Examples
    --------
    >>> contrasts("c", np.array([0]), np.array([1]), [0.5], [0.1]).verdict.tolist()
    ['significant']
    """
    delta, error = np.asarray(difference, dtype=np.float64), np.asarray(se, dtype=np.float64)
    finite = np.isfinite(delta) & np.isfinite(error)
    status = np.where(finite, np.where(error > 0, OK, NO_SPREAD), UNDEFINED)
    tested = status == OK
    delta, error = np.where(finite, delta, np.nan), np.where(finite, error, np.nan)
    test = z_test(delta, np.where(tested, error, np.nan), family_size, level)
    verdict = verdicts(test.low_adjusted, test.high_adjusted, rope, test.significant)
    seen = np.ones(len(delta), dtype=np.bool_) if examined is None else examined
    return Contrasts(quantity, first, second, delta, error, test, verdict, seen, status, rope)
