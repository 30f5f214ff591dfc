"""`metacog serve`: the simulated respondents of a study over HTTP, for a first try without a key."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

from metacog_pipeline.asking import construction, doctor, judging
from metacog_pipeline.asking.states import SIMULATED_PREFIX
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.benchmark.contract import Respondent
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.llm.serve import UnknownQuestion, application, serve
from metacog_pipeline.llm.simulated import Respond
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion
from metacog_pipeline.study import Study

PROBED = '{"answer": "yes"}'


def respondents(study: Study) -> Mapping[str, Respond]:
    """Return the study's simulated respondents by name: models that are measured, judges, models that help with items."""
    simulated = [spec for spec in study.askable if spec.provider == "simulated"]
    if not simulated:
        raise StudyError(
            f'{study.path.name}: no model, judge or author with provider = "simulated" to serve; add one'
        )
    return {spec.name: _first_that_knows(list(_observers(study, spec))) for spec in simulated}


def _observers(study: Study, spec: ModelSpec) -> Iterator[Respondent]:
    """Yield what ``spec`` stands for in each benchmark, whoever answers any question last."""
    benchmarks, measured = enabled(study), spec in study.models
    for benchmark in benchmarks if measured else ():
        with contextlib.suppress(SourceError):  # items that models must make first: nobody can be asked yet
            yield benchmark.observer(spec.observer)
    for benchmark in benchmarks:
        judges = judging.wanted(benchmark)
        if judges is not None and spec in (study.judges if not measured else judges.judges(benchmark, spec)):
            yield judges.respondent(benchmark, spec)
        for step in benchmark.construction() if not measured else ():
            if step.asks is not None and step.asks.respondent is not None:
                yield step.asks.respondent(benchmark, spec)


def _first_that_knows(observers: list[Respondent]) -> Respond:
    def respond(request: ChatRequest) -> str | Completion:
        if request.messages == doctor.QUESTION:  # of the doctor: no item asks it
            return PROBED
        for each in observers:
            if each.knows(request):
                return each(request)
        raise UnknownQuestion(
            "nobody of this study knows the question; is it of another study, other items or other words?"
        )

    return respond


def serve_study(study: Study, *, port: int, latency_s: float, announce: Callable[[str], None]) -> None:
    """Serve until interrupted; builds the items first where nobody paid helps to. StudyError for a port in use."""
    study.prepare()
    for benchmark in enabled(study):
        construction.build(benchmark, free=True)
    models = respondents(study)
    answers = application(
        lambda model, request: models[model](request),
        tuple(models), latency_s=latency_s, label=SIMULATED_PREFIX,
    )  # fmt: skip
    try:
        serve(answers, port, announce)
    except OSError as error:
        raise StudyError(f"--port {port}: {error.strerror or error}; choose another") from None
