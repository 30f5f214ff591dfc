"""``read``: what replies say, without a study."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.errors import MetacogError, StudyError, one_line, suggestion

LONGEST_LINE = 64 * 2**20  # bytes


class SomeUnread(MetacogError):
    """Some lines could not be read; the others were."""

    exit_code = 8


@click.command(name="read")
@click.argument("benchmark")
@click.argument("replies", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "jsonl")),
    default="text",
    help="text: a line to read per reply; jsonl: an object per reply.",
)
@printing.json_option
def read(benchmark: str, replies: Path, form: str) -> None:
    """Read replies from a file of JSON Lines and say what they are worth; nothing is asked and nothing is kept.

    A line has `id`, `item_id` and `response`, or `responses` by step. The answer to it has the `id`, what was read, whether
    it is `correct` and `passed`, whether it is `ambiguous`, its `basis` (words or probe) and why. A line that
    cannot be read is reported and left out; then the exit code is 8.
    """
    from metacog_pipeline.benchmark.replies import BadRow

    read_row = _reader(benchmark)
    unread = n = 0
    for number, line in enumerate(_lines(replies), 1):
        if not line.strip():
            continue
        n += 1
        try:
            row = _row(line)
            found = {"id": row["id"], "item_id": row.get("item_id"), **read_row(row)}
            printing.say(_shown(found, form), replies=[found])
        except BadRow as error:
            unread += 1
            click.echo(one_line(f"{replies}: line {number}: {error}"), err=True)
    if unread:
        rest = "; the others were" if unread < n else ", nothing was"
        raise SomeUnread(f"{replies}: {unread} of {n} lines could not be read{rest}")


def _reader(benchmark: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Return what reads a row of a benchmark."""
    from metacog_pipeline import registry

    if benchmark not in registry.names():
        known = registry.names()
        raise click.UsageError(
            f'no benchmark "{benchmark}"{suggestion(benchmark, known)}; installed are: {", ".join(known)}'
        )
    try:
        found: Callable[[Mapping[str, Any]], Mapping[str, Any]] = registry.part(benchmark, "read_row")
    except AttributeError:
        those = ", ".join(name for name in registry.names() if _reads(name))
        raise click.UsageError(
            f'benchmark "{benchmark}" reads no replies without a study; those that do: {those}'
        ) from None
    return found


def _reads(benchmark: str) -> bool:
    from metacog_pipeline import registry

    try:
        return registry.part(benchmark, "read_row") is not None
    except (AttributeError, StudyError):
        return False


def _lines(path: Path) -> Iterator[bytes]:
    if str(path) == "-":
        yield from _bounded(sys.stdin.buffer)
        return
    try:
        with path.open("rb") as stream:
            yield from _bounded(stream)
    except OSError as error:
        raise click.UsageError(
            f"{path}: cannot be read ({error.strerror}); give a file of JSON Lines"
        ) from None


def _bounded(stream: BinaryIO) -> Iterator[bytes]:
    while line := stream.readline(LONGEST_LINE):
        yield line


def _row(line: bytes) -> Mapping[str, Any]:
    from metacog_pipeline.benchmark.replies import BadRow

    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise BadRow("no JSON object; a line is one object") from None
    if not isinstance(row, dict):
        raise BadRow("no JSON object; a line is one object")
    if not isinstance(row.get("id"), str | int):
        raise BadRow("id is missing; give every reply one")
    return row


def _shown(found: Mapping[str, Any], form: str) -> str:
    if form == "jsonl":
        return json.dumps(found, ensure_ascii=True, allow_nan=False)
    verdict = (
        "ambiguous" if found["ambiguous"] else {True: "right", False: "wrong", None: "-"}[found["correct"]]
    )
    passed = {True: "passed", False: "not passed", None: "-"}[found.get("passed")]
    read = ", ".join(f"{name} {value}" for name, value in found["read"].items())
    told = "; ".join(filter(None, (read, found["why"])))
    item = f"{found['item_id']}  " if found["item_id"] else ""
    return one_line(f"{found['id']}  {item}{verdict}, {passed} ({found['basis']}): {told or 'nothing'}", 300)
