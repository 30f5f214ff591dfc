"""Is a stated answer the right one? Numbers exactly or within tolerance, texts as whole words, choices by letter."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from metacog_pipeline.benchmarks.metacogbench.items import Item, Scalar
from metacog_pipeline.benchmarks.metacogbench.parsing.numbers import Number, exact, numbers
from metacog_pipeline.benchmarks.metacogbench.parsing.text import folded, plain_characters, without_markup

_LONGEST_ANSWER = 20_000
_SLACK = 1e-9

_NEGATED_NUMBER = re.compile(
    r"(?:\b(?:not|never|nor|rather than|instead of)|n't) "
    r"(?:(?:be|equal to|exactly|quite|really|the|a|=) ){0,2}[-+]?\d[\d.,]*",
    re.IGNORECASE,
)
_OR = re.compile(r"[^.;\n]{0,15}\bor\b[^.;\n\d]{0,15}", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.,;:!?()\n]")
_NEGATORS = frozenset(
    [
        "not",
        "no",
        "never",
        "neither",
        "nor",
        "without",
        "cannot",
        "isn't",
        "wasn't",
        "aren't",
        "ain't",
        "hardly",
        "non",
    ]
)
_NEGATING_PAIRS = frozenset({("rather", "than"), ("instead", "of"), ("other", "than"), ("opposed", "to")})
_BREAKS = frozenset(".,;:!?()\n")
_SUBJECT = re.compile(
    r"^(?:(?:it|this|that|answer) (?:is|was)|its|thats|(?:the|my) (?:\w+ ){1,8}?(?:is|was|are|would be)) "
)
_ARTICLES = re.compile(r"\b(?:the|a|an)\b ?")
_LETTER = re.compile(
    r"(?P<named>\b(?:option|choice|answer|letter)(?: is)?[ :]*\(?(?P<a>[A-Ja-j])\b\)?)"
    r"|\((?P<b>[A-Ja-j])\)|(?<![\w'])(?P<c>[A-Ja-j])[).:](?!\w)|(?<![\w'])(?P<d>[A-H])(?![\w'])"
)
_ARTICLE_A = re.compile(r"A (?!(?:and|or|is|not|rather|because|but|although|over|instead|was|seems)\b)[a-z]")
_SET_ASIDE = re.compile(
    r"(?:\b(?:although|though|while|whereas|not|nor|rather than|instead of|unlike|despite|over"
    r"|except|excluding|ruled? out)|n't)"
    r"\b[^,.;\n]{0,60}$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """What is right.

    ``type`` is number, text, choice or none; ``forms`` are the accepted forms (the first is the key itself);
    ``reject`` forms prove a wrong answer when they come first. Texts compare folded.
    """

    type: str
    forms: tuple[Scalar, ...]
    reject: tuple[str, ...] = ()
    abs_tol: float = 0.0
    rel_tol: float = 0.0
    exact: bool = False

    @classmethod
    def of(cls, item: Item) -> AnswerKey:
        """Return the key of an item of tier 1a or 1b."""
        forms = () if item.answer is None else (item.answer, *item.accept)
        return cls(item.answer_type, forms, item.reject, item.abs_tol, item.rel_tol, item.exact)


def is_correct(answer: str | None, key: AnswerKey) -> bool:
    """Return whether ``answer`` (the text of the ANSWER line) is right. No answer is never right. Total."""
    if answer is None or not key.forms:
        return False
    text = without_markup(plain_characters(answer[:_LONGEST_ANSWER])).strip()
    if key.type == "number":
        return _number_matches(text, key)
    if key.type == "choice":
        return _choice(text) == str(key.forms[0]).strip().upper()
    return key.type == "text" and _text_matches(text, key)


def is_correct_literally(reply: str, key: AnswerKey) -> bool:
    """Return whether any accepted form stands anywhere in the reply: plain keyword matching, for comparison."""
    lowered = reply.lower()
    return any(str(form).lower() in lowered for form in key.forms)


def _number_matches(text: str, key: AnswerKey) -> bool:
    found = list(numbers(_NEGATED_NUMBER.sub(" ", text)))
    if not found or _alternatives(_NEGATED_NUMBER.sub(" ", text), found):
        return False
    stated = found[-1].value
    return any(_close(stated, form, key) for form in key.forms)


def _close(stated: object, form: Scalar, key: AnswerKey) -> bool:
    wanted = None if isinstance(form, bool) else exact(form)
    if wanted is None:
        return False
    off = abs(stated - wanted)  # type: ignore[operator]
    if off == 0:
        return True
    allowed = max(key.abs_tol, key.rel_tol * float(abs(wanted))) if abs(wanted) < 10**300 else 0.0
    return allowed > 0 and off < 10**300 and float(off) <= allowed * (1 + _SLACK)


def _alternatives(text: str, found: Sequence[Number]) -> bool:
    """Return whether two different numbers are joined by *or*."""
    pairs = itertools.pairwise(found)
    return any(
        first.value != second.value
        and second.start - first.end <= 30
        and _OR.fullmatch(text[first.end : second.start]) is not None
        for first, second in pairs
    )


def _text_matches(text: str, key: AnswerKey) -> bool:
    forms = [words for words in (folded(str(form)).split() for form in key.forms) if words]
    if key.exact:
        said = _bare(text)
        return any(said == _ARTICLES.sub("", " ".join(words)).strip() for words in forms)
    tokens = _tokens(text)
    right = _first(tokens, forms)
    wrong = _first(tokens, [words for words in (folded(form).split() for form in key.reject) if words])
    if right is None or (wrong is not None and wrong < right):
        return False
    return wrong is None or "or" not in [token for token in tokens[right:wrong] if token not in _BREAKS]


def _bare(text: str) -> str:
    said = folded(text.strip())
    said = _SUBJECT.sub("", said)
    return _ARTICLES.sub("", said).strip()


def _tokens(text: str) -> list[str]:
    return [
        token if token in _BREAKS else token.lower() if "'" in token else folded(token)
        for token in _WORD.findall(text)
    ]


def _first(tokens: list[str], forms: list[list[str]]) -> int | None:
    """Return the place of the first un-negated occurrence of any form."""
    words = [(place, _plain(token)) for place, token in enumerate(tokens) if token not in _BREAKS]
    bare = [word for _, word in words]
    best: int | None = None
    for form in forms:
        size = len(form)
        for start in range(len(bare) - size + 1):
            if (
                bare[start] == form[0]
                and bare[start : start + size] == form
                and not _negated(tokens, words[start][0])
            ):
                best = words[start][0] if best is None else min(best, words[start][0])
                break
    return best


def _plain(token: str) -> str:
    return token[:-2] if token.endswith("'s") else token.replace("'", "")


def _negated(tokens: list[str], place: int) -> bool:
    """Return whether a negator stands among the two words before, in the same clause."""
    before: list[str] = []
    for token in reversed(tokens[max(0, place - 3) : place]):
        if token in _BREAKS:
            break
        if token not in ("the", "a", "an"):
            before.insert(0, token)
    before = before[-2:]
    return (
        any(word in _NEGATORS or word.endswith("n't") for word in before) or tuple(before) in _NEGATING_PAIRS
    )


def _choice(text: str) -> str | None:
    """Return the one letter that is chosen, or None where none or more than one is."""
    if re.fullmatch(r"[\W_]*[A-Ja-j][\W_]*", text):
        return re.sub(r"[\W_]", "", text).upper()
    chosen: list[str] = []
    for found in _LETTER.finditer(text):
        letter = next(each for each in (found["a"], found["b"], found["c"], found["d"]) if each)
        if found["d"] == "A" and _ARTICLE_A.match(text, found.start()):
            continue
        if not _SET_ASIDE.search(text[max(0, found.start() - 80) : found.start()]):
            chosen.append(letter.upper())
    return chosen[0] if chosen and len(set(chosen)) == 1 else None
