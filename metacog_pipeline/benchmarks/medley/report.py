"""MEDLEY-BENCH in the report: its sections, and the manifest of the paper with the study's own numbers, in points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl
from markupsafe import Markup

from metacog_pipeline.benchmark.contract import Exhibit, Section
from metacog_pipeline.benchmark.item_files import step_path
from metacog_pipeline.benchmarks.medley.construction.pool import AGREE, ENOUGH
from metacog_pipeline.benchmarks.medley.items import BENCHMARK
from metacog_pipeline.benchmarks.medley.pull import LEAST_CASES
from metacog_pipeline.benchmarks.medley.scores import ABILITIES, strengths
from metacog_pipeline.home import Home
from metacog_pipeline.report import exhibits, figures, papers, pieces
from metacog_pipeline.report.exhibits import PRINTED, Column
from metacog_pipeline.report.figures import Point
from metacog_pipeline.report.pieces import WORLDS
from metacog_pipeline.report.queries import rows

_NORMAL = "condition = 'normal'"
_PRINTED_N, _NO_INTERVAL = "n = 130 instances", "means, no interval printed"
Pair = tuple[str, str]
_PULLS = ("pull_crowd", "pull_arguments")
_AXES = ("pull of an inverted statistic", "pull of the arguments against it")
_DIMENSION = "judged_normative_vs_informational"
_SERIES = {  # Figure 1: by size, as the paper orders them
    "Gemma": ("Gemma-3N (4B)", "Gemma-2 (9B)", "Gemma-3 (12B)", "Gemma-3 (27B)", "Gemma-4 (31B)"),
    "GPT": ("GPT-4.1 Nano", "GPT-4.1 Mini", "GPT-4.1", "GPT-5.4"),
}
_MAP = (
    "Under an inverted statistic, whose arguments stay what they are: how far ratings move toward the statistic (crowd "
    "pull) and toward the arguments (argument pull), in units of the scale of 0 to 1, minus a placebo. What moves a "
    f"respondent is named by these two, from {LEAST_CASES} instances on. Changes of MMS (Table S7) are scored by other "
    "rules under each condition, so that they say nothing of behaviour."
)


def family(home: Home, *families: str) -> Markup:
    """Return the study's rows of families of comparisons, printed models last."""
    named = ", ".join(map(repr, families))
    found = rows(
        home,
        "select source, scoring, measure, model, a, b, value, low, high, statistic, p, verdict, n, "
        f"coalesce(nullif(status, 'ok'), note) from comparisons where benchmark = 'medley' and family in ({named}) "
        "order by source = 'published', source, scoring, family, measure, model, a, b",
    )
    heads = ("models", "scored as", "measure", "of", "a", "b", "value", "statistic", "p", "verdict", "n")
    body = [
        (WORLDS[r[0]], r[1] or "", pieces.said(r[2]), *(each or "" for each in r[3:6]), pieces.interval(*r[6:9]),
         pieces.shown(r[9]), pieces.p_value(r[10]), r[11] or "", *r[12:])
        for r in found
    ]  # fmt: skip
    if not body:
        return pieces.paragraph(exhibits.NOBODY, "soft")
    return pieces.table((*heads, "note"), body, ", ".join(each.replace("_", " ") for each in families))


def _own_planes(home: Home, measures: Pair, axes: Pair, said: str, zero: bool) -> list[Markup]:
    """Return one measure against another for each world of the study, by model, named by what moves it."""
    made, where = [], f"measure <> '{_DIMENSION}' or {_NORMAL}"
    moved = dict(rows(home, "select model, verdict from comparisons where family = 'cognitive_map'"))
    for title, groups in exhibits.own(home, BENCHMARK, measures, where).items():
        joined: dict[str, dict[str, exhibits.Own]] = {}
        for (model, *_), values in groups.items():
            joined.setdefault(model, {}).update(values)
        whole = {model: values for model, values in joined.items() if set(measures) <= values.keys()}
        method, points = "95 % intervals: bootstrap of instances", []
        for model, own in whole.items():
            points.append((model, str(moved.get(model) or ""), *(own[each].point() for each in measures)))
        if points:
            made.append(_plane(title, said, points, axes, _n(whole), method, zero=zero))
    return made


def _plane(
    title: str, said: str, points: Sequence[Any], axes: tuple[str, str], n: str = _PRINTED_N,
    method: str = _NO_INTERVAL, *, zero: bool = False,
) -> Markup:  # fmt: skip
    drawn = figures.plane(points, x=axes[0], y=axes[1], axes_at_zero=zero)
    return exhibits.figure_of(title, drawn, said, n=n, method=method)


def _n(groups: Any) -> str:
    return pieces.counted((each.n for values in groups.values() for each in values.values()), "instances")


def cognitive_map(home: Home) -> Markup:
    """Return what pulls each model of the study under an inverted statistic."""
    made = _own_planes(home, _PULLS, _AXES, "by what moves them, in units of the scale", True)
    return pieces.paragraph(_MAP, "soft") + pieces.grid(made) + family(home, "cognitive_map")


