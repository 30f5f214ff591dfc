"""Whether an accepted name that stands in a reply is a name of its own, and no part of another one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metacog_pipeline.benchmark.answers import word_answers
from metacog_pipeline.benchmark.answers.question import stems
from metacog_pipeline.benchmark.answers.text import folded
from metacog_pipeline.benchmarks.selfknowledge import name_words
from metacog_pipeline.benchmarks.selfknowledge.mentions import PREDICATE
from metacog_pipeline.benchmarks.selfknowledge.person_names import asks_person

_PLACE_BEHIND = re.compile(r", ([A-Z][\w' ]+)\W*$")
_STARTS = re.compile(r"(?:^|[.!?:;\n] ?|[\"'(] ?)(?:[\w'-]+ )?$")
_KIN = re.compile(
    r"['’]s (?:\w+ )?(?:mayor|neighbou?r|capital|president|king|queen|son|daughter|wife|husband|father"
    r"|mother|brother|sister"
    r"|rival|predecessor|successor|teacher|student|pupil|friend|colleague|assistant|uncle|suburb|twin|enemy"
    r"|replacement|sequel)\b",
    re.IGNORECASE,
)
_NO_PERSON = frozenset(("lake", "mount", "mt", "river", "city", "town", "island", "port", "lago", "monte"))
_NOT_OWNED = frozenset(
    ("the", "a", "an", "my", "it", "been", "also", "not", "who", "what", "where", "in", "is")
)
_REGNAL = re.compile(r"\b(?:king|queen|pope|emperor)\b", re.IGNORECASE)


def only_whole(text: str, names: Sequence[str], question: str) -> str:
    """Return a text without the places where a name is part of another one; "" where no place is left."""
    spans = [span for name in names for span in word_answers.occurrences(text, name)]
    whole = [span for span in spans if _whole(text, *span, names, question)]
    for start, end in spans:
        if (start, end) not in whole and not any(s <= start and end <= e for s, e in whole):
            text = text[:start] + "\ue000" * (end - start) + text[end:]
    return text if whole else ""


def _whole(text: str, start: int, end: int, names: Sequence[str], question: str) -> bool:
    """Return whether what stands at a place is a name of its own and no part of another one."""
    before = re.search(r"([\w'’.-]+)([ -])$", text[:start])
    person = asks_person(question, names)
    if before and before[2] == "-":
        return False
    capitals = before and text[start : start + 1].isupper() and before[1][:1].isupper()
    if before and capitals and _of_a_longer_name(text, start, end, before, question, person=person):
        return False
    if before and folded(before[1]) in name_words.UNLIKE and any(name.islower() for name in names):
        return False
    if person and " " not in text[start:end] and _of_another(text, start, end, names):
        return False
    several = re.search(r"[,&]| and ", said := text[start:end]) is not None
    if re.match(r"\+\+|#|-[A-Z]", text[end:]) or (not several and _of_a_compound(text, start, end, question)):
        return False
    if before and said.islower() and _another_sort(text, before, end, question):
        return False
    if before and person and _another_first_name(text[:start], text[start:end], names):
        return False
    said = text[start:end]
    if (
        said[-1:] == "s"
        and said[:1].isupper()
        and said[-2:-1] not in ("'", "’")
        and (start or "¿" in question)
        and folded(said) not in map(folded, names)
    ):
        return False
    behind = re.match(r" ([\w'’-]+)", text[end:])
    owner = said.endswith(("'s", "’s"))
    if behind and behind[1][:1].isupper() and text[start : start + 1].isupper() and not owner:
        title = before is not None and before[1] == "The" and folded(behind[1]) not in name_words.KIND_BEHIND
        lone = (
            folded(said) in name_words.GIVEN or any(each.endswith(f" {said}") for each in names)
        ) and not _REGNAL.search(question)
        run = set(folded(re.match(r"(?: [A-Z][\w'-]*)+", text[end:])[0]).split())  # type: ignore[index]
        if " " not in said and (title or lone) and not run & set(folded(question).split()):
            return False
        return person or folded(behind[1]) in name_words.KIND_BEHIND or not behind[1][1:].islower()
    if person and " " not in said and re.match(r" the [A-Z]", text[end:]):
        return False  # "William the Conqueror"
    if before and said.islower() and _of_another_kind(before[1], said, names, question):
        return False
    return not _possessive(text, start, end, question)


def _of_a_longer_name(
    text: str, start: int, end: int, before: re.Match[str], question: str, *, person: bool
) -> bool:
    """Return whether the capitalised word before a name makes it another one: "New York", "Lake Victoria" of a person."""
    word, leads = folded(before[1]), _STARTS.search(text[:start]) is not None
    if person and word in _NO_PERSON:
        return True
    if word in name_words.BEFORE and not (
        leads and word in name_words.ARTICLES and folded(text[start:end]) not in name_words.WITH_ARTICLE
    ):
        return True
    plain = word in name_words.NO_NAME or word in name_words.KIND_BEFORE or word in folded(question).split()
    if not person and word in name_words.GIVEN:
        return True
    if leads and not (person or plain) and _alone(text, before, end):
        return True
    return not (leads or person or plain or before[1].endswith((".", "ern", "ent", "ese", "an", "al", "ic")))


def _another_sort(text: str, before: re.Match[str], end: int, question: str) -> bool:
    """Return whether a reply is nothing but two nouns, the first of which makes it another thing: "table tennis"."""
    word = folded(before[1])
    plain = (
        name_words.NO_NAME | name_words.KIND_BEFORE | name_words.ADJECTIVES | set(folded(question).split())
    )
    if not word.isalpha() or word in plain or word.endswith(name_words.ADJECTIVE_ENDINGS):
        return False
    return not re.search(r"\w", text[: before.start()]) and not re.search(r"\w", text[end:])


def _of_another_kind(word: str, said: str, names: Sequence[str], question: str) -> bool:
    """Return whether a nationality before a noun is none of those an accepted answer gives it: "French franc"."""
    kinds = {folded(name).split()[0] for name in names if folded(name).endswith(f" {said}")}
    told = word[:1].isupper() and folded(word).endswith(("an", "ish", "ese", "ch", "ss", "ic", "ian", "i"))
    return bool(kinds) and told and folded(word) not in kinds | set(folded(question).split())


def _alone(text: str, before: re.Match[str], end: int) -> bool:
    """Return whether a reply is nothing but two capitalised words, the first of them no adjective: "Young Frankenstein"."""
    adjective = before[1].endswith((".", "ern", "ent", "ese", "an", "al", "ic", "ish", "ly", "-day", "s"))
    plain = adjective or "'" in before[1] or re.search(r"\d", text) or folded(before[1]) in name_words.HEDGES
    return not plain and not re.search(r"\w", text[: before.start()]) and not re.search(r"\w", text[end:])


def _of_another(text: str, start: int, end: int, names: Sequence[str]) -> bool:
    """Return whether a name is another person's or a place's: "Leonardo DiCaprio", and alone "Darwin, Australia"."""
    name, behind = folded(text[start:end]), text[end:]
    tail = _PLACE_BEHIND.fullmatch(behind)
    if tail and not re.search(r"\w", text[:start]):
        given = name_words.GIVEN | {word for each in names for word in folded(each).split()}
        return not any(word in given or len(word) == 1 for word in folded(tail[1]).split())
    full = [set(folded(each).split()) for each in names if folded(each).startswith(f"{name} ")]
    run = re.match(r" [A-Z][\w'-]+(?: (?:[A-Z][\w'-]+|van|von|de|da|di|del?|der|la|le))*", behind)
    return bool(full) and run is not None and not any(set(folded(run[0]).split()) & words for words in full)


def _of_a_compound(text: str, start: int, end: int, question: str) -> bool:
    """Return whether nouns behind a name make it another thing: "iron oxide"; what the question names does not."""
    tail = re.match(r"((?: [a-zà-ÿ-]+){1,3})(?: ?[(,.;!?]|$)", text[end:])
    words = tail[1].split() if tail else []
    called = re.match(r" [a-z]+ (?:called|named|known as) ", text[end:]) is not None
    if PREDICATE.search(text[:start]) and not words:
        return False
    if words and text[start:end].istitle() and re.search(r"(?:^|\W)an? $", text[:start]):
        return (
            words[0] not in name_words.KIND_BEHIND | name_words.NO_NAME | name_words.PLAIN_BEHIND
        )  # "a Beatles cover band"
    free = (
        name_words.KIND_BEHIND
        | name_words.KIND_BEFORE
        | name_words.NO_NAME
        | name_words.PLAIN_BEHIND
        | set(folded(question).split())
    )
    plain = [word for word in words if word in free or word.endswith(("ed", "ly", "ing", "self"))]
    return called or (bool(words) and not plain and not stems(words[-1]) & stems(question))


def _another_first_name(before: str, name: str, names: Sequence[str]) -> bool:
    """Return whether the word before a surname is not the first name that an accepted answer gives it."""
    known = [
        part[:3]
        for each in names
        if each.endswith(f" {name}")
        for part in each.split()[:-1]
        if not part.endswith(("vich", "vna"))
    ]
    run = re.search(r"((?:[A-Z][\w.'-]* )+)$", before)
    own = [
        word
        for word in (run[1].split() if run else [])
        if folded(word) not in name_words.NO_NAME | name_words.KIND_BEFORE
    ]
    return bool(known and own) and not any(
        part.startswith(word.rstrip(".")[:3]) for word in own for part in known
    )


def _possessive(text: str, start: int, end: int, question: str) -> bool:
    """Return whether a name only says whose the answer is: "Paris's mayor", "Iran's neighbour Iraq"."""
    cut = end - 2 if text[end - 2 : end] in ("'s", "’s") else end
    owned = re.match(r"['’]s ((?:[\w'-]+ ?){1,4})", text[cut:])
    if owned is None:
        return False
    words = owned[1].split()
    if words[0].lower() in _NOT_OWNED:
        return False
    asked = folded(question).split()
    if re.match(
        r"\W*(?:where|in which|in what|(?:which|what) (?:country|state|city|nation)|on which)\b",
        question,
        re.IGNORECASE,
    ):
        return _KIN.match(text[cut:]) is not None  # "Iceland's Althing" says where
    head = re.findall(r"\b[A-Z][\w'-]+", text[:start])
    if re.search(r"\w, $", text[:start]) and words[0].islower():
        return folded(words[0]) not in asked or any(folded(word) not in asked for word in head)
    return not any(folded(word) in asked for word in words) and (
        _KIN.match(text[cut:]) is not None or any(word[:1].isupper() for word in words)
    )
