"""A row of a file that says a question: multiple choice, true or false, a number, or a few words, with its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from metacog_pipeline.benchmark.answers.reading import AnswerKey, prepared
from metacog_pipeline.benchmark.answers.shares import spelled_out
from metacog_pipeline.benchmark.answers.text import folded
from metacog_pipeline.benchmark.cells import absent, compared_name, number, truth
from metacog_pipeline.benchmark.item import Item
from metacog_pipeline.errors import one_line
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.reading.fields import Number

LETTERS = "ABCDEFGHIJ"
KINDS = {
    **dict.fromkeys(("choice", "multiple_choice", "mc"), "choice"),
    **dict.fromkeys(("true_false", "boolean", "tf"), "true_false"),
    **dict.fromkeys(("number", "numeric"), "number"),
    **dict.fromkeys(("text", "short_answer"), "text"),
    "graded": "graded",
}
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'(?=\s*[,:}\]\n']|\s+'|$)|\"((?:[^\"\\]|\\.)*)\"")
_SOLVED = re.compile(r"(?:\A|\s)####[ \t]*([^\n#]{1,200})\Z")  # as GSM8K ends its solutions
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_PLACED = re.compile(r"\(([A-J])\)")
# A letter or number in front of an option's text: "A) red", "(b)red", "2. blue", "Ａ、红"; "(A) and (B)" has none.
_MARKED = re.compile(
    r"\s*(?:[(（]([^\W_]{1,4})[)）]|([^\W_]{1,4})(?:[)）．、：]|[.:](?=\s|[^\x00-\x7f])|(?<=[①-⑩])))\s*(?=\S)"
    r"(?!(?:and|or|only|alone)\b)"
)
_POINT_ZERO = re.compile(r"(?<=\d)\.0+\Z")
#: What options are told apart by, in their order.
_SERIES = (
    tuple(LETTERS), tuple(map(str, range(1, 11))), tuple("①②③④⑤⑥⑦⑧⑨⑩"), tuple("АБВГДЕЖЗИК"),
    tuple("ΑΒΓΔΕΖΗΘΙΚ"), tuple("가나다라마바사아자차"), tuple("甲乙丙丁戊己庚辛壬癸"),
    ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"),
)  # fmt: skip
_ARRAY = re.compile(
    r"\barray\((?=\[)|(?<=\]),\s{0,20}dtype=\w{1,20}\)|(?<=\])\)"
)  # as NumPy is written into a cell
_LISTS = re.compile(
    r"['\"](\w{1,20})['\"]\s{0,9}:\s{0,9}(\[(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[\s,])*\])"
)
_OPTION = re.compile(r"(?:option|opt|choice|op|answer)?[_\s-]?([a-j]|\d)", re.IGNORECASE)
# Plain names of columns with the wrong options alone, as GPQA ("Incorrect Answer 1"), SciQ and quizzes have them.
_WRONG = re.compile(r"(?:(?:incorrect|wrong)_(?:answer|option|choice)|distractor)s?(?:_?(?:[a-j]|\d))?")
#: Usual names of columns, compared without case, spaces and hyphens.
NAMES = {
    "question": ("question", "input", "prompt", "question_text"),
    "options": ("options", "choices", "answer_choices", "answer_options", "mc_options"),
    "answer": ("answers", "answer", "target", "key", "correct_answer", "correct_option", "answer_key", "answerkey",
               "gold", "gold_answer", "ground_truth"),
}  # fmt: skip
LONGEST = 100_000  # characters of a question


class Question(Item):
    """A question. ``answer`` is right (the letter where there are ``options``), and so is what ``accept`` lists; what is
    ``graded`` is right or wrong as its log says. Questions of one ``task`` have a board together; those of one ``group``
    are drawn together."""

    task: str
    question: str
    kind: Literal["choice", "number", "text", "graded"]
    answer: str = ""
    accept: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    tolerance: float = 0.0
    unit: str = ""
    group: str = ""

    @property
    def cluster(self) -> str:
        """The group, else the question itself."""
        return self.group or self.item_id

    @cached_property
    def stem(self) -> str:
        """The question as it is asked, options below it."""
        listed = (f"{letter}) {text}" for letter, text in zip(LETTERS, self.options, strict=False))
        return "\n".join([self.question.strip(), *listed])

    @cached_property
    def key(self) -> AnswerKey:
        """What is right, as the readers take it."""
        about = self.stem if self.options else self.question
        forms = (self.answer, *self.accept) if self.answer else ()
        if self.kind == "text":
            forms = tuple(dict.fromkeys((*forms, *filter(None, map(_as_read, forms)))))
        return AnswerKey(self.kind, forms, self.reject, self.tolerance, unit=self.unit, question=about)


def _as_read(form: str) -> str:
    """Return a right answer as the readers see a reply: without LaTeX, markup and curly quotes."""
    return prepared(spelled_out(form)).text.strip()


def question_of(cells: Mapping[str, Any], dataset: str) -> dict[str, Any]:
    """Return the fields of the `Question` a row says; ValueError where it says none.

    Columns: ``question``, ``answer`` or a list ``answers``, ``options`` or a column for each, ``kind``, ``id``,
    ``dataset``, ``group``, ``reject``, ``tolerance``, ``unit``; other names of some are known. The right option is named by
    its letter, its text, its label or its place from 0; where only wrong ones are listed, it is the answer.
    """
    names = tuple(map(str, cells))
    cells = {plain: cells[name] for plain, name in _plainly(names).items()}
    question = _first(cells, *NAMES["question"])
    if question is None:
        there = ", ".join(name[:40] for name in names[:20])
        raise ValueError(f"there is no question; give it in a column question; the columns are: {there}")
    if not isinstance(question, str) or len(question) > LONGEST:
        raise ValueError(f"question must be a text of at most {LONGEST} characters")
    given, right = _given(cells, names)
    options = options_of(given)
    try:
        answers = right_answers(right)
    except ValueError as error:
        raise ValueError(f"answer {error}; give what is right itself, a text or a list of texts") from None
    labels = labels_of(given)
    answers = [by_label(each, labels) for each in answers]
    kind = KINDS.get(str(cells.get("kind") or _kind_of(options, answers)).strip().casefold())
    if kind is None:
        raise ValueError(f"kind is {cells['kind']!r}; use one of {', '.join(KINDS)}")
    if kind == "true_false":
        kind, options = "choice", ("True", "False")
        answers = [_true_or_false(each) for each in answers]
    if not answers and kind != "graded":
        raise ValueError("there is no answer; give answer, or a list answers")
    if kind == "choice" and not options:
        raise ValueError("there are no options to choose among; give a list options, or another kind")
    if kind == "choice":
        named = sorted({_letter(each, options) for each in answers})
        if len(named) > 1:
            raise ValueError(
                f"{len(named)} options are right, {', '.join(named)}; a question with options has one right answer"
            )
        answers = named
    if kind == "number" and any(Number().read(str(each)).status != "ok" for each in answers):
        raise ValueError(f"answer {str(answers[0])[:40]!r} is no number")
    unit = str(cells.get("unit") or "")
    if kind == "number" and not unit and all(str(each).strip().endswith("%") for each in answers):
        answers, unit = [str(each).strip().removesuffix("%").strip() for each in answers], "%"
    rejected = tuple(map(str, listed(cells.get("reject"))))
    if twice := next((each for each in map(str, answers) if each in rejected), None):
        raise ValueError(f"answer {twice[:40]!r} stands in reject too; take it out of one")
    forms = [str(each) for each in answers]
    return {
        "item_id": _name_of(cells) or f"q-{content_digest(question, options)}",
        "dataset": "own",
        "task": one_line(" ".join(str(cells.get("dataset") or dataset).split()), 80),
        **{"question": question, "kind": kind, "options": options, "answer": forms[0] if forms else ""},
        "accept": tuple(forms[1:]),
        "reject": rejected,
        "tolerance": _tolerance(cells.get("tolerance")),
        "unit": unit,
        "group": str(cells.get("group") or ""),
    }


@lru_cache(maxsize=64)
def _plainly(names: tuple[str, ...]) -> dict[str, str]:
    """Return the column of each plain name; one that is spelled so comes first."""
    return {
        **{compared_name(name): name for name in reversed(names)},
        **{n: n for n in names if compared_name(n) == n},
    }


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


def _name_of(cells: Mapping[str, Any]) -> str:
    """Return the id a row gives, of 1.0 the 1; "" where it gives none."""
    name = _first(cells, "item_id", "id")
    name = int(name) if isinstance(name, float) and name.is_integer() else name
    return "" if name is None else one_line(str(name), 200)


def _given(cells: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, Any]:
    """Return the cell with the options, or those of options in columns of their own, and the cell with what is right."""
    given, right = _first(cells, *NAMES["options"]), _first(cells, *NAMES["answer"])
    if given is None and (parts := option_columns(names)):
        given = texts_of([cells[compared_name(column)] for column in parts.values()])
    if given is None and KINDS.get(str(cells.get("kind") or "choice").strip().casefold()) == "choice":
        return _among_wrong(cells, right) or (None, right)
    return given, right


def _among_wrong(cells: Mapping[str, Any], right: Any) -> tuple[list[str], str] | None:
    """Return wrong options that stand in columns of their own with the right one among them, and its letter in brackets.

    Where they carry no letters their order is drawn from their texts: the same question is asked in the same order, and no
    letter is right more often. None where there are no such columns, or not one right answer.
    """
    columns = _wrong_columns(tuple(cells))
    parts = [each for name in columns for each in _wrong_of(name, cells[name])]
    wrong = [str(each).strip() for each in parts if not absent(each)]
    answers = [] if isinstance(right, Mapping) else [str(each).strip() for each in listed(right)]
    if not wrong or len(answers) != 1:
        return None
    if folded(answers[0]) in map(folded, wrong):
        raise ValueError(f"answer {answers[0][:40]!r} is a wrong option too; take it out of one")
    options = sorted((*wrong, answers[0]))
    if not _marked(options).labels:
        options = sorted(options, key=lambda each: sha256_hex(canonical_json([each, options])))
    place = options.index(answers[0])
    return options, f"({LETTERS[place : place + 1]})"


@lru_cache(maxsize=64)
def _wrong_columns(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the plain names of columns with wrong options, in their order."""
    return tuple(sorted(name for name in names if _WRONG.fullmatch(name)))


