"""The figures and supplementary tables of the signal detection paper, drawn again with the study's own beside them."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from metacog_pipeline.benchmark.display import Exhibit
from metacog_pipeline.benchmarks.signaldetection import report
from metacog_pipeline.report import exhibits, pieces
from metacog_pipeline.report.exhibits import Column, Key
from metacog_pipeline.report.figures import Point

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
_INTERVALS = f"the paper's intervals of it are drawn without numbers. {_NUMBER}"


def table_s1(home: Path) -> Markup:
    """Return d′, meta-d′ and M-ratio, posterior means."""
    found = exhibits.own(home, _NAME, [column.measure for column in _SENSITIVITY])
    rows = exhibits.printed(_NAME, "table_s1")
    return exhibits.tables(_NAME, found, rows, _SENSITIVITY, keys=_KEYS, key_of=_task_and_model)


def ratios(home: Path) -> Markup:
    """Return the M-ratios of every task."""
    column = Column("M-ratio", "M_ratio", "m_ratio_bayes")
    found = exhibits.own(home, _NAME, [column.measure])
    rows = exhibits.of_printed(
        exhibits.printed(_NAME, "table_s1"), [column], lambda row: f"{row['task']} {row['model']}"
    )
    return pieces.grid(exhibits.forests(
        rows, found, [column], x="M-ratio", n="n = 20000 answers", method="posterior means, no interval printed",
        name_of=lambda key: " ".join(_task_and_model(key)),
    ))  # fmt: skip


def table_s2(home: Path) -> Markup:
    """Return the criteria under each risk."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for row in exhibits.printed(_NAME, "table_s2"):
        own = rows.setdefault((row["task"], row["model"]), {"task": row["task"], "model": row["model"]})
        own[row["risk_configuration"]] = f"{row['c']} ± {row['ci_half']}"
    columns = [Column(label, risk, risk, digits=4) for risk, label in _RISKS.items()]
    return exhibits.tables(_NAME, _by_risk(home), list(rows.values()), columns, keys=_KEYS,
                           key_of=lambda key: (key[1], key[0]))  # fmt: skip


def criteria(home: Path) -> Markup:
    """Return the criteria under each risk as a figure."""
    rows: dict[str, dict[str, Point]] = {}
    for row in exhibits.printed(_NAME, "table_s2"):
        value, half = float(row["c"]), float(row["ci_half"])
        own = rows.setdefault(f"{row['task']} {row['model']}", {})
        own[_RISKS[row["risk_configuration"]]] = Point(value, value - half, value + half)
    columns = [Column(label, risk, risk) for risk, label in _RISKS.items()]
    return pieces.grid(exhibits.forests(
        list(rows.items()), _by_risk(home), columns, x="criterion c", n="n = 9000 to 20000 answers",
        method="95 % intervals as printed", name_of=lambda key: f"{key[1]} {key[0]}",
    ))  # fmt: skip


def _task_and_model(key: Key) -> tuple[str, str]:
    return key[2].split(" ")[0], key[0]


def _by_risk(home: Path) -> exhibits.Worlds:
    """Return the study's criteria, a group per model and task, a value per risk."""
    made: dict[str, dict[Key, dict[str, exhibits.Own]]] = {}
    for title, groups in exhibits.own(home, _NAME, ["c"], "condition like '% risk%'").items():
        for (model, _, condition), values in groups.items():
            task, _, risk = condition.partition(" ")
            own = made.setdefault(title, {}).setdefault((model, task), {})
            own[_OF_RISK[risk]] = values["c"]
    return made


def sensitivity(home: Path) -> Markup:
    """Return meta-d′ against d′."""
    return report.sensitivity(home)


EXHIBITS = (
    Exhibit("Figure of sensitivity", "meta-d′ against d′", sensitivity, _INTERVALS),
    Exhibit("Figure of efficiency", "M-ratio by task and model", ratios, _INTERVALS),
    Exhibit("Figure of criteria", "How far a stated risk moves the criterion", criteria, _NUMBER),
    Exhibit("Table S1", "d′, meta-d′ and M-ratio", table_s1),
    Exhibit("Table S2", "Criterion c under each risk, with 95 % half widths", table_s2),
)
