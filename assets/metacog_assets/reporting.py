"""What every benchmark's assets tell people the same way: one-line failures, what asking cost."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

import dagster as dg

from metacog_assets.study_file import current_study
from metacog_pipeline.errors import MetacogError, StoreError, reason_of
from metacog_pipeline.leaderboard.shared import among_hosts
from metacog_pipeline.progress import style_from_environment

EXIT_CODE = "exit code"
PARTITIONS = "partitions that failed"  # {key: [reason, exit code]}
SOME_FAILED = 7
LEFT_EMPTY = "left empty"  # {asset: why it has no rows}


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
        raise dg.Failure(reason_of(error), metadata={EXIT_CODE: code}, allow_retries=False) from None


def progress_lines(context: dg.AssetExecutionContext) -> Callable[[str], None]:
    """Return where lines of progress go: the run's log in the UI, and standard error for whoever started it."""

    def say(line: str) -> None:
        context.log.info(line)
        print(line, file=sys.stderr, flush=True)

    return context.log.info if style_from_environment() == "quiet" else say
