"""The rule ``entities``: an accepted answer must be what a reply says, as a whole name or as a number.

"Iranian" is not "Iran", "New York" is not "York", "1973" and "seventh" are not "7". A name that is "
"denied, offered beside
another ("Lyon or Paris"), only mentioned ("Sydney (many say Canberra)") or taken back is not said. Numbers are compared as
numbers, dates by their parts. Kind words around a name do no harm: "the city of York", "President Washington".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from metacog_pipeline.benchmark.answers import clauses, word_answers
from metacog_pipeline.benchmark.answers.candidates import CONTEXT, Candidate, candidates
from metacog_pipeline.benchmark.answers.number_words import word_numbers
from metacog_pipeline.benchmark.answers.numbers import numerals
from metacog_pipeline.benchmark.answers.question import question_of, stems
from metacog_pipeline.benchmark.answers.reading import AnswerKey, Prepared, prepared
from metacog_pipeline.benchmark.answers.text import folded
from metacog_pipeline.benchmark.answers.units import unit_after
from metacog_pipeline.benchmarks.selfknowledge import name_words
from metacog_pipeline.benchmarks.selfknowledge.cjk_names import says_cjk
from metacog_pipeline.benchmarks.selfknowledge.spelling import initials, spelled

_PLACE_BEHIND = re.compile(r", ([A-Z][\w' ]+)\W*$")
_ARTICLE = re.compile(r"\A(?:the|an?|el|la|los|las) (?=\S)", re.IGNORECASE)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_WHO = re.compile(
    r"\b(?:who|whose|(?:which|what) (?:\w+ ){0,2}\w{3,}(?:ist|(?<!w)(?<!numb)er|or|ian|man|woman|ess)"
    r" (?:\w+ly |first )?(?:wrote|composed|painted|discovered|invented|founded|directed"
    r"|won|led|sang|built|designed|created|made)\b|(?:which|what) (?:\w+ ){0,2}(?:author"
    r"|writer|poet|painter|artist|composer|scientist"
    r"|physicist|president"
    r"|singer|actor|actress|director|philosopher|explorer|king|queen|emperor|character|nymph|god|goddess)"
    r"|(?:first|last|middle|family|full|real) name|surname|quién|qué rey)\b",
    re.IGNORECASE,
)
_PLACES = re.compile(r"\b\d{1,2}th\b")
_RUN = re.compile(r"\b(?!The\b)[A-Z][\w'-]+(?: (?:(?:of|the|and|for|de) ){0,2}[A-Z][\w'-]+){1,6}")
_COUNTS = re.compile(
    r"\bhow (?:many|much|long|far|tall|high|deep)\b|多少|几[个座]|몇 (?!년)|\bcuánt", re.IGNORECASE
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*"
_DAY = re.compile(
    rf"\b(?P<a>{_MONTH}) (?P<c>\d{{1,2}})(?:st|nd|rd|th)?\b|\b(?P<d>\d{{1,2}})(?:st|nd|rd"
    rf"|th)? (?:of )?(?P<b>{_MONTH})\b"
)


_TWICE = re.compile(r"[^()]{1,60} ?\(([^()]+)\)\W*")  # "JPY (yen)"
_EACH = re.compile(
    r" (?:\w+ )?(?:per|each|apiece|on each|for each|por|cada)\b|[名个人]?每|[명개]?씩", re.IGNORECASE
)
_ALL = re.compile(r"\b(?:total|altogether|in all|both)\b|总共|一共|모두", re.IGNORECASE)
_TERSE = 40
_YEAR = range(1_000, 2_101)
_STARTS = re.compile(r"(?:^|[.!?:;\n] ?|[\"'(] ?)(?:[\w'-]+ )?$")
_KIN = re.compile(
    r"['’]s (?:\w+ )?(?:mayor|neighbou?r|capital|president|king|queen|son|daughter|wife|husband|father"
    r"|mother|brother|sister"
    r"|rival|predecessor|successor|teacher|student|pupil|friend|colleague|assistant|uncle|suburb|twin|enemy"
    r"|replacement|sequel)\b",
    re.IGNORECASE,
)
_REGNAL = re.compile(r"\b(?:king|queen|pope|emperor|saint)\b", re.IGNORECASE)
_CONCLUDES = re.compile(
    r"\b(?:answer|so|thus|hence|therefore|in fact|conclusion|final|finally|however|but|actually|correct"
    r"|por tanto|respuesta)\b"
    r"[^.;\n]{0,40}$|[:=→] ?$",
    re.IGNORECASE,
)
_CONCLUDED = re.compile(
    r",? (?:so|therefore|thus|hence) (?:it|the answer) (?:was|is|must be) (?:the )?([A-Z][\w'-]+)"
    r"|[,;] (?:so|therefore|thus|hence) ([A-Z][\w'-]+)(?: [A-Z]\w+)?\W*$"
    r"|(?:[;.]|,? but) (?:the|its|but the) (?:[\w'-]+ ){1,8}is (?:the )?([A-Z][\w'-]+)"
)
_RELATED = re.compile(
    r"\b(?:contemporary|rival|friend|student|pupil|teacher|successor|predecessor|brother|sister|son"
    r"|daughter|father|mother"
    r"|wife|husband|neighbou?r|colleague|partner|assistant|protégé|admirer|relative|cousin|suburb|outskirts"
    r"|near|close|next"
    r"|north|south|east|west|borders|bordering|beside|inspired|influenced|defeated|beat|succeeded|preceded"
    r"|replaced|unlike"
    r"|follow\w*|precedes|admires?|admired|rather than|with|below|above|behind|under|beneath|inside|among"
    r"|beyond|alongside|over|whom|beating|against"
    r"|contemporáneo|hij[oa]|padre|madre|herman[oa]|espos[oa]|sucesora?|discípul[oa]|amig[oa]|cerca"
    r"|vecin[oa]|después|across(?: from)?|(?:second|third|next|\d+th)(?: only)?"
    r"|(?:just|right|immediately|directly) (?:after|before)"
    r"|detrás|junto"
    r"|delante|contra|que \w+|(?:más|menos) \w+ que|admirador[a]?|(?:an|pos)terior|previo|as told)(?: (?:of"
    r"|to|with|by|de|del|a))? (?:the |an? |some |also |el |la |algo de )?$"
    r"|, (?:the|a) (?:sister|brother|twin|rival) \w+ of (?:the )?$",
    re.IGNORECASE,
)
_KIN_OF = re.compile(
    r"^\W*(?:an? |the |his |her |one of )?(?:\w+ )?(?:pupil|student|follower|friend|rival|son|daughter"
    r"|brother|sister|wife"
    r"|husband|teacher|assistant|contemporary|colleague|successor|predecessor)s? of $",
    re.IGNORECASE,
)
_PREDICATE = re.compile(
    r"\b(?:is|was|are|were|be|es|fue|era|son|called|named|became)(?: (?:now|actually"
    r"|indeed|really|probably|likely))?"
    r" (?:the |an? |el |la )?[\"'*]*$",
    re.IGNORECASE,
)


def says_entity(output: str, answers: Iterable[str], question: str = "") -> bool:
    """Whether ``output`` says any of ``answers`` as a whole entity; never without an accepted answer."""
    forms = [answer for answer in answers if answer.strip()]
    if not forms or not output.strip():
        return False
    bare = (
        len(output) <= _TERSE
        and not re.search(r"[A-Z]", output)
        and any(form[:1].isupper() for form in forms)
    )
    said = prepared(_capitalised(output) if bare else output)
    numbers = [value for form in forms if (value := _number(form)) is not None]
    names = [form for form in forms if _number(form) is None]
    return bool(numbers and _says_number(said, numbers, question)) or bool(
        names and _says_name(said, names, question)
    )


def _capitalised(reply: str) -> str:
    """Return a terse reply without any capital as names are written: "henry 8th"."""
    return re.sub(r"\b[a-z](?=[a-z]{3})", lambda letter: letter[0].upper(), reply)


def _number(form: str) -> tuple[Fraction, str] | None:
    """Return the number an accepted answer is, with its unit; None where it is something else."""
    text = form.strip().lower().removeprefix("the ").strip(" .")
    found = [*numerals(text), *word_numbers(text)]
    if len(found) != 1 or found[0].start > 1:
        return None
    unit, end = unit_after(text, found[0].end)
    rest = text[end:].strip(" .")
    return (
        (found[0].value, unit.name if unit else "")
        if not rest or (rest.isalpha() and unit is None and len(rest) > 2)
        else None
    )


def _says_number(said: Prepared, wanted: Sequence[tuple[Fraction, str]], question: str) -> bool:
    years = all(value.denominator == 1 and int(value) in _YEAR and not unit for value, unit in wanted)
    asked = question_of(question, wanted[0][1], year=years and not _COUNTS.search(question))
    found = candidates(said.text, asked, said.emphasised, labelled=True)
    standing = [each for each in found if each.rank >= CONTEXT and not _ordinal(said.text, each)]
    best = max((each.rank for each in standing), default=0.0)
    top = [each for each in standing if each.rank >= best - 0.35]
    first = standing[0] if standing and not re.search(r"\w", said.text[: standing[0].start]) else None
    if first and any(_is(first.value, value) for value, _ in wanted) and _EACH.match(said.text, first.end):
        return _ALL.search(question) is None  # "11 per side, 22 in total"
    right = next((each for each in top if any(_is(each.value, value) for value, _ in wanted)), None)
    if right is None or any(each.low is not None for each in top):
        return False
    other = next((each for each in top if not (each.same(right) or _converted(each, right))), None)
    if other is None:
        return True
    between = said.text[right.end : other.start]  # the first of two in clauses of their own is the answer
    return re.search(r"[,;(]", between) is not None and re.search(r"\b(?:or|o)\b|或|또는", between) is None


def _is(said: Fraction, wanted: Fraction) -> bool:
    """Return whether a number is the one wanted, or the same more finely."""
    return said == wanted or (
        wanted >= 1_000 and wanted.denominator == 1 and said.denominator > 1 and round(said) == wanted
    )


def _converted(one: Candidate, two: Candidate) -> bool:
    """Return whether two numbers with units are one value, converted and rounded."""
    return bool(one.unit and two.unit) and abs(one.value - two.value) * 500 <= abs(two.value)


def _ordinal(text: str, each: Candidate) -> bool:
    return re.match(r"\d+(?:st|nd|rd|th)\b", text[each.start : each.end + 2]) is not None


def _says_name(said: Prepared, names: Sequence[str], question: str) -> bool:
    text = said.text
    if folded(_ARTICLE.sub("", text)) in {short for name in names for short in _without_kind(name, question)}:
        return True
    symbols = [name for name in names if re.search(r"\w(?:#|\+\+)", name)]
    if any(name.lower() in text.lower() for name in symbols):
        return True
    if any(says_cjk(text, name, question) for name in names if _CJK.search(name)):
        return True
    latin = [_ARTICLE.sub("", spelled(name)) for name in names if not _CJK.search(name)]
    if any(_same_date(name, text) for name in names):
        return True
    plain, shown = spelled(text), ""
    years = [re.findall(r"\b[12]\d{3}\b", name) for name in latin]
    if any(len(both) == 2 and both == re.findall(r"\b[12]\d{3}\b", plain) for both in years):
        return True
    for way in (latin, *_other_ways(latin, plain, question)):
        if way and any(word_answers.occurrences(plain, name) for name in way):
            shown = _only_whole(plain, way, question)
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
    if _taken_back(shown, max(spans)[1], latin, question):
        return False
    if (told := _TWICE.fullmatch(shown)) and folded(told[1]) in map(folded, latin):
        return True
    return (
        reading.correct is True
        and not _beside_another(shown, spans, latin)
        and not _answered_before(shown, min(spans), question, latin)
    )


def _without_kind(name: str, question: str) -> list[str]:
    """Return a name without the word that only says what kind is asked for: the Indian (Ocean)."""
    words, asked = folded(_ARTICLE.sub("", name)).split(), folded(question).split()
    kinds = (name_words.KIND_BEHIND | name_words.KIND_BEFORE) & set(asked)
    return [" ".join(rest) for rest in (words[:-1], words[1:]) if rest and set(words) - set(rest) <= kinds]


def _taken_back(text: str, end: int, names: Sequence[str], question: str) -> bool:
    """Return whether another name is said behind a correction: "Germany? No, Argentina won"."""
    cut = clauses.Places(text).corrected_from()
    known = set(folded(" ".join((question, *names))).split()) | name_words.NO_NAME
    others = re.findall(r"\b[A-Z][\w'-]+", text[cut:]) if cut >= end else []
    return any(folded(word) not in known for word in others)


def _moved(said: Prepared, plain: str) -> tuple[tuple[int, int], ...]:
    """Return where the emphasised parts of a reply stand in its one spelling."""
    found = [(plain.find(spelled(said.text[start:end])), end - start) for start, end in said.emphasised]
    return tuple((at, at + length) for at, length in found if at >= 0)


def _other_ways(names: Sequence[str], text: str, question: str) -> list[list[str]]:
    """Return other spellings of names: initials, without middle initials, the surname of a person who "
    "is asked for."""
    short = [re.sub(r" [A-Z](?= [A-Z])", "", name) for name in names]
    made = [
        [made for name in names if len(made := initials(name)) > 1 and re.search(rf"\b{made}\b", text)],
        [run for run in _RUN.findall(text) if initials(run) in names],
        [name for name, old in zip(short, names, strict=True) if name != old],
        [full for name in short if (full := _with_middle(name, text))],
        [plain for name in names if (plain := re.sub(r"['’]s\b", "", name)) != name],
        [joined for name in names if (joined := _spaced_otherwise(name, text))],
    ]
    if _WHO.search(question):
        people = [name.split() for name in short if re.fullmatch(r"(?:[A-Z][\w'-]+ ){1,3}[A-Z][\w'-]+", name)]
        made.append([words[-1] for words in people if _surname_alone(words, text)])
    return made


