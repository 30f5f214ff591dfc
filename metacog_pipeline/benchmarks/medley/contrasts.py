"""Comparisons of models that were asked the same instances, and checks of how firm a ranking by MMS is.

==========================  =======================================================================================
family                      value
==========================  =======================================================================================
``models_paired``           MMS of a minus MMS of b (10 % trimmed means), or a pull of a minus that of b (means), instances
                            resampled for both; p by Holm, of all exchanges where 12 or fewer instances are shared
``rank``                    rank of ``model`` under normal, with the central 95 % of its ranks over resamples
``cross_domain``            Spearman's ρ over models of MMS in the domains a and b
``leave_one_domain_out``    ρ of the ranking without the domain a with the whole; ``statistic``: largest shift of a rank;
                            ``se`` null; the note says how much the spread (best minus worst) changes
``aggregation``             ρ of the rankings by the locations a and b; ``statistic``: largest shift
``pca``                     share of the variance of the judged dimensions that component a explains; ``measure`` says
                            whether over models or over instances
``predictor``               ρ over models of a judged dimension (``measure``) with adversarial Δ or ``pull_crowd``
                            (``a``); p by Bonferroni over the ten, exact up to 9 models; ``low`` and ``high`` are the range
                            when one model is left out
``cognitive_map``           the pull of the statistic on ``model``; ``statistic`` that of the arguments; ``a`` the quadrant,
                            ``verdict`` the character, "not enough" below 18 instances
``analyst_overlap``         rank-biserial r of MMS on instances that show an analyst of ``model``'s family against the
                            others; ``statistic`` is U; p by Mann and Whitney, by Holm over models. Without ``model``: of
                            models with a relative among the analysts against those without
``size_slope``              what a tenfold size (``params_b``) adds to a score, with a level for each family; Student's t
                            over models. ``evaluation - control``: the difference of the two slopes
``character``               ``verdict``: what moves ``model``, as on the map
==========================  =======================================================================================

The paper's claim that accepting arguments for their information rather than for the norm predicts robustness is the row
``predictor``, ``normative_vs_informational``. Models with a run that is not complete are left out save of
``models_paired``, which rests on the instances both have; simulated observers never meet measured models.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Contrast, Group, lost_items
from metacog_pipeline.benchmarks.medley import scaling
from metacog_pipeline.benchmarks.medley.abilities import ABILITIES
from metacog_pipeline.benchmarks.medley.averages import ONLY_STEP_A, all_averages, averages
from metacog_pipeline.benchmarks.medley.construction.families import UNKNOWN, published_family
from metacog_pipeline.benchmarks.medley.grades import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.items import DOMAINS
from metacog_pipeline.benchmarks.medley.measures import pulled, scored_twice
from metacog_pipeline.benchmarks.medley.presentation import ADVERSARIAL, NORMAL
from metacog_pipeline.benchmarks.medley.profiles import (
    LEAST_CASES,
    NOT_ENOUGH,
    character,
    habit,
    quadrant,
)
from metacog_pipeline.benchmarks.medley.pull import PULLS, pulls
from metacog_pipeline.benchmarks.medley.rule_based.panel import Floats
from metacog_pipeline.stats import exact, resampling
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, OK, Estimate
from metacog_pipeline.stats.pca import pca
from metacog_pipeline.stats.ranks import spearman_rows
from metacog_pipeline.stats.ranksum import mann_whitney
from metacog_pipeline.stats.robust import (
    LOCATIONS,
    N_BOOT,
    TRIMMED,
    Location,
    location,
    rank_distribution,
    rank_shift,
    resampled_locations,
)

Bound = Benchmark[Any, Any, Any]
#: {model: the instances that show an analyst of its family}
Related = Mapping[str, frozenset[str]]
ALPHA = 0.05
_NO_SPREAD = "no spread over resamples"
_JUDGED = [f"judged_{name}" for name in JUDGE_DIMENSIONS]
_FEW = f"fewer than {LEAST_CASES} instances under both conditions"


# --- which groups -----------------------------------------------------------------------------------------------------
def _worlds(groups: Sequence[Group], *, whole: bool = True) -> Iterator[tuple[Comparison, list[Group]]]:
    """Yield groups that may be compared, with what their rows have in common; only complete ones where ``whole``."""
    found: dict[tuple[str, str | None, str], list[Group]] = {}
    for group, known in zip(groups, all_averages(groups), strict=True):
        if known.incomplete is None or (not whole and known.incomplete != ONLY_STEP_A):
            found.setdefault((group.dataset, group.scoring, group.source), []).append(group)
    for (dataset, scoring, source), own in found.items():
        yield Comparison("", "", dataset=dataset, scoring=scoring, source=source), own


def _scored(
    groups: Sequence[Group], condition: str | None = NORMAL, *, whole: bool = True, least: int = 1
) -> Iterator[tuple[Comparison, list[Group]]]:
    """Yield groups of one condition that have something scored, of every condition where ``condition`` is None; ``least``
    models of them or nothing.
    """
    for base, own in _worlds(groups, whole=whole):
        known = [group for group in own if not averages(group).items.is_empty()]
        for name in dict.fromkeys(group.condition for group in known):
            found = [each for each in known if each.condition == name]
            if condition in (None, name) and len(found) >= least:
                yield replace(base, condition=name), found


def _matrix(groups: Sequence[Group], column: str = "mms") -> tuple[Floats, list[str]]:
    """Return a column as models × instances, NaN where a model has none, and the instances; not to be written to."""
    return _matrix_of(tuple(groups), column)


@functools.lru_cache(maxsize=2)  # most families look at the same groups
def _matrix_of(groups: tuple[Group, ...], column: str) -> tuple[Floats, list[str]]:
    return _table([averages(group).items for group in groups], column)


def _table(frames: Sequence[pl.DataFrame], column: str) -> tuple[Floats, list[str]]:
    ids = sorted({name for frame in frames for name in frame["item_id"]})
    place = {name: i for i, name in enumerate(ids)}
    values = np.full((len(frames), len(ids)), np.nan)
    for row, frame in enumerate(frames):
        values[row, [place[name] for name in frame["item_id"]]] = frame[column].to_numpy()
    values.flags.writeable = False
    return values, ids


# --- between models ---------------------------------------------------------------------------------------------------
def paired(
    benchmark: Bound, groups: Sequence[Group], wanted: Collection[tuple[str, str]]
) -> Iterator[Comparison]:
    """Yield the wanted pairs of models under every condition, on the instances both were scored on."""
    arms: dict[tuple[str, str | None, str], dict[str, Group]] = {}
    for each in groups:
        arms.setdefault((each.dataset, each.scoring, each.model), {})[each.condition] = each
    for base, own in _scored(groups, None, whole=False):
        place = {group.model: number for number, group in enumerate(own)}
        pairs = [(place[a], place[b]) for a, b in wanted if a in place and b in place]
        if not pairs:
            continue
        for measure in ("mms", *PULLS.get(own[0].condition, ())):
            if measure == "mms":
                resamples = _Resamples(_matrix(own)[0], benchmark.stream("items"))
            else:
                found = [pulls(each.condition, arms[each.dataset, each.scoring, each.model]) for each in own]
                resamples = _Resamples(_table(found, measure)[0], benchmark.stream("items"), "mean")
            for i, j in pairs:
                row = replace(base, family="models_paired", measure=measure, a=own[i].model, b=own[j].model)
                yield _paired(row, resamples, i, j)


class _Resamples:
    """Resampled scores of models ``(models, instances)``: the instances of a pair are those of either of the two, and pairs
    with the same instances share their resamples."""

    def __init__(self, values: Floats, seed: int, statistic: Location = "trimmed_mean") -> None:
        self.values, self.seed, self.here, self.statistic = values, seed, ~np.isnan(values), statistic
        self.drawn: dict[bytes, Floats] = {}

    def of(self, i: int, j: int) -> tuple[Floats, Floats]:
        """Return both scores ``(2,)`` and their resamples ``(B, 2)`` over what both were scored on."""
        either = self.here[i] | self.here[j]
        if (self.here[i] != self.here[j]).any():  # only what both were scored on may tell them apart
            both = np.where(self.here[i] & self.here[j], self.values[[i, j]], np.nan)[:, either]
            return location(both, self.statistic), resampled_locations(
                both, self.statistic, n_boot=N_BOOT, seed=self.seed
            )
        key = either.tobytes()
        if key not in self.drawn:
            same = (self.here == either).all(axis=1)
            own = self.values[:, either]
            scores = np.full((N_BOOT, len(own)), np.nan)
            scores[:, same] = resampled_locations(own[same], self.statistic, n_boot=N_BOOT, seed=self.seed)
            self.drawn[key] = scores
        return location(self.values[[i, j]][:, either], self.statistic), self.drawn[key][:, [i, j]]


def _paired(row: Comparison, resamples: _Resamples, i: int, j: int) -> Comparison:
    """p is Wald's, of difference / standard error, the latter from the percentile interval; exact up to 12 instances.

    Student's t counts the instances that are not trimmed (Yuen 1974): the normal distribution rejects too often far out.
    """
    scores, drawn = resamples.of(i, j)
    both = resamples.here[i] & resamples.here[j]
    value, n = float(scores[0] - scores[1]), int(both.sum())
    lost = lost_items(int(resamples.here[i].sum()), int(resamples.here[j].sum()), n)
    row = replace(row, value=_number(value), n=n, note=lost)
    if not n:
        return replace(row, status="no shared instances")
    delta = drawn[:, 0] - drawn[:, 1]
    found = resampling.difference(value, delta, "percentile", tolerance=1e-12, wald=True)
    if found.low is None:
        return replace(row, status=OFTEN_UNDEFINED)
    if found.se is None or found.se <= 1e-12:
        return replace(row, status=_NO_SPREAD, p=1.0 if abs(value) < 1e-12 else None)
    row = replace(row, se=found.se, low=found.low, high=found.high, statistic=found.statistic)
    if n > exact.MOST_SWAPPED:
        trimmed = TRIMMED if resamples.statistic == "trimmed_mean" else 0.0
        wald = resampling.wald_p(value / found.se, n - 2 * int(trimmed * n + 1e-9) - 1)
        held = max(wald, exact.least_p(n))
        return replace(row, p=held, note="; ".join(each for each in (found.usable_note, lost) if each))
    shared = resamples.values[[i, j]][:, both][:, :, None]
    p = exact.paired_p(shared[0], shared[1], lambda each: location(each[:, :, 0], resamples.statistic))
    return replace(row, p=p, note="; ".join(each for each in (exact.NOTE, lost) if each))


def ranks(benchmark: Bound, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield the rank of every model with the central 95 % of its ranks over resamples."""
    for base, own in _scored(groups):
        values, _ = _matrix(own)
        drawn = resampled_locations(values, n_boot=N_BOOT, seed=benchmark.stream("items"))
        found = rank_distribution(location(values), drawn)
        for place, group in enumerate(own):
            yield replace(
                base, family="rank", measure="mms", model=group.model, value=float(found.observed[place]),
                low=float(found.low[place]), high=float(found.high[place]), n=averages(group).items.height,
                note=f"first in {100 * found.share[place, 0]:.0f} % of resamples",
            )  # fmt: skip


