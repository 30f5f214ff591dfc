"""``doctor --kept`` and ``--bundle``: whether what a study keeps is whole, and whether a bundle gives its boards again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import opened
from metacog_pipeline.errors import MetacogError, StoreError
from metacog_pipeline.files import put_aside
from metacog_pipeline.home import KEPT
from metacog_pipeline.transcripts.folder import COPY_NAME

if TYPE_CHECKING:
    from metacog_pipeline.study import Study

SHOWN = 20  # damaged places; the rest are counted


def check_kept(study_file: Path, repair: bool) -> None:
    """Report what is damaged of all that a study keeps; StoreError where anything is."""
    from metacog_pipeline.scoring import staleness

    study = opened(study_file)
    damage = _answers(study, repair) + _money(study) + _tables(study, repair)
    if damage == 0:
        return printing.say("everything can be read, answers are as they were kept", damaged=0)
    places = f"{damage} damaged {'place' if damage == 1 else 'places'}"
    if not repair:
        again = f"metacog doctor {study_file} --kept --repair"
        raise StoreError(f"{places}: {again} keeps what can be read and puts the rest aside")
    staleness.forget(study)
    raise StoreError(f"{places} put aside: metacog run {study_file} rebuilds what is missing")


def _answers(study: Study, repair: bool) -> int:
    """Check every partition; print what was found, return how much is damaged."""
    from metacog_pipeline.transcripts import verification
    from metacog_pipeline.transcripts.folder import kept_folders

    checked = [verification.check(folder) for folder in kept_folders(study.home)]
    records, torn = sum(each.records for each in checked), sum(each.torn for each in checked)
    counts = {"records": records, "partitions": len(checked), "torn_ends": torn}
    said = (
        f"answers: {records:,} records in {len(checked):,} partitions; {torn} torn ends, never acknowledged"
    )
    printing.say(said, **counts)
    _show([line for each in checked for line in each.damage])
    for each in (one for one in checked if repair and one.damage):
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


def _tables(study: Study, repair: bool) -> int:
    """Read every other Parquet file of the home; return how many are torn. What no run rebuilds is left in place."""
    from metacog_pipeline.leaderboard.views import why_torn

    paths = [each for each in study.home.path.rglob("*.parquet") if each.name != COPY_NAME]
    torn = {path: why for path in sorted(paths) if (why := why_torn(path)) is not None}
    by_hand = {path for path in torn if study.home.key(path).partition("/")[0] in KEPT}
    more = "; no run makes it again: copy it back, or import it once more"
    printing.say(f"tables: {len(paths):,} files made from answers or imported", tables=len(paths))
    _show([f"{path}: cannot be read ({why}){more if path in by_hand else ''}" for path, why in torn.items()])
    for path in torn.keys() - by_hand if repair else ():
        printing.say(f"  put aside {put_aside(path)}", put_aside=[str(path)])
    return len(torn)


def _show(lines: Sequence[str]) -> None:
    printing.say("\n".join(f"  {line}" for line in lines[:SHOWN]), damage=lines)
    if len(lines) > SHOWN:
        printing.say(f"  and {len(lines) - SHOWN:,} more")


def rebuild_bundle(bundle: Path, folder: Path | None) -> None:
    """Rebuild the boards of a bundle, and print table by table whether each is equal."""
    from metacog_pipeline import __version__
    from metacog_pipeline.exporting.bundle import rebuild

    folder = folder or bundle.with_name(f"{bundle.stem}-rebuilt")
    made_by, tables = rebuild(bundle, folder)
    for name, equal in tables.items():
        row = {"table": name, "equal": equal}
        printing.say(f"{name}: {'equal' if equal else 'differs'}", tables=[row])
    printing.say(version=made_by, here=__version__, folder=str(folder))
    if all(tables.values()):
        return printing.say(f"{len(tables)} tables are equal byte by byte; the study is in {folder}")
    printing.flush()
    differ = ", ".join(name for name, equal in tables.items() if not equal)
    raise MetacogError(f"made by version {made_by}, this is {__version__}; tables that differ: {differ}")
