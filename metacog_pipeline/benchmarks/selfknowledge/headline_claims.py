"""What the ESMA paper leads with, each against the numbers it prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.selfknowledge.published_audit import QUESTIONS
from metacog_pipeline.scoring import published as headlines
from metacog_pipeline.scoring.published import FAILS, HOLDS, UNDECIDED, Row, above, claim
from metacog_pipeline.stats.type1 import type1_from_table

_SMALL = "Qwen2.5 1.5B"
_ONCE = "one training run, no other seed is reported"


def ledger(data: Path) -> pl.DataFrame:
    """Return one row per headline claim, from the tables in ``data``."""
    given = {n: pl.read_csv(data / f"table_{n}.csv", glob=False) for n in range(1, 8)}
    return headlines.ledger(
        [
            *_trained(given[1], pl.read_csv(data / "figure_2.csv", glob=False)),
            *_elsewhere(given[3], given[6], given[7]),
            *_rivals(given[1], given[4], given[5]),
            *_weights(given[1], pl.read_csv(data / "claims.csv", glob=False)),
            headlines.waiting(
                "the gain comes back with another seed",
                "d′ of further training runs",
                "single runs are printed",
                "the printed gain, give or take the spread over seeds",
            ),
        ]
    )


def _gains(table: pl.DataFrame, key: list[str], measure: str) -> list[float]:
    """Return how much training adds in each row that is printed before and after."""
    before, after = (table.filter(variant=name).select(*key, measure) for name in ("original", "esma"))
    both = after.join(before, on=key, suffix="_before", nulls_equal=True, maintain_order="left")
    return (both[measure] - both[f"{measure}_before"]).to_list()


def _trained(table: pl.DataFrame, areas: pl.DataFrame) -> Iterator[Row]:
    """What training does on the questions it is about."""
    asked = f"table 1, {QUESTIONS['trivia_qa']:,} questions"
    for measure, scale, text, null in (
        ("d_prime", 1.0, "training raises what a model knows of its knowledge", "0 without an effect"),
        ("accuracy_pct", 0.01, "training does not cost accuracy", "0 if nothing but self-knowledge changes"),
    ):
        found = [gain * scale for gain in _gains(table, ["model"], measure)]
        value, low, high = headlines.mean_of(found)
        up = sum(gain > 0 for gain in found)
        costs = measure == "accuracy_pct"
        verdict = (FAILS if high < 0 else HOLDS) if costs else above(low, high)
        yield claim(
            asked, text, f"mean change of {measure.removesuffix('_pct')} over {len(found)} models, Student's t", verdict,
            value, low=low, high=high, expected=null, note=f"up in {up} of {len(found)}; {_ONCE}",
        )  # fmt: skip
    found = (areas["esma_auc"] - areas["original_auc"]).to_list()
    value, low, high = headlines.mean_of(found)
    yield claim(
        "figure 2", "confidence, too, tells right from wrong better",
        "mean change of AUROC2 over three models, Student's t", above(low, high), value, low=low, high=high,
        expected="0 without an effect", note=f"up in {sum(gain > 0 for gain in found)} of {len(found)}",
    )  # fmt: skip


def _elsewhere(facts: pl.DataFrame, sets: pl.DataFrame, languages: pl.DataFrame) -> Iterator[Row]:
    """What is left of it on other questions, in other languages, and of facts that were taught."""
    for measure, scale, text in (
        ("d_prime", 1.0, "the gain carries over to other data sets"),
        ("raw_alignment_pct", 0.01, "on other data sets a yes fits the answer more often"),
    ):
        found = [gain * scale for gain in _gains(sets, ["size", "dataset"], measure)]
        value, low, high = headlines.mean_of(found)
        yield claim(
            "table 6, three sizes × three data sets", text, f"mean change of {measure.removesuffix('_pct')}, Student's t",
            above(low, high), value, low=low, high=high, expected="0 without an effect",
            note=f"up in {sum(gain > 0 for gain in found)} of {len(found)}",
        )  # fmt: skip
    found = _gains(languages, ["dataset"], "d_prime")
    value, low, high = headlines.mean_of(found)
    aligned = sum(gain > 0 for gain in _gains(languages, ["dataset"], "raw_alignment_pct"))
    yield claim(
        "table 7, three languages", "the gain carries over to other languages", "mean change of d_prime, Student's t",
        above(low, high), value, low=low, high=high, expected="0 without an effect",
        note=f"up in {sum(gain > 0 for gain in found)} of {len(found)}, alignment in {aligned}; "
        "at most a tenth of answers is right",
    )  # fmt: skip
    told = {row["variant"]: row for row in facts.iter_rows(named=True)}
    before, after = told["fictional_sft"], told["fictional_sft_then_esma"]
    yield claim(
        f"table 3, {QUESTIONS['fictional_qa']:,} questions", "a model learns to know what it was just taught",
        "change of d_prime", HOLDS if after["d_prime"] > before["d_prime"] else FAILS,
        after["d_prime"] - before["d_prime"], expected="0 without an effect",
        note=f"alignment changes by {after['raw_alignment_pct'] - before['raw_alignment_pct']:+.2f} points; {_ONCE}",
    )  # fmt: skip


def _rivals(table: pl.DataFrame, rewards: pl.DataFrame, supervised: pl.DataFrame) -> Iterator[Row]:
    """How it compares with other models and other training."""
    found = {(row["model"], row["variant"]): row for row in table.iter_rows(named=True)}
    others = [row["d_prime"] for (name, _), row in found.items() if not _trainable(name)]
    own = found[_SMALL, "esma"]["d_prime"]
    yield claim(
        "table 1", "a small trained model knows itself as well as the largest ones",
        f"d_prime of {_SMALL}, minus mean of three others", UNDECIDED, own - sum(others) / len(others),
        low=own - max(others), high=own - min(others), expected="0 if alike",
        note="low and high: range over three models, which answer twice as many questions right: "
        "what is easy to tell apart differs",
    )  # fmt: skip
    printed = {row["variant"]: row for row in supervised.iter_rows(named=True)}
    value, low, high = headlines.difference(_sensitivity(printed["esma"]), _sensitivity(printed["sft"]))
    yield claim(
        "table 5, Qwen2.5 1.5B", "the reward does more than training on yes and no",
        "difference of d_prime, counts behind it", above(low, high), value, low=low, high=high, expected="0 if alike",
        note=f"the interval is that of the questions alone: {_ONCE}",
    )  # fmt: skip
    reward = dict(rewards.select("variant", "d_prime").iter_rows())
    yield claim(
        "table 4, Qwen2.5 1.5B", "both halves of the reward are needed",
        "d_prime of the joint reward minus the better half", UNDECIDED,
        reward["joint"] - max(reward["direct"], reward["meta"]), expected="0 if one half were enough",
        note="the half on yes and no was trained with another step size",
    )  # fmt: skip


def _weights(table: pl.DataFrame, stated: pl.DataFrame) -> Iterator[Row]:
    ends = dict(table.filter(model=_SMALL).select("variant", "d_prime").iter_rows())
    told = {row["quantity"]: row["value"] for row in stated.filter(subject="top 10 %").iter_rows(named=True)}
    share = (told["d_prime"] - ends["original"]) / (ends["esma"] - ends["original"])
    yield claim(
        "text and table 1", "a tenth of the changed weights carries most of the gain", "share of the gain in d_prime",
        HOLDS if share >= told["share_of_gain_pct"] / 100 else FAILS, share, published=told["share_of_gain_pct"] / 100,
        expected="0.1 if every weight carried as much", note="more than a tenth, and less than the text says",
    )  # fmt: skip


def _trainable(model: str) -> bool:
    """Say whether a printed model has weights that can be trained."""
    return model.startswith(("Qwen", "Gemma", "Llama"))


def _sensitivity(row: Mapping[str, float]) -> tuple[float, float]:
    """Return d′ and its standard error from the printed shares of yeses."""
    n, yes, failed = QUESTIONS["trivia_qa"], row["yes_ratio_pct"] / 100, row["yfr_pct"] / 100
    hits, alarms = n * yes * (1 - failed), n * yes * failed
    misses = n * (1 - yes) * row["nfr_pct"] / 100
    found = type1_from_table(hits, misses, alarms, n - hits - alarms - misses)
    return float(found.d[0]), float(found.var_d[0]) ** 0.5
