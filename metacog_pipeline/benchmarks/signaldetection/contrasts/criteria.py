"""Does the criterion move when one error is said to be costly?

The published test: Z of two independent groups, Bonferroni over all pairs of a measure, a region of practical equivalence
of 0.1 on the adjusted interval ("Measuring the metacognition of AI", arXiv 2603.29693). It takes the conditions as
independent although they share their items. Beside it stands the paired test, whose standard error knows what the two
conditions have in common item by item, and the prediction c(S1) < c(none) < c(S2) of each model and task.

A family of tests is every pair of conditions of every model and task of one data set and source, one measure. ``value`` is
that of the condition with the higher predicted criterion minus the other, so the prediction says that c rises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Group
from metacog_pipeline.benchmarks.signaldetection.contrasts.influence import (
    QUANTITIES,
    Influences,
    all_influences,
)
from metacog_pipeline.benchmarks.signaldetection.grid import Counts, all_counts, number, numbered
from metacog_pipeline.benchmarks.signaldetection.measures.type1 import n_readable, no_type1
from metacog_pipeline.stats.decisions import Contrasts, condition_pairs, contrasts

Floats = NDArray[np.float64]

RISKS = ("risk_s1", "risk_none", "risk_s2")  # from the lowest predicted criterion to the highest
ROPE = 0.1
_KNOWN: WeakKeyDictionary[Counts, tuple[NDArray[np.int64], Influences]] = WeakKeyDictionary()
_WEAKEST_FIRST = ("not_significant", "negligible", "inconclusive", "significant")


@dataclass(frozen=True)
class _Pairs:
    """Pairs of conditions to compare, as places in lists of groups and their influences."""

    groups: Sequence[Group]
    counts: Sequence[Counts]
    influences: Sequence[Influences]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.first.tolist(), self.second.tolist(), strict=True)

    @cached_property
    def values(self) -> Floats:
        """The value of every quantity in every group, ``(quantities, groups)``."""
        return np.array([each.value for each in self.influences]).T.copy()

    @cached_property
    def variances(self) -> Floats:
        """Their variances."""
        return np.array([each.variance for each in self.influences]).T.copy()


def independent(benchmark: Benchmark[Any, Any, Any], groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield family ``criterion_z``: conditions taken as independent, as published."""
    for pairs in _families(groups):
        yield from _independent(pairs)


def paired(benchmark: Benchmark[Any, Any, Any], groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield family ``criterion_paired``: the pairs that share items, with what they share."""
    for pairs in _families(groups):
        yield from _paired(pairs)


def order(benchmark: Benchmark[Any, Any, Any], groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield family ``criterion_order``: whether c rises from S1 over none to S2."""
    for pairs in _families(groups):
        yield from _order(pairs, list(_independent(pairs, ("c",))))


def _families(groups: Sequence[Group]) -> Iterator[_Pairs]:
    """Yield the pairs of complete groups of the risk conditions, by source and data set."""
    families: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        if group.complete and group.condition in RISKS:
            families.setdefault((group.source, group.dataset), []).append(group)
    for family in families.values():
        counts = all_counts(family)
        items, _ = numbered(counts)
        moved = _influences(counts, items)
        subjects = [(group.task or "", group.model) for group in family]
        yield _Pairs(
            family, counts, moved, *condition_pairs(subjects, [group.condition for group in family], RISKS)
        )


def _influences(counts: Sequence[Counts], items: Sequence[NDArray[np.int64]]) -> list[Influences]:
    """Return the influences of the items of groups, computed once for all three families."""
    new = [
        (each, item)
        for each, item in zip(counts, items, strict=True)
        if (known := _KNOWN.get(each)) is None or not np.array_equal(known[0], item)
    ]
    if new:
        found = all_influences(*zip(*new, strict=True))
        _KNOWN.update({each: (item, own) for (each, item), own in zip(new, found, strict=True)})
    return [_KNOWN[each][1] for each in counts]


def _independent(pairs: _Pairs, shown: Sequence[str] = QUANTITIES) -> Iterator[Comparison]:
    ses = [np.sqrt(own[pairs.first] + own[pairs.second]) for own in pairs.variances]
    readable = [n_readable(each) for each in pairs.counts]
    n = [readable[i] + readable[j] for i, j in pairs]
    yield from _tests("criterion_z", pairs, ses, n, [None] * len(n), shown)


def _paired(pairs: _Pairs) -> Iterator[Comparison]:
    """Yield tests over the pairs that share items: a family of its own."""
    both = [pairs.influences[i].shared(pairs.influences[j]) for i, j in pairs]
    finite = np.isfinite(pairs.values[0])
    defined = finite[pairs.first] & finite[pairs.second]
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
    family: str,
    pairs: _Pairs,
    ses: Sequence[Floats],
    n: Sequence[int],
    notes: Sequence[str | None],
    shown: Sequence[str] = QUANTITIES,
) -> Iterator[Comparison]:
    if not len(pairs.first):
        return
    moved_d: NDArray[np.bool_] | None = None
    by_quantity: dict[str, Contrasts] = {}
    for name in ("d", "c", "c_prime"):  # d′ first: c′ is examined where d′ moved
        quantity = QUANTITIES.index(name)
        value = pairs.values[quantity]
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
    why = [no_type1(each) for each in pairs.counts]
    bases = [
        _base(family, pairs.groups[i], pairs.groups[j], size, why[i] or why[j] or "ok")
        for (i, j), size in zip(pairs, n, strict=True)
    ]
    for name in shown:
        yield from contrast_rows(by_quantity[name], bases, notes)


