"""Ways to say the same answer: none of them may change whether it is right."""

from collections.abc import Callable, Mapping

_EN = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_EN_TENS = ["x", "x", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ES = [
    "cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce",
    "trece", "catorce", "quince", "dieciséis", "diecisiete", "dieciocho", "diecinueve", "veinte", "veintiuno",
    "veintidós", "veintitrés", "veinticuatro", "veinticinco", "veintiséis", "veintisiete", "veintiocho",
    "veintinueve",
]  # fmt: skip
_ES_TENS = ["x", "x", "x", "treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa"]
_ES_HUNDREDS = [
    "x", "ciento", "doscientos", "trescientos", "cuatrocientos", "quinientos", "seiscientos", "setecientos",
    "ochocientos", "novecientos",
]  # fmt: skip


def english(n: int) -> str:
    """Return a whole number below a million in English words."""
    if n < 20:
        return _EN[n]
    if n < 100:
        return _EN_TENS[n // 10] + (f"-{_EN[n % 10]}" if n % 10 else "")
    if n < 1000:
        return f"{_EN[n // 100]} hundred" + (f" and {english(n % 100)}" if n % 100 else "")
    return f"{english(n // 1000)} thousand" + (f" {english(n % 1000)}" if n % 1000 else "")


def spanish(n: int) -> str:
    """Return a whole number below a million in Spanish words."""
    if n < 30:
        return _ES[n]
    if n < 100:
        return _ES_TENS[n // 10] + (f" y {_ES[n % 10]}" if n % 10 else "")
    if n == 100:
        return "cien"
    if n < 1000:
        return _ES_HUNDREDS[n // 100] + (f" {spanish(n % 100)}" if n % 100 else "")
    head = "mil" if n < 2000 else f"{spanish(n // 1000)} mil"
    return head + (f" {spanish(n % 1000)}" if n % 1000 else "")


def chinese(n: int) -> str:
    """Return a whole number below 100 million in Chinese characters."""
    return _east(n, "零一二三四五六七八九", ("", "十", "百", "千"), "万", zero="零")


def korean(n: int) -> str:
    """Return a whole number below 100 million in Sino-Korean."""
    return _east(n, "영일이삼사오육칠팔구", ("", "십", "백", "천"), "만", zero="", drop_one=True)


def _east(
    n: int, digits: str, powers: tuple[str, ...], myriad: str, *, zero: str, drop_one: bool = False
) -> str:
    if n == 0:
        return digits[0]
    if n >= 10_000:
        rest = n % 10_000
        gap = zero if 0 < rest < 1000 else ""
        tail = gap + _east(rest, digits, powers, myriad, zero=zero, drop_one=drop_one) if rest else ""
        return _east(n // 10_000, digits, powers, myriad, zero=zero, drop_one=drop_one) + myriad + tail
    made, pending = "", False
    for place in (3, 2, 1, 0):
        digit = n // 10**place % 10
        if digit == 0:
            pending = bool(made)
            continue
        made += zero if pending else ""
        made += ("" if drop_one and digit == 1 and place else digits[digit]) + powers[place]
        pending = False
    return made


#: Name → how an answer is said, from the answer and the unit of its item.
SAID: Mapping[str, Callable[[str, str], str]] = {
    "bare": lambda a, u: a,
    "bold": lambda a, u: f"**{a}**",
    "boxed": lambda a, u: rf"$\boxed{{{a}}}$",
    "with its unit": lambda a, u: f"{a} {u}".strip(),
    "a sentence": lambda a, u: f"The answer is {a}.",
    "so": lambda a, u: f"So it must be {a} {u}".strip(),
    "working in brackets": lambda a, u: f"{a} (working: 12 × 7 + 3 = 87, then checked with 19)",
    "a second reading in brackets": lambda a, u: f"{a} [see also 14.3 and 271]",
    "as of": lambda a, u: f"{a} (as of 2010)",
    "a trailing remark": lambda a, u: f"{a}. I checked this 3 times in 2 different ways.",
    "a remark behind a dash": lambda a, u: f"{a} — computed in 4 steps",
    "a correction": lambda a, u: f"613 — wait, no: {a}",
    "a correction of a guess": lambda a, u: f"At first I thought 613. Let me recheck: {a}",
    "a denial": lambda a, u: f"not 613 but {a}",
    "a footnote": lambda a, u: f"{a} [1]",
    "hedged": lambda a, u: f"I believe it is {a}, though I am only 80% sure",
    "spaces": lambda a, u: f"   {a}  \n",
    "italic": lambda a, u: f"*{a}*",
    "code": lambda a, u: f"`{a}`",
    "quoted": lambda a, u: f'"{a}"',
}
#: Name → a whole number in words.
WORDS: Mapping[str, Callable[[int], str]] = {
    "English": english, "Spanish": spanish, "Chinese": chinese, "Korean": korean,
}  # fmt: skip
