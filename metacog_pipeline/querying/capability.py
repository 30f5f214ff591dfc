"""Find out, once per model, which options its provider takes and how it lets answers be constrained.

A refusal (400, 401, 403, 404, 422) of a call that carried options is answered by dropping what was named, then all options,
then the constraint. Only the bare call decides that a key, a model or an address is wrong. What the study asks for by name
(effort, thinking_tokens, verbosity, api, answer_mode, extra_body) is never dropped: the line that ends it names the key.

The calls that succeed on the way are ordinary answers, kept like any other; those refused cost nothing. At most
``MOST_CALLS`` are refused, whatever the provider says.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from metacog_pipeline.llm import types
from metacog_pipeline.llm.batch import lane
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities, Limit
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import bounded
from metacog_pipeline.llm.wire.errors import FATAL_CODES
from metacog_pipeline.querying.asking import Profile, Session, StepAsker, StepFailed
from metacog_pipeline.querying.learning import SAMPLING
from metacog_pipeline.querying.types import Task

REFUSALS = frozenset(
    {400, 401, 403, 404, 422}
)  # statuses by which providers refuse an option, a key or a model
MOST_CALLS = 5
UNNAMED_IN_A_ROW = 3  # refusals in a known way that name nothing, after which another is looked for
FREE_MOVES = 2  # refusals answered by dropping one thing; then everything optional goes at once
DROPPED_BLIND = frozenset({"temperature", "seed", "top_logprobs"})
CACHING = frozenset({"cache_control", "prompt_cache_key"})
SHOWN_THINKING = frozenset({"adaptive_thinking", "reasoning_summary"})
DELIVERY = frozenset({"stream", "stream_options", "thinking_room"}) | CACHING | SHOWN_THINKING
NO_CONSTRAINT = "unsupported_constraint"  # the wire has no field for it: nothing was sent
OTHER_LIMIT: dict[str, Limit] = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
#: Name of a parameter, lower case and without punctuation → the option it carries.
OPTIONS = {
    "temperature": "temperature",
    "seed": "seed",
    "logprobs": "top_logprobs",
    "toplogprobs": "top_logprobs",
    "responselogprobs": "top_logprobs",
    "include": "top_logprobs",  # Responses: where log-probabilities are asked for
    "stop": "stop",
    "stopsequences": "stop",
    "stream": "stream",
    "streamoptions": "stream_options",
    "maxtokens": "limit",
    "maxcompletiontokens": "limit",
    "maxoutputtokens": "limit",
    "thinking": "thinking_tokens",
    "thinkingconfig": "thinking_tokens",
    "thinkingbudget": "thinking_tokens",
    "budgettokens": "thinking_tokens",
    "thinkinglevel": "effort",
    "reasoning": "effort",
    "reasoningeffort": "effort",
    "effort": "effort",
    "summary": "reasoning_summary",
    "display": "reasoning_summary",
    "includethoughts": "reasoning_summary",
    "cachecontrol": "cache_control",
    "promptcachekey": "prompt_cache_key",
    "verbosity": "verbosity",
    "responseformat": "constraint",
    "guidedchoice": "constraint",
    "structuredoutputs": "constraint",
    "logitbias": "constraint",
    "outputconfig": "constraint",
    "outputformat": "constraint",
    "text": "constraint",
    "responseschema": "constraint",
    "responsejsonschema": "constraint",
    "responsemimetype": "constraint",
}


class Refused(StepFailed):
    """No way of asking is left. ``decided``: it would be so for every item."""

    def __init__(self, completion: types.Completion, keys: str | None, *, decided: bool) -> None:
        super().__init__(completion)
        self.decided = decided
        if keys is not None:
            self.args = (f"{self.args[0]}; {keys}",)


@dataclass(frozen=True, slots=True)
class Way:
    """One way of asking: what is part of an answer's identity, and how the call is delivered."""

    profile: Profile
    known: Capabilities

    @property
    def refused(self) -> frozenset[str]:
        """Every option that is left out."""
        return self.profile.dropped | self.known.refused

    def without(self, options: frozenset[str]) -> Way:
        """Return the way that leaves out ``options`` too."""
        dropped = self.profile.dropped | (options & SAMPLING)
        known = replace(self.known, refused=self.known.refused | options)
        return Way(replace(self.profile, dropped=dropped), known)

    def in_mode(self, mode: str) -> Way:
        """Return the way with its answers constrained otherwise."""
        return replace(self, profile=replace(self.profile, mode=mode))


