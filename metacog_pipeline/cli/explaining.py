"""``explain``: where a number of a board comes from and whether it comes out again; or all that is kept of one call."""

from __future__ import annotations

import sys
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
FIRST_REASONS = 3
WIDTH = 110
LABEL = 12
LEAST_DIGITS, MOST_DIGITS = 8, 64  # of the id of an answer
_CELL = ("BENCHMARK", "CONDITION", "MODEL", "MEASURE")


@click.command()
@study_argument
@click.argument("names", nargs=-1, required=True, metavar="(BENCHMARK CONDITION MODEL MEASURE | ANSWER_ID)")
@click.option("--items", "every_item", is_flag=True, help="List every item the number rests on.")
@click.option("--raw", is_flag=True, help="Of a call: its body as it came (keep_raw = true keeps it).")
@printing.json_option
def explain(study_file: Path, names: tuple[str, ...], every_item: bool, raw: bool) -> None:
    """Explain one number of a board: its formula, what it rests on, its interval, and the same number recounted.

    The names are those of the board: `metacog board --format csv`. The number is computed again from the responses;
    where that gives another one than the board has, the exit code is 1.

    With ANSWER_ID, the answer_id of `calls` in `metacog sql` or how it begins, print all that is kept of one call as JSON:
    request, reply, thoughts, tokens, prices, times. A call that failed, was asked again, or served several items is printed
    once for each; with --json they are one list.
    """
    if len(names) == 1:
        _print_call(opened(study_file), _answer_id(names[0]), raw)
        return
    if len(names) != len(_CELL):
        lacking = (
            f"{_CELL[len(names)]} is missing" if len(names) < len(_CELL) else f'"{names[4]}": one too many'
        )
        raise click.UsageError(f"{lacking}: give {' '.join(_CELL)}, or the ANSWER_ID of one call")
    if raw:
        raise click.UsageError("--raw: give the ANSWER_ID of a call beside it")
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


def _answer_id(value: str) -> str:
    if not LEAST_DIGITS <= len(value) <= MOST_DIGITS or set(value) - set("0123456789abcdef"):
        raise click.UsageError(
            f"ANSWER_ID: {value!r} is not an id: give {LEAST_DIGITS} to {MOST_DIGITS} of its digits, 0-9 and a-f; "
            f"or name a number of the board: {' '.join(_CELL)}"
        )
    return value


def _print_call(study: Study, answer_id: str, raw: bool) -> None:
    from metacog_pipeline.transcripts import lookup

    records = lookup.records_of(study.home, answer_id)
    if raw:
        if printing.wanted():
            raise click.UsageError("--raw and --json: give one of them")
        body = lookup.newest_body(records)
        if sys.stdout.isatty():
            raise click.UsageError(
                "--raw writes what a provider sent as it came: send it to a file with > FILE"
            )
        sys.stdout.buffer.write(body)
        return
    shown = [lookup.shown(record) for record in records]
    for each in [shown] if printing.wanted() else shown:
        printing.value(each, exact=True)


def _lines(found: Mapping[str, Any], every_item: bool) -> Iterator[str]:
    yield " · ".join(str(found[name]) for name in ("benchmark", "condition", "model", "measure"))
    yield ""
    for name in ("words", "formula", "reference", "paper", "unit"):
        if found[name] and not (name == "formula" and found["formula"] == found["words"]):
            yield from _entry("what" if name == "words" else name, str(found[name]))
    board, again = found["board"], found["recount"]
    yield ""
    yield from _entry("board", f"{_number(board)}, {found['source']}")
    if again is not None:
        equal = "equals the board" if found["differs"] is None else f"DIFFERS: {found['differs']}"
        yield from _entry("recount", f"{_number(again)}: {equal}")
    yield from _entry("status", str(board["status"] or "as printed in the paper"))
    if board["method"]:
        yield from _entry("method", str(board["method"]))
    yield from _entry("n", f"{board['n']:,}" if board["n"] is not None else "not stated")
    if again is not None:
        yield from _left_out(found)
        if board["low_n"]:
            yield from _entry(
                "low_n", "too few right or wrong answers for this interval, or its coverage was not measured"
            )
    yield from _behind(found, every_item)


def _left_out(found: Mapping[str, Any]) -> Iterator[str]:
    left = found["left_out"]
    said = [_reason(each) for each in left]
    lead = f"{found['asked']:,} responses asked for"
    if found["items"] is None:
        said.append("the measure does not say which responses it rests on")
    yield from _entry("left out", f"{'; '.join(said) or 'nothing'}; of {lead}")


def _reason(left: Mapping[str, Any]) -> str:
    several = list(left["reasons"].items())
    told = ", ".join(f"{n:,} {why}" for why, n in several[:FIRST_REASONS])
    more = f", {len(several) - FIRST_REASONS} other reasons" if len(several) > FIRST_REASONS else ""
    return f"{left['n']:,} {left['why']}" + (f" ({told}{more})" if told else "")


def _behind(found: Mapping[str, Any], every_item: bool) -> Iterator[str]:
    yield ""
    yield "SQL behind it (metacog sql --study STUDY)"
    for query in found["sql"]:
        yield f"  {query}"
    items = found["items"]
    if items:
        shown = items if every_item else items[:FIRST_ITEMS]
        more = "" if len(shown) == len(items) else ", … (all with --items)"
        yield ""
        yield f"Items ({len(items):,})"
        yield from textwrap.wrap(", ".join(shown) + more, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _entry(name: str, words: str) -> Iterator[str]:
    lead = f"  {name:<{LABEL}}"
    yield from textwrap.wrap(words, WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead)) or [lead]


def _number(values: Mapping[str, Any]) -> str:
    """Return an estimate with its interval, in six figures."""
    if values["estimate"] is None:
        return "no value"
    if values["low"] is None or values["high"] is None:
        return f"{values['estimate']:.6g}, no interval"
    return f"{values['estimate']:.6g} [{values['low']:.6g}, {values['high']:.6g}]"
