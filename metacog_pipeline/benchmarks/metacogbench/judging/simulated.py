"""A simulated judge with a known rate of errors: it gives the verdict of the rules, or the opposite.

With chance ``accuracy`` of the observer its verdict is that of the scorer on the reply it is shown (of 2a and 2b: of the
keywords in it), otherwise the other, drawn anew for every reply and run. ``untidiness`` and ``refusal`` of the observer say
how often it leaves the form, or says nothing; the rest of the observer plays no part.
"""

from __future__ import annotations

from collections.abc import Sequence

from metacog_pipeline.benchmarks.metacogbench.items import CONDITIONS, Item
from metacog_pipeline.benchmarks.metacogbench.judging.cases import longest
from metacog_pipeline.benchmarks.metacogbench.judging.prompts import load_judge_wording
from metacog_pipeline.benchmarks.metacogbench.prompts import FREE, TURN_1, TWO_TURN, Wording, scored_step
from metacog_pipeline.benchmarks.metacogbench.read import score
from metacog_pipeline.benchmarks.metacogbench.simulated_answers import PHRASES
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.judges.verdicts import quoted, unquoted
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject
from metacog_pipeline.reading.calls import Call

REFUSAL = "I would rather not judge this."


class SimulatedJudge:
    """Judges replies to ``items`` asked with ``wording``; deterministic in reply, observer and the run's seed."""

    def __init__(self, items: Sequence[Item], observer: ObserverSpec, wording: Wording) -> None:
        self.observer = observer
        self._words = load_judge_wording()
        self._items: dict[tuple[str, str], Item] = {}
        by_id = {item.item_id: item for item in items}
        for case in longest(items, CONDITIONS, wording, 0):
            key = tuple(unquoted(quoted(case.said.get(place, ""))) for place in ("task", "next"))
            self._items.setdefault((key[0], key[1]), by_id[case.item_id])

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` asks for a judgement of a reply to one of the items."""
        return self._case(request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the judgement; nothing where ``request`` asks for none."""
        found = self._case(request)
        if found is None:
            return ""
        item, said = found
        condition = TWO_TURN if item.tier == "1b" and "first" in said else FREE
        calls = {scored_step(item, condition): Call("ok", said["reply"])}
        calls |= {TURN_1: Call("ok", said["first"])} if "first" in said else {}
        values = score(item, calls, condition).values
        key = canonical_json([self.observer.seed, item.item_id, sorted(said.items()), request.sampling.seed])
        digest = sha256_hex(key)
        errs, refuses, slips, form = (int(digest[i : i + 8], 16) / 2**32 for i in range(0, 32, 8))
        by_rules = values["passed_keywords" if item.tier in ("2a", "2b") else "passed"]
        passes = bool(by_rules) == (errs < self.observer.accuracy)
        verdict = "pass" if passes else "fail"
        held = isinstance(request.constraint, JsonObject)
        if not held and refuses < self.observer.refusal:
            return REFUSAL
        if not held and slips < self.observer.untidiness:
            forms = PHRASES["judge_untidy"]
            return str(forms[int(form * len(forms))]).format(verdict=verdict)
        return f'{{"verdict": "{verdict}"}}'

    def _case(self, request: ChatRequest) -> tuple[Item, dict[str, str]] | None:
        asked = [message.content for message in request.messages if message.role == "user"]
        found = self._words.read(asked[0]) if len(asked) == 1 else None
        if found is None:
            return None
        said = found[1]
        item = self._items.get((said["task"], said.get("next", "")))
        return None if item is None else (item, said)
