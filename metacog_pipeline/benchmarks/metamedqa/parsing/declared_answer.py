"""Where a reply declares a letter. Works on text from ``parsing.normalise``; every search is linear in its length."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from metacog_pipeline.benchmarks.metamedqa.items import LETTERS

Found = frozenset[str]
NOTHING: Found = frozenset()

_LATEX = r"\\(?:boxed|fbox|framebox|text[a-z]{0,2}|math[a-z]{0,2}|bf|rm)\b"
_OPEN_MARKS = r"\s\"'“”‘’«»(\[{<$\\_\#|>~:=→–—-"
# Possessive quantifiers throughout: a hostile reply cannot make the search go back over what it has read.
_DECLARED = re.compile(
    rf"""
    (?<![^\W_]) answer (?![^\W_])
    [\s_"'”’)\]]*+
    (?: [(\[] (?P<hint> [^()\[\]\n]{{0,60}}+ ) [)\]] [\s_"']*+ (?= [:=\-–—→] | is\b ) )?+
    (?: (?:to|for)\s++(?:this|the|that|your)\s++ (?:question|problem|item|case)\s++ (?=is\b) )?+
    (?P<link> is\b | [:=>→–—-] )?+
    (?P<open> (?: {_LATEX} | [}}{_OPEN_MARKS}] )*+ )
    (?: (?:option|choice|letter)\b [{_OPEN_MARKS}]*+ )?+
    (?P<letter> [A-F] )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LABEL = re.compile(r"(?<![^\W_])answer(?![^\W_])", re.IGNORECASE)
# What stands before "answer" where nobody answers: "I cannot answer: A and B are alike", "I don't think the answer is B".
_NOT_ANSWERING = re.compile(
    r"(?:\b(?:cannot|not|never|unable|refuse|decline)|n['’]t)(?:"
    r"(?:\s++(?:to|be|able|really|safely|reliably|confidently|definitively|give|provide|an?|any|single|clear|definite))*+"
    r"|\s++(?:think|believe|say)(?:\s++(?:that|the|correct|right|best|final))*+)\s++$",
    re.IGNORECASE,
)
# "The second-best answer is B", "a common wrong answer": an answer that is named to be set aside.
_ASIDE = frozenset({
    "wrong", "incorrect", "false", "mistaken", "erroneous", "invalid", "tempting", "misleading", "trap",
    "decoy", "distractor", "alternative", "alternate", "other", "another", "competing", "rival", "rejected",
    "eliminated", "discarded", "runner", "worst", "worse", "weaker", "inferior", "less", "least",
    "unlikely",
})  # fmt: skip
_RANKED = frozenset({"second", "2nd", "third", "3rd", "next"})
_BETWEEN = frozenset({
    "best", "most", "likely", "likeliest", "plausible", "probable", "suitable", "appropriate", "good",
    "attractive", "common", "popular", "close", "closest", "strong", "strongest", "possible", "potential",
    "reasonable", "viable", "convincing", "correct", "choice", "up",
})  # fmt: skip
# "My first answer: B", "a popular answer is B": declares where nothing else does.
_EARLIER = frozenset({
    "initial", "first", "previous", "earlier", "original", "former", "prior", "old", "preliminary",
    "tentative", "draft",
})  # fmt: skip
_INDEFINITE = frozenset({"a", "an", "one", "some", "many"})
_DEFINITE = frozenset({"my", "the", "our", "final", "correct", "best", "right"})
# Behind a letter: "Answer B: incorrect, treats pain"
_REJECTED = re.compile(
    r"[ \t\"'”’)\]}]{0,4}+[:→–—-]?+[ \t(\[]{0,4}+"
    r"(?:(?:is|was|would\s++be|being|seems|as)\s++)?+(?:(?:clearly|also|simply)\s++)?+"
    r"(?:(?:incorrect|wrong|not\s++(?:(?:the|an?)\s++)?+(?:correct|right|best|answer)|ruled\s++out|rejected|eliminated)\b"
    r"(?![ \t]*+(?::|options?\b|answers?\b|choices?\b))|[❌✗✘])",
    re.IGNORECASE,
)
# "Answer A: treats pain only", an item of a list of the options
_ITEM_START = re.compile(r"[\s#>_\"'.)\d•|–-]*+(?:the\s++)?+", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[\n.,:;!?]")
_LINKED = re.compile(r"[\n|:=]|boxed", re.IGNORECASE)
_MARKS_BEHIND = "\t \"'”’)]}([.,;:$\\_→–—-"
_RATING_BEHIND = re.compile(r"(?:confiden|[0-9]\s?/\s?[0-9])", re.IGNORECASE)
_RUN_OF_LETTERS = re.compile(r"[A-F]{2,6}(?![^\W_])")
_LAST_CELL = re.compile(r"[\s)\]._]{0,8}+(?:\||\n|$)[ \t|]{0,8}+(?:\n|$)")  # after a letter in a table
_HINTED = re.compile(r"\s*([A-F])\s*")
# What may stand on a line before the word "answer" when no link word or mark follows it ("Final answer C").
_LINE_START = re.compile(
    r"[\s#>_\"'.)\d•|–-]*+(?:(?:so|therefore|thus|hence),?\s++)?+(?:(?:my|the|your|our)\s++)?+"
    r"(?:(?:final|correct|best|right|chosen)\s++)*+",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"(?:{_LATEX}|[{_OPEN_MARKS}])*+([A-F])[\s\"'“”‘’«»)\]}}>$\\_.|~,:;!-]*+", re.IGNORECASE)
_FIRST = re.compile(
    rf"(?:{_LATEX}|[\s\"'“”‘’«»(\[{{<$\\_\#|>])*+([A-F])[\"'”’\]}}_$\\]*+([.):])", re.IGNORECASE
)
_ITEM_LINE = re.compile(r"[\s(\[_\"'>]*+([A-F])[\]_]?+[.):]", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]++(?:['’-][^\W\d_]++)*+")
_NEXT_LETTER = re.compile(
    r"""[\s"'”’)\]}$\\_]{0,8}+
    (?: (?P<word> (?:,\s?+|/\s?+)?+ (?:or|and|vs|versus|und|oder)\b\.?+
        (?:\s++(?:possibly|maybe|perhaps|also|even|either)\b)?+ )
      | [,;/&+|] | [–—-](?=\S) )
    [\s"'“‘(\[{$\\]{0,8}+ (?:(?:option|choice)\s++)?+
    (?P<letter> [A-F] )""",
    re.VERBOSE | re.IGNORECASE,
)
# Words that may follow a letter without a mark between: they cannot continue a noun phrase that begins with it.
_AFTER_LETTER = re.compile(
    r"because|since|as|with|and|or|but|which|is|was|i|this|that|for|the|if|it|not|by|from|on|in|at|vs|versus|"
    r"although|whereas|so|(?P<after_article>given|due|based|according|while|then|also|my)"
)
# "E. coli" names a germ, not a choice.
_EPITHET = re.compile(
    r"coli|diff(?:icile)?|perfringens|botulinum|tetani|jejuni|trachomatis|pneumoniae|diphtheriae|albicans|glabrata|"
    r"krusei|auris|neoformans|gattii|fumigatus|flavus|baumannii|israelii|lumbricoides|burgdorferi|anthracis|cereus|"
    r"fragilis|(?:para)?pertussis|henselae|quintana|recurrentis|melitensis|abortus|canis|bacilliformis|faecalis|"
    r"faecium|histolytica|dispar|cloacae|corrodens|vermicularis|granulosus|multilocularis|tularensis|necrophorum|"
    r"nucleatum|hepatica|latum|medinensis|duodenale|caninum|immitis|posadasii|sinensis|burnetii|fetus|freundii"
)
_SENTENCE = re.compile(r"(?:i|i'm|i’m|it|the|this|there|you|we|based|sorry|as|in|to)\b", re.IGNORECASE)
_BEFORE = 40  # characters looked at before a label
_LOOK = 240  # characters looked at after a letter


def last_declared(text: str, options: Sequence[str]) -> tuple[Found, int | None]:
    """Rule 2: the letters of the last declaration and the place behind it; nothing where there is none.

    "Answer A: treats pain only" explains an option where another phrase declares, or where more than one letter is
    explained: it is no declaration there.
    """
    items: list[tuple[Found, int]] = []
    declared: tuple[Found, int | None] = NOTHING, None
    earlier = declared
    for match, not_final in _last_first(text):
        place = match.end("hint") + 1 if _hinted(match) else match.end()
        if not (letters := _declaration(text, match, options)) or _rejected(text, place, letters, options):
            continue
        if not_final:
            earlier = earlier if earlier[0] else (letters, place)
            continue
        if not _begins_item(text, match):
            declared = letters, place
            break
        items.append((letters, place))
    if not items:
        return declared if declared[0] else earlier
    single = len({letters for letters, _ in items}) == 1
    bare = _ends_with_option(text, *items[0][::-1], options)
    return items[0] if (single and bare) or (declared[1] is None and (single or bare)) else declared


def _begins_item(text: str, match: re.Match[str]) -> bool:
    """Whether a phrase is "Answer A" at the beginning of a line, without a link between the two words."""
    if not _hinted(match) and (match["link"] is not None or _LINKED.search(match["open"])):
        return False
    begin = text.rfind("\n", max(0, match.start() - _LOOK), match.start()) + 1
    return _ITEM_START.fullmatch(text, begin, match.start()) is not None


def _ends_with_option(text: str, place: int, letters: Found, options: Sequence[str]) -> bool:
    """Whether nothing stands behind a letter on its line but its own option and a rating."""
    line = text[place : place + 2 * _LOOK].split("\n", 1)[0].strip(_MARKS_BEHIND)
    rest = " ".join(line.casefold().split())
    rest = rest.removeprefix(_own_option(min(letters), options)).strip(_MARKS_BEHIND)
    return not rest or _RATING_BEHIND.match(rest) is not None


def _rejected(text: str, place: int, letters: Found, options: Sequence[str]) -> bool:
    """Whether a letter is named only to be called wrong: "Answer B: incorrect, ..."."""
    if _REJECTED.match(text, place) is None:
        return False
    behind = text[place : place + _LOOK].lstrip(_MARKS_BEHIND)
    return not any(_begins_with_own_option(behind, letter, options) for letter in letters)


def _hinted(match: re.Match[str]) -> re.Match[str] | None:
    """Return the letter in brackets behind the label, "Answer (C): ..."."""
    return None if match["hint"] is None else _HINTED.fullmatch(match["hint"])


def _last_first(text: str) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield the phrases that look like declarations, last first, and whether they name an earlier or any answer.

    From every label on its own: the letter after one label may begin the next ("… or cannot answer / Answer: B").
    """
    for start in reversed([label.start() for label in _LABEL.finditer(text)]):
        before = max(0, start - _BEFORE)
        if (match := _DECLARED.match(text, start)) is None or _NOT_ANSWERING.search(text, before, start):
            continue
        clause = _CLAUSE_END.split(text[before:start])[-1].replace("-", " ").casefold()
        words = [word.lstrip("(['\"“‘") for word in reversed(clause.split())]
        if not _set_aside(words):
            yield match, _not_final(words)


def _set_aside(words: list[str]) -> bool:
    """Whether the words before a label, last first, call its answer wrong or second best."""
    for place, word in enumerate(words):
        if word in _ASIDE or (place and word in _RANKED):
            return True
        if word not in _BETWEEN:
            break
    return False


def _not_final(words: list[str]) -> bool:
    """Whether the words before a label, last first, speak of an earlier answer or of any."""
    for place, word in enumerate(words[:4]):
        if word in (_INDEFINITE if place else _EARLIER):
            return True
        if word in _DEFINITE:
            break
    return False


def whole_reply(text: str) -> Found:
    """Rule 3: the letter of a reply that is nothing but one letter and marks."""
    match = _ALONE.fullmatch(text) if len(text) <= _LOOK else None
    return NOTHING if match is None else frozenset(match[1].upper())


def first_line(text: str, options: Sequence[str], *, alone: bool = False) -> Found:
    """Rule 4: the letter that begins the first line. ``alone`` also takes several letters and nothing else."""
    match = _FIRST.match(text)
    if match is None:
        return _letters_from(text, 0, options, linked=True) if alone and text[:1] in LETTERS else NOTHING
    place, mark = match.start(1), match[2]
    letters = _letters_from(text, place, options, linked=True, ended=match.start(2))
    rest = text[match.end() : match.end() + _LOOK].split("\n", 1)[0].strip()
    own = _begins_with_own_option(rest, text[place], options)
    if mark == ":" and text[place] in "Aa" and _SENTENCE.match(rest) and not own:
        return NOTHING
    if mark == "." and text[place].islower() and rest[:1].islower() and not own:
        return NOTHING
    if mark == ":" and len(rest) == 1 and rest in LETTERS and rest != text[place]:
        return letters | {rest}
    return _unless_listed(text, place, letters)


def _declaration(text: str, match: re.Match[str], options: Sequence[str]) -> Found:
    if (hinted := _hinted(match)) is not None:
        return frozenset(hinted[1].upper())
    place = match.start("letter")
    linked = match["link"] is not None or "boxed" in match["open"] or match["open"].lstrip()[:1] in (":", "=")
    if not linked and not (text[place].isupper() and _at_line_start(text, match.start())):
        return NOTHING
    if "|" in match["open"] and _LAST_CELL.match(text, place + 1) is None:
        return NOTHING
    letters = _letters_from(text, place, options, linked=linked)
    return _unless_listed(text, place, letters) if "\n" in match["open"] else letters


def _at_line_start(text: str, place: int) -> bool:
    begin = text.rfind("\n", max(0, place - _LOOK), place) + 1
    return _LINE_START.fullmatch(text, begin, place) is not None


def _unless_listed(text: str, place: int, letters: Found) -> Found:
    """Add the letter of the next line where the options are only being repeated: that declares nothing single."""
    end = text.find("\n", place, place + 4 * _LOOK)
    if end < 0 or not letters:
        return letters
    following = _ITEM_LINE.match(text[end : end + _LOOK].lstrip())
    if following is None or ord(following[1].upper()) != ord(max(letters)) + 1:
        return letters
    return letters | {following[1].upper()}


def _letters_from(
    text: str, place: int, options: Sequence[str], *, linked: bool, ended: int | None = None
) -> Found:
    """Return the letter at ``place`` and those joined to it (``A or B``, ``A/B``); empty where it is no answer."""
    joined = _RUN_OF_LETTERS.match(text, place)
    if joined is not None and ended is None:
        return frozenset(joined[0]) if linked and len(set(joined[0])) == len(joined[0]) else NOTHING
    if not _stands_alone(text, place, options, linked=linked, end=ended or place + 1):
        return NOTHING
    letters = {text[place].upper()}
    at = ended or place + 1
    for _ in range(len(LETTERS)):
        more = _NEXT_LETTER.match(text, at, at + _LOOK)
        if more is None or more["letter"].isupper() != text[place].isupper():
            break
        here = more.start("letter")
        if not _stands_alone(text, here, options, linked=more["word"] is not None, end=here + 1):
            break
        letters.add(more["letter"].upper())
        at = here + 1
    return frozenset(letters)


def _stands_alone(text: str, place: int, options: Sequence[str], *, linked: bool, end: int) -> bool:
    """Whether the letter at ``place`` is a choice and not the beginning of a word, a name or a noun phrase.

    ``linked`` False asks for a stop right after it; ``end`` is the first place after the letter and its marks.
    """
    rest = text[end : end + _LOOK]
    if not rest or rest[0] == "\n":
        return True
    mark, after = rest[0], rest[1:2]
    if mark.isalnum() or unicodedata.category(mark)[0] == "M" or mark in "?+=%@^°":
        return False
    if mark in "_'’-‐‑–/" and (after.isalnum() or unicodedata.category(after or " ")[0] == "M"):
        other = re.match(r"[A-F](?![^\W_])", rest[1:]) if mark in "–-/" and text[place].isupper() else None
        return other is not None and other[0] != text[place]  # "A/B" names two, "A-A gradient" none
    if mark == ".":
        return _full_stop_ends(text[place], rest[1:], options)
    if not mark.isspace():
        return True
    return _space_ends(text[place], rest.lstrip(" \t"), options, linked=linked)


def _full_stop_ends(letter: str, rest: str, options: Sequence[str]) -> bool:
    """Tell ``C. Text`` and ``C.`` from ``E. coli``, ``e.g.`` and ``D.C.``."""
    if rest[:1].islower() or re.match(r"[A-Z]\.", rest):
        return False
    word = _WORD.match(rest.lstrip(" \t"))
    if not rest[:1].isspace() or word is None or not word[0].islower():
        return True
    if _begins_with_own_option(rest, letter, options):
        return True
    name = f"{letter}. {word[0]}".casefold()
    return _EPITHET.fullmatch(word[0]) is None and not any(
        name in " ".join(o.casefold().split()) for o in options
    )


def _space_ends(letter: str, rest: str, options: Sequence[str], *, linked: bool) -> bool:
    """Tell ``C because``, ``C Confidence: 4`` and ``A (text)`` from ``A patient``, ``B cells`` and ``the answer is a``."""
    if not rest or rest[0] == "\n":
        return True
    word = _WORD.match(rest)
    if word is None:
        digit_ends = re.match(r"[1-5](?:\s?/\s?5)?+\s*(?:\n|$)", rest) is not None
        return digit_ends if rest[0].isdigit() else rest[0] not in "?+=%@^°" and not letter.islower()
    lower = word[0].casefold()
    if lower.startswith("confiden"):
        return True
    if letter.islower():
        return lower in ("or", "and") and re.match(r"\w+\s+[a-f](?![^\W_])", rest) is not None
    if len(word[0]) == 1 and word[0] in LETTERS and word[0] != letter:
        return False
    if _begins_with_own_option(rest, letter, options) or rest[word.end() :].lstrip(" ").startswith(":"):
        return True
    if not linked and lower not in ("or", "and"):
        return False
    joining = _AFTER_LETTER.fullmatch(lower)
    return joining is not None and not (letter == "A" and joining["after_article"])


def _begins_with_own_option(rest: str, letter: str, options: Sequence[str]) -> bool:
    own = _own_option(letter, options)
    return bool(own) and " ".join(rest.casefold().split()).startswith(own[: _LOOK // 2])


def _own_option(letter: str, options: Sequence[str]) -> str:
    index = LETTERS.index(letter.upper())
    return " ".join(options[index].casefold().split()).rstrip(".") if index < len(options) else ""
