"""People as replies name them: F. O. Gehry, Bill Shakespeare, Orwell, George, Sir Isaac Newton; and who is another one.

A run of words that ends in the surname of an accepted name is that person where every word before it is a word, an initial,
a short form or another spelling of the first names, or a title; "Modest Tchaikovsky" is somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from metacog_pipeline.benchmark.answers.text import folded
from metacog_pipeline.benchmarks.selfknowledge import name_words
from metacog_pipeline.benchmarks.selfknowledge.sounds import alike, one_slip, same_first_name

_SUFFIX = frozenset(("jr", "sr", "junior", "senior", "ii", "iii", "iv"))
_OFTEN_LEFT_OUT = ("", "ii", "iii", "iv")
_SMALL = r"van|von|der?|da|di|del|la|den|dos|du|le|bin|ibn|al|zu"
_PARTICLE = frozenset(("de", *_SMALL.replace("?", "").split("|")))
_NAME = re.compile(rf"(?:[A-ZÀ-ÞŁŠŽČ][\w'’-]*\.?|{_SMALL})")
_RUN = re.compile(
    rf"(?<![\w'’-])[A-ZÀ-ÞŁŠŽČ][\w'’-]*(?:\.? (?:[A-ZÀ-ÞŁŠŽČ][\w'’-]*|(?:{_SMALL})(?= ))){{0,6}}"
)
_STYLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof)\.? (?=[A-Z])")
_BRACKETED = re.compile(
    r"\b([A-Z][\w'’-]+) (\([A-Z][\w'’. -]{1,20}\)|[\"“][A-Z][\w'’ -]{1,20}[\"”]) (?=[A-Z])()"
)
_LAST_FIRST = re.compile(r"(?<![\w'’-])([A-ZÀ-Þ][\w'’-]+),? ([A-ZÀ-Þ][\w'’-]+)(?! ?[A-Z])")
_SHORT = {
    name: frozenset().union(*(group for group in name_words.SAME_FIRST_NAMES if name in group))
    for name in frozenset().union(*name_words.SAME_FIRST_NAMES)
}
_AMONG_FEW = re.compile(
    r"\b(?:beatle|band|members?|group|characters?|series|sitcom|show|played|lead singer|drummer|guitarist"
    r"|brothers|sisters|siblings"
    r"|bee gees|cartoon|novel's)\b",
    re.IGNORECASE,
)
_PEOPLE = (
    "|".join(sorted(name_words.KINDS_OF_PEOPLE))
    + r"|butler|sidekick|landlady|boss|\w{3,}(?:ologist|ographer|ematician)|princess"
)
_PERSON = re.compile(
    rf"\b(?:which|what|name (?:the|a|of the))(?: [\w'’.-]+){{0,5}} (?:{_PEOPLE})s?\b(?!'s|’s)"
    r"|\b(?:who|whom|whose|by whom|wer|wen|wem|qui|quién|quiénes)\b|谁|누가|누구|哪位|\b(?:surname|(?:first|last"
    r"|middle|real|full) name)\b",
    re.IGNORECASE,
)
_THING = re.compile(
    r"\b(?:which|what|in which|name (?:the|a))(?: [\w'’-]+){0,2} (?:film|movie|novel|book|play|song|album|band|group"
    r"|opera|ballet|ship|city|town|country|state|street|company|brand|firm|musical|series|show|programme|program"
    r"|magazine|newspaper|river|mountain|island|lake|award|prize|club|team|university|college|school|poem|painting"
    r"|animal|plant|element|planet)s?\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=1_024)
def _for_person(question: str) -> bool:
    return _PERSON.search(question) is not None


def asks_person(question: str, names: Sequence[str]) -> bool:
    """Return whether a question asks for a person; where it does not say, a usual first name tells."""
    if _for_person(question) or any(
        folded(name).split()[:1] in (["mr"], ["mrs"], ["dr"], ["sir"]) for name in names
    ):
        return True
    firsts = [folded(name).split()[0] for name in names if len(name.split()) > 1 and folded(name)]
    return any(first in name_words.GIVEN for first in firsts) and not _THING.search(question)


def fits_middle(middle: str, words: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether a middle name or initial is one that the accepted names give a person; without one any is."""
    known = [
        folded(part)
        for name in names
        if (own := name.replace(".", " ").split())[:1] == [words[0]] and own[-1:] == [words[-1]]
        for part in own[1:-1][:1]
    ]
    plain = folded(middle)
    return not known or any(part.startswith(plain) or plain.startswith(part) for part in known)


