"""The printed numbers (arXiv:2602.02605) against each other: which follow from those next to them, and what they rest on.

Accuracy, raw alignment and d′ are computed again from the shares of yeses and of failed yeses and noes (tables 1, 5); the
same model must be printed alike in several tables; All Alignment cannot exceed raw alignment (table 2). Tables 3, 4, 6 and
7 print d′, alignment and accuracy only: with accuracy p and alignment r the false-alarm rate follows from the hit rate,
f = 1 - (r - p h) / (1 - p), and d′ = z(h) - z(f) is solved for h, with up to two solutions; with the number of questions
known, whole answers that print alike can be counted out. Answers are not published, so nothing is scored again. Nothing
expected is written down: the notes follow from the figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import scipy  # loads scipy.optimize where it is first used: few commands need it, and it takes long
from scipy.special import ndtri

from metacog_pipeline.benchmark.contract import Published
from metacog_pipeline.benchmark.groups import Floats
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK, DUAL, IDK
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring import published as shared
from metacog_pipeline.scoring.published import FAILS, HOLDS, Check, Row, above, check, claim, long
from metacog_pipeline.stats.type1 import type1_from_table
from metacog_pipeline.stats.yes_no import CLIP, clipped_dprime

#: Questions of the part of each data set that published numbers are about.
QUESTIONS: Mapping[str, int] = {
    "trivia_qa": 17_944, "freebase_qa": 3_996, "nq_open": 3_610, "web_questions": 2_032, "mkqa": 10_000,
    "fictional_qa": 1_797,
}  # fmt: skip
#: What was done to a model → what is put behind its name.
VARIANTS: Mapping[str, str] = {
    "original": "", "esma": " ESMA", "sft": " SFT on yes and no", "fictional_sft": " taught the facts",
    "fictional_sft_then_esma": " taught the facts, then ESMA", "joint": " joint reward", "direct": " direct reward",
    "meta": " meta reward",
}  # fmt: skip
NOT_STATED, SMALL = "size not stated", "Qwen2.5 1.5B"
HALF = 0.005  # what two printed decimals hide
_GRID = 20_001  # so fine that no two solutions fall between neighbours
_Printed = Mapping[str, float | str]
_ONCE = "one training run, no other seed is reported"


def folder() -> Path:
    """Return where the printed numbers are kept."""
    return shipped("data", "published", BENCHMARK)


# --- what three printed numbers say together ----------------------------------------------------------------------------
class Rates(NamedTuple):
    """Shares of yeses: of right answers, of wrong ones, of all; 0..1."""

    hit_rate: float
    false_alarm_rate: float
    yes_ratio: float


class Answers(NamedTuple):
    """Whole answers: ``correct`` of ``n`` were right, ``hits`` of them and ``false_alarms`` of the others got a yes."""

    n: int
    correct: int
    hits: int
    false_alarms: int

    @property
    def log_linear(self) -> float:
        """d′ as the headline measure has it."""
        misses, rejections = self.correct - self.hits, self.n - self.correct - self.false_alarms
        return float(type1_from_table(self.hits, misses, self.false_alarms, rejections, "loglinear").d[0])

    @property
    def clipped(self) -> float:
        """d′ as published."""
        yes, misses = self.hits + self.false_alarms, self.correct - self.hits
        return derived(yes / self.n, self.false_alarms / yes, misses / (self.n - yes))["d_prime"]


def derived(yes: float, yfr: float, nfr: float) -> dict[str, float]:
    """Return accuracy, raw alignment (percent) and d′ of three shares in 0..1."""
    accuracy = yes * (1 - yfr) + (1 - yes) * nfr
    aligned = yes * (1 - yfr) + (1 - yes) * (1 - nfr)
    rates = (yes * (1 - yfr) / accuracy, yes * yfr / (1 - accuracy))
    z = [float(ndtri(min(max(rate, CLIP), 1 - CLIP))) for rate in rates]
    return {"accuracy_pct": 100 * accuracy, "raw_alignment_pct": 100 * aligned, "d_prime": z[0] - z[1]}


def implied_rates(d_prime: float, raw_alignment: float, accuracy: float) -> list[Rates]:
    """Return the rates that give these three; shares 0..1, d′ clipped as published and printed with two digits."""
    low, high = max(0.0, (raw_alignment - (1 - accuracy)) / accuracy), min(1.0, raw_alignment / accuracy)
    if not 0 < accuracy < 1 or low > high:
        return []

    def alarms(h: Floats) -> Floats:
        return 1 - (raw_alignment - accuracy * h) / (1 - accuracy)

    def excess(h: Floats) -> Floats:
        z = [ndtri(np.clip(each, CLIP, 1 - CLIP)) for each in (h, alarms(h))]
        return np.asarray(z[0] - z[1] - d_prime)

    grid = np.linspace(low, high, _GRID)
    off = excess(grid)
    turns = np.flatnonzero(np.signbit(off[1:]) != np.signbit(off[:-1]))
    roots = [scipy.optimize.brentq(excess, grid[i], grid[i + 1], xtol=1e-12) for i in turns]
    if not roots and float(np.abs(off).min()) <= HALF:
        roots = [float(grid[int(np.abs(off).argmin())])]  # touches what is printed without crossing it
    hits = np.array(roots)
    false = np.clip(alarms(hits), 0.0, 1.0)
    yes = accuracy * hits + (1 - accuracy) * false
    return [Rates(*each) for each in np.column_stack([hits, false, yes]).tolist()]


def whole_answers(n: int, d_prime: float, raw_alignment_pct: float, accuracy_pct: float) -> list[Answers]:
    """Return all whole answers to ``n`` questions that print as these three numbers with two digits."""
    slack = HALF + 1e-8  # a number exactly between two printed ones may be rounded either way

    def counts(percent: float) -> range:
        first = int(np.ceil(n * (percent - slack) / 100 - 1e-9))
        last = int(np.floor(n * (percent + slack) / 100 + 1e-9))
        return range(max(0, first), min(n, last) + 1)

    found = []
    for correct, aligned in product(counts(accuracy_pct), counts(raw_alignment_pct)):
        wrong = n - correct
        hits = np.arange(max(0, aligned - wrong), min(correct, aligned) + 1)
        alarms = hits + wrong - aligned
        if correct and wrong:
            d = clipped_dprime(hits, alarms, np.full(len(hits), correct), np.full(len(hits), wrong))
            near = np.flatnonzero(np.abs(d - d_prime) <= slack)
            found += [Answers(n, correct, int(hits[i]), int(alarms[i])) for i in near]
    return found


# --- checks -------------------------------------------------------------------------------------------------------------
def tables_of(data: Path) -> dict[str, pl.DataFrame]:
    """Return every shipped table by its name."""
    return {
        path.stem: pl.read_csv(path, infer_schema_length=None, glob=False)
        for path in sorted(data.glob("*.csv"))
    }


def audit(given: Mapping[str, pl.DataFrame]) -> Iterator[Check]:
    """Yield every check of the printed numbers.

    ``difference`` is recomputed minus published; where only a range is possible, ``recomputed`` is its end nearest to the
    printed number. ``tolerance`` is what rounding explains.
    """
    first = {_subject(row): row for row in given["table_1"].iter_rows(named=True)}
    for place in ("table 1", "table 5"):
        yield from _from_failures(place, given[place.replace(" ", "_")])
    for row in given["table_2"].iter_rows(named=True):
        subject, aligned = _subject(row), float(row["all_alignment_pct"])
        most = min(aligned, float(first[subject]["raw_alignment_pct"]))
        what = ("table 2", subject, "all_alignment_pct", "at most raw alignment, table 1")
        yield check(*what, aligned, most, 2 * HALF)
        same = float(row["dual_accuracy_pct"]), float(first[subject]["accuracy_pct"])
        yield check("table 2", subject, "accuracy_pct", "the same in table 1", *same, 0.0)
    for place in ("table 4", "table 5"):
        for row in given[place.replace(" ", "_")].iter_rows(named=True):
            variant = {"original": "original", "joint": "esma", "esma": "esma"}.get(row["variant"])
            if variant is not None:
                other, subject = first[SMALL + VARIANTS[variant]], SMALL + VARIANTS[row["variant"]]
                for name in ("d_prime", "raw_alignment_pct", "accuracy_pct"):
                    yield check(
                        place, subject, name, "the same in table 1", row[name], float(other[name]), 0.0
                    )
    for place, subject, dataset, printed in _triples(given):
        yield _reachable(place, subject, QUESTIONS[dataset], printed)
    yield from _shares_of_gain(given["claims"], first)


def _subject(row: _Printed) -> str:
    return f"{row['model']}{VARIANTS[str(row['variant'])]}"


def _from_failures(place: str, table: pl.DataFrame) -> Iterator[Check]:
    """Yield accuracy, raw alignment and d′ from the shares of yeses, failed yeses and failed noes."""
    for row in table.iter_rows(named=True):
        shares = [float(row[name]) for name in ("yes_ratio_pct", "yfr_pct", "nfr_pct")]
        corners = [
            derived(*((each + side * HALF) / 100 for each, side in zip(shares, sides, strict=True)))
            for sides in product((-1, 1), repeat=3)
        ]
        for name, value in derived(*(each / 100 for each in shares)).items():
            tolerance = HALF + max(abs(corner[name] - value) for corner in corners)
            yield check(place, _subject(row), name, "yes ratio, YFR and NFR", row[name], value, tolerance)


def _triples(given: Mapping[str, pl.DataFrame]) -> Iterator[tuple[str, str, str, _Printed]]:
    """Yield place, subject, data set and row of every line that prints d′, alignment and accuracy only."""
    asked = {"table 3": "fictional_qa", "table 4": "trivia_qa", "table 6": "", "table 7": "mkqa"}
    for place, dataset in asked.items():
        for row in given[place.replace(" ", "_")].iter_rows(named=True):
            model = {"table 4": SMALL, "table 6": f"Qwen2.5 {row.get('size')}"}.get(place, NOT_STATED)
            where = f", {row['dataset']}" if "dataset" in row else ""
            yield place, f"{model}{VARIANTS[row['variant']]}{where}", dataset or row["dataset"], row


def _numbers(row: _Printed) -> tuple[float, float, float]:
    return float(row["d_prime"]), float(row["raw_alignment_pct"]), float(row["accuracy_pct"])


def _reachable(place: str, subject: str, n: int, row: _Printed) -> Check:
    """Return whether whole answers give the three printed numbers; a single set of them gives d′ to any digit."""
    found, printed = whole_answers(n, *_numbers(row)), float(row["d_prime"])
    only = found[0] if len(found) == 1 else None
    value = printed if only is None else only.clipped
    made = check(place, subject, "d_prime", f"whole answers to {n:,} questions", printed, value, HALF)
    if not found:
        return made._replace(follows=False, note=f"no whole answers to {n:,} questions print so")
    note = f"{len(found):,} sets of whole answers print so" if only is None else _only(only)
    return made._replace(note=note)


def _only(answers: Answers) -> str:
    said = (
        f"one set of whole answers prints so: {answers.correct} of {answers.n:,} right, yes to {answers.hits} right and "
        f"{answers.false_alarms} wrong ones; log-linear d′ {answers.log_linear:.2f}"
    )
    clip = answers.hits in (0, answers.correct) or answers.false_alarms in (0, answers.n - answers.correct)
    return f"{said}; made by the clip" if clip else said


def _shares_of_gain(table: pl.DataFrame, first: Mapping[str, _Printed]) -> Iterator[Check]:
    """Yield the share of the gain in d′ that the text claims for a part of the changed weights, from its own d′."""
    base, tuned = (float(first[SMALL + VARIANTS[name]]["d_prime"]) for name in ("original", "esma"))
    stated = {(row["subject"], row["quantity"]): row for row in table.iter_rows(named=True)}
    for (subject, quantity), row in stated.items():
        if quantity == "share_of_gain_pct":
            reached = float(stated[subject, "d_prime"]["value"])
            share = 100 * (reached - base) / (tuned - base)
            slack = 100 * 2 * HALF / (tuned - base) + HALF * 100
            method = "d′ of the text and of table 1"
            made = check(row["place"], subject, quantity, method, float(row["value"]), share, slack)
            way = f"d′ {reached:.2f} is {share:.0f} % of the way from {base:.2f} to {tuned:.2f}"
            yield made._replace(note=way)


def ways(given: Mapping[str, pl.DataFrame]) -> Iterator[Row]:
    """Yield the rates that give a row of tables 3, 4, 6 and 7, by solution."""
    for place, subject, dataset, row in _triples(given):
        d, aligned, accuracy = _numbers(row)
        for number, rates in enumerate(implied_rates(d, aligned / 100, accuracy / 100), start=1):
            for quantity, value in rates._asdict().items():
                yield {
                    "place": place, "subject": subject, "quantity": quantity, "recomputed": value, "verdict": "possible",
                    "method": f"solution {number} on {dataset}",
                }  # fmt: skip


# --- what the paper leads with ------------------------------------------------------------------------------------------
def ledger(data: Path) -> pl.DataFrame:
    """Return one row per headline claim, from the tables in ``data``."""
    given = tables_of(data)
    return shared.ledger([*_gained(given), *_rival(given), *_open(given)])


def _changes(table: pl.DataFrame, key: list[str], measure: str) -> list[float]:
    """Return how much training adds in each row that is printed before and after."""
    before, after = (table.filter(variant=name).select(*key, measure) for name in ("original", "esma"))
    both = after.join(before, on=key, suffix="_before", nulls_equal=True, maintain_order="left")
    scale = 0.01 if measure.endswith("_pct") else 1.0
    return [gain * scale for gain in (both[measure] - both[f"{measure}_before"]).to_list()]


def _gained(given: Mapping[str, pl.DataFrame]) -> Iterator[Row]:
    """Yield what training changes on the questions it is about, on others, in other languages, and of taught facts."""
    asked = f"table 1, {QUESTIONS['trivia_qa']:,} questions"
    elsewhere, null = "table 6, three sizes × three data sets", "0 without an effect"
    areas = given["figure_2"]
    rows: tuple[tuple[str, str, str, str, list[float]], ...] = (
        (asked, "training raises what a model knows of its knowledge", "d_prime over 5 models", null,
         _changes(given["table_1"], ["model"], "d_prime")),
        (asked, "training does not cost accuracy", "accuracy over 5 models", "0 if nothing but self-knowledge changes",
         _changes(given["table_1"], ["model"], "accuracy_pct")),
        ("figure 2", "confidence, too, separates right from wrong better", "AUROC2 over three models", null,
         (areas["esma_auc"] - areas["original_auc"]).to_list()),
        (elsewhere, "the gain carries over to other data sets", "d_prime", null,
         _changes(given["table_6"], ["size", "dataset"], "d_prime")),
        (elsewhere, "on other data sets a yes fits the answer more often", "raw_alignment", null,
         _changes(given["table_6"], ["size", "dataset"], "raw_alignment_pct")),
        ("table 7, three languages", "the gain carries over to other languages", "d_prime", null,
         _changes(given["table_7"], ["dataset"], "d_prime")),
    )  # fmt: skip
    for subject, text, what, expected, found in rows:
        value, low, high = shared.mean_of(found)
        up = sum(gain > 0 for gain in found)
        verdict = (FAILS if high < 0 else HOLDS) if "cost" in text else above(low, high)
        note = f"up in {up} of {len(found)}"
        if subject == asked:
            note += f"; {_ONCE}"
        if subject.startswith("table 7"):
            aligned = sum(gain > 0 for gain in _changes(given["table_7"], ["dataset"], "raw_alignment_pct"))
            note += f", alignment in {aligned}; at most a tenth of answers is right"
        method = f"mean change of {what}, Student's t"
        yield claim(subject, text, method, verdict, value, low=low, high=high, expected=expected, note=note)
    told = {row["variant"]: row for row in given["table_3"].iter_rows(named=True)}
    before, after = told["fictional_sft"], told["fictional_sft_then_esma"]
    gain, aligned_by = (after[name] - before[name] for name in ("d_prime", "raw_alignment_pct"))
    yield claim(
        f"table 3, {QUESTIONS['fictional_qa']:,} questions", "a model learns to know what it was just taught",
        "change of d_prime", HOLDS if gain > 0 else FAILS, gain, expected=null,
        note=f"alignment changes by {aligned_by:+.2f} points; {_ONCE}",
    )  # fmt: skip


def _rival(given: Mapping[str, pl.DataFrame]) -> Iterator[Row]:
    """Yield how it compares with training on yes and no."""
    printed = {row["variant"]: row for row in given["table_5"].iter_rows(named=True)}
    value, low, high = shared.difference(_sensitivity(printed["esma"]), _sensitivity(printed["sft"]))
    yield claim(
        f"table 5, {SMALL}", "the reward does more than training on yes and no",
        "difference of d_prime, from its counts", above(low, high), value, low=low, high=high, expected="0 if alike",
        note=f"the interval is that of the questions alone: {_ONCE}",
    )  # fmt: skip


def _sensitivity(row: Mapping[str, float]) -> tuple[float, float]:
    """Return d′ and its standard error from the printed shares of yeses."""
    n, yes, failed = QUESTIONS["trivia_qa"], row["yes_ratio_pct"] / 100, row["yfr_pct"] / 100
    hits, alarms = n * yes * (1 - failed), n * yes * failed
    misses = n * (1 - yes) * row["nfr_pct"] / 100
    found = type1_from_table(hits, misses, alarms, n - hits - alarms - misses)
    return float(found.d[0]), float(found.var_d[0]) ** 0.5


def _open(given: Mapping[str, pl.DataFrame]) -> Iterator[Row]:
    """Yield the share of the gain by a tenth of the weights."""
    ends = dict(given["table_1"].filter(model=SMALL).select("variant", "d_prime").iter_rows())
    told = dict(given["claims"].filter(subject="top 10 %").select("quantity", "value").iter_rows())
    share = (told["d_prime"] - ends["original"]) / (ends["esma"] - ends["original"])
    stated = told["share_of_gain_pct"] / 100
    yield claim(
        "text and table 1", "a tenth of the changed weights carries most of the gain", "share of the gain in d_prime",
        HOLDS if share >= stated else FAILS, share, published=stated,
        expected="0.1 if every weight carried as much", note="more than a tenth, and less than the text says",
    )  # fmt: skip


# --- what the contract asks for -----------------------------------------------------------------------------------------
_PERCENT = (
    "raw_alignment", "accuracy", "yes_ratio", "yfr", "nfr", "idk_accuracy", "idk_alignment", "all_alignment",
)  # fmt: skip


def values() -> pl.DataFrame:
    """Return the printed numbers in the names and units of the board, each once."""
    given = tables_of(folder())
    qwen = ("Qwen2.5 " + pl.col("size").cast(pl.String)).alias("model")
    small, unknown = pl.lit(SMALL).alias("model"), pl.lit(NOT_STATED).alias("model")
    dual, trivia = pl.lit(DUAL).alias("condition"), pl.lit("trivia_qa").alias("dataset")
    at: dict[str, list[pl.Expr]] = {
        "table_1": [dual, trivia],
        "table_3": [dual, pl.lit("fictional_qa").alias("dataset"), unknown],
        "table_4": [dual, trivia, small],
        "table_5": [dual, trivia],
        "table_6": [dual, qwen],
        "table_7": [
            pl.col("dataset").str.replace("mkqa", DUAL).alias("condition"), pl.lit("mkqa").alias("dataset"), unknown,
        ],
        "table_2": [pl.lit(IDK).alias("condition"), trivia],
    }  # fmt: skip
    only = {"table_4": ["direct", "meta"], "table_5": ["sft"]}  # table 1 has their other rows
    parts = [
        given[stem]
        .filter(pl.col("variant").is_in(only[stem]) if stem in only else pl.lit(True))
        .with_columns(*where, place=pl.lit(stem.replace("_", " ")))
        for stem, where in at.items()
    ]
    tables = pl.concat(parts, how="diagonal_relaxed")
    shares = [(pl.col(f"{name}_pct") / 100).round(6).alias(name) for name in _PERCENT]
    named = ("place", "dataset", "condition", "model", "variant")
    wide = tables.select(*named, pl.col("d_prime").alias("d_type2_reference"), *shares)
    printed = long(wide, ["d_type2_reference", *_PERCENT])
    areas = given["figure_2"].select(
        qwen, pl.col("original_auc").alias("original"), pl.col("esma_auc").alias("esma"), dual, trivia,
        pl.lit("figure 2").alias("place"),
    )  # fmt: skip
    drawn = long(areas, ["original", "esma"]).rename({"measure": "variant"})
    drawn = drawn.with_columns(measure=pl.lit("auroc2"))
    sized = ~pl.col("measure").is_in(["yfr", "nfr"])
    return pl.concat([printed, drawn], how="diagonal").with_columns(
        model=pl.col("model") + pl.col("variant").replace_strict(dict(VARIANTS)),
        n=pl.when(sized).then(pl.col("dataset").replace_strict(dict(QUESTIONS))),
    )


def claims() -> pl.DataFrame:
    """Return the checks, every way in which three printed numbers can come about, and the ledger of claims."""
    given = tables_of(folder())
    checked = shared.audited(shared.audit_frame(audit(given)))
    by_clip = (pl.col("verdict") == "follows") & pl.col("note").str.ends_with("made by the clip")
    said = pl.when(by_clip).then(pl.lit("made by the clip")).otherwise("verdict")
    checked = checked.with_columns(verdict=said)
    possible = pl.DataFrame(list(ways(given)), infer_schema_length=None)
    return pl.concat([checked, possible, ledger(folder())], how="diagonal_relaxed")


PUBLISHED = Published(lambda benchmark: values(), lambda benchmark: claims())
