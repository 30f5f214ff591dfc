"""How a model can be asked, learnt from its refusals: one table of request options, and what is left out for each."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from metacog_pipeline.asking.states import Profile, StepFailed
from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, SAMPLING, Capabilities, Learnt, Limit
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire.errors import FATAL_CODES

# One that names nothing may be about the question, so another question is asked first; then it
# costs one group of options after another. Only the bare call decides that a key, a model or an
# address is wrong. Refused calls cost nothing.
# two questions whole, two groups left out in turn, and the bare call
MOST_CALLS = 5
# statuses by which an option, a key or a model is refused
REFUSALS = frozenset({400, 401, 403, 404, 422})
# the wire has no field for it: nothing was sent
NO_CONSTRAINT = "unsupported_constraint"
OTHER_LIMIT: dict[str, Limit] = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
# a field that goes by another name
RENAMED_CODES = ("unsupported", "unknown", "unrecognized", "extra")


@dataclass(frozen=True, slots=True)
class Option:
    """What a call may carry."""

    # As providers give it in a refusal, lower case and without punctuation.
    names: str
    # What is left out where it is refused, the least first: itself, what shows the thinking, or the room for it.
    instead: tuple[frozenset[str], ...] = ()


def _only(*names: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(each.split()) for each in names)


ROOM = _only("adaptive_thinking reasoning_summary", "ample_room", "thinking_room")
#: Option → its names and what goes; the constraint, and what a study asks for by name, have a rule of their own.
OPTIONS = {
    "temperature": Option("temperature", _only("temperature")),
    "seed": Option("seed", _only("seed")),
    "top_logprobs": Option("logprobs toplogprobs responselogprobs", _only("top_logprobs")),
    "stream": Option("stream", _only("stream")),
    "stream_options": Option("streamoptions", _only("stream_options")),
    "limit": Option("maxtokens maxcompletiontokens maxoutputtokens", ROOM[1:]),
    "thinking_tokens": Option("thinking thinkingconfig thinkingbudget budgettokens", ROOM),
    "effort": Option("thinkinglevel reasoning reasoningeffort effort", ROOM),
    "reasoning_summary": Option("summary display includethoughts", _only("reasoning_summary")),
    "verbosity": Option("verbosity"),
    "constraint": Option(
        "responseformat guidedchoice structuredoutputs logitbias outputconfig outputformat text "
        "responseschema responsejsonschema responsemimetype"
    ),
}
OPTION_OF = {name: option for option, found in OPTIONS.items() for name in found.names.split()}
# room to think as a number of its own, else in the limit
THINKING_BUDGET = frozenset({"thinking_budget"})
#: Everything about delivery but the room to think.
HANDLING = frozenset({"stream", "stream_options"}) | ROOM[0] | ROOM[1] | THINKING_BUDGET
DELIVERY = HANDLING | ROOM[2]


def may_be_an_option(failed: types.Completion) -> bool:
    """Whether a failed call may have been refused for an option it carried."""
    if failed.error_kind is types.ErrorKind.UNSUPPORTED and failed.http_status is None:
        return True
    kinds = (types.ErrorKind.UNSUPPORTED, types.ErrorKind.FATAL)
    return failed.error_kind in kinds and failed.http_status in REFUSALS


def named_option(refusal: types.Completion) -> str | None:
    """Return the option a refusal names; None where it names none of the table, as where it names the question."""
    parts = reversed(re.split(r"[.\[\]]", refusal.error_param or ""))
    plain = (re.sub(r"[^a-z]", "", part.lower()) for part in parts)
    return next((OPTION_OF[name] for name in plain if name in OPTION_OF), None)


def blamed(refusal: types.Completion, spec: ModelSpec) -> str | None:
    """Return the option a refusal names, or the key of the row's ``extra_body``; None where the call carries neither."""
    given = re.split(r"[.\[]", refusal.error_param or "")[0]
    return named_option(refusal) or (f"extra_body.{given}" if given in spec.extra_body else None)


# Never left out; the line that ends the session names its key.
def asked_by_name(spec: ModelSpec) -> dict[str, str]:
    """Return {option: key of the study} of what a model's row asks for by name."""
    keys = [key for key in ("effort", "verbosity", "thinking_tokens") if getattr(spec, key) is not None]
    named = {key: f"{key} = {json.dumps(getattr(spec, key))}" for key in keys}
    return named | {f"extra_body.{name}": f"extra_body.{name}" for name in spec.extra_body}


def decisive(refusal: types.Completion) -> bool:
    """Whether the provider says that the key, the account or the model is wrong: one bare call confirms it."""
    if refusal.error_kind is not types.ErrorKind.FATAL:
        return False
    return refusal.http_status != 403 or (refusal.error_code or "").lower() in FATAL_CODES


class Refused(StepFailed):
    """No way of asking is left. ``decided``: it would be so for every item."""

    def __init__(self, completion: types.Completion, advice: str | None, *, decided: bool) -> None:
        super().__init__(completion)
        self.decided = decided
        if advice is not None:
            self.args = (f"{self.args[0]}; {advice}",)


