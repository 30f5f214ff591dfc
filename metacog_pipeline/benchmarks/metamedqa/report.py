"""MetaMedQA in the report: its sections, the manifest of its paper, and the printed numbers with what follows from them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from metacog_pipeline.benchmark.contract import Exhibit, Published, Section
from metacog_pipeline.benchmark.item_files import step_path
from metacog_pipeline.benchmarks.metamedqa import items
from metacog_pipeline.benchmarks.metamedqa.items import BASELINE, NAME
from metacog_pipeline.benchmarks.metamedqa.prompts import load_wording
from metacog_pipeline.files import shipped
from metacog_pipeline.home import Home
from metacog_pipeline.report import exhibits, pieces
from metacog_pipeline.report.drawing import Plot
from metacog_pipeline.report.exhibits import Column
from metacog_pipeline.report.figures import PALETTE, Point, finished, ladder, mark
from metacog_pipeline.report.pieces import WORLDS
from metacog_pipeline.report.queries import rows
from metacog_pipeline.scoring import published as headlines
from metacog_pipeline.scoring.published import HOLDS, UNDECIDED, UNKNOWN, above, claim
from metacog_pipeline.stats.correlation import regression
from metacog_pipeline.stats.intervals import wilson_interval
from metacog_pipeline.stats.ranks import fisher_interval, spearman_p
from metacog_pipeline.stats.resampling import Z95

REWORDED = "The printed numbers were asked in the paper's words; the prompts of this project say the same in other words."
_UNDER_NONE = f"condition = '{BASELINE}'"


# --- sections ---------------------------------------------------------------------------------------------------------
_DETECTED = (
    "Hits: the recall of the two last letters where they are the key. False alarms: how often they are chosen where one of "
    "A to D is right. d′ is how well a model separates the two, 0 if not at all; the criterion c is below 0 where it says "
    "them too often and above 0 where too seldom. Saying them more raises both and leaves d′ alone."
)
_PROMPTS = (
    "Values under each system message minus those under none, on the same items. A message that raises d′ makes a model "
    "see more of what has no answer; one that lowers the criterion alone makes it say so more. Intervals by resampling "
    "items; p by Holm over the messages of a model."
)
_D_AND_C = {
    f"{letter}_{name}": f"{word} of {said}"
    for name, said in (("unanswerable", "both (mean)"), ("missing", "none of the above"), ("unknown", items.CANNOT_ANSWER))
    for letter, word in (("d", "d′"), ("c", "c"))
}  # fmt: skip
_HITS = ("missing_answer_recall", "false_alarm_E", "unknown_recall", "false_alarm_F")


def unanswerable(home: Home) -> Markup:
    """Return d′ and criterion of what cannot be answered, with hits and false alarms."""
    columns = [Column(label, "", name) for name, label in _D_AND_C.items()]
    columns += [Column(f"{name.replace('_', ' ')}, %", name, name, times=100.0, digits=1) for name in _HITS]
    drawn = exhibits.forests(
        [], exhibits.own(home, NAME, _D_AND_C), [each for each in columns if each.measure.startswith("d_")],
        x="d′", n="", method="", name_of=lambda key: f"{key[0]}, {key[2]}", apart=0.2,
    )  # fmt: skip
    made = beside_printed(home, "table 4", columns, "condition", "model")
    return pieces.paragraph(_DETECTED, "soft") + pieces.grid(drawn) + made


def prompts(home: Home) -> Markup:
    """Return what each system message changes."""
    found = rows(
        home,
        "select source, measure, model, a, b, value, low, high, p_adjusted, n, coalesce(nullif(status, 'ok'), note) "
        "from comparisons where benchmark = 'metamedqa' and family = 'paired_conditions' "
        "order by source, measure, model, a, b",
    )
    heads = ("model", "contrast", "difference", "p adjusted", "stars", "items", "note")
    figures, tables = [], []
    for (source, measure), group in groupby(found, key=itemgetter(0, 1)):
        title = f"{WORLDS[source]}: {_D_AND_C.get(measure, measure.replace('_', ' '))}"
        own, points = [row[2:] for row in group], defaultdict[str, dict[str, Point]](dict)
        body = [
            (model, f"{a} - {b}", pieces.interval(*ends), pieces.p_value(p), pieces.stars(p), n, note)
            for model, a, b, *ends, p, n, note in own
        ]
        tables.append(pieces.folded(f"{title}: {len(body)} tests", pieces.table(heads, body, title)))
        for model, a, _, *ends, _, _, _ in own:
            if (point := pieces.point(*ends)) is not None:
                points[model][a] = point
        if points:
            steps = list(dict.fromkeys(a for each in points.values() for a in each))
            drawn = ladder(list(points.items()), steps=steps, x="change against no message")
            n = pieces.counted((row[5] for row in body), "items")
            figures.append(pieces.figure(drawn, f"{title}, change.", n=n, method="95 % intervals over items"))
    made = pieces.joined([pieces.grid(figures), *tables], "Asked under one system message only.")
    return pieces.paragraph(_PROMPTS, "soft") + made


def licences(home: Home) -> Markup:
    """Return where the questions come from and on which terms."""
    body = [(each.name, items.CONTENTS[each.name][1], each.licence) for each in items.SOURCES.values()]
    return pieces.table(("source", "rows", "licence"), body, "Sources of the published questions")


SECTIONS = (
    Section("Seeing that there is no answer", unanswerable),
    Section("What the system message changes", prompts),
    Section("Sources and licences", licences),
)


# --- the paper --------------------------------------------------------------------------------------------------------
_SURE = {
    "mean_confidence": "mean confidence, 1 to 5",
    "high_confidence_accuracy": "right at high confidence, %",
    "medium_confidence_accuracy": "right at medium confidence, %",
    "low_confidence_accuracy": "right at low confidence, %",
}
_NOTICED = {"missing_answer_recall": "none of the above", "unknown_recall": items.CANNOT_ANSWER}


def _columns(named: Mapping[str, str]) -> list[Column]:
    times = {"mean_confidence": 1.0}
    return [Column(label, name, name, times.get(name, 100.0), digits=2) for name, label in named.items()]


def _stated(place: str) -> list[dict[str, str]]:
    """Return the stated numbers of a table, a row per model and prompt, each with its half width or its mark."""
    parts = (pl.col("stated"), "± " + pl.col("half_width"), pl.col("stars"))
    found = _printed().filter(place=place).drop_nulls("stated")
    said = found.with_columns(said=pl.concat_str(parts, separator=" ", ignore_nulls=True))
    return said.pivot("measure", index=("model", "condition"), values="said").fill_null("").to_dicts()


def beside_printed(
    home: Home, place: str, columns: Sequence[Column], *keys: str, where: str = "true", said: str = ""
) -> Markup:
    """Return the numbers of a printed table, and the study's own of the same in the tables below it."""
    measures = [each.measure for each in columns]
    heads = {"model": "model", "condition": "system message"}
    return exhibits.tables(
        NAME, exhibits.own(home, NAME, measures, where), _stated(place), columns,
        keys={key: heads[key] for key in keys}, caption=f"{said}{REWORDED}",
        key_of=lambda key: [{"model": key[0], "condition": key[2]}[name] for name in keys],
    )  # fmt: skip


