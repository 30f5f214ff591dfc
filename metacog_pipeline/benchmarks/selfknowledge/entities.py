"""The rule ``entities``: an accepted answer must be what a reply says, as a whole name or as a number.

"Iranian" is not "Iran", "New York" is not "York", "1973" and "seventh" are not "7". A name that is denied, offered
beside another ("Lyon or Paris"), only mentioned ("Sydney (many say Canberra)") or taken back is not said. Numbers are
compared as numbers, dates by their parts. Kind words around a name do no harm: "the city of York", "President Washington".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from metacog_pipeline.benchmark.answers import word_answers
from metacog_pipeline.benchmark.answers.dates import date_of
from metacog_pipeline.benchmark.answers.reading import AnswerKey, Prepared, prepared
from metacog_pipeline.benchmark.answers.text import folded
from metacog_pipeline.benchmarks.selfknowledge import name_words
from metacog_pipeline.benchmarks.selfknowledge.cjk_names import says_cjk
from metacog_pipeline.benchmarks.selfknowledge.mentions import (
    answered_before,
    beside_another,
    said_falsely,
)
from metacog_pipeline.benchmarks.selfknowledge.number_said import number_of, says_number
from metacog_pipeline.benchmarks.selfknowledge.person_names import asks_person, fits_middle, known_as
from metacog_pipeline.benchmarks.selfknowledge.spelling import initials, spelled
from metacog_pipeline.benchmarks.selfknowledge.superseded import overtaken, told
from metacog_pipeline.benchmarks.selfknowledge.variants import as_accepted, forms_of
from metacog_pipeline.benchmarks.selfknowledge.whole_names import only_whole

_ARTICLE = re.compile(r"\A(?:the|an?|el|la|los|las) (?=\S)", re.IGNORECASE)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_RUN = re.compile(r"\b(?!The\b)[A-Z][\w'-]+(?: (?:(?:of|the|and|for|de) ){0,2}[A-Z][\w'-]+){1,6}")
_TWICE = re.compile(r"[^()]{1,60} ?\(([^()]+)\)\W*")  # "JPY (yen)"
_TERSE = 40


def says_entity(output: str, answers: Iterable[str], question: str = "") -> bool:
    """Whether ``output`` says any of ``answers`` as a whole entity; never without an accepted answer."""
    forms = [answer for answer in answers if answer.strip()]
    if not forms or not output.strip():
        return False
    terse = len(output) <= _TERSE and not re.search(r"[A-Z]", output)
    said = prepared(_capitalised(output) if terse and any(form[:1].isupper() for form in forms) else output)
    read = {form: number_of(form) for form in forms}
    numbers = [value for form in forms if (value := read[form]) is not None]
    names = [form for form in forms if read[form] is None]
    if numbers and says_number(said, numbers, question):
        return True
    return bool(names) and _says_name(said, names, question)


def _capitalised(reply: str) -> str:
    """Return a terse reply without any capital as names are written: "henry 8th"."""
    return re.sub(r"\b[a-z](?=[a-z]{3})", lambda letter: letter[0].upper(), reply)


def _says_name(said: Prepared, names: Sequence[str], question: str) -> bool:
    text = told(said.text)
    if folded(_ARTICLE.sub("", text)) in {short for name in names for short in _without_kind(name, question)}:
        return True
    symbols = [name for name in names if re.search(r"\w(?:#|\+\+)", name)]
    if any(name.lower() in text.lower() for name in symbols):
        return True
    exonyms = word_answers.exonyms()
    names = [each for name in forms_of(names) for each in (name, *exonyms.get(folded(name), ()))]
    latin_or_date = [name for name in names if not _CJK.search(name) or date_of(name)]
    latin = [_ARTICLE.sub("", spelled(_as_itself(name))) for name in latin_or_date]
    text = as_accepted(text, names, question)
    if any(
        says_cjk(word_answers.without_denied(text, name, question), name, question, names)
        for name in names
        if _CJK.search(name)
    ):
        return True
    plain, shown = spelled(text), ""
    years = [re.findall(r"\b[12]\d{3}\b", name) for name in latin]
    if any(len(both) == 2 and both == re.findall(r"\b[12]\d{3}\b", plain) for both in years):
        return True
    for way in (latin, *_other_ways(latin, plain, question)):
        if way and any(word_answers.occurrences(plain, name) for name in way):
            shown = only_whole(plain, way, question)
            latin = list(way)
            break
    if not shown:
        return False
    reading = word_answers.read(
        Prepared(shown, _moved(said, plain)),
        AnswerKey("text", tuple(latin), question=question),
        labelled=True,
    )
    spans = [span for name in latin for span in word_answers.occurrences(shown, name)]
    if not spans:
        return False
    if overtaken(shown, spans, latin, question):
        return False
    if said_falsely(shown, spans):
        return False
    if (twice := _TWICE.fullmatch(shown)) and folded(twice[1]) in map(folded, latin):
        return True
    return (
        reading.correct is True
        and not beside_another(shown, spans, latin)
        and not answered_before(shown, min(spans), question, latin)
    )


def _as_itself(name: str) -> str:
    """Return an accepted name, a date in the one spelling of dates."""
    date = date_of(name)
    return name if date is None else date.said()


def _without_kind(name: str, question: str) -> list[str]:
    """Return a name without the word that only says what kind is asked for: the Indian (Ocean)."""
    words, asked = folded(_ARTICLE.sub("", name)).split(), folded(question).split()
    kinds = (name_words.KIND_BEHIND | name_words.KIND_BEFORE) & set(asked)
    return [" ".join(rest) for rest in (words[:-1], words[1:]) if rest and set(words) - set(rest) <= kinds]


def _moved(said: Prepared, plain: str) -> tuple[tuple[int, int], ...]:
    """Return where the emphasised parts of a reply stand in its one spelling."""
    found = [(plain.find(spelled(said.text[start:end])), end - start) for start, end in said.emphasised]
    return tuple((at, at + length) for at, length in found if at >= 0)


def _other_ways(names: Sequence[str], text: str, question: str) -> list[list[str]]:
    """Return other spellings of names: initials, without middle initials, the surname of a person who is asked for."""
    short = [re.sub(r" [A-Z](?= [A-Z])", "", name) for name in names]
    made = [
        [
            made
            for name in names
            if (made := initials(name)) and made in text and re.search(rf"\b{made}\b", text)
        ],
        [run for run in _RUN.findall(text) if initials(run) in names],
        [name for name, old in zip(short, names, strict=True) if name != old],
        [full for name in short if (full := _with_middle(name, text, names))],
        [plain for name in names if (plain := re.sub(r"['’]s\b", "", name)) != name],
        [joined for name in names if (joined := _spaced_otherwise(name, text))],
    ]
    if asks_person(question, names):
        people = [name.split() for name in short if re.fullmatch(r"(?:[A-Z][\w'-]+ ){1,3}[A-Z][\w'-]+", name)]
        made.append([words[-1] for words in people if _surname_alone(words, text)])
        made.append([word for name in short if (word := known_as(name, text, question))])
    return made


def _with_middle(name: str, text: str, names: Sequence[str]) -> str | None:
    """Return a name of two words with the middle name or initial it stands with, which no other name contradicts."""
    words = name.split()
    if len(words) != 2 or not all(word[0].isupper() and word in text for word in words):
        return None
    found = re.search(rf"\b{re.escape(words[0])} ([A-Z][\w'-]*)\.? {re.escape(words[1])}\b", text)
    if found is None or not fits_middle(found[1], words, names):
        return None
    return found[0]


def _spaced_otherwise(name: str, text: str) -> str | None:
    """Return how a name stands in a text with other spaces or hyphens: Spider-Man, Spiderman."""
    letters = re.sub(r"[\W_]", "", name)
    if not 6 <= len(letters) <= 40 or letters.lower() not in _letters(text):
        return None
    found = re.search(r"\b" + r"[ -]?".join(map(re.escape, letters)) + r"\b", text, re.IGNORECASE)
    return found[0] if found else None


@lru_cache(maxsize=8)
def _letters(text: str) -> str:
    """Return the letters and digits of a text, in lower case and together."""
    return re.sub(r"[\W_]", "", text).lower()


def _surname_alone(words: Sequence[str], text: str) -> bool:
    """Return whether a surname stands in a text without another first name."""
    if words[-1] not in text:
        return False
    found = re.search(rf"(?:([A-Z][\w'-]*)\.? )?\b{re.escape(words[-1])}\b(?! [A-Z][a-z])", text)
    return found is not None and (
        found[1] is None
        or folded(found[1]) in name_words.NO_NAME
        or found[1] in words
        or words[0].startswith(found[1])
        or found[1] in ("".join(word[0] for word in words[:end]) for end in range(1, len(words)))
    )
