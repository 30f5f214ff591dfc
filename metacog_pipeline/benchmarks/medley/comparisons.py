"""Comparisons of models that were asked the same instances, and checks of how firm a ranking by MMS is.

==========================  =======================================================================================
family                      value
==========================  =======================================================================================
``models_paired``           MMS of a minus MMS of b (10 % trimmed means), instances resampled for both; p by Holm
``rank``                    rank of ``model`` under normal, with the central 95 % of its ranks over resamples
``cross_domain``            Spearman's ρ over models of MMS in the domains a and b
``leave_one_domain_out``    ρ of the ranking without the domain a with the whole; ``statistic``: largest shift of a rank;
                            ``se`` null; the note says how much the spread (best minus worst) changes
``aggregation``             ρ of the rankings by the locations a and b; ``statistic``: largest shift
``pca``                     share of the variance of the judged dimensions that component a explains; ``measure`` says
                            whether over models or over instances
``predictor``               ρ over models of a judged dimension (``measure``) with adversarial Δ; p by Bonferroni over
                            the ten; ``low`` and ``high`` are the range when one model is left out
``cognitive_map``           adversarial Δ of ``model``; ``statistic`` its stripped Δ; ``a`` the quadrant, ``verdict`` the
                            profile
``analyst_overlap``         rank-biserial r of MMS on instances that show an analyst of ``model``'s family against the
                            others; ``statistic`` is U; p by Mann and Whitney, by Holm over models. Without ``model``: of
                            models with a relative among the analysts against those without
``character``               ``verdict`` says what ``model`` behaves like
==========================  =======================================================================================

The paper's claim that accepting arguments for their information rather than for the norm predicts robustness is the row
``predictor``, ``normative_vs_informational``. Models with a run that is not complete are left out, and simulated
observers never meet measured models.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
from scipy.special import ndtr

from metacog_pipeline.benchmarks.common.rows import number, table
from metacog_pipeline.benchmarks.medley.cells import Cell, cells_of
from metacog_pipeline.benchmarks.medley.instance_scores import Grades, score_instances
from metacog_pipeline.benchmarks.medley.items import BENCHMARK, DOMAINS, Instance
from metacog_pipeline.benchmarks.medley.measures.panel import Floats
from metacog_pipeline.benchmarks.medley.parsing import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.presentation import ADVERSARIAL, MASKING, NORMAL, STRIPPED, Masking
from metacog_pipeline.benchmarks.medley.profiles import character, profile, quadrant
from metacog_pipeline.benchmarks.medley.rows import COMPARISON_SCHEMA, Row
from metacog_pipeline.stats.clusters import percentile_interval
from metacog_pipeline.stats.multiple import holm
from metacog_pipeline.stats.pca import pca
from metacog_pipeline.stats.ranks import spearman_rows
from metacog_pipeline.stats.ranksum import mann_whitney
from metacog_pipeline.stats.robust import (
    LOCATIONS,
    N_BOOT,
    location,
    rank_distribution,
    rank_shift,
    resampled_locations,
)

__all__ = ["COMPARISON_SCHEMA", "compare", "compare_scored"]

#: {model: the instances that show an analyst of its family}
Related = Mapping[str, frozenset[str]]

_ALPHA = 0.05
_NO_SPREAD = "no spread over resamples"
_UNMOVED = "scored otherwise under an inverted consensus: one that changes nothing gains as well"


def compare(
    observations: pl.DataFrame,
    instances: Sequence[Instance],
    judged: Grades | None = None,
    *,
    variant: str = "reference",
    seed: int,
    masking: Masking = MASKING,
    n_boot: int = N_BOOT,
) -> pl.DataFrame:
    """Return one row per finding in `COMPARISON_SCHEMA`; parameters as in `scoring.pool`."""
    scored = score_instances(observations, instances, judged, variant=variant, masking=masking)
    return compare_scored(scored, seed=seed, n_boot=n_boot)


def compare_scored(
    scored: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT, related: Related | None = None
) -> pl.DataFrame:
    """Return what `compare` does, from rows of `instance_scores.INSTANCE_SCHEMA` of all models and runs.

    ``related`` are {model: the instances that show an analyst of its family}; without it overlap is not looked at.
    """
    groups: dict[tuple[str, str, bool], list[Cell]] = {}
    for cell in cells_of(scored, by_run=False):
        groups.setdefault((cell.dataset, cell.variant, cell.source == "simulated"), []).append(cell)
    rows: list[Row] = []
    for (dataset, variant, simulated), cells in groups.items():
        base = Row(dataset, "simulated" if simulated else "measured", variant, None, None, "", "")
        whole = [cell for cell in cells if cell.incomplete is None]
        scored_cells = [cell for cell in whole if not cell.items.is_empty()]
        for condition in dict.fromkeys(cell.condition for cell in scored_cells):
            own = [cell for cell in scored_cells if cell.condition == condition]
            rows += _paired(own, replace(base, condition=condition), seed, n_boot)
            if condition == NORMAL:
                normal = replace(base, condition=condition)
                rows += [
                    *_overlap(own, normal, related),
                    *_ranks(own, normal, seed, n_boot),
                    *_firmness(own, normal),
                    *_components(own, normal),
                ]
        rows += _changes(whole, base)
    return table(BENCHMARK, rows, COMPARISON_SCHEMA)


def _matrix(cells: Sequence[Cell], column: str = "mms") -> tuple[Floats, list[str]]:
    """Return a column as models × instances, NaN where a model has none, and the instances."""
    ids = sorted({name for cell in cells for name in cell.items["instance_id"]})
    place = {name: i for i, name in enumerate(ids)}
    values = np.full((len(cells), len(ids)), np.nan)
    for row, cell in enumerate(cells):
        values[row, [place[name] for name in cell.items["instance_id"]]] = cell.items[column].to_numpy()
    return values, ids


def _paired(cells: Sequence[Cell], base: Row, seed: int, n_boot: int) -> list[Row]:
    """Return every pair's difference. p is that of difference / standard error, the latter from the percentile interval."""
    if len(cells) < 2:
        return []
    values, _ = _matrix(cells)
    here = ~np.isnan(values)
    whole, draws = location(values), resampled_locations(values, n_boot=n_boot, seed=seed)
    rows = []
    for i, j in combinations(range(len(cells)), 2):
        scores, drawn = whole[[i, j]], draws[:, [i, j]]
        if (here[i] != here[j]).any():  # only what both were scored on may tell them apart
            shared = np.where(here[i] & here[j], values[[i, j]], np.nan)
            scores, drawn = location(shared), resampled_locations(shared, n_boot=n_boot, seed=seed)
        difference = float(scores[0] - scores[1])
        low, high = percentile_interval(drawn[:, 0] - drawn[:, 1])
        n = int((here[i] & here[j]).sum())
        row = replace(
            base, family="models_paired", measure="mms", a=cells[i].model, b=cells[j].model,
            value=number(difference), n=n,
        )  # fmt: skip
        if low is None or high is None or high - low < 1e-12:
            rows.append(replace(row, status=_NO_SPREAD, p=1.0 if abs(difference) < 1e-12 else None))
            continue
        se = (high - low) / (2 * 1.959963984540054)
        z = difference / se
        rows.append(replace(row, se=se, low=low, high=high, statistic=z, p=float(2 * ndtr(-abs(z)))))
    adjusted = holm([row.p for row in rows])
    return [
        replace(row, p_adjusted=p, verdict=None if p is None else _verdict(p))
        for row, p in zip(rows, adjusted, strict=True)
    ]


