"""What a reader of a printed board must know: which questions, which criteria moved, what is not complete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import MetacogError, one_line
from metacog_pipeline.leaderboard.columns import board_of
from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.leaderboard.read import question_sets, read_table


def notes(home: Path, benchmark: str | None = None) -> str:
    """Return the notes below the board of ``benchmark``, or of all."""
    found = question_sets(home, benchmark)
    lines = [
        *_question_sets(found),
        *_own(home, [name for name, _ in found]),
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


def _own(home: Path, benchmarks: Sequence[str]) -> Iterator[str]:
    """Yield the lines a benchmark adds of its own, of each that stands on the board."""

    def read(sql: str) -> Sequence[tuple[Any, ...]]:
        return read_table(home, sql).rows

    for name in dict.fromkeys(benchmarks):
        own = board_of(name).notes
        try:
            yield from own(read) if own is not None else ()
        except MetacogError as error:  # the board stands all the same
            yield one_line(f"{name}: no notes ({error})")


def _progress(home: Path, benchmark: str | None) -> Iterator[str]:
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
