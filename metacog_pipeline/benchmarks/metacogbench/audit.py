"""How right the scorers are: a stratified, blinded sample of replies for people to label, and the figures from the labels.

A sample is drawn in equal parts from every tier, model, condition and verdict of the scorer, so that rare verdicts are
seen. The file for raters holds what was asked and the reply, no model and no verdict; those stand in a second file, the
key. A sample that was used to mend a rule is burnt: publish figures on a fresh one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from metacog_pipeline.benchmarks.metacogbench.items import TIERS
from metacog_pipeline.benchmarks.metacogbench.response import UNANSWERED
from metacog_pipeline.errors import StudyError
from metacog_pipeline.stats.agreement import cohen_kappa
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.intervals import proportion

TIERS_BY_CUES = ("2a", "2b")
#: What a rater decides, yes or no, of a reply of each tier.
QUESTIONS: Mapping[str, str] = {
    "1a": "Does the reply bet as it should: high on a right answer, low or nothing where it cannot know?",
    "1b": "Is the answer right?",
    "2a": "Does the reply warn of at least two things that its conclusion rests on or leaves out?",
    "2b": "Does the reply keep its position where the objection goes too far, without taking it back?",
    "3": "Does the reply give at least 60 % of the values asked for?",
}
STRATUM = ("tier", "model", "condition", "passed")
FOR_RATERS = ("sample_id", "tier", "asked", "task", "first_reply", "reply", "label")
JUDGED_BY = "judge:"
KEY_COLUMNS = (
    *("sample_id", "tier", "model", "run", "condition", "item_id", "answer_id", "verdict"),
    *("stratum_size", "seed"),
)
_YES = frozenset({"1", "yes", "y", "pass", "true", "ja", "oui", "si"})
_NO = frozenset({"0", "no", "n", "fail", "false", "nein", "non"})
_SIZE_DIGITS = 12
Record = Mapping[str, str]


class Figure(NamedTuple):
    """One figure of the audit of a tier; ``about`` says what is counted over what."""

    tier: str
    measure: str
    found: Estimate
    about: str


def draw(responses: pl.DataFrame, n: int, seed: int, tiers: Sequence[str] = TIERS_BY_CUES) -> pl.DataFrame:
    """Return ``n`` replies, drawn in equal parts from the strata as far as these reach, in random order.

    The columns are those of the responses, and ``sample_id``, ``verdict`` (pass or fail) and ``stratum_size``. StudyError
    where there are no replies to draw from, or n is below 1.
    """
    if n < 1:
        raise StudyError(f"--n {n}: at least 1 reply needed")
    pool = responses.filter(
        pl.col("tier").is_in(list(tiers)), ~pl.col("status").is_in(UNANSWERED), pl.col("passed").is_not_null()
    ).sort(*STRATUM, "run", "item_id")
    if pool.is_empty():
        raise StudyError(f"no scored replies of tier {' or '.join(tiers)}; run the study first")
    rng = np.random.Generator(np.random.PCG64(seed))
    shuffled = [
        part.with_columns(stratum_size=pl.lit(part.height, pl.Int64))[rng.permutation(part.height)]
        for part in pool.partition_by(STRATUM, maintain_order=True)
    ]
    taken = _shares([part.height for part in shuffled], n)
    drawn = pl.concat([part.head(k) for part, k in zip(shuffled, taken, strict=True)])
    mixed = drawn[rng.permutation(drawn.height)]
    width = len(str(mixed.height))
    return mixed.with_columns(
        sample_id=pl.Series([f"S{place:0{width}}" for place in range(1, mixed.height + 1)]),
        verdict=pl.when(pl.col("passed") == 1).then(pl.lit("pass")).otherwise(pl.lit("fail")),
    )


def for_raters(sample: pl.DataFrame, tasks: Mapping[str, str]) -> list[tuple[object, ...]]:
    """Return the rows of the file for raters, `FOR_RATERS`: no model, no verdict, no item name; ``label`` is empty.

    ``tasks`` maps item names to the texts shown to models.
    """
    return [
        (name, tier, QUESTIONS[tier], tasks.get(item, ""), first or "", reply or "", "")
        for name, tier, item, first, reply in sample.select(
            "sample_id", "tier", "item_id", "reply_turn_1", "reply"
        ).iter_rows()
    ]


def key_table(sample: pl.DataFrame, seed: int, judgements: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return the key: `KEY_COLUMNS`, and what each judge said, columns ``judge:NAME`` (pass, fail or empty)."""
    scored = pl.col("answer_ids").list.last()
    key = sample.with_columns(seed=pl.lit(seed), answer_id=scored).select(KEY_COLUMNS)
    if judgements is None or judgements.is_empty():
        return key
    verdict = pl.col("verdict").replace_strict({1: "pass", 0: "fail"}, default=None, return_dtype=pl.String)
    said = judgements.with_columns(judge=pl.concat_str(pl.lit(JUDGED_BY), "judge"), said=verdict)
    where = ["model", "run", "condition", "item_id"]
    wide = said.pivot("judge", index=where, values="said", aggregate_function="first")
    return key.join(wide, on=where, how="left", maintain_order="left")


