"""Serve a study's simulated respondents over HTTP: the same observers, through the same protocols real models use."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from metacog_pipeline.asking import construction, judging, probing, roles
from metacog_pipeline.asking.states import SIMULATED_PREFIX
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.benchmark.contract import Respondent
from metacog_pipeline.errors import SourceError, StudyError, suggestion
from metacog_pipeline.llm.server import Fault, FaultPlan, SimulatedProvider, serve
from metacog_pipeline.llm.server import profile as profiles
from metacog_pipeline.llm.server.app import UnknownQuestion
from metacog_pipeline.llm.server.running import print_at_once
from metacog_pipeline.llm.simulated import Respond
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion
from metacog_pipeline.study import Study

PROBED = '{"answer": "yes"}'


def respondents(study: Study) -> Mapping[str, Respond]:
    """Return the study's simulated respondents by name.

    Models know the items of every enabled benchmark and judge themselves where they are asked to; judges and authors
    answer whatever they are asked about. Raises ``StudyError`` if the study has nobody who is simulated.
    """
    found = {}
    for spec in study.askable:
        known = list(_observers(study, spec)) if spec.provider == "simulated" else []
        if known:
            found[spec.name] = _whoever_knows(known)
    if not found:
        raise StudyError(
            f'{study.path.name}: no model, judge or author with provider = "simulated" to serve; add one'
        )
    return found


def _observers(study: Study, spec: ModelSpec) -> Iterator[Respondent]:
    """Yield who ``spec`` is in each benchmark: who is measured, who judges, who helps to make items."""
    measured = spec in study.models
    for benchmark in enabled(study):
        with contextlib.suppress(SourceError):  # items that models must make first: nobody can be asked yet
            if measured:
                yield benchmark.observer(spec.observer)
    for benchmark in enabled(study):
        wanted = judging.wanted(benchmark)
        if wanted is not None and (
            spec in study.judges or (measured and spec in wanted.judges(benchmark, spec))
        ):
            yield wanted.respondent(benchmark, spec)
    for benchmark in enabled(study) if not measured else ():
        for _, role in roles.roles(benchmark):
            if role.respondent is not None:
                yield role.respondent(benchmark, spec)


def _whoever_knows(observers: Sequence[Respondent]) -> Respond:
    """Return a respondent that answers as the benchmark would whose item it is asked."""

    def respond(request: ChatRequest) -> str | Completion:
        if request.messages == probing.QUESTION:  # of the doctor: no item asks it
            return PROBED
        known = next((each for each in observers if each.knows(request)), None)
        if known is None:
            raise UnknownQuestion(
                "nobody of this study knows the question; is it of another study, other items or other words?"
            )
        return known(request)

    return respond


def fault_plan(faults: Sequence[str], *, seed: int, latency_s: float) -> FaultPlan:
    """Return the plan of ``NAME=SHARE`` words, for example ``rate_limit=0.1``.

    Raises ``StudyError`` for a word that is not of that form, an unknown fault, or shares that do not fit.
    """
    rates: dict[str, float] = {}
    for word in faults:
        name, _, share = word.partition("=")
        try:
            rates[name] = float(share)
        except ValueError:
            raise StudyError(f'--fault "{word}": give NAME=SHARE, for example rate_limit=0.1') from None
        if name not in set(Fault):
            raise StudyError(
                f'--fault "{name}": unknown{suggestion(name, Fault)}; there are: {", ".join(Fault)}'
            )
    try:
        return FaultPlan(seed=seed, rates=rates, latency_s=latency_s)
    except ValueError as error:
        raise StudyError(f"--fault: {error}") from None


def serve_study(
    study: Study,
    *,
    port: int,
    faults: Sequence[str],
    latency_s: float,
    seed: int,
    profile: str | None = None,
    key: str | None = None,
    announce: Callable[[str], None] = print_at_once,
) -> None:
    """Serve until interrupted. Builds the questions first where they can be built without asking anyone.

    With ``profile`` the server refuses what that provider refuses and answers as it does; ``key`` is then the only key it
    takes, None: any. Raises ``StudyError`` for a profile or a fault that does not exist, a port in use, or a study with
    nobody to serve.
    """
    if profile is not None and profile not in profiles.names():
        known = profiles.names()
        raise StudyError(
            f'--profile "{profile}": unknown{suggestion(profile, known)}; there are: {", ".join(known)}'
        )
    plan = fault_plan(faults, seed=seed, latency_s=latency_s)
    if profile is not None and not faults:
        plan = replace(plan, rates=profiles.load(profile).faults)
    study.prepare()
    for benchmark in enabled(study):
        paid = [spec for _, role in roles.roles(benchmark) for spec in role.models(benchmark)]
        if not construction.items_current(benchmark) and all(spec.provider == "simulated" for spec in paid):
            construction.build(benchmark)
    models = respondents(study)

    def respond(model: str, request: ChatRequest) -> str | Completion:
        return models[model](request)

    provider = SimulatedProvider(
        respond,
        plan,
        models=tuple(models),
        label=SIMULATED_PREFIX,
        profile=profile,
        key=key,
    )
    try:
        serve(provider, port=port, announce=announce)
    except OSError as error:
        raise StudyError(f"--port {port}: {error.strerror or error}; choose another") from None
