"""``init`` and ``doctor``: a study file to begin with, and whether a run of it can start."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import click

from metacog_pipeline import registry
from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import PATH, read_study
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import write_text
from metacog_pipeline.llm.spec import MOST_DOLLARS
from metacog_pipeline.progress import ProgressLine, style_for
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.study.new_file import Row, chosen_benchmarks, row_of, study_text
from metacog_pipeline.study.study_file import MOST_BUDGET

# dollars; a sample of every benchmark costs less with any model of 2026
_BUDGET = 5.0
_DOLLARS, _MOST = click.FloatRange(0, MOST_DOLLARS), click.FloatRange(0, MOST_BUDGET)


def _per_model(option: str, name: str, words: str, **more: Any) -> Callable[[Any], Any]:
    help = f"{words}: once per billed model, in their order."
    return click.option(option, name, multiple=True, help=help, **more)


@click.command()
@click.argument("study_file", metavar="[STUDY]", type=PATH, default=Path("study.toml"))
@click.option(
    "--model", "models", multiple=True, metavar="PROVIDER:MODEL", help="A model to ask (repeatable)."
)
@click.option("--benchmark", "benchmarks", multiple=True, help="What to measure (repeatable), else all.")
@_per_model("--price", "prices", "Dollars per million tokens in and out", type=_DOLLARS, nargs=2)
@_per_model("--key", "keys", "Environment variable with the key", metavar="VARIABLE")
@click.option("--budget", type=_MOST, help=f"The most to spend, in dollars; {_BUDGET:g} for billed models.")
@printing.json_option
def init(study_file: Path, models: Sequence[str], benchmarks: Sequence[str], **dollars: Any) -> None:
    """Write a study file to begin with: what is not given as an option is asked on a terminal.

    PROVIDER:MODEL says who is asked: openai:ID, anthropic:ID or gemini:ID with the provider's own id of the model,
    transformers:FOLDER for weights on this machine, replay for imported answers, simulated for a respondent without a
    model; @ADDRESS after an openai:ID names a server of your own. Benchmarks begin with their sample items, where they
    have some, so that a first run costs little.

    An existing file is never overwritten.
    """
    budget = dollars["budget"]
    if study_file.exists():
        raise StudyError(f"{study_file}: is there already; give the name of a new file, as study.toml")
    asking = sys.stdin.isatty() and not printing.wanted()
    if asking and not models:
        said = (
            "Which model? (provider:model as openai:gpt-4.1-mini, several with blanks; simulated needs none)"
        )
        models = (_prompt(said, "simulated", row_of),)
    if asking and not benchmarks:
        known = f"Which benchmarks? ({', '.join(registry.names())}, or all)"
        benchmarks = (_prompt(known, "all", lambda each: chosen_benchmarks([each])),)
    chosen = chosen_benchmarks(benchmarks)
    rows = [row_of(each) for said in models or ("simulated",) for each in _words(said)]
    rows = _with_prices_and_keys(rows, dollars["prices"], dollars["keys"], asking)
    if any(row.billed for row in rows) and budget is None:
        budget = click.prompt("The most to spend, in dollars?", _BUDGET, type=_MOST) if asking else _BUDGET
    _write(study_file, study_text(study_file, rows, chosen, budget))
    printing.say(f"Wrote {study_file}.", wrote=[str(study_file)])
    printing.next_step("doctor", study_file)


def _with_prices_and_keys(
    rows: Sequence[Row], prices: Sequence[tuple[float, float]], keys: Sequence[str], asking: bool
) -> list[Row]:
    """Return the rows with a price and a key each, where they are billed."""
    # Each model has its own: a budget that is counted at another model's price protects nothing.
    billed = [row for row in rows if row.billed]
    names = ", ".join(row.name for row in billed) or "no model"
    for option, given in (("--price", prices), ("--key", keys)):
        if given and len(given) != len(billed):
            said = f"{option}: given {len(given)} times for {len(billed)} billed models ({names})"
            raise StudyError(f"{said}; give it once per billed model, in their order")
    if billed and not prices and not asking:
        per = "dollars per million tokens in and out, as --price 2.5 10"
        raise StudyError(f"--price: {names}: billed; give {per} for each, in this order")
    given_prices, given_keys = iter(prices), iter(keys)

    def completed(row: Row) -> Row:
        price = next(given_prices) if prices else _ask_price(row)
        key = next(given_keys) if keys else _ask_key(row) if asking else None
        return replace(row, price=price, key=key)

    return [completed(row) if row.billed else row for row in rows]


def _ask_price(row: Row) -> tuple[float, float]:
    first = click.prompt(f"{row.name}: dollars per million tokens in?", type=_DOLLARS)
    return first, click.prompt(f"{row.name}: dollars per million tokens out?", type=_DOLLARS)


def _ask_key(row: Row) -> str | None:
    """Ask for the name of a key's variable; None for the provider's usual one, or where a server needs no key."""
    usual = row.usual_key
    none = "" if usual else " (none where it needs no key)"
    said = f"{row.name}: environment variable with the key?{none}"
    given = str(click.prompt(said, usual or "none"))
    return None if given in (usual, "none") else given


def _prompt(question: str, default: str, read: Callable[[str], object]) -> str:
    """Ask until every word of the answer can be read."""

    def checked(said: str) -> str:
        words = said.replace(",", " ").split()
        try:
            for each in words:
                read(each)
        except StudyError as error:
            raise click.UsageError(str(error)) from None
        return ", ".join(words)

    return str(click.prompt(question, default, value_proc=checked))


def _words(said: str) -> list[str]:
    """Return what one ``--model`` names; a blank alone may be part of a folder's path."""
    return re.split(r",\s+", said.strip())