def table_3(home: Home) -> Markup:
    """Return how sure models are, and how often they are right when they are."""
    return beside_printed(home, "table 3", _columns(_SURE), "model", where=_UNDER_NONE)


def table_4(home: Home) -> Markup:
    """Return what system messages change."""
    said = "* p < 0.05, ** < 0.01, *** < 0.001, **** < 0.0001 against no message. "
    named = {"accuracy": "accuracy, %", **_SURE, **{name: f'"{text}", %' for name, text in _NOTICED.items()}}
    columns = [each for each in _columns(named) if each.measure != "mean_confidence"]
    return beside_printed(home, "table 4", columns, "condition", "model", said=said)


def bars(home: Home, measure: str, label: str) -> Markup:
    """Return a figure of one measure under no system message: models whose value the text states, and the study's own."""
    found = values(None).filter(place="text", measure=measure).select("model", "n", "value", "low", "high")
    points = ((model, pieces.point(*ends, times=100.0)) for model, _, *ends in found.iter_rows())
    printed = [(model, {label: point}) for model, point in points if point is not None]
    drawn = exhibits.forests(
        printed, exhibits.own(home, NAME, [measure], _UNDER_NONE), [Column(label, measure, measure, times=100.0)],
        x=label, n=pieces.counted(found["n"], "questions"), method="95 % intervals from the stated standard errors",
    )  # fmt: skip
    return pieces.grid(drawn) + pieces.paragraph(REWORDED, "soft")


