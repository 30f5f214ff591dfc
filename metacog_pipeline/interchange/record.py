"""One answer of a log or a table, in one form for every format: the record that all readers yield.

A question is a structure of its own (`question_cells`): stem, context, options with their order, right answers. So the same
question under two prompts is one item, and two passages under one question are two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.question_rows import CONTEXT, solved
from metacog_pipeline.llm.types import Completion, Status, TokenLogprob, Usage
from metacog_pipeline.llm.wire import values

Row = Mapping[str, Any]
LONGEST_ANSWER = 60  # characters of a right answer that a reader of short answers is asked to find
_PASSAGE = 40  # characters from which a field of an item is a passage, where the prompt shows it
#: Names of fields that are what is asked, and of those that never are.
STEMS = ("question", "query", "input", "problem", "prompt", "goal", "sent1", "ctx", "instruction", "stem")
_KEYS = {"answer", "target", "gold", "solution", "explanation", "label", "id", "answerkey"}
_LINE = r"^[ \t]*[(\[]?{}[)\].:．、][ \t]*(\S.*)$"
_OPTION = re.compile(_LINE.format("[A-J]"), re.MULTILINE)
_LIST = re.compile(_LINE.format("A") + rf"(?:\n{_LINE.format('[B-J]')})+", re.MULTILINE)
_LABEL = re.compile(r"\A\s*(?:question|q)\s{0,3}[:.]\s", re.IGNORECASE)
_ANSWER_LINE = re.compile(r"\A\W*(?:answer|a)[*\s]{0,9}[:：].*", re.IGNORECASE)
#: Scores of one reply that are 0 or 1, in lm-eval, lighteval and HELM.
METRICS = (
    "extractive_match", "acc", "exact_match", "em", "contains", "loglikelihood_acc", "quasi_exact_match", "pem", "qem",
    "final_number_exact_match", "math_equiv_chain_of_thought", "math_equiv", "chain_of_thought_correctness",
)  # fmt: skip
_VERDICTS = {"C": True, "I": False, "N": False, 1: True, 0: False}
_DATE = re.compile(r"_\d{4}-\d\d-\d\dT[\d.:-]+$")
OK = Completion(Status.OK)  # a reply that is not known yet, or never will be


@dataclass(slots=True)
class Sample:
    """One answer: what the file calls question, task and model, and what was replied."""

    name: str
    task: str
    model: str  # "" where the file does not say
    said: Completion = OK
    question: Row | None = None  # its columns; None where the file does not hold it
    run: int = 1  # which repeat
    right: bool | None = None  # the log's verdict
    settings: Row = field(default_factory=dict)  # how a table was read: its file, its scale
    why: str | None = None  # it is not kept
    same: bool = False  # with ``why``: another row has the same answer, so nothing is lost
    unscored: str | None = None  # why it is kept and not scored
    known: bool = False  # the item must be one of the study's, since the file does not say it whole
    key: Any = None  # that such an item must have
    item: str = ""
    order: str = ""  # letters of the item in the order in which this answer shows its options
    row: int = 0  # of a table
    condition: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)  # the replies by step, of a benchmark's item


def runs(first: Sample, replies: Any, lacks: str = "has no reply") -> Iterator[Sample]:
    """Yield a sample for each reply to one prompt, as runs; the log's verdict is of a single reply."""
    texts = [each for each in listed(replies) if isinstance(each, str)]
    if not texts:
        yield replace(first, right=None, why=lacks)
    for run, text in enumerate(texts, start=(first.run - 1) * len(texts) + 1):
        right = first.right if len(texts) == 1 else None
        yield replace(first, said=replace(first.said, text=text), run=run, right=right)


def weighed(likely: Sequence[float]) -> Completion | None:
    """Return the likeliest letter as a reply, with the chances of options by their log-likelihoods; None without any."""
    top = max(likely)
    total = top + math.log(sum(math.exp(each - top) for each in likely))
    shares = zip(LETTERS, (each - total for each in likely), strict=False)
    # minus infinity is no chance
    logs = tuple((letter, share) for letter, share in shares if math.isfinite(share))
    letter, most = max(logs, key=lambda pair: pair[1], default=("", 0.0))
    return Completion(Status.OK, letter, logprobs=(TokenLogprob(letter, most, logs),)) if logs else None


# --- the question -----------------------------------------------------------------------------------------------------
def question_cells(
    text: Any, options: Any, answers: Any, *, read: bool = True, context: str = ""
) -> Row | None:
    """Return the columns of a question, of which one of ``answers`` is right; a choice has one.

    ``read`` says that a reader can decide what is right; else the log does.
    """
    if not isinstance(text, str) or not text.strip():
        return None
    texts = [*map(str, options)] if isinstance(options, list | tuple) else []  # a log may have anything there
    stem, shown = with_options(text) if len(texts) > 1 else ("", [])
    # a template put the list of options at its end, another puts none; an instruction below it is part of what was asked
    if stem and shown == [each.strip() for each in texts] and text.rstrip().endswith(shown[-1]):
        text = stem
    asked = {"question": text, **({"context": context} if context.strip() else {})}
    given = [solved(each) for each in listed(answers) if each is not None and str(each).strip()]
    if 1 < len(texts) <= len(LETTERS) and len(given) == 1 and read:
        return {**asked, "options": texts, "answer": given[0], "kind": "choice"}
    short = [each for each in given if len(str(each)) <= LONGEST_ANSWER and "\n" not in str(each)]
    if read and short and not texts:
        return {**asked, "answers": short}
    return {**asked, "kind": "graded", "answers": [str(each)[:1_000] for each in given]}


