"""Options and argument types several commands share."""

from __future__ import annotations

from pathlib import Path

import click

STUDY_FILE = click.Path(path_type=Path)

study_argument = click.argument("study_file", metavar="STUDY", type=STUDY_FILE)
study_option = click.option(
    "--study", "study_file", metavar="STUDY", type=STUDY_FILE, required=True, help="The study file."
)
quiet_option = click.option("--quiet", is_flag=True, help="Print results and errors only.")


class FoldingCommand(click.Command):
    """A command whose repeatable option ``--map`` also takes several values in a row: ``--map a=b c=d``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat ``--map`` before each further ``field=column`` that follows one."""
        folded: list[str] = []
        mapping = False
        for argument in args:
            if argument == "--map":
                mapping = True
            elif mapping and folded[-1] != "--map":
                if not argument.startswith("-") and "=" in argument:
                    folded.append("--map")
                else:
                    mapping = False
            folded.append(argument)
        return super().parse_args(ctx, folded)
