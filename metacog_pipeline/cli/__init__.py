"""The ``metacog`` command. One line per mistake, a documented exit code, no traceback for a user's error.

A command's module is imported when the command is called or asked for its help: to list them all takes a tenth of a
second, not the two that the statistics, the databases and the HTTP clients take to load.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import NoReturn

import click
from click.exceptions import NoArgsIsHelpError
from click.shell_completion import CompletionItem

from metacog_pipeline import __version__, registry
from metacog_pipeline.cli import mistakes
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.quick_end import end

SELDOM = 20_000  # objects made and not dropped after which garbage is looked for
EPILOG = (
    "Exit codes: 0 done, 1 other error, 2 wrong study file or arguments, 3 sources, 4 kept answers, 5 budget, "
    "6 provider, 7 some partitions failed while others finished, 8 some imported rows not readable, "
    "9 batches are under way, 130 interrupted."
)

#: Command to the module and name it is imported from, and what the list of commands says of it.
COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "batches": ("status", "batches", "List the batches a study has submitted."),
    "answer": ("answer", "answer", "Print everything kept of one call."),
    "board": ("boards", "board", "Print the leaderboard of all benchmarks, or of one."),
    "bundle": ("exporting", "bundle", "Write one archive that a paper can cite."),
    "cite": ("exporting", "cite", "Print BibTeX of what stands behind a study's boards."),
    "compare": ("boards", "compare", "Compare two models on the items both answered."),
    "daemon": ("deploying", "daemon", "Start what is queued, on this host."),
    "demo": ("demonstration", "demo", "Run the demo: simulated models answer sample questions."),
    "doctor": ("verifying", "doctor", "Check that a run can start: keys, models, prices, data, disk."),
    "explain": ("explaining", "explain", "Explain one number of a board, and recount it."),
    "explore": ("report", "explore", "Show every item and every answer in a browser."),
    "export": ("exporting", "export", "Write what a study found in a format that others read."),
    "fetch": ("sources", "fetch", "Fetch published data sets into the study's home."),
    "fit": ("fitting", "fit", "Fit meta-d' and its relatives to a table of counts or trials."),
    "import": ("answers", "import_command", "Keep answers somebody already paid for."),
    "init": ("starting", "init", "Write a study file to begin with."),
    "plan": ("running", "plan", "Print calls, tokens and dollars before a cent is spent."),
    "power": ("power", "power", "Plan an experiment: its power, or the trials it takes."),
    "read": ("replies", "read", "Read replies from a file, without a study."),
    "report": ("report", "report", "Write the study's boards, figures and transcripts as pages."),
    "reproduce": ("exporting", "reproduce", "Make the boards of a bundle again, and compare them."),
    "run": ("running", "run", "Ask what is missing, score it, rebuild the boards."),
    "serve": ("running", "serve", "Serve the study's simulated models over HTTP."),
    "sql": ("boards", "sql", "Ask the leaderboard's DuckDB file one read-only query."),
    "status": ("status", "status", "Say how far a study is, and what is missing."),
    "verify": ("verifying", "verify", "Check that everything kept is what was kept; repair it."),
    "ui": ("running", "ui", "Open the Dagster UI on a study; stop it with Ctrl-C."),
    "worker": ("deploying", "worker", "Work on the runs of a study, beside other hosts."),
}


#: Other names of commands, those of version 0.1 among them.
OTHER_NAMES: Mapping[str, str] = {"simulate-server": "serve"}


class Commands(click.Group):
    """A group that imports a command when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, those of benchmarks last."""
        return [*sorted(COMMANDS), *registry.commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None where there is none of this name."""
        cmd_name = OTHER_NAMES.get(cmd_name, cmd_name)
        if cmd_name in COMMANDS:
            module, name, _ = COMMANDS[cmd_name]
            command = getattr(import_module(f"metacog_pipeline.cli.{module}"), name)
        elif cmd_name in registry.commands():
            command = registry.load_command(cmd_name)
        else:
            if not ctx.resilient_parsing:  # words are only being completed
                _refuse_misplaced(cmd_name)
            return None
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin so, without importing a command."""
        said = {name: COMMANDS[name][2] if name in COMMANDS else None for name in self.list_commands(ctx)}
        found = [
            CompletionItem(name, help=help) for name, help in said.items() if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][2]) for name in sorted(COMMANDS)])
        with formatter.section("Commands of benchmarks"):
            formatter.write_dl([(name, f"See metacog {name} --help.") for name in registry.commands()])


def _refuse_misplaced(name: str) -> None:
    """Raise UsageError where ``name`` is a command of a benchmark's own."""
    for benchmark in registry.commands():
        group = registry.load_command(benchmark)
        if isinstance(group, click.Group) and name in group.commands:
            raise click.UsageError(f'"{name}" is a command of a benchmark: metacog {benchmark} {name}')


@click.group(
    cls=Commands,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, prog_name="metacog")
def cli() -> None:
    """Measure what language models know about what they know."""


def _open_streams() -> None:
    """Open what the command was started without (``>&-``): else a file or socket is taken for it, here and in a run."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest number that is free
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", closefd=False))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    # Matrices are small here: a thread per core takes more time than it saves, and last digits hang on their number.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a lone surrogate in an answer stops no table
    printed_to = sys.stdout
    try:
        cli.main(args=arguments, prog_name="metacog", standalone_mode=False)
        sys.stdout.flush()
    except MetacogError as error:
        print(f"metacog: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except NoArgsIsHelpError as error:  # a group alone: what it can do
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        print(f"metacog: {mistakes.words(error)}", file=sys.stderr)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        print("metacog: interrupted; everything answered so far is kept", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        _end_unwritten(error)
    except SystemExit:
        if sys.stdout is not printed_to:  # click wraps it where nobody reads it any more, and ends with 1
            sys.exit(0)
        raise
    sys.exit(0)


def _end_unwritten(error: OSError) -> NoReturn:
    """End with a line that says what the system refuses; in silence where whoever read the output has gone, as ``head``."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still to be written there is not tried again
    if error.errno == errno.EPIPE:
        sys.exit(0)
    what = error.filename or "standard output"
    print(f"metacog: {what}: {error.strerror or error}; free space, or check the path", file=sys.stderr)
    sys.exit(1)


def command() -> NoReturn:
    """Be the ``metacog`` command: run it, and end the process without taking apart what it loaded."""
    gc.set_threshold(SELDOM)  # a command keeps what it makes, or drops it at once: there is little to collect
    try:
        main()
    except SystemExit as ended:
        end(ended.code)
    end(0)
