"""Estimates of models from scores of instances: every measure with its 95 % interval, or the reason it has none.

The headline of MMS is the 10 % trimmed mean over instances; mean, median and double step (mean minus one standard
deviation) stand beside it. Everything else is a mean. An instance is the unit of chance: with several runs its value is
the mean of its runs, and it is resampled with all of them. All scores are of 0..1.

Failures: an instance of which a reply is missing makes a run incomplete: its numbers are withheld, or, when incomplete
runs are allowed, computed without it and labelled. One of which a reply cannot be read, or was refused, is left out and
counted. So a model that says nothing has no score, not the 0.5 that the measures give to silence.

What step A says by itself (``step_a_…``) needs no more than step A: it is given for a replayed model of which nothing else
is known, whose other measures say that step A does not define them.

Without judges the parts that rest on rules are scored, ``judge_share_missing`` says how much of MMS that leaves out, and
the judged measures have no value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl

from metacog_pipeline.benchmarks.medley.abilities import ABILITIES, dominant_ability
from metacog_pipeline.benchmarks.medley.aggregate import DIMENSIONS, TIERS
from metacog_pipeline.benchmarks.medley.cells import DOMINANT, KNOWN, Cell, cells_of
from metacog_pipeline.benchmarks.medley.instance_scores import Grades, score_instances
from metacog_pipeline.benchmarks.medley.items import BENCHMARK, DOMAINS, Instance
from metacog_pipeline.benchmarks.medley.means import resampled_means
from metacog_pipeline.benchmarks.medley.measures.panel import Floats
from metacog_pipeline.benchmarks.medley.measures.table import COMPUTED
from metacog_pipeline.benchmarks.medley.parsing import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.presentation import MASKING, NORMAL, Masking
from metacog_pipeline.benchmarks.medley.triples import STEP_A_ALONE
from metacog_pipeline.stats.estimate import Estimate, unavailable
from metacog_pipeline.stats.robust import N_BOOT, Location, location_estimate, location_estimates

_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "dataset", "variant", "condition", "model"), pl.String),
    "run": pl.Int32,
    "measure": pl.String,
    **dict.fromkeys(("estimate", "low", "high", "sem"), pl.Float64),
    **dict.fromkeys(("n", "n_failed", "n_unparsable"), pl.Int64),
    "coverage": pl.Float64,
    **dict.fromkeys(("method", "status", "source"), pl.String),
}
ESTIMATE_SCHEMA = pl.Schema(_TYPES)
MMS: dict[str, Location] = {
    "mms": "trimmed_mean",
    "mms_mean": "mean",
    "mms_median": "median",
    "mms_double_step": "double_step",
}
TIER_NAMES = dict(zip(("t1", "t2", "t3"), TIERS, strict=True))
BY_DOMAIN = {f"mms_{domain}": domain for domain in DOMAINS}
NOTHING_SCORED = "no instance could be scored"
NOT_JUDGED = "not judged"
NO_KNOWN_ANSWER = "no instance with a known answer"
NOT_THERE = "not defined for these instances"
NO_BASE = "no instance scored under normal as well"
# The target claim of a published case names a slot, and each respondent fills the slots with claims of its own.
KNOWN_CAVEAT = (
    "claims are the respondent's own: the target slot has no fixed meaning where claims have no text"
)
_MEAN = "mean, instance bootstrap"
_FIRST = "mean over answers to step A, instance bootstrap"
# Measure → column of the items; what is judged has no value without judges.
_MEANS = {
    **TIER_NAMES,
    **{name: name for name in COMPUTED},
    **{f"dimension_{name}": f"dimension_{name}" for name in DIMENSIONS},
    **{name: name for name in ("self_revision_rate", "change_rate", "judge_share_missing")},
    **{name: name for name in KNOWN},
    **{f"judged_{name}": f"judged_{name}" for name in JUDGE_DIMENSIONS},
    "mas": "mas",
    **{name: name for name in ABILITIES},
    **{f"ipsative_{name}": f"ipsative_{name}" for name in ABILITIES},
    **{name: name for name in DOMINANT},
}
_JUDGED = frozenset(
    {"mas", *ABILITIES, *DOMINANT}
    | {f"judged_{name}" for name in JUDGE_DIMENSIONS}
    | {f"ipsative_{name}" for name in ABILITIES}
)
Found = dict[str, Estimate]


def score(
    observations: pl.DataFrame,
    instances: Sequence[Instance],
    judged: Grades | None = None,
    *,
    variant: str = "reference",
    seed: int,
    allow_incomplete: bool = False,
    masking: Masking = MASKING,
    n_boot: int = N_BOOT,
) -> pl.DataFrame:
    """Return one row per dataset, variant, condition, model, run and measure, in `ESTIMATE_SCHEMA`.

    Parameters
    ----------
    observations, instances, judged, variant, masking
        As `instance_scores.score_instances` takes them: every instance of every run, also those not asked.
    seed
        Of the bootstrap; the same seed gives the same bytes.
    allow_incomplete
        Give numbers for incomplete runs too, over the answered instances, status ``incomplete: …``.
    n_boot
        Resamples of instances.
    """
    scored = score_instances(observations, instances, judged, variant=variant, masking=masking)
    return estimates(scored, by_run=True, seed=seed, allow_incomplete=allow_incomplete, n_boot=n_boot)


def pool(
    observations: pl.DataFrame,
    instances: Sequence[Instance],
    judged: Grades | None = None,
    *,
    variant: str = "reference",
    seed: int,
    allow_incomplete: bool = False,
    masking: Masking = MASKING,
    n_boot: int = N_BOOT,
) -> pl.DataFrame:
    """Return one row per dataset, variant, condition, model and measure over all runs given; ``run`` is null.

    Parameters as in `score`. n counts instances.
    """
    scored = score_instances(observations, instances, judged, variant=variant, masking=masking)
    return estimates(scored, by_run=False, seed=seed, allow_incomplete=allow_incomplete, n_boot=n_boot)


def estimates(
    scored: pl.DataFrame, *, by_run: bool, seed: int, allow_incomplete: bool = False, n_boot: int = N_BOOT
) -> pl.DataFrame:
    """Return what `score` and `pool` return from rows of `instance_scores.INSTANCE_SCHEMA`, where these are kept."""
    cells = cells_of(scored, by_run=by_run)
    normal = {
        (cell.dataset, cell.variant, cell.model, cell.run): cell for cell in cells if cell.condition == NORMAL
    }
    rows: list[tuple[object, ...]] = []
    for cell in cells:
        base = normal.get((cell.dataset, cell.variant, cell.model, cell.run))
        missing = cell.incomplete or (base.incomplete if base is not None else None)
        shown = allow_incomplete or cell.incomplete is None
        found = _found(cell, seed, n_boot) if shown else {}
        if cell.condition == NORMAL and (shown or cell.alone or cell.first_incomplete is None):
            found |= _first(cell, seed, n_boot)
        if cell.condition != NORMAL and (allow_incomplete or missing is None):
            found |= _against_normal(cell, base, seed, n_boot)
        rows.extend(_rows(cell, found))
    return pl.DataFrame(rows, schema=ESTIMATE_SCHEMA, orient="row")


def _found(cell: Cell, seed: int, n_boot: int) -> Found:
    """Return the measures of a cell that stand by themselves."""
    whole = cell.items["mms"].to_numpy()
    headline = location_estimates(whole, tuple(MMS.values()), n_boot=n_boot, seed=seed)
    found: Found = {name: headline[kind] for name, kind in MMS.items()}
    domains = cell.items["domain"].to_numpy()
    for name, domain in BY_DOMAIN.items():
        found[name] = location_estimate(whole[domains == domain], "trimmed_mean", n_boot=n_boot, seed=seed)
    means = resampled_means(_table(cell.items, _MEANS.values()), n_boot, seed)
    for place, name in enumerate(_MEANS):
        method = f"{_MEAN}; {KNOWN_CAVEAT}" if name in KNOWN else _MEAN
        found[name] = means.estimate(place, method, _why(name))
    expert, injected = (list(_MEANS).index(f"known_answer_{which}") for which in ("expert", "injected"))
    found["known_answer_gap"] = means.difference(expert, injected).estimate(
        0, f"expert - injected, instance bootstrap; {KNOWN_CAVEAT}", NO_KNOWN_ANSWER
    )
    dominant, _ = dominant_ability([ABILITIES.index(each) for each in cell.dominant])
    if dominant is None:
        found["dominant_share"] = unavailable(0, _MEAN, NOT_JUDGED)
    else:
        own = found[f"dominant_share_{dominant}"]
        found["dominant_share"] = Estimate(
            own.value, own.low, own.high, own.n, f"{_MEAN}; dominant: {dominant}", own.status, own.sem
        )
    return found


def _first(cell: Cell, seed: int, n_boot: int) -> Found:
    """Return what step A says by itself, which is asked once for all conditions."""
    means = resampled_means(_table(cell.first, STEP_A_ALONE), n_boot, seed)
    told = dict.fromkeys(STEP_A_ALONE, (_FIRST, NOTHING_SCORED))
    told["step_a_resistance"] = f"{_FIRST}; {KNOWN_CAVEAT}", NO_KNOWN_ANSWER
    return {name: means.estimate(place, *told[name]) for place, name in enumerate(STEP_A_ALONE)}


def _against_normal(cell: Cell, base: Cell | None, seed: int, n_boot: int) -> Found:
    """Return how a condition differs from ``normal`` on the instances scored under both."""
    delta = f"{cell.condition}_delta"
    method = "mean of MMS minus MMS under normal on the same instances, instance bootstrap"
    names = (delta, f"{delta}_base", "changed_from_normal")
    if base is None or base.items.is_empty() or cell.items.is_empty():
        return {name: unavailable(0, method, NO_BASE) for name in names}
    own = cell.items.select("instance_id", "mms", "changed_from_normal")
    both = own.join(base.items.select("instance_id", normal="mms"), on="instance_id").sort("instance_id")
    if both.is_empty():
        return {name: unavailable(0, method, NO_BASE) for name in names}
    columns = np.column_stack(
        [both["mms"] - both["normal"], both["normal"], both["changed_from_normal"].to_numpy()]
    )
    means = resampled_means(columns, n_boot, seed)
    methods = (
        method,
        "mean MMS under normal of these instances",
        "share of claims rated otherwise than under normal",
    )
    return {name: means.estimate(place, methods[place], NO_BASE) for place, name in enumerate(names)}


def _table(frame: pl.DataFrame, names: Iterable[str]) -> Floats:
    return np.column_stack([frame[name].to_numpy() for name in names])


def _why(name: str) -> str:
    if name in _JUDGED:
        return NOT_JUDGED
    return NO_KNOWN_ANSWER if name in KNOWN else NOT_THERE


def measure_names(condition: str) -> tuple[str, ...]:
    """Return the measures of a condition, in the order of the table."""
    own = (*MMS, *_MEANS, *BY_DOMAIN, "known_answer_gap", "dominant_share")
    delta = f"{condition}_delta"
    return (
        (*own, *STEP_A_ALONE)
        if condition == NORMAL
        else (*own, delta, f"{delta}_base", "changed_from_normal")
    )


def _rows(cell: Cell, found: Found) -> Iterator[tuple[object, ...]]:
    told = Estimate(cell.coverage, None, None, cell.asked, "scored / asked")
    for name in ("coverage", *measure_names(cell.condition)):
        shown = told if name == "coverage" else found.get(name) or unavailable(0, "withheld", NOT_THERE)
        status = shown.status
        if name in STEP_A_ALONE:
            status = cell.first_incomplete or status
        elif name != "coverage":
            if cell.incomplete:
                status = cell.incomplete
            elif cell.items.is_empty():
                status = NOTHING_SCORED
        yield (
            BENCHMARK,
            *(cell.dataset, cell.variant, cell.condition, cell.model),
            cell.run,
            name,
            *(shown.value, shown.low, shown.high, shown.sem),
            *(shown.n, cell.n_failed, cell.n_unparsable),
            cell.first_read / cell.asked if name in STEP_A_ALONE and cell.asked else cell.coverage,
            shown.method,
            status,
            cell.source,
        )
