"""A row of somebody's table as a `Question`: multiple choice, true or false, a number, or a few words, with its answer."""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from metacog_pipeline.errors import SourceError, StudyError, one_line
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.interchange.answer_files import AnswerFile
from metacog_pipeline.interchange.cells import NAMES as USUAL
from metacog_pipeline.interchange.cells import absent, compared_name, number, truth
from metacog_pipeline.interchange.question import LETTERS, Question
from metacog_pipeline.reading.fields import Number

QuestionT = TypeVar("QuestionT", bound=Question)
KINDS = {
    **dict.fromkeys(("choice", "multiple_choice", "mc"), "choice"),
    **dict.fromkeys(("true_false", "boolean", "tf"), "true_false"),
    **dict.fromkeys(("number", "numeric"), "number"),
    **dict.fromkeys(("text", "short_answer"), "text"),
    "graded": "graded",
}
#: Columns of question, options and right answer; of a passage, which is asked, and known, together with its question.
NAMES = {**USUAL["files"], "options": USUAL["questions"]["options"]}
CONTEXT = USUAL["questions"]["context"]
LONGEST = 100_000  # characters of a question
_OF_QUESTION = ("item_id", "id", "dataset", "kind", "group", "reject", "tolerance", "unit", "position")
_MOST_OWN, _LONGEST_OWN = 20, 200  # further columns of a file, characters of a cell
#: Signs of arithmetic: a hyphen within words is none.
_SIGNS = re.compile(r"[+*/=<>^%√±×÷≤≥≠]|(?<![^\W\d_])[-−](?![^\W\d_])")
_SOLVED = re.compile(r"(?:\A|\s)####[ \t]*([^\n#]{1,200})\Z")  # as GSM8K ends its solutions
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_ASCII_WORDS = re.compile(r"[a-z0-9]+")
_POINT_ZERO = re.compile(r"(?<=\d)\.0+\Z")
# A letter or number in front of an option's text: "A) red", "(b)red", "2. blue", "Ａ、红"; "(A) and (B)" has none.
_MARKED = re.compile(
    r"\s*(?:[(（]([^\W_]{1,2})[)）]|([^\W_]{1,2})(?:[)）．、：]|[.:](?=\s|[^\x00-\x7f])))\s*(?=\S)(?!(?:and|or|only|alone)\b)"
)
_SERIES = (tuple(LETTERS), tuple(map(str, range(1, 11))))
_OPTION = re.compile(r"(?:option|opt|choice|op|answer|ending)?[_\s-]?([a-j]|\d)", re.IGNORECASE)
_LETTERS_WITHOUT_ACCENT = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)


# --- a row ------------------------------------------------------------------------------------------------------------
def load(paths: Sequence[Path], row: type[QuestionT]) -> list[QuestionT]:
    """Return the questions of all files in their order; SourceError with file and row for what is no question."""
    found: dict[str, QuestionT] = {}
    where: dict[str, str] = {}
    for path in paths:
        place = str(path)
        try:
            for each in AnswerFile(path):
                place = f"{path}: row {each.number}"
                if each.broken is not None:
                    raise SourceError(f"{place}: {each.broken}")
                item = row(**question_of(each.cells, path.stem), position=len(found))
                if (other := found.get(item.item_id)) is not None:
                    same = _content(item) == _content(other)
                    what = "the same question" if same else f"id {item.item_id!r}"
                    advice = f"is at {where[item.item_id]} already; {'remove' if same else 'rename'} one"
                    raise SourceError(f"{place}: {what} {advice}")
                where[item.item_id], found[item.item_id] = place, item
        except StudyError as error:
            raise SourceError(str(error)) from None
        except (ValueError, RecursionError) as error:
            raise SourceError(f"{place}: {one_line(str(error), 300)}") from None
    return list(found.values())


def _content(item: Question) -> str:
    return content_digest(item.question, item.options)