def _verdict(p: float) -> str:
    return "significant" if p < _ALPHA else "not_significant"


def _ranks(cells: Sequence[Cell], base: Row, seed: int, n_boot: int) -> Iterator[Row]:
    values, _ = _matrix(cells)
    found = rank_distribution(location(values), resampled_locations(values, n_boot=n_boot, seed=seed))
    for place, cell in enumerate(cells):
        yield replace(
            base, family="rank", measure="mms", model=cell.model, value=float(found.observed[place]),
            low=float(found.low[place]), high=float(found.high[place]), n=cell.items.height,
            note=f"first in {100 * found.share[place, 0]:.0f} % of resamples",
        )  # fmt: skip


def _overlap(cells: Sequence[Cell], base: Row, related: Related | None) -> list[Row]:
    """Return whether models score otherwise where they meet an analyst of their own family."""
    if related is None:
        return []
    rows = []
    for cell in cells:
        kin = related.get(cell.model, frozenset())
        shown = cell.items["instance_id"].is_in(list(kin)).to_numpy()
        values = cell.items["mms"].to_numpy()
        row = replace(
            base, model=cell.model, a="instances with an analyst of its family", b="instances without"
        )
        rows.append(_contrast(row, values[shown], values[~shown]))
    adjusted = holm([row.p for row in rows])
    rows = [
        replace(row, p_adjusted=p, verdict=None if p is None else _verdict(p))
        for row, p in zip(rows, adjusted, strict=True)
    ]
    whole = location(_matrix(cells)[0])
    has_kin = np.array([bool(related.get(cell.model)) for cell in cells])
    between = replace(base, a="models with an analyst of their family", b="models without")
    return [*rows, _contrast(between, whole[has_kin], whole[~has_kin])]


