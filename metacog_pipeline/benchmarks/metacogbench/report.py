"""MetaCog-Bench in the report: its sections, and the manifest of its paper.

Columns of the paper's tables are the paper's rules: of tiers 2a and 2b its keywords, with those it prints. The study's own
measures of these tiers are d′, criterion and balanced accuracy, in columns of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from metacog_pipeline.benchmark.contract import Exhibit, Section
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK, DIFFICULTIES
from metacog_pipeline.home import Home
from metacog_pipeline.report import exhibits, pieces
from metacog_pipeline.report.exhibits import PRINTED, Column, Own, Worlds
from metacog_pipeline.report.figures import Point, scatter
from metacog_pipeline.report.queries import rows

_NOTHING = "No values yet."
_MOMENTS = {"pre": "before answering", "post": "after answering"}


def _own(home: Home, measures: Sequence[str]) -> Worlds:
    return exhibits.own(home, BENCHMARK, measures, "condition = 'free'")


# --- sections ---------------------------------------------------------------------------------------------------------
def _values(home: Home, columns: Mapping[str, str], caption: str) -> list[Markup]:
    """Return a table per world: a row per model, a column per measure under its heading."""
    made = []
    for title, groups in _own(home, [*columns]).items():
        rows = [(key[0], *(_interval(own.get(name)) for name in columns)) for key, own in groups.items()]
        made.append(pieces.table(("model", *columns.values()), rows, f"{title}: {caption}"))
    return made


def _interval(own: Own | None) -> object:
    return own and pieces.interval(own.value, own.low, own.high)


_ERRORS = {"": "ECE", "_null_mean": "chance, mean", "_null_p95": "chance, 95 %", "_excess_p": "p"}


def calibration(home: Home) -> Markup:
    """Return calibration errors and those of chance, and reliability diagrams."""
    made = []
    for which, said in _MOMENTS.items():
        columns = {f"ece_{which}{end}": label for end, label in _ERRORS.items()}
        made += _values(home, columns, f"calibration error {said}")
    return pieces.paragraph(_CHANCE, "soft") + pieces.joined([*made, diagrams(home)], _NOTHING)


def diagrams(home: Home) -> Markup:
    """Return a reliability diagram per world."""
    found = rows(
        home,
        "select source, model, replace(curve, 'reliability ', '') as moment, x, y, low, high, n from curves "
        "where benchmark = 'metacogbench' and condition = 'free' and starts_with(curve, 'reliability') and n > 0 "
        "order by source, model, moment desc, position",
    )
    made = []
    for title, own in pieces.by_world(found):
        points, each = [], Counter[tuple[Any, ...]]()
        for _, model, moment, confidence, *ends, n in own:
            each[model, moment] += n
            if (stated := pieces.point(confidence)) and (right := pieces.point(*ends)):
                points.append((model, _MOMENTS[moment], stated, right))
        if points:
            drawn = scatter(points, x="mean confidence", y="share right", line="as often right as stated")
            said = "bins of the headline error; 95 % intervals over the replies of a bin"
            n = pieces.counted(each.values(), "replies")
            made.append(pieces.figure(drawn, f"{title}: reliability of stated confidence.", n=n, method=said))
    return pieces.joined(made, _NOTHING)


_DETECTED = {
    "d_{}": "d′", "c_{}": "criterion", "hits_{}": "hits", "false_alarms_{}": "false alarms", "t{}": "balanced accuracy",
}  # fmt: skip
_TIER_2 = {
    "2a": {"identified_2a": "finds what is left out", "named_2a": "free reply names it", "t2a_keywords": "two keywords"},
    "2b": {"first_right_2b": "right at first", "gives_in": "gives in", "corrects": "corrects itself",
           "t2b_keywords": "keywords"},
}  # fmt: skip


def detections(home: Home) -> Markup:
    """Return tier 2 as signal detection: d′, criterion, hits and false alarms, and what the paper's words say."""
    made = []
    for tier, said in _TIER_2.items():
        made += _values(home, {name.format(tier): each for name, each in _DETECTED.items()} | said, tier)
    return pieces.paragraph(_DETECTION, "soft") + pieces.joined(made, _NOTHING)