def _with_middle(name: str, text: str) -> str | None:
    """Return a name of two words as it stands with a middle name or initial between them."""
    words = name.split()
    if len(words) != 2 or not all(word[0].isupper() for word in words):
        return None
    found = re.search(rf"\b{re.escape(words[0])} [A-Z][\w'-]* {re.escape(words[1])}\b", text)
    return found[0] if found else None


def _spaced_otherwise(name: str, text: str) -> str | None:
    """Return how a name stands in a text with other spaces or hyphens: Spider-Man, Spiderman."""
    letters = re.sub(r"[\W_]", "", name)
    if not 6 <= len(letters) <= 40:
        return None
    found = re.search(r"\b" + r"[ -]?".join(map(re.escape, letters)) + r"\b", text, re.IGNORECASE)
    return found[0] if found else None


def _surname_alone(words: Sequence[str], text: str) -> bool:
    """Return whether a surname stands in a text without another first name."""
    found = re.search(rf"(?:([A-Z][\w'-]*)\.? )?\b{re.escape(words[-1])}\b(?! [A-Z][a-z])", text)
    return found is not None and (
        found[1] is None
        or folded(found[1]) in name_words.NO_NAME
        or found[1] in words
        or words[0].startswith(found[1])
        or found[1] in ("".join(word[0] for word in words[:end]) for end in range(1, len(words)))
    )


