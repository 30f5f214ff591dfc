"""The ``metacog`` command line: one line per mistake, a documented exit code, no traceback for a user's error."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from metacog_pipeline import __version__, registry
from metacog_pipeline.errors import MetacogError, one_line, suggestion

EPILOG = (
    "Exit codes: 0 done, 1 other error, 2 wrong study file or arguments, 3 sources, 4 kept answers, 5 budget, "
    "6 provider, 7 some partitions failed while others finished, 8 some imported rows not readable, "
    "9 batches are under way, 130 interrupted."
)

#: Section → command → ``module:name`` of its function, and its line in the list of commands.
GROUPS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Every day": {
        "init": ("starting:init", "Write a study file to begin with."),
        "doctor": ("starting:doctor", "Check that a run can start and that what was kept is whole."),
        "plan": ("running:plan", "Print calls, tokens and dollars before a cent is spent."),
        "run": ("running:run", "Ask what is missing, score it, rebuild the boards."),
        "board": ("boards:board", "Print the leaderboard of all benchmarks, or of one."),
        "report": ("boards:report", "Write boards, figures and transcripts as pages."),
        "import": ("importing:import_command", "Keep answers that were collected elsewhere."),
    },
    "Answers and data": {
        "status": ("status:status", "Print how far a study is, what it has cost, its batches."),
        "read": ("reading:read", "Read replies from a file, without a study."),
        "export": ("boards:export", "Write results in a format that others read, or as a bundle."),
    },
    "Numbers": {
        "compare": ("boards:compare", "Compare two models on the items both answered."),
        "show": ("showing:show", "Show where a number comes from, an item, or an answer."),
        "sql": ("boards:sql", "Run one read-only query on the leaderboard's DuckDB file."),
        "fit": ("fit:fit", "Fit meta-d' and its relatives to a table of counts or trials."),
    },
    "Trying and watching": {
        "demo": ("running:demo", "Run the demo: simulated models answer sample questions."),
        "ui": ("running:ui", "Open the Dagster UI on a study; stop it with Ctrl-C."),
        "serve": ("running:serve", "Answer OpenAI chat completions on this machine, without a key."),
    },
}
COMMANDS: Mapping[str, tuple[str, str]] = {
    name: found for group in GROUPS.values() for name, found in group.items()
}

#: Commands of earlier versions, and what does the same today.
REMOVED: Mapping[str, str] = {
    "answer": "use metacog show STUDY ANSWER",
    "batches": "use metacog status STUDY --batches",
    "bundle": "use metacog export STUDY --format bundle",
    "cite": "see the papers named in the card of metacog export STUDY --format hf",
    "costs": "use metacog status STUDY --costs",
    "daemon": "use dagster-daemon run, or metacog ui STUDY, whose daemon does the same",
    "explain": "use metacog show STUDY BENCHMARK CONDITION MODEL MEASURE",
    "explore": "use metacog report STUDY and open the second file it names",
    "fetch": "use metacog doctor STUDY --fetch",
    "power": "use metacog_pipeline.stats.power from Python",
    "reproduce": "use metacog doctor --bundle FILE",
    "simulate-server": "use metacog serve",
    "verify": "use metacog doctor STUDY --kept, or metacog doctor --bundle FILE",
    "worker": "use dagster-celery worker start, see docs/scaling.md",
}


class Commands(click.Group):
    """A group that imports a command when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, those of benchmarks last."""
        return [*COMMANDS, *_of_benchmarks()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command. One that is not there, or was removed, is a usage error."""
        if cmd_name in COMMANDS:
            module, _, name = COMMANDS[cmd_name][0].partition(":")
            # Imported when the command is called or asked for its help, so that listing them all
            # loads neither statistics nor databases.
            command = getattr(import_module(f"metacog_pipeline.cli.{module}"), name)
        elif cmd_name in _of_benchmarks():
            command = registry.load_command(cmd_name)
        elif ctx.resilient_parsing:  # where words are completed
            return None
        elif cmd_name in REMOVED or cmd_name in registry.names():
            instead = REMOVED.get(cmd_name, "use metacog run STUDY, which makes its items, and Python")
            raise click.UsageError(f'"{cmd_name}" was removed: {instead}')
        else:
            near = suggestion(cmd_name, self.list_commands(ctx))
            raise click.UsageError(f'no command "{cmd_name}"{near}; metacog --help lists them')
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing one."""
        others = {name: ("", f"See metacog {name} --help.") for name in _of_benchmarks()}
        for title, group in {**GROUPS, "Of benchmarks": others}.items():
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, (_, line) in group.items()])


def _of_benchmarks() -> list[str]:
    """Return the names of plug-in commands; those of our own, today's or removed, cannot be taken."""
    return [each for each in registry.command_names() if each not in COMMANDS and each not in REMOVED]


@click.group(
    cls=Commands,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, prog_name="metacog")
def cli() -> None:
    """Measure what language models know about what they know."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    # Matrices are small here: a thread per core takes more time than it saves, and last digits hang on their number.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # a lone surrogate in an answer stops no table
            stream.reconfigure(errors="backslashreplace")
    printed_to = sys.stdout
    try:
        cli.main(args=arguments, prog_name="metacog", standalone_mode=False)
        sys.stdout.flush()
    except MetacogError as error:
        _fail(str(error), error.exit_code)
    except NoArgsIsHelpError as error:  # a group alone: what it can do
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        _fail(_mistake(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted; everything answered so far is kept", 130)
    except OSError as error:
        _end_unwritten(error)
    except SystemExit:
        # click wraps it where no reader is left, and ends with 1
        if sys.stdout is not printed_to:
            sys.exit(0)
        raise
    sys.exit(0)


def _mistake(error: click.ClickException) -> str:
    """Return a mistake on the command line in click's words, on one line: the command, the mistake, how it is typed."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return one_line(error.format_message())
    place = "" if context.parent is None else f"{context.command_path.partition(' ')[2]}: "
    usage = context.get_usage().removeprefix("Usage: ")
    return one_line(f"{place}{error.format_message().rstrip('.')}; as in: {usage}")


def _open_streams() -> None:
    """Open standard streams that were closed (``>&-``): else the next file or socket would be taken for one."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # gets the lowest number that is free
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", closefd=False))


def _fail(message: str, code: int) -> NoReturn:
    print(f"metacog: {message}", file=sys.stderr)
    sys.exit(code)


def _end_unwritten(error: OSError) -> NoReturn:
    """End with what the system refuses; in silence where the reader of the output has gone, as with ``head``."""
    with contextlib.suppress(OSError):
        # what is still to be written there is not tried again
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error.errno == errno.EPIPE:
        sys.exit(0)
    what = error.filename or "standard output"
    _fail(f"{what}: {error.strerror or error}; free space, or check the path", 1)