def judges(home: Home) -> Markup:
    """Return what judges say of the same replies, and the rules."""
    found = rows(
        home,
        "select source, judge, relation, dimension, condition, b, measure, estimate, low, high, n from judge_agreement "
        "where benchmark = 'metacogbench' and model is null and estimate is not null "
        "order by source, judge, relation, dimension, condition, b, measure",
    )
    columns, made = ("judge", "relation", "tier", "condition", "rule", "measure", "value", "replies"), []
    for title, own in pieces.by_world(found):
        body = [(*row[1:7], pieces.interval(*row[7:10]), row[10]) for row in own]
        made.append(pieces.table(columns, body, f"{title}: judges and rules on the same replies"))
    nobody = 'No judges are named in the study: judges = ["self"] lets each model judge its own replies.'
    return (pieces.paragraph(_JUDGES, "soft") if made else Markup()) + pieces.joined(made, nobody)


_CHANCE = (
    "The calibration error of few answers is above 0 even for a respondent who is right exactly as often as it says. "
    "Chance: mean and 95th percentile of that error, from the model's own confidences; p: how often chance reaches the "
    "error found. Errors at the level of chance cannot be ranked."
)
_DETECTION = (
    "Tier 2a: a hit is finding something out first where something decisive is left out, a false alarm doing so where "
    "nothing is. Tier 2b: a hit is revising an answer after a valid challenge, a false alarm after one that changes "
    "nothing. d′ is 0 for a model that cannot distinguish these; the criterion is below 0 for one too ready to act. "
    "More caution, or more giving in, raises hits and false alarms alike and leaves d′ as it is. "
    "Keywords are the paper's rules for the free reply."
)
_JUDGES = (
    "What language models say of the same kept replies. Scores rest on them only where words alone do not decide. "
    "Difference: how far a tier would move if the judge scored it; 95 % intervals over tasks. self: each model judges its "
    "own replies."
)
SECTIONS = (
    Section("Calibration and chance", calibration),
    Section("Seeing what is left out, and valid challenges", detections),
    Section("Judges and the rules", judges),
)


# --- the paper --------------------------------------------------------------------------------------------------------
#: The paper's columns, and the study's measure by the same rule.
_TIERS = {
    "t1a": ("1a, bets", "t1a"), "t2a": ("2a, keywords", "t2a_keywords"), "t2b": ("2b, keywords", "t2b_keywords"),
    "t3": ("3, transfer", "t3"),
}  # fmt: skip
_COMPOSITES = {"ms": ("MS", "ms"), "saf": ("SAF, keywords", "saf_keywords"), "cdtc": ("CDTC", "cdtc")}
#: What the paper has no column for.
_OURS = [
    Column(label, "", name)
    for name, label in (("t2a", "2a, balanced"), ("d_2a", "2a, d′"), ("t2b", "2b, balanced"), ("d_2b", "2b, d′"),
                        ("saf", "SAF"), ("overall", "overall of these"))
]  # fmt: skip


def _columns(of: Mapping[str, tuple[str, str]], printed: str = "{}") -> list[Column]:
    return [Column(label, printed.format(name), measure) for name, (label, measure) in of.items()]


Printed = Callable[[], list[dict[str, str]]]


def _found(home: Home, columns: Sequence[Column]) -> Worlds:
    measures = [each.measure for each in columns if each.measure]
    return _own(home, [*measures, *(f"{name}_sd" for name in measures)])


def _printed(stem: str) -> list[dict[str, str]]:
    return exhibits.printed(BENCHMARK, stem)


def _tables(columns: list[Column], printed: Printed, caption: str = "") -> Callable[[Home], Markup]:
    """Return what draws the printed table, and below it the study's own values of the same columns."""
    more: Any = {"keys": {"model": "model"}, "caption": caption}
    return lambda home: exhibits.tables(BENCHMARK, _found(home, columns), printed(), columns, **more)


