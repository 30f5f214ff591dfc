"""A share as a reply writes it: in percent, as a decimal, out of something, on a scale that it names, as a range."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice

from metacog_pipeline.benchmark.answers.number_words import WORDS, word_numbers, word_value
from metacog_pipeline.benchmark.answers.numbers import Number, numerals
from metacog_pipeline.benchmark.answers.whole_scale import without_scale

_NAMED = r"[*_ ]{0,4}(?:[(\[][^()\[\]\d\n]{0,25}|(?:on|in) (?:a|the) (?:scale|range) (?:of|from|between) )"
_ENDS = r"(?P<low>[01])[ ]?%?[ ]?(?:[-‐-―−~〜～,;]|\.\.+|to|and)[ ]?(?P<top>[1-9]\d{0,2})[ ]?%?"
#: The scale that a label names, "Confidence (0-100): 90", which is no part of what is stated.
SCALE = re.compile(
    rf"(?:{_NAMED}(?:{_ENDS}|(?:out of|/)[ ]?(?P<of>[1-9]\d{{0,2}}))[^()\[\]\n:：=]{{0,40}}[)\]]?"
    r"|[*_ ]{0,4}(?:from |between )?0[ ]?%?[ ]?(?:[-‐-―−]|to|and)[ ]?(?P<hundred>100?)[ ]?%?"
    r"|[*_ ]{0,4}out of[ ]?(?P<all>100?))[*_ ]{0,4}[:：=]",
    re.I,
)
_SCALE_AFTER = re.compile(
    rf"{_NAMED}{_ENDS}(?=[ ]?(?:[)\],;:.=]|\Z|scale|where|with))"
    r"|[*_ ]{0,4}[(\[]?(?:on|in|of) an? (?P<points>[1-9]\d{0,2})[- ]?point (?:likert )?scale\b",
    re.I,
)
_OUT_OF = re.compile(
    r"[*_ ]{0,4}(?:stars? |points? )?\(?(?:(?:/|out of|of) ?[*_]{0,2}(?P<of>[1-9]\d{0,2}\b(?![.,]\d)|"
    rf"{WORDS})|in ?[*_]{{0,2}}(?P<in>[1-9]\d{{0,2}}\b(?![.,]\d)|ten\b|(?:an? |one )?hundred\b))",
    re.I,
)
_PLAIN = re.compile(r"\s*(\d{1,3})\s*%?\s*")
Span = tuple[Number, Number]
_MOST = 12  # numbers of a text that are looked at
# Between the ends of a range.
_TO = re.compile(
    r"[*_ ]{0,4}(?:%|％|per ?cent\b)?[*_ ]{0,4}(?:[-‐-―−~〜～]|to|or|bis|oder|à|ou|a|o|до|или|至|到|或|(and))[*_ ]{0,4}",
    re.I,
)
_TEMPLATE_END = re.compile(r"[^<>\n]{0,60}>")
_PERCENT = re.compile(r"[*_ ]{0,4}(?:%|％|per ?cent\b)", re.I)
#: What a label is about, "Confidence that option B is right (0 to 100): 85": its numbers are not what is stated.
ABOUT = re.compile(
    r"[*_ ]{0,4}(?:[,–—-][ ])?(?:[(\[](?!\W{0,4}\d{1,3}\W{0,4}[)\]]|[^()\n]{0,60}\d[ ]?%)[^()\[\]\n]{1,70}[)\]]"
    r"|(?P<of>that|in|(?:of|on|about|for|with|as|at|regarding)\b(?![ *_~≈]{1,4}\d)|how)\b[^\n:：=%()\[\]]{0,60}"
    r"(?:[(\[][^()\[\]\n]{1,40}[)\]])?)"
    r"[*_ ]{0,4}[:：=](?=.{0,60}\d)",
    re.I,
)
# Words that may stand between a label and its number.
_LEAD = re.compile(
    r"(?:[\W_]|(?:i|i['’]d|would|say|go|put|give|rate|set|estimate|is|was|be|my|it|at|of|about|around|approximately|approx"
    r"|roughly|nearly|almost|maybe|perhaps|probably|over|under|above|below|more|less|than|least|most|up|to|between|from"
    r"|very|fairly|quite|high|moderate|medium|low|close|near|somewhere|only|now|the|confidence|level|score)\b){0,40}+",
    re.I,
)
# What is counted behind a number is no share: "3 independent sources"; points that are staked are.
_COUNTED = re.compile(
    r"[ -](?!(?:because|since|as|given|and|or|to|the|but|with|if|when|for|on|in|so|is)\b)"
    r"(?:[a-z-]{3,20}[ ])?(?!(?:percents|points|pts|tokens|chips|dollars|euros|credits|coins|bucks|pounds|units|times|stars"
    r"|perhaps|always|besides)\b)[a-z-]{2,20}[a-rtv-z]s\b",
    re.I,
)
_OF_SEVERAL = re.compile(r" of (?:the|these) ", re.I)
_ALONE = re.compile(r"\W{0,9}(?:points?|tokens?)?\W{0,9}", re.I)
_SUM = re.compile(r"\W{0,4}\d[\d.,% +−–×*/()-]{1,40}=[ ]?(?=[~≈]?\d)")
_DENIED = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot|nowhere near|far from|short of|rather than|instead of)|n['’]t)"
    r"(?: (?:be|say|at|an?|the|quite|full|even|very|just"
    r"|only|simply|too|so|that|all|about|seem|look|appear|\w{2,12}ly)){0,4}[ *_~≈\"'(]{1,4}\Z",
    re.I,
)
#: What stands behind a chance that is not one of being right: "very unlikely to be wrong".
ERROR = re.compile(
    r"(?:[ ](?:of|that|for|to|i|i['’]m|am|may|might|could|is|be|being|it|it['’]s|this|my|an?(?= (?:error|mistake))|the"
    r"|answer|guess|was|having|made|making|in)){0,8}[ ](?:wrong|incorrect|mistaken|mistake|error|false)\b(?![- ]free)",
    re.I,
)
_OF_ERROR = re.compile(
    r"[*_ ]{0,4}(?:(?:%|％|per ?cent\b)(?:[ ](?:unsure|uncertain|uncertainty|doubt)\b|ERROR)"
    r"|(?:%|％|per ?cent\b)?[ ]?(?:chance|probability|likelihood|risk|odds|possibility|likely)ERROR)".replace(
        "ERROR", ERROR.pattern
    ),
    re.I,
)


def percent(text: str) -> float | None:
    """Return the first number of a text as a share: 80, 80 %, 0.8, 0,8, 8/10, 8 out of 10 and 8 (0-10) are the same; so is
    the range 70-90, which counts as its middle.

    None where it lies outside 0 to 100, there is none, it is the whole scale, or it stands on a scale that does not begin
    with 0 and does not end with 10 or 100: 4 of the ratings 1 to 5 is no share. A whole number without ``%`` is one of
    percent: 1 is 0.01.
    """
    if plain := _PLAIN.fullmatch(text):  # as asked, and as most reply
        return int(plain[1]) / 100 if int(plain[1]) <= 100 else None
    about = SCALE.match(text) or ABOUT.match(text)
    scale = SCALE.search(text, 0, about.end()) if about else None
    stated = without_scale(text[about.end() :] if about else text)
    stated = stated[total.end() :] if (total := _SUM.match(stated)) else stated
    spans = [
        each for each in _spans(list(islice(numerals(stated), _MOST)), stated) if not _is_scale(stated, *each)
    ]
    first, last = _stating(spans, stated) if spans else (_in_words(stated),) * 2
    if first is None or last is None:
        return None
    if first.parts is not None and min(first.parts) == max(first.parts) == 50:
        return 0.5  # 50/50
    after = None if scale else _SCALE_AFTER.match(stated, last.end)
    whole = _top(scale or after)
    shares = [_share(stated, each, last, whole) for each in {first.start: first, last.start: last}.values()]
    known = [share for share in shares if share is not None and 0 <= share <= 1]
    if len(known) != len(shares):
        return None
    share = sum(known) / len(known)
    return float(1 - share if _OF_ERROR.match(stated, last.end) else share)


def denied(text: str, place: int) -> bool:
    """Return whether what stands at a place of a text is denied: "not 100%"."""
    return _DENIED.search(text, max(0, place - 60), place) is not None


def _spans(found: Sequence[Number], text: str) -> list[Span]:
    """Return the numbers of a text, those that are the ends of a range together."""
    spans: list[Span] = []
    for each in found:
        if spans and spans[-1][0] is spans[-1][1] and _is_range(text, spans[-1][0], each):
            spans[-1] = (spans[-1][0], each)
        else:
            spans.append((each, each))
    return spans


def _is_scale(text: str, low: Number, high: Number) -> bool:
    """Return whether a range is all of a smaller scale, which states nothing: "0.0 to 1.0", "<1-10>"."""
    ends = float(low.value), float(high.value)
    if ends == (0.0, 1.0):
        return not _PERCENT.match(text, high.end)
    return (
        ends in ((0.0, 10.0), (1.0, 10.0), (0.0, 5.0), (1.0, 5.0))
        and _TEMPLATE_END.match(text, high.end) is not None
    )


def _stating(spans: Sequence[Span], text: str) -> Span | tuple[None, None]:
    """Return the number or range that is stated: none that is denied, and no chance of an error or count of something
    where a share stands behind it."""
    left = [(first, last) for first, last in spans if not denied(text, first.start)]
    right = [(first, last) for first, last in left if not _OF_ERROR.match(text, last.end)]
    marked = max((last.end for _, last in right if _PERCENT.match(text, last.end)), default=0)
    for first, last in (*right, *left):
        if not _counts(text, first, last, later=marked > last.end):
            return first, last
    return None, None


def _counts(text: str, first: Number, last: Number, *, later: bool) -> bool:
    """Return whether a number counts something, or is that of a year or a trial where a percentage stands ``later``."""
    if _PERCENT.match(text, last.end):
        return False
    of = _OUT_OF.match(text, last.end)
    named = _COUNTED.match(text, of.end() if of else last.end) is not None
    lead = _LEAD.match(text)
    among_words = not of and lead is not None and lead.end() < first.start
    if later:
        return named or among_words or _OF_SEVERAL.match(text, last.end) is not None
    return named and among_words


def _top(scale: re.Match[str] | None) -> int | None:
    """Return the number that is all of a scale, None where it has none; 100 where no scale is named."""
    if scale is None:
        return 100
    named = {name: end for name, end in scale.groupdict().items() if end}
    top = next(int(end) for name, end in named.items() if name != "low")
    ratings = named.get("low") == "1" or "points" in named  # 4 of 1 to 5 is no share
    return None if ratings and top not in (10, 100) else top


def _in_words(text: str) -> Number | None:
    """Return the number of a share in words: ninety percent, nine out of ten; other numbers in words are remarks."""
    first = next(iter(word_numbers(text)), None)
    if first is None:
        return None
    of = _PERCENT.match(text, first.end) or _OUT_OF.match(text, first.end)
    alone = not text[: first.start].strip(" \t*_\"'(<~") and _ALONE.fullmatch(text, first.end)
    if of or not alone:
        return first if of else None
    above, below = map(Fraction, first.value.as_integer_ratio())
    return first if below == 1 else replace(first, parts=(above, below))


def _is_range(text: str, low: Number, high: Number) -> bool:
    """Whether two numbers that follow one another are the ends of a range: 80-90 %, between 80 and 90, 8 to 9 out of 10."""
    to = _TO.fullmatch(text, low.end, high.start)
    if to is None or (to[1] and not text[: low.start].casefold().rstrip("*_ ").endswith("between")):
        return False
    return low.parts is None and low.value < _above(high)


def _share(text: str, each: Number, last: Number, top: int | None) -> Fraction | None:
    """Return a number as a share of a scale that ends with ``top``; of a range, ``last`` says of what."""
    if of := _OUT_OF.match(text, last.end):
        whole = of["of"] or of["in"]
        return each.value / (int(whole) if whole.isdigit() else word_value(whole))
    if last.parts is not None:
        return _above(each) / last.parts[1]
    if _PERCENT.match(text, last.end):
        return each.value / 100
    written = text[each.start : each.end]
    decimal = top == 1 or (top == 100 and ("." in written or "," in written))
    if decimal and each.value <= 1:
        return each.value
    return each.value / (100 if top == 1 else top) if top is not None else None


def _above(number: Number) -> Fraction:
    return number.value if number.parts is None else number.parts[0]