def first_way(modes: Sequence[str], known: Capabilities) -> Way:
    """Return the way to begin with: everything but what is known to be refused."""
    open_modes = [mode for mode in modes if mode not in known.refused_modes] or list(modes)
    return Way(Profile(open_modes[0], known.refused & SAMPLING), known)


def may_be_an_option(completion: types.Completion) -> bool:
    """Whether a failed call may have been refused for an option it carried."""
    kinds = (types.ErrorKind.UNSUPPORTED, types.ErrorKind.FATAL)
    if completion.error_kind not in kinds:
        return False
    status = completion.http_status
    return status in REFUSALS or (status is None and completion.error_kind is types.ErrorKind.UNSUPPORTED)


async def negotiate(
    session: Session,
    task: Task,
    search: Search,
    start: Way | None = None,
    refusal: types.Completion | None = None,
) -> Profile:
    """Return the profile under which ``task`` goes through; what was found out is kept.

    Parameters
    ----------
    search
        Knows the modes, and how many calls were refused already.
    start
        The way to begin with, by what is known where not given.
    refusal
        How ``start`` was refused, where it was tried already.

    Raises
    ------
    StepFailed
        If the call fails for another reason than what it carried; `Refused` if no way is left.
    """
    way = start or first_way(search.modes, session.learnt.known)
    before = session.learnt.known
    try:
        while True:
            if refusal is not None:
                way = search.next(way, refusal)
            session.learnt.tell(way.known)
            try:
                await _ask(session, task, way.profile)
            except StepFailed as error:
                if not may_be_an_option(error.completion):
                    raise
                refusal = error.completion
            else:
                break
    except BaseException:
        session.learnt.tell(before)
        raise
    found = session.learnt.known  # its replies have taught more meanwhile
    tried = way.known
    session.learnt.keep_found(
        replace(
            found,
            api=tried.api,
            limit_field=tried.limit_field,
            refused=found.refused | tried.refused | way.profile.dropped,
            refused_modes=found.refused_modes | search.refused_modes,
        )
    )
    return way.profile


class Asked:
    """How the tasks of a session are asked: under one profile, until the provider takes an option no more.

    Then another way is looked for, once: at the first refusal that names an option or would stop the session, and after
    several in a row otherwise, because one odd question may be refused for itself.
    """

    def __init__(self, profile: Profile, modes: Sequence[str]) -> None:
        self.profile = profile
        self._modes = tuple(modes)
        self._lock = asyncio.Lock()
        self._changes = 0
        self._tried = False
        self._unnamed_in_a_row = 0

    async def run(self, session: Session, task: Task) -> bool:
        """Ask ``task``; return whether its replies give something to read. Raises as `negotiate`."""
        changes = self._changes
        try:
            said = await _ask(session, task, self.profile)
        except StepFailed as error:
            if not may_be_an_option(error.completion):
                raise
            if not await self._otherwise(session, task, error.completion, changes):
                raise
            return await _ask(session, task, self.profile)
        self._unnamed_in_a_row = 0
        return said

    async def _otherwise(self, session: Session, task: Task, refusal: types.Completion, changes: int) -> bool:
        """Find another way to ask ``task``; return False where there is none to be looked for."""
        async with self._lock:
            if changes != self._changes:  # found meanwhile, by another worker
                return True
            self._unnamed_in_a_row += 1
            known = named_option(refusal) in OPTIONS.values() or refusal.error_kind is types.ErrorKind.FATAL
            if self._tried or not (known or self._unnamed_in_a_row >= UNNAMED_IN_A_ROW):
                return False
            self._tried = True
            search = Search(session.spec, self._modes, session.learnt.known)
            start = Way(self.profile, session.learnt.known)
            with lane.online():
                self.profile = await negotiate(session, task, search, start, refusal)
            self._changes += 1
            return True