def _only_whole(text: str, names: Sequence[str], question: str) -> str:
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
    person = _WHO.search(question) is not None
    if before and before[2] == "-":
        return False
    if before and text[start : start + 1].isupper() and before[1][:1].isupper():
        word, leads = folded(before[1]), _STARTS.search(text[:start]) is not None
        if person and word in (
            "lake",
            "mount",
            "mt",
            "river",
            "city",
            "town",
            "island",
            "port",
            "lago",
            "monte",
        ):
            return False
        if word in name_words.BEFORE and not (
            leads and word in name_words.ARTICLES and folded(text[start:end]) not in name_words.WITH_ARTICLE
        ):
            return False
        plain = (
            word in name_words.NO_NAME or word in name_words.KIND_BEFORE or word in folded(question).split()
        )
        if not person and word in name_words.GIVEN:
            return False
        if not (leads or person or plain or before[1].endswith((".", "ern", "ent", "ese", "an", "al", "ic"))):
            return False
    if before and folded(before[1]) in name_words.UNLIKE and any(name.islower() for name in names):
        return False
    if person and " " not in text[start:end] and _of_another(text, start, end, names):
        return False
    if re.match(r"\+\+|#|-[A-Z]", text[end:]) or _of_a_compound(text, start, end, question):
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
    if behind and behind[1][:1].isupper() and text[start : start + 1].isupper():
        title = before is not None and before[1] == "The" and folded(behind[1]) not in name_words.KIND_BEHIND
        lone = (
            folded(said) in name_words.GIVEN or any(each.endswith(f" {said}") for each in names)
        ) and not _REGNAL.search(question)
        run = set(folded(re.match(r"(?: [A-Z][\w'-]*)+", text[end:])[0]).split())  # type: ignore[index]
        if " " not in said and (title or lone) and not run & set(folded(question).split()):
            return False
        return person or folded(behind[1]) in name_words.KIND_BEHIND or not behind[1][1:].islower()
    return not _possessive(text, start, end, question)


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
    if _PREDICATE.search(text[:start]) and not words:
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
    known = [part[:3] for each in names if each.endswith(f" {name}") for part in each.split()[:-1]]
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
    if words[0].lower() in (
        "the",
        "a",
        "an",
        "my",
        "it",
        "been",
        "also",
        "not",
        "who",
        "what",
        "where",
        "in",
        "is",
    ):
        return False
    asked = folded(question).split()
    head = re.findall(r"\b[A-Z][\w'-]+", text[:start])
    if re.search(r"\w, $", text[:start]) and words[0].islower():
        return folded(words[0]) not in asked or any(folded(word) not in asked for word in head)
    return not any(folded(word) in asked for word in words) and (
        _KIN.match(text[cut:]) is not None or any(word[:1].isupper() for word in words)
    )


