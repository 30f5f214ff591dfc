"""``doctor`` and ``verify``: whether a run can start, and whether everything a study keeps is what was kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import opened, study_argument
from metacog_pipeline.errors import StoreError

if TYPE_CHECKING:
    from metacog_pipeline.study import Study
    from metacog_pipeline.study.digests import Compared
    from metacog_pipeline.transcripts.verification import Checked


import sys

from metacog_pipeline.study import load_study

SHOWN = 20  # damaged places; the rest are counted


@click.command()
@study_argument
@click.option(
    "--repair", is_flag=True, help="Put damaged files aside and make again what can be made from the rest."
)
@printing.json_option
def verify(study_file: Path, repair: bool) -> None:
    """Check that everything a study keeps is what was kept: answers, their copies, the ledger, items, boards.

    Reads every byte, in the store of [deploy] too, and asks nobody. Exit code 4 where something is damaged; each place
    is named. With --repair damaged files of the home are renamed to NAME.damaged, lines and rows that can be read are
    kept, and the next `metacog run` makes the rest again; only an answer that stood in a damaged line and nowhere else
    is asked again.
    """
    from metacog_pipeline.study import digests

    study = opened(study_file)
    published = digests.compare(study.home)
    damage = _answers(study, published, repair) + _money(study) + _derived(published, repair)
    if (objects := _store(study)) and not damage:
        raise StoreError(f"{objects} damaged in the store: what to do stands with each; the home is sound")
    if not damage:
        printing.say("everything is as it was kept", damaged=0)
        return
    if repair:
        from metacog_pipeline.leaderboard.status import forget_board

        forget_board(study)
    places = f"{damage} damaged {'place' if damage == 1 else 'places'}"
    if not repair:
        raise StoreError(
            f"{places}: metacog verify {study_file} --repair keeps what can be read and puts the rest aside"
        )
    by_hand = len(published.by_hand)
    if by_hand == damage:
        raise StoreError(f"{places}, left in place: no run makes that again, what to do stands with each")
    left = f", but for {by_hand} that no run makes again" if by_hand else ""
    raise StoreError(f"{places} put aside{left}: metacog run {study_file} makes anew what is missing")


def _answers(study: Study, published: Compared, mend: bool) -> int:
    """Check every partition; print what was found, return how much is damaged."""
    from metacog_pipeline.transcripts import verification
    from metacog_pipeline.transcripts.folder import kept_folders

    checked = [verification.check(folder) for folder in kept_folders(study.home)]
    for each in checked:
        each.compare_copy(published.damage)
    records, unsealed, torn = (
        sum(getattr(c, name) for c in checked) for name in ("records", "unsealed", "torn")
    )
    old = f", {unsealed:,} of them without a checksum (version 0.2 and before)" if unsealed else ""
    ends = f"; {torn} torn ends of interrupted writes, never acknowledged" if torn else ""
    printing.say(
        f"answers: {records:,} records in {len(checked):,} partitions{old}{ends}",
        records=records,
        partitions=len(checked),
        without_checksum=unsealed,
        torn_ends=torn,
    )
    _show([line for each in checked for line in each.damage])
    for each in checked if mend else ():
        if each.damage:
            _mended(each)
    return sum(len(each.damage) for each in checked)


def _mended(checked: Checked) -> None:
    from metacog_pipeline.transcripts import verification

    done = verification.repair(checked)
    names = ", ".join(path.name for path in done.aside) or "nothing"
    lost = f"; {done.lost} lines are lost, what they answered is asked again" if done.lost else ""
    kept = f"; {done.recovered} answers come from the copy" if done.recovered else ""
    printing.say(
        f"  {checked.folder}: put aside {names}{kept}{lost}",
        put_aside=[str(path) for path in done.aside],
        lost=[done.lost] if done.lost else [],
    )


def _money(study: Study) -> int:
    """Compare the ledger with what kept answers cost; return how much is wrong."""
    from metacog_pipeline.asking.spent import kept_cost
    from metacog_pipeline.llm.budget import read_figures

    kept = kept_cost(study.home, note=False)
    try:
        spent = read_figures(study.home, study.study.budget_usd).spent
    except StoreError as error:
        _show([str(error)])
        return 1
    printing.say(
        f"money: ${spent:.4f} in the ledger, ${kept:.4f} in kept answers", ledger_usd=spent, kept_usd=kept
    )
    if kept > spent + 1e-6:
        printing.say(
            "  records of the ledger are gone; the next run counts what the answers cost before it asks"
        )
    return 0


def _store(study: Study) -> int:
    """Read what the store has of every partition; return how many are damaged."""
    from metacog_pipeline.transcripts.shared import damaged_objects

    partitions, damage = damaged_objects(study.home)
    if partitions:
        printing.say(f"store: {partitions:,} partitions", store_partitions=partitions)
    _show(damage)
    return len(damage)


def _derived(found: Compared, mend: bool) -> int:
    """Say which derived files are not what was noted; return how many. Copies of answers were told before."""
    from metacog_pipeline.study import digests
    from metacog_pipeline.transcripts.folder import COPY_NAME

    unnoted = f"; {found.new:,} were made since the boards were published" if found.new else ""
    printing.say(
        f"made from them: {found.same:,} files are as published{unnoted}", published=found.same, new=found.new
    )
    damage = [f"{path}: {why}" for path, why in found.damage.items() if path.name != COPY_NAME]
    _show(damage)
    if mend:
        for path in digests.repair(found):
            printing.say(f"  put aside {path}", put_aside=[str(path)])
    return len(damage)


def _show(lines: list[str]) -> None:
    printing.say(damage=lines)
    for line in lines[:SHOWN]:
        printing.say(f"  {line}")
    if len(lines) > SHOWN:
        printing.say(f"  and {len(lines) - SHOWN:,} more")


@click.command()
@study_argument
@click.option("--offline", is_flag=True, help="Ask nobody and connect to nothing.")
@click.option("--port", default=3000, type=click.IntRange(1, 65535), help="Port the UI is wanted on.")
@printing.format_option("lines", "json")
def doctor(study_file: Path, offline: bool, port: int, form: str) -> None:
    """Check that a run can start: keys, addresses, models, prices, data sets, disk, ports.

    Asks each model, judge and author at most two short calls, none where it is known already how it answers; they count
    against the budget. Exit code 0 if a run can start, otherwise that of what failed (1 where failures differ).
    """
    from metacog_pipeline.asking.doctor import examine, exit_code

    study = load_study(study_file)
    found = examine(study, offline=offline, port=port)
    code = exit_code(found)
    if form == "json":
        rows = [{"state": each.state, "subject": each.subject, "text": each.text} for each in found]
        printing.value(rows)
        sys.exit(code)
    for each in found:
        click.echo(each.line)
    failed = sum(each.state == "fail" for each in found)
    asked = " (nobody was asked)" if offline else ""
    click.echo(
        f"{failed} of {len(found)} checks failed: mend them and run `metacog doctor` again{asked}"
        if failed
        else f"A run can start{asked}."
    )
    sys.exit(code)