def question_of(cells: Mapping[str, Any], dataset: str) -> dict[str, Any]:
    """Return the fields of the `Question` a row says; ValueError where it says none."""
    names = tuple(map(str, cells))
    plain = _plainly(names)
    cells = {each: cells[name] for each, name in plain.items()}
    question, passage = _first(cells, *NAMES["question"]), _first(cells, *CONTEXT)
    if question is None:
        there = ", ".join(name[:40] for name in names[:20])
        raise ValueError(f"there is no question; give it in a column question; the columns are: {there}")
    if isinstance(question, str) and isinstance(passage, str) and passage.strip() not in question:
        question = f"{passage.strip()}\n\n{question}"
    if not isinstance(question, str) or len(question) > LONGEST:
        raise ValueError(f"question must be a text of at most {LONGEST} characters")
    given, parts = _first(cells, *NAMES["options"]), dict[str, str]()
    if given is None and (parts := option_columns(names)):
        given = texts_of([cells[compared_name(column)] for column in parts.values()])
    options, labels = options_of(given)
    try:
        answers = [by_label(each, labels) for each in right_answers(_first(cells, *NAMES["answer"]))]
    except _NoAnswer as error:
        raise ValueError(f"answer {error}; give what is right itself, a text or a list of texts") from None
    kind, options, answers = _of_kind(cells, options, answers)
    unit = str(cells.get("unit") or "")
    if kind == "number" and not unit and all(str(each).strip().endswith("%") for each in answers):
        answers, unit = [str(each).strip().removesuffix("%").strip() for each in answers], "%"
    forms, rejected = [*map(str, answers)], tuple(map(str, listed(cells.get("reject"))))
    if twice := next((each for each in forms if each in rejected), None):
        raise ValueError(f"answer {twice[:40]!r} is in reject, too; take it out of one")
    name = _first(cells, "item_id", "id")
    name = int(name) if isinstance(name, float) and name.is_integer() else name
    taken = {*_OF_QUESTION, *CONTEXT, *(each for known in NAMES.values() for each in known)}
    taken |= {compared_name(each) for each in parts.values()}
    # what a question is about, its source, its difficulty: plain columns stay with it as they are
    more = ((plain[each], v) for each, v in cells.items() if each not in taken and not absent(v))
    own = [(name, str(v)[:_LONGEST_OWN]) for name, v in more if isinstance(v, str | int | float)]
    return {
        "item_id": f"q-{content_digest(question, options)}" if name is None else one_line(str(name), 200),
        "dataset": "own", "task": one_line(" ".join(str(cells.get("dataset") or dataset).split()), 80),
        "question": question, "kind": kind, "options": options, "answer": forms[0] if forms else "",
        "accept": tuple(forms[1:]), "reject": rejected, "tolerance": _tolerance(cells.get("tolerance")), "unit": unit,
        "group": str(cells.get("group") or ""),
        "own": tuple(own[:_MOST_OWN]),
    }  # fmt: skip


def _of_kind(
    cells: Mapping[str, Any], options: tuple[str, ...], answers: list[Any]
) -> tuple[str, tuple[str, ...], list[Any]]:
    """Return kind, options and right answers; of a choice the letter is right."""
    said = [str(each).strip().casefold() for each in answers]
    usual = "choice" if options else "text"
    if answers and not options:
        usual = "number" if all(number(each) is not None for each in answers) else usual
        usual = "true_false" if {*said} <= {"true", "false"} else usual
    kind = KINDS.get(str(cells.get("kind") or usual).strip().casefold())
    if kind is None:
        raise ValueError(f"kind is {cells['kind']!r}; use one of {', '.join(KINDS)}")
    if kind == "true_false":
        kind, options, answers = "choice", ("True", "False"), [*map(_true_or_false, said)]
    if not answers and kind != "graded":
        raise ValueError("there is no answer; give answer, or a list answers")
    if kind == "choice" and not options:
        raise ValueError("there are no options to choose among; give a list options, or another kind")
    if kind == "choice":
        answers = sorted({_letter(each, options) for each in answers})
        if len(answers) > 1:
            many = f"{len(answers)} options are right, {', '.join(answers)}"
            raise ValueError(f"{many}; a question with options has one right answer")
    if kind == "number" and (odd := [each for each in answers if Number().read(str(each)).status != "ok"]):
        raise ValueError(f"answer {str(odd[0])[:40]!r} is no number")
    return kind, options, answers


@lru_cache(maxsize=64)
def _plainly(names: tuple[str, ...]) -> dict[str, str]:
    # of two columns that differ in case alone the one that is spelled plainly comes first
    spelled = {name: name for name in names if compared_name(name) == name}
    return {**{compared_name(name): name for name in reversed(names)}, **spelled}


def _first(cells: Mapping[str, Any], *names: str) -> Any:
    found = (cells[name] for name in names if cells.get(name) is not None)
    return next((each for each in found if str(each).strip()), None)


def _true_or_false(said: str) -> str:
    found = {"a": True, "b": False, "1": True, "0": False}.get(said, truth(said))
    if found is None:
        raise ValueError(f"answer {said[:40]!r} is neither true nor false")
    return "A" if found else "B"


def _tolerance(given: Any) -> float:
    found = number(given or 0)
    if found is None or found < 0 or str(given).strip().endswith("%"):
        raise ValueError(f"tolerance {str(given)[:40]!r} is no number of 0 or more")
    return found


