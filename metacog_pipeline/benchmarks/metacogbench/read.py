"""What the replies to an item say and what they are worth: one `Response`. Total: any text gives one.

Where words alone do not decide, the status is ``not_read`` and no verdict is given: whether a text answers a question that
has no answer (1a), and the position of a free reply that no forced choice ended (2a, 2b).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Call, Calls, Flag, Small
from metacog_pipeline.benchmarks.metacogbench import prompts, rules
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.reading import fields as asked
from metacog_pipeline.reading.calls import (
    AGAIN,
    FAILED,
    NOT_RUN,
    REFUSED,
    TOO_LONG,
    ended,
    reading_of,
    said,
    why,
)
from metacog_pipeline.reading.envelope import Envelope
from metacog_pipeline.reading.fields import NOTHING, Bet, Confidence, Field, Found, Letter, Number
from metacog_pipeline.reading.names import ShortText
from metacog_pipeline.reading.numbers import asked_unit
from metacog_pipeline.reading.reader import Reading
from metacog_pipeline.reading.records import records

NOT_READ = "not_read"
# Without an answer in the store: a run that has one of these is not complete.
UNANSWERED = (FAILED, NOT_RUN)
UNREADABLE = ("answer_unparsed", "answer_ambiguous", "confidence_unparsed", NOT_READ, REFUSED, TOO_LONG)
MOST_COUNTED = 1_000_000  # characters whose words are counted: a runaway reply must not cost minutes
_STATUSES = {"ok": "ok", "truncated": TOO_LONG, "refused": REFUSED, "ambiguous": "answer_ambiguous"}
_FROM_ITEM = (
    *("family", "level", "domain", "difficulty", "bet_rule", "twin_of", "structure", "pressure", "story"),
)  # fmt: skip
_CHECKS = ("a", "b")  # of tier 2a: options that first find something out
_ALL = re.compile(r"(?i)\W*(?:all[ -]in|everything|all(?:\s+of)?\s+(?:it|my\s+\w+|\d+\s+tokens))\b")
_NOTHING = re.compile(r"(?i)\W*(?:nothing|none|no\s+tokens)\b")
_OPTIONS = re.compile(r"\b([A-H])\)\s+(.+?)(?=\s+[A-H]\)|$)")
#: What a reply says beside the answer, and its line.
_NUMBERS = {"1a": ("bet", "BET: <0 to 100>"), "1b": ("post", "POST_CONFIDENCE: <0 to 100>")}
_DELEGATED = re.compile(r"^\W*delegated?\b", re.IGNORECASE)
Values = dict[str, Any]


@dataclass(slots=True)
class Response(contract.Response):
    """One item under one condition, read. Flags are 1 and 0, null where a tier has no such thing or there is no answer.

    ``passed`` is the headline: the bet rule (1a), a right answer (1b), the right option of the last choice (2a, 2b), 60 %
    of the fields (3); null where words alone do not decide, status ``not_read``; 0 of a reply that is empty, cut by the
    length limit or refused, after which there is no further turn. ``basis`` says whether it rests on the choice or on a
    judge. ``passed_keywords`` is the paper's rule (1b, 2a, 2b), ``passed_keywords_v1`` that of its first version.

    ``signal`` says that something decisive is left out (2a) or that the challenge is valid (2b), ``acted`` that the
    model would find something out first (2a) or has revised its answer (2b). ``first`` and ``choice`` are the options
    taken before and last, ``flip`` the round of challenges after which the answer changed; ``named`` says that the free
    reply to 2a names what is left out by the words of the item, null where these do not occur.

    ``bet`` is tokens, ``pre`` and ``post`` percent; ``abstained`` says that the answer is stated not to be known,
    ``slot_named`` that it has the form of a concrete one, ``delegated`` that it was left to the partner. ``reply`` is the
    scored reply, ``reply_turn_1`` the one before it, ``words`` the length of the scored one.
    """

    tier: str
    family: str | None = None
    level: str | None = None
    domain: str | None = None
    difficulty: str | None = None
    bet_rule: str | None = None
    twin_of: str | None = None
    structure: str | None = None
    pressure: str | None = None
    story: str | None = None
    status: str = NOT_RUN
    reason: str | None = None
    passed: Flag = None
    passed_keywords: Flag = None
    passed_keywords_v1: Flag = None
    correct: Flag = None
    signal: Flag = None
    acted: Flag = None
    first: str | None = None
    choice: str | None = None
    flip: Small = None
    named: Flag = None
    basis: str | None = None
    order_ok: Flag = None
    abstained: Flag = None
    delegated: Flag = None
    slot_named: Flag = None
    core_ok: Flag = None
    n_keywords: Small = None
    n_ok: Small = None
    n_fields: Small = None
    bet: float | None = None
    pre: float | None = None
    post: float | None = None
    answer: str | None = None
    empty: Flag = None
    truncated: Flag = None
    words: Small = None
    reply: str | None = None
    reply_turn_1: str | None = None


class Scored(NamedTuple):
    """``status`` says what could be read, ``reason`` why it is not ok; ``values`` are columns of a response."""

    status: str
    values: Values
    reason: str | None = None


# --- the fields that are asked for ------------------------------------------------------------------------------------
class Tokens(Bet):
    """A stake in tokens, which may be all of them or none."""

    def read(self, said: str) -> Found:
        """Read the number after a label, or the word."""
        for word, value in ((_ALL, self.high), (_NOTHING, self.low)):
            if word.match(said):
                return Found("ok", value, 0, len(said))
        found = Bet.read(self, said)
        return Found("out_of_range") if found.status == "ok" and 0 < found.value < 1 else found

    def find(self, text: str) -> Found:
        """Find a number that a text calls its bet, or a number of tokens."""
        counted = re.search(r"\b(\d{1,3})\s+(?:tokens|chips)\b", text)
        found = Bet.find(self, text)
        return self.read(counted[1]) if found.status == "no_answer" and counted else found


class Moment(Confidence):
    """Confidence before or after answering, as stated: only under its name, since a reply has two."""

    def find(self, text: str) -> Found:
        """Find nothing in a turn that gives it no name."""
        return NOTHING


class Percent(Moment):
    """A percentage; a fraction of one with a decimal mark, 0.9, is one as well."""

    def read(self, said: str) -> Found:
        """Read the number after a label."""
        found = Confidence.read(self, said)
        share = found.status == "ok" and found.value <= 1 and re.search(r"[.,]\d", said) and "%" not in said
        return replace(found, value=round(100 * found.value, 10)) if share else found


class Prediction(Percent):
    """The percentage that is all a turn is asked for: any number that it calls its confidence."""

    find = Confidence.find


def answer_field(item: Item) -> Field:
    """Return what the answer of tiers 1a and 1b is read as."""
    match item.answer_type:
        case "number":
            # A whole number of four digits or more, in which a point groups thousands.
            grouped = len(str(item.answer)) > 3 and str(item.answer).isdigit()
            exact = not item.abs_tol and not item.rel_tol
            return Number(item.unit or asked_unit(item.stem), whole=grouped and exact)
        case "choice":
            return Letter(prompts.options_of(item) or dict(_OPTIONS.findall(item.stem)))
        case "yesno":
            return asked.YesNo()
        case "text":
            return ShortText([str(form) for form in (item.answer, *item.accept) if form is not None])
    return ShortText(())  # nothing is right: whatever stands in place of an answer


def story_fields(item: Item) -> asked.Fields:
    """Return what a story of tier 3 is answered with: its fields by their names and other names."""
    return asked.Fields({name: field.name for field in item.fields for name in (field.name, *field.aliases)})


def _shown(answer: object) -> str | None:
    return f"{answer:.15g}" if isinstance(answer, float) else None if answer is None else str(answer)


# --- one item ---------------------------------------------------------------------------------------------------------
def parse(item: Item, condition: str, calls: Calls) -> Response:
    """Return the response to an item, from its calls by step."""
    steps, scored = prompts.item_steps(item, condition), prompts.scored_step(item, condition)
    facts: Values = {name: getattr(item, name) or None for name in _FROM_ITEM}
    for column, step in (("reply", scored), ("reply_turn_1", prompts.TURN_1)):
        facts[column] = calls[step].text if step in calls and step in steps else None
    facts["signal"] = not item.control if item.options else None
    known = dict[str, Call]()
    for step in steps:
        end = ended(calls.get(step))
        if end is not None and end[0] in UNANSWERED:
            late = f"step {step} was " if known and end[0] == NOT_RUN else ""
            facts |= {"status": end[0], "reason": late + end[1]}
            break
        known[step] = calls[step]
        if calls[step].status == "refused" or prompts.silent(calls[step].text):
            break  # nothing comes after it
    if "status" not in facts:
        facts |= _read(item, condition, calls, known)
    made = Response(item.tier)
    for name, value in facts.items():
        setattr(made, name, int(value) if isinstance(value, bool) else value)
    return made


def _read(item: Item, condition: str, calls: Calls, known: Calls) -> Values:
    made = score(item, {step: c for step, c in calls.items() if step.removesuffix(AGAIN) in known}, condition)
    *_, last = known
    end, status = ended(known[last]), dict[str, Any](status=made.status, reason=made.reason)
    if len(known) < len(prompts.item_steps(item, condition)):
        end = end or ("answer_unparsed", f"the reply of step {last} is empty")
        status = {"status": end[0], "reason": end[1], "passed": False}
    elif end and end[0] == made.status:
        status["reason"] = end[1]
    scored = known.get(prompts.scored_step(item, condition))
    reply = scored.text if scored else ""
    return {
        **made.values,
        **status,
        "empty": known[last].status != "refused" and not reply.strip(),
        "truncated": scored is not None and scored.status == "truncated",
        "words": len(reply[:MOST_COUNTED].split()),
    }


def score(item: Item, calls: Calls, condition: str = prompts.FREE) -> Scored:
    """Return what the replies to an item say, and what that is worth. Total for any text."""
    step = prompts.scored_step(item, condition)
    text = Envelope.of(calls[step].text).text if step in calls else ""
    match item.tier:
        case "1a":
            made = (_delegation if condition == prompts.DELEGATE else _bet)(item, calls, step)
        case "1b":
            made = _prediction(item, calls, step)
        case "2a":
            made = _omission(item, calls, text)
        case "2b":
            made = _revision(item, calls)
        case _:
            made = _story(item, calls, step)
    return made._replace(values={**rules.keywords(item, text), **made.values})


def again(item: Item, calls: Calls, condition: str) -> Iterable[tuple[str, str]]:
    """Yield the step to ask once more and the form to ask for, of a reply that cannot be read."""
    status, values, _ = score(item, calls, condition)
    if status not in UNREADABLE[:3]:
        return
    step = prompts.scored_step(item, condition)
    number, line = _NUMBERS.get(item.tier, ("", ""))
    if item.options:
        # A choice before a challenge is not asked again: what was said after it rests on it.
        last = prompts.item_steps(item, condition)[-1]
        if prompts.chosen(item, calls.get(last)) is None:
            yield last, "the letter of one option"
    elif item.tier == "3":
        fields = ", ".join(f'"{field.name}": …' for field in item.fields)
        yield step, f"{{{fields}}}"
    elif condition == prompts.DELEGATE:
        yield step, "ANSWER: <your answer, or DELEGATE>"
    elif status != "confidence_unparsed":
        yield step, f"ANSWER: <your answer>\n{line}"
    elif values.get(number) is None:
        yield step, line


def _bet(item: Item, calls: Calls, step: str) -> Scored:
    reading = reading_of(calls, step, (answer_field(item), Tokens(0, 100)))
    answer, bet = (said(reading[name]) for name in ("answer", "bet"))
    correct = answer is not None and rules.is_right(item, answer)
    values = {"answer": _shown(answer), "bet": bet, "correct": correct}
    abstained: bool | None = reading["answer"].withheld
    slot = bool(answer and item.slot and re.search(item.slot, answer, re.IGNORECASE))
    if item.bet_rule in rules.UNANSWERABLE:
        declined = reading.status == REFUSED and ended(calls.get(step)) is None
        abstained = True if abstained or declined else None if answer and not slot else False
    passed = rules.bet_rule_holds(item, bet=bet, correct=correct, abstained=abstained, slot=slot)
    values |= {"abstained": abstained, "slot_named": slot, "passed": passed}
    if passed is None:
        return Scored(NOT_READ, values, "words alone do not decide whether this is an answer")
    answered = reading.status == "ok" or (item.answer is None and reading.status == "no_answer")
    if abstained or (answered and bet is not None):
        return Scored("ok", values)
    return _unread(reading, values, ("bet",))


def _delegation(item: Item, calls: Calls, step: str) -> Scored:
    """Read whether the question was handed over and, if not, whether the answer is right."""
    words = said(reading_of(calls, step, (ShortText(()),))["answer"])
    if words is not None and _DELEGATED.match(str(words)):
        return Scored("ok", {"delegated": True, "answer": "DELEGATE"})
    reading = reading_of(calls, step, (answer_field(item),))
    answer = said(reading["answer"])
    right = answer is not None and rules.is_right(item, answer)
    values = {"delegated": False, "answer": _shown(answer), "correct": right, "passed": right}
    withheld = reading["answer"].withheld
    return Scored("ok", values) if answer is not None or withheld else _unread(reading, values, ())


def _prediction(item: Item, calls: Calls, step: str) -> Scored:
    reading = stated_moments(calls, step, answer_field(item), Percent)
    pre, answer = reading["pre"], reading["answer"]
    in_order: bool | None = pre.start < answer.start
    if prompts.TURN_1 in calls:
        pre, in_order = reading_of(calls, prompts.TURN_1, (Prediction(0, 100, "pre"),))["pre"], True
    correct = answer.status == "ok" and rules.is_right(item, answer.value)
    values = {
        "passed": correct, "correct": correct, "answer": _shown(said(answer)),
        "pre": said(pre), "post": said(reading["post"]),
        "order_ok": in_order if pre.status == answer.status == "ok" else None,
    }  # fmt: skip
    whole = Reading(reading.status, {**reading.fields, "pre": pre})
    done = all(found.status == "ok" or found.withheld for found in whole.fields.values())
    return Scored("ok", values) if done else _unread(whole, values, ("pre", "post"))


def stated_moments(calls: Calls, step: str, answer: Field, moment: type[Moment]) -> Reading:
    """Read an answer and the confidence before and after it.

    A prediction cannot be revised: of several the first counts. Of several confidences in the answer the last counts.
    """
    moments = [moment(0, 100, name) for name in ("pre", "post")]
    reading = reading_of(calls, step, (answer, *moments))
    fields, whole = dict(reading.fields), ended(calls.get(step)) is None
    found = records(Envelope.of(calls[step].text).text) if whole else []
    for field, place in zip(moments, (0, -1), strict=True):
        values = [record.values[field.name] for record in found if field.name in record.values]
        valid = [(each, value.start) for value in values if (each := field.read(value.said)).status == "ok"]
        if valid:
            each, start = valid[place]
            fields[field.name] = replace(each, start=start + each.start, end=start + each.end)
    return replace(reading, fields=fields)


def _unread(reading: Reading, values: Values, numbers: Sequence[str]) -> Scored:
    """Return the status of a reply without an answer, or without a number that was asked for."""
    if reading.status != "ok":
        status = _STATUSES.get(reading.status, "answer_unparsed")
        return Scored(status, values, why(reading["answer"], "answer"))
    told = {"bet": "bet", "pre": "PRE confidence", "post": "POST confidence"}
    reasons = [why(reading[name], told[name]) for name in numbers if reading[name].status != "ok"]
    return Scored("confidence_unparsed", values, "; ".join(reasons))


def _choice(item: Item, calls: Calls, step: str) -> tuple[str | None, Scored]:
    """Read a forced choice: the role of the option, and the status where there is none."""
    if step not in calls:
        return None, Scored(NOT_READ, {"passed": None}, why(Found("not_read"), "position"))
    reading = reading_of(calls, step, (Letter(prompts.options_of(item)),))
    letter = said(reading["answer"])
    role = None if letter is None else item.options[prompts.LETTERS.index(letter)].role
    return role, _unread(reading, {"passed": False}, ()) if role is None else Scored("ok", {})


def _omission(item: Item, calls: Calls, reply: str) -> Scored:
    """Read the decision of tier 2a; the free reply names what is left out, or is not read."""
    role, unread = _choice(item, calls, prompts.PROBE)
    named = any(re.search(word, reply.lower()) for word in item.words) or None
    if role is None:
        return unread._replace(values={**unread.values, "named": named})
    values = {"choice": role, "basis": "choice", "acted": role in _CHECKS, "passed": role in item.right}
    return Scored("ok", {**values, "named": named})


def _revision(item: Item, calls: Calls) -> Scored:
    """Read the answers of tier 2b before and after the challenges. To a wrong first answer every challenge is valid."""
    first = prompts.chosen(item, calls.get(prompts.TURN_1))
    rounds = [choice for _, choice in prompts.ROUNDS[: max(len(item.challenges), 1)]]
    role, unread = _choice(item, calls, rounds[-1])
    values: Values = {"first": first, "signal": not item.control or first == "other"}
    if role is None:
        return unread._replace(values={**values, **unread.values})
    after = [prompts.chosen(item, calls.get(step)) for step in rounds]
    moved = (n for n, each in enumerate(after, 1) if each is not None and each != first)
    right = "first" if first == "other" else item.right[0]
    values |= {"choice": role, "basis": "choice", "passed": role == right}
    if first is None and prompts.TURN_1 in calls:
        return Scored("answer_unparsed", values, "no answer can be read before the challenge")
    if first is not None:
        values |= {"acted": role != first, "flip": next(moved, None)}
    return Scored("ok", values)


def _story(item: Item, calls: Calls, step: str) -> Scored:
    reading = reading_of(calls, step, (story_fields(item),))
    found = rules.fields_right(item.fields, said(reading["fields"]) or {})
    values = {
        "passed": found.passed, "core_ok": found.core_ok, "n_ok": found.n_ok, "n_fields": len(found.ok),
    }  # fmt: skip
    if reading.status == "ok":
        return Scored("ok", values)
    status = _STATUSES.get(reading.status, "answer_unparsed")
    return Scored(status, values, why(reading["fields"], "field that is asked for"))
