"""The tables and figures of the MEDLEY-BENCH paper, drawn again with the study's own beside them, in points of 0 to 100."""

from __future__ import annotations

import re

from markupsafe import Markup

from metacog_pipeline.benchmark.display import Exhibit
from metacog_pipeline.benchmarks.medley.abilities import ABILITIES, strengths
from metacog_pipeline.benchmarks.medley.items import BENCHMARK
from metacog_pipeline.home import Home
from metacog_pipeline.report import exhibits, maps, pieces
from metacog_pipeline.report.exhibits import PRINTED, Column, Worlds
from metacog_pipeline.report.figures import Point

_SCORES = ("mms", "mas", "t1", "t2", "t3", *ABILITIES)
_NORMAL = "starts_with(condition, 'normal')"
_IN_FIGURE_4 = 20  # models, the first of table 1
_SIZE = re.compile(r"\((\d+)B\)")
_FAMILIES = ("Gemma", "GPT")
_PAIR = {"a": "of", "b": "and"}
_CHANGES = ("adversarial_delta", "stripped_delta")
_PULLS = ("pull_crowd", "pull_arguments")
_DIMENSION = "judged_normative_vs_informational"
_INSTANCES = "n = 130 instances"


def _columns(names: tuple[str, ...], prefix: str = "") -> list[Column]:
    return [
        Column(
            name.replace("_", "-") if len(name) > 3 else name.upper(), prefix + name, prefix + name, 100.0, 1
        )
        for name in names
    ]


def _own(home: Home, columns: list[Column], where: str = _NORMAL) -> Worlds:
    return exhibits.own(home, BENCHMARK, [column.measure for column in columns], where)


def _scored(key: exhibits.Key) -> tuple[str]:
    """Return the model and, in brackets, how it was scored."""
    return (f"{key[0]} ({key[2].rpartition(' ')[2]})",)


def figure_1(home: Home) -> Markup:
    """Return MMS against the number of parameters, where the name of a model states it."""
    points = [
        (row["model"], family, Point(float(size[1])), Point(float(row["mms"])))
        for row in exhibits.printed(BENCHMARK, "table_1")
        for family in _FAMILIES
        if row["model"].startswith(family) and (size := _SIZE.search(row["model"]))
    ]
    drawn = maps.plane(points, x="billions of parameters", y="MMS, points", axes_at_zero=False, log_x=True)
    said = "MMS against size within two families"
    figure = exhibits.figure_of(PRINTED, drawn, said, n=_INSTANCES, method="means, no interval printed")
    column = Column("MMS", "mms", "mms", 100.0)
    own = exhibits.forests(
        [],
        _own(home, [column]),
        [column],
        x="MMS, points",
        n="",
        method="",
        name_of=lambda key: _scored(key)[0],
    )
    return pieces.grid([figure, *own])


def _by_model(home: Home, stem: str, columns: list[Column], where: str = _NORMAL) -> Markup:
    """Return a printed table with a row per model, and the study's own."""
    rows, own = exhibits.printed(BENCHMARK, stem), _own(home, columns, where)
    return exhibits.tables(BENCHMARK, own, rows, columns, keys={"model": "model"}, key_of=_scored)


def table_1(home: Home) -> Markup:
    """Return scores, tiers and abilities."""
    return _by_model(home, "table_1", _columns(_SCORES))


def figure_2(home: Home) -> Markup:
    """Return how MMS changes under an inverted consensus against how it changes with weak analysts."""
    across, up = ("change, inverted consensus", "change, weak analysts")
    points = [
        (row["model"], row["profile"], Point(float(row[_CHANGES[0]])), Point(float(row[_CHANGES[1]])))
        for row in exhibits.printed(BENCHMARK, "table_s7")
    ]
    drawn = maps.plane(points, x=across, y=up, axes_at_zero=True)
    method, n = "means, no interval printed", "n = 30 and 50 instances"
    made = [exhibits.figure_of(PRINTED, drawn, "changes of MMS, points", n=n, method=method)]
    axes = ("pull of an inverted statistic", "pull of the arguments against it")
    made += _planes(
        home, _PULLS, axes, "shifts of ratings toward each, units of the scale", (1, 1), at_zero=True
    )
    return pieces.grid(made)