# --- identity ---------------------------------------------------------------------------------------------------------
def flat(text: str) -> str:
    """Return a text without case, accents and punctuation, one space between words."""
    if text.isascii():  # most texts: three times as quick
        return " ".join(_ASCII_WORDS.findall(text.lower().replace("'", "")))
    decomposed = unicodedata.normalize("NFD", text.casefold().translate(_LETTERS_WITHOUT_ACCENT))
    kept = (c if c.isalnum() else "" if unicodedata.combining(c) or c == "'" else " " for c in decomposed)
    return " ".join("".join(kept).split())


def content_digest(question: str, options: Sequence[str]) -> str:
    """Return a digest of a question and its options, without case, accents and punctuation."""
    return sha256_hex(canonical_json([flat(question), [*map(flat, options)]]))[:16]


@lru_cache(maxsize=4096)
def identity(question: str, options: tuple[str, ...]) -> str:
    """Return a digest of a question and the set of its options; 2 + 3 is not 2 - 3."""
    told = [_with_signs(question), *sorted(map(_with_signs, options))]
    return sha256_hex(canonical_json(told))[:16]


def _with_signs(text: str) -> str:
    signs = _SIGNS.findall(text)
    return f"{flat(text)} {' '.join(signs)}" if signs else flat(text)


def in_order_of(shown: Sequence[str], own: Sequence[str]) -> str:
    """Return the letters that options have in their own order, in the order they are shown in; "" where it is the same.

    >>> in_order_of(["blue", "red"], ["red", "blue"]), in_order_of(["Red", "blue"], ["red", "blue"])
    ('BA', '')
    """
    left, places = list(range(len(own))), []
    for text in shown:
        exact = [at for at in left if own[at].strip() == text.strip()]
        places.append(next(iter(exact or [at for at in left if flat(own[at]) == flat(text)])))
        left.remove(places[-1])
    return "" if places == sorted(places) else "".join(LETTERS[at] for at in places)


# --- right answers ----------------------------------------------------------------------------------------------------
class _NoAnswer(ValueError):
    """An object that is no right answer."""


def listed(value: Any) -> list[Any]:
    """Return the values of a cell: of a list, also one written as text, each; none of an empty cell."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _parsed(value)
    if isinstance(value, list | tuple):
        return list(value)
    return [] if value is None or not str(value).strip() else [value]


def right_answers(value: Any) -> list[Any]:
    """Return the right answers a cell says, of a solution that ends in "#### 18" the 18; ValueError for other objects."""
    if isinstance(value, Mapping):  # SQuAD has a list ``text``, TriviaQA ``value`` and ``aliases``
        parts = [each for name in ("value", "text", "aliases") for each in listed(value.get(name))]
        if not parts or any(isinstance(each, Mapping) for each in parts):
            raise _NoAnswer(f"is an object with {', '.join(str(name)[:40] for name in list(value)[:5])}")
        value = list(dict.fromkeys(parts))
    # NaN is what data frames have for nothing
    return [ungrouped(solved(each)) for each in listed(value) if each is not None and each == each]


def solved(answer: Any) -> Any:
    """Return what follows "####" at the end of a solution; any other value as it is."""
    found = _SOLVED.search(answer.rstrip()) if isinstance(answer, str) and "####" in answer else None
    return answer if found is None else found[1]


def ungrouped(answer: Any) -> Any:
    """Return 1200 of "1,200"; any other value as it is."""
    return answer.replace(",", "") if isinstance(answer, str) and _THOUSANDS.fullmatch(answer) else answer


def _parsed(text: str) -> Any:
    # data frames write lists into CSV as Python does, with single quotes
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return [text]


def _letter(answer: Any, options: Sequence[str]) -> str:
    """Return the letter of the right option: named by its letter, its text, or its place from 0."""
    if isinstance(answer, float) and answer.is_integer():
        answer = int(answer)  # as data frames write places in columns with empty cells
    whole = isinstance(answer, int) and not isinstance(answer, bool)
    text = str(answer).strip()
    text = text if text in options else _POINT_ZERO.sub("", text)
    exact = [place for place, each in enumerate(options) if each == text]
    if len(exact) > 1:
        raise ValueError(f"answer {text[:40]!r} is the text of {len(exact)} options; write the letter")
    named = _place_of(text, options)
    if exact and not whole:
        return LETTERS[exact[0]]
    if not exact and named is not None:
        return LETTERS[named]
    alike = [place for place, each in enumerate(options) if flat(each) == flat(text)]
    place = int(text[:9]) if text.isdecimal() else None
    if len(alike) == 1 and whole and place != alike[0] and 0 <= answer < len(options):
        both = f"the place of option {LETTERS[answer]} and the text of option {LETTERS[alike[0]]}"
        raise ValueError(f"answer {answer} is {both}; write the letter")
    place = alike[0] if len(alike) == 1 else place
    if place is None or place >= len(options):
        why = f"none of the {len(options)} options, by letter, text or place from 0"
        raise ValueError(f"answer {text[:40]!r} is {why}")
    return LETTERS[place]


def _place_of(text: str, options: Sequence[str]) -> int | None:
    """Return the place of the option that a letter names, alone, in brackets, or before the option's own text."""
    marked = _MARKED.match(text)
    behind = "" if marked is None else flat(text[marked.end() :])
    bare = (marked[1] or marked[2]) if marked else text.strip("().:")
    place = LETTERS.find(bare.upper()) if len(bare) == 1 else -1
    if not 0 <= place < len(options) or (behind and behind != flat(options[place])):
        return None
    if marked or text.startswith("("):
        return place
    alike = flat(bare)
    return None if sum(flat(each) == alike for each in options) == 1 else place


