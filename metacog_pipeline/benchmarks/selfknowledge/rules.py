"""The paper's rules of reading, literally, and the matching rules that are usual elsewhere.

``inclusion`` is the paper's: an accepted answer, in lower case, is a substring of the reply in lower case, so that
"Iranian" holds "Iran". The others compare in the normal form of SQuAD, or ask for whole words. The paper's yes is the yes
word of the language as a substring ("eyes", 不是 and "así" say yes, "Si" does not); its abstention the text "i don't know".
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping

from metacog_pipeline.benchmarks.selfknowledge.prompts import YES_NO
from metacog_pipeline.benchmarks.selfknowledge.settings import Rule, YesNoRule
from metacog_pipeline.reading.names import has_words

__all__ = ["RULES", "Rule", "YesNoRule", "abstains", "inclusion", "language_of", "normalize", "says_yes"]
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize(text: str) -> str:
    """Return ``text`` in lower case without ASCII punctuation and the words a, an, the; one space between words.

    The normal form of SQuAD (Rajpurkar et al. 2016): punctuation goes before the articles, so "a.b" is a word.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def inclusion(output: str, answers: Iterable[str]) -> bool:
    """Whether any answer is a substring of ``output``, both in lower case; an empty answer is one of everything."""
    said = output.lower()
    return any(answer.lower() in said for answer in answers)


def _normalized(output: str, answers: Iterable[str]) -> bool:
    """An answer of which nothing is left matches nothing."""
    said = normalize(output)
    return any(wanted and wanted in said for wanted in map(normalize, answers))


def _exact(output: str, answers: Iterable[str]) -> bool:
    """A text of which nothing is left is compared as it is."""
    said = normalize(output) or output.strip().lower()
    return any((normalize(each) or each.strip().lower()) == said for each in answers if each.strip())


RULES: Mapping[str, Callable[[str, Iterable[str]], bool]] = {
    "inclusion": inclusion, "normalized_inclusion": _normalized, "exact_match": _exact, "token_boundary": has_words,
}  # fmt: skip


def language_of(code: str) -> str:
    """Return the language whose words count for a language code: exactly ``ko`` or ``es``, ``zh…``, else English."""
    return code if code in ("ko", "es") else "zh" if code.startswith("zh") else "en"


def says_yes(text: str, language: str = "en") -> bool:
    """Whether the yes word of the language is a substring of ``text``."""
    return YES_NO[language_of(language)][0].lower() in text.lower()


def abstains(text: str) -> bool:
    """Whether "i don't know", with a straight apostrophe, is a substring of ``text`` in lower case."""
    return "i don't know" in text.lower()
