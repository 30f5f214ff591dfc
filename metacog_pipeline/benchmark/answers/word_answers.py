"""Is the name or short text a reply states the right one? Forms are found as whole words, each with its role."""

from __future__ import annotations

import itertools
import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from metacog_pipeline.benchmark.answers import signs
from metacog_pipeline.benchmark.answers.clauses import Places, subordinate
from metacog_pipeline.benchmark.answers.reading import AnswerKey, Prepared, Reading, nothing
from metacog_pipeline.benchmark.answers.text import folded
from metacog_pipeline.files import shipped

FINAL, MAIN, LATER, BRACKET, DENIED = 5.0, 4.0, 3.0, 2.0, 0.0
_DENIED = re.compile(
    r"(?:\b(?:not|no(?! ?[-,.:])|never|neither|nor|without|cannot(?: be)?|isn't|wasn't|aren't|ain't|hardly|non|rather"
    r" than|instead of|other than|(?:as )?opposed to|not in|except|nicht|kein|pas|et non|plutôt que)|n't|不是|并非"
    r"|no (?:es|son|fue|era)n?)[\s\"'-]*(?:(?:the|an?|be|in|simply|actually|really|lake|river|el|la|los|las|en|der"
    r"|die|das|le) ){0,2}[\"']?$",
    re.IGNORECASE,
)
_OTHERS_SAY = re.compile(
    r"\b(?:many|most|some|people|others?|one|you|often|sometimes|commonly|frequently)\b[^.;]{0,40}\b(?:say|think"
    r"|thought|assume[ds]?|believe[ds]?|guess|confused?|mistaken?|mistake|expect|suppose)\w*\b|\b(?:commonly|often"
    r"|frequently) (?:assumed|mistaken|confused)|\b(?:muchos|algunos|la gente|se suele)\b[^.;]{0,30}\b(?:cree|piens"
    r"|dice|confund)\w*|以为|误认为|착각|흔히|\bconfused with\b|\bnot to be\b|\bmisconception\b",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"\b(?:answer(?: is)?|so|thus|hence|therefore|in fact|but|however)\b[^.;\n]{0,30}$|(?:→|=|->)\s*$",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r"\W*(?:\bor\b|/|\bor maybe\b|\bor is it\b|\band\b|或|또는|\bo\b)[^.;\n]{0,18}"
    r"|\?\s*(?:or|maybe|perhaps)\b[^.;\n]{0,18}",
    re.IGNORECASE,
)
_NAME_OR = re.compile(r"(?:^\W*|\b[Tt]he |[:(] ?|\beither (?:the )?)([A-Z][\w'-]+)\W{1,2}or (?:the )?$")
_NEAR = 200  # characters before a name in which another one may be offered
_OR_NAME = re.compile(r",? or (?:maybe |perhaps |possibly )?(?:the )?([A-Z][\w'-]+)\W*$")
_DENIED_LIST = re.compile(r"\b(?:not|neither)\b[^.;:]{0,40}\b(?:or|nor)\s+(?:the )?$", re.IGNORECASE)
_ONCE = re.compile(
    r"\W{0,3}(?:formerly|once|previously|at first|initially|historically|was the first)\b", re.IGNORECASE
)
_LISTED = re.compile(r"\b([A-Z][\w'-]+), (?:and )?then (?:the )?$")
_ORDER = "first second third fourth fifth deepest largest longest biggest"
_ORDINALS = frozenset(_ORDER.split())
_SMALL = "it its the this that although though while my in of on at a an lake sea river ocean city"
_COMMON = frozenset(_SMALL.split())
_DENIED_AFTER = re.compile(r"[\"'》”]?(?:[이가은는]? ?아[니닙닌]|不是|并不)")
_PLACES = {"1st": "first", "2nd": "second", "3rd": "third", "4th": "fourth", "5th": "fifth"}
_PLACE = re.compile("|".join(_PLACES))
_ALONE = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff]")
_CJK = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


@dataclass(frozen=True, slots=True)
class Mention:
    """A form in a text: whether it is accepted, where it stands, its rank."""

    right: bool
    start: int
    end: int
    rank: float


