"""What the replies to a question say: the answer, whether it is right, and how sure the model is. Any text is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.answers import stated, sureness
from metacog_pipeline.benchmark.answers.question_rows import LETTERS
from metacog_pipeline.benchmark.contract import Call, Calls, Flag
from metacog_pipeline.benchmark.replies import too_long
from metacog_pipeline.benchmark.thinking import without_thinking
from metacog_pipeline.benchmarks.questions.asking import ANSWER, SAMPLED, SCALE, SECOND, steps
from metacog_pipeline.benchmarks.questions.items import Item

UNREADABLE = ("answer_unparsed", "confidence_unparsed", "refused")
_WORDS = {"p_true": ("yes", "no"), "keep_withdraw": ("keep", "withdraw")}


@dataclass(slots=True)
class Response(contract.Response):
    """``kept`` is 0 where an answer was withdrawn or withheld, and null where it could not be."""

    said: str | None = None
    correct: Flag = None
    confidence: float | None = None
    kept: Flag = None
    status: str = "not_run"
    reason: str | None = "not asked yet"


def read(item: Item, condition: str, calls: Calls, samples: int) -> Response:
    """Return what the calls of one question say under a condition."""
    names = steps(condition, samples)
    found = [calls[name] for name in names if name in calls]
    if not found:
        return Response()
    if failed := next((call for call in found if call.status == "failed"), None):
        return Response(status="transport_error", reason=failed.error or "the call failed")
    if unscored := next((call.mode for call in found if call.mode.startswith("unscored")), None):
        return Response(status="not_scored", reason=unscored.removeprefix("unscored: "))
    if any(call.status == "refused" for call in found):
        return Response(correct=0, status="refused", reason="the provider refused")
    if why := next((why for call in found if (why := too_long(call.text))), None):
        return Response(correct=0, status="answer_unparsed", reason=why)
    if condition in SAMPLED:
        return _agreed(item, condition, found, len(names))
    if ANSWER not in calls:
        return Response(reason="the answer was not asked")
    return _single(item, condition, calls)


def _single(item: Item, condition: str, calls: Calls) -> Response:
    first = calls[ANSWER]
    said, right = stated.answer_of(first.text, item.key)
    if condition == "abstain_allowed":
        text = stated.answer_of(first.text, replace(item.key, type="text", forms=())).said or ""
        if sureness.withheld(text, said, item.key, item.options, item.question):
            return Response(None, None, 0.0, 0, "ok", None)
    if item.kind == "graded":
        right = {"graded: 1": True, "graded: 0": False}.get(first.mode)
        if right is None:
            return Response(said, None, None, None, "not_scored", "the log does not say whether it is right")
    if said is None or right is None:
        return Response(said, 0, None, None, "answer_unparsed", "no single answer can be read")
    made = Response(said, int(right), None, None, "ok", None)
    if condition == "answer_only":
        return made
    if condition in SECOND and condition not in calls:
        return replace(made, correct=None, status="not_run", reason="the second call was not asked")
    made.confidence = _confidence(item, condition, calls, said)
    if made.confidence is None:
        made.status, made.reason = "confidence_unparsed", "no confidence can be read"
        if condition == "choice_logprob":
            made.reason = "the provider gave no log-probabilities of the letters"
    if condition in ("abstain_allowed", "keep_withdraw") and made.confidence is not None:
        made.kept = int(made.confidence)
    return made


def _confidence(item: Item, condition: str, calls: Calls, said: str) -> float | None:
    if condition == "abstain_allowed":
        return 1.0
    first = calls[ANSWER]
    if condition == "choice_logprob":
        return sureness.chance(first.logprobs_json, LETTERS[: len(item.options)], said)
    if condition in SECOND:
        call, words = calls[condition], _WORDS[condition]
        graded = sureness.chance(call.logprobs_json, words, words[0]) if condition == "p_true" else None
        kept = sureness.chosen(call.text, words)
        return graded if graded is not None or kept is None else float(kept)
    reply = without_thinking(first.text)
    if condition == "verbal_percent":
        return sureness.of_reply(reply, letter=item.kind == "choice", said=said)
    if condition == "bet":
        return sureness.stake(reply)
    return sureness.worded(sureness.last_line(reply), SCALE)


def _agreed(item: Item, condition: str, found: Sequence[Call], wanted: int) -> Response:
    """Return the answer most samples agree on: confidence is their share, or how little the samples scatter."""
    if len(found) < wanted:
        return Response(reason=f"{len(found)} of {wanted} samples were asked")
    answers = [stated.answer_of(call.text, item.key) for call in found]
    said = [each.said for each in answers if each.said is not None]
    if not said:
        return Response(correct=0, status="answer_unparsed", reason="no sample has a readable answer")
    scatter = condition == "semantic_agreement"
    own = sureness.clusters(said, item.key, both=scatter)
    right = next(each.correct for each in answers if each.said == own[0][0])
    sure = sureness.certainty([*map(len, own)], wanted) if scatter else len(own[0]) / wanted
    return Response(own[0][0], int(right is True), sure, None, "ok", None)
