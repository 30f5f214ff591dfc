"""The benchmark's own tables, in addition to the shared ones: agreement of judges, gates of the set, profiles of models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any

import polars as pl

from metacog_pipeline.asking.construction import KeptInputs
from metacog_pipeline.benchmark.contract import Scored, Table, schema_of
from metacog_pipeline.benchmarks.medley import contrasts
from metacog_pipeline.benchmarks.medley.aggregate import ABILITIES, DIMENSIONS, strengths
from metacog_pipeline.benchmarks.medley.construction import gates as of_set
from metacog_pipeline.benchmarks.medley.items import ADVERSARIAL, NORMAL, STRIPPED
from metacog_pipeline.benchmarks.medley.judging.agreement import ALL_DIMENSIONS, Agreement
from metacog_pipeline.benchmarks.medley.judging.declared import agreements
from metacog_pipeline.files import shipped


@dataclass(frozen=True, slots=True)
class GateRow:
    """One gate a set of instances must pass to be released, and what was found."""

    benchmark: str
    dataset: str
    place: Annotated[int, "order of the gates"]
    name: Annotated[str, "G1 to G15 of the published design, X1, X4 and X8 of this project"]
    rule: str
    severity: Annotated[str, "a gate that blocks keeps a set from being released unless it is passed"]
    status: Annotated[str, "not_evaluated where what it needs is not there; found says why"]
    found: str
    wanted: str


def _number(says: str = "") -> Any:
    return Annotated[float | None, says] if says else float | None


#: What moves a model, what an inverted consensus and weak analysts do to its MMS, and where it is strong.
Profile = make_dataclass(
    "Profile",
    [
        ("dataset", str),
        (
            "scoring",
            Annotated[
                str | None, "how it was scored and, after a colon, in which words; null for printed rows"
            ],
        ),
        (
            "wording",
            Annotated[
                str, "whose words the prompts are in: house, authors, or the id of a file of one's own"
            ],
        ),
        ("model", str),
        ("source", str),
        (
            "adversarial_delta",
            _number("MMS with an inverted consensus minus MMS of the same instances: no behaviour"),
        ),
        ("adversarial_low", _number()),
        ("adversarial_high", _number()),
        (
            "stripped_delta",
            _number("MMS with the two weakest analysts minus MMS of the same instances with all"),
        ),
        ("stripped_low", _number()),
        ("stripped_high", _number()),
        (
            "crowd_pull",
            _number("shift of ratings toward the statistic that is shown inverted, minus the placebo"),
        ),
        ("crowd_pull_low", _number()),
        ("crowd_pull_high", _number()),
        (
            "argument_pull",
            _number("shift of ratings toward the arguments where that statistic is against them"),
        ),
        ("argument_pull_low", _number()),
        ("argument_pull_high", _number()),
        ("quadrant", Annotated[str | None, "what pulls and what pushes, by the intervals of both pulls"]),
        ("profile", Annotated[str | None, "of printed rows: the label as printed"]),
        (
            "character",
            Annotated[str | None, "what moves it, by one rule on both pulls; not enough below 18 instances"],
        ),
        *(
            (name, _number("the ability minus the mean of the model's own judged dimensions"))
            for name in ABILITIES
        ),
        ("dominant", Annotated[str | None, "the ability that is largest in most instances"]),
        ("dominant_share", _number("share of these instances")),
        (
            "place",
            Annotated[str | None, "of printed abilities: table S10, or table 1 where its rule was applied"],
        ),
    ],
)


def gates(benchmark: Any, scored: Scored) -> pl.DataFrame:
    """Return the gates of the whole set, those on judges decided by how far they agree.

    Judgements of measured models count where there are any, else those of simulated ones.
    """
    dataset = benchmark.settings.dataset
    agreed = agreements(benchmark, scored).filter(measure="fleiss_kappa", dataset=dataset).sort("source")
    rows = {row["dimension"]: row for row in reversed(agreed.to_dicts())}
    known = [rows[name]["estimate"] for name in DIMENSIONS["digital_sophistry"] if name in rows]
    sophistry = [each for each in known if each is not None]
    overall = rows.get(ALL_DIMENSIONS, {"estimate": None, "status": of_set.NOT_JUDGED})
    why = overall["status"] if benchmark.judges else "the study names no judges"
    kept = KeptInputs(benchmark).frame("gates")
    mean = sum(sophistry) / len(sophistry) if sophistry else None
    decided = of_set.with_judges(kept, overall["estimate"], mean, why).with_row_index("place", 1)
    return decided.with_columns(benchmark=pl.lit(benchmark.name), dataset=pl.lit(dataset))


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
        found.setdefault(tuple(names), {})[condition, measure] = value, low, high, method
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
    known: dict[str, Any] = {}
    for name, stem, condition, measure in (
        ("adversarial_delta", "adversarial", ADVERSARIAL, "adversarial_delta"),
        ("stripped_delta", "stripped", STRIPPED, "stripped_delta"),
        ("crowd_pull", "crowd_pull", ADVERSARIAL, "pull_crowd"),
        ("argument_pull", "argument_pull", ADVERSARIAL, "pull_arguments"),
    ):
        known[name], known[f"{stem}_low"], known[f"{stem}_high"], _ = found.get((condition, measure), nothing)
    share, _, _, method = found.get((NORMAL, "dominant_share"), nothing)
    dominant = re.search(r"dominant: (\w+)", method)
    known |= {name: found.get((NORMAL, f"ipsative_{name}"), nothing)[0] for name in ABILITIES}
    return {
        **known,
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
    rows = []
    for model in {**changed, **whole}:
        row = {"dataset": "published", "wording": "authors", "source": "published", "model": model}
        if (change := changed.get(model)) is not None:
            row |= {name: change[name] / 100 for name in ("adversarial_delta", "stripped_delta")}
            row["profile"] = change["profile"].lower()
        if (own := ipsative.get(model)) is not None:
            row |= {name: own[f"ipsative_{name}"] / 100 for name in ABILITIES}
            row |= {
                "dominant": own["dominant"],
                "dominant_share": own["dominant_pct"] / 100,
                "place": "table S10",
            }
        elif model in whole:
            row |= {name: each / 100 for name, each in strengths(whole[model]).items()} | {"place": "table 1"}
        rows.append(row)
    return rows


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