def read(prepared: Prepared, key: AnswerKey, *, labelled: bool) -> Reading:
    """Return the reading of a text answer."""
    text = prepared.text
    places = Places(text)
    found = [
        Mention(right, start, end, 0.0)
        for right, forms in (
            (True, key.forms),
            (False, (*key.reject, *_others_of_a_kind(key), *_others_listed(key))),
        )
        for form in forms
        for name in (str(form), *exonyms().get(folded(str(form)), ()))
        for start, end in occurrences(text, name)
    ]
    found = sorted(_outermost(found), key=lambda each: each.start)
    if not any(each.right for each in found):
        return (
            Reading(_head(text), False, "none of the accepted answers is there")
            if labelled or found
            else nothing()
        )
    words = frozenset(folded(key.question).split())
    ranked = [_ranked(each, text, places, words, labelled=labelled) for each in found]
    ranked = _corrected(places, _with_emphasis(ranked, prepared.emphasised))
    standing = [each for each in ranked if each.rank > DENIED]
    if not any(each.right for each in standing):
        return Reading(_head(text), False, "the accepted answer is denied")
    best = max(each.rank for each in standing)
    if best <= LATER and (other := _another_name(text, key, standing)) is not None:
        return Reading(other, False, f"{other} is said, the accepted answer only beside it")
    top = [each for each in standing if each.rank >= best - 0.3]
    said = text[top[0].start : top[0].end]
    if _alternatives(text, standing, top, key):
        shown = "; ".join(dict.fromkeys(text[each.start : each.end] for each in standing))
        return Reading(shown, None, f"two answers of equal standing: {shown}")
    verb = "is" if top[0].right else "is not"
    return Reading(said, top[0].right, f"{said} {verb} the answer")


def occurrences(text: str, form: str) -> list[tuple[int, int]]:
    """Return where a form stands as whole words, accents and case evened out."""
    parts = folded(form).split()
    plain, at = _with_places(text)
    if not parts or not all(part in plain for part in parts):  # a pattern takes a millisecond to compile
        return []
    if _CJK.search(parts[0]):
        found = [each.span() for each in re.finditer(r" *".join(map(re.escape, parts)), plain)]
    else:
        found = _whole_words(plain, " ".join(parts))
    places = [(at[start], at[end - 1] + 1) for start, end in found]
    return [each for each in places if signs.alike(form, text, *each)]


def _whole_words(plain: str, form: str) -> list[tuple[int, int]]:
    """Return where a form stands as whole words, an s of the genitive or plural aside."""
    found: list[tuple[int, int]] = []
    start = plain.find(form)
    while start >= 0:
        end = start + len(form)
        ends = [cut for cut in (end + 1, end) if cut == end or plain[end : end + 1] == "s"]
        whole = next((cut for cut in ends if not _is_letter(plain[cut : cut + 1])), None)
        if whole is None or _is_letter(plain[max(0, start - 1) : start]):
            start = plain.find(form, start + 1)
        else:
            found.append((start, whole))
            start = plain.find(form, whole)
    return found


def _is_letter(character: str) -> bool:
    """Return whether a character, if any, goes on with a word; Chinese and Japanese ones do not."""
    return character.isalnum() and not _ALONE.match(character)


def _others_of_a_kind(key: AnswerKey) -> list[str]:
    """Return the other names of the table the key stands in: Thursday where Friday is asked for."""
    wanted = {folded(str(form)) for form in key.forms}
    groups = [{folded(name) for name in group} for group in _names().values()]
    asked = f" {folded(key.question)} "
    return [name for group in groups if wanted & group for name in group - wanted if f" {name} " not in asked]


def _others_listed(key: AnswerKey) -> list[str]:
    """Return the other names of a question that lists the key among its candidates, each of them once."""
    names = re.findall(r"(?<=[;,:] )[A-Z][\w'-]+(?: [A-Z][\w'-]+)*", key.question)
    wanted = {folded(str(form)) for form in key.forms}
    listed = len(names) > 2 and any(folded(name) in wanted for name in names)
    return [n for n in names if listed and folded(n) not in wanted and key.question.count(n) == 1]


@cache
def _names() -> Mapping[str, Mapping[str, list[str]]]:
    return tomllib.loads(shipped("data", "answers", "exonyms.toml").read_text("utf-8"))


@cache
def exonyms() -> Mapping[str, tuple[str, ...]]:
    """Return the names of places and days in other languages, by the English name: data/answers/exonyms.toml."""
    return {folded(name): tuple(others) for group in _names().values() for name, others in group.items()}


@lru_cache(maxsize=8)
def _with_places(text: str) -> tuple[str, list[int]]:
    """Return the folded text and, for each of its characters, where it came from."""
    made: list[str] = []
    at: list[int] = []
    for place, character in enumerate(text):
        plain = _folded_character(character)
        mark = not plain and unicodedata.combining(
            character
        )  # an accent by itself, as decomposed texts have it
        inside = mark or (character in "'’" and text[max(0, place - 1) : place].isalnum())
        for each in plain or ("" if inside else " "):
            if each == " " and made and made[-1] == " ":
                continue
            made.append(each)
            at.append(place)
    return "".join(made), at


@lru_cache(maxsize=4_096)
def _folded_character(character: str) -> str:
    return folded(character)


def _outermost(found: list[Mention]) -> list[Mention]:
    """Return the mentions that stand in no longer one."""
    inside: set[tuple[int, int]] = set()
    start, end = 0, -1  # of the one that reaches furthest, and begins first of those
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        if each.end < end or (each.end == end and start < each.start):
            inside.add((each.start, each.end))
        elif each.end > end:
            start, end = each.start, each.end
    return [each for each in found if (each.start, each.end) not in inside]


