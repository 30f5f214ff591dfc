"""Answers that are a string of letters, such as KNNK, however they are spaced or told: "Ada: knight, Ben: knave"."""

from __future__ import annotations

import re

from metacog_pipeline.benchmark.answers.clauses import Places
from metacog_pipeline.benchmark.answers.reading import AnswerKey, Prepared, Reading
from metacog_pipeline.benchmark.answers.text import folded

_MEANS = re.compile(r"\b([A-Z]) for (?:an? )?([a-z]+)")
_ORDER = re.compile(r"\bin the order ((?:[A-Z]\w+(?:, | and |, and )?)+)")
_SUBJECT = re.compile(
    r"^(?:(?:it|this|that|answer) (?:is|was)|its|thats|(?:the|my) (?:\w+ ){1,8}?(?:is|was|are|would be)) "
)
_ARTICLES = re.compile(r"\b(?:the|a|an)\b ?")


def read(prepared: Prepared, key: AnswerKey) -> Reading:
    """Return the reading of an answer that must be given letter by letter, or word by word."""
    wanted = str(key.forms[0])
    if re.fullmatch(r"[A-Z]{2,12}", wanted) is None:
        return _whole(prepared.text, key)
    found = _codes(prepared.text, key, wanted)
    if not found:
        return Reading(
            prepared.text[:80] if len(prepared.text) < 20 else None,
            False,
            "no string of these letters is there",
        )
    best = max(rank for rank, _ in found)
    said = list(dict.fromkeys(code for rank, code in found if rank == best))
    if len(said) > 1:
        return Reading("; ".join(said), None, f"two answers of equal standing: {'; '.join(said)}")
    verb = "is" if said[0] == wanted else "is not"
    return Reading(said[0], said[0] == wanted, f"{said[0]} {verb} the answer")


def _codes(text: str, key: AnswerKey, wanted: str) -> list[tuple[int, str]]:
    """Return the strings of letters with a rank: written out, then told name by name, then in brackets."""
    letters = dict(_MEANS.findall(key.question))
    alphabet = "".join(sorted(set(wanted) | set(letters)))
    places = Places(text)
    cut = places.corrected_from()
    found: list[tuple[int, str]] = []
    run = rf"(?<![A-Za-z])[{alphabet}](?:[ ,;/|-]{{0,3}}[{alphabet}]){{{len(wanted) - 1}}}(?![A-Za-z])"
    for each in re.finditer(run, text):
        later = each.start() >= cut
        found.append(
            (3 * later + (0 if places.in_bracket(each.start()) else 2), re.sub(r"[^A-Z]", "", each[0]))
        )
    told = _told(text, key.question, letters, wanted)
    return [*found, (1 + 3 * (cut < 0), told)] if told else found


def _told(text: str, question: str, letters: dict[str, str], wanted: str) -> str | None:
    """Return the letters told in words, in the order the question names them: by name, by kind, or in a row."""
    order = _ORDER.search(question)
    names = re.findall(r"[A-Z]\w+", order[1]) if order else []
    if len(names) != len(wanted) or not letters:
        return None
    kinds = {word: letter for letter, word in letters.items()}

    def letter_of(kind: str) -> str:
        return kinds.get(kind.lower(), kind)

    any_name, any_kind = "|".join(names), "|".join([*(f"(?i:{word})" for word in kinds), *letters])
    some = rf"(?:{any_name})\b(?:(?:,? and |, ?| & )(?:{any_name})\b){{0,{len(names)}}}"
    told: dict[str, str] = {}
    for form in (
        rf"\b(?P<what>{any_kind})s? ?(?:for|is|are|=|:) ?\W{{0,4}}(?P<who>{some})",
        rf"\b(?P<who>{some})\W{{0,4}}(?:(?:is|=|was|are|the|an?|both)\W{{0,3}}){{0,4}}(?P<what>{any_kind})s?\b",
    ):
        before = set(told)
        for each in re.finditer(form, text):
            letter = letter_of(each["what"])
            told.update({name: letter for name in re.findall(any_name, each["who"]) if name not in before})
    if others := re.search(rf"\b(?i:the (?:rest|others?)) (?:is|are) (?:an? )?({any_kind})s?\b", text):
        told = dict.fromkeys(names, letter_of(others[1])) | told
    if told:
        return "".join(told[name] for name in names) if all(name in told for name in names) else None
    run = re.search(
        rf"\b(?:{any_kind})s?\b(?:(?:, and |, | and |; ?| - | → )(?:{any_kind})\b){{{len(names) - 1}}}", text
    )
    said = re.findall(any_kind, run[0]) if run else []
    return "".join(map(letter_of, said)) or None


def _whole(text: str, key: AnswerKey) -> Reading:
    """Return whether the text is the form and nothing else, articles and "the answer is" aside."""
    said = _ARTICLES.sub("", _SUBJECT.sub("", folded(text.strip()))).strip()
    right = any(said == _ARTICLES.sub("", folded(str(form))).strip() for form in key.forms)
    return Reading(text[:80], right, "the whole text is compared")
