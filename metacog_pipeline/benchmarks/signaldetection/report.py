"""Signal detection on screen: the board, the parts of the report, and the manifest of the paper.

Nothing here imports statistics before it is drawn: a board is printed without them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from markupsafe import Markup

from metacog_pipeline.benchmark.display import Board, Column, Exhibit, Section
from metacog_pipeline.home import Home
from metacog_pipeline.report import exhibits, pieces
from metacog_pipeline.report.exhibits import Key
from metacog_pipeline.report.figures import Point, intervals, ladder, lines, scatter
from metacog_pipeline.report.pieces import WORLDS
from metacog_pipeline.report.queries import rows

_NAME = "signaldetection"
_RISKS = {
    "risk_s1": "saying 0 wrongly is punished", "risk_none": "no risk", "risk_s2": "saying 1 wrongly is punished",
}  # fmt: skip
_PRINTED_RISK = {"S1": "risk_s1", "None": "risk_none", "S2": "risk_s2"}
_TASKS = 'Task A: sentiment of a film review. B: oral or written. C: was one "the" deleted.'
_DIGITS = 4
_NOTHING = "No values yet."
_COMPARISONS = "from comparisons where benchmark = 'signaldetection' and family = '{}' and measure = '{}'"


# --- the board ----------------------------------------------------------------------------------------------------------
def notes(read: Callable[[str], Sequence[tuple[Any, ...]]]) -> Iterator[str]:
    """Yield the M-ratio of the population of each task."""
    for task, source, n, note in read(
        "select task, source, n, note from comparisons where benchmark = 'signaldetection' and family = 'bayes_group' "
        "and status = 'ok' and source <> 'published' order by source, task"
    ):
        whose = "simulated observers" if source == "simulated" else "models"
        yield f"{task}, group fit over {n} {whose}: {note} (95 % interval)"


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
    summed_up=tuple(_RISKS),
    notes=notes,
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
    select source, task, replace(condition, task || ' ', '') as condition, model, measure, estimate, low, high, n
    from every order by source, task, model, condition
"""
Cell = tuple[str, str, str]  # task, model, condition
Values = Mapping[Cell, Mapping[str, tuple[Point, int]]]


def _values(home: Home, *measures: str) -> Iterator[tuple[str, Values]]:
    """Yield the title of each world and its cells that have all ``measures``."""
    for source, own in groupby(rows(home, _VALUES), key=lambda row: row[0]):
        cells: dict[Cell, dict[str, tuple[Point, int]]] = {}
        for _, task, condition, model, measure, *ends, n in own:
            if measure in measures and (point := pieces.point(*ends)) is not None:
                cells.setdefault((task, model, condition), {})[measure] = point, n
        whole = {key: found for key, found in cells.items() if len(found) == len(measures)}
        if whole:
            yield WORLDS[source], whole


def _against(
    worlds: Iterable[tuple[str, Values]],
    x: tuple[str, str],
    y: Mapping[str, str],
    label: str,
    line: str,
    said: str,
) -> Markup:
    """Return a figure per world of the measures ``y`` against ``x``: a colour per model, a mark per task or measure."""
    figures = []
    for title, cells in worlds:
        points = [
            (model, f"task {task}" if len(y) == 1 else name, found[x[0]][0], found[measure][0])
            for (task, model, condition), found in cells.items()
            for measure, name in y.items()
            if condition == "confidence"
        ]
        if points:
            drawn = scatter(points, x=f"{x[1]}, {title.lower()}", y=label, line=line)
            made = "posterior means" if title == WORLDS["published"] else "95 % intervals: item bootstrap"
            n = pieces.counted(found[x[0]][1] for found in cells.values())
            figures.append(pieces.figure(drawn, f"{title}: {said}", n=n, method=made))
    return pieces.joined([pieces.grid(figures)], _NOTHING)


def sensitivity(home: Home) -> Markup:
    """Return meta-d′ against d′."""
    said = "meta-d′ against d′. Below the line confidence knows less than the answers."
    worlds = _values(home, "d", "meta_d")
    made = _against(worlds, ("d", "d′"), {"meta_d": "meta-d′"}, "meta-d′", "optimal: meta-d′ = d′", said)
    return pieces.paragraph(_TASKS, "soft") + made


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
    return _against(worlds, ("m_ratio", "M-ratio"), measures, "AUROC2, bits", "as large as the M-ratio", said)


