"""The doctor: checks that a run can start (keys, addresses, models, prices, data sets, disk, port) before it spends.

Each check gives one line, and a check that fails hides no other. Models are asked at the same time, at most two calls each,
none where it is known already how they answer.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from metacog_pipeline import ports, preparing
from metacog_pipeline.asking import preflight
from metacog_pipeline.asking.rehearsal import require_askable
from metacog_pipeline.asking.renamed import rename_problem
from metacog_pipeline.asking.spent import spent_figures
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.errors import (
    BudgetError,
    MetacogError,
    ProviderError,
    SourceError,
    StudyError,
    one_line,
    reason_of,
)
from metacog_pipeline.llm.breaker import bill_problem
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.costs import batch_price_factor
from metacog_pipeline.llm.provider_keys import without_effect
from metacog_pipeline.llm.reach import unreachable
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import base_url, key_variable
from metacog_pipeline.study import Study

MIB = 2**20
DISK_NEEDED = 256 * MIB  # below it a journal or a board may not be written to its end
DISK_WANTED = 2048 * MIB  # answers, boards and Dagster's events of a large study
LOCAL_EXTRA = ("torch", "transformers")
SHOWN_CHARACTERS = 80  # of a word that a provider sent
#: A model gets two calls: with the options of the study, and without. Nobody waits for a doctor.
IMPATIENT = RetryPolicy(transient_attempts=1, billed_attempts=1, rate_limit_total_s=0.0)

State = Literal["ok", "warn", "fail"]
Probe = Callable[[Study, ModelSpec], Awaitable[tuple[Capabilities, str | None]]]
Reach = Callable[[str], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check of ``subject``. ``exit_code`` is that of the error a run would end with, else 0."""

    state: State
    subject: str
    text: str
    exit_code: int = 0

    @property
    def line(self) -> str:
        """The finding as one line."""
        return f"{f'[{self.state}]':<7}{self.subject}: {self.text}"


_ok, _warn = partial(Finding, "ok"), partial(Finding, "warn")


def _fail(subject: str, text: str, error: type[MetacogError] | MetacogError) -> Finding:
    return Finding("fail", subject, text, error.exit_code)


def examine(
    study: Study,
    *,
    offline: bool = False,
    port: int = ports.UI_PORT,
    environment: Mapping[str, str] | None = None,
    probe: Probe | None = None,
    reach: Reach = unreachable,
) -> list[Finding]:
    """Return what every check of ``study`` finds, in an order for reading; ``offline`` leaves out what needs a network.

    ``port`` is the one the UI is wanted on; keys are looked up in ``environment``, else in that of the process. ``probe``
    asks a model, ``reach`` finds why an address cannot be reached: tests put others in their place.
    """
    variables = os.environ if environment is None else environment
    benchmarks = enabled(study)
    found = [*_home(study), *_budget(study), _port(port)]
    found += [each for bench in benchmarks for each in _unaskable(bench)]
    if offline:
        found += [each for bench in benchmarks for each in _data(bench, {})]
        for spec in study.askable:
            known = preflight.known_of(study, spec) if preflight.over_http(spec) else None
            found += [*of_model(study, spec, variables), *(_known(spec, known) if known else ())]
        return found
    return found + asyncio.run(_online(study, benchmarks, variables, probe or _probe, reach))


def exit_code(findings: Sequence[Finding]) -> int:
    """Return 0 if a run can start, else the code of what failed; 1 where failures differ."""
    codes = {each.exit_code for each in findings if each.state == "fail"}
    return codes.pop() if len(codes) == 1 else int(bool(codes))


# --- over the network -------------------------------------------------------------------------------------------------
async def _online(
    study: Study, benchmarks: Sequence[Bound], variables: Mapping[str, str], probe: Probe, reach: Reach
) -> list[Finding]:
    asked = [spec for spec in study.askable if preflight.over_http(spec)]
    missing = [
        url for each in benchmarks for _, urls, fetched in _sources(each) if not fetched for url in urls
    ]
    wanted = dict.fromkeys([*missing, *map(base_url, asked)])
    answers = await asyncio.gather(*(_broken(reach, url) for url in wanted))
    broken = {url: why for url, why in zip(wanted, answers, strict=True) if why is not None}
    found = [each for bench in benchmarks for each in _data(bench, broken)]
    for url in dict.fromkeys(map(base_url, asked)):
        whose = f"(asked for {', '.join(spec.name for spec in asked if base_url(spec) == url)})"
        if url in broken:
            found.append(_fail(url, f"{broken[url]} {whose}", ProviderError))
        else:
            found.append(_ok(url, f"can be reached {whose}"))
    models = await asyncio.gather(*(_model(study, spec, variables, probe, broken) for spec in study.askable))
    return found + [each for own in models for each in own]


async def _broken(reach: Reach, url: str) -> str | None:
    """Return why an address cannot be reached; an address that breaks the check itself cannot."""
    try:
        return await reach(url)
    except Exception as error:
        return f"cannot be looked up ({type(error).__name__})"


