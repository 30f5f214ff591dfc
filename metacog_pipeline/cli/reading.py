"""``read``: what replies say, without a study."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import click

from metacog_pipeline import registry
from metacog_pipeline.cli import printing
from metacog_pipeline.errors import MetacogError, one_line, suggestion


class SomeUnread(MetacogError):
    """Some lines could not be read; the others were."""

    exit_code = 8


@click.command(name="read")
@click.argument("benchmark")
@click.argument("replies", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--audit", "study_file", type=click.Path(path_type=Path), metavar="STUDY", help="Audit its reader model."
)
@printing.format_option("jsonl")
def read(benchmark: str, replies: str, study_file: Path | None, form: str) -> None:
    """Read replies from a file of JSON Lines and say what they are worth; nothing is asked and nothing is kept.

    A line has `id`, `response` (or `responses` by step), and `item_id` of a shipped item or the item's own fields:
    `question`, `options`, `answer` or `answers`, `kind`, `unit`, `lang`, `tier`. What comes back has `id`, `status`,
    `answer`, `confidence` as stated, `confidence01`, `correct` where there is a key, and what the benchmark adds. A line
    that is no row is reported and left out; then the exit code is 8.

    With --audit a CSV file of verdicts of the study's reader model ([reader]) is written, to be labelled pass or fail by a
    person; with --audit and a labelled file its error is counted, kept, and carried into intervals by the next run.
    """
    if study_file is not None:
        _audit(benchmark, Path(replies), study_file)
        return
    try:
        file = click.open_file(replies, "rb")
    except OSError as error:
        raise click.UsageError(f"{replies}: {error.strerror}") from None
    with file:
        _read_lines(benchmark, file)


def _audit(benchmark: str, path: Path, study_file: Path) -> None:
    """Write verdicts of the reader model to label, or count the labels of a file that is there."""
    from metacog_pipeline.benchmark.bound import bound
    from metacog_pipeline.judges import audit
    from metacog_pipeline.study import load_study

    own = bound(load_study(study_file), benchmark)
    if not path.exists():
        n = audit.write_sample(own, path)
        click.echo(
            f"{path}: {n} verdicts to label; write pass or fail in the column label, then repeat the command"
        )
        return
    error = audit.keep_labels(own, path)
    wrong = f"{error.wrong_passes} of {error.passes} passes and {error.wrong_fails} of {error.fails} fails are wrong"
    click.echo(f"{own.name}: {wrong}; `metacog run {study_file}` carries this into the intervals")


def _read_lines(benchmark: str, replies: IO[bytes]) -> None:
    from metacog_pipeline.reading.rows import BadRow

    if benchmark not in (names := registry.names()):
        there = f"{suggestion(benchmark, names)}; installed are: {', '.join(names)}"
        raise click.UsageError(f'no benchmark "{benchmark}"{there}')
    try:
        read_row = registry.part(benchmark, "read_row")
    except AttributeError:
        raise click.UsageError(f'"{benchmark}" reads no replies without a study') from None
    unread = n = 0
    for number, line in enumerate(replies, 1):
        if not line.strip():
            continue
        n += 1
        try:
            row = _row(line)
            found = {"id": row["id"], **read_row(row)}
            printing.say(json.dumps(found, allow_nan=False), replies=[found])
        except BadRow as error:
            unread += 1
            click.echo(one_line(f"{replies.name}: line {number}: {error}"), err=True)
    if unread:
        rest = "; the others were" if unread < n else ", nothing was"
        raise SomeUnread(f"{replies.name}: {unread} of {n} lines could not be read{rest}")


def _row(line: bytes) -> Mapping[str, Any]:
    from metacog_pipeline.reading.rows import BadRow

    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise BadRow("no JSON object; a line is one object")
    if not isinstance(row.get("id"), str | int):
        raise BadRow("id is missing; give every reply one")
    return row
