"""The doctor: checks that a run can start (home, budget, data sets, items, models) before it spends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from metacog_pipeline import errors, preparing
from metacog_pipeline.asking import plan
from metacog_pipeline.asking.negotiation import Negotiation, negotiate
from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.asking.spent import kept_cost, spent_figures
from metacog_pipeline.asking.states import Profile, StepFailed
from metacog_pipeline.asking.step import sampling_for
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.errors import MetacogError, one_line, reason_of
from metacog_pipeline.llm import types
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.capabilities import Capabilities, Learnt
from metacog_pipeline.llm.costs import bill_problem, priced
from metacog_pipeline.llm.local.weights import weights_digest
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec, key_of, key_variable
from metacog_pipeline.study import Study

MIB = 2**20
# below it a journal or a board may not be written to its end
DISK_NEEDED = 256 * MIB
SHOWN_CHARACTERS = 80  # of words that a provider sent
IMPATIENT = RetryPolicy(transient_attempts=1, billed_attempts=1, rate_limit_total_s=0.0)
QUESTION = (types.Message("user", "Is water wet? Reply with yes or no."),)
SEED = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check of ``subject``. ``exit_code`` is that of the error a run would end with, else 0."""

    state: Literal["ok", "warn", "fail"]
    subject: str
    text: str
    exit_code: int = 0

    @property
    def line(self) -> str:
        """The finding as one line."""
        return f"{f'[{self.state}]':<7}{self.subject}: {self.text}"


ok, warn = partial(Finding, "ok"), partial(Finding, "warn")


def fail(subject: str, text: str, error: type[MetacogError] | MetacogError) -> Finding:
    """Return what a run would end with ``error`` for."""
    return Finding("fail", subject, text.removeprefix(f"model {subject}: "), error.exit_code)


def examine(study: Study, *, offline: bool = False) -> list[Finding]:
    """Return what every check of ``study`` finds, in an order for reading; ``offline`` asks no model."""
    found = [*_checked("home", _home(study)), *_checked("budget", _budget(study))]
    usable = all(each.state != "fail" for each in found if each.subject == "home")
    # Items are built, as a plan builds them, where the home can be written.
    for benchmark in enabled(study):
        found += _checked(benchmark.name, _benchmark(benchmark, usable))
    return found + asyncio.run(_models(study, offline))


def exit_code(findings: Sequence[Finding]) -> int:
    """Return 0 if a run can start, else the code of what failed; 1 where failures differ."""
    codes = {each.exit_code for each in findings if each.state == "fail"}
    return codes.pop() if len(codes) == 1 else int(bool(codes))


# A check that fails hides no other.
def _checked(subject: str, check: Iterator[Finding]) -> Iterator[Finding]:
    """Yield what a check finds; that it broke is a finding too."""
    try:
        yield from check
    except MetacogError as error:
        yield fail(subject, str(error), error)
    except Exception as error:
        yield fail(subject, reason_of(error), errors.SourceError)


# --- the study and its benchmarks ---------------------------------------------------------------------------------------
def _home(study: Study) -> Iterator[Finding]:
    home = study.home
    preparing.check(home)
    free = shutil.disk_usage(home.existing).free
    room = f"{home.path} can be written, {free / 2**30:,.1f} GiB free"
    if free < DISK_NEEDED:
        yield fail("home", f"{room}: less than {DISK_NEEDED // MIB} MiB; free space", errors.StudyError)
    else:
        yield ok("home", room)


def _budget(study: Study) -> Iterator[Finding]:
    cap = study.study.budget_usd
    if all(spec.free for spec in study.askable):
        yield ok("budget", "no model of the study costs money")
    elif cap is None:
        yield warn("budget", "no budget_usd is set: nothing would stop the spending")
    else:
        spent = spent_figures(study.home, cap).spent
        text = f"${cap:.4f}, of which ${spent:.4f} are spent"
        short = fail("budget", f"{text}: raise budget_usd", errors.BudgetError)
        yield short if spent >= cap else ok("budget", text)


def _benchmark(benchmark: Bound, usable_home: bool) -> Iterator[Finding]:
    """Yield a line per data set that a run has to fetch first; fail where a run would end before its first call."""
    name, home = benchmark.name, benchmark.study.home
    declared = {source.name: source for source in benchmark.sources}
    missing = [each for each in benchmark.needed_sources() if declared[each].digest(home) is None]
    for each in missing:
        how = "`metacog doctor STUDY --fetch` (with a copy: --from DIR) or the first run does"
        yield warn(name, f"data set {each} is not fetched; {how}")
    for condition in benchmark.conditions():
        benchmark.prompt_digest(condition.name)
    if usable_home and not missing:
        # builds the items, and words all calls of one model
        next(plan.left_to_ask(benchmark), None)
        yield ok(name, "its data sets are here, its calls can be worded")


