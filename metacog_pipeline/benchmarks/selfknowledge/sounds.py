"""Names in another spelling: transliterated (Chaikovskii, Tchaikovsky), without their accents, or with one letter wrong.

`alike` compares two words by how they sound, and where they are long by one slip of the pen. What would make another word
is none: an ending (Iranian, Christina), a short name (Manet, Monet), another first letter (Zambia, Gambia).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from metacog_pipeline.benchmark.answers.text import folded

_SHORTEST, _LONG, _LONGEST = 4, 7, 40
_LETTERS = {
    "č": "ch", "š": "sh", "ž": "zh", "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i",
}  # fmt: skip
_SOUNDS = [
    (re.compile(pattern), to)
    for pattern, to in (
        ("shch|schtsch|chtch|šč", "C"), ("tzsch|tsch|tch|cz|kh|ch", "C"), ("sch|sh|sz", "S"), ("ph", "f"),
        ("dzh|dsch|dj", "j"), ("zh", "z"), ("gh", "g"), ("dh", "d"), ("th", "t"), ("ts|tz", "s"), ("ck|qu?", "k"),
        ("c(?=[eiy])", "s"),
        ("c", "k"), ("x", "ks"), ("w", "v"), ("[yj]", "i"), ("oie|oe(?=v)", "oE"), (r"(?<=[aeou])i(?=[aeou])", ""),
        ("ou|oo|ue", "u"), ("oe", "o"), ("ae", "e"), ("E", "e"), ("ie|ii", "i"), (r"(.)\1+", r"\1"), (r"f\Z", "v"),
        (r"(?<=[^aeiou])e\Z", ""),
    )
]  # fmt: skip
_VOWELS = re.compile(r"[aeiou]")


@lru_cache(maxsize=8_192)
def sound(word: str) -> str:
    """Return a key of a word that its transliterations share.

    >>> sound("Tschaikowsky") == sound("Chaikovskii"), sound("Dostoyevsky") == sound("Dostoïevski")
    (True, True)
    """
    plain = "".join(_LETTERS.get(letter, letter) for letter in word.lower()[:_LONGEST])
    plain = "".join(c for c in unicodedata.normalize("NFD", plain) if not unicodedata.combining(c))
    for pattern, to in _SOUNDS:
        plain = pattern.sub(to, plain)
    return plain


@lru_cache(maxsize=8_192)
def alike(said: str, wanted: str, *, place: bool = False) -> bool:
    """Return whether a word of a reply is a word of an accepted name in another spelling, or with one letter wrong.

    Of a ``place`` a vowel may be wrong in six letters: there are fewer of them than people.
    """
    one, two = folded(said), folded(wanted)
    if one == two:
        return True
    shorter = min(len(one), len(two))
    if shorter < _SHORTEST or max(len(one), len(two)) > _LONGEST or not (one + two).isalpha():
        return False
    if not (one[0].isascii() and two[0].isascii()):
        return False
    name = wanted[:1].isupper()
    first, second = sound(said), sound(wanted)
    if name and first == second and len(first) >= _SHORTEST - 1:
        return one.removesuffix("s") != two.removesuffix("s") and {one + "e", two + "e"} & {one, two} == set()
    if (
        place
        and name
        and shorter == _LONG - 1 == len(one) == len(two)
        and one[0] == two[0]
        and one[-1] == two[-1]
    ):
        return sum(a != b for a, b in zip(one, two, strict=True)) == 1 and _VOWELS.sub(
            "", one
        ) == _VOWELS.sub("", two)
    if shorter < _LONG or one[0] != two[0] or one[-1] != two[-1]:
        return False
    if name and _VOWELS.sub("", first) == _VOWELS.sub("", second) and len(first) == len(second):
        return sum(a != b for a, b in zip(first, second, strict=True)) <= 2
    return one_slip(one, two, substituted=name)


def same_first_name(said: str, wanted: str) -> bool:
    """Return whether two first names are one in two languages: the same consonants, Fedor and Fyodor, Marie and Maria.

    >>> same_first_name("Fedor", "Fyodor"), same_first_name("Paul", "Paula")
    (True, False)
    """
    one, two = sound(said), sound(wanted)
    if not one or not two or one[0] != two[0] or (one[-1] in "aeiou") != (two[-1] in "aeiou"):
        return False
    bare = _VOWELS.sub("", one)
    return len(bare) > 1 and bare == _VOWELS.sub("", two) and {one[-1], two[-1]} != {"a", "o"}


def swapped(one: str, two: str) -> bool:
    """Return whether two words differ by two letters that changed places: sieze, seize."""
    at = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), len(one))
    return (
        len(one) == len(two) > _SHORTEST
        and one != two
        and one[at : at + 2] == two[at : at + 2][::-1]
        and one[at + 2 :] == two[at + 2 :]
    )


def one_slip(one: str, two: str, *, substituted: bool = True) -> bool:
    """Return whether one letter was left out, put in, swapped with the next or (``substituted``) written wrong."""
    if abs(len(one) - len(two)) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    if len(one) == len(two):
        return swapped(one, two) or (substituted and one[at + 1 :] == two[at + 1 :])
    longer, shorter = (one, two) if len(one) > len(two) else (two, one)
    return longer[at + 1 :] == shorter[at:]
