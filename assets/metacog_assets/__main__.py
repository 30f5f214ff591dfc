"""``python -m metacog_assets``: run the study named by ``METACOG_STUDY``; what ``metacog run`` starts."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from metacog_pipeline.errors import MetacogError, StoreError, one_line

STOPPED = 130


@click.command()
@click.option("--benchmark", "benchmarks", multiple=True)
@click.option("--model", "models", multiple=True)
@click.option("--run", "runs", multiple=True, type=int)
@click.option("--force", is_flag=True)
@click.option("--detach", is_flag=True)
@click.option("--quiet", is_flag=True)
def main(detach: bool, **wanted: Any) -> None:
    """Materialise what is stale, then rebuild the boards."""
    # it comes with Dagster, which takes a second to load
    from sqlalchemy.exc import SQLAlchemyError

    from metacog_assets import run
    from metacog_assets.study_file import current_study
    from metacog_pipeline.progress import keep_terminal

    keep_terminal()
    try:
        with run.opened_instance() as instance:
            command = run.Command(current_study(), instance, **wanted)
            code = run.detach(command) if detach else run.run(command)
    except MetacogError as error:
        print(f"metacog: {error}", file=sys.stderr)
        code = error.exit_code
    except SQLAlchemyError as error:
        why = one_line(str(getattr(error, "orig", None) or error))
        what = f"the run history in {os.environ.get('DAGSTER_HOME')} cannot be read or written ({why})"
        print(f"metacog: {what}: free space, then run again; answers are kept", file=sys.stderr)
        code = StoreError.exit_code
    sys.exit(code)


try:
    main.main(standalone_mode=False)
except BaseException as ended:
    if type(ended).__name__ not in ("KeyboardInterrupt", "Abort", "DagsterExecutionInterruptedError"):
        raise
print("metacog: interrupted; everything answered so far is kept", file=sys.stderr, flush=True)
# closing SQLite's files waits for the disk, which whoever opens them next does as well
os._exit(STOPPED)
