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
from metacog_pipeline.benchmark.answers.question import stem, stems
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
# Denied behind it: "Paris? No", "Paris is wrong", "Paris, but that is not right".
_WRONG = (
    r"(?:\w+ly )?(?:(?:the |a )?(?:wrong|incorrect|mistaken)|not (?:right|correct|true|so|it)|not the (?:right|correct))"
    r"(?: (?:answer|one|choice|name))?(?= ?[.,;:!?)\n-]| (?:as|because|since|here)\b|\s*\Z)"
)
_DENIED_AFTER = re.compile(
    r"[\"'》”]?(?:[이가은는]? ?아[니닙닌]|不是|并不|是错|[?？] ?(?:不(?=[，,。是对])|아니)"
    r"|(?:인지|일지|이?라고|인 것)(?:는|도)? ?[^.,!?\n]{0,12}(?:모르|모릅|몰라|확실하지|확신할 수|할 수 없|알 수 없|않)"
    rf"|,? (?:is|was|would be|seems|sounds) {_WRONG}"
    r"|['\")]? ?\? ?(?i:no|nope|nah|wrong|incorrect|not (?:quite|really|at all)|i do(?:n't| not) think so)"
    r"(?= ?[.,;:!\n-]| (?:it|that)\b|\s*\Z)"
    r"|[^.;!?\nA-Z]{0,60}[.,;:!?-]{1,3} ?(?:but |and )?(?i:that|this|it|which)(?:'s| is| was| would be) "
    rf"{_WRONG})"
)
# What a clause denies of a name; it denies the name where that is what is asked for: "Paris is not the capital".
_HELPS = "is|was|are|were|did|does|do|has|have|had"
_NOT_SO = re.compile(
    rf"[\"']? (?:(?:{_HELPS})(?: \w+ly)?(?: not| no longer)|(?:{_HELPS})n't|no (?:es|fue|era|son))\b"
    r"([^.,;:!?()\n]{0,60})(?=[.,;:!?()\n]|\Z)"
)
_NEGATIVE = re.compile(r"\b(?:not|never|no|neither|except)\b|n't\b", re.IGNORECASE)
_SAYS_LITTLE = (
    "the one right correct answer this that it its a an of in by to on at as have la el lo un una de"
)
_THE_ANSWER = frozenset(_SAYS_LITTLE.split())
_ROLE = re.compile(r" the \w+(?:er|or|ist)")
# Who says so does not know it: "I don't know if it was Paris", "I doubt that it is Paris".
_UNSURE = (
    r"(?:\b(?:not|cannot|never|hardly|unable to|(?:hard|difficult|impossible) to)|n't|\bno)"
    r"(?: (?!entirely|completely|totally|fully|absolutely|quite|so\b|but\b)[\w']+){0,2}? (?:know|say|tell|confirm|verify"
    r"|sure|certain|remember|recall|determine|think|believe|convinced|clear|idea|clue)"
)
_DOUBTED = re.compile(
    r"(?:"
    rf"(?:{_UNSURE}|\b(?:unsure|unclear|uncertain|doubtful))(?: at all)? (?:if|whether)\b"
    r"(?:(?! but\b)[^.;:!?,\n]){0,60}"
    rf"|(?:{_UNSURE}|\bi (?!never\b)(?:\w+ )?doubt)(?: that(?:(?! but\b)[^.;:!?,\n]){{0,40}})?"
    r"(?: (?:it|this|that|he|she|the answer)(?:'s| is| was| were|'d be| would be)?)?"
    r"|(?:\bnot|n't) (?:\w+ )?by"
    r"|\b(?:no (?:\w+ ){0,2}?(?:sé|segur[oa] de|puedo (?:confirmar|decir|asegurar)|recuerdo|creo|pienso)|dudo) (?:si|que)\b"
    r"[^.;:!?,\n]{0,30}"
    r"|(?:不知道|不确定|不清楚|不敢肯定|不能确[定认]|[无無]法确[定认]|难以确[定认])[^，。,.;；！？]{0,6}"
    r") ?(?:the |an? )?[\"']?$",
    re.IGNORECASE,
)
# What may stand between a correction and the name it puts in place of another one.
_INSTEAD_OF = (
    "it its it's is was the that that's this answer correct should be i i'm mean meant rather actually sorry no make say"
    " wait in fact es think believe guess probably definitely really now would must final name one city person"
    " not wrong incorrect right"
)
_INSTEAD = frozenset(_INSTEAD_OF.split())
_ACTUALLY = re.compile(
    r"(?:[.,;?-] ?(?:or )?(?i:actually|rather|nope|make that),?|\bmeant) (?=[A-Z][\w' -]{1,40}(?:[.!\n]|\s*\Z))"
)
_NAMED = r"([A-Z\u3400-\u9fff\uac00-\ud7a3][\w'-]{0,40}(?: [A-Z][\w'-]{0,40}){0,2})"
_SLASHED = re.compile(rf" ?/ ?(?:the )?{_NAMED}")
_BEFORE_SLASH = re.compile(rf"{_NAMED} ?/ ?(?:the )?$")
# Kinds of places in other languages: "Schwarzes Meer / Black Sea" is one name twice.
_FOREIGN = "meer mer mar see lac lago fluss fleuve rio berg monte insel isla ile"
_KINDS = frozenset(_FOREIGN.split())
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
    ranked = [_ranked(each, text, places, words, key.question, labelled=labelled) for each in found]
    ranked = _corrected(places, _with_emphasis(ranked, prepared.emphasised), key)
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