def _contrast(row: Row, first: Floats, second: Floats) -> Row:
    found = mann_whitney(first, second)
    return replace(
        row, family="analyst_overlap", measure="mms", value=found.r, statistic=found.u, p=found.p,
        n=found.n_first + found.n_second, status=found.status,
        note=f"{found.n_first} against {found.n_second}; {found.method}",
    )  # fmt: skip


def _firmness(cells: Sequence[Cell], base: Row) -> Iterator[Row]:
    """Yield how rankings agree over domains, without a domain, and over ways to average."""
    if len(cells) < 2:
        return
    values, ids = _matrix(cells)
    domain_of = {
        name: domain
        for cell in cells
        for name, domain in cell.items.select("instance_id", "domain").iter_rows()
    }
    domains = np.array([domain_of[name] for name in ids])
    there = [domain for domain in DOMAINS if (domains == domain).any()]
    own = {domain: location(values[:, domains == domain]) for domain in there}
    for a, b in combinations(there, 2):
        yield _agreement(replace(base, family="cross_domain", measure="mms", a=a, b=b), own[a], own[b])
    whole = location(values)
    for domain in there if len(there) > 1 else []:
        rest = location(values[:, domains != domain])
        change = 100 * (_spread(rest) - _spread(whole))
        row = replace(
            base, family="leave_one_domain_out", measure="mms", a=domain,
            note=f"spread of MMS changes by {change:+.1f} points",
        )  # fmt: skip
        yield _agreement(row, rest, whole)
    by_location = {name: location(values, name) for name in LOCATIONS}
    for first, second in combinations(LOCATIONS, 2):
        row = replace(base, family="aggregation", measure="mms", a=first, b=second)
        yield _agreement(row, by_location[first], by_location[second])


def _agreement(row: Row, first: Floats, second: Floats) -> Row:
    found = rank_shift(first, second)
    rho = found.rho
    return replace(
        row, value=rho.value, low=rho.low, high=rho.high, statistic=float(found.largest), n=rho.n, status=rho.status
    )  # fmt: skip


def _spread(scores: Floats) -> float:
    known = scores[~np.isnan(scores)]
    return float(known.max() - known.min()) if len(known) else math.nan


def _components(cells: Sequence[Cell], base: Row) -> Iterator[Row]:
    """Yield the principal components of the judged dimensions, over models and over instances."""
    columns = [f"judged_{name}" for name in JUDGE_DIMENSIONS]
    instances = np.concatenate([cell.items.select(columns).to_numpy().astype(np.float64) for cell in cells])
    models = np.stack([_means(cell.items.select(columns)) for cell in cells])
    for level, rows in (("models", models), ("instances", instances)):
        whole = rows[~np.isnan(rows).any(axis=1)]
        if not len(whole):
            continue
        found = pca(whole)
        for place, share in enumerate(found.explained):
            heavy = sorted(
                zip(JUDGE_DIMENSIONS, found.loadings[place], strict=True), key=lambda each: -abs(each[1])
            )
            yield replace(
                base, family="pca", measure=f"judged dimensions over {level}", a=f"component {place + 1}",
                value=float(share), n=found.n, status=found.status,
                note=", ".join(f"{name} {weight:+.2f}" for name, weight in heavy[:3]),
            )  # fmt: skip


