"""What every benchmark's assets tell people the same way: one-line failures, what asking cost."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
from dagster import (
    AssetExecutionContext,
    Failure,
    MaterializeResult,
    MetadataValue,
)

from metacog_assets.showing import preview
from metacog_assets.study_file import current_study
from metacog_pipeline.errors import MetacogError, StoreError, one_line, reason_of
from metacog_pipeline.leaderboard.shared import among_hosts
from metacog_pipeline.progress import ProgressLine, Style, style_from_environment
from metacog_pipeline.querying.asking import Tally
from metacog_pipeline.querying.partition import Progress, SessionResult
from metacog_pipeline.querying.session import Partition

ROWS = "dagster/row_count"  # the name under which Dagster shows and plots a number of rows
EXIT_CODE = "exit code"
PARTITIONS = "partitions that failed"  # {key: [reason, exit code]}
SOME_FAILED = 7
LEFT_EMPTY = "left empty"  # {asset: why it has no rows}

Fact = int | float | str | MetadataValue


@contextlib.contextmanager
def one_line_failure() -> Iterator[None]:
    """Turn an error made for users into a failed step with that line and no traceback; asking again is a person's call.

    With a store the step begins with what other hosts kept and made, and what it makes itself goes there.
    """
    try:
        with among_hosts(current_study()):
            yield
    except (MetacogError, OSError) as error:
        if isinstance(error, OSError) and error.filename is None:
            raise
        code = error.exit_code if isinstance(error, MetacogError) else StoreError.exit_code
        raise Failure(reason_of(error), metadata={EXIT_CODE: code}, allow_retries=False) from None


def tally_facts(tally: Tally) -> dict[str, Fact]:
    """Return what calls were made and what they cost."""
    return {
        "calls": tally.calls,
        "reused answers": tally.reused,
        "input tokens": tally.input_tokens,
        "output tokens": tally.output_tokens,
        "dollars": round(tally.cost_usd, 6),
    }


def asked(outcome: SessionResult) -> dict[str, Fact]:
    """Return what a session of asking did and cost."""
    return {
        "items × conditions": outcome.tasks,
        "answered": outcome.answered,
        "failed": outcome.failed,
        "unusable": outcome.unusable,
        **tally_facts(outcome.tally),
        "answer mode": outcome.profile.mode if outcome.profile else "none worked",
    }


def answering_models(partition: Partition) -> dict[str, Fact]:
    """Return the model ids the provider reported, with how many answers each gave; they may differ from the one asked."""
    reported = partition.manifest().get("model_reported")
    if not isinstance(reported, dict) or not reported:
        return {}
    return {
        "models reported": ", ".join(
            f"{one_line(str(name), 80)}: {count}" for name, count in reported.items()
        )
    }


def computed(compute: Callable[[Path], pl.DataFrame]) -> MaterializeResult:
    """Return the table that ``compute`` makes in the study's home, as people see it."""
    with one_line_failure():
        found = compute(current_study().home.path)
    return MaterializeResult(metadata={ROWS: found.height, "preview": preview(found)})


def progress_lines(context: AssetExecutionContext, style: Style) -> Callable[[str], None]:
    """Return where lines of progress go: the run's log in the UI, and standard error for whoever started it."""

    def say(line: str) -> None:
        context.log.info(line)
        print(line, file=sys.stderr, flush=True)

    return context.log.info if style == "quiet" else say


@contextlib.contextmanager
def progress_of(
    context: AssetExecutionContext, label: str, total: int | None = None
) -> Iterator[Callable[[Progress], None]]:
    """Give the function that shows how far a piece of asking is; ``total`` is taken from the first call where not known."""
    style = style_from_environment()
    line: list[ProgressLine] = []

    def show(progress: Progress) -> None:
        if not line:
            line.append(ProgressLine(label, total or progress.total, style, progress_lines(context, style)))
        line[0].update(progress.done, progress.tally.cost_usd)

    try:
        yield show
    finally:
        for each in line:
            each.__exit__(None, None, None)
