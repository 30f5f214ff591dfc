"""How the models of an asset answer, as people see it in the UI: what was found out about them, keys and prices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from metacog_assets.figures import Fact
from metacog_assets.showing import preview
from metacog_pipeline.asking import doctor, preflight
from metacog_pipeline.asking.states import SessionResult
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study import Study

if TYPE_CHECKING:
    from dagster import MarkdownMetadataValue as Markdown

HOW = "how the models answer"
MOST_ROWS = 200


def models_table(study: Study, specs: Iterable[ModelSpec]) -> dict[str, Markdown]:
    """Return the metadata of an asset that asks: per model its key, its price, and what is known of how it answers."""
    rows = [row for spec in specs if preflight.over_http(spec) for row in _rows(study, spec)]
    if not rows:
        return {}
    frame = pl.DataFrame(rows, schema=["model", "about", "found"], orient="row")
    return {HOW: preview(frame, rows=MOST_ROWS)}


def how_it_answers(
    study: Study, spec: ModelSpec, outcome: SessionResult | None = None, *, named: bool = False
) -> dict[str, Fact]:
    """Return what is known of a model once it was asked; ``named`` where an asset asks several."""
    if not preflight.over_http(spec):
        return {}
    known = preflight.known_of(study, spec)
    facts = {} if known is None else doctor.capability_facts(spec, known)
    if outcome is not None and outcome.profile is not None and outcome.profile.dropped:
        facts["parameters left out"] = ", ".join(sorted(outcome.profile.dropped))
    return {f"{spec.name}: {about}" if named else about: said for about, said in facts.items()}


def _rows(study: Study, spec: ModelSpec) -> list[tuple[str, str, str]]:
    found = doctor.of_model(study, spec)
    known = preflight.known_of(study, spec)
    facts = {} if known is None else doctor.capability_facts(spec, known)
    return [
        *((spec.name, each.state, each.text) for each in found),
        *((spec.name, about, said) for about, said in facts.items()),
        *(
            []
            if known is not None
            else [(spec.name, "not asked yet", "metacog doctor finds out how it answers")]
        ),
    ]
