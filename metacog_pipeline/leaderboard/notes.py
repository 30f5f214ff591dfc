"""What a reader of a printed board must know: which questions, which criteria moved, what is not complete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from metacog_pipeline.errors import MetacogError, one_line
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.columns import board_of
from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.leaderboard.read import question_sets, read_table


def notes(home: Home, benchmark: str | None = None) -> str:
    """Return the notes below the board of ``benchmark``, or of all."""
    found = question_sets(home, benchmark)
    lines = [
        *_question_sets(found),
        *_own(home, [name for name, _ in found]),
        *_people(home, benchmark),
        *_progress(home, benchmark),
    ]
    return "\n".join(lines) + "\n" if lines else ""


def _only(benchmark: str | None) -> str:
    return "" if benchmark is None else f" where benchmark = {text(benchmark)}"


def _question_sets(found: Sequence[tuple[str, str]]) -> Iterator[str]:
    several = len({name for name, _ in found}) > 1
    for name, dataset in found:
        whose = f" of {name}" if several else ""
        yield one_line(f"Question set{whose}: {dataset}{board_of(name).about.get(dataset, '')}")


def _own(home: Home, benchmarks: Sequence[str]) -> Iterator[str]:
    """Yield the lines a benchmark adds of its own, of each that stands on the board."""

    def read(sql: str) -> Sequence[tuple[Any, ...]]:
        return read_table(home, sql).rows

    for name in dict.fromkeys(benchmarks):
        own = board_of(name).notes
        try:
            yield from own(read) if own is not None else ()
        except MetacogError as error:  # the board stands all the same
            yield one_line(f"{name}: no notes ({error})")


def _people(home: Home, benchmark: str | None) -> Iterator[str]:
    """Yield how people did, and where each model stands among them."""
    named = "" if benchmark is None else f" and benchmark = {text(benchmark)}"
    kept = (
        "select benchmark, condition, source, model, measure, estimate, low, high, low_n, n_items from calibration "
        f"where (source = 'human' or ends_with(measure, '_percentile')) and estimate is not null{named} order by all"
    )
    shown = {
        "accuracy": "accuracy",
        "ece": "ECE",
        "auroc2": "AUROC2",
        "meta_d_mafc": "meta-d′",
        "m_ratio_mafc": "M-ratio",
    }
    lines: dict[tuple[str, str], list[str]] = {}
    found: Sequence[Sequence[Any]] = read_table(home, kept).rows
    for name, condition, source, model, measure, *numbers, few, n in found:
        label = shown.get(measure.removeprefix("harmonised_").removesuffix("_percentile"))
        if label is None:
            continue
        people = source == "human"
        times, digits = (1, 2) if people else (100, 0)
        value, *ends = (None if each is None else f"{times * each:.{digits}f}" for each in numbers)
        said = value if ends[0] is None else f"{value} ({ends[0]} to {ends[1]})"
        whose = f"{n} people" if people else f"{model}, percentile among people"
        lines.setdefault((f"{name} {condition}", whose), []).append(f"{label} {said}{' °' * bool(few)}")
    for (where, whose), parts in lines.items():
        yield one_line(f"{where}: {whose}: {', '.join(parts)}")
    if any(part.endswith("°") for parts in lines.values() for part in parts):
        yield "of people, °: fewer than ten of them have a value"


def _progress(home: Home, benchmark: str | None) -> Iterator[str]:
    states = read_table(
        home,
        "select benchmark, model, run, state, n_answered, n_expected, message "
        f"from progress{_only(benchmark)} order by model, run, benchmark",
    ).rows
    several = len({row[0] for row in states}) > 1

    def named(benchmark: object, model: object, run: object) -> str:
        return f"{benchmark}, {model}, run {run}" if several else f"{model}, run {run}"

    waiting = [row for row in states if row[3] != "complete"]
    if waiting:
        yield f"PROVISIONAL: {len(states) - len(waiting)} of {len(states)} partitions are complete. Waiting for:"
        for name, model, run, state, answered, expected, message in waiting:
            why = f": {message}" if message else ""
            yield "  " + one_line(
                f"{named(name, model, run)}: {state}, {answered} of {expected} answered{why}"
            )
    for name, model, run, state, _, _, message in states:
        if state == "complete" and message:
            yield one_line(f"{named(name, model, run)}: {message}")
