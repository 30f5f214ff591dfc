"""What replies say: whether an answer is right or withheld, and whether and how surely the model claims to know it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Calls, Flag
from metacog_pipeline.benchmarks.selfknowledge import items as of_items
from metacog_pipeline.benchmarks.selfknowledge import prompts, rules
from metacog_pipeline.benchmarks.selfknowledge.items import DUAL, IDK, LANGUAGE_OF, LANGUAGES, PRECEDED, Item
from metacog_pipeline.benchmarks.selfknowledge.prompts import (
    DIRECT,
    META,
    YES_NO,
    asked_once,
    condition_steps,
)
from metacog_pipeline.benchmarks.selfknowledge.rules import Rule, YesNoRule
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.columns import RowError, correctness, shown
from metacog_pipeline.interchange.import_rules import RowRules, importer_of
from metacog_pipeline.judges.names import Asked, names_judging
from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.reading import calls as reading_calls
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import REFUSED, TOO_LONG, ended, read_step, reading_of, said, why
from metacog_pipeline.reading.envelope import Envelope, spoken
from metacog_pipeline.reading.fields import UNKNOWN, Found, YesNo
from metacog_pipeline.reading.names import ShortText, has_words
from metacog_pipeline.reading.reader import Reading
from metacog_pipeline.reading.reader import read as read_turn
from metacog_pipeline.reading.tokens import bare

# Not being sure is a no: the prompt says so.
_UNSURE = re.compile(
    r"^\W*(?:i(?:['’]m|\s+am)\s+(?:\w+\s+)?(?:not\s+(?:[\w%]+\s+)?(?:sure|certain)|unsure|uncertain)|uncertain|no\s+estoy\s+segur"
    r"|我?也?(?:不太|不是很|不)确定|확실하지\s+않)",
    re.IGNORECASE,
)


class Known(YesNo):
    """Whether the model claims to know the answer: yes or no, or that nothing is known or sure."""

    def read(self, said: str) -> Found:
        """Read a yes or a no; a no in other words has no place of its own."""
        found = YesNo.read(self, said)
        unknown = found.status == "no_answer" and (UNKNOWN.match(said) or _UNSURE.match(said))
        return Found("ok", "no") if unknown else found

    find = read


# --- one reading --------------------------------------------------------------------------------------------------------
def is_right(reading: Reading, accepted: Sequence[str]) -> bool:
    """Return whether the answer that was read is one of ``accepted``."""
    answer = reading["answer"]
    return answer.status == "ok" and ShortText(accepted).right(answer.value)


def is_withheld(reading: Reading) -> bool:
    """Return whether a reply begins by saying that nothing is known, or declines to answer."""
    return reading["answer"].withheld or reading.status == "refused"


def known(reading: Reading) -> Flag:
    """Return 1 or 0 for whether the model claims to know, None for neither; who declines to answer claims nothing."""
    value = said(reading["answer"])
    return int(value == "yes") if value is not None else 0 if reading.status == "refused" else None


def matches(text: str, accepted: Sequence[str], rule: Rule = "entities") -> bool:
    """Return whether the answer of ``text`` is one of ``accepted``."""
    if rule != "entities":
        return rules.RULES[rule](spoken(text), accepted)
    return is_right(read_turn(Envelope.of(text), [ShortText(accepted)]), accepted)


@lru_cache(4_096)  # training reads tens of thousands of replies in every generation, most of them one word
def says_known(text: str, language: str = "en", rule: YesNoRule = "default") -> Flag:
    """Return 1 or 0 for what ``text`` says to be known; None where it says neither."""
    if rule == "reference":
        return int(rules.says_yes(spoken(text), language))
    return known(read_turn(Envelope.of(text), [Known()]))


# --- how sure a yes is --------------------------------------------------------------------------------------------------
# Spellings of yes and of no besides those of the prompts and of English.
_SPELLINGS = {"ko": (("네",), ("아니오",)), "es": (("Si",), ())}


def certainty(tokens: Sequence[TokenLogprob], yes: Flag, language: str) -> float | None:
    """Return D = P(yes) / (P(yes) + P(no)), 0 to 1, at the token that says ``yes``, 1 or 0; None without such a token."""
    # Published values use two logits of one forward pass; providers list the most likely tokens only, each spelling on its
    # own: spellings of one word are added up, a word that is not listed is given the most it can have.
    token = next((each for each in tokens if bare(each.token)), None)
    if token is None or yes is None:
        return None
    listed = {text: min(math.exp(log), 1.0) for text, log in token.top if not math.isnan(log)}
    least = min(listed.values(), default=1.0)
    if not math.isnan(token.logprob):
        listed.setdefault(token.token, min(math.exp(token.logprob), 1.0))
    mass: dict[int, list[float]] = {0: [], 1: []}
    for text, chance in listed.items():
        side = yes if text == token.token else _side(bare(text).casefold(), language)
        if side is not None:
            mass[side].append(chance)
    unlisted = min(max(1.0 - sum(listed.values()), 0.0), least)
    no, sure = (sum(mass[side]) if mass[side] else unlisted for side in (0, 1))
    return sure / (no + sure) if no + sure > 0 else None


def _side(word: str, language: str) -> Flag:
    """Return 1 for a spelling of yes, 0 for one of no, in the language or in English; Korean ones in pieces too."""
    own = zip(YES_NO[language], YES_NO["en"], _SPELLINGS.get(language, ((), ())), strict=True)
    for side, (here, english, more) in zip((1, 0), own, strict=True):
        for each in (here, english, *more):
            if word == each.casefold() or ("가" <= word[:1] <= "힣" and each.startswith(word)):
                return side
    return None


# --- the row of an item and condition -----------------------------------------------------------------------------------
@dataclass(slots=True)
class Response(contract.Response):
    """What an item's replies under one condition say.

    ``correct`` is right by the study's rule, ``correct_inclusion`` as published; 0 for an item that no answer is accepted
    of (``answerable`` 0). Under the dual conditions ``yes`` is what ``meta_output`` says by the study's rule,
    ``yes_reference`` as published; null, and status ``meta_invalid``, where it says neither: ``correct`` stays.
    ``confidence`` is D of the meta reply, null where no log-probabilities were kept. Where one question is asked these are
    null, and ``abstained`` says whether the answer was withheld; a reply can be right and abstain at once.

    A refusal is scored: it is wrong, claims no knowledge and withholds the answer, so far as its text says nothing else. A
    reply that was cut by the length limit is ``too_long`` and, like a failed call, not scored.
    """

    split: str
    language: str
    question_id: str | None
    event_id: str | None
    answerable: Flag
    output: str | None = None
    meta_output: str | None = None
    correct: Flag = None
    correct_inclusion: Flag = None
    yes: Flag = None
    yes_reference: Flag = None
    abstained: Flag = None
    confidence: float | None = None
    status: str = "not_run"
    reason: str | None = None
    truncated: Flag = None
    meta_truncated: Flag = None
    matching: str | None = None
    yes_no: str | None = None
    wording: str | None = None


def read_response(
    item: Item, condition: str, calls: Calls, *, rule: Rule, yes_no: YesNoRule, wording: str | None
) -> Response:
    """Return the reading of ``calls``; ``wording`` is the digest of the texts asked."""
    language, steps = LANGUAGE_OF[condition], condition_steps(condition)
    accepted = item.accepted(language)
    response = Response(
        item.split, language, item.question_id or None, item.event_id or None, int(bool(accepted)), matching=rule,
        yes_no=yes_no, wording=wording,
    )  # fmt: skip
    ends = {step: ended(calls.get(step)) for step in steps}
    # A refusal is a whole reply: it is scored, where a cut or failed one is not.
    whole = {step for step, end in ends.items() if end is None or end[0] == REFUSED}
    found, first = {}, steps[0]
    response.output, response.truncated = _kept(calls, first)
    if first in whole:
        text = spoken(calls[first].text)
        reading = found[first] = read_step(calls, first, [ShortText(accepted)])
        right = is_right(reading, accepted) if rule == "entities" else rules.RULES[rule](text, accepted)
        response.correct, response.correct_inclusion = int(right), int(rules.inclusion(text, accepted))
        if asked_once(condition):  # a refusal withholds the answer, but not by the published rule
            refused = calls[first].status == "refused" and not right
            withheld = rules.abstains(text) if yes_no == "reference" else is_withheld(reading) or refused
            response.abstained = int(withheld)
    if META in steps:
        response.meta_output, response.meta_truncated = _kept(calls, META)
        if META in whole:
            found[META] = _read_meta(response, calls)
    response.status, response.reason = _status(response, ends, found)
    return response


def _kept(calls: Calls, step: str) -> tuple[str | None, Flag]:
    """Return the text of a reply, and whether it was cut."""
    call = calls.get(step)
    kept = call is not None and call.status != "failed"
    return (call.text, int(call.status == "truncated")) if call and kept else (None, None)


def _read_meta(response: Response, calls: Calls) -> Reading:
    """Note what the meta reply says by either rule, and how surely."""
    reading = read_step(calls, META, [Known()])
    response.yes_reference = int(rules.says_yes(spoken(calls[META].text), response.language))
    ours = 0 if (found := known(reading)) is None and calls[META].status == "refused" else found
    response.yes = response.yes_reference if response.yes_no == "reference" else ours
    tokens = reading_calls.said_with(calls, META, reading, "answer")
    response.confidence = certainty(tokens, ours, response.language)
    return reading


def _status(
    response: Response, ends: Mapping[str, tuple[str, str] | None], found: Mapping[str, Reading]
) -> tuple[str, str | None]:
    """Return the status of the row and why it is not ok: what was not answered comes first, for it is not scored."""
    for step, end in ends.items():
        if end is not None and end[0] != REFUSED:
            return end[0], f"{step}: {end[1]}"
    for step, end in ends.items():
        if end is not None:
            return REFUSED, f"{step}: {end[1]}"
        status_of = {"refused": REFUSED, "truncated": TOO_LONG}.get(found[step].status)
        if status_of is not None:
            return status_of, f"{step}: {why(found[step]['answer'], 'answer')}"
    if META in ends and response.yes is None:
        return "meta_invalid", f"meta: {why(found[META]['answer'], 'yes or no')}"
    return "ok", None


def again(accepted: Sequence[str], calls: Calls) -> Iterable[tuple[str, str]]:
    """Yield the steps to ask once more, each with the form to ask for: replies that say neither or several things."""
    forms = ((META, Known(), "Yes or No"), (DIRECT, ShortText(accepted), "the answer alone, in a few words"))
    for step, field, form in forms:
        if step in calls and ended(calls[step]) is None:
            answer = read_step(calls, step, [field])["answer"]
            if answer.status in ("no_answer", "ambiguous") and not answer.withheld:
                yield step, form


# --- answers that the reader model decides ------------------------------------------------------------------------------
def _undecided(responses: pl.DataFrame) -> pl.DataFrame:
    """Return the replies in which no accepted answer is found as it is written; the published rules stay what they are."""
    held = pl.col("abstained").is_null() | (pl.col("abstained") == 0)
    wrong = responses.filter(held, status="ok", correct=0, matching="entities")
    return wrong.select("item_id", "condition", reply="output")


def _asked(item: Item, condition: str) -> Asked | None:
    question, accepted = item.question(LANGUAGE_OF[condition]), item.accepted(LANGUAGE_OF[condition])
    return Asked(question, accepted) if question and accepted else None


JUDGING = names_judging(_undecided, _asked)


# --- a row of ``metacog read selfknowledge`` ------------------------------------------------------------------------------
def read_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the replies of a row say: of ``direct`` or ``idk``, else of ``meta`` alone; raises `BadRow`."""
    accepted, calls = _accepted(row), rows.calls_of(row, prompts.STEPS, DIRECT)
    step = next((each for each in (DIRECT, IDK, PRECEDED) if each in calls), META)
    meta = reading_of(calls, META, [Known()]) if META in calls else None
    beside = {} if meta is None else {"meta": said(meta["answer"]), "meta_status": meta.status}
    if step == META:
        assert meta is not None  # a row has a reply
        return rows.result(meta, correct=None, abstained=None, **beside)
    field = ShortText(accepted or ())
    answer = reading_of(calls, step, [field])
    right = None if accepted is None else is_right(answer, accepted)
    withheld = None if answer.status == "truncated" else is_withheld(answer)
    found = rows.result(answer, correct=right, abstained=withheld, **({"meta": None} | beside))
    return found | {"answer": field.short(found["answer"]) if found["answer"] else None}