def criteria(home: Home, measure: str = "c") -> Markup:
    """Return c, or c′, which the paper does not print, under each risk."""
    from metacog_pipeline.benchmarks.signaldetection import published

    worlds, figures = [*_values(home, measure)], []
    if measure == "c_prime":
        counts = {row[:3]: {measure: (Point(*row[4]), row[3])} for row in published.relative_criteria()}
        worlds.append((WORLDS["published"], counts))
    for title, cells in worlds:
        points: dict[str, dict[str, Point]] = {}
        for (task, model, condition), found in cells.items():
            if condition in _RISKS:
                points.setdefault(f"{task} {model}", {})[_RISKS[condition]] = found[measure][0]
        if points:
            steps, name = list(_RISKS.values()), {"c": "criterion c", "c_prime": "c′ = c / d′"}[measure]
            drawn = ladder(list(points.items()), steps=steps, x=f"{name}, {title.lower()}")
            said = f"{title}: below 0 a model answers label 1 too often. Predicted from left to right: {', '.join(steps)}."
            made = "95 % intervals of normal theory, from the rates of hits and false alarms"
            n = pieces.counted(found[measure][1] for found in cells.values())
            figures.append(pieces.figure(drawn, said, n=n, method=made))
    return pieces.joined([pieces.grid(figures)], _NOTHING)


_SHIFTS = (
    "Intervals are at the level of the whole family of tests (Bonferroni), and the verdicts rest on them. Significant: "
    "a change of at least 0.1; negligible: of less than 0.1; inconclusive: a change, perhaps of less than 0.1. The "
    "paired test knows that both conditions were answered on the same items; those of published counts are not known."
)


def shifts(home: Home) -> Markup:
    """Return how far each stated risk moves the criterion, and the verdicts."""
    found = rows(
        home,
        "select source, model, task, b, a, difference, low_adjusted, high_adjusted, p_adjusted, verdict, as_predicted, "
        "paired_difference, paired_low_adjusted, paired_high_adjusted, paired_verdict "
        "from signaldetection_criterion_shifts where measure = 'c' order by source, task, model, b desc, a",
    )
    heads = (
        "model", "task", "from", "to", "change of c", "p adjusted", "verdict", "as predicted", "paired change", "paired",
    )  # fmt: skip
    made = [
        pieces.table(
            heads,
            [(*row[1:5], pieces.interval(*row[5:8], digits=_DIGITS), pieces.p_value(row[8]), pieces.said(row[9]), row[10],
              pieces.interval(*row[11:14], digits=_DIGITS), pieces.said(row[14])) for row in own],
            f"{title}: change of the criterion between conditions",
        )
        for title, own in pieces.by_world(found)
    ]  # fmt: skip
    return pieces.joined(made, "No criterion shifts measured yet.") + pieces.paragraph(_SHIFTS, "soft")


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
        drawn = lines(
            series, x="rating", y=of, diagonal=None, span=(1.0, float(max(row[3] for row in own))),
            label=f"{of}, task {task}, {title.lower()}",
        )  # fmt: skip
        n, said = pieces.counted(whole.values()), f"{title}, task {task}: {of} by rating."
        figures.append(pieces.figure(drawn, said, n=n, method="shares"))
    return pieces.joined([pieces.grid(figures)], _NOTHING)


def precision(home: Home) -> Markup:
    """Return how wide the interval of an M-ratio of 0.8 is by number of trials."""
    from metacog_pipeline.benchmarks.signaldetection.published import SENSITIVITY, half_width

    series = {
        f"task {task}: d′ {d:g}": [(n / 1000, Point(half_width(d, n))) for n in range(1000, 21_000, 1000)]
        for task, d in SENSITIVITY.items()
    }
    said = "Half width of the 95 % interval of an M-ratio of 0.8, by number of trials"
    drawn = lines(series, x="trials, thousands", y="half width", diagonal=None, span=(1.0, 20.0), label=said)
    return pieces.figure(drawn, f"{said}.", n="expected counts", method="maximum likelihood, standard errors")