# --- models and analysts of one family --------------------------------------------------------------------------------
def related(benchmark: Bound) -> Related:
    """Return {model: the instances that show an analyst of its family}.

    Families are those of the study file. Analysts of a set that was not made here, and models without a stated family, get
    theirs by name, where it is that of a published analyst.
    """
    stated: Mapping[str, str] = benchmark.families  # type: ignore[attr-defined]
    by_family: dict[str, set[str]] = {}
    for instance in benchmark.items:
        for analyst in instance.analysts:
            family = stated.get(analyst.model_id) or published_family(analyst.model_id)
            if family != UNKNOWN:
                by_family.setdefault(family, set()).add(instance.item_id)
    found = {}
    for spec in benchmark.context.study.models:
        own = {name.lower() for name in (spec.family, published_family(spec.model or spec.name)) if name}
        found[spec.name] = frozenset().union(*(by_family.get(name, set()) for name in own - {UNKNOWN}))
    return found


def overlap(benchmark: Bound, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield whether models score otherwise where they meet an analyst of their own family; p by Holm over models."""
    kin = related(benchmark)
    for base, own in _scored(groups):
        within = replace(base, a="instances with an analyst of its family", b="instances without")
        for group in own:
            items = averages(group).items
            of_kin = kin.get(group.model, frozenset())
            shown = np.array([name in of_kin for name in items["item_id"]], dtype=np.bool_)
            values = items["mms"].to_numpy()
            yield _ranksum(replace(within, model=group.model), values[shown], values[~shown])
        whole = location(_matrix(own)[0])
        has_kin = np.array([bool(kin.get(group.model)) for group in own])
        between = replace(base, a="models with an analyst of their family", b="models without")
        yield _ranksum(between, whole[has_kin], whole[~has_kin])


def _ranksum(row: Comparison, first: Floats, second: Floats) -> Comparison:
    found = mann_whitney(first, second)
    return replace(
        row, family="analyst_overlap", measure="mms", value=found.r, statistic=found.u, p=found.p,
        n=found.n_first + found.n_second, status=found.status,
        note=f"{found.n_first} against {found.n_second}; {found.method}",
    )  # fmt: skip


# --- how firm a ranking is --------------------------------------------------------------------------------------------
def across_domains(benchmark: Bound, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield how rankings agree over every two domains."""
    for base, own in _scored(groups, least=2):
        values, domains, there = _by_domain(own)
        of_domain = {domain: location(values[:, domains == domain]) for domain in there}
        for a, b in combinations(there, 2):
            row = replace(base, family="cross_domain", measure="mms", a=a, b=b)
            yield _agreement(row, of_domain[a], of_domain[b])


def without_domains(benchmark: Bound, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield how the ranking without a domain agrees with the whole."""
    for base, own in _scored(groups, least=2):
        values, domains, there = _by_domain(own)
        whole = location(values)
        for domain in there if len(there) > 1 else []:
            rest = location(values[:, domains != domain])
            change = 100 * (_spread(rest) - _spread(whole))
            row = replace(
                base, family="leave_one_domain_out", measure="mms", a=domain,
                note=f"spread of MMS changes by {change:+.1f} points",
            )  # fmt: skip
            yield _agreement(row, rest, whole)


def aggregations(benchmark: Bound, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield how rankings agree over ways to average."""
    for base, own in _scored(groups, least=2):
        values, _ = _matrix(own)
        by_location = {name: location(values, name) for name in LOCATIONS}
        for first, second in combinations(LOCATIONS, 2):
            row = replace(base, family="aggregation", measure="mms", a=first, b=second)
            yield _agreement(row, by_location[first], by_location[second])


def _by_domain(groups: Sequence[Group]) -> tuple[Floats, np.ndarray[Any, Any], list[str]]:
    values, ids = _matrix(groups)
    frames = [averages(group).items.select("item_id", "domain") for group in groups]
    domain_of = dict(row for frame in frames for row in frame.iter_rows())
    domains = np.array([domain_of[name] for name in ids])
    return values, domains, [domain for domain in DOMAINS if (domains == domain).any()]


def _agreement(row: Comparison, first: Floats, second: Floats) -> Comparison:
    found = rank_shift(first, second)
    rho = found.rho
    return replace(
        row, value=rho.value, low=rho.low, high=rho.high, statistic=float(found.largest), n=rho.n, status=rho.status
    )  # fmt: skip


def _spread(scores: Floats) -> float:
    known = scores[~np.isnan(scores)]
    return float(known.max() - known.min()) if len(known) else math.nan


# --- what judges grade ------------------------------------------------------------------------------------------------
def components(benchmark: Bound, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield the principal components of the judged dimensions, over models and over instances."""
    for base, own in _scored(groups):
        frames = [averages(group).items.select(_JUDGED) for group in own]
        models = np.stack([_means(frame) for frame in frames])
        instances = np.concatenate([frame.to_numpy().astype(np.float64) for frame in frames])
        for level, rows in (("models", models), ("instances", instances)):
            whole = rows[~np.isnan(rows).any(axis=1)]
            if not len(whole):
                continue
            found = pca(whole)
            for place, share in enumerate(found.explained):
                weights = zip(JUDGE_DIMENSIONS, found.loadings[place], strict=True)
                heavy = sorted(weights, key=lambda each: (-round(abs(each[1]), 9), each[0]))[:3]
                yield replace(
                    base, family="pca", measure=f"judged dimensions over {level}", a=f"component {place + 1}",
                    value=float(share), n=found.n, status=found.status,
                    note=", ".join(f"{name} {weight:+.2f}" for name, weight in heavy),
                )  # fmt: skip


def predictors(benchmark: Bound, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield how the mean grade in each judged dimension goes with adversarial Δ and pull over models; p by Bonferroni."""
    found: dict[Comparison, list[tuple[Floats, tuple[float, float]]]] = {}
    for base, arms in _models(groups):
        change, graded = _change(benchmark, arms), averages(arms[NORMAL]).items.select(_JUDGED)
        if not math.isnan(change[0]) and graded[_JUDGED[0]].drop_nulls().len():
            found.setdefault(replace(base, model=None), []).append((_means(graded), change))
    for base, told in found.items():
        grades = np.stack([means for means, _ in told]).T
        for place, name in enumerate(("adversarial_delta", "pull_crowd")):
            values = np.array([change[place] for _, change in told])
            if len(told) >= 2 and not np.isnan(values).any():
                yield from _predictors(grades, values, replace(base, a=name))


def _predictors(grades: Floats, change: Floats, base: Comparison) -> Iterator[Comparison]:
    changes = np.broadcast_to(change, grades.shape)
    found = spearman_rows(grades, changes)
    without = np.stack(
        [spearman_rows(np.delete(grades, i, 1), np.delete(changes, i, 1)).rho for i in range(len(change))]
    )
    for place, name in enumerate(JUDGE_DIMENSIONS):
        known = found.status[place] == "ok"
        both = ~np.isnan(grades[place])
        p = (
            exact.rank_p(grades[place, both], change[both]) if known else None
        )  # of rounding alone there is none
        adjusted = None if p is None else min(1.0, p * len(JUDGE_DIMENSIONS))
        yield replace(
            base, condition=NORMAL, family="predictor", measure=name,
            value=float(found.rho[place]) if known else None,
            low=float(without[:, place].min()) if known else None,
            high=float(without[:, place].max()) if known else None,
            p=p, p_adjusted=adjusted,
            verdict=None if adjusted is None else _verdict(adjusted), n=int(found.n[place]),
            note="low and high: range when one model is left out", status=str(found.status[place]),
        )  # fmt: skip


def size_slopes(benchmark: Bound, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield how scores grow with size within families, and evaluation minus control; models without a size stand aside."""
    known = {spec.name: spec for spec in benchmark.context.study.models}
    for base, own in _scored(groups):
        sized = [each for each in own if getattr(known.get(each.model), "params_b", None)]
        if len(sized) < 2:
            continue
        specs = [known[each.model] for each in sized]
        scores = {
            name: np.array([_mean(averages(each).items[name]) for each in sized], dtype=np.float64)
            for name in ("mms", *ABILITIES)
        }
        size = np.log10(np.array([spec.params_b for spec in specs], dtype=np.float64))
        yield from scaling.rows(base, size, scores, [spec.family or spec.name for spec in specs])


def _means(frame: pl.DataFrame) -> Floats:
    return np.array([column.mean() for column in frame.get_columns()], dtype=np.float64)


# --- within a model, between conditions -------------------------------------------------------------------------------
def cognitive_map(benchmark: Bound, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield where each model is on the map of the two pulls under an inverted consensus, and its character."""
    for base, arms in _models(groups, whole=False):
        if ADVERSARIAL not in arms:
            continue
        row = replace(base, family="cognitive_map", measure="pull_crowd")
        missing = [averages(arms[name]).incomplete for name in (NORMAL, ADVERSARIAL)]
        if any(missing):
            yield replace(row, n=0, status=next(each for each in missing if each))
            continue
        crowd, arguments = _both_pulls(benchmark, arms)
        yield replace(
            row, a=quadrant(crowd, arguments), value=crowd.value, low=crowd.low, high=crowd.high, se=crowd.sem,
            statistic=arguments.value, n=crowd.n, verdict=_character(arms, crowd, arguments),
            note="statistic: pull_arguments", status=OK if crowd.value is not None else crowd.status,
        )  # fmt: skip


def characters(benchmark: Bound, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield what moves each model, by the rule of the map."""
    for base, arms in _models(groups):
        pulls = _both_pulls(benchmark, arms) if ADVERSARIAL in arms else ()
        verdict = _character(arms, *pulls)
        if verdict is not None:
            group = arms[ADVERSARIAL] if pulls else arms[NORMAL]
            few = _FEW if verdict == NOT_ENOUGH else ""
            n = averages(group).items.height
            yield replace(base, family="character", measure="pulls", n=n, verdict=verdict, note=few)


def _both_pulls(benchmark: Bound, arms: Mapping[str, Group]) -> tuple[Estimate, Estimate]:
    found = pulled(benchmark, ADVERSARIAL, arms)
    return found["pull_crowd"], found["pull_arguments"]


def _character(arms: Mapping[str, Group], *pulls: Estimate) -> str | None:
    normal, asked = averages(arms[NORMAL]), arms[NORMAL].asked
    shares = {name: _mean(normal.items[name]) for name in ("epistemic_cowardice", "self_revision_rate")}
    shares["coverage"] = normal.scored / asked if asked else None
    return habit(shares) or (character(*pulls) if pulls else None)


def _models(groups: Sequence[Group], *, whole: bool = True) -> Iterator[tuple[Comparison, dict[str, Group]]]:
    """Yield the groups of each model by condition, where ``normal`` is one of these."""
    for base, own in _worlds(groups, whole=whole):
        by_model: dict[str, dict[str, Group]] = {}
        for group in own:
            by_model.setdefault(group.model, {})[group.condition] = group
        for model, arms in by_model.items():
            if NORMAL in arms:
                yield replace(base, model=model), arms


def _change(benchmark: Bound, arms: Mapping[str, Group]) -> tuple[float, float]:
    """Return the mean change of MMS under an inverted consensus, and the pull of the statistic there; NaN without."""
    if ADVERSARIAL not in arms:
        return math.nan, math.nan
    both = scored_twice(averages(arms[ADVERSARIAL]), averages(arms[NORMAL]))
    known = _mean(both["mms"] - both["normal"]), _both_pulls(benchmark, arms)[0].value
    whole, pull = (math.nan if each is None else each for each in known)
    return whole, pull


def _mean(values: pl.Series) -> float | None:
    known = values.drop_nulls() if values.null_count() else values
    return float(known.to_numpy().mean()) if len(known) else None


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _verdict(p: float) -> str:
    return "significant" if p < ALPHA else "not_significant"


CONTRASTS: tuple[Contrast, ...] = (
    Contrast(
        "models_paired", paired, "holm", ("dataset", "scoring", "source", "condition", "family", "measure"),
        between_models=True, pairs=True, version="4",
        words="Difference of MMS, or of a pull, between two models, instances resampled for both.",
    ),
    Contrast(
        "analyst_overlap", overlap, "holm", ("dataset", "scoring", "source", "condition", "family", "measure", "a"),
        words="Whether models score otherwise where they meet an analyst of their own family.",
    ),
    Contrast("rank", ranks, None, words="Rank by MMS with the central 95 % of its ranks over resamples."),
    Contrast("cross_domain", across_domains, None, paper="Table S5", words="Agreement of rankings by domain."),
    Contrast(
        "leave_one_domain_out", without_domains, None, paper="Table S6",
        words="Agreement of the ranking without a domain with the whole.",
    ),
    Contrast("aggregation", aggregations, None, paper="Table S8", words="Agreement of rankings by average."),
    Contrast("pca", components, None, words="Principal components of the judged dimensions."),
    Contrast(
        "size_slope", size_slopes, "holm", ("dataset", "scoring", "source", "condition", "family"), unit="models",
        words="By how much a tenfold size raises a score within families, and evaluation more than control.",
    ),
    Contrast(
        "cognitive_map", cognitive_map, None, version="3",
        words="Pulls of statistic and arguments under an inverted consensus, named.",
    ),
    Contrast("character", characters, None, version="3", words="What moves a model, by the rule of the map."),
    Contrast(
        "predictor", predictors, None, ("dataset", "scoring", "source", "condition", "family", "a"),
        unit="models", version="2",
        words="Which judged dimension goes with adversarial change.",
    ),
)  # fmt: skip