def flow(cells: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """Return the counts of Figure 1 of questions by kind and key. Kind ``Original`` with key E is a modification."""
    kinds, keys = Counter[str](), Counter[str]()
    for kind, key, n in cells:
        kinds[kind] += n
        keys[key] += n
    total, fictional, malformed = kinds.total(), kinds["Fictional"], kinds["Bad"]
    unchanged = sum(keys[letter] for letter in "ABCD")
    return {
        "fictional": fictional, "malformed_audited": malformed, "unchanged": unchanged, "total": total,
        "modified": total - unchanged - fictional - malformed, "none_of_the_above": keys["E"], "dont_know": keys["F"],
    }  # fmt: skip


def figure_1(home: Home) -> Markup:
    """Return the flow of the construction: what the paper counts, what its data hold, and the items of this study."""
    printed = exhibits.printed(NAME, "figure_1")
    own = flow((kind, key, n) for kind, key, n in rows(home, _COUNTS))
    body = [(row["step"], row["from"], row["paper"], row["data"], own[row["count"]]) for row in printed]
    columns = ("step", "from", "the paper", "its published data", "items of this study")
    return pieces.table(columns, body, "Construction: questions at each step")


def examples(home: Home, kinds: Sequence[str]) -> Markup:
    """Return one question of this study of each kind; the paper shows examples of its own data."""
    sql = (
        "select kind, question, key, facts from items where benchmark = 'metamedqa' and "
        f"kind in ({', '.join(map(repr, kinds))}) "
        "qualify row_number() over (partition by kind order by position) = 1 order by kind"
    )
    body = []
    for kind, question, key, facts in rows(home, sql):
        options = zip("ABCDEF", json.loads(facts or "{}").get("options") or [], strict=False)
        body.append((kind, question, "\n".join(f"{letter}. {text}" for letter, text in options), key))
    heads = ("kind", "question", "options", "key")
    return pieces.table(heads, body, "One question of this study of each kind") if body else _none()


def changes(home: Home) -> Markup:
    """Return what edits changed in this study's questions: the text before and after, one example of each kind."""
    path = step_path(home, NAME, "edits")
    if not path.exists():
        return _none()
    frame = pl.read_parquet(path, glob=False).filter(pl.col("changes").list.len() > 0)
    first = frame.unique("edit_kind", keep="first", maintain_order=True)
    body = [
        (row["edit_kind"].replace("_", " "), row["item_id"], each["field"], each["before"] or each["find"],
         each["after"] if each["find"] is None else each["replace"], row["answer_after"])
        for row in first.iter_rows(named=True) for each in row["changes"]
    ]  # fmt: skip
    heads = ("edit", "item", "field", "before", "after", "key after")
    return pieces.table(heads, body, "One edit of this study of each kind")


def table_5(home: Home) -> Markup:
    """Return the system messages of this project."""
    body = [(name, text or "(no system message)") for name, text in load_wording().conditions.items()]
    return pieces.table(("identifier", "this project's words"), body, f"System messages. {REWORDED}")


def _none() -> Markup:
    return pieces.paragraph(exhibits.NOBODY, "soft")


def figure_4(home: Home) -> Markup:
    """Return the recalls on accuracy over the models of the study, with the line and its 95 % band."""
    made = []
    for measure, label in {**_NOTICED, "unknown_recall": "I don't know"}.items():
        found = exhibits.own(home, NAME, ["accuracy", measure, "choice_share_E"], _UNDER_NONE)
        for title, groups in found.items():
            points = [
                (key[0], own["accuracy"].point(100), own[measure].point(100), own["choice_share_E"].value)
                for key, own in groups.items()
                if {"accuracy", "choice_share_E", measure} <= own.keys()
            ]
            if points:
                caption = f'{title}: recall of "{label}" on accuracy, line and 95 % band without models that overuse E.'
                drawn, n = _scatter(points, f'recall of "{label}", %'), f"n = {len(points)} models"
                made.append(pieces.figure(drawn, caption, n=n, method="intervals of the models: Wilson"))
    printed = [(r["measure"].replace("_", " "), r["models"], r["r"], r["slope"], r["slope_interval"])
               for r in exhibits.printed(NAME, "correlations")]  # fmt: skip
    heads = ("recall on accuracy", "models", "Pearson's r", "slope", "95 % interval of the slope")
    return pieces.grid(made) + pieces.table(heads, printed, f"As printed. {REWORDED}")


def _scatter(points: Sequence[tuple[str, Point, Point, float]], y: str) -> str:
    """Return models as marks with their intervals; from three models on the regression line with its 95 % band."""
    plot, most = Plot(3.9), items.E_SHARE_FLAG
    kept = np.array([(a.value, b.value) for _, a, b, share in points if share < most]).reshape(-1, 2)
    line: Any = regression(*kept.T)
    if line.slope is not None:
        x = np.linspace(kept[:, 0].min(), kept[:, 0].max(), 50)
        middle, away = line.intercept + line.slope * x, x - kept[:, 0].mean()
        half = (line.slope_high - line.slope) * np.sqrt(kept[:, 0].var() + away**2)
        for left, right, low, high in zip(x, x[1:], middle - half, middle + half, strict=False):
            plot.box((left, low), (right, high), PALETTE[0], 0.15)
        plot.line(list(zip(x.tolist(), middle.tolist(), strict=True)), PALETTE[0], 1.5)
    for name, a, b, share in points:
        mark(plot, a, b, *(("s", PALETTE[1]) if share >= most else ("o", PALETTE[0])), 6)
        plot.words(a.value, b.value, name, 7, moved=(5, 4))
    plot.entry("o", PALETTE[0], "model")
    plot.entry("s", PALETTE[1], "overuses E")
    return finished(plot, "accuracy, %", y)


_UNPRINTED = "the bars of the other models are drawn there without numbers."
_OWN = "select model, measure, estimate, low, high from leaderboard where benchmark = 'metamedqa'"
_COUNTS = "select kind, key, count(*) from items where benchmark = 'metamedqa' group by all"
_TESTS = "from comparisons where benchmark = 'metamedqa' and family"


def _bars(
    number: str, title: str, measure: str, label: str, why: str, where: str = "", **more: Any
) -> Exhibit:
    where = where or f"measure = '{measure}' and condition = 'baseline'"
    return Exhibit(
        number, title, partial(bars, measure=measure, label=label), why, data="figures.csv; leaderboard",
        query=f"{_OWN} and {where}", **more,
    )  # fmt: skip


PAPER = (
    Exhibit(
        "Figure 1", "How the questions are built", figure_1, status="differs", places=("counts",), query=_COUNTS,
        why="the paper counts 55 malformed questions, three more than its data hold; with 52 its sums add up.",
        data="figure_1.csv; items",
    ),
    _bars(
        "Figure 2", "Accuracy on all questions", "accuracy", "accuracy, %",
        f"the text states four of twelve models; {_UNPRINTED} So p = 0.0142 (Yi 1.5 34B, Meerkat 7B) cannot be computed.",
    ),
    _bars(
        "Figure 3", 'Recall of "none of the above"', "missing_answer_recall", "missing-answer recall, %",
        f"the text states two of twelve models; {_UNPRINTED} So p = 0.012 (Meerkat 7B, Qwen2 7B) cannot be computed.",
    ),
    Exhibit(
        "Figure 4", "Recalls on accuracy, with the regression and its band", figure_4,
        "the points are drawn there without numbers, and the stated intervals of both slopes do not follow from r and n.",
        status="differs", data="correlations.csv; leaderboard; comparisons", places=("correlation", "regression"),
        query=f"{_TESTS} like 'correlation%'",
    ),
    Exhibit(
        "Table 1", "Fictional and malformed questions", partial(examples, kinds=("Fictional", "Bad")),
        "questions of this study; the paper's are among the published set, which is fetched and not shipped.",
        data="items", query="from items where benchmark = 'metamedqa' and kind in ('Fictional', 'Bad')",
    ),
    Exhibit(
        "Table 2", "Questions before and after a modification", changes, data="items/metamedqa/edits.parquet",
        why="edits of this study; the paper's are among the published set, which is fetched and not shipped.",
    ),
    Exhibit(
        "Table 3", "Confidence, and accuracy by confidence", table_3, data="figures.csv; leaderboard",
        query=f"{_OWN} and measure like '%confidence%' and condition = 'baseline'",
    ),
    Exhibit(
        "Table 4", "What system messages change (GPT-4o)", table_4, status="differs",
        why="p = 0.07 of the gain in missing-answer recall does not follow: Fisher's LSD gives 0.23.",
        data="figures.csv, significance.csv; leaderboard, comparisons",
        query=f"{_TESTS} in ('lsd_conditions', 'paired_conditions')",
    ),
    Exhibit(
        "Table 5", "The eight system messages", table_5, REWORDED + " A file named by `wording` gives the exact ones.",
        data="data/metamedqa/prompts.toml",
    ),
    Exhibit(
        "Text: differences between models", "Standard errors, effect sizes and Tukey's tests of the text",
        status="recomputed", data="claims.csv", places=("standard error", "effect size", "Tukey"),
        query=f"{_TESTS} in ('anova_models', 'tukey_models')",
    ),
    Exhibit(
        "Text: choice of E", 'How often "none of the above" is chosen at all', status="recomputed", data="claims.csv",
        places=("choice share",), query=f"{_OWN} and measure in ('choice_share_E', 'false_alarm_E', 'd_missing')",
    ),
    _bars(
        "Text: unknown analysis", 'Recall of "I don\'t know or cannot answer"', "unknown_recall", "unknown recall, %",
        "the text states three of twelve models and that the others are at 0.", places=("recall",),
        where="measure in ('unknown_recall', 'false_alarm_F', 'd_unknown')",
    ),
    Exhibit(
        "Text: prompt engineering", "Gains once a prompt says that some questions cannot be answered",
        status="recomputed", places=("text", headlines.PLACE), data="claims.csv, significance.csv",
        why="p < 0.0001 of the gain in accuracy does not follow: Table 4 gives 0.013, 0.017 and 0.0009.",
        query=f"{_TESTS} = 'paired_conditions'",
    ),
)  # fmt: skip


# --- printed numbers --------------------------------------------------------------------------------------------------
def values(benchmark: Any) -> pl.DataFrame:
    """Return the printed numbers; intervals are the printed half widths, or 1.96 printed standard errors."""
    stated, half_width, sem = (pl.col(name).cast(pl.Float64) for name in ("stated", "half_width", "sem"))
    scale, half = pl.when(unit="percent").then(0.01).otherwise(1.0), pl.coalesce(half_width, 1.96 * sem)
    marks = ("printed mark " + pl.col("stars"), "printed p " + pl.col("p_stated"))
    return _printed().with_columns(
        dataset=pl.lit("published"), n=pl.col("n").cast(pl.Int64), value=(stated * scale).round(6),
        low=((stated - half) * scale).round(6), high=((stated + half) * scale).round(6),
        note=_joined("note", *marks, pl.lit("prompts reworded here")),
    )  # fmt: skip


def claims(benchmark: Any) -> pl.DataFrame:
    """Return the statements that were computed again and the ledger of headline claims."""
    checked = _table("claims").select(
        place="topic", subject="subject", quantity="claim", method=pl.lit("counts that fit the printed figures"),
        published=pl.col("stated").cast(pl.Float64, strict=False),
        recomputed=pl.col("recomputed").cast(pl.Float64, strict=False), verdict="verdict",
        note=_joined("printed " + pl.col("stated"), "computed " + pl.col("recomputed"), "explanation"),
    )  # fmt: skip
    return pl.concat([checked, ledger(shipped("data", "published", NAME))], how="diagonal_relaxed")


def _printed() -> pl.DataFrame:
    """Return the printed figures with the marks of Table 4, every value as it is printed."""
    marks = _table("significance").with_columns(place=pl.lit("table 4"))
    return _table("figures").join(marks, on=["place", "condition", "measure"], how="left")


def _table(stem: str) -> pl.DataFrame:
    return pl.read_csv(shipped("data", "published", NAME, f"{stem}.csv"), infer_schema=False, glob=False)


def _joined(*parts: str | pl.Expr) -> pl.Expr:
    text = pl.concat_str(parts, separator=" | ", ignore_nulls=True)
    return pl.when(text != "").then(text)


# --- what the paper leads with ----------------------------------------------------------------------------------------
_N = {"accuracy": 1373, "missing_answer_recall": 115, "unknown_recall": 162}
Numbers = dict[str, Any]


def ledger(data: Path) -> pl.DataFrame:
    """Return what the paper leads with: the words of ``headline.csv`` and what follows from the numbers it prints."""
    words, figures, correlations = (
        pl.read_csv(data / f"{stem}.csv", infer_schema_length=None, glob=False)
        for stem in ("headline", "figures", "correlations")
    )
    found = {**_of_gpt(figures), **_of_models(figures), **_of_correlations(correlations)}
    return headlines.ledger(
        claim(**found.get(row.pop("claim"), {"verdict": UNKNOWN}), **row) for row in words.to_dicts()
    )


def _numbers(value: float, low: float, high: float, verdict: str = "", **more: Any) -> Numbers:
    """Return the numbers of a claim, by default that something lies above 0."""
    return {"recomputed": value, "low": low, "high": high, "verdict": verdict or above(low, high), **more}


def _below(share: float, n: int, null: float) -> Numbers:
    """Return those of a claim that a share lies below ``null``."""
    low, high = wilson_interval(share, n)
    return _numbers(share, low, high, above(-high, -low, -null))


def _gain(first: float, second: float, n: int, **more: Any) -> Numbers:
    """Return those of a claim that a share is larger than another."""
    of = headlines.of_share
    return _numbers(*headlines.difference(of(first, n), of(second, n)), **more)


def _shares(figures: pl.DataFrame, model: str, condition: str = BASELINE) -> dict[str, float]:
    found = figures.filter(model=model, condition=condition).drop_nulls("stated")
    return {name: float(stated) / 100 for name, stated in found.select("measure", "stated").iter_rows()}


def _of_gpt(figures: pl.DataFrame) -> dict[str, Numbers]:
    """Return the claims about GPT-4o: an absent answer, and what a full prompt gains."""
    full, bare = both = [_shares(figures, "GPT-4o-2024-05-13", each) for each in ("role-full", BASELINE)]
    # Answers to the questions whose key is not "I don't know": the others have a claim of their own.
    n, n_unknown, others = _N["accuracy"], _N["unknown_recall"], _N["accuracy"] - _N["unknown_recall"]
    one, other = (round(n * own["accuracy"]) - round(n_unknown * own["unknown_recall"]) for own in both)
    recalls = {name: _gain(full[name], bare[name], _N[name]) for name in _NOTICED}
    return {
        "unseen": _below(bare["missing_answer_recall"], _N["missing_answer_recall"], bare["accuracy"]),
        "full_unknown": recalls["unknown_recall"],
        "full_missing": recalls["missing_answer_recall"],
        "full_accuracy": _gain(
            one / others, other / others, others, published=full["accuracy"] - bare["accuracy"]
        ),
    }


def _of_models(figures: pl.DataFrame) -> dict[str, Numbers]:
    """Return the claims about all models, about the three of Table 3, and about two sizes of one."""
    known = figures.filter(measure="unknown_recall", condition=BASELINE)["stated"].cast(pl.Float64)
    found = []
    for _, own in figures.filter(place="table 3").drop_nulls("half_width").group_by("model"):
        printed = own.select("measure", pl.col("stated").cast(pl.Float64), "half_width").iter_rows()
        at = {name: (stated / 100, half / 100 / Z95) for name, stated, half in printed}
        found.append(headlines.difference(at["high_confidence_accuracy"], at["medium_confidence_accuracy"]))
    large, small = (_shares(figures, f"Qwen2-{each}")["accuracy"] for each in ("72B", "7B"))
    return {
        "most_unknown": _below(known.to_numpy().max() / 100, _N["unknown_recall"], 1 / 6),
        "when_sure": _numbers(*min(found)),
        "size": _gain(large, small, _N["accuracy"]),
    }


def _of_correlations(correlations: pl.DataFrame) -> dict[str, Numbers]:
    found = {}
    for name, n, r in correlations.select("measure", "models", "r").iter_rows():
        ends, verdict = fisher_interval(r, n), HOLDS if spearman_p(r, n) < 0.05 else UNDECIDED
        found[name] = _numbers(r, ends.low or -1.0, ends.high or 1.0, verdict, published=r)
    return found


PUBLISHED = Published(values, claims)
