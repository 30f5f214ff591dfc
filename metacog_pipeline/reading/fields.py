"""The fields that a benchmark asks for, each with how it is read: a value, or a status that says why there is none."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from metacog_pipeline.reading.envelope import unboxed
from metacog_pipeline.reading.numbers import BETWEEN, TAKES_BACK, Quantity, in_unit, meant, numbers, of_kind
from metacog_pipeline.reading.records import decoded, objects, supposed

Status = Literal["ok", "ambiguous", "no_answer", "refused", "truncated", "out_of_range", "not_read"]


@dataclass(frozen=True, slots=True)
class Found:
    """One field of a reply: its ``value`` where ``status`` is ok, and the place in the turn that it was read from."""

    status: Status
    value: Any = None
    start: int = -1
    end: int = -1
    # it is of the reply to the second ask
    again: bool = False
    withheld: bool = False  # it says that nothing is known


NOTHING = Found("no_answer")
WITHHELD = Found("no_answer", withheld=True)
AMBIGUOUS = Found("ambiguous")


class Field(Protocol):
    """What is asked for under ``name``: answer, decision, confidence, bet.

    ``read`` reads the value behind that name, ``find`` finds it in a turn that gives it no name; places count from the
    first character of the text.
    """

    @property
    def name(self) -> str: ...
    def read(self, said: str) -> Found: ...
    def find(self, text: str) -> Found: ...


#: A text that begins by saying that nothing is known, an apology before it included.
UNKNOWN = re.compile(
    r"(?i)^\W*(?:(?:i['’]?\s?a?m\s+(?:so\s+|very\s+)?(?:sorry|afraid)|sorry|honestly|unfortunately|lo\s+siento|lamentablemente|抱歉|对不起|很遗憾"
    r"|죄송(?:합니다|하지만)|글쎄요|잘)[\s,.，。]*(?:but\s+|that\s+|pero\s+)?)?"
    r"(?:i\s+(?:really\s+|honestly\s+)?(?:do\s?n['’]?t|do\s+not|cannot|can['’]?t)\s+(?:know|say|tell|determine|verify|answer)"
    r"|i(?:\s+am|['’]m)\s+(?:not\s+able|unable)\s+to\s+(?:know|say|tell|determine|verify|answer)"
    r"|(?:i\s+(?:really\s+|honestly\s+)?have\s+)?no\s+idea"
    r"|(?:(?:it|this|that|the\s+question)\s+)?(?:cannot|can['’]t|can\s+not)\s+be\s+(?:answered|determined|known|verified|computed)"
    r"|(?:there\s+is\s+)?(?:insufficient|not\s+enough)\s+(?:information|data)|unanswerable|undetermined|not\s+(?:answerable|determinable)"
    r"|i(?:\s+am|['’]m)\s+not\s+aware\s+of|there\s+is\s+no\s+(?:record|way\s+to)|none$|not\s+sure|unknown\b|unsure|n/?a\b|none\s+given"
    r"|no\s+(?:lo\s+)?s[ée]\b|(?:lo\s+)?desconozco\b|desconocido\b|ich\s+weiß\s+(?:es\s+)?nicht|weiß\s+ich\s+nicht|je\s+ne\s+sais\s+pas"
    r"|i(?:['’]d|\s+would)?\s+(?:rather|prefer)\s+(?:to\s+)?not|(?:i(?:['’]ll|\s+will)?\s+)?(?:abstain|skip|pass)\W*$"
    r"|我?(?:不知道|不清楚)|모르겠|모릅|몰라|모름)"
)
#: A text that begins by declining to answer.
REFUSED = re.compile(
    r"(?i)^\W*(?:i['’]?\s?a?m\s+(?:so\s+|very\s+)?sorry|sorry|i\s+apologi[sz]e|i(?:\s+(?:cannot|can['’]t|can\s+not|won['’]t)"
    r"|(?:\s+am|['’]m)\s+(?:not\s+able|unable)\s+to)"
    r"\s+(?:\w+\s+){0,3}?(?:help|assist|answer|provide|give|share|disclose|comply|decide|discuss|take\s+part|participate|do)"
    r"|as\s+an\s+ai\b[^.]{0,80}\b(?:cannot|can't|unable)|lo\s+siento|es\s+tut\s+mir\s+leid|das\s+(?:darf|kann)\s+ich\s+(?:leider\s+)?nicht"
    r"|désolé|抱歉|对不起|죄송)"
)


def simple(text: str) -> str:
    """Return ``text`` for comparing names: no accents, case, leading article, punctuation or markup; initials in one."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    said = " ".join(re.sub(r"[\W_]+", " ", re.sub(r"(?<=\w)['’](?=s\b)", "", bare)).split())
    words = _INITIALS.sub(lambda found: found[0].replace(" ", ""), said).split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in _ARTICLES else words)