def _beside_another(text: str, spans: Sequence[tuple[int, int]], names: Sequence[str]) -> bool:
    """Return whether the name is offered as one of several, or comes second in a list of names."""
    start, end = min(spans)
    before, behind = text[max(0, start - 40) : start], text[end : end + 40]
    either = re.search(
        r"(?:^|[\s,])(?:either )?[\w'’ .-]{2,30}\b(?:or|o)(?: maybe| perhaps| possibly)?(?: the| el| la)? ?$",
        before,
        re.IGNORECASE,
    )
    if either and not re.search(r"\b(?:know|say|called|formerly|whether)\b", either[0]):
        return True
    other = re.match(
        r"\s*(?:,)? ?\b(?:or|o)\b (?:the |el |la )?([\w'’.-]+(?: [\w'’.-]+){0,3})", behind, re.IGNORECASE
    )
    if other and not any(
        folded(other[1]) in folded(name) or folded(name) in folded(other[1]) for name in names
    ):
        return (
            re.match(r"(?:simply|just|more|also|sometimes|as|formally|officially|known)\b", other[1]) is None
        )
    return (
        re.search(
            r"\b\w+[,;] (?:then|followed by|before|ahead of|and then) (?:the )?$", before, re.IGNORECASE
        )
        is not None
    )


