"""Numbers written as words in English, Spanish, Chinese and Korean.

A word is a number only where it cannot well be anything else: "one of them", "칠각형" and "一样" are none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from metacog_pipeline.benchmark.answers.numbers import PARTS, Number, numerals
from metacog_pipeline.benchmark.answers.text import uncased

_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
UNITS = _TO_NINETEEN.split()
TENS = dict(zip(_TENS.split(), range(20, 100, 10), strict=True))
_EN: Mapping[str, int] = {
    **{word: value for value, word in enumerate(UNITS)},
    **TENS,
    "nil": 0, "nought": 0, "fourty": 40, "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9,
    "trillion": 10**12, "dozen": 12,
}  # fmt: skip
_EN_WORD = "|".join(sorted(_EN, key=len, reverse=True))
_EN_RX = re.compile(rf"\b(?:an? (?=hundred|thousand|million|billion|dozen))?(?:{_EN_WORD})\b"
                    rf"(?:(?:[- ]|,? and |, )(?:{_EN_WORD})\b){{0,24}}", re.IGNORECASE)  # fmt: skip
_AND_PART = re.compile(
    rf" and (?:a|one) ({'|'.join(PARTS)})\b(?: (hundred|thousand|million|billion|trillion)\b)?", re.IGNORECASE
)
_HALF = re.compile(r"\bhalf (?:of )?$", re.IGNORECASE)
_NOT_ONE_AFTER = re.compile(
    r" (?:of|can|could|would|is|must|should|who|that|might|may|another|more|such)\b", re.I
)
_NOT_ONE_BEFORE = re.compile(
    r"\b(?:the|this|that|which|each|every|any|no|only|second|first|last|correct|right|other|some|another) $",
    re.I,
)

_ONE_TO_NINE = "|".join(sorted(UNITS[1:10], key=len, reverse=True))
_SMALL = "|".join(sorted((*UNITS, *TENS, "nil", "nought", "naught", "fourty"), key=len, reverse=True))
_BELOW_100 = rf"(?:(?:{'|'.join(TENS)}|fourty)[- ](?:{_ONE_TO_NINE})|{_SMALL})"
#: The pattern of an English number below 1,000, for readers with a pattern of their own; `word_value` reads it.
WORDS = rf"\b(?:(?:(?:a|{_ONE_TO_NINE})[- ])hundred(?:(?: and |[- ]){_BELOW_100})?|hundred|{_BELOW_100})\b"

_ES: Mapping[str, int] = {
    "cero": 0, "un": 1, "uno": 1, "una": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7,
    "ocho": 8, "nueve": 9, "diez": 10, "once": 11, "doce": 12, "trece": 13, "catorce": 14, "quince": 15,
    "dieciséis": 16, "dieciseis": 16, "diecisiete": 17, "dieciocho": 18, "diecinueve": 19, "veinte": 20,
    "veintiún": 21, "veintiuno": 21, "veintiuna": 21, "veintidós": 22, "veintidos": 22, "veintitrés": 23,
    "veintitres": 23, "veinticuatro": 24, "veinticinco": 25, "veintiséis": 26, "veintiseis": 26, "veintisiete": 27,
    "veintiocho": 28, "veintinueve": 29, "treinta": 30, "cuarenta": 40, "cincuenta": 50, "sesenta": 60,
    "setenta": 70, "ochenta": 80, "noventa": 90, "cien": 100, "ciento": 100, "mil": 1_000, "millón": 10**6,
    "millones": 10**6,
    **{f"{stem}{end}": value for stem, value in (("doscient", 200), ("trescient", 300), ("cuatrocient", 400),
       ("quinient", 500), ("seiscient", 600), ("setecient", 700), ("ochocient", 800), ("novecient", 900))
       for end in ("os", "as")},
}  # fmt: skip
_ES_WORD = "|".join(sorted(_ES, key=len, reverse=True))
_ES_RX = re.compile(rf"\b(?:{_ES_WORD})\b(?: (?:y )?(?:{_ES_WORD})\b){{0,16}}", re.IGNORECASE)
_ES_ALONE = frozenset({"un", "uno", "una", "once", "mil"})  # words of other languages, or articles

_ZH_DIGITS: Mapping[str, int] = {c: i for i, c in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
    "兩": 2,
}
_ZH_POWERS: Mapping[str, int] = {
    "十": 10, "百": 100, "千": 1_000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8,
}  # fmt: skip
_ZH_RX = re.compile(r"[零〇一二三四五六七八九十百千万萬亿億两兩]{1,24}(?:点[零〇一二三四五六七八九]{1,12})?")
_ZH_A = ("个", "個", "种", "種", "条", "座", "位", "名", "次")  # behind 一, which is "a" then
_ZH_AFTER = re.compile(
    r"\s*(?:[条個个年天度米升页頁人次步键鍵种種边邊角号號位分点倍只座名本公里小时欧元字符摄华%]|$|[。，、；！）)\n.,;(\[\"'*`-])"
)

_KO_DIGITS: Mapping[str, int] = {c: i for i, c in enumerate("영일이삼사오육칠팔구")} | {"공": 0}
_KO_POWERS: Mapping[str, int] = {"십": 10, "백": 100, "천": 1_000, "만": 10**4, "억": 10**8}
_KO_TENS = {
    "열": 10, "스물": 20, "스무": 20, "서른": 30, "마흔": 40, "쉰": 50, "예순": 60, "일흔": 70, "여든": 80, "아흔": 90,
}  # fmt: skip
_KO_ONES = {"하나": 1, "한": 1, "둘": 2, "두": 2, "셋": 3, "세": 3, "넷": 4, "네": 4, "다섯": 5, "여섯": 6, "일곱": 7,
            "여덟": 8, "아홉": 9}  # fmt: skip
_KO_AFTER = (
    r"(?=\s*(?:개|도|년|일|명|시간|미터|리터|쪽|페이지|단계|번|자|퍼센트|살|분|초|마리|곳|유로|변)|\s*(?:입니다|이다|이에요|예요|다)"
    r"|[\s.,;!?)\"'\]*`]|$)"
)
_KO_RX = re.compile(rf"(?<![가-힣])[영공일이삼사오육칠팔구십백천만억]{{1,20}}{_KO_AFTER}")
_KO_NATIVE = re.compile(
    rf"(?<![가-힣])(?:(?P<ten>{'|'.join(_KO_TENS)})(?P<one>{'|'.join(_KO_ONES)})?|(?P<only>{'|'.join(_KO_ONES)})){_KO_AFTER}"
)
_HANGUL = re.compile(r"[가-힣]")
_KO_NEEDS_COUNTER = frozenset(
    {"한", "두", "세", "네", "일", "이", "사", "오", "만", "천", "공", "구", "영", "삼", "육", "백"}
)

_FRACTIONS = {"half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
              "eighth": 8, "ninth": 9, "tenth": 10, "twelfth": 12, "hundredth": 100}  # fmt: skip
_FRACTION_RX = re.compile(
    rf"\b(?P<top>an?|\d{{1,3}}|{_EN_WORD})[- ](?P<below>{'|'.join(_FRACTIONS)})s?\b"
    r"|(?P<zh>[一二三四五六七八九十百]{1,4})分之(?P<zh_top>[一二三四五六七八九十百]{1,4})"
    r"|(?P<ko>\d{1,4})분의 ?(?P<ko_top>\d{1,4})",
    re.IGNORECASE,
)
_MINUS = re.compile(r"\b(?:minus|negative|menos) $", re.IGNORECASE)
_SPANISH = re.compile(
    r"\b(?:el|la|los|las|es|son|del|según|respuesta|litros|metros|grados|horas|días|unos|hay|en total|páginas|nudos|pernos"
    r"|tornillos|personas|habitantes|aproximadamente|euros por)\b",
    re.IGNORECASE,
)


def spanish(text: str) -> bool:
    """Return whether a text is Spanish by its words: 3.100 is three thousand one hundred there."""
    found = {each[0].lower() for each in _SPANISH.finditer(text[:4_000])}
    return bool(found - {"la", "es", "los", "las"}) or len(found) > 1


def numbers(text: str) -> list[Number]:
    """Return the numbers of a text in digits and in words, from left to right; a word within digits is part of them."""
    in_digits = list(numerals(text))
    ends, spelled = [each.end for each in in_digits], []
    for each in word_numbers(text):
        at = bisect_right(ends, each.start)
        if at == len(ends) or each.end <= in_digits[at].start:
            spelled.append(each)
    return sorted([*in_digits, *spelled], key=lambda each: each.start)


def word_numbers(text: str) -> Iterator[Number]:
    """Yield the numbers that are written as words, from left to right."""
    beyond_ascii = () if text.isascii() else (_chinese, _korean)
    every = [each for read in (_fractions, _english, _spanish, *beyond_ascii) for each in read(text)]
    end = 0
    for found in sorted(every, key=lambda each: (each.start, -each.end)):  # of two the one that says more
        if found.start >= end:
            end = found.end
            minus = _MINUS.search(text[max(0, found.start - 10) : found.start])
            yield Number(-found.value, found.start - len(minus[0]), found.end) if minus else found


def _fractions(text: str) -> Iterator[Number]:
    for found in _FRACTION_RX.finditer(text):
        if found["below"]:
            top = uncased(found["top"])
            above = 1 if top in ("a", "an") else int(top) if top.isdigit() else _EN[top]
            below = _FRACTIONS[uncased(found["below"])]
        elif found["zh"]:
            above, below = (_positional(found[part], _ZH_DIGITS, _ZH_POWERS) for part in ("zh_top", "zh"))
        else:
            above, below = int(found["ko_top"]), int(found["ko"])
        if below and not (found["below"] and found["top"].lower() in ("a", "an") and found[0].endswith("s")):
            yield Number(Fraction(above, below), found.start(), found.end())


def _english(text: str) -> Iterator[Number]:
    for found in _EN_RX.finditer(text):
        words = [word for word in re.split(r"[- ,]+", uncased(found[0])) if word not in ("and", "")]
        if words == ["one"] and (
            _NOT_ONE_AFTER.match(text, found.end()) or _NOT_ONE_BEFORE.search(text[: found.start()][-16:])
        ):
            continue
        if words[0] in ("hundred", "thousand", "million", "billion", "trillion"):
            continue
        dozen = len(words) == 2 and words[1] == "dozen"
        values = [1 if word in ("a", "an") else _EN[word] for word in words]
        value = values[0] * 12 if dozen else _grouped(values)
        if value is None and 10 <= values[0] <= 20 and 10 <= (_grouped(values[1:]) or 0) < 100:
            value = values[0] * 100 + (_grouped(values[1:]) or 0)  # nineteen twelve
        if value is not None:
            yield _with_part(Number(Fraction(value), found.start(), found.end()), text, words)


def _with_part(whole: Number, text: str, words: Sequence[str]) -> Number:
    """Return a number with the half before it, half a million, or the half, third or quarter behind it, which is one of a
    million where the number ends in one."""
    before = text[max(0, whole.start - 9) : whole.start]
    if words[0] in ("a", "an") and (half := _HALF.search(before)) is not None:
        return Number(whole.value / 2, whole.start - len(half[0]), whole.end)
    part = _AND_PART.match(text, whole.end)
    if part is None:
        return whole
    share, times = PARTS[uncased(part[1])], _EN[uncased(part[2])] if part[2] else 1
    of = _EN[words[-1]] if times == 1 and _EN.get(words[-1], 0) >= 1_000 else 1
    return Number((whole.value + share * of) * times, whole.start, part.end())


def word_value(words: str) -> int:
    """Return the value of number words that match `WORDS`: ``one hundred and five`` is 105."""
    known = {**_EN, "a": 1, "naught": 0}
    return _grouped([known[word] for word in re.split(r"[- ]+", uncased(words)) if word != "and"]) or 0


def _spanish(text: str) -> Iterator[Number]:
    for found in _ES_RX.finditer(text):
        words = [word for word in uncased(found[0]).split() if word != "y"]
        alone = len(words) == 1 and words[0] in _ES_ALONE
        if alone and not (words[0] in ("once", "mil", "uno") and spanish(text)):
            continue
        value = _grouped([_ES[word] for word in words])
        if value is not None:
            yield Number(Fraction(value), found.start(), found.end())


def _grouped(values: list[int]) -> int | None:
    """Return the number these words make together: 2, 1000, 4, 100, 70 is 2470; None where they are several."""
    total = group = 0
    last = 10**18
    for value in values:
        if value >= 1_000:
            total, group, last = total + max(group, 1) * value, 0, 10**18
        elif value == 100 and 0 < group < 100:
            group, last = group * 100, 100
        elif value >= last or (group and value >= 10 and group % 100):
            return None
        else:
            group, last = group + value, 10 if 20 <= value < 100 else 1 if value < 20 else 100
    return total + group


def _chinese(text: str) -> Iterator[Number]:
    for found in _ZH_RX.finditer(text):
        whole, _, part = found[0].partition("点")
        telling = len(whole) > 1 and any(c in _ZH_DIGITS or c in "十百" for c in whole)
        sure = telling and whole not in ("千万", "万一")
        if not sure and not part and _ZH_AFTER.match(text, found.end()) is None:
            continue
        if whole == "一" and text.startswith(_ZH_A, found.end()):
            continue
        value = Fraction(_positional(whole, _ZH_DIGITS, _ZH_POWERS))
        if part:
            value += Fraction(int("".join(str(_ZH_DIGITS[c]) for c in part)), 10 ** len(part))
        yield Number(value, found.start(), found.end())


def _korean(text: str) -> Iterator[Number]:
    letters = [each.start() for each in _HANGUL.finditer(text)]
    for found in _KO_RX.finditer(text):
        alone = letters[0] >= found.start() and letters[-1] < found.end()
        counter = re.match(r"\s*(?:개|도|명|시간|미터|리터|쪽|페이지|변)", text[found.end() :][:8])
        if found[0] in _KO_NEEDS_COUNTER and not alone and counter is None:
            continue
        yield Number(Fraction(_positional(found[0], _KO_DIGITS, _KO_POWERS)), found.start(), found.end())
    for found in _KO_NATIVE.finditer(text):
        one = found["one"] or found["only"]
        counter = re.match(r" ?(?:개|시간|명|마리|곳|변)", text[found.end() :][:4])
        if found["only"] in _KO_NEEDS_COUNTER and counter is None:
            continue
        value = _KO_TENS.get(found["ten"] or "", 0) + _KO_ONES.get(one or "", 0)
        yield Number(Fraction(value), found.start(), found.end())


def _positional(text: str, digits: Mapping[str, int], powers: Mapping[str, int]) -> int:
    """Return the value of a numeral of digits and powers of ten; digits alone are read as they stand."""
    if not any(c in powers for c in text):
        return int("".join(str(digits[c]) for c in text))
    total = section = digit = 0
    for c in text:
        if c in digits:
            digit = digits[c]
        elif powers[c] >= 10**4:
            total, section, digit = (total + section + digit or 1) * powers[c], 0, 0
        else:
            section, digit = section + (digit or 1) * powers[c], 0
    return total + section + digit
