"""One row per item and condition: what was said, how sure, right or wrong, or why there is nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Call, Calls, Flag
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Item
from metacog_pipeline.benchmarks.metamedqa.parsing import parse, read_confidence
from metacog_pipeline.benchmarks.metamedqa.parsing.probabilities import RATINGS, menu_probabilities

# Without an answer in the store: a run that has one of these is not complete.
UNANSWERED = ("transport_error", "too_long", "not_run")
UNREADABLE = ("answer_unparsed", "confidence_unparsed", "refused")


@dataclass(slots=True)
class Response(contract.Response):
    """The reading of one item's calls; ``status`` is ok, or one of ``UNANSWERED`` and ``UNREADABLE``."""

    kind: Annotated[str, "what was done to the parent question, or Fictional"]
    target: Annotated[str, "the right letter; E none of the above, F cannot be answered"]
    answer: Annotated[str | None, "the letter read, null when there is none"] = None
    confidence: Annotated[int | None, pl.Int8, "1 (not at all) to 5 (absolutely sure)"] = None
    correct: Annotated[Flag, "1 right, 0 wrong or no letter"] = 0
    status: str = "not_run"
    reason: str | None = "not asked yet"
    choice_probs: Annotated[list[float] | None, "probabilities of the letters, where kept"] = None
    confidence_probs: Annotated[list[float] | None, "probabilities of the levels, where kept"] = None
    off_menu_mass: Annotated[float | None, "probability outside the admissible letters, 0 to 1"] = None
    tags: Annotated[tuple[str, ...], "subsets reported apart"] = ()
    meta_info: Annotated[str, "examination step of the parent question"] = ""
    source_target: Annotated[str | None, "the letter of the parent question"] = None


def read_response(item: Item, calls: Calls) -> Response:
    """Read the calls of one item; any text gives a response.

    An answer cut by a length limit is ``too_long`` whatever it says, except in mode ``logit_bias``, where one token is
    all that was asked for.
    """
    found = Response(
        item.kind,
        item.target,
        tags=item.tags,
        meta_info=item.meta_info,
        source_target=item.source_target,
    )
    chosen = _newest_mode(calls)
    if not chosen:
        return found
    first = calls[chosen[0]]
    if (ended := _ended(first)) is not None:
        found.status, found.reason = ended
        return found
    said = parse(first.text, item.options)
    found.status, found.reason = said.status, said.reason
    if said.answer is None:
        return found
    rated, told = (said.confidence, said.reason), first
    if chosen[0] == "choice":
        if len(chosen) == 1:
            found.status, found.reason = "not_run", "the confidence was not asked yet"
            return found
        told = calls[chosen[1]]
        ended = _ended(told)
        if ended is not None and ended[0] != "refused":
            found.status, found.reason = ended
            return found
        rated = (None, "the confidence was refused") if ended else read_confidence(told.text, bare=True)
    found.answer, found.correct = said.answer, int(said.answer == item.target)
    found.choice_probs, found.off_menu_mass = menu_probabilities(first.logprobs_json, LETTERS, said.answer)
    found.confidence, found.reason = rated
    found.status = "confidence_unparsed" if found.confidence is None else "ok"
    if found.confidence is not None:
        shares, _ = menu_probabilities(told.logprobs_json, RATINGS, str(found.confidence))
        found.confidence_probs = shares
    return found


def _newest_mode(calls: Calls) -> Sequence[str]:
    """Return an item's steps in order: letter first, then confidence; a whole answer before an older pair."""
    places = {step: (call.status != "failed", place) for place, (step, call) in enumerate(calls.items())}
    if "answer" in places and places["answer"] > places.get("choice", (False, -1)):
        return ("answer",)
    return [step for step in ("choice", "confidence") if step in calls and "choice" in calls]


def _ended(call: Call) -> tuple[str, str] | None:
    """Return status and reason of a call that ended without a whole answer, else None."""
    match call.status:
        case "failed":
            return "transport_error", call.error or "the call failed"
        case "truncated" if call.mode != "logit_bias":
            return "too_long", "cut by the length limit; raise max_tokens"
        case "refused":
            return "refused", "the provider reports a refusal or a content filter"
        case _:
            return None
