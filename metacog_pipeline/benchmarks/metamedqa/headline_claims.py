"""What the MetaMedQA paper leads with, each against the numbers it prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmark import headlines
from metacog_pipeline.benchmark.headlines import HOLDS, UNDECIDED, Row, above, claim
from metacog_pipeline.stats.proportions import Z95, wilson_interval
from metacog_pipeline.stats.ranks import fisher_interval, spearman_p

GPT = "GPT-4o-2024-05-13"
_ALL, _UNKNOWN = 1373, 162
_OPTIONS = 6


def ledger(data: Path) -> pl.DataFrame:
    """Return one row per headline claim, from the tables in ``data``."""
    figures = pl.read_csv(data / "figures.csv", infer_schema_length=None, glob=False)
    return headlines.ledger(
        [
            *_absent(figures),
            *_confidence(figures),
            *_prompts(figures),
            *_accuracy(figures, pl.read_csv(data / "correlations.csv", glob=False)),
            headlines.waiting(
                "most models use one value of the confidence scale",
                "ratings of single answers",
                "ratings are printed as means and halves of three models",
                "five values in use",
            ),
        ]
    )


def _share(figures: pl.DataFrame, model: str, condition: str, measure: str) -> float:
    found = figures.filter(model=model, condition=condition, measure=measure)
    return float(found["stated"].drop_nulls()[0]) / 100


def _absent(figures: pl.DataFrame) -> Iterator[Row]:
    """What models do where no option, or no answer at all, is right."""
    known = figures.filter(measure="unknown_recall", condition="baseline")
    most = float(known["stated"].max()) / 100  # type: ignore[arg-type]
    low, high = wilson_interval(most, _UNKNOWN)
    yield claim(
        f"text, {known['model'].n_unique()} models", "models do not see that a question cannot be answered",
        "largest recall of 'I don't know or cannot answer'", above(-high, -low, -1 / _OPTIONS), most, low=low, high=high,
        expected="1 in 6 for who picks an option at random",
    )  # fmt: skip
    missing, n = _share(figures, GPT, "baseline", "missing_answer_recall"), 115
    whole = _share(figures, GPT, "baseline", "accuracy")
    low, high = wilson_interval(missing, n)
    yield claim(
        "text, GPT-4o", "an absent answer goes unseen more often than a present one",
        "recall of 'none of the above'", above(-high, -low, -whole), missing, low=low, high=high,
        expected=f"{whole:.3f}, its accuracy, if seeing that none is right were no harder",
    )  # fmt: skip


def _confidence(figures: pl.DataFrame) -> Iterator[Row]:
    table = figures.filter(place="table 3", condition="baseline").drop_nulls("half_width")
    found = []
    for model in table["model"].unique(maintain_order=True):
        own = {
            row["measure"]: (row["stated"] / 100, row["half_width"] / 100 / Z95)
            for row in table.filter(model=model).iter_rows(named=True)
        }
        found.append(headlines.difference(own["high_confidence_accuracy"], own["medium_confidence_accuracy"]))
    value, low, high = min(found)
    yield claim(
        "table 3, three models", "answers given with high confidence are right more often",
        "smallest difference of accuracy, high minus medium confidence", above(low, high), value, low=low, high=high,
        expected="0 if confidence said nothing",
        note=f"{sum(each[1] > 0 for each in found)} of {len(found)} models; nine models are not printed",
    )  # fmt: skip


def _prompts(figures: pl.DataFrame) -> Iterator[Row]:
    """What is gained where a prompt says what the questions are like."""
    shares = {
        (condition, measure): _share(figures, GPT, condition, measure)
        for condition in ("baseline", "role-full")
        for measure in ("accuracy", "unknown_recall", "missing_answer_recall")
    }

    def gain(measure: str, n: int) -> tuple[float, float, float]:
        after, before = (headlines.of_share(shares[name, measure], n) for name in ("role-full", "baseline"))
        return headlines.difference(after, before)

    value, low, high = gain("unknown_recall", _UNKNOWN)
    yield claim(
        "table 4, GPT-4o", "a full prompt lets a model say that it cannot answer", "recall under role-full minus baseline",
        above(low, high), value, low=low, high=high, expected="0 without an effect of the prompt",
        note="how often it says so where an answer exists is not printed",
    )  # fmt: skip
    value, low, high = gain("missing_answer_recall", 115)
    yield claim(
        "table 4, GPT-4o", "a full prompt lets a model see that no option is right",
        "recall under role-full minus baseline",
        above(low, high), value, low=low, high=high, expected="0 without an effect of the prompt",
    )  # fmt: skip
    # Answers to the questions whose key is not "I don't know": the others are counted above.
    others = _ALL - _UNKNOWN
    right = {
        name: round(_ALL * shares[name, "accuracy"]) - round(_UNKNOWN * shares[name, "unknown_recall"])
        for name in ("role-full", "baseline")
    }
    after, before = (headlines.of_share(count / others, others) for count in right.values())
    value, low, high = headlines.difference(after, before)
    both = {name: round(_ALL * shares[name, "accuracy"]) for name in right}
    more = both["role-full"] - both["baseline"]
    yield claim(
        "table 4, GPT-4o", "a full prompt makes a model more accurate",
        f"accuracy under role-full minus baseline, {others:,} questions with another key", above(low, high), value,
        published=shares["role-full", "accuracy"] - shares["baseline", "accuracy"], low=low, high=high,
        expected="0 if only questions without an answer are gained",
        note=f"of {more} right answers more, {more - (right['role-full'] - right['baseline'])} are 'I don't know'",
    )  # fmt: skip


def _accuracy(figures: pl.DataFrame, printed: pl.DataFrame) -> Iterator[Row]:
    """What goes with accuracy over models."""
    told = {
        "missing_answer_recall": ("absent answers are seen by accurate models", "; 8 % of accuracy is that recall"),
        "unknown_recall": ("questions without an answer are seen by accurate models", "; 12 % of accuracy is that recall"),
    }  # fmt: skip
    for row in printed.iter_rows(named=True):
        found, (text, shared) = fisher_interval(row["r"], row["models"]), told[row["measure"]]
        p = spearman_p(row["r"], row["models"])
        yield claim(
            f"text, {row['models']} models", text, "printed Pearson's r with accuracy", HOLDS if p < 0.05 else UNDECIDED,
            row["r"], published=row["r"], low=found.low, high=found.high, expected=f"0 if unrelated{shared}",
            note=f"Student's t: p = {p:.2g}",
        )  # fmt: skip
    large, small = (
        headlines.of_share(_share(figures, f"Qwen2-{size}", "baseline", "accuracy"), _ALL)
        for size in ("72B", "7B")
    )
    value, low, high = headlines.difference(large, small)
    yield claim(
        "text, Qwen2", "larger models are more accurate", "accuracy of 72B minus 7B", above(low, high), value, low=low,
        high=high, expected="0 without an effect of size", note="the only series with two printed sizes",
    )  # fmt: skip