def _wrong_of(name: str, cell: Any) -> list[Any]:
    """Return the wrong options of a cell: a list of them, or one where the name of the column says one."""
    found = listed(cell)
    return found if isinstance(cell, list | tuple) or len(found) > 1 or not name.endswith("s") else []


def texts_of(parts: Sequence[Any]) -> Sequence[Any] | None:
    """Return the cells of options in columns of their own; None where one at most has a text: a question without them."""
    return parts if sum(not absent(each) for each in parts) > 1 else None


def content_digest(question: str, options: Sequence[str]) -> str:
    """Return what tells one question from another, but for case, spaces and quotes."""
    return sha256_hex(canonical_json([folded(question), [folded(each) for each in options]]))[:16]


def _first(cells: Mapping[str, Any], *names: str) -> Any:
    for name in names:
        each = cells.get(name)
        if each is not None and (each if type(each) is str else str(each)).strip():
            return each
    return None


def listed(value: Any) -> list[Any]:
    """Return the values of a cell: of a list, also one written as text, each; none of an empty cell."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _parsed(value)
    if isinstance(value, list | tuple):
        return list(value)
    return [] if value is None or not str(value).strip() else [value]


def right_answers(value: Any) -> list[Any]:
    """Return the right answers a cell says, of a solution that ends in "#### 18" the 18; ValueError for other objects.

    SQuAD has an object with a list ``text``, TriviaQA one with ``value`` and ``aliases``.
    """
    if isinstance(value, Mapping):
        parts = [each for name in ("value", "text", "aliases") for each in listed(value.get(name))]
        if not parts or any(isinstance(each, Mapping) for each in parts):
            raise ValueError(f"is an object with {', '.join(str(name)[:40] for name in list(value)[:5])}")
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
    """Return what a cell holds that JSON or Python wrote; the text where it is neither. Nothing in it is evaluated."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        found = [one or two for one, two in _QUOTED.findall(text)]
        pairs = text.lstrip().startswith("{")
        if pairs and (lists := _LISTS.findall(text)):
            return {name: listed(each) for name, each in lists}
        if not found or (pairs and len(found) % 2):
            return [text]
        return dict(zip(found[::2], found[1::2], strict=True)) if pairs else found


