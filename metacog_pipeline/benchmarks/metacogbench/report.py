"""MetaCog-Bench in the report: composites, calibration beside chance, ways of scoring, formats, thresholds, print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from markupsafe import Markup

from metacog_pipeline.benchmark.contract import Exhibit, Section
from metacog_pipeline.benchmarks.metacogbench import exhibits
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.output import Stacked, fixed
from metacog_pipeline.report import maps, pieces
from metacog_pipeline.report.figures import MOST_ROWS, Point, intervals, ladder, scatter
from metacog_pipeline.report.pieces import WORLDS
from metacog_pipeline.report.queries import rows

_CHANCE = (
    "The calibration error of few answers is above 0 even for a respondent who is right exactly as often as it says. "
    "Chance: mean and 95th percentile of that error, from the model's own confidences; p: how often chance reaches the "
    "error found. "
    "Errors at the level of chance cannot be ranked."
)
_LENGTHS = (
    "Long replies collect keywords for nothing. At matched length every model's rates in four groups of lengths are "
    "weighted alike; groups a model has no reply in are left out for all."
)
_JUDGES = (
    "What language models say of the same kept replies. Scores rest on them only where words alone do not decide. "
    "Difference: how far a tier would move if the judge scored it; 95 % intervals over tasks. self: each model judges its "
    "own replies."
)
_FORMATS = (
    "Differences on the same tasks by the same scorer. Right of 0: more of it under the first named, which is better but "
    "for ECE. A score that hangs on the format measures the format too."
)
_MODES = {
    "t2a": "2a, probe",
    "t2a_keywords": "2a, two keywords",
    "t2a_keywords_v1": "2a, one keyword",
    "t2b": "2b, probe",
    "t2b_keywords": "2b, keywords",
    "t2b_keywords_v1": "2b, keywords of the first list",
    "t3": "3, 60 % of the fields",
    "t3_core_required": "3, with the core field",
}
# One row per judge and rule: the measures of their agreement side by side, those with an interval as (value, low, high).
_ENDS = ", ".join(
    f"max({end}) filter (measure = '{name}')"
    for name in ("difference", "accuracy", "kappa")
    for end in ("estimate", "low", "high")
)
_AGREEMENT = f"""
    select source, judge, relation, dimension, condition, b as rule,
        max(estimate) filter (measure = 'rules_rate') as rules_rate,
        max(estimate) filter (measure = 'judge_rate') as judge_rate,
        {_ENDS}, any_value(n), any_value((facts ->> 'n_unread')::bigint)
    from judge_agreement where benchmark = 'metacogbench' and model is null
    group by source, judge, relation, dimension, condition, b order by source, judge, relation, dimension, condition, b
"""
_PROBED = """
    select source, dataset, tier, model, count(*) filter (passed_probe = 1 and passed_keywords = 1),
        count(*) filter (passed_probe = 1 and passed_keywords = 0),
        count(*) filter (passed_probe = 0 and passed_keywords = 1),
        count(*) filter (passed_probe = 0 and passed_keywords = 0)
    from metacogbench_responses
    where condition = 'free' and passed_probe is not null and passed_keywords is not null
    group by source, dataset, tier, model order by source, dataset, tier, model
