"""Which option a reply takes: by its letter, its text, its position, or in other words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from metacog_pipeline.benchmark.answers.clauses import Places
from metacog_pipeline.benchmark.answers.reading import AnswerKey, Prepared, Reading
from metacog_pipeline.benchmark.answers.text import folded, uncased
from metacog_pipeline.benchmark.answers.word_answers import occurrences
from metacog_pipeline.columns import truth

_OPTION = re.compile(r"(?:^|\s)\(?([A-J])[).:]\s*(.+?)(?=\s+\(?[A-J][).:]\s|\s*$)", re.DOTALL)
_LETTER = re.compile(
    r"(?P<named>\b(?:option|choice|answer|letter)(?: is)?[ :]*\(?(?P<a>[A-Ja-j])\b\)?)"
    r"|\((?P<b>[A-Ja-j])\)|(?<![\w'.])(?<!\b[Nn]/)(?P<c>[A-Ja-j])[).:](?!\w)"
    r"|(?<![A-Za-z0-9_'])(?<!\b[Nn]/)(?P<d>[A-H])(?![A-Za-z0-9_'])"
)
# Two letters offered for one: "A or B", "A/B", "between A and B", "both (A) and (B)".
_OFFERED = re.compile(
    r"(?<![\w'])\(?([A-J])\)?(?:[ ]?,?[ ]?\b(?:or|and)\b[ ]|[ ]?/[ ]?|[ ]?&[ ]?)"
    r"(?:perhaps |maybe |possibly |option )?\(?([A-J])(?![\w'])"
)
_ARTICLE_A = re.compile(
    r"A (?!(?:and|or|is|not|rather|because|but|although|over|instead"
    r"|was|are|were|would|will|it|also|seems|wins|has|makes|must|follows)\b)[a-z]"
)
_SET_ASIDE = re.compile(
    r"(?:\b(?:could be|may be|might be|possibly)[^.;\n]{0,12}[:,]"
    r"|\b(?:although|though|while|whereas|not|nor|neither|rather than|instead of|unlike|despite|over"
    r"|no need|as \w+ as|except|excluding|ruled? out|eliminate[ds]?|discard\w*|reject\w*)|n't)"
    r"\b(?:(?! - )[^,.;:\n]|,(?= ?\(?[A-J]\)?(?:,| or| and| nor)\b)){0,60}$",
    re.IGNORECASE,
)
_SET_ASIDE_AFTER = re.compile(
    r"\?(?=\W+[A-J]\b)| would (?!be (?:my|the|best|right|correct|fine)|work|do\b|suit)"
    r"| (?:ignores?|overlooks?|misses|skips|neglects|overstates?)\b|[ :)*-]{1,4}(?:no\b|out\b|[✗❌])"
    r"|[^.;\n]{0,24}?\b(?:(?:is|are|was|were|does|do|would|can) ?(?:not|n't)|isn't|aren't|doesn't|don't"
    r"|cannot|can't|overgeneral\w*"
    r"|fails?|wrong|incorrect|false|ruled out|too strong|go(?:es)? too far|need not)\b",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r" (?:is|was) (?:\w+ )?(?:wrong|incorrect|false|out|ruled out|too strong)\b| no\b|\?(?=\W+[A-J]\b)"
)
_FINAL = re.compile(
    r"\b(?:so|thus|hence|therefore|leaves|answer(?: is)?|choose|pick|go with|select|left with"
    r"|i'd take|i'd say|i take|i say|opt for|prefer|lean(?:ing)?(?: to\w*)?|choice(?: is)?"
    r"|(?:right|correct|best|better) (?:\w+ )?(?:is|would be))\b[^.;\n]{0,24}$",
    re.I,
)
_AFFIRMED = re.compile(
    r"[)\s*]* (?:is|would be|seems|looks) (?:the |my )?(?:only|best|right|correct|choice|safest|answer|most)\b"
)
_FIRST = ("first", "second", "third", "fourth", "fifth", "sixth")
_POSITION = re.compile(
    rf"\b(?P<n>{'|'.join(_FIRST)}|last|final(?! (?:choice|answer))|1st|2nd|3rd|4th|5th"
    rf"|penultimate)[ -](?:option|one|choice"
    rf"|answer|statement|alternative"
    r"|possibility)\b|\b(?:option|choice|number|no\.?|#) ?(?P<digit>[1-9])\b",
    re.IGNORECASE,
)
_NEITHER = re.compile(r"\bnone of (?:them|these|the (?:above|options|others))\b|\bneither\b", re.IGNORECASE)
_SMALL = "the a an of is are be to it that this in from what which and or by must at least for with"
_STOP = frozenset(_SMALL.split())
_NO_TELLING = re.compile(
    r"\b(?:cannot|can't|can not|could not|impossible|not possible|no way|undetermin\w*|indetermin\w*|not"
    r" enough|insufficient)\b",
    re.I,
)
_NEGATES = re.compile(r"\b(?:not|never|no|isn't|aren't|doesn't|n't|dry)\b", re.IGNORECASE)
_AGREES = re.compile(r"^\W*(?:yes|yeah|yep|correct|true|sí|si|是|예|네)\b", re.IGNORECASE)
_REFUSES = re.compile(
    r"^\W*(?:no|nope|false|incorrect|否|아니)\b(?! (?:doubt|question|weaver))", re.IGNORECASE
)
_TRUTH = re.compile(r"\b(?:(true|correct|right)|false|incorrect|wrong|untrue)\b", re.IGNORECASE)
_LONGEST_WORD = 30  # characters
_UNLIKE, _AHEAD = 0.5, 0.15


@dataclass(frozen=True, slots=True)
class Taken:
    """An option that is named: its letter, where, and its rank."""

    letter: str
    start: int
    rank: float


@lru_cache(maxsize=512)
def options_of(question: str) -> tuple[tuple[str, str], ...]:
    """Return (letter, text) of the options a question lists as ``A) ... B) ...``; none where they are not in order."""
    found = [(each[1], each[2].strip(" .;,")) for each in _OPTION.finditer(question[-8_000:])]
    while found and found[0][0] != "A":
        found = found[1:]
    letters = [letter for letter, _ in found]
    return tuple(found) if letters == list("ABCDEFGHIJ"[: len(letters)]) and len(letters) > 1 else ()


def read(prepared: Prepared, key: AnswerKey, *, labelled: bool) -> Reading:
    """Return the reading of a choice."""
    text, wanted = prepared.text, str(key.forms[0]).strip().upper()
    options = dict(options_of(key.question))
    places = Places(text)
    if (letter := _true_or_false(text, options)) is not None:
        return _decided([letter], wanted)
    if re.fullmatch(r"[\W_]*[A-Ja-j][\W_]*", text):
        return _decided([re.sub(r"[\W_]", "", text).upper()], wanted)
    found = [*_lettered(text, places), *_positions(text, places, options), *_texts(text, places, options)]
    cut = places.corrected_from()
    if any(each.start >= cut for each in found):
        found = [each for each in found if each.start >= cut]
    if not found:
        letter = None if key.exact else _in_other_words(text, places, options, key.question)
        return _decided([letter] if letter else [], wanted)
    best = max(each.rank for each in found)
    chosen = [each for each in found if each.rank == best]
    if not labelled:
        chosen = [*_beside(text, found, chosen[-1]), chosen[-1]]
    return _decided(list(dict.fromkeys(each.letter for each in chosen)), wanted)


def _true_or_false(text: str, options: dict[str, str]) -> str | None:
    """Return the option that a word for true or false alone takes, 1 and 0 too, where these, or yes and no, are options."""
    letters = (
        {truth(option): letter for letter, option in options.items()} if len(text) <= _LONGEST_WORD else {}
    )
    word = re.sub(r"^\W+|\W+$", "", text)
    if not {True, False} <= letters.keys() or word.upper() in options:
        return None
    said = {"1": True, "0": False}.get(word, truth(word))
    return None if said is None else letters[said]


def _beside(text: str, found: list[Taken], last: Taken) -> list[Taken]:
    """Return the option that is offered beside the one a whole reply names last."""
    for pair in _OFFERED.finditer(text, max(0, last.start - 40)):
        if pair.start() < last.start < pair.end() and pair[2] == last.letter != pair[1]:
            return [
                each for each in found if each.letter == pair[1] and pair.start() <= each.start < last.start
            ]
    return []


def _decided(letters: list[str], wanted: str) -> Reading:
    if not letters:
        return Reading(None, False, "no option is taken")
    if len(letters) > 1:
        shown = "; ".join(letters)
        return Reading(shown, None, f"two options of equal standing: {shown}")
    verb = "is" if letters[0] == wanted else "is not"
    return Reading(letters[0], letters[0] == wanted, f"option {letters[0]} {verb} the answer")


def _rank(text: str, start: int, end: int, places: Places) -> float | None:
    """Return the rank of what is named at a place; None where it is set aside."""
    before = text[max(0, start - 80) : start]
    if _SET_ASIDE.search(re.split(r"\b(?:so|but|hence|therefore|thus)\b", before)[-1]):
        return None
    if _SET_ASIDE_AFTER.match(text, end) and (text[:start].strip() or _WRONG.match(text, end)):
        return None
    if places.in_bracket(start) and text[max(0, start - 1)] != "(":
        return 1.0
    alone = re.search(r"[:→] ?[\"'(]*$", before) and not re.search(r"\w", text[end:])
    return (
        5.0
        if alone or _FINAL.search(before) or _AFFIRMED.match(text, end)
        else 4.0
        if not text[:start].strip(" ([\"'")
        else 3.0
    )


def _lettered(text: str, places: Places) -> list[Taken]:
    found: list[Taken] = []
    for each in _LETTER.finditer(text):
        letter = next(group for group in (each["a"], each["b"], each["c"], each["d"]) if group)
        if each["d"] == "A" and _ARTICLE_A.match(text, each.start()):
            continue
        rank = _rank(text, each.start(), each.end(), places)
        if rank is not None:
            found.append(Taken(letter.upper(), each.start(), rank + 0.5))
    first = found[:1]
    if first and first[0].rank == 4.5:
        pair = re.compile(r"\W{0,3}(?:and|or|/|&|,|either|both)\W{0,3}(?:option )?\(?[A-J]\b")
        rivals = pair.match(text, first[0].start + 1)
        if rivals:
            named = [each for each in found[2:] if _FINAL.search(text[max(0, each.start - 40) : each.start])]
            return named[-1:] or [Taken(each.letter, each.start, 5.5) for each in found]
        return [each for each in found if each.rank >= 5 or each is first[0]]
    return found


def _positions(text: str, places: Places, options: dict[str, str]) -> list[Taken]:
    letters = list(options)
    found: list[Taken] = []
    for each in _POSITION.finditer(text):
        word = uncased(each["n"] or each["digit"])
        place = (
            len(letters) - 1 if word in ("last", "final") else len(letters) - 2 if word == "penultimate"
            else _FIRST.index(word) if word in _FIRST else int(word[0]) - 1
        )  # fmt: skip
        rank = _rank(text, each.start(), each.end(), places)
        if rank is not None and 0 <= place < len(letters):
            found.append(Taken(letters[place], each.start(), rank))
    return found


def _texts(text: str, places: Places, options: dict[str, str]) -> list[Taken]:
    """Return the options whose text is there; yes and no only at the beginning."""
    found: list[Taken] = []
    for letter, option in options.items():
        said = folded(option)
        if said in ("yes", "no", "true", "false"):
            agreeing = _AGREES if said in ("yes", "true") else _REFUSES
            if agreeing.match(text):
                found.append(Taken(letter, 0, 4.0))
            continue
        for start, end in occurrences(text, option):
            rank = _rank(text, start, end, places)
            if rank is not None:
                found.append(Taken(letter, start, rank))
    neither = _NEITHER.search(text)
    offered = next(
        (letter for letter, option in options.items() if re.match(r"none|neither", folded(option))), None
    )
    if neither and offered:
        found.append(Taken(offered, neither.start(), 3.0))
    return found


def _in_other_words(text: str, places: Places, options: dict[str, str], question: str) -> str | None:
    """Return the one option whose words the first sentence shares most, where that is clear."""
    if not options:
        return None
    first = text[places.sentence_start(len(text) - len(text.lstrip())) :]
    first = re.split(r"[.;!?\n]", first)[0][:300]
    plain = {folded(option): letter for letter, option in options.items()}
    if "yes" in plain and "no" in plain:
        untold = next((letter for said, letter in plain.items() if _NO_TELLING.search(said)), None)
        if _NO_TELLING.search(first):
            return untold
        of_the_question = bool(_stems(first) & _stems(question))
        return plain["no"] if _NEGATES.search(first) else plain["yes"] if of_the_question else None
    if "true" in plain and "false" in plain:
        told = _TRUTH.search(first)
        denied = told is not None and _NEGATES.search(first, max(0, told.start() - 40), told.start())
        return None if told is None else plain["true" if bool(told[1]) != bool(denied) else "false"]
    said = _stems(first)
    scored = sorted(
        ((_overlap(said, _stems(option)), letter) for letter, option in options.items()), reverse=True
    )
    best, second = scored[0], scored[1]
    return best[1] if best[0] >= _UNLIKE and best[0] - second[0] >= _AHEAD else None


def _stems(text: str) -> frozenset[str]:
    words = (word[:-1] if len(word) > 3 and word.endswith("s") else word for word in folded(text).split())
    return frozenset("have" if word in ("own", "has") else word for word in words if word not in _STOP)


def _overlap(said: frozenset[str], option: frozenset[str]) -> float:
    return len(said & option) / len(option) if option else 0.0