def keyed(
    text: str, options: Sequence[str], keys: Sequence[Any], *, read: bool = True, context: str = ""
) -> Row | None:
    """Return the columns of a question: a choice where the key is one of its options, also of those that its text lists."""
    stem, known = (text, options) if options else with_options(text)
    right = sorted({place_of(each, known) for each in keys})
    if not right or right[0] < 0:
        return question_cells(text, None, [*keys], read=read, context=context)
    if len(right) == 1 < len(known) <= len(LETTERS):
        return question_cells(stem, known, lettered(LETTERS[right[0]], known), context=context)
    # all of several are forms of one answer; else the log has to know what is right
    read = read and len(right) == len(known)
    return question_cells(stem, None, [known[each].strip() for each in right], read=read, context=context)


def lettered(letter: Any, options: Sequence[Any]) -> Any:
    """Return a letter that names an option by place; in brackets where it is the text of another, such as a blood group."""
    of_another = isinstance(letter, str) and letter in [str(each).strip() for each in options]
    return f"({letter})" if of_another else letter


def place_of(key: Any, options: Sequence[str]) -> int:
    """Return the place of a right answer among options, which is given by place, text or letter; -1 where it is none."""
    if isinstance(key, int):
        return key if key < len(options) else -1
    text, plain = str(key).strip(), [each.strip().casefold() for each in options]
    if plain.count(text.casefold()) == 1:
        return plain.index(text.casefold())
    letter = text.strip("(). ")
    return LETTERS[: len(options)].find(letter) if len(letter) == 1 else -1


def with_options(prompt: str) -> tuple[str, list[str]]:
    """Return stem and options of a prompt that lists them by letter, of several examples the last; else it has none.

    >>> with_options("Is it?\\nA. yes\\nB. no\\nAnswer: A\\n\\nQuestion: Which?\\nA. red\\nB. blue\\nAnswer:")
    ('Which?', ['red', 'blue'])
    """
    lists = [*_LIST.finditer(prompt)]
    if not lists:
        return prompt, []
    start = lists[-2].end() if len(lists) > 1 else 0
    stem = _ANSWER_LINE.sub("", prompt[start : lists[-1].start()])
    return _LABEL.sub("", stem).strip(), [text.strip() for text in _OPTION.findall(lists[-1][0])]


def last_asked(prompt: Any) -> str:
    """Return what a prompt asks: a text, or the last turn of the user in a list of messages, also one written as text."""
    if isinstance(prompt, str) and prompt.lstrip().startswith('[{"'):
        prompt = values.load(prompt.encode(errors="replace")) or prompt
    if isinstance(prompt, str):
        return prompt
    turns = [each for each in objects(prompt) if each.get("role") in ("user", "system", "HUMAN")]
    said = (text_of(each.get("content", each.get("prompt"))) for each in reversed(turns))
    return next(filter(None, said), "")


def text_of(content: Any) -> str:
    """Return the text of a message, of several parts those that are text."""
    texts = [content] if isinstance(content, str) else [each.get("text") for each in objects(content)]
    return "\n".join(each for each in texts if isinstance(each, str))


def asked_in(
    prompt: str, fields: Row, options: Sequence[str] = (), names: Sequence[str] = STEMS
) -> tuple[str, str]:
    """Return question and passage as fields of an item have them, since the prompts around them differ by model."""
    texts = {str(name).casefold(): each.strip() for name, each in fields.items() if isinstance(each, str)}
    asked = {name: each for name, each in texts.items() if each and name not in _KEYS}
    shown = {name: each for name, each in asked.items() if each in prompt and each not in options}
    free = [each for name, each in shown.items() if name not in CONTEXT]
    # of several fields that the prompt shows none is the question alone, as of two sentences that are compared
    stem = next((asked[name] for name in names if name in asked), free[0] if len(free) == 1 else prompt)
    long = (each for name, each in shown.items() if name in CONTEXT or len(each) >= _PASSAGE)
    return stem, "\n\n".join(dict.fromkeys(each for each in long if each not in stem))


# --- values of a log, which may have anything anywhere ----------------------------------------------------------------
def parsed(data: bytes, where: object) -> Any:
    """Return JSON of any depth a log has; StudyError for what is none, or is nested too deeply."""
    found = values.load(data)
    if found is None:
        raise StudyError(f"{where}: not readable as JSON; nothing was kept; copy the file again")
    return found


def at(value: Any, *path: str) -> Any:
    """Return what a path of names leads to; None where there is nothing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def mapping(value: Any) -> dict[str, Any]:
    """Return an object; an empty one where there is none."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return a list; the values of an object, one value as a list of it, and an empty one for none."""
    if isinstance(value, dict | list):
        return [*value.values()] if isinstance(value, dict) else value
    return [] if value is None else [value]


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list."""
    return [each for each in listed(value) if isinstance(each, dict)]


def task_of(path: Path) -> str:
    """Return the task in the name of a file: without its ending, its date and the word that a program puts before."""
    name = _DATE.sub("", path.name.removesuffix(".gz").rpartition(".")[0])
    return name.removeprefix("samples_").removeprefix("details_")


def usage(value: Any, names: Iterable[str] = ("input_tokens", "output_tokens", "reasoning_tokens")) -> Usage:
    """Return the counts of tokens that have these names, of input, output and reasoning."""
    return Usage(*(values.count_at(value, name) for name in names))


def scored(scores: Row, names: Iterable[str] = METRICS) -> bool | None:
    """Return what the first of the scores with these names says that says right or wrong."""
    plain = (each for name in names if isinstance(each := scores.get(name), str | int | float))
    return next((_VERDICTS[each] for each in plain if each in _VERDICTS), None)