def _write(path: Path, text: str) -> None:
    """Write a study file that can be loaded, or none."""
    try:
        write_text(path, text)
    except OSError as error:
        raise StudyError(f"{path}: cannot be written ({error.strerror}); give another place") from None
    try:
        load_study(path)
    except StudyError:
        path.unlink()
        raise


@click.command()
@click.argument("study_file", metavar="[STUDY]", type=PATH, required=False)
@click.option("--offline", is_flag=True, help="Ask no model and connect to nothing.")
@click.option("--fetch", is_flag=True, help="Fetch the data sets the study reads, and end.")
@click.option("--from", "folder", type=PATH, help="With --fetch: data sets from this folder.")
@click.option("--kept", is_flag=True, help="Check instead that all that the study keeps is what was kept.")
@click.option("--repair", is_flag=True, help="With --kept: put damaged files aside; a run makes them again.")
@click.option("--bundle", type=PATH, metavar="FILE", help="Instead: rebuild the boards of a bundle.")
@click.option("--to", "target", type=PATH, metavar="DIR", help="With --bundle: a new folder.")
@printing.json_option
def doctor(study_file: Path | None, **chosen: Any) -> None:
    """Check that a run can start: keys, models, prices, data sets, items, disk.

    Asks each model and judge one short question, none where it is known already how it answers; the answers count
    against the budget. Exit code 0 if a run can start, otherwise that of what failed (1 where failures differ).

    With --fetch it fetches published data sets into the study's home instead; each is checked against the digest of its
    content.

    With --kept it reads the home: answers by their checksums, their copies, the ledger, all tables; exit code 4 where
    something is damaged. With --repair damaged files are renamed to NAME.damaged, what can be read of them is kept, and the
    next `metacog run` makes the rest again; only an answer that stood in a damaged line and nowhere else is asked again.

    With --bundle the boards are rebuilt from an archive of `metacog export --format bundle`, and every table is compared
    byte by byte: exit code 1 where one differs. No model is asked; data sets that may not be copied are fetched.
    """
    _require_together(study_file, chosen)
    if chosen["bundle"] is not None:
        from metacog_pipeline.cli.verifying import rebuild_bundle

        return rebuild_bundle(chosen["bundle"], chosen["target"])
    assert study_file is not None
    if chosen["kept"]:
        from metacog_pipeline.cli.verifying import check_kept

        return check_kept(study_file, chosen["repair"])
    study = read_study(study_file)
    if chosen["fetch"]:
        return _fetch(study, chosen["folder"])
    _examine(study, chosen["offline"])


def _require_together(study_file: Path | None, chosen: Mapping[str, Any]) -> None:
    """Refuse options that have no meaning with the others."""
    if (study_file is None) == (chosen["bundle"] is None):
        raise click.UsageError("give the STUDY to check, or --bundle FILE; one of them")
    needs = {"folder": "fetch", "repair": "kept", "target": "bundle"}
    options = {"folder": "--from", "repair": "--repair", "target": "--to"}
    for name, other in needs.items():
        if chosen[name] and not chosen[other]:
            raise click.UsageError(f"{options[name]}: give --{other} with it")


def _examine(study: Study, offline: bool) -> NoReturn:
    """Print the failed checks of a run, and exit with their code."""
    from metacog_pipeline.asking.doctor import examine, exit_code

    found = examine(study, offline=offline)
    if printing.wanted():
        printing.value([{"state": each.state, "subject": each.subject, "text": each.text} for each in found])
    else:
        asked, failed = " (no model was asked)" * offline, sum(each.state == "fail" for each in found)
        again = f"{failed} of {len(found)} checks failed: correct them and run `metacog doctor` again{asked}"
        lines = [*(each.line for each in found), again if failed else f"A run can start{asked}."]
        click.echo("\n".join(lines))
        if not failed:
            printing.next_step("plan", study.path)
    sys.exit(exit_code(found))


def _fetch(study: Study, folder: Path | None) -> None:
    from metacog_pipeline.benchmark.bound import enabled

    study.prepare()
    lines: dict[str, ProgressLine] = {}

    def show(name: str, done: int, total: int | None) -> None:
        line = lines.setdefault(name, ProgressLine(f"{name} (bytes)", total or 0, style_for(quiet=False)))
        line.update(done)

    printing.say(sources=[])
    needed = {name for each in enabled(study) for name in each.needed_sources()}
    wanted = [source for each in enabled(study) for source in each.sources if source.name in needed]
    for source in wanted:
        found = source.fetch(study.home, folder=folder, progress=show)
        row = {"name": found.name, "rows": found.rows, "origin": str(found.origin)}
        printing.say(f"{found.name}: {found.rows} rows from {found.origin}", sources=[row])
    if not wanted:
        printing.say("nothing to fetch: the study's data sets ship with the package, or are your own")
