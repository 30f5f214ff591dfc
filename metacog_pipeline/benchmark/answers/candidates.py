"""The numbers of a text as candidates for its answer, each with its rank.

====  ============================================================================================
rank  role
====  ============================================================================================
5     behind a mark of the end: "so", "in total", "the answer is", a box
4     main clause
3     a later sentence of a labelled answer, a subordinate clause, an earlier member of an equation
2     in brackets; a value that is computed with later on
1     context: a year, a source, a page, another quantity than the one asked for
0     working, denied, taken back
====  ============================================================================================
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from metacog_pipeline.benchmark.answers.clauses import Places, subordinate
from metacog_pipeline.benchmark.answers.number_words import numbers, spanish
from metacog_pipeline.benchmark.answers.numbers import MAGNITUDE, MAGNITUDES
from metacog_pipeline.benchmark.answers.question import Question, stems
from metacog_pipeline.benchmark.answers.text import uncased
from metacog_pipeline.benchmark.answers.units import Unit, unit_after, unit_before

MOST = 80  # numbers of a text that are looked at: half of them at either end
FINAL, MAIN, LATER, BRACKET, CONTEXT, WORKING = 5.0, 4.0, 3.0, 2.0, 1.0, 0.0

_MONTH = (
    r"(?:jan(?:uary|\.)?|feb(?:ruary|\.)?|mar(?:ch|\.)?|apr(?:il|\.)?|may|june?\.?|july?\.?|aug(?:ust|\.)?"
    r"|sept?(?:ember|\.)?|oct(?:ober|\.)?|nov(?:ember|\.)?|dec(?:ember|\.)?|enero|febrero|marzo|abril|mayo|junio"
    r"|julio|agosto|septiembre|octubre|noviembre|diciembre)"
)
_DATE = re.compile(
    rf"(?P<a>[12]\d{{3}})-\d{{1,2}}-\d{{1,2}}(?!\d)|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of| de)? {_MONTH},?(?:"
    rf" de)? (?P<b>[12]\d{{3}})\b"
    rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? (?P<c>[12]\d{{3}})\b|(?P<d>[12]\d{{3}}) ?[年년]"
    rf" ?(?:\d{{1,2}} ?[月월] ?(?:\d{{1,2}} ?[日일])?)?"
    rf"|\b\d{{1,2}}/\d{{1,2}}/(?P<e>[12]\d{{3}})\b|\b{_MONTH} (?P<f>[12]\d{{3}})\b|\b\d{{1,2}}(?:st|nd|rd"
    rf"|th)? (?:of )?{_MONTH}\b",
    re.IGNORECASE,
)
_DAYS = 31
_GROUPS = {"": 1, **MAGNITUDES}
_WHOLE = re.compile(rf"([-+]?\d[\d ]*?)(?:[ -]?({MAGNITUDE}))?", re.IGNORECASE)
_GROUP_OF_THREE = re.compile(r"\d{1,3}\.\d{3}")
_EQUALS = re.compile(
    r"=>?|≈|≡|≃|→|⇒|->|\bequals\b|\bis equal to\b"
    r"|∴|(?:^|(?<=\d))\s*\b(?:is|makes)\s*$"
)
_OPERATOR = re.compile(
    r"(?:[×*·+÷/^√⋅]|(?<=\s)-|\b(?:times|plus|minus|multiplied by|divided by)|^\W*(?:over|by|x|mal|por|más"
    r"|menos|entre))[\s(\[]*$",
    re.IGNORECASE,
)
_NAMED_OPERAND = re.compile(r"[(\[,]\s{0,3}[^\W\d]\w{0,30}\s?[×*·+÷/^√⋅-]\s?$")  # "5 hours (noon + 5)"
_ONE_IN = re.compile(r"[ -](?:in|out of|von|de cada)[ -](?:every )?", re.IGNORECASE)
_RANGE = re.compile(
    r"[^\d,;=]{0,12}?(?:-|~| to | until | till | through | and |\bhasta\b| a |至|到|에서)\s*\Z"
)
_DENIED = re.compile(
    r"(?:\b(?:not|never|nor|rather than|instead of|and no|neither)|n't|不是|并非"
    r"|no es|no son)\s*(?:(?:be|equal to|exactly|quite"
    r"|really|the|an?|about|just|merely|=) ){0,2}$",
    re.IGNORECASE,
)
_FINAL = re.compile(
    r"\b(?:so|thus|hence|therefore|total(?:s|ling|ing)?|totals? of|altogether|in total|in all|overall|com(?:es"
    r"|ing) (?:out )?to|gives?|giving|makes?|making|yields?|leaves?|leaving|adds? up to|sums? to|result(?: is)?"
    r"|(?:final |correct |my )?answer(?: is| would be|:)?|final(?:ly)?|conclusion|así que|por (?:lo )?tanto|en total"
    r"|total|la respuesta es|el resultado es|in fact|i\.e|that is|that makes)\b|∴|因此|所以|答案(?:是|为)?|总共|一共"
    r"|共有|共(?=\d)|따라서|그러므로|답은|총",
    re.IGNORECASE,
)
_FINAL_AFTER = re.compile(
    r"[\w°²³/ ]{0,24}?\b(?:in total|altogether|in all|overall|en total|is (?:the|my) (?:final )?answer)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:\b(?:step|case|part|method|option|figure(?! is)|fig|table|chapter|section|eq|equation|line|row|column|note"
    r"|ref|question|problem|example|vol|volume|pages?|pp?|issue|article|nature|group|period|place|position|zr-?|mod"
    r"|modulo|of|among|out of|for|doi|issn|isbn|at km|km)\.?|[#§\[±])\s*(?:is )?$",
    re.IGNORECASE,
)
_YEARISH = re.compile(
    r"\b(?:in|as of|since|from|by|until|dated?|of|census|early|late|the|over|for"
    r"|circa|year|around|vs|and|U\.?S\.?)\s*$|[(\[,]\s*$",
    re.IGNORECASE,
)
_SURE_AFTER = re.compile(
    r"[\s%]*(?:percent )?(?:of (?:my )?)?(?:confiden\w*|certain(?:ty)?|sure|tokens?)\b", re.IGNORECASE
)
_SURE_BEFORE = re.compile(
    r"\b(?:confiden\w*|certain(?:ty)?|sure|bet|stake|wager)\b[\s:=~]{0,3}(?:(?:is|of|at|about) ){0,2}$",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:[~≈≃]|\b(?:about|roughly|approx\w*\.?|around|circa|ca\.|nearly|almost|some|say|over))\s*$",
    re.IGNORECASE,
)
_APPROXIMATELY = re.compile(r"\b(?:about|approx\w*|roughly|around|circa|exactly)\b", re.IGNORECASE)
_DECADE = re.compile(r"[12]\d\d0'?s\b")
_CLAUSE = re.compile(
    r",(?!\d{1,3}(?!\d))|:(?!\d)|[;\n。；，、！？|()（）]|[.!?](?=\s|$)| [-–—] | (?:and"
    r"|but|while|whereas|y|pero|mientras"
    r"|then|so) |而|但|그리고|이고|이며"
)
_DIVIDED = re.compile(r"(?:=\s*\(?[\d,. ]+[·×*⋅][\d,. ]+\)?\s*\+|\d R)\s*(?P<left>\d[\d,]*)(?!\s*[×*·]|\d)")
_BARE = re.compile(r"\s*(?:[-–—.,;:=≈\n]|\(?\s*=|\((?:[^()]*\d|i\.e|or |that is)|\Z)")
_RATE = re.compile(
    r"(?:/|\b(?:per|an?|each|every|el|por|por cada|pro|cada) |每) ?(?:kg|kilos?|kilogramo?s?|m|metres?"
    r"|hours?|h|l|litres?|公斤|千克)\b",
    re.IGNORECASE,
)
_RATE_BEFORE = re.compile(r"\b(?:each|every|per|one|a) (?:kg|kilo\w*)[^.;\d]{0,16}$|每公斤$", re.IGNORECASE)
_NOTE = re.compile(r" ?\(([^()\d]{3,60})\)")
_MY_WORK = re.compile(
    r"\W*I(?:'ve| have)? (?:\w+ )?(?:check|verif|work|us|tr(?:y|ied)|did|re-?check|re-?did|went|double)\w*\b"
)
_PRONOUN = re.compile(r"\W*(?:it|this|they|he|she)\b", re.IGNORECASE)
_OWN = re.compile(r"\W*(?:the )?[A-Z]")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|º|ª|\.º)\b")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One number: its value in ``unit``, how it is written, its rank; ``low`` and ``high`` of a range."""

    value: Fraction
    start: int
    end: int
    rank: float
    unit: Unit | None = None
    step: Fraction = Fraction(0)
    low: Fraction | None = None
    high: Fraction | None = None
    parts: tuple[Fraction, Fraction] | None = None
    is_date: bool = False

    def same(self, other: Candidate) -> bool:
        """Return whether two values are one, the coarser of them rounded."""
        if self.value == other.value or (not self.step and not other.step):
            return self.value == other.value
        step = max(self.step, other.step)
        return abs(self.value - other.value) <= step / 2


