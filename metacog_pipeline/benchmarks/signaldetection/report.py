"""Signal detection on screen: the board, the parts of the report, and the manifest of the paper.

Nothing here imports statistics before it is drawn: a board is printed without them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from markupsafe import Markup

from metacog_pipeline.benchmark.display import Board, Column, Exhibit, Section
from metacog_pipeline.home import Home
from metacog_pipeline.report import exhibits, pieces
from metacog_pipeline.report.figures import Point, ladder, lines, scatter
from metacog_pipeline.report.pieces import WORLDS
from metacog_pipeline.report.queries import rows

_NAME = "signaldetection"
_RISKS = {
    "risk_s1": "saying 0 wrongly is punished", "risk_none": "no risk", "risk_s2": "saying 1 wrongly is punished",
}  # fmt: skip
_PRINTED_RISK = {"S1": "risk_s1", "None": "risk_none", "S2": "risk_s2"}
_TASKS = 'Task A: sentiment of a film review. B: oral or written. C: was one "the" deleted.'
_DIGITS = 4
_COMPARISONS = "from comparisons where benchmark = 'signaldetection' and family = '{}' and measure = '{}'"


# --- the board ----------------------------------------------------------------------------------------------------------
BOARD = Board(
    columns=(
        Column("d", "d′", instead="d_bayes"),
        Column("c", "c"),
        Column("meta_d", "meta-d′", instead="meta_d_bayes"),
        Column("m_ratio", "M-ratio"),
        Column("m_ratio_bayes", "posterior"),
        Column("auroc2", "AUROC2"),
        Column("criterion_shift", "shift"),
        Column("accuracy", "accuracy"),
    ),
    order=(("m_ratio_bayes", "m_ratio"), ("d", "d_bayes"), ("accuracy",)),
    legend=(
        'Below each value its 95 % interval. A: sentiment, B: oral or written, C: was one "the" deleted.\n'
        "d′: how well the responses discriminate the labels; c: below 0 a model answers 1 too often; meta-d′: the d′ that\n"
        "the confidence shows; M-ratio: meta-d′ / d′, 1 is optimal; posterior: its posterior mean.\n"
        "risk_s1, risk_s2: wrongly saying label 0, label 1 is punished; shift: c under risk_s2 minus c under risk_s1.\n"
        "N/A: no value, table estimates says why.\n"
    ),
    stands_in="*: a posterior mean; the paper prints no other.\n",
    about={
        "published": " (drawn from the sources the paper names, by this study's seed)",
        "sample": " (written for this project; not comparable with the literature)",
    },
)

# --- figures ------------------------------------------------------------------------------------------------------------
# The numbers of the study and the printed ones, each with its world; published d′ and meta-d′ are posterior means.
_VALUES = """
    with every as (
        select source, task, condition, model, measure, estimate, low, high, n
        from estimates where benchmark = 'signaldetection'
        union all
        select 'published', task, condition, model, replace(measure, '_bayes', ''), value, low, high, n
        from published_values where benchmark = 'signaldetection'
    )
    select source, task, replace(condition, task || ' ', ''), model, measure, estimate, low, high, n
    from every order by all
