"""Other rules of reading than ours, literally: those of the published numbers, and stricter ones to compare with.

``inclusion`` is the paper's: an accepted answer, in lower case, stands anywhere in the reply, in lower case, so that
"Iranian" holds "Iran" and "10" holds "1". ``normalized_inclusion`` and ``exact_match`` do so, or ask for nothing else, in
the normal form of SQuAD; ``token_boundary`` asks for whole words. The paper's yes is the yes word of the language anywhere
in the reply ("eyes", 不是, 예상 and "así" say yes, "Si" does not), its abstention the text "i don't know".
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from metacog_pipeline.benchmarks.selfknowledge.prompts import YES_NO
from metacog_pipeline.reading.names import has_words

Rule = Literal["entities", "inclusion", "normalized_inclusion", "exact_match", "token_boundary"]
YesNoRule = Literal["default", "reference", "strict"]
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ABSTENTION = "i don't know"
_FIRST_WORD = re.compile(r"[^\W_]+")


# --- whether an answer is right -----------------------------------------------------------------------------------------
def inclusion(output: str, answers: Iterable[str]) -> bool:
    """Whether any answer is a part of ``output``, both in lower case; an empty answer is a part of everything."""
    said = output.lower()
    return any(answer.lower() in said for answer in answers)


def normalized_inclusion(output: str, answers: Iterable[str]) -> bool:
    """Whether any answer is a part of ``output``, both normalised; one of which nothing is left matches nothing."""
    said = normalize(output)
    return any(wanted and wanted in said for wanted in map(normalize, answers))


def exact_match(output: str, answers: Iterable[str]) -> bool:
    """Whether ``output`` is one of the answers, both normalised; one of which nothing is left is compared as it is."""
    said, raw = normalize(output), output.strip().lower()
    return any(
        (normalize(answer) or answer.strip().lower()) == (said or raw) for answer in answers if answer.strip()
    )


def token_boundary(output: str, answers: Iterable[str]) -> bool:
    """Whether any answer stands in ``output`` as whole words, however they are spelled."""
    return has_words(output, answers)


RULES: Mapping[str, Callable[[str, Iterable[str]], bool]] = {
    "inclusion": inclusion,
    "normalized_inclusion": normalized_inclusion,
    "exact_match": exact_match,
    "token_boundary": token_boundary,
}


def normalize(text: str) -> str:
    """Return ``text`` in lower case without ASCII punctuation and the words a, an, the; one space between words.

    The normal form of SQuAD (Rajpurkar et al. 2016): punctuation goes before the articles, so "a.b" is a word.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


# --- yes, no, and an answer withheld ------------------------------------------------------------------------------------
def language_of(code: str) -> str:
    """Return the language whose words count for a language code: exactly ``ko`` or ``es``, ``zh…``, else English."""
    if code in ("ko", "es"):
        return code
    return "zh" if code.startswith("zh") else "en"


def says_yes(text: str, language: str = "en") -> bool:
    """Whether the yes word of the language stands anywhere in ``text``: the paper's rule."""
    return YES_NO[language_of(language)][0].lower() in text.lower()


def first_word(text: str, language: str = "en") -> Literal[0, 1] | None:
    """Return 1 or 0 where the first word of ``text`` is the yes or the no word of the prompt; None for any other."""
    found = _FIRST_WORD.search(unicodedata.normalize("NFKC", text))
    yes, no = (word.casefold() for word in YES_NO[language_of(language)])
    said = "" if found is None else found[0].casefold()
    return 1 if said == yes else 0 if said == no else None


def abstains(text: str) -> bool:
    """Whether "i don't know" stands in ``text``, in lower case and with a straight apostrophe: the paper's rule."""
    return _ABSTENTION in text.lower()
