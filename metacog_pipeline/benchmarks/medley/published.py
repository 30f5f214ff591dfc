"""MEDLEY-BENCH as printed (arXiv:2604.16009), which printed numbers follow from their own parts, and the headline claims.

Points of 0 to 100 become shares, agreements of rankings stay as they are. Results of single instances and grades of judges
are announced, and not found in the authors' package: every check is one of arithmetic, made from the printed tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Comparison, Published
from metacog_pipeline.benchmarks.medley import aggregate, contrasts
from metacog_pipeline.benchmarks.medley.aggregate import ABILITIES, NOTEBOOK
from metacog_pipeline.benchmarks.medley.construction.consensus import jackknife_majority, ranks
from metacog_pipeline.benchmarks.medley.instance_scores import score_triples
from metacog_pipeline.benchmarks.medley.items import (
    ADVERSARIAL,
    BENCHMARK,
    CLAIM_IDS,
    DOMAINS,
    Analyst,
    Claim,
    Instance,
)
from metacog_pipeline.benchmarks.medley.panel import PAPER, PRESETS, REFERENCE, Floats, Triple
from metacog_pipeline.benchmarks.medley.presentation import presented
from metacog_pipeline.benchmarks.medley.read import JUDGE_DIMENSIONS
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring import published as headlines
from metacog_pipeline.scoring.published import (
    BUILT,
    FAILS,
    HOLDS,
    Check,
    Row,
    Tables,
    above,
    audit_frame,
    audited,
    check,
    claim,
    hundredth,
    long,
)
from metacog_pipeline.stats.ranks import spearman, spearman_p

_SCORES = ["mms", "mas", "t1", "t2", "t3", *ABILITIES]
_CHANGED = {"adversarial": 30, "adversarial_delta": 30, "stripped_delta": 50}  # instances
_EVALUATION = ABILITIES.index("evaluation")
_SIZES = np.array([len(NOTEBOOK[name]) for name in ABILITIES])
HALF_DIGIT = 0.05  # what one printed decimal hides
_MODELS_OF_S7 = 11
_SIZES_PRINTED = ("params_b", "params_active_b")
_WITHOUT = {"rho": "", "max_rank_shift": "_shift", "spread_change": "_spread"}


# --- values -----------------------------------------------------------------------------------------------------------
def _table(stem: str) -> pl.DataFrame:
    path = shipped("data", "published", BENCHMARK, f"{stem}.csv")
    return pl.read_csv(path, infer_schema_length=None, glob=False)


def values(tables: Tables) -> pl.DataFrame:
    """Return the scores, changes and profiles of every model; agreements and verified claims have no model."""

    def scores(stem: str, measures: Sequence[str], **more: pl.Expr) -> pl.DataFrame:
        found = long(tables(stem).select("model", *measures), measures).with_columns(value=hundredth("value"))
        return found.with_columns(
            place=pl.lit(_place(stem)), condition=pl.lit("normal"), n=pl.lit(130)
        ).with_columns(**more)

    def agreed(stem: str, condition: pl.Expr, measures: Mapping[str, str]) -> pl.DataFrame:
        named = (pl.col(column).alias(measure) for column, measure in measures.items())
        found = long(tables(stem).select(condition.alias("condition"), *named), list(measures.values()))
        return found.with_columns(place=pl.lit(_place(stem)))

    labels = tables("table_s7").select(
        "model", pl.lit("table S7").alias("place"), pl.lit("all").alias("condition"),
        pl.lit("profile").alias("measure"), pl.lit(None, pl.Float64).alias("value"),
        pl.col("profile").str.to_lowercase().alias("note"),
    )  # fmt: skip
    about = (pl.col(name).fill_null("-") for name in ("family", "series", "released"))
    known = tables("models").with_columns(note=pl.format("family {}; series {}; released {}", *about))
    sizes = long(known.select("model", "note", *_SIZES_PRINTED), _SIZES_PRINTED)
    measure, pair = pl.col("measure"), pl.col("a") + " and " + pl.col("b")
    without = {name: f"leave_one_domain_out{end}" for name, end in _WITHOUT.items()}
    parts = [
        scores("table_1", _SCORES),
        scores(
            "table_s7", list(_CHANGED), condition=measure.str.extract("^([a-z]+)"), n=measure.replace_strict(_CHANGED),
            measure=measure.replace("adversarial", "mms"),
        ),
        scores("table_s10", [f"ipsative_{name}" for name in ABILITIES]),
        scores("table_s10", ["dominant_pct"]).with_columns(
            measure=pl.lit("dominant_share"), note="dominant: " + tables("table_s10")["dominant"]
        ),
        labels,
        agreed("table_s5", pair, {"rho": "cross_domain"}),
        agreed("table_s6", pl.col("domain_removed"), without),
        agreed("table_s8", pair, {"rho": "aggregation"}),
        agreed("table_s9", pl.col("category"), {name: name for name in ("claims", "agree", "disagree", "agree_pct")}),
        sizes.with_columns(place=pl.lit("models"), condition=pl.lit("all")),
    ]  # fmt: skip
    return pl.concat(parts, how="diagonal_relaxed").with_columns(dataset=pl.lit("published"))


def _place(stem: str) -> str:
    return stem.replace("_s", " S").replace("_", " ")


# --- printed numbers against their own parts --------------------------------------------------------------------------
def audit_tables() -> pl.DataFrame:
    """Return one row per check of the printed tables, in `AUDIT_SCHEMA`; ``tolerance``: what rounding explains."""
    whole, text = _table("table_1"), dict(_table("claims").select("quantity", "value").iter_rows())
    return audit_frame(
        [
            *_scores(whole),
            *_changes(_table("table_s7"), whole),
            *_sums(),
            *_ipsative(whole),
            *_text(text, whole),
        ]
    )


def _scores(table: pl.DataFrame) -> Iterator[Check]:
    """MMS from the three tiers, with either balance, MAS from the four abilities, and the printed order."""
    tiers, models = table.select("t1", "t2", "t3").to_numpy() / 100, table["model"]
    concave = "MMS is formed for each instance and bends down, so it may lie below what average tiers give, never above"
    for options, method in ((PAPER, "tiers, balance 1 - sd / mean"), (REFERENCE, "tiers, balance 1 - sd")):
        for model, told, value in zip(models, table["mms"], 100 * aggregate.mms(tiers, options), strict=True):
            note = concave + ("" if told <= value else " (it lies above)")
            yield check("table 1", model, "mms", method, told, value, 2 * HALF_DIGIT, note)
    for model, told, *four in table.select("model", "mas", *ABILITIES).iter_rows():
        mean = sum(four) / len(four)
        yield check("table 1", model, "mas", "mean of the four abilities", told, mean, 2 * HALF_DIGIT)
    for rank, model, score in table.select("rank", "model", "mms").iter_rows():
        better, tied = int((table["mms"] > score).sum()), int((table["mms"] == score).sum())
        nearest = min(max(rank, better + 1), better + tied)  # models with equal MMS may come in any order
        yield check("table 1", model, "rank", "order of MMS", rank, nearest, 0.0, "not in the order of MMS")


def _changes(table: pl.DataFrame, whole: pl.DataFrame) -> Iterator[Check]:
    """Changes under the adversarial condition against their ends, and the baseline against table 1."""
    scores = dict(whole.select("model", "mms").iter_rows())
    other = (
        "the baseline printed is not that of the instances of the condition: it is near the MMS of all 130"
    )
    twice = "two values of MMS are printed for the same model"
    for row in table.iter_rows(named=True):
        model, base, end = row["model"], row["baseline"], row["adversarial"]
        told = ("table S7", model, "adversarial_delta", "adversarial - baseline", row["adversarial_delta"])
        yield check(*told, end - base, 3 * HALF_DIGIT, other)
        yield check(
            "table S7", model, "baseline", "MMS of table 1", base, scores[model], HALF_DIGIT / 50, twice
        )


def _sums() -> Iterator[Check]:
    """Counts of claims: agree and disagree make the whole; the parts make the total."""
    rows = {row["category"]: row for row in _table("table_s9").iter_rows(named=True)}
    for name, row in rows.items():
        both, share = row["agree"] + row["disagree"], 100 * row["agree"] / row["claims"]
        yield check("table S9", name, "claims", "agree + disagree", row["claims"], both, 0.0)
        yield check("table S9", name, "agree_pct", "agree / claims", row["agree_pct"], share, 0.5)
    for method, names in (("normal + known-answer", ("normal", "known_answer")), ("five domains", DOMAINS)):
        for quantity in ("claims", "agree", "disagree"):
            total, note = sum(rows[name][quantity] for name in names), "the parts do not add up to the total"
            yield check("table S9", "all", quantity, method, rows["all"][quantity], total, 0.0, note)
    total, said = sum(rows[name]["claims"] for name in DOMAINS), "five domains, printed as normal cases"
    note = "the rows of the domains count known-answer cases too"
    yield check("table S9", "normal", "claims", said, rows["normal"]["claims"], total, 0.0, note)


def _ipsative(whole: pl.DataFrame) -> Iterator[Check]:
    """Ipsative profiles against abilities minus the mean of ten dimensions, or of the four abilities."""
    both = _table("table_s10").join(whole, on="model", how="inner", maintain_order="left")
    scores = both.select(ABILITIES).to_numpy()
    for method, centre in (
        ("ability - mean of ten dimensions", scores @ _SIZES / _SIZES.sum()),
        ("ability - mean of four abilities", scores.mean(axis=1)),
    ):
        for i, model in enumerate(both["model"]):
            for j, name in enumerate(f"ipsative_{name}" for name in ABILITIES):
                value, note = float(scores[i, j] - centre[i]), "another centre was subtracted"
                yield check("table S10", model, name, method, both[name][i], value, 3 * HALF_DIGIT, note)


def _text(claims: dict[str, float], table: pl.DataFrame) -> Iterator[Check]:
    """Statements of the text against table 1."""
    scores, mas = table["mms"].to_numpy(), table["mas"].to_numpy()
    # Highest first; equal scores in the order of the table.
    places = [np.argsort(np.argsort(-each, kind="stable")) for each in (scores, mas)]
    shifts = int((np.abs(places[0] - places[1]) >= 5).sum())
    weakest = table.select(ABILITIES).to_numpy().argmin(axis=1) == _EVALUATION
    others = ", ".join(table["model"].filter(pl.Series(~weakest)))
    letter_c, letter_d = int(((scores >= 50) & (scores < 60)).sum()), int((scores < 50).sum())
    p = spearman_p(claims["predictor_rho"], _MODELS_OF_S7)
    rules = 100 * aggregate.rule_based_share()
    for quantity, method, value, tolerance, note in (
        ("rho_mms_mas", "Spearman over table 1", _rho(scores, mas), 0.0005, "made from scores with more digits"),
        ("models_shifting_5_ranks", "ranks of MMS and MAS", shifts, 0.0, "ties were ranked otherwise"),
        ("models_evaluation_weakest", "lowest ability in table 1", weakest.sum(), 0.0, f"another is lowest in: {others}"),
        ("models_of_letter_C", "MMS of table 1", letter_c, 0.0, "counted otherwise"),
        ("models_of_letter_D", "MMS of table 1", letter_d, 0.0, "counted otherwise"),
        ("predictor_p", "t of ρ over 11 models", p, 0.0005, "another test"),
        ("predictor_p_bonferroni", "p times ten", min(1.0, p * len(JUDGE_DIMENSIONS)), 0.005, "another correction"),
        ("rule_based_pct", "weights of the parts", rules, 0.5, "rounded up"),
    ):  # fmt: skip
        yield check("text", "all models", quantity, method, claims[quantity], value, tolerance, note)


def _rho(one: Floats, other: Floats) -> float:
    return spearman(one, other).value or 0.0


# --- headline claims --------------------------------------------------------------------------------------------------
def ledger(data: Path | None = None) -> pl.DataFrame:
    """Return one row per headline claim of the paper: what follows from its tables, and what chance would give."""
    table = _sized()
    return headlines.ledger(
        [*_size(table), *_profiles(table), *_tiers(table), *_signs(), _followed(), *_open()]
    )


def _sized() -> pl.DataFrame:
    return _table("table_1").join(_table("models"), on="model", how="left", maintain_order="left")


def published_slopes() -> Iterator[Comparison]:
    """Yield how the printed scores grow with size within series, in shares per tenfold size."""
    base = Comparison("", "", dataset="published", condition="normal", source="published")
    named = _sized().filter(pl.col("series").is_not_null())
    scores = {name: named[name].to_numpy().astype(np.float64) / 100 for name in ("mms", *ABILITIES)}
    size = np.log10(named["params_b"].cast(pl.Float64).to_numpy())
    yield from contrasts.slope_rows(base, size, scores, named["series"].to_list())


def _size(table: pl.DataFrame) -> Iterator[Row]:
    """What the title says: evaluation grows with size, control does not."""
    asked = {
        "evaluation": "evaluation grows with size",
        "control": "control grows with size",
        contrasts.DIFFERENCE: "evaluation grows more with size than control",
    }
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
    """What profiles within models say, and what they must say by how they are made."""
    scores = table.select(ABILITIES).to_numpy()
    negative = int((scores[:, _EVALUATION] < scores @ _SIZES / _SIZES.sum()).sum())
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
        rhos = [_rho(own[:, i], own[:, j]) for i, j in combinations(range(len(ABILITIES)), 2)]
        yield claim(
            "table 1", text, method, verdict, float(np.mean(rhos)), low=min(rhos), high=max(rhos), expected=expected,
            note=f"low and high: range over pairs{note}",
        )  # fmt: skip


def _tiers(table: pl.DataFrame) -> Iterator[Row]:
    """How much room tier 1 leaves, and what is left of tier 2 once capability is taken out."""
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


def _signs() -> Iterator[Row]:
    signs = np.sign(_table("table_s7").select("adversarial_delta", "stripped_delta").to_numpy())
    off = int((signs[:, 0] != signs[:, 1]).sum())
    yield claim(
        "table S7", "two dimensions are needed to place models on the map", "models whose changes differ in sign",
        FAILS if off < len(signs) / 2 else HOLDS, float(off), expected=f"{len(signs) / 2:g} of {len(signs)} if unrelated",
        note=f"{off} of {len(signs)} lie off the diagonal; changes include their scoring part",
    )  # fmt: skip


def follower_gain(scoring: str) -> float:
    """Return T2 of a respondent that follows an inverted statistic minus T2 of one that follows the unchanged arguments.

    Both were undecided on five claims that seven of eight analysts support.
    """

    def reply(label: str) -> dict[str, object]:
        return {"claim_level_assessments": [{"claim_id": claim, "confidence": label} for claim in CLAIM_IDS]}

    labels = ["high"] * 7 + ["low"]
    consensus = jackknife_majority(
        ranks([dict.fromkeys(CLAIM_IDS, label) for label in labels], CLAIM_IDS), CLAIM_IDS
    )
    item = Instance(
        item_id="one", dataset="custom", domain=DOMAINS[0], vignette="", is_known_answer=True, is_error_detection=False,
        claims=tuple(Claim(claim, "", 8, 0.2) for claim in CLAIM_IDS),
        analysts=tuple(Analyst(f"Analyst {place}", dict(reply(label))) for place, label in enumerate(labels)),
        consensus=consensus,
    )  # fmt: skip
    shown, before = presented(item, ADVERSARIAL), reply("moderate")
    triples = [Triple(before, before, reply(label)) for label in ("very_low", "high")]
    found = score_triples([shown, shown], triples, None, PRESETS[scoring], adversarial=True)[
        "social_robustness"
    ]
    return float(found[0] - found[1])


def _followed() -> Row:
    package, paper = follower_gain("reference"), follower_gain("paper")
    return claim(
        "table S7", "a model that gains under an inverted consensus follows the consensus",
        "T2 of a follower of the inverted statistic minus T2 of a follower of the arguments, Equation 3",
        FAILS if package > 0 else HOLDS, paper, published=0.116,
        expected=f"{package:+.3f} by the package's rule, which takes the mean of the analysts for the consensus",
        note="by that rule a follower of the inverted statistic moves away from the analysts, and gains",
    )  # fmt: skip


def _open() -> Iterator[Row]:
    missing = "rests on grades of single instances, which are announced and not found in the package"
    for text, method in (
        ("dimensions agree more within an ability than between abilities", "ρ within and between abilities"),
        ("results do not depend on the map of confidences", "MMS with other maps"),
    ):
        yield headlines.waiting(text, method, missing, "no difference")


PUBLISHED = Published(
    lambda benchmark: values(_table),
    lambda benchmark: pl.concat([audited(audit_tables()), ledger()], how="diagonal_relaxed"),
    lambda benchmark: published_slopes(),
)
