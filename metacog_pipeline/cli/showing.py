"""``show``: one number of a board, one item with all answers, or one answer word for word."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import opened, study_argument
from metacog_pipeline.errors import StudyError
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.leaderboard.glossary import explain
from metacog_pipeline.leaderboard.output import plain, printable
from metacog_pipeline.leaderboard.read import one_connection, run_query

WIDTH = 110


@click.command()
@study_argument
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@printing.json_option
def show(study_file: Path, names: tuple[str, ...]) -> None:
    """Show where the boards come from: NAME... is one of

    \b
    BENCHMARK CONDITION MODEL MEASURE  a number: formula, interval, answers
    BENCHMARK ITEM                     an item with every model's answer
    ANSWER                             an answer, word for word

    The names of a number are those of `metacog board --all --format csv`.
    """
    study = opened(study_file)
    if len(names) == 4:
        with one_connection(study.home):
            found = explain(study.home, *names)
        return printing.say("\n".join(map(printable, _lines(found))), **found)
    if len(names) == 2:
        return _show_item(study.home, *names)
    if len(names) == 1:
        return _show_answer(study.home, *names)
    raise click.UsageError("give BENCHMARK CONDITION MODEL MEASURE, or BENCHMARK ITEM, or an ANSWER")


def _show_item(home: Home, benchmark: str, item_id: str) -> None:
    """Print the text of an item and what every model answered to it."""
    where = f"where benchmark = {text(benchmark)} and item_id = {text(item_id)}"
    item = run_query(home, f"select question, key, kind, n, n_correct, mean_confidence from items {where}")
    if not item.rows:
        raise StudyError(
            f'show: benchmark "{benchmark}" has no item "{item_id}"; `metacog sql` lists them: from items'
        )
    columns = "model, condition, run, response, correct, confidence, reading, reason"
    answers = run_query(home, f"select {columns} from answers {where} order by condition, model, run")
    _say_fields(dict(zip(item.columns, item.rows[0], strict=True)))
    printing.table("answers", answers)


def _show_answer(home: Home, answer_id: str) -> None:
    """Print one kept answer: what was asked, what was replied, and how the call ended."""
    columns = (
        "benchmark, model, run, item_id, condition, step, status, finish_reason, cost_usd, request_json, text"
    )
    found = run_query(home, f"select {columns} from transcripts where answer_id = {text(answer_id)}")
    if not found.rows:
        raise StudyError(
            f'show: no answer "{answer_id}"; `metacog sql` lists them: select answer_id from transcripts'
        )
    for row in found.rows:
        _say_fields(dict(zip(found.columns, row, strict=True)))


def _say_fields(values: Mapping[str, Any]) -> None:
    """Print one value a line; long texts are wrapped."""
    for name, value in values.items():
        if value is not None:
            lines = [part for line in str(value).splitlines() for part in textwrap.wrap(line, WIDTH) or [""]]
            shown = "\n    ".join(printable(line) for line in lines)
            printing.say(f"{name}: {shown}", **{name: plain(value)})


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    board, asked = found["board"], found["asked"]
    lacking = "; ".join(f"{count:,} {why}" for why, count in found["not_ok"].items())
    few = "too few right or wrong answers for this interval, or its coverage was not measured"
    said = {
        "what": found["words"],
        "formula": None if found["formula"] == found["words"] else found["formula"],
        **{name: found[name] for name in ("reference", "paper", "unit")},
        "board": f"{_number(board)}, {found['source']}",
        "status": board["status"] or "as printed in the paper",
        "method": board["method"],
        "n": "not stated" if board["n"] is None else f"{board['n']:,}",
        "asked": asked and f"{asked:,} responses, {f'not ok: {lacking}' if lacking else 'all ok'}",
        "coverage": found["coverage"],
        "low_n": few if board["low_n"] else None,
    }
    yield " · ".join(str(found[name]) for name in ("benchmark", "condition", "model", "measure"))
    for name, words in said.items():
        if words:
            yield from textwrap.wrap(f"{name}: {words}", WIDTH, initial_indent="  ", subsequent_indent="    ")
    yield "SQL of it (metacog sql --study STUDY)"
    yield from (f"  {query}" for query in found["sql"])


def _number(values: Mapping[str, Any]) -> str:
    """Return an estimate with its interval, in six figures."""
    if values["estimate"] is None:
        return "no value"
    if values["low"] is None or values["high"] is None:
        return f"{values['estimate']:.6g}, no interval"
    return f"{values['estimate']:.6g} [{values['low']:.6g}, {values['high']:.6g}]"
