"""``python -m metacog_assets``: run the study named by ``METACOG_STUDY``; what ``metacog run`` starts."""

from __future__ import annotations

import os
import sys

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
def main(
    benchmarks: tuple[str, ...],
    models: tuple[str, ...],
    runs: tuple[int, ...],
    force: bool,
    detach: bool,
    quiet: bool,
) -> None:
    """Materialise what is stale, then rebuild the boards."""
    from sqlalchemy.exc import SQLAlchemyError  # it comes with Dagster, which takes a second to load

    from metacog_assets import run
    from metacog_assets.study_file import current_study
    from metacog_pipeline.progress import keep_terminal
    from metacog_pipeline.study import digests

    keep_terminal()
    wanted = run.Wanted(benchmarks, models, runs, force)
    try:
        with run.opened_instance() as instance:
            command = run.Command(current_study(), instance, quiet)
            if detach:
                sys.exit(run.detach(command, wanted))
            with digests.noted_at_end(command.study.home):
                code = run.run_until_answered(command, wanted)
    except MetacogError as error:
        print(f"metacog: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except SQLAlchemyError as error:
        reason = one_line(str(getattr(error, "orig", None) or error))
        print(
            f"metacog: the run history in {os.environ.get('DAGSTER_HOME')} cannot be read or written ({reason}): "
            "free space or check the folder, then run again; answers are kept",
            file=sys.stderr,
        )
        sys.exit(StoreError.exit_code)
    sys.exit(code)


try:
    main.main(standalone_mode=False)
except (KeyboardInterrupt, click.Abort):
    interrupted = True
except BaseException as ended:
    if type(ended).__name__ != "DagsterExecutionInterruptedError":
        raise
    interrupted = True
if interrupted:
    print("metacog: interrupted; everything answered so far is kept", file=sys.stderr)
    sys.stderr.flush()
    os._exit(STOPPED)  # closing SQLite's files waits for the disk, which whoever opens them next does as well