def _figure(columns: list[Column], printed: Printed, **words: Any) -> Callable[[Home], Markup]:
    """Return what draws a row per model and a mark per column, printed and of the study."""

    def drawn(home: Home) -> Markup:
        points = exhibits.of_printed(printed(), columns, lambda row: row["model"])
        return pieces.grid(exhibits.forests(points, _found(home, columns), columns, apart=0.15, **words))

    return drawn


def _first() -> list[dict[str, str]]:
    """Return the rows of table 3 with the rates its counts say."""
    made = []
    for row in _printed("table_3"):
        rates = {f"{name}_rate": str(int(row[f"{name}_k"]) / int(row[f"{name}_n"])) for name in _TIERS}
        counts = {name: f"{row[f'{name}_k']} of {row[f'{name}_n']}" for name in _TIERS}
        made.append({**row, **rates, **counts, "t1b": str(1 - float(row["ece_pre"]))})
    return made


def table_1(home: Home) -> Markup:
    """Return which benchmarks have what."""
    what = ("framework of metacognition", "no judge", "sycophancy", "ecological validity", "transfer")
    return pieces.table(("benchmark", *what), [(*row.values(),) for row in _printed("table_1")], PRINTED)


def table_2(home: Home) -> Markup:
    """Return the tiers of the paper, and how many tasks of each this study has."""
    own = dict(rows(home, "select kind, count(*) from items where benchmark = 'metacogbench' group by all"))
    body = [(*row.values(), own.get(row["tier"])) for row in _printed("table_2")]
    heads = ("tier", "name", "tasks", "dimension", "evaluation", "tasks of this study")
    return pieces.table(heads, body, "The first version, and this study")


def table_4(home: Home) -> Markup:
    """Return who passed which bet, and the share of this study."""
    printed = _printed("table_4")
    models = list(dict.fromkeys(row["model"] for row in printed))
    tasks: dict[tuple[str, str], dict[str, str]] = {}
    for row in printed:
        own = tasks.setdefault((row["task"], row["family"].replace("_", " ")), {})
        own[row["model"]] = "passed" if row["passed"] == "1" else "failed"
    body = [(*task, *map(own.get, models)) for task, own in tasks.items()]
    one = [Column("1a, bets", "", "t1a")]
    drawn = exhibits.forests([], _found(home, one), one, x="share of bets passed", n="", method="")
    return pieces.table(("task", "family", *models), body, PRINTED) + pieces.grid(drawn)


_BY_DIFFICULTY = {
    "pre": ("before", "mean_pre"), "post": ("after", "mean_post"), "accuracy": ("right", "accuracy_1b"),
}  # fmt: skip


def _levels() -> list[dict[str, str]]:
    """Return a row per model of table 5."""
    made: dict[str, dict[str, str]] = {}
    for row in _printed("table_5"):
        own = made.setdefault(row["model"], {"model": row["model"]})
        own |= {f"{name}_{row['difficulty']}": row[f"{name}_pct"] for name in _BY_DIFFICULTY}
    return list(made.values())


def _category(row: Mapping[str, str]) -> str:
    return row["category"].replace("_", " ")


def figure_4(home: Home) -> Markup:
    """Return by how many points a judge passes more than rules, as printed, and what the study's judges say."""
    x = "judge - rules, points"
    points = [(_category(row), {x: Point(float(row["drop_points"]))}) for row in _printed("table_6")]
    n = "n = 4 and 5 tasks"
    drawn = exhibits.forests(points, {}, [Column(x)], x=x, n=n, method=_ALONE)
    return pieces.grid(drawn) + judges(home)


def table_6(home: Home) -> Markup:
    """Return what a judge passes and what rules pass, and what the study's judges say."""
    body = [(_category(row), *map(pieces.exact, [*row.values()][1:])) for row in _printed("table_6")]
    columns = ("category", "by a judge, %", "by rules, %", "drop, points")
    return pieces.table(columns, body, PRINTED) + judges(home)