def candidates(
    text: str, question: Question, emphasised: Sequence[tuple[int, int]] = (), *, labelled: bool
) -> list[Candidate]:
    """Return the numbers of a prepared text, ranked, in their order; behind a correction only what follows it."""
    places = Places(text)
    found = _in_asked_unit(_merged(text, _found(text, question), asks_share=question.asks_share), question)
    ranked = _ranges(text, _equations(text, places, found), question)
    ranked = [_in_context(each, text, places, question, labelled=labelled) for each in ranked]
    ranked = _with_marks(text, places, ranked, labelled=labelled)
    marked = any(each.rank == FINAL for each in ranked)
    if question.asks_remainder and (left := _DIVIDED.search(text)) is not None:
        ranked = [
            replace(each, rank=FINAL if left.start("left") <= each.start < left.end("left") else WORKING)
            if left.start() <= each.start < left.end() else each
            for each in ranked
        ]  # fmt: skip
    bold = [i for i, each in enumerate(ranked) if _emphasised(each, emphasised)]
    if len(bold) == 1 < len(ranked) and ranked[bold[0]].rank > BRACKET:
        ranked[bold[0]] = replace(ranked[bold[0]], rank=ranked[bold[0]].rank + 0.4)
    several = len({each.value for each in ranked if each.rank >= BRACKET}) > 1
    ranked = [_favoured(each, text, question, emphasised, several=several) for each in ranked]
    if several and not marked:
        ranked = _by_clause(text, places, ranked, question)
    cut = places.corrected_from()
    if cut > 0 and any(each.start >= cut and each.rank >= LATER for each in ranked):
        return candidates(" " * cut + text[cut:], question, emphasised, labelled=labelled)
    return ranked