# --- options ----------------------------------------------------------------------------------------------------------
def option_columns(there: Sequence[str]) -> dict[str, str]:
    """Return {letter: column} of options in columns of their own, such as ``option_a`` or ``A``; {} without two."""
    groups: dict[str, dict[str, str]] = {}
    for name in there:
        if match := _OPTION.fullmatch(name.strip()):
            groups.setdefault(name.strip()[:-1].casefold(), {})[match[1].upper()] = name
    best = max(groups.values(), key=len, default={})
    places = sorted(best)
    first = ord(places[0]) if places[:1] in (["A"], ["0"], ["1"]) else 0
    if len(places) < 2 or list(map(ord, places)) != list(range(first, first + len(places))):
        return {}
    return {LETTERS[n]: best[each] for n, each in enumerate(places)}


def texts_of(parts: Sequence[Any]) -> Sequence[Any] | None:
    """Return the cells of options in columns of their own; None where one at most has a text: a question without them."""
    return parts if sum(not absent(each) for each in parts) > 1 else None


def options_of(value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the texts of options, and what they are called where it is not A, B, C and so on, such as 1, 2, 3 of ARC.

    They are given as a list, by letter or number, as objects with ``text`` and ``label``, or as text that holds any of
    these, one a line, or with bars between. Raises ValueError for anything else.
    """
    given, named = value, list[Any]()
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        given = _parsed(value)
    if isinstance(given, Mapping) and "text" in given:
        given, named = given["text"], listed(given.get("label"))
    elif isinstance(given, Mapping):  # 2 before 10
        names = sorted(given, key=lambda name: (not str(name).isdecimal(), len(str(name)), str(name)))
        named = [name for name in names if not absent(given[name])]
        given = [given[name] for name in named]
    elif isinstance(given, str):
        parts = given.split("\n" if "\n" in given.strip() else "|")
        given = [each.strip() for each in parts if each.strip()]
    given = listed(given)
    while given and absent(given[-1]):  # tables have as many as the longest row
        given = given[:-1]
    named = named or [each.get("label") for each in given if isinstance(each, Mapping)]
    texts = [each.get("text", each) if isinstance(each, Mapping) else each for each in given]
    for place, each in enumerate(texts):
        if absent(each) or isinstance(each, Mapping | list):
            what = f"option {LETTERS[place : place + 1] or place} is {'empty' if absent(each) else 'no text'}"
            raise ValueError(f"{what}; give a text for each option")
    marks, found = _unmarked([one_line(str(each), 2_000) for each in texts])
    if len(found) == 1 or len(found) > len(LETTERS):
        many = "is 1 option" if len(found) == 1 else f"are {len(found)} options"
        raise ValueError(f"there {many}; give 2 to {len(LETTERS)}, as a list or one a line")
    labels = tuple(str(each).strip() for each in (named or marks) if not absent(each))
    other = len({*labels}) == len(found) and labels != tuple(LETTERS[: len(labels)])
    return tuple(found), labels if other else ()


def by_label(answer: Any, labels: Sequence[str]) -> Any:
    """Return an answer that names an option by its label as the letter of its place; any other as it is."""
    if not labels or isinstance(answer, bool | list | Mapping):
        return answer
    text = _POINT_ZERO.sub("", str(answer).strip())
    bare = text.strip("().:").upper()
    if labels[0] == "1" and text == "0":  # the numbers are places then, and 1 is the second
        raise ValueError("answer 0 names none of the options, which are numbered from 1; write their letters")
    named = text if text in labels else bare if bare in labels else None
    return answer if named is None else f"({LETTERS[labels.index(named)]})"


def _unmarked(options: Sequence[str]) -> tuple[tuple[str, ...], Sequence[str]]:
    """Return the letters or numbers that options carry, each that of its own place, and their texts without them."""
    marks = [_MARKED.match(each) for each in options]
    labels = tuple((each[1] or each[2]).upper() for each in marks if each)
    if not labels or len(labels) < len(options) or not any(labels == each[: len(labels)] for each in _SERIES):
        return (), options
    return labels, [each[found.end() :] for each, found in zip(options, marks, strict=True) if found]