def _ranked(each: Mention, text: str, places: Places, words: frozenset[str], *, labelled: bool) -> Mention:
    before = text[max(places.sentence_start(each.start), each.start - 120) : each.start]
    clause = places.clause(each.start)
    if _DENIED.search(before[-40:]) or _DENIED_LIST.search(before) or _DENIED_AFTER.match(text, each.end):
        rank = DENIED
    elif _OTHERS_SAY.search(before):
        rank = LATER - 1 if not _STRONG.search(clause) else MAIN
    elif _ONCE.match(text, each.end) or _of_before(clause):
        rank = LATER - 1
    elif (first := _LISTED.search(before)) and not (
        folded(first[1]) in words if "after" in words else words & _ORDINALS
    ):
        rank = LATER  # "the Dnieper, then the Danube"
    elif places.in_bracket(each.start):
        alone = text[max(0, each.start - 1)] in "([" and text[each.end : each.end + 1] in (")", "]")
        rank = LATER + 0.5 if alone else BRACKET
    elif subordinate(clause):
        rank = LATER
    else:
        rank = FINAL if _STRONG.search(before[-40:]) else MAIN
        if labelled and places.sentence(each.start) > places.first_sentence():
            rank = min(rank, MAIN + 0.2 if rank == FINAL else MAIN - 0.5)
        rank += _focus(text, places, each, words)
    return replace(each, rank=rank)


@lru_cache(maxsize=64)  # as `subordinate`
def _of_before(clause: str) -> bool:
    """Return whether a clause tells of what is no more."""
    return re.search(r"\b(?:initially|at first|originally|formerly)\b", clause, re.IGNORECASE) is not None


def _focus(text: str, places: Places, each: Mention, words: frozenset[str]) -> float:
    """Return a little more where the clause speaks in the words of the question: "Baikal is first, X comes second"."""
    start = max(places.sentence_start(each.start), each.start - 100)
    before = re.split(r"[,;:(]", text[start : each.start])[-1]
    behind = re.split(r"[.,;:(]", text[each.end : each.end + 60])[0]
    near = _PLACE.sub(lambda place: f" {_PLACES[place[0]]} ", f"{before} {behind}")
    plain = set(folded(near).split())
    shared = {word for word in plain & words if len(word) > 2} - {"the", "and", "which", "what"}
    ordinals = words & _ORDINALS
    other = ordinals and plain & (_ORDINALS - ordinals)
    return min(0.3 * len(shared), 0.9) - (1.0 if other else 0.0)


def _another_name(text: str, key: AnswerKey, standing: list[Mention]) -> str | None:
    """Return the name a text begins with where the accepted answer only stands beside it: "the Dnieper, not far ..."."""
    head = text[: min(each.start for each in standing if each.right)]
    listed = re.search(r", (?:and )?then (?:the )?$", head) is not None
    known = _COMMON if listed else set(folded(key.question).split()) | _COMMON
    start = re.match(r"\W*([A-Z][\w'-]+)", head)
    if (
        start
        and folded(start[1]) not in _COMMON
        and not any(folded(start[1]) in folded(str(f)) for f in key.forms)
    ):
        return start[1]
    names = [word for word in re.findall(r"\b[A-Z][\w'-]+", head) if folded(word) not in known]
    return names[0] if names else None


def _with_emphasis(found: list[Mention], spans: tuple[tuple[int, int], ...]) -> list[Mention]:
    return [
        replace(m, rank=m.rank + 0.5)
        if m.rank > BRACKET and any(start <= m.start and m.end <= end + 1 for start, end in spans)
        else m
        for m in found
    ]


def _corrected(places: Places, found: list[Mention]) -> list[Mention]:
    cut = places.corrected_from()
    if cut < 0 or not any(each.start >= cut and each.rank >= LATER for each in found):
        return found
    return [replace(each, rank=DENIED) if each.start < cut else each for each in found]


def _alternatives(text: str, standing: list[Mention], top: list[Mention], key: AnswerKey) -> bool:
    """Return whether an accepted form is offered beside a rejected one, or beside any other name."""
    known = {
        *folded(key.question).split(),
        *(word for form in key.forms for word in folded(str(form)).split()),
    }
    for each in top:
        beside = _NAME_OR.search(text, max(0, each.start - _NEAR), each.start) or _OR_NAME.match(
            text, each.end
        )
        if each.right and beside and not {*folded(beside[1]).split()} & known:
            return True
    for one, two in itertools.pairwise(standing):
        differ = one.right != two.right and (one in top or two in top) and min(one.rank, two.rank) > BRACKET
        if differ and _JOINED.fullmatch(text[one.end : two.start]):
            return True
    return False


def _head(text: str) -> str:
    return " ".join(text.split())[:80]
