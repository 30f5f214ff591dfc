"""Serve a study's simulated respondents over HTTP: the same observers, through the same protocols real models use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metacog_pipeline.benchmarks.catalogue import enabled
from metacog_pipeline.benchmarks.common.benchmark import Helpers, Judging, Respondent
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.server import Fault, FaultPlan, SimulatedProvider, serve
from metacog_pipeline.llm.simulated import Respond
from metacog_pipeline.llm.types import ChatRequest, Completion
from metacog_pipeline.querying.asking import SIMULATED_PREFIX
from metacog_pipeline.study import Study


def respondents(study: Study) -> Mapping[str, Respond]:
    """Return the study's simulated respondents by name: models, who know the items of every enabled benchmark and judge
    themselves where they are asked to, judges, and analysts, who help to make items of whatever they are asked about.

    Raises
    ------
    StudyError
        If the study has nobody who is simulated.
    """
    found = {
        spec.name: _whoever_knows(
            [
                *(benchmark.respondent(study, spec) for benchmark in enabled(study)),
                *(
                    each.respondent(study, spec)
                    for each in _judging(study)
                    if spec in each.judges(study, spec)
                ),
            ]
        )
        for spec in study.models
        if spec.provider == "simulated"
    }
    for spec in (*study.judges, *study.authors):
        voices = [helpers.respondent(study, spec) for helpers in _helpers(study)]
        if spec in study.judges:
            voices = [*(judging.respondent(study, spec) for judging in _judging(study)), *voices]
        if spec.provider == "simulated" and voices:
            found[spec.name] = _whoever_knows(voices)
    if not found:
        raise StudyError(
            f'{study.path.name}: no model, judge or analyst with provider = "simulated" to serve; add one'
        )
    return found


def _helpers(study: Study) -> list[Helpers]:
    return [benchmark.helpers for benchmark in enabled(study) if benchmark.helpers is not None]


def _judging(study: Study) -> list[Judging]:
    found = (benchmark.judged_by(study) for benchmark in enabled(study))
    return [judging for judging in found if judging is not None]


def _whoever_knows(observers: Sequence[Respondent]) -> Respond:
    """Return a respondent that answers as the benchmark would whose item it is asked."""

    def respond(request: ChatRequest) -> str | Completion:
        return next((each for each in observers if each.knows(request)), observers[0])(request)

    return respond


def fault_plan(faults: Sequence[str], *, seed: int, latency_s: float) -> FaultPlan:
    """Return the plan of ``NAME=SHARE`` words, for example ``rate_limit=0.1``.

    Raises
    ------
    StudyError
        For a word that is not of that form, an unknown fault, or shares that do not fit.
    """
    rates: dict[str, float] = {}
    for word in faults:
        name, _, share = word.partition("=")
        try:
            rates[name] = float(share)
        except ValueError:
            raise StudyError(f'--fault "{word}": give NAME=SHARE, for example rate_limit=0.1') from None
        if name not in set(Fault):
            raise StudyError(f'--fault "{name}": unknown; there are: {", ".join(Fault)}')
    try:
        return FaultPlan(seed=seed, rates=rates, latency_s=latency_s)
    except ValueError as error:
        raise StudyError(f"--fault: {error}") from None


def serve_study(study: Study, *, port: int, faults: Sequence[str], latency_s: float, seed: int) -> None:
    """Serve until interrupted. Builds the questions first where they can be built without asking anyone."""
    study.home.prepare()
    for benchmark in enabled(study):
        if not benchmark.items_current(study):
            benchmark.construct(study)
    models = respondents(study)

    def respond(model: str, request: ChatRequest) -> str | Completion:
        return models[model](request)

    provider = SimulatedProvider(
        respond,
        fault_plan(faults, seed=seed, latency_s=latency_s),
        models=tuple(models),
        label=SIMULATED_PREFIX,
    )
    try:
        serve(provider, port=port, announce=lambda line: print(line, flush=True))
    except OSError as error:
        raise StudyError(f"--port {port}: {error.strerror or error}; choose another") from None