"""
_AGREED = ("tier", "model", "n", "both pass", "probe only", "keywords only", "neither", "same", "kappa")
_PROBE_OR_WORDS = (
    "The headline of 2a and 2b rests on the choice asked after the reply; keywords in the reply decide in the paper. "
    "Counts of tasks by the two verdicts, all runs; same: share on which they agree; kappa: beyond chance, empty where one "
    "of them "
    "never varies. The shares with their intervals stand in the table estimates as probe_agreement_2a and keywords_only_2a."
)
_MOMENTS = {"pre": "before answering", "post": "after answering"}
_DRAWN = ("t2a", "t2a_keywords", "accuracy_1b", "ece_pre")  # other ways of scoring: in the table of formats
_NOTHING = "No values yet."
Ends = tuple[Any, ...]  # estimate, low, high, n


def spread(home: Home) -> Markup:
    """Return composites with their spread over runs."""
    names, made = ("ms", "saf", "cdtc", "overall"), []
    for title, values in _values(home).items():
        body = [
            (model, *(_with_sd(own.get(name), own.get(f"{name}_sd")) for name in names))
            for model, own in values.items()
        ]
        made.append(pieces.table(("model", *(name.upper() for name in names)), body, f"{title}: mean ± sd"))
    said = (
        "Mean ± standard deviation (n - 1) over runs. The deviation is no interval: those stand on the board."
    )
    return pieces.paragraph(said, "soft") + pieces.joined(made, _NOTHING)


def ranks(home: Home) -> Markup:
    """Return the rank of each with its interval."""
    found = rows(
        home,
        "select source, dataset, model, value, low, high, n from comparisons "
        "where benchmark = 'metacogbench' and family = 'rank' and measure = 'overall' "
        "and value is not null order by source, dataset, value, model",
    )
    made = []
    for (world, dataset), group in groupby(found, key=lambda row: row[:2]):
        title, own = WORLDS[world], list(group)
        drawn = intervals(
            [(row[2], point) for row in own if (point := pieces.point(*row[3:6])) is not None],
            x=f"rank by overall score, {title.lower()}",
        )
        n = pieces.counted((row[6] for row in own), "items")
        said = "central 95 % of the ranks when items are drawn again"
        made.append(pieces.figure(drawn, f"{title}, {dataset}: the rank of each.", n=n, method=said))
    return pieces.joined([pieces.grid(made)], "Ranks need two models with an overall score.")


def calibration(home: Home) -> Markup:
    """Return calibration errors beside those of chance, and reliability diagrams."""
    made = []
    for title, values in _values(home).items():
        body = []
        for model, own in values.items():
            for which, said in _MOMENTS.items() if "ece_pre" in own else ():
                error = f"ece_{which}"
                names = (f"{error}_{name}" for name in ("null_mean", "null_p95", "excess_p"))
                chance = [own.get(name, (None,))[0] for name in names]
                body.append((model, said, _interval(own, error), *map(pieces.shown, chance)))
        if body:
            columns = ("model", "predicted", "ECE", "chance, mean", "chance, 95 %", "p")
            made.append(pieces.table(columns, body, f"{title}: calibration error of predictions"))
    return pieces.paragraph(_CHANCE, "soft") + pieces.joined([*made, *_diagrams(home)], _NOTHING)


def modes(home: Home) -> Markup:
    """Return the ways of scoring side by side."""
    made = []
    for title, values in _values(home).items():
        body = [(model, *(_interval(found, name) for name in _MODES)) for model, found in values.items()]
        made.append(pieces.table(("model", *_MODES.values()), body, f"{title}: share passed"))
        points = [
            (model, "models", chosen, worded)
            for model, found in values.items()
            if (chosen := pieces.point(*found.get("t2a", (None,))[:3]))
            and (worded := pieces.point(*found.get("t2a_keywords", (None,))[:3]))
        ]
        if points:
            drawn = maps.plane(points, x="2a by the probe", y="2a by keywords", axes_at_zero=False)
            n = pieces.counted((found.get("t2a", (None,) * 4)[3] for found in values.values()), "replies")
            caption = f"{title}: the decision taken against keywords of caution."
            made.append(pieces.figure(drawn, caption, n=n, method="95 % intervals of the board"))
    said = "Keywords also fire on politeness and in long replies; a choice does not."
    return pieces.paragraph(said, "soft") + pieces.joined(made, _NOTHING)


def agreement(home: Home) -> Markup:
    """Return how far the verdicts of probe and keywords agree, a row per tier and model and one for all models."""
    found = rows(home, _PROBED)
    made = []
    for (world, dataset), group in groupby(found, key=lambda row: row[:2]):
        own = [row[2:] for row in group]
        body = [_agreed(*row) for row in own]
        for tier, of_tier in groupby(own, key=lambda row: row[0]):
            counts = [sum(column) for column in zip(*(row[2:] for row in of_tier), strict=True)]
            body.append(_agreed(tier, "all models", *counts))
        body.sort(key=lambda row: str(row[0]))
        made.append(pieces.table(_AGREED, body, f"{WORLDS[world]}, {dataset}"))
    return pieces.paragraph(_PROBE_OR_WORDS, "soft") + pieces.joined(made, "No probe was asked.")


def _agreed(tier: str, model: str, both: int, probe: int, words: int, neither: int) -> tuple[Any, ...]:
    """Return a row: the four counts, the share on which both agree, and Cohen's kappa where it is defined."""
    n = both + probe + words + neither
    same = (both + neither) / n
    chance = ((both + probe) * (both + words) + (neither + words) * (neither + probe)) / n**2
    kappa = fixed((same - chance) / (1 - chance), 2) if chance < 1 else ""
    return (tier, model, n, both, probe, words, neither, fixed(same, 2), kappa)


