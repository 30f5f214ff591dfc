"""The tables of the MetaCog-Bench paper, and their numbers as figures, drawn again with the study's own beside them."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from metacog_pipeline.benchmark.display import Exhibit
from metacog_pipeline.benchmarks.metacogbench import report
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.home import Home
from metacog_pipeline.report import exhibits, pieces
from metacog_pipeline.report.exhibits import PRINTED, Column, Worlds
from metacog_pipeline.report.figures import Point

_FREE = "condition = 'free'"
_TIERS = {"t1a": "1a, bets", "t2a": "2a, caution", "t2b": "2b, pushback", "t3": "3, transfer"}
_COMPOSITES = ("ms", "saf", "cdtc", "overall")
_LEVELS = ("easy", "medium", "hard")
_MODEL = {"model": "model"}
_OTHERS = "its tasks are not public: the study's own tasks are others."
_WHICH = (
    "the captions of the paper's five figures are not in the sources of this project, so which of them shows which numbers "
    "is not known here. Every number of tables 3 to 7 that can be drawn is drawn below its table."
)


def _own(home: Home, columns: list[Column]) -> Worlds:
    known = [column.measure for column in columns if column.measure]
    measures = [name for measure in known for name in (measure, f"{measure}_sd")]
    return exhibits.own(home, BENCHMARK, measures, _FREE)


def table_3(home: Home) -> Markup:
    """Return the scores of one run of the first 41 tasks."""
    rows = [
        row | {name: f"{row[f'{name}_k']} of {row[f'{name}_n']}" for name in _TIERS}
        for row in exhibits.printed(BENCHMARK, "table_3")
    ]
    columns = [
        *(Column(label, name, name) for name, label in _TIERS.items()),
        Column("ECE", "ece_pre", "ece_pre"),
        *(Column(name.upper(), name, name) for name in _COMPOSITES),
    ]
    return exhibits.tables(BENCHMARK, _own(home, columns), rows, columns, keys=_MODEL)


def table_4(home: Home) -> Markup:
    """Return who passed which bet."""
    rows = exhibits.printed(BENCHMARK, "table_4")
    models = list(dict.fromkeys(row["model"] for row in rows))
    tasks: dict[str, dict[str, str]] = {}
    for row in rows:
        own = tasks.setdefault(row["task"], {"task": row["task"], "family": row["family"]})
        own[row["model"]] = "passed" if row["passed"] == "1" else "failed"
    body = [(own["task"], own["family"].replace("_", " "), *map(own.get, models)) for own in tasks.values()]
    made = pieces.table(("task", "family", *models), body, PRINTED)
    one = [Column("1a, bets", "", "t1a")]
    return made + pieces.grid(
        exhibits.forests([], _own(home, one), one, x="share of bets passed", n="", method="")
    )


def table_5(home: Home) -> Markup:
    """Return stated confidence and accuracy by difficulty, as a table and a figure."""
    named = {"pre": "confidence before", "post": "confidence after", "accuracy": "right"}
    measures = {"pre": "mean_pre", "post": "mean_post", "accuracy": "accuracy_1b"}
    rows: dict[str, dict[str, str]] = {}
    for row in exhibits.printed(BENCHMARK, "table_5"):
        own = rows.setdefault(row["model"], {"model": row["model"]})
        own |= {f"{name}_{row['difficulty']}": row[f"{name}_pct"] for name in named}
    columns = [
        Column(f"{level}: {label}, %", f"{name}_{level}", f"{measures[name]}_{level}", 100.0, 0)
        for level in _LEVELS
        for name, label in named.items()
    ]
    found = _own(home, columns)
    made = exhibits.tables(BENCHMARK, found, list(rows.values()), columns, keys=_MODEL)
    figures: list[Markup] = []
    for level in _LEVELS:
        drawn = [
            Column(label, f"{name}_{level}", f"{measures[name]}_{level}", 100.0)
            for name, label in named.items()
        ]
        told: dict[str, Any] = {
            "x": f"{level} questions, %",
            "n": "n = 3 to 7 questions",
            "method": "no interval printed",
        }
        figures += _drawn(list(rows.values()), found, drawn, 0.2, **told)
    return made + pieces.grid(figures)


def _drawn(
    rows: list[dict[str, str]], found: Worlds, columns: list[Column], apart: float, **told: Any
) -> list[Markup]:
    printed = exhibits.of_printed(rows, columns, lambda row: row["model"])
    return exhibits.forests(printed, found, columns, apart=apart, **told)


def table_6(home: Home) -> Markup:
    """Return what a judge passes and what rules pass, and what the study's judges say."""
    rows = exhibits.printed(BENCHMARK, "table_6")
    names = [row["category"].replace("_", " ") for row in rows]
    body = [(name, *map(pieces.exact, list(row.values())[1:])) for name, row in zip(names, rows, strict=True)]
    columns = ("category", "by a judge, %", "by rules, %", "drop, points")
    of = {"by a judge": "judge_pct", "by rules": "deterministic_pct"}
    shares = [{step: Point(float(row[column])) for step, column in of.items()} for row in rows]
    told: dict[str, Any] = {"x": "passed, %", "n": "n = 4 and 5 tasks", "method": "no interval printed"}
    drawn = exhibits.forests(list(zip(names, shares, strict=True)), {}, list(map(Column, of)), **told)
    return pieces.table(columns, body, PRINTED) + pieces.grid(drawn) + report.judges(home)


def table_7(home: Home) -> Markup:
    """Return mean and standard deviation of three runs of 147 tasks, as a table and as figures."""
    columns = [
        *(
            Column(f"{label}, %", f"{name}_pct_mean", name, 100.0, 1, f"{name}_pct_std")
            for name, label in _TIERS.items()
        ),
        Column("ECE", "ece_pre_mean", "ece_pre", 1.0, 3, "ece_pre_std"),
        *(Column(name.upper(), f"{name}_mean", name, 1.0, 3, f"{name}_std") for name in _COMPOSITES),
    ]
    rows = exhibits.printed(BENCHMARK, "table_7")
    found = _own(home, columns)
    caption = "mean ± standard deviation of runs"
    made = exhibits.tables(BENCHMARK, found, rows, columns, keys=_MODEL, caption=caption)
    figures: list[Markup] = []
    told: dict[str, Any] = {"n": "n = 147 tasks", "method": "means of three runs, without an interval"}
    drawings = {"passed, %": columns[:4], "composites": columns[5:], "ECE before answering": columns[4:5]}
    for x, drawn in drawings.items():
        figures += _drawn(rows, found, drawn, 0.15, x=x, **told)
    return made + pieces.grid(figures)


PAPER: tuple[Exhibit, ...] = (
    Exhibit("Figures 1 to 5", "What the figures show", None, _WHICH),
    Exhibit("Table 3", "One run of the first 41 tasks", table_3, _OTHERS),
    Exhibit("Table 4", "Thirteen bets and who passed them", table_4, _OTHERS),
    Exhibit("Table 5", "Confidence and accuracy by difficulty", table_5, _OTHERS),
    Exhibit("Table 6", "A judge and rules on the same categories", table_6,
            "replies are not published, so the printed categories cannot be judged again."),
    Exhibit("Table 7", "Three runs of 147 tasks", table_7, _OTHERS),
)  # fmt: skip
