"""``python -m metacog_assets``: run the study named by ``METACOG_STUDY``; what ``metacog run`` starts."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError
from sqlalchemy.exc import SQLAlchemyError

from metacog_assets import following
from metacog_assets.history import Events
from metacog_assets.launch import STOPPED, Launcher, nothing_left
from metacog_assets.request import Request
from metacog_assets.staying import launch_until_answered
from metacog_assets.study_file import current_study
from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.errors import MetacogError, StoreError, one_line
from metacog_pipeline.progress import keep_terminal
from metacog_pipeline.study import digests, unchanged

_LEFT_OPEN: list[contextlib.ExitStack] = []  # until this process ends
FOLLOWED = "no longer followed; what is queued and under way goes on (see: metacog status STUDY --watch)"


@click.command()
@click.option("--benchmark", "benchmarks", multiple=True)
@click.option("--model", "models", multiple=True)
@click.option("--run", "runs", multiple=True, type=int)
@click.option("--force", is_flag=True)
@click.option("--reask", is_flag=True)
@click.option("--detach", is_flag=True)
@click.option("--watch", is_flag=True)
@click.option("--quiet", is_flag=True)
def main(
    benchmarks: tuple[str, ...],
    models: tuple[str, ...],
    runs: tuple[int, ...],
    force: bool,
    reask: bool,
    detach: bool,
    watch: bool,
    quiet: bool,
) -> None:
    """Launch what is missing or stale, then rebuild the boards."""
    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    keep_terminal()
    try:
        with _instance() as instance:

            def launcher(first: bool) -> Launcher:
                return Launcher(current_study(), instance, quiet, reask=reask and first)

            if detach or watch:
                code = 0
                if detach:
                    code = following.detach(launcher(True), Request(benchmarks, models, runs, force))
                if watch:
                    code = following.watch(launcher(True))
            else:
                with following.working(), digests.noted_at_end(current_study().home):
                    code = launch_until_answered(launcher, benchmarks, models, runs, force)
            if code == 0 and not (benchmarks or models or runs or detach):
                state = unchanged.state_of(current_study())  # before the look: what changes later is seen
                if nothing_left(launcher(False)):
                    unchanged.note(current_study(), state)
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
    except (KeyboardInterrupt, DagsterExecutionInterruptedError):
        print(
            f"metacog: {FOLLOWED if watch else 'interrupted; everything answered so far is kept'}",
            file=sys.stderr,
        )
        sys.exit(STOPPED)
    sys.exit(code)


@contextlib.contextmanager
def _instance() -> Iterator[dg.DagsterInstance]:
    """Open the study's Dagster instance; two first commands in a fresh home must not both make its tables."""
    with contextlib.ExitStack() as locked:
        with contextlib.suppress(OSError):  # a folder of the user's own may be mounted to be read only
            lock = locked.enter_context((Path(os.environ["DAGSTER_HOME"]) / ".opening").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        instance = dg.DagsterInstance.get()
    if isinstance(instance.event_log_storage, Events):
        instance.event_log_storage.brief = (
            True  # nobody but this process reads its runs while they are under way
        )
    with contextlib.ExitStack() as held:
        held.enter_context(instance)
        try:
            yield instance
        except (KeyboardInterrupt, DagsterExecutionInterruptedError):
            INTERRUPTED.set()
            raise
        finally:
            # SQLite waits for the disk several times when it closes a file, each time a second where others write a lot.
            # Who is told to end leaves that to whoever opens it next, as a process that was killed does.
            if INTERRUPTED.is_set():
                _LEFT_OPEN.append(held.pop_all())
