"""Whether an answer is right: five rules, each linear in the length of the answer.

``entities``, the headline, asks that an accepted answer is what the reply says, as a whole name or as a number.
``inclusion`` is the rule of the published numbers: an accepted answer, in lower case, stands anywhere in the reply, in
lower case. Nothing else is evened out and words have no ends, so "Iranian" holds "Iran" and "10" holds "1".
``normalized_inclusion`` does the same after `normalize`. ``exact_match`` asks that nothing but the answer stands there.
``token_boundary`` asks for the answer as whole words, and evens out what is spelling rather than content: width and case of
characters, accents of Latin letters, quotes, hyphens, points of abbreviations, a leading article.

Words end at spaces and punctuation. Chinese and Japanese have no such ends: there every character is a word. Korean hangs
particles onto words: there an answer must begin with a word and may be continued ("서울입니다" holds "서울").
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from metacog_pipeline.benchmarks.selfknowledge.entities import says_entity

Rule = Literal["entities", "inclusion", "normalized_inclusion", "exact_match", "token_boundary"]
STRICT: Rule = "token_boundary"

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)

_APOSTROPHES = re.compile(r"(?<=\w)['’‘ʼ′`´](?=\w)")
_INITIALS = re.compile(r"(?<=\b[^\W\d_]\.)\s(?=[^\W\d_]\.)")
_POINTS = re.compile(r"(?<=[^\W\d_])\.(?!\w{2}|\d)|(?<=\b[^\W\d_])\.(?=[^\W\d_])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Written without spaces: Chinese and Japanese, Thai, Lao, Burmese and Khmer. Every character stands alone.
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_ALONE}]|\d+(?:\.\d+)+|[^\W_{_ALONE}]+(?:\+\+|#)?")
_HANGUL_END = re.compile(r"[\uac00-\ud7a3]\Z")
_LEADING_ARTICLES = ("a ", "an ", "the ")
_RUNS = re.compile(r"[a-z]+|[0-9]+")


def matches(output: str, answers: Iterable[str], rule: Rule = "inclusion", question: str = "") -> bool:
    """Whether any of ``answers`` is in ``output`` by ``rule``; never without an accepted answer.

    Only ``entities`` looks at ``question``: its units, its nouns and the numbers it names.
    """
    return entities(output, answers, question) if rule == "entities" else RULES[rule](output, answers)


def entities(output: str, answers: Iterable[str], question: str = "") -> bool:
    """Whether any answer is what ``output`` says, as a whole name or as a number; an empty one matches nothing."""
    accepted = list(answers)
    wordy = [
        answer for answer in accepted if not re.search(r"\d", answer) or answer.strip() == output.strip()
    ]
    return exact_match(output, wordy) or says_entity(output, accepted, question)


def inclusion(output: str, answers: Iterable[str]) -> bool:
    """Whether any answer is a part of ``output``, both in lower case; an empty answer is a part of everything."""
    said = output.lower()
    return any(answer.lower() in said for answer in answers)


def normalized_inclusion(output: str, answers: Iterable[str]) -> bool:
    """Whether any answer is a part of ``output``, both normalised.

    An answer of which nothing is left ("The The") is looked for as it is; an empty one matches nothing.
    """
    said, raw = normalize(output), output.lower()
    for answer in answers:
        wanted = normalize(answer)
        if (wanted in said) if wanted else (bool(answer.strip()) and answer.lower() in raw):
            return True
    return False


def exact_match(output: str, answers: Iterable[str]) -> bool:
    """Whether ``output`` is one of the answers, both normalised.

    An answer of which nothing is left must be there as it is; an empty one matches nothing.
    """
    said, raw = normalize(output), output.strip().lower()
    for answer in answers:
        wanted = normalize(answer)
        if (wanted == said) if wanted else (bool(answer.strip()) and answer.strip().lower() == raw):
            return True
    return False


def token_boundary(output: str, answers: Iterable[str]) -> bool:
    """Whether any answer is there as whole words, in the order of its words.

    An answer without a letter or digit ("???") must be there as it is; an empty one matches nothing.
    """
    said = f" {words(output)} "
    raw = output.lower()
    for answer in answers:
        if not _may_be_in(answer, said):
            continue
        wanted = _without_article(words(answer))
        if not wanted:
            if answer.strip() and answer.strip().lower() in raw:
                return True
        elif f" {wanted}{'' if _HANGUL_END.search(wanted) else ' '}" in said:
            return True
    return False


def normalize(text: str) -> str:
    """Return ``text`` in lower case without ASCII punctuation and the words a, an, the; one space between words.

    The normal form of SQuAD (Rajpurkar et al. 2016): punctuation goes before the articles, so "a.b" is a word.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def words(text: str) -> str:
    """Return the words of ``text`` in one spelling, one space between them."""
    text = _without_accents(unicodedata.normalize("NFKC", text).casefold())
    text = _POINTS.sub("", _INITIALS.sub("", _APOSTROPHES.sub("", text)))
    return " ".join(_WORD.findall(_THOUSANDS.sub("", text)))


def _may_be_in(answer: str, said: str) -> bool:
    """Whether the words of ``answer`` may be among ``said``: where they cannot, that is quickly seen.

    The longest run of letters, or of digits, stays together in whatever spelling.
    """
    if not answer.isascii():
        return True
    runs = [run for run in _RUNS.findall(answer.lower()) if run not in ("a", "an", "the")]
    return not runs or max(runs, key=len) in said


def _without_accents(text: str) -> str:
    """Return ``text`` without the accents of Latin letters; marks of other scripts make other letters and stay."""
    if text.isascii():
        return text
    kept: list[str] = []
    latin = False
    for character in unicodedata.normalize("NFD", text):
        if not unicodedata.combining(character):
            latin = character < "\u0250"
            kept.append(character)
        elif not latin:
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def _without_article(text: str) -> str:
    for article in _LEADING_ARTICLES:
        if text.startswith(article):
            return text.removeprefix(article)
    return text


RULES: Mapping[str, Callable[[str, Iterable[str]], bool]] = {
    "entities": entities, "inclusion": inclusion, "normalized_inclusion": normalized_inclusion,
    "exact_match": exact_match, "token_boundary": token_boundary,
}  # fmt: skip
