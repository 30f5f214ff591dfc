"""What a reply does with a name it holds: offers it beside another, or only mentions it after its answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metacog_pipeline.benchmark.answers import clauses
from metacog_pipeline.benchmark.answers.question import stems
from metacog_pipeline.benchmark.answers.text import folded
from metacog_pipeline.benchmarks.selfknowledge import name_words
from metacog_pipeline.benchmarks.selfknowledge.spelling import spelled

_PLACES = re.compile(r"\b\d{1,2}th\b")
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
    r"|,? but (?:it|that|this|they) (?:was|is|were|are)(?: \w+){0,3}?(?: (?:in|by|from|at|to|the))? ([A-Z][\w'-]+)"
)
_RELATED = re.compile(
    r"\b(?:contemporary|rival|friend|student|pupil|teacher|successor|predecessor|brother|sister|son|daughter|father"
    r"|mother|wife|husband|neighbou?r|colleague|partner|assistant|protégé|admirer|relative|cousin|suburb|outskirts"
    r"|near|close|next|until|till|north|south|east|west|borders|bordering|beside|inspired|influenced|defeated|beat"
    r"|succeeded|preceded|replaced|unlike|follow\w*|precedes|admires?|admired|rather than|with|below|above|behind"
    r"|under|beneath|inside|among|beyond|alongside|over|whom|beating|against|contemporáneo|hij[oa]|padre|madre"
    r"|herman[oa]|espos[oa]|sucesora?|discípul[oa]|amig[oa]|cerca|vecin[oa]|después|across(?: from)?|(?:second|third"
    r"|next|\d+th)(?: only)?|(?:just|right|immediately|directly) (?:after|before)|detrás|junto|delante|contra|dans"
    r"|près de|im|nahe|que \w+|(?:más|menos) \w+ que|admirador[a]?|(?:an|pos)terior|previo|as told)(?: (?:of|to|with"
    r"|by|de|del|a))? (?:the |an? |some |also |el |la |algo de )?$|, (?:the|a) (?:sister|brother|twin"
    r"|rival) \w+ of (?:the )?$",
    re.IGNORECASE,
)
_KIN_BEFORE = re.compile(
    r"['’]s (?:\w+ ){0,2}(?:brother|sister|son|daughter|wife|husband|father|mother|friend|rival|partner|successor|capital"
    r"|colleague|teacher|student|uncle|aunt|cousin|nephew|niece|twin),? $",
    re.IGNORECASE,
)
_HEAD_END = re.compile(r"[,;:(\[](?!\d)|[.!](?=\s)|\n| [—–-] |—")
_GLOSS = re.compile(r"\W*(?:(?:the|an?|or|i\.?e\.?|aka|a\.k\.a\.|namely|that is)\W+){0,2}", re.IGNORECASE)
_TURNS = re.compile(
    r"\b(?:but|though|although|however|actually|instead|rather|known|called|named|namely|aka|i\.?e|that is|better"
    r"|real name|born|or|nee|née|correct|answer|so|hence|thus|therefore|in fact|specifically|more precisely|meaning"
    r"|alias|stage name|sino|pero|mais|aber|sondern|if|es decir|o sea|c'est-à-dire|das heißt|present-day|modern-day"
    r"|nowadays|now)\b|[:=→]\s*\Z",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"\s*(?:who|whose|whom|which|where|while|whereas|when|because|since|as|with|after|before|that|not|the|an?"
    r"|its|his|her)\b",
    re.IGNORECASE,
)
_FALSELY = re.compile(
    r"\b(?:misconception|myth|mistakenly|wrongly|erroneously|incorrectly|falsely|confused with|mistaken for"
    r"|wrong to (?:say|think)"
    r"|(?:many|most|some) people (?:would |often |commonly )?(?:say|think|assume|believe|guess|expect))\b[^.;!?]{0,60}$",
    re.IGNORECASE,
)
_NEXT = re.compile(r"\b(?:succe\w+|follow\w*|replac\w+|after|next)\b", re.IGNORECASE)
_NOT_SO = re.compile(r" (?:is|was|are|were|does|did|do|has)(?:n't| not)\b")
_WENT_TO = re.compile(
    r"\b(?:it|that|this|which|role|part|honou?r|award|title|prize|job|credit|record|distinction) (?:\w+ ){0,2}"
    r"(?:went|goes|fell|belongs|belonged|is held by|was given) (?:to )?(?:the )?$",
    re.IGNORECASE,
)
_KIN_OF = re.compile(
    r"^\W*(?:an? |the |his |her |one of )?(?:\w+ )?(?:pupil|student|follower|friend|rival|son|daughter"
    r"|brother|sister|wife"
    r"|husband|teacher|assistant|contemporary|colleague|successor|predecessor)s? of $",
    re.IGNORECASE,
)
PREDICATE = re.compile(
    r"\b(?:is|was|are|were|be|es|fue|era|son|called|named|became)(?: (?:now|actually"
    r"|indeed|really|probably|likely))?"
    r" (?:the |an? |el |la )?[\"'*]*$",
    re.IGNORECASE,
)


def _known(question: str, names: Sequence[str]) -> frozenset[str]:
    """Return the words that name nothing else: of the question, of accepted names, and those of no name."""
    return name_words.NO_NAME.union(folded(" ".join((question, *names))).split())


def beside_another(text: str, spans: Sequence[tuple[int, int]], names: Sequence[str]) -> bool:
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
    if re.search(r" to (?:the )?[A-Z]", behind[:8]) and re.search(r"\bfrom (?:the )?$", before):
        return True
    if re.search(
        r"\b(?:torn|undecided|toss-?up|choosing|hesitat\w+|either|it's) (?:between )?[^.;]{0,40}$", before
    ) and (
        re.match(r"\W*(?:and|or|vs\.?|versus) (?:the )?[A-Z]", behind)
        or re.search(r"[A-Z]\w+ (?:and|or|vs\.?) (?:the )?$", before)
    ):
        return re.search(r"\b(?:torn|undecided|toss-?up|choosing|hesitat\w+|between)\b", before) is not None
    return (
        re.search(
            r"\b\w+[,;] (?:then|followed by|before|ahead of|and then) (?:the )?$", before, re.IGNORECASE
        )
        is not None
    )


def answered_before(text: str, span: tuple[int, int], question: str, names: Sequence[str]) -> bool:
    """Return whether another name was said first, as the answer: the accepted one only stands beside it."""
    before = text[: span[0]]
    concluded = _CONCLUDED.search(text, span[1])
    if concluded and not any(folded(concluded[concluded.lastindex or 0]) in folded(name) for name in names):
        return True
    if (
        _KIN_OF.match(before)
        or _ranked_otherwise(text, span, question)
        or _after_a_head(text, span, question, names)
    ):
        return True
    after = _NEXT.search(question) and re.search(r"\b(?:succeeded|followed|replaced) by (?:the )?$", before)
    if after or _KIN_BEFORE.search(before) or _WENT_TO.search(before):
        return False
    related = _RELATED.search(before[-40:]) or re.search(r"\b(?:after|before|than)(?: the)? $", before)
    if not text[span[0]].isupper() and related and _other_noun(before, question, names):
        return True
    if PREDICATE.search(before) or _CONCLUDES.search(before) or clauses.CORRECTION.search(before):
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
    known = _known(question, names)
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


def _after_a_head(text: str, span: tuple[int, int], question: str, names: Sequence[str]) -> bool:
    """Return whether a reply begins with a noun phrase that is its answer, and says the name only later.

    "The Vltava; the Danube runs through Vienna", "The siemens, the reciprocal of the ohm", "Ronald Reagan, whose vice
    president was George Bush". A gloss, a correction or words of the question make no answer of a beginning.
    """
    end = _HEAD_END.search(text)
    if end is None or end.start() > span[0] or end[0].startswith(":"):
        return False
    words = text[: end.start()].strip(" \"'-*").split()
    if not 1 <= len(words) <= 5 or _no_noun_phrase(words) or clauses.CORRECTION.search(text, end.start()):
        return False
    known = _known(question, names) | name_words.HEDGES
    known -= name_words.NATIONAL if len(words) == 1 else frozenset()
    own = [
        word for word in words if folded(word.removesuffix("'s")) not in known and folded(word) not in known
    ]
    if own and _NOT_SO.match(text, span[1]) and own[0][:1].isupper():
        return True
    if not own or _goes_on(text, end, span):
        return False
    if not text[span[0]].isupper():
        return len(words) <= 3 and end[0].strip() in (",", ";")
    names_own = [word for word in own if word[:1].isupper()]
    return bool(names_own) and (
        words[0] not in names_own or len(words) == 1 or len(names_own) > 1 or "'s" in " ".join(words)
    )


def _goes_on(text: str, end: re.Match[str], span: tuple[int, int]) -> bool:
    """Return whether what follows a beginning explains it, turns from it, or is the sentence it is the subject of."""
    mark, between = end[0].strip(), text[end.end() : span[0]]
    if _TURNS.search(between):
        return True
    if mark in (";", ".", "!", ""):
        return False
    if _GLOSS.fullmatch(between) and (mark not in "([" or text[span[1] : span[1] + 1] in (")", "]")):
        return True
    if mark in "([":
        behind = re.match(r"[^()\[\]]{0,200}[)\]] ([\w']+)", text[end.end() :])
        return behind is not None and folded(behind[1]) in name_words.VERBS
    own = re.split(r"[.;!?\n]", between)[0]
    return _SUBORDINATE.match(own) is None and any(folded(word) in name_words.VERBS for word in own.split())


def _other_noun(before: str, question: str, names: Sequence[str]) -> bool:
    """Return whether what stands before a name in lower case speaks of another thing: "The tibia is second, after the"."""
    subject = re.match(r"\W*(?:[Tt]he |[Aa]n? )?([\w-]+)(?: (?:is|comes|ranks|was|has|lies)\b|,)", before)
    known = _known(question, names) | name_words.OPENERS
    return subject is not None and folded(subject[1]) not in known


def _no_noun_phrase(words: Sequence[str]) -> bool:
    """Return whether the words before the first mark are a clause, an opening or an adverbial."""
    first = folded(words[0])
    return (
        first in name_words.OPENERS
        or first.endswith(("ly", "ing"))
        or re.match(r"(?i)(?:it|that|this|there|he|she|they|who|what|here|let)['’]", words[0]) is not None
        or any(
            folded(word) in name_words.VERBS or word.lower().endswith(("n't", "'re", "'ve", "'ll"))
            for word in words
        )
    )


def said_falsely(text: str, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether every mention of a name is what others say wrongly: "a misconception that it is the femur"."""
    return all(_FALSELY.search(text[max(0, start - 120) : start]) for start, _ in spans)


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
