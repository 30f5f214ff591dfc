"""The doctor: checks that a run can start (keys, addresses, models, prices, data sets, disk, port) before it spends.

Each check gives one line, and a check that fails hides no other. Models are asked at the same time, one short question
each, none where it is known already how they answer.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from metacog_pipeline import ports, preparing
from metacog_pipeline.asking.preflight import (
    Finding,
    fail,
    known_findings,
    known_of,
    model_findings,
    ok,
    over_http,
    warn,
)
from metacog_pipeline.asking.rehearsal import require_askable
from metacog_pipeline.asking.spent import spent_figures
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.errors import (
    BudgetError,
    MetacogError,
    ProviderError,
    SourceError,
    StudyError,
    reason_of,
)
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study import Study

MIB = 2**20
DISK_NEEDED = 256 * MIB  # below it a journal or a board may not be written to its end
IMPATIENT = RetryPolicy(transient_attempts=1, billed_attempts=1, rate_limit_total_s=0.0)

Probe = Callable[[Study, ModelSpec], Awaitable[tuple[Capabilities, str | None]]]


def examine(
    study: Study,
    *,
    offline: bool = False,
    port: int = ports.UI_PORT,
    environment: Mapping[str, str] | None = None,
    probe: Probe | None = None,
) -> list[Finding]:
    """Return what every check of ``study`` finds, in an order for reading; ``offline`` leaves out what needs a network.

    ``port`` is the one the UI is wanted on; keys are looked up in ``environment``, else in that of the process. ``probe``
    asks a model: tests put another in its place.
    """
    variables = os.environ if environment is None else environment
    found = [*_home(study), _budget(study), _port(port)]
    for benchmark in enabled(study):
        found += [*_unaskable(benchmark), *_data(benchmark)]
    models = [(spec, [*model_findings(study, spec, variables)]) for spec in study.askable]
    if not offline:
        asyncio.run(_ask(study, models, probe or _probe))
    return found + [each for _, own in models for each in own]


def exit_code(findings: Sequence[Finding]) -> int:
    """Return 0 if a run can start, else the code of what failed; 1 where failures differ."""
    codes = {each.exit_code for each in findings if each.state == "fail"}
    return codes.pop() if len(codes) == 1 else int(bool(codes))


async def _ask(study: Study, models: Sequence[tuple[ModelSpec, list[Finding]]], probe: Probe) -> None:
    """Ask each model that nothing is known of and nothing speaks against; add to its findings."""

    async def ask(spec: ModelSpec, own: list[Finding]) -> None:
        if not over_http(spec) or any(each.state == "fail" for each in own) or known_of(study, spec):
            return
        try:
            known, problem = await probe(study, spec)
        except MetacogError as error:
            own.append(fail(spec.name, str(error), error))
        except Exception as error:  # its text may hold anything, a key among it
            own.append(fail(spec.name, f"asking it broke ({type(error).__name__})", ProviderError))
        else:
            if problem is not None:
                own.append(fail(spec.name, problem.removeprefix(f"model {spec.name}: "), ProviderError))
            else:
                own += known_findings(spec, known)

    await asyncio.gather(*(ask(*each) for each in models))


async def _probe(study: Study, spec: ModelSpec) -> tuple[Capabilities, str | None]:
    from metacog_pipeline.asking.probing import probe  # loads HTTP

    return await probe(study, spec, retries=IMPATIENT)


# --- the study --------------------------------------------------------------------------------------------------------
def _home(study: Study) -> Iterator[Finding]:
    home = study.home
    try:
        preparing.check(home)
        free = shutil.disk_usage(home.existing).free
    except StudyError as error:
        yield fail("home", str(error), StudyError)
        return
    except OSError as error:
        yield fail("home", f"{home.path}: cannot be read ({error.strerror})", StudyError)
        return
    room = f"{home.path} can be written, {free / 2**30:,.1f} GiB free"
    if free < DISK_NEEDED:
        yield fail("home", f"{room}: less than {DISK_NEEDED // MIB} MiB; free space", StudyError)
    else:
        yield ok("home", room)
    if home.older is not None:
        yield warn("home", home.older)


def _budget(study: Study) -> Finding:
    cap = study.study.budget_usd
    if all(spec.free for spec in study.askable):
        return ok("budget", "nobody who is asked costs money")
    if cap is None:
        return warn("budget", "no budget_usd is set: nothing would stop the spending")
    try:
        spent = spent_figures(study.home, cap).spent
    except MetacogError as error:
        return fail("budget", str(error), error)
    text = f"${cap:.4f}, of which ${spent:.4f} are spent"
    return fail("budget", f"{text}: raise budget_usd", BudgetError) if spent >= cap else ok("budget", text)


def _port(port: int) -> Finding:
    why = ports.in_use(ports.UI_HOST, port)
    if why is None:
        return ok("ui", f"port {port} is free")
    another = "give metacog ui another --port, or 0 for the next free one"
    return warn("ui", f"port {port} cannot be used ({why}): {another}")


def _data(benchmark: Bound) -> Iterator[Finding]:
    """Yield a line per data set: a run fetches one that is missing."""
    needed = _sources(benchmark)
    if not needed:
        yield ok(benchmark.name, "needs no data set from elsewhere")
    for name, fetched in needed:
        if fetched:
            yield ok(benchmark.name, f"data set {name} is fetched")
        else:
            how = "`metacog doctor STUDY --fetch` (with a copy: --from DIR) or the first run does"
            yield warn(benchmark.name, f"data set {name} is not fetched; {how}")


def _unaskable(benchmark: Bound) -> Iterator[Finding]:
    """Yield a line where a run would end before its first call; items are built only where their data are fetched."""
    try:
        require_askable(benchmark, items=all(fetched for _, fetched in _sources(benchmark)))
    except MetacogError as error:
        yield fail(benchmark.name, str(error), error)
    except Exception as error:
        yield fail(benchmark.name, reason_of(error), SourceError)


def _sources(benchmark: Bound) -> list[tuple[str, bool]]:
    """Return (name, whether it is fetched) of every data set a benchmark reads."""
    declared = {source.name: source for source in benchmark.sources}
    home = benchmark.context.home
    return [(name, declared[name].digest(home) is not None) for name in benchmark.needed_sources()]
