"""Which instances show a model an analyst of its own family."""

from __future__ import annotations

from metacog_pipeline.benchmarks.medley.construction.families import UNKNOWN, published_family
from metacog_pipeline.benchmarks.medley.stages.construction import instances
from metacog_pipeline.benchmarks.medley.stages.roles import roles, wanted
from metacog_pipeline.study import Study


def related(study: Study) -> dict[str, frozenset[str]]:
    """Return {model: the instances that show an analyst of its family}.

    Families are those of the study file. Analysts of a set that was not made here, and models without a stated family, get
    theirs by name, where it is that of a published analyst.
    """
    stated = roles(study).families if wanted(study) else {}
    by_family: dict[str, set[str]] = {}
    for instance in instances(study):
        for analyst in instance.analysts:
            family = stated.get(analyst.model_id) or published_family(analyst.model_id)
            if family != UNKNOWN:
                by_family.setdefault(family, set()).add(instance.instance_id)
    found = {}
    for spec in study.models:
        own = {name.lower() for name in (spec.family, published_family(spec.model or spec.name)) if name}
        found[spec.name] = frozenset().union(*(by_family.get(name, set()) for name in own - {UNKNOWN}))
    return found
