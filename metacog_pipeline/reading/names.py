"""Names and short texts: equal by normalised form, by date, or by number; never by resemblance."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from metacog_pipeline.reading.envelope import plain, unboxed
from metacog_pipeline.reading.fields import AMBIGUOUS, NOTHING, REFUSED, UNKNOWN, WITHHELD, Found, simple
from metacog_pipeline.reading.numbers import BETWEEN, TAKES_BACK, Quantity, numbers
from metacog_pipeline.reading.records import TEMPLATE

# characters of a name or of a sentence that states one
LONGEST_NAME = 80
LONGEST_SENTENCE = 160  # characters: a longer one is prose
_MONTHS = {
    name: place
    for names in (
        "january february march april may june july august september october november december",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "- - - - - - - - sept - - -",
    )
    for place, name in enumerate(names.split(), 1)
    if name != "-"
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATES = (
    re.compile(r"\b(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})\b"),
    re.compile(r"(?P<year>\d{4})\s?[年년]\s?(?P<month>\d{1,2})\s?[月월]\s?(?P<day>\d{1,2})\s?[日일]"),
    re.compile(
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?(?P<name>{_MONTH})\.?,?\s+(?:de\s+|del\s+)?(?P<year>\d{{4}})\b"
    ),
    re.compile(rf"\b(?P<name>{_MONTH})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})\b"),
    re.compile(rf"\b(?P<name>{_MONTH})\.?,?\s+(?:of\s+|de\s+|del\s+)?(?P<year>\d{{4}})\b"),
)
_NUMERIC = re.compile(r"\b(?P<first>\d{1,2})[./-](?P<second>\d{1,2})[./-](?P<year>\d{4})\b")
_SAYS = re.compile(
    r"(?i)^(?:(?!\b(?:not|no|if|whether|si)\b|n['’]t).){0,60}?\b(?:is|was|are|were|es|fue|ist|war|est|était)\s+(?:called\s+|named\s+|known\s+as\s+)?"
)
_NOTE = re.compile(r"\s*[(\[][^)\]]{0,120}[)\]]")
_OR = re.compile(r"(?i)\s+(?:or|o|oder|ou)\s+|\s*/\s*|(?<=[\u4e00-\u9fff])(?:还是|或者?)")
# behind not knowing
_GUESS = re.compile(r"(?i)[,;.]\s*(?:but|pero|aber|mais)\s+(.+)")
_UNFINISHED = re.compile(r"(?i)(?:^|\s)(?:by|is|was|are|were|the|of|in|called|named|and|or)$")

# --- how a sentence states a name ---
_CLAUSES = re.compile(r"[,;|\n]\s*(?!\d)|\s[-–—]+\s|[，；。]|(?<=\w{3})[.!?]\s")
# A clause that states what the ones before it led up to; and one that leads up to something.
_GOES_ON = re.compile(
    r"(?i)\W*(?:(?:but|however|so|now|today|it|he|she|they|the\s+answer|pero|sino|ahora|hoy|jetzt|sondern|mais)(?!\w)"
    r"|而是|其实是?|现在|答案|정답)"
)
_LEADS_UP = re.compile(r"(?i)\W*(?:(?:in|on|at|as|after|before|during|once|not|en|no|nicht)(?!\w)|不是)")
# before a name that is denied, left behind or compared with, in simple form
_ASIDE = re.compile(
    r"(?:^| )(?:not|n t|never|no|no es|no fue|nicht|kein|keine|pas|不 是|并 非|rather than|instead of|unlike|than|like|near"
    r"|below|above|after|before|and|with|formerly|previously|once|used to be|thought|thought to be|thought of)"
    r"(?: (?:the|a|el|la|in))?$"
)
_WRONG = re.compile(r"^(?:(?:is|was|would be) )?(?:not|wrong|incorrect|no)\b|^ ?[이가은는]? ?아[니닌]")
_TITLE = re.compile(
    r"^(?:mount|mt|lake|river|king|queen|saint|st|sir|dr|president|emperor|pope|admiral|general|professor|planet|the|either"
    r"|its|thats|it|in|is|was|el|la|le|der|die|das)$"
)
_CJK = re.compile(r"([\u3040-\u30ff\u3400-\u9fff])")

# Words that a name may have or lack: Lake Tanganyika, the Pacific Ocean. "City" is none of them: Mexico is a country.
_KINDS = frozenset(
    ("lake", "ocean", "sea", "river", "mount", "mt", "desert", "strait", "peninsula", "island", "islands")
)

# Signs that make another answer of the same words: C++ and C#, x < 5 and x > 5, -3/7 and 3/7; but not the mark of a list.
_SIGNS = re.compile(
    r"[#±<>^√]|(?<=[^\W\d])\+|(?<!\d)\+(?=\s?\w)|\+(?=\d)"
    r"|^\s?-(?=\w)|(?:(?<=[=(])|(?<=\bis\s))\s?-(?=\s?\w)"
)
_NOT = re.compile(r"(?i)\W*(?:not|never|before|after|until)\b")


def signs(text: str) -> list[str]:
    """Return the signs at the words of ``text``."""
    return [each.strip() for each in _SIGNS.findall(plain(text))]


def dates_of(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield what the first date of ``text`` can be as (year, month, day), the day 0 where it says none."""
    said = text.casefold()
    for form in _DATES:
        if found := form.search(said):
            names = found.groupdict()
            month = int(names.get("month") or _MONTHS[names["name"]])
            yield int(names["year"]), month, int(names.get("day") or 0)
            return
    # 9/11/1989 can be two days
    if found := _NUMERIC.search(said):
        first, second, year = int(found["first"]), int(found["second"]), int(found["year"])
        yield from ((year, month, day) for month, day in ((second, first), (first, second)) if month <= 12)


