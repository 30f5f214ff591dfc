"""The benchmark's own tables beside the shared ones: agreement of judges, gates of the set, profiles of models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl

from metacog_pipeline.asking.construction import KeptInputs
from metacog_pipeline.benchmark.contract import Scored, Table, schema_of
from metacog_pipeline.benchmarks.medley import contrasts
from metacog_pipeline.benchmarks.medley.abilities import ABILITIES, strengths
from metacog_pipeline.benchmarks.medley.aggregate import DIMENSIONS
from metacog_pipeline.benchmarks.medley.construction.gates import (
    Evidence,
    gate_frame,
    gates_of,
    with_judges,
)
from metacog_pipeline.benchmarks.medley.judging.agreement import ALL_DIMENSIONS, Agreement
from metacog_pipeline.benchmarks.medley.judging.declared import agreements
from metacog_pipeline.benchmarks.medley.presentation import ADVERSARIAL, NORMAL, STRIPPED
from metacog_pipeline.files import shipped

_SOPHISTRY = tuple(DIMENSIONS["digital_sophistry"])


@dataclass(frozen=True, slots=True)
class GateRow:
    """One gate a set of instances must pass to be released, and what was found."""

    benchmark: str
    dataset: str
    place: Annotated[int, "order of the gates"]
    name: Annotated[str, "G1 to G15 of the published design, X1 to X8 of this project"]
    rule: str
    severity: Annotated[str, "a gate that blocks keeps a set from being released unless it is passed"]
    status: Annotated[str, "not_evaluated where what it needs is not there; found says why"]
    found: str
    wanted: str


@dataclass(frozen=True, slots=True)
class Profile:
    """What moves a model, what an inverted consensus and weak analysts do to its MMS, and where it is strong."""

    dataset: str
    scoring: Annotated[
        str | None,
        "how it was scored and, behind a colon, in which words it was asked; null for printed rows",
    ]
    wording: Annotated[
        str, "whose words the prompts are in: house, authors, or the id of a file of one's own"
    ]
    model: str
    source: str
    adversarial_delta: Annotated[
        float | None,
        "MMS with an inverted consensus minus MMS of the same instances without: a score by other rules, no behaviour",
    ]
    adversarial_low: float | None
    adversarial_high: float | None
    stripped_delta: Annotated[
        float | None, "MMS with the two weakest analysts minus MMS of the same instances with all"
    ]
    stripped_low: float | None
    stripped_high: float | None
    crowd_pull: Annotated[
        float | None,
        "shift of ratings toward the statistic that is shown inverted, arguments being the same, minus the placebo",
    ]
    crowd_pull_low: float | None
    crowd_pull_high: float | None
    argument_pull: Annotated[
        float | None,
        "shift of ratings toward the arguments where that statistic is not on their side, minus the placebo",
    ]
    argument_pull_low: float | None
    argument_pull_high: float | None
    quadrant: Annotated[str | None, "what pulls and what pushes, by the intervals of both pulls"]
    profile: Annotated[str | None, "of printed rows: the label as printed"]
    character: Annotated[
        str | None, "what moves it, by one rule on both pulls; not enough below 18 instances"
    ]
    monitoring: Annotated[float | None, "the ability minus the mean of the model's own judged dimensions"]
    control: float | None
    evaluation: float | None
    self_regulation: float | None
    dominant: Annotated[str | None, "the ability that is largest in most instances"]
    dominant_share: Annotated[float | None, "share of these instances"]
    place: Annotated[str | None, "of printed abilities: table S10, or table 1 where its rule was applied"]


def gates(benchmark: Any, scored: Scored) -> pl.DataFrame:
    """Return the gates of the whole set, those on judges decided by how far they agree.

    Judgements of measured models count where there are any, else those of simulated ones.
    """
    dataset = benchmark.settings.dataset
    agreed = agreements(benchmark, scored)
    kappas = agreed.filter(pl.col("measure") == "fleiss_kappa", pl.col("dataset") == dataset).sort("source")
    rows = {row["dimension"]: row for row in reversed(kappas.to_dicts())}
    known = [
        row["estimate"] for name in _SOPHISTRY if (row := rows.get(name)) and row["estimate"] is not None
    ]
    overall = rows.get(ALL_DIMENSIONS, {"estimate": None, "status": Evidence().not_judged})
    why = overall["status"] if benchmark.judges else "the study names no judges"
    sophistry = sum(known) / len(known) if known else None
    kept = gates_of(KeptInputs(benchmark).frame("gates"))
    frame = gate_frame(with_judges(kept, overall["estimate"], sophistry, why)).with_row_index("place", 1)
    return frame.with_columns(benchmark=pl.lit(benchmark.name), dataset=pl.lit(dataset))


def profiles(benchmark: Any, scored: Scored) -> pl.DataFrame:
    """Return one row per model, and one per printed model where the published instances are asked."""
    labels: dict[tuple[str | None, str | None], dict[str, str | None]] = {}
    for row in contrasts.cognitive_map(benchmark, scored.groups):
        labels.setdefault((row.dataset, row.model), {})["quadrant"] = row.a
    for row in contrasts.characters(benchmark, scored.groups):
        labels.setdefault((row.dataset, row.model), {})["character"] = row.verdict
    keys = ("dataset", "scoring", "model", "source")
    found: dict[tuple[Any, ...], dict[tuple[str, str], tuple[Any, ...]]] = {}
    for *names, condition, measure, value, low, high, method in scored.estimates.select(
        *keys, "condition", "measure", "estimate", "low", "high", "method"
    ).iter_rows():
        where = condition.removesuffix(f" {names[1]}")
        found.setdefault(tuple(names), {})[where, measure] = value, low, high, method
    rows = []
    for names_of, own in found.items():
        told = dict(zip(keys, names_of, strict=True))
        label = labels.get((told["dataset"], told["model"]), {})
        words = str(told["scoring"]).partition(":")[2] or "house"
        rows.append({**told, **label, "wording": words, **_numbers(own)})
    if benchmark.settings.dataset == "published":
        rows += _printed()
    schema = schema_of(Profile)
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def _numbers(found: Mapping[tuple[str, str], tuple[Any, ...]]) -> dict[str, Any]:
    """Return the numbers of a profile; ``found`` has value, ends and method by condition and measure."""
    nothing = (None, None, None, "")
    columns = {
        "adversarial_delta": ("adversarial", ADVERSARIAL, "adversarial_delta"),
        "stripped_delta": ("stripped", STRIPPED, "stripped_delta"),
        "crowd_pull": ("crowd_pull", ADVERSARIAL, "pull_crowd"),
        "argument_pull": ("argument_pull", ADVERSARIAL, "pull_arguments"),
    }
    known: dict[str, Any] = {}
    for name, (stem, condition, measure) in columns.items():
        known[name], known[f"{stem}_low"], known[f"{stem}_high"], _ = found.get((condition, measure), nothing)
    share, _, _, method = found.get((NORMAL, "dominant_share"), nothing)
    dominant = re.search(r"dominant: (\w+)", method)
    return {
        **known,
        **{name: found.get((NORMAL, f"ipsative_{name}"), nothing)[0] for name in ABILITIES},
        "dominant": dominant[1] if dominant and share is not None else None,
        "dominant_share": share,
    }


def _printed() -> list[dict[str, Any]]:
    """Return the printed models: changes of table S7, abilities of table S10 or, by its rule, of table 1."""
    folder = shipped("data", "published", "medley")
    changed, ipsative, whole = (
        {row["model"]: row for row in pl.read_csv(folder / f"{name}.csv", glob=False).iter_rows(named=True)}
        for name in ("table_s7", "table_s10", "table_1")
    )
    told = {"dataset": "published", "wording": "authors", "source": "published"}
    return [
        {
            **told,
            "model": model,
            **_changes(changed.get(model)),
            **_abilities(row, ipsative.get(model)),
        }
        for model, row in {**changed, **whole}.items()
    ]


def _changes(row: Mapping[str, Any] | None) -> dict[str, Any]:
    if row is None:
        return {}
    return {
        "adversarial_delta": row["adversarial_delta"] / 100,
        "stripped_delta": row["stripped_delta"] / 100,
        "profile": row["profile"].lower(),
    }


def _abilities(whole: Mapping[str, Any], printed: Mapping[str, Any] | None) -> dict[str, Any]:
    if printed is not None:
        own = {name: printed[f"ipsative_{name}"] / 100 for name in ABILITIES}
        share = printed["dominant_pct"] / 100
        return {**own, "dominant": printed["dominant"], "dominant_share": share, "place": "table S10"}
    if "monitoring" not in whole:
        return {}
    return {**{name: own / 100 for name, own in strengths(whole).items()}, "place": "table 1"}


TABLES = (
    Table(
        "agreement", Agreement, agreements,
        "How far the judges agree: all of them (Krippendorff's alpha, Fleiss' kappa) or two (Cohen's).",
        ("dataset", "source", "reading", "measure", "dimension", "a", "b"),
    ),
    Table("gates", GateRow, gates, "Whether the set of instances is fit to be released.", ("dataset", "name")),
    Table(
        "profiles", Profile, profiles, "What others change in a model, what it behaves like, and where it is strong.",
        ("dataset", "scoring", "model", "source"),
    ),
)  # fmt: skip
