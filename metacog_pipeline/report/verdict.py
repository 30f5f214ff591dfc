"""The first screen: who knows what it knows, how sure; below it a section for each question. All is the study's verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from markupsafe import Markup

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.output import Stacked, fixed
from metacog_pipeline.leaderboard.read import verdicts
from metacog_pipeline.leaderboard.verdict import QUESTIONS, WORSE, Answer, Cell, Verdict, p_text
from metacog_pipeline.report import figures, pieces, queries
from metacog_pipeline.report.figures import MOST_ROWS, Point
from metacog_pipeline.report.pieces import WORLDS, Part

MOST_PAIRS = 200
# models of the matrix: more do not fit a screen of 1280 pixels
MOST_COLUMNS = 5
_MARKS = (
    "Value and 95 % interval, best model first. *: the primary paired test finds it worse than the best model (p < 0.05 in "
    "its family). °: too few answers for the interval (low_n); its mark in a figure is hollow. …: answers are missing. "
    "N/A: no value; the board says why."
)


def parts(home: Home) -> Iterator[Part]:
    """Yield the first screen, then a section per question."""
    found = verdicts(home)
    yield from _first(found)
    yield from _questions(found, _pairs(home))


def _first(found: Mapping[str, Verdict]) -> Iterator[Part]:
    """Yield the verdict of models, then that of simulated respondents: one sentence, a matrix, a figure each."""
    made = Markup().join(_screen(found[source]) for source in WORLDS if source in found)
    if made:
        yield Part("verdict", "Who knows what it knows", made + pieces.paragraph(_MARKS, "soft"))


def _questions(found: Mapping[str, Verdict], pairs: Mapping[str, Markup]) -> Iterator[Part]:
    """Yield a section per question: a figure per benchmark, the tests against the best model, and those of all pairs."""
    for question, (title, _) in QUESTIONS.items():
        worlds = [source for source in WORLDS if source in found]
        own = [(source, answer) for source in worlds for answer in found[source].of(question)]
        if own:
            drawn = pieces.grid([_figure(source, answer) for source, answer in own])
            tests = Markup().join(_tests(source, answer) for source, answer in own)
            body = drawn + pieces.folded("Values and tests", tests) + pairs.get(question, Markup())
            yield Part(question, title, body)


def _pairs(home: Home) -> dict[str, Markup]:
    """Return the primary tests of all pairs of models by question, the smallest p first."""
    made = {}
    for question, rows in groupby(queries.rows(home, queries.PAIRS), key=lambda row: row[0]):
        own = list(rows)
        body = [
            (f"{benchmark}, {condition}", a, b, pieces.interval(*numbers), Stacked(p_text(p)), n, "yes" if found else "no")
            for _, benchmark, condition, a, b, *numbers, p, n, found in own[:MOST_PAIRS]
        ]  # fmt: skip
        rest = f": the first {MOST_PAIRS} of {len(own)}, the table pairs has all"
        caption = f"Paired tests{rest if len(own) > MOST_PAIRS else ''}"
        columns = ("measured by", "model", "minus", "difference", "p", "items", "separated")
        made[question] = pieces.folded("Every pair of models", pieces.table(columns, body, caption))
    return made


def picture(found: Mapping[str, Verdict]) -> str:
    """Return the figure of the first screen as SVG, of models where there are any; nothing before the first value."""
    verdict = next((found[source] for source in WORLDS if source in found), None)
    answer = _best_tested(verdict) if verdict else None
    if answer is None:
        return ""
    about = f"{answer.benchmark}, {answer.condition}: {answer.label}"
    return figures.intervals(_points(answer)[:MOST_ROWS], x=about)


def _screen(verdict: Verdict) -> Markup:
    said = [*verdict.sentences()]
    lead = said[0] if said else f"No paired test separates the {len(verdict.models)} of them yet."
    answer = _best_tested(verdict)
    drawn = _figure(verdict.source, answer, "first screen") if answer else Markup()
    rest = pieces.folded("All four questions in words", pieces.listed(said)) if said[1:] else Markup()
    return pieces.screen(f"{WORLDS[verdict.source]}. {lead}", _matrix(verdict), drawn, rest)


def _best_tested(verdict: Verdict) -> Answer | None:
    """Return the answer to the first question that rests on most answers."""
    for question in QUESTIONS:
        if found := [each for each in verdict.of(question) if any(_points(each))]:
            return max(found, key=lambda each: (sum(c.n or 0 for c in each.cells.values()), each.benchmark))
    return None


def _matrix(verdict: Verdict) -> Markup:
    models = verdict.models[:MOST_COLUMNS]
    rows = []
    for question, (title, _) in QUESTIONS.items():
        if answers := verdict.of(question):
            named = ((f"{each.benchmark}, {each.condition}: {each.label}", each) for each in answers)
            rows.append((title, [(name, _row(each, models)) for name, each in named]))
    left = len(verdict.models) - len(models)
    more = f" The sections below have the other {left} models." if left > 0 else ""
    return pieces.matrix(f"{WORLDS[verdict.source]}: the verdict.{more}", models, rows)


def _row(answer: Answer, models: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Return for each model its value with marks, its interval, the class of the cell and where it leads."""
    made = []
    for model in models:
        cell = answer.cells.get(model)
        if cell is None or cell.estimate is None:
            made.append(("N/A" if cell else "", "", "", ""))
            continue
        lead = pieces.lead_of(benchmark=answer.benchmark, condition=answer.condition, model=model, ours=True)
        kind = "worse" if cell.verdict == WORSE else "few" if cell.low_n else ""
        interval = pieces.ends(cell.low, cell.high, 2)
        made.append((f"{fixed(cell.estimate, 2)}{cell.marks}", interval or "", kind, lead or ""))
    return made


