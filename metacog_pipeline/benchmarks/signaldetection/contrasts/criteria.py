"""Does the criterion move when one error is said to be costly?

The published test: Z of two independent groups, Bonferroni over all pairs of a measure, a region of practical equivalence
of 0.1 on the adjusted interval ("Measuring the metacognition of AI", arXiv 2603.29693). It takes the conditions as
independent although they share their items. Beside it stands the paired test, whose standard error knows what the two
conditions have in common item by item, and the prediction c(S1) < c(none) < c(S2) of each model and task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.common.rows import number
from metacog_pipeline.benchmarks.signaldetection.contrasts.influence import QUANTITIES, Linear, linear
from metacog_pipeline.benchmarks.signaldetection.groups import RISKS, Group, in_groups
from metacog_pipeline.benchmarks.signaldetection.measures.plain import n_readable, no_type1
from metacog_pipeline.benchmarks.signaldetection.rows import Comparison
from metacog_pipeline.stats.decisions import Contrasts, condition_pairs, contrasts

Floats = NDArray[np.float64]

ROPE = 0.1
_WEAKEST_FIRST = ("not_significant", "negligible", "inconclusive", "significant")


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of conditions to compare, as places in lists of groups and their influences."""

    groups: Sequence[Group]
    influences: Sequence[Linear]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.first.tolist(), self.second.tolist(), strict=True)

    def value(self, quantity: int) -> Floats:
        """Return the value of the quantity in every group."""
        return np.array([each.value[quantity] for each in self.influences])

    def variance(self, quantity: int) -> Floats:
        """Return its variance in every group."""
        return np.array([each.variance[quantity] for each in self.influences])


