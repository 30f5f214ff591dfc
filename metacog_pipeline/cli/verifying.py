"""``doctor --kept`` and ``--bundle``: whether what a study keeps is whole, and whether a bundle gives its boards again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import opened
from metacog_pipeline.errors import MetacogError, StoreError

if TYPE_CHECKING:
    from metacog_pipeline.study import Study
    from metacog_pipeline.study.digests import Compared

SHOWN = 20  # damaged places; the rest are counted


def check_kept(study_file: Path, repair: bool) -> None:
    """Report what is damaged of all that a study keeps; StoreError where anything is."""
    from metacog_pipeline.scoring import staleness
    from metacog_pipeline.study import digests

    study = opened(study_file)
    published = digests.compare(study.home)
    damage = _answers(study, repair) + _money(study) + _derived(published, repair)
    if damage == 0:
        return printing.say("everything is as it was kept", damaged=0)
    places, by_hand = f"{damage} damaged {'place' if damage == 1 else 'places'}", len(published.by_hand)
    if not repair:
        again = f"metacog doctor {study_file} --kept --repair"
        raise StoreError(f"{places}: {again} keeps what can be read and puts the rest aside")
    staleness.forget(study)
    if by_hand == damage:
        raise StoreError(f"{places}, left in place: no run makes that again, what to do stands with each")
    left = f", but for {by_hand} that no run makes again" if by_hand else ""
    raise StoreError(f"{places} put aside{left}: metacog run {study_file} makes anew what is missing")


def _answers(study: Study, mend: bool) -> int:
    """Check every partition; print what was found, return how much is damaged."""
    from metacog_pipeline.transcripts import verification
    from metacog_pipeline.transcripts.folder import kept_folders

    checked = [verification.check(folder) for folder in kept_folders(study.home)]
    records, unsealed, torn = (sum(getattr(c, n) for c in checked) for n in ("records", "unsealed", "torn"))
    more = f"{unsealed:,} without a checksum (version 0.2 and before), {torn} torn ends, never acknowledged"
    counts = {"records": records, "partitions": len(checked), "without_checksum": unsealed, "torn_ends": torn}
    printing.say(f"answers: {records:,} records in {len(checked):,} partitions; {more}", **counts)
    _show([line for each in checked for line in each.damage])
    for each in (one for one in checked if mend and one.damage):
        done = verification.repair(each)
        aside = [str(path) for path in done.aside]
        what = f"put aside {', '.join(path.name for path in done.aside) or 'nothing'}"
        kept = f"{done.recovered} answers come from the copy; {done.lost} lines are lost and asked again"
        printing.say(f"  {each.folder}: {what}; {kept}", put_aside=aside, lost=[done.lost])
    return sum(len(each.damage) for each in checked)


def _money(study: Study) -> int:
    """Compare the ledger with what kept answers cost; return how much is wrong."""
    from metacog_pipeline.asking.spent import kept_cost
    from metacog_pipeline.llm.budget import read_figures

    kept = kept_cost(study.home)
    try:
        spent = read_figures(study.home, study.study.budget_usd).spent
    except StoreError as error:
        _show([str(error)])
        return 1
    gone = "; records of the ledger are gone: the next run counts what the answers cost before it asks"
    says = (
        f"money: ${spent:.4f} in the ledger, ${kept:.4f} in kept answers{gone if kept > spent + 1e-6 else ''}"
    )
    printing.say(says, ledger_usd=spent, kept_usd=kept)
    return 0


def _derived(found: Compared, mend: bool) -> int:
    """Report which derived files are not what was noted; return how many. Copies of answers stand with the answers."""
    from metacog_pipeline.study import digests
    from metacog_pipeline.transcripts.folder import COPY_NAME

    same = f"made from them: {found.same:,} files are as published"
    printing.say(
        f"{same}; {found.new:,} were made since the boards were published",
        published=found.same,
        new=found.new,
    )
    damage = [f"{path}: {why}" for path, why in found.damage.items() if path.name != COPY_NAME]
    _show(damage)
    for path in digests.repair(found) if mend else ():
        printing.say(f"  put aside {path}", put_aside=[str(path)])
    return len(damage)


def _show(lines: Sequence[str]) -> None:
    printing.say("\n".join(f"  {line}" for line in lines[:SHOWN]), damage=lines)
    if len(lines) > SHOWN:
        printing.say(f"  and {len(lines) - SHOWN:,} more")


def reproduce_bundle(bundle: Path, target: Path | None, given: Path | None) -> None:
    """Make the boards of a bundle again, and print table by table whether each is equal."""
    from metacog_pipeline import __version__
    from metacog_pipeline.exporting.reproduce import reproduce

    made = reproduce(bundle, target, given)
    n = len(made.tables)
    for each in made.tables:
        row = {"table": each.name, "rows": each.rows, "equal": each.differs is None, "why": each.differs}
        printing.say(f"{each.name}: {each.differs or f'equal, {each.rows:,} rows'}", tables=[row])
    printing.say(version=made.version, here=__version__, home=str(made.home))
    if not made.differ:
        return printing.say(f"{n} of {n} tables are equal byte by byte; the study is in {made.folder}")
    scores = made.scores if made.version != __version__ else ()
    printing.say("\n".join(f"  {line}" for line in scores), scores=made.scores)
    printing.flush()
    first, told = made.differ[0], f"made by version {made.version}, this is {__version__}"
    raise MetacogError(f"{len(made.differ)} of {n} tables differ ({told}): {first.name}: {first.differs}")