class Negotiation:
    """The state of one negotiation. Deterministic: the same refusals lead to the same calls."""

    def __init__(
        self,
        spec: ModelSpec,
        modes: Sequence[str],
        known: Capabilities = NOTHING_KNOWN,
        profile: Profile | None = None,
    ) -> None:
        self.spec, self.modes = spec, tuple(modes)
        self._known = known  # with what was found out
        # Another question can be asked, as the first may have been refused for itself.
        self._refusals, self.more, self._bare = 0, False, False
        accepted = [mode for mode in self.modes if mode not in known.refused_modes] or self.modes
        self._mode = accepted[0] if profile is None else profile.mode
        self._dropped = known.refused & SAMPLING if profile is None else profile.dropped
        # dropped as well, as no option was named
        self._group: frozenset[str] = frozenset()
        # Models that think refuse log-probabilities at official addresses, and often without their name; Anthropic has
        # none, and never names the temperature that its newer models refuse.
        logprobs = [frozenset({"top_logprobs"})] if spec.top_logprobs else []
        claude = spec.provider == "anthropic"
        self._groups = [SAMPLING, HANDLING] if claude else [*logprobs, HANDLING, SAMPLING]

    @property
    def profile(self) -> Profile:
        """How to ask next, as far as it is part of an answer's identity."""
        if self._bare:
            return Profile(self.modes[-1], self._dropped | SAMPLING)
        return Profile(self._mode, self._dropped | (self._group & SAMPLING))

    @property
    def known(self) -> Capabilities:
        """How the next call is delivered."""
        left_out = DELIVERY if self._bare else self._group - SAMPLING
        return replace(self._known, refused=self._known.refused | left_out)

    def refused(self, refusal: types.Completion) -> None:
        """Choose the way to ask next after the present one was refused; raises `Refused` when none is left."""
        unsent = refusal.error_code == NO_CONSTRAINT
        self._refusals += not unsent
        named, before = blamed(refusal, self.spec), (self.profile, self.known)
        of_all = decisive(refusal) or named in asked_by_name(self.spec)
        # the question may be at fault
        odd = refusal.http_status in (None, 400, 422) and not of_all
        if odd and named is None and self.more and not unsent:
            self.more = False
            raise Refused(refusal, self._advice(refusal, named), decided=False)
        over = self._refusals >= MOST_CALLS
        if over or not self._leave_out(refusal, named) or (self.profile, self.known) == before:
            raise Refused(refusal, self._advice(refusal, named), decided=over or not odd)

    def learnt(self, now: Capabilities) -> Capabilities:
        """Return ``now`` with what the way that was taken has taught."""
        return replace(
            now,
            limit_field=self._known.limit_field,
            refused=now.refused | self.known.refused | self.profile.dropped,
            refused_modes=now.refused_modes | self._known.refused_modes,
        )

    def _advice(self, refusal: types.Completion, named: str | None) -> str | None:
        """Return which key of the model's row to change, as far as the refusal or the remaining call shows it."""
        asked, model = asked_by_name(self.spec), f"model {self.spec.name}"
        if named in asked:
            return f"{asked[named]} asks for it: remove or change that key of {model}"
        if (
            refusal.http_status == 401
            or decisive(refusal)
            or (not asked and refusal.http_status not in (400, 422))
        ):
            return None
        keys = ", ".join(dict.fromkeys(asked.values()))
        what = f"check or remove {keys}" if keys else "check model and base_url"
        return f"where the provider's own words do not say what is wrong, {what} of {model}"

    def _leave_out(self, refusal: types.Completion, named: str | None) -> bool:
        """Leave out what was refused; return False where that is nothing that may be left out."""
        if refusal.error_code == NO_CONSTRAINT:
            return self._next_mode()
        if named in asked_by_name(self.spec):
            budget = named == "thinking_tokens" and self.spec.provider == "anthropic"
            return budget and self._first_of(THINKING_BUDGET)
        if decisive(refusal):
            self._bare = True
            return True
        if named is None or not self._without(named, refusal):
            self._next_group()
        self._bare |= self._refusals >= MOST_CALLS - 1
        return True

    def _without(self, named: str, refusal: types.Completion) -> bool:
        """Leave out a named option, or ask for less of it; return False where there is nothing to leave out."""
        code = (refusal.error_code or "").lower()
        if named == "constraint":
            # a schema too hard says nothing of the others
            if "schema" not in code:
                refused = self._known.refused_modes | {self._mode}
                self._known = replace(self._known, refused_modes=refused)
            return self._next_mode()
        other = OTHER_LIMIT.get((refusal.error_param or "").rpartition(".")[2])
        by_name = self.spec.thinking_tokens is not None or any(part in code for part in RENAMED_CODES)
        if other is not None and by_name and self._known.limit_field is None:
            self._known = replace(self._known, limit_field=other)
            return True
        return self._first_of(*(OPTIONS[named].instead if named in OPTIONS else ()))

    def _first_of(self, *groups: frozenset[str]) -> bool:
        """Leave out the first group that is not left out yet; return whether there is one."""
        left_out = self.profile.dropped | self.known.refused
        found = next((each for each in groups if not each <= left_out), frozenset[str]())
        self._dropped |= found & SAMPLING
        self._known = replace(self._known, refused=self._known.refused | (found - SAMPLING))
        return bool(found)

    def _next_group(self) -> None:
        """Leave out another group instead of the last, likeliest first; at the end all of them."""
        while self._groups:
            self._group = self._groups.pop(0)
            if not self._group <= self._dropped | self._known.refused:
                return
        self._bare = True

    def _next_mode(self) -> bool:
        later = self.modes[self.modes.index(self.profile.mode) + 1 :]
        self._mode = later[0] if later else self._mode
        return bool(later)


async def negotiate(
    negotiation: Negotiation, learnt: Learnt, attempt: Callable[[Profile], Awaitable[object]]
) -> Profile:
    """Return the profile under which ``attempt`` goes through; what was found out is kept."""
    try:
        while True:
            learnt.attempt(negotiation.known)
            try:
                await attempt(negotiation.profile)
                break
            except StepFailed as error:
                # It failed for another reason than what it carried.
                if not may_be_an_option(error.completion):
                    raise
                negotiation.refused(error.completion)
    except BaseException:
        learnt.attempt(None)
        raise
    learnt.take(negotiation.learnt(learnt.known))
    learnt.save()
    return negotiation.profile
