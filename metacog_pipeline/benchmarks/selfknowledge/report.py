"""Self-knowledge on screen: the board, the parts of the report, and the manifest of the paper; no statistics are loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from markupsafe import Markup

from metacog_pipeline.benchmark.display import Board, Column, Exhibit, Section
from metacog_pipeline.home import Home
from metacog_pipeline.report import exhibits, pieces
from metacog_pipeline.report.drawing import Plot
from metacog_pipeline.report.exhibits import PRINTED, Key
from metacog_pipeline.report.figures import PALETTE, Point, finished, lines
from metacog_pipeline.report.queries import rows

_NAME = "selfknowledge"
_NOTHING = "No values yet."


LABELS = {
    "d_type2": "d′", "c_type2": "c", "auroc2": "AUROC2", "raw_alignment": "alignment", "accuracy": "accuracy",
    "yes_ratio": "yes", "yfr": "YFR", "nfr": "NFR", "invalid_share": "neither", "abstain_d": "IDK d′",
    "abstain_c": "IDK c", "idk_accuracy": "IDK acc.", "idk_rate": "abstains", "idk_alignment": "IDK align.",
    "all_alignment": "all align.",
}  # fmt: skip
_INSTEAD = {"d_type2": "d_type2_reference"}
BOARD = Board(
    columns=tuple(
        Column(name, label, _INSTEAD.get(name), interval=name != "invalid_share") for name, label in LABELS.items()
    ),
    order=(("d_type2", "d_type2_reference"), ("abstain_d",), ("idk_alignment",), ("accuracy",)),
    legend=(
        "Below each value its 95 % interval. A model is asked a question and, in another context, whether it knows the\n"
        "answer. d′: does a yes go with being right (0: no); c: below 0 it says yes too often; AUROC2: does P(yes) of\n"
        "the first token, where log-probabilities are kept; alignment: right = yes; YFR, NFR: share of the yeses given\n"
        "to wrong, of the noes given to right answers; neither: replies that say neither, which count in accuracy only.\n"
        'idk: the question with leave to say "I don\'t know"; IDK d′: does abstaining go with not having known; IDK c\n'
        'below 0: too often; all align.: right = yes = not abstained. preceded: after "Do you know the answer?". dual_zh,\n'
        "dual_ko, dual_es: asked in that language.\n"
    ),
    stands_in="*: by the rules of the published numbers: a yes anywhere in the reply, rates kept 1e-4 from 0 and 1.\n",
    about={
        "sample": " (facts written for this project; not comparable with the literature)",
        "trivia_qa": " (TriviaQA)",
        "mkqa": " (MKQA; about a third of its questions have no answer, and no reply to them is right)",
        "fictional_qa": " (FictionalQA: no model that was not taught them can know the answers)",
    },
)  # fmt: skip

_MORE = {
    "d_type2_reference": "d′, published rules", "accuracy_inclusion": "accuracy, published matching",
    "hit_rate": "yes when right", "false_alarm_rate": "yes when wrong", "abstain_hits": "abstains, not known",
    "abstain_false_alarms": "abstains, known",
}  # fmt: skip
_D = "Published matching: an accepted answer is any part of the reply; published rules: so is a yes, and d′ is clipped."
_ONCE = "Signal are the questions that the model did not know when asked for the answer: an abstention there is a hit."


def own_table(home: Home, where: str, said: str, soft: str) -> Markup:
    """Return a table per world of the study's values of all measures there are; ``soft`` explains them."""
    made, labels = pieces.paragraph(soft, "soft"), LABELS | _MORE
    for title, groups in (worlds := exhibits.own(home, _NAME, labels, where)).items():
        named = [name for name in labels if any(name in found for found in groups.values())]
        body = [
            (*(model, condition), *(one and pieces.interval(one.value, one.low, one.high, low_n=one.low_n) for one in own))
            for (model, _, condition), found in groups.items() for own in [map(found.get, named)]
        ]  # fmt: skip
        made += pieces.table(
            ("model", "condition", *map(labels.__getitem__, named)), body, f"{title}: {said}"
        )
    return made if worlds else made + pieces.paragraph(_NOTHING)


asked_once = partial(own_table, said="asked once", soft=_ONCE)


Pairs = list[tuple[float, float]]
_ABOVE = "shares above every degree of yes, without intervals"
# figures of one model each; the values of all are in the table curves
MOST_DENSITIES = 12
_CURVES = """
    select source, condition, model, curve, x, y, n from curves
    where benchmark = 'selfknowledge' order by source, condition, model, curve, position
"""