def options_of(value: Any) -> tuple[str, ...]:
    """Return the texts of options, given as a list, by letter or number, or as text that holds either; ValueError else."""
    value = _told(value)
    if isinstance(
        value, Mapping
    ):  # letters or numbers with their texts, or a column of texts as some data sets have it
        value = value.get("text") or [value[name] for name in _labels(value) if not absent(value[name])]
    given = _split(value) if isinstance(value, str) else listed(value)
    while given and absent(given[-1]):  # tables have as many as the longest row
        given = given[:-1]
    texts = [each.get("text", each) if isinstance(each, Mapping) else each for each in given]
    for place, each in enumerate(texts):
        if absent(each) or isinstance(each, Mapping | list):
            kind = "empty" if absent(each) else "no text"
            raise ValueError(
                f"option {LETTERS[place : place + 1] or place} is {kind}; give a text for each option"
            )
    found = tuple(_marked([one_line(str(each), 2_000) for each in texts]).texts)
    if len(found) == 1 or len(found) > len(LETTERS):
        many = "is 1 option" if len(found) == 1 else f"are {len(found)} options"
        raise ValueError(f"there {many}; give 2 to {len(LETTERS)}, as a list or one a line")
    return found


def labels_of(value: Any) -> tuple[str, ...]:
    """Return what options are called where it is not A, B, C and so on, such as 1, 2, 3 of ARC; () else."""
    value = _told(value)
    if isinstance(value, Mapping):
        found = listed(value.get("label")) if "text" in value else _labels(value)
    else:
        given = _split(value) if isinstance(value, str) else listed(value)
        found = [each.get("label") for each in given if isinstance(each, Mapping)] or list(
            _marked([str(each) for each in given if not absent(each)]).labels
        )
    labels = tuple(str(each).strip() for each in found if not absent(each))
    named = len(labels) == len(found) == len(set(labels)) and labels != tuple(LETTERS[: len(labels)])
    return labels if named and len(labels) <= len(LETTERS) else ()


