"""``explain``: where a number of a board comes from and whether it comes out again; or all that is kept of one call."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import opened, study_argument
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.study import Study

FIRST_ITEMS = 8
WIDTH = 110
_CELL = "BENCHMARK CONDITION MODEL MEASURE"


@click.command()
@study_argument
@click.argument("names", nargs=-1, required=True, metavar=f"({_CELL} | ANSWER_ID)")
@click.option("--items", "every_item", is_flag=True, help="List every item the number rests on.")
@printing.json_option
def explain(study_file: Path, names: tuple[str, ...], every_item: bool) -> None:
    """Explain one number of a board: its formula, what it rests on, its interval, and the same number recounted.

    The names are those of the board: `metacog board --format csv`. The number is computed again from the responses;
    where that gives another one than the board has, the exit code is 1.

    With ANSWER_ID, the answer_id of `calls` in `metacog sql` or how it begins, print all that is kept of one call as JSON:
    request, reply, thoughts, tokens, prices, times. A call that failed, was asked again, or served several items is printed
    once for each; with --json they are one list.
    """
    if len(names) == 1:
        return _print_call(opened(study_file), names[0])
    if len(names) != len(_CELL.split()):
        raise click.UsageError(f"{len(names)} names: give {_CELL}, or the ANSWER_ID of one call")
    from metacog_pipeline.leaderboard.explanation import explain as explained
    from metacog_pipeline.leaderboard.output import printable
    from metacog_pipeline.leaderboard.read import one_connection

    study = opened(study_file)
    with one_connection(study.home):
        found = explained(study, names[0], names[1], names[2], names[3])
    if printing.wanted():
        printing.value(found)
    else:
        for line in _lines(found, every_item):
            click.echo(printable(line))
    if found["differs"] is not None:
        raise MetacogError(
            f"explain: the recount differs from the board: {found['differs']}; "
            f"run `metacog run {study_file}` to rebuild the board"
        )


def _print_call(study: Study, answer_id: str) -> None:
    from metacog_pipeline.transcripts import lookup

    if not re.fullmatch("[0-9a-f]{8,64}", answer_id):
        raise click.UsageError(f"ANSWER_ID: give 8 to 64 of its digits, 0-9 and a-f; or a number: {_CELL}")
    records = lookup.records_of(study.home, answer_id)
    shown = [lookup.shown(record) for record in records]
    for each in [shown] if printing.wanted() else shown:
        printing.value(each, exact=True)


def _lines(found: Mapping[str, Any], every_item: bool) -> Iterator[str]:
    board, again, items = found["board"], found["recount"], found["items"]
    formula = None if found["formula"] == found["words"] else found["formula"]
    yield " · ".join(str(found[name]) for name in ("benchmark", "condition", "model", "measure"))
    yield from _entries({"what": found["words"], "formula": formula})
    yield from _entries({name: found[name] for name in ("reference", "paper", "unit")})
    yield from _entries({"board": f"{_number(board)}, {found['source']}"})
    if again is not None:
        equal = "equals the board" if found["differs"] is None else f"DIFFERS: {found['differs']}"
        yield from _entries({"recount": f"{_number(again)}: {equal}"})
    n = "not stated" if board["n"] is None else f"{board['n']:,}"
    status = board["status"] or "as printed in the paper"
    yield from _entries({"status": status, "method": board["method"], "n": n})
    if again is not None:
        left = "; ".join(map(_reason, found["left_out"])) or "nothing"
        if items is None:
            left += "; the measure does not say which responses it rests on"
        few = "too few right or wrong answers for this interval, or its coverage was not measured"
        asked = f"{left}; of {found['asked']:,} responses asked for"
        yield from _entries({"left out": asked, "low_n": few if board["low_n"] else None})
    yield "SQL behind it (metacog sql --study STUDY)"
    yield from (f"  {query}" for query in found["sql"])
    if items:
        names = ", ".join(items if every_item else items[:FIRST_ITEMS])
        more = "" if every_item or len(items) <= FIRST_ITEMS else ", … (all with --items)"
        yield from _entries({"items": f"{len(items):,}: {names}{more}"})


def _reason(left: Mapping[str, Any]) -> str:
    told = [f"{n:,} {why}" for why, n in left["reasons"].items()]
    return f"{left['n']:,} {left['why']}" + (f" ({', '.join(told)})" if told else "")


def _entries(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is known under its name, wrapped; nothing of what is not known."""
    for name, words in found.items():
        if words:
            yield from textwrap.wrap(f"{name}: {words}", WIDTH, initial_indent="  ", subsequent_indent="    ")


def _number(values: Mapping[str, Any]) -> str:
    """Return an estimate with its interval, in six figures."""
    if values["estimate"] is None:
        return "no value"
    if values["low"] is None or values["high"] is None:
        return f"{values['estimate']:.6g}, no interval"
    return f"{values['estimate']:.6g} [{values['low']:.6g}, {values['high']:.6g}]"
