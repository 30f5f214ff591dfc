"""MEDLEY-BENCH as printed (arXiv:2604.16009), and what follows of its headline claims from the printed tables.

Results of single instances and grades of judges are announced, and not found in the authors' package: what follows is made
from the printed tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Comparison, Published
from metacog_pipeline.benchmarks.medley import items, rules
from metacog_pipeline.benchmarks.medley.contrasts import DIFFERENCE, slope_rows
from metacog_pipeline.benchmarks.medley.items import ADVERSARIAL, BENCHMARK, CLAIM_IDS
from metacog_pipeline.benchmarks.medley.prompts import presented
from metacog_pipeline.benchmarks.medley.scores import ABILITIES, score_triples, strengths
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring import published as headlines
from metacog_pipeline.scoring.published import BUILT, FAILS, HOLDS, Row, above, claim, hundredth, long
from metacog_pipeline.stats.ranks import spearman

_SCORES = ["mms", "mas", "t1", "t2", "t3", *ABILITIES]
_CHANGED = {"adversarial": 30, "adversarial_delta": 30, "stripped_delta": 50}  # instances
_SIZES_PRINTED = ("params_b", "params_active_b")
_WITHOUT = {"rho": "", "max_rank_shift": "_shift", "spread_change": "_spread"}


def _table(stem: str) -> pl.DataFrame:
    path = shipped("data", "published", BENCHMARK, f"{stem}.csv")
    return pl.read_csv(path, infer_schema_length=None, glob=False)


def values() -> pl.DataFrame:
    """Return the scores, changes and profiles of every model; agreements and verified claims have no model."""

    def scores(stem: str, measures: Sequence[str], **more: Any) -> pl.DataFrame:
        found = long(_table(stem).select("model", *measures), measures).with_columns(value=hundredth("value"))
        found = found.with_columns(place=pl.lit(_place(stem)), condition=pl.lit("normal"), n=pl.lit(130))
        return found.with_columns(**more)

    def agreed(stem: str, condition: pl.Expr, measures: Mapping[str, str]) -> pl.DataFrame:
        named = (pl.col(column).alias(measure) for column, measure in measures.items())
        found = long(_table(stem).select(condition.alias("condition"), *named), list(measures.values()))
        return found.with_columns(place=pl.lit(_place(stem)))

    labels = _table("table_s7").select(
        "model", place=pl.lit("table S7"), condition=pl.lit("all"), measure=pl.lit("profile"),
        value=pl.lit(None, pl.Float64), note=pl.col("profile").str.to_lowercase(),
    )  # fmt: skip
    about = (pl.col(name).fill_null("-") for name in ("family", "series", "released"))
    known = _table("models").with_columns(note=pl.format("family {}; series {}; released {}", *about))
    sizes = long(known.select("model", "note", *_SIZES_PRINTED), _SIZES_PRINTED)
    measure, pair = pl.col("measure"), pl.col("a") + " and " + pl.col("b")
    parts = [
        scores("table_1", _SCORES),
        scores(
            "table_s7", list(_CHANGED), condition=measure.str.extract("^([a-z]+)"), n=measure.replace_strict(_CHANGED),
            measure=measure.replace("adversarial", "mms"),
        ),
        scores("table_s10", [f"ipsative_{name}" for name in ABILITIES]),
        scores(
            "table_s10", ["dominant_pct"], measure=pl.lit("dominant_share"),
            note="dominant: " + _table("table_s10")["dominant"],
        ),
        labels,
        agreed("table_s5", pair, {"rho": "cross_domain"}),
        agreed("table_s6", pl.col("domain_removed"), {k: f"leave_one_domain_out{v}" for k, v in _WITHOUT.items()}),
        agreed("table_s8", pair, {"rho": "aggregation"}),
        agreed("table_s9", pl.col("category"), {name: name for name in ("claims", "agree", "disagree", "agree_pct")}),
        sizes.with_columns(place=pl.lit("models"), condition=pl.lit("all")),
    ]  # fmt: skip
    return pl.concat(parts, how="diagonal_relaxed").with_columns(dataset=pl.lit("published"))


def _place(stem: str) -> str:
    return stem.replace("_s", " S").replace("_", " ")


def _sized() -> pl.DataFrame:
    return _table("table_1").join(_table("models"), on="model", how="left", maintain_order="left")


def ledger(data: object = None) -> pl.DataFrame:
    """Return one row per headline claim of the paper: what follows from its tables, and what chance would give."""
    table = _sized()
    return headlines.ledger([*_size(table), *_profiles(table), *_tiers(table), _followed()])


def published_slopes() -> Iterator[Comparison]:
    """Yield how the printed scores grow with size within series, in shares per tenfold size."""
    base = Comparison("", "", dataset="published", condition="normal", source="published")
    named = _sized().filter(pl.col("series").is_not_null())
    scores = {name: named[name].to_numpy().astype(np.float64) / 100 for name in ("mms", *ABILITIES)}
    size = np.log10(named["params_b"].cast(pl.Float64).to_numpy())
    yield from slope_rows(base, size, scores, named["series"].to_list())


def _size(table: pl.DataFrame) -> Iterator[Row]:
    asked = {name: f"{name} grows with size" for name in ("evaluation", "control")}
    asked[DIFFERENCE] = "evaluation grows more with size than control"
    for slope in published_slopes():
        if slope.measure in asked and slope.low is not None and slope.high is not None:
            yield claim(
                "table 1, open models", asked[slope.measure], "slope per tenfold size within series",
                above(slope.low, slope.high), slope.value, low=slope.low, high=slope.high,
                expected="0 without an effect of size", note=f"{slope.n} models; {slope.note}; shares of 0 to 1",
            )  # fmt: skip
    same = total = 0
    for _, own in table.drop_nulls("series").sort("place_in_series").group_by("series", maintain_order=True):
        if own.height > 1:
            signs = [np.sign(own[name][-1] - own[name][0]) for name in ("evaluation", "control")]
            same, total = same + int(signs[0] == signs[1]), total + 1
    yield claim(
        "table 1, size series", "evaluation and control part ways as size grows", "series whose two abilities move alike",
        FAILS if same > total / 2 else HOLDS, float(same), expected=f"{total / 2:g} of {total} if the two were unrelated",
        note=f"they move the same way in {same} of {total}",
    )  # fmt: skip


def _profiles(table: pl.DataFrame) -> Iterator[Row]:
    scores = table.select(ABILITIES).to_numpy()
    negative = sum(strengths(row)["evaluation"] < 0 for row in table.select(ABILITIES).to_dicts())
    yield claim(
        "table 1", "evaluation is below a model's own mean in every model", "ability - mean of ten dimensions",
        HOLDS if negative == table.height else FAILS, float(negative), published=float(table.height),
        expected="half of the models if no ability were harder than another", note="Gemma-3N (4B) is the exception",
    )  # fmt: skip
    for text, method, verdict, own, expected, note in (
        ("abilities compete within a model", "mean Spearman of ipsative abilities", BUILT,
         scores - scores.mean(axis=1, keepdims=True), "-1/3: four numbers that add up to 0", ""),
        ("the four abilities are distinct", "Spearman of raw abilities over models", FAILS, scores,
         "0 for unrelated abilities, 1 for one ability", "; one ability accounts for most of all four"),
    ):  # fmt: skip
        rhos = [spearman(a, b).value or 0.0 for a, b in combinations(own.T, 2)]
        yield claim(
            "table 1", text, method, verdict, float(np.mean(rhos)), low=min(rhos), high=max(rhos), expected=expected,
            note=f"low and high: range over pairs{note}",
        )  # fmt: skip


def _tiers(table: pl.DataFrame) -> Iterator[Row]:
    t1, t2, mas = (table[name].to_numpy() / 100 for name in ("t1", "t2", "mas"))
    yield claim(
        "table 1", "tier 1 distinguishes models over its range", "largest T1 of 35 models", FAILS, float(t1.max()),
        low=float(t1.min()), high=float(t1.max()), expected="0.5 for who changes nothing",
        note="low and high: range over models, of a scale of 0 to 1",
    )  # fmt: skip
    left = 1 - float(np.corrcoef(t2, mas)[0, 1]) ** 2
    yield claim(
        "table 1", "tier 2 is robustness, not capability", "share of T2's variance left after MAS",
        HOLDS if left > 0.5 else FAILS, left, expected="1 if T2 had nothing to do with capability, 0 if all",
    )  # fmt: skip


def follower_gain(scoring: str) -> float:
    """Return T2 of a respondent that follows an inverted statistic minus T2 of one that follows the unchanged arguments."""

    def reply(label: str) -> dict[str, Any]:
        return {"claim_level_assessments": [{"claim_id": claim, "confidence": label} for claim in CLAIM_IDS]}

    # Both were undecided on five claims that seven of eight analysts support.
    item = items.Instance(
        item_id="one", dataset="custom", domain="medical", vignette="", is_known_answer=True, is_error_detection=False,
        claims=tuple(items.Claim(claim, "", 8, 0.2) for claim in CLAIM_IDS),
        analysts=tuple(items.Analyst(f"{n}", reply(label)) for n, label in enumerate(["high"] * 7 + ["low"])),
        consensus=items.Consensus(dict.fromkeys(CLAIM_IDS, 0.875)),
    )  # fmt: skip
    shown, before = presented(item, ADVERSARIAL), reply("moderate")
    triples = [rules.Triple(before, before, reply(label)) for label in ("very_low", "high")]
    found = score_triples([shown, shown], triples, None, rules.PRESETS[scoring], adversarial=True)
    return float(-np.diff(found["social_robustness"])[0])


def _followed() -> Row:
    package, paper = map(follower_gain, ("reference", "paper"))
    return claim(
        "table S7", "a model that gains under an inverted consensus follows the consensus",
        "T2 of a follower of the inverted statistic minus T2 of a follower of the arguments, Equation 3",
        FAILS if package > 0 else HOLDS, paper, published=0.116,
        expected=f"{package:+.3f} by the package's rule, which takes the mean of the analysts for the consensus",
        note="by that rule a follower of the inverted statistic moves away from the analysts, and gains",
    )  # fmt: skip


PUBLISHED = Published(lambda _: values(), lambda _: ledger(), lambda _: published_slopes())
