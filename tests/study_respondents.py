"""The simulated respondents of a study by name, for a server of tests: who is measured, judges or helps with items."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from metacog_pipeline.asking import judging
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.errors import SourceError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion
from metacog_pipeline.study import Study
from tests.provider import UnknownQuestion

Respond = Callable[[ChatRequest], str | Completion]


def respondents(study: Study) -> Mapping[str, Respond]:
    """Return who answers under each name, whatever benchmark asks."""
    simulated = [spec for spec in study.askable if spec.provider == "simulated"]
    return {spec.name: _first_that_knows(list(_observers(study, spec))) for spec in simulated}


def _observers(study: Study, spec: ModelSpec) -> Iterator[Any]:
    measured = spec in study.models
    for benchmark in enabled(study):
        if measured:
            with contextlib.suppress(SourceError):  # items that models must make first
                yield benchmark.observer(spec.observer)
    for benchmark in enabled(study):
        judges = judging.wanted(benchmark)
        if judges is not None and spec in (judges.judges(benchmark, spec) if measured else study.judges):
            yield judges.respondent(benchmark, spec)
        for role in (step.asks for step in benchmark.construction() if not measured):
            if role is not None and role.respondent is not None:
                yield role.respondent(benchmark, spec)


def _first_that_knows(observers: Sequence[Any]) -> Respond:
    def respond(request: ChatRequest) -> str | Completion:
        for each in observers:
            if each.knows(request):
                return each(request)
        raise UnknownQuestion("nobody of this study knows the question")

    return respond