@dataclass(frozen=True, slots=True)
class _Form:
    """A text as it is compared: in simple form, without its kind, word by word, as dates, as a number, by its signs."""

    text: str
    simple: str
    without_kind: frozenset[str]
    words: str
    days: frozenset[tuple[int, int, int]]
    number: float | None
    signs: list[str]


def _form(text: str) -> _Form:
    plain = simple(text)
    words = plain.split()
    sides = ((words[1:], words[:1]), (words[:-1], words[-1:]))
    named = frozenset(" ".join(rest) for rest, kind in sides if rest and kind[0] in _KINDS)
    days = frozenset(dates_of(text)) if re.search(r"\d", text) else frozenset()
    return _Form(text.strip(), plain, named, _spaced(text), days, _only_number(text), signs(text))


# the same keys are compared with the replies of every model
_key = lru_cache(65_536)(_form)


def same(said: str, key: str) -> bool:
    """Return whether ``said`` and ``key`` are one: as normalised texts, as dates, or as whole texts that are one number."""
    return _same(_form(said), _key(key))


def _same(said: _Form, key: _Form) -> bool:
    if said.simple == key.simple and (said.simple or said.text == key.text):
        return True
    if said.simple in key.without_kind or key.simple in said.without_kind:
        return True
    if key.days and not _NOT.match(said.text):
        return any(each[:2] == day[:2] and day[2] in (0, each[2]) for day in key.days for each in said.days)
    both = said.number is not None and key.number is not None
    return both and math.isclose(said.number or 0.0, key.number or 0.0, rel_tol=1e-9)


def _only_number(text: str) -> float | None:
    text = re.sub(r"°\s?[CF]?", "", text)
    found = [*numbers(text)]
    alone = len(found) == 1 and not re.search(r"[^\W\d]", text[: found[0].start] + text[found[0].end :])
    return found[0].value if alone else None


def stated(sentence: str, keys: Sequence[str]) -> str | None:
    """Return the first of ``keys`` that a sentence states as whole words or as its number, not denied nor compared with."""
    text = _NOTE.sub(" ", sentence)
    clauses = [each for each in _CLAUSES.split(text) if each.strip()]
    # Of several clauses the first counts, and one that goes on from it: "formerly Kingston; now Ottawa".
    led = bool(_LEADS_UP.match(text))
    counted = [each for place, each in enumerate(clauses) if place == 0 or led or _GOES_ON.match(each)]
    said = [(each, _spaced(each)) for each in counted]
    found = [*numbers(text)]
    for key in keys:
        form = _key(key)
        by_number = form.number is not None and _states_number(text, found, form.number)
        if by_number or (form.number is None and any(_names(*each, form) for each in said)):
            return key
    return None


def has_words(text: str, keys: Iterable[str]) -> bool:
    """Return whether ``text`` has one of ``keys`` as whole words, in simple form, in any context."""
    said = _spaced(text)
    return any(_key(key).words in said and bool(_whole(_key(key).words).search(said)) for key in keys)


def _whole(words: str) -> re.Pattern[str]:
    """Return what finds ``words`` as whole ones in simple form; particles of Korean may follow."""
    return re.compile(rf"(?:^| ){re.escape(words)}(?: |$|(?=[\u1100-\u11ff]))" if words else r"(?!)")


def _names(clause: str, said: str, key: _Form) -> bool:
    """Return whether a clause, ``said`` in words, names ``key``."""
    for found in _whole(key.words).finditer(said) if key.words in said else ():
        before, behind = said[: found.start()].strip(), unicodedata.normalize("NFC", said[found.end() :])
        if not (_ASIDE.search(before) or _WRONG.match(behind) or _longer(clause, key)):
            return True
    return False