def _answered_before(text: str, span: tuple[int, int], question: str, names: Sequence[str]) -> bool:
    """Return whether another name was said first, as the answer: the accepted one only stands beside it."""
    before = text[: span[0]]
    concluded = _CONCLUDED.search(text, span[1])
    if concluded and not any(folded(concluded[concluded.lastindex or 0]) in folded(name) for name in names):
        return True
    if _KIN_OF.match(before) or _ranked_otherwise(text, span, question):
        return True
    if _PREDICATE.search(before) or _CONCLUDES.search(before) or clauses.CORRECTION.search(before):
        return False
    places = clauses.Places(text)
    same = places.sentence(span[0]) == places.first_sentence()
    of = re.search(r"\b(\w+) of (?:the )?$", before)
    noun = folded(of[1]) if of else ""
    beside = bool(of) and noun not in name_words.KIND_BEFORE | {
        "name",
        "form",
        "kind",
        "type",
        "title",
        *folded(question).split(),
    }
    if (
        same
        and not beside
        and not places.in_bracket(span[0])
        and not re.match(r"\W*[A-Z][\w'-]+, [a-z]+ (?:in|at|from|to) (?:the )?$", before)
        and not _RELATED.search(before[-40:])
        and not re.search(r"[;]|, (?:a|an|who|which|whose|where|unlike) ", before)
    ):
        return False
    start = max((cut.end() for cut in re.finditer(r"[;.,] |\n", before)), default=0)
    own = text[start : span[1] + 60].split(". ")[0].split(";")[0]
    first_clause = re.split(r"[;.,] |\n", before)[0]
    if start and len(stems(own) & stems(question)) > 1 + len(stems(first_clause) & stems(question)):
        return False
    known = set(folded(" ".join((question, *names))).split()) | name_words.NO_NAME
    first = before if same else before[: places.first_end()]
    if same and (places.in_bracket(span[0]) or re.search(r"[\w)], |\b(?:with|below)\b", before)):
        nouns = [
            word
            for word in folded(re.split(r"[,(]", before)[0]).split()
            if word not in known and len(word) > 2
        ]
        if nouns and len(before) < 60 and (places.in_bracket(span[0]) or _RELATED.search(before[-40:])):
            return True
    if re.search(r"\b(?:let|think|question|happy|help|recall|step|look)\b|[!?:]\s*$", first, re.IGNORECASE):
        return False
    return any(folded(word) not in known for word in re.findall(r"\b[A-Z][\w'-]+", first))


