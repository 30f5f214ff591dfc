"""The figures and supplementary tables of the signal detection paper, drawn again with the study's own beside them."""

from __future__ import annotations

from itertools import groupby

from markupsafe import Markup

from metacog_pipeline.benchmark.display import Exhibit
from metacog_pipeline.benchmarks.signaldetection import report
from metacog_pipeline.home import Home
from metacog_pipeline.report import exhibits, pieces, queries
from metacog_pipeline.report.exhibits import Column, Key
from metacog_pipeline.report.figures import Point, intervals
from metacog_pipeline.report.pieces import WORLDS

_NAME = "signaldetection"
_RISKS = {"S1": "saying 0 wrongly is punished", "None": "no risk", "S2": "saying 1 wrongly is punished"}
_OF_RISK = {"risk_s1": "S1", "risk_none": "None", "risk_s2": "S2"}
_SENSITIVITY = (
    Column("d′", "dprime", "d_bayes", digits=4),
    Column("meta-d′", "meta_d", "meta_d_bayes", digits=4),
    Column("M-ratio", "M_ratio", "m_ratio_bayes", digits=4),
)
_KEYS = {"task": "task", "model": "model"}
_NUMBER = "The number of this figure in the paper is not in the sources of this project."
_INTERVALS = (
    f"intervals are not printed; those from the published counts stand in the figure of efficiency. {_NUMBER}"
)


def table_s1(home: Home) -> Markup:
    """Return d′, meta-d′ and M-ratio, posterior means."""
    found = exhibits.own(home, _NAME, [column.measure for column in _SENSITIVITY])
    rows = exhibits.printed(_NAME, "table_s1")
    said = "Posterior means, as in the paper; d′ and meta-d′ of the boards are of maximum likelihood, so they differ."
    return pieces.paragraph(said, "soft") + exhibits.tables(
        _NAME, found, rows, _SENSITIVITY, keys=_KEYS, key_of=_task_and_model
    )


def ratios(home: Home) -> Markup:
    """Return the M-ratios of every task."""
    column = Column("M-ratio", "M_ratio", "m_ratio_bayes")
    found = exhibits.own(home, _NAME, [column.measure])
    rows = exhibits.of_printed(
        exhibits.printed(_NAME, "table_s1"), [column], lambda row: f"{row['task']} {row['model']}"
    )
    printed, *beside = exhibits.forests(
        rows, found, [column], x="M-ratio", n="n = 10000 to 20000 answers", method="posterior means, no interval printed",
        name_of=lambda key: " ".join(_task_and_model(key)),
    )  # fmt: skip
    return pieces.grid([printed, *_refitted(home), *beside]) + _axes(home)


_REFIT = """
    select subject, recomputed, low, high, published from published_claims
    where benchmark = 'signaldetection' and place = 'table S1' and quantity = 'm_ratio' and method = 'as the paper'
        and recomputed is not null
    order by regexp_extract(subject, 'task (.)', 1), subject
"""
_PAIRS, _MOST_PAIRS = "bayes_models", 500  # more are not read in a row
_ELSEWHERE = 'The report compares any two under "Compare two models"; all stand in the table comparisons.'
_AXES = {
    "bayes_optimality": "against optimality",
    "bayes_models": "between models",
    "bayes_tasks": "between tasks",
}
# The last column: how many tests of any two models were left out, where there are too many of them.
_AXIS_TESTS = f"""
    with tests as (
        select source, family, coalesce(task, model) as held, a, b, value, low, high, n,
            coalesce(verdict, status) as verdict
        from comparisons
        where benchmark = 'signaldetection' and starts_with(family, 'bayes_') and measure = 'm_ratio'
    ),
    pairs as (
        select source, count(*) as pairs from tests where family = '{_PAIRS}' group by source having pairs > {_MOST_PAIRS}
    )
    select tests.*, coalesce(pairs, 0) from tests left join pairs using (source)
    where pairs is null or family <> '{_PAIRS}' order by all
"""