def lengths(home: Home) -> Markup:
    """Return pass rates at matched length of replies."""
    found = rows(
        home,
        "select source, measure, model, mean_words, mean_keywords, rate, matched, low, high, status "
        "from metacogbench_lengths where words = 'all' and condition = 'free' order by source, measure, model",
    )
    columns = ("scored by", "model", "words", "keywords", "passed", "passed at matched length", "note")
    made = []
    for title, own in pieces.by_world(found):
        body = [
            (_MODES[row[1]], row[2], pieces.shown(row[3], 0), pieces.shown(row[4], 1), pieces.shown(row[5]),
             pieces.interval(*row[6:9]), "" if row[9] == "ok" else row[9])
            for row in own
        ]  # fmt: skip
        made.append(pieces.table(columns, body, f"{title}: pass rates as they are and at matched length"))
    return pieces.paragraph(_LENGTHS, "soft") + pieces.joined(made, _NOTHING)


def judges(home: Home) -> Markup:
    """Return what judges say of the same replies, beside the rules."""
    found = rows(home, _AGREEMENT)
    if not found:
        said = 'No judges are named in the study: judges = ["self"] lets each model judge its own replies.'
        return pieces.paragraph(said)
    columns = (
        "judge", "relation", "tier", "rule", "by rules", "by the judge", "difference", "same verdict", "kappa",
        "replies", "unread",
    )  # fmt: skip
    made = []
    for title, own in pieces.by_world(found):
        body = [
            (row[1], row[2], row[3] if row[4] == "free" else f"{row[3]}, {row[4]}", row[5],
             *map(pieces.shown, row[6:8]), *(pieces.interval(*row[i : i + 3]) for i in (8, 11, 14)), *row[17:])
            for row in own
        ]  # fmt: skip
        head = [row for row in body if row[3] == "headline"]
        caption = f"{title}: judges and the headline rules on the same replies"
        made.append(pieces.table(columns, head, caption))
        every = pieces.table(columns, body, f"{title}: judges and every rule")
        made.append(pieces.folded(f"Every rule, {title.lower()}", every))
    return pieces.paragraph(_JUDGES, "soft") + pieces.joined(made)


def formats(home: Home) -> Markup:
    """Return what the format of a reply changes: free and in JSON, asked once and in two turns."""
    found = rows(
        home,
        "select source, measure, model, a, b, value, low, high, p_adjusted, verdict, status, n "
        "from comparisons where benchmark = 'metacogbench' and family in ('format', 'protocol') "
        "order by source, measure, model, a, b",
    )
    figures, tables = [], []
    for title, own in pieces.by_world(found):
        for measure, group in groupby(own, key=lambda row: row[1]):
            points: dict[str, dict[str, Point]] = {}
            counts: list[int] = []
            for _, _, model, a, b, *ends, _, _, _, n in group:
                counts.append(n)
                if (point := pieces.point(*ends)) is not None:
                    points.setdefault(model, {})[f"{a} - {b}"] = point
            if points and measure in _DRAWN:
                steps = sorted({step for each in points.values() for step in each})
                drawn = ladder(list(points.items()), steps=steps, x=f"change of {measure}", apart=0.25)
                rest = f" The first {MOST_ROWS}." if len(points) > MOST_ROWS else ""
                n = pieces.counted(counts, "items")
                caption, said = f"{title}: {measure}.{rest}", "95 % intervals of the paired tests"
                figures.append(pieces.figure(drawn, caption, n=n, method=said))
        body = [
            (
                model,
                measure,
                f"{a} - {b}",
                pieces.interval(*ends),
                pieces.shown(p),
                pieces.said(verdict, status),
            )
            for _, measure, model, a, b, *ends, p, verdict, status, _ in own
        ]
        columns = ("model", "measure", "contrast", "difference", "p adjusted", "verdict")
        whole = pieces.table(columns, body, f"{title}: differences on the same tasks")
        tables.append(pieces.folded(f"{title}: {len(body)} tests", whole))
    if not found:
        return pieces.paragraph("Asked under one format only.", "soft")
    return pieces.paragraph(_FORMATS, "soft") + pieces.joined([pieces.grid(figures), *tables])