def _points(answer: Answer) -> list[tuple[str, Point]]:
    return [
        (model, Point(cell.estimate, cell.low, cell.high, few=bool(cell.low_n)))
        for model, cell in answer.cells.items()
        if cell.estimate is not None
    ]


def _figure(source: str, answer: Answer, where: str = "section") -> Markup:
    points = _points(answer)[:MOST_ROWS]
    title = f"{WORLDS[source]}: {answer.benchmark}, {answer.condition}: {answer.label}"
    if not points:
        return pieces.paragraph(f"{title}: no value yet; the board says why.", "soft")
    drawn = figures.intervals(points, x=answer.label, label=f"{title} ({where})")
    n = pieces.counted(cell.n for cell in answer.cells.values() if cell.estimate is not None)
    rest = f" (the first {MOST_ROWS} of {len(answer.cells)} models)" if len(answer.cells) > MOST_ROWS else ""
    return pieces.figure(drawn, f"{title}{rest}", n=n, method="95 % intervals")


def _tests(source: str, answer: Answer) -> Markup:
    columns = (
        *("model", answer.label, "n", "coverage", "models found better"),
        *(f"minus {answer.best}", "p", "items", "verdict", "note"),
    )
    body = [_test(cell) for cell in answer.cells.values()]
    with pieces.told(benchmark=answer.benchmark, condition=answer.condition):
        return pieces.table(columns, body, f"{WORLDS[source]}: {answer.benchmark}, {answer.condition}")


def _test(cell: Cell) -> tuple[object, ...]:
    notes = [said for said in (cell.status, cell.test_status) if said not in (None, "ok")]
    return (
        cell.model,
        pieces.interval(cell.estimate, cell.low, cell.high, low_n=cell.low_n),
        cell.n,
        None if cell.coverage is None else f"{cell.coverage:.0%}",
        cell.n_better,
        pieces.interval(cell.difference, cell.difference_low, cell.difference_high),
        pieces.p_value(cell.p),
        cell.n_shared,
        cell.verdict,
        "; ".join(map(str, dict.fromkeys(notes))),
    )