def curves(home: Home) -> Markup:
    """Return type-2 ROC curves, and densities of confidence of the first models."""
    rocs, densities = [], []
    for title, found in pieces.by_world(rows(home, _CURVES)):
        for condition, own in groupby(found, key=lambda row: row[1]):
            series: dict[str, dict[str, Pairs]] = {}
            numbers = set()
            for _, _, model, curve, x, y, n in own:
                series.setdefault(model, {}).setdefault(curve, []).append((x, y))
                numbers |= {n} if curve in ("roc", "said") else set()
            n = pieces.counted(numbers)
            said = f"{title}, {condition}: marks are the spoken yes, lines the graded one."
            roc = lines(
                {model: [(x, Point(y)) for x, y in each.get("roc", ())] for model, each in series.items()},
                x="yes to wrong answers", y="yes to right answers", diagonal="chance", marks=False,
                spots={model: each.get("said", []) for model, each in series.items()},
            )  # fmt: skip
            rocs.append(pieces.figure(roc, said, n=n, method=_ABOVE))
            graded = [name for name, each in series.items() if {"correct", "wrong"} <= each.keys()]
            drawn = [
                density_figure(series[name], f"{name}, {condition}", n) for name in graded[:MOST_DENSITIES]
            ]
            if drawn:
                about = f"{title}: densities of confidence, {condition}"
                densities.append(pieces.folded(about, pieces.grid(drawn)))
    return pieces.joined([pieces.grid(rocs), *densities], _NOTHING)


def density_figure(own: Mapping[str, Pairs], name: str, n: str) -> Markup:
    """Return the densities of confidence among right and wrong answers."""
    plot = Plot(2.9)
    for kind, colour in (("correct", PALETTE[0]), ("wrong", PALETTE[1])):
        width = own[kind][1][0] - own[kind][0][0]
        steps = [(end, height) for x, height in own[kind] for end in (x, x + width)]
        plot.line([(steps[0][0], 0), *steps, (steps[-1][0], 0)], colour, 1.6)
        plot.entry("s", colour, f"{kind} answers")
    plot.x.low, plot.x.high, plot.y.low = 0, 1, 0
    drawn = finished(plot, "P(yes) / (P(yes) + P(no))", "density", f"confidence of {name}")
    return pieces.figure(
        drawn, f"{name}: D; each area is 1.", n=n, method="histograms over bins of equal width"
    )


#: What was done to a model.
VARIANTS = {
    "original": "", "esma": "ESMA", "sft": "SFT on yes and no", "fictional_sft": "taught the facts",
    "fictional_sft_then_esma": "taught the facts, then ESMA", "joint": "joint reward", "direct": "direct reward",
    "meta": "meta reward",
}  # fmt: skip


def _percents(named: Mapping[str, str]) -> tuple[exhibits.Column, ...]:
    return tuple(exhibits.Column(f"{head}, %", f"{name}_pct", name, 100.0, 2) for head, name in named.items())


_SHORT = (
    exhibits.Column("d′", "d_prime", "d_type2_reference", 1.0, 2),
    *_percents({"raw alignment": "raw_alignment", "accuracy": "accuracy"}),
)
_LONG = (*_SHORT, *_percents({"yes": "yes_ratio", "yeses that fail": "yfr", "noes that fail": "nfr"}))
_TWO = _percents({
    "accuracy asked twice": "dual_accuracy", "accuracy asked once": "idk_accuracy",
    "alignment asked once": "idk_alignment", "all alignment": "all_alignment",
})  # fmt: skip


def paper_table(home: Home, stem: str, columns: Sequence[exhibits.Column], where: str, **more: Any) -> Markup:
    """Return a printed table with the study's own values next to it."""
    printed = []
    for row in exhibits.printed(_NAME, stem):
        size = f"Qwen2.5 {row['size']}" if row.get("size") else "not stated"
        printed.append({**row, "variant": VARIANTS[row["variant"]] or "as released", "size": size})
    found = exhibits.own(home, _NAME, [column.measure for column in columns], where)
    return exhibits.tables(_NAME, found, printed, columns, **more)


def figure_2(home: Home) -> Markup:
    """Return the areas under type-2 ROC curves before and after training, and the study's own curves."""
    columns = [exhibits.Column("as released", "original_auc"), exhibits.Column("after ESMA", "esma_auc")]
    rows_of, n = exhibits.printed(_NAME, "figure_2"), "n = 17944 questions"
    printed = exhibits.of_printed(rows_of, columns, lambda row: f"Qwen2.5 {row['size']}")
    x, method = "area under the type-2 ROC", "no interval printed"
    return pieces.grid(exhibits.forests(printed, {}, columns, x=x, n=n, method=method)) + curves(home)


def patched(home: Home, side: str) -> Markup:
    """Return d′ and alignment of models that keep a share of the weight changes: of the text, and of the study's own."""
    from metacog_pipeline.benchmarks.selfknowledge.training.pictures import patched_figures

    stated: dict[str, list[str]] = {}
    for row in exhibits.printed(_NAME, "claims") if side == "top" else ():
        stated.setdefault(row["subject"], []).append(f"{row['quantity'].replace('_', ' ')} {row['value']}")
    body = [(subject, "; ".join(said)) for subject, said in stated.items()]
    made = [pieces.table(("changes kept", "stated"), body, PRINTED)] if body else []
    return pieces.joined([*made, *patched_figures(home.training / "patching.parquet", side)], _NOTHING)