def _accepted(row: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the accepted answers of a row or of the fact it names, in its language; None without a key."""
    if given := rows.answers_of(row):
        return given
    item = rows.found_item(row, _facts())
    if item is None:
        return None
    language = row.get("lang") or row.get("language")
    if language is not None and language not in LANGUAGES:
        raise rows.BadRow(f"no language {str(language)[:20]!r}; there are: {', '.join(LANGUAGES)}")
    return tuple(answer for each in ([language] if language else LANGUAGES) for answer in item.accepted(each))


@cache
def _facts() -> Mapping[str, Item]:
    made = of_items.build({of_items.SAMPLE: of_items.sample_rows()}, of_items.SAMPLE, "all")
    return {name: item for item in made for name in (item.item_id, item.question_id)}


# --- answers collected elsewhere ----------------------------------------------------------------------------------------
class Rows(RowRules):
    """An answer and whether it was known, or the raw replies.

    The raw replies are in columns ``direct``, ``meta``, ``idk``. A ``key`` is an accepted answer, or a list of them.
    """

    condition = DUAL
    own: ClassVar = {
        "answer": ("answer", "model_answer", "prediction", "predicted", "pred", "keywords", "extracted_answer"),
        "knows": ("knows", "known", "knows_answer", "self_knowledge", "yes_no"),
    }  # fmt: skip
    made_by: ClassVar = {"answer": DIRECT, "knows": META}
    usual: ClassVar = {
        **{step: (step, f"{step}_output", f"{step}_response", f"output_{step}", f"response_{step}")
           for step in (DIRECT, META, IDK)},
        "key": ("key", "gold", "gold_answer", "answers", "aliases", "correct_answer", "ground_truth", "target"),
    }  # fmt: skip

    def questions(self, item: Item) -> Iterable[str]:
        """Return the question in every language."""
        return (text for _, text in item.questions)

    def replies(self, item: Item, condition: str, said: Mapping[str, Any]) -> dict[str, str]:
        """Return the answer as it is, and whether it was known as a bare yes or no in the language asked."""
        made: dict[str, str] = {}
        if "answer" in said:
            made[condition_steps(condition)[0]] = str(said["answer"])
        if "knows" in said and not asked_once(condition):
            value = said["knows"]
            yes = correctness(value)
            if yes is None and columns.number(value) is not None:
                raise RowError(
                    f"knows {shown(value)} is neither yes nor no; give its meaning with --map-values, or fit a "
                    "confidence with metacog fit"
                )
            made[META] = str(value) if yes is None else YES_NO[LANGUAGE_OF[condition]][1 - yes]
        if not made:
            raise RowError(f"there is no answer to item {item.item_id}")
        return made

    def agrees(self, item: Item, key: Any) -> bool:
        """Return whether the key names an accepted answer; where nothing is right, every key will do."""
        accepted = [answer for _, each in item.answers for answer in each]
        return not accepted or has_words(str(key), accepted)

    def keyed(self, item: Item) -> str:
        """Return the first accepted answer."""
        return next((answer for _, each in item.answers for answer in each), "nothing")


IMPORTER = importer_of(Rows)