"""
Cell = tuple[str, str, str]  # task, model, condition
Values = Mapping[Cell, Mapping[str, tuple[Point, int]]]


def _values(home: Home, *measures: str) -> Iterator[tuple[str, Values]]:
    """Yield the title of each world and its cells that have all ``measures``."""
    for title, own in pieces.by_world(rows(home, _VALUES)):
        cells: dict[Cell, dict[str, tuple[Point, int]]] = {}
        for _, task, condition, model, measure, *ends, n in own:
            if measure in measures and (point := pieces.point(*ends)) is not None:
                cells.setdefault((task, model, condition), {})[measure] = point, n
        if whole := {key: found for key, found in cells.items() if len(found) == len(measures)}:
            yield title, whole


def _grid(figures: Iterable[Markup]) -> Markup:
    return pieces.joined([pieces.grid([*figures])], "No values yet.")


def _against(
    worlds: Iterable[tuple[str, Values]], x: tuple[str, str], shown: Mapping[str, str], said: str, **axes: str
) -> Iterator[Markup]:
    """Yield a figure per world of the measures ``shown`` against ``x``: a colour per model, a mark per task or measure."""
    for title, cells in worlds:
        points = [
            (model, f"task {task}" if len(shown) == 1 else name, found[x[0]][0], found[measure][0])
            for (task, model, condition), found in cells.items()
            for measure, name in shown.items()
            if condition == "confidence"
        ]
        if points:
            drawn = scatter(points, x=f"{x[1]}, {title.lower()}", **axes)
            made = "posterior means" if title == WORLDS["published"] else "95 % intervals: item bootstrap"
            n = pieces.counted(found[x[0]][1] for found in cells.values())
            yield pieces.figure(drawn, f"{title}: {said}", n=n, method=made)


def sensitivity(home: Home) -> Markup:
    """Return meta-d′ against d′."""
    said = "meta-d′ against d′. Below the line confidence knows less than the answers."
    worlds, axes = _values(home, "d", "meta_d"), {"y": "meta-d′", "line": "optimal: meta-d′ = d′"}
    return pieces.paragraph(_TASKS, "soft") + _grid(
        _against(worlds, ("d", "d′"), {"meta_d": ""}, said, **axes)
    )


def model_free(home: Home) -> Markup:
    """Return the model-free measures of confidence against the M-ratio; the paper prints the latter alone."""
    from metacog_pipeline.benchmarks.signaldetection import published

    said = (
        "AUROC2 and meta-information (bits) against the M-ratio. Both also rise with d′, which the ratio takes out: at one "
        "M-ratio they differ between tasks."
    )
    counts: Values = {
        (task, model, "confidence"): {name: (Point(value), n) for name, value in found.items()}
        for task, model, n, found in published.model_free()
    }
    measures = {"auroc2": "AUROC2", "meta_information": "meta-information, bits"}
    worlds = [(WORLDS["published"], counts), *_values(home, "m_ratio", *measures)]
    axes = {"y": "AUROC2, bits", "line": "as large as the M-ratio"}
    return _grid(_against(worlds, ("m_ratio", "M-ratio"), measures, said, **axes))


def criteria(home: Home, measure: str = "c") -> Markup:
    """Return c, or c′, which the paper does not print, under each risk."""
    from metacog_pipeline.benchmarks.signaldetection import published

    worlds, figures, steps = [*_values(home, measure)], [], list(_RISKS.values())
    if measure == "c_prime":
        counts = {row[:3]: {measure: (Point(*row[4]), row[3])} for row in published.relative_criteria()}
        worlds.append((WORLDS["published"], counts))
    for title, cells in worlds:
        points: dict[str, dict[str, Point]] = {}
        for (task, model, condition), found in cells.items():
            if condition in _RISKS:
                points.setdefault(f"{task} {model}", {})[_RISKS[condition]] = found[measure][0]
        if points:
            name = {"c": "criterion c", "c_prime": "c′ = c / d′"}[measure]
            drawn = ladder(list(points.items()), steps=steps, x=f"{name}, {title.lower()}")
            said = f"{title}: below 0 a model answers label 1 too often. Predicted from left to right: {', '.join(steps)}."
            made = "95 % intervals of normal theory, from the rates of hits and false alarms"
            n = pieces.counted(found[measure][1] for found in cells.values())
            figures.append(pieces.figure(drawn, said, n=n, method=made))
    return _grid(figures)


def shifts(home: Home) -> Markup:
    """Return how far each stated risk moves the criterion, and the verdicts of both tests."""
    made = tests(home, "Text: criteria under two risks", "criterion_z", "c")
    own = tests(home, "", "criterion_paired", "c") or pieces.paragraph("No criterion shifts measured yet.")
    return made + own


def _by_rating(home: Home) -> Iterator[tuple[Any, ...]]:
    """Yield world, task, model, rating, and how many answers with it were right and wrong."""
    for row in exhibits.printed(_NAME, "counts"):
        s1, s2 = ([int(n) for n in row[name].split(";")] for name in ("nR_S1", "nR_S2"))
        k = len(s1) // 2
        for level in range(1, k + 1):
            right, wrong = s1[k - level] + s2[k + level - 1], s2[k - level] + s1[k + level - 1]
            yield "published", row["task"], row["model"], level, right, wrong
    yield from rows(
        home,
        "select source, task, model, confidence, sum(correct)::bigint, (count(*) - sum(correct))::bigint "
        "from signaldetection_responses where condition = 'confidence' and confidence is not null "
        "group by all order by all",
    )


def by_rating(home: Home, of: str) -> Markup:
    """Return accuracy by rating, or how often each rating is given."""
    figures = []
    for (source, task), found in groupby(_by_rating(home), key=lambda row: row[:2]):
        own, title, series = list(found), WORLDS[source], dict[str, list[tuple[float, Point]]]()
        whole: Counter[str] = Counter()
        for _, _, model, _, right, wrong in own:
            whole[model] += right + wrong
        for _, _, model, level, right, wrong in own:
            if right + wrong:
                share = right / (right + wrong) if of == "accuracy" else (right + wrong) / whole[model]
                series.setdefault(model, []).append((float(level), Point(share)))
        said, span = f"{title}, task {task}: {of} by rating.", (1.0, float(max(row[3] for row in own)))
        drawn = lines(series, x="rating", y=of, diagonal=None, span=span, label=said)
        figures.append(pieces.figure(drawn, said, n=pieces.counted(whole.values()), method="shares"))
    return _grid(figures)


def precision(home: Home) -> Markup:
    """Return how wide the interval of an M-ratio of 0.8 is by number of trials."""
    from metacog_pipeline.benchmarks.signaldetection.published import SENSITIVITY, folder, read_refit

    series = {
        f"task {task}: d′ {SENSITIVITY[task]:g}": [(n / 1000, Point(half)) for n, half in own]
        for task, own in read_refit(folder()).precision.items()
    }
    said = "Half width of the 95 % interval of an M-ratio of 0.8, by number of trials"
    drawn = lines(series, x="trials, thousands", y="half width", diagonal=None, span=(1.0, 20.0), label=said)
    return pieces.figure(drawn, f"{said}.", n="expected counts", method="maximum likelihood, standard errors")


def efficiency(home: Home) -> Markup:
    """Return d′, meta-d′ and M-ratio by task and model, posterior means, and accuracy by rating."""
    printed, found = exhibits.printed(_NAME, "table_s1"), _sensitivity(home)
    drawn = [
        figure
        for column in _SENSITIVITY
        for figure in exhibits.forests(
            exhibits.of_printed(printed, [column], lambda row: f"{row['task']} {row['model']}"), found, [column],
            x=column.label, n="n = 10000 to 20000 answers", method="posterior means, no interval printed",
            name_of=lambda key: f"{key[2].split(' ')[0]} {key[0]}",
        )
    ]  # fmt: skip
    return sensitivity(home) + pieces.grid(drawn) + by_rating(home, "accuracy")


# --- tables and verdicts ------------------------------------------------------------------------------------------------
_SENSITIVITY = tuple(
    exhibits.Column(label, printed, measure, digits=_DIGITS)
    for label, printed, measure in (
        ("d′", "dprime", "d_bayes"), ("meta-d′", "meta_d", "meta_d_bayes"), ("M-ratio", "M_ratio", "m_ratio_bayes"),
    )
)  # fmt: skip
_KEYS = {"task": "task", "model": "model"}


def _sensitivity(home: Home) -> exhibits.Worlds:
    return exhibits.own(home, _NAME, [each.measure for each in _SENSITIVITY])


def table_s1(home: Home) -> Markup:
    """Return d′, meta-d′ and M-ratio, posterior means."""
    said = "Posterior means, as in the paper; d′ and meta-d′ of the boards are of maximum likelihood, so they differ."
    return pieces.paragraph(said, "soft") + exhibits.tables(
        _NAME, _sensitivity(home), exhibits.printed(_NAME, "table_s1"), _SENSITIVITY, keys=_KEYS,
        key_of=lambda key: (key[2].split(" ")[0], key[0]),
    )  # fmt: skip


def table_s2(home: Home) -> Markup:
    """Return the criteria under each risk."""
    printed = [
        {**row, "risk": _RISKS[_PRINTED_RISK[row["risk_configuration"]]]}
        for row in exhibits.printed(_NAME, "table_s2")
    ]
    return exhibits.tables(
        _NAME, exhibits.own(home, _NAME, ["c"], "condition like '% risk%'"), printed,
        [exhibits.Column("c", "c", "c", digits=_DIGITS, spread="ci_half")], keys={**_KEYS, "risk": "risk"},
        key_of=lambda key: (key[2].split(" ")[0], key[0], _RISKS[key[2].split(" ")[1]]),
    )  # fmt: skip


def tests(home: Home, place: str, family: str, measure: str) -> Markup:
    """Return the verdicts of the text in one place, and the same tests of the study's own models."""
    heads = ("task", "model", "a", "b")
    body: list[Sequence[object]] = [
        (*(row[name] or None for name in heads), pieces.said(row["verdict"]))
        for row in exhibits.printed(_NAME, "verdicts")
        if row["place"] == place
    ]
    made = pieces.table((*heads, "verdict"), body, "As the text has it") if body else Markup()
    found = rows(
        home,
        "select source, task, model, a, b, value, low, high, n, coalesce(verdict, status) "
        f"{_COMPARISONS.format(family, measure)} and source <> 'published' order by all limit 500",
    )
    for title, own in pieces.by_world(found):
        body = [(*row[1:5], pieces.interval(*row[5:8]), row[8], pieces.said(row[9])) for row in own]
        said = f"{title}: {family.replace('_', ' ')}, {measure}, at most 500"
        made += pieces.table((*heads, "difference", "answers", "verdict"), body, said)
    return made