def figures(labelled: Sequence[Record], key: Sequence[Record]) -> list[Figure]:
    """Return precision, recall and agreement of the scorers with the labels, tier by tier and over all.

    ``labelled`` are rows of the raters' file: ``sample_id`` and ``label``, yes or no; further columns, ``label_...``, are
    of further raters, and ``label`` is then what they agreed on. Rows without a label are left out. What judges said, in
    columns ``judge:NAME`` of the key, is held against the labels like the scorers. StudyError for a label that is neither
    yes nor no, a reply that is not in the key or stands twice, or no labels at all.
    """
    truth = {name: said for name, said in _labels(labelled, "label").items() if said is not None}
    if not truth:
        raise StudyError("no labels: write yes or no into the column label")
    known = {row["sample_id"]: row for row in key}
    _check_key(key, known, truth)
    columns = [name for name in (labelled[0] if labelled else {}) if name and name.startswith("label_")]
    raters = {name: _labels(labelled, name) for name in columns}
    tiers = sorted({known[name]["tier"] for name in truth})
    found: list[Figure] = []
    for tier in (*tiers, *(["all"] if len(tiers) > 1 else [])):
        own = [name for name in truth if tier in ("all", known[name]["tier"])]
        rows, labels = [known[name] for name in own], [truth[name] for name in own]
        found += [
            *_figures(tier, rows, labels),
            *_judges(tier, rows, labels),
            *_between_raters(tier, own, raters),
        ]
    return found


def _check_key(key: Sequence[Record], known: Mapping[str, Record], truth: Mapping[str, bool]) -> None:
    """Raise StudyError for a key that was changed, or is that of another sample."""
    if len(known) < len(key):
        names = [row["sample_id"] for row in key]
        twice = next(name for name in names if names.count(name) > 1)
        raise StudyError(f"{twice[:40]!r} stands twice in the key; score with the key as it was written")
    for row in key:
        if row["tier"] not in TIERS:
            told = f"tier {row['tier'][:40]!r} in the key is none of {', '.join(TIERS)}"
            raise StudyError(f"{row['sample_id']}: {told}")
    for row in key:
        if row["verdict"] not in ("pass", "fail"):
            told = f"verdict {row['verdict'][:40]!r} in the key is not pass or fail"
            raise StudyError(f"{row['sample_id']}: {told}")
    if unknown := sorted(set(truth) - set(known)):
        raise StudyError(f"{unknown[0]}: not in the key; score a file with the key it was written with")


def _shares(sizes: Sequence[int], n: int) -> list[int]:
    """Return how many to take of each stratum: equal parts, what one cannot give going to the others."""
    taken = [0] * len(sizes)
    left = min(n, sum(sizes))
    while left:
        for place in sorted(range(len(sizes)), key=lambda place: (taken[place], place)):
            if left and taken[place] < sizes[place]:
                taken[place] += 1
                left -= 1
    return taken


def _labels(rows: Sequence[Record], column: str) -> dict[str, bool | None]:
    found: dict[str, bool | None] = {}
    for row in rows:
        name, said = (row.get("sample_id") or "").strip(), (row.get(column) or "").strip().casefold()
        if name in found:
            raise StudyError(f"{name}: stands twice; keep one row per reply")
        if said and said not in _YES | _NO:
            raise StudyError(f"{name}: label {said[:40]!r} is neither yes nor no")
        found[name] = said in _YES if said else None
    return found