SECTIONS = (
    Section("Who follows arguments, and who the crowd", cognitive_map),
    Section("Headline claims", lambda home: papers.ledger(home, BENCHMARK) + family(home, "size_slope")),
)


def figure_1(home: Home) -> Markup:
    """Return evaluation and control by size within two families, and what a tenfold size adds in the study's own."""
    table = {row["model"]: row for row in exhibits.printed(BENCHMARK, "table_1")}
    made = []
    for series, models in _SERIES.items():
        points = [
            (model, name, Point(float(place)), Point(float(table[model][name])))
            for place, model in enumerate(models, start=1)
            for name in ("evaluation", "control")
        ]
        said = f"evaluation and control by size, {' → '.join(models)}"
        made.append(_plane(PRINTED, said, points, (f"{series}, by size", "points")))
    return pieces.grid(made) + family(home, "size_slope")


def figure_2(home: Home) -> Markup:
    """Return how MMS changes under an inverted consensus and with weak analysts; of own models the two pulls."""
    points = [
        (row["model"], row["profile"], *(Point(float(row[f"{name}_delta"])) for name in ("adversarial", "stripped")))
        for row in exhibits.printed(BENCHMARK, "table_s7")
    ]  # fmt: skip
    axes = ("change, inverted consensus", "change, weak analysts")
    made = _plane(PRINTED, "changes of MMS, points", points, axes, "n = 30 and 50 instances", zero=True)
    own = _own_planes(home, _PULLS, _AXES, "shifts of ratings toward each, units of the scale", True)
    return pieces.grid([made, *own])


def figure_3(home: Home) -> Markup:
    """Return a judged dimension under an untouched consensus against the pull of an inverted one."""
    axes = ("normative, informational", _AXES[0])
    said = "a judged dimension and the pull of an inverted statistic"
    made = _own_planes(home, (_DIMENSION, _PULLS[0]), axes, said, False)
    return pieces.grid(made) + family(home, "predictor")


def figure_4(home: Home) -> Markup:
    """Return the strengths within each model as a heat map."""
    measures = [f"ipsative_{name}" for name in ABILITIES]
    known = {row["model"]: row for row in exhibits.printed(BENCHMARK, "table_s10")}
    body, derived = {}, []
    for row in exhibits.printed(BENCHMARK, "table_1")[:20]:  # as many as the paper's figure has
        if (own := known.get(row["model"])) is not None:
            body[row["model"]] = [float(own[name]) for name in measures]
        else:
            derived.append(row["model"])
            body[row["model"]] = [*strengths({name: float(row[name]) for name in ABILITIES}).values()]
    method = f"{_NO_INTERVAL}; {', '.join(derived)}: from table 1, as those of table S10 follow from it"
    made = [_heat(PRINTED, [*body.items()], _PRINTED_N, method)]
    for title, groups in exhibits.own(home, BENCHMARK, measures, _NORMAL).items():
        cells = []
        for key, found in groups.items():
            cells.append((key[0], [found[m].point(100).value if m in found else None for m in measures]))
        made.append(_heat(title, cells, _n(groups), "means; intervals are in the table of S10"))
    return pieces.grid(made)


def _heat(title: str, body: Sequence[Any], n: str, method: str) -> Markup:
    said, names = "each ability minus the model's own mean, points", [a.replace("_", "-") for a in ABILITIES]
    drawn = figures.heat_map(body, columns=names, name=f"{title}: {said}")
    return exhibits.figure_of(title, drawn, said, n=n, method=method)


def _by_model(home: Home, stem: str, columns: Sequence[Column], where: str = _NORMAL) -> Markup:
    own = exhibits.own(home, BENCHMARK, [column.measure for column in columns], where)
    printed_rows = exhibits.printed(BENCHMARK, stem)
    return exhibits.tables(BENCHMARK, own, printed_rows, columns, keys={"model": "model"})


def _pairs(home: Home, stem: str, rho: str, keys: Mapping[str, str], more: Sequence[Column] = ()) -> Markup:
    columns = {"rho": "Spearman's ρ", **{each.printed: each.label for each in more}}
    printed_rows = exhibits.printed(BENCHMARK, stem)
    body = [(*(row[k] for k in keys), *(pieces.exact(row[name]) for name in columns)) for row in printed_rows]
    return pieces.table((*keys.values(), *columns.values()), body, PRINTED) + family(home, rho)


def table_s9(home: Home) -> Markup:
    """Return how many claims of the consensus judges confirmed, by category and domain, printed and of the own set."""
    columns = [Column(n, n) for n in ("claims", "agree", "disagree")] + [Column("agree, %", "agree_pct")]
    shown = exhibits.printed(BENCHMARK, "table_s9")
    made = exhibits.tables(BENCHMARK, {}, shown, columns, keys={"category": "claims of"})
    path = step_path(home, BENCHMARK, "verification")
    found = pl.read_parquet(path, glob=False) if path.exists() else pl.DataFrame()
    if found.is_empty():
        return made
    asked = dict(rows(home, "select distinct item_id, domain from medley_responses"))
    known = found.select(
        domain=pl.col("item_id").replace_strict(asked, default=None, return_dtype=pl.String),
        agree=pl.col("verdicts").list.count_matches(AGREE) >= ENOUGH,
    ).drop_nulls("domain")
    both = pl.concat([known.with_columns(domain=pl.lit("all")), known])
    counts = both.group_by("domain", maintain_order=True).agg(pl.len().alias("claims"), pl.sum("agree"))
    body = [(*row, f"{100 * row[2] / row[1]:.0f}") for row in counts.iter_rows()]
    heads = ("claims of", "claims", "agree", "agree, %")
    return made + pieces.table(heads, body, "Set of this study: two of three judges agree")


