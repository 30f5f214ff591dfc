"""The verdict of a study: four questions about metacognition, answered for each model by the benchmarks that ask them.

The rows come from the table ``verdict`` of the leaderboard. The report, the commands and the UI render this object: no
surface computes an answer of its own, so no two can disagree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from operator import attrgetter
from typing import Any

_KEEPS = "Keeps or changes its judgement for good reasons"
#: Question → how it is asked, and in a few words.
QUESTIONS: Mapping[str, tuple[str, str]] = {
    "knows": (
        "Knows what it knows: does confidence separate right from wrong answers?",
        "Knows what it knows",
    ),
    "calibrated": ("Calibrated: does stated confidence equal the share of right answers?", "Calibrated"),
    "unanswerable": (
        "Notices the unanswerable: does it see that a question has no answer it can give?",
        "Notices the unanswerable",
    ),
    "judgement": (_KEEPS, _KEEPS),
}
WORLDS = {"measured": "models", "simulated": "simulated respondents"}
WORSE, BEST, SEPARATED = "worse", "best", "not separated"
UPHELD = (BEST, SEPARATED)
MOST_NAMED = 4  # models in a sentence


@dataclass(frozen=True, slots=True)
class Cell:
    """One question answered for one model by one benchmark under one condition.

    Attributes
    ----------
    estimate, low, high
        The measure and its 95 % interval; None where ``status`` says why.
    n, coverage, low_n
        Its answers; readable answers / asked, 0..1; whether they are too few for the interval to be trusted.
    n_better
        The number of models that the primary paired test finds better.
    best, verdict
        The model it is compared with; ``best``, ``worse``, ``not separated``, ``not tested`` or ``no value``.
    difference, difference_low, difference_high, p, n_shared
        Its value minus that of ``best`` on the items both answered, with the interval at the level of the family of tests
        and the p corrected over that family.
    """

    question: str
    benchmark: str
    condition: str
    measure: str
    label: str
    unit: str | None
    shown: bool
    model: str
    source: str
    estimate: float | None
    low: float | None
    high: float | None
    n: int | None
    coverage: float | None
    low_n: bool | None
    status: str
    n_better: int | None
    best: str | None
    verdict: str
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    p: float | None
    n_shared: int | None
    test_status: str | None

    @property
    def marks(self) -> str:
        """Marks after the value, of every renderer: ``*`` worse than the best, ``°`` low_n, ``…`` answers are missing."""
        missing = self.status.startswith("incomplete")
        return "*" * (self.verdict == WORSE) + "°" * bool(self.low_n) + "…" * missing


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
    """Return the verdicts of a study by source, from rows of the table ``verdict`` in the order of `Cell`'s fields.

    Models are in one order everywhere: by how many answers find them best or not separated from the best, then by their
    mean number of better models, then by name.
    """
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


def columns() -> tuple[str, ...]:
    """Return the names of `Cell`'s fields, in the order of the rows that `verdicts` takes."""
    return tuple(each.name for each in fields(Cell))


def _place(answer: Answer) -> tuple[int, bool]:
    """Return what orders answers: by question; those that rest on too few answers come last."""
    return [*QUESTIONS].index(answer.question), all(each.low_n is not False for each in answer.cells.values())


def _order(cells: Sequence[Cell]) -> tuple[str, ...]:
    def place(model: str) -> tuple[int, float, str]:
        own = [each for each in cells if each.model == model]
        better = [each.n_better for each in own if each.n_better is not None]
        mean = sum(better) / len(better) if better else float("inf")
        return -sum(each.verdict in UPHELD for each in own), mean, model

    return tuple(sorted({each.model for each in cells}, key=place))


def _sentence(words: str, answers: Sequence[Answer]) -> str:
    """Return in how many benchmarks each model is the first or not separated from the first, of those with a test."""
    tested = [
        answer
        for answer in answers
        if any(each.verdict in (WORSE, SEPARATED) for each in answer.cells.values())
    ]
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