# --- declarations -------------------------------------------------------------------------------------------------------
SECTIONS = (
    Section("What confidence knows: d′ and meta-d′", sensitivity),
    Section("AUROC2 and meta-information against the M-ratio", model_free),
    Section("Criteria under risk", lambda home: criteria(home) + shifts(home)),
)
_COUNTS, _RISK_COUNTS = "counts.csv, responses", "criterion_counts.csv, estimates"
_REVERSED = (
    "task C, GPT-5 and DeepSeek: inconclusive in the text, significant from the counts. The printed cell of DeepSeek is of "
    "chains stopped early (M-ratio 0.706); chains that converge give 0.626."
)


def _verdict(what: str, title: str, family: str, measure: str, **more: Any) -> Exhibit:
    number = f"Text: {what}"
    return Exhibit(
        number, title, partial(tests, place=number, family=family, measure=measure),
        data="verdicts.csv, counts.csv, comparisons", query=_COMPARISONS.format(family, measure),
        **{"status": "recomputed", **more},
    )  # fmt: skip


PAPER = (
    Exhibit("Figure 1", "d′, meta-d′ and M-ratio by model and task; accuracy by rating", efficiency, data=_COUNTS),
    Exhibit("Figure 2", "Criterion c under each risk", lambda home: criteria(home) + pieces.folded("Tests", shifts(home)),
            data=_RISK_COUNTS),
    Exhibit("Figure S1", "How often each rating is given", partial(by_rating, of="share of answers"), data=_COUNTS),
    Exhibit("Figure S2", "Relative criterion c′ under each risk", partial(criteria, measure="c_prime"), data=_RISK_COUNTS),
    Exhibit("Figure S3", "Precision by number of trials, simulated", precision, data="expected counts of observers",
            why="the observers of the paper's simulation are not stated: these have the d′ of its three tasks."),
    Exhibit("Table S1", "d′, meta-d′ and M-ratio", table_s1, data="table_s1.csv, counts.csv, estimates"),
    Exhibit("Table S2", "Criterion c under each risk, with 95 % half widths", table_s2, data="table_s2.csv, estimates"),
    _verdict("efficiency and the optimum", "M-ratio of each model and task with 1", "bayes_optimality", "m_ratio"),
    _verdict("efficiency of two models", "M-ratio of two models on one task", "bayes_models", "m_ratio", status="differs",
             why=_REVERSED),
    _verdict("efficiency in two tasks", "M-ratio of one model on two tasks", "bayes_tasks", "m_ratio"),
    _verdict("sensitivity of two models", "d′ of two models on one task", "bayes_models", "d", status="differs",
             why="task C, DeepSeek and Mistral differ once DeepSeek's chains converge."),
    _verdict("criteria under two risks", "c of one model under two risks", "criterion_z", "c"),
    _verdict("sensitivity under two risks", "d′ of one model under two risks", "criterion_z", "d"),
    _verdict("relative criteria where sensitivity moved", "c′ of four pairs", "criterion_z", "c_prime"),
    Exhibit("Methods: prompts", "The prompts of three tasks under four instructions", data="prompts.toml",
            why="the authors' words are not shipped: ours ask for the same; a folder of theirs is used byte for byte "
                "(`wording`)."),
)  # fmt: skip