def _columns(names: Sequence[str], prefix: str = "") -> tuple[Column, ...]:
    labels = {name: name.replace("_", "-") if len(name) > 3 else name.upper() for name in names}
    return tuple(Column(label, prefix + name, prefix + name, 100.0, 1) for name, label in labels.items())


_S7 = (
    Column("MMS", "baseline", "adversarial_delta_base", 100.0, 1),
    Column("MMS, inverted consensus", "adversarial", "", 100.0, 1),
    Column("change, inverted", "adversarial_delta", "adversarial_delta", 100.0, 1),
    Column("crowd pull, % of the scale", "", "pull_crowd", 100.0, 1),
    Column("change, weak analysts", "stripped_delta", "stripped_delta", 100.0, 1),
    Column("label", "profile"),
)
_S10 = (
    *_columns(ABILITIES, "ipsative_"),
    Column("dominant", "dominant"),
    Column("in % of instances", "dominant_pct", "dominant_share", 100.0, 1),
)
_S6 = (Column("largest shift of a rank", "max_rank_shift"), Column("change of the spread", "spread_change"))
_PAIR, _REMOVED = {"a": "of", "b": "and"}, {"domain_removed": "domain left out"}
_WORDS_ONLY = "words, no numbers: "
_SINGLE = "the printed numbers rest on single instances, which are not published: only own models are shown."


def _text(place: str, title: str, *families: str) -> Exhibit:
    about: Any = {"data": "comparisons", "places": (place,)}
    return Exhibit(place, title, lambda home: family(home, *families), _SINGLE, **about)


PAPER: tuple[Exhibit, ...] = (
    Exhibit("Figure 1", "Evaluation and control by size", figure_1,
            "sizes of GPT-4.1 and GPT-5.4 are not public: they are drawn in the paper's order, and left out of slopes."),
    Exhibit("Figure 2", "Who follows arguments, and who the crowd", figure_2),
    Exhibit("Figure 3", "A judged dimension and what an inverted consensus does", figure_3,
            "grades of single models are not published, only ρ = -0.82 over 11 of them: nothing printed can be drawn."),
    Exhibit("Figure 4", "Strengths within each model", figure_4),
    Exhibit("Table 1", "Scores, tiers and abilities",
            partial(_by_model, stem="table_1", columns=_columns(("mms", "mas", "t1", "t2", "t3", *ABILITIES)))),
    Exhibit("Table S1", "Six benchmarks by five criteria", None, f"{_WORDS_ONLY}the authors on other benchmarks."),
    Exhibit("Table S2", "Domains and what each asks for", None, f"{_WORDS_ONLY}instances by domain are in the items."),
    Exhibit("Table S3", "Confounds and their controls", None, f"{_WORDS_ONLY}the page of this benchmark says which hold."),
    Exhibit("Table S4", "Measures and weights", None,
            "the paper lists 18 of 24 measures; all, with the package's weights, are in scores.WEIGHTS."),
    Exhibit("Table S5", "Rankings of two domains", partial(_pairs, stem="table_s5", rho="cross_domain", keys=_PAIR)),
    Exhibit("Table S6", "The ranking without a domain",
            partial(_pairs, stem="table_s6", rho="leave_one_domain_out", keys=_REMOVED, more=_S6)),
    Exhibit("Table S7", "An inverted consensus, and weak analysts",
            partial(_by_model, stem="table_s7", columns=_S7, where="true"),
            "a study keeps the label of its own models in the section on the cognitive map."),
    Exhibit("Table S8", "Rankings by two ways to average",
            partial(_pairs, stem="table_s8", rho="aggregation", keys=_PAIR)),
    Exhibit("Table S9", "Claims of the consensus that judges confirmed", table_s9),
    Exhibit("Table S10", "Strengths within each model", partial(_by_model, stem="table_s10", columns=_S10)),
    Exhibit("Table S11", "Ipsative profiles", None, "the paper refers to it; its profiles are Table S10."),
    _text("Section 2.5", "MMS and MAS rank otherwise", "rank_divergence"),
    _text("Section 2.6", "What the structured questions add to private revision", "nudge"),
    _text("Section 3.4", "T2 after capability is taken out, by analysts of the own family", "analyst_overlap"),
    _text("Section 3.6", "Whether models that change nothing meet a ceiling of T1", "zero_change"),
    _text("Appendix K", "Dimensions within abilities, three other maps", "ability_rho", "ability_map", "pca"),
)  # fmt: skip