def by_label(answer: Any, labels: Sequence[str]) -> Any:
    """Return an answer that names an option by its label as the letter of its place; any other as it is.

    Raises ValueError for a 0 where options are numbered from 1: their numbers are places then, and 1 is the second.
    """
    if not labels or isinstance(answer, bool | list | Mapping):
        return answer
    text = _POINT_ZERO.sub("", str(answer).strip())
    bare = text.strip("().:").upper()
    if labels[0] == "1" and text == "0":
        raise ValueError("answer 0 names none of the options, which are numbered from 1; write their letters")
    named = text if text in labels else bare if bare in labels else None
    return answer if named is None else f"({LETTERS[labels.index(named)]})"


def _labels(value: Mapping[Any, Any]) -> list[Any]:
    """Return the names of options in their order: 2 before 10."""
    return sorted(
        value, key=lambda name: (not (at := str(name)).isdecimal(), len(at) if at.isdecimal() else 0, at)
    )


def _told(value: Any) -> Any:
    """Return the object or list that a text is, as JSON, Python or NumPy write one; any other value as it is."""
    if not isinstance(value, str):
        return value
    text = _ARRAY.sub("", value).strip() if "array([" in value else value.strip()
    if text.startswith("{"):
        return _parsed(text)
    return listed(text) if text.startswith("[") else value


