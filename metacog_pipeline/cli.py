"""The ``metacog`` command. One line per mistake, a documented exit code, no traceback for a user's error."""

from __future__ import annotations

import sys

import click

from metacog_pipeline import __version__
from metacog_pipeline.commands.answers import import_command
from metacog_pipeline.commands.boards import board, sql
from metacog_pipeline.commands.construction import metamedqa
from metacog_pipeline.commands.demonstration import demo
from metacog_pipeline.commands.fitting import fit
from metacog_pipeline.commands.power import power
from metacog_pipeline.commands.report import report
from metacog_pipeline.commands.running import plan, run, simulate_server, ui
from metacog_pipeline.commands.sources import fetch
from metacog_pipeline.errors import MetacogError

EPILOG = (
    "Exit codes: 0 done, 1 other error, 2 wrong study file or arguments, 3 sources, 4 kept answers, 5 budget, "
    "6 provider, 7 some partitions failed while others finished, 8 some imported rows not readable, 130 interrupted."
)


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="metacog")
def cli() -> None:
    """Measure what language models know about what they know."""


for command in (
    demo,
    plan,
    run,
    board,
    sql,
    report,
    ui,
    fetch,
    import_command,
    metamedqa,
    fit,
    power,
    simulate_server,
):
    cli.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(
                errors="backslashreplace"
            )  # a lone surrogate in an answer must not stop a table
    try:
        cli.main(args=arguments, prog_name="metacog", standalone_mode=False)
    except MetacogError as error:
        print(f"metacog: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        print("metacog: interrupted; everything answered so far is kept", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    sys.exit(0)