def _refitted(home: Home) -> list[Markup]:
    """Return the M-ratios that follow from the published counts, with the intervals the paper does not print."""
    points = [
        (" ".join(reversed(subject.removesuffix(", confidence").split(", task "))), Point(value, low, high))
        for subject, value, low, high, _ in queries.rows(home, _REFIT)
    ]
    if not points:
        return []
    drawn = intervals(points, x="M-ratio", label="M-ratio, refitted from the published counts")
    said = "M-ratio, refitted from the published counts"
    method = "posterior means, 95 % equal-tailed intervals"
    return [pieces.figure(drawn, f"{said}.", n="n = 10000 to 20000 answers", method=method)]


def _axes(home: Home) -> Markup:
    """Return the three comparisons of the paper: with optimality, between models, between tasks."""
    columns = ("compared", "held", "axis", "difference of M-ratio", "answers", "verdict")
    made = Markup()
    for world, group in groupby(queries.rows(home, _AXIS_TESTS), key=lambda row: row[0]):
        own = list(group)
        left_out = own[0][-1]
        body = [
            (f"{a} - {b}", held, _AXES[family], pieces.interval(*ends), n, pieces.said(verdict))
            for _, family, held, a, b, *ends, n, verdict, _ in own
        ]
        title = WORLDS[world] if world != "published" else "Refitted from the published counts"
        table = pieces.table(columns, body, f"{title}: differences of posteriors")
        if left_out:
            table += pieces.paragraph(f"Any two of the models: {left_out} more. {_ELSEWHERE}", "soft")
        made += pieces.folded(f"{title}: {len(body)} comparisons", table)
    return made


def table_s2(home: Home) -> Markup:
    """Return the criteria under each risk."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for row in exhibits.printed(_NAME, "table_s2"):
        own = rows.setdefault((row["task"], row["model"]), {"task": row["task"], "model": row["model"]})
        own[row["risk_configuration"]] = f"{row['c']} ± {row['ci_half']}"
    columns = [Column(label, risk, risk, digits=4) for risk, label in _RISKS.items()]
    return exhibits.tables(_NAME, _by_risk(home), list(rows.values()), columns, keys=_KEYS,
                           key_of=lambda key: (key[1], key[0]))  # fmt: skip


def criteria(home: Home) -> Markup:
    """Return the criteria under each risk as a figure."""
    rows: dict[str, dict[str, Point]] = {}
    for row in exhibits.printed(_NAME, "table_s2"):
        value, half = float(row["c"]), float(row["ci_half"])
        own = rows.setdefault(f"{row['task']} {row['model']}", {})
        own[_RISKS[row["risk_configuration"]]] = Point(value, value - half, value + half)
    columns = [Column(label, risk, risk) for risk, label in _RISKS.items()]
    drawn = exhibits.forests(
        list(rows.items()), _by_risk(home), columns, x="criterion c", n="n = 9000 to 20000 answers",
        method="95 % intervals as printed", name_of=lambda key: f"{key[1]} {key[0]}",
    )  # fmt: skip
    return pieces.grid(drawn) + pieces.folded("Tests between risks", report.shifts(home))


def _task_and_model(key: Key) -> tuple[str, str]:
    return key[2].split(" ")[0], key[0]


def _by_risk(home: Home) -> exhibits.Worlds:
    """Return the study's criteria, a group per model and task, a value per risk."""
    made: dict[str, dict[Key, dict[str, exhibits.Own]]] = {}
    for title, groups in exhibits.own(home, _NAME, ["c"], "condition like '% risk%'").items():
        for (model, _, condition), values in groups.items():
            task, _, risk = condition.partition(" ")
            own = made.setdefault(title, {}).setdefault((model, task), {})
            own[_OF_RISK[risk]] = values["c"]
    return made


def sensitivity(home: Home) -> Markup:
    """Return meta-d′ against d′."""
    return report.sensitivity(home)


PAPER = (
    Exhibit("Figure of sensitivity", "meta-d′ against d′", sensitivity, _INTERVALS),
    Exhibit(
        "Figure of efficiency",
        "M-ratio by task and model",
        ratios,
        f"intervals are not printed: they are refitted here. {_NUMBER}",
    ),
    Exhibit("Figure of criteria", "How far a stated risk moves the criterion", criteria, _NUMBER),
    Exhibit("Table S1", "d′, meta-d′ and M-ratio", table_s1),
    Exhibit("Table S2", "Criterion c under each risk, with 95 % half widths", table_s2),
)