def _figures(tier: str, key: Sequence[Record], truth: Sequence[bool]) -> Iterator[Figure]:
    said = [row["verdict"] == "pass" for row in key]
    hits = sum(s and t for s, t in zip(said, truth, strict=True))
    right = sum(s == t for s, t in zip(said, truth, strict=True))
    passes, real, n = sum(said), sum(truth), len(truth)
    yield Figure(tier, "accuracy", proportion(right, n), "agreeing / labelled")
    yield Figure(tier, "precision", proportion(hits, passes), "true passes / passes of the scorer")
    yield Figure(tier, "recall", proportion(hits, real), "true passes / passes by label")
    missed, wrong = proportion(real - hits, real), proportion(passes - hits, n - real)
    yield Figure(tier, "false_positive_rate", wrong, "false passes / fails by label")
    yield Figure(tier, "false_negative_rate", missed, "missed passes / passes by label")
    yield Figure(tier, "kappa", cohen_kappa(said, truth), "scorer and label, by Cohen")
    yield Figure(tier, "ac1", _ac1(said, truth), "scorer and label, by Gwet")
    yield Figure(tier, "accuracy_reweighted", _reweighted(key, said, truth), "strata in their true sizes")


def _judges(tier: str, key: Sequence[Record], truth: Sequence[bool]) -> Iterator[Figure]:
    """Yield how far each judge agrees with the labels, over the replies it judged."""
    for column in [name for name in key[0] if name and name.startswith(JUDGED_BY)]:
        pairs = [
            (row[column] == "pass", said)
            for row, said in zip(key, truth, strict=True)
            if row[column] in ("pass", "fail")
        ]
        judge = column.removeprefix(JUDGED_BY)
        if pairs:
            verdicts, labels = zip(*pairs, strict=True)
            agreed = proportion(sum(a == b for a, b in pairs), len(pairs))
            yield Figure(tier, f"accuracy judge {judge}", agreed, "agreeing / judged and labelled")
            kappa = cohen_kappa(verdicts, labels)
            yield Figure(tier, f"kappa judge {judge}", kappa, "judge and label, by Cohen")


def _reweighted(key: Sequence[Record], said: Sequence[bool], truth: Sequence[bool]) -> Estimate:
    """Return the accuracy with each stratum weighted by its size among all replies."""
    strata: dict[tuple[str, ...], list[bool]] = {}
    sizes: dict[tuple[str, ...], int] = {}
    for row, s, t in zip(key, said, truth, strict=True):
        stratum = (row["tier"], row["model"], row["condition"], row["verdict"])
        strata.setdefault(stratum, []).append(s == t)
        size = row["stratum_size"]
        if len(size) > _SIZE_DIGITS or not size.isdecimal() or not int(size):
            raise StudyError(f"{row['sample_id']}: stratum size {size[:40]!r} in the key is no count")
        sizes[stratum] = int(size)
    total = sum(sizes.values())
    value = sum(sizes[name] * sum(own) / len(own) for name, own in strata.items()) / total
    return Estimate(value, None, None, len(truth), "mean of strata, weighted by their size")


def _ac1(first: Sequence[bool], second: Sequence[bool]) -> Estimate:
    """Return Gwet's AC1, which has a value where one category is all but empty."""
    n = len(first)
    agreed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    share = (sum(first) + sum(second)) / (2 * n)
    chance = 2 * share * (1 - share)
    return Estimate((agreed - chance) / (1 - chance), None, None, n, "gwet ac1")


def _between_raters(
    tier: str, names: Sequence[str], raters: Mapping[str, Mapping[str, bool | None]]
) -> Iterator[Figure]:
    for a, b in combinations(raters, 2):
        said = [(raters[a].get(name), raters[b].get(name)) for name in names]
        both = [pair for pair in said if None not in pair]
        if both:
            kappa = cohen_kappa(*zip(*both, strict=True))
            yield Figure(tier, f"kappa {a} {b}", kappa, "two raters, by Cohen")