_INITIALS = re.compile(r"\b[a-z](?: [a-z])+\b")
_ARTICLES = frozenset(("the", "a", "an", "la", "el", "le", "les", "los", "las", "der", "die", "das"))
_MARKUP = " \t\n*_.,;:!()[]<>\"'`$\\{}~|"


# --- one of several options ---------------------------------------------------------------------------------------------
# What may follow a letter that is no word: its end, a sign, or the reason.
_AFTER = (
    r"(?=[ \t]*(?:$|[).,;:!\]*\"'<>\n($}|/]|-\s|[\u3040-\u9fff\uac00-\ud7a3])|[ \t]+(?:is|because|since|as|seems|would"
    r"|over|with|at|for|due|given|based|and|or|are|were|both|which|that|though|but|not|here|confidence)\b)"
)
_STATED = re.compile(
    r"(?i:answer|choice|option|response|choose|pick|select|go(?:ing)?\s+with|respuesta|correcta|opción|antwort|réponse|答案|选项|답)"
    r"(?i:[ \t]*(?:\b(?:is|would\s+be|must\s+be|should\s+be|option|letter|with|the|es|la|ist|est)\b|[:是은]))*"
    rf"[ \t$]*[(\[<\"'*:]*([A-Z])(?i:{_AFTER})"
)
# A letter by itself: at the beginning, after a sign or one of these words, never inside a name ("hepatitis B"). Blanks
# before it are bounded: each of a thousand dollar signs would look to the end of them all.
_MENTION = re.compile(
    r"(?:^|[\n(\[*\"',:;>→$]|-[ \t]|\b(?i:options?|answer|choice|letter|either|both|but|is|be|for|with|pick|choose|select"
    rf"|say|towards?|than|on|to|or|and|between|leaves|leaving)[ \t]+)[ \t$]{{0,40}}([A-Z])(?i:{_AFTER})"
)
_LEADS = re.compile(rf"(?s)\W*([A-Z])(?i:{_AFTER})\W*(.*)")
# Behind a letter that is one of several: "A or B", "A, B and C", "A and possibly B", "B... no, sorry, C".
_ANOTHER = re.compile(
    r"[\W_]{0,4}(?:,|/|&|\b(?:or|and|vs|no|wait|sorry|rather|actually))[\W_]{0,3}"
    r"(?:(?:possibly|maybe|also|option|wait|sorry)[\W_]+)?([A-Z])\b(?!')"
)
_DENIED = re.compile(
    r"(?i)(?:\b(?:not|cannot|than|instead\s+of|rul\w+\s+out|exclud\w+|eliminat\w+|doubt)|n['’]t)"
    r"(?:\s+(?:think|believe|that|be|the|correct|right|option|answer|choice|is))*[\s(\[*]*$"
)
_BOLD = re.compile(r"\*\*([^*\n]{1,80})\*\*")
_WRONG = re.compile(
    r"(?i)[)\]*\s]*(?:-\s*)?(?:(?:is|would\s+be|was|seems|looks)\s+)?"
    r"(?:not|no|wrong|incorrect|unlikely|less\s+likely|excluded|ruled\s+out|out|does\s*n[o']t|can(?:no|')t)\b"
)