def criterion_rows(groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield families ``criterion_z``, ``criterion_paired`` and ``criterion_order`` of complete groups.

    A family of tests is every pair of conditions of every model and task of one data set and source, one measure.
    ``difference`` is that of the condition with the higher predicted criterion minus the other, so the prediction says
    that c rises.
    """
    chosen = [group for group in groups if group.condition in RISKS]
    for family in in_groups(chosen, 1).values():
        subjects = [(group.key[2], group.key[4]) for group in family]
        first, second = condition_pairs(subjects, [group.condition for group in family], RISKS)
        pairs = _Pairs(family, [linear(group) for group in family], first, second)
        independent = list(_independent(pairs))
        yield from independent
        yield from _paired(pairs)
        yield from _order(pairs, [row for row in independent if row.measure == "c"])


def _independent(pairs: _Pairs) -> Iterator[Comparison]:
    ses = [
        np.sqrt(pairs.variance(quantity)[pairs.first] + pairs.variance(quantity)[pairs.second])
        for quantity in range(len(QUANTITIES))
    ]
    n = [n_readable(pairs.groups[i]) + n_readable(pairs.groups[j]) for i, j in pairs]
    yield from _tests("criterion_z", pairs, ses, n, [None] * len(n))


def _paired(pairs: _Pairs) -> Iterator[Comparison]:
    """Tests over the pairs that share items: a family of its own."""
    both = [pairs.influences[i].shared(pairs.influences[j]) for i, j in pairs]
    defined = [all(np.isfinite(pairs.influences[k].value[0]) for k in pair) for pair in pairs]
    kept = np.array([n > 0 or not known for n, known in zip(both, defined, strict=True)], dtype=np.bool_)
    sharing = replace(pairs, first=pairs.first[kept], second=pairs.second[kept])
    variances, covariances = [], []
    for i, j in sharing:
        one, two = pairs.influences[i], pairs.influences[j]
        variances.append((one.variance, two.variance))
        covariances.append(one.covariance(two))
    v = np.array(variances).reshape(-1, 2, len(QUANTITIES))
    shared = np.array(covariances).reshape(-1, len(QUANTITIES))
    with np.errstate(invalid="ignore"):
        ses = np.sqrt(np.maximum(v.sum(axis=1) - 2 * shared, 0.0))
        together = shared / np.sqrt(v.prod(axis=1))
    numbers = [n for n, keep in zip(both, kept, strict=True) if keep]
    notes = [
        None if not np.isfinite(r[0]) else f"c of the two conditions correlates {r[0]:.2f} over shared items"
        for r in together
    ]
    yield from _tests("criterion_paired", sharing, list(ses.T), numbers, notes)


def _tests(
    family: str, pairs: _Pairs, ses: Sequence[Floats], n: Sequence[int], notes: Sequence[str | None]
) -> Iterator[Comparison]:
    if not len(pairs.first):
        return
    moved_d: NDArray[np.bool_] | None = None
    by_quantity: dict[str, Contrasts] = {}
    for name in ("d", "c", "c_prime"):  # d′ first: c′ is examined where d′ moved
        quantity = QUANTITIES.index(name)
        value = pairs.value(quantity)
        by_quantity[name] = contrasts(
            name,
            pairs.first,
            pairs.second,
            value[pairs.second] - value[pairs.first],
            ses[quantity],
            rope=ROPE,
            examined=moved_d if name == "c_prime" else None,
        )
        moved_d = by_quantity["d"].test.significant
    bases = [
        _base(family, pairs.groups[i], pairs.groups[j], size) for (i, j), size in zip(pairs, n, strict=True)
    ]
    for name in QUANTITIES:
        for row, note in zip(contrast_rows(by_quantity[name], bases), notes, strict=True):
            yield replace(row, note="; ".join(text for text in (note, row.note) if text) or None)


def contrast_rows(found: Contrasts, bases: Sequence[Comparison]) -> Iterator[Comparison]:
    """Yield one row per contrast: ``bases`` say what is compared, ``found`` with which result."""
    test = found.test
    for place, base in enumerate(bases):
        status = str(found.status[place])
        yield replace(
            base,
            measure=found.quantity,
            difference=number(found.difference[place]),
            se=number(found.se[place]),
            low=number(test.low[place]),
            high=number(test.high[place]),
            low_adjusted=number(test.low_adjusted[place]),
            high_adjusted=number(test.high_adjusted[place]),
            statistic=number(test.z[place]),
            p=number(test.p[place]),
            p_adjusted=number(test.p_adjusted[place]),
            verdict=str(found.verdict[place]) if status == "ok" else None,
            note=_c_prime_note(found, place) if status == "ok" else None,
            status=base.status if base.status != "ok" else status,
        )


def _c_prime_note(found: Contrasts, place: int) -> str | None:
    if found.quantity != "c_prime":
        return None
    return "d′ moved too" if found.examined[place] else "d′ did not move: c tells the same"


def _base(family: str, one: Group, two: Group, n: int) -> Comparison:
    _, dataset, task, _, model = one.key
    return Comparison(
        dataset, one.source, task, None, model, family, "", two.condition, one.condition, n=n,
        status=no_type1(one) or no_type1(two) or "ok",
    )  # fmt: skip


def _order(pairs: _Pairs, shifts: Sequence[Comparison]) -> Iterator[Comparison]:
    """Say of every model and task with all three conditions whether c rises from S1 over none to S2.

    ``difference`` is c(S2) - c(S1), ``statistic`` the number of steps, of two, that go up. The verdict is the weaker
    one of the two steps' tests where both go up, ``not_significant`` otherwise.
    """
    steps = list(zip(RISKS[1:], RISKS[:-1], strict=True))
    by_cell: dict[tuple[str | None, str | None], dict[tuple[str | None, str | None], Comparison]] = {}
    for row in shifts:
        by_cell.setdefault((row.task, row.model), {})[row.a, row.b] = row
    value = {
        (group.key[2], group.key[4], group.condition): each.value[0]
        for group, each in zip(pairs.groups, pairs.influences, strict=True)
    }
    for (task, model), tests in by_cell.items():
        whole = tests.get((RISKS[-1], RISKS[0]))
        if whole is None or any(step not in tests for step in steps):
            continue
        base = replace(
            whole, family="criterion_order", se=None, low=None, high=None, low_adjusted=None, p=None,
            high_adjusted=None, statistic=None, p_adjusted=None, verdict=None, note=None,
        )  # fmt: skip
        c = [value[task, model, name] for name in RISKS]  # type: ignore[index]
        if not np.isfinite(c).all():
            yield replace(
                base, difference=None, status=next(t.status for t in tests.values() if t.status != "ok")
            )
            continue
        up = sum(later > earlier for earlier, later in pairwise(c))
        verdicts = [tests[step].verdict or "not_significant" for step in steps]
        verdict = min(verdicts, key=_WEAKEST_FIRST.index) if up == 2 else "not_significant"
        shown = " , ".join(f"{name} {x:.3f}" for name, x in zip(RISKS, c, strict=True)).replace(" ,", ",")
        said = "as predicted" if up == 2 else "not as predicted"
        yield replace(base, statistic=float(up), verdict=verdict, note=f"{said}: c is {shown}")
