"""The published numbers against their own parts: which rows follow from what is printed beside them, and which do not.

"MEDLEY-BENCH: Scale Buys Evaluation but Not Control in AI Metacognition" (arXiv:2604.16009) prints MMS with its tiers, MAS
with its abilities (table 1), changes with what they are changes of (S7), sums with their summands (S9), ipsative profiles
(S10). Results of single instances and grades of judges are not published, so nothing is scored anew: every check is one
of arithmetic, made here from the tables. Nothing expected is written down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley.abilities import ABILITIES, MAPS
from metacog_pipeline.benchmarks.medley.aggregate import letter, mms, rule_based_share
from metacog_pipeline.benchmarks.medley.grades import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.items import DOMAINS
from metacog_pipeline.benchmarks.medley.profiles import PROFILES, profile
from metacog_pipeline.benchmarks.medley.rule_based.options import PAPER, REFERENCE
from metacog_pipeline.scoring.published import Check, audit_frame, check
from metacog_pipeline.stats.ranks import spearman, spearman_p

FILES = ("table_1.csv", "table_s7.csv", "table_s9.csv", "table_s10.csv", "claims.csv")
HALF_DIGIT = 0.05  # what one printed decimal hides
_MODELS_OF_S7 = 11
_TIERS = ["t1", "t2", "t3"]
_CONCAVE = (
    "MMS is formed for each instance and bends down, so it may lie below what average tiers give, never above"
)


def audit_tables(data: Path) -> pl.DataFrame:
    """Return one row per check of the tables in ``data``, in `AUDIT_SCHEMA`.

    ``subject`` is the model, the group of claims, or the table as a whole. ``tolerance`` is what rounding of the printed
    parts explains.
    """
    given = {name: pl.read_csv(data / name, glob=False) for name in FILES}
    table = given["table_1.csv"]
    claims = dict(given["claims.csv"].select("quantity", "value").iter_rows())
    rows = [
        *_scores(table),
        *_ranks(table),
        *_changes(given["table_s7.csv"], table),
        *_sums(given["table_s9.csv"]),
        *_ipsative(given["table_s10.csv"], table),
        *_claims(claims, table),
    ]
    return audit_frame(rows)


def _scores(table: pl.DataFrame) -> Iterator[Check]:
    """MMS from the three tiers, with either balance, and MAS from the four abilities."""
    tiers = table.select(_TIERS).to_numpy() / 100
    for options, method in ((PAPER, "tiers, balance 1 - sd / mean"), (REFERENCE, "tiers, balance 1 - sd")):
        for model, printed, value in zip(
            table["model"], table["mms"], 100 * mms(tiers, options), strict=True
        ):
            above = "" if printed <= value else " (it lies above)"
            yield check("table 1", model, "mms", method, printed, value, 2 * HALF_DIGIT, _CONCAVE + above)
    means = table.select(pl.concat_list(ABILITIES).list.mean()).to_series()
    for model, printed, value in zip(table["model"], table["mas"], means, strict=True):
        yield check("table 1", model, "mas", "mean of the four abilities", printed, value, 2 * HALF_DIGIT)


def _ranks(table: pl.DataFrame) -> Iterator[Check]:
    """The printed order against the printed MMS; models with equal MMS may stand in any order."""
    for rank, model, score in table.select("rank", "model", "mms").iter_rows():
        above = int((table["mms"] > score).sum())
        tied = int((table["mms"] == score).sum())
        nearest = min(max(rank, above + 1), above + tied)
        yield check("table 1", model, "rank", "order of MMS", rank, nearest, 0.0, "not in the order of MMS")


def _changes(table: pl.DataFrame, whole: pl.DataFrame) -> Iterator[Check]:
    """Changes under the adversarial condition against their ends, the baseline against table 1, and the labels."""
    scores = dict(whole.select("model", "mms").iter_rows())
    other = (
        "the baseline printed is not that of the instances of the condition: it is near the MMS of all 130"
    )
    for row in table.iter_rows(named=True):
        model = row["model"]
        value = row["adversarial"] - row["baseline"]
        yield check(
            "table S7", model, "adversarial_delta", "adversarial - baseline", row["adversarial_delta"], value,
            3 * HALF_DIGIT, other,
        )  # fmt: skip
        yield check(
            "table S7", model, "baseline", "MMS of table 1", row["baseline"], scores[model], HALF_DIGIT / 50,
            "two values of MMS are printed for the same model",
        )  # fmt: skip
        named = profile(row["adversarial_delta"], row["stripped_delta"])
        printed = row["profile"].lower()
        yield check(
            "table S7", model, "profile", "rule of both changes", _place(printed), _place(named), 0.0,
            f"labelled {printed}; by the rule that gives the others it is {named}",
        )  # fmt: skip


def _place(name: str) -> int:
    return PROFILES.index(name) + 1 if name in PROFILES else 0


def _sums(table: pl.DataFrame) -> Iterator[Check]:
    """Counts of claims: agree and disagree make the whole; the parts make the total."""
    rows = {row["category"]: row for row in table.iter_rows(named=True)}
    for name, row in rows.items():
        both = row["agree"] + row["disagree"]
        yield check("table S9", name, "claims", "agree + disagree", row["claims"], both, 0.0)
        share = 100 * row["agree"] / row["claims"]
        yield check("table S9", name, "agree_pct", "agree / claims", row["agree_pct"], share, 0.5)
    parts = {"normal + known-answer": ("normal", "known_answer"), "five domains": DOMAINS}
    for method, names in parts.items():
        for quantity in ("claims", "agree", "disagree"):
            total = sum(rows[name][quantity] for name in names)
            yield check(
                "table S9", "all", quantity, method, rows["all"][quantity], total, 0.0,
                "the parts do not add up to the total",
            )  # fmt: skip
    total = sum(rows[name]["claims"] for name in DOMAINS)
    yield check(
        "table S9", "normal", "claims", "five domains, said to be of normal cases", rows["normal"]["claims"], total,
        0.0, "the rows of the domains count known-answer cases too",
    )  # fmt: skip


def _ipsative(table: pl.DataFrame, whole: pl.DataFrame) -> Iterator[Check]:
    """Ipsative profiles against abilities minus the mean of ten dimensions, or of the four abilities."""
    both = table.join(whole, on="model", how="inner", maintain_order="left")
    scores = both.select(ABILITIES).to_numpy()
    sizes = np.array([len(MAPS["notebook"][name]) for name in ABILITIES])
    centres = {
        "ability - mean of ten dimensions": scores @ sizes / sizes.sum(),
        "ability - mean of four abilities": scores.mean(axis=1),
    }
    for method, centre in centres.items():
        for i, model in enumerate(both["model"]):
            for j, name in enumerate(ABILITIES):
                yield check(
                    "table S10", model, f"ipsative_{name}", method, both[f"ipsative_{name}"][i],
                    float(scores[i, j] - centre[i]), 3 * HALF_DIGIT, "another centre was subtracted",
                )  # fmt: skip


def _claims(claims: Mapping[str, float], table: pl.DataFrame) -> Iterator[Check]:
    """Statements of the text against table 1."""

    def stated(quantity: str, method: str, value: float, tolerance: float, note: str) -> Check:
        return check("text", "all models", quantity, method, claims[quantity], value, tolerance, note)

    scores, abilities = table["mms"].to_numpy(), table["mas"].to_numpy()
    rho = spearman(scores, abilities).value or 0.0
    yield stated("rho_mms_mas", "Spearman over table 1", rho, 0.0005, "made from scores with more digits")
    shifts = int((np.abs(_places(scores) - _places(abilities)) >= 5).sum())
    yield stated("models_shifting_5_ranks", "ranks of MMS and MAS", shifts, 0.0, "ties were ranked otherwise")
    weakest = table.select(ABILITIES).to_numpy().argmin(axis=1) == ABILITIES.index("evaluation")
    others = ", ".join(name for name, is_it in zip(table["model"], weakest, strict=True) if not is_it)
    yield stated(
        "models_evaluation_weakest", "lowest ability in table 1", int(weakest.sum()), 0.0,
        f"another ability is lowest in: {others}",
    )  # fmt: skip
    letters = [letter(score / 100) for score in scores]
    for grade in ("C", "D"):
        yield stated(
            f"models_of_letter_{grade}", "MMS of table 1", letters.count(grade), 0.0, "counted otherwise"
        )
    p = spearman_p(claims["predictor_rho"], _MODELS_OF_S7)
    yield stated("predictor_p", "t of ρ over 11 models", p, 0.0005, "another test")
    corrected = min(1.0, p * len(JUDGE_DIMENSIONS))
    yield stated("predictor_p_bonferroni", "p times ten", corrected, 0.005, "another correction")
    rules = 100 * rule_based_share(REFERENCE)
    yield stated("rule_based_pct", "weights of the parts", rules, 0.5, "rounded up")


def _places(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places of scores, highest first; equal scores in the order of the table."""
    places = np.empty(len(scores), dtype=np.int64)
    places[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    return places