def contrast_rows(
    found: Contrasts, bases: Sequence[Mapping[str, Any]], notes: Sequence[str | None]
) -> Iterator[Comparison]:
    """Yield one row per contrast: ``bases`` are the columns that say what is compared, ``notes`` stand before its own."""
    test = found.test
    numbers = {
        "value": found.difference, "se": found.se, "low": test.low, "high": test.high, "low_adjusted": test.low_adjusted,
        "high_adjusted": test.high_adjusted, "statistic": test.z, "p": test.p, "p_adjusted": test.p_adjusted,
    }  # fmt: skip
    told = zip(*map(_plain, numbers.values()), strict=True)
    statuses, verdicts = found.status.tolist(), found.verdict.tolist()
    for place, (base, values, note) in enumerate(zip(bases, told, notes, strict=True)):
        status, verdict = statuses[place], None
        if status == "ok":
            verdict = verdicts[place]
            note = "; ".join(said for said in (note, _c_prime_note(found, place)) if said) or None
        if base.get("status", "ok") != "ok":
            status = base["status"]
        own = dict(zip(numbers, values, strict=True))
        yield Comparison(
            **{**base, "measure": found.quantity, **own, "verdict": verdict, "note": note, "status": status}
        )


def _plain(values: Floats) -> list[float | None]:
    """Return plain numbers, None for those that are not finite."""
    plain: list[float | None] = values.tolist()
    if np.isfinite(values).all():
        return plain
    return [number(each) for each in plain]


def _c_prime_note(found: Contrasts, place: int) -> str | None:
    if found.quantity != "c_prime":
        return None
    return "d′ moved too" if found.examined[place] else "d′ did not move: c tells the same"


def _base(family: str, one: Group, two: Group, n: int, status: str) -> dict[str, Any]:
    return {
        "family": family, "a": two.condition, "b": one.condition, "dataset": one.dataset, "source": one.source,
        "task": one.task, "model": one.model, "n": n,
        "status": status,
    }  # fmt: skip


def _order(pairs: _Pairs, shifts: Sequence[Comparison]) -> Iterator[Comparison]:
    """Say of every model and task with all three conditions whether c rises from S1 over none to S2.

    ``value`` is c(S2) - c(S1), ``statistic`` the number of steps, of two, that go up. The verdict is the weaker
    one of the two steps' tests where both go up, ``not_significant`` otherwise.
    """
    steps = list(zip(RISKS[1:], RISKS[:-1], strict=True))
    of_model: dict[tuple[str | None, str | None], dict[tuple[str | None, str | None], Comparison]] = {}
    for row in shifts:
        of_model.setdefault((row.task, row.model), {})[row.a, row.b] = row
    value: dict[tuple[str | None, str | None, str], float] = {
        (group.task, group.model, group.condition): each.value[0]
        for group, each in zip(pairs.groups, pairs.influences, strict=True)
    }
    for (task, model), tests in of_model.items():
        whole = tests.get((RISKS[-1], RISKS[0]))
        if whole is None or any(step not in tests for step in steps):
            continue
        base = replace(
            whole, family="criterion_order", se=None, low=None, high=None, low_adjusted=None, p=None,
            high_adjusted=None, statistic=None, p_adjusted=None, verdict=None, note=None,
        )  # fmt: skip
        c = [value[task, model, name] for name in RISKS]
        if not np.isfinite(c).all():
            yield replace(base, value=None, status=next(t.status for t in tests.values() if t.status != "ok"))
            continue
        up = sum(later > earlier for earlier, later in pairwise(c))
        verdicts = [tests[step].verdict or "not_significant" for step in steps]
        verdict = min(verdicts, key=_WEAKEST_FIRST.index) if up == 2 else "not_significant"
        shown = ", ".join(f"{name} {x:.3f}" for name, x in zip(RISKS, c, strict=True))
        said = "as predicted" if up == 2 else "not as predicted"
        yield replace(base, statistic=float(up), verdict=verdict, note=f"{said}: c is {shown}")