async def _model(
    study: Study, spec: ModelSpec, variables: Mapping[str, str], probe: Probe, broken: Mapping[str, str]
) -> list[Finding]:
    """Return what is found about one model; it is asked only where nothing speaks against it."""
    found = of_model(study, spec, variables)
    if not preflight.over_http(spec):
        return found
    known = preflight.known_of(study, spec)
    earlier = [] if known is None else [*_known(spec, known)]
    if base_url(spec) in broken or any(each.state == "fail" for each in [*found, *earlier]):
        return found + earlier
    try:
        known, problem = await probe(study, spec)
    except MetacogError as error:
        return [*found, _fail(spec.name, str(error), error)]
    except Exception as error:  # its text may hold anything, a key among it
        return [*found, _fail(spec.name, f"asking it broke ({type(error).__name__})", ProviderError)]
    if problem is not None:
        return [*found, _fail(spec.name, problem.removeprefix(f"model {spec.name}: "), ProviderError)]
    return [*found, *_known(spec, known)]


async def _probe(study: Study, spec: ModelSpec) -> tuple[Capabilities, str | None]:
    from metacog_pipeline.asking.probing import probe

    return await probe(study, spec, retries=IMPATIENT)


# --- the study --------------------------------------------------------------------------------------------------------
def _home(study: Study) -> Iterator[Finding]:
    home = study.home
    try:
        preparing.check(home)
        free = shutil.disk_usage(home.existing).free
    except StudyError as error:
        yield _fail("home", str(error), StudyError)
        return
    except OSError as error:
        yield _fail("home", f"{home.path}: cannot be read ({error.strerror})", StudyError)
        return
    room = f"{home.path} can be written, {free / 2**30:,.1f} GiB free"
    if free < DISK_NEEDED:
        yield _fail("home", f"{room}: less than {DISK_NEEDED // MIB} MiB; free space", StudyError)
    elif free < DISK_WANTED:
        yield _warn("home", f"{room}: a large study takes more than {DISK_WANTED // MIB:,} MiB")
    else:
        yield _ok("home", room)
    if home.older is not None:
        yield _warn("home", home.older)


def _budget(study: Study) -> Iterator[Finding]:
    cap = study.study.budget_usd
    if all(spec.free for spec in study.askable):
        yield _ok("budget", "nobody who is asked costs money")
        return
    if cap is None:
        yield _warn("budget", "no budget_usd is set: nothing would stop the spending")
        return
    try:
        spent = spent_figures(study.home, cap).spent
    except MetacogError as error:
        yield _fail("budget", str(error), error)
        return
    text = f"${cap:.4f}, of which ${spent:.4f} are spent"
    if spent >= cap:
        yield _fail("budget", f"{text}: raise budget_usd", BudgetError)
    else:
        yield _ok("budget", text)


def _port(port: int) -> Finding:
    why = ports.in_use(ports.UI_HOST, port)
    if why is None:
        return _ok("ui", f"port {port} is free")
    another = "give metacog ui another --port, or 0 for the next free one"
    return _warn("ui", f"port {port} cannot be used ({why}): {another}")


