"""The verdict of a study: four questions about metacognition, answered for each model by the benchmarks that ask them."""

# The report, the commands and the UI render this object: no surface computes an answer of its own, so no two can disagree.

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from operator import attrgetter
from typing import Any

from metacog_pipeline.leaderboard.output import Rows, fixed, printable

#: Question → in a few words, and what it asks.
_ASKED = {
    "knows": ("Knows what it knows", "does confidence separate right from wrong answers?"),
    "calibrated": ("Calibrated", "does stated confidence equal the share of right answers?"),
    "unanswerable": ("Notices the unanswerable", "does it see that a question has no answer it can give?"),
    "judgement": ("Keeps or changes its judgement for good reasons", ""),
}
#: Question → how it is asked, and in a few words.
QUESTIONS = {name: (f"{words}: {asks}" if asks else words, words) for name, (words, asks) in _ASKED.items()}
WORLDS = {"measured": "models", "simulated": "simulated respondents"}
WORSE, BEST, SEPARATED = "worse", "best", "not separated"
UPHELD = (BEST, SEPARATED)
MOST_NAMED = 4  # models in a sentence
MOST_MODELS = 4  # columns of a terminal of 120 characters
NOTHING = "Nothing has been answered yet: there is no verdict."
_LEGEND = (
    "Value and 95 % interval, best model first. *: the paired test finds it worse than the best (p < 0.05 in its family).",
    "°: too few answers for the interval (low_n). …: answers are missing. N/A: no value; metacog board --all says why.",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One question answered for one model by one benchmark under one condition."""

    question: str
    benchmark: str
    condition: str
    measure: str
    label: str
    unit: str | None
    shown: bool
    model: str
    source: str
    estimate: float | None  # with its 95 % interval; None where ``status`` says why
    low: float | None
    high: float | None
    n: int | None
    coverage: float | None  # readable answers / asked, 0..1
    low_n: bool | None  # too few answers for the interval to be trusted
    status: str
    n_better: int | None  # models that the primary paired test finds better
    best: str | None  # the model it is compared with
    verdict: str  # best, worse, not separated, not tested, no value
    # Its value minus that of ``best`` on the items both answered, at the level of the family of tests.
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    p: float | None  # corrected over the family
    n_shared: int | None
    test_status: str | None

    @property
    def marks(self) -> str:
        """Marks after the value, of every renderer: ``*`` worse than the best, ``°`` low_n, ``…`` answers are missing."""
        missing = self.status.startswith("incomplete")
        return "*" * (self.verdict == WORSE) + "°" * bool(self.low_n) + "…" * missing


#: In the order of the rows that `verdicts` takes.
COLUMNS = tuple(each.name for each in fields(Cell))


@dataclass(frozen=True, slots=True)
class Answer:
    """What one benchmark says to one question: a cell per model, in the order of the verdict."""

    question: str
    benchmark: str
    condition: str
    measure: str
    label: str
    cells: Mapping[str, Cell]

    @property
    def best(self) -> str | None:
        """The first model by the paired tests; None where no model has a value."""
        return next((each.best for each in self.cells.values() if each.best is not None), None)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answers of one kind of respondent (``source``: measured or simulated); ``models`` are ordered best first."""

    source: str
    models: tuple[str, ...]
    answers: tuple[Answer, ...]

    def of(self, question: str) -> tuple[Answer, ...]:
        """Return the answers to one question, one per benchmark."""
        return tuple(each for each in self.answers if each.question == question)

    def sentences(self) -> Iterator[str]:
        """Yield one sentence per question that paired tests answer: which models they uphold, in how many benchmarks."""
        for question, (_, words) in QUESTIONS.items():
            if said := _sentence(words, self.of(question)):
                yield said


def verdicts(rows: Iterable[Sequence[Any]]) -> dict[str, Verdict]:
    """Return the verdicts of a study by source, from rows of the table ``verdict`` in the order of `Cell`'s fields."""
    cells = sorted(
        (Cell(*row) for row in rows), key=lambda each: (each.source, [*QUESTIONS].index(each.question))
    )
    made = {}
    for source, own in groupby(cells, key=attrgetter("source")):
        mine = list(own)
        models = _order([each for each in mine if each.shown])
        found: dict[tuple[str, str, str, str, str], dict[str, Cell]] = {}
        for cell in mine:
            if cell.shown:
                key = (cell.question, cell.benchmark, cell.condition, cell.measure, cell.label)
                found.setdefault(key, {})[cell.model] = cell
        answers = [
            Answer(*key, {model: by_model[model] for model in models if model in by_model})
            for key, by_model in found.items()
        ]
        made[source] = Verdict(source, models, tuple(sorted(answers, key=_place)))
    return made


def _place(answer: Answer) -> tuple[int, bool]:
    """Return what orders answers: by question; those that rest on too few answers come last."""
    return [*QUESTIONS].index(answer.question), all(each.low_n is not False for each in answer.cells.values())


def _order(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the models in the order of every surface: by how many answers uphold them, by mean ``n_better``, by name."""

    def place(model: str) -> tuple[int, float, str]:
        own = [each for each in cells if each.model == model]
        better = [each.n_better for each in own if each.n_better is not None]
        mean = sum(better) / len(better) if better else float("inf")
        return -sum(each.verdict in UPHELD for each in own), mean, model

    return tuple(sorted({each.model for each in cells}, key=place))


def _sentence(words: str, answers: Sequence[Answer]) -> str:
    """Return in how many benchmarks each model is the first or not separated from the first, of those with a test."""
    tested = [each for each in answers if {WORSE, SEPARATED} & {cell.verdict for cell in each.cells.values()}]
    if not tested:
        return ""
    upheld = Counter[str]()
    for answer in tested:
        for model, cell in answer.cells.items():
            upheld[model] += cell.verdict in UPHELD
    ranked = upheld.most_common()
    most, many = ranked[0][1], f"{len(tested)} {'benchmark' if len(tested) == 1 else 'benchmarks'}"
    leaders = [model for model, count in ranked if count == most]
    if len(leaders) == len(ranked) and most == len(tested):
        return f"{words}: no paired test separates the {len(ranked)} models ({many})."
    if len(leaders) == len(ranked):
        return f"{words}: the benchmarks disagree; each model is first, or not separated from it, in {most} of {many}."
    rest = ", ".join(f"{model} in {count}" for model, count in ranked[len(leaders) :][:MOST_NAMED])
    more = f" and {left} more" if (left := len(ranked) - len(leaders) - MOST_NAMED) > 0 else ""
    verb = "is" if len(leaders) == 1 else "are"
    return f"{words}: {_named(leaders)} {verb} first, or not separated from the first, in {most} of {many}; {rest}{more}."


def _named(models: Sequence[str]) -> str:
    more = len(models) - MOST_NAMED
    shown = list(models[:MOST_NAMED]) + ([f"{more} more"] if more > 0 else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


# --- as text for a terminal: a line per question and benchmark, a column per model, at most 25 lines ----------------------
def verdict_text(found: Mapping[str, Verdict]) -> str:
    """Return the verdict as text: models where the study has any, else the simulated respondents."""
    source = next((each for each in WORLDS if each in found), None)
    if source is None:
        return f"{NOTHING}\n"
    lines = [*_lines(found[source])]
    if others := [WORLDS[each] for each in found if each != source]:
        lines.append(f"Not shown: {', '.join(others)}; metacog board --all has them.")
    return "".join(f"{line}\n" for line in lines)


def verdict_table(verdict: Verdict) -> Rows:
    """Return a verdict as a table: question, benchmark, and a column for each of the best models."""
    shown = verdict.models[:MOST_MODELS]
    rows = [
        (QUESTIONS[answer.question][1], *(cell.strip() for cell in _row(answer, shown)))
        for answer in verdict.answers
    ]
    return Rows(("question", "benchmark", *map(printable, shown)), tuple(rows))


def p_text(p: float | None) -> str:
    """Return a p for readers: ``< 0.001`` below a thousandth, nothing where there is none."""
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _lines(verdict: Verdict) -> Iterator[str]:
    shown = verdict.models[:MOST_MODELS]
    yield from verdict.sentences()
    names = [printable(model) for model in shown]
    rows = [(question, [_row(each, shown) for each in verdict.of(question)]) for question in QUESTIONS]
    cells = [row for _, found in rows for row in found]
    widths = [max(map(len, column)) for column in zip(("", *names), *cells, strict=True)]
    yield _joined(("", *names), widths)
    for question, found in rows:
        if found:
            yield QUESTIONS[question][0]
            yield from (_joined(row, widths) for row in found)
    if left := len(verdict.models) - len(shown):
        yield f"{left} more {'model' if left == 1 else 'models'}: metacog board --all"
    yield from _LEGEND


def _row(answer: Answer, models: Sequence[str]) -> tuple[str, ...]:
    first = f"  {answer.benchmark}, {answer.condition}: {answer.label}"
    return (first, *(_cell(answer.cells.get(model)) for model in models))


def _cell(cell: Cell | None) -> str:
    if cell is None or cell.estimate is None:
        return "" if cell is None else "N/A"
    return f"{short(cell.estimate)}{cell.marks} {ends(cell.low, cell.high)}".rstrip()


def ends(low: float | None, high: float | None) -> str:
    """Return an interval, short; nothing where there is none."""
    return "" if low is None or high is None else f"[{short(low)}, {short(high)}]"


def short(value: float) -> str:
    """Return a number with two digits, without the zero before the point."""
    text = fixed(value, 2)
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) and text != "0.00" else text


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