def _found(text: str, question: Question) -> list[Candidate]:
    """Return every number; a date counts as its year."""
    dates = [
        (found.start(), found.end(), next((year for year in found.groups() if year), None))
        for found in _DATE.finditer(text)
    ]
    made = [
        Candidate(Fraction(int(year)), start, end, MAIN, is_date=True) for start, end, year in dates if year
    ]
    is_spanish = spanish(text)
    taken = [(start, end) for start, end, _ in dates]
    said = numbers(text)
    if len(said) > MOST:
        said = said[: MOST // 2] + said[-MOST // 2 :]
    at = 0
    for number in said:
        while at < len(taken) and taken[at][1] <= number.start:
            at += 1
        if at < len(taken) and taken[at][0] < number.end:
            continue
        if _DECADE.match(text, number.start):
            continue
        written, value = text[number.start : number.end], number.value
        if (is_spanish or question.counts or _grouped(written, question)) and _GROUP_OF_THREE.fullmatch(
            written
        ):
            value = value * 1000
        unit, end = unit_after(text, number.end)
        ordinal = _ORDINAL.match(text, number.end)
        if ordinal:
            unit, end = None, ordinal.end()
        before = unit_before(text, number.start)
        unit = before if before and (unit is None or unit.dimension == "degree") else unit
        made.append(
            Candidate(
                value,
                number.start,
                end,
                MAIN,
                unit,
                _step(written, text[: number.start][-12:]),
                parts=number.parts,
            )
        )
    return sorted(made, key=lambda each: each.start)


def _grouped(written: str, question: Question) -> bool:
    """Return whether a point stands before a group of three: nobody writes 6.500 for 6.5 unless decimals are asked for."""
    return written.endswith("0") and written[0] != "0" and "decimal" not in question.text


def _step(written: str, before: str) -> Fraction:
    """Return how finely a number is written: 0.17 to a hundredth, "about 31,000" to a thousand, others exactly."""
    digits = written.replace(",", ".") if re.fullmatch(r"\d+,\d{1,2}", written) else written.replace(",", "")
    if (point := re.fullmatch(r"[-+]?\d*\.(\d+)", digits.strip())) is not None:
        return Fraction(1, 10 ** len(point[1]))
    if (
        _ABOUT.search(before)
        and (zeros := re.fullmatch(r"[-+]?\d*?(0+)", re.sub(r"\D", "", written))) is not None
    ):
        return Fraction(10 ** len(zeros[1]))
    whole = _WHOLE.fullmatch(digits.strip())
    return Fraction(_GROUPS[uncased(whole[2] or "")]) if whole and _ABOUT.search(before) else Fraction(0)


def _merged(text: str, found: list[Candidate], *, asks_share: bool) -> list[Candidate]:
    """Return compound amounts as one: 22 euros 80 cents, 5 h 30 min, and one in six where a share is asked for."""
    made: list[Candidate] = []
    for each in found:
        last = made[-1] if made else None
        gap = text[last.end : each.start] if last is not None else ""
        if last is not None and asks_share and not last.unit and _ONE_IN.fullmatch(gap) and each.value:
            made[-1] = replace(last, value=last.value / each.value, end=each.end)
        elif (
            last is not None
            and last.unit
            and last.unit.name in ("eur", "usd")
            and gap == " "
            and not each.unit
        ):
            made[-1] = replace(last, value=last.value + each.value / 100, end=each.end)
        elif (
            last is not None and last.unit and each.unit and last.unit.dimension == each.unit.dimension
            and each.unit.factor < last.unit.factor and each.unit.dimension != "temperature"
            and re.fullmatch(r"(?:,| and| y|,? and)? ?", text[last.end : each.start])
        ):  # fmt: skip
            made[-1] = replace(
                last, value=last.value + each.value * each.unit.factor / last.unit.factor, end=each.end
            )
        else:
            made.append(each)
    return made


def _in_asked_unit(found: list[Candidate], question: Question) -> list[Candidate]:
    return [question.in_asked_unit(each.value, each.unit, each) for each in found]


def _equations(text: str, places: Places, found: list[Candidate]) -> list[Candidate]:
    """Rank what is computed with as working, and all but the last member of an equation lower."""
    working = {
        i
        for i, each in enumerate(found)
        if not each.unit and re.match(r"\(+\s*\d", text[each.end : each.end + 4])
    }
    computes = re.search(r"[=×→÷+]|\d ?/ ?\d", text) is not None
    for i, (one, two) in enumerate(itertools.pairwise(found)):
        gap = text[one.end : two.start]
        both = one.unit and two.unit and one.unit.dimension == two.unit.dimension and gap.strip() == "/"
        if not both and (
            len(gap) <= 60
            and _OPERATOR.search(gap)
            and not _EQUALS.search(gap)
            and "π" not in gap
            and re.search(r"[;\n:]|\. ", gap) is None
            and not (gap.rstrip().endswith("-") and (one.is_date or two.is_date or not computes))
        ):
            apart = re.search(r"\bmod", gap) or _NAMED_OPERAND.search(gap)
            working |= {i + 1} if apart else {i, i + 1}
        if re.fullmatch(r"\s*\(?\s*mod(?:ulo)?\s*", gap):
            working.add(i + 1)
    operands = {found[i].value for i in working}
    made: list[Candidate] = []
    for i, each in enumerate(found):
        if i in working:
            made.append(replace(each, rank=WORKING))
            continue
        following = next((j for j in range(i + 1, min(i + 6, len(found))) if j not in working), None)
        later = (
            following is not None
            and places.sentence(each.start) == places.sentence(found[following].start)
            and (
                _EQUALS.search(text[each.end : found[following].start]) is not None
                and not re.search(r"[,;:]\s", text[each.end : found[following].start])
            )
        )
        if later and following is not None and _finer(text, each, found[following]):
            made.append(each)
            found[following] = replace(found[following], value=each.value)  # ≈: the finer of the two is meant
            continue
        rank = LATER if later else MAIN
        if (
            each.value in operands
            and _EQUALS.search(text[max(0, each.start - 8) : each.start])
            and len(found) > i + 1
        ):
            rank = BRACKET
        made.append(replace(each, rank=rank))
    return made


def _finer(text: str, one: Candidate, two: Candidate) -> bool:
    """Return whether a number is followed by itself with fewer digits: 499,348,514 ≈ 4.99 × 10⁸."""
    digits = [len(re.sub(r"\D", "", text[each.start : each.end])) for each in (one, two)]
    rounded = "≈" in text[one.end : two.start] and abs(one.value - two.value) * 100 <= abs(one.value)
    return rounded and digits[0] > digits[1] and one.parts is None


def _ranges(text: str, found: list[Candidate], question: Question) -> list[Candidate]:
    """Return "6,400-7,000" and "between a and b" as one candidate with two ends."""
    made: list[Candidate] = []
    for each in found:
        last = made[-1] if made else None
        gap = text[last.end : each.start] if last else ""
        joined = (
            last is not None
            and len(gap) <= 16
            and last.rank
            and each.rank
            and _RANGE.fullmatch(gap) is not None
        )
        if joined and last is not None and each.is_date and not last.is_date and last.value <= _DAYS:
            made[-1] = replace(each, start=last.start)  # 14-15 April 1912 is one date
            continue
        if joined and last is not None and " and " in gap:
            joined = (
                re.search(r"\bbetween\b[^\d]{0,12}$", text[max(0, last.start - 24) : last.start], re.I)
                is not None
            )
        if joined and last is not None and gap == "-" and each.value < 100 and last.value >= 1000:
            each = replace(each, value=last.value - last.value % 100 + each.value)  # 1936-37
        if joined and last is not None and last.low is None and last.value < each.value:
            unit = each.unit or last.unit
            low = question.in_asked_unit(last.value, unit, last).value if last.unit is None else last.value
            one = question.asks_beginning or question.asks_end
            value = (low if question.asks_beginning else each.value) if one else (low + each.value) / 2
            ends = (None, None) if one else (low, each.value)
            made[-1] = replace(
                last,
                value=value,
                low=ends[0],
                high=ends[1],
                end=each.end,
                unit=unit,
                rank=min(last.rank, each.rank),
            )
        else:
            made.append(each)
    return made


def _in_context(
    each: Candidate, text: str, places: Places, question: Question, *, labelled: bool
) -> Candidate:
    """Rank what is said beside the answer: brackets, later sentences, sources, other quantities."""
    rank = each.rank
    before, clause = text[max(0, each.start - 40) : each.start], places.clause(each.start)
    if _DENIED.search(before):
        return replace(each, rank=WORKING)
    if places.in_bracket(each.start):
        rank = min(rank, BRACKET)
    elif subordinate(clause) and not (question.asks_after and re.search(r"\bafter\b", clause, re.IGNORECASE)):
        rank = min(rank, LATER)
    if labelled and places.sentence(each.start) > places.first_sentence():
        asked = (
            each.unit is not None
            and question.unit is not None
            and each.unit.dimension == question.unit.dimension
        )
        rank = min(rank, MAIN if asked and re.search(r"[=≈] ?$", before) else LATER)
        if _MY_WORK.match(text, places.sentence_start(each.start)) and each.unit is None:
            rank = min(rank, CONTEXT)  # "I checked this 3 times in 2 different ways"
    if labelled and re.search(r"\w - [^=→]*$", text[places.sentence_start(each.start) : each.start]):
        rank = min(rank, LATER + 0.5)
    label = _LABEL.search(before)
    if (
        label
        and question.focus_word(label[0]) is None
        and not (question.asks_page and "p" in label[0].lower())
    ):
        rank = min(rank, CONTEXT)
    year = (
        each.unit is None
        and each.value.denominator == 1
        and 1000 <= each.value <= 2100
        and each.end - each.start >= 4
    )
    if question.asks_year:
        if not (year or each.is_date):
            rank = CONTEXT + 0.5 if rank >= MAIN else min(rank, CONTEXT)
    elif each.is_date or (year and len(text[each.start : each.end]) == 4 and _YEARISH.search(before)):
        rank = min(rank, CONTEXT)
    if _SURE_AFTER.match(text, each.end) or _SURE_BEFORE.search(before):
        rank = min(rank, CONTEXT)
    if each.unit is not None and question.other_quantity(each.unit):
        rank = min(rank, CONTEXT)
    return replace(each, rank=rank)


def _with_marks(text: str, places: Places, found: list[Candidate], *, labelled: bool) -> list[Candidate]:
    """Rank the first candidate behind a mark of the end highest."""
    made = list(found)
    if labelled:
        first = places.first_sentence()
    at = 0
    for mark in _FINAL.finditer(text):
        while at < len(made) and made[at].start < mark.end():
            at += 1
        for i in range(at, min(at + 12, len(made))):
            each = made[i]
            if each.start - mark.end() > 80 or places.sentence(each.start) != places.sentence(mark.start()):
                break
            if each.rank >= MAIN:
                if not labelled or places.sentence(each.start) == first:
                    made[i] = replace(each, rank=FINAL)
                break
    if (
        len(made) > 1
        and made[-1].rank >= MAIN
        and re.search(r"\w: $", text[: made[-1].start])
        and re.fullmatch(r"[\s.!]*", text[made[-1].end :])
        and places.sentence(made[-2].start) == places.sentence(made[-1].start)
    ):
        made[-1] = replace(made[-1], rank=FINAL)
    for i, each in enumerate(made):
        if each.rank >= MAIN and _FINAL_AFTER.match(text, each.end):
            made[i] = replace(each, rank=FINAL)
    return made


def _favoured(
    each: Candidate, text: str, question: Question, emphasised: Sequence[tuple[int, int]], *, several: bool
) -> Candidate:
    """Rank what the question asks for a little higher, what it says itself lower."""
    if each.rank <= CONTEXT:
        return each
    rank = each.rank
    after, before = text[each.end : each.end + 40], text[max(0, each.start - 40) : each.start]
    asked_unit = (
        each.unit is not None and question.unit is not None and each.unit.dimension == question.unit.dimension
    )
    label = re.match(
        r"[\s-]*([^\W\d]+)(?: is)? ?=? ?\d", after
    )  # "4409 remainder 0": the label is of what follows
    noun = question.noun_after(after) if label is None else None
    if label is not None and question.focus_word(label[1]) is not None:
        noun = False
    if asked_unit or noun is True or question.noun_before(before):
        rank += 0.6
    elif noun is False:
        rank = CONTEXT
    if (question.asks_after and re.search(r"\b(?:after|al cabo de)(?: about| exactly)? $", before)) or (
        question.asks_rate
        and (
            _RATE.search(text[each.start : each.end + 24], each.end - each.start - 2)
            or _RATE_BEFORE.search(before)
        )
    ):
        rank += 1.0
    rank += 0.5 * _emphasised(each, emphasised)
    leads = each.start < 40 and not re.search(r"\w", _APPROXIMATELY.sub("", text[: each.start]))
    rank += 0.5 * leads
    if several and each.value in question.numbers:
        rank -= 0.5 if leads else 1.5
    return replace(each, rank=max(rank, CONTEXT))


def _emphasised(each: Candidate, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= each.start and each.end <= end + 1 for start, end in spans)


def _by_clause(text: str, places: Places, found: list[Candidate], question: Question) -> list[Candidate]:
    """Rank the one number highest whose clause alone speaks in the words of the question: "begun in "
    "1923, opened in 1932"."""
    near = [each for each in found if each.rank >= LATER and not subordinate(places.clause(each.start))]
    if not near or (
        _BARE.match(text, near[0].end) and not re.search(r"\w", _APPROXIMATELY.sub("", text[: near[0].start]))
    ):
        return found
    cuts = [0, *(end for cut in _CLAUSE.finditer(text) for end in cut.span()), len(text)]
    shared: dict[int, frozenset[str]] = {}
    others = []  # in a clause about something else: "it fell in 1989 and Germany was reunified in 1990"
    for each in near:
        low = cuts[bisect_right(cuts, each.start) - 1]
        high = next((cut for cut in cuts[bisect_right(cuts, each.start) :] if cut >= each.end), len(text))
        others += [each] if low and _OWN.match(text, low) else []
        behind = _NOTE.match(text, each.end)
        said = text[max(low, each.start - 160) : min(high, each.end + 160)] + (
            f" {behind[1]}" if behind else ""
        )
        shared[each.start] = stems(said) & question.stems
    alone = {
        each.start: shared[each.start].difference(
            *(shared[other.start] for other in near if not other.same(each) and other.start != each.start)
        )
        for each in near
    }
    most = max(map(len, alone.values()))
    best = [each for each in near if len(alone[each.start]) == most]
    if not most and others and _PRONOUN.match(text):
        others_at = {each.start for each in others}
        best = [each for each in near if each.start not in others_at]
    elif not most:
        return found
    if any(not each.same(best[0]) for each in best):
        return found
    top = max(each.rank for each in near)
    best_at = {each.start for each in best}
    return [
        replace(each, rank=max(top, each.rank) + 0.5) if each.start in best_at else each for each in found
    ]
