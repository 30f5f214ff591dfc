"""What a reply says: yes or no to "do you know it?", and whether an answer was withheld ("I don't know").

Three rules each.

``reference`` is the rule of the published numbers: yes where the yes word of the language stands anywhere in the reply,
in lower case, as part of another word too; otherwise no. So "eyes", "不是" (is not), "예상" (expectation) and "así" (so)
say yes, "Si" without its accent says no, and so does every reply that says nothing. An abstention is the text "i don't
know".

``strict`` takes the first word only: the yes word or the no word as the prompt asks for it, whatever quotes and marks
stand around it; anything else is no answer. An abstention is a reply that is nothing else.

``default`` reads words, not letters. Thinking between tags, quotes, Markdown and what comes after an invented next
question are not part of a reply. The yes, the no or the "I don't know" it begins with counts, unless it says the other
thing as well ("Yes and no", "No. Yes"). Where it begins otherwise, saying that one knows, or does not know, or is not sure,
counts as yes or no as the prompt defines them. Where both are said, a last clause that is a bare yes or no decides; else
not knowing does where it comes last: who knows the topic, or knows "that I don't know", does not know the answer. What
remains says neither and is no answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from metacog_pipeline.benchmark.answers.abstaining import LONGEST, offers, plain, withholds
from metacog_pipeline.benchmark.answers.unknowing import SURE, says_unknown
from metacog_pipeline.benchmarks.selfknowledge.answer_words import YES_NO, answer_words

YesNoRule = Literal["default", "reference", "strict"]

_NEXT_QUESTION = re.compile(r"\n ?(?:question|q|问题|問題|질문|pregunta|user|human) ?:")
_CLAUSES = re.compile(r"[.,;:!?…\n/|()\[\]—–。，、；：！？]|-(?= )")

_REFERENCE_ABSTENTION = "i don't know"


@dataclass(frozen=True, slots=True)
class YesNo:
    """A reading: ``value`` is 1 for yes, 0 for no, None where neither can be read; ``reason`` then says why."""

    value: Literal[0, 1] | None
    reason: str | None = None


_YES, _NO = YesNo(1), YesNo(0)
_NEITHER = YesNo(None, "says neither yes nor no")
_BOTH = YesNo(None, "says both yes and no")


def language_of(code: str) -> str:
    """Return the language whose words count for a language code: exactly ``ko`` or ``es``, ``zh…``, else English."""
    if code in ("ko", "es"):
        return code
    return "zh" if code.startswith("zh") else "en"


def read_yes_no(text: str, language: str = "en", rule: YesNoRule = "default") -> YesNo:
    """Return what ``text`` says by ``rule``; by ``reference`` always something."""
    match rule:
        case "reference":
            return _YES if says_yes(text, language) else _NO
        case "strict":
            return _strict(text, language_of(language))
        case _:
            return _default(text, language_of(language))


def says_yes(text: str, language: str = "en") -> bool:
    """Whether the yes word of the language stands anywhere in ``text``: the rule of the published numbers."""
    return YES_NO[language_of(language)][0].lower() in text.lower()


def abstains(text: str, rule: YesNoRule = "default", answers: Iterable[str] = (), question: str = "") -> bool:
    """Whether ``text`` says that the answer is not known.

    By the ``default`` rule in other words, other apostrophes and four languages too (`withholds`); but not where the words
    are part of an accepted answer, as of a song of that name, not behind an answer, and not before one that is offered all
    the same (`offers`). Where no phrase is found, the words of the reply are weighed (`says_unknown`), unless it holds an
    accepted answer.
    """
    if rule == "reference":
        return _REFERENCE_ABSTENTION in text.lower()
    said = plain(text)
    if rule == "strict":
        return said.strip(" .!\n") == _REFERENCE_ABSTENTION
    accepted, asked = tuple(map(plain, answers)), plain(question) if question else ""
    if offers(text, accepted, asked):
        return False
    if withholds(said, accepted, asked):
        return True
    return not any(each and each in said for each in accepted) and says_unknown(text, question) > SURE


def _strict(text: str, language: str) -> YesNo:
    said = unicodedata.normalize("NFKC", text[:LONGEST])
    start = next((place for place, character in enumerate(said) if character.isalnum()), None)
    if start is None:
        return YesNo(None, "says nothing")
    end = next((place for place in range(start, len(said)) if not said[place].isalnum()), len(said))
    yes, no = (word.casefold() for word in YES_NO[language])
    first = said[start:end].casefold()
    if first in (yes, no):
        return _YES if first == yes else _NO
    return YesNo(None, "the first word is neither yes nor no")


def _default(text: str, language: str) -> YesNo:
    said = plain(text)
    if (invented := _NEXT_QUESTION.search(said)) is not None:
        said = said[: invented.start()]
    if not any(character.isalnum() for character in said):
        return YesNo(None, "says nothing")
    found = _decide(said, language)
    if found is _NEITHER and language != "en":
        return _decide(said, "en")  # many models answer in English whatever they are asked in
    return found


def _decide(said: str, language: str) -> YesNo:
    words = answer_words(language)
    lead = words.lead.match(said)
    begins = lead.end() if lead is not None else 0
    found = [
        (str(each.lastgroup), each.start())
        for each in words.deciding.finditer(said, begins)
        if each.lastgroup != "trap"
    ]
    if not found:
        return _NEITHER
    kinds = [group.removesuffix("_word") for group, _ in found]
    clauses = [words.bare.fullmatch(clause.strip()) for clause in _CLAUSES.split(said.rstrip(" .!\n"))]
    bare = {each.lastgroup for each in clauses if each is not None}
    first, place = found[0]
    if kinds[0] == "both":
        return _BOTH
    if place == begins and first != "yes":
        return _BOTH if bare - {kinds[0]} else _says(kinds[0])
    if set(kinds) == {kinds[0]}:
        return _says(kinds[0])
    if (final := clauses[-1]) is not None:
        return _says(final.lastgroup)
    phrases = [group for group, _ in found if not group.endswith("_word")]
    if phrases[-1:] == ["no"] and "yes_word" not in dict(found):
        return _NO
    return _YES if place == begins and set(phrases) == {"yes"} and "no" not in bare else _BOTH


def _says(kind: str | None) -> YesNo:
    return _YES if kind == "yes" else _NO
