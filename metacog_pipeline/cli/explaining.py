"""``explain``: where a number of a board comes from, and whether it comes out again."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import opened, study_argument
from metacog_pipeline.errors import MetacogError

WIDTH = 110


@click.command()
@study_argument
@click.argument("benchmark")
@click.argument("condition")
@click.argument("model")
@click.argument("measure")
@printing.json_option
def explain(study_file: Path, **cell: str) -> None:
    """Explain one number of a board: its formula, what was asked, its interval, and the same number recounted.

    The names are those of the board: `metacog board --all --format csv`. The number is computed again from the responses;
    where that gives another one than the board has, the exit code is 1.
    """
    from metacog_pipeline.leaderboard.explanation import explain as explained
    from metacog_pipeline.leaderboard.output import printable
    from metacog_pipeline.leaderboard.read import one_connection

    study = opened(study_file)
    with one_connection(study.home):
        found = explained(study, **cell)
    if printing.wanted():
        printing.value(found)
    else:
        for line in _lines(found):
            click.echo(printable(line))
    if found["differs"] is not None:
        raise MetacogError(
            f"explain: the recount differs from the board: {found['differs']}; "
            f"run `metacog run {study_file}` to rebuild the board"
        )


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    board, again = found["board"], found["recount"]
    equal = "equals the board" if found["differs"] is None else f"DIFFERS: {found['differs']}"
    lacking = "; ".join(f"{count:,} {why}" for why, count in found["not_ok"].items())
    few = "too few right or wrong answers for this interval, or its coverage was not measured"
    said = {
        "what": found["words"],
        "formula": None if found["formula"] == found["words"] else found["formula"],
        **{name: found[name] for name in ("reference", "paper", "unit")},
        "board": f"{_number(board)}, {found['source']}",
        "recount": again and f"{_number(again)}: {equal}",
        "status": board["status"] or "as printed in the paper",
        "method": board["method"],
        "n": "not stated" if board["n"] is None else f"{board['n']:,}",
        "asked": again and f"{found['asked']:,} responses, {f'not ok: {lacking}' if lacking else 'all ok'}",
        "coverage": found["coverage"],
        "low_n": few if again and board["low_n"] else None,
    }
    yield " · ".join(str(found[name]) for name in ("benchmark", "condition", "model", "measure"))
    for name, words in said.items():
        if words:
            yield from textwrap.wrap(f"{name}: {words}", WIDTH, initial_indent="  ", subsequent_indent="    ")
    yield "SQL behind it (metacog sql --study STUDY)"
    yield from (f"  {query}" for query in found["sql"])


def _number(values: Mapping[str, Any]) -> str:
    """Return an estimate with its interval, in six figures."""
    if values["estimate"] is None:
        return "no value"
    if values["low"] is None or values["high"] is None:
        return f"{values['estimate']:.6g}, no interval"
    return f"{values['estimate']:.6g} [{values['low']:.6g}, {values['high']:.6g}]"