def _longer(clause: str, key: _Form) -> bool:
    """Return whether the one word of ``key`` ends a longer name: "Pierre Curie", "New Mexico"."""
    if " " in key.words or not key.text[:1].isupper():
        return False
    found = re.search(rf"\b([A-ZÀ-Þ][\w.'’]*)[\s-]+{re.escape(key.text)}", clause)
    return found is not None and not _TITLE.match(simple(found[1]))


def _spaced(text: str) -> str:
    """Return the words of ``text`` in simple form; each character of Chinese is one."""
    return simple(_CJK.sub(r" \1 ", text))


def _states_number(text: str, found: Sequence[Quantity], value: float) -> bool:
    for one, two in pairwise(found):
        between = text[one.end : two.start]
        if one.value != two.value and value in (one.value, two.value) and BETWEEN.fullmatch(between):
            return False
    return any(math.isclose(each.value, value, rel_tol=1e-9) for each in found)


def _short(text: str) -> str:
    """Return a line, or of a longer one its first sentence; "" where that is prose too."""
    said = text if len(text) <= LONGEST_SENTENCE else re.split(r"(?<=\w{3})[.!?]\s", text, maxsplit=1)[0]
    return said if len(said) <= LONGEST_SENTENCE else ""


@dataclass(frozen=True, slots=True)
class ShortText:
    """A name or a few words. Its value is the text as stated; ``aliases`` are the forms that are right."""

    aliases: Sequence[str]
    name: str = "answer"

    def read(self, said: str) -> Found:
        bare = unboxed(_short(said)).strip(" \t\n*_,;:!$\"'`<>").removesuffix(".").strip(" *_$\"'`")
        if not bare or _UNFINISHED.search(bare) or TEMPLATE.fullmatch(bare):
            return NOTHING
        bare = bare[1:-1] if re.fullmatch(r"\[[^\[\]]*\]", bare) else bare
        start = said.find(bare)
        stated = Found("ok", bare, start, start + len(bare))
        if self._is(bare) is not None:
            return stated
        guess = _GUESS.search(bare)
        if UNKNOWN.match(bare) and not (guess and self.right(guess[1])):
            return WITHHELD
        sides = [self.right(each) for each in _OR.split(bare) if each]
        if any(sides) and not all(sides):
            return AMBIGUOUS
        # A long sentence that breaks off states nothing, and one of several parts not which of them is the answer.
        breaks_off = len(bare) > LONGEST_NAME and not re.search(r"[.!?。)\"']\W*$", said)
        nothing = REFUSED.match(bare) or breaks_off or ";" in bare
        return NOTHING if nothing and not self.right(bare) else stated

    def find(self, text: str) -> Found:
        lines = [line.strip(" *_#-\t") for line in text.strip().splitlines()]
        lines = [line for line in lines if re.search(r"\w", line)]
        if len(lines) > 1 and lines[0].endswith(":"):
            lines = lines[1:]
        return self.read(lines[0]) if lines and not lines[0].endswith("?") else NOTHING

    def right(self, said: str) -> bool:
        """Return whether ``said`` is one of the aliases, or a sentence that states one."""
        return self.alias(said) is not None

    def alias(self, said: str) -> str | None:
        """Return the alias that ``said`` is, or that it states as a sentence; None for neither."""
        last = TAKES_BACK.split(said)[-1] or said
        signed = signs(last), signs(_NOTE.sub("", last))
        aliases = [each for each in self.aliases if _key(each).signs in signed]
        return ShortText(aliases)._is(last) or stated(last, aliases)

    def short(self, said: str) -> str:
        """Return the name alone: the alias that a sentence states, else ``said`` without a note and what leads up to it."""
        bare, found = _SAYS.sub("", _NOTE.sub("", said)), self.alias(said)
        return bare if found is None or any(same(bare, alias) for alias in self.aliases) else found

    def _is(self, said: str) -> str | None:
        """Return the alias that ``said`` is: unchanged, without a note in brackets, after "it is", "last, first"."""
        forms = {said, _NOTE.sub("", said), _SAYS.sub("", said), _SAYS.sub("", _NOTE.sub("", said))}
        forms |= {re.split(r"\s[-–—]+\s|,\s|;\s", form, maxsplit=1)[0] for form in forms}
        if said.count(",") == 1:
            last, first = said.split(",")
            forms.add(f"{first.strip()} {last.strip()}")
        forms |= {note.strip(" ()[]") for note in _NOTE.findall(said)}
        mine = [*map(_form, forms)]
        found = (alias for alias in self.aliases if any(_same(each, _key(alias)) for each in mine))
        return next(found, None)
