"""The answer at a glance: which model knows what it does not know, how sure are we, what did it cost."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.output import Stacked
from metacog_pipeline.report import queries
from metacog_pipeline.report.cost import paid_cell
from metacog_pipeline.report.first import first_screen
from metacog_pipeline.report.pieces import WORLDS, Part, ends, leading, paragraph, table
from metacog_pipeline.report.queries import Headline

_MOST_NAMED = 8  # models in the sentence that opens the page
_FULL = 0.995  # coverage that is shown as 100 %


def first(home: Home) -> Iterator[Part]:
    """Yield the first part of the page: the ranked figures, and whose confidence tells right from wrong."""
    if made := Markup().join([*first_screen(home), *_who_knows(home)]):
        yield Part("glance", "At a glance", made)


def parts(home: Home) -> Iterator[Part]:
    """Yield one line per model, and what to mind about them."""
    if made := Markup().join([*_headlines(home), *_drift(home)]):
        yield Part("headlines", "Headlines", made)


def _who_knows(home: Home) -> Iterator[Markup]:
    """Yield one sentence per kind of respondent: whose confidence tells right from wrong answers, best first.

    Means are over the conditions in which every one of them has a value, so that nobody is judged by easier questions.
    """
    found = [row for row in queries.rows(home, queries.CALIBRATION) if row[4] == "harmonised_auroc2"]
    for world, title in WORLDS.items():
        own = (row for row in found if row[0] == world and isinstance(row[5], float))  # others have no value
        values = {(row[1], row[2], row[3]): row[5] for row in own}
        models = sorted({model for *_, model in values})
        cells = sorted({(benchmark, condition) for benchmark, condition, _ in values})
        shared = [cell for cell in cells if all((*cell, model) in values for model in models)]
        if not shared or len(models) < 2:
            continue
        means = {model: sum(values[(*cell, model)] for cell in shared) / len(shared) for model in models}
        ranked = sorted(means, key=lambda model: -means[model])
        listed = ", ".join(f"{model} {means[model]:.2f}" for model in ranked[:_MOST_NAMED])
        more = f" and {len(ranked) - _MOST_NAMED} more" if len(ranked) > _MOST_NAMED else ""
        many = "condition" if len(shared) == 1 else "conditions"
        yield paragraph(
            f"{title}: whose confidence tells right from wrong? {listed}{more} (type-2 AUROC, mean of {len(shared)} "
            f"{many} all of them have; 0.5 says nothing, 1 everything; intervals below)."
        )


def _headlines(home: Home) -> Iterator[Markup]:
    found = queries.headlines(home)
    paid = dict(queries.rows(home, queries.PAID))
    about = queries.about(home)
    for world, title in WORLDS.items():
        own = {(each.model, each.benchmark): each for each in found if each.source == world}
        asked = sorted({benchmark for _, benchmark in own})
        if not asked:
            continue
        columns = ("model", *(about[name].headline for name in asked), "paid")
        body = [
            (
                model,
                *(leading(_headline(own.get((model, name))), benchmark=name, model=model) for name in asked),
                paid_cell(paid.get(model)),
            )
            for source, model in queries.models(home)
            if source == world
        ]
        yield table(
            columns, body, f"{title}: below each value its 95 % interval and its percentile among them"
        )


def _headline(found: Headline | None) -> object:
    if found is None:
        return None
    below = [ends(found.low, found.high) or "no interval"]
    if found.percentile is not None:
        below.append(f"percentile {found.percentile:.0f}")
    if found.coverage is not None and found.coverage < _FULL:
        below.append(f"coverage {found.coverage:.0%}")
    return Stacked(f"{found.estimate:.3f}\n{'; '.join(below)}")


def _drift(home: Home) -> Iterator[Markup]:
    if found := queries.rows(home, queries.DRIFT):
        columns = ("model", "benchmark", "sign", "earlier", "later", "n", "changed")
        yield paragraph("Under these names the model seems to have changed while it was being asked:")
        yield table(columns, found, "Signs of drift")
