"""The paper's rules of reading, literally, and matching rules that are usual elsewhere."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping

from metacog_pipeline.benchmarks.selfknowledge.prompts import YES_NO
from metacog_pipeline.reading.names import has_words

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize(text: str) -> str:
    """Return the normal form of SQuAD: lower case, without ASCII punctuation and the words a, an, the."""
    # Punctuation goes before the articles, as in Rajpurkar et al. (2016), so "a.b" is a word.
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def inclusion(output: str, answers: Iterable[str]) -> bool:
    """Whether any answer is a substring of ``output``, both in lower case, as published: "Iranian" holds "Iran"."""
    said = output.lower()
    return any(answer.lower() in said for answer in answers)


def _normalized(output: str, answers: Iterable[str]) -> bool:
    said = normalize(output)
    # An answer of which nothing is left would be a part of every reply.
    return any(wanted and wanted in said for wanted in map(normalize, answers))


def _exact(output: str, answers: Iterable[str]) -> bool:
    # A text of which nothing is left is compared as it is.
    said, *wanted = (normalize(each) or each.strip().lower() for each in (output, *answers))
    return any(each and each == said for each in wanted)


RULES: Mapping[str, Callable[[str, Iterable[str]], bool]] = {
    "inclusion": inclusion, "normalized_inclusion": _normalized, "exact_match": _exact, "token_boundary": has_words,
}  # fmt: skip


def language_of(code: str) -> str:
    """Return the language whose words count for a language code: exactly ``ko`` or ``es``, ``zh…``, else English."""
    return code if code in ("ko", "es") else "zh" if code.startswith("zh") else "en"


def says_yes(text: str, language: str = "en") -> bool:
    """Whether the yes word of the language is a substring, as published: "eyes" and 不是 say yes, "Si" does not."""
    return YES_NO[language_of(language)][0].lower() in text.lower()


def abstains(text: str) -> bool:
    """Whether "i don't know", with a straight apostrophe, is a substring of ``text`` in lower case."""
    return "i don't know" in text.lower()
