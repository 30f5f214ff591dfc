"""In which order ways of asking are tried where a provider refuses a call: what was named, then all options, then bare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from metacog_pipeline.asking.asking import Profile, StepFailed
from metacog_pipeline.asking.learning import SAMPLING
from metacog_pipeline.asking.options import (
    ALL_ROOM,
    AMPLE_ROOM,
    DELIVERY,
    DROPPED_BLIND,
    HANDLING,
    NO_CONSTRAINT,
    OTHER_LIMIT,
    SHOWN_THINKING,
    THINKING_BUDGET,
    asked_by_name,
    blamed,
    decisive,
)
from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import bounded

MOST_CALLS = 5


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
        known = replace(self.known, refused=self.known.refused | (options - SAMPLING))
        return Way(replace(self.profile, dropped=dropped), known)

    def in_mode(self, mode: str) -> Way:
        """Return the way with its answers constrained otherwise."""
        return replace(self, profile=replace(self.profile, mode=mode))


class Search:
    """The order in which ways of asking are tried. Deterministic: the same refusals lead the same way.

    ``more`` says that another question can be asked: then the bare call is made with that one, because the first may have
    been refused for itself. ``room_refused``: the limit of tokens was refused, by name or alone.
    """

    def __init__(self, spec: ModelSpec, modes: Sequence[str], known: Capabilities = NOTHING_KNOWN) -> None:
        self.spec = spec
        self.modes = tuple(modes)
        self.start = known
        self.more = False
        self.doubted = False
        self.room_refused = False
        self.refusals = 0
        self.refused_modes: frozenset[str] = frozenset()
        self._named: frozenset[str] = frozenset()
        self._blind_moves = 0

    def first(self) -> Way:
        """Return the way to begin with: everything but what is known to be refused."""
        open_modes = [mode for mode in self.modes if mode not in self.start.refused_modes] or self.modes
        return Way(Profile(open_modes[0], self.start.refused & SAMPLING), self.start)

    def begin(self) -> Way:
        """Return the way to ask the next question in: bare where that is all that is left to be tried."""
        return self.bare(self.first()) if self.doubted else self.first()

    def next(self, way: Way, refusal: types.Completion) -> Way:
        """Return the way to try after ``way`` was refused; raises `Refused` when none is left."""
        self.refusals += refusal.error_code != NO_CONSTRAINT
        named = blamed(refusal, self.spec)
        self.room_refused |= named == "limit"
        found = self._next(way, refusal, named)
        of_all = decisive(refusal) or named in asked_by_name(self.spec)
        odd = refusal.http_status in (None, 400, 422) and not of_all  # the question may be at fault
        over = self.refusals >= MOST_CALLS
        if found is None or found == way or over:
            raise Refused(refusal, self.keys(refusal), decided=over or not odd)
        last = self.refusals == MOST_CALLS - 1 and found == self.bare(way)
        if last and odd and named is None and self.more:
            self.doubted = True
            raise Refused(refusal, self.keys(refusal), decided=False)
        return found

    def bare(self, way: Way) -> Way:
        """Return the way that carries nothing but the question and what the study asks for by name."""
        return way.without(DROPPED_BLIND | DELIVERY).in_mode(self.modes[-1])

    def _next(self, way: Way, refusal: types.Completion, named: str | None) -> Way | None:
        if refusal.error_code == NO_CONSTRAINT:
            return self._next_mode(way)
        if named in asked_by_name(self.spec):
            budget = named == "thinking_tokens" and self.spec.provider == "anthropic"
            return way.without(THINKING_BUDGET) if budget else None
        if (other := self._other_api(way, refusal)) is not None:
            return other
        if decisive(refusal) or (refusal.http_status == 404 and self.spec.api != "auto"):
            bare = self.bare(way)  # as a chat model again, where it is not known as another
            return replace(bare, known=replace(bare.known, api=self.start.api))
        found = self._without_named(way, refusal, named)
        if found is None:
            return self._blind(way)
        if self.refusals < MOST_CALLS - 1:
            return found
        return self.bare(found)  # many things were named, one by one

    def _without_named(self, way: Way, refusal: types.Completion, named: str | None) -> Way | None:
        """Return the way without what was named; None where that is nothing that can be left out."""
        if named == "constraint":
            return self._other_constraint(way, refusal)
        if named == "limit":
            return self._other_limit(way, refusal)
        tried: tuple[frozenset[str], ...] = ()
        if named in ("thinking_tokens", "effort"):  # not asked for by name: what shows it, or the room for it
            tried = (SHOWN_THINKING, AMPLE_ROOM, ALL_ROOM)
        elif named is not None and named in SAMPLING | DELIVERY:
            tried = (frozenset({named}),)
            self._named |= tried[0]
        found = next((each for each in tried if not each <= way.refused), None)
        return None if found is None else way.without(found)

    def _other_constraint(self, way: Way, refusal: types.Completion) -> Way | None:
        if way.profile.mode == "json_schema" and bounded.bounds_white_space(way.known):
            return way.without(frozenset({bounded.OPTION}))
        if "schema" not in (refusal.error_code or "").lower():  # a schema too hard says nothing of the others
            self.refused_modes |= {way.profile.mode}
        return self._next_mode(way)

    def _other_limit(self, way: Way, refusal: types.Completion) -> Way | None:
        """Return the way with the limit by its other name where the name is refused, else with a smaller limit."""
        name = (refusal.error_param or "").rpartition(".")[2]
        code = (refusal.error_code or "").lower()
        other = OTHER_LIMIT.get(name)
        room = next((each for each in (AMPLE_ROOM, ALL_ROOM) if not each <= way.refused), None)
        smaller = None if room is None else way.without(room)
        renamed = None
        if other is not None and way.known.limit_field is None:
            renamed = replace(way, known=replace(way.known, limit_field=other))
        by_name = any(part in code for part in ("unsupported", "unknown", "unrecognized", "extra"))
        if by_name or self.spec.thinking_tokens is not None:
            return renamed or smaller
        return smaller or renamed

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

    def _blind(self, way: Way) -> Way:
        """Return the next way where nothing was named.

        Without log-probabilities, which are refused most often; without any sampling option; with all of these as before
        but delivered as plainly as can be; without both; bare. Where the context of the server is known, the room to think
        is the first to go, and the temperature and the seed are the last.
        """
        anthropic = self.spec.provider == "anthropic"  # is sent no seed and no log-probabilities
        sampling = frozenset({"temperature"}) if anthropic else DROPPED_BLIND
        likely = frozenset({"top_logprobs"}) if self.spec.top_logprobs and not anthropic else sampling
        full = self._with_its_room(way)
        plain = replace(full, profile=replace(way.profile, dropped=self._dropped_before())).without(HANDLING)
        first = [] if likely == sampling else [full.without(likely)]
        last = full.without(sampling | HANDLING)
        ways = [*first, full.without(sampling), plain, last]
        if way.known.context:
            small = full.without(ALL_ROOM)
            less = small.known.thinking_room(self.spec) < full.known.thinking_room(self.spec)
            ways = [small if less else way, *first, plain, full.without(sampling), last]
        while self._blind_moves < len(ways) and self.refusals < MOST_CALLS - 1:
            found = ways[self._blind_moves]
            self._blind_moves += 1
            if found != way:
                return found
        return self.bare(way)

    def _with_its_room(self, way: Way) -> Way:
        """Return the way with the room to think that it lost where nothing was named: giving it up was not enough."""
        if self.room_refused or not way.known.context:
            return way
        again = ALL_ROOM - self.start.refused
        return replace(way, known=replace(way.known, refused=way.known.refused - again))

    def found(self, way: Way) -> Way:
        """Return what is kept of a way that was taken.

        The room to think is left out of a bare call with all the rest, yet a model that thinks gives no answer without it.
        So where it was not refused itself, later calls have a modest one again.
        """
        if self.room_refused or way != self.bare(way):
            return way
        return replace(way, known=replace(way.known, refused=way.known.refused - ALL_ROOM))

    def _dropped_before(self) -> frozenset[str]:
        """Return the sampling options that are left out for a reason: known, or named."""
        return (self.start.refused | self._named) & SAMPLING

    def keys(self, refusal: types.Completion) -> str | None:
        """Return what to do about the keys by which the study asks for something, all of them still in the call."""
        asked = asked_by_name(self.spec)
        named = blamed(refusal, self.spec)
        if named in asked:
            return f"{asked[named]} asks for it: remove or change that key of model {self.spec.name}"
        if refusal.http_status == 401 or decisive(refusal):
            return None
        if asked:
            keys = ", ".join(dict.fromkeys(asked.values()))
            return f"the call carried nothing optional but {keys}: remove or change that of model {self.spec.name}"
        if refusal.http_status in (400, 422):
            return (
                "nothing is left to leave out: the provider's own words say what is wrong; where they do not, check model "
                f"and base_url of model {self.spec.name}"
            )
        return None
