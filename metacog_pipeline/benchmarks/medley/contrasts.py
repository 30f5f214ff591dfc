"""Comparisons of models that were asked the same instances, and checks of how firm a ranking by MMS is."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from metacog_pipeline.benchmark.contract import Comparison, Contrast, Group, lost_items
from metacog_pipeline.benchmarks.medley import measures, pull
from metacog_pipeline.benchmarks.medley.construction.sets import UNKNOWN, published_family
from metacog_pipeline.benchmarks.medley.items import ADVERSARIAL, DOMAINS, NORMAL, NUDGED
from metacog_pipeline.benchmarks.medley.judging import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.rules import Floats
from metacog_pipeline.benchmarks.medley.scores import ABILITIES, ALTERNATIVES, NOTEBOOK, abilities, moved_map
from metacog_pipeline.scoring.paired_tests import joined
from metacog_pipeline.stats import exact, pca, ranks, resampling, robust
from metacog_pipeline.stats.correlation import regression
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, OK, Estimate
from metacog_pipeline.stats.ranksum import mann_whitney
from metacog_pipeline.stats.robust import N_BOOT

Rows = Iterator[Comparison]
Worlds = Iterator[tuple[Comparison, list[Group]]]
ALPHA = 0.05
DIFFERENCE = "evaluation - control"
TOO_FEW_SIZES = "two families of two sizes are needed, or three models of one"
SAME_SIZE = 1e-9  # difference of log10 below which two sizes are one
_JUDGED = [f"judged_{name}" for name in JUDGE_DIMENSIONS]
_OWN = ("dataset", "scoring", "source", "condition", "family")


def _worlds(groups: Sequence[Group], whole: bool) -> Worlds:
    """Yield groups that may be compared, with what their rows have in common; only complete ones where ``whole``."""
    found: dict[Comparison, list[Group]] = {}
    for group in groups:
        if group.incomplete is None or not whole:
            base = Comparison("", "", dataset=group.dataset, scoring=group.scoring, source=group.source)
            found.setdefault(base, []).append(group)
    yield from found.items()


def _scored(
    groups: Sequence[Group], condition: str | None = NORMAL, whole: bool = True, least: int = 1
) -> Worlds:
    """Yield groups of one condition (None: of each) that have something scored; ``least`` models or nothing."""
    for base, own in _worlds(groups, whole):
        known = [group for group in own if not measures.averages(group).items.is_empty()]
        for name in dict.fromkeys(group.condition for group in known):
            found = [each for each in known if each.condition == name]
            if condition in (None, name) and len(found) >= least:
                yield replace(base, condition=name), found


def _models(groups: Sequence[Group], whole: bool = True) -> Iterator[tuple[Comparison, dict[str, Group]]]:
    """Yield the groups of each model by condition, where ``normal`` is one of these."""
    for base, own in _worlds(groups, whole):
        for arms in measures.arms_of(own).values():
            if NORMAL in arms:
                yield replace(base, model=arms[NORMAL].model), arms


def _table(frames: Sequence[pl.DataFrame], column: str = "mms") -> tuple[Floats, list[str]]:
    """Return a column as models × instances, NaN where a model has none, and the instances."""
    ids = sorted({name for frame in frames for name in frame["item_id"]})
    values = np.full((len(frames), len(ids)), np.nan)
    for row, frame in enumerate(frames):
        values[row, np.searchsorted(ids, frame["item_id"])] = frame[column].to_numpy()
    return values, ids


def _items(groups: Sequence[Group]) -> list[pl.DataFrame]:
    return [measures.averages(group).items for group in groups]


def _mean(values: pl.Series) -> float | None:
    known = values.drop_nulls()
    return float(known.to_numpy().mean()) if len(known) else None


def _means(groups: Sequence[Group], column: str) -> Floats:
    return np.array([_mean(items[column]) for items in _items(groups)], dtype=np.float64)


def _with(row: Comparison, found: Estimate, **more: Any) -> Comparison:
    told: dict[str, Any] = {name: getattr(found, name) for name in ("value", "low", "high", "n", "status")}
    return replace(row, **told | more)


def _by_rank(row: Comparison, first: ArrayLike, second: ArrayLike, **more: Any) -> Comparison:
    # The statistic of an agreement of rankings is the largest shift of a rank.
    found = robust.rank_shift(first, second)
    return _with(row, found.rho, **{"statistic": float(found.largest), **more})


def paired(benchmark: measures.Bound, groups: Sequence[Group], wanted: Collection[tuple[str, str]]) -> Rows:
    """Yield the wanted pairs of models under every condition, on the instances both were scored on."""
    arms = measures.arms_of(groups)
    for base, own in _scored(groups, None, whole=False):
        place = {group.model: number for number, group in enumerate(own)}
        pairs = [(place[a], place[b]) for a, b in wanted if a in place and b in place]
        for measure in ("mms", *pull.PULLS.get(own[0].condition, ())) if pairs else ():
            statistic: robust.Location = "trimmed_mean" if measure == "mms" else "mean"
            pulls = [pull.pulls(g.condition, arms[measures.model_of(g)]) for g in own if measure != "mms"]
            values, _ = _table(pulls or _items(own), measure)
            resampled = _resampled(values, statistic, benchmark.stream("items"))
            same = replace(base, family="models_paired", measure=measure)
            for i, j in pairs:
                found = _paired(values[[i, j]], resampled(i, j), statistic)
                yield replace(same, a=own[i].model, b=own[j].model, **found)


def _resampled(values: Floats, statistic: robust.Location, seed: int) -> Callable[[int, int], Floats]:
    """Return the resampled scores ``(B, 2)`` of any two models; ``values`` are ``(models, instances)``."""
    here, together = ~np.isnan(values), dict[bytes, Floats]()
    drawn = functools.partial(robust.resampled_locations, statistic=statistic, n_boot=N_BOOT, seed=seed)

    def pair(i: int, j: int) -> Floats:
        if (here[i] != here[j]).any():
            # Only what both were scored on may distinguish them.
            both = np.where(here[i] & here[j], values[[i, j]], np.nan)
            return drawn(both[:, here[i] | here[j]])
        if (key := here[i].tobytes()) not in together:
            # Models with the same instances are resampled together, once.
            same = (here == here[i]).all(axis=1)
            together[key] = np.full((N_BOOT, len(values)), np.nan)
            together[key][:, same] = drawn(values[:, here[i]][same])
        return together[key][:, [i, j]]

    return pair


def _paired(values: Floats, drawn: Floats, statistic: robust.Location) -> dict[str, Any]:
    """Return the parts of a comparison of two models, from values ``(2, instances)`` and resampled scores ``(B, 2)``."""
    here = ~np.isnan(values)
    shared = values[:, here.all(axis=0)]
    n, value = shared.shape[1], float(np.subtract(*robust.location(shared, statistic)))
    lost = lost_items(int(here[0].sum()), int(here[1].sum()), n)
    made: dict[str, Any] = {"value": value if math.isfinite(value) else None, "n": n, "note": lost}
    if not n:
        return made | {"status": "no shared instances"}
    found = resampling.difference(value, drawn[:, 0] - drawn[:, 1], "percentile", tolerance=1e-12, wald=True)
    if found.low is None:
        return made | {"status": OFTEN_UNDEFINED}
    if found.se is None or found.se <= 1e-12:
        return made | {"status": "no spread over resamples", "p": 1.0 if abs(value) < 1e-12 else None}
    p: float | None
    if n > exact.MOST_SWAPPED:
        # Student's t counts the instances that are not trimmed (Yuen 1974): the normal distribution rejects too often.
        trimmed = robust.TRIMMED if statistic == "trimmed_mean" else 0.0
        wald = resampling.wald_p(value / found.se, n - 2 * int(trimmed * n + 1e-9) - 1)
        p, how = max(wald, exact.least_p(n)), found.usable_note
    else:
        one, two = shared[:, :, None]
        p, how = exact.paired_p(one, two, lambda each: robust.location(each[:, :, 0], statistic)), exact.NOTE
    told = {"se": found.se, "low": found.low, "high": found.high, "statistic": found.statistic}
    return {**made, **told, "p": p, "note": joined(how, lost)}


def ranked(benchmark: measures.Bound, groups: Sequence[Group]) -> Rows:
    """Yield the rank of every complete model with the central 95 % of its ranks over resamples."""
    for base, every in _scored(groups, whole=False):
        row, own = replace(base, family="rank", measure="mms"), [g for g in every if g.incomplete is None]
        for group, items in zip(every, _items(every), strict=True):
            if group.incomplete is not None:
                yield replace(row, model=group.model, n=items.height, status=group.incomplete)
        frames = _items(own)
        values, _ = _table(frames)
        drawn = robust.resampled_locations(values, n_boot=N_BOOT, seed=benchmark.stream("items"))
        found = robust.rank_distribution(robust.location(values), drawn)
        ends = zip(found.observed.tolist(), found.low.tolist(), found.high.tolist(), found.share, strict=True)
        for group, items, (value, low, high, share) in zip(own, frames, ends, strict=True):
            note = f"first in {100 * share[0]:.0f} % of resamples"
            yield replace(row, model=group.model, value=value, low=low, high=high, n=items.height, note=note)


def related(benchmark: measures.Bound) -> Mapping[str, frozenset[str]]:
    """Return {model: the instances that show an analyst of its family}, by the study file or its name."""
    shown = {item.item_id: {published_family(a.model_id) for a in item.analysts} for item in benchmark.items}
    found = {}
    for spec in benchmark.study.models:
        own = {name.lower() for name in (spec.family, published_family(spec.model or spec.name)) if name}
        found[spec.name] = frozenset(item for item, families in shown.items() if families & own - {UNKNOWN})
    return found


def overlap(benchmark: measures.Bound, groups: Sequence[Group]) -> Rows:
    """Yield whether models score otherwise where they meet an analyst of their own family; p by Holm over models."""
    kin = related(benchmark)
    for base, own in _scored(groups):
        row = replace(base, family="analyst_overlap", measure="mms")
        between = replace(row, a="models with an analyst of their family", b="models without")
        within = replace(row, a="instances with an analyst of its family", b="instances without")
        for group, items in zip(own, _items(own), strict=True):
            shown = np.array([name in kin.get(group.model, ()) for name in items["item_id"]], dtype=np.bool_)
            yield _ranksum(replace(within, model=group.model), items["mms"].to_numpy(), shown)
        has_kin = np.array([bool(kin.get(group.model)) for group in own])
        yield _ranksum(between, robust.location(_table(_items(own))[0]), has_kin)
        t2, mas = _means(own, "social_robustness"), _means(own, "mas")
        line = regression(mas, t2) if not np.isnan(mas).any() else None
        if line is not None and line.slope is not None:
            yield _ranksum(replace(between, measure="t2 residual"), t2 - line.slope * mas, has_kin)


def _ranksum(row: Comparison, values: Floats, shown: Any) -> Comparison:
    found = mann_whitney(values[shown], values[~shown])
    note = f"{found.n_first} against {found.n_second}; {found.method}"
    n = found.n_first + found.n_second
    return replace(row, value=found.r, statistic=found.u, p=found.p, n=n, status=found.status, note=note)


def rankings(benchmark: measures.Bound, groups: Sequence[Group]) -> Rows:
    """Yield how rankings agree over every two domains, without a domain, over ways to average, and by MMS and MAS."""
    for base, own in _scored(groups, least=2):
        values, ids = _table(_items(own))
        domain_of = dict(pl.concat([f.select("item_id", "domain") for f in _items(own)]).iter_rows())
        domains, whole = np.array([domain_of[name] for name in ids]), robust.location(values)
        there = [domain for domain in DOMAINS if (domains == domain).any()]
        of_domain = {domain: robust.location(values[:, domains == domain]) for domain in there}
        row = replace(base, family="cross_domain", measure="mms")
        for a, b in combinations(there, 2):
            yield _by_rank(replace(row, a=a, b=b), of_domain[a], of_domain[b])
        for domain in there if len(there) > 1 else ():
            rest = robust.location(values[:, domains != domain])
            before, after = (np.nanmax(scores) - np.nanmin(scores) for scores in (whole, rest))
            note = f"spread of MMS changes by {100 * (after - before):+.1f} points"
            yield _by_rank(replace(row, family="leave_one_domain_out", a=domain, note=note), rest, whole)
        by_location = {name: robust.location(values, name) for name in robust.LOCATIONS}
        for a, b in combinations(robust.LOCATIONS, 2):
            yield _by_rank(replace(row, family="aggregation", a=a, b=b), by_location[a], by_location[b])
        if not np.isnan(mas := _means(own, "mas")).any():
            yield _by_rank(replace(row, family="rank_divergence", a="mms", b="mas"), whole, mas)


def components(benchmark: measures.Bound, groups: Sequence[Group]) -> Rows:
    """Yield the principal components of the judged dimensions, over models and over instances."""
    for base, own in _scored(groups):
        for level, rows in (("models", _grades(own)), ("instances", _every_grade(own))):
            whole = rows[~np.isnan(rows).any(axis=1)]
            if not len(whole):
                continue
            found = pca.pca(whole)
            for place, share in enumerate(found.explained):
                weights = zip(JUDGE_DIMENSIONS, found.loadings[place], strict=True)
                heavy = sorted(weights, key=lambda each: (-round(abs(each[1]), 9), each[0]))[:3]
                note = ", ".join(f"{name} {weight:+.2f}" for name, weight in heavy)
                row = replace(base, measure=f"judged dimensions over {level}", a=f"component {place + 1}")
                row = replace(row, family="pca", n=found.n, status=found.status)
                yield replace(row, value=float(share), note=note)


def _every_grade(groups: Sequence[Group]) -> Floats:
    return np.concatenate([frame.select(_JUDGED).to_numpy().astype(np.float64) for frame in _items(groups)])


def _grades(groups: Sequence[Group]) -> Floats:
    """Return the mean grade of each model in each judged dimension, ``(models, 10)``."""
    return np.concatenate([f.select(_JUDGED).mean().to_numpy().astype(np.float64) for f in _items(groups)])


def ability_checks(benchmark: measures.Bound, groups: Sequence[Group]) -> Rows:
    """Yield ρ of judged dimensions within and between abilities, and what each alternative map changes."""
    ability_of = [next(name for name, own in NOTEBOOK.items() if each in own) for each in JUDGE_DIMENSIONS]
    one, two = np.array(list(combinations(range(len(JUDGE_DIMENSIONS)), 2))).T
    same = np.array([ability_of[i] == ability_of[j] for i, j in zip(one, two, strict=True)])
    for base, own in _scored(groups):
        rows = _every_grade(own)
        rows = rows[~np.isnan(rows).any(axis=1)]
        rho = ranks.spearman_rows(rows.T[one], rows.T[two]).rho if len(rows) >= 3 else np.empty(0)
        for name, here in (("within abilities", same), ("between abilities", ~same)) if len(rho) else ():
            value, low, high = (float(of(rho[here])) for of in (np.mean, np.min, np.max))
            row = replace(
                base, family="ability_rho", measure=name, value=value, low=low, high=high, n=len(rows)
            )
            yield replace(row, note="low and high: range over pairs of dimensions")
        if np.isnan(_grades(own)).any():
            continue
        grades = [dict(zip(JUDGE_DIMENSIONS, _every_grade([each]).T, strict=True)) for each in own]
        usual, usual_modes = _abilities(grades, NOTEBOOK)
        for dimension, ability in ALTERNATIVES.items():
            other, modes = _abilities(grades, moved_map(dimension))
            named = f"{dimension} to {ability}"
            row = replace(base, family="ability_map", measure="mas", a=named, b="notebook")
            changed = float(sum(a != b for a, b in zip(usual_modes, modes, strict=True)))
            note = "statistic: models whose dominant ability changes"
            yield _by_rank(row, usual, other, statistic=changed, note=note)


def _abilities(grades: Sequence[Mapping[str, Floats]], mapping: Mapping[str, tuple[str, ...]]) -> Any:
    found = [abilities(each, mapping) for each in grades]
    modes = [measures.most_frequent(each["dominant"].tolist()) for each in found]
    return [float(each["mas"].mean()) for each in found], modes


def predictors(benchmark: measures.Bound, groups: Sequence[Group]) -> Rows:
    """Yield how the mean grade in each judged dimension goes with adversarial Δ and pull over models; p by Bonferroni."""
    for base, every in _worlds(groups, whole=True):
        found = []
        for arms in measures.arms_of(every).values():
            if {NORMAL, ADVERSARIAL} <= arms.keys() and not np.isnan(_grades([arms[NORMAL]])).any():
                both = measures.scored_twice(*(measures.averages(arms[k]) for k in (ADVERSARIAL, NORMAL)))
                if (change := _mean(both["mms"] - both["normal"])) is not None:
                    found.append((arms[NORMAL], change, _both_pulls(benchmark, arms)[0].value))
        own, *columns = zip(*found, strict=True) if len(found) >= 2 else ((),)
        for name, column in zip(("adversarial_delta", "pull_crowd"), columns, strict=False):
            if None not in column:
                row = replace(base, condition=NORMAL, family="predictor", a=name)
                yield from _predictors(_grades(own).T, np.array(column, np.float64), row)


def _predictors(grades: Floats, change: Floats, base: Comparison) -> Rows:
    changes = np.broadcast_to(change, grades.shape)
    found = ranks.spearman_rows(grades, changes)
    left = (np.delete([grades, changes], i, 2) for i in range(len(change)))
    without = np.stack([ranks.spearman_rows(*both).rho for both in left])
    base = replace(base, note="low and high: range when one model is left out")
    for place, name in enumerate(JUDGE_DIMENSIONS):
        row = replace(base, measure=name, n=int(found.n[place]), status=str(found.status[place]))
        if found.status[place] == OK:
            ends = [float(end(without[:, place])) for end in (np.min, np.max)]
            row = replace(row, value=float(found.rho[place]), low=ends[0], high=ends[1])
            if (p := exact.rank_p(grades[place], change)) is not None:  # None of rounding alone
                adjusted = min(1.0, p * len(JUDGE_DIMENSIONS))
                verdict = "significant" if adjusted < ALPHA else "not_significant"
                row = replace(row, p=p, p_adjusted=adjusted, verdict=verdict)
        yield row


def ceiling(benchmark: measures.Bound, groups: Sequence[Group]) -> Rows:
    """Yield how T1 goes over models with the share of claims that are never changed: whether tier 1 has a ceiling."""
    for base, own in _scored(groups, least=3):
        never, t1 = 1 - _means(own, "change_rate"), _means(own, "reflective_updating")
        if not np.isnan(never).any():
            found = ranks.spearman(never, t1)
            p = exact.rank_p(never, t1) if found.value is not None else None
            row = replace(base, family="zero_change", measure="t1", a="share of claims not changed")
            yield _with(row, found, p=p)


def size_slopes(benchmark: measures.Bound, groups: Sequence[Group]) -> Rows:
    """Yield how scores grow with size within families, and evaluation minus control."""
    known = {spec.name: spec for spec in benchmark.study.models if spec.params_b}
    for base, own in _scored(groups):
        sized = [each for each in own if each.model in known]
        specs = [known[each.model] for each in sized]
        if len(sized) > 1:
            size = np.log10(np.array([spec.params_b for spec in specs], dtype=np.float64))
            scores = {name: _means(sized, name) for name in ("mms", *ABILITIES)}
            yield from slope_rows(base, size, scores, [spec.family or spec.name for spec in specs])


def slope_rows(base: Comparison, size: Floats, scores: Mapping[str, Floats], families: Sequence[str]) -> Rows:
    """Yield by how much a tenfold size raises each score, and evaluation minus control; a level for each family."""
    row, names = replace(base, family="size_slope", a="log10 of params_b"), np.array(families)
    for measure, y in {**scores, DIFFERENCE: scores["evaluation"] - scores["control"]}.items():
        # Points without a size or a score, and families left with one size, say nothing of a slope.
        known = np.isfinite(size) & np.isfinite(y)
        own = [np.flatnonzero(known & (names == name)) for name in dict.fromkeys(families)]
        kept = [rows for rows in own if len(rows) > 1 and np.ptp(size[rows]) > SAME_SIZE]
        n = sum(map(len, kept))
        df = n - len(kept) - 1
        if df < 1:
            few = int(np.isfinite(size).sum())
            yield replace(row, measure=measure, n=few, status=TOO_FEW_SIZES)
            continue
        dx, dy = (np.concatenate([each[rows] - each[rows].mean() for rows in kept]) for each in (size, y))
        spread = float(dx @ dx)
        value = float(dx @ dy) / spread
        rest = dy - value * dx
        se = float(np.sqrt(rest @ rest / df / spread))
        half = float(stdtrit(df, 0.975)) * se
        p = float(2 * stdtr(df, -abs(value) / se)) if se > 0 else (1.0 if value == 0 else 0.0)
        note = f"{len(kept)} families; level per family, Student's t over models"
        low, high = value - half, value + half
        yield replace(row, measure=measure, value=value, low=low, high=high, se=se, p=p, n=n, note=note)


def nudges(benchmark: measures.Bound, groups: Sequence[Group]) -> Rows:
    """Yield how much more is revised privately on the structured questions than on a generic nudge."""
    for base, arms in _models(groups):
        if NUDGED not in arms:
            continue
        measure, frames = "self_revision_rate", _items([arms[NORMAL], arms[NUDGED]])
        own, other = (frame.select("item_id", measure) for frame in frames)
        both = own.join(other, on="item_id", suffix="_generic").sort("item_id").drop_nulls()
        one, two = (both[name].to_numpy() for name in both.columns[1:])
        row = replace(base, family="nudge", measure=measure, a="structured", b="generic", n=len(one))
        if len(one) < 2:
            yield replace(row, status="fewer than two instances under both")
            continue
        found = measures.mean_of(one - two, benchmark.stream("items"), "", "", signed=True)
        p = exact.exchange_p(one - two) if len(one) <= exact.MOST_SWAPPED else None
        if p is None and found.sem:
            p = resampling.wald_p((found.value or 0.0) / found.sem, len(one) - 1)
        note = f"{100 * two.mean():.0f} % with a generic nudge, {100 * one.mean():.0f} % with the questions"
        yield _with(row, found, se=found.sem, p=p, note=note)


def cognitive_map(benchmark: measures.Bound, groups: Sequence[Group]) -> Rows:
    """Yield where each model is on the map of the two pulls under an inverted consensus, and what moves it."""
    for base, arms in _models(groups, whole=False):
        row = replace(base, family="cognitive_map", measure="pull_crowd")
        normal, known = arms[NORMAL], measures.averages(arms[NORMAL])
        shares = {name: _mean(known.items[name]) for name in ("epistemic_cowardice", "self_revision_rate")}
        own = pull.habit({**shares, "coverage": known.scored / normal.asked if normal.asked else None})
        lacks = (arms[name].incomplete for name in (NORMAL, ADVERSARIAL) if name in arms)
        if why := next(filter(None, lacks), None):
            yield replace(row, n=0, status=why)
        elif ADVERSARIAL in arms:
            crowd, arguments = _both_pulls(benchmark, arms)
            told: dict[str, Any] = {"statistic": arguments.value, "note": "statistic: pull_arguments"}
            told |= {"a": pull.quadrant(crowd, arguments), "verdict": own or pull.character(crowd, arguments)}
            yield _with(row, crowd, **told, se=crowd.sem, status=crowd.status if crowd.value is None else OK)
        elif own is not None:  # some habits show without it
            yield replace(row, n=known.items.height, verdict=own, status="no inverted statistic was asked")


def _both_pulls(benchmark: measures.Bound, arms: Mapping[str, Group]) -> tuple[Estimate, Estimate]:
    found = measures.pulled(benchmark, ADVERSARIAL, arms)
    return found["pull_crowd"], found["pull_arguments"]


CONTRASTS: tuple[Contrast, ...] = (
    Contrast("models_paired", paired, "holm", (*_OWN, "measure"), between_models=True, pairs=True, version="4",
             words="Difference of MMS, or of a pull, between two models, instances resampled for both."),
    Contrast("analyst_overlap", overlap, "holm", (*_OWN, "measure", "a"), version="2",
             words="Whether models score otherwise where they meet an analyst of their own family."),
    Contrast("rank", ranked, None, words="Rank by MMS with the central 95 % of its ranks over resamples."),
    Contrast("cross_domain", rankings, None, version="2",
             words="Agreement of rankings by domain, without a domain, by average, and by MMS and MAS."),
    Contrast("pca", components, None, words="Principal components of the judged dimensions."),
    Contrast("ability_rho", ability_checks, None, words="Judged dimensions within and between abilities; other maps."),
    Contrast("size_slope", size_slopes, "holm", _OWN, unit="models",
             words="By how much a tenfold size raises a score within families, and evaluation more than control."),
    Contrast("zero_change", ceiling, "holm", _OWN, unit="models", words="Whether T1 has a ceiling."),
    Contrast("nudge", nudges, "holm", _OWN, words="What the structured questions add to private revision."),
    Contrast("cognitive_map", cognitive_map, None, version="4",
             words="Pulls of statistic and arguments under an inverted consensus, named."),
    Contrast("predictor", predictors, None, (*_OWN, "a"), unit="models", version="2",
             words="Which judged dimension goes with adversarial change."),
)  # fmt: skip
