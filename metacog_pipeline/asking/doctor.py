"""The doctor: checks that a run can start (home, budget, data sets, items, models) before it spends.

Each check gives one line, and a check that fails hides no other. Models are asked at the same time, one short question
each, none where it is known already how they answer.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Sequence

from metacog_pipeline import preparing
from metacog_pipeline.asking import plan, preflight
from metacog_pipeline.asking.preflight import Finding, fail, ok, warn
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
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study import Study

MIB = 2**20
DISK_NEEDED = 256 * MIB  # below it a journal or a board may not be written to its end


def examine(study: Study, *, offline: bool = False) -> list[Finding]:
    """Return what every check of ``study`` finds, in an order for reading; ``offline`` asks no model.

    Items are built, as a plan builds them, where the home can be written and their data sets are fetched.
    """
    found = [*_checked("home", _home(study)), *_checked("budget", _budget(study))]
    usable = all(each.state != "fail" for each in found if each.subject == "home")
    for benchmark in enabled(study):
        found += _checked(benchmark.name, _benchmark(benchmark, usable))
    return found + asyncio.run(_models(study, offline))


def exit_code(findings: Sequence[Finding]) -> int:
    """Return 0 if a run can start, else the code of what failed; 1 where failures differ."""
    codes = {each.exit_code for each in findings if each.state == "fail"}
    return codes.pop() if len(codes) == 1 else int(bool(codes))


def _checked(subject: str, check: Iterator[Finding]) -> Iterator[Finding]:
    """Yield what a check finds; that it broke is a finding too."""
    try:
        yield from check
    except MetacogError as error:
        yield fail(subject, str(error), error)
    except Exception as error:
        yield fail(subject, reason_of(error), SourceError)


async def _models(study: Study, offline: bool) -> list[Finding]:
    """Return what is found about each model; one is asked that nothing is known of and nothing speaks against."""

    async def about(spec: ModelSpec) -> list[Finding]:
        own = [*preflight.model_findings(study, spec)]
        known = preflight.known_of(study, spec) is not None or not preflight.over_http(spec)
        if offline or known or any(each.state == "fail" for each in own):
            return own
        try:
            return [*own, *preflight.known_findings(spec, await preflight.probe(study, spec))]
        except MetacogError as error:
            return [*own, fail(spec.name, str(error), error)]
        except Exception as error:  # its text may hold anything, a key among it
            return [*own, fail(spec.name, f"asking it broke ({type(error).__name__})", ProviderError)]

    return [each for own in await asyncio.gather(*map(about, study.askable)) for each in own]


def _home(study: Study) -> Iterator[Finding]:
    home = study.home
    preparing.check(home)
    if home.older is not None:
        yield warn("home", home.older)
    free = shutil.disk_usage(home.existing).free
    room = f"{home.path} can be written, {free / 2**30:,.1f} GiB free"
    if free < DISK_NEEDED:
        yield fail("home", f"{room}: less than {DISK_NEEDED // MIB} MiB; free space", StudyError)
    else:
        yield ok("home", room)


def _budget(study: Study) -> Iterator[Finding]:
    cap = study.study.budget_usd
    if all(spec.free for spec in study.askable):
        yield ok("budget", "nobody who is asked costs money")
    elif cap is None:
        yield warn("budget", "no budget_usd is set: nothing would stop the spending")
    else:
        spent = spent_figures(study.home, cap).spent
        text = f"${cap:.4f}, of which ${spent:.4f} are spent"
        enough = ok("budget", text)
        yield enough if spent < cap else fail("budget", f"{text}: raise budget_usd", BudgetError)


def _benchmark(benchmark: Bound, usable_home: bool) -> Iterator[Finding]:
    """Yield a line per data set that a run has to fetch first; fail where a run would end before its first call."""
    name, home = benchmark.name, benchmark.context.home
    declared = {source.name: source for source in benchmark.sources}
    missing = [each for each in benchmark.needed_sources() if declared[each].digest(home) is None]
    for each in missing:
        how = "`metacog doctor STUDY --fetch` (with a copy: --from DIR) or the first run does"
        yield warn(name, f"data set {each} is not fetched; {how}")
    for condition in benchmark.conditions():
        benchmark.worded_by(condition.name)
    if usable_home and not missing:
        next(plan.left_to_ask(benchmark), None)  # builds the items, and words all calls of one model
        yield ok(name, "its data sets are here, its calls can be worded")