async def _ask(session: Session, task: Task, profile: Profile) -> bool:
    asker = StepAsker(session, profile, task.item_id, task.item_hash, task.condition)
    await task.run(asker, profile.mode)
    return not asker.gave_nothing


class Search:
    """The order in which ways of asking are tried. Deterministic: the same refusals lead the same way."""

    def __init__(self, spec: ModelSpec, modes: Sequence[str], known: Capabilities = NOTHING_KNOWN) -> None:
        self.spec = spec
        self.modes = tuple(modes)
        self.api = known.api
        self.refusals = 0
        self.refused_modes: frozenset[str] = frozenset()

    def next(self, way: Way, refusal: types.Completion) -> Way:
        """Return the way to try after ``way`` was refused; raises `Refused` when none is left."""
        sent = refusal.error_code != NO_CONSTRAINT
        self.refusals += sent
        found = self._next(way, refusal, named_option(refusal))
        if found is None or found == way or self.refusals >= MOST_CALLS:
            # Only a question of a bad form says little of the next one: there may be calls left to ask that.
            of_all = refusal.http_status not in (None, 400, 422) or named_option(refusal) in asked_by_name(
                self.spec
            )
            decided = of_all or self.refusals >= MOST_CALLS
            raise Refused(refusal, self.keys(refusal), decided=decided)
        return found

    def bare(self, way: Way) -> Way:
        """Return the way that carries nothing but the question and what the study asks for by name."""
        return way.without(DROPPED_BLIND | DELIVERY).in_mode(self.modes[-1])

    def _next(self, way: Way, refusal: types.Completion, named: str | None) -> Way | None:
        if refusal.error_code == NO_CONSTRAINT:
            return self._next_mode(way)
        if named in asked_by_name(self.spec):
            return None
        if (other := self._other_api(way, refusal)) is not None:
            return other
        if _decisive(refusal) or (refusal.http_status == 404 and self.spec.api != "auto"):
            bare = self.bare(way)  # as a chat model again, where it is not known as another
            return replace(bare, known=replace(bare.known, api=self.api))
        found = self._without_named(way, refusal, named)
        if found is not None and (self.refusals <= FREE_MOVES or named == "constraint"):
            return found
        if found is not None:
            # Many things were named, one by one: now none of them is left to be named.
            everything = found.without(DROPPED_BLIND | DELIVERY)
            return everything if self.refusals < MOST_CALLS - 1 and everything != way else self.bare(found)
        return self._blind(way)

    def _without_named(self, way: Way, refusal: types.Completion, named: str | None) -> Way | None:
        """Return the way without what was named; None where that is nothing that can be left out."""
        if named == "constraint":
            if way.profile.mode == "json_schema" and bounded.bounds_white_space(way.known):
                return way.without(frozenset({bounded.OPTION}))
            if (
                "schema" not in (refusal.error_code or "").lower()
            ):  # a schema too hard says nothing of the others
                self.refused_modes |= {way.profile.mode}
            return self._next_mode(way)
        if named == "limit":
            return self._other_limit(way, refusal)
        if named in ("thinking_tokens", "effort"):  # not asked for by name: what shows it, or the room for it
            room = frozenset({"thinking_room"})
            options = next((each for each in (SHOWN_THINKING, room) if not each <= way.refused), None)
        else:
            options = (
                frozenset({named}) if named in SAMPLING | DELIVERY and named not in way.refused else None
            )
        return None if options is None else way.without(options)

    def _other_limit(self, way: Way, refusal: types.Completion) -> Way | None:
        """Return the way with the limit by its other name where the name is refused, else with a smaller limit."""
        name = (refusal.error_param or "").rpartition(".")[2]
        code = (refusal.error_code or "").lower()
        other = OTHER_LIMIT.get(name)
        smaller = None if "thinking_room" in way.refused else way.without(frozenset({"thinking_room"}))
        renamed = None
        if other is not None and way.known.limit_field is None:
            renamed = replace(way, known=replace(way.known, limit_field=other))
        by_name = any(part in code for part in ("unsupported", "unknown", "unrecognized", "extra"))
        return (
            (renamed or smaller) if by_name or self.spec.thinking_tokens is not None else (smaller or renamed)
        )

    def _other_api(self, way: Way, refusal: types.Completion) -> Way | None:
        """Return the way through Responses where chat completions says that this is no chat model."""
        if self.spec.provider != "openai" or self.spec.api != "auto" or way.known.api is not None:
            return None
        code = (refusal.error_code or "").lower()
        if refusal.error_param != "model" or code == "model_not_found" or refusal.http_status == 401:
            return None
        return replace(way, known=replace(way.known, api="responses"))

    def _next_mode(self, way: Way) -> Way | None:
        """Return the way in the next mode; None after the last."""
        place = self.modes.index(way.profile.mode) + 1
        return way.in_mode(self.modes[place]) if place < len(self.modes) else None

    def _blind(self, way: Way) -> Way | None:
        """Return the way without what is refused most often, then without any option, then bare."""
        likely = frozenset({"top_logprobs"}) if self.spec.top_logprobs else frozenset()
        steps = (likely, DROPPED_BLIND, DROPPED_BLIND | DELIVERY)
        # Sampling options are in every sense the likelier half; how a call is delivered follows.
        for step in steps if self.refusals <= FREE_MOVES else ():
            if not step <= way.refused:
                return way.without(step)
        return self.bare(way)

    def keys(self, refusal: types.Completion) -> str | None:
        """Return what to do about the keys by which the study asks for something, all of them still in the call."""
        asked = asked_by_name(self.spec)
        named = named_option(refusal)
        if named in asked:
            return f"{asked[named]} asks for it: remove or change that key of model {self.spec.name}"
        if not asked or refusal.http_status == 401:
            return None
        keys = ", ".join(dict.fromkeys(asked.values()))
        return (
            f"the call carried nothing optional but {keys}: remove or change that of model {self.spec.name}"
        )