def without_denied(text: str, form: str, question: str = "") -> str:
    """Return a text without the places where a form is denied, or said not to be known."""
    places = Places(text)
    for start, end in occurrences(text, form):
        before = text[max(places.sentence_start(start), start - 120) : start]
        if _is_denied(text, Mention(True, start, end, 0.0), before, question):
            text = text[:start] + "\ue000" * (end - start) + text[end:]
    return text


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


def _ranked(
    each: Mention, text: str, places: Places, words: frozenset[str], question: str, *, labelled: bool
) -> Mention:
    before = text[max(places.sentence_start(each.start), each.start - 120) : each.start]
    clause = places.clause(each.start)
    if _is_denied(text, each, before, question):
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


def _is_denied(text: str, each: Mention, before: str, question: str) -> bool:
    """Return whether a form is denied, or said not to be known, in its sentence or in the one behind it."""
    if _DENIED.search(before[-40:]) or _DENIED_LIST.search(before) or _DOUBTED.search(before):
        return True
    if _DENIED_AFTER.match(text, each.end):
        return True
    denied = _NOT_SO.match(text, each.end)
    if denied is None or _NEGATIVE.search(question):
        return False
    role = _ROLE.fullmatch(denied[1]) and re.match(r"\W*who", question, re.IGNORECASE)
    asked = stems(question)
    return role is not None or all(
        word in _THE_ANSWER or stem(word) in asked for word in folded(denied[1]).split()
    )


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


def _corrected(places: Places, found: list[Mention], key: AnswerKey) -> list[Mention]:
    """Return mentions, denied those before a correction that says a form, or another name in its place."""
    actually = [each.end() for each in _ACTUALLY.finditer(places.text)]
    cut = max(places.corrected_from(), *actually[-1:], -1)
    if cut < 0:
        return found
    again = any(each.start >= cut and each.rank >= LATER for each in found)
    if not again and (max(each.end for each in found) > cut or not _says_another(places.text[cut:], key)):
        return found
    return [replace(each, rank=DENIED) if each.start < cut else each for each in found]


def _says_another(text: str, key: AnswerKey) -> bool:
    """Return whether a text begins with a name that is neither of the question nor accepted: "it's Lyon"."""
    known = _INSTEAD.union(folded(" ".join((key.question, *map(str, key.forms)))).split())
    words = re.findall(r"[\w'-]+", text[:_NEAR])
    first = next((word for word in words if word.lower() not in known and folded(word) not in known), "")
    return first[:1].isupper() or (_CJK.match(first) is not None)


def _alternatives(text: str, standing: list[Mention], top: list[Mention], key: AnswerKey) -> bool:
    """Return whether an accepted form is offered beside a rejected one, or beside any other name."""
    known = {
        *_KINDS,
        *folded(key.question).split(),
        *(word for form in key.forms for word in folded(str(form)).split()),
    }
    for each in top:
        near = max(0, each.start - _NEAR)
        beside = (
            _NAME_OR.search(text, near, each.start)
            or _OR_NAME.match(text, each.end)
            or _SLASHED.match(text, each.end)
            or _BEFORE_SLASH.search(text, near, each.start)
        )
        if each.right and beside and _is_another(beside[1], known, key):
            return True
    sides = text.split("/")
    wanted = {folded(str(form)) for form in key.forms}
    if len(sides) == 2 and any(folded(side) in wanted for side in sides):  # "femur/tibia"
        return any(_is_another(side, known, key) for side in sides)
    for one, two in itertools.pairwise(standing):
        differ = one.right != two.right and (one in top or two in top) and min(one.rank, two.rank) > BRACKET
        if differ and _JOINED.fullmatch(text[one.end : two.start]):
            return True
    return False


def _is_another(name: str, known: set[str], key: AnswerKey) -> bool:
    """Return whether a name is made of unknown words and is no short form of an accepted answer (helium, He)."""
    plain = folded(name)
    return not {*plain.split()} & known and not any(folded(str(form)).startswith(plain) for form in key.forms)


def _head(text: str) -> str:
    return " ".join(text.split())[:80]