def _means(frame: pl.DataFrame) -> Floats:
    means: Floats = frame.mean().cast(pl.Float64).to_numpy()[0]
    return means


def _changes(cells: Sequence[Cell], base: Row) -> Iterator[Row]:
    """Yield what follows from several conditions together."""
    by_model: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        by_model.setdefault(cell.model, {})[cell.condition] = cell
    deltas: dict[str, tuple[float | None, float | None]] = {}
    for model, own in by_model.items():
        if NORMAL not in own:
            continue
        adversarial, stripped = (_delta(own, condition) for condition in (ADVERSARIAL, STRIPPED))
        deltas[model] = adversarial, stripped
        if adversarial is not None and stripped is not None:
            yield replace(
                base, model=model, family="cognitive_map", measure="mms_delta",
                a=quadrant(adversarial, stripped), value=adversarial, statistic=stripped,
                verdict=profile(100 * adversarial, 100 * stripped), n=own[ADVERSARIAL].items.height, note=_UNMOVED,
            )  # fmt: skip
        behaves = character(_behaviour(own))
        if behaves is not None:
            yield replace(
                base,
                model=model,
                family="character",
                measure="behaviour",
                verdict=behaves,
                n=own[NORMAL].scored,
            )
    yield from _predictors(by_model, deltas, base)


def _delta(own: dict[str, Cell], condition: str) -> float | None:
    if condition not in own:
        return None
    mine = own[condition].items.select("instance_id", "mms")
    both = mine.join(own[NORMAL].items.select("instance_id", normal="mms"), on="instance_id")
    return float((both["mms"] - both["normal"]).to_numpy().mean()) if both.height else None


def _behaviour(own: dict[str, Cell]) -> dict[str, float | None]:
    normal = own[NORMAL]
    told: dict[str, float | None] = {"coverage": normal.scored / normal.asked if normal.asked else None}
    for name in ("epistemic_cowardice", "self_revision_rate", "change_rate"):
        told[name] = _mean(normal.items[name])
    if ADVERSARIAL in own:
        told["adversarial_changed"] = _mean(own[ADVERSARIAL].items["changed_from_normal"])
    return told


def _mean(values: pl.Series) -> float | None:
    known = values.drop_nulls()
    return float(known.to_numpy().mean()) if len(known) else None


def _predictors(
    by_model: dict[str, dict[str, Cell]], deltas: dict[str, tuple[float | None, float | None]], base: Row
) -> Iterator[Row]:
    """Yield how the mean grade in each judged dimension goes with adversarial Δ over models."""
    models = [name for name, (adversarial, _) in deltas.items() if adversarial is not None]
    columns = [f"judged_{name}" for name in JUDGE_DIMENSIONS]
    graded = [name for name in models if by_model[name][NORMAL].items[columns[0]].drop_nulls().len()]
    if len(graded) < 2:
        return
    grades = np.stack([_means(by_model[name][NORMAL].items.select(columns)) for name in graded]).T
    change = np.array([deltas[name][0] for name in graded], dtype=np.float64)
    changes = np.broadcast_to(change, grades.shape)
    found = spearman_rows(grades, changes)
    without = np.stack(
        [spearman_rows(np.delete(grades, i, 1), np.delete(changes, i, 1)).rho for i in range(len(graded))]
    )
    for place, name in enumerate(JUDGE_DIMENSIONS):
        told = found.status[place] == "ok"
        p = float(found.p[place])
        adjusted = min(1.0, p * len(JUDGE_DIMENSIONS))
        yield replace(
            base, condition=NORMAL, family="predictor", measure=name, a="adversarial_delta",
            value=float(found.rho[place]) if told else None,
            low=float(without[:, place].min()) if told else None,
            high=float(without[:, place].max()) if told else None,
            p=p if told else None, p_adjusted=adjusted if told else None,
            verdict=_verdict(adjusted) if told else None, n=int(found.n[place]),
            note="low and high: range when one model is left out", status=str(found.status[place]),
        )  # fmt: skip