SECTIONS = (
    Section("Does a yes go with being right?",
            partial(own_table, where="starts_with(condition, 'dual')", said="asked twice", soft=_D)),
    Section("Type-2 ROC and confidence", curves),
    Section("Asked once, with leave to abstain", partial(asked_once, where="not starts_with(condition, 'dual')")),
)  # fmt: skip
_TAUGHT = "values of trained models are next to the study's own only where the study trained one and asks it."
_POINTS = "points of the curves are drawn without numbers: the study's own are shown where it trains a model."
_WORDS = (
    """the authors' words are not shipped: ours ask for the same, and wording = "reference" asks in theirs."""
)
_MODEL, _VARIANT = {"model": "model", "variant": "variant"}, {"variant": "variant"}
_DUAL, _SIZE = "condition = 'dual'", {"size": "model"}


#: Title, columns, headings of what names a row, the same of a model of the study, which of its rows, why not more.
_Table = tuple[str, Sequence[exhibits.Column], Mapping[str, str], Callable[[Key], tuple[str, ...]], str, str]
_TABLES: tuple[_Table, ...] = (
    ("Models before and after training, TriviaQA", _LONG, _MODEL, lambda key: (key[0], "this study"), _DUAL, _TAUGHT),
    ("Asked twice, and once with leave to abstain", _TWO, _MODEL, lambda key: (key[0], "this study"),
     "condition = 'idk'", _TAUGHT),
    ("Invented facts", _SHORT, {"variant": "stage"}, lambda key: key[:1], "dataset = 'fictional_qa'", _TAUGHT),
    ("Rewards", _SHORT, {"variant": "reward"}, lambda key: key[:1], _DUAL, _TAUGHT),
    ("Against training on yes and no", _LONG, _MODEL, lambda key: (key[0], "this study"), _DUAL, _TAUGHT),
    ("Other data sets", _SHORT, _SIZE | _VARIANT | {"dataset": "data set"}, lambda key: (key[0], "this study", key[1]),
     _DUAL, _TAUGHT),
    ("Languages", _SHORT, _VARIANT | {"dataset": "language"} | _SIZE,
     lambda key: ("this study", key[2].replace("dual", "mkqa"), key[0]), "starts_with(condition, 'dual_')",
     f"the paper does not say which size of model it is; {_TAUGHT}"),
)  # fmt: skip
PAPER: tuple[Exhibit, ...] = (
    Exhibit("Figure 1", "The training, as a scheme", None, "it shows no numbers."),
    Exhibit("Figure 2", "Type-2 ROC before and after training", figure_2,
            "only the areas are written into the figure; the points of the curves are not published.",
            data="figure_2.csv, curves"),
    Exhibit("Figure 3", "Densities of confidence", curves,
            "the paper's densities are drawn without numbers: only the study's own can be shown.", data="curves"),
    Exhibit("Figure 4", "d′ and alignment by share of the largest weight changes", partial(patched, side="top"),
            f"the text states two shares, and its share of the gain does not follow from its d′; {_POINTS}", "differs",
            data="claims.csv, training/patching.parquet",
            places=("Figure 4", "text on weight changes", "text and table 1")),
    Exhibit("Figure 5", "The same, 1 to 10 %", partial(patched, side="top"), _POINTS, data="training/patching.parquet"),
    Exhibit("Figure 6", "The same, from the smallest changes", partial(patched, side="bottom"), _POINTS,
            data="training/patching.parquet"),
    *(
        Exhibit(f"Figure {number}", f"Appendix C: \"Do you know the answer?\" before the question, example {number - 6}",
                partial(asked_once, where="condition = 'preceded'"),
                "single replies of two models, judged by reading; a study asks all questions so (preceded = true).",
                data="estimates")
        for number in (7, 8, 9)
    ),
    *(
        Exhibit(f"Figure {number}", f"Prompt: {title}", None, _WORDS, data="prompts.toml")
        for number, title in enumerate(
            ("direct", "meta", "direct with leave to abstain",
             *(f"{step}, {name}" for name in ("Chinese", "Korean", "Spanish") for step in ("direct", "meta"))), start=10)
    ),
    *(
        Exhibit(f"Table {number}", title,
                partial(paper_table, stem=f"table_{number}", columns=columns, keys=keys, where=where, key_of=key_of), why,
                data=f"table_{number}.csv, estimates",
                query=f"from estimates where benchmark = 'selfknowledge' and {where}")
        for number, (title, columns, keys, key_of, where, why) in enumerate(_TABLES, start=1)
    ),
)  # fmt: skip