# --- models -------------------------------------------------------------------------------------------------------------
# All models at the same time, one short question each, none where it is known already how they answer.
async def _models(study: Study, offline: bool) -> list[Finding]:
    """Return what is found about each model; one is asked that nothing is known of and nothing speaks against."""

    async def about(spec: ModelSpec) -> list[Finding]:
        if spec.provider == "transformers" and weights_digest(spec.model) is None:
            why = f"{spec.model}: no model here (config.json is missing)"
            return [fail(spec.name, why, errors.ProviderError)]
        if spec.provider in IN_PROCESS:
            return [ok(spec.name, "is not asked" if spec.provider == "replay" else "costs nothing")]
        own = [*_checked(spec.name, _key(spec)), price_finding(study, spec)]
        known = plan.known_of(study, spec)
        if known is None and not offline and all(each.state != "fail" for each in own):
            try:
                known = await probe(study, spec)
            except MetacogError as error:
                return [*own, fail(spec.name, str(error), error)]
            except Exception as error:  # its text may hold anything, a key among it
                why = f"asking it broke ({type(error).__name__})"
                return [*own, fail(spec.name, why, errors.ProviderError)]
        return own if known is None else [*own, *_as_it_answers(spec, known)]

    return [each for own in await asyncio.gather(*map(about, study.askable)) for each in own]


def _as_it_answers(spec: ModelSpec, known: Capabilities) -> Iterator[Finding]:
    """Yield what is known of how ``spec`` answers, and what of that speaks against asking it as the study says."""
    thought, room = known.reasoning_tokens or 0, known.thinking_room(spec)
    thinks = {None: "", False: "; reasons no", True: f"; reasons yes, up to {thought:,} tokens so far"}
    words = one_line(", ".join(sorted(map(str, known.refused | known.refused_modes))), SHOWN_CHARACTERS)
    refused = f"; does not take {words}" if words else ""
    yield ok(spec.name, f"as it answers: room to think {room:,} tokens{thinks[known.reasons]}{refused}")
    if (stopped := bill_problem(spec, known)) is not None:
        yield fail(spec.name, stopped, errors.BudgetError)
    # the next answer would be cut, and paid for
    if known.reasons and thought > room:
        yield warn(
            spec.name, "there is less room to think than was thought: raise thinking_tokens or max_tokens"
        )


def price_finding(study: Study, spec: ModelSpec) -> Finding:
    """Return whether a model has its prices: without them a budget cannot be kept, and what it costs is not counted."""
    if priced(spec):
        each = f"${spec.price_in or 0:g} in and ${spec.price_out or 0:g} out"
        return ok(spec.name, f"{each} per million tokens")
    wanted = "has no price: set price_in and price_out (dollars per million tokens; 0 for a free model)"
    if study.study.budget_usd is not None:
        return fail(spec.name, f"{wanted}, or remove budget_usd, which cannot be kept so", errors.BudgetError)
    if spec.price_unknown:
        return ok(spec.name, "has no price, on purpose (price_unknown): what it costs is not counted")
    return warn(spec.name, f"{wanted}, or price_unknown = true; what it costs is not counted")


def _key(spec: ModelSpec) -> Iterator[Finding]:
    key_of(spec, os.environ)
    variable = key_variable(spec)
    yield ok(spec.name, "asked without a key" if variable is None else f"its key is in {variable}")


async def probe(study: Study, spec: ModelSpec) -> Capabilities:
    """Return what one short question to a model over HTTP finds out: it is asked as a run would ask it."""
    # loads HTTP
    from metacog_pipeline.llm.open import Clients, open_model

    home, cap = study.home, study.study.budget_usd
    with contextlib.closing(Budget(home, cap, known_spent_usd=kept_cost(home))) as budget:
        async with Clients(budget=budget, retries=IMPATIENT) as clients:
            model = open_model(spec, shared=clients)
            # One answer at most is billed, and what it teaches is kept for all benchmarks.
            learnt = Learnt.of(model, home, spec.name, request_digest(spec))
            try:
                await negotiate(
                    Negotiation(spec, ("text",), learnt.known), learnt, partial(_ask, model, spec, learnt)
                )
            except StepFailed as error:
                raise errors.ProviderError(str(error)) from None
    return learnt.known


async def _ask(model: types.ChatModel, spec: ModelSpec, learnt: Learnt, profile: Profile) -> None:
    request = types.ChatRequest(QUESTION, sampling_for(spec, profile, SEED), None, "probe")
    said = await model.complete(request)
    learnt.observe(request, said)
    if said.status is types.Status.FAILED:
        raise StepFailed(said)
    # One that was cut for want of room answers all the same.
    if not said.text.strip() and said.status is not types.Status.TRUNCATED:
        why = f"answered with nothing (finish_reason {said.finish_reason})"
        raise errors.ProviderError(f"{why}: raise thinking_tokens or max_tokens of its row")