class _Marked(NamedTuple):
    """Options with what each was marked by, and their texts without it; () and the texts as they were where none is."""

    labels: tuple[str, ...]
    texts: Sequence[str]


def _marked(options: Sequence[str]) -> _Marked:
    """Take letters or numbers off options where each carries that of its own place: they are asked with a letter."""
    marks = [_MARKED.match(each) for each in options]
    labels = tuple((each[1] or each[2]).upper() for each in marks if each)
    if not labels or len(labels) < len(options) or not any(labels == each[: len(labels)] for each in _SERIES):
        return _Marked((), options)
    return _Marked(labels, [each[found.end() :] for each, found in zip(options, marks, strict=True) if found])


def _split(text: str) -> list[str]:
    """Return options written one a line, after one another by letter, or with bars between them."""
    between = "\n" if "\n" in text.strip() else "|"
    found = [each for each in text.split(between) if each.strip()]
    told = len(found) > 1
    if not told:
        found = [each for each in re.split(r"[\s,;]*(?<![^\s,;])(?=\(?[A-J][).:]\s)", text) if each.strip()]
    if told or _marked(found).labels:
        return [each.strip() for each in found]
    return [text] if text.strip() else []


def _true_or_false(answer: Any) -> str:
    said = str(answer).strip().casefold()
    found = {"a": True, "b": False, "1": True, "0": False}.get(said, truth(said))
    if found is None:
        raise ValueError(f"answer {said[:40]!r} is neither true nor false")
    return "A" if found else "B"


def _tolerance(given: Any) -> float:
    found = number(given or 0)
    if found is None or found < 0 or str(given).strip().endswith("%"):
        raise ValueError(f"tolerance {str(given)[:40]!r} is no number of 0 or more")
    return found


def _kind_of(options: Sequence[str], answers: Sequence[Any]) -> str:
    if options:
        return "choice"
    if answers and all(str(each).strip().casefold() in ("true", "false") for each in answers):
        return "true_false"
    return "number" if answers and all(number(each) is not None for each in answers) else "text"


def _letter(answer: Any, options: Sequence[str]) -> str:
    """Return the letter of the right option: named by its letter, its text, or its place from 0."""
    if isinstance(answer, float) and answer.is_integer():
        answer = int(answer)  # as data frames write places beside empty cells
    text = str(answer).strip()
    text = text if text in options else _POINT_ZERO.sub("", text)
    if (own := _MARKED.match(text)) and text not in options:  # "B) blue" of the option "blue"
        place = LETTERS.find((own[1] or own[2]).upper())
        if 0 <= place < len(options) and folded(text[own.end() :]) == folded(options[place]):
            return LETTERS[place]
    if (told := _PLACED.fullmatch(text)) and text not in options and LETTERS.index(told[1]) < len(options):
        return told[1]
    if options.count(text) == 1 and not isinstance(answer, int):
        return LETTERS[options.index(text)]
    if (
        len(text) == 1
        and 0 <= (place := LETTERS.find(text)) < len(options)
        and not any(len(o) < 3 for o in options)
    ):
        return text
    plain = [folded(each) for each in options]
    if options.count(text) > 1:
        raise ValueError(
            f"answer {text[:40]!r} is the text of {options.count(text)} options; write the letter"
        )
    if plain.count(folded(text)) == 1:
        place = plain.index(folded(text))
        if (
            isinstance(answer, int)
            and not isinstance(answer, bool)
            and 0 <= answer < len(options)
            and answer != place
        ):
            raise ValueError(
                f"answer {answer} is the place of option {LETTERS[answer]} and the text of option {LETTERS[place]}; "
                "write the letter"
            )
        return LETTERS[place]
    bare = text.strip("().:")
    place = LETTERS.find(bare.upper()) if len(bare) == 1 else -1
    if place < 0 and text.isdecimal():
        place = int(text[:9])
    if not 0 <= place < len(options):
        raise ValueError(
            f"answer {text[:40]!r} is none of the {len(options)} options, by letter, text or place from 0"
        )
    return LETTERS[place]