def figure_3(home: Home) -> Markup:
    """Return a judged dimension under an untouched consensus against the change under an inverted one."""
    axes = ("normative, informational", "pull of an inverted statistic")
    said = "a judged dimension and the pull of an inverted statistic"
    made = _planes(home, (_DIMENSION, _PULLS[0]), axes, said, (1, 1), at_zero=False)
    return pieces.grid(made) or pieces.paragraph(exhibits.NOBODY, "soft")


def _planes(
    home: Home,
    measures: tuple[str, str],
    axes: tuple[str, str],
    said: str,
    times: tuple[float, float],
    *,
    at_zero: bool,
) -> list[Markup]:
    """Return one measure against another for each world of the study."""
    made = []
    for title, groups in _joined(home, measures).items():
        own = [
            (key[0], key[1], values[measures[0]].point(times[0]), values[measures[1]].point(times[1]))
            for key, values in groups.items()
        ]
        n = pieces.counted((each.n for values in groups.values() for each in values.values()), "instances")
        drawn = maps.plane(own, x=axes[0], y=axes[1], axes_at_zero=at_zero)
        method = "95 % intervals: bootstrap of instances"
        made.append(exhibits.figure_of(title, drawn, said, n=n, method=method))
    return made


def _joined(home: Home, measures: tuple[str, ...]) -> Worlds:
    """Return the groups, by model and way of scoring, that have all measures, whatever the condition of each."""
    made: dict[str, dict[exhibits.Key, dict[str, exhibits.Own]]] = {}
    where = f"measure <> '{_DIMENSION}' or {_NORMAL}"
    for title, groups in exhibits.own(home, BENCHMARK, measures, where).items():
        for (model, _, condition), values in groups.items():
            own = made.setdefault(title, {}).setdefault((model, condition.rpartition(" ")[2]), {})
            own.update(values)
    whole = {
        title: {key: values for key, values in groups.items() if set(measures) <= values.keys()}
        for title, groups in made.items()
    }
    return {title: groups for title, groups in whole.items() if groups}


def figure_4(home: Home) -> Markup:
    """Return the strengths within each model as a heat map."""
    names = [name.replace("_", "-") for name in ABILITIES]
    columns = _columns(ABILITIES, "ipsative_")
    printed = {
        row["model"]: [float(row[column.printed]) for column in columns]
        for row in exhibits.printed(BENCHMARK, "table_s10")
    }
    whole = {
        row["model"]: {name: float(row[name]) for name in ABILITIES}
        for row in exhibits.printed(BENCHMARK, "table_1")[:_IN_FIGURE_4]
    }
    rows = [(model, printed.get(model) or list(strengths(own).values())) for model, own in whole.items()]
    said = "each ability minus the model's own mean, points"
    drawn = maps.heat_map(rows, columns=names, name=f"{PRINTED}: {said}")
    derived = ", ".join(model for model in whole if model not in printed)
    method = f"means, no interval printed; {derived}: from table 1, as those of table S10 follow from it"
    made = [exhibits.figure_of(PRINTED, drawn, said, n=_INSTANCES, method=method)]
    for title, groups in _own(home, columns).items():
        own = [
            (
                _scored(key)[0],
                [values[c.measure].point(100).value if c.measure in values else None for c in columns],
            )
            for key, values in groups.items()
        ]
        n = pieces.counted((each.n for values in groups.values() for each in values.values()), "instances")
        drawn = maps.heat_map(own, columns=names, name=f"{title}: {said}")
        made.append(
            exhibits.figure_of(title, drawn, said, n=n, method="means; intervals stand in the table of S10")
        )
    return pieces.grid(made)