_ALONE = "no interval printed"
_RATES = _columns(_TIERS, "{}_rate")
_COMPOSED = {"ece_pre": ("ECE", "ece_pre"), **_COMPOSITES, "overall": ("overall", "")}
_PERCENT = [
    Column(f"{label}, %", f"{name}_pct_mean", measure, 100.0, 1, f"{name}_pct_std")
    for name, (label, measure) in _TIERS.items()
]
_SPREAD = [
    Column(label, f"{name}_mean", measure, 1.0, 3, f"{name}_std")
    for name, (label, measure) in _COMPOSED.items()
]
_LEVELS = [
    Column(f"{level.replace('_', ' ')}: {label}, %", f"{name}_{level}", f"{measure}_{level}", 100.0, 0)
    for level in DIFFICULTIES
    for name, (label, measure) in _BY_DIFFICULTY.items()
]
_SCALED = partial(_printed, "table_7")
figure_1 = _figure(
    [_RATES[0], Column("1b, 1 - ECE", "t1b", "t1b"), *_RATES[1:]], _first,
    x="tiers", n="n = 4 to 14 tasks", method=_ALONE,
)  # fmt: skip
figure_2 = _figure(_columns(_COMPOSITES), _first, x="composites", n="n = 41 tasks", method=_ALONE)
figure_5 = _figure(
    [*_columns(_COMPOSITES, "{}_mean"), Column("overall", "overall_mean")], _SCALED,
    x="composites", n="n = 147 tasks", method="means of three runs, without an interval",
)  # fmt: skip
table_3 = _tables([*_columns(_TIERS), *_columns(_COMPOSED), *_OURS], _first)
table_5 = _tables(_LEVELS, _levels)
table_7 = _tables([*_PERCENT, *_SPREAD, *_OURS], _SCALED, "mean ± standard deviation of runs")


_SCORES = "select model, measure, estimate, low, high from leaderboard where benchmark = 'metacogbench'"
_FREE = f"{_SCORES} and condition = 'free'"
_AGREED = "from judge_agreement where benchmark = 'metacogbench' and model is null"
_OTHERS = "its tasks are not public: the study's own tasks are others."
_score = partial(Exhibit, why=_OTHERS, query=_FREE)
PAPER = (
    _score("Figure 1", "Profiles over the five tiers", figure_1, data="table_3.csv; leaderboard"),
    _score("Figure 2", "Composites of the first version", figure_2, data="table_3.csv; leaderboard"),
    Exhibit(
        "Figure 3", "Reliability of the predictions", diagrams, data="curves",
        query="from curves where benchmark = 'metacogbench'",
        why="its bars are drawn there without numbers, and the predictions are not published: the study's own are shown.",
    ),
    Exhibit(
        "Figure 4", "How much more a judge passes", figure_4, data="table_6.csv; judge_agreement", query=_AGREED,
        why="replies are not published, so the printed categories cannot be judged again.",
    ),
    _score("Figure 5", "Composites of three runs", figure_5, data="table_7.csv; leaderboard"),
    Exhibit("Table 1", "Which benchmarks have what", table_1, data="table_1.csv"),
    Exhibit("Table 2", "The tiers", table_2, data="table_2.csv; items"),
    _score("Table 3", "One run of the first 41 tasks", table_3, data="table_3.csv; leaderboard"),
    _score("Table 4", "Thirteen bets and who passed them", table_4, data="table_4.csv; leaderboard"),
    _score("Table 5", "Confidence and accuracy by difficulty", table_5, data="table_5.csv; leaderboard"),
    Exhibit(
        "Table 6", "A judge and rules on the same categories", table_6, "replies are not published.",
        data="table_6.csv; leaderboard", query=_AGREED,
    ),
    _score("Table 7", "Three runs of 147 tasks", table_7, data="table_7.csv; leaderboard"),
    Exhibit(
        "Text: audit of 100 replies", "How right the paper's keyword rules are", status="recomputed",
        why="the replies are not published; `metacog read --audit` draws a sample of the study's own for raters.",
        places=("section 4.1",),
    ),
    Exhibit(
        "Text: judge and rules", "Whether a judge hides failures", status="recomputed",
        places=("tables 3 and 6, Gemini Flash",), data="table_6.csv",
    ),
)  # fmt: skip