def _ranked_otherwise(text: str, span: tuple[int, int], question: str) -> bool:
    """Return whether a name is given another place than the one asked for: "Alpha comes first, beta second"."""
    asked = set(_PLACES.findall(spelled(question)))
    highest = not asked and re.search(r"\b(?:\w{3,}est|most)\b|\bmás (?:\w+)\b", question.lower()) is not None
    clauses_of = re.split(r"[,;.]| and ", text)
    at = 0
    for clause in clauses_of:
        end = at + len(clause)
        if at <= span[0] <= end:
            own = set(_PLACES.findall(clause))
            if highest and own and "1th" not in own:
                return (
                    re.search(r"\b(?:is|comes|ranks|es|was) (?:the )?\d", clause[span[0] - at :]) is not None
                )
            return (
                len(asked) == 1 and bool(own) and not own & asked and bool(asked & set(_PLACES.findall(text)))
            )
        at = end + (5 if text[end : end + 5] == " and " else 1)
    return False


def _same_date(form: str, text: str) -> bool:
    """Return whether a text holds the date an accepted answer is; a year counts where the answer has one."""
    wanted = _date(form)
    if wanted is None or len(form.split()) > 5:
        return False
    found = _date(text)
    return found is not None and found[1:] == wanted[1:] and wanted[0] in (None, found[0])


def _date(text: str) -> tuple[int | None, int, int] | None:
    """Return (year, month, day) of a date, the year None where it has none; None where a text holds no date."""
    plain = folded(text)
    if (iso := re.search(r"\b(1\d{3}|20\d{2}) (\d{1,2}) (\d{1,2})\b", plain)) is not None:
        return int(iso[1]), int(iso[2]), int(iso[3])
    found = _DAY.search(plain)
    if found is None:
        return None
    year = re.search(r"\b(1\d{3}|20\d{2})\b", plain)
    month = (found["a"] or found["b"])[:3]
    return int(year[1]) if year else None, _MONTHS.index(month) + 1, int(found["c"] or found["d"])