def efficiency(home: Home) -> Markup:
    """Return d′, meta-d′ and M-ratio by task and model, with the intervals the paper draws, and accuracy by rating."""
    refit = rows(
        home,
        "select subject, quantity, recomputed, low, high from published_claims where benchmark = 'signaldetection' "
        "and place = 'table S1' and method = 'as the paper' and recomputed is not null order by quantity, subject",
    )
    figures = []
    for quantity, own in groupby(refit, key=lambda row: row[1]):
        said = f"{quantity} of the published counts"
        points = [(subject.removesuffix(", confidence"), Point(*ends)) for subject, _, *ends in own]
        drawn = intervals(points, x=quantity, label=said)
        method = "posterior means, 95 % equal-tailed intervals"
        figures.append(pieces.figure(drawn, f"{said}.", n="n = 10000 to 20000 answers", method=method))
    return sensitivity(home) + pieces.grid(figures) + by_rating(home, "accuracy")


# --- tables and verdicts ------------------------------------------------------------------------------------------------
_SENSITIVITY = (
    exhibits.Column("d′", "dprime", "d_bayes", digits=_DIGITS),
    exhibits.Column("meta-d′", "meta_d", "meta_d_bayes", digits=_DIGITS),
    exhibits.Column("M-ratio", "M_ratio", "m_ratio_bayes", digits=_DIGITS),
)
_KEYS = {"task": "task", "model": "model"}


def table_s1(home: Home) -> Markup:
    """Return d′, meta-d′ and M-ratio, posterior means."""
    found = exhibits.own(home, _NAME, [column.measure for column in _SENSITIVITY])
    said = "Posterior means, as in the paper; d′ and meta-d′ of the boards are of maximum likelihood, so they differ."
    return pieces.paragraph(said, "soft") + exhibits.tables(
        _NAME, found, exhibits.printed(_NAME, "table_s1"), _SENSITIVITY, keys=_KEYS,
        key_of=lambda key: (key[2].split(" ")[0], key[0]),
    )  # fmt: skip


def table_s2(home: Home) -> Markup:
    """Return the criteria under each risk."""
    printed: dict[tuple[str, str], dict[str, str]] = {}
    for row in exhibits.printed(_NAME, "table_s2"):
        own = printed.setdefault((row["task"], row["model"]), {"task": row["task"], "model": row["model"]})
        own[_PRINTED_RISK[row["risk_configuration"]]] = f"{row['c']} ± {row['ci_half']}"
    worlds: dict[str, dict[Key, dict[str, exhibits.Own]]] = {}
    for title, groups in exhibits.own(home, _NAME, ["c"], "condition like '% risk%'").items():
        for (model, _, condition), values in groups.items():
            task, _, risk = condition.partition(" ")
            worlds.setdefault(title, {}).setdefault((model, task), {})[risk] = values["c"]
    columns = [exhibits.Column(label, risk, risk, digits=_DIGITS) for risk, label in _RISKS.items()]
    return exhibits.tables(
        _NAME, worlds, list(printed.values()), columns, keys=_KEYS, key_of=lambda key: (key[1], key[0])
    )


def tests(home: Home, place: str, family: str, measure: str) -> Markup:
    """Return the verdicts of the text in one place, and the same tests of the study's own models."""
    stated = [row for row in exhibits.printed(_NAME, "verdicts") if row["place"] == place]
    heads = ("task", "model", "a", "b")
    body: list[Sequence[object]] = [
        (*(row[name] or None for name in heads), pieces.said(row["verdict"])) for row in stated
    ]
    made = pieces.table((*heads, "verdict"), body, "As the text has it")
    found = rows(
        home,
        "select source, task, model, a, b, value, low, high, n, coalesce(verdict, status) "
        f"{_COMPARISONS.format(family, measure)} and source <> 'published' order by all limit 500",
    )
    for title, own in pieces.by_world(found):
        body = [(*row[1:5], pieces.interval(*row[5:8]), row[8], pieces.said(row[9])) for row in own]
        said = f"{title}: the same tests, at most 500"
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