def thresholds(home: Home) -> Markup:
    """Return scores under other settings of each threshold."""
    found = rows(
        home,
        "select source, tier, threshold, setting, is_default, min(estimate), max(estimate), min(change), max(change), "
        "any_value(tau), min(chance), max(chance) from metacogbench_sensitivity where condition = 'free' "
        "group by all order by source, tier, threshold, setting",
    )
    columns = ("tier", "threshold", "setting", "scores", "by chance", "change", "order kept (τ-b)")
    made = []
    for title, own in pieces.by_world(found):
        body = [
            (tier, threshold, f"{setting} (default)" if default else setting, _range(*scores),
             _range(*chance), _range(*change), pieces.shown(tau))
            for tier, threshold, setting, default, scores, change, tau, chance in (
                (*row[1:5], row[5:7], row[7:9], row[9], row[10:]) for row in own
            )
        ]  # fmt: skip
        made.append(pieces.table(columns, body, f"{title}: lowest and highest score under each setting"))
    return pieces.joined(made, _NOTHING)


PAPER: tuple[Exhibit, ...] = exhibits.PAPER
SECTIONS = (
    Section("Runs and their spread", spread),
    Section("How sure the ranks are", ranks),
    Section("Calibration and chance", calibration),
    Section("Ways of scoring, side by side", modes),
    Section("Probe and keywords", agreement),
    Section("Pass rates at matched length", lengths),
    Section("Judges beside the rules", judges),
    Section("What the format changes", formats),
    Section("Other thresholds", thresholds),
)


def _values(home: Home) -> dict[str, dict[str, dict[str, Ends]]]:
    """Return title of a world → model → measure → (value, low, high), of free replies."""
    found = rows(
        home,
        "select source, model, measure, estimate, low, high, n from estimates "
        "where benchmark = 'metacogbench' and condition = 'free' order by source, model",
    )
    made: dict[str, dict[str, dict[str, Ends]]] = {}
    for source, model, measure, *ends in found:
        made.setdefault(WORLDS[source], {}).setdefault(model, {})[measure] = tuple(ends)
    return made


def _diagrams(home: Home) -> Iterator[Markup]:
    """Yield a reliability diagram per world."""
    found = rows(
        home,
        "select source, model, replace(curve, 'reliability ', '') as moment, x, y, low, high, n from curves "
        "where benchmark = 'metacogbench' and condition = 'free' and starts_with(curve, 'reliability') and n > 0 "
        "order by source, model, moment desc, position",
    )
    for title, own in pieces.by_world(found):
        points = [
            (model, _MOMENTS[moment], stated, right)
            for _, model, moment, confidence, *ends, _ in own
            if (stated := pieces.point(confidence)) and (right := pieces.point(*ends))
        ]
        if points:
            drawn = scatter(points, x="mean confidence", y="share right", line="as often right as stated")
            each = Counter[tuple[Any, ...]]()
            for row in own:
                each[tuple(row[1:3])] += row[-1]
            said = "bins of the headline error; 95 % intervals over the replies of a bin"
            n = pieces.counted(each.values(), "replies")
            yield pieces.figure(drawn, f"{title}: reliability of stated confidence.", n=n, method=said)


def _interval(found: dict[str, Ends], name: str) -> object:
    return pieces.interval(*found[name][:3]) if name in found else None


def _with_sd(mean: Ends | None, sd: Ends | None) -> object:
    if mean is None or not isinstance(mean[0], float):
        return None
    if sd is None or not isinstance(sd[0], float):
        return pieces.shown(mean[0])
    return Stacked(f"{fixed(mean[0], 3)} ± {fixed(sd[0], 3)}")


def _range(low: object, high: object) -> object:
    ends = pieces.ends(low, high)
    return None if ends is None else Stacked(ends)
