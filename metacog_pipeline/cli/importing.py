"""``import``: score answers collected elsewhere: tables, logs of other programs, answers of human respondents."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import PATH, quiet_option, scale_option, words_option
from metacog_pipeline.interchange import cells
from metacog_pipeline.study import Study, load_study

if TYPE_CHECKING:
    from metacog_pipeline.interchange.import_rules import Imported, ImportOptions, Rejected


#: What ``--trust`` takes though it disagrees with the study.
TRUSTED = ("key", "run", "status")
MADE = "imported.toml"  # the study that is made where none is named
# rows that were not taken, of each reason and of all
SHOWN, MOST_SHOWN = 3, 20


@click.command("import")
@click.argument("places", nargs=-1, required=True, metavar="[BENCHMARK] FILE...")
@click.option(
    "--study", "study_file", metavar="STUDY", type=PATH, default=MADE, help="Made where it is not there."
)
@click.option("--model", help="Who answered, where the file does not say or under another name.")
@click.option("--run", type=click.IntRange(1, 99), help="Which run these answers are; of a log its first.")
@click.option("--map", "pairs", multiple=True, metavar="FIELD=COLUMN", help="Which column a field has.")
@words_option
@scale_option
@click.option(
    "--trust", multiple=True, type=click.Choice(TRUSTED), help="Take the file though this disagrees."
)
@click.option("--condition", help="Condition of rows that name none.")
@click.option("--people", metavar="COLUMN", help="Human respondents: the column that names them.")
@quiet_option
@printing.json_option
def import_command(places: tuple[str, ...], study_file: Path, quiet: bool, **given: Any) -> None:
    """Keep answers from each FILE (CSV, TSV, JSON Lines, JSON, Parquet, also .gz; a log) as those of a model.

    A log (inspect_ai, lm-eval, lighteval, HELM, OpenCompass, OpenAI Evals, promptfoo, Every Eval Ever, batches) names
    models and runs itself, and so do columns of a table; questions that no benchmark of the study asks are added to those
    of your own. A missing study file is written, and where no model is asked the board follows at once.

    A key in the file must agree with the items, or nothing is kept. How the file was understood is shown, and every row
    that is not taken is listed with its reason, all of them with --json; then the exit code is 8, and the rest is kept.
    `metacog run` scores what was imported without asking anybody. Options such as --map are repeated for each column.
    """
    from metacog_pipeline.interchange.import_rules import ImportOptions

    named, *others = places
    benchmark = None if Path(named).exists() or not others else named
    options = ImportOptions(
        given["trust"], cells.parse_scale(given["scale"]), cells.parse_words(given["words"]), model=given["model"],
        run=given["run"], benchmark=benchmark, people=given["people"], quiet=quiet, pairs=given["pairs"],
        condition=given["condition"],
    )  # fmt: skip
    done = [_one(file, study_file, options) for file in map(Path, places if benchmark is None else others)]
    if studies := [each.study for each in done if each.study is not None]:
        _board(studies[-1], quiet)
    if any(each.rejected for each in done):
        sys.exit(8)  # some rows cannot be used, the others are kept


def _one(file: Path, study_file: Path, options: ImportOptions) -> Imported:
    """Import one file, and show what was taken of it."""
    from metacog_pipeline.interchange import importing

    counts = {}
    if options.people is None:
        found = importing.import_file(file, study_file, options)
    else:
        from metacog_pipeline.scoring import human_respondents

        study = load_study(study_file)
        into = bound(study, importing.target(study, options.benchmark))
        found, counts["people"] = human_respondents.keep(into, file, options)
    for line in found.summary:
        printing.say(f"{file.name}: {line}", understood=[line])
    counts = {"kept": found.kept, "known": found.known, **counts, "not_taken": len(found.rejected)}
    parts = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items())
    for line in _not_taken(found.rejected):
        click.echo(f"{file.name}: {line}", err=True)
    said = "" if options.quiet else f"{file.name}: {parts.replace('kept', 'answers kept')}"
    rows = [each._asdict() for each in found.rejected] if printing.wanted() else []
    printing.say(said, **counts, rejected=rows)
    return found


def _not_taken(rejected: Sequence[Rejected]) -> list[str]:
    """Return the first rows of each reason why rows are not taken, and how many more there are."""
    seen, lines = Counter[str](), list[str]()
    for each in rejected:
        seen[each.reason] += 1
        if seen[each.reason] <= SHOWN and len(lines) < MOST_SHOWN:
            lines.append(f"{each.place}: {each.what}: {each.reason}")
    more = len(rejected) - len(lines)
    return [*lines, f"{more} more are not taken; --json lists all"] if more else lines


def _board(study: Study, quiet: bool) -> None:
    """Build and print the board where every model is replayed."""
    from metacog_pipeline.leaderboard import publishing

    # a model or a judge is asked
    if any(each.provider != "replay" for each in study.askable):
        return
    publishing.publish(study)
    if not quiet and not printing.wanted():
        from metacog_pipeline.cli.boards import print_board

        print_board(study.home, None, "table")
