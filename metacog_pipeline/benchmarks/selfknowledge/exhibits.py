"""The tables and figures of the ESMA paper, drawn again with the study's own beside them, in percent."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup

from metacog_pipeline.benchmark.display import Exhibit
from metacog_pipeline.benchmarks.selfknowledge import report
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK
from metacog_pipeline.home import Home
from metacog_pipeline.report import exhibits, pieces
from metacog_pipeline.report.exhibits import PRINTED, Column, Key
from metacog_pipeline.report.figures import Point

_VARIANTS = {
    "original": "as released", "esma": "after ESMA", "sft": "after training on yes and no", "joint": "joint reward",
    "fictional_sft": "taught the facts", "fictional_sft_then_esma": "taught the facts, then ESMA",
    "direct": "direct reward", "meta": "meta reward",
}  # fmt: skip
_D = Column("d′", "d_prime", "d_type2_reference", 1.0, 2)
_ALIGNED = Column("raw alignment, %", "raw_alignment_pct", "raw_alignment", 100.0, 2)
_RIGHT = Column("accuracy, %", "accuracy_pct", "accuracy", 100.0, 2)
_SHORT = (_D, _ALIGNED, _RIGHT)
_LONG = (
    *_SHORT,
    Column("yes, %", "yes_ratio_pct", "yes_ratio", 100.0, 2),
    Column("yeses that fail, %", "yfr_pct", "yfr", 100.0, 2),
    Column("noes that fail, %", "nfr_pct", "nfr", 100.0, 2),
)
_ONCE = (
    Column("accuracy asked twice, %", "dual_accuracy_pct"),
    Column("accuracy asked once, %", "idk_accuracy_pct", "idk_accuracy", 100.0, 2),
    Column("alignment asked once, %", "idk_alignment_pct", "idk_alignment", 100.0, 2),
    Column("all alignment, %", "all_alignment_pct", "all_alignment", 100.0, 2),
)
_TAUGHT = (
    "values of trained models stand beside the study's own only where the study trained one and asks it."
)
_DUAL = "condition = 'dual'"
_AREA = "area under the type-2 ROC"


def _table(
    stem: str,
    columns: tuple[Column, ...],
    keys: Mapping[str, str],
    where: str,
    key_of: Callable[[Key], tuple[str, ...]] | None = None,
) -> Callable[[Home], Markup]:
    """Return a function that renders a printed table, and d′ of its rows as a figure, with the study's own beside."""
    named = key_of or (_of_model if keys == _MODEL else _alone)

    def render(home: Home) -> Markup:
        rows = [_in_words(row) for row in exhibits.printed(BENCHMARK, stem)]
        found = exhibits.own(home, BENCHMARK, [column.measure for column in columns], where)
        made = exhibits.tables(BENCHMARK, found, rows, columns, keys=keys, key_of=named)
        first = next(column for column in columns if column.measure)
        drawn = exhibits.of_printed(rows, [first], lambda row: ", ".join(row[name] for name in keys))
        return made + pieces.grid(
            exhibits.forests(
                drawn, found, [first], x=first.label, n=_asked(stem), method="no interval printed",
                name_of=lambda key: ", ".join(named(key)),
            )
        )  # fmt: skip

    return render


def _in_words(row: Mapping[str, str]) -> dict[str, str]:
    """Return a printed row with its variant and its size in words."""
    made = dict(row) | {"variant": _VARIANTS[row["variant"]]}
    if "size" in row:
        made["size"] = f"Qwen2.5 {row['size']}" if row["size"] else "not stated"
    return made


def _asked(stem: str) -> str:
    """Return how many questions stand behind the values of a table."""
    sizes = {"table_3": "1797", "table_6": "2032 to 3996", "table_7": "10000"}
    return f"n = {sizes.get(stem, '17944')} questions"