def named_option(refusal: types.Completion) -> str | None:
    """Return the option a refusal names; None where it names none that is known."""
    for part in reversed(re.split(r"[.\[\]]", refusal.error_param or "")):
        plain = re.sub(r"[^a-z]", "", part.lower())
        if plain in OPTIONS:
            return OPTIONS[plain]
    given = re.split(r"[.\[]", refusal.error_param or "")[0]
    return f"extra_body.{given}" if given else None


def asked_by_name(spec: ModelSpec) -> dict[str, str]:
    """Return {option: key of the study} of what a model's row asks for by name."""
    keys = {
        "effort": None if spec.effort is None else f'effort = "{spec.effort}"',
        "verbosity": None if spec.verbosity is None else f'verbosity = "{spec.verbosity}"',
        "thinking_tokens": None
        if spec.thinking_tokens is None
        else f"thinking_tokens = {spec.thinking_tokens}",
        "api": None if spec.api == "auto" else f'api = "{spec.api}"',
    }
    named = {option: key for option, key in keys.items() if key is not None}
    return named | {f"extra_body.{name}": f"extra_body.{name}" for name in spec.extra_body}


def _decisive(refusal: types.Completion) -> bool:
    """Whether the provider says that the key, the account or the model is wrong: one bare call confirms it."""
    code = (refusal.error_code or "").lower()
    if refusal.error_kind is not types.ErrorKind.FATAL:
        return False
    return refusal.http_status != 403 or code in FATAL_CODES
