"""What a reply says: whether its answer is right, whether the answer is said to be known, whether it is withheld."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmark.contract import Flag
from metacog_pipeline.benchmarks.selfknowledge import rules
from metacog_pipeline.benchmarks.selfknowledge.construction import pipeline
from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGES, Item
from metacog_pipeline.benchmarks.selfknowledge.prompts import DIRECT, IDK, META, STEPS
from metacog_pipeline.home import Home
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import Calls, ended, read_step, reading_of, said
from metacog_pipeline.reading.envelope import Envelope, spoken
from metacog_pipeline.reading.fields import UNKNOWN, Found, YesNo
from metacog_pipeline.reading.names import ShortText
from metacog_pipeline.reading.reader import Reading
from metacog_pipeline.reading.reader import read as read_turn

# Not being sure is a no: the prompt says so.
_UNSURE = re.compile(
    r"^\W*(?:i(?:['’]m|\s+am)\s+(?:\w+\s+)?(?:not\s+(?:[\w%]+\s+)?(?:sure|certain)|unsure|uncertain)|uncertain|no\s+estoy\s+segur"
    r"|我?也?(?:不太|不是很|不)确定|확실하지\s+않)",
    re.IGNORECASE,
)


class Known(YesNo):
    """Whether the answer is said to be known: yes or no, or that nothing is known or sure."""

    def read(self, said: str) -> Found:
        """Read a yes or a no; a no in other words has no place of its own."""
        found = YesNo.read(self, said)
        unknown = found.status == "no_answer" and (UNKNOWN.match(said) or _UNSURE.match(said))
        return Found("ok", "no") if unknown else found

    find = read


# --- readings -----------------------------------------------------------------------------------------------------------
def is_right(reading: Reading, accepted: Sequence[str]) -> bool:
    """Return whether the answer that was read is one of ``accepted``."""
    answer = reading["answer"]
    return answer.status == "ok" and ShortText(accepted).right(answer.value)


def is_withheld(reading: Reading) -> bool:
    """Return whether a reply begins by saying that nothing is known, or declines to answer."""
    return reading["answer"].withheld or reading.status == "refused"


def known(reading: Reading) -> Flag:
    """Return 1 or 0 for what is said to be known, None for neither; who declines to answer claims nothing."""
    value = said(reading["answer"])
    return int(value == "yes") if value is not None else 0 if reading.status == "refused" else None


# --- texts, by rule -----------------------------------------------------------------------------------------------------
def matches(text: str, accepted: Sequence[str], rule: rules.Rule = "entities") -> bool:
    """Return whether the answer of ``text`` is one of ``accepted``."""
    if rule != "entities":
        return rules.RULES[rule](spoken(text), accepted)
    return is_right(read_turn(Envelope.of(text), [ShortText(accepted)]), accepted)


@lru_cache(4_096)  # training reads tens of thousands of replies in every generation, most of them one word
def says_known(text: str, language: str = "en", rule: rules.YesNoRule = "default") -> Flag:
    """Return 1 or 0 for what ``text`` says to be known; None where it says neither."""
    if rule == "reference":
        return int(rules.says_yes(spoken(text), language))
    if rule == "strict":
        return rules.first_word(spoken(text), language)
    return known(read_turn(Envelope.of(text), [Known()]))


def abstains(text: str, accepted: Sequence[str] = (), rule: rules.YesNoRule = "default") -> bool:
    """Return whether ``text`` withholds an answer."""
    if rule != "default":
        return rules.abstains(spoken(text))
    return is_withheld(read_turn(Envelope.of(text), [ShortText(accepted)]))


_FORMS = {META: "Yes or No", DIRECT: "the answer alone, in a few words"}
_UNREAD = ("no_answer", "ambiguous")


def again(accepted: Sequence[str], calls: Calls) -> Iterable[tuple[str, str]]:
    """Yield the steps to ask once more, each with the form to ask for: replies that say neither or several things."""
    for step, field in ((META, Known()), (DIRECT, ShortText(accepted))):
        if step in calls and ended(calls[step]) is None:
            answer = read_step(calls, step, [field])["answer"]
            if answer.status in _UNREAD and not answer.withheld:
                yield step, _FORMS[step]


# --- a row of ``metacog read selfknowledge`` ------------------------------------------------------------------------------
def read_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the replies of a row say: of ``direct`` or ``idk``, else of ``meta`` alone; raises `BadRow`."""
    accepted, calls = _accepted(row), rows.calls_of(row, STEPS, DIRECT)
    step = next((each for each in (DIRECT, IDK) if each in calls), META)
    meta = reading_of(calls, META, [Known()]) if META in calls else None
    beside = {} if meta is None else {"meta": said(meta["answer"]), "meta_status": meta.status}
    field = ShortText(accepted or ())
    answer = reading_of(calls, step, [field]) if step != META else None
    if answer is None:
        assert meta is not None  # a row has a reply
        return rows.result(meta, correct=None, abstained=None, **beside)
    keyed = None if accepted is None else is_right(answer, accepted)
    withheld = None if answer.status == "truncated" else is_withheld(answer)
    found = rows.result(answer, correct=keyed, abstained=withheld, **({"meta": None} | beside))
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
    made = pipeline.items_of(pipeline.load_parts(Home(Path()), "sample", "all"), "sample", "all")
    return {name: item for item in made for name in (item.item_id, item.question_id)}