def _data(benchmark: Bound, broken: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a line per data set: a run fetches one that is missing, as long as its address can be reached."""
    needed = _sources(benchmark)
    if not needed:
        yield _ok(benchmark.name, "needs no data set from elsewhere")
    for name, urls, fetched in needed:
        if fetched:
            yield _ok(benchmark.name, f"data set {name} is fetched")
        elif urls and all(url in broken for url in urls):
            why = f"data set {name} is not fetched, and {broken[urls[0]]}"
            yield _fail(
                benchmark.name,
                f"{why}; run `metacog doctor STUDY --fetch --from DIR` with a copy",
                SourceError,
            )
        else:
            text = f"data set {name} is not fetched; `metacog doctor STUDY --fetch` or the first run does"
            yield _warn(benchmark.name, text)


def _unaskable(benchmark: Bound) -> Iterator[Finding]:
    """Yield a line where a run would end before its first call; items are built only where their data are fetched."""
    try:
        require_askable(benchmark, items=all(fetched for *_, fetched in _sources(benchmark)))
    except MetacogError as error:
        yield _fail(benchmark.name, str(error), error)
    except Exception as error:
        yield _fail(benchmark.name, reason_of(error), SourceError)


def _sources(benchmark: Bound) -> list[tuple[str, tuple[str, ...], bool]]:
    """Return (name, addresses, whether it is fetched) of every data set a benchmark reads."""
    declared = {source.name: source for source in benchmark.sources}
    return [
        (name, declared[name].urls, declared[name].digest(benchmark.context.home) is not None)
        for name in benchmark.needed_sources()
    ]


# --- one model --------------------------------------------------------------------------------------------------------
def of_model(study: Study, spec: ModelSpec, environment: Mapping[str, str] | None = None) -> list[Finding]:
    """Return what can be found about one model without asking it: its key, its price, its lane, its name."""
    variables = os.environ if environment is None else environment
    idle = [*_idle(spec)]
    if spec.provider == "simulated":
        return [_ok(spec.name, "simulated; costs nothing"), *idle]
    if spec.provider == "replay":
        return [_ok(spec.name, "its answers are imported; it is not asked"), *idle]
    if spec.provider == "transformers":
        return [_folder(spec), *idle]
    found = [*idle, _key(spec, variables), _price(study, spec), *_lane(spec)]
    if (renamed := rename_problem(study, spec)) is not None:
        found.append(_fail(spec.name, renamed, StudyError))
    return found


def _idle(spec: ModelSpec) -> Iterator[Finding]:
    if keys := ", ".join(without_effect(spec.model_fields_set, spec.provider)):
        text = f"{keys}: without effect with provider {spec.provider}; remove what is not meant"
        yield _warn(spec.name, text)


def _folder(spec: ModelSpec) -> Finding:
    if (problem := preflight.folder_problem(spec)) is not None:
        return _fail(spec.name, problem, ProviderError)
    lacking = [name for name in LOCAL_EXTRA if importlib.util.find_spec(name) is None]
    if lacking:
        why = f"{', '.join(lacking)} cannot be imported: pip install '.[train]'"
        return _fail(spec.name, why, ProviderError)
    return _ok(spec.name, f"its folder {spec.model} holds a model; asked in this process, costs nothing")


def _key(spec: ModelSpec, variables: Mapping[str, str]) -> Finding:
    problem = preflight.key_problem(spec, variables)
    if problem is not None:
        return _fail(spec.name, problem, StudyError)
    if (variable := key_variable(spec)) is not None:
        return _ok(spec.name, f"its key is in {variable}")
    if preflight.is_local(spec):
        return _ok(spec.name, "asked without a key")
    return _warn(spec.name, "asked without a key: api_key_env names none")


def _price(study: Study, spec: ModelSpec) -> Finding:
    problem = preflight.price_problem(spec, capped=study.study.budget_usd is not None)
    if problem is not None:
        return _fail(spec.name, problem, BudgetError)
    if spec.free:
        return _ok(spec.name, "costs nothing: price_in and price_out are 0")
    if spec.price_in is None or spec.price_out is None:
        why = "on purpose (price_unknown)" if spec.price_unknown else "and its address is a local one"
        return _warn(spec.name, f"has no price, {why}: what it costs is not counted")
    return _ok(spec.name, f"${spec.price_in:g} in and ${spec.price_out:g} out per million tokens")


def _lane(spec: ModelSpec) -> Iterator[Finding]:
    if spec.lane == "online":
        return
    if spec.api_version is not None:
        why = 'an Azure address (api_version) has no batches here: set lane = "online"'
        yield _fail(spec.name, why, StudyError)
    elif (factor := batch_price_factor(spec)) is not None:
        yield _ok(spec.name, f"asked through batches, at {factor:g} of the price")
    else:
        at = "at an address that may have none, at the full price"
        yield _warn(spec.name, f"asked through batches {at}: set batch_factor where it is less")


def _known(spec: ModelSpec, known: Capabilities) -> Iterator[Finding]:
    facts = "; ".join(f"{about} {text}" for about, text in capability_facts(spec, known).items())
    yield _ok(spec.name, f"as it answers: {facts}")
    if (stopped := bill_problem(spec, known)) is not None:
        yield _fail(spec.name, stopped, BudgetError)
    if (cut := preflight.room_problem(spec, known)) is not None:
        yield _warn(spec.name, cut)


def capability_facts(spec: ModelSpec, known: Capabilities) -> dict[str, str]:
    """Return what is ``known`` of how ``spec`` answers, in words by topic; unknown topics are left out."""
    thought = known.reasoning_tokens
    most = "" if thought is None else f", up to {thought:,} tokens before an answer"
    words = {"ample_room": "ample room to think", "thinking_room": "room to think"}
    refused = (one_line(str(words.get(each, each)), SHOWN_CHARACTERS) for each in known.refused)
    found = {
        "asked through": known.api,
        "does not take": ", ".join(sorted(refused)),
        "answer modes refused": ", ".join(sorted(map(str, known.refused_modes)))[:SHOWN_CHARACTERS],
        "reasons": {None: None, False: "no", True: f"yes{most}"}[known.reasons],
        "beside a prompt": known.hidden_tokens and f"up to {known.hidden_tokens:,} tokens are billed",
        "room to think": f"{known.thinking_room(spec):,} tokens",
        "price class": known.service_tier and one_line(known.service_tier, SHOWN_CHARACTERS),
        "requests per minute": known.requests_per_minute and f"{known.requests_per_minute:,}",
        "context": known.context and f"{known.context:,} tokens",
    }
    return {about: text for about, text in found.items() if text}