def known_as(name: str, text: str, question: str) -> str | None:
    """Return the part of a name that stands for it in a text: behind a title, of Koreans, a first name among few."""
    words = name.split()
    if len(words) == 2 and folded(words[0]) in name_words.TITLES and words[1][:1].isupper():
        part = words[1]
    elif (len(words) == 2 and re.fullmatch(r"[A-Z][a-z]+-[a-z]+", words[1])) or (
        2 <= len(words) <= 3
        and folded(words[0]) not in name_words.TITLES
        and _tells_alone(words[0], text, question)
    ):
        part = words[0]
    else:
        return None
    if part not in text:
        return None
    found = re.findall(
        rf"(?:([A-Z][\w'’-]*)\.? )?\b{re.escape(part)}\b(?!-|['’]s [A-Z]| [A-Z]| (?:of|the|von|van|de) )",
        text,
    )
    free = name_words.NO_NAME | name_words.KIND_BEFORE | name_words.TITLES
    return part if found and all(not before or folded(before) in free for before in found) else None


def _tells_alone(first: str, text: str, question: str) -> bool:
    """Return whether a first name tells who is meant: among few people, or alone where few have it: Ringo, Galileo."""
    if _AMONG_FEW.search(question):
        return True
    return folded(text) == folded(first) and folded(first) not in name_words.GIVEN_TO_MANY and len(first) > 3


def as_person(text: str, names: Sequence[str]) -> str:
    """Return a text with the names of the people meant in the accepted spelling."""
    people = [(name, _parts(name)) for name in names if _is_full(name)]
    if not people:
        return text
    surnames = {folded(words[-1]): name for name, words in people}
    if not any(_STYLE.search(name) for name in names):
        text = _STYLE.sub("", text)
    text = _BRACKETED.sub(r"\1 \3", text)
    text = _LAST_FIRST.sub(lambda found: _turned(found, people), text)
    return _RUN.sub(lambda found: _named(found[0], people), text) if surnames else text


def _is_full(name: str) -> bool:
    """Return whether a name has a first name and a surname, and nothing else."""
    words = name.split()
    return 2 <= len(words) <= 6 and all(_NAME.fullmatch(word.strip(",")) for word in words)


def _parts(name: str) -> list[str]:
    """Return the words of a name without titles and what comes behind the surname."""
    words = [word.strip(".,") for word in re.sub(r"\.(?=[A-Z])", ". ", name).split()]
    while len(words) > 2 and folded(words[-1]) in _SUFFIX:
        words.pop()
    while len(words) > 2 and folded(words[0]) in name_words.KIND_BEFORE:
        words.pop(0)
    return words


def _named(run: str, people: Sequence[tuple[str, list[str]]]) -> str:
    """Return a run of capitalised words with a person's name in it as it is accepted."""
    said, every = run.split(), [name for name, _ in people]
    if len(said) < 2:
        return run
    for name, words in people:
        last = next(
            (i for i in range(len(said) - 1, 0, -1) if _is_surname(said[i - 1], said[i], words)), None
        )
        if last is None:
            continue
        first = next((i for i in range(last) if _is_first(said[i], words)), None)
        if first is None or any(
            folded(word) not in name_words.NO_NAME | name_words.KIND_BEFORE for word in said[:first]
        ):
            continue
        behind = said[last + 1 :]
        if _suffix(behind) not in (*_OFTEN_LEFT_OUT, _suffix(name.split()[-1:])):
            continue
        between = said[first + 1 : last]
        full = re.sub(r"\.(?=[A-Z])", ". ", name).split()
        if len(between) == 1 and not fits_middle(between[0], [full[0], full[-1]], every):
            continue
        known = all(_is_first(word, words) or folded(word) in _PARTICLE for word in between)
        if known or len(folded(said[first])) > 1 or all(len(folded(word)) == 1 for word in between):
            rest = behind[1:] if _suffix(behind) else behind
            return " ".join([*said[:first], name, *rest])
    return run


def _is_surname(before: str, said: str, words: Sequence[str]) -> bool:
    """Return whether a word is the surname of a name; behind its first name one letter may be wrong."""
    plain, own = folded(said), folded(words[-1])
    return alike(said.strip(".,"), words[-1]) or (
        folded(before) == folded(words[0])
        and min(len(plain), len(own), len(before)) > 3
        and one_slip(plain, own)
    )


def _suffix(words: Sequence[str]) -> str:
    found = folded(words[0]) if words else ""
    return {"junior": "jr", "senior": "sr"}.get(found, found) if found in _SUFFIX else ""


def _is_first(said: str, words: Sequence[str]) -> bool:
    """Return whether a word is one of the first names: itself, its initial, short or in another spelling."""
    plain = folded(said)
    return any(
        plain == (own := folded(word))
        or (len(plain) == 1 and own.startswith(plain))
        or (len(plain) > 2 and own.startswith(plain) and len(own) - len(plain) < 6)
        or plain in _SHORT.get(own, ())
        or alike(said.strip("."), word)
        or same_first_name(said.strip("."), word)
        for word in words[:-1]
        if folded(word) not in _PARTICLE
    )


def _turned(found: re.Match[str], people: Sequence[tuple[str, list[str]]]) -> str:
    """Return "Orwell, George" and "Bartók Béla" with the first name first."""
    for name, words in people:
        if len(words) == 2 and folded(found[1]) == folded(words[1]) and folded(found[2]) == folded(words[0]):
            return name
    return found[0]