@dataclass(frozen=True, slots=True)
class Letter:
    """One of several ``options``, text by letter: by its letter or its text."""

    options: Mapping[str, str]
    name: str = "answer"

    def read(self, said: str) -> Found:
        whole = said.strip(_MARKUP)
        if whole.upper() in self.options:
            return Found("ok", whole.upper(), said.index(whole), said.index(whole) + 1)
        if letter := self._named(whole):
            return Found("ok", letter, 0, len(said))
        if len(whole) == 1 and whole.isalpha():
            return Found("out_of_range")
        if UNKNOWN.match(whole) and not REFUSED.match(whole):
            own = [letter for letter, option in self.options.items() if UNKNOWN.match(option)]
            return Found("ok", own[0], 0, 1) if len(own) == 1 else WITHHELD
        leads, found = _LEADS.match(whole), self.find(said)
        if leads is None or leads[1] not in self.options:
            return found
        # the text or the letter of another option
        named = self._named(leads[2]) or found.value
        return found if named in (None, leads[1]) else AMBIGUOUS

    def find(self, text: str) -> Found:
        """Find the letter that a text states last, else the only one it mentions, else the only option it names."""
        found = self._undenied(_STATED, text)[-1:] or self._undenied(_MENTION, text)
        if found:
            another = _ANOTHER.match(text, found[-1].end(1))
            letters = {each[1] for each in (*found, another) if each and each[1] in self.options}
            return AMBIGUOUS if len(letters) > 1 else Found("ok", found[-1][1], *found[-1].span(1))
        within = f" {simple(text)} "
        bold = {letter for each in _BOLD.findall(text) if (letter := self._named(each))}
        named = [*bold] or [k for k, option in self.options.items() if f" {simple(option) or '-'} " in within]
        if len(named) == 1:
            return Found("ok", named[0], 0, len(text))
        return AMBIGUOUS if named else WITHHELD if UNKNOWN.match(text) else NOTHING

    def _undenied(self, pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
        return [
            each
            for each in pattern.finditer(text)
            if each[1] in self.options
            and not _DENIED.search(text, max(0, each.start(1) - 40), each.start(1))
            and not _WRONG.match(text, each.end(1))
        ]

    def _named(self, said: str) -> str | None:
        """Return the only option whose text is ``said``; "none of these" is the only one that begins so."""
        mine = _as_option(said)
        found = [letter for letter, option in self.options.items() if mine and _as_option(option) == mine]
        return found[0] if len(found) == 1 else None


def _as_option(text: str) -> str:
    """Return ``text`` for comparing options: true and yes are one, and so is all that begins with "none of"."""
    said = {"yes": "true", "no": "false"}.get(simple(text), simple(text))
    return "none of" if said.startswith("none of") else said


# --- one of two decisions -----------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Binary:
    """One of two decisions, 0 or 1, by its digit or one of its words; ``labels`` are the words of each."""

    labels: Mapping[str, Sequence[str]]
    name: str = "decision"

    def read(self, said: str) -> Found:
        bare = said.strip(_MARKUP).removesuffix(".0")
        if re.fullmatch(r"-?\d+(?:\.\d+)?", bare) and bare not in self.labels:
            return Found("out_of_range")
        if not re.search(r"\b(?:0|1|zero|one)\b", bare, re.IGNORECASE):
            return self.find(said)
        return self._only(bare, {"0": ("0", "zero"), "1": ("1", "one")})

    def find(self, text: str) -> Found:
        return self._only(text, {})

    def _only(self, text: str, digits: Mapping[str, Sequence[str]]) -> Found:
        """Return the only decision that is named; a text that asks, or speaks of whether, names none."""
        if re.search(r"\b(?:whether|either|not\s+[01])\b|\?|\d\.\d", text, re.IGNORECASE):
            return NOTHING
        left, found = f" {simple(text)} ", set()
        named = [*self.labels.items(), *digits.items()]
        listed = [(simple(word), digit) for digit, words in named for word in words]
        for word, digit in sorted(listed, key=lambda each: -len(each[0])):
            if f" {word} " in left:
                found.add(int(digit))
                # "no signal" hides "signal"
                left = left.replace(f" {word} ", "  ")
        if len(found) == 1:
            return Found("ok", found.pop(), 0, len(text))
        return AMBIGUOUS if found else NOTHING


# A group names what it says: of a match `lastgroup` is the answer.
_BEGINS = re.compile(
    r"(?i)^\W*(?:(?P<no>(?:no(?!\.?\s?\d|\s+(?:doubt|question|wonder)\b)|n|nope|false|nein|non|não|definitely\s+not|否|不|不是的?|아니요|아니오"
    r"|아뇨|i\s+do\s*n['’]?o?t|i\s+would\s+say\s+no)(?!\w)|我?不知道)"
    r"|(?P<yes>yes|y|yeah|yep|true|sí|si|ja|oui|sim|是|是的|对|예(?:입니다)?|네(?=\s*(?:[,.!?，。]|$)|\W*$)|i\s+would\s+say\s+yes"
    r"|i\s+do\b(?!\s*n[o']t)(?!\s+\w)|(?:of\s+course\s+)?i\s+(?:do\s+)?know\s+(?:it|this|that|the\s+answer)"
    r"|(?:sí\W+)?lo\s+sé|claro\s+que\s+sí|我?(?:当然)?知道|(?:물론\s+|잘\s+)?알고\s+있\w*)(?!\w))"
)
_ENDS = re.compile(
    r"(?i)(?::|\bis|\b(?:to|would|i['’]d|must)\s+say)\s*[*_\"']{0,3}(?:(?P<yes>yes)|(?P<no>no))\W*$"
)
_BOTH = re.compile(
    r"(?i)\b(?:yes\s*(?:and|or|/|\|)\s*no|no\s*(?:and|or|/|\|)\s*yes|s[ií]\s*(?:y|o|/)\s*no)\b|是\s*(?:/|或|和)\s*(?:否|不是)|예\s*/\s*아니"
)
_BARE = re.compile(
    r"(?i)(?:(?:so|then|i['’]d\s+(?:have\s+to\s+)?say|i\s+(?:have\s+to|must|would)\s+say|my\s+answer|actually|así\s+que|所以|그래서)\s+)?"
    r"(?:(?P<yes>yes|sí|si|ja|oui|是|예|네)|(?P<no>no|nein|non|否|不是|아니요|아니오))"
)
_CLAUSE = re.compile(r"[^.,;:!?\n。，；：！？]+")


@dataclass(frozen=True, slots=True)
class YesNo:
    """``yes`` or ``no``: a text begins with it, ends by stating it, or holds it as a clause of its own."""

    name: str = "answer"

    def read(self, said: str) -> Found:
        text = unboxed(said).replace("$", " ")
        if _BOTH.search(text):
            return AMBIGUOUS
        begins, ends = _BEGINS.match(text), _ENDS.search(text)
        if ends and not begins:
            return _side(ends)
        stated = [*([_side(begins)] if begins else []), *_alone(text)]
        if len({each.value for each in stated}) > 1:
            return stated[-1] if begins and TAKES_BACK.search(text, stated[0].end) else AMBIGUOUS
        return stated[0] if stated else NOTHING

    find = read


def _side(found: re.Match[str], shift: int = 0) -> Found:
    side = found.lastgroup or ""
    return Found("ok", side, shift + found.start(side), shift + found.end(side))


def _alone(text: str) -> Iterator[Found]:
    """Yield each yes and no that is a clause of its own."""
    for clause in _CLAUSE.finditer(text):
        bare = clause[0].strip(" \t*_\"'()[]-")
        found = _BARE.fullmatch(bare)
        # "No. 5" is a number
        if found and not re.match(r"\.\s?\d", text[clause.end() :]):
            yield _side(found, clause.start() + clause[0].index(bare))


# --- numbers ------------------------------------------------------------------------------------------------------------
_VAGUE = re.compile(
    r"(?i)\b(?:few|several|many|dozens|hundreds|thousands|millions|or\s+so)\b"
    r"|\b(?:about|around|roughly)\s+an?\s+(?:dozen|hundred|thousand|million)\b"
)
_RESULT = re.compile(
    r"(?i)\b(?:answer|result|total|it|that)(?:\s+(?:is|was|would\s+be|equals|makes)|\s*=)\s+([^\n]{1,60})"
)
# A sentence about how sure the model is: its number is no answer.
_SURE_SENTENCE = re.compile(
    r"(?i)(?<=[.!?。\n])[^.!?。\n]*(?:\b(?:sure|confiden\w*|certain\w*|sicher|segur\w+|sûr\w*)\b|把握|확신)[^.!?。\n]*"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number, of a calculation its result, in ``unit``; where a ``whole`` one is asked for 284.895 is grouped."""

    unit: str | None = None
    name: str = "answer"
    whole: bool = False

    def read(self, said: str) -> Found:
        bare = _SURE_SENTENCE.sub(lambda found: " " * len(found[0]), unboxed(said))
        # the exact value precedes its rounding
        bare = re.split(r"(?<=\d)\s*(?:≈|~=)", bare)[0]
        if UNKNOWN.match(bare):
            return WITHHELD
        if _VAGUE.search(bare):
            return NOTHING
        found = [*numbers(bare)]
        if len({round(in_unit(each, self.unit), 12) for each in found}) < 2:
            return self._of(found[0], bare) if found else NOTHING
        between = bare[found[0].end : found[1].start + (bare[found[1].start :].lstrip()[0] == "-")]
        ranged = BETWEEN.fullmatch(between) or re.search(r"\bbetween\b", bare, re.IGNORECASE)
        if ranged and "=" not in bare:
            return AMBIGUOUS
        if bare.rstrip(" .$").endswith("="):
            return NOTHING  # the result is missing
        one = meant(bare, found, self.unit)
        return AMBIGUOUS if one is None else self._of(one, bare)

    def find(self, text: str) -> Found:
        if re.search(r"(?:[,:=(]|\bi\.e\.|\be\.g\.)\s*$", text):
            return NOTHING  # it breaks off before the result
        stated = [*_RESULT.finditer(text)]
        if stated:
            return self.read(re.split(r"[,(]\s", stated[-1][1])[0])
        lines = [line for line in text.strip().splitlines() if line.strip()]
        return self.read(lines[0]) if lines and len(lines[0]) <= 60 else NOTHING

    def _of(self, quantity: Quantity, said: str) -> Found:
        value = in_unit(quantity, self.unit)
        if of_kind(quantity, self.unit) is False:
            return NOTHING
        stated = said[quantity.start : quantity.end].strip()
        if self.whole and re.search(r"\d\s?/\s?\d", stated):
            return AMBIGUOUS  # 1905/1906 are two
        if self.whole and value == quantity.value and re.match(r"[-+]?[1-9]\d{0,2}\.\d{3}(?![\d.])", stated):
            value *= 1000
        if not math.isfinite(value):
            return Found("out_of_range")
        return Found("ok", value, quantity.start, quantity.end)


_OF_TOP = re.compile(
    r"(?i)(?<![\d.,/])(\d+(?:[.,]\d+)?)\s*(?:/|\(?\s*out\s+of|of|von|sur|de|\(?\s*on\s+a\s+scale\s+of\s+[01]\s*(?:-|to))"
    r"\s*(\d+)\b(?!/)"
)
# of which a share is stated, on any scale
_WHOLES = (5, 10, 100)
_NUMBER = r"(?<!\d)\d{1,9}(?:[.,]\d{1,9})?"
_STATES_SURE = (
    r"(?<!\d)(\d{1,9})\s+on\s+a\s+scale\s+of\b",
    rf"({_NUMBER}\s?(?:%|/\s*\d+|out\s+of\s+\d+))\s*(?:for\s+)?(?:confiden|sure|certain|likely)",
    r"(?:confiden\w*|sure|certain\w*|segur[oa]|sicher|sûre?)\W{1,4}(?:(?:is|of|at|al?|zu|à)\s+)?(?:about\s+|around\s+|roughly\s+)?\W{0,3}"
    rf"({_NUMBER}\s?%?(?:\s*(?:/|out\s+of)\s*\d+)?)",
)


@dataclass(frozen=True, slots=True)
class Confidence:
    """A number from ``low`` to ``high``, as stated: ``4``, ``4/5``, ``~85 %``; with ``whole`` 4.5 is out of range.

    With ``named`` only one under its name counts; with ``shares`` 0.9 is 90: a decimal mark without a sign of percent.
    """

    low: float
    high: float
    name: str = "confidence"
    whole: bool = False
    named: bool = False
    shares: bool = False

    def read(self, said: str) -> Found:
        bare = re.sub(r"^[~≈<\[(\s]+|[>\])\s.]+$", "", said.strip(" \t*_"))
        if of := _OF_TOP.search(bare):
            stated, top = float(of[1].replace(",", ".")), float(of[2])
            if top != self.high and not (self.low == 0 and top in _WHOLES):
                return Found("out_of_range", stated if math.isfinite(stated) else None)
            return self._within(stated * self.high / top, said, percent=False)
        found = [*numbers(bare.replace(",", ".") if re.match(r"^0,\d+$", bare) else bare)]
        if not found:
            return NOTHING
        if len(found) > 1 and BETWEEN.fullmatch(bare[found[0].end : found[1].start]):
            return AMBIGUOUS
        percent = found[0].unit in ("%", "percent") or bool(re.match(r"\s*per\s?cent", bare[found[0].end :]))
        return self._within(found[0].value, said, percent=percent)

    def _within(self, value: float, said: str, *, percent: bool) -> Found:
        if percent and self.high == 1:
            value /= 100
        elif percent and self.high != 100:
            return Found("out_of_range")
        inside = self.low <= value <= self.high and not (self.whole and value % 1)
        if self.shares and inside and value <= 1 and re.search(r"[.,]\d", said) and "%" not in said:
            value = round(100 * value, 10)
        kept = value if math.isfinite(value) else None
        return Found("ok" if inside else "out_of_range", kept, 0, len(said))

    def find(self, text: str) -> Found:
        ends = rf"(?:[,;:(]|\bat\b)\s*({_NUMBER}\s?(?:/|out\s+of)\s*{self.high:g})\)?[.!]?\s*$"
        for pattern in () if self.named else (*_STATES_SURE, ends):
            for found in re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE):
                if not supposed(text, found.start()):
                    read = self.read(found[1])
                    return Found(read.status, read.value, found.start(1), found.end(1))
        return NOTHING


_STATES_BET = re.compile(
    r"(?i)\b(?:bet|wager|stake)\s+(?:is\s+|of\s+|at\s+|about\s+|around\s+|only\s+|just\s+)?\W{0,3}(\d{1,9}(?:[.,]\d{1,9})?)"
)
_COUNTED = re.compile(r"(?i)\b(\d{1,3})\s+(?:tokens|chips)\b")
_ALL = re.compile(r"(?i)\W*(?:all[ -]in|everything|all(?:\s+of)?\s+(?:it|my\s+\w+|\d+\s+tokens))\b")
_NONE = re.compile(r"(?i)\W*(?:nothing|none|no\s+tokens)\b")


@dataclass(frozen=True, slots=True)
class Bet(Confidence):
    """A stake from ``low`` to ``high``; of ``tokens`` it may be all or none, but no part of one."""

    name: str = "bet"
    tokens: bool = False

    def read(self, said: str) -> Found:
        for words, value in ((_ALL, self.high), (_NONE, self.low)):
            if self.tokens and words.match(said):
                return Found("ok", value, 0, len(said))
        found = Confidence.read(self, said)
        part = self.tokens and found.status == "ok" and 0 < found.value < 1
        return Found("out_of_range") if part else found

    def find(self, text: str) -> Found:
        found = _STATES_BET.search(text) or (_COUNTED.search(text) if self.tokens else None)
        return NOTHING if found is None else self.read(found[1])


# --- several fields at once ---------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Fields:
    """The values of one JSON object, or of lines, by the names asked for: ``names`` maps what else they may be called."""

    names: Mapping[str, str]
    name: str = "fields"

    def read(self, said: str) -> Found:
        known = {_key(other): name for other, name in self.names.items()}
        best: dict[str, Any] = {}
        lines = {key: value.strip(" *_`") for key, value in _NAMED_LINE.findall(said)}
        given = [each for data, *_ in decoded(said) for each in objects(data)]
        for each in given or ([lines] if len(lines) > 1 else []):
            mine = {known[_key(key)]: value for key, value in each.items() if _key(key) in known}
            # most of the names count, of several objects the last
            if len(mine) >= max(1, len(best)):
                best = mine
        return Found("ok", best, 0, len(said)) if best else NOTHING

    find = read


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


_NAMED_LINE = re.compile(
    r"(?m)^[ \t>*_|`-]{0,8}([A-Za-z][\w -]{0,40}?)[ \t*_`]{0,6}[:=|][ \t*_]{0,6}([^\n|]{1,400})"
)