def table_s5(home: Home) -> Markup:
    """Return rank correlations between domains."""
    return _pairs(home, "table_s5", "cross_domain", _PAIR)


def table_s6(home: Home) -> Markup:
    """Return rank correlations with the ranking of all domains where one is left out."""
    more = [
        Column("largest shift of a rank", "max_rank_shift"),
        Column("change of the spread", "spread_change"),
    ]
    return _pairs(home, "table_s6", "leave_one_domain_out", {"domain_removed": "domain left out"}, more)


def table_s8(home: Home) -> Markup:
    """Return rank correlations between ways to average."""
    return _pairs(home, "table_s8", "aggregation", _PAIR)


def _pairs(
    home: Home, stem: str, family: str, keys: dict[str, str], more: list[Column] | None = None
) -> Markup:
    columns = [Column("Spearman's ρ", "rho"), *(more or [])]
    heads = tuple(keys.values())
    body = [
        (*(row[name] for name in keys), *(pieces.exact(row[column.printed]) for column in columns))
        for row in exhibits.printed(BENCHMARK, stem)
    ]
    made = pieces.table((*heads, *(column.label for column in columns)), body, PRINTED)
    return made + exhibits.contrasts(home, BENCHMARK, family, heads)


def table_s7(home: Home) -> Markup:
    """Return what an inverted consensus and weak analysts change."""
    columns = [
        Column("MMS", "baseline", "adversarial_delta_base", 100.0, 1),
        Column("MMS, inverted consensus", "adversarial", "", 100.0, 1),
        Column("change, inverted", "adversarial_delta", "adversarial_delta", 100.0, 1),
        Column("crowd pull, % of the scale", "", "pull_crowd", 100.0, 1),
        Column("change, weak analysts", "stripped_delta", "stripped_delta", 100.0, 1),
        Column("label", "profile"),
    ]
    return _by_model(home, "table_s7", columns, "true")


def table_s9(home: Home) -> Markup:
    """Return how many claims of the consensus judges confirmed."""
    columns = [
        *(Column(name, name) for name in ("claims", "agree", "disagree")),
        Column("agree, %", "agree_pct"),
    ]
    rows = exhibits.printed(BENCHMARK, "table_s9")
    return exhibits.tables(BENCHMARK, {}, rows, columns, keys={"category": "claims of"})


def table_s10(home: Home) -> Markup:
    """Return the strengths within each model."""
    columns = [
        *_columns(ABILITIES, "ipsative_"),
        Column("dominant", "dominant"),
        Column("in % of instances", "dominant_pct", "dominant_share", 100.0, 1),
    ]
    return _by_model(home, "table_s10", columns)


PAPER: tuple[Exhibit, ...] = (
    Exhibit("Figure 1", "Does MMS grow with size?", figure_1,
            "sizes of GPT-4.1 and GPT-5.4 are not public, and a study knows none of its models: their MMS stands alone."),
    Exhibit("Figure 2", "Who follows arguments, and who the crowd", figure_2),
    Exhibit("Figure 3", "A judged dimension and what an inverted consensus does", figure_3,
            "grades of single models are not published, only ρ = -0.82 over 11 of them: nothing printed can be drawn."),
    Exhibit("Figure 4", "Strengths within each model", figure_4),
    Exhibit("Table 1", "Scores, tiers and abilities", table_1),
    Exhibit("Table S5", "Rankings of two domains", table_s5),
    Exhibit("Table S6", "The ranking without a domain", table_s6,
            "shifts of ranks and changes of the spread are not computed for a study's own models."),
    Exhibit("Table S7", "An inverted consensus, and weak analysts", table_s7,
            "a study keeps the label of its own models in the section on the cognitive map."),
    Exhibit("Table S8", "Rankings by two ways to average", table_s8),
    Exhibit("Table S9", "Claims of the consensus that judges confirmed", table_s9,
            "a study asks nobody to verify the consensus: it has no numbers of its own here."),
    Exhibit("Table S10", "Strengths within each model", table_s10),
)  # fmt: skip