def figure_2(home: Home) -> Markup:
    """Return the areas under type-2 ROC curves before and after training, and the study's own curves."""
    rows = [
        (
            f"Qwen2.5 {row['size']}",
            {"as released": Point(float(row["original_auc"])), "after ESMA": Point(float(row["esma_auc"]))},
        )
        for row in exhibits.printed(BENCHMARK, "figure_2")
    ]
    columns = [Column("as released"), Column("after ESMA")]
    drawn = exhibits.forests(rows, {}, columns, x=_AREA, n=_asked(""), method="no interval printed")
    area = [Column("AUROC2", "", "auroc2")]
    own = exhibits.own(home, BENCHMARK, ["auroc2"])
    beside = exhibits.forests(
        [], own, area, x=_AREA, n="", method="", name_of=lambda key: f"{key[0]}, {key[2]}"
    )
    return pieces.grid([*drawn, *beside])


def figure_3(home: Home) -> Markup:
    """Return the study's own densities of confidence, and its ROC curves."""
    return report.curves(home)


def figure_4(home: Home) -> Markup:
    """Return what the text states of models that keep a share of the weight changes."""
    found: dict[str, dict[str, str]] = {}
    for row in exhibits.printed(BENCHMARK, "claims"):
        if row["place"] == "text on weight changes":
            found.setdefault(row["subject"], {})[row["quantity"]] = row["value"]
    names = ("d_prime", "raw_alignment_pct", "share_of_gain_pct")
    body = [(subject, *(pieces.exact(own.get(name, "")) for name in names)) for subject, own in found.items()]
    columns = ("changes kept", "d′", "raw alignment, %", "of the whole gain, %")
    rows = [(subject, {"d′": Point(float(own["d_prime"]))}) for subject, own in found.items()]
    drawn = exhibits.forests(
        rows, {}, [Column("d′")], x="d′", n=_asked(""), method="no interval printed",
    )  # fmt: skip
    return pieces.table(columns, body, PRINTED) + pieces.grid(drawn)


def _alone(key: Key) -> tuple[str, ...]:
    return key[:1]


def _of_model(key: Key) -> tuple[str, ...]:
    return (key[0], "this study")


def _of_dataset(key: Key) -> tuple[str, ...]:
    return (key[0], "this study", key[1])


def _of_language(key: Key) -> tuple[str, ...]:
    return ("this study", key[2].replace("dual", "mkqa"), key[0])


_MODEL = {"model": "model", "variant": "variant"}
PAPER: tuple[Exhibit, ...] = (
    Exhibit("Figure 1", "The training, as a scheme", None, "it shows no numbers."),
    Exhibit("Figure 2", "Type-2 ROC before and after training", figure_2,
            "only the areas are written into the figure; the points of the curves are not published."),
    Exhibit("Figure 3", "Densities of confidence", figure_3,
            "the paper's densities are drawn without numbers: only the study's own can be shown."),
    Exhibit("Figure 4", "How many of the weight changes it takes", figure_4,
            "the text states two shares; the other points of the curves are drawn without numbers."),
    Exhibit("Table 1", "Models before and after training, TriviaQA", _table("table_1", _LONG, _MODEL, _DUAL), _TAUGHT),
    Exhibit("Table 2", "Asked twice, and once with leave to abstain",
            _table("table_2", _ONCE, _MODEL, "condition = 'idk'"), _TAUGHT),
    Exhibit("Table 3", "Invented facts",
            _table("table_3", _SHORT, {"variant": "stage"}, "dataset = 'fictional_qa'"), _TAUGHT),
    Exhibit("Table 4", "Rewards", _table("table_4", _SHORT, {"variant": "reward"}, _DUAL), _TAUGHT),
    Exhibit("Table 5", "Against training on yes and no", _table("table_5", _LONG, _MODEL, _DUAL), _TAUGHT),
    Exhibit("Table 6", "Other data sets",
            _table("table_6", _SHORT, {"size": "model", "variant": "variant", "dataset": "data set"},
                   _DUAL, _of_dataset), _TAUGHT),
    Exhibit("Table 7", "Languages",
            _table("table_7", _SHORT, {"variant": "variant", "dataset": "language", "size": "model"},
                   "starts_with(condition, 'dual_')", _of_language),
            f"the paper does not say which size of model it is; {_TAUGHT}"),
)  # fmt: skip
